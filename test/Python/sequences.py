# SPDX-License-Identifier: Apache-2.0
"""What tests of packed, padded and paged sequences share: lengths as tensors, attention
of one sequence by torch, and functions that run in the interpreter."""

import itertools
import unittest
from unittest import mock

import support

if support.HAS_TORCH:
    import torch

    from fa3 import api, serving
    from fa3.serving import packed


def starts(lengths):
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)


def i32(*values):
    return torch.tensor(values, dtype=torch.int32)


def one_sequence(q, k, v, *, causal=False, window=(-1, -1), chunk=0, sinks=None,
                 softcap=0.0, mask=None, scores=None):  # fmt: skip
    """(queries, heads, d): o and lse (heads, queries). `mask` (queries, keys) says what
    is seen besides, `scores` is a function of the scores (heads, queries, keys)."""
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1).float() for x in (k, v))
    s = torch.einsum("ihd,jhd->hij", q.float(), k) * q.shape[2] ** -0.5
    if softcap:
        s = softcap * torch.tanh(s / softcap)
    s = s if scores is None else scores(s)
    i = torch.arange(q.shape[0])[:, None] + k.shape[0] - q.shape[0]
    j = torch.arange(k.shape[0])[None]
    left, right = window
    right = 0 if causal else right
    seen = j >= 0
    if right >= 0:
        seen = seen & (j <= i + right)
    if left >= 0:
        seen = seen & (j >= i - left)
    if chunk:
        seen = seen & (i // chunk == j // chunk)
    if mask is not None:
        seen = seen & mask
    s = s.masked_fill(~seen, float("-inf"))
    if sinks is not None:
        s = torch.cat([s, sinks[:, None, None].expand(-1, s.shape[1], 1)], -1)
    p = torch.softmax(s, -1).nan_to_num()
    p = p if sinks is None else p[..., :-1]
    return torch.einsum("hij,jhd->ihd", p, v), torch.logsumexp(s, -1)


class OnCpu(unittest.TestCase):
    """Whatever the functions call runs in the interpreter."""

    def setUp(self):
        for module in (api, packed, serving):
            real = module.attention
            patch = mock.patch.object(
                module, "attention",
                lambda *args, real=real, **named: real(*args, **{"interpret": True, **named}),
            )  # fmt: skip
            patch.start()
            self.addCleanup(patch.stop)
        torch.manual_seed(0)

    def random(self, *shape, dtype=None):
        return torch.randn(*shape).to(dtype or torch.float16)

    def close(self, made, expected, tolerance=3e-3):
        torch.testing.assert_close(
            made.float(), expected.float(), atol=tolerance, rtol=tolerance
        )
