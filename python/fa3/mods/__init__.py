# SPDX-License-Identifier: Apache-2.0
"""Functions of the user on scores, masks and outputs: what they capture, and their trace."""
