# SPDX-License-Identifier: Apache-2.0
"""fa3.jax.attention on JAX's CPU backend, by the interpreter."""

import functools
import importlib.util
import os
import subprocess
import sys
import unittest

import support

import fa3

HAS_JAX = importlib.util.find_spec("jax") is not None
if HAS_JAX:
    import jax
    import jax.numpy as jnp
    import numpy as np


SHARDED = f"""
import sys
sys.path.insert(0, {str(support.ROOT / "python")!r})
import jax, jax.numpy as jnp, numpy as np, fa3.jax
rng = np.random.default_rng(0)
q, k, v = (jnp.asarray(rng.normal(size=(2, h, n, 16)), jnp.float16)
           for h, n in ((4, 33), (2, 50), (2, 50)))
mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model"))
P = jax.sharding.PartitionSpec
spec = P("data", "model")
seen = []

def local(q, k, v):
    seen.append((q.shape, k.shape))
    return fa3.jax.attention(q, k, v, causal=True, interpret=True)

def loss(f, *x):
    return jnp.square(f(*x).astype(jnp.float32)).sum()

sharded = jax.shard_map(local, mesh=mesh, in_specs=(spec,) * 3, out_specs=spec,
                        check_vma=False)
whole = lambda *x: fa3.jax.attention(*x, causal=True, interpret=True)
x = [jax.device_put(one, jax.sharding.NamedSharding(mesh, spec)) for one in (q, k, v)]
np.testing.assert_allclose(jax.jit(sharded)(*x), whole(q, k, v), atol=1e-3)
assert seen[0] == ((1, 2, 33, 16), (1, 1, 50, 16)), seen
made = jax.jit(jax.grad(lambda *x: loss(sharded, *x), (0, 1, 2)))(*x)
wanted = jax.grad(lambda *x: loss(whole, *x), (0, 1, 2))(q, k, v)
for a, b in zip(made, wanted):
    np.testing.assert_allclose(np.float32(a), np.float32(b), atol=4e-3)

# Under jit alone: XLA shares out batch and heads, and gathers nothing.
def partly(*x):
    return jax.jit(jax.grad(lambda *x: loss(whole, *x), (0, 1, 2))).lower(*x).compile()

compiled = partly(*x)
assert "all-gather" not in compiled.as_text(), compiled.as_text()
for a, b in zip(compiled(*x), wanted):
    np.testing.assert_allclose(np.float32(a), np.float32(b), atol=4e-3)
made = jax.jit(whole)(*x)
assert made.sharding.spec == spec, made.sharding
np.testing.assert_allclose(made, whole(q, k, v), atol=1e-3)

# Heads of q that are shared out further than those of k, and sequences, are gathered.
for other in (P(None, ("data", "model")), P(None, None, "model"), P("data")):
    over = [jax.device_put(one, jax.sharding.NamedSharding(mesh, other)) if n < 1 else one
            for n, one in enumerate((q[:, :, :32], k, v))]
    np.testing.assert_allclose(jax.jit(whole)(*over), whole(q[:, :, :32], k, v), atol=1e-3)

# Arrays that have batch and heads, or one for all.
for shape in ((2, 4, 33, 56), (1, 4, 33, 56), (2, 1, 33, 56)):
    bias = jnp.asarray(rng.normal(size=shape), jnp.float16)[..., :50]
    more = dict(bias=bias, alibi_slopes=jnp.ones(4), sinks=jnp.ones(4))
    run = lambda *x: fa3.jax.attention(*x, **more, layout="bhsd", return_lse=True,
                                       interpret=True)
    for a, b in zip(jax.jit(run)(*x), run(q, k, v)):
        np.testing.assert_allclose(a, b, atol=1e-3)
turn = lambda x: x.swapaxes(1, 2)
run = lambda *x: turn(fa3.jax.attention(*map(turn, x), layout="bshd", interpret=True))
np.testing.assert_allclose(jax.jit(run)(*x), run(q, k, v), atol=1e-3)

# Mods see the numbers of batch and head of the whole.
run = lambda *x: fa3.jax.attention(
    *x, score_mod=lambda s, b, h, i, j: s * (1 + h) + b, interpret=True)
np.testing.assert_allclose(jax.jit(run)(*x), run(q, k, v), atol=1e-3)
print("ok", len(jax.devices()))
"""


@unittest.skipUnless(HAS_JAX, "needs jax")
@support.needs_interpreter
class JaxTest(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(0)
        self.q, self.k, self.v = (
            jnp.asarray(rng.normal(size=(2, heads, length, 16)), jnp.float16)
            for heads, length in ((4, 33), (2, 50), (2, 50))
        )

    def reference(self, q, k, v, causal=False):
        k, v = (jnp.repeat(one.astype(jnp.float32), 2, axis=1) for one in (k, v))
        s = jnp.einsum("bhid,bhjd->bhij", q.astype(jnp.float32), k) / 4
        if causal:
            i, j = jnp.arange(s.shape[2])[:, None], jnp.arange(s.shape[3])[None]
            s = jnp.where(j <= i + s.shape[3] - s.shape[2], s, -jnp.inf)
        o = jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(s), v)
        return o, jax.nn.logsumexp(s, axis=-1)

    def test_jit(self):
        @jax.jit
        def run(q, k, v):
            o, lse = fa3.jax.attention(q * 1, k, v, causal=True, return_lse=True, interpret=True)
            return o + 0, lse

        for _ in range(2):
            o, lse = run(self.q, self.k, self.v)
        expected, sums = self.reference(self.q, self.k, self.v, True)
        np.testing.assert_allclose(o, expected, atol=2e-3)
        np.testing.assert_allclose(lse, sums, atol=2e-3)

    def test_max_logit(self):
        def run(kind, q, k, v):
            return fa3.jax.attention(q, k, v, causal=True, return_max_logit=kind, interpret=True)

        k = jnp.repeat(self.k.astype(jnp.float32), 2, axis=1)
        s = jnp.einsum("bhid,bhjd->bhij", self.q.astype(jnp.float32), k) / 4
        i, j = jnp.arange(33)[:, None], jnp.arange(50)[None]
        rows = jnp.where(j <= i + 17, s, -jnp.inf).max(-1)
        given = self.q, self.k, self.v
        _, made = jax.jit(functools.partial(run, "row"))(*given)
        np.testing.assert_allclose(made, rows, rtol=1e-5, atol=1e-5)
        _, made = run(True, *given)
        np.testing.assert_allclose(made, rows.max((0, 2)), rtol=1e-5, atol=1e-5)
        # Each of what is mapped has its own.
        _, made = jax.vmap(functools.partial(run, True))(*(one[:, None] for one in given))
        np.testing.assert_allclose(made, rows.max(2), rtol=1e-5, atol=1e-5)

        def loss(weight, kind, *x):
            made = run(kind, *x)
            o, top = made if kind else (made, jnp.zeros(4))
            return o.astype(jnp.float32).sum() + weight * top.sum()

        plain = jax.grad(loss, (2, 3, 4))(0.0, False, *given)
        for one, other in zip(jax.grad(loss, (2, 3, 4))(5.0, True, *given), plain):
            np.testing.assert_array_equal(one, other)

    def test_mods(self):
        slopes = jnp.asarray([0.5, 0.25, 0.1, 0.05], jnp.float32)
        keep = jnp.asarray(np.random.default_rng(1).random((33, 50)) > 0.4)
        document = jnp.arange(50) // 7
        i, j = np.arange(33)[:, None], np.arange(50)[None]
        far = np.abs(i - j)
        for score, mask, score_values, mask_values in (
            (None, lambda b, h, q, kv: q >= kv, None, i >= j),
            (None, lambda b, h, q, kv: (q // 8 == kv // 8) | (kv % 5 == 0), None,
             (i // 8 == j // 8) | (j % 5 == 0)),
            (None, lambda b, h, q, kv: keep[q, kv], None, np.asarray(keep)),
            (None, lambda b, h, q, kv: document[q] == document[kv], None,
             i // 7 == j // 7),
            (lambda s, b, h, q, kv: s - slopes[h] * jnp.abs(q - kv), None,
             lambda s: s - np.asarray(slopes)[:, None, None] * far, None),
            (lambda s, b, h, q, kv: 4 * jnp.tanh(s / 4), None,
             lambda s: 4 * np.tanh(s / 4), None),
            (lambda s, b, h, q, kv: jnp.where(q >= kv, jax.nn.relu(s), s**2), None,
             lambda s: np.where(i >= j, np.maximum(s, 0), s**2), None),
        ):  # fmt: skip
            run = jax.jit(
                lambda q, k, v: fa3.jax.attention(
                    q,
                    k,
                    v,
                    score_mod=score,
                    mask_mod=mask,
                    interpret=True,  # noqa: B023
                )
            )
            o = run(self.q, self.k, self.v)
            k, v = (np.repeat(np.float32(one), 2, axis=1) for one in (self.k, self.v))
            s = np.einsum("bhid,bhjd->bhij", np.float32(self.q), k) / 4
            s = score_values(s) if score_values else s
            s = np.where(mask_values, s, -np.inf) if mask_values is not None else s
            weights = np.nan_to_num(np.exp(s - s.max(-1, keepdims=True)))
            expected = weights @ v / np.maximum(weights.sum(-1, keepdims=True), 1e-30)
            np.testing.assert_allclose(o, expected, atol=4e-3)

    def test_mods_that_cannot_be_traced(self):
        q, table, row = self.q, jnp.ones((3, 3)), jnp.ones(4)
        scaled = jax.custom_jvp(lambda x: x * 2)
        scaled.defjvps(lambda t, answer, x: t * 5)
        clipped = jax.custom_vjp(lambda x: x * 2)
        clipped.defvjp(lambda x: (x * 2, None), lambda rest, t: (jnp.clip(t, -1, 1),))
        for mod, expected in (
            (lambda s, b, h, q, kv: s if q > kv else -s, "TracerBoolConversionError"),
            (lambda s, b, h, q, kv: s + table.sum() + table[h].sum(), "of a captured"),
            (lambda s, b, h, q, kv: jnp.sinh(s), "primitive 'sinh' of JAX"),
            (lambda s, b, h, q, kv: s + jax.lax.stop_gradient(s), "stop_gradient: grad"),
            (lambda s, b, h, q, kv: s * jax.lax.stop_gradient(row)[h], "stop_gradient"),
            (lambda s, b, h, q, kv: scaled(s), "custom_jvp_call: gradients that a mod"),
            (lambda s, b, h, q, kv: clipped(s), "custom_vjp_call: gradients that a mod"),
        ):
            with self.assertRaisesRegex(fa3.TraceError, expected):
                fa3.jax.attention(q, q, q, score_mod=mod, interpret=True)
        # Masks and indices have none.
        stop = jax.lax.stop_gradient
        made = fa3.jax.attention(
            q, q, q, interpret=True, mask_mod=lambda b, h, i, j: stop(i) * 2 >= clipped(j),
            score_mod=lambda s, b, h, i, j: s + stop(i - j) * 0.1,
        )  # fmt: skip
        wanted = fa3.jax.attention(
            q, q, q, interpret=True, mask_mod=lambda b, h, i, j: i >= j,
            score_mod=lambda s, b, h, i, j: s + (i - j) * 0.1,
        )  # fmt: skip
        np.testing.assert_array_equal(made, wanted)
        slopes = jnp.ones(3)
        with self.assertRaisesRegex(fa3.ArgumentError, "3 elements of dimension 0"):
            fa3.jax.attention(
                q, q, q, score_mod=lambda s, b, h, q, kv: s * slopes[h], interpret=True
            )

    def test_block_mask(self):
        # Of q + 9 >= kv, in blocks of 64 x 16, without one block of two heads.
        i, j = np.arange(33)[:, None], np.arange(50)
        kinds = np.tile(np.array([1, 1, 1, 0]), (1, 4, 1, 1))
        kinds[0, 0, 0, 0] = kinds[0, 2, 0, 1] = 0
        kinds[0, 3, 0, 0] = 2  # not of this mask, but the list says so
        lists = []
        for kind in (1, 2):
            index = np.argsort(kinds != kind, axis=-1, kind="stable")
            lists += [(kinds == kind).sum(-1), index]
        lists = [jnp.asarray(one, jnp.int32) for one in lists]
        kinds = kinds.repeat(64, 2).repeat(16, 3)[:, :, :33, :50]
        seen = (kinds == 2) | ((kinds == 1) & (i + 9 >= j))

        @jax.jit
        def run(q, k, v, lists):
            mask = fa3.BlockMask(
                *lists, BLOCK_SIZE=(64, 16), mask_mod=lambda b, h, q, kv: q + 9 >= kv
            )
            return fa3.jax.attention(q, k, v, block_mask=mask, interpret=True)

        k, v = (jnp.repeat(one.astype(jnp.float32), 2, axis=1) for one in (self.k, self.v))
        s = jnp.einsum("bhid,bhjd->bhij", self.q.astype(jnp.float32), k) / 4
        weights = jnp.nan_to_num(jax.nn.softmax(jnp.where(seen, s, -jnp.inf)))
        expected = jnp.einsum("bhij,bhjd->bhid", weights, v)
        for _ in range(2):
            made = run(self.q, self.k, self.v, lists)
        np.testing.assert_allclose(made, expected, atol=3e-3)
        with self.assertRaisesRegex(fa3.UnsupportedError, "gradients .* block_mask"):
            jax.grad(lambda q: run(q, self.k, self.v, lists).sum())(self.q)
        with self.assertRaisesRegex(fa3.UnsupportedError, "blocks of .48, 16., expected"):
            fa3.jax.attention(
                self.q, self.k, self.v, interpret=True,
                block_mask=fa3.BlockMask(*lists, BLOCK_SIZE=(48, 16)),
            )  # fmt: skip

    def test_vmap_is_batch(self):
        q, k, v = (jnp.stack([one, one * 0.5]) for one in (self.q, self.k, self.v))
        run = jax.vmap(lambda q, k, v: fa3.jax.attention(q, k, v, interpret=True))
        o = jax.jit(run)(q, k, v)
        for n in range(2):
            np.testing.assert_allclose(o[n], self.reference(q[n], k[n], v[n])[0], atol=2e-3)
        # One operand without the mapped dimension.
        run = jax.vmap(lambda q, k: fa3.jax.attention(q, k, k, interpret=True), in_axes=(0, None))
        o = run(q, self.k)
        np.testing.assert_allclose(o[1], self.reference(q[1], self.k, self.k)[0], atol=2e-3)

    def test_layout(self):
        turned = [one.swapaxes(1, 2) for one in (self.q, self.k, self.v)]
        o = fa3.jax.attention(*turned, layout="bshd", interpret=True)
        expected, _ = self.reference(self.q, self.k, self.v)
        np.testing.assert_allclose(o.swapaxes(1, 2), expected, atol=2e-3)

    def test_shard_map(self):
        mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))
        spec = jax.sharding.PartitionSpec("x")
        run = jax.shard_map(
            lambda q, k, v: fa3.jax.attention(q, k, v, interpret=True),
            mesh=mesh, in_specs=(spec,) * 3, out_specs=spec, check_vma=False,
        )  # fmt: skip
        o = jax.jit(run)(self.q, self.k, self.v)
        expected, _ = self.reference(self.q, self.k, self.v)
        np.testing.assert_allclose(o, expected, atol=2e-3)

    def test_errors(self):
        q, k, v = self.q, self.k, self.v
        for args, named, expected in (
            ((q.astype(jnp.float32), k, v), {}, "'q': element type float32, expected"),
            ((q, k[:, :, :9], v), {}, "'v': 50 keys, expected 9 as k"),
            ((q[:, :3], k, v), {}, "'k': 2 heads, expected a divisor of q's 3"),
            ((q, k, v), {"scale": -1.0}, "'scale': -1.0, expected above 0"),
            ((q, k, v), {"scale": jnp.ones(())}, "'scale': ArrayImpl, expected a num"),
            ((q, k, v), {"causal": "False"}, "'causal': 'False', expected True or False"),
            ((q, k, v), {"return_lse": 2}, "'return_lse': 2, expected True or False"),
        ):
            with self.assertRaisesRegex(fa3.ArgumentError, expected):
                fa3.jax.attention(*args, interpret=True, **named)

    def test_gradients(self):
        weights = jnp.linspace(-1, 1, 16)
        sinks = jnp.asarray([0.5, -1.0, 2.0, 0.0], jnp.float32)

        def reference(q, k, v, sinks, causal):
            k, v = (jnp.repeat(one.astype(jnp.float32), 2, axis=1) for one in (k, v))
            s = jnp.einsum("bhid,bhjd->bhij", q.astype(jnp.float32), k) / 4
            if causal:
                i, j = jnp.arange(s.shape[2])[:, None], jnp.arange(s.shape[3])[None]
                s = jnp.where(j <= i + s.shape[3] - s.shape[2], s, -jnp.inf)
            if sinks is not None:
                column = jnp.broadcast_to(sinks[None, :, None, None], (*s.shape[:3], 1))
                s = jnp.concatenate([s, column], -1)
            p = jax.nn.softmax(s)[..., : k.shape[2]]
            return jnp.einsum("bhij,bhjd->bhid", p, v), jax.nn.logsumexp(s, axis=-1)

        def ours(q, k, v, sinks, causal):
            return fa3.jax.attention(
                q, k, v, sinks=sinks, causal=causal, return_lse=True, interpret=True
            )

        for lse, given, causal in (
            (False, None, True), (True, None, False), (True, sinks, True)
        ):  # fmt: skip

            def loss(function, q, k, v, sinks):
                o, sums = function(q, k, v, sinks, causal)  # noqa: B023
                total = (o.astype(jnp.float32) * weights).sum()
                return total + (jnp.sin(sums).sum() if lse else 0)  # noqa: B023

            numbers = (0, 1, 2) if given is None else (0, 1, 2, 3)
            made, expected = (
                jax.jit(jax.grad(lambda *x, f=f: loss(f, *x), numbers))(
                    self.q, self.k, self.v, given
                )
                for f in (ours, reference)
            )
            for one, wanted in zip(made, expected):
                np.testing.assert_allclose(
                    np.float32(one), np.float32(wanted), atol=6e-3, rtol=6e-3
                )

    def test_gradients_of_mods_layouts_and_vmap(self):
        slopes = jnp.asarray([0.5, 0.25, 0.1, 0.05], jnp.float32)
        distance = np.abs(np.arange(33)[:, None] - np.arange(50)[None])

        def ours(q, k, v):
            turned = (one.swapaxes(1, 2) for one in (q, k, v))
            o = fa3.jax.attention(
                *turned, layout="bshd", interpret=True,
                score_mod=lambda s, b, h, i, j: jnp.tanh(s) - slopes[h] * jnp.abs(i - j),
            )  # fmt: skip
            return o.swapaxes(1, 2)

        def reference(q, k, v):
            k, v = (jnp.repeat(one.astype(jnp.float32), 2, axis=1) for one in (k, v))
            s = jnp.einsum("bhid,bhjd->bhij", q.astype(jnp.float32), k) / 4
            s = jnp.tanh(s) - slopes[:, None, None] * distance
            return jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(s), v)

        given = [jnp.stack([one, one * 0.5]) for one in (self.q, self.k, self.v)]
        made, expected = (
            jax.grad(
                lambda *x, f=f: jnp.square(jax.vmap(f)(*x).astype(jnp.float32)).sum(),
                (0, 1, 2),
            )(*given)
            for f in (ours, reference)
        )
        for one, wanted in zip(made, expected):
            np.testing.assert_allclose(np.float32(one), np.float32(wanted), atol=8e-3, rtol=8e-3)

    def test_gradients_at_ties_are_those_of_jax(self):
        q = self.q.at[:, :, ::2].set(0)
        weights = jnp.linspace(-1, 1, 16)

        def reference(q, k, v, edit):
            k, v = (jnp.repeat(one.astype(jnp.float32), 2, axis=1) for one in (k, v))
            s = jnp.einsum("bhid,bhjd->bhij", q.astype(jnp.float32), k) / 4
            return jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(edit(s)), v)

        def ours(q, k, v, edit):
            return fa3.jax.attention(
                q, k, v, interpret=True, score_mod=lambda s, b, h, i, j: edit(s)
            )

        for edit in (
            jax.nn.relu, lambda s: jnp.maximum(s, 0.5 * s), lambda s: jnp.maximum(s, 0.0),
            lambda s: jax.lax.clamp(0.0, s, 2.0), jax.nn.relu6,
        ):  # fmt: skip
            made, wanted = (
                jax.grad(lambda q, f=f: (f(q, self.k, self.v, edit) * weights).sum())(q)
                for f in (ours, reference)
            )
            np.testing.assert_allclose(np.float32(made), np.float32(wanted), atol=4e-3, rtol=4e-3)

    def test_bias_and_slopes(self):
        bias = jnp.asarray(np.random.default_rng(2).normal(size=(1, 4, 33, 50)), jnp.float16)
        slopes = jnp.asarray([0.5, 0.25, 0.1, 0.05], jnp.float32)
        o = fa3.jax.attention(
            self.q, self.k, self.v, bias=bias, alibi_slopes=slopes, interpret=True
        )
        k, v = (np.repeat(np.float32(one), 2, axis=1) for one in (self.k, self.v))
        s = np.einsum("bhid,bhjd->bhij", np.float32(self.q), k) / 4 + np.float32(bias)
        i, j = np.arange(33)[:, None] + 17, np.arange(50)[None]
        s = s - np.asarray(slopes)[:, None, None] * np.abs(i - j)
        expected = np.asarray(jax.nn.softmax(jnp.asarray(s))) @ v
        np.testing.assert_allclose(o, expected, atol=4e-3)

    def test_what_has_no_gradient_is_named(self):
        bias, table = jnp.zeros((1, 4, 33, 50), jnp.float16), jnp.ones(4)
        for named, given, expected in (
            (lambda x: {"bias": x}, bias, "'bias' requires one"),
            (lambda x: {"score_mod": lambda s, b, h, i, j: s + x[h]}, table,
             "'an array of a mod' requires one"),
        ):  # fmt: skip
            with self.assertRaisesRegex(fa3.UnsupportedError, expected):
                jax.grad(lambda x: fa3.jax.attention(
                    self.q, self.k, self.v, interpret=True, **named(x)  # noqa: B023
                ).sum())(given)  # fmt: skip
        with self.assertRaisesRegex(Exception, "under vmap"):
            jax.vmap(lambda x: fa3.jax.attention(
                self.q, self.k, self.v, sinks=x, interpret=True
            ))(jnp.ones((2, 4)))  # fmt: skip

    def test_sharded_over_batch_and_heads(self):
        """Four CPU devices, in a process of their own."""
        done = subprocess.run(
            [sys.executable, "-c", SHARDED], capture_output=True, text=True, check=False,
            env={**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"},
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ok", done.stdout)

    def test_arrays_of_jax_are_not_written_to(self):
        with self.assertRaisesRegex(fa3.ArgumentError, "use fa3.jax.attention"):
            fa3.attention(self.q, self.k, self.v, interpret=True)


if __name__ == "__main__":
    unittest.main()
