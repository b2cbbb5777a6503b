# SPDX-License-Identifier: Apache-2.0
"""fa3 in torch without a GPU: the operators under torch.compile and opcheck, with
the interpreter as their kernel on the CPU; gradients against torch's."""

import os
import threading
import unittest
from unittest import mock

import support

import fa3

if support.HAS_TORCH:
    import torch

    import fa3.torch as door
    from fa3 import flash_attn_interface
    from fa3.calls import gradients, launch
    from fa3.kernels import compiled as kernels, program
    from fa3.kernels.arguments import Arguments


def definition(q, k, v, *, causal=False, window=None, softcap=0.0, scale=None,
               score=None, sinks=None, bias=None):  # fmt: skip
    """o and lse of (b, h, s, d), by operations that torch can differentiate."""
    groups = q.shape[1] // k.shape[1]
    k, v = (one.repeat_interleave(groups, 1).float() for one in (k, v))
    s = q.float() @ k.mT * (scale or q.shape[3] ** -0.5)
    i, j = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])[None]
    off = k.shape[2] - q.shape[2]
    if softcap:
        s = softcap * torch.tanh(s / softcap)
    if bias is not None:
        s = s + bias.float()
    if score is not None:
        b = torch.arange(q.shape[0])[:, None, None, None]
        s = score(s, b, torch.arange(q.shape[1])[:, None, None], i, j)
    if causal:
        s = s.masked_fill(j > i + off, float("-inf"))
    if window is not None:
        s = s.masked_fill((j < i + off - window[0]) | (j > i + off + window[1]), float("-inf"))
    if sinks is not None:
        column = sinks[None, :, None, None].expand(*s.shape[:3], 1)
        s = torch.cat([s, column], -1)
    p = torch.softmax(s, -1)
    p = p[..., :-1] if sinks is not None else p
    return p @ v, torch.logsumexp(s, -1)


class Problem(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.q = torch.randn(2, 4, 17, 32, dtype=torch.float16)
        self.k = torch.randn(2, 2, 24, 32, dtype=torch.float16)
        self.v = torch.randn(2, 2, 24, 32, dtype=torch.float16)

    def close(self, made, expected, tolerance=4e-3):
        torch.testing.assert_close(made.float(), expected.float(), atol=tolerance, rtol=tolerance)


@support.needs_torch
@support.needs_interpreter
class OperatorTest(Problem):
    def text(self, **named):
        names = set(Arguments._fields) & named.keys() - {"backward"}
        asked = {name: named.pop(name) for name in names}
        asked = {"causal": True, "return_lse": True, "interpret": True, **asked}
        return program.to_text(Arguments(**asked), **named)

    def test_program(self):
        text = self.text(window=(3, None), softcap=30, out_dtype=torch.bfloat16,
                         layout="bshd", extras="bias,sinks")  # fmt: skip
        self.assertEqual(
            program.parse(text),
            program.Program(
                True, (3, None), 30.0, "bfloat16", True, "bshd", interpret=True,
                extras=("bias", "sinks"),
            ),
        )  # fmt: skip

    def test_program_with_mods_means_the_same_elsewhere(self):
        slopes, two = torch.rand(4), 2.0
        traced = fa3.mods.trace.trace_mods(
            lambda s, b, h, i, j: s * two - slopes[h], lambda b, h, i, j: i >= j
        )
        read = program.parse(self.text(mods=program.mods_text(traced)))
        self.assertEqual(read.regions, traced.regions)
        self.assertEqual(read.uses, traced.uses)
        again = read.traced([slopes], [2.0])
        self.assertEqual((again.scalars, again.names), (traced.scalars, traced.names))

    def test_compile_without_graph_break(self):
        bias = torch.randn(1, 4, 17, 24, dtype=torch.float16)
        sinks = torch.rand(4)
        for dynamic in (False, True):
            torch._dynamo.reset()
            compiled = torch.compile(
                lambda q, k, v, bias: fa3.attention(
                    q, k, v, causal=True, bias=bias, sinks=sinks, return_lse=True,
                    interpret=True,
                ),
                fullgraph=True, backend="aot_eager", dynamic=dynamic,
            )  # fmt: skip
            for queries in (17, 9):
                q, b = self.q[:, :, :queries], bias[:, :, :queries]
                o, lse = compiled(q, self.k, self.v, b)
                expected = definition(q, self.k, self.v, causal=True, bias=b, sinks=sinks)
                self.close(o, expected[0])
                self.close(lse, expected[1])

    def test_opcheck(self):
        sinks, text = torch.rand(4), self.text(extras="sinks")
        for order in ((0, 1, 2), (0, 2, 1), (2, 0, 1)):
            back = [order.index(d) for d in range(3)]
            q = self.q.permute(*order, 3).contiguous().permute(*back, 3)
            for operator in (torch.ops.fa3.forward, torch.ops.fa3.inference):
                torch.library.opcheck(operator.default, (q, self.k, self.v, [sinks], [], text, 0.3))
            o, lse = torch.ops.fa3.forward(q, self.k, self.v, [sinks], [], text, 0.3)
            for dlse in (None, torch.rand_like(lse)):
                given = (o, dlse, q, self.k, self.v, o, lse, [sinks], [], text, 0.3)
                torch.library.opcheck(torch.ops.fa3.backward.default, given)
                torch.library.opcheck(torch.ops.fa3.backward_without_autograd.default, given)

    def test_opcheck_of_gradients(self):
        text = self.text(backward="fa3")
        given = [one.requires_grad_() for one in (self.q, self.k, self.v)]
        torch.library.opcheck(torch.ops.fa3.forward.default, (*given, [], [], text, 0.3))

    def test_operator_without_a_backward_is_an_error(self):
        q = self.q.requires_grad_()
        o, _ = torch.ops.fa3.forward(q, self.k, self.v, [], [], self.text(), None)
        with self.assertRaisesRegex(fa3.UnsupportedError, "asks for none"):
            o.sum().backward()


@support.needs_torch
@support.needs_interpreter
class GradientTest(Problem):
    def check(self, named, expected=None, lse=True, layout="bhsd", compiled=False,
              tables=(), tolerance=6e-3):  # fmt: skip
        """Gradients of o and lse beside those of the definition, also of `tables`,
        which mods read."""
        weights = torch.linspace(-1, 1, self.v.shape[3])
        grads = []
        for ours in (True, False):
            given = [one.detach().clone() for one in (self.q, self.k, self.v)]
            options = dict(named if ours or expected is None else expected)
            more = []
            for name, one in options.items():
                if name in ("sinks", "bias", "alibi_slopes") and one.requires_grad:
                    options[name] = one.detach().clone().requires_grad_()
                    more.append(options[name])
            for one in given:
                one.requires_grad_()
            if ours:
                turned = given
                if layout == "bshd":
                    turned = [one.transpose(1, 2) for one in given]

                def call(*tensors):
                    return fa3.attention(
                        *tensors, return_lse=True, interpret=True, layout=layout,
                        **options,
                    )  # fmt: skip

                if compiled:
                    call = torch.compile(call, fullgraph=True, backend="aot_eager")
                o, sums = call(*turned)
                o = o.transpose(1, 2) if layout == "bshd" else o
            else:
                o, sums = definition(*given, **options)
            loss = (o.float() * weights).sum()
            if lse:
                loss = loss + sums.masked_fill(torch.isinf(sums), 0).sin().sum()
            for one in tables:
                one.grad = None
            loss.backward()
            grads.append([one.grad for one in (*given, *more, *tables)])
        for made, wanted in zip(*grads):
            self.assertEqual(made.shape, wanted.shape)
            self.close(made, wanted, tolerance)

    def test_of_masks_and_scores(self):
        for named in (
            {}, {"causal": True}, {"window": (5, 2)}, {"softcap": 2.0}, {"scale": 0.3},
            {"causal": True, "softcap": 3.0},
        ):  # fmt: skip
            with self.subTest(named):
                self.check(named)
                self.check(named, lse=False, layout="bshd")

    def test_of_a_large_scale_are_an_error(self):
        q = self.q.requires_grad_()
        fa3.attention(q.detach(), self.k, self.v, scale=2e3, interpret=True)
        with self.assertRaisesRegex(fa3.ArgumentError, "2000.0, expected at most 2.10"):
            fa3.attention(q, self.k, self.v, scale=2e3, interpret=True)

    def test_of_mods(self):
        slopes, factor = torch.rand(4), 1.5
        mod = lambda s, b, h, i, j: factor * torch.tanh(s) - slopes[h] * (i - j)  # noqa: E731
        self.check({"score_mod": mod}, {"score": mod})
        self.check(
            {"score_mod": mod, "mask_mod": lambda b, h, i, j: j <= i + 7},
            {"score": mod, "causal": True},
        )

    def test_of_code_that_ignores_scores(self):
        """A GPU's pipeline refused the gradients; support.py compiles for it."""
        mod = lambda s, b, h, i, j: (i - j) * 0.125  # noqa: E731
        made = [one.clone().requires_grad_() for one in (self.q, self.k, self.v)]
        wanted = [one.detach().clone().requires_grad_() for one in made]
        weights = torch.linspace(-1, 1, self.v.shape[3])
        o = fa3.attention(*made, score_mod=mod, interpret=True)
        expected, _ = definition(*wanted, score=mod)
        for one in (o, expected):
            (one.float() * weights).sum().backward()
        self.close(o, expected, 6e-3)
        self.close(made[2].grad, wanted[2].grad, 6e-3)
        self.assertEqual([one.grad.abs().max().item() for one in made[:2]], [0, 0])

    def test_of_bias_slopes_and_sinks(self):
        bias, slopes = torch.randn(1, 1, 17, 24, dtype=torch.float16), torch.rand(4)
        self.check({"bias": bias})
        self.check(
            {"alibi_slopes": slopes},
            {"score": lambda s, b, h, i, j: s - slopes[h] * (i + 7 - j).abs()},
        )
        self.check({"sinks": torch.randn(4, requires_grad=True), "causal": True})

    def test_of_what_is_added_to_scores(self):
        for shape in ((1, 1), (2, 1), (1, 4), (2, 4)):
            with self.subTest(shape):
                bias = torch.randn(*shape, 17, 24, dtype=torch.float16)
                self.check({"bias": bias.requires_grad_(), "causal": True})
        keys = torch.randn(2, 1, 1, 24, dtype=torch.float16, requires_grad=True)
        self.check({"bias": keys})
        slopes = torch.rand(4, requires_grad=True)
        i, j = torch.arange(17)[:, None], torch.arange(24)[None]
        grads = []
        for ours in (True, False):
            slopes.grad = None
            if ours:
                o = fa3.attention(self.q, self.k, self.v, alibi_slopes=slopes, interpret=True)
            else:
                bias = -slopes[None, :, None, None] * (i + 7 - j).abs()
                o = definition(self.q, self.k, self.v, bias=bias)[0]
            (o.float() * torch.linspace(-1, 1, 32)).sum().backward()
            grads.append(slopes.grad.clone())
        self.close(*grads, 2e-2)

    def test_of_a_bias_whose_rows_are_padded(self):
        """What the kernel writes has rows of 24, and is copied behind it."""
        bias = torch.randn(2, 4, 17, 21, dtype=torch.float16, requires_grad=True)
        k, v = self.k[:, :, :21], self.v[:, :, :21]
        grads = []
        for ours in (True, False):
            o = (
                fa3.attention(self.q, k, v, bias=bias, interpret=True) if ours
                else definition(self.q, k, v, bias=bias)[0]
            )  # fmt: skip
            (made,) = torch.autograd.grad((o.float() * torch.linspace(-1, 1, 32)).sum(), bias)
            grads.append(made)
        self.assertGreater(grads[1].abs().max(), 0.1)
        self.close(*grads, 2e-2)

    def test_of_tables_that_mods_read(self):
        heads = torch.rand(4, requires_grad=True)
        rows = torch.randn(17, 24).half().requires_grad_()
        long = torch.randn(40, requires_grad=True)  # of which 24 are read
        one = torch.tensor([1.5], requires_grad=True)
        for mod, tables in (
            (lambda s, b, h, i, j: s * heads[h] + rows[i, j], (heads, rows)),
            (lambda s, b, h, i, j: s + long[j] * one[0], (long, one)),
        ):
            self.check({"score_mod": mod}, {"score": mod}, tables=tables, tolerance=2e-2)

    def test_of_tables_at_computed_indices(self):
        distances = torch.randn(4, 60, requires_grad=True)
        buckets = torch.randn(9, 4, requires_grad=True)
        hops = torch.randint(0, 5, (2, 17, 24))
        spatial = torch.randn(5, 4).half().requires_grad_()

        def distance(s, b, h, i, j):
            return s + distances[h, i - j + 30]

        def bucket(s, b, h, i, j):
            return s + buckets[torch.clamp((i - j).abs() // 2, max=8), h]

        def of_memory(s, b, h, i, j):
            return s + spatial[hops[b, i, j], h]

        for mod, tables in (
            (distance, (distances,)), (bucket, (buckets,)), (of_memory, (spatial,)),
        ):  # fmt: skip
            with self.subTest(mod.__name__):
                self.check({"score_mod": mod}, {"score": mod}, tables=tables, tolerance=2e-2)

    def test_of_a_table_under_compile(self):
        torch._dynamo.reset()
        table = torch.randn(60, requires_grad=True)

        def mod(s, b, h, i, j):
            return s + table[i - j + 30]

        self.check(
            {"score_mod": mod}, {"score": mod}, tables=(table,), tolerance=2e-2, compiled=True
        )

    def test_under_compile(self):
        torch._dynamo.reset()
        self.check({"causal": True}, compiled=True)

    def test_head_dims_differ(self):
        self.v = torch.randn(2, 2, 24, 16, dtype=torch.float16)
        self.check({"causal": True})

    def test_expanded_gradient(self):
        q = self.q.requires_grad_()
        fa3.attention(q, self.k, self.v, interpret=True).sum().backward()
        made = q.grad.clone()
        q.grad = None
        definition(q, self.k, self.v)[0].sum().backward()
        self.close(made, q.grad)

    def test_what_has_no_gradient_is_named(self):
        q = self.q.requires_grad_()
        with self.assertRaisesRegex(fa3.UnsupportedError, "element type .*float8"):
            small = (one.to(torch.float8_e4m3fn) for one in (self.q, self.k, self.v))
            fa3.attention(*small, interpret=True)
        with self.assertRaisesRegex(fa3.UnsupportedError, "given outputs"):
            fa3.attention(q, self.k, self.v, out=torch.empty_like(q), interpret=True)
        door.set_backward(None)
        self.addCleanup(door.set_backward, "fa3")
        with self.assertRaisesRegex(fa3.UnsupportedError, "switched off"):
            fa3.attention(q, self.k, self.v, interpret=True)
        with torch.no_grad():
            with self.assertRaisesRegex(fa3.ArgumentError, "device is cpu"):
                fa3.attention(q, self.k, self.v)

    def test_bad_gradients_are_named(self):
        text = program.to_text(Arguments(True, return_lse=True, interpret=True))
        o, lse = torch.ops.fa3.forward(self.q, self.k, self.v, [], [], text, None)
        for given, expected in (
            ({"do": o[:, :, :5]}, "'do': shape .2, 4, 5, 32., expected .2, 4, 17, 32."),
            ({"lse": lse.half()}, "'lse': element type f16, expected f32"),
            ({"dlse": lse[:1]}, "'dlse': shape .1, 4, 17., expected .2, 4, 17."),
        ):
            named = {"do": o, "dlse": None, "lse": lse, **given}
            saved = (self.q, self.k, self.v, o, named["lse"])
            with self.assertRaisesRegex(fa3.ArgumentError, expected):
                gradients.backward(named["do"], named["dlse"], saved, [], [], text, None)

    @support.needs_driver
    def test_launches(self):
        fake = support.fake_driver()
        q = self.q.requires_grad_()
        slopes = torch.rand(4)
        with support.fake_gpu():
            launch.plans.clear()
            for run in range(2):
                before = fake.fakeCudaNumLaunches()
                o = fa3.attention(
                    q, self.k, self.v, causal=True,
                    score_mod=lambda s, b, h, i, j: s - slopes[h],
                )  # fmt: skip
                o.sum().backward()
                # The forward, sums of rows, dk and dv, dq.
                self.assertEqual(fake.fakeCudaNumLaunches() - before, 4, run)
            self.assertEqual(len(support.plans("backward")), 1)
            launch.plans.clear()

    @support.needs_driver
    def test_compiled_beside_the_forward(self):
        made, compile_traced = [], kernels.compile_traced

        def record(text, *args, **options):
            if "attention.backward" not in text:
                return compile_traced(text, *args, **options)
            made.append((threading.current_thread().name, "%dlse" in text))
            if len(made) == 1:
                self.assertTrue(forward.wait(60), "the forward waits for its gradients")
            return compile_traced(text, *args, **options)

        def run(**named):
            made.clear()
            forward.clear()
            results = fa3.attention(q, self.k, self.v, **named)
            forward.set()
            sum(one.sum() for one in results).backward()
            return list(made)

        q, forward, ahead = self.q.requires_grad_(), threading.Event(), "fa3-gradients"
        own = threading.current_thread().name
        for known in (launch.plans, kernels.kernels, gradients._ahead):
            known.clear()
        with support.fake_gpu(), mock.patch.object(kernels, "compile_traced", record):
            self.assertEqual(run(window=(9, 1)), [(ahead, False)])
            # A window of its own, and a gradient of lse, which is not guessed.
            self.assertEqual(run(window=(9, 2), return_lse=True), [(ahead, False), (own, True)])
            with torch.no_grad():
                fa3.attention(q, self.k, self.v, window=(9, 3))
            self.assertEqual(len(made), 2)

        def fail(text, *args, **options):
            if "attention.backward" not in text:
                return compile_traced(text, *args, **options)
            failed.append(text)
            raise fa3.UnsupportedError("no")

        failed = []
        with support.fake_gpu(), mock.patch.object(kernels, "compile_traced", fail):
            o = fa3.attention(q, self.k, self.v, window=(9, 4))
            with self.assertRaisesRegex(fa3.UnsupportedError, "no"):
                o.sum().backward()
            self.assertEqual(len(failed), 2)
        launch.plans.clear()

    @support.needs_driver
    def test_the_same_bits_where_asked_for(self):
        asked, compile_traced = [], kernels.compile_traced

        def record(text, *args, **options):
            if "attention.backward" in text:
                asked.append(options["deterministic"])
            return compile_traced(text, *args, **options)

        q = self.q.requires_grad_()

        def expect(expected, call=door.attention, **named):
            launch.plans.clear()
            kernels.kernels.clear()
            gradients._ahead.clear()
            asked.clear()
            call(q, self.k, self.v, causal=True, **named).sum().backward()
            self.assertEqual(asked, [expected])

        def flash(q, k, v, **named):
            turned = [one.transpose(1, 2) for one in (q, k, v)]
            return flash_attn_interface.flash_attn_func(*turned, **named)

        with support.fake_gpu():
            with mock.patch.object(kernels, "compile_traced", record):
                expect(False)
                expect(False, flash)
                expect(True, backward="deterministic")
                expect(True, flash, deterministic=True)
                torch.use_deterministic_algorithms(True)
                self.addCleanup(torch.use_deterministic_algorithms, False)
                expect(True)
                torch.use_deterministic_algorithms(False)
                door.set_backward("deterministic")
                self.addCleanup(door.set_backward, "fa3")
                expect(True)
                door.set_backward("fa3")
                for flags, expected in (
                    ("--xla_gpu_deterministic_ops=true", True),
                    ("--xla_gpu_deterministic_ops=false --xla_x=1", False),
                    ("--xla_gpu_exclude_nondeterministic_ops", True),
                ):
                    with mock.patch.dict(os.environ, XLA_FLAGS=flags):
                        expect(expected)
        launch.plans.clear()


@support.needs_torch
class TorchBackwardTest(Problem):
    def test_where_it_is_valid(self):
        q, k = self.q.requires_grad_(), self.k
        for named, expected in (
            ({"causal": True}, "causal with 17 queries and 24 keys"),
            ({"softcap": 2.0}, "softcap 2.0"),
            ({"sinks": torch.rand(4)}, "takes no mods, bias, slopes, sinks, previous or dropout"),
        ):
            with self.assertRaisesRegex(fa3.UnsupportedError, expected):
                door.attention(q, k, k, backward="torch", **named)
        with self.assertRaisesRegex(fa3.UnsupportedError, "head dims 32 and 16"):
            door.attention(q, k, k[..., :16], backward="torch")
        with self.assertRaisesRegex(fa3.ArgumentError, "'backward': 'x', expected"):
            door.attention(q, k, k, backward="x")

    @support.needs_interpreter
    def test_call(self):
        q = self.q.requires_grad_()
        calls = []

        def stub(grad, q, k, v, out, lse, *rest, **named):
            calls.append((grad.shape, q.shape, k.shape, lse.shape, rest, named))
            return tuple(torch.ones_like(one) for one in (q, k, v))

        packet = torch.ops.aten
        with mock.patch.object(packet, "_flash_attention_backward", stub):
            o = door.attention(
                q, self.k, self.k, window=(5, 0), scale=0.5, backward="torch",
                interpret=True,
            )  # fmt: skip
            o.sum().backward()
        ((grad, q_shape, k_shape, lse, rest, named),) = calls
        self.assertEqual(grad, (2, 17, 4, 32))
        self.assertEqual((q_shape, k_shape), ((2, 17, 4, 32), (2, 24, 2, 32)))
        self.assertEqual(lse, (2, 4, 17))
        self.assertEqual(rest[:6], (None, None, 17, 24, 0.0, False))
        self.assertEqual(named, {"scale": 0.5, "window_size_left": 5, "window_size_right": 0})
        torch.testing.assert_close(q.grad, torch.ones_like(q))


if __name__ == "__main__":
    unittest.main()
