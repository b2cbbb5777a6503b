# SPDX-License-Identifier: Apache-2.0
"""What defines FlashAttention-3's operators when it is imported, by fa3."""

from fa3 import flash_attn_3 as _fa3

_fa3.define()
