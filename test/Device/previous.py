#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""previous=(o, lse) of fa3.attention on a GPU: python test/Device/previous.py [--time]
[--cpu] [--part N/M].

* Keys in three steps, each of which takes in what the ones before have given, against
  the definition in fp32, beside torch's 16-bit operations on all keys: o errs no more
  than twice what these do, lse by 1e-3. A pairwise cover of types, head dims, groups,
  layouts, types of o between the steps, code, sinks, and rows without keys whose o is
  NaN. With gradients: those of q, k and v through the steps.
* The same bits in two runs.
* With --time: ms of a step, alone, and with what was before, beside torch's merge."""

import argparse
import itertools
import pathlib
import sys

import torch

try:
    import fa3
except ImportError:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    import fa3
from fa3_device.serving_cases import cover

AXES = {
    "type": [torch.bfloat16, torch.float16],
    "dim": [(64, 64), (128, 128), (192, 128), (256, 256), (512, 512)],
    "heads": [(4, 4), (8, 2), (6, 2), (4, 1)],
    "layout": ["bhsd", "bshd"],
    "between": [torch.float32, None],
    "code": [None, "score_mod", "bias", "softcap", "dropout"],
    "sinks": [False, True],
    "holes": [False, True],
    "steps": [(13, 290, 340), (1, 129, 340), (128, 256, 340)],
}
failed = passed = 0


def report(right, said):
    global failed, passed
    passed, failed = passed + right, failed + (not right)
    if not right:
        print(f"FAILED {said}", flush=True)


def attend(q, k, v, row, bias, sinks, dtype):
    """o and lse of (batch, heads, rows, d) in a type; no keys, no output."""
    groups = q.shape[1] // k.shape[1]
    q, k, v = (one.to(dtype) for one in (q, k, v))
    k, v = (one.repeat_interleave(groups, 1) for one in (k, v))
    scores = (q @ k.mT).float() * q.shape[3] ** -0.5
    if row["code"] == "softcap":
        scores = 3 * torch.tanh(scores / 3)
    if row["code"] == "score_mod":
        scores = scores * 0.5 + torch.arange(q.shape[1], device=q.device)[:, None, None]
    if bias is not None:
        scores = scores + bias
    if sinks is not None:
        own = sinks[None, :, None, None].expand(*scores.shape[:3], 1)
        scores = torch.cat([scores, own], 3)
    lse = torch.logsumexp(scores, -1)
    weights = torch.softmax(scores, -1)[..., : k.shape[2]].to(dtype)
    return weights @ v, lse


def check(row, device, interpret):
    d, dv = row["dim"]
    h, hk = row["heads"]
    ends = row["steps"] if device == "cuda" else (3, 20, 33)
    queries, keys = (200, ends[-1]) if device == "cuda" else (17, ends[-1])
    named = {"dtype": row["type"], "device": device}
    q = torch.randn(2, h, queries, d, **named)
    k, v = torch.randn(2, hk, keys, d, **named), torch.randn(2, hk, keys, dv, **named)
    bias = torch.randn(2, h, queries, keys, device=device) if row["code"] == "bias" else None
    sinks = torch.randn(h, device=device) if row["sinks"] else None
    swap = row["layout"] == "bshd"

    def turned(one):
        return one.transpose(1, 2) if swap else one

    def run():
        before = None
        for n, (first, last) in enumerate(zip((0, *ends), ends)):
            given = {"layout": row["layout"], "return_lse": True, "interpret": interpret}
            if n + 1 < len(ends):
                given["out_dtype"] = row["between"]
            if row["code"] == "softcap":
                given["softcap"] = 3.0
            if row["code"] == "score_mod":
                given["score_mod"] = lambda s, b, h, i, j: s * 0.5 + h
            if bias is not None:
                given["bias"] = bias[..., first:last]
            if row["code"] == "dropout":
                given["dropout_p"] = 1e-9  # the code of it, and nothing that it drops
            if n == 0 and sinks is not None:
                given["sinks"] = sinks
            parts = [turned(q), turned(k[:, :, first:last]), turned(v[:, :, first:last])]
            before = fa3.attention(*parts, previous=before, **given)
            if n == 0 and row["holes"]:
                # Rows that no key of the first step was for.
                o, lse = (one.clone() for one in before)
                turned(o)[:, :, ::3], lse[:, :, ::3] = torch.nan, -torch.inf
                before = o, lse
        return before

    o, lse = run()
    again = run()
    report(torch.equal(o, again[0]) and torch.equal(lse, again[1]), f"{row}: two runs differ")
    exact, sums = attend(q, k, v, row, bias, sinks, torch.float32)
    plain, _ = attend(q, k, v, row, bias, sinks, row["type"])
    if row["holes"]:
        rest = None if bias is None else bias[..., ends[0] :]
        given = (q, k[:, :, ends[0] :], v[:, :, ends[0] :], row, rest, None)
        (of_rest, its), (low, _) = attend(*given, torch.float32), attend(*given, row["type"])
        exact[:, :, ::3], sums[:, :, ::3] = of_rest[:, :, ::3], its[:, :, ::3]
        plain[:, :, ::3] = low[:, :, ::3]
    ours = (turned(o).float() - exact).abs().max().item()
    theirs = (plain.float() - exact).abs().max().item()
    bound = 2 * theirs + 1e-3 * exact.abs().max().item()
    report(ours <= bound, f"{row}: o errs {ours:.3g}, torch's {theirs:.3g}")
    off = (lse - sums).abs().max().item()
    report(off < 1e-3, f"{row}: lse errs {off:.3g}")


def check_gradients(device, interpret):
    size = 300 if device == "cuda" else 20
    for (d, dv), (h, hk), layout in itertools.product(
        ((64, 64), (128, 128), (192, 128), (256, 256)), ((4, 4), (8, 2)), ("bhsd", "bshd")
    ):
        if device == "cpu" and (d, layout) not in ((64, "bhsd"), (192, "bshd")):
            continue
        q = torch.randn(2, h, size, d, device=device).bfloat16()
        k = torch.randn(2, hk, 2 * size, d, device=device).bfloat16()
        v = torch.randn(2, hk, 2 * size, dv, device=device).bfloat16()
        do = torch.randn(2, h, size, dv, device=device).bfloat16()
        given = [one.requires_grad_() for one in (q, k, v)]

        def turned(one, layout=layout):
            return one.transpose(1, 2) if layout == "bshd" else one

        def steps(q, k, v, layout=layout, size=size, turned=turned):
            before = None
            for part in (slice(0, size + 7), slice(size + 7, None)):
                parts = [turned(one) for one in (q, k[:, :, part], v[:, :, part])]
                before = fa3.attention(
                    *parts, layout=layout, previous=before, return_lse=True, interpret=interpret
                )
            return turned(before[0])

        def by_torch(dtype, q=q, k=k, v=v, h=h, hk=hk, do=do):
            own = [one.detach().to(dtype).requires_grad_() for one in (q, k, v)]
            k, v = (one.repeat_interleave(h // hk, 1) for one in own[1:])
            scores = (own[0] @ k.mT) * q.shape[3] ** -0.5
            o = scores.float().softmax(-1).to(dtype) @ v
            return torch.autograd.grad(o, own, do.to(dtype))

        made = torch.autograd.grad(steps(*given), given, do)
        for name, one, exact, low in zip(
            "qkv", made, by_torch(torch.float32), by_torch(torch.bfloat16)
        ):
            ours, theirs = (
                (x.float() - exact).norm().item() / exact.norm().item() for x in (one, low)
            )
            said = f"{d}/{dv} {h}/{hk} {layout} d{name}: {ours:.3g}, torch's {theirs:.3g}"
            report(ours <= 2 * theirs, said)


def time_of(run):
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(31)]
    marks[0].record()
    for mark in marks[1:]:
        run()
        mark.record()
    torch.cuda.synchronize()
    return sorted(a.elapsed_time(b) for a, b in zip(marks, marks[1:]))[15]


def measure():
    print("shape,way,ms")
    for d, length in ((64, 8192), (128, 4096), (128, 16384), (256, 8192)):
        h = 2048 // d
        q, k, v = (torch.randn(1, h, length, d, device="cuda").bfloat16() for _ in range(3))
        o, lse = fa3.attention(q, k, v, return_lse=True, out_dtype=torch.float32)
        low = o.bfloat16()

        def alone():
            return fa3.attention(q, k, v, return_lse=True)

        def wide():
            return fa3.attention(q, k, v, return_lse=True, out_dtype=torch.float32)

        def with_previous():
            return fa3.attention(q, k, v, previous=(o, lse), return_lse=True)

        def with_16_bits():
            return fa3.attention(q, k, v, previous=(low, lse), return_lse=True)

        def with_previous_wide():
            return fa3.attention(
                q, k, v, previous=(o, lse), return_lse=True, out_dtype=torch.float32
            )

        def merged_by_torch():
            own, sums = alone()
            own, along, before = own.float(), sums.unsqueeze(-1), lse.unsqueeze(-1)
            made = o - torch.sigmoid(along - before) * (o - own)
            return made.bfloat16(), before - torch.nn.functional.logsigmoid(before - along)

        for run in (
            alone, wide, with_previous, with_16_bits, with_previous_wide, merged_by_torch,
        ):  # fmt: skip
            print(f"{d} x {length},{run.__name__},{time_of(run):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", action="store_true", help="measure, too")
    parser.add_argument("--cpu", action="store_true", help="in the interpreter")
    parser.add_argument("--part", default="0/1", help="N/M: every M-th problem from N on")
    options = parser.parse_args()
    torch.manual_seed(0)
    device = "cpu" if options.cpu else "cuda"
    first, count = map(int, options.part.split("/"))
    for number, row in enumerate(cover(AXES)):
        if number % count != first or options.cpu and number % 7:
            continue
        check(row, device, options.cpu)
    if first == 0:
        check_gradients(device, options.cpu)
    if options.time:
        measure()
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
