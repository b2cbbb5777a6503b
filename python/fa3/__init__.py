# SPDX-License-Identifier: Apache-2.0
"""fa3: attention compiled for the GPU it runs on.

    import fa3
    o = fa3.attention(q, k, v, causal=True)     # torch tensors, or DLPack

This package imports neither torch nor jax. docs/Python.md is the guide.
"""

from __future__ import annotations

import importlib
import logging as _logging
import os as _os
import sys as _sys
from typing import TYPE_CHECKING, Any

from .errors import (
    ArgumentError,
    ArgumentTypeError,
    CompileError,
    CompilerNotFoundError,
    Diagnostic,
    Fa3Error,
    SettingError,
    TraceError,
    UnsupportedError,
)

# Public names by the module that has them; imported at the first use.
_NAMES = {
    "compile": "build.driver",
    "compile_program": "build.foreign",
    "Kernel": "build.driver",
    "attention": "api",
    "attention_kernel": "api",
    "autotune": "tuning",
    "flex_attention": "flex",
    "merge": "api",
    "BlockMask": "kernels.blocks",
    "install_flash_attn_2": "flash_attn_2",
    "install_flash_attn_3": "flash_attn_3",
    "register": "sdpa",
    "uninstall_flash_attn_2": "flash_attn_2",
    "uninstall_flash_attn_3": "flash_attn_3",
}
#: Public modules by where they lie, imported at the first use, too.
_MODULES = {
    name: name for name in (
        "api", "bench", "cli", "engines", "flash_attn_2", "flash_attn_3",
        "flash_attn_interface", "flash_mla", "flex", "hf", "jax", "kernels", "masks", "sdpa",
        "serving", "torch", "tuning",
    )
} | {"bundle": "cli.bundle", "hub": "hf.hub", "invariance": "kernels.invariance"}  # fmt: skip

__all__ = [
    "ArgumentError", "ArgumentTypeError", "BlockMask", "CompileError",
    "CompilerNotFoundError", "Diagnostic", "Fa3Error", "Kernel", "SettingError",
    "TraceError", "UnsupportedError", "attention", "attention_kernel", "autotune", "compile",
    "compile_program", "flex_attention", "install_flash_attn_2", "install_flash_attn_3",
    "merge", "register", "uninstall_flash_attn_2", "uninstall_flash_attn_3",
]  # fmt: skip

if TYPE_CHECKING:
    __version__: str
    from .api import attention, attention_kernel, merge
    from .kernels.blocks import BlockMask
    from .build.driver import Kernel, compile
    from .flash_attn_2 import install_flash_attn_2, uninstall_flash_attn_2
    from .flash_attn_3 import install_flash_attn_3, uninstall_flash_attn_3
    from .flex import flex_attention
    from .build.foreign import compile_program
    from .sdpa import register
    from .tuning import autotune


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        module = importlib.import_module(f".{_NAMES[name]}", __name__)
        value = getattr(module, name)
        globals()[name] = value
        return value
    if name == "__version__":
        return _version()
    if name in _MODULES:
        return importlib.import_module(f".{_MODULES[name]}", __name__)
    raise AttributeError(f"module 'fa3' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES, *_MODULES, "__version__"})


def _version() -> str:
    """That of CMakeLists.txt, which a wheel has as its metadata, and a folder of
    scripts/hub_kernel.py as a file."""
    import pathlib
    import re
    from importlib import metadata

    stated = pathlib.Path(__file__).with_name("VERSION")
    if stated.exists():
        return stated.read_text().strip()
    source = pathlib.Path(__file__).resolve().parents[2] / "CMakeLists.txt"
    if source.exists():
        found = re.search(r"project\(fa3 VERSION ([0-9.]+)", source.read_text())
        if found:
            return found.group(1)
    try:
        return metadata.version("fa3-compiler")
    except metadata.PackageNotFoundError:
        return "0"


def _configure_logging() -> None:
    """FA3_LOG: 0 (nothing), warning, info or debug, to stderr."""
    level = _os.environ.get("FA3_LOG", "warning").upper()
    logger = _logging.getLogger("fa3")
    if level == "0":
        logger.addHandler(_logging.NullHandler())
        logger.propagate = False
        return
    if "FA3_LOG" in _os.environ:
        handler = _logging.StreamHandler()
        handler.setFormatter(_logging.Formatter("fa3: %(message)s"))
        logger.addHandler(handler)
        logger.propagate = False
    logger.setLevel(getattr(_logging, level, _logging.WARNING))


def _list_in_torch() -> None:
    """fa3.register(), where torch is loaded, without importing more."""
    attention_module = _sys.modules.get("torch.nn.attention")
    listed = getattr(attention_module, "list_flash_attention_impls", lambda: ("fa3-compiler",))
    # By another copy of the package, if it is.
    if "fa3-compiler" not in listed():
        attention_module.register_flash_attention_impl(
            "fa3-compiler",
            register_fn=lambda: importlib.import_module(".sdpa", __name__)._activated_by_torch(),
        )


_configure_logging()
_list_in_torch()
