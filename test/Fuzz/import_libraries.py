# SPDX-License-Identifier: Apache-2.0
"""The names that programs of import_programs.py use: torch's, torch's in f64, which is
the definition, and those of JAX."""

import math

import torch
from torch.nn import functional


class Torch:
    inf = math.inf
    matmul, einsum = torch.matmul, staticmethod(torch.einsum)
    permute, reshape = torch.permute, torch.reshape
    swap, tanh, exp, abs = torch.transpose, torch.tanh, torch.exp, torch.abs
    sigmoid, arange, floordiv = torch.sigmoid, torch.arange, torch.floor_divide

    sqrt, sign, log1p, erf, rsqrt = torch.sqrt, torch.sign, torch.log1p, torch.erf, torch.rsqrt
    exp2, expm1, cos, sin, square = torch.exp2, torch.expm1, torch.cos, torch.sin, torch.square
    relu = torch.relu
    silu, softplus = staticmethod(functional.silu), functional.softplus
    gelu, leaky_relu = functional.gelu, staticmethod(functional.leaky_relu)
    hardtanh = staticmethod(functional.hardtanh)

    def __init__(self, element):
        self.kind = {"f16": torch.float16, "bf16": torch.bfloat16}[element]

    def broadcast(self, x, shape):
        return x.expand(shape)

    def repeat(self, x, times, dim):
        return torch.repeat_interleave(x, times, dim)

    def where(self, condition, x, y):
        return torch.where(condition, x, y)

    def maximum(self, x, low):
        return torch.clamp(x, min=low)

    def minimum(self, x, high):
        return torch.clamp(x, max=high)

    def clip(self, x, low, high):
        return torch.clamp(x, low, high)

    def i32(self, x):
        return x.to(torch.int32)

    def softmax(self, x, dim):
        return torch.softmax(x, dim)

    def log_softmax(self, x, dim):
        return torch.log_softmax(x, dim)

    def max(self, x, dim):
        return torch.amax(x, dim, keepdim=True)

    def sum(self, x, dim):
        return torch.sum(x, dim, keepdim=True)

    def tril(self, rows, columns, diagonal):
        return torch.tril(torch.ones(rows, columns, dtype=torch.bool), diagonal)

    def f32(self, x):
        return x.float()

    def element(self, x):
        return x.to(self.kind)

    def like(self, x, y):
        if isinstance(y, torch.Tensor):
            return y.to(x.dtype)
        return torch.full((), y, dtype=x.dtype)

    def note(self, x):
        return x


class Definition(Torch):
    """In f64, and which rows have a score that is not far below others'."""

    def f32(self, x):
        return x if x.dtype == torch.float64 else x.double()

    element = f32

    def note(self, x):
        self.top = x.amax(-1)
        return x


class Jax:
    inf = math.inf

    def __init__(self, element):
        import jax
        import jax.numpy as jnp

        self.jax, self.jnp = jax, jnp
        self.kind = {"f16": jnp.float16, "bf16": jnp.bfloat16}[element]
        for name in ("matmul", "einsum", "where", "reshape", "tanh", "exp", "abs", "maximum",
                     "minimum", "repeat", "arange", "clip", "sqrt", "sign", "log1p", "exp2",
                     "expm1", "cos", "sin", "square"):  # fmt: skip
            setattr(self, name, getattr(jnp, name))
        self.permute, self.swap = jnp.transpose, jnp.swapaxes
        self.broadcast, self.floordiv = jnp.broadcast_to, jnp.floor_divide
        self.softmax, self.sigmoid = jax.nn.softmax, jax.nn.sigmoid
        self.log_softmax, self.relu, self.silu = jax.nn.log_softmax, jax.nn.relu, jax.nn.silu
        self.softplus, self.leaky_relu = jax.nn.softplus, jax.nn.leaky_relu
        self.hardtanh = jax.nn.hard_tanh
        self.erf, self.rsqrt = jax.scipy.special.erf, jax.lax.rsqrt

    def gelu(self, x):
        return self.jax.nn.gelu(x, approximate=False)

    def i32(self, x):
        return x.astype(self.jnp.int32)

    def max(self, x, axis):
        return self.jnp.max(x, axis, keepdims=True)

    def sum(self, x, axis):
        return self.jnp.sum(x, axis, keepdims=True)

    def tril(self, rows, columns, diagonal):
        return self.jnp.tril(self.jnp.ones((rows, columns), bool), diagonal)

    def f32(self, x):
        return x.astype(self.jnp.float32)

    def element(self, x):
        return x.astype(self.kind)

    def like(self, x, y):
        return self.jnp.asarray(y).astype(x.dtype)

    def note(self, x):
        return x
