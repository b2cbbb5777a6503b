# SPDX-License-Identifier: Apache-2.0
"""Gradients of attention by definition, by torch.

`x` has tensors (batch, head, sequence, element) by name: q, k, v, do, what the
mask reads, dlse (batch, head, query) if lse has a gradient; and scale.
"""

import torch

from . import oracle


def scores(mask, x, dtype):
    """Edited scores, by operations that torch can differentiate; which keys are
    visible, and which queries see none, (query, 1), or None for both."""
    batch, heads, queries, d = x["q"].shape
    key_heads, keys = x["k"].shape[1:3]
    k = x["k"].to(dtype).repeat_interleave(heads // key_heads, 1)
    s = (x["q"].to(dtype) * x["scale"]) @ k.transpose(-1, -2)
    if mask.softcap is not None:
        s = (s / mask.softcap).tanh() * mask.softcap
    if mask.alibi:
        i = torch.arange(queries, device=s.device)[:, None] + (keys - queries)
        j = torch.arange(keys, device=s.device)[None, :]
        wide = torch.promote_types(dtype, torch.float32)
        slopes = x["alibi"].to(wide)[:, None, None]
        s = (s.to(wide) - slopes * (i - j).abs().to(wide)).to(dtype)
    if mask.bias:
        s = s + x["bias"].to(dtype)
    keep = oracle.visible(mask, queries, keys, s.device)
    dead = None if keep is None else ~keep.any(-1)[:, None]
    return s, keep, dead


def forward(mask, x, dtype):
    """o and lse, by operations that torch can differentiate."""
    s, keep, dead = scores(mask, x, dtype)
    group = s.shape[1] // x["k"].shape[1]
    v = x["v"].to(dtype).repeat_interleave(group, 1)
    if keep is not None:
        s = s.masked_fill(~keep & ~dead, -torch.inf)
    p = s.softmax(-1)
    lse = s.to(torch.promote_types(dtype, torch.float32)).logsumexp(-1)
    if dead is not None:
        p = p.masked_fill(dead, 0)
        lse = lse.masked_fill(dead[:, 0], -torch.inf)
    return p @ v, lse


def gradients(mask, x, dtype):
    """Gradients of q, k, v and auxiliary operands in f32, with o and lse; from
    those of o and, if there is one, of lse."""
    leaves = {}
    for name in ("q", "k", "v", *(n for n in ("alibi", "bias") if n in x)):
        wide = dtype
        if x[name].dtype != x["q"].dtype:
            wide = torch.promote_types(dtype, x[name].dtype)
        leaves[name] = x[name].detach().clone().to(wide).requires_grad_()
    o, lse = forward(mask, {**x, **leaves}, dtype)
    results, given = [o], [x["do"].to(dtype)]
    if "dlse" in x:
        results.append(lse)
        given.append(x["dlse"].to(lse.dtype))
    found = torch.autograd.grad(results, list(leaves.values()), given)
    return [g.float() for g in found], o.detach(), lse.detach().float()


def of_given(mask, x, o, lse, dtype):
    """Gradients of auxiliary operands in f32 by the formula, with o and lse as
    the operation is given them. Rounding o changes the gradients of all scores
    of a query alike, which sums over many pairs add up."""
    leaves = [
        x[name].detach().clone().to(dtype).requires_grad_()
        for name in ("alibi", "bias") if name in x
    ]  # fmt: skip
    if not leaves:
        return []
    named = dict(zip((n for n in ("alibi", "bias") if n in x), leaves))
    s, keep, _ = scores(mask, {**x, **named}, dtype)
    group = s.shape[1] // x["k"].shape[1]
    v = x["v"].to(dtype).repeat_interleave(group, 1)
    p = (s.detach() - lse.to(dtype)[..., None]).exp()
    if keep is not None:
        p = p.masked_fill(~keep, 0)
    do = x["do"].to(dtype)
    delta = (do * o.to(dtype)).sum(-1, keepdim=True)
    change = p * (do @ v.transpose(-1, -2) - delta)
    return [g.float() for g in torch.autograd.grad(s, leaves, change)]
