# SPDX-License-Identifier: Apache-2.0
"""Mods under torch.compile, with the interpreter as the operator's kernel on the CPU."""

import types
import unittest

import support
from test_torch import Problem

import fa3

if support.HAS_TORCH:
    import torch


@support.needs_torch
@support.needs_interpreter
class CompiledModsTest(Problem):
    """Mods under torch.compile: no graph break, and what they capture is guarded."""

    @staticmethod
    def run_attention(q, k, v, score_mod, mask_mod):
        return fa3.attention(
            q * 1.0, k, v, score_mod=score_mod, mask_mod=mask_mod, interpret=True
        ) + 0.0  # fmt: skip

    @staticmethod
    def scaled(factor, slopes):
        return lambda s, b, h, i, j: s * factor - slopes[h] * torch.abs(i - j)

    @staticmethod
    def window(size):
        return lambda b, h, i, j: (i + 7 >= j) & (i + 7 - j <= size)

    def test_values_follow_what_is_captured(self):
        from torch.nn.attention import flex_attention as flex

        torch._dynamo.reset()
        slopes = torch.rand(4)
        blocks = flex.and_masks(self.window(9), lambda b, h, i, j: i // 8 == j // 8)
        compiled = torch.compile(self.run_attention, backend="aot_eager", fullgraph=True)
        for mods in (
            (self.scaled(2.0, slopes), self.window(5)),
            (self.scaled(3.0, slopes), self.window(5)),
            (self.scaled(3.0, slopes * 2), self.window(8)),
            (self.scaled(2.0, slopes), self.window(5)),
            (None, blocks), (self.scaled(1.5, slopes), None),
        ):  # fmt: skip
            given = (self.q, self.k, self.v, *mods)
            self.close(compiled(*given), self.run_attention(*given), 1e-6)

    def test_numbers_that_are_constants_of_the_kernel(self):
        torch._dynamo.reset()

        def chunks(size):
            return lambda b, h, i, j: i // size == j // size

        compiled = torch.compile(self.run_attention, backend="aot_eager", fullgraph=True)
        for size in (4, 8, 16, 4):
            given = (self.q, self.k, self.v, None, chunks(size))
            self.close(compiled(*given), self.run_attention(*given), 1e-6)

    def test_gradients(self):
        torch._dynamo.reset()
        compiled = torch.compile(self.run_attention, backend="aot_eager", fullgraph=True)
        grads = []
        for call in (compiled, self.run_attention):
            q, slopes = self.q.clone().requires_grad_(), torch.ones(4, requires_grad=True)
            o = call(q, self.k, self.v, self.scaled(2.0, slopes), None)
            (o.float() * torch.linspace(-1, 1, 32)).sum().backward()
            grads.append((q.grad, slopes.grad))
        for made, expected in zip(*grads):
            self.close(made, expected, 1e-6)

    def test_block_mask(self):
        from torch.nn.attention import flex_attention as flex

        torch._dynamo.reset()
        mask = flex.create_block_mask(self.window(9), None, None, 17, 24, device="cpu")

        def run(q, k, v, mask):
            return fa3.attention(q, k, v, block_mask=mask, interpret=True)

        compiled = torch.compile(run, backend="aot_eager", fullgraph=True)
        given = (self.q, self.k, self.v)
        self.close(compiled(*given, mask), run(*given, mask), 1e-6)
        grads = []
        for call in (compiled, run):
            q = self.q.clone().requires_grad_()
            call(q, *given[1:], mask).float().sum().backward()
            grads.append(q.grad)
        self.close(*grads, 1e-6)

    def test_changes_by_the_compiled_function_itself(self):
        config = types.SimpleNamespace(size=3)
        held = [3]

        def of_object(b, h, i, j):
            return i - j <= config.size

        def of_list(b, h, i, j):
            return i - j <= held[0]

        def run(q, k, v, size):
            held[0] = config.size = size
            return [
                fa3.attention(q, k, v, mask_mod=mod, interpret=True)
                for mod in (of_object, of_list)
            ]

        torch._dynamo.reset()
        compiled = torch.compile(run, backend="eager")
        for size in (5, 9):
            given = (self.q, self.k, self.v, size)
            for made, expected in zip(compiled(*given), run(*given)):
                self.close(made, expected, 1e-6)

    def test_outputs_that_are_given(self):
        torch._dynamo.reset()
        out = torch.empty_like(self.q)

        def run(q, k, v, mod, out):
            return fa3.attention(q, k, v, mask_mod=mod, out=out, interpret=True)

        with torch.no_grad():
            given = (self.q, self.k, self.v, self.window(5))
            made = torch.compile(run, backend="eager")(*given, out)
            self.assertIs(made, out)
            self.close(made, run(*given, torch.empty_like(out)), 1e-6)

    def test_what_cannot_be_followed_breaks_the_graph(self):
        torch._dynamo.reset()

        class Holder:
            factor = 2.0

        holder = Holder()
        compiled = torch.compile(self.run_attention, backend="eager")
        for factor in (2.0, 3.0):
            holder.factor = factor
            given = (self.q, self.k, self.v, lambda s, b, h, i, j: s * holder.factor, None)
            self.close(compiled(*given), self.run_attention(*given), 1e-6)


if __name__ == "__main__":
    unittest.main()
