# SPDX-License-Identifier: Apache-2.0
"""How many operations torch.utils.flop_counter counts of fa3's operators: as of
scaled_dot_product_attention, two for each element of a product, masks or not."""

from __future__ import annotations

import sys
from typing import Any


from ..kernels.checks import DIMS
from ..kernels.program import parse
from ..support import watch
from .namespace import ops


def _sizes(q: Any, v: Any, k: Any, program: str) -> tuple[int, int, int]:
    """Of the score matrices of all heads, and head dims."""
    b, h, s = DIMS[parse(program).layout]
    return q[b] * q[h] * q[s] * k[s], q[3], v[3]


def forward(
    q: Any, k: Any, v: Any, extras: Any, numbers: Any, program: str, scale: Any,
    *_: Any, **named: Any,
) -> int:  # fmt: skip
    scores, d, dv = _sizes(q, v, k, program)
    return 2 * scores * (d + dv)


def backward(
    do: Any, dlse: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, extras: Any,
    numbers: Any, program: str, scale: Any, *_: Any, **named: Any,
) -> int:  # fmt: skip
    """Scores and their gradients, dq and dk; weights' gradients and dv."""
    scores, d, dv = _sizes(q, v, k, program)
    return 2 * scores * (3 * d + 2 * dv)


# -----------------------------------------------------------------------------
# Sequences
# -----------------------------------------------------------------------------


def _pairs(
    q: Any, k: Any, cu_q: Any, cu_k: Any, used_q: Any, used_k: Any, page_table: Any,
    max_q: Any, max_k: Any, new: int = 0,
) -> int:  # fmt: skip
    """Pairs of a query and a key, over all sequences; of fake tensors, whose lengths
    nobody knows, as many as there may be."""
    queries = _lengths(cu_q, used_q, max_q, q.shape[0], q.shape[1])
    rows = k.shape[1]
    if page_table is not None:
        rows *= page_table.shape[1]
    keys = _lengths(cu_k, used_k, max_k, len(queries), rows)
    if new:
        keys = [one + new for one in keys] if used_k is not None else keys
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


def serve(
    q: Any, k: Any, v: Any, cu_q: Any, cu_k: Any, used_q: Any, used_k: Any,
    batch_index: Any, leftpad: Any, page_table: Any, sinks: Any, q_descale: Any,
    k_descale: Any, v_descale: Any, max_q: Any, max_k: Any, *rest: Any, **named: Any,
) -> int:  # fmt: skip
    # What is appended lies behind eleven further arguments.
    new = rest[10].shape[1] if len(rest) > 10 and rest[10] is not None else 0
    pairs = _pairs(q, k, cu_q, cu_k, used_q, used_k, page_table, max_q, max_k, new)
    return 2 * q.shape[-2] * pairs * (q.shape[-1] + v.shape[-1])


def packed(
    q: Any, k: Any, v: Any, cu_q: Any, cu_k: Any, used_q: Any, used_k: Any, max_q: Any,
    max_k: Any, *_: Any, **named: Any,
) -> int:  # fmt: skip
    pairs = _pairs(q, k, cu_q, cu_k, used_q, used_k, None, max_q, max_k)
    return 2 * q.shape[-2] * pairs * (q.shape[-1] + v.shape[-1])


def packed_backward(
    do: Any, dlse: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, cu_q: Any, cu_k: Any,
    used_q: Any, used_k: Any, max_q: Any, max_k: Any, *_: Any, **named: Any,
) -> int:  # fmt: skip
    pairs = _pairs(q, k, cu_q, cu_k, used_q, used_k, None, max_q, max_k)
    return 2 * q.shape[-2] * pairs * (3 * q.shape[-1] + 2 * v.shape[-1])


#: Formulas of operators; those of sequences look at tensors.
_FORMULAS = {
    "forward": forward, "inference": forward, "forward_max": forward,
    "inference_max": forward, "backward": backward, "backward_without_autograd": backward,
    "serve": serve, "append": serve,
    "packed": packed, "packed_backward": packed_backward,
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
