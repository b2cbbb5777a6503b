# SPDX-License-Identifier: Apache-2.0
"""First calls, each in a new process, with what they consist of."""

import json
import subprocess
import sys
import tempfile

import fa3

from .common import check, package_path, row

LIMIT_BUNDLE, LIMIT_NEW, LIMIT_AGAIN = 50, 600, 30  # ms

# Name, whether there are gradients, head dim, further arguments of fa3.attention.
CASES = (
    ("d 64", False, 64, ""),
    ("d 128", False, 128, ""),
    ("d 256", False, 256, ""),
    ("d 128 causal, softcap", False, 128, "causal=True, softcap=30.0"),
    ("d 128 causal, score_mod", False, 128,
     "causal=True, score_mod=lambda s, b, h, i, j: 30 * torch.tanh(s / 30)"),
    ("d 64 mask_mod", False, 64, "mask_mod=lambda b, h, i, j: (i >= j) & (i - j < 700)"),
    ("d 128 mask_mod", False, 128, "mask_mod=lambda b, h, i, j: (i >= j) & (i - j < 700)"),
    ("d 256 mask_mod", False, 256, "mask_mod=lambda b, h, i, j: (i >= j) & (i - j < 700)"),
    ("gradients d 64", True, 64, ""),
    ("gradients d 128 causal", True, 128, "causal=True"),
    ("gradients d 128 causal, softcap", True, 128, "causal=True, softcap=30.0"),
    ("gradients d 256 causal", True, 256, "causal=True"),
)  # fmt: skip

# One process imports torch, and makes a new one for each job: what is measured starts
# with `import fa3`, without a context of CUDA to start from.
SERVER = """
import json, os, sys, time, traceback
sys.path.insert(0, {path!r})
now = time.perf_counter
import torch

def run(d, grads, named):
    q, k, v, do = (torch.randn(1, 8, 1024, d, device="cuda", dtype=torch.bfloat16)
                   for _ in range(4))
    if grads:
        # What torch imports and sets up at its own first backward is not fa3's.
        x = torch.randn(64, 64, device="cuda", requires_grad=True)
        (x @ x).backward(torch.ones_like(x))
        q, k, v = (one.requires_grad_() for one in (q, k, v))
    named = eval("dict(" + named + ")", dict(torch=torch))
    torch.cuda.synchronize()
    start = now()
    import fa3
    fa3.attention
    counts = dict(compile=0.0, compiles=0, load=0.0, loads=0)
    imported = now() - start
    import dataclasses
    from fa3.build import compiler, driver
    def timed(owner, name, what):
        real = getattr(owner, name)
        def wrapped(*given):
            begin = now()
            try:
                return real(*given)
            finally:
                counts[what] += now() - begin
                counts[what + "s"] += 1
        setattr(owner, name, wrapped)
    made = []
    real_init = driver.Kernel.__init__
    def init(self, text, options, code, key, source):
        real_init(self, text, options, code, key, source)
        made.append((text, options, source))
    driver.Kernel.__init__ = init
    timed(compiler.LibraryCompiler, "compile", "compile")
    timed(driver.Kernel, "_load", "load")
    def call():
        begin = now()
        o = fa3.attention(q, k, v, **named)
        if grads:
            o.backward(do)
        torch.cuda.synchronize()
        return now() - begin
    first = call()
    of_first = list(made)
    said = dict(counts, imported=imported, first=first, second=call(),
                sources=[source for _, _, source in of_first])
    # Kernels for later calls, which the cache is to have.
    from fa3.kernels import compiled as kernels
    kernels.wait()
    # Of the time to compile, what is not ptxas: once more, without.
    begin = now()
    for text, options, source in of_first:
        if source == "compiler":
            compiler.get_compiler().compile(text, dataclasses.replace(options, ptxas=""))
    said["to_ptx"] = now() - begin
    return said

for line in sys.stdin:
    job = json.loads(line)
    child = os.fork()
    if child == 0:
        os.environ.update(job.pop("environment"))
        try:
            said = run(**job)
        except Exception as error:
            traceback.print_exc()
            said = dict(error=repr(error))
        print(json.dumps(said), flush=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        print(json.dumps(dict(error=f"status {{status}}")), flush=True)
"""


class Server:
    """Runs jobs, each in a new process in which torch is imported."""

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER.format(path=package_path())], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        return self

    def __exit__(self, *exception):
        self.process.stdin.close()
        self.process.wait()

    def measure(self, d, grads, named, environment):
        job = {"d": d, "grads": grads, "named": named, "environment": environment}
        print(json.dumps(job), file=self.process.stdin, flush=True)
        said = json.loads(self.process.stdout.readline())
        if "error" in said:
            raise RuntimeError(said["error"])
        return said


def describe(said):
    ms = {name: 1e3 * said[name] for name in ("imported", "first", "compile", "to_ptx",
                                              "load", "second")}  # fmt: skip
    parts = [f"{ms['first']:.0f} ms"]
    if said["compiles"]:
        parts.append(f"= {ms['compile']:.0f} compiling (PTX {ms['to_ptx']:.0f})")
    parts.append(f"+ {ms['load']:.0f} loading")
    rest = ms["first"] - ms["compile"] - ms["load"]
    parts.append(f"+ {rest:.0f}; {said['loads']} kernels, import {ms['imported']:.0f}, "
                 f"second {ms['second']:.2f}")  # fmt: skip
    return " ".join(parts)


def first_call(server, what, case, limit, source, environment):
    """A row of the table: at most `limit` ms, and all kernels from `source`."""
    name, grads, d, named = case
    with check("latency", f"{name}: {what}") as notes:
        said = server.measure(d, grads, named, environment)
        notes.append(describe(said))
        if set(said["sources"]) != {source}:
            raise AssertionError(f"from {said['sources']}, expected {source}; {notes[0]}")
        if limit and 1e3 * said["first"] > limit:
            raise AssertionError(f"more than {limit} ms: {notes[0]}")


def part_latency(quick):
    """Nothing cached and no bundle, again in a new process; both by the compiler of
    the driver; ready-made."""
    with Server() as server:
        for case in CASES[:: 3 if quick else 1]:
            # A call with gradients makes two kernels.
            count = 2 if case[1] else 1
            twice(server, "", case, count * LIMIT_NEW, count * LIMIT_AGAIN)
        for case in (CASES[1], CASES[4], CASES[9]):
            twice(server, ", no ptxas", case, 0, 0, FA3_PTXAS="0")
        if not fa3.build.cache.bundles():
            row("latency", "ready-made kernels", "-", "there is no bundle here")
            return
        for case in (*CASES[:4], CASES[9], CASES[11]):
            with tempfile.TemporaryDirectory() as folder:
                first_call(server, "ready-made", case, LIMIT_BUNDLE, "bundle",
                           {"FA3_CACHE_DIR": folder})  # fmt: skip


def twice(server, how, case, limit, limit_again, **environment):
    """With an empty cache, then with what it left there."""
    with tempfile.TemporaryDirectory() as folder:
        named = {"FA3_BUNDLE": "0", "FA3_CACHE_DIR": folder,
                 "CUDA_CACHE_PATH": folder + "/driver", **environment}  # fmt: skip
        first_call(server, f"new{how}", case, limit, "compiler", named)
        first_call(server, f"from the cache{how}", case, limit_again, "cache", named)
