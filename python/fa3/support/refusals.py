# SPDX-License-Identifier: Apache-2.0
"""Derivatives that there are none of: an error where one is asked for, never a number
that is silently left out."""

from __future__ import annotations

from typing import Any

import torch

from ..errors import UnsupportedError


class _Without(torch.autograd.Function):
    @staticmethod
    def forward(what: str, count: int, *given: Any) -> Any:
        return tuple(one.view_as(one) for one in given[:count])

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.what = inputs[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:  # type: ignore[override]
        raise UnsupportedError(ctx.what)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise UnsupportedError(ctx.what)


def without_gradient(what: str, made: Any, *inputs: Any) -> Any:
    """`made`, a tensor or some, as results of `inputs`, whose gradient is an error that
    says `what`."""
    single = isinstance(made, torch.Tensor)
    given = (made,) if single else tuple(made)
    done = _Without.apply(what, len(given), *given, *inputs)
    return done[0] if single else done
