# SPDX-License-Identifier: Apache-2.0
"""What torch knows of a call: nodes, rules of transforms, flops."""
