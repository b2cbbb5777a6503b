# SPDX-License-Identifier: Apache-2.0
"""Attention of 8-bit operands: kernels, quantization and exact results."""

from __future__ import annotations

import dataclasses
import math

import torch

from fa3_device import features

FORMATS = {
    "f8E4M3FN": torch.float8_e4m3fn, "f8E5M2": torch.float8_e5m2, "i8": torch.int8,
}  # fmt: skip
# Rows that share a scale of q, k and v; 0 for the whole sequence.
GRANULARITIES = {
    "tensor": (0, 0, 0),
    "head": (0, 0, 0),
    "block 128": (128, 128, 128),
    "token": (1, 1, 0),
}
ONE_LEVEL = "two-level-accumulation=false"
TWO_LEVEL = "two-level-accumulation=true"


def module(
    d, rows, mask="full", element="f8E4M3FN", out="f32", layout="bhsd",
    transposed=False, q_terms=1,
):  # fmt: skip
    """Text of a kernel with run-time extents and a scale for every head; v may
    be given as (batch, head, element, key). `element` is that of q and k, and
    one of q is a sum of `q_terms`."""
    values = features.value_type(element)
    types = {
        "q": f"tensor<?x?x?x{q_terms * d}x{element}>",
        "k": f"tensor<?x?x?x{d}x{element}>",
        "v": f"tensor<?x?x?x{d}x{values}>",
    }
    if transposed:
        types["v"] = f"tensor<?x?x{d}x?x{values}>"
    types.update(o=f"tensor<?x?x?x{d}x{out}>", lse="tensor<?x?x?xf32>")
    for name, shared in zip("qkv", rows):
        types[f"{name}_scale"] = f"tensor<?x?x{'?' if shared else 1}xf32>"
    return features.module_text(
        features.MASKS[mask], types, layout, rows=rows, transposed=transposed,
        q_terms=q_terms,
    )  # fmt: skip


@dataclasses.dataclass
class Quantized:
    """x is about values * scales, a scale for each block of rows."""

    values: torch.Tensor  # (batch, head, row, terms of elements), 8 bits
    scales: torch.Tensor  # (batch, head, block of rows), f32
    terms: int = 1

    def exact(self):
        whole = self.values.double().unflatten(3, (self.terms, -1)).sum(3)
        b, h, s, d = whole.shape
        blocks = whole.view(b, h, self.scales.shape[2], -1, d)
        scaled = blocks * self.scales.double()[..., None, None]
        return scaled.view(b, h, s, d)


def quantize(x, rows, element="f8E4M3FN", whole=False, terms=1):
    """Largest magnitude of a block of rows (0: all) to the largest number; each
    further term rounds what the ones before have left."""
    b, h, s, d = x.shape
    blocks = x.view(b, h, s // (rows or s), -1, d)
    largest = blocks.abs().amax((3, 4))
    if whole:
        largest = largest.amax().expand_as(largest)
    format = FORMATS[element]
    info = torch.finfo if format.is_floating_point else torch.iinfo
    scales = (largest / info(format).max).clamp_min(1e-30).float()
    scales = scales.contiguous()
    rest = blocks / scales.double()[..., None, None]
    parts = []
    for _ in range(terms):
        part = rest if format.is_floating_point else rest.round()
        parts.append(part.to(format).view(b, h, s, d))
        rest = rest - parts[-1].double().view_as(rest)
    return Quantized(torch.cat(parts, 3), scales, terms)


def rotation(d, generator):
    """A Hadamard matrix with random signs, orthogonal; d is a power of two."""
    matrix = torch.ones(1, 1, dtype=torch.float64, device="cuda")
    while matrix.shape[0] < d:
        top = torch.cat([matrix, matrix], 1)
        matrix = torch.cat([top, torch.cat([matrix, -matrix], 1)])
    random = torch.rand(d, generator=generator, device="cuda")
    signs = torch.where(random < 0.5, -1.0, 1.0).double()
    return signs[:, None] * matrix / math.sqrt(d)


def attention(q, k, v, block=8192):
    """Attention by definition in fp64, head by head, in blocks of keys."""
    out = torch.empty(*q.shape[:3], v.shape[3], dtype=q.dtype, device=q.device)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            scores = q[b, h] @ k[b, h].T / math.sqrt(q.shape[3])
            weights = torch.softmax(scores, -1)
            out[b, h] = sum(
                weights[:, i : i + block] @ v[b, h, i : i + block]
                for i in range(0, k.shape[2], block)
            )
    return out


def outliers(shape, generator):
    """N(0, 1) + N(0, 100) * Bernoulli(0.001), as in FlashAttention-3's paper
    (arXiv 2407.08608, section 4.3)."""
    options = dict(generator=generator, device="cuda", dtype=torch.float64)
    rare = torch.rand(shape, **options) < 0.001
    return torch.randn(shape, **options) + 10 * torch.randn(shape, **options) * rare


def needle(queries, keys, d, generator):
    """One head in which the first key, the last one to be added, has half of
    the weight of each query, and all others share the other half. Values are
    N(1, 1) but for the needle's, -3 everywhere, so results are near -1."""
    options = dict(generator=generator, device="cuda", dtype=torch.float64)
    k = torch.randn(1, 1, keys, d, **options)
    v = 1 + torch.randn(1, 1, keys, d, **options)
    q = 0.1 * torch.randn(1, 1, queries, d, **options)
    # A direction that no other key has, of the score of the sum of all others.
    k[..., 0] = 0
    q[..., 0] = 8
    k[0, 0, 0] = 0
    k[0, 0, 0, 0] = math.log(keys) * math.sqrt(d) / 8
    v[0, 0, 0] = -3
    return q, k, v


def rms(x):
    return x.double().square().mean().sqrt().item()
