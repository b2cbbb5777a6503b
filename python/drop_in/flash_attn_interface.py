# SPDX-License-Identifier: Apache-2.0
"""FlashAttention-3's interface, by fa3: functions, and operators in
torch.ops.flash_attn_3."""

from fa3 import flash_attn_3 as _fa3

globals().update(_fa3.define())
