# SPDX-License-Identifier: Apache-2.0
"""How many operations torch.utils.flop_counter counts of fa3's operators: as of
scaled_dot_product_attention, two for each element of a product, masks or not."""

from __future__ import annotations

import sys
from typing import Any

import torch

from . import watch
from .checks import DIMS
from .program import parse


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


def register() -> None:
    """Tells torch's counter, if the program has imported it: it imports triton."""
    counter = sys.modules.get("torch.utils.flop_counter")
    if counter is None or torch.ops.fa3.forward in counter.flop_registry:
        return
    ops = torch.ops.fa3
    counter.register_flop_formula([ops.forward, ops.inference])(forward)
    counter.register_flop_formula(ops.backward)(backward)


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
        for operator in (torch.ops.fa3.forward, torch.ops.fa3.inference, torch.ops.fa3.backward):
            one.flop_registry.setdefault(operator, counter.flop_registry[operator])
