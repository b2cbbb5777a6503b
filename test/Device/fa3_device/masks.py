# SPDX-License-Identifier: Apache-2.0
"""Every file of examples/masks against attention by definition in f64.

Each is compiled as it is, with lists of blocks made from its code, and both with
4096 queries and keys known to the compiler, and run on 4096 and on lengths that
are drawn from --seed. The references are fa3-run's, on the CPU.
"""

import concurrent.futures
import dataclasses
import pathlib
import random
import re
import subprocess
import time

import numpy
import torch

from . import build, kernels, memory, workers

KNOWN = 4096
HEADS, DIM = 2, 64
VARIANTS = {"plain": (False, "never"), "lists": (False, "call"),
            "known": (True, "never"), "known-lists": (True, "call")}  # fmt: skip
# Masks that are about as many queries as keys.
SQUARE = {"block_diffusion", "document", "graphormer", "listed_blocks", "morton",
          "neighborhood_1d", "neighborhood_2d", "neighborhood_3d", "shared_prefix",
          "sliding_tile", "tiled_neighborhood"}  # fmt: skip
CANNOT = "cannot have lists of blocks"
BLOCK = 128, 64  # of listed_blocks


@dataclasses.dataclass
class Job:
    """One kernel and its problems: (lengths, folder of inputs and o)."""

    name: str
    variant: str
    stem: str
    problems: list


def _documents(length):
    return torch.arange(length, dtype=torch.int32)[None] // 517


def _lists(seen, m, n):
    """count, index, full_count and full_index of the blocks of a mask."""
    sq, sk = seen.shape
    rows, columns = -(-sq // m), -(-sk // n)
    padded = torch.zeros(rows * m, columns * n, dtype=torch.bool)
    padded[:sq, :sk] = seen
    # Rows behind the last query see what anybody likes; a block that ends
    # behind the keys is never full.
    whole = padded.clone()
    whole[sq:] = True
    blocks = padded.view(rows, m, columns, n).any(3).any(1)
    full = whole.view(rows, m, columns, n).all(3).all(1)
    result = {}
    for name, chosen in (("", blocks & ~full), ("full_", full)):
        order = torch.argsort((~chosen).int(), dim=1, stable=True).int()
        result[f"{name}count"] = chosen.sum(1).int()[None, None]
        result[f"{name}index"] = order[None, None]
    return result


def _tables(name, sq, sk):
    """The auxiliary operands of a file of examples/masks."""
    longest = max(sq, sk)
    i, j = torch.arange(sq)[:, None], torch.arange(sk)[None]
    h = torch.arange(HEADS)

    def by_distance(entries):
        return ((3 * h[:, None] + 5 * torch.arange(entries)) % 17 / 8 - 1).float()

    if name == "additive_mask":
        bias = (7 * i + 3 * j + 5 * h[:, None, None]) % 11 / 4 - 1.25
        return {"bias": bias[None].float()}
    if name == "boolean_mask":
        return {"mask": ((7 * i + 3 * j) % 5 != 0)[None, None]}
    if name == "document":
        return {"documents": _documents(longest)}
    if name == "listed_blocks":
        documents = _documents(longest)
        seen = documents[0, :sq, None] == documents[0, None, :sk]
        return {"documents": documents, **_lists(seen, *BLOCK)}
    if name == "tree":
        return {"ancestors": (j <= i) & (j % 3 != i % 2)}
    if name == "graphormer":
        distances = torch.where((i + j) % 11 == 0, -1, (i - j).abs().clamp(max=22))
        bias = (3 * h[:, None] + 5 * torch.arange(20)) % 7 / 4 - 0.75
        return {"distances": distances[None].int(), "bias": bias.float()}
    if name == "block_table":
        m, n = torch.arange(-(-sq // 32))[:, None], torch.arange(-(-sk // 16))[None]
        return {"blocks": (5 * m + 3 * n) % 4 != 0}
    if name == "alibi":
        return {"slopes": torch.tensor([0.25, 0.0625])}
    if name == "t5_table":
        return {"table": by_distance(255)}
    if name == "sandwich":
        return {"table": by_distance(500)}
    if name == "tanh_mix":
        return {"share": torch.tensor([0.25, 0.75])}
    if name == "key_lengths":
        return {"lengths": torch.tensor([sk - sk // 5], dtype=torch.int32)}
    return {}


def _write_problem(folder, name, sq, sk, seed):
    """Inputs as .npy; those of 16 bits are exact in them."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(seed)
    for operand, length in (("q", sq), ("k", sk), ("v", sk)):
        x = torch.randn(1, HEADS, length, DIM, generator=generator)
        numpy.save(folder / f"{operand}.npy", x.bfloat16().float().numpy())
    for table, x in _tables(name, sq, sk).items():
        numpy.save(folder / f"{table}.npy", x.contiguous().numpy())


def _refer(run, path, folder, sq, sk, timeout):
    """Lets fa3-run write what attention by definition gives; None or why not."""
    dims = f"b=1,sq={sq},sk={sk}" + (",n1=500" if path.stem == "sandwich" else "")
    command = [run, "--executor=reference", "--no-check", path, "--dims", dims]
    for file in sorted(folder.glob("*.npy")):
        command += ["--input", f"{file.stem}={file}"]
    command += ["--output", f"o={folder / 'reference.npy'}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return f"no reference in {timeout} s"
    return done.stderr.strip() if done.returncode else None


def _compare(o, folder):
    """The largest error, and what is wrong with it."""
    want = torch.from_numpy(numpy.load(folder / "reference.npy")).cuda()
    got = o.tensor.float()
    error = (got - want).abs()
    # Two roundings to bf16, and those of the weights.
    wrong = ~(error <= 0.01 + 2**-7 * want.abs())
    if not o.is_intact():
        return error.max().item(), "wrote outside of o"
    if wrong.any():
        at = tuple(wrong.nonzero()[0].tolist())
        return error.max().item(), (
            f"{int(wrong.sum())} elements differ, o{list(at)} is "
            f"{got[at].item():.5g}, expected {want[at].item():.5g}"
        )
    return error.max().item(), None


def _check(job):
    """Runs in a worker, yields (lengths, largest error, what is wrong)."""
    program = kernels.load(job.stem)
    for (sq, sk), folder in job.problems:
        folder = pathlib.Path(folder)
        o = memory.Guarded((1, HEADS, sq, DIM), torch.bfloat16, "bhsd")
        o.poison()
        arguments = {"o": o.tensor}
        for info in program.args:
            if info.name == "o":
                continue
            x = torch.from_numpy(numpy.load(folder / f"{info.name}.npy")).cuda()
            if info.name in ("q", "k", "v"):
                x = memory.Guarded(x.shape, torch.bfloat16, "bhsd").fill(x).tensor
            elif info.type == "bf16":
                x = x.bfloat16()
            arguments[info.name] = x
        refused = kernels.launch(program, arguments)
        error, wrong = (float("nan"), refused) if refused else _compare(o, folder)
        yield (sq, sk), error, wrong


def _variants(path):
    """Texts and options of a file's kernels. It has lists already, or none can
    be made, if the compiler says so."""
    text = path.read_text()
    known = re.sub(r"\?x2x\?x64xbf16", f"1x{HEADS}x{KNOWN}x{DIM}xbf16", text)
    for variant, (isKnown, lists) in VARIANTS.items():
        yield variant, known if isKnown else text, f"block-lists={lists}"


def run(arguments):
    start = time.monotonic()
    draw = random.Random(arguments.seed)
    compiler = build.Compiler(arguments)
    fa3_run = build.find_tool("fa3-run", arguments.tools)
    examples = sorted((build.ROOT / "examples" / "masks").glob("*.mlir"))
    examples = [path for path in examples if arguments.filter in path.stem]
    data = pathlib.Path(arguments.out) / "masks"
    builds, references = {}, {}
    pool = concurrent.futures.ThreadPoolExecutor(arguments.jobs)
    for path in examples:
        a, b = draw.randint(1025, KNOWN), draw.randint(1025, KNOWN)
        for sq, sk in ((KNOWN, KNOWN), (a, a if path.stem in SQUARE else b)):
            folder = data / f"{path.stem}-{sq}-{sk}"
            _write_problem(folder, path.stem, sq, sk, arguments.seed)
            references[path.stem, sq, sk] = folder, pool.submit(
                _refer, fa3_run, path, folder, sq, sk, arguments.compile_timeout
            )
        for variant, text, options in _variants(path):
            name = f"{path.stem}-{variant}"
            builds[path.stem, variant] = compiler.submit(name, text, options)

    failed, rows = 0, {}

    def fail(text):
        nonlocal failed
        failed += 1
        if failed <= arguments.max_print:
            print(f"FAIL {text}")

    jobs = []
    for (name, variant), future in builds.items():
        done = future.result()
        if done.error:
            if CANNOT not in done.error:
                fail(f"{name} {variant}: not compiled: {done.error}")
            continue
        problems = []
        for (stem, sq, sk), (folder, reference) in references.items():
            if stem != name or (variant.startswith("known") and (sq, sk) != (KNOWN,) * 2):
                continue
            if reason := reference.result():
                fail(f"{name} {sq} x {sk}: {reason}")
            else:
                problems.append(((sq, sk), str(folder)))
        jobs.append(Job(name, variant, done.stem, problems))
    compiler.shutdown()
    pool.shutdown()

    crew = workers.Pool(arguments.workers, _check, kernels.setup, arguments.timeout)
    crew.expect(len(jobs))
    for job in jobs:
        crew.give(job)
    passed = 0
    for job, message in crew.run():
        if message is None:
            continue
        if isinstance(message, workers.Lost):
            fail(f"{job.name} {job.variant}: {message.reason}")
            continue
        (sq, sk), error, wrong = message
        rows.setdefault(job.name, {})[job.variant, sq, sk] = error
        passed += not wrong
        if wrong:
            fail(f"{job.name} {job.variant} {sq} x {sk}: {wrong}")
    _print_table(rows)
    print(f"{len(jobs)} kernels, {time.monotonic() - start:.0f} s")
    print(f"passed {passed}, failed {failed}, compilations {compiler.count}")
    return 1 if failed or not passed else 0


def _print_table(rows):
    """Largest errors of each mask."""
    print(f"{'largest error':20} " + " ".join(f"{v:>11}" for v in VARIANTS)
          + "  further lengths: plain, lists")  # fmt: skip
    for name, errors in sorted(rows.items()):
        known = [errors.get((v, KNOWN, KNOWN)) for v in VARIANTS]
        cells = [f"{'' if x is None else format(x, '.5f'):>11}" for x in known]
        others = {key[1:]: None for key in errors if key[1:] != (KNOWN, KNOWN)}
        tail = []
        for sq, sk in others:
            both = [errors.get((v, sq, sk)) for v in ("plain", "lists")]
            both = ["none" if x is None else f"{x:.5f}" for x in both]
            tail.append(f"{sq} x {sk}: {both[0]}, {both[1]}")
        print(f"{name:20} {' '.join(cells)}  {'; '.join(tail)}")
