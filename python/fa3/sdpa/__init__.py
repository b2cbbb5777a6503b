# SPDX-License-Identifier: Apache-2.0
"""The switch that puts fa3 behind torch's scaled_dot_product_attention.

torch chooses one of its fused kernels (cuDNN first on Hopper, then FlashAttention,
then the memory-efficient one) in C++, by an order that it sets itself at the first
call. So the switch does not ask to be chosen: it takes the place of all three, and
of their gradients. What fa3 does not take runs the kernel that torch has chosen.
"""

from __future__ import annotations

from typing import Any

import torch

from ..errors import UnsupportedError
from ..support import forks
from .counts import Report, report
from .switch import Switch

__all__ = [
    "IMPLEMENTATION", "Report", "activate", "deactivate", "is_active", "register", "report",
]  # fmt: skip

IMPLEMENTATION = "fa3-compiler"
_lock = forks.lock()
_active: Any = None
_strict = False


class _Switch(Switch):
    def remove(self) -> None:
        global _active
        if _active is self:
            _active = None
        super().remove()


def activate(strict: bool = False) -> None:
    """Puts fa3 behind scaled_dot_product_attention on CUDA, in place of cuDNN,
    FlashAttention and the memory-efficient kernel: float16 and bfloat16, full,
    causal, and with a mask; gradients by fa3's kernels (set_backward). What fa3 does
    not take goes to the kernel that torch has chosen and is counted (report()); with
    `strict` it raises. Needs torch 2.9."""
    global _active, _strict
    with _lock:
        if _active is not None:
            _active.strict = strict
            return
        if not hasattr(torch.library, "get_kernel"):
            raise UnsupportedError(
                f"activate() needs torch.library.get_kernel, torch {torch.__version__} has none"
            )
        if register():
            _strict = strict
            try:
                torch.nn.attention.activate_flash_attention_impl(IMPLEMENTATION)
            finally:
                _strict = False
        else:
            _active = _Switch(strict)


def register() -> bool:
    """Lists fa3 among torch.nn.attention.list_flash_attention_impls(), which
    activate_flash_attention_impl("fa3-compiler") is activate() of then. False where torch,
    before 2.11, has no such list. `import fa3` behind `import torch` does it."""
    attention_module = torch.nn.attention
    if not hasattr(attention_module, "register_flash_attention_impl"):
        return False
    attention_module.register_flash_attention_impl(IMPLEMENTATION, register_fn=_activated_by_torch)
    return True


def _activated_by_torch() -> _Switch:
    global _active
    _active = _Switch(_strict)
    return _active


def deactivate() -> None:
    """Undoes activate()."""
    global _active
    with _lock:
        if _active is None:
            return
        attention_module = torch.nn.attention
        current = getattr(attention_module, "current_flash_attention_impl", None)
        if current is not None and current() == IMPLEMENTATION:
            attention_module.restore_flash_attention_impl()
        else:
            _active.remove()
        _active = None


def is_active() -> bool:
    return _active is not None
