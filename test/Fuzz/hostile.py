#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Feeds modules that are valid, or nearly so, and meant to hurt.

Names that PTX cannot have, extents at the ends of their types, operands that
are one, regions of thousands of operations, many mods. Each has an answer in
--timeout seconds: PTX, which ptxas takes if there is one, or an error at a
place in the file with the words that stand beside it below.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

CRASH = re.compile(r"LLVM ERROR|Assertion|UNREACHABLE|Stack dump|"
                   r"PLEASE submit a bug report|terminate called|"
                   r"AddressSanitizer|runtime error:")
PIPELINE = "builtin.module(fa3-lower-to-nvvm-pipeline{tuning-table=none})"


def forward(name="f", shape="1x1x?", mods="", region="", operands="%q, %k, %v",
            aux="", auxType=""):
    t = f"tensor<{shape}x64xf16>"
    extra = f", %a: {auxType}" if aux else ""
    return (f'func.func @"{name}"(%q: {t}, %k: {t}, %v: {t}{extra}) -> {t} {{\n'
            f"  %o = attention.forward {operands} {aux} {mods} "
            f": ({t}, {t}, {t}) -> {t}\n{region}"
            f"  return %o : {t}\n}}\n")


def score(count):
    lines = ["    score_mod (%s0, %b, %h, %i, %j) {",
             "      %c = arith.constant 0.5 : f32"]
    for i in range(count):
        kind = "addf" if i % 2 else "mulf"
        lines.append(f"      %s{i + 1} = arith.{kind} %s{i}, %c : f32")
    lines.append(f"      attention.yield %s{count} : f32\n    }}\n")
    return "\n".join(lines)


def additions(count):
    lines = ["    score_mod (%s0, %b, %h, %i, %j) {",
             "      %c = arith.constant 1.0 : f32"]
    lines += [f"      %s{i + 1} = arith.addf %s{i}, %c : f32"
              for i in range(count)]
    lines.append(f"      attention.yield %s{count} : f32\n    }}\n")
    return "\n".join(lines)


def chain(count, step):
    """A mask by x = step(x + i, 2 to 14), over and over."""
    lines = ["    mask_mod (%b, %h, %i, %j) {",
             "      %x0 = arith.addi %i, %j : index"]
    for i in range(count):
        lines += [f"      %c{i} = arith.constant {i % 13 + 2} : index",
                  f"      %y{i} = arith.addi %x{i}, %i : index",
                  f"      %x{i + 1} = arith.{step} %y{i}, %c{i} : index"]
    lines.append(f"      %m = arith.cmpi sge, %x{count}, %j : index\n"
                 "      attention.yield %m : i1\n    }\n")
    return "\n".join(lines)


def windows(count, both=True):
    def right(i):
        return f", right = {50 + i}" if both else ""

    return "mods [" + ", ".join(
        f"#attention.window<left = {100 + i}{right(i)}>"
        for i in range(count)) + "]"


def cases():
    """(name, module, words of the error or None)."""
    for name in ["a.b", "1", "_", "", "WARP_SZ", "a-b", "a b", "\\C3\\BC",
                 "x$y", "a\\22b", "\\00", "kernel", "entry", "dynamic_smem",
                 "n" * 3000]:
        yield f"name '{name[:20]}'", forward(name=name), None
    most = 1 << 30
    for extent in [most + 1, (1 << 31) - 1, 1 << 31, 1 << 40, (1 << 63) - 1]:
        for shape in [f"1x1x{extent}", f"1x{extent}x1", f"{extent}x1x1"]:
            yield (f"extents {shape}", forward(shape=shape),
                   "expects extents of at most 1073741824")
    for shape in [f"1x1x{most}", f"1x{most}x1", f"{most}x1x64"]:
        yield f"extents {shape}", forward(shape=shape), None
    yield ("blocks in all", forward(shape="32768x32768x65"),
           "expects at most 1073741824 blocks of 64 queries")
    for shape in ["0x1x1", "1x1x0", "1x0x1"]:
        words = "expects the key heads" if shape == "1x0x1" else None
        yield f"extents {shape}", forward(shape=shape), words
    yield ("an auxiliary operand of 2^40 elements",
           forward(aux="aux(%a : tensor<1099511627776xf32>)",
                   auxType="tensor<1099511627776xf32>"),
           "expects extents of at most 1073741824")
    for operands in ["%q, %k, %k", "%q, %q, %q", "%k, %q, %k", "%q, %q, %v"]:
        yield f"operands {operands}", forward(operands=operands), None
        yield (f"operands {operands}, causal",
               forward(operands=operands, mods="mods [#attention.causal]"),
               None)
    yield "500 operations", forward(region=score(500)), None
    yield ("10000 operations", forward(region=score(10000)),
           "expects at most 1024 operations in 'score_mod'")
    yield "1000 additions", forward(region=additions(1000)), None
    for step in ("floordivsi", "remsi", "addi"):
        yield f"a chain of 40 {step}", forward(region=chain(40, step)), None
    yield ("300 divisions in a chain", forward(region=chain(300, "divsi")),
           None)
    deep = 100000
    nests = "nests more than 256 brackets and regions"
    yield "deep regions", "module {\n" * deep + "}\n" * deep, nests
    yield ("deep types", f"func.func private @f({'tuple<' * deep}i1"
           f"{'>' * deep})\n", nests)
    yield ("deep affine expressions", "#m = affine_map<(d0) -> ("
           f"{'(' * deep}d0{')' * deep})>\n" + forward(), nests)
    yield ("a number of 100000 digits", "func.func @g() {\n"
           f"  %c = arith.constant {'9' * deep} : i32\n  return\n}}\n",
           "has a number or a shape of more than 1000 characters")
    yield "64 windows", forward(mods=windows(64)), None
    yield "64 half windows", forward(mods=windows(64, both=False)), None
    yield ("199 windows", forward(mods=windows(199)),
           "expects at most 64 mods")


def check(args, folder, module, words):
    """What is wrong, or None."""
    source = folder / "hostile.mlir"
    source.write_text(module)
    ptx = folder / "hostile.ptx"
    command = [args.translate, "--mlir-to-ptx", source, "-o", ptx,
               f"--pass-pipeline={PIPELINE}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              errors="replace", timeout=args.timeout)
    except subprocess.TimeoutExpired:
        return f"no answer in {args.timeout} s"
    if done.returncode < 0 or CRASH.search(done.stderr):
        return "died: " + done.stderr[:300]
    if done.returncode == 0:
        if words:
            return f"was taken, expected an error with '{words}'"
        if args.ptxas:
            assembled = subprocess.run(
                [args.ptxas, "-arch=sm_90a", ptx, "-o", folder / "x.cubin"],
                capture_output=True, text=True)
            if assembled.returncode:
                return "ptxas: " + assembled.stdout + assembled.stderr
        return None
    if not re.search(r"hostile\.mlir:\d+:\d+: error: ", done.stderr):
        return "says nothing of a place: " + done.stderr[:300]
    if not words or words not in done.stderr:
        return f"expected {words or 'PTX'}, got: " + done.stderr[:300]
    return None


def attempt(args, name, module, words):
    """The case's name, what is wrong with it, and the seconds that it took."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        problem = check(args, pathlib.Path(folder), module, words)
    return name, problem, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--translate", required=True)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--ptxas", default=shutil.which("ptxas") or
                        shutil.which("ptxas", path="/usr/local/cuda/bin"))
    parser.add_argument("--case", default="", help="part of a case's name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    chosen = [case for case in cases() if args.case in case[0]]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, problem, seconds in pool.map(lambda case: attempt(args, *case), chosen):
            failed += problem is not None
            print(f"{name}: {problem or 'as it should be'} ({seconds:.1f} s)", flush=True)
    print(f"{len(chosen)} hostile modules, {failed} failed")
    sys.exit(1 if failed or not chosen else 0)


if __name__ == "__main__":
    main()
