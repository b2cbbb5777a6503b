#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ptxas makes of PTX: the same text on the CPU and on a GPU, compared bit by bit.

For nightly runs: python3 test/Device/ptx_bits.py [--programs 200] [--kernels 40].

* Programs: random sequences of instructions whose results the manual defines to the
  bit, many to a kernel, on random and on special numbers. Columns that differ are
  printed with their instructions: one of the two is wrong. `known` are sequences that
  ptxas 13.0 is known to get wrong (docs/experiments/negations-in-maxima.md and
  repeated-operands.md): if the GPU gives the right bits for them, this test sees
  nothing, or ptxas was mended.
* Kernels: those of test/Matrix/ptx.py. Outputs have the same bits, or differ by what
  approximations and the order of sums in tensor cores explain: 4 roundings, and with
  8-bit weights or a softcap what moves those.

The executor of PTX in fa3-run is one side; --against says what the other is: ptxas at
a level (O0, O1, O2, O3), the driver's compiler (jit), or, without a GPU, `lost`: the
executor on the known texts with what ptxas makes of them. The exit code is 1 if a
program or kernel differs beside the known ones, or if no known one does.

The machine with the GPU needs the runtime and ptxas only: --save DIR writes all with
their results on the CPU, --replay DIR compares them with the GPU.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from ptx_arrays import approximation_of, find_far, is_same, read_npy, rounding_of, write_npy
from ptx_programs import (
    COLUMNS,
    FLOATS,
    INPUTS,
    INTEGERS,
    KNOWN,
    ROWS,
    SPECIAL,
    known,
    make_program,
    sequence,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tensor(name, columns, access):
    return {"name": name, "kind": "tensor", "type": "i32", "dims": ["n", columns], "access": access}


def write_manifest(path, columns):
    arguments = [{"kind": "pointer", "source": name} for name in ("in", "out")]
    path.write_text(
        json.dumps(
            {
                "schema": 1,
                "producer": "ptx_bits",
                "function": "program",
                "chip": "sm_90a",
                "ptx_isa": "8.0",
                "requires": [],
                "workspaces": [],
                "flops": "0",
                "bytes": "0",
                "args": [tensor("in", INPUTS, "read"), tensor("out", columns, "write")],
                "launches": [
                    {
                        "kernel": "program",
                        "grid": "ceildiv(in.shape[0], 128)",
                        "block": 128,
                        "cluster": 1,
                        "smem": 0,
                        "args": arguments,
                    }
                ],
                "ptx_hash": "0" * 16,
            }
        )
    )


class Case:
    """A text, its manifest, and beside them a file for each array: NAME.npy before a
    run, NAME.cpu.npy what the executor wrote, NAME.gpu what the GPU did."""

    def __init__(self, ptx):
        self.ptx = ptx
        self.manifest = json.loads(ptx.with_suffix(".json").read_text())
        self.args = self.manifest["args"]
        self.types = {one["name"]: one["type"] for one in self.args if one["kind"] == "tensor"}
        self.written = [one["name"] for one in self.args if one.get("access") == "write"]

    def file(self, name, suffix):
        return self.ptx.with_name(f"{self.ptx.stem}.{name}{suffix}")

    def read(self, name):
        """(shape, bytes) of an array: what the executor wrote, or as it was."""
        suffix = ".cpu.npy" if name in self.written else ".npy"
        return read_npy(self.file(name, suffix), self.types[name])

    def refusal(self, scalars):
        """Why it is left out."""
        for one in self.args:
            if one.get("access") == "readwrite":
                return f"'{one['name']}' is read and written"
            if one["kind"] == "scalar" and one["name"] not in scalars:
                return f"'{one['name']}' has no value"
        return ""

    def save(self, args, *more):
        """Runs it by fa3-run on the CPU."""
        command = [args.run, "--cpu", self.ptx, *more]
        for one in self.args:
            if one["kind"] == "tensor":
                file = self.file(one["name"], ".cpu.npy" if one["access"] == "write" else ".npy")
                command += ["--output", f"{one['name']}={file}"]
        check(command, args.timeout)

    def compare(self, args):
        """(name, type, bytes on the CPU, bytes on the other side) of each result."""
        if args.against == "lost":
            lost = self.ptx.parent / "lost" / self.ptx.name
            lost.parent.mkdir(exist_ok=True)
            text = self.ptx.read_text()
            if lost.stem == "known":
                text = text.replace("neg.s32", "mov.b32").replace(", 216;", ", 240;")
            lost.write_text(text)
            shutil.copy(self.ptx.with_suffix(".json"), lost.parent)
            Case(lost).save(args, *program_arguments(self))
            others = {name: Case(lost).read(name)[1] for name in self.written}
        else:
            image = self.ptx
            if args.against != "jit":
                image = self.ptx.with_suffix(".cubin")
                check([args.ptxas, "-arch=sm_90a", f"-{args.against}", self.ptx, "-o", image], 600)
            check([sys.executable, __file__, "--launch", image], args.timeout)
            others = {name: self.file(name, ".gpu").read_bytes() for name in self.written}
        return [
            (name, self.types[name], self.read(name)[1], others[name]) for name in self.written
        ]


def in_parallel(args, function, values):
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        return list(pool.map(function, values))


def check(command, timeout):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")


def launch(image):
    """Runs a case on the GPU, in a process of its own, by the runtime alone."""
    sys.path.insert(0, str(ROOT / "python"))
    import fa3_runtime

    fa3_runtime.device_initialize(0)
    case = Case(image.with_suffix(".ptx"))
    # What ties a manifest to its text.
    case.manifest["ptx_hash"] = f"{fa3_runtime.hash(case.ptx.read_bytes()):016x}"
    program = fa3_runtime.Program(
        json.dumps(case.manifest), image.read_bytes(), cubin=image.suffix == ".cubin"
    )
    scalars = case.ptx.with_suffix(".scalars")
    scalars = json.loads(scalars.read_text()) if scalars.exists() else {}
    values, buffers = [], {}
    for one in case.args:
        name = one["name"]
        if one["kind"] == "scalar":
            values.append(scalars[name])
            continue
        shape, data = case.read(name)
        if name in case.written:
            data = b"\xff" * len(data)
        buffers[name] = fa3_runtime.Buffer(data)
        values.append(buffers[name].array(one["type"], shape))
    size = program.workspace_size(*values)
    program(*values, workspace=fa3_runtime.Buffer(b"\xff" * size) if size else None)
    fa3_runtime.device_synchronize()
    for name in case.written:
        case.file(name, ".gpu").write_bytes(buffers[name].download())


def is_nan(bits):
    return bits & 0x7FFFFFFF > 0x7F800000


def write_program(folder, name, columns, chance):
    ptx = folder / f"{name}.ptx"
    ptx.write_text(make_program(columns))
    write_manifest(ptx.with_suffix(".json"), len(columns))
    values = [
        chance.choice(SPECIAL)
        if chance.random() < 0.3
        else chance.randrange(-40, 40)
        if chance.random() < 0.3
        else chance.randrange(-0x80000000, 0x80000000)
        for _ in range(ROWS * INPUTS)
    ]
    write_npy(folder / f"{name}.in.npy", ROWS, INPUTS, values)


def program_arguments(case):
    return ["--dims", f"n={ROWS}", "--input", f"in={case.file('in', '.npy')}"]


def run_program(args, case):
    """The columns that differ, each with a row."""
    ((_, _, *both),) = case.compare(args)
    one, two = (struct.unpack(f"<{len(data) // 4}I", data) for data in both)
    values = struct.unpack(f"<{ROWS * INPUTS}i", case.read("in")[1])
    columns, are_floats = len(one) // ROWS, "floats" in case.ptx.stem
    wrong = {}
    for at, (a, b) in enumerate(zip(one, two)):
        # Which NaN a float has is not defined.
        if a != b and not (are_floats and is_nan(a) and is_nan(b)):
            row, column = divmod(at, columns)
            inputs = values[row * INPUTS : (row + 1) * INPUTS]
            wrong.setdefault(column, f"inputs {inputs}: 0x{a:08x} on the CPU, 0x{b:08x}")
    return wrong


def make_programs(args, folder):
    chance = random.Random(args.seed)
    write_program(folder, "known", [known(i) for i in range(len(KNOWN))], chance)
    for number in range(args.programs):
        name, table = [("integers", INTEGERS), ("floats", FLOATS)][number % 2]
        columns = [sequence(chance, i, table) for i in range(COLUMNS)]
        write_program(folder, f"program-{name}{number}", columns, chance)
    cases = [Case(ptx) for ptx in [folder / "known.ptx", *folder.glob("program-*.ptx")]]
    in_parallel(args, lambda case: case.save(args, *program_arguments(case)), cases)


def compare_programs(args, folder):
    """(different ones, known ones that are)"""
    different, all_programs = 0, sorted(folder.glob("program-*.ptx"))
    cases = [Case(ptx) for ptx in [folder / "known.ptx", *all_programs]]
    found, *results = in_parallel(args, lambda case: run_program(args, case), cases)
    for ptx, wrong in zip(all_programs, results):
        stores = ptx.read_text().split("st.global")
        for column, what in wrong.items():
            print(f"{ptx.stem}, column {column}: {what}\n{stores[column][-700:]}", flush=True)
        different += len(wrong)
    print(
        "programs: tried %d, columns %d, different %d, known %d of %d"
        % (len(all_programs), len(all_programs) * COLUMNS, different, len(found), len(KNOWN))
    )
    return different, len(found)


def make_kernels(args, folder):
    """Kernels of the matrix, but those whose arrays are read and written."""
    sys.path.insert(0, str(ROOT / "test" / "Matrix"))
    import ptx as matrix

    inputs = folder / "problems"
    inputs.mkdir()
    problems = [one for one in matrix.problems(inputs) if re.search(args.filter, one[0])]
    sample = matrix.sample(problems, args.kernels)
    in_parallel(args, lambda problem: make_kernel(args, folder, *problem), sample)


def write_tolerance(text, module):
    numbers = [rounding_of(module), approximation_of(module)]
    text.with_suffix(".tolerance").write_text(json.dumps(numbers))


def make_kernel(args, folder, name, path, more):
    text = folder / f"kernel-{name}.ptx"
    pipeline = "--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)"
    check([args.translate, "--mlir-to-ptx", path, "-o", text, pipeline], args.timeout)
    scalars = dict(
        word.split("=")[-2:] for word in more if re.match(r"(--scalar=)?\w+=[\d.]+$", word)
    )
    case = Case(text)
    if why := case.refusal(scalars):
        print(f"left out: {name}: {why}")
        text.unlink()
        return
    numbers = {
        key: float(value) if "." in value else int(value) for key, value in scalars.items()
    }
    text.with_suffix(".scalars").write_text(json.dumps(numbers))
    write_tolerance(text, path.read_text())
    case.save(args, "--reference", path, "--no-check", *more)


def compare_kernels(args, folder):
    counts = {"same": 0, "close": 0, "different": 0}
    kernels = sorted(folder.glob("kernel-*.ptx"))
    compared = in_parallel(args, lambda ptx: Case(ptx).compare(args), kernels)
    for ptx, results in zip(kernels, compared):
        tolerance = json.loads(ptx.with_suffix(".tolerance").read_text())
        far = [
            f"{name}: {what}"
            for name, kind, one, two in results
            if (what := find_far(kind, *tolerance, one, two))
        ]
        all_same = all(is_same(*result[1:]) for result in results)
        verdict = "different" if far else "same" if all_same else "close"
        counts[verdict] += 1
        print(verdict, ptx.stem, "; ".join(far), flush=True)
    print(
        "kernels: tried %d, same %d, close %d, different %d"
        % (sum(counts.values()), *counts.values())
    )
    return counts["different"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--run", default="fa3-run")
    parser.add_argument("--translate", default="fa3-translate")
    parser.add_argument("--against", default="O3", choices=["O0", "O1", "O2", "O3", "jit", "lost"])
    parser.add_argument("--ptxas", default=shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas")
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--kernels", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--filter", default="", help="regular expression, of kernels")
    parser.add_argument("--save", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--replay", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--launch", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--timeout", type=float, default=300, help="seconds of a run")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    args = parser.parse_args()
    if args.launch:
        return launch(args.launch)
    print(f"against {args.against}, seed {args.seed}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = args.replay or args.save or pathlib.Path(name)
        if not args.replay:
            folder.mkdir(parents=True, exist_ok=True)
            make_programs(args, folder)
            if args.kernels and args.against != "lost":
                make_kernels(args, folder)
        if args.save:
            return 0
        has_programs = (folder / "known.ptx").exists()
        different, found = compare_programs(args, folder) if has_programs else (0, 0)
        different += compare_kernels(args, folder)
    return different != 0 or (has_programs and not found)


if __name__ == "__main__":
    sys.exit(main())
