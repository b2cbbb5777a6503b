# SPDX-License-Identifier: Apache-2.0
"""FlashAttention-3's operators and module paths, on fa3's kernels, for this process and
only where asked for:

    fa3.install_flash_attn_3()
    torch.ops.flash_attn_3.fwd(..)         # and bwd, fwd_combine, get_scheduler_metadata
    from flash_attn_interface import flash_attn_func, _flash_attn_forward
    import flash_attn_3.flash_attn_interface

What the operators do is fa3.flash_attn_3.ops."""

from __future__ import annotations

import types
from typing import Any

import torch
from torch._subclasses.functional_tensor import FunctionalTensorMode

from .. import flash_attn_interface as functions
from ..support import forks, modules, watch
from . import ops as kernels
from .ops import _flash_attn_backward, _flash_attn_forward

_NAMESPACE = "flash_attn_3"
#: The paths under which FlashAttention-3 is imported.
MODULES = ("flash_attn_interface", "flash_attn_3", "flash_attn_3.flash_attn_interface")
VERSION = "3.0.0+fa3"

# -----------------------------------------------------------------------------
# For a process
# -----------------------------------------------------------------------------

_lock = forks.lock()
#: Names of operators, for as long as the process lives, and what is behind them.
_names: Any = None
_library: Any = None
_installed = modules.Installed()
_WHO = ("install_flash_attn_3", "FlashAttention-3")


def install_flash_attn_3(interpret: bool | str = False) -> None:
    """Makes FlashAttention-3's operators, torch.ops.flash_attn_3, and its modules,
    `flash_attn_interface` and `flash_attn_3`, those of this file, in this process. What
    imported them before keeps what it has; where FlashAttention-3 itself is loaded it is
    an error. A second call does nothing. `interpret` as in fa3.attention, for tests."""
    with _lock:
        modules.check(MODULES, *_WHO)
        _define()
        kernels._interpret = interpret
        _installed.put(_modules())


def define() -> dict[str, Any]:
    """Defines the operators, and gives what FlashAttention-3's modules have in them: for
    the distribution of that name (python/drop_in)."""
    with _lock:
        _define()
    return _contents()


def uninstall_flash_attn_3() -> None:
    """Undoes install_flash_attn_3(). torch does not forget the names of operators while
    somebody may have them: those of torch.ops.flash_attn_3 stay, calling one is an error,
    and FlashAttention-3 itself cannot be imported in this process. Functions that were
    imported from its modules are still fa3's."""
    global _library
    with _lock:
        if _library is None:
            return
        _installed.remove()
        _library._destroy()
        _library = None


def _in_functions(call: Any) -> Any:

    def rule(mode: Any, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with mode:
            return call(*args, **(kwargs or {}))

    return rule


def _define() -> None:
    global _names, _library
    if _library is not None:
        return
    if _names is None:
        for name in torch._C._dispatch_get_all_op_names():
            if name.startswith(f"{_NAMESPACE}::"):
                raise modules.is_loaded(f"torch.ops.{name.replace('::', '.')}", *_WHO)
        _names = torch.library.Library(_NAMESPACE, "DEF")
        for schema in kernels.SCHEMAS:
            _names.define(schema, tags=(torch.Tag.needs_exact_strides,))
        for function, mutated in (
            (_flash_attn_forward, ()), (_flash_attn_backward, ("dq", "dk", "dv")),
        ):  # fmt: skip
            schema = torch.library.infer_schema(function, mutates_args=mutated)
            _names.define(function.__name__ + schema)
    library = torch.library.Library(_NAMESPACE, "IMPL")
    for name, function, fake in (
        ("fwd", kernels._fwd, kernels._fwd_fake), ("bwd", kernels._bwd, kernels._bwd_fake),
        ("fwd_combine", kernels._fwd_combine, kernels._fwd_combine_fake),
        ("get_scheduler_metadata", *[kernels._get_scheduler_metadata] * 2),
    ):  # fmt: skip
        for key in ("CUDA", "CPU"):
            library.impl(name, watch.kernel(function), key)
        torch.library.register_fake(f"{_NAMESPACE}::{name}", fake, lib=library)
    # Graphs are made of operators without side effects, which those that give `out` back
    # are not.
    for name, function in (("fwd", kernels._fwd), ("fwd_combine", kernels._fwd_combine)):
        torch.library.register_torch_dispatch(
            f"{_NAMESPACE}::{name}", FunctionalTensorMode, _in_functions(function),
            lib=library,
        )  # fmt: skip
    for function in (_flash_attn_forward, _flash_attn_backward):
        library.impl(function.__name__, function, "CompositeImplicitAutograd")
    _library = library


def _contents() -> dict[str, Any]:
    names = {
        name: getattr(functions, name)
        for name in (
            "flash_attn_func", "flash_attn_qkvpacked_func", "flash_attn_varlen_func",
            "flash_attn_with_kvcache", "flash_attn_combine", "get_scheduler_metadata",
        )
    }  # fmt: skip
    names |= {
        "_flash_attn_forward": _flash_attn_forward,
        "_flash_attn_backward": _flash_attn_backward,
        "flash_attn_3_gpu": torch.ops.flash_attn_3, "is_fa3": True,
    }
    return names


def _modules() -> dict[str, types.ModuleType]:
    made = {
        path: modules.make(path, globals(), False, **_contents())
        for path in MODULES if path != _NAMESPACE
    }  # fmt: skip
    made[_NAMESPACE] = modules.make(
        _NAMESPACE, globals(), True, __version__=VERSION, flash_attn_interface=made[MODULES[2]]
    )
    return made
