# SPDX-License-Identifier: Apache-2.0
"""Attention by definition in f64, with the arguments of the doors of the Python package,
and how far a result is off. Needs torch."""

import functools
import math

import torch


def attend(q, k, v, a, batch=None):
    """(b, heads, queries, d) and so on, arguments by name: o, lse and the largest score of
    each row, in f64. `batch`: the number of the only sequence."""
    q, k, v = (one.double() for one in (q, k, v))
    heads, queries, keys = q.shape[1], q.shape[2], k.shape[2]
    k, v = (one.repeat_interleave(heads // k.shape[1], 1) for one in (k, v))
    scale = a.get("scale")
    scores = (q @ k.mT) * float(q.shape[3] ** -0.5 if scale is None else scale)
    b = torch.arange(q.shape[0])[:, None, None, None] if batch is None else torch.tensor(batch)
    h = torch.arange(heads)[None, :, None, None]
    i, j = torch.arange(queries)[None, None, :, None], torch.arange(keys)[None, None, None]
    place = i + keys - queries
    if a.get("softcap"):
        scores = a["softcap"] * torch.tanh(scores / a["softcap"])
    if "bias" in a:
        scores = scores + a["bias"].double()
    if "alibi_slopes" in a:
        slopes = a["alibi_slopes"].double()[None, :, None, None]
        scores = scores - slopes * (place - j).abs()
    if "score_mod" in a:
        scores = a["score_mod"](scores, b, h, i, j)
    scores = scores.masked_fill(~seen(a, b, h, i, j, place), -math.inf)
    largest = scores.amax(-1) if keys else scores.new_full(scores.shape[:3], -math.inf)
    if "sinks" in a:
        sinks = a["sinks"].double()[None, :, None, None].expand(*scores.shape[:3], 1)
        lse = torch.logsumexp(torch.cat([scores, sinks], -1), -1)
    else:
        lse = torch.logsumexp(scores, -1) if keys else largest
    o = torch.nan_to_num(torch.exp(scores - lse[..., None])) @ v
    if "previous" in a:
        o, lse = with_previous(o, lse, a)
    if "epilogue" in a:
        o = a["epilogue"](o, b, h, i, torch.arange(v.shape[3])[None, None, None])
    return o, lse, largest


def seen(a, b, h, i, j, place):
    visible = (b >= 0) & (h >= 0) & (i >= 0) & (j >= 0)
    left, right = a.get("window") or (None, None)
    if a.get("causal"):
        visible = visible & (j <= place)
    if left is not None and left >= 0:
        visible = visible & (j >= place - left)
    if right is not None and right >= 0:
        visible = visible & (j <= place + right)
    if a.get("chunk"):
        visible = visible & (j // a["chunk"] == place // a["chunk"])
    return visible & a["mask_mod"](b, h, i, j) if "mask_mod" in a else visible


def with_previous(o, lse, a):
    before, sums = (one.double() for one in a["previous"])
    before = before.transpose(1, 2) if a.get("layout") == "bshd" else before
    both = torch.logaddexp(lse, sums)
    own, other = (torch.nan_to_num(torch.exp(one - both))[..., None] for one in (lse, sums))
    return own * o + torch.where(other > 0, other * before, 0.0), both


def turned(x, positions, cos, sin, interleaved):
    """Rotary embedding of (rows, heads, d), in f64."""
    x, (cos, sin) = x.double(), (t.double()[positions][:, None] for t in (cos, sin))
    pairs = cos.shape[-1]
    made = x.clone()
    first = slice(0, 2 * pairs, 2) if interleaved else slice(0, pairs)
    second = slice(1, 2 * pairs, 2) if interleaved else slice(pairs, 2 * pairs)
    made[..., first] = x[..., first] * cos - x[..., second] * sin
    made[..., second] = x[..., second] * cos + x[..., first] * sin
    return made


# --- How far a result is off -------------------------------------------------


def off(part, least, made, expected):
    """The largest difference, of `part` of the largest element, or of `least`, if that is
    less."""
    if made.shape != expected.shape:
        return math.inf
    if not expected.numel():
        return 0.0
    made, finite = made.double(), expected[expected.isfinite()]
    size = max(least, finite.abs().max().item() if finite.numel() else 0.0)
    apart = torch.where(made == expected, 0.0, (made - expected).abs()).max().item()
    return math.inf if math.isnan(apart) else apart / (part * size)


def off_in_the_mean(part, made, expected):
    """As gradients are: sums, whose terms were rounded."""
    if made is None or expected is None:
        given = made if expected is None else expected
        return 0.0 if given is None or not given.any() else math.inf
    if made.shape != expected.shape:
        return math.inf
    if not expected.numel():
        return 0.0
    apart = (made.double() - expected).norm().item()
    allowed = part * (expected.norm().item() + 0.3 * math.sqrt(expected.numel()))
    return math.inf if math.isnan(apart) else apart / allowed


off_lse = functools.partial(off, 2e-3, 1.0)
off_largest = functools.partial(off, 2e-2, 1.0)
