# SPDX-License-Identifier: Apache-2.0
"""Derivatives at the doors: each kind is right, by value, or an error at the call.
Nothing is dropped."""

import unittest

import support

import fa3

if support.HAS_TORCH:
    import torch
    from torch import func
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.autograd import forward_ad
    from torch.fx.experimental.proxy_tensor import make_fx

    from fa3 import flash_attn_interface, hf, serving
    from fa3.serving import packed


def definition(q, k, v, score=None, sinks=None, bias=None):
    """o of (b, h, s, d), by operations that torch can differentiate."""
    groups = q.shape[-3] // k.shape[-3]
    k, v = (one.repeat_interleave(groups, -3).float() for one in (k, v))
    s = q.float() @ k.mT * q.shape[-1] ** -0.5
    if bias is not None:
        s = s + bias
    if score is not None:
        b = torch.arange(q.shape[0])[:, None, None, None]
        h = torch.arange(q.shape[1])[:, None, None]
        i, j = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])[None]
        s = score(s, b, h, i, j)
    if sinks is not None:
        column = sinks[None, :, None, None].expand(*s.shape[:3], 1)
        s = torch.cat([s, column], -1)
    p = torch.softmax(s, -1)
    return (p[..., :-1] if sinks is not None else p) @ v


class Problem(unittest.TestCase):
    def setUp(self):
        # The kernels are of kinds that other tests compile for a GPU.
        self.enterContext(support.only_interpreted())
        torch.manual_seed(0)
        self.q = torch.randn(2, 4, 9, 16, dtype=torch.float16)
        self.k = torch.randn(2, 2, 12, 16, dtype=torch.float16)
        self.v = torch.randn(2, 2, 12, 16, dtype=torch.float16)
        self.weights = torch.linspace(-1, 1, 16)

    def close(self, made, wanted, tolerance=1e-2):
        for one, other in zip(made, wanted, strict=True):
            self.assertEqual(one.shape, other.shape)
            torch.testing.assert_close(
                one.float(), other.float(), atol=tolerance, rtol=tolerance
            )

    def ours(self, q, k, v, **named):
        o = fa3.attention(q, k, v, interpret=True, **named)
        return (o.float() * self.weights).sum()

    def theirs(self, q, k, v, **named):
        return (definition(q, k, v, **named) * self.weights).sum()

    def rows(self):
        """Three sequences, packed."""
        cu = torch.tensor([0, 5, 5, 12], dtype=torch.int32)
        made = [torch.randn(12, 2, 16, dtype=torch.float16) for _ in range(3)]
        return made, lambda q, k, v: packed.attention(
            q, k, v, cu_q=cu, cu_k=cu, max_q=7, max_k=7, interpret=True
        )  # fmt: skip

    @staticmethod
    def packed_definition(q, k, v):
        parts = []
        for cut in (slice(0, 5), slice(5, 12)):
            turned = [one[cut].transpose(0, 1)[None] for one in (q, k, v)]
            parts.append(definition(*turned)[0].transpose(0, 1))
        return torch.cat(parts)


@support.needs_torch
@support.needs_interpreter
class SecondOrderTest(Problem):
    """The gradient of a gradient had no effect."""

    def penalty(self, call, *given):
        """A loss with the square of a gradient in it, and one without."""
        given = [one.clone().requires_grad_() for one in given]
        o = call(*given)
        (made,) = torch.autograd.grad(o.float().sum(), given[0], create_graph=True)
        # The other term has a gradient, so that one that is left out is not seen.
        return made.float().square().sum() + given[0].float().square().sum(), given[0]

    def test_dense(self):
        for layout in ("bhsd", "bshd"):
            given = (self.q, self.k, self.v)
            if layout == "bshd":
                given = [one.transpose(1, 2) for one in given]
            loss, q = self.penalty(
                lambda *x: fa3.attention(*x, interpret=True, layout=layout), *given
            )
            with self.assertRaisesRegex(fa3.UnsupportedError, "second-order .*attention"):
                torch.autograd.grad(loss, q)

    def test_packed(self):
        given, call = self.rows()
        loss, q = self.penalty(call, *given)
        with self.assertRaisesRegex(fa3.UnsupportedError, "second-order .*packed"):
            torch.autograd.grad(loss, q)

    def test_create_graph_alone_is_no_error(self):
        q = self.q.clone().requires_grad_()
        (made,) = torch.autograd.grad(
            self.ours(q, self.k, self.v), q, create_graph=True
        )
        (wanted,) = torch.autograd.grad(self.theirs(q, self.k, self.v), q)
        self.close([made], [wanted])

    def test_of_transforms(self):
        loss = lambda q: func.grad(self.ours)(q, self.k, self.v).float().sum()  # noqa: E731
        with self.assertRaisesRegex(fa3.UnsupportedError, "second-order"):
            func.grad(loss)(self.q)
        with self.assertRaisesRegex(fa3.UnsupportedError, "forward-mode"):
            func.hessian(self.ours)(self.q, self.k, self.v)


@support.needs_torch
@support.needs_interpreter
class LeftOutTest(Problem):
    """What requires a gradient that there is none of is named."""

    def test_merge(self):
        outs, lses = torch.randn(2, 2, 4, 9, 16), torch.randn(2, 2, 4, 9)
        for name in ("outs", "lses", "sinks"):
            given = {"outs": outs, "lses": lses, "sinks": torch.randn(4)}
            given[name] = given[name].clone().requires_grad_()
            with self.assertRaisesRegex(fa3.UnsupportedError, f"'{name}' requires some"):
                fa3.merge(**given, interpret=True)
            with torch.no_grad():
                fa3.merge(**given, interpret=True)

    def test_flash_attn_functions(self):
        q, cache = torch.randn(2, 1, 2, 32).half(), torch.randn(2, 16, 2, 32).half()
        used, cu = torch.tensor([3, 4], dtype=torch.int32), torch.tensor([0, 1, 2]).int()
        table, scale = torch.rand(32, 16), torch.ones(2, 2, requires_grad=True)
        new = cache[:, :1]
        for name in ("q", "k_cache", "v_cache", "k", "v", "rotary_cos", "rotary_sin"):
            given = {"q": q, "k_cache": cache.clone(), "v_cache": cache.clone(), "k": new,
                     "v": new, "rotary_cos": table, "rotary_sin": table}  # fmt: skip
            given[name] = given[name].clone().requires_grad_()
            with self.assertRaisesRegex(fa3.UnsupportedError, f"'{name}' requires some"):
                flash_attn_interface.flash_attn_with_kvcache(**given, cache_seqlens=used)
        small = [torch.randn(2, 2, 32).to(torch.float8_e4m3fn) for _ in range(3)]
        for name in ("q_descale", "k_descale", "v_descale"):
            with self.assertRaisesRegex(fa3.UnsupportedError, f"'{name}' requires some"):
                flash_attn_interface.flash_attn_varlen_func(
                    *small, cu, cu, 1, 1, **{name: scale}
                )


@support.needs_torch
@support.needs_interpreter
class ForwardModeTest(Problem):
    """A tangent was lost."""

    def test_dual_numbers(self):
        slope = torch.rand(4)
        with forward_ad.dual_level():
            for place in range(3):
                given = [self.q, self.k, self.v]
                one = given[place]
                given[place] = forward_ad.make_dual(one, torch.ones_like(one))
                for gradients in (False, True):
                    given[(place + 1) % 3].requires_grad_(gradients)
                    with self.assertRaisesRegex(fa3.UnsupportedError, "forward-mode"):
                        self.ours(*given)
                given[(place + 1) % 3].requires_grad_(False)
            dual = forward_ad.make_dual(slope, slope)
            with self.assertRaisesRegex(fa3.UnsupportedError, "forward-mode"):
                self.ours(self.q, self.k, self.v, score_mod=lambda s, b, h, i, j: s * dual[h])
            with self.assertRaisesRegex(fa3.UnsupportedError, "forward-mode"):
                self.ours(self.q, self.k, self.v, sinks=dual)
            # What has no tangent is as ever.
            self.close(
                [fa3.attention(self.q, self.k, self.v, interpret=True)],
                [definition(self.q, self.k, self.v)],
            )

    def test_of_gradients(self):
        q = self.q.clone().requires_grad_()
        o = fa3.attention(q, self.k, self.v, interpret=True)
        rows, call = self.rows()
        first = rows[0].requires_grad_()
        packed_o = call(*rows)
        with forward_ad.dual_level():
            for made, of in ((o, q), (packed_o, first)):
                dual = forward_ad.make_dual(torch.ones_like(made), torch.ones_like(made))
                with self.assertRaisesRegex(fa3.UnsupportedError, "forward-mode"):
                    torch.autograd.grad(made, of, dual)

    def test_jvp(self):
        with self.assertRaisesRegex(fa3.UnsupportedError, "forward-mode"):
            func.jvp(lambda q: self.ours(q, self.k, self.v), (self.q,), (self.q,))
        rows, call = self.rows()
        with self.assertRaisesRegex(fa3.UnsupportedError, "forward-mode"):
            func.jvp(call, tuple(rows), tuple(rows))

    def test_packed_and_padded(self):
        rows, call = self.rows()
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(rows[0], rows[0])
            for run in (
                lambda: call(dual, *rows[1:]),
                lambda: serving.attention(
                    *(one[None] for one in (dual, *rows[1:])), interpret=True
                ),
                lambda: fa3.merge(
                    forward_ad.make_dual(self.q, self.q), torch.zeros(2, 4, 9),
                    interpret=True,
                ),
            ):  # fmt: skip
                with self.assertRaisesRegex(fa3.UnsupportedError, "forward-mode"):
                    run()


@support.needs_torch
@support.needs_interpreter
class TransformTest(Problem):
    """torch.func: grad, vjp, vmap and what is made of them."""

    def both(self, make, *given, tolerance=2e-2):
        made, wanted = make(self.ours)(*given), make(self.theirs)(*given)
        if isinstance(made, torch.Tensor):
            made, wanted = [made], [wanted]
        self.close(made, wanted, tolerance)

    def test_grad(self):
        self.both(lambda f: func.grad(f, (0, 1, 2)), self.q, self.k, self.v)

    def test_vjp(self):
        for call in (definition, lambda *x: fa3.attention(*x, interpret=True)):
            o, pull = func.vjp(call, self.q, self.k, self.v)
            made = pull(torch.linspace(-1, 1, o.numel()).view(o.shape).to(o.dtype))
            if call is definition:
                wanted = [o, *made]
        self.close([o, *made], wanted, 2e-2)

    def test_vmap(self):
        """The dimension may be anywhere, and some may not have it."""
        several = torch.stack([self.q, 2 * self.q, -self.q])
        for dims in ((0, None, None), (2, 1, None), (0, 0, 0), (None, 3, None), (4, 4, 4)):
            given = [
                one if d is None else torch.stack([one, 2 * one, -one], d)
                for one, d in zip((self.q, self.k, self.v), dims)
            ]
            with self.subTest(dims):
                made = func.vmap(
                    lambda *x: fa3.attention(*x, interpret=True, return_lse=True), dims
                )(*given)
                wanted = func.vmap(definition, dims)(*given)
                self.close([made[0]], [wanted])
                self.assertEqual(made[1].shape, (3, 2, 4, 9))
        self.both(lambda f: func.vmap(f, (0, None, None)), several, self.k, self.v)

    def test_vmap_is_batch(self):
        """One call, not one for each."""
        calls = []

        class Counter(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
                if "fa3" in str(operator):
                    calls.append(args[0].shape)
                return operator(*args, **(kwargs or {}))

        with Counter():
            func.vmap(lambda q: self.ours(q, self.k, self.v))(torch.stack([self.q] * 3))
        self.assertEqual(calls, [(6, 4, 9, 16)])

    def test_per_sample_gradients(self):
        several = torch.stack([self.q, 0.5 * self.q, 1 - self.q])
        for dims in ((0, None, None), (0, 0, None)):
            k = self.k if dims[1] is None else torch.stack([self.k, -self.k, 2 * self.k])
            self.both(
                lambda f, dims=dims: func.vmap(func.grad(f, (0, 1, 2)), dims),
                several, k, self.v,
            )  # fmt: skip

    def test_gradients_of_vmap(self):
        several = torch.stack([self.q, 0.5 * self.q, 1 - self.q])

        def make(f):
            return lambda k: func.grad(
                lambda k: func.vmap(lambda q: f(q, k, self.v))(several).sum()
            )(k)

        self.both(make, self.k)
        k = self.k.clone().requires_grad_()
        made = []
        for f in (self.ours, self.theirs):
            loss = func.vmap(lambda q, f=f: f(q, k, self.v))(several).sum()
            made.append(torch.autograd.grad(loss, k))
        self.close(*made, 2e-2)

    def test_batched_gradients(self):
        """vmap of the backward alone; torch's older way has no rules."""
        rows, call = self.rows()
        dense = (self.q, lambda q: fa3.attention(q, self.k, self.v, interpret=True),
                 lambda q: definition(q, self.k, self.v))  # fmt: skip
        packed_ones = (rows[0], lambda q: call(q, *rows[1:]),
                       lambda q: self.packed_definition(q, *rows[1:]))  # fmt: skip
        for given, *calls in (dense, packed_ones):
            grads = []
            for f in calls:
                o, pull = func.vjp(f, given)
                several = torch.linspace(-1, 1, 3 * o.numel()).view(3, *o.shape)
                grads.append(func.vmap(pull)(several.to(o.dtype)))
            self.close(*grads, 3e-2)
            q = given.clone().requires_grad_()
            with self.assertRaisesRegex(fa3.UnsupportedError, "is_grads_batched"):
                torch.autograd.grad(
                    calls[0](q), q, several.half(), is_grads_batched=True
                )

    def test_jacrev(self):
        made, wanted = (
            func.jacrev(lambda q, call=call: call(q, self.k, self.v)[0, 0, 0])(self.q)
            for call in (lambda *x: fa3.attention(*x, interpret=True), definition)
        )
        self.close([made], [wanted])

    def test_extras(self):
        """Bias, sinks and slopes, mapped or not, with gradients of each sample."""
        several = torch.stack([self.q, -self.q])
        for shape in ((1, 1, 9, 12), (2, 4, 9, 12), (1, 4, 1, 12)):
            bias = torch.randn(shape)
            for dim in (None, 0, 1):
                given = bias if dim is None else torch.stack([bias, -bias], dim)
                with self.subTest(shape=shape, dim=dim):
                    self.both(
                        lambda f, dim=dim: func.vmap(
                            func.grad(
                                lambda q, bias: f(q, self.k, self.v, bias=bias), (0, 1)
                            ), (0, dim),
                        ),
                        several, given, tolerance=3e-2,
                    )  # fmt: skip
        sinks = torch.randn(4)
        for dim in (None, 0):
            given = sinks if dim is None else torch.stack([sinks, -sinks])
            self.both(
                lambda f, dim=dim: func.vmap(
                    func.grad(lambda q, s: f(q, self.k, self.v, sinks=s), (0, 1)), (0, dim)
                ),
                several, given,
            )  # fmt: skip

    def test_mods(self):
        """Tables of mods have gradients; what asks for the batch means the call's."""
        several, table = torch.stack([self.q, -self.q]), torch.rand(2, 4)
        ours = lambda q, t: self.ours(  # noqa: E731
            q, self.k, self.v, score_mod=lambda s, b, h, i, j: s * t[h] + b
        )
        theirs = lambda q, t: self.theirs(  # noqa: E731
            q, self.k, self.v, score=lambda s, b, h, i, j: s * t[h] + b
        )
        for dims in ((0, None), (None, 0), (0, 0)):
            given = [
                one if d is not None else one[0] for one, d in zip((several, table), dims)
            ]
            made, wanted = (
                func.vmap(func.grad(f, (0, 1)), dims)(*given) for f in (ours, theirs)
            )
            self.close(made, wanted, 3e-2)

    def test_mods_that_torch_traces(self):
        """gelu is traced by make_fx, which cannot look at tensors of a transform."""
        gelu, table = torch.nn.functional.gelu, torch.rand(4)
        ours, theirs = (
            lambda t, f=f, name=name: f(
                self.q, self.k, self.v, **{name: lambda s, b, h, i, j: gelu(s) * t[h]}
            )
            for f, name in ((self.ours, "score_mod"), (self.theirs, "score"))
        )
        self.close([func.grad(ours)(table)], [func.grad(theirs)(table)], 3e-2)
        several = torch.stack([table, -table])
        made, wanted = (func.vmap(func.grad(f))(several) for f in (ours, theirs))
        self.close([made], [wanted], 3e-2)
        for read in (lambda t: float(t[1]), lambda t: t.detach()[0]):
            with self.assertRaises((fa3.TraceError, RuntimeError)):
                func.grad(lambda t, read=read: self.ours(
                    self.q, self.k, self.v,
                    score_mod=lambda s, b, h, i, j: gelu(s) * read(t) * t[h],
                ))(table)  # fmt: skip

    def test_numbers_that_are_tensors(self):
        """A parameter without dimensions."""
        factor = torch.tensor(1.25)
        ours, theirs = (
            lambda t, f=f, name=name: f(
                self.q, self.k, self.v, **{name: lambda s, b, h, i, j: s * t}
            )
            for f, name in ((self.ours, "score_mod"), (self.theirs, "score"))
        )
        self.close([func.grad(ours)(factor)], [func.grad(theirs)(factor)], 3e-2)
        several = torch.tensor([0.5, 1.25, 2.0])
        self.close([func.vmap(ours)(several)], [func.vmap(theirs)(several)], 3e-2)
        made, wanted = (func.vmap(func.grad(f))(several) for f in (ours, theirs))
        self.close([made], [wanted], 3e-2)

    def test_numbers_on_the_host(self):
        """Of a call on a device, as fake tensors."""
        with FakeTensorMode():
            factor = torch.tensor(1.5, requires_grad=True)
            given = [torch.empty(2, 4, 8, 16, device="cuda", dtype=torch.half)] * 3
            for run in (
                lambda q, k, v: fa3.attention(
                    q, k, v, score_mod=lambda s, b, h, i, j: s * factor
                ),
                lambda q, k, v: fa3.torch.attention(
                    q, k, v, score_mod=lambda s, b, h, i, j: s + factor
                ),
            ):  # fmt: skip
                # torch runs no gradients on a device that is not there.
                o = run(*given)
                following = o.grad_fn.next_functions
                (copied,) = [one for one, _ in following if one is not None]
                self.assertIn("ToCopy", copied.name())
                self.assertIs(copied.next_functions[0][0].variable, factor)
                with torch.no_grad():
                    self.assertEqual(run(*given).device.type, "cuda")

    def test_packed(self):
        rows, call = self.rows()
        loss = lambda f: lambda *x: (f(*x).float() * self.weights).sum()  # noqa: E731
        made, wanted = (
            func.grad(loss(f), (0, 1, 2))(*rows) for f in (call, self.packed_definition)
        )
        self.close(made, wanted)
        rows[0] = torch.stack([rows[0], -rows[0]])
        made, wanted = (
            func.vmap(func.grad(loss(f), (0, 1, 2)), (0, None, None))(*rows)
            for f in (call, self.packed_definition)
        )
        self.close(made, wanted)
        self.close(
            [func.vmap(call, (0, None, None))(*rows)],
            [func.vmap(self.packed_definition, (0, None, None))(*rows)],
        )

    def test_transformers(self):
        """Its function for models looks at addresses."""
        module = torch.nn.Module()
        module.is_causal, module.config = False, None
        module.eval()

        def ours(q):
            o, _ = hf.attention_forward(module, q, self.k, self.v, None, interpret=True)
            return (o.transpose(1, 2).float() * self.weights).sum()

        several = torch.stack([self.q, -self.q])
        made, wanted = (
            func.vmap(func.grad(f))(several)
            for f in (ours, lambda q: self.theirs(q, self.k, self.v))
        )
        self.close([made], [wanted])
        other = torch.randn_like(self.q)
        self.close([make_fx(ours)(self.q)(other)], [ours(other)], 0)

    def test_block_mask(self):
        from torch.nn.attention import flex_attention as flex

        mask = flex.create_block_mask(
            lambda b, h, q, kv: q >= kv, None, None, 9, 12, device="cpu"
        )
        several = torch.stack([self.q, -self.q])
        run = lambda q: fa3.attention(  # noqa: E731
            q, self.k, self.v, block_mask=mask, interpret=True
        )
        made = func.vmap(run)(several)
        self.close([made], [torch.stack([run(one) for one in several])])
        with self.assertRaisesRegex(fa3.ArgumentError, "'mask_mod': is given beside"):
            func.vmap(lambda q: fa3.attention(
                q, self.k, self.v, block_mask=mask, interpret=True,
                mask_mod=lambda b, h, i, j: i > j,
            ))(several)  # fmt: skip
        loss = lambda q: (run(q).float() * self.weights).sum()  # noqa: E731
        q = self.q.clone().requires_grad_()
        self.close([func.grad(loss)(self.q)], torch.autograd.grad(loss(q), q))


@support.needs_torch
@support.needs_interpreter
class DetachedTest(Problem):
    """A table without its gradient, in a mod: that of torch is 0, not left out."""

    def test_values(self):
        gelu = torch.nn.functional.gelu
        for mod in (
            lambda t: lambda s, b, h, i, j: gelu(s) + t.detach()[h],
            lambda t: lambda s, b, h, i, j: gelu(s) * t.data[h],
            lambda t: lambda s, b, h, i, j: s * (t[h] + t.detach()[h]),
            lambda t: lambda s, b, h, i, j: gelu(s) * t.detach().clone()[h] + t[h],
        ):
            grads = []
            for f, name in ((self.ours, "score_mod"), (self.theirs, "score")):
                torch.manual_seed(1)
                given = [torch.rand(4, requires_grad=True), self.q.clone().requires_grad_()]
                made = torch.autograd.grad(
                    f(given[1], self.k, self.v, **{name: mod(given[0])}), given,
                    materialize_grads=True,
                )  # fmt: skip
                grads.append(made)
            self.close(*grads, 3e-2)

    def test_masks_need_no_gradient(self):
        table = torch.arange(9)

        @torch.no_grad()
        def mask_mod(b, h, i, j):
            return (table.detach()[i] >= j) | (i < 0)

        made = fa3.attention(self.q, self.k, self.v, mask_mod=mask_mod, interpret=True)
        wanted = fa3.attention(
            self.q, self.k, self.v, interpret=True, mask_mod=lambda b, h, i, j: i >= j
        )
        self.close([made], [wanted], 0)


@support.needs_torch
@support.needs_interpreter
class CompiledTest(Problem):
    """Transforms in compiled functions, and of them: Dynamo's gradients were 0."""

    def same(self, make, *given):
        torch._dynamo.reset()
        made = torch.compile(make(self.ours), backend="aot_eager")(*given)
        self.close([made], [make(self.theirs)(*given)], 2e-2)

    def test_transforms_in_compiled_functions(self):
        several = torch.stack([self.q, -self.q])
        alone = lambda f: lambda q: f(q, self.k, self.v)  # noqa: E731
        self.same(lambda f: func.grad(alone(f)), self.q)
        self.same(lambda f: func.vmap(alone(f)), several)
        self.same(lambda f: func.vmap(func.grad(alone(f))), several)
        rows, call = self.rows()
        for f, given in ((alone(self.ours), self.q), (lambda q: call(q, *rows[1:]), rows[0])):
            torch._dynamo.reset()
            compiled = torch.compile(
                lambda q, f=f: func.jvp(f, (q,), (q,)), backend="aot_eager"
            )
            with self.assertRaisesRegex(fa3.UnsupportedError, "forward-mode"):
                compiled(given)
        torch._dynamo.reset()
        loss = lambda f: lambda q: (f(q, *rows[1:]).float() * self.weights).sum()  # noqa: E731
        made = torch.compile(func.grad(loss(call)), backend="aot_eager")(rows[0])
        self.close([made], [func.grad(loss(self.packed_definition))(rows[0])])

    def test_transforms_of_compiled_functions(self):
        torch._dynamo.reset()
        call = lambda q: self.ours(q, self.k, self.v)  # noqa: E731
        compiled = torch.compile(call, backend="aot_eager")
        compiled(self.q)
        theirs = lambda q: self.theirs(q, self.k, self.v)  # noqa: E731
        self.close([func.grad(compiled)(self.q)], [func.grad(theirs)(self.q)])
        several = torch.stack([self.q, -self.q])
        self.close([func.vmap(compiled)(several)], [func.vmap(theirs)(several)])
        with forward_ad.dual_level():
            with self.assertRaisesRegex(fa3.UnsupportedError, "forward-mode"):
                compiled(forward_ad.make_dual(self.q, self.q))
        q = self.q.clone().requires_grad_()
        (made,) = torch.autograd.grad(compiled(q), q, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "double backward"):
            torch.autograd.grad((made + q).float().sum(), q)


if __name__ == "__main__":
    unittest.main()
