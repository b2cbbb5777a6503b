# SPDX-License-Identifier: Apache-2.0
"""Tensors of a cell on the device, and what they must give."""

from __future__ import annotations

import torch

from fa3_device import comparison, features, kernels, memory, oracle

# Relative difference from the oracle that a peer may have.
PEER_TOLERANCE = 2e-2


class Parts:
    """Which heads of a problem are compared; `cell` is the problem's."""

    def _parts(self) -> list:
        """Slices of batch and key heads that are compared: the first head of
        the first batch and the last head of the last one."""
        last = slice(self.cell.batch - 1, None)
        last_head = slice(self.cell.key_heads - 1, self.cell.key_heads)
        return [(slice(0, 1), slice(0, 1)), (last, last_head)]

    def _queries(self, key_heads: slice) -> slice:
        group = self.cell.heads // self.cell.key_heads
        return slice(key_heads.start * group, key_heads.stop * group)


def alibi_slopes(heads: int, device) -> torch.Tensor:
    """Slopes of ALiBi (arXiv 2108.12409), one for every head: 2^(-8 i / heads)."""
    steps = torch.arange(1, heads + 1, device=device)
    return torch.exp2(-8.0 * steps / heads)


class Problem(Parts):
    """Inputs and outputs lie as (batch, sequence, head, element) in larger
    buffers full of NaN. Tensors here are views (batch, head, sequence,
    element)."""

    def __init__(self, cell, device="cuda"):
        self.cell = cell
        self.dtype = kernels.torch_type(cell.type)
        self.value_type = kernels.torch_type(features.value_type(cell.type))
        wide = torch.float16 if cell.is_8_bit else self.dtype
        generator = torch.Generator(device=device).manual_seed(cell.length)

        def guarded(heads, last, dtype=self.dtype, rows=cell.rows):
            shape = (cell.batch, heads, rows) + ((last,) if last else ())
            return memory.Guarded(shape, dtype, "bshd", device)

        # 8-bit operands stand for N(0, 1), too, in units of a scale: how often
        # kernels rescale, and so their time, depends on the spread of scores.
        self.scales = {}
        if cell.is_8_bit:
            for name in "qkv":
                scale = 1 + torch.rand(
                    (1, 1, 1), generator=generator, device=device
                )
                if cell.type == "i8" and name != "v":
                    scale *= kernels.INTEGER_UNIT
                self.scales[f"{name}_scale"] = scale

        def random(tensor, name=""):
            shape = tensor.tensor.shape
            values = torch.randn(shape, generator=generator, device=device)
            if f"{name}_scale" in self.scales:
                values /= self.scales[f"{name}_scale"][..., None]
            if tensor.tensor.dtype == torch.int8:
                values = values.round().clamp(-127, 127)
            return tensor.fill(values)

        self._inputs = {
            "q": random(guarded(cell.heads, cell.q_terms * cell.d), "q"),
            "k": random(
                guarded(cell.key_heads, cell.d, rows=cell.length), "k"
            ),
            "v": random(
                guarded(cell.key_heads, cell.dv, self.value_type, cell.length),
                "v",
            ),
        }
        self.q, self.k, self.v = (self._inputs[n].tensor for n in "qkv")
        # Behind the first terms lies what rounding them has left.
        rest = self.q[..., cell.d :]
        rest.copy_(rest.float() * 2.0**-4)
        self.scale = cell.d**-0.5
        self.slopes = self.bias = None
        if cell.mask.alibi:
            self.slopes = alibi_slopes(cell.heads, device)
        if cell.mask.bias:
            # One bias serves every batch.
            shape = (1, cell.heads, cell.rows, cell.length)
            bias = random(memory.Guarded(shape, wide, "bhsd", device))
            self._inputs["bias"] = bias
            self.bias = bias.tensor.expand(cell.batch, *shape[1:])
        self.o = guarded(cell.heads, cell.dv, wide)
        self.lse = guarded(cell.heads, 0, torch.float32)
        self._truth = None

    def arguments(self, _variant: str = "") -> dict:
        """What fa3's program takes, by name."""
        arguments = {"q": self.q, "k": self.k, "v": self.v}
        if self.slopes is not None:
            arguments["alibi"] = self.slopes
        if self.bias is not None:
            arguments["bias"] = self.bias
        arguments.update(self.scales)
        arguments["o"] = self.o.tensor
        if self.cell.has_lse:
            arguments["lse"] = self.lse.tensor
        return arguments

    def result(self):
        return self.o.tensor

    def poison(self) -> None:
        self.o.poison()
        self.lse.poison()

    def truth(self) -> list:
        """What the oracle gives for each part, and what 8-bit operands may add
        to the errors of o and lse."""
        if self._truth is None:
            operands = [self.q, self.k, self.v]
            weights = None
            if self.scales:
                weights = self.value_type
                terms = self.q.float().unflatten(3, (self.cell.q_terms, -1))
                operands[0] = terms.sum(3)
                operands = [
                    x.float() * scale[..., None]
                    for x, scale in zip(operands, self.scales.values())
                ]
            inputs = oracle.Inputs(
                *operands, self.scale, self.slopes, self.bias, weights,
                exact_scores=self.cell.type not in features.FLOAT8,
            )  # fmt: skip
            self._truth = []
            for part in self._parts():
                mine = inputs.slice(*part)
                truth = oracle.attention(self.cell.mask, mine)
                self._truth.append((truth, (mine.slack_o, mine.slack_lse)))
        return self._truth

    def check_ours(self) -> tuple[list[str], float]:
        """Complaints about o and lse, and the relative error of o."""
        factor = 3 if self.cell.mask.softcap is not None else 2
        complaints = []
        for (batches, heads), truth in zip(self._parts(), self.truth()):
            at = batches, self._queries(heads)
            lse = self.lse.tensor[at] if self.cell.has_lse else None
            found, _ = comparison.compare(
                self.o.tensor[at], lse, truth[0], factor, slack=truth[1]
            )
            complaints += found
        results = {"o": self.o} | ({"lse": self.lse} if self.cell.has_lse else {})
        for name, tensor in results.items():
            if tensor.tensor.isnan().any():
                complaints.append(f"{name}: NaN or not written")
            if not tensor.is_intact():
                complaints.append(f"{name}: written around it")
        return complaints, self.relative_error(self.o.tensor)

    def relative_error(self, o) -> float:
        """Of (batch, head, sequence, element), by the norm of the parts; NaN
        if there is a NaN anywhere."""
        difference = norm = 0.0
        for (batches, heads), truth in zip(self._parts(), self.truth()):
            want = truth[0][0]
            got = o[batches, self._queries(heads)].float()
            difference += float((got - want).square().sum())
            norm += float(want.square().sum())
        if o.isnan().any():
            return float("nan")
        return (difference / norm) ** 0.5 if norm else difference
