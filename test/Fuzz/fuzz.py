#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles random attention problems and checks the answer after every pass, or
with --device the answer of a GPU, against attention by definition.

Problem number N depends on --seed and N only. A failure is simplified feature
by feature while it stays, and written to --save as a test for lit. fa3-reduce
makes the module of such a test smaller still.
"""
import argparse
import concurrent.futures
import functools
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time

# Limits of the device or of the compiler that a pass may state. Anything else
# that stops the pipeline is a failure.
LIMITS = [
    r"registers",
    r"shared memory",
    r"has no wgmma",
    r"the limit of a bulk copy",
    r"multiples? of",
    r"expects '?(block-m|block-n|replicas)",
    r"has no lowering to hopper: ",
    r"cannot have the heads of a group packed",
]


OPTIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                       "include", "fa3", "Options", "Options.td")


@functools.lru_cache
def words_of_options():
    """The words of each option that has some, from the one place of options."""
    with open(OPTIONS) as file:
        text = re.sub(r"//.*", "", file.read())
    words = {name: re.findall(r'"([^"]+)"', listed) for name, listed in
             re.findall(r'def (Words_\w+)\s*:\s*Words<"\w+",\s*\[([^]]*)\]', text)}
    return {option: words[name] for option, name in
            re.findall(r'Word<\s*"\w+",\s*"([\w-]+)",\s*(Words_\w+)', text)}


def words(option, *without):
    """What an option may be set to, but for some words."""
    return [word for word in words_of_options()[option] if word not in without]


def choose(rng):
    """A problem as a dictionary of features, all of which can be simplified."""
    p = {
        "type": rng.choice(["f16", "bf16"]),
        "float8": None,
        "d": rng.choice([16, 32, 64, 64, 96, 128, 192, 256]),
        "dv": None,
        "b": rng.choice([1, 1, 2]),
        "hk": rng.choice([1, 1, 2]),
        "groups": rng.choice([1, 1, 2, 3]),
        "sq": rng.choice([0, 1, 17, 63, 64, 65, 100, 128, 200, 257]),
        "sk": rng.choice([0, 1, 15, 64, 79, 80, 81, 128, 170, 300]),
        "layout": rng.choice(["bhsd", "bhsd", "bshd"]),
        "orders": {},
        "mods": rng.choice(["", "", "", "#attention.causal", "window", "softcap"]),
        "keep": None,
        "score": None,
        "previous": None,
        "scale": rng.choice([None, None, 0.3]),
        "lse": rng.random() < 0.7,
        "static": [],
        "options": {},
        "run": {},
    }
    if rng.random() < 0.2:
        p["dv"] = rng.choice([32, 64, 128])
    for name in "qkv":
        if rng.random() < 0.25:
            p["orders"][name] = rng.choice(["0,2,1,3", "1,0,2,3", "2,1,0,3"])
    if p["mods"] == "window":
        p["mods"] = "#attention.window<left = %d, right = %d>" % (
            rng.choice([0, 5, 64, 100]), rng.choice([0, 3, 40]))
    if p["mods"] == "softcap":
        p["mods"] = "#attention.softcap<%.1f>" % rng.choice([5, 30, 50])
    if rng.random() < 0.5:
        p["keep"] = [predicate(rng) for _ in range(rng.choice([1, 1, 2, 3]))]
    if rng.random() < 0.4:
        p["score"] = [rng.choice(["scale", "distance", "tanh", "position", "heads"])
                      for _ in range(rng.choice([1, 2]))]
    for name, values in {
            "block-m": [64, 128, 192], "block-n": [16, 48, 64, 80, 112, 128],
            "stages": [1, 2], "max-depth": [1, 2, 3],
            "mode": words("mode", "auto"),
            # Scores without bounds grow.
            "rescale": words("rescale", "never"),
            # In place needs a tile as wide as the output.
            "store": words("store", "auto", "in-place"),
            "order": words("order", "auto")}.items():
        if rng.random() < 0.45:
            p["options"][name] = rng.choice(values)
    if rng.random() < 0.6:
        p["run"] = {"completion": rng.choice(["eager", "random"]),
                    "schedule-seed": rng.randrange(1000)}
    if rng.random() < 0.3:
        p["run"]["guards"] = rng.choice(["random", "taken"])
    if rng.random() < 0.3:
        p["run"]["sms"] = rng.choice([1, 2, 5])
        p["options"]["section-rounds"] = rng.choice([0, 1, 2])
    if rng.random() < 0.2:
        p["run"]["distribution"] = rng.choice(["uniform", "outlier"])
    if rng.random() < 0.25:
        p["float8"] = float8(rng, p)
        # Larger scores lose more than the tolerance to sums of 14 bits.
        p["scale"] = p["scale"] and 0.05
    # Extents that the compiler knows.
    if rng.random() < 0.4:
        p["static"] = rng.choice([["sk"], ["sq"], ["sq", "sk"], ["h", "hk"],
                                  ["h", "hk"], ["b", "h", "hk", "sq", "sk"]])
        if "hk" in p["static"]:
            p["groups"] = rng.choice([1, 2, 3, 4, 5, 8])
            if rng.random() < 0.5:
                p["options"]["pack-gqa"] = "true"
        if rng.random() < 0.5:
            p["options"]["sms"] = rng.choice([1, 2, 3, 7])
        if "sk" in p["static"] and rng.random() < 0.5:
            p["options"]["last-block"] = "narrow"
    # Of lengths that the launch gives, too, by a generator that leaves this one alone:
    # problems keep their numbers.
    apart = random.Random(rng.getstate()[1][0])
    if "sk" not in p["static"] and apart.random() < 0.3:
        p["options"]["last-block"] = "narrow"
    if rng.random() < 0.3:
        p["options"]["early-votes"] = rng.choice(words("early-votes", "auto"))
    if rng.random() < 0.15:
        p["run"]["distribution"] = "growing"
    if rng.random() < 0.1 and not p["float8"]:
        p["options"].update({"solver": "modulo", "stages": rng.choice([2, 3]),
                             "block-m": 64, "block-n": rng.choice([16, 48, 64])})
    if rng.random() < 0.1 and not p["float8"]:
        p["options"]["warp-specialize"] = "false"
        if p["options"].get("mode") == "dynamic":
            del p["options"]["mode"]
    if rng.random() < 0.15:
        p["previous"] = rng.choice(["f32", "f32", "f16", "bf16"])
    return p


def float8(rng, p):
    """8-bit operands: format of q and k, output, kind of scale of q, k and v,
    which has 8-bit floats, and how many of these make an element of q."""
    p["type"] = rng.choice(["f8E4M3FN", "f8E4M3FN", "f8E5M2", "i8"])
    if rng.random() < 0.2:
        p["options"]["rescale-threshold"] = rng.choice([0, 2, 4])
    if "block-n" in p["options"]:
        p["options"]["block-n"] = rng.choice([32, 64, 96, 128])
    result = {
        "out": rng.choice(["f16", "bf16", "f32"]),
        "shared": [rng.choice(["", "b", "h", "bh"]) for _ in "qkv"],
        "rows": [rng.choice([0, 0, 1, 64, 128]), rng.choice([0, 0, 1, 64, 128]),
                 rng.choice([0, 0, 64, 128])],
    }
    result["terms"] = rng.choice([1, 1, 2]) if p["type"] != "i8" else 1
    return result


def predicate(rng):
    """ci * i + cj * j + cb * b + ch * h + c0 compared with 0."""
    return {
        "ci": rng.choice([-2, -1, 0, 1, 1, 2]), "cj": rng.choice([-2, -1, -1, 1, 2, 3]),
        "cb": rng.choice([0, 0, 7]), "ch": rng.choice([0, 0, -5]),
        "c0": rng.randrange(-120, 121), "than": rng.choice(["sge", "slt", "ne"]),
        "join": rng.choice(["andi", "ori"]),
    }


def extents(p):
    """Of the dimensions by name."""
    return {"b": p["b"], "h": p["hk"] * p["groups"], "hk": p["hk"],
            "sq": p["sq"], "sk": p["sk"]}


def scales(p):
    """Names and extents of the scales of 8-bit operands."""
    if not p["float8"]:
        return []
    result = []
    for name, shared, rows, length, heads in zip(
            "qkv", p["float8"]["shared"], p["float8"]["rows"], [p["sq"], p["sk"], p["sk"]],
            [p["hk"] * p["groups"], p["hk"], p["hk"]]):
        result.append((name + "_scale", [
            1 if "b" in shared else p["b"], 1 if "h" in shared else heads,
            -(-length // rows) if rows else 1]))
    return result


def build(p):
    """The text of a module."""
    lines = []
    counter = [0]

    def emit(text):
        counter[0] += 1
        name = "%%x%d" % counter[0]
        lines.append("      %s = %s" % (name, text))
        return name

    t, d = p["type"], p["d"]
    dv = p["dv"] or d
    known = {name: str(n) if name in p["static"] else "?"
             for name, n in extents(p).items()}

    def tensor(heads, rows, last, t=t):
        names = ["b", heads, rows] if p["layout"] == "bhsd" else ["b", rows, heads]
        return "tensor<%sx%dx%s>" % ("x".join(known[n] for n in names), last, t)

    terms = p["float8"]["terms"] if p["float8"] else 1
    qt, kt = tensor("h", "sq", terms * d), tensor("hk", "sk", d)
    vt = tensor("hk", "sk", dv, "f8E4M3FN" if t == "i8" else t)
    ot = tensor("h", "sq", dv, p["float8"]["out"] if p["float8"] else t)
    lt = "tensor<%sx%sx%sxf32>" % (known["b"], known["h"], known["sq"])
    extra = ', %%scale: f32 {tile.name = "scale"}' % () if p["scale"] else ""
    scale_types = ["tensor<?x?x%sxf32>" % ("?" if rows else "1")
                   for rows in (p["float8"]["rows"] if p["float8"] else [])]
    for (name, _), scale_type in zip(scales(p), scale_types):
        extra += ', %%%s: %s {tile.name = "%s"}' % (name, scale_type, name)
    if p["previous"]:
        previous = tensor("h", "sq", dv, p["previous"]), lt
        extra += ', %%po: %s {tile.name = "previous_o"}' % previous[0]
        extra += ', %%pl: %s {tile.name = "previous_lse"}' % previous[1]
    results = ['%s {tile.name = "o"}' % ot]
    types = [ot]
    if p["lse"]:
        results.append('%s {tile.name = "lse"}' % lt)
        types.append(lt)
    names = ", ".join(["%o", "%lse"][:len(types)])
    head = ('func.func @f(%%q: %s {tile.name = "q"}, %%k: %s {tile.name = "k"}, '
            '%%v: %s {tile.name = "v"}%s)\n    -> (%s) {\n' %
            (qt, kt, vt, extra, ", ".join(results)))
    forward = "  %s = attention.forward %%q, %%k, %%v" % names
    if p["scale"]:
        forward += " scale %scale"
    if p["float8"]:
        forward += " scales(%%q_scale, %%k_scale, %%v_scale : %s) rows %s" % (
            ", ".join(scale_types), p["float8"]["rows"])
    if p["previous"]:
        forward += " previous(%%po, %%pl : %s, %s)" % previous
    if terms != 1:
        forward += " q_terms %d" % terms
    if p["layout"] != "bhsd":
        forward += " layout " + p["layout"]
    if p["mods"]:
        forward += " mods [%s]" % p["mods"]
    forward += "\n    : (%s, %s, %s) -> %s\n" % (
        qt, kt, vt, types[0] if len(types) == 1 else "(%s)" % ", ".join(types))
    if p["score"]:
        value = "%s"
        for what in p["score"]:
            if what == "scale":
                c = emit("arith.constant 1.25 : f32")
                value = emit("arith.mulf %s, %s : f32" % (value, c))
            elif what == "tanh":
                c = emit("arith.constant 0.5 : f32")
                x = emit("arith.mulf %s, %s : f32" % (value, c))
                value = emit("math.tanh %s : f32" % x)
            elif what == "heads":
                x = emit("arith.index_cast %h : index to i32")
                f = emit("arith.sitofp %s : i32 to f32" % x)
                value = emit("arith.addf %s, %s : f32" % (value, f))
            else:
                x = "%j"
                if what == "distance":
                    x = emit("arith.subi %j, %i : index")
                x = emit("arith.index_cast %s : index to i32" % x)
                f = emit("arith.sitofp %s : i32 to f32" % x)
                f = emit("math.absf %s : f32" % f)
                c = emit("arith.constant -0.01 : f32")
                f = emit("arith.mulf %s, %s : f32" % (f, c))
                value = emit("arith.addf %s, %s : f32" % (value, f))
        forward += ("    score_mod (%%s, %%b, %%h, %%i, %%j) {\n%s\n"
                    "      attention.yield %s : f32\n    }\n" % ("\n".join(lines), value))
        lines.clear()
    if p["keep"]:
        result = None
        zero = emit("arith.constant 0 : index")
        for q in p["keep"]:
            total = emit("arith.constant %d : index" % q["c0"])
            for name, c in (("%i", q["ci"]), ("%j", q["cj"]), ("%b", q["cb"]), ("%h", q["ch"])):
                if c:
                    factor = emit("arith.constant %d : index" % c)
                    term = emit("arith.muli %s, %s : index" % (name, factor))
                    total = emit("arith.addi %s, %s : index" % (total, term))
            keep = emit("arith.cmpi %s, %s, %s : index" % (q["than"], total, zero))
            result = emit("arith.%s %s, %s : i1" % (q["join"], result, keep)) if result else keep
        forward += ("    mask_mod (%%b, %%h, %%i, %%j) {\n%s\n"
                    "      attention.yield %s : i1\n    }\n" % ("\n".join(lines), result))
    return head + forward + "  return %s : %s\n}\n" % (names, ", ".join(types))


EXTRA = []
# Whether problems run on a GPU; which end with the PTX on the CPU (every fifth, none
# with 0); how many times as long they are.
DEVICE = False
PTX = 5
LONGER = 1


def command(p, tool, path):
    """The command line that checks a problem."""
    dims = extents(p)
    for name, sizes in scales(p):
        dims.update(("%s.%d" % (name, axis), size) for axis, size in enumerate(sizes))
    options = " ".join(["%s=%s" % item for item in p["options"].items()] + EXTRA)
    result = [tool]
    if DEVICE:
        result += ["--executor=device", "--pipeline-options=" + options]
    else:
        result += ["--cpu", "--check-each-pass=" + options] + ["--check-ptx"] * p["ptx"]
    result += [path, "--dims", ",".join("%s=%d" % item for item in dims.items())]
    if p["scale"]:
        result += ["--scalar", "scale=%g" % p["scale"]]
    if p["previous"]:
        result += ["--fill", "previous_lse=4"]
    result += ["--order=%s=%s" % item for item in p["orders"].items()]
    # The others are about the interpreter.
    result += ["--%s=%s" % (name, value) for name, value in p["run"].items()
               if not DEVICE or name == "distribution"]
    return result


def attempt(p, tool, timeout):
    """'ok', 'limit' or 'failed', and the output."""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir", delete=False) as file:
        file.write(build(p))
    try:
        done = subprocess.run(command(p, tool, file.name), capture_output=True,
                              text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return "failed", "takes longer than %d s" % timeout
    finally:
        os.unlink(file.name)
    if done.returncode == 0:
        return "ok", done.stdout
    # A limit is an error of a pass, not of the interpreter or the comparison.
    stopped = done.returncode == 1 and (
        not re.search("error: '.*' differs in", done.stderr) if DEVICE
        else "the pipeline fails" in done.stderr)
    if stopped and any(re.search(limit, done.stderr) for limit in LIMITS):
        return "limit", done.stderr
    return "failed", done.stderr


def kind(output):
    """What makes two failures the same: the first error without numbers."""
    match = re.search(r"error: (.*)", output)
    return re.sub(r"[-+]?[0-9][0-9.e+-]*", "N", match.group(1) if match else output[:80])


def simplify(p, output, tool, timeout):
    """Drops features while the failure stays the same."""
    wanted = kind(output)
    simple = {"type": "f16", "dv": None, "b": 1, "hk": 1, "groups": 1, "layout": "bhsd",
              "previous": None, "orders": {}, "mods": "", "keep": None, "score": None,
              "scale": None, "lse": False, "static": [], "run": {}, "d": 64, "sq": 64,
              "sk": 64, "options": {}, "ptx": False}
    candidates = [(name, value) for name, value in simple.items()]
    candidates += [("options", {k: v for k, v in p["options"].items() if k != name})
                   for name in p["options"]]
    for name, value in candidates:
        if p[name] == value:
            continue
        if name == "options" and value:
            value = {k: v for k, v in value.items() if k in p["options"]}
        trial = dict(p, **{name: value})
        if name == "type":
            trial["float8"] = None
        status, text = attempt(trial, tool, timeout)
        if status == "failed" and kind(text) == wanted:
            p, output = trial, text
    return p, output


def lit_test(p, output):
    """A test that fails as the problem does."""
    said = re.sub("^", "// ", output.strip(), flags=re.M)
    return "// RUN: %s\n%s\n\n%s" % (
        shlex.join(command(p, "fa3-run", "%s")), said, build(p))


def problem(seed, number):
    p = choose(random.Random("%d/%d" % (seed, number)))
    p["sq"] *= LONGER
    p["sk"] *= LONGER
    p["ptx"] = PTX > 0 and number % PTX == 0
    return p


def main():
    global DEVICE, LONGER, PTX
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", "--tools", default="fa3-run")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=int, default=120, help="seconds per problem")
    parser.add_argument("--seconds", type=float, help="start no problem after this time")
    parser.add_argument("--save", help="folder for failures")
    parser.add_argument("--print", type=int, metavar="N", help="print problem N and its command")
    parser.add_argument("--options", default="", help="more options of the pipeline")
    parser.add_argument("--device", action="store_true",
                        help="on a GPU, in place of the interpreter after every pass")
    parser.add_argument("--ptx", type=int, default=PTX, metavar="N",
                        help="of every Nth problem (5; 0: of none) the PTX, too, on the CPU, "
                        "beside the hopper dialect")
    parser.add_argument("--longer", type=int, default=1, metavar="TIMES",
                        help="lengths of queries and keys times this")
    args = parser.parse_args()
    EXTRA.extend(args.options.split())
    DEVICE, LONGER, PTX = args.device, args.longer, args.ptx
    if args.print is not None:
        p = problem(args.seed, args.print)
        print(build(p))
        print("// " + " ".join(command(p, args.tool, "FILE")))
        return 0
    begin = time.time()
    counts, limits = {"ok": 0, "limit": 0, "failed": 0}, {}

    def one(n):
        if args.seconds and time.time() - begin > args.seconds:
            return n, None, ""
        return (n,) + attempt(problem(args.seed, n), args.tool, args.timeout)

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for n, status, output in pool.map(one, range(args.first, args.first + args.count)):
            if status is None:
                continue
            counts[status] += 1
            if status == "limit":
                limits[kind(output)] = limits.get(kind(output), 0) + 1
            if status != "failed":
                continue
            p, output = simplify(problem(args.seed, n), output, args.tool, args.timeout)
            print("problem %d fails: %s" % (n, kind(output)), flush=True)
            text = lit_test(p, output)
            if args.save:
                os.makedirs(args.save, exist_ok=True)
                with open(os.path.join(args.save, "fuzz-%d-%d.mlir" % (args.seed, n)), "w") as file:
                    file.write(text)
            else:
                print(text)
    for text, count in sorted(limits.items(), key=lambda item: -item[1]):
        print("%5d  %s" % (count, text))
    print("fuzzed: tried %d, same answer %d, limits %d, failed %d, %.0f s" % (
        sum(counts.values()), counts["ok"], counts["limit"], counts["failed"],
        time.time() - begin))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
