# SPDX-License-Identifier: Apache-2.0
"""Who looks on while a call is made: what make_fx and torch.jit.trace record is the call,
fake tensors and autocast have its types, FlopCounterMode counts it."""

import unittest

import support
from test_derivatives import Problem, definition

import fa3

if support.HAS_TORCH:
    import torch
    from torch import func
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.utils.flop_counter import FlopCounterMode

    from fa3 import serving
    from fa3.support import watch


@support.needs_torch
@support.needs_interpreter
class RecorderTest(Problem):
    """What is recorded is the call, with all that it computes."""

    def other(self):
        return torch.randn(2, 4, 9, 16, dtype=torch.float16)

    def test_make_fx(self):
        table, other = torch.rand(4), self.other()
        mod = lambda s, b, h, i, j: s * table[h]  # noqa: E731
        graph = make_fx(
            lambda q: fa3.attention(q, self.k, self.v, interpret=True, score_mod=mod)
        )(self.q)
        self.close([graph(other)], [definition(other, self.k, self.v, mod)])
        for mode in ("fake", "symbolic"):
            graph = make_fx(
                lambda *x: fa3.attention(*x, interpret=True, return_lse=True),
                tracing_mode=mode,
            )(self.q, self.k, self.v)  # fmt: skip
            self.close([graph(other, self.k, self.v)[0]], [definition(other, self.k, self.v)])

    def test_make_fx_of_gradients(self):
        def step(q):
            q = q.detach().requires_grad_()
            return torch.autograd.grad(self.ours(q, self.k, self.v), q)

        other = self.other()
        made = make_fx(step)(self.q)(other)
        self.close(made, step(other))
        graph = make_fx(func.grad(lambda q: self.ours(q, self.k, self.v)))(self.q)
        self.close([graph(other)], made)

    def test_jit_trace(self):
        """For other lengths, too, and with gradients."""
        call = lambda *x: fa3.attention(*x, interpret=True, causal=True)  # noqa: E731
        traced = torch.jit.trace(call, (self.q, self.k, self.v))
        for shape in ((2, 4, 9, 16), (1, 6, 5, 32)):
            given = [torch.randn(shape, dtype=torch.float16) for _ in range(3)]
            self.assertTrue(torch.equal(traced(*given), call(*given)))
        made = []
        q = self.q.clone().requires_grad_()
        traced = torch.jit.trace(lambda q: self.ours(q, self.k, self.v), (q,))
        other = self.other().requires_grad_()
        for f in (traced, lambda q: self.theirs(q, self.k, self.v)):
            made.append(torch.autograd.grad(f(other), other))
        self.close(*made, 2e-2)

    def test_recorded_without_gradients(self):
        """Such a graph has none, and says so."""
        call = lambda q: fa3.attention(q, self.k, self.v, interpret=True)  # noqa: E731
        other = self.other().requires_grad_()
        for graph in (make_fx(call)(self.q), torch.jit.trace(call, (self.q,))):
            with self.assertRaisesRegex(RuntimeError, "gradients of torch.ops.fa3.inference"):
                graph(other)
            with torch.no_grad():
                self.close([graph(other)], [definition(other, self.k, self.v)])

    def test_fake_tensors(self):
        mode = FakeTensorMode()
        fake = [mode.from_tensor(one) for one in (self.q, self.k, self.v)]
        for inside in (False, True):
            for layout in ("bhsd", "bshd"):
                given = fake
                real = [self.q, self.k, self.v]
                if layout == "bshd":
                    given, real = (
                        [one.transpose(1, 2) for one in ones] for ones in (fake, real)
                    )
                call = lambda *x, layout=layout: fa3.attention(  # noqa: E731
                    *x, layout=layout, return_lse=True, interpret=True
                )
                if inside:
                    with mode:
                        made = call(*given)
                else:
                    made = call(*given)
                for one, other in zip(made, call(*real)):
                    self.assertEqual(
                        (one.shape, one.stride(), one.dtype),
                        (other.shape, other.stride(), other.dtype),
                    )

    def test_flop_counter(self):
        """As of scaled_dot_product_attention, forward and backward."""
        def count(call):
            given = [one.clone().requires_grad_() for one in given_as]
            with FlopCounterMode(display=False) as counter:
                call(*given).float().sum().backward()
            return counter.get_total_flops()

        given_as = (self.q, *(one.repeat_interleave(2, 1) for one in (self.k, self.v)))
        made = count(lambda *x: fa3.attention(*x, interpret=True))
        scores = 2 * 4 * 9 * 12
        self.assertEqual(made, 2 * scores * (2 + 5) * 16)
        given_as = [one.transpose(1, 2) for one in given_as]
        self.assertEqual(
            made, count(lambda *x: fa3.attention(*x, interpret=True, layout="bshd"))
        )
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            fa3.attention(self.q, self.k, self.v, interpret=True)
        self.assertEqual(counter.get_total_flops(), 4 * scores * 16)

    def test_given_outputs(self):
        wanted = fa3.attention(self.q, self.k, self.v, interpret=True, return_lse=True)
        out, lse = torch.zeros_like(wanted[0]), torch.zeros_like(wanted[1])
        with FlopCounterMode(display=False) as counter:
            made = fa3.attention(
                self.q, self.k, self.v, interpret=True, return_lse=True, out=out, lse=lse
            )
        self.assertGreater(counter.get_total_flops(), 0)
        self.assertIs(made[0], out)
        self.assertIs(made[1], lse)
        self.close((out, lse), wanted, 0)
        with FlopCounterMode(display=False):
            with self.assertRaisesRegex(fa3.ArgumentError, "'out': .*expected"):
                fa3.attention(self.q, self.k, self.v, interpret=True, out=out[:1])
        with self.assertRaisesRegex(fa3.UnsupportedError, "given outputs"):
            func.grad(lambda q: self.ours(q, self.k, self.v, out=out))(self.q)

    def test_autocast(self):
        """float32 is cast as that of scaled_dot_product_attention."""
        given = [one.float() for one in (self.q, self.k, self.v)]
        scale = lambda s, b, h, i, j: s * 2  # noqa: E731
        with self.assertRaisesRegex(fa3.ArgumentError, "element type f32"):
            fa3.attention(*given, interpret=True)
        compiled = torch.compile(
            lambda *x: fa3.attention(*x, interpret=True), backend="aot_eager", fullgraph=True
        )
        for dtype in (torch.bfloat16, torch.float16):
            with torch.autocast("cpu", dtype):
                for named in ({}, {"score_mod": scale}):
                    o = fa3.attention(*given, interpret=True, **named)
                    self.assertEqual(o.dtype, dtype)
                    wanted = definition(*given, **({"score": scale} if named else {}))
                    self.close([o], [wanted], 2e-2)
                self.assertTrue(torch.equal(compiled(*given), fa3.attention(
                    *given, interpret=True
                )))  # fmt: skip
                self.assertTrue(torch.equal(
                    func.vmap(lambda q: fa3.attention(q, *given[1:], interpret=True))(
                        given[0][None]
                    )[0], compiled(*given),
                ))  # fmt: skip
                mixed = fa3.attention(given[0], self.k, given[2], interpret=True)
                self.assertEqual(mixed.dtype, dtype)
                leaves = [one.clone().requires_grad_() for one in given]
                made = torch.autograd.grad(self.ours(*leaves), leaves)
            wanted = torch.autograd.grad(self.theirs(*leaves), leaves)
            self.assertEqual({one.dtype for one in made}, {torch.float32})
            self.close(made, wanted, 4e-2)
            with torch.autocast("cpu", torch.bfloat16):
                # As it is.
                o = fa3.attention(self.q, self.k, self.v, interpret=True)
            self.assertEqual(o.dtype, torch.float16)

    def test_cost(self):
        """It is asked in every call: under a microsecond."""
        self.assertLess(support.least_seconds(watch.is_watched, 1000, 1e-6), 1e-6)


@support.needs_torch
@support.needs_interpreter
class SequencesTest(Problem):
    """Packed and padded sequences, new keys, merges: operators where they are recorded."""

    def sequences(self):
        """Calls that are no fa3.attention, with their tensors."""
        rows, attend = self.rows()
        cu = torch.tensor([0, 5, 5, 12], dtype=torch.int32)
        used = torch.tensor([7, 12], dtype=torch.int32)
        q, k, v = (one.transpose(1, 2).contiguous() for one in (self.q, self.k, self.v))
        return {
            "packed": (lambda *x: attend(*x), rows),
            "serve": (lambda *x: serving.attention(
                *x, cu_q=cu, cu_k=cu, max_q=7, max_k=7, interpret=True
            ), rows),
            "used": (lambda *x: serving.attention(
                *x, used_k=used, causal=True, return_lse=True, interpret=True
            ), [q, k, v]),
            "merge": (lambda *x: fa3.merge(*x, interpret=True), [
                torch.randn(2, 2, 4, 9, 16), torch.randn(2, 2, 4, 9)
            ]),
        }  # fmt: skip

    def test_sequences_and_merges(self):
        """They are operators where they are recorded."""
        for name, (call, given) in self.sequences().items():
            other = [one.roll(1, 0) for one in given]
            wanted = call(*other)
            many = isinstance(wanted, tuple)
            wanted = wanted if many else (wanted,)
            for kind in ("real", "symbolic", "jit"):
                with self.subTest(name=name, kind=kind):
                    if kind == "jit":
                        made = torch.jit.trace(call, tuple(given))(*other)
                    elif kind == "symbolic" and name != "merge":
                        continue  # torch takes no captured tensors then
                    else:
                        made = make_fx(call, tracing_mode=kind)(*given)(*other)
                    self.close(made if many else (made,), wanted, 0)
            mode = FakeTensorMode(allow_non_fake_inputs=True)
            with mode:
                made = call(*(mode.from_tensor(one) for one in given))
            for one, made_one in zip(wanted, made if many else (made,), strict=True):
                self.assertEqual((one.shape, one.dtype), (made_one.shape, made_one.dtype))

    def test_gradients_of_sequences(self):
        rows, call = self.rows()
        loss = lambda q: (call(q, *rows[1:]).float() * self.weights).sum()  # noqa: E731
        other = rows[0].roll(1, 0)
        wanted = func.grad(
            lambda q: (self.packed_definition(q, *rows[1:]) * self.weights).sum()
        )(other)

        def step(q):
            q = q.detach().requires_grad_()
            return torch.autograd.grad(loss(q), q)[0]

        for kind, graph in (
            ("autograd", make_fx(step)(rows[0])), ("grad", make_fx(func.grad(loss))(rows[0])),
        ):  # fmt: skip
            with self.subTest(kind):
                self.close([graph(other)], [wanted])
                self.assertIn("packed_backward", graph.code)
        leaf = rows[0].clone().requires_grad_()
        traced = torch.jit.trace(loss, (leaf,))
        leaf = other.clone().requires_grad_()
        self.close(torch.autograd.grad(traced(leaf), leaf), [wanted])

    def test_flops_of_sequences(self):
        rows, call = self.rows()
        pairs = 5 * 5 + 7 * 7
        leaf = rows[0].clone().requires_grad_()
        with FlopCounterMode(display=False) as counter:
            call(leaf, *rows[1:]).float().sum().backward()
        self.assertEqual(counter.get_total_flops(), 2 * 2 * pairs * (2 + 5) * 16)
        counts = {"serve": 2 * pairs, "used": 4 * 9 * (7 + 12), "merge": 0}
        for name, count in counts.items():
            call, given = self.sequences()[name]
            with FlopCounterMode(display=False) as counter:
                call(*given)
            self.assertEqual(counter.get_total_flops(), 2 * count * 2 * 16)

    def test_new_keys_are_written(self):
        q, k, v = (one.transpose(1, 2).contiguous() for one in (self.q, self.k, self.v))
        used = torch.tensor([3, 1], dtype=torch.int32)
        new = [torch.randn(2, 2, 2, 16, dtype=torch.float16) for _ in range(2)]
        run = lambda q, k, v: serving.attention(  # noqa: E731
            q, k, v, used_k=used, k_new=new[0], v_new=new[1], interpret=True
        )
        wanted = [k.clone(), v.clone()]
        wanted.append(run(q, *wanted))
        with FlopCounterMode(display=False) as counter:
            made = [k.clone(), v.clone()]
            made.append(run(q, *made))
        self.close(made, wanted, 0)
        self.assertEqual(counter.get_total_flops(), 2 * 4 * 9 * (5 + 3) * 2 * 16)
        graph = make_fx(run)(q, k.clone(), v.clone())
        made = [k.clone(), v.clone()]
        made.append(graph(q, *made))
        self.close(made, wanted, 0)

    def test_given_outputs_of_sequences(self):
        for name in ("serve", "merge"):
            call, given = self.sequences()[name]
            wanted = call(*given)
            first = wanted if name == "serve" else wanted[0]
            out = torch.zeros_like(first)
            with FlopCounterMode(display=False):
                if name == "merge":
                    made, _ = fa3.merge(*given, interpret=True, out=out)
                else:
                    cu = torch.tensor([0, 5, 5, 12], dtype=torch.int32)
                    made = serving.attention(
                        *given, cu_q=cu, cu_k=cu, max_q=7, max_k=7, interpret=True, out=out
                    )
            self.assertIs(made, out)
            self.close([out], [first], 0)

    def test_what_has_no_rule_is_refused(self):
        for name in ("serve", "merge"):
            call, given = self.sequences()[name]
            with self.assertRaisesRegex(fa3.UnsupportedError, "under torch.func"):
                func.vmap(call)(*(one[None] for one in given))
        with FlopCounterMode(display=False):
            with self.assertRaisesRegex(fa3.UnsupportedError, "kernel_options: block_m"):
                fa3.flex_attention(
                    self.q, self.q, self.q, kernel_options={"block_m": 128}
                )

    def test_other_modes_pass(self):
        class Quiet(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
                return operator(*args, **(kwargs or {}))

        rows, call = self.rows()
        with Quiet():
            made = call(*rows)
        self.close([made], [self.packed_definition(*rows)])


if __name__ == "__main__":
    unittest.main()
