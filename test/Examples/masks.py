#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs examples/masks: the same answer after every pass, no spills.

A file's tables are made by test/Inputs/table.py from the formulas below. With
--lists attention that has a mask gets lists of blocks from its code.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MASKS = ROOT / "examples" / "masks"
DIMS = "b=1,sq=70,sk=140"
SAME = "b=1,sq=130,sk=130"
# File: extents, then tables as (name, type, shape, formula).
PROBLEMS = {
    "additive_mask": (DIMS, []),
    "boolean_mask": (DIMS, [
        ("mask", "|b1", "1,1,70,140", "(k * 7 + l * 3) % 5 != 0")]),
    "document": ("b=1,sq=130,sk=130", [
        ("documents", "<i4", "1,130", "j // 37")]),
    "key_lengths": ("b=2,sq=70,sk=140", [
        ("lengths", "<i4", "2", "77 if i else 0")]),
    "tree": (DIMS, [("ancestors", "|b1", "70,140", "j <= i and j % 3 != i % 2")]),
    "neighborhood_2d": (SAME, []), "neighborhood_3d": (SAME, []),
    "morton": (SAME, []), "tiled_neighborhood": (SAME, []),
    "shared_prefix": (SAME, []),
    "sandwich": (DIMS + ",n1=40", []),
    "graphormer": (SAME, [
        ("distances", "<i4", "1,130,130", "-1 if (j + k) % 11 == 0 else "
         "min(abs(j - k), 22)")]),
    "block_table": (DIMS, [
        ("blocks", "|b1", "3,9", "(i * 5 + j * 3) % 4 != 0")]),
    "listed_blocks": ("b=1,sq=130,sk=130", [
        ("documents", "<i4", "1,130", "j // 37")]),
}
# File: queries, keys, sizes of a block, formula of the mask.
LISTS = {"listed_blocks": ("130", "130", "128", "64", "i // 37 == j // 37")}
# Options and diagnostic of lists of blocks.
LISTED, CANNOT = "block-lists=call", "cannot have lists of blocks"
UNLISTED = "has no lists"
HEADS = re.compile(r"2x\?x64xbf16")
SPILL = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def check_values(args, path, folder):
    dims, tables = PROBLEMS.get(path.stem, (DIMS, []))
    passes = "--check-each-pass" + ("=" + LISTED if args.lists else "")
    command = [args.run, "--cpu", passes, path, "--dims", dims]
    for name, kind, shape, formula in tables:
        file = folder / f"{path.stem}-{name}.npy"
        code, text = run([sys.executable, ROOT / "test/Inputs/table.py", file,
                          kind, shape, formula])
        if code:
            return text
        command += ["--input", f"{name}={file}"]
    if path.stem in LISTS:
        code, text = run([sys.executable, ROOT / "test/Inputs/blocks.py",
                          folder, *LISTS[path.stem]])
        if code:
            return text
        for name in ("count", "index", "full_count", "full_index"):
            command += ["--input", f"{name}={folder / name}.npy"]
    code, text = run(command)
    return None if code == 0 and "same answer after" in text else text


def check_ptxas(args, path, folder):
    """Head dims of 64 and 128, lengths of the launch and known ones."""
    text = path.read_text()
    for width in (64, 128):
        for length in ("?", "4096"):
            variant = folder / f"{path.stem}-{width}-{length == '?'}.mlir"
            variant.write_text(HEADS.sub(f"2x{length}x{width}xbf16", text))
            problem = check_spills(args, variant, folder)
            if problem is not None:
                return problem
            if not args.ptxas:
                return None
    return None


def check_spills(args, path, folder):
    ptx = folder / f"{path.stem}.ptx"
    code, text = run([args.translate, "--mlir-to-ptx", path, "-o", ptx,
                      "--pass-pipeline=builtin.module("
                      "fa3-lower-to-nvvm-pipeline{%s})"
                      % (LISTED if args.lists else "")])
    if args.lists and CANNOT in text:
        return UNLISTED
    if code or not args.ptxas:
        return text if code else None
    code, text = run([args.ptxas, "-v", "-arch=sm_90a", ptx, "-o",
                      folder / "x.cubin"])
    spills = [int(number) for pair in SPILL.findall(text) for number in pair]
    return text if code or not spills or max(spills) else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", default="fa3-run")
    parser.add_argument("--translate", default="fa3-translate")
    parser.add_argument("--ptxas", default="")
    parser.add_argument("--no-values", action="store_true")
    parser.add_argument("--lists", action="store_true")
    parser.add_argument("--only", default="", help="part of a file's name")
    args = parser.parse_args()
    failed = count = 0
    with tempfile.TemporaryDirectory() as name:
        for path in sorted(MASKS.glob("*.mlir")):
            if args.only not in path.stem:
                continue
            checks = [check_ptxas] + [check_values] * (not args.no_values)
            for check in checks:
                problem = check(args, path, pathlib.Path(name))
                if problem is UNLISTED:
                    break
                if problem is not None:
                    count += 1
                    failed += 1
                    print(f"{path.stem}: {check.__name__}: {problem.strip()}")
                    break
            else:
                count += 1
                print(f"{path.stem}: right", flush=True)
    print(f"{count} masks, {failed} failed")
    sys.exit(1 if failed or not count else 0)


if __name__ == "__main__":
    main()
