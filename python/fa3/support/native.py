# SPDX-License-Identifier: Apache-2.0
"""What repeated calls need no Python for, in C: fa3_native, an extension module of
CPython's stable interface that reads torch's tensors by DLPack's table of functions
(torch 2.10). Where it cannot be loaded, or torch is older, Python does the same."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import logging
import os
import pathlib
import sys
from typing import Any, Callable

from .runtime import find_file, runtime

logger = logging.getLogger("fa3")

NAME = "fa3_native.abi3.so"
#: NATIVE_VERSION in lib/Native/Native.h.
VERSION = 2
#: Whether not to use it, as an older torch would have it.
_OFF = os.environ.get("FA3_NATIVE") == "0"


def _find() -> str | None:
    beside = runtime.interface.library_path
    if beside is not None and (pathlib.Path(beside).parent / NAME).exists():
        return str(pathlib.Path(beside).parent / NAME)
    return find_file(NAME, "FA3_NATIVE_LIBRARY", "lib", "build/lib")


def _load() -> tuple[Any, str]:
    """The module, or why there is none."""
    if _OFF:
        return None, "switched off by FA3_NATIVE=0"
    path = _find()
    if path is None:
        return None, f"{NAME} is not there"
    loader = importlib.machinery.ExtensionFileLoader("fa3_native", path)
    spec = importlib.util.spec_from_loader("fa3_native", loader)
    try:
        made = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        loader.exec_module(made)
    except (ImportError, OSError) as error:
        return None, f"{path}: {error}"
    version = getattr(made, "VERSION", 0)
    if version != VERSION:
        why = f"{path} has version {version}, expected {VERSION}: it is of other sources"
        logger.warning("repeated calls are made in Python: %s", why)
        return None, why
    return made, path


_module, where = _load()


def module() -> Any:
    """fa3_native, once the program has imported a torch whose tensors it reads."""
    torch = sys.modules.get("torch")
    if _module is None or torch is None or not _module.use(torch, described):
        return None
    return _module


def report() -> str:
    """Where repeated calls are made, for `python -m fa3 info`."""
    if _module is None:
        return f"in Python: {where}"
    if "torch" in sys.modules and module() is None:
        return "in Python: torch has no __dlpack_c_exchange_api__ (torch 2.10)"
    return where


# -----------------------------------------------------------------------------
# Forms of tensors
# -----------------------------------------------------------------------------


def described(*given: Any) -> Any:
    """All of torch's tensors, or None, but their memory; None where one is neither, and
    where one is several (a nested tensor)."""
    torch = sys.modules["torch"]
    if not all([
        one is None or isinstance(one, torch.Tensor) and not one.is_nested for one in given
    ]):  # fmt: skip
        return None
    return tuple([
        None if one is None
        else (one.shape, one.stride(), one.dtype, one.get_device(), one.is_neg())
        for one in given
    ])  # fmt: skip


def _nothing(*given: Any) -> None:
    return None


def _at_first(
    name: str, function: str, otherwise: Callable[..., Any], prepare: Any = None
) -> Callable[..., Any]:
    """What is `name` here until it is called: a function of fa3_native takes its place, or
    `otherwise` without that."""

    def first(*given: Any) -> Any:
        made = module()
        if made is not None and prepare is not None:
            prepare(made)
        found = otherwise if made is None else getattr(made, function)
        globals()[name] = found
        return found(*given)

    return first


def _watch(made: Any) -> None:
    from . import watch

    made.watch(*watch.asked_in_c())


#: A key that is equal where tensors are equal but for their memory; None where there is
#: something else. What C cannot read is described here.
form = _at_first("form", "describe", described)

#: A key of a call with these tensors, None, numbers, short strings, element types of torch
#: and tuples of these; None where there is something else, where a tensor requires a
#: gradient, and without fa3_native.
identify = _at_first("identify", "identify", _nothing)

#: The same of tensors that may require gradients.
name = _at_first("name", "name", _nothing)

#: call(known, scale, q, k, v, *values) launches what `known` has by identify(q, k, v,
#: *values), (Launch, default scale, largest one, tensors that come behind v in all calls),
#: and gives what that makes; None where there is nothing, where somebody looks on, and
#: where it needs gradients.
call = _at_first("call", "call", _nothing, _watch)
