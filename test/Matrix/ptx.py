#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs PTX on the CPU and compares it with the hopper level.

The kernels are the examples, those of examples/masks and configurations of
matrix.py at small shapes. Each is compiled to PTX, which fa3-run executes; the
same module at the end of the hopper dialect is interpreted on the same inputs.
Both have the same bits, or differ by what approximations of instructions and the
order of sums explain: 4 roundings of the narrowest type. One line per failure;
the exit code is 1 if there is any. --sample takes so many problems: the examples,
and of masks, forward and backward kernels the same number.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import check_each_pass
import matrix

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "test" / "Examples"), str(ROOT / "test" / "Device")]
import masks  # noqa: E402
from ptx_arrays import rounding_of  # noqa: E402

HOPPER = "builtin.module(fa3-tile,fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)"
SHORT = "--dims b=1,sq=100,sk=170"
PAGED = "--pages=page_table=random --scalar splits=2 --lengths=used_k=150,64"
# Arguments of fa3-run by example; those of examples/masks are in masks.py.
LISTS = [
    "count",
    "index",
    "full_count",
    "full_index",
    "q_count",
    "q_index",
    "full_q_count",
    "full_q_index",
]
EXAMPLES = {
    "alibi_bias": SHORT + ",h=2,hk=1 --scalar strength=0.5",
    "append_rotary": "--dims b=2,sq=2,t=2,p0=7,pages_of_sequence=3,pos=200"
    " --lengths=first=148,62 --pages=page_table=random",
    "backward_bias": "--dims b=2,sq=20,sk=30",
    "backward_t5_table": "--dims b=1,sq=70,sk=75",
    "backward_causal_gqa": "--dims b=1,sq=70,sk=90",
    "backward_head_512": "--dims b=1,sq=30,sk=40",
    "backward_listed": "--dims b=1,sq=150,sk=150 --input documents={folder}/listed/documents.npy "
    + " ".join(f"--input {name}={{folder}}/listed/{name}.npy" for name in LISTS),
    "backward_softcap_window": "--dims b=1,sq=70,sk=90 --scalar=scale=0.0625",
    "backward_varlen": "--dims tq=80,tk=130,b1=4 --lengths=cu_q=1,0,70 --lengths=cu_k=65,3,60",
    "causal_gqa": SHORT,
    "chain": "--dims m=64,n=16",
    "decode_paged": "--dims b=2,sq=2,p0=7,pages_of_sequence=3 " + PAGED,
    "decode_split": "--dims b=2,sq=1,sk=300 --lengths=used_k=260,5 --scalar splits=3",
    "dropout": "--dims b=1,sq=70,sk=200 --input rng_state={folder}/rng_state.npy",
    "fp8_decode_paged": "--dims b=2,sq=2,p0=7,pages_of_sequence=3,q_scale.0=2,"
    "k_scale.0=2,v_scale.0=2 " + PAGED,
    "int4_decode_paged": "--dims b=2,sq=2,p0=7,pages_of_sequence=3 " + PAGED,
    "fp8_blocks": "--dims b=1,h=2,hk=1,sq=70,sk=130",
    "fp8_gradients": "--dims b=1,sq=70,sk=75",
    "fp8_terms": "--dims b=1,h=2,hk=1,sq=70,sk=130,k_scale.0=1,k_scale.1=1,v_scale.0=1,v_scale.1=1",
    "fp8_transposed_v": "--dims b=1,h=2,hk=1,sq=70,sk=144",
    "gate": "--dims b=1,sq=70,sk=75",
    "gemm": "--dims m=200,n=136,k=136",
    "grouped_gemm": "--dims m=210,n=72,k=80,groups=3,entries=6,one=1"
    " --distribution=uniform --lengths=row=83,1,70,0,200,203"
    " --lengths=end=200,66,80,1,203,210"
    " --lengths=group=2,0,1,0,1,1 --lengths=count=5",
    "head_512": "--dims b=1,sq=70,sk=130",
    "int8_scores": "--dims b=1,h=2,hk=1,sq=70,sk=130",
    "merge_prefix": "--dims parts=2,b=3,s=2",
    "mla_decode": "--dims b=2,sq=1,p0=7,pages_of_sequence=3 " + PAGED,
    "mixed_batch": "--dims tq=73,b=4,b1=5,p0=9,pages_of_sequence=3"
    " --lengths=cu_q=1,70,1,1 --lengths=used_k=130,90,64,3"
    " --pages=page_table=random --scalar max_q=70",
    "prefix_lm": SHORT + " --scalar prompt=30",
    "max_logit": "--dims b=1,sq=70,sk=130",
    "ring_step": "--dims b=1,sq=70,sk=130 --fill previous_lse=4",
    "sinks_window": "--dims b=1,sq=70,sk=200",
    "softcap_window": SHORT + " --scalar scale=0.0625",
    "varlen_causal_gqa": "--dims tq=80,tk=130,b1=4 --lengths=cu_q=1,0,70"
    " --lengths=cu_k=65,3,60 --scalar max_q=70",
}
DISTANCE = re.compile(r"max abs ([0-9.e+-]+|nan|inf)")


def run(command, timeout=None):
    try:
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, timeout=timeout
        )
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        return 124, f"no answer in {timeout} s"


def mask_arguments(path, folder):
    dims, tables = masks.PROBLEMS.get(path.stem, (masks.DIMS, []))
    arguments = ["--dims", dims]
    for name, kind, shape, formula in tables:
        file = folder / f"{path.stem}-{name}.npy"
        run([sys.executable, ROOT / "test/Inputs/table.py", file, kind, shape, formula])
        arguments += ["--input", f"{name}={file}"]
    if path.stem in masks.LISTS:
        run([sys.executable, ROOT / "test/Inputs/blocks.py", folder, *masks.LISTS[path.stem]])
        for name in ("count", "index", "full_count", "full_index"):
            arguments += ["--input", f"{name}={folder / name}.npy"]
    return arguments


def problems(folder):
    """(name, file, arguments) of everything."""
    missing = {path.stem for path in (ROOT / "examples").glob("*.mlir")} - set(EXAMPLES)
    if missing:
        sys.exit(f"no arguments for the examples {sorted(missing)}")
    run(
        [sys.executable, check_each_pass.TABLE, folder / "rng_state.npy", "<i8", "2", "1234567 + i"]
    )
    # Documents of 37 rows, and the blocks of 128 that a pair of them is in.
    listed = folder / "listed"
    listed.mkdir()
    run(
        [
            sys.executable,
            ROOT / "test/Inputs/blocks.py",
            listed,
            "150",
            "150",
            "128",
            "128",
            "i // 37 == j // 37",
        ]
    )
    run(
        [sys.executable, check_each_pass.TABLE, listed / "documents.npy", "<i4", "1,150", "j // 37"]
    )
    for name, arguments in EXAMPLES.items():
        yield (name, ROOT / "examples" / f"{name}.mlir", arguments.format(folder=folder).split())
    for path in sorted(masks.MASKS.glob("*.mlir")):
        yield "mask-" + path.stem, path, mask_arguments(path, folder)
    slopes = folder / "slopes.npy"
    run([sys.executable, check_each_pass.TABLE, slopes, *check_each_pass.SLOPES])
    for key in matrix.configurations():
        for shape in check_each_pass.SHAPES:
            name = "%s-%dx%d" % ((matrix.name_of(*key),) + shape)
            path = folder / f"{name}.mlir"
            path.write_text(check_each_pass.module(key))
            more = [f"--input=aux={slopes}"] if "alibi" in name else []
            yield name, path, ["--dims=b=1,h=2,hk=1,sq=%d,sk=%d" % shape, *more]


def sample(chosen, count):
    """Examples, then as many masks, forward and backward kernels, evenly."""

    def family(problem):
        if problem[0] in EXAMPLES:
            return 0
        if problem[0].startswith("mask-"):
            return 1
        return 3 if "backward" in problem[0] else 2

    families = [[problem for problem in chosen if family(problem) == i] for i in range(4)]
    taken = []
    for i, members in enumerate(families):
        left = count - len(taken)
        take = min(len(members), left if i == 0 else left // (4 - i))
        taken += [members[j * len(members) // take] for j in range(take)]
    return taken


def check(args, folder, name, path, arguments):
    """(name, 'same', 'close', 'limit' or 'failed', what the tools say)"""
    hopper = folder / f"{name}.hopper"
    code, text = run([args.opt, path, f"--pass-pipeline={HOPPER}", "-o", hopper])
    if code:
        is_limit = check_each_pass.LIMITS.search(text)
        return name, "limit" if is_limit else "failed", text
    rounding = rounding_of(path.read_text())
    close = [f"--atol={4 * rounding}", f"--rtol={4 * rounding}"]
    code, text = run(
        [args.run, "--executor=ptx", path, *arguments, f"--against={hopper}", *close, *args.more],
        args.timeout,
    )
    hopper.unlink()
    if code:
        return name, "failed", text
    is_same = all(float(value) == 0 for value in DISTANCE.findall(text))
    return name, "same" if is_same else "close", text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", default="fa3-run")
    parser.add_argument("--opt", default="fa3-opt")
    parser.add_argument("--filter", default="", help="regular expression")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=int, default=300)
    parser.add_argument("--more", action="append", default=[], help="an argument of fa3-run")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    begin = time.time()
    counts = {"same": 0, "close": 0, "limit": 0, "failed": 0}
    with (
        tempfile.TemporaryDirectory() as name,
        concurrent.futures.ThreadPoolExecutor(args.jobs) as pool,
    ):
        folder = pathlib.Path(name)
        chosen = [problem for problem in problems(folder) if re.search(args.filter, problem[0])]
        if args.sample:
            chosen = sample(chosen, args.sample)
        if not chosen:
            sys.exit(f"no problem matches '{args.filter}'")
        for name, verdict, message in pool.map(
            lambda problem: check(args, folder, *problem), chosen
        ):
            counts[verdict] += 1
            if verdict == "failed" or args.verbose:
                print(verdict, name, message.strip() if verdict == "failed" else "", flush=True)
    print(
        "problems: tried %d, same %d, close %d, limits %d, failed %d, seconds %.0f"
        % (
            len(chosen),
            counts["same"],
            counts["close"],
            counts["limit"],
            counts["failed"],
            time.time() - begin,
        )
    )
    return counts["failed"] != 0


if __name__ == "__main__":
    sys.exit(main())
