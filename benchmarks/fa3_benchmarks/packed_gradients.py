# SPDX-License-Identifier: Apache-2.0
"""Gradients of packed sequences: tensors, what they must be, and FlashAttention-2
of torch on them."""

from __future__ import annotations

import itertools

import torch

from fa3_device import gradient_oracle, kernels, memory, oracle
from fa3_device.features import Mask

from .gradients import NAMES
from .peers import Candidate
from .serving import DENSE


class PackedGradientProblem:
    """Tensors are (rows of all sequences, heads, d), lse (heads, rows). Gradients
    lie in larger buffers full of NaN."""

    def __init__(self, cell, device="cuda"):
        self.cell, self.device = cell, device
        self.dtype = kernels.torch_type(cell.type)
        self.mask = Mask(causal=cell.causal)
        self.scale = cell.d**-0.5
        generator = torch.Generator(device=device).manual_seed(cell.length)
        queries, keys = (
            (sum(lengths), heads, cell.d)
            for lengths, heads in (
                (cell.queries, cell.heads), (cell.keys, cell.key_heads),
            )
        )  # fmt: skip

        def random(shape):
            values = torch.randn(shape, generator=generator, device=device)
            return values.to(self.dtype)

        self.q, self.out_grad = random(queries), random(queries)
        self.k, self.v = random(keys), random(keys)
        self.o = torch.empty_like(self.q)
        self.lse = torch.empty(queries[1::-1], device=device)
        self._forward()
        self._guards, self._gradients = {}, {}
        for name, shape in zip(NAMES, (queries, keys, keys)):
            flat = 1, 1, shape[0], shape[1] * shape[2]
            self._guards[name] = memory.Guarded(flat, self.dtype, "bhsd", device)
            self._gradients[name] = self._guards[name].tensor.view(shape)
        self._truth = None

    def starts(self, lengths) -> torch.Tensor:
        starts = [0, *itertools.accumulate(lengths)]
        return torch.tensor(starts, dtype=torch.int32, device=self.device)

    def _rows(self, number: int) -> tuple[slice, slice]:
        """Queries and keys of a sequence."""
        return tuple(
            slice(sum(lengths[:number]), sum(lengths[: number + 1]))
            for lengths in (self.cell.queries, self.cell.keys)
        )

    def _forward(self) -> None:
        """o and lse of each sequence by definition."""
        for number in range(self.cell.batch):
            queries, keys = self._rows(number)
            q, k, v = (
                x[rows].transpose(0, 1)[None]
                for x, rows in ((self.q, queries), (self.k, keys), (self.v, keys))
            )
            inputs = oracle.Inputs(q, k, v, self.scale)
            o, lse, _ = oracle.attention(self.mask, inputs)
            self.o[queries] = o[0].transpose(0, 1).to(self.dtype)
            self.lse[:, queries] = lse[0]

    def arguments(self, variant: str) -> dict:
        """What fa3's program takes, by name."""
        cell = self.cell
        found = {
            "q": self.q, "k": self.k, "v": self.v, "o": self.o,
            "do": self.out_grad, **self._gradients,
        }  # fmt: skip
        if variant == DENSE:
            shape = cell.batch, cell.length
            found = {
                name: x.view(*shape, *x.shape[1:]).transpose(1, 2)
                for name, x in found.items()
            }
            lse = self.lse.view(cell.heads, *shape).transpose(0, 1)
            return found | {"lse": lse.contiguous()}
        return found | {
            "lse": self.lse, "scale": self.scale, "max_q": max(cell.queries),
            "cu_q": self.starts(cell.queries), "cu_k": self.starts(cell.keys),
        }  # fmt: skip

    def result(self) -> list:
        return list(self._gradients.values())

    def poison(self) -> None:
        for x in self._guards.values():
            x.poison()

    def _parts(self):
        """Sequences that are compared, with the key head."""
        cell = self.cell
        shortest = min(range(cell.batch), key=lambda n: cell.keys[n])
        numbers = sorted({0, shortest, cell.batch - 1})
        return [(number, (3 * number) % cell.key_heads) for number in numbers]

    def _cut(self, tensors, number: int, head: int) -> list:
        """What a sequence and the group of a key head have of q, k, v and do, or
        of the gradients, as (1, head, row, d)."""
        queries, keys = self._rows(number)
        group = self.cell.heads // self.cell.key_heads
        of_queries = queries, slice(head * group, (head + 1) * group)
        of_keys = keys, slice(head, head + 1)
        places = of_queries, of_keys, of_keys, of_queries
        return [x[at].transpose(0, 1)[None] for x, at in zip(tensors, places)]

    def truth(self) -> list:
        """Gradients by definition for each part, and in low precision."""
        if self._truth is None:
            self._truth = []
            given = self.q, self.k, self.v, self.out_grad
            for part in self._parts():
                x = dict(zip(("q", "k", "v", "do"), self._cut(given, *part)))
                x["scale"] = self.scale
                self._truth.append([
                    gradient_oracle.gradients(self.mask, x, dtype)[0]
                    for dtype in (torch.float32, self.dtype)
                ])  # fmt: skip
        return self._truth

    def check_ours(self) -> tuple[list[str], float]:
        """Complaints, and the relative error of the worst gradient."""
        complaints = []
        for part, (want, low) in zip(self._parts(), self.truth()):
            got = self._cut(self.result(), *part)
            for name, x, exact, rough in zip(NAMES, got, want, low):
                bound = oracle.error_bound(exact, rough, self.dtype, 2)
                error = float((x.float() - exact).abs().max())
                if not error <= bound:
                    complaints.append(
                        f"sequence {part[0]}: {name}: {error:.3g}, bound {bound:.3g}"
                    )
        for name, guard in self._guards.items():
            if guard.tensor.isnan().any():
                complaints.append(f"{name}: NaN or not written")
            if not guard.is_intact():
                complaints.append(f"{name}: written around it")
        return complaints, self.relative_error(self.result())

    def relative_error(self, gradients) -> float:
        """Of the worst gradient, by the norm of the parts; NaN if there is a NaN
        anywhere."""
        if any(g.isnan().any() for g in gradients):
            return float("nan")
        difference, norm = [0.0] * len(NAMES), [0.0] * len(NAMES)
        for part, (want, _) in zip(self._parts(), self.truth()):
            got = self._cut(gradients, *part)
            for n, (x, exact) in enumerate(zip(got, want)):
                difference[n] += float((x.float() - exact).square().sum())
                norm[n] += float(exact.square().sum())
        return max((d / n) ** 0.5 if n else d for d, n in zip(difference, norm))


def _flash(problem, _options) -> Candidate:
    """The backward of torch's FlashAttention-2, which has the same packed rows."""
    cell = problem.cell
    leaves = [x.detach().requires_grad_() for x in (problem.q, problem.k, problem.v)]
    o = torch.ops.aten._flash_attention_forward(
        *leaves, problem.starts(cell.queries), problem.starts(cell.keys),
        max(cell.queries), max(cell.keys), 0.0, cell.causal, False,
        scale=problem.scale,
    )[0]  # fmt: skip

    def run():
        return torch.autograd.grad(o, leaves, problem.out_grad, retain_graph=True)

    return Candidate(run)


MAKERS = {"fa2": _flash}
