# SPDX-License-Identifier: Apache-2.0
"""Requests with keys in pages, as tests of backends of engines give them."""

import support
from sequences import one_sequence, starts

if support.HAS_TORCH:
    import torch

PAGE = 16


class Requests:
    """Requests with new queries behind a context, and a cache in pages."""

    def __init__(self, queries, lengths, heads=(4, 2), dim=64, dtype=None):
        self.queries, self.lengths, self.heads, self.dim = queries, lengths, heads, dim
        self.dtype = dtype or torch.float16
        self.q = [self.random(n, heads[0]) for n in queries]
        self.k, self.v = ([self.random(n, heads[1]) for n in lengths] for _ in "kv")
        self.width = -(-max(lengths) // PAGE)
        count = len(lengths) * self.width + 1
        order = torch.randperm(count - 1) + 1
        self.table = order.reshape(-1, self.width).to(torch.int32)
        self.pages = count

    def random(self, rows, heads):
        return torch.randn(rows, heads, self.dim).to(self.dtype)

    def slots(self, n, first=0):
        at = torch.arange(first, self.lengths[n])
        return self.table[n, at // PAGE].long() * PAGE + at % PAGE

    def new_slots(self):
        """Where the keys of new queries go."""
        return torch.cat([
            self.slots(n, length - rows)
            for n, (rows, length) in enumerate(zip(self.queries, self.lengths))
        ])  # fmt: skip

    def new(self, given):
        return torch.cat([
            one[one.shape[0] - rows :] for one, rows in zip(given, self.queries)
        ])

    def expected(self, n, **named):
        return one_sequence(self.q[n], self.k[n], self.v[n], **named)

    def cut(self, o):
        at = starts(self.queries)
        return [o[slice(*at[n : n + 2].tolist())] for n in range(len(self.queries))]


BATCHES = (
    ((20, 33), (20, 33)), ((1, 1, 1), (50, 17, 1)), ((1, 5, 20, 1), (50, 17, 20, 33)),
)  # fmt: skip
