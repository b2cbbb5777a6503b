# SPDX-License-Identifier: Apache-2.0
"""Measurements of fa3's attention beside other kernels; see ../README.md."""
