# SPDX-License-Identifier: Apache-2.0
"""fa3.attention with previous=(o, lse): the results of the same queries with other keys,
of an earlier step of ring attention or a prefix, are taken into those of these keys by
the kernel itself, in float32."""

from __future__ import annotations

import sys
from typing import Any

from ..errors import ArgumentError, ArgumentTypeError, UnsupportedError
from ..support import outputs
from ..support.tensors import is_torch
from .request import Request, run_program


def check(previous: Any) -> tuple[Any, Any]:
    """o and lse of what a caller has given."""
    if not isinstance(previous, (tuple, list)) or len(previous) != 2:
        raise ArgumentTypeError("previous", f"{type(previous).__name__}, expected (o, lse)")
    if any([one is None for one in previous]):
        raise ArgumentTypeError("previous", "None in it, expected (o, lse)")
    return previous[0], previous[1]


def attention(q: Any, k: Any, v: Any, previous: Any, named: dict[str, Any]) -> Any:
    """`named` are further arguments of fa3.attention."""
    previous = check(previous)
    for name in ("epilogue", "return_max_logit"):
        if named.pop(name) not in (None, False):
            raise UnsupportedError(f"previous beside {name}")
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(q, torch.Tensor):
        return _without_torch(q, k, v, previous, named)
    if not all(map(is_torch, previous)):
        raise ArgumentTypeError("previous", "no tensors of torch, and q is one")
    from ..autograd import watched
    from ..support import watch

    target = {"out": named["out"], "lse": named["lse"]}
    if any([one is not None for one in target.values()]):
        outputs.check(target, {
            "q": q, "k": k, "v": v, "previous o": previous[0], "previous lse": previous[1]
        })  # fmt: skip
        if not (watch.is_watched() or named["block_mask"] is not None or named["dropout_p"]):
            made = _into(torch, q, k, v, previous, named)
            if made is not None:
                return made
    return watched.attention(q, k, v, previous=previous, **named)


def traced(q: Any, k: Any, v: Any, previous: Any, named: dict[str, Any]) -> Any:
    """The same where Dynamo traces; None where the graph has to break."""
    outside = (
        "score_mod", "mask_mod", "block_mask", "out", "lse", "generator", "epilogue",
        "return_max_logit",
    )  # fmt: skip
    if any([named[name] not in (None, False) for name in outside]):
        return None
    from .. import torch as door

    given = {name: one for name, one in named.items() if name not in outside}
    return door.attention(q, k, v, previous=(previous[0], previous[1]), **given)


def _into(torch: Any, q: Any, k: Any, v: Any, previous: Any, named: dict[str, Any]) -> Any:
    """Straight into the memory that is given; None where there are gradients."""
    from .. import torch as door

    given = [
        named[name]
        for name in ("q_descale", "k_descale", "v_descale", "bias", "alibi_slopes", "sinks")
    ]
    if named["lse"] is not None and not named["return_lse"]:
        raise ArgumentError("lse", "is given, but return_lse is False")
    extras, numbers, text, needs_grad = door.prepare(
        q, k, v, named["causal"], named["window"], named["softcap"], named["scale"],
        named["score_mod"], named["mask_mod"], (*given, *previous), named["out_dtype"],
        named["return_lse"], named["layout"], named["interpret"], None, None,
    )  # fmt: skip
    if needs_grad or named["generator"] is not None:
        return None
    outputs.mark(named["out"], named["lse"])
    with torch.no_grad():
        return run_program(
            q, k, v, extras, numbers, text, named["scale"], named["out"], named["lse"]
        )


def _without_torch(q: Any, k: Any, v: Any, previous: Any, named: dict[str, Any]) -> Any:
    for name in ("generator", "block_mask"):
        if named.pop(name) is not None:
            raise UnsupportedError(f"previous with {name}, without torch")
    return Request(
        q, k, v, alibi=named.pop("alibi_slopes"), previous_o=previous[0],
        previous_lse=previous[1], **named,
    ).run()  # fmt: skip
