#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles random mask and score code and compares with attention by definition.

The code is index arithmetic, divisions by constants and by numbers of the
launch, minima, absolute values, select, tables of all kinds (by head, query,
key, distance, block, of tables, clamped or not) and functions of the score.
Problem number N depends on --seed and N only. Every third one that has a mask
gets lists of blocks made from its code. By default kernels are compared
after the stage of sequential tiles, and every --whole th one after every pass and as PTX.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

# Limits that a pass may state.
# A launch refuses tables that are longer than what is read of them.
LIMITS = [r"registers", r"shared memory", r"multiples? of", r"regions? of at most",
          r"argument 't\d+': extent \d+ of dimension"]
HEADS = 2
SIZES = [1, 17, 40, 64, 70, 100, 130]


class Code:
    """Code of one problem. Indices stay small, so that 32 bits hold them, and
    what is divided as unsigned is never negative."""

    def __init__(self, rng, sq, sk):
        self.rng, self.sq, self.sk = rng, sq, sk
        self.tables = {}  # name: (element type, extents, values)
        self.lines, self.count = [], 0
        self.number = rng.choice([0, 1, 3, 16, 37])

    def emit(self, text):
        self.count += 1
        name = f"%x{self.count}"
        self.lines.append(f"      {name} = {text}")
        return name

    def constant(self, value):
        return self.emit(f"arith.constant {value} : index")

    def table(self, element, extents):
        """A table that is there, or a new one."""
        rng = self.rng
        found = [name for name, (type_, shape, _) in self.tables.items()
                 if type_ == element and len(shape) == len(extents)]
        if found and rng.random() < 0.5:
            return rng.choice(found)
        name = f"t{len(self.tables)}"
        size = 1
        for extent in extents:
            size *= extent
        if element == "i1":
            values = [rng.random() < 0.7 for _ in range(size)]
        elif element[0] == "i":
            top = 127 if element == "i8" else rng.choice([7, 40, 200])
            values = [rng.randrange(-3, top) for _ in range(size)]
        else:
            values = [rng.randrange(-64, 65) / 32 for _ in range(size)]
        self.tables[name] = (element, extents, values)
        return name

    def type_of(self, name):
        element, extents, _ = self.tables[name]
        return f"tensor<{'x'.join(['?'] * len(extents))}x{element}>"

    def read(self, element, depth):
        """An element of a table at indices of some form."""
        rng = self.rng
        form = rng.choice(["head", "key", "query", "both", "distance", "block", "any"])
        if form == "head":
            extents, at = [HEADS], ["%h"]
        elif form == "key":
            extents, at = [HEADS, max(self.sq, self.sk)], ["%h", "%j"]
        elif form == "query":
            extents, at = [max(self.sq, self.sk)], ["%i"]
        elif form == "both":
            extents, at = [self.sq, self.sk], ["%i", "%j"]
        elif form == "distance":
            extents = [HEADS, rng.choice([5, 60])]
            at = ["%h", self.emit("arith.subi %i, %j : index")]
        elif form == "block":
            by = self.constant(rng.choice([8, 16, 33]))
            extents = [8, 8]
            at = [self.emit(f"arith.divui %i, {by} : index"),
                  self.emit(f"arith.divui %j, {by} : index")]
        else:
            extents = [rng.choice([3, 50])]
            at = [self.index(depth - 1)]
        name = self.table(element, extents)
        if len(at) == 1 or form == "both" or self.tables[name][1] != extents:
            # A table of another form: what lies outside reads 0, but the query
            # and the key themselves are the host's to check.
            zero = self.constant(0)
            at = [self.emit(f"arith.subi {index}, {zero} : index") for index in at]
        return self.emit(f"tensor.extract %{name}[{', '.join(at)}] : {self.type_of(name)}")

    def index(self, depth):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.15:
            leaf = rng.choice(["i", "j", "i", "j", "h", "b", "constant", "n", "length"])
            if leaf == "constant":
                return self.constant(rng.choice([-5, 0, 1, 3, 16, 60, 100]))
            if leaf == "n":
                return "%n"
            if leaf == "length":
                return self.emit(f"attention.length {rng.choice(['key', 'query'])}")
            return "%" + leaf
        kind = rng.choice(["addi", "subi", "subi", "muli", "floor", "floor", "rem",
                           "byNumber", "max", "min", "abs", "unsigned", "table", "select"])
        x = self.index(depth - 1)
        if kind in ("addi", "subi"):
            return self.emit(f"arith.{kind} {x}, {self.index(depth - 1)} : index")
        if kind == "muli":
            return self.emit(f"arith.muli {x}, {self.constant(rng.choice([-1, 2, 3]))} : index")
        if kind in ("floor", "rem"):
            op = rng.choice(["floordivsi", "ceildivsi", "divsi"]) if kind == "floor" else "remsi"
            by = self.constant(rng.choice([1, 2, 7, 16, 32, 50]))
            return self.emit(f"arith.{op} {x}, {by} : index")
        if kind == "byNumber":
            op = rng.choice(["floordivsi", "divsi", "remsi"])
            by = rng.choice(["%n", "%h", self.index(0)])
            return self.emit(f"arith.{op} {x}, {by} : index")
        if kind in ("max", "min"):
            return self.emit(f"arith.{kind}si {x}, {self.index(depth - 1)} : index")
        if kind == "abs":
            return self.emit(f"math.absi {x} : index")
        if kind == "unsigned":
            x = self.emit(f"math.absi {x} : index")
            op, by = rng.choice(["divui", "remui"]), self.constant(rng.choice([2, 5, 16]))
            return self.emit(f"arith.{op} {x}, {by} : index")
        if kind == "table":
            element = rng.choice(["i8", "i16", "i32", "i64"])
            return self.emit(f"arith.index_cast {self.read(element, depth - 1)} : "
                             f"{element} to index")
        return self.emit(f"arith.select {self.condition(depth - 1)}, {x}, "
                         f"{self.index(depth - 1)} : index")

    def condition(self, depth):
        rng = self.rng
        kind = rng.choice(["compare", "compare", "compare", "join", "join", "not", "table"])
        if kind == "table":
            return self.read("i1", depth)
        if kind == "compare" or depth <= 0:
            than = rng.choice(["sle", "slt", "sge", "sgt", "eq", "ne"])
            return self.emit(f"arith.cmpi {than}, {self.index(depth)}, "
                             f"{self.index(depth - 1)} : index")
        x = self.condition(depth - 1)
        if kind == "not":
            true = self.emit("arith.constant true")
            return self.emit(f"arith.xori {x}, {true} : i1")
        return self.emit(f"arith.{rng.choice(['andi', 'ori'])} {x}, "
                         f"{self.condition(depth - 1)} : i1")

    def bias(self, depth):
        """A number of moderate size that does not depend on the score."""
        rng = self.rng
        kind = rng.choice(["index", "table", "table", "select"])
        if kind == "table":
            element = rng.choice(["f16", "bf16", "f32"])
            x = self.read(element, depth)
            return x if element == "f32" else self.emit(f"arith.extf {x} : {element} to f32")
        if kind == "select":
            return self.emit(f"arith.select {self.condition(depth)}, {self.bias(depth - 1)}, "
                             f"{self.bias(depth - 1)} : f32") if depth > 0 else self.bias(0)
        x = self.emit(f"arith.index_cast {self.index(depth)} : index to i32")
        f = self.emit(f"arith.sitofp {x} : i32 to f32")
        scale = self.emit("arith.constant 0.015625 : f32")
        f = self.emit(f"arith.mulf {f}, {scale} : f32")
        return self.clamp(f, 2)

    def clamp(self, f, most):
        low = self.emit(f"arith.constant -{most}.0 : f32")
        high = self.emit(f"arith.constant {most}.0 : f32")
        f = self.emit(f"arith.maximumf {f}, {low} : f32")
        return self.emit(f"arith.minimumf {f}, {high} : f32")

    def score(self, depth):
        """Continuous in the score, of which kernels have another last digit."""
        rng, s = self.rng, "%s"
        for _ in range(rng.choice([1, 1, 2])):
            kind = rng.choice(["bias", "bias", "tanh", "relu", "mix", "square", "select"])
            if kind == "bias":
                s = self.emit(f"arith.addf {s}, {self.bias(depth)} : f32")
            elif kind == "tanh":
                s = self.emit(f"math.tanh {s} : f32")
            elif kind == "relu":
                slope = self.emit("arith.constant 0.125 : f32")
                low = self.emit(f"arith.mulf {s}, {slope} : f32")
                s = self.emit(f"arith.maximumf {s}, {low} : f32")
            elif kind == "mix":
                t = self.emit(f"math.tanh {s} : f32")
                s = self.emit(f"arith.addf {s}, {t} : f32")
            elif kind == "square":
                c = self.clamp(s, 2)
                s = self.emit(f"arith.mulf {c}, {c} : f32")
            else:
                half = self.emit("arith.constant 0.5 : f32")
                low = self.emit(f"arith.mulf {s}, {half} : f32")
                s = self.emit(f"arith.select {self.condition(depth)}, {s}, {low} : f32")
        return s


def build(seed, number):
    """Module text, command line options and tables of a problem."""
    rng = random.Random(f"{seed} {number}")
    sq, sk = rng.choice(SIZES), rng.choice(SIZES)
    code = Code(rng, sq, sk)
    regions = ""
    has_score = rng.random() < 0.6
    if has_score:
        result = code.score(rng.choice([1, 2, 3]))
        regions += ("    score_mod (%s, %b, %h, %i, %j) {\n" + "\n".join(code.lines) +
                    f"\n      attention.yield {result} : f32\n    }}\n")
        code.lines = []
    if not has_score or rng.random() < 0.6:
        result = code.condition(rng.choice([1, 2, 3, 4]))
        regions += ("    mask_mod (%b, %h, %i, %j) {\n" + "\n".join(code.lines) +
                    f"\n      attention.yield {result} : i1\n    }}\n")
    element, d = rng.choice(["f16", "bf16"]), rng.choice([16, 32, 64])
    known = rng.random() < 0.3
    t = (f"tensor<1x{HEADS}x{sq if known else '?'}x{d}x{element}>",
         f"tensor<1x{HEADS}x{sk if known else '?'}x{d}x{element}>")
    arguments = "".join(f', %{name}: {code.type_of(name)} {{tile.name = "{name}"}}'
                        for name in code.tables)
    aux = ""
    if code.tables:
        aux = (" aux(" + ", ".join("%" + name for name in code.tables) + " : " +
               ", ".join(map(code.type_of, code.tables)) + ")")
    text = f"""func.func @f(%q: {t[0]} {{tile.name = "q"}}, %k: {t[1]} {{tile.name = "k"}},
    %v: {t[1]} {{tile.name = "v"}}{arguments}, %n32: i32 {{tile.name = "n"}})
    -> ({t[0]} {{tile.name = "o"}}) {{
  %n = arith.index_cast %n32 : i32 to index
  %o = attention.forward %q, %k, %v{aux} : ({t[0]}, {t[1]}, {t[1]}) -> {t[0]}
{regions}  return %o : {t[0]}
}}
"""
    options = ["--dims", f"sq={sq},sk={sk}", "--scalar", f"n={code.number}"]
    return text, options, code.tables


TYPES = {"i1": ("|b1", "?"), "i8": ("|i1", "b"), "i16": ("<i2", "h"), "i32": ("<i4", "i"),
         "i64": ("<i8", "q"), "f32": ("<f4", "f"), "f16": ("<f2", "e"), "bf16": ("<f4", "f")}


def write_table(path, element, extents, values):
    kind, code = TYPES[element]
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }" % (
        kind, ", ".join(map(str, extents)))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                     header.encode() + struct.pack("<%d%s" % (len(values), code), *values))


def run(command, timeout):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return 1, "takes longer than %d s" % timeout
    return done.returncode, done.stdout + done.stderr


def attempt(args, number):
    """'ok', 'limit' or 'failed', and the output."""
    text, options, tables = build(args.seed, number)
    lists = "block-lists=" + ("call" if number % 3 == 0 and "mask_mod" in text else "never")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = folder / "f.mlir"
        path.write_text(text)
        for table, (element, extents, values) in tables.items():
            write_table(folder / f"{table}.npy", element, extents, values)
            options += ["--input", f"{table}={folder / table}.npy"]
        if args.whole and number % args.whole == 0:
            code, output = run([args.run, "--cpu", "--check-each-pass=" + lists, "--check-ptx",
                                path, *options], args.timeout)
        else:
            tiles, reference = folder / "tiles.mlir", folder / "reference.mlir"
            code, output = run([args.opt, path, "--fa3-tile=" + lists, "-o", tiles],
                               args.timeout)
            if code == 0:
                code, output = run([args.opt, path, "--attention-expand-mods",
                                    "--attention-to-reference", "-o", reference], args.timeout)
            if code == 0:
                tolerance = "0.004" if "f16>" in text and "bf16>" not in text else "0.03"
                code, output = run([args.run, "--cpu", tiles, "--against", reference, "--atol",
                                    tolerance, "--rtol", tolerance, *options], args.timeout)
    if code == 0:
        return "ok", output
    errors = re.findall(r"error: .*", output)
    if errors and any(re.search(limit, errors[0]) for limit in LIMITS):
        return "limit", errors[0]
    return "failed", output


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", default="fa3-run")
    parser.add_argument("--opt", default="fa3-opt")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--whole", type=int, default=20, metavar="N",
                        help="every Nth problem after every pass, 0 for none")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=int, default=120)
    parser.add_argument("--print", type=int, metavar="NUMBER", help="show a problem and stop")
    args = parser.parse_args()
    if args.print is not None:
        text, options, tables = build(args.seed, args.print)
        print(text, options, {name: table[:2] for name, table in tables.items()}, sep="\n")
        return
    counts = {"ok": 0, "limit": 0, "failed": 0}
    numbers = range(args.first, args.first + args.count)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for number, (result, output) in zip(
                numbers, pool.map(lambda number: attempt(args, number), numbers)):
            counts[result] += 1
            if result != "ok":
                print(f"{number}: {result}: {output.strip()}", flush=True)
    print(f"{args.count} problems, {counts['ok']} right, {counts['limit']} limits, "
          f"{counts['failed']} failed")
    sys.exit(1 if counts["failed"] else 0)


if __name__ == "__main__":
    main()
