# SPDX-License-Identifier: Apache-2.0
"""Attention over packed sequences, one behind the other, whose lengths only the
GPU knows (cu_seqlens)."""

from __future__ import annotations

from typing import Any

import torch

from . import tensors
from ._runtime import runtime
from .checks import (
    check_head_dim,
    check_scale,
    check_softcap,
    check_types,
    check_window,
)
from .compiler import CompileOptions, get_compiler
from .driver import Kernel, compile
from .errors import ArgumentError, ArgumentTypeError, UnsupportedError
from .spec import Spec
from .tensors import CPU

_kernels: dict[tuple[Spec], Kernel] = {}


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    cu_q: torch.Tensor, cu_k: torch.Tensor, max_q: int, *,
    causal: bool = False, window: Any = None, softcap: float = 0.0,
    scale: float | None = None, return_lse: bool = False, interpret: bool = False,
) -> Any:  # fmt: skip
    """q (queries, heads, d), k (keys, key heads, d), v (keys, key heads, dv); o
    (queries, heads, dv), lse (heads, queries)."""
    views = {
        name: tensors.view(name, value)
        for name, value in (
            ("q", q), ("k", k), ("v", v), ("cu_seqlens_q", cu_q), ("cu_seqlens_k", cu_k),
        )
    }  # fmt: skip
    for name in "qkv":
        if len(views[name].shape) != 3:
            raise ArgumentError(name, f"rank {len(views[name].shape)}, expected 3")
        if views[name].shape[2] > 1 and views[name].strides[2] != 1:
            raise ArgumentError(name, "last dimension is not contiguous")
    for name in ("cu_seqlens_q", "cu_seqlens_k"):
        one = views[name]
        if one.type != "i32" or one.shape != (cu_q.numel(),) or one.shape[0] < 2:
            raise ArgumentTypeError(
                name, f"{one.type} of shape {one.shape}, expected i32 (sequences + 1,)"
            )
    for name, one in views.items():
        if one.device != views["q"].device:
            raise ArgumentError(name, "is not on the device of q")
    types = [views[name].type for name in "qkv"]
    check_types(*types)
    if types[0] not in ("f16", "bf16"):
        raise UnsupportedError(f"packed sequences of {types[0]}")
    (_, heads, dim), (keys, key_heads, _) = q.shape, k.shape
    if k.shape[2] != dim:
        raise ArgumentError("k", f"head dim {k.shape[2]}, expected {dim} as q")
    if tuple(v.shape[:2]) != (keys, key_heads):
        raise ArgumentError("v", f"{tuple(v.shape[:2])} keys and heads, k has others")
    if key_heads == 0 or heads % key_heads:
        raise ArgumentError("k", f"{key_heads} heads, expected a divisor of q's {heads}")
    check_head_dim("q", dim, types[2])
    check_head_dim("v", v.shape[2], types[2])
    if max_q < 0:
        raise ArgumentError("max_seqlen_q", f"{max_q}, expected at least 0")
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        raise UnsupportedError("gradients of packed sequences")
    spec = Spec(
        types[0], types[1], types[2], types[0], dim, v.shape[2], bool(causal),
        check_window(window), check_softcap(softcap), bool(return_lse),
    )  # fmt: skip
    o = q.new_empty((*q.shape[:2], v.shape[2]))
    lse = q.new_empty((heads, q.shape[0]), dtype=torch.float32)
    number = check_scale(scale, dim)
    given = [q, k, v, cu_q, cu_k, max_q, number, o, *([lse] if return_lse else [])]
    if interpret:
        arrays = [
            tensors.view("", one).array() if tensors.is_torch(one)
            else ("i32" if isinstance(one, int) else "f32", one) for one in given
        ]  # fmt: skip
        get_compiler().interpret(to_mlir(spec), arrays, CompileOptions(), "tile")
    else:
        device = views["q"].device
        if device == CPU:
            raise ArgumentError("q", "device is cpu, expected CUDA")
        key = (spec,)
        if key not in _kernels:
            _kernels[key] = compile(to_mlir(spec))
        with torch.cuda.device(device):
            _kernels[key].program(device)(*given)
    return (o, lse) if return_lse else o


def to_mlir(spec: Spec) -> str:
    """The module of a packed kernel with these types, head dims and mods."""
    q, k = (f"tensor<?x?x{spec.head_dim}x{one}>" for one in (spec.q_type, spec.k_type))
    v = f"tensor<?x?x{spec.head_dim_v}x{spec.v_type}>"
    results = [f"tensor<?x?x{spec.head_dim_v}x{spec.out_type}>"]
    names = ["o", "lse"] if spec.lse else ["o"]
    if spec.lse:
        results.append("tensor<?x?xf32>")
    made = ", ".join(results)
    named = ", ".join(
        f'{type} {{tile.name = "{name}"}}' for name, type in zip(names, results)
    )
    values = ", ".join("%" + name for name in names)
    mods = ", ".join(["#attention.packed<q = 0, k = 1>", *spec._mods([])])
    parameters = ",\n    ".join(
        f'%{name}: {type} {{tile.name = "{name}"}}'
        for name, type in (
            ("q", q), ("k", k), ("v", v), ("cu_q", "tensor<?xi32>"),
            ("cu_k", "tensor<?xi32>"), ("max_q", "i32"), ("scale", "f32"),
        )
    )  # fmt: skip
    return f"""func.func @attention_packed(
    {parameters})
    -> ({named}) {{
  %most = arith.index_cast %max_q : i32 to index
  {values} = attention.forward %q, %k, %v
    aux(%cu_q, %cu_k : tensor<?xi32>, tensor<?xi32>) scale %scale max_q %most
    layout bshd mods [{mods}]
    : ({q}, {k}, {v}) -> ({made})
  return {values} : {made}
}}
"""
