# SPDX-License-Identifier: Apache-2.0
"""How many operations torch.utils.flop_counter counts of fa3's operators: as of
scaled_dot_product_attention, two for each element of a product, masks or not."""

from __future__ import annotations

import sys
from typing import Any, Callable

from ..kernels.checks import DIMS
from ..kernels.program import parse
from ..support import watch
from .namespace import ops


def _sizes(q: Any, v: Any, k: Any, program: str) -> tuple[int, int, int]:
    """Of the score matrices of all heads, and head dims."""
    b, h, s = DIMS[parse(program).layout]
    return q[b] * q[h] * q[s] * k[s], q[3], v[3]


def _named(name: str, given: tuple[Any, ...]) -> dict[str, Any]:
    """Arguments of an operator by name."""
    schema = getattr(ops, name).default._schema
    return dict(zip([one.name for one in schema.arguments], given))


def forward(
    q: Any, k: Any, v: Any, extras: Any, numbers: Any, program: str, scale: Any,
    *_: Any, **named: Any,
) -> int:  # fmt: skip
    scores, d, dv = _sizes(q, v, k, program)
    return 2 * scores * (d + dv)


def backward(*given: Any, **named: Any) -> int:
    """Scores and their gradients, dq and dk; weights' gradients and dv."""
    asked = _named("backward", given)
    scores, d, dv = _sizes(asked["q"], asked["v"], asked["k"], asked["program"])
    return 2 * scores * (3 * d + 2 * dv)


# -----------------------------------------------------------------------------
# Sequences
# -----------------------------------------------------------------------------


def _pairs(asked: dict[str, Any]) -> int:
    """Pairs of a query and a key, over all sequences; of fake tensors, whose lengths
    nobody knows, as many as there may be."""
    q, k, page_table, new = (asked.get(name) for name in ("q", "k", "page_table", "k_new"))
    queries = _lengths(asked["cu_q"], asked["used_q"], asked["max_q"], q.shape[0], q.shape[1])
    rows = k.shape[1]
    if page_table is not None:
        rows *= page_table.shape[1]
    keys = _lengths(asked["cu_k"], asked["used_k"], asked["max_k"], len(queries), rows)
    if new is not None and asked["used_k"] is not None:
        keys = [one + new.shape[1] for one in keys]
    return sum(a * b for a, b in zip(queries, keys))


def _lengths(starts: Any, used: Any, most: Any, sequences: int, rows: int) -> list[int]:
    if used is not None:
        read = _numbers(used)
        if read is not None:
            return read
        sequences = used.numel()
    if starts is None:
        return [rows] * sequences
    read = _numbers(starts)
    if read is None:
        return [most or 0] * (starts.numel() - 1)
    return [end - start for start, end in zip(read, read[1:])]


def _numbers(one: Any) -> list[int] | None:
    return None if watch.is_fake(one) else one.tolist()


def _of_sequences(name: str, of_d: int = 1, of_dv: int = 1) -> Callable[..., int]:
    """The formula of an operator, which has so many products of each head dim."""

    def formula(*given: Any, **named: Any) -> int:
        asked = _named(name, given)
        q, v = asked["q"], asked["v"]
        return 2 * q.shape[-2] * _pairs(asked) * (of_d * q.shape[-1] + of_dv * v.shape[-1])

    return formula


#: Formulas of operators; those of sequences look at tensors.
_FORMULAS = {
    "forward": forward, "inference": forward, "forward_max": forward,
    "inference_max": forward, "backward": backward, "backward_without_autograd": backward,
    "serve": _of_sequences("serve"), "append": _of_sequences("append"),
    "packed": _of_sequences("packed"),
    "packed_backward": _of_sequences("packed_backward", 3, 2),
}  # fmt: skip


def _registered() -> list[tuple[Any, Any]]:
    """Operators that there are, with formulas."""
    return [(getattr(ops, name), one) for name, one in _FORMULAS.items() if hasattr(ops, name)]


def register() -> None:
    """Tells torch's counter, if the program has imported it: it imports triton."""
    counter = sys.modules.get("torch.utils.flop_counter")
    if counter is None:
        return
    for operator, formula in _registered():
        if operator not in counter.flop_registry:
            raw = formula not in (forward, backward)
            counter.register_flop_formula(operator, get_raw=raw)(formula)


def count() -> None:
    """Tells those counters that were made before."""
    counter = sys.modules.get("torch.utils.flop_counter")
    if counter is None:
        return
    ones = [getattr(mode, "counter", mode) for mode in watch.modes()]
    ones = [one for one in ones if hasattr(one, "flop_registry")]
    if ones:
        register()
    for one in ones:
        for operator, _ in _registered():
            one.flop_registry.setdefault(operator, counter.flop_registry[operator])
