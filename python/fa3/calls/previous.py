# SPDX-License-Identifier: Apache-2.0
"""fa3.attention with previous=(o, lse): the results of the same queries with other keys,
of an earlier step of ring attention or a prefix, are taken into those of these keys by
the kernel itself, in float32."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentTypeError, UnsupportedError
from ..kernels.arguments import Arguments
from .request import Request


def check(asked: Arguments, max_logit: Any) -> Arguments:
    """With o and lse of what a caller has given."""
    previous = asked.previous
    if not isinstance(previous, (tuple, list)) or len(previous) != 2:
        raise ArgumentTypeError("previous", f"{type(previous).__name__}, expected (o, lse)")
    if any([one is None for one in previous]):
        raise ArgumentTypeError("previous", "None in it, expected (o, lse)")
    for name, one in (("epilogue", asked.epilogue), ("return_max_logit", max_logit)):
        if one not in (None, False):
            raise UnsupportedError(f"previous beside {name}")
    return asked.replace(previous=(previous[0], previous[1]))


def without_torch(q: Any, k: Any, v: Any, asked: Arguments) -> Any:
    for name, one in (("generator", asked.generator), ("block_mask", asked.block_mask)):
        if one is not None:
            raise UnsupportedError(f"previous with {name}, without torch")
    return Request(q, k, v, asked).run()
