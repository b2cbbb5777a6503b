# SPDX-License-Identifier: Apache-2.0
"""Mods that are made inside of what torch.compile compiles, as FlexAttention's are: one
graph, with values and gradients of the eager call, in the interpreter; what the graph
launches is compiled for the GPU, too."""

import functools
import types
import unittest
from unittest import mock

import support

import fa3

if support.HAS_TORCH:
    import torch
    from torch._dynamo.utils import counters
    from torch.nn.attention import flex_attention as flex

    from fa3.dynamo import inside


def attend(q, k, v, *args, **named):
    return fa3.flex_attention(q, k, v, *args, **named, interpret=True)


def counted_in(mask, q, k, v):
    return attend(q, k, v, lambda s, b, h, i, j: torch.nn.functional.gelu(s), mask)


class Model(torch.nn.Module if support.HAS_TORCH else object):
    """A slope for each head, documents, and a prefix that is computed."""

    def __init__(self):
        super().__init__()
        self.slopes = torch.nn.Parameter(torch.linspace(0.1, 1, 4))
        self.register_buffer("document", torch.arange(64) // 9)

    def forward(self, q, k, v, size):
        ends = self.document * 0 + size
        shift = k.shape[2] - q.shape[2]

        def score_mod(s, b, h, i, j):
            return s - self.slopes[h] * torch.abs(i + shift - j)

        def mask_mod(b, h, i, j):
            return (self.document[i] == self.document[j]) | (j < ends[i])

        return attend(q * 2, k, v, score_mod) + fa3.attention(
            q, k, v, score_mod=score_mod, mask_mod=mask_mod, interpret=True
        )


@support.needs_torch
@support.needs_interpreter
@unittest.skipUnless(support.HAS_TORCH and inside.operator, "needs a newer torch")
class InsideTest(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        counters.clear()
        torch.manual_seed(0)
        self.document = torch.arange(64) // 9
        self.slopes = torch.linspace(0.1, 1, 4).requires_grad_()
        self.table = torch.rand(4, 32).requires_grad_()

    def random(self, queries=17, keys=24):
        return [torch.randn(2, 4, n, 16).half() for n in (queries, keys, keys)]

    def compare(self, function, compiled, given, params=(), with_gradients=True):
        """Values, and gradients of all that requires some."""
        made = []
        for call in (compiled, function):
            q, k, v, *rest = given
            tensors = [one.clone().requires_grad_(with_gradients) for one in (q, k, v)]
            with torch.set_grad_enabled(with_gradients):
                o = call(*tensors, *rest)
            grads = ()
            if with_gradients:
                loss = (o.float() * torch.linspace(-1, 1, 16)).sum()
                grads = torch.autograd.grad(loss, [*tensors, *params])
            made.append((o, *grads))
        for one, expected in zip(*made):
            torch.testing.assert_close(one, expected, atol=0, rtol=0)

    def check(self, function, *rest, params=()):
        """In one graph each, with and without gradients."""
        for with_gradients in (True, False):
            torch._dynamo.reset()
            compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
            self.compare(
                function, compiled, (*self.random(), *rest), params if with_gradients else (),
                with_gradients,
            )  # fmt: skip

    def test_lengths_and_numbers(self):
        """Other lengths and numbers: a graph of the first, one for each thing that has
        changed once, and no more."""
        model = Model()
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
        graphs = []
        for queries, keys, size in (
            (17, 24, 3), (17, 24, 5), (20, 29, 5), (9, 33, 8), (31, 31, 2), (24, 40, 11),
        ):  # fmt: skip
            given = (*self.random(queries, keys), size)
            self.compare(model, compiled, given, [model.slopes])
            graphs.append(counters["stats"]["unique_graphs"])
        self.assertLessEqual(graphs[3], 4)
        self.assertEqual(graphs[3:], graphs[3:4] * 3)

    def test_block_masks(self):
        """Made inside, given, of blocks that kernels read and of others, with scores whose
        tables have gradients."""
        table = self.table
        score = lambda s, b, h, i, j: s + table[h, j]  # noqa: E731
        masks = [
            flex.create_block_mask(
                lambda b, h, i, j: (i + 7 >= j) & (i % 5 != 2), None, None, 17, 24,
                device="cpu", BLOCK_SIZE=size,
            )
            for size in (128, 8)
        ]  # fmt: skip

        def made(q, k, v):
            mask = flex.create_block_mask(
                lambda b, h, i, j: self.document[i] == self.document[j], None, None,
                q.shape[2], k.shape[2], device="cpu",
            )  # fmt: skip
            return attend(q, k, v, block_mask=mask)

        self.check(made)
        for mask in masks:
            self.check(lambda q, k, v, mask: attend(q, k, v, block_mask=mask), mask)
            self.check(
                lambda q, k, v, mask: attend(q, k, v, score, mask), mask, params=[self.table]
            )
        self.check(
            lambda q, k, v, mask: attend(
                q, k, v, block_mask=mask, kernel_options={"BLOCKS": "mask"}
            ), masks[0],
        )  # fmt: skip

    def test_kinds_of_mods(self):
        """What has no cells that Dynamo could guard by itself."""
        holder = types.SimpleNamespace(factor=2.0)
        listed = [torch.rand(4), torch.rand(4)]
        table = self.table

        class Bias(torch.nn.Module):
            def forward(_, s, b, h, i, j):
                return s + self.table[h, j]

        def of_table(table, s, b, h, i, j):
            return s * table[h]

        def composed(q, k, v):
            mask = flex.or_masks(
                flex.and_masks(
                    lambda b, h, i, j: i + 7 >= j,
                    lambda b, h, i, j: self.document[i] == self.document[j],
                ), lambda b, h, i, j: j < 3,
            )  # fmt: skip
            return fa3.attention(q, k, v, mask_mod=mask, interpret=True)

        def of_queries(q, k, v):
            mean = q.float().mean((1, 3))
            return attend(q, k, v, lambda s, b, h, i, j: s + mean[b, i] * 0.5)

        self.check(composed)
        self.check(of_queries)
        bias = Bias()
        for mod, params in (
            (functools.partial(of_table, listed[0]), ()), (bias, [self.table]),
            (bias.forward, [self.table]),
            (lambda s, b, h, i, j: s * holder.factor + listed[1][h], ()),
            # Of the whole table: in front of the call.
            (lambda s, b, h, i, j: s - (table.sum(1) / 9)[h], [table]),
            (lambda s, b, h, i, j: torch.where(
                i + 9 >= j, s * listed[0][1] + s.new_tensor(0.5), -float("inf")
             ), ()),
        ):  # fmt: skip
            self.check(lambda q, k, v: attend(q, k, v, mod), params=params)  # noqa: B023

    def test_beside_other_arguments(self):
        sinks = torch.rand(4).requires_grad_()

        def run(q, k, v, size):
            o, lse = fa3.attention(
                q, k, v, score_mod=lambda s, b, h, i, j: s + self.slopes[h], causal=True,
                window=(size, 0), softcap=4.0, scale=0.2, sinks=sinks, return_lse=True,
                interpret=True,
            )  # fmt: skip
            return o + lse[..., None].half()

        compiled = torch.compile(run, backend="aot_eager", fullgraph=True)
        for size in (9, 12):
            self.compare(run, compiled, (*self.random(), size), [sinks])

    def test_changes(self):
        """What a mod reads besides tensors is guarded."""
        holder = types.SimpleNamespace(factor=2.0)

        def run(q, k, v):
            return attend(q, k, v, lambda s, b, h, i, j: s * holder.factor)

        compiled = torch.compile(run, backend="aot_eager", fullgraph=True)
        for factor in (2.0, 3.0, 2.0):
            holder.factor = factor
            self.compare(run, compiled, self.random(), with_gradients=False)

    def test_what_breaks_the_graph(self):
        """Where Dynamo has no rule, and where an eager call says what is wrong."""
        def strange(q, k, v):
            return attend(q, k, v, lambda s, b, h, i, j: torch.special.bessel_j0(s))

        compiled = torch.compile(strange, backend="aot_eager")
        with self.assertRaisesRegex(fa3.TraceError, "special_bessel_j0"):
            compiled(*self.random())
        # Of the eager call: by torch's own decompositions.
        counted = lambda q, k, v: attend(  # noqa: E731
            q, k, v, lambda s, b, h, i, j: torch.nn.functional.gelu(s)
        )
        compiled = torch.compile(counted, backend="aot_eager")
        self.compare(counted, compiled, self.random())
        mask = flex.create_block_mask(
            lambda b, h, i, j: i + 7 >= j, None, None, 17, 24, device="cpu"
        )
        self.compare(
            functools.partial(counted_in, mask),
            torch.compile(functools.partial(counted_in, mask), backend="aot_eager"),
            self.random(),
        )  # fmt: skip
        torch._dynamo.reset()
        with self.assertRaisesRegex(torch._dynamo.exc.Unsupported, "special_bessel_j0"):
            torch.compile(strange, backend="aot_eager", fullgraph=True)(*self.random())
        model = Model()
        torch._dynamo.reset()
        compiled = torch.compile(model, backend="aot_eager")
        with mock.patch.object(inside, "operator", None):
            self.compare(model, compiled, (*self.random(), 3), [model.slopes])

    def test_operators_in_the_graph(self):
        """What comes to Inductor are operators of fa3, the backward as well."""
        from torch._dynamo.backends.common import aot_autograd

        seen = []

        def keep(graph, inputs):
            seen.extend(str(node.target) for node in graph.graph.nodes)
            return graph

        model = Model()
        compiled = torch.compile(
            model, backend=aot_autograd(fw_compiler=keep, bw_compiler=keep), fullgraph=True
        )
        compiled(*(one.requires_grad_() for one in self.random()), 3).sum().backward()
        self.assertEqual(seen.count("fa3.forward.default"), 2)
        self.assertEqual(seen.count("fa3.backward_without_autograd.default"), 2)
        self.assertNotIn("fa3_attention", seen)

    def test_export(self):
        """torch.export, by Dynamo and without, with lengths that are not known."""
        model = Model().eval()
        lengths = ({2: torch.export.Dim.AUTO},) * 3 + (None,)
        for strict in (True, False):
            exported = torch.export.export(
                model, (*self.random(), 3), dynamic_shapes=lengths, strict=strict
            )
            targets = [str(node.target) for node in exported.graph.nodes]
            self.assertEqual(targets.count("fa3.forward.default"), 2)
            for queries, keys in ((17, 24), (9, 33)):
                given = (*self.random(queries, keys), 3)
                torch.testing.assert_close(
                    exported.module()(*given), model(*given), atol=0, rtol=0
                )


if __name__ == "__main__":
    unittest.main()
