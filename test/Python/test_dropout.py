# SPDX-License-Identifier: Apache-2.0
"""dropout_p: the weights that are dropped are FlashAttention-2's, forward and in
gradients, by every door; those are computed from the published scheme."""

import functools
import math
import sys
import unittest

import support

import fa3

sys.path.insert(0, str(support.ROOT / "test" / "Inputs"))
import dropout as scheme  # noqa: E402

if support.HAS_TORCH:
    import torch

    import fa3.torch as door


@functools.lru_cache(maxsize=None)
def kept(state, p, b, h, queries, keys):
    """Which weights are kept, (b, h, queries, keys)."""
    # The signed numbers of a tensor are those of the scheme without their sign.
    seed, offset = (n % 2**64 for n in state)
    most = math.floor((1 - p) * 255)
    flat = [
        scheme.get_byte(seed, offset, row, i, j) <= most
        for row in range(b * h) for i in range(queries) for j in range(keys)
    ]  # fmt: skip
    return torch.tensor(flat).reshape(b, h, queries, keys)


def definition(q, k, v, state, p, causal=False):
    """Attention and its lse in f32."""
    groups = q.shape[1] // k.shape[1]
    k, v = (one.repeat_interleave(groups, 1) for one in (k, v))
    scores = q @ k.mT / math.sqrt(q.shape[3])
    if causal:
        seen = torch.ones(scores.shape[2:], dtype=torch.bool)
        scores = scores.masked_fill(~seen.tril(k.shape[2] - q.shape[2]), -torch.inf)
    mask = kept(tuple(state.tolist()), p, *scores.shape)
    weights = scores.softmax(-1) * mask / (1 - p)
    return weights @ v, scores.logsumexp(-1)


@support.needs_torch
@support.needs_interpreter
class DropoutTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.q = torch.randn(2, 4, 33, 16, dtype=torch.float16)
        self.k, self.v = (torch.randn(2, 2, 40, 16, dtype=torch.float16) for _ in range(2))
        self.state = torch.tensor([-(3 << 40) + 5, (1 << 32) - 40])

    def close(self, made, expected, bound=4e-3):
        self.assertLess((made.float() - expected.float()).abs().max().item(), bound)

    def expected(self, *args, **named):
        return definition(self.q.float(), self.k.float(), self.v.float(), *args, **named)

    def run_ours(self, **named):
        return fa3.attention(self.q, self.k, self.v, interpret=True, **named)

    def test_values(self):
        for p, causal in ((0.5, False), (0.1, True)):
            with self.subTest(p=p):
                o, lse = self.run_ours(
                    dropout_p=p, rng_state=self.state, causal=causal, return_lse=True
                )
                expected = self.expected(self.state, p, causal=causal)
                self.close(o, expected[0])
                self.close(lse, expected[1])
        out = torch.empty_like(self.q)
        self.run_ours(dropout_p=0.1, rng_state=self.state, out=out, causal=True)
        self.assertTrue(torch.equal(out, o))

    def test_gradients(self):
        p, given = 0.3, [one.clone().requires_grad_() for one in (self.q, self.k, self.v)]
        wide = [one.detach().float().requires_grad_() for one in given]
        do = torch.randn_like(self.q)
        o = fa3.attention(
            *given, causal=True, dropout_p=p, rng_state=self.state, interpret=True
        )
        expected, _ = definition(*wide, self.state, p, causal=True)
        self.close(o, expected)
        found = torch.autograd.grad(o, given, do)
        for one, other in zip(found, torch.autograd.grad(expected, wide, do.float())):
            self.close(one, other, 2e-2)

    def test_generators(self):
        def run(**named):
            return self.run_ours(dropout_p=0.5, **named)

        torch.manual_seed(7)
        first, second = run(), run()
        torch.manual_seed(7)
        self.assertTrue(torch.equal(first, run()))
        self.assertFalse(torch.equal(first, second))
        own = torch.Generator().manual_seed(3)
        third = run(generator=own)
        self.assertFalse(torch.equal(third, run(generator=own)))
        self.assertTrue(torch.equal(third, run(generator=own.manual_seed(3))))
        # Seed and offset as torch's kernels give them.
        unsigned = self.state.view(torch.uint64)
        self.assertTrue(torch.equal(run(rng_state=unsigned), run(rng_state=self.state)))
        # A generator is not touched where nothing is dropped.
        before = torch.get_rng_state()
        self.run_ours(dropout_p=0.0)
        self.assertTrue(torch.equal(before, torch.get_rng_state()))

    def test_compiled(self):
        def run(q, k, v, state):
            return fa3.attention(
                q, k, v, dropout_p=0.5, rng_state=state, interpret=True
            )

        compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
        self.close(
            compiled(self.q, self.k, self.v, self.state), self.expected(self.state, 0.5)[0]
        )

        def draw(q, k, v):
            return fa3.attention(q, k, v, dropout_p=0.5, interpret=True)

        drawn = torch.compile(draw, fullgraph=True, backend="aot_eager")
        torch.manual_seed(1)
        first = drawn(self.q, self.k, self.v)
        self.assertFalse(torch.equal(first, drawn(self.q, self.k, self.v)))

    def test_mods(self):
        def near(b, h, q, kv):
            return (q - kv).abs() <= 5

        o = self.run_ours(dropout_p=0.5, rng_state=self.state, mask_mod=near)
        q, k, v = (one.float() for one in (self.q, self.k, self.v))
        k, v = (one.repeat_interleave(2, 1) for one in (k, v))
        places = torch.arange(33)[:, None] - torch.arange(40)[None]
        scores = (q @ k.mT / 4).masked_fill(places.abs() > 5, -torch.inf)
        mask = kept(tuple(self.state.tolist()), 0.5, *scores.shape)
        self.close(o, (scores.softmax(-1).nan_to_num() * mask * 2) @ v)

    def test_refused(self):
        for named, error, why in (
            ({"dropout_p": 1.0}, fa3.ArgumentError, "'dropout_p': 1.0, expected 0 to less"),
            ({"dropout_p": -0.5}, fa3.ArgumentError, "'dropout_p': -0.5, expected 0 to less"),
            ({"dropout_p": "0.5"}, TypeError, "expected a number"),
            ({"dropout_p": 0.5, "rng_state": (1, 2)}, TypeError, "expected a tensor"),
            ({"dropout_p": 0.5, "rng_state": self.state[:1]}, fa3.ArgumentError, "i64 of shape"),
            ({"dropout_p": 0.5, "rng_state": self.state.int()}, fa3.ArgumentError, "i32 of shape"),
            ({"dropout_p": 0.5, "rng_state": self.state, "generator": torch.Generator()},
             fa3.ArgumentError, "is given beside rng_state"),
        ):  # fmt: skip
            with self.subTest(**named), self.assertRaisesRegex(error, why):
                self.run_ours(**named)
        q = self.q.float().requires_grad_()
        with self.assertRaisesRegex(fa3.UnsupportedError, "element type torch.float32"):
            fa3.attention(
                q, self.k.float(), self.v.float(), dropout_p=0.5, interpret=True
            )

        def loss(q):
            return fa3.attention(q, self.k, self.v, dropout_p=0.5, interpret=True).sum()

        with self.assertRaisesRegex(fa3.UnsupportedError, "dropout_p under a transform"):
            torch.func.grad(loss)(self.q)
        with self.assertRaisesRegex(fa3.UnsupportedError, "torch's backward takes no"):
            door.attention(
                self.q.requires_grad_(), self.k, self.v, dropout_p=0.5, backward="torch"
            )


if __name__ == "__main__":
    unittest.main()
