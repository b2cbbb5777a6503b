# SPDX-License-Identifier: Apache-2.0
"""torch.compile, graphs, streams, threads, FlashAttention-3's functions."""

import threading

import torch

import fa3
from fa3.kernels import program
from fa3.kernels.arguments import Arguments

from .common import DEVICE, check, compare, random, reference


def part_torch(quick):
    """torch.compile, gradients, graphs, streams, threads."""
    q, k, v = (random(2, 4, 384, 128, dtype=torch.bfloat16) for _ in range(3))
    expected, sums = reference(q, k, v, causal=True)
    with check("torch", "torch.compile(fullgraph=True), dynamic lengths") as notes:
        compiled = torch.compile(
            lambda q, k, v: fa3.attention(q * 1.0, k, v, causal=True) + 0.0,
            fullgraph=True, dynamic=True,
        )  # fmt: skip
        compare(notes, compiled(q, k, v), expected, 3e-2)
        cut = [one[:, :, :200] for one in (q, k, v)]
        compare(notes, compiled(*cut), reference(*cut, causal=True)[0], 3e-2)
    with check("torch", "torch.compile(fullgraph=True) with mods") as notes:
        def scaled(factor, table):
            return lambda s, b, h, i, j: s * factor - table[h] * torch.abs(i - j)

        def window(size):
            return lambda b, h, i, j: (i >= j) & (i - j <= size)

        compiled = torch.compile(
            lambda q, k, v, score, mask: fa3.attention(
                q * 1.0, k, v, score_mod=score, mask_mod=mask
            ),
            fullgraph=True,
        )  # fmt: skip
        table = torch.rand(4, device=DEVICE)
        for factor, size in ((1.5, 50), (0.5, 50), (0.5, 200)):
            score, mask = scaled(factor, table), window(size)
            o = compiled(q, k, v, score, mask)
            compare(notes, o, reference(q, k, v, score=score, mask=mask)[0], 3e-2)
    with check("torch", "opcheck"):
        text = program.to_text(Arguments(True, return_lse=True))
        for operator in (torch.ops.fa3.forward, torch.ops.fa3.inference):
            torch.library.opcheck(operator.default, (q, k, v, [], [], text, 0.1))
    for named in ({}, {"causal": True}, {"window": (64, 0)}):
        with check("torch", f"gradients, backward='torch' {named}") as notes:
            grads = []
            for ours in (True, False):
                inputs = [one.detach().clone().requires_grad_() for one in (q, k, v)]
                if ours:
                    o = fa3.torch.attention(*inputs, backward="torch", **named)
                else:
                    o = reference(*inputs, **named)[0]
                (o.float() * torch.arange(128, device=DEVICE) / 128).sum().backward()
                grads.append([one.grad for one in inputs])
            for made, wanted in zip(*grads):
                compare(notes, made, wanted, 5e-2)
    with check("torch", "CUDA graph, replayed with other values") as notes:
        given = [one.clone() for one in (q, k, v)]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            fa3.attention(*given, causal=True)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            o = fa3.attention(*given, causal=True)
        for _ in range(3):
            for one in given:
                one.copy_(random(*one.shape, dtype=one.dtype))
            graph.replay()
            torch.cuda.synchronize()
            compare(notes, o, reference(*given, causal=True)[0], 3e-2)
    with check("torch", "a stream of one's own") as notes:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            o = fa3.attention(q, k, v, causal=True)
        side.synchronize()
        compare(notes, o, expected, 3e-2)
    with check("torch", "four threads") as notes:
        made = [None] * 4

        def work(n):
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(50):
                    made[n] = fa3.attention(q, k, v, causal=True)
                torch.cuda.current_stream().synchronize()

        torch.cuda.synchronize()
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in made:
            compare(notes, one, expected, 3e-2)
    if torch.cuda.device_count() > 1:
        with check("torch", "second device, from the first") as notes:
            there = [one.to("cuda:1") for one in (q, k, v)]
            o = fa3.attention(*there, causal=True).to("cuda:0")
            compare(notes, o, expected, 3e-2)
    with check("torch", "DLPack of others into given outputs") as notes:
        class Foreign:
            def __init__(self, tensor):
                self.tensor = tensor

            def __dlpack__(self, **named):
                return self.tensor.__dlpack__(**named)

            def __dlpack_device__(self):
                return self.tensor.__dlpack_device__()

        out = torch.empty_like(q)
        torch.cuda.synchronize()
        fa3.attention(*map(Foreign, (q, k, v)), causal=True, out=Foreign(out))
        torch.cuda.synchronize()
        compare(notes, out, expected, 3e-2)
    with check("torch", "flash_attn_interface: func, kvcache") as notes:
        turned = [one.transpose(1, 2) for one in (q, k, v)]
        door = fa3.flash_attn_interface
        o = door.flash_attn_func(*turned, causal=True)
        compare(notes, o.transpose(1, 2), expected, 3e-2)
        lengths = torch.tensor([384, 200], dtype=torch.int32, device=DEVICE)
        o = door.flash_attn_with_kvcache(
            turned[0][:, -1:], *turned[1:], cache_seqlens=lengths, causal=True
        )
        wanted, _ = reference(
            q[:, :, -1:], k, v, mask=lambda b, h, i, j: j < lengths[b]
        )
        compare(notes, o.transpose(1, 2), wanted, 3e-2)
