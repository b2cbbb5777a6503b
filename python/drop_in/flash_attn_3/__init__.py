# SPDX-License-Identifier: Apache-2.0
"""FlashAttention-3's package, by fa3."""

is_fa3 = True
__version__ = "3.0.0+fa3"
