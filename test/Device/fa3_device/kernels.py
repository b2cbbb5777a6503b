# SPDX-License-Identifier: Apache-2.0
"""Kernels in a worker: loading, arguments, launches."""

import math

import torch

from . import features, memory, oracle


def setup():
    """Before the first job of a worker."""
    if not torch.cuda.is_available():
        raise RuntimeError("torch sees no CUDA device")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.zeros(1, device="cuda")


def load(stem):
    """The program of a build, in torch's context."""
    import fa3_runtime

    return fa3_runtime.Program.load(stem)


def launch(program, arguments):
    """Runs a program to its end. The message if the runtime refuses the
    arguments; raises if the context is lost."""
    import fa3_runtime

    try:
        program(**arguments)
    except fa3_runtime.Error as error:
        if error.code in ("argument", "requirement"):
            return f"refused: {error}"
        raise
    torch.cuda.synchronize()
    return None


def torch_type(type):
    return getattr(torch, {**features.TYPES, **features.EIGHT_BITS}[type])


# Integers count these, so that random numbers fill their range.
INTEGER_UNIT = 2.0**-5


def integers(x):
    """Random numbers as 8-bit integers, in units of INTEGER_UNIT."""
    return (x / INTEGER_UNIT).round().clamp(-127, 127)


def _random(shape, distribution, generator, device):
    x = torch.randn(shape, generator=generator, device=device)
    if distribution == "outlier":
        rare = torch.rand(shape, generator=generator, device=device) < 0.001
        x += 10 * rare * torch.randn(shape, generator=generator, device=device)
    return x


class Problem:
    """Inputs and outputs of one case, guarded, with the oracle's view."""

    def __init__(self, feature, case, seed, device="cuda"):
        self.feature, self.mask = feature, features.MASKS[feature.mask]
        dtype = torch_type(feature.type)
        values_dtype = torch_type(features.value_type(feature.type))
        generator = torch.Generator(device=device).manual_seed(seed)

        def guarded(heads, rows, last, dtype=dtype, memory_order=case.memory):
            shape = (case.batch, heads, rows) + ((last,) if last else ())
            # Rows start at multiples of 16 bytes.
            return memory.Guarded(shape, dtype, memory_order, device, 8)

        def filled(tensor, first=None):
            values = _random(
                tensor.tensor.shape, case.distribution, generator, device
            )
            if first is not None and case.distribution == "falling":
                values[..., 0] = first
            if tensor.tensor.dtype == torch.int8:
                values = integers(values)
            return tensor.fill(values)

        # Kernels walk from the last key to the first: the largest score of a row
        # grows by twice what lazy rescaling tolerates, every 64 of the first
        # 1024 keys.
        doublings = 16 if not feature.scaling else 8
        growth = doublings * math.log(2) * feature.d**0.5 / (4 * 64)
        last = min(case.keys, 1024)
        ramp = torch.arange(last, last - case.keys, -1, device=device)
        q = filled(
            guarded(case.heads, case.queries, feature.q_terms * feature.d), 4
        )
        k = filled(
            guarded(case.key_heads, case.keys, feature.d),
            growth * ramp.clamp(min=0),
        )
        if feature.transposed:
            shape = (case.batch, case.key_heads, feature.dv, case.keys)
            aligned = 16 // dtype.itemsize  # as bulk copies want rows
            v = memory.Guarded(shape, values_dtype, case.memory, device, aligned)
        else:
            v = guarded(case.key_heads, case.keys, feature.dv, values_dtype)
        v = filled(v)
        self.inputs = {"q": q, "k": k, "v": v}
        self.slopes = self.bias = None
        if self.mask.alibi:
            steps = torch.arange(1, case.heads + 1, device=device)
            self.slopes = torch.exp2(-8.0 * steps / case.heads)
        if self.mask.bias:
            biases = torch.float16 if feature.scaling else dtype
            self.bias = self._bias(case, biases, filled, device)
        self.scale = feature.d**-0.5
        if feature.scale:
            self.scale *= 0.875
        # 8-bit operands give 16-bit results.
        wide = torch.float16 if feature.scaling else dtype
        self.scales = {}
        if feature.scaling:
            self._make_scales(feature, case, generator, device)
        self.o = guarded(case.heads, case.queries, feature.dv, wide)
        self.lse = guarded(case.heads, case.queries, 0, torch.float32)

    def _bias(self, case, dtype, filled, device):
        # Half of the biases, and all large ones, serve every batch.
        large = case.heads * case.queries * case.keys >= 1 << 22
        shared = large or case.memory in ("bhsd", "sbhd")
        rows = "padded" if case.memory == "padded" else "bhsd"
        shape = (1 if shared else case.batch, case.heads, case.queries, case.keys)
        self.inputs["bias"] = filled(memory.Guarded(shape, dtype, rows, device))
        bias = self.inputs["bias"].tensor
        return bias.expand(case.batch, *shape[1:])

    def _make_scales(self, feature, case, generator, device):
        """Scales around 1, or the unit; those of heads are of key heads."""
        lengths = case.queries, case.keys, case.keys
        heads = case.heads, case.key_heads, case.key_heads
        rows = features.SCALINGS[feature.scaling]
        for name, length, own, shared in zip("qkv", lengths, heads, rows):
            shape = (1, 1, 1)
            if feature.scaling == "head":
                shape = (case.batch, case.key_heads, 1)
            elif feature.scaling != "tensor":
                blocks = -(-length // shared) if shared else 1
                shape = (case.batch, own, blocks)
            scale = 0.5 + torch.rand(shape, generator=generator, device=device)
            if self.inputs[name].tensor.dtype == torch.int8:
                scale *= INTEGER_UNIT
            self.scales[f"{name}_scale"] = scale

    def _operand(self, name):
        """q, k or v as (batch, head, sequence, element)."""
        x = self.inputs[name].tensor
        return x.transpose(2, 3) if name == "v" and self.feature.transposed else x

    def _dequantized(self, name):
        """What an 8-bit operand stands for, in f32."""
        x = self._operand(name).float()
        if name == "q":
            x = x.unflatten(3, (self.feature.q_terms, -1)).sum(3)
        scale = self.scales[f"{name}_scale"]
        rows = features.SCALINGS[self.feature.scaling]["qkv".index(name)]
        if rows:
            scale = scale.repeat_interleave(rows, 2)[:, :, : x.shape[2]]
        if scale.shape[1] not in (1, x.shape[1]):
            scale = scale.repeat_interleave(x.shape[1] // scale.shape[1], 1)
        return x * scale[..., None]

    def arguments(self):
        """What the program takes, by name."""

        def arranged(guarded):
            x = guarded.tensor
            return x if self.feature.layout == "bhsd" else x.transpose(1, 2)

        arguments = {name: arranged(self.inputs[name]) for name in "qkv"}
        arguments["o"] = arranged(self.o)
        if self.feature.lse:
            arguments["lse"] = self.lse.tensor
        if self.slopes is not None:
            arguments["alibi"] = self.slopes
        if self.bias is not None:
            arguments["bias"] = self.bias
        if self.feature.scale:
            arguments["scale"] = self.scale
        arguments.update(self.scales)
        return arguments

    def oracle(self):
        """o, lse and o in low precision."""
        weights = None
        if self.scales:
            q, k, v = map(self._dequantized, "qkv")
            weights = torch_type(features.value_type(self.feature.type))
        else:
            q, k, v = map(self._operand, "qkv")
        inputs = oracle.Inputs(
            q, k, v, self.scale, self.slopes, self.bias, weights,
            exact_scores=self.feature.type not in features.FLOAT8,
        )  # fmt: skip
        truth = oracle.attention(self.mask, inputs)
        self.slack = inputs.slack_o, inputs.slack_lse
        return truth

    def poison(self):
        self.o.poison()
        self.lse.poison()

    def intact(self):
        """Names of tensors whose surroundings were written."""
        everything = {**self.inputs, "o": self.o, "lse": self.lse}
        return [name for name, x in everything.items() if not x.is_intact()]
