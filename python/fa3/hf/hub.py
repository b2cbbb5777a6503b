# SPDX-License-Identifier: Apache-2.0
"""What a kernel of the Hugging Face Hub has in it (scripts/hub_kernel.py): the functions
of FlashAttention-3, with the arguments besides that transformers passes to those of the
Hub: s_aux (sinks, one for each head) and dropout_p, which is refused where there is none."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from .. import flash_attn_interface as functions
from ..errors import UnsupportedError
from .flash import _Functions

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_MORE = (
    inspect.Parameter("s_aux", _KEYWORD, default=None),
    inspect.Parameter("dropout_p", _KEYWORD, default=0.0),
)


def _make(name: str) -> Any:
    plain, other = getattr(functions, name), getattr(_Functions(False), name)
    signature = inspect.signature(plain)
    known = inspect.signature(other).parameters

    @functools.wraps(plain)
    def call(*args: Any, s_aux: Any = None, dropout_p: float = 0.0, **named: Any) -> Any:
        if s_aux is None and not dropout_p:
            return plain(*args, **named)
        given = {
            key: value for key, value in signature.bind(*args, **named).arguments.items()
            if key in known or not _is_default(signature, key, value)
        }  # fmt: skip
        for key in given:
            if key not in known:
                what = "s_aux" if s_aux is not None else "dropout_p"
                raise UnsupportedError(f"{name}: '{key}' with {what}")
        return other(**given, s_aux=s_aux, dropout_p=dropout_p)

    call.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), *_MORE]
    )
    return call


def _is_default(signature: inspect.Signature, name: str, value: Any) -> bool:
    """Whether an argument asks for nothing: a hint, or its default."""
    default = signature.parameters[name].default
    if name in ("num_splits", "pack_gqa", "sm_margin", "scheduler_metadata"):
        return True
    return value is default or (type(value) is type(default) and value == default)


flash_attn_func = _make("flash_attn_func")
flash_attn_varlen_func = _make("flash_attn_varlen_func")
flash_attn_with_kvcache = _make("flash_attn_with_kvcache")
