#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scores of every size, beside the definition in torch's f64: o, lse and gradients.

    python3 test/Python/values.py [--stage tile] [--stage hopper] [--device cuda] [NAME ..]

Scores are rounded to f32, as torch's math has them, and everything else is in f64.
What differs on purpose is in `definition` and named in docs/Python.md. The cases are
small; test_values.py runs them in the interpreter."""

import argparse
import pathlib
import sys

import torch
from value_cases import CASES, INFINITY, NAN

__all__ = ["CASES", "INFINITY", "NAN", "check", "compare"]


def definition(q, k, v, *, causal=False, window=None, softcap=0.0, scale=None, bias=None,
               alibi_slopes=None, sinks=None, score_mod=None, mask_mod=None):  # fmt: skip
    """(o, lse). A query that sees no key has 0 and -inf, where torch has NaN; keys that
    a query does not see have no weight, also where others make its row NaN; lse is
    NaN where a score is inf."""
    group = q.shape[1] // k.shape[1]
    k, v = (one.double().repeat_interleave(group, 1) for one in (k, v))
    x = q.double() @ k.mT * (q.shape[3] ** -0.5 if scale is None else scale)
    s = x.float()
    b = torch.arange(q.shape[0])[:, None, None, None]
    h = torch.arange(q.shape[1])[:, None, None]
    i, j = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])[None]
    last = i + k.shape[2] - q.shape[2]
    if softcap:
        s = (softcap * torch.tanh(s.double() / softcap)).float()
    if bias is not None:
        s = s + bias.float()
    if alibi_slopes is not None:
        s = s - alibi_slopes[:, None, None] * (last - j).abs()
    if score_mod is not None:
        s = score_mod(s, b, h, i, j)
    keep = torch.ones_like(s, dtype=torch.bool)
    if causal:
        keep = keep & (j <= last)
    if window is not None:
        keep = keep & (j >= last - window[0]) & (j <= last + window[1])
    if mask_mod is not None:
        keep = keep & mask_mod(b, h, i, j)
    s = s.double().masked_fill(~keep, -INFINITY)
    sink = None if sinks is None else sinks.double()[None, :, None]
    lowest = torch.full(s.shape[:-1], -INFINITY, dtype=torch.float64)
    m = torch.cat([s, lowest[..., None]], -1).amax(-1)
    m = m if sink is None else torch.maximum(m, sink)
    none = m == -INFINITY
    m = m.detach().masked_fill(none, 0.0)
    p = torch.exp(s - m[..., None])
    total = p.sum(-1) + (0 if sink is None else torch.exp(sink - m))
    p = (p / total.masked_fill(none, 1.0)[..., None]).masked_fill(~keep, 0.0)
    lse = (m + torch.log(total.masked_fill(none, 1.0))).masked_fill(none, -INFINITY)
    return p @ v, lse


# -----------------------------------------------------------------------------
# Comparison
# -----------------------------------------------------------------------------


def run(given, call):
    """Results and gradients by name, of an attention on fresh leaves."""
    given = dict(given)
    wanted = ("q", "k", "v", *given.pop("wanted", ()))
    forward_only = given.pop("forward_only", False)
    if not forward_only:
        for name in wanted:
            given[name] = given[name].detach().clone().requires_grad_()
    if "table" in given:
        # It is where the operands are.
        given["score_mod"] = given["score_mod"](given.pop("table"))
    q, k, v = (given.pop(name) for name in "qkv")
    o, lse = call(q, k, v, **given)
    made = {"o": o, "lse": lse}
    if not forward_only:
        generator = torch.Generator().manual_seed(3)
        weights = torch.randn(o.shape, generator=generator).to(o.device)
        of_lse = torch.randn(lse.shape, generator=generator).to(o.device)
        # A sum that is not finite has no part in the loss.
        sums = torch.where(torch.isfinite(lse), lse, torch.zeros_like(lse))
        loss = (o.float() * weights.float()).sum() + (sums * of_lse).sum()
        leaves = [one for one in (q, k, v)] + [given[name] for name in wanted[3:]]
        for name, one in zip(wanted, torch.autograd.grad(loss, leaves)):
            made[f"d{name}"] = one
    return {name: one.detach().cpu() for name, one in made.items()}


def compare(name, made, wanted, dtype):
    """What is wrong with a result; "" if nothing."""
    if made.shape != wanted.shape:
        return f"shape {tuple(made.shape)}, expected {tuple(wanted.shape)}"
    made, wanted = made.double(), wanted.to(made.dtype).double()
    for what, is_so in (
        ("NaN", torch.isnan), ("inf", torch.isposinf), ("-inf", torch.isneginf)
    ):  # fmt: skip
        if not torch.equal(is_so(made), is_so(wanted)):
            return f"{what} in {int(is_so(made).sum())}, expected {int(is_so(wanted).sum())}"
    finite = torch.isfinite(wanted)
    made, wanted = made[finite], wanted[finite]
    if not len(made):
        return ""
    if name == "lse":
        most = 2e-4 + 2.0**-20 * wanted.abs()
    else:
        digits = 2e-3 if dtype == torch.float16 else 1.6e-2
        size = wanted.abs().max().clamp(min=1 if name == "o" else 1e-3)
        most = digits * size.expand_as(wanted)
    error = (made - wanted).abs()
    if (error <= most).all():
        return ""
    worst = int((error - most).argmax())
    return f"{made[worst]:g}, expected {wanted[worst]:g}"


def check(name, dtype, *, stage=None, device=None):
    """(how many results were compared, what is wrong) of a case, in the interpreter at
    a stage or on a device."""
    import fa3

    given = CASES[name](dtype)
    wanted = run(given, definition)
    if device is not None:
        given = {
            key: one.to(device) if isinstance(one, torch.Tensor) else one
            for key, one in given.items()
        }

    def call(q, k, v, **named):
        more = {} if stage is None else {"interpret": stage}
        return fa3.attention(q, k, v, return_lse=True, **named, **more)

    made = run(given, call)
    wrong = []
    for result, value in wanted.items():
        said = compare(result, made[result], value, dtype)
        if said:
            wrong.append(f"{name}, {str(dtype)[6:]}, {stage or device}: {result} is {said}")
    return len(wanted), wrong


def main():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", help="cases, or parts of their names")
    parser.add_argument("--stage", action="append", default=[])
    parser.add_argument("--device", help="runs on it, not in the interpreter")
    parser.add_argument("--part", default="0/1", help="I/N: every N-th case from the I-th")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    places = [{"stage": one} for one in options.stage or ["tile"]]
    if options.device:
        places = [{"device": options.device}]
    count = failed = 0
    first, step = map(int, options.part.split("/"))
    for name in list(CASES)[first::step]:
        if options.names and not any(part in name for part in options.names):
            continue
        for dtype in (torch.float16, torch.bfloat16):
            for place in places:
                try:
                    number, wrong = check(name, dtype, **place)
                except Exception as error:
                    number, wrong = 0, [f"{name}, {dtype}, {place}: {error!r}"]
                count += number
                failed += len(wrong)
                for line in wrong:
                    print(line, flush=True)
                if options.verbose:
                    print(f"{name}, {str(dtype)[6:]}, {place}: {number}", flush=True)
    print(f"{count} compared, {failed} failed")
    return bool(failed or not count)


if __name__ == "__main__":
    sys.exit(main())
