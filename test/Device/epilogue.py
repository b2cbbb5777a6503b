#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code on the output of fa3.attention on a GPU: python test/Device/epilogue.py [--time]
[--cpu] [--part N/M].

* o and gradients, of q, k, v and of what the code reads, against the definition in
  fp32, beside the same in torch's 16-bit operations: no error is larger than twice
  theirs. Over types, head dims, masks, groups and what is read.
* The same bits in two runs with torch.use_deterministic_algorithms(True).
* Output of 8 bits with a scale.
* Packed, paged and divided sequences (fa3.serving): gates in the rows of q, which the
  code finds by the starts of sequences, over types, places of keys, parts and sinks; a
  second call with another gate, whose kernel is the same.
* With --time: ms of attention, with a gate, and with the gate by torch behind it.

--cpu runs small problems in the interpreter, --part 1/4 a fourth of them.
"""

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
from fa3 import serving

failed = passed = 0


def attend(q, k, v, seen):
    groups = q.shape[1] // k.shape[1]
    k, v = (one.repeat_interleave(groups, 1) for one in (k, v))
    scores = (q @ k.mT) * q.shape[3] ** -0.5
    if seen is not None:
        scores = scores.masked_fill(~seen, -torch.inf)
    weights = torch.nan_to_num(scores.float().softmax(-1)).to(q.dtype)
    return weights @ v


def make(kind, q, dv):
    """An epilogue, the same on whole tensors, and what it reads."""
    b, h, s, _ = q.shape
    named = {"dtype": q.dtype, "device": q.device}
    if kind == "gate":
        gate = torch.randn(b, h, s, dv, **named)
        return (
            lambda x, b, h, i, c: x * torch.sigmoid(gate[b, h, i, c]),
            lambda o, gate: o * torch.sigmoid(gate), [gate],
        )  # fmt: skip
    if kind == "turned gate":
        gate = torch.randn(b, s, h, dv, **named)
        return (
            lambda x, b, h, i, c: x * torch.sigmoid(gate[b, i, h, c]),
            lambda o, gate: o * torch.sigmoid(gate.transpose(1, 2)), [gate],
        )  # fmt: skip
    if kind == "gate of a head":
        gate = torch.randn(b, s, h, device=q.device)
        return (
            lambda x, b, h, i, c: x * torch.sigmoid(gate[b, i, h]),
            lambda o, gate: o * torch.sigmoid(gate.transpose(1, 2))[..., None].to(o.dtype),
            [gate],
        )  # fmt: skip
    if kind == "residual":
        residual = torch.randn(b, h, s, dv, **named)
        return (
            lambda x, b, h, i, c: x + 0.5 * residual[b, h, i, c],
            lambda o, residual: o + 0.5 * residual, [residual],
        )  # fmt: skip
    return (lambda x, b, h, i, c: torch.tanh(x) * 3, lambda o: torch.tanh(o) * 3, [])


def error(made, expected):
    return (made.float() - expected).abs().max().item() if made.numel() else 0.0


def check(name, case, kind, named, seen, interpret):
    global failed, passed
    q, k, v = case
    epilogue, edit, reads = make(kind, q, v.shape[3])
    given = [one.requires_grad_() for one in (q, k, v, *reads)]
    o = fa3.attention(q, k, v, epilogue=epilogue, interpret=interpret, **named)
    do = torch.randn_like(o)
    made = [o, *torch.autograd.grad(o, given, do)]

    def by_torch(*given):
        given = [one.detach().requires_grad_() for one in given]
        o = edit(attend(*given[:3], seen), *given[3:])
        return [o, *torch.autograd.grad(o, given, do.to(o.dtype))]

    expected = by_torch(*(one.float() for one in given))
    plain = by_torch(*given)
    names = ["o", "dq", "dk", "dv", *("dread" for _ in reads)]
    for what, one, other, wanted in zip(names, made, plain, expected):
        ours, theirs = error(one, wanted), error(other, wanted)
        right = ours <= 2 * theirs + 1e-3 * wanted.abs().max().item()
        passed, failed = passed + right, failed + (not right)
        if not right:
            print(f"FAILED {name} {kind} {what}: error {ours:.3g}, torch's {theirs:.3g}")
    if not interpret:
        torch.use_deterministic_algorithms(True)
        runs = []
        for _ in range(2):
            o = fa3.attention(q, k, v, epilogue=epilogue, **named)
            runs.append([o, *torch.autograd.grad(o, given, do)])
        torch.use_deterministic_algorithms(False)
        same = all(torch.equal(one, other) for one, other in zip(*runs))
        passed, failed = passed + same, failed + (not same)
        if not same:
            print(f"FAILED {name} {kind}: two runs differ")


def check_8_bits(device, interpret, length):
    global failed, passed
    q, k, v = (torch.randn(2, 4, length, 128, device=device).bfloat16() for _ in range(3))
    scale = torch.rand(4, device=device) * 900 + 100
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        made = fa3.attention(
            q, k, v, causal=True, out_dtype=dtype, interpret=interpret,
            epilogue=lambda x, b, h, i, c: x * scale[h],
        )  # fmt: skip
        seen = torch.ones(length, length, dtype=torch.bool, device=device).tril()
        wanted = attend(q.float(), k.float(), v.float(), seen) * scale[:, None, None]
        most = torch.finfo(dtype).max
        wanted = wanted.clamp(-most, most)
        digits = 16 if dtype == torch.float8_e4m3fn else 8
        off = (made.float() - wanted).abs()
        # Half a step, and what 16-bit weights err.
        right = bool((off <= wanted.abs() / digits + 0.02 * scale.max()).all())
        passed, failed = passed + right, failed + (not right)
        if not right:
            print(f"FAILED 8 bits {dtype}: error {off.max().item():.3g}")


class Served:
    """Sequences of unequal lengths, packed, or with keys in pages."""

    def __init__(self, device, dtype, d, page, sinks, small):
        self.queries, self.lengths = ((1, 7, 64, 33, 2), (900, 64, 128, 33, 513))
        if small:
            self.queries, self.lengths = (1, 7, 12), (50, 41, 20)
        named = {"dtype": dtype, "device": device}
        self.q = [torch.randn(n, 8, d, **named) for n in self.queries]
        self.k, self.v = ([torch.randn(n, 2, d, **named) for n in self.lengths] for _ in "kv")
        self.sinks = torch.randn(8, device=device) if sinks else None
        self.starts = self.i32([0, *itertools.accumulate(self.queries)])
        self.named = {
            "cu_q": self.starts, "max_q": max(self.queries), "sinks": self.sinks,
            "causal": True,
        }  # fmt: skip
        if page:
            pages = [-(-n // page) for n in self.lengths]
            table = torch.zeros(len(pages), max(pages), dtype=torch.int32)
            caches = [torch.zeros(sum(pages), page, 2, d, **named) for _ in "kv"]
            order = torch.randperm(sum(pages)).to(torch.int32).split(pages)
            for n, mine in enumerate(order):
                table[n, : len(mine)] = mine
                for cache, given in zip(caches, (self.k[n], self.v[n])):
                    for at, rows in zip(mine.tolist(), given.split(page)):
                        cache[at, : rows.shape[0]] = rows
            self.named |= {"page_table": table.to(device), "used_k": self.i32(self.lengths)}
            self.given = torch.cat(self.q), *caches
        else:
            starts = self.i32([0, *itertools.accumulate(self.lengths)])
            self.named |= {"cu_k": starts, "max_k": max(self.lengths)}
            self.given = torch.cat(self.q), torch.cat(self.k), torch.cat(self.v)

    def i32(self, values):
        return torch.tensor(values, dtype=torch.int32, device=self.q[0].device)

    def by_torch(self, gate, dtype):
        """Each sequence by the definition, one behind the other, gated."""
        made = []
        for q, k, v in zip(self.q, self.k, self.v):
            q, k, v = (one.transpose(0, 1).to(dtype) for one in (q, k, v))
            k, v = (one.repeat_interleave(4, 0) for one in (k, v))
            scores = (q @ k.mT).float() * q.shape[2] ** -0.5
            i = torch.arange(q.shape[1], device=q.device)[:, None] + k.shape[1] - q.shape[1]
            scores = scores.masked_fill(torch.arange(k.shape[1], device=q.device) > i, -torch.inf)
            if self.sinks is not None:
                own = self.sinks[:, None, None].expand(-1, q.shape[1], 1)
                scores = torch.cat([scores, own], 2)
            weights = torch.nan_to_num(scores.softmax(-1)).to(dtype)
            made.append((weights[..., : k.shape[1]] @ v).transpose(0, 1))
        return torch.cat(made) * torch.sigmoid(gate.to(dtype))


def check_served(device, interpret, part):
    global failed, passed
    axes = {
        "dtype": (torch.bfloat16, torch.float16), "d": (64, 128, 256), "page": (0, 16, 64),
        "splits": (0, 1, 3, "invariant"), "sinks": (False, True),
    }  # fmt: skip
    for number, row in enumerate(itertools.product(*axes.values())):
        case = dict(zip(axes, row))
        if number % part[1] != part[0] or interpret and number % 29:
            continue
        splits = case.pop("splits")
        problem = Served(device, small=interpret, **case)
        named = dict(problem.named, interpret=interpret)
        named |= {"batch_invariant": 128} if splits == "invariant" else {"splits": splits}
        for attempt in range(2):
            gate = torch.randn_like(problem.given[0])
            starts = problem.starts[:-1]
            made = serving.attention(
                *problem.given, **named,
                epilogue=lambda x, b, h, i, c: x * torch.sigmoid(gate[starts[b] + i, h, c]),
            )  # fmt: skip
            wanted = problem.by_torch(gate, torch.float32)
            ours, theirs = error(made, wanted), error(problem.by_torch(gate, case["dtype"]), wanted)
            right = ours <= 2 * theirs + 1e-3 * wanted.abs().max().item()
            passed, failed = passed + right, failed + (not right)
            if not right:
                print(
                    f"FAILED served {case} splits {splits} call {attempt}: error {ours:.3g}, "
                    f"torch's {theirs:.3g}"
                )


def get_problems(device, length):
    for dtype, (d, dv), mask, group in itertools.product(
        (torch.float16, torch.bfloat16), ((64, 64), (128, 128), (192, 128), (256, 256)),
        ("full", "causal", "window", "code"), (1, 4),
    ):  # fmt: skip
        queries, keys = length, length + 40
        q = torch.randn(2, 4, queries, d, dtype=dtype, device=device)
        k = torch.randn(2, 4 // group, keys, d, dtype=dtype, device=device)
        v = torch.randn(2, 4 // group, keys, dv, dtype=dtype, device=device)
        i = torch.arange(queries, device=device)[:, None] + keys - queries
        j = torch.arange(keys, device=device)
        named, seen = {
            "full": ({}, None), "causal": ({"causal": True}, i >= j),
            "window": ({"causal": True, "window": (70, 0)}, (i >= j) & (i - j <= 70)),
            "code": (
                {"mask_mod": lambda b, h, i, j: (i // 32 + j // 32) % 2 == 0},
                ((i - keys + queries) // 32 + j // 32) % 2 == 0,
            ),
        }[mask]  # fmt: skip
        yield f"{dtype} {d}/{dv} {mask} group {group}", (q, k, v), named, seen


def time_of(run):
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    times = []
    for _ in range(30):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        times.append((begin, end))
    torch.cuda.synchronize()
    return sorted(a.elapsed_time(b) for a, b in times)[len(times) // 2]


def measure():
    print("shape,way,forward_ms,forward_and_backward_ms")
    for d, length, causal in ((128, 8192, False), (128, 8192, True), (256, 4096, True)):
        b, h = 16384 // length, 2048 // d
        q, k, v = (
            torch.randn(b, h, length, d, device="cuda").bfloat16().requires_grad_()
            for _ in range(3)
        )
        gate = torch.randn(b, h, length, d, device="cuda").bfloat16().requires_grad_()
        turned = gate.detach().transpose(1, 2).contiguous().requires_grad_()
        do = torch.randn_like(gate)

        def plain():
            return fa3.attention(q, k, v, causal=causal)

        def gated():
            return fa3.attention(
                q, k, v, causal=causal,
                epilogue=lambda x, b, h, i, c: x * torch.sigmoid(gate[b, h, i, c]),
            )  # fmt: skip

        def gated_in_turned_order():
            return fa3.attention(
                q, k, v, causal=causal,
                epilogue=lambda x, b, h, i, c: x * torch.sigmoid(turned[b, i, h, c]),
            )  # fmt: skip

        def gated_by_torch():
            return fa3.attention(q, k, v, causal=causal) * torch.sigmoid(gate)

        compiled = torch.compile(lambda o, gate: o * torch.sigmoid(gate))

        def gated_by_compiled_torch():
            return compiled(fa3.attention(q, k, v, causal=causal), gate)

        for run in (plain, gated, gated_in_turned_order, gated_by_torch, gated_by_compiled_torch):
            with torch.no_grad():
                forward = time_of(run)
            inputs = (q, k, v) if run is plain else (
                q, k, v, turned if run is gated_in_turned_order else gate
            )  # fmt: skip
            both = time_of(lambda: torch.autograd.grad(run(), inputs, do))
            mask = "causal" if causal else "full"
            print(f"{d} x {length} {mask},{run.__name__},{forward:.4f},{both:.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", action="store_true", help="measure, too")
    parser.add_argument("--cpu", action="store_true", help="in the interpreter")
    parser.add_argument("--part", default="0/1", help="N/M: every M-th problem from N on")
    options = parser.parse_args()
    torch.manual_seed(0)
    device, length = ("cpu", 40) if options.cpu else ("cuda", 300)
    first, count = map(int, options.part.split("/"))
    for number, (name, case, named, seen) in enumerate(get_problems(device, length)):
        if number % count != first or options.cpu and number % 13:
            continue
        kinds = ("gate", "turned gate", "gate of a head", "residual", "tanh")
        # Each mask has two of them, so that all meet all head dims.
        for kind in (kinds[number % 5], kinds[(number + 2) % 5]):
            check(name, case, kind, named, seen, options.cpu)
    if first == 0:
        check_8_bits(device, options.cpu, length)
    if options.time:
        measure()
    check_served(device, options.cpu, (first, count))
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
