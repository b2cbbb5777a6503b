# SPDX-License-Identifier: Apache-2.0
"""Attention by definition, by torch, on the device or the CPU.

Tensors are (batch, head, sequence, element), statistics (batch, head, query).
"""

from __future__ import annotations

import dataclasses

import torch

# Scores held at a time, and up to which number of them sums are in f64.
_CHUNK = 1 << 27
_EXACT = 1 << 22


@dataclasses.dataclass
class Inputs:
    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    scale: float
    slopes: torch.Tensor | None = None  # f32, one per query head
    bias: torch.Tensor | None = None  # (batch, head, query, key)
    # Type of the weights in low precision if the operands have 8 bits; they are
    # given as f32 then.
    weights: torch.dtype | None = None
    # Whether scores are summed without loss.
    exact_scores: bool = False
    # What 8-bit operands may add to the errors of o and lse: weights rounded by
    # half a unit; scores summed with 13 bits of mantissa, cut off at every step
    # (Hopper's 8-bit products; 2^-11 of |q| |k| was not enough).
    slack_o: float = 0.0
    slack_lse: float = 0.0

    def slice(self, batches, key_heads):
        group = self.q.shape[1] // self.k.shape[1]
        heads = slice(key_heads.start * group, key_heads.stop * group)
        return Inputs(
            self.q[batches, heads],
            self.k[batches, key_heads],
            self.v[batches, key_heads],
            self.scale,
            None if self.slopes is None else self.slopes[heads],
            None if self.bias is None else self.bias[batches, heads],
            self.weights,
        )


def visible(mask, queries, keys, device):
    """Which keys a query sees, (query, key); None for all."""
    if not (mask.causal or mask.window or mask.prefix is not None):
        return None
    i = torch.arange(queries, device=device)[:, None] + (keys - queries)
    j = torch.arange(keys, device=device)[None, :]
    keep = torch.ones(queries, keys, dtype=torch.bool, device=device)
    if mask.causal:
        keep &= j <= i
    if mask.window:
        left, right = mask.window
        if left is not None:
            keep &= j >= i - left
        if right is not None:
            keep &= j <= i + right
    if mask.prefix is not None:
        keep &= (j < mask.prefix) | (j <= i)
    return keep


def _scores(mask, x, dtype):
    """Edited scores of all heads with invisible keys at -inf."""
    batch, heads, queries, d = x.q.shape
    key_heads, keys = x.k.shape[1], x.k.shape[2]
    # Query heads that share a key head lie one after the other.
    q = (x.q.to(dtype) * x.scale).reshape(batch, key_heads, -1, d)
    s = q @ x.k.to(dtype).transpose(-1, -2)
    s = s.view(batch, heads, queries, keys)
    if mask.softcap is not None:
        s = s.div_(mask.softcap).tanh_().mul_(mask.softcap)
    if mask.alibi:
        i = torch.arange(queries, device=s.device)[:, None] + (keys - queries)
        j = torch.arange(keys, device=s.device)[None, :]
        # Kernels compute distances, none has them in low precision.
        wide = torch.promote_types(dtype, torch.float32)
        slopes = x.slopes.to(wide)[:, None, None]
        s = s.to(wide) - slopes * (i - j).abs().to(wide)
    if mask.bias:
        s += x.bias.to(dtype)
    keep = visible(mask, queries, keys, s.device)
    if keep is not None:
        s.masked_fill_(~keep, -torch.inf)
    return s


def _outputs(p, x, dtype):
    batch, heads, queries, keys = p.shape
    p = p.to(dtype).view(batch, x.v.shape[1], -1, keys)
    return (p @ x.v.to(dtype)).view(batch, heads, queries, -1)


def _exact(mask, x, dtype):
    s = _scores(mask, x, dtype)
    largest = s.amax(-1, keepdim=True)
    dead = largest == -torch.inf
    s -= largest.masked_fill(dead, 0)
    p = s.exp_()
    total = p.sum(-1, keepdim=True)
    p /= total.masked_fill(dead, 1)
    lse = (largest + total.log()).squeeze(-1)
    return _outputs(p, x, dtype).float(), lse.float()


def _low(mask, x):
    """What unfused attention in the type of the inputs gives, of 8 bits in bf16
    with weights of that type."""
    dtype = torch.bfloat16 if x.weights else x.q.dtype
    s = _scores(mask, x, dtype)
    p = s.softmax(-1).nan_to_num_(0)
    if x.weights:
        p = p.to(x.weights).to(dtype)
    return _outputs(p, x, dtype).float()


def _widen_slack(mask, x, part):
    """Takes what a part of the heads may add to the errors."""
    unit = torch.finfo(x.weights).eps / 2
    group = part.q.shape[1] // part.k.shape[1]
    values = dataclasses.replace(part, v=part.v.abs())
    weighted, _ = _exact(mask, values, torch.float32)
    x.slack_o = max(x.slack_o, unit * float(weighted.max()))
    if x.exact_scores:
        return
    queries = part.q.norm(dim=-1).amax(-1)
    keys = part.k.norm(dim=-1).amax(-1).repeat_interleave(group, 1)
    reach = float((queries * keys).max()) * x.scale
    x.slack_lse = max(x.slack_lse, 2.0**-10 * reach)


def attention(mask, x):
    """o and lse in f32, and o computed in low precision."""
    batch, heads, queries, _ = x.q.shape
    key_heads, keys = x.k.shape[1], x.k.shape[2]
    device = x.q.device
    o = torch.zeros(batch, heads, queries, x.v.shape[3], device=device)
    low, lse = o.clone(), torch.full(o.shape[:3], -torch.inf, device=device)
    per_key_head = heads // key_heads * queries * keys
    if not per_key_head:
        return o, lse, low
    count = batch * key_heads * per_key_head
    dtype = torch.float64 if count <= _EXACT else torch.float32
    per_batch = key_heads * per_key_head
    batch_step = max(_CHUNK // per_batch, 1)
    head_step = key_heads
    if per_batch > _CHUNK:
        head_step = max(_CHUNK // per_key_head, 1)
    group = heads // key_heads
    for b in range(0, batch, batch_step):
        for h in range(0, key_heads, head_step):
            batches = slice(b, min(b + batch_step, batch))
            some = slice(h, min(h + head_step, key_heads))
            part = x.slice(batches, some)
            at = batches, slice(some.start * group, some.stop * group)
            o[at], lse[at] = _exact(mask, part, dtype)
            if x.weights:
                _widen_slack(mask, x, part)
            low[at] = _low(mask, part)
    return o, lse, low


def error_bound(reference, low, dtype, factor):
    """`factor` times the error of unfused attention in low precision, plus
    twice the rounding error of adding and subtracting 0.3 (the criterion of
    FlashAttention)."""
    if not reference.numel():
        return 0.0
    rounded = reference.to(dtype)
    noise = ((rounded + 0.3 - 0.3).float() - rounded.float()).abs().max()
    return float(factor * (low - reference).abs().max() + 2 * noise)
