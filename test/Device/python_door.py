#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package on a GPU: values through every door against fp32, latencies
of first calls, overhead of a call. Prints a table at the end; exits with 1 if
anything failed.

    python3 test/Device/python_door.py [--quick] [--only PART] [--json FILE]

Needs torch; JAX and transformers where they are installed. Runs from a checkout,
an unpacked archive, or with fa3 installed.
"""

import argparse
import contextlib
import importlib.util
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
if importlib.util.find_spec("fa3") is None:
    sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402

import fa3  # noqa: E402

DEVICE = "cuda"
TOLERANCE = {torch.float16: 4e-3, torch.bfloat16: 3e-2}
ROWS = []  # (part, what, outcome, detail)


def row(part, what, outcome, detail=""):
    ROWS.append((part, what, outcome, detail))
    print(f"{part:12} {what:58} {outcome:6} {detail}", flush=True)


@contextlib.contextmanager
def check(part, what):
    """A row of the table; an exception is a failure of it."""
    notes = []
    try:
        yield notes
    except Exception as error:
        traceback.print_exc()
        row(part, what, "FAILED", f"{type(error).__name__}: {error}".split("\n")[0][:120])
    else:
        row(part, what, "ok", " ".join(notes))


def random(*shape, dtype=torch.float16):
    return torch.randn(*shape, device=DEVICE, dtype=torch.float32).to(dtype)


def reference(q, k, v, *, causal=False, window=None, softcap=0.0, scale=None,
              score=None, mask=None):  # fmt: skip
    """o and lse in fp32, (b, h, s, d)."""
    groups = q.shape[1] // k.shape[1]
    k, v = (one.float().repeat_interleave(groups, 1) for one in (k, v))
    s = q.float() @ k.mT * (scale or q.shape[3] ** -0.5)
    i = torch.arange(q.shape[2], device=DEVICE)[:, None]
    j = torch.arange(k.shape[2], device=DEVICE)[None]
    if softcap:
        s = softcap * torch.tanh(s / softcap)
    if score is not None:
        b = torch.arange(q.shape[0], device=DEVICE)[:, None, None, None]
        h = torch.arange(q.shape[1], device=DEVICE)[:, None, None]
        s = score(s, b, h, i, j)
    off = k.shape[2] - q.shape[2]
    keep = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=DEVICE)
    if causal:
        keep = keep & (j <= i + off)
    if window is not None:
        left, right = window
        if left is not None:
            keep = keep & (j >= i + off - left)
        if right is not None:
            keep = keep & (j <= i + off + right)
    if mask is not None:
        b = torch.arange(q.shape[0], device=DEVICE)[:, None, None, None]
        h = torch.arange(q.shape[1], device=DEVICE)[:, None, None]
        keep = keep & mask(b, h, i, j)
    s = s.masked_fill(~keep, -math.inf)
    o = torch.softmax(s, -1).nan_to_num() @ v
    return o, torch.logsumexp(s, -1)


def compare(notes, made, expected, tolerance):
    made, expected = made.float(), expected.float()
    if made.shape != expected.shape:
        raise AssertionError(f"shape {tuple(made.shape)}, expected {tuple(expected.shape)}")
    both = torch.isinf(made) & (made == expected)
    distance = torch.where(both, 0.0, (made - expected).abs())
    limit = tolerance + tolerance * torch.where(both, 0.0, expected.abs())
    worst = distance.nan_to_num(math.inf).max().item() if distance.numel() else 0.0
    notes.append(f"{worst:.1e}")
    if not bool((distance <= limit).all()):
        raise AssertionError(f"differs by {worst}, tolerance {tolerance}")


# -----------------------------------------------------------------------------
# Parts
# -----------------------------------------------------------------------------


def part_forward(quick):
    """The forward matrix through fa3.attention."""
    torch.manual_seed(0)
    cases = []
    for dtype in (torch.float16, torch.bfloat16):
        for d, dv in ((64, 64), (128, 128), (256, 256), (96, 96), (192, 128), (72, 40)):
            for named in ({}, {"causal": True}):
                cases.append((dtype, d, dv, named))
        for named in (
            {"window": (100, 0)}, {"window": (64, 32)}, {"softcap": 20.0},
            {"causal": True, "softcap": 30.0}, {"scale": 0.3},
            {"window": (None, 5)},
        ):  # fmt: skip
            cases.append((dtype, 128, 128, named))
    sizes = ((2, 8, 2, 300, 300), (1, 4, 4, 1000, 777), (3, 6, 1, 1, 513), (1, 2, 2, 260, 130))
    for dtype, d, dv, named in cases[:: 4 if quick else 1]:
        text = " ".join(f"{key}={value}" for key, value in named.items())
        with check("forward", f"{str(dtype)[6:]} {d}/{dv} {text}") as notes:
            for b, h, hk, sq, sk in sizes:
                q, k = random(b, h, sq, d, dtype=dtype), random(b, hk, sk, d, dtype=dtype)
                v = random(b, hk, sk, dv, dtype=dtype)
                expected, sums = reference(q, k, v, **named)
                o, lse = fa3.attention(q, k, v, return_lse=True, **named)
                compare(notes, o, expected, TOLERANCE[dtype])
                compare(notes, lse, sums, 2e-3)
                # Again by the plan; other layout; without lse.
                compare([], fa3.attention(q, k, v, **named), expected, TOLERANCE[dtype])
                turned = [one.transpose(1, 2).contiguous() for one in (q, k, v)]
                o = fa3.attention(*turned, layout="bshd", **named)
                compare([], o.transpose(1, 2), expected, TOLERANCE[dtype])
            notes[:] = ["max " + max(notes, key=float)]
    for format in (torch.float8_e4m3fn, torch.float8_e5m2):
        with check("forward", f"{str(format)[6:]} with descales") as notes:
            q, k, v = (random(2, h, 400, 128) for h in (8, 2, 2))
            scales = [torch.rand(2, 2, device=DEVICE) + 0.5 for _ in range(3)]
            q8, k8, v8 = (one.to(format) for one in (q, k, v))
            wide = [
                one.float() * s.repeat_interleave(one.shape[1] // 2, 1)[..., None, None]
                for one, s in zip((q8, k8, v8), scales)
            ]
            expected, _ = reference(*wide, causal=True)
            o = fa3.attention(
                q8, k8, v8, causal=True, q_descale=scales[0], k_descale=scales[1],
                v_descale=scales[2],
            )  # fmt: skip
            error = (o.float() - expected).square().mean().sqrt() / expected.std()
            notes.append(f"relative rmse {error.item():.3f}")
            if not error < (0.06 if format == torch.float8_e4m3fn else 0.12):
                raise AssertionError(f"relative rmse {error.item()}")


def part_mods(quick):
    """Python mods through fa3.flex_attention."""
    torch.manual_seed(1)
    q, k, v = random(2, 4, 500, 64), random(2, 2, 700, 64), random(2, 2, 700, 64)
    slopes = torch.rand(4, device=DEVICE)
    document = (torch.arange(700, device=DEVICE) // 90).to(torch.int32)
    allowed = torch.rand(500, 700, device=DEVICE) > 0.5
    bias = random(500, 700)
    lengths = torch.tensor([650, 123], dtype=torch.int32, device=DEVICE)

    def window(size):
        return lambda b, h, i, j: (i >= j) & (i - j <= size)

    masks = {
        "causal, top left": lambda b, h, i, j: i >= j,
        "window, captured": window(100),
        "documents": lambda b, h, i, j: document[i] == document[j],
        "prefix or causal": lambda b, h, i, j: (j < 100) | (i >= j),
        "blocks": lambda b, h, i, j: i // 64 == j // 64,
        "dilated": lambda b, h, i, j: (i - j) % 3 == 0,
        "bool table": lambda b, h, i, j: allowed[i, j],
        "lengths": lambda b, h, i, j: j < lengths[b],
    }
    scores = {
        "alibi": lambda s, b, h, i, j: s + (j - i) * torch.exp2(-(h + 1) * 8.0 / 4),
        "slopes": lambda s, b, h, i, j: s - slopes[h] * torch.abs(i - j),
        "softcap": lambda s, b, h, i, j: 20 * torch.tanh(s / 20),
        "bias": lambda s, b, h, i, j: s + bias[i, j],
        "where": lambda s, b, h, i, j: torch.where(i >= j, s, -float("inf")),
        "relu": lambda s, b, h, i, j: torch.relu(s) + torch.log(torch.abs(s) + 1),
    }

    class Mask:
        def __init__(self, mod):
            self.mask_mod = mod

    for name, mod in masks.items():
        with check("mods", f"mask {name}") as notes:
            expected, sums = reference(q, k, v, mask=mod)
            o, lse = fa3.flex_attention(
                q, k, v, None, Mask(mod), enable_gqa=True, return_lse=True
            )
            compare(notes, o, expected, 4e-3)
            compare(notes, lse, sums, 2e-3)
    for name, mod in scores.items():
        with check("mods", f"score {name}") as notes:
            expected, _ = reference(q, k, v, score=mod)
            compare(notes, fa3.flex_attention(q, k, v, mod, enable_gqa=True), expected, 6e-3)


def part_sdpa(quick):
    """Behind scaled_dot_product_attention."""
    q, k, v = (random(2, 8, 512, 64, dtype=torch.bfloat16) for _ in range(3))
    fa3.torch.activate()
    try:
        for causal in (False, True):
            with check("sdpa", f"causal={causal}, report()") as notes:
                before = fa3.torch.report().ran
                o = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
                if fa3.torch.report().ran != before + 1:
                    raise AssertionError(f"fa3 did not run: {fa3.torch.report()}")
                compare(notes, o, reference(q, k, v, causal=causal)[0], 3e-2)
        with check("sdpa", "gradients by torch's backward") as notes:
            grads = []
            for ours in (True, False):
                inputs = [one.detach().clone().requires_grad_() for one in (q, k, v)]
                if ours:
                    o = functional.scaled_dot_product_attention(*inputs, is_causal=True)
                else:
                    o = reference(*inputs, causal=True)[0]
                (o.float() * torch.arange(64, device=DEVICE) / 64).sum().backward()
                grads.append([one.grad for one in inputs])
            for made, expected in zip(*grads):
                compare(notes, made, expected, 5e-2)
        with check("sdpa", "what fa3 declines goes to torch, counted") as notes:
            fa3.torch.report(reset=True)
            o = functional.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
            notes.append(str(fa3.torch.report()).replace("\n", "; "))
            if sum(fa3.torch.report().declined.values()) != 1:
                raise AssertionError("it was not counted")
    finally:
        fa3.torch.deactivate()
    with check("sdpa", "deactivate()"):
        before = fa3.torch.report().ran
        functional.scaled_dot_product_attention(q, k, v)
        if fa3.torch.report().ran != before:
            raise AssertionError("fa3 still runs")


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
    with check("torch", "opcheck"):
        program = fa3.torch._program(True, None, 0.0, None, True, "bhsd")
        torch.library.opcheck(torch.ops.fa3.forward.default, (q, k, v, program, 0.1))
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
    with check("torch", "gradients without a backward are refused"):
        try:
            fa3.attention(q.clone().requires_grad_(), k, v)
        except fa3.UnsupportedError:
            pass
        else:
            raise AssertionError("no error")
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
    with check("torch", "flash_attn_interface: varlen") as notes:
        lengths = ((70, 200), (0, 50), (260, 250), (1, 513))
        starts = [
            torch.tensor([0, *itertools.accumulate(one)], dtype=torch.int32, device=DEVICE)
            for one in zip(*lengths)
        ]
        rows, keys = (int(one[-1]) for one in starts)
        a, b, c = (
            random(n, h, 128, dtype=torch.bfloat16) for n, h in ((rows, 8), (keys, 2), (keys, 2))
        )
        for _ in range(2):
            o, lse = fa3.flash_attn_interface.flash_attn_varlen_func(
                a, b, c, *starts, 260, 513, causal=True, return_attn_probs=True
            )
        for n in range(len(lengths)):
            here, there = (slice(*one[n : n + 2].tolist()) for one in starts)
            parts = (
                one.transpose(0, 1)[None] for one in (a[here], b[there], c[there])
            )
            wanted, sums = reference(*parts, causal=True)
            compare(notes, o[here].transpose(0, 1)[None], wanted, 3e-2)
            compare(notes, lse[None, :, here], sums, 2e-3)
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


def part_transformers(quick):
    if importlib.util.find_spec("transformers") is None:
        row("transformers", "not installed", "-")
        return
    import transformers

    fa3.hf.register()
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=512, hidden_size=512, intermediate_size=512, num_hidden_layers=3,
        num_attention_heads=8, num_key_value_heads=2, max_position_embeddings=1024,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).to(DEVICE, torch.bfloat16).eval()
    ids = torch.randint(0, 512, (2, 300), device=DEVICE)
    padded = torch.ones_like(ids)
    padded[1, :77] = 0
    for name, mask in (("", None), (", padded", padded)):
        with check("transformers", f"logits of a Llama equal sdpa's{name}") as notes:
            logits = []
            for implementation in ("sdpa", "fa3"):
                model.set_attn_implementation(implementation)
                with torch.no_grad():
                    made = model(input_ids=ids, attention_mask=mask).logits
                logits.append(made if mask is None else made[1, 77:])
            compare(notes, logits[1], logits[0], 4e-2)
    with check("transformers", "generate() gives the same tokens as sdpa"):
        tokens = []
        for implementation in ("sdpa", "fa3"):
            model.set_attn_implementation(implementation)
            tokens.append(model.generate(ids[:1, :50], max_new_tokens=8, do_sample=False))
        # bf16 may part two equal logits; the first tokens have to agree.
        if not torch.equal(tokens[0][:, :52], tokens[1][:, :52]):
            raise AssertionError(f"{tokens[0][0, 50:]} and {tokens[1][0, 50:]}")


JAX_SCRIPT = """
import sys, numpy as np
sys.path.insert(0, {path!r})
import jax, jax.numpy as jnp, fa3.jax
rng = np.random.default_rng(0)
q, k, v = (jnp.asarray(rng.normal(size=(2, h, n, 64)), jnp.bfloat16)
           for h, n in ((4, 300), (2, 400), (2, 400)))
def reference(q, k, v):
    k, v = (jnp.repeat(x.astype(jnp.float32), 2, axis=1) for x in (k, v))
    s = jnp.einsum("bhid,bhjd->bhij", q.astype(jnp.float32), k, precision="highest") / 8
    i, j = jnp.arange(300)[:, None] + 100, jnp.arange(400)[None]
    s = jnp.where(j <= i, s, -jnp.inf)
    return jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(s), v, precision="highest")
f = jax.jit(lambda q, k, v: fa3.jax.attention(q, k, v, causal=True) * 1)
for _ in range(3):
    o = f(q, k, v)
worst = float(jnp.abs(o.astype(jnp.float32) - reference(q, k, v)).max())
assert worst < 3e-2, worst
o = jax.jit(jax.vmap(lambda q, k, v: fa3.jax.attention(q, k, v, causal=True)))(
    q[None], k[None], v[None])
assert float(jnp.abs(o[0].astype(jnp.float32) - reference(q, k, v)).max()) < 3e-2
slopes = jnp.asarray([0.5, 0.25, 0.1, 0.05], jnp.float32)
o = jax.jit(lambda q, k, v: fa3.jax.attention(
    q, k, v, score_mod=lambda s, b, h, i, j: s - slopes[h] * jnp.abs(i - j),
    mask_mod=lambda b, h, i, j: j <= i + 100))(q, k, v)
assert bool(jnp.isfinite(o.astype(jnp.float32)).all())
print(f"{{worst:.1e}} on {{jax.devices()[0]}}")
"""


def part_jax(quick):
    if importlib.util.find_spec("jax") is None:
        row("jax", "not installed", "-")
        return
    if importlib.util.find_spec("fa3.jax") is None:
        row("jax", "fa3.jax is not in this package", "-")
        return
    with check("jax", "attention under jit and vmap, with mods") as notes:
        notes.append(run_python(JAX_SCRIPT.format(path=package_path())))


FIRST_CALL = """
import sys, time
sys.path.insert(0, {path!r})
start = time.perf_counter()
import torch
q = torch.randn(1, 8, 1024, 128, device="cuda", dtype=torch.bfloat16)
torch.cuda.synchronize()
loaded = time.perf_counter()
import fa3
fa3.attention
imported = time.perf_counter()
times = []
for n in range(2):
    before = time.perf_counter()
    fa3.attention(q, q, q, causal=True{mods})
    torch.cuda.synchronize()
    times.append(time.perf_counter() - before)
kernel = next(iter(fa3.request.kernels.values()))
print(f"import fa3 {{1e3 * (imported - loaded):.0f}} ms, first call "
      f"{{1e3 * times[0]:.0f}} ms ({{kernel.source}}, "
      f"{{'cubin' if kernel.cubin else 'driver compiles'}}), second {{1e3 * times[1]:.2f}} ms")
"""


def package_path():
    return str(pathlib.Path(fa3.__file__).resolve().parents[1])


def run_python(script, **environment):
    named = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false", **environment}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=named,
        check=False,
    )  # fmt: skip
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        raise RuntimeError(done.stderr.strip().split("\n")[-1])
    return done.stdout.strip()


def part_latency(quick):
    """First calls in new processes, with an empty cache and a full one."""
    for name, mods in (("", ""), (" with a mod", ", score_mod=lambda s, b, h, i, j: s * 1.5")):
        script = FIRST_CALL.format(path=package_path(), mods=mods)
        for ptxas in (None, "0"):
            with tempfile.TemporaryDirectory() as folder:
                named = {"FA3_CACHE_DIR": folder, "CUDA_CACHE_PATH": folder + "/driver"}
                if ptxas:
                    named["FA3_PTXAS"] = ptxas
                for what in ("empty cache", "full cache"):
                    how = "no ptxas" if ptxas else "ptxas if found"
                    with check("latency", f"first call{name}, {what}, {how}") as notes:
                        notes.append(run_python(script, **named))


def part_overhead(quick):
    """Host time of a call that is not waited for."""
    q = random(1, 8, 64, 64, dtype=torch.bfloat16)
    mask_mod = lambda b, h, i, j: i >= j  # noqa: E731
    calls = {
        "fa3.attention": lambda: fa3.attention(q, q, q, causal=True),
        "fa3.attention, return_lse": lambda: fa3.attention(q, q, q, return_lse=True),
        "fa3.attention, mask_mod": lambda: fa3.attention(q, q, q, mask_mod=mask_mod),
        "torch.ops.fa3.forward": lambda: fa3.torch.attention(q, q, q, causal=True),
        "torch sdpa": lambda: functional.scaled_dot_product_attention(
            q, q, q, is_causal=True
        ),
    }
    for name, call in calls.items():
        with check("overhead", name) as notes, torch.no_grad():
            for _ in range(20):
                call()
            best = math.inf
            for _ in range(10):
                torch.cuda.synchronize()
                start = time.perf_counter()
                for _ in range(100):
                    call()
                best = min(best, (time.perf_counter() - start) / 100)
            torch.cuda.synchronize()
            notes.append(f"{1e6 * best:.1f} us a call")


def part_speed(quick):
    """Through the Python call: tensors in, tensor out."""
    for d, causal, n in ((128, False, 4096), (128, True, 4096), (64, True, 4096),
                         (256, False, 4096), (128, True, 16384), (128, True, 2048)):  # fmt: skip
        b, h = max(1, 16384 // n), 2048 // d
        q, k, v = (random(b, h, n, d, dtype=torch.bfloat16) for _ in range(3))
        flops = 4 * b * h * n * n * d * (0.5 if causal else 1)
        with check("speed", f"d={d} causal={causal} n={n} b={b} h={h}") as notes:
            backends = torch.nn.attention.SDPBackend
            for name, call in (
                ("fa3", lambda: fa3.attention(q, k, v, causal=causal)),
                ("cudnn", lambda: sdpa(backends.CUDNN_ATTENTION, q, k, v, causal)),
                ("flash", lambda: sdpa(backends.FLASH_ATTENTION, q, k, v, causal)),
            ):
                try:
                    seconds = measure(call)
                except RuntimeError as error:
                    notes.append(f"{name} -({str(error)[:30]})")
                    continue
                notes.append(f"{name} {flops / seconds / 1e12:.0f}")
            notes.append("TFLOP/s")


def sdpa(backend, q, k, v, causal):
    with torch.nn.attention.sdpa_kernel(backend):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


def measure(call):
    """Median seconds of a call; the L2 cache is emptied before each."""
    flush = torch.empty(64 << 20, dtype=torch.int32, device=DEVICE)
    for _ in range(5):
        call()
    times = []
    for _ in range(30):
        flush.zero_()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return sorted(times)[len(times) // 2]


PARTS = {name[5:]: function for name, function in list(globals().items())
         if name.startswith("part_")}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="a quarter of the matrix")
    parser.add_argument("--only", action="append", choices=sorted(PARTS))
    parser.add_argument("--json", help="also writes the table to this file")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("python_door.py: no CUDA device", file=sys.stderr)
        return 1
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, fa3 "
          f"{fa3.__version__} by {fa3.compiler.get_compiler().name}, "
          f"ptxas {fa3.driver.find_ptxas() or 'none'}")  # fmt: skip
    for name in options.only or PARTS:
        try:
            PARTS[name](options.quick)
        except Exception as error:
            traceback.print_exc()
            row(name, "the part itself", "FAILED", str(error).split("\n")[0][:120])
    print("\n" + "-" * 100)
    for one in ROWS:
        print("{:12} {:58} {:6} {}".format(*one))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(ROWS, indent=1))
    failed = sum(1 for one in ROWS if one[2] == "FAILED")
    print(f"{sum(1 for one in ROWS if one[2] == 'ok')} ok, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
