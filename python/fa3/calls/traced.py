# SPDX-License-Identifier: Apache-2.0
"""Calls with mods and lists of blocks: what is traced, what kernels read, and whether
there are gradients."""

from __future__ import annotations

from typing import Any, Callable

from ..kernels import blocks
from ..kernels.arguments import Arguments
from ..mods.trace import Traced, trace_mods
from ..support import native
from .launch import plans
from .request import Request, call_key


def read(
    q: Any, k: Any, v: Any, asked: Arguments, grad_mode: bool,
    requires_grad: Callable[[Any], bool] = lambda one: getattr(one, "requires_grad", False),
) -> tuple[Arguments, bool]:  # fmt: skip
    """With traced mods, and lists of blocks that kernels have, and whether there are
    gradients."""

    def require(*given: Any) -> bool:
        return grad_mode and any([requires_grad(one) for one in given])

    asked = blocks.read_asked(q, k, asked)
    lists, traced = asked.lists, asked.score_mod
    if not isinstance(traced, Traced) and not (traced is asked.mask_mod is None):
        traced = trace_mods(traced, asked.mask_mod)
    tables = traced.tensors if traced is not None else ()
    others = require(asked.bias, asked.alibi_slopes, *tables)
    grads = others or require(q, k, v, *asked.replace(dropout_p=0.0).extras)
    if lists is not None and (grads or not lists.fits):
        found = blocks.for_gradients(lists, others) if grads else None
        if found is None:
            traced = trace_mods(asked.score_mod, blocks.as_mask(lists, asked.mask_mod))
        lists = found
    return asked.replace(score_mod=traced, mask_mod=None, lists=lists), grads


def run_traced(q: Any, k: Any, v: Any, asked: Arguments, options: Any = ()) -> Any:
    """A call of torch tensors with traced mods, lists of blocks, and nothing else;
    `options` of the kernel that the caller has chosen."""
    traced, lists = asked.score_mod, asked.lists
    tables = traced.tensors if traced is not None else ()
    if lists is not None:
        tables = (*lists.tensors, *tables)
    key = (
        call_key(
            q, k, v, asked.causal, asked.window, asked.softcap, asked.out_dtype,
            asked.return_lse, asked.layout,
        ),
        traced.regions if traced is not None else None,
        native.form(*tables),
        lists.size if lists is not None else None,
        options,
    )  # fmt: skip
    call = plans.get(key)
    if call is not None:
        scalars = traced.scalars if traced is not None else ()
        if not tables and not scalars:
            return call(q, k, v, asked.scale)
        return call.again((q, k, v, *tables), asked.scale, scalars)
    return Request(q, k, v, asked, key=key, options=options).run()
