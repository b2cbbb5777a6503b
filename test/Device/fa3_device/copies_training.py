# SPDX-License-Identifier: Apache-2.0
"""A short training run whose attention has gradients with 8-bit copies: the loss
beside that of gradients in bf16, from the same start on the same batches.

A model of bytes learns this project's documents and sources. `bf16` and `torch`
differ by the order of sums alone: what lies between them is noise.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from . import build, copies, features, kernels

_LAYERS, _HEADS, _D = 6, 8, 64
_LENGTH, _BATCH = 1024, 16
_EVERY = 100  # steps that a printed loss is the mean of


class _Attention(torch.autograd.Function):
    """Causal attention whose forward is torch's and whose backward is `program`."""

    @staticmethod
    def forward(ctx, q, k, v, program, kind):
        found = [copies.quantized(x) for x in (q, k, v)] if kind == "8 bits" else None
        inputs = [copies.widen(*x, torch.bfloat16) for x in found] if found else (q, k, v)
        o, lse = torch.ops.aten._scaled_dot_product_flash_attention(*inputs, 0.0, True)[:2]
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.program, ctx.kind = program, kind
        return o

    @staticmethod
    def backward(ctx, do):
        x = dict(zip(("q", "k", "v", "o", "lse"), ctx.saved_tensors), do=do.contiguous())
        if ctx.kind != "bf16":
            for name in ("q", "k", "v", "do"):
                x[name + "8"], x[name + "_scale"] = copies.quantized(x[name])
        gradients = [torch.empty_like(x[name]) for name in ("q", "k", "v")]
        ctx.program(**x, **dict(zip(("dq", "dk", "dv"), gradients)))
        return *gradients, None, None


class _Block(nn.Module):
    def __init__(self):
        super().__init__()
        width = _HEADS * _D
        self.before, self.behind = nn.LayerNorm(width), nn.LayerNorm(width)
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, attend):
        batch, length, width = x.shape
        heads = self.into(self.before(x)).view(batch, length, 3, _HEADS, _D)
        q, k, v = (y.transpose(1, 2).contiguous() for y in heads.unbind(2))
        x = x + self.out(attend(q, k, v).transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(functional.gelu(self.wide(self.behind(x))))


class _Model(nn.Module):
    def __init__(self):
        super().__init__()
        width = _HEADS * _D
        self.bytes, self.places = nn.Embedding(256, width), nn.Embedding(_LENGTH, width)
        self.blocks = nn.ModuleList(_Block() for _ in range(_LAYERS))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 256)

    def forward(self, x, attend):
        y = self.bytes(x) + self.places.weight[: x.shape[1]]
        for block in self.blocks:
            y = block(y, attend)
        return self.head(self.norm(y))


def _text():
    files = sorted([*build.ROOT.glob("docs/**/*.md"), *build.ROOT.glob("lib/**/*.cpp")])
    data = b"".join(file.read_bytes() for file in files)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def _train(attend, text, steps):
    """Losses of all steps."""
    torch.manual_seed(1)
    model = _Model().cuda()
    draw = torch.Generator().manual_seed(2)
    optimizer = torch.optim.AdamW(model.parameters(), 6e-4, (0.9, 0.95), weight_decay=0.1)
    warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1, (n + 1) / 100))
    losses = []
    for _ in range(steps):
        starts = torch.randint(len(text) - _LENGTH - 1, (_BATCH,), generator=draw)
        rows = torch.stack([text[s : s + _LENGTH + 1] for s in starts]).long().cuda()
        with torch.autocast("cuda", torch.bfloat16):
            logits = model(rows[:, :-1], attend)
        loss = functional.cross_entropy(logits.float().flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warm.step()
        losses.append(loss.detach())
    return torch.stack(losses).cpu()


def run(arguments, compiler):
    from . import backward

    feature = features.Feature("bf16", _D, _D, "causal", "bhsd", False)
    builds = {
        "bf16": compiler.submit("train-bf16", backward.module(feature)),
        "copies": compiler.submit("train-copies", copies.module(_D, "bf16", "causal")),
    }
    programs = {}
    for name, future in builds.items():
        done = future.result()
        if done.error:
            print(f"FAIL {done.name}: {done.error}")
            return 1
        programs[name] = kernels.load(done.stem)
    text = _text()
    torch_own = lambda *x: functional.scaled_dot_product_attention(*x, is_causal=True)  # noqa: E731

    def ours(program, kind):
        return lambda *x: _Attention.apply(*x, programs[program], kind)

    kinds = {
        "torch": torch_own,
        "bf16": ours("bf16", "bf16"),
        "copies": ours("copies", "8 bits"),
        "copies, forward of 16 bits": ours("copies", "mixed"),
    }
    for name, attend in kinds.items():
        means = _train(attend, text, arguments.train).unflatten(0, (-1, _EVERY)).mean(1)
        print(f"loss {name}: " + ", ".join(f"{x:.4f}" for x in means), flush=True)
    return 0
