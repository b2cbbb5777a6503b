# SPDX-License-Identifier: Apache-2.0
"""A mod's answer is that of the mod as it is now: for every pair of stale_pairs.py the
second mod's trace is the one from an empty cache, and so are values; under
torch.compile, too."""

import sys
import unittest

import support

import fa3
from fa3.mods import pure, reads, trace

if support.HAS_TORCH:
    import stale_pairs
    import torch

EVERY = 16  # of these pairs one is compared by value


def both(mods):
    return mods if type(mods) is tuple else (None, mods)


def content(traced):
    """All that a call depends on."""
    tensors = [(id(one), one.dtype, one.tolist()) for one in traced.tensors]
    return traced.regions, traced.scalars, traced.uses, tensors


def from_nothing(mods):
    for cache in (trace._entries, reads._known, pure._known):
        cache.clear()
    return content(trace.trace_mods(*both(mods)))


@support.needs_torch
class StaleTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        shape = (1, 1, stale_pairs.SIZE, 16)
        self.q, self.k, self.v = (torch.randn(shape).half() for _ in range(3))

    def attention(self, mods):
        score_mod, mask_mod = both(mods)
        return fa3.attention(
            self.q, self.k, self.v, score_mod=score_mod, mask_mod=mask_mod,
            interpret="definition",
        )  # fmt: skip

    def expected(self, mods):
        """In f64, where torch runs the mods on tensors of indices."""
        score_mod, mask_mod = both(mods)
        n = stale_pairs.SIZE
        at = (torch.tensor(0), torch.tensor(0), torch.arange(n)[:, None], torch.arange(n)[None])
        s = (self.q.double() @ self.k.double().mT) / 4
        if score_mod is not None:
            s = score_mod(s, *at)
        if mask_mod is not None:
            s = s.masked_fill(~mask_mod(*at).expand(n, n), -torch.inf)
        return s.softmax(-1).nan_to_num() @ self.v.double()

    def check_value(self, mods):
        with support.only_interpreted():
            made = self.attention(mods)
        self.assertLess((made.double() - self.expected(mods)).abs().max().item(), 5e-3)

    def test_traces(self):
        count = stale = 0
        for name, pair in stale_pairs.pairs():
            with self.subTest(name):
                trace._entries.clear()
                mods = next(pair)
                first = content(trace.trace_mods(*both(mods)))
                self.assertEqual(content(trace.trace_mods(*both(mods))), first)
                mods = next(pair)
                made = content(trace.trace_mods(*both(mods)))
                stale += made != from_nothing(mods)
                self.assertEqual(made, from_nothing(mods))
                self.assertNotEqual(made, first)
                count += 1
        self.assertGreaterEqual(count, 200)
        self.assertEqual(stale, 0)

    @support.needs_interpreter
    def test_values(self):
        count = 0
        for number, (name, pair) in enumerate(stale_pairs.pairs()):
            if number % EVERY and name not in stale_pairs.OTHERS:
                continue
            with self.subTest(name):
                trace.trace_mods(*both(next(pair)))
                self.check_value(next(pair))
                count += 1
        self.assertGreaterEqual(count, 50)

    def test_what_dynamo_guards(self):
        """What a compiled function takes for constant is guarded: after the change it
        is what an uncompiled one finds. Where it gives None the graph breaks, and the
        call is one of those above."""
        from fa3 import dynamo

        def describe(mods):
            return dynamo.describe(mods[0], mods[1])

        count = followed = 0
        for number, (name, pair) in enumerate(stale_pairs.pairs()):
            if number % 2 and name not in stale_pairs.OTHERS:
                continue
            with self.subTest(name):
                count += 1
                mods = both(next(pair))
                if describe(mods) is None:
                    continue
                torch._dynamo.reset()
                compiled = torch.compile(describe, backend="eager", fullgraph=True)
                self.assertIsNotNone(compiled(mods))
                mods = both(next(pair))
                made, expected = compiled(mods), describe(mods)
                if made is not None:
                    self.assertIsNotNone(expected)
                    self.assertEqual((made[0], made[2]), (expected[0], expected[2]))
                    self.assertEqual(list(map(id, made[1])), list(map(id, expected[1])))
                followed += made is not None
        self.assertGreaterEqual(count, 200)
        self.assertGreaterEqual(followed, 50)

    @support.needs_interpreter
    def test_values_of_compiled_functions(self):
        count = 0
        for number, (name, pair) in enumerate(stale_pairs.pairs()):
            # Dynamo does not guard that a name stays torch where it knows torch already.
            if number % EVERY or name == "module of torch is replaced":
                continue
            with self.subTest(name):
                torch._dynamo.reset()
                compiled = torch.compile(self.attention, backend="eager")
                with support.only_interpreted():
                    compiled(next(pair))
                    mods = next(pair)
                    error = compiled(mods).double() - self.expected(mods)
                self.assertLess(error.abs().max().item(), 5e-3)
                count += 1
        self.assertGreaterEqual(count, 30)


@support.needs_torch
@support.needs_jax
class JaxTest(unittest.TestCase):
    def test_traces(self):
        """JAX keeps traces, too."""
        import jax

        from fa3.jax import trace as jax_trace

        count = 0
        for name, pair in stale_pairs.pairs():
            if name.split(" in ")[0] not in ("int", "string", "function"):
                continue
            with self.subTest(name):
                first = jax_trace.trace_mods(*both(next(pair))).regions
                mods = next(pair)
                made = jax_trace.trace_mods(*both(mods)).regions
                jax.clear_caches()
                self.assertEqual(made, jax_trace.trace_mods(*both(mods)).regions)
                self.assertNotEqual(made, first)
                count += 1
        self.assertGreaterEqual(count, 90)

    def test_one_array_then_two(self):
        import jax.numpy as jnp

        from fa3.jax import trace as jax_trace

        one, two = jnp.arange(8), jnp.arange(8) // 2
        held = [one, one]
        mod = lambda b, h, q, kv: held[0][q] == held[1][kv]  # noqa: E731
        for held[1] in (one, two, one):
            tensors = jax_trace.trace_mods(None, mod).tensors
            self.assertIs(tensors[1], held[1])


if __name__ == "__main__":
    sys.exit(unittest.main())
