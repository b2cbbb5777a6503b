# SPDX-License-Identifier: Apache-2.0
"""What the parts share: rows of the table, attention in fp32, comparison."""

import contextlib
import importlib.util
import math
import os
import pathlib
import subprocess
import sys
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[3]
if importlib.util.find_spec("fa3") is None:
    sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402

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
              score=None, mask=None, sinks=None):  # fmt: skip
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
    if not bool(keep.all()):
        s = s.masked_fill(~keep, -math.inf)
    if sinks is not None:
        column = sinks[None, :, None, None].expand(*s.shape[:3], 1)
        s = torch.cat([s, column], -1)
    p = torch.softmax(s, -1)
    p = p if sinks is None else p[..., :-1]
    return p.nan_to_num() @ v, torch.logsumexp(s, -1)


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
