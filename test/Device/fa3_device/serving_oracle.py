# SPDX-License-Identifier: Apache-2.0
"""What serving.py compares with: one sequence by definition, by torch, and how far
8-bit operands may be off."""

import torch

FLOATS_8 = {"f8E4M3FN": torch.float8_e4m3fn, "f8E5M2": torch.float8_e5m2}


def attend(case, q, k, v, sinks, dtype=torch.float32):
    """o and lse of one sequence: q (queries, heads, d), k and v (keys, ...), whose
    scales are in them. With an 8-bit `dtype` weights are rounded to it, times what
    makes the largest one of a row 256."""
    queries, keys = q.shape[0], k.shape[0]
    group = case.heads // case.key_heads
    k = k.repeat_interleave(group, 1)
    v = v.repeat_interleave(group, 1)
    is_small = dtype.itemsize == 1
    wide = torch.float32 if is_small else dtype
    s = torch.einsum("ihd,jhd->hij", q.to(wide), k.to(wide)).float()
    s = s * case.d**-0.5
    if case.mask == "softcap":
        s = 5 * torch.tanh(s / 5)
    i = torch.arange(queries, device=q.device)[:, None] + keys - queries
    j = torch.arange(keys, device=q.device)[None]
    if case.mask in ("causal", "softcap"):
        s = s.masked_fill(j > i, -torch.inf)
    elif case.mask == "window":
        s = s.masked_fill((j > i) | (j < i - 100), -torch.inf)
    if sinks is not None:
        column = sinks[:, None, None].expand(-1, queries, 1)
        s = torch.cat([s, column.float()], 2)
        v = torch.cat([v, torch.zeros_like(v[:1])]) if keys else torch.zeros(
            1, case.heads, case.dv, device=q.device, dtype=q.dtype
        )
    if s.shape[2] == 0:
        o = torch.zeros(queries, case.heads, case.dv, device=q.device)
        return o, torch.full((case.heads, queries), -torch.inf, device=q.device)
    lse = torch.logsumexp(s, 2)
    p = torch.exp(s - lse[..., None]).nan_to_num(0.0)
    factor = 256 / p.amax(2, keepdim=True).clamp(min=1e-30) if is_small else 1.0
    p = (p * factor).to(dtype).float() / factor
    o = torch.einsum("hij,jhd->ihd", p, v.float())
    return o, lse


def slack(case, q, k, v, sinks):
    """What 8-bit operands may add to the errors of o and of scores, as oracle.py has
    it: weights rounded by half a unit, sums of products that keep 13 bits."""
    if not case.is_small or not len(q) or not len(k):
        return 0.0, 0.0
    norms = [x.norm(dim=-1).max().item() for x in (q, k)]
    weighted, _ = attend(case, q, k, v.abs(), sinks)
    unit = torch.finfo(FLOATS_8[case.type]).eps / 2
    return (unit * weighted.max().item(),
            2.0**-10 * norms[0] * norms[1] * case.d**-0.5)  # fmt: skip


def rotate(case, x, cos, sin, first):
    """Rows (.., rows, heads, d) turned from position `first` on, as f32 says."""
    if not case.pairs:
        return x
    rows = x.shape[0]
    at = (first + torch.arange(rows, device=x.device)).clamp(0, cos.shape[0] - 1)
    c, s = cos[at][:, None], sin[at][:, None]
    y = x.clone()
    n = case.pairs
    if case.interleaved:
        a, b = x[..., 0 : 2 * n : 2].float(), x[..., 1 : 2 * n : 2].float()
        y[..., 0 : 2 * n : 2] = (a * c - b * s).to(x.dtype)
        y[..., 1 : 2 * n : 2] = (b * c + a * s).to(x.dtype)
    else:
        a, b = x[..., :n].float(), x[..., n : 2 * n].float()
        y[..., :n] = (a * c - b * s).to(x.dtype)
        y[..., n : 2 * n] = (b * c + a * s).to(x.dtype)
    return y
