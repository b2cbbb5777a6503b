#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dropout of fa3.attention on a GPU: python test/Device/dropout.py [--time] [--cpu].

* The mask of ten seeds, bit for bit, against the published scheme; the keep rate.
* o, lse and gradients against the definition in fp32 with that mask, beside torch's
  FlashAttention-2 with the same seed and offset, over types, head dims, masks,
  groups and lengths: no error is larger than twice that of torch's kernel.
* Captured launches that are replayed with another seed.
* With --time: ms with and without dropout, and of torch's kernel.

--cpu runs small problems in the interpreter, without torch's kernel.
"""
import argparse
import itertools
import math
import pathlib
import sys

import torch

try:
    import fa3
except ImportError:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    import fa3

WORD = (1 << 32) - 1
failed = passed = 0


def get_mask(state, p, b, h, queries, keys, device):
    """What FlashAttention-2 keeps, from Philox4x32 with seven rounds."""
    seed, offset = (int(n) % 2**64 for n in state.view(torch.int64).tolist())
    row = torch.arange(b * h, device=device)[:, None, None]
    i = torch.arange(queries, device=device)[:, None]
    j = torch.arange(keys, device=device)
    step = row * 32 + i % 8 * 4 + j % 8 // 2
    low = (offset & WORD) + step
    high = (offset >> 32) + (low >> 32) & WORD
    shape = (b * h, queries, keys)
    x = [low & WORD, high, i // 16 + 0 * step, j // 32 + 0 * step]
    x = [one.expand(shape) for one in x]
    key = [seed & WORD, seed >> 32]
    for _ in range(7):
        first, second = x[0] * 0xD2511F53, x[2] * 0xCD9E8D57
        x = [second >> 32 & WORD ^ x[1] ^ key[0], second & WORD,
             first >> 32 & WORD ^ x[3] ^ key[1], first & WORD]
        key = [key[0] + 0x9E3779B9 & WORD, key[1] + 0xBB67AE85 & WORD]
    word = (j % 32 // 8).expand(shape)[None]
    word = torch.stack(x).gather(0, word)[0]
    byte = word >> 8 * (i % 16 // 8 * 2 + j % 2) & 255
    return (byte <= math.floor((1 - p) * 255)).reshape(b, h, queries, keys)


def definition(q, k, v, mask, p, causal, do):
    """o, lse and gradients in fp32."""
    given = [one.detach().float().requires_grad_() for one in (q, k, v)]
    groups = q.shape[1] // k.shape[1]
    wide = [given[0], *(one.repeat_interleave(groups, 1) for one in given[1:])]
    scores = wide[0] @ wide[1].mT / math.sqrt(q.shape[3])
    if causal:
        seen = torch.ones(scores.shape[2:], dtype=torch.bool, device=q.device)
        scores = scores.masked_fill(~seen.tril(k.shape[2] - q.shape[2]), -torch.inf)
    o = (scores.softmax(-1) * mask / (1 - p)) @ wide[2]
    return (o, scores.logsumexp(-1), *torch.autograd.grad(o, given, do.float()))


def check(name, right, text=""):
    global failed, passed
    passed, failed = passed + bool(right), failed + (not right)
    if not right or text:
        print(("ok     " if right else "FAILED ") + name, text, flush=True)


def get_error(one, other):
    return (one.float() - other.float()).abs().max().item()


def check_masks(args):
    h, queries, keys, p = 3, 150, 200, 0.25
    q = torch.zeros(2, h, queries, 16, device=args.device, dtype=torch.float16)
    k = torch.zeros(2, h, keys, 16, device=args.device, dtype=torch.float16)
    v = torch.eye(keys, device=args.device, dtype=torch.float16).expand(2, h, -1, -1)
    v = v.contiguous()
    for n in range(10):
        state = torch.tensor([n * 0x1E3779B97F4A7C15 % 2**63, (1 << 32) - 50 + n * 4096])
        state = state.to(args.device)
        o = fa3.attention(q, k, v, dropout_p=p, rng_state=state, interpret=args.cpu)
        mask = get_mask(state, p, 2, h, queries, keys, args.device)
        share = (math.floor((1 - p) * 255) + 1) / 256
        off = mask.sum().item() - mask.numel() * share
        limit = 3 * math.sqrt(mask.numel() * share * (1 - share))
        check(f"mask {n}", torch.equal(o != 0, mask))
        check(f"rate {n}", abs(off) <= limit, f"{off:+.0f} of {mask.numel()}")


def check_values(args):
    sizes = [(1, 4, 2, 40, 70)] if args.cpu else [
        (2, 4, 4, 113, 203), (1, 8, 2, 1024, 1024), (2, 6, 2, 1000, 1000),
        (1, 4, 1, 300, 777),
    ]  # fmt: skip
    dims = [64] if args.cpu else [64, 96, 128, 192, 256]
    types = (torch.float16, torch.bfloat16)
    for dtype, d, (b, h, hk, s, sk), causal, p in itertools.product(
        types, dims, sizes, (False, True), (0.1, 0.5)
    ):
        if causal and sk < s:
            continue
        q, do = (
            torch.randn(b, h, s, d, device=args.device, dtype=dtype) for _ in range(2)
        )
        k, v = (
            torch.randn(b, hk, sk, d, device=args.device, dtype=dtype) for _ in range(2)
        )
        name = f"{dtype} d {d} b {b} h {h}/{hk} {s} x {sk} causal {causal} p {p}"
        # torch's kernel aligns causal masks as fa3, and knows no groups.
        alike = [
            one.repeat_interleave(h // one.shape[1], 1).requires_grad_()
            for one in (q, k, v)
        ]
        if args.cpu:
            state, theirs = torch.tensor([d, s]), None
        else:
            o, lse, *_, state, _, _ = torch.ops.aten._scaled_dot_product_flash_attention(
                *alike, p, causal, False
            )
            theirs = [o, lse, *torch.autograd.grad(o, alike, do)]
            for n in (3, 4):
                theirs[n] = theirs[n].float().reshape(b, hk, h // hk, sk, d).sum(2)
        mask = get_mask(state, p, b, h, s, sk, args.device)
        wanted = definition(q, k, v, mask, p, causal, do)
        given = [one.requires_grad_() for one in (q, k, v)]
        o, lse = fa3.attention(
            *given, causal=causal, dropout_p=p, rng_state=state, return_lse=True,
            interpret=args.cpu,
        )
        ours = [o, lse, *torch.autograd.grad(o, given, do)]
        for n, what in enumerate(("o", "lse", "dq", "dk", "dv")):
            error = get_error(ours[n], wanted[n])
            other = get_error(theirs[n], wanted[n]) if theirs else 5e-2
            step = torch.finfo(dtype).eps * wanted[n].abs().max().item()
            bound = 2 * other + step + 1e-5
            check(f"{what} {name}", error <= bound, "" if error <= bound else
                  f"error {error:.3g}, of torch's kernel {other:.3g}")  # fmt: skip
        again = fa3.attention(
            *given, causal=causal, dropout_p=p, rng_state=state, interpret=args.cpu
        )
        check(f"same bits {name}", torch.equal(again, o))


def check_graphs(args):
    q, k, v = (
        torch.randn(1, 4, 512, 128, device="cuda", dtype=torch.bfloat16) for _ in range(3)
    )
    state = torch.tensor([1, 2], device="cuda")

    def run():
        return fa3.attention(q, k, v, dropout_p=0.3, rng_state=state)

    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = run()
    for seed in (3, 1 << 40):
        state[0] = seed
        graph.replay()
        mask = get_mask(state, 0.3, 1, 4, 512, 512, "cuda")
        wanted = definition(q, k, v, mask, 0.3, False, torch.zeros_like(q))[0]
        error = get_error(o, wanted)
        check(f"graph {seed}", error < 2e-2, f"error {error:.3g}")
    drawn = torch.cuda.CUDAGraph()
    fa3.attention(q, k, v, dropout_p=0.3)
    torch.cuda.synchronize()
    with torch.cuda.graph(drawn):
        o = fa3.attention(q, k, v, dropout_p=0.3)
    drawn.replay()
    first = o.clone()
    drawn.replay()
    check("graph draws new numbers", not torch.equal(first, o), "")


def get_time(run, count=20):
    for _ in range(5):
        run()
    times = []
    for _ in range(count):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times)[count // 2]


def show_times():
    print(torch.cuda.get_device_name(), "ms: without, with, torch's with (p 0.1)")
    for d, causal, s in itertools.product((64, 128, 256), (False, True), (2048, 8192)):
        heads = 2048 // d
        shape = (16384 // s, heads, s, d)
        given = [
            torch.randn(shape, device="cuda", dtype=torch.bfloat16).requires_grad_()
            for _ in range(3)
        ]
        do = torch.randn_like(given[0])
        state = torch.tensor([1, 2], device="cuda")

        def ours(p, given=given, state=state, causal=causal):
            return fa3.attention(*given, causal=causal, dropout_p=p, rng_state=state)

        def theirs(given=given, causal=causal):
            return torch.ops.aten._scaled_dot_product_flash_attention(
                *given, 0.1, causal, False
            )[0]

        text = []
        for call in (lambda: ours(0.0), lambda: ours(0.1), theirs):
            with torch.no_grad():
                forward = get_time(call)
            o = call()
            both = get_time(lambda: torch.autograd.grad(o, given, do, retain_graph=True))
            text.append(f"{forward:.3f} + {both:.3f}")
        print(f"d {d} {s} causal {causal}:", ", ".join(text), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--time", action="store_true")
    args = parser.parse_args()
    args.device = "cpu" if args.cpu else "cuda"
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    check_masks(args)
    check_values(args)
    if not args.cpu:
        check_graphs(args)
    print(f"passed {passed}, failed {failed}")
    if args.time and not args.cpu:
        show_times()
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
