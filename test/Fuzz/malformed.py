#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Feeds damaged modules, bytecode and manifests to the tools.

Sources are the lit tests' own modules, what every pass makes of a few kernels,
and manifests. Damage number N depends on --seed and N only. A tool may accept
its input or say what is wrong with it; a signal, an assertion, a fatal error
of LLVM, no message, or no end in --timeout seconds is a failure. Bytecode on
which upstream's own reader dies (mlir-opt, without fa3) is counted apart.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

CRASH = re.compile(r"LLVM ERROR|Assertion|UNREACHABLE|Stack dump|"
                   r"PLEASE submit a bug report|terminate called|"
                   r"AddressSanitizer|runtime error:")
TESTS = pathlib.Path(__file__).resolve().parent.parent

# Kernels whose every stage is a source: file, options of the pipeline.
KERNELS = [
    ("Inputs/window.mlir", "block-m=128 block-n=64"),
    ("../examples/gemm.mlir", ""),
    ("../examples/chain.mlir", ""),
]
TO_NVVM = "fa3-lower-to-nvvm-pipeline"
# What follows a conversion: programs and their attention, on tensors and as tiles.
IMPORTED = "attention-outline,attention-expand-mods,attention-to-tile"
NUMBERS = ["0", "1", "2", "3", "-1", "7", "16", "63", "64", "65", "128", "255",
           "4096", "65536", "2147483647", "-2147483648", "4294967296",
           "9223372036854775807"]
TOKEN = re.compile(
    r'[%@#!^]?[A-Za-z_][\w$.]*|[%@#!^][\w$]+|-?\d+|"[^"\n]*"|->|[^\s\w]')
MOST_CHARACTERS = 60000
MEMORY = 4 << 30
UPSTREAM = "upstream's reader of bytecode dies"


def run(command, timeout, **options):
    """(exit code, standard error); None as code for no answer in time."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=timeout,
                              preexec_fn=limit, **options)
        return done.returncode, done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return None, ""


#===-----------------------------------------------------------------------===#
# Sources
#===-----------------------------------------------------------------------===#


def read_tests():
    """Modules of the lit tests, split as the tests split them."""
    for path in sorted(TESTS.rglob("*.mlir")):
        text = path.read_text()
        parts = [("", text)]
        if "split-input-file" in text:
            parts = list(enumerate(re.split(r"^// -----.*$", text, flags=re.M)))
        elif "split-file" in text:
            parts = list(enumerate(re.split(r"^//--- .*$", text, flags=re.M)))
        for number, part in parts:
            part = re.sub(r"^\s*//.*\n", "", part, flags=re.M)
            if part.strip() and len(part) <= MOST_CHARACTERS:
                yield f"{path.relative_to(TESTS)}#{number}", part


def read_imports(mlir_opt):
    """Attention of other projects, in generic form: sources for
    convert-to-attention."""
    folder = TESTS / "Conversion" / "ConvertToAttention"
    written = folder / "Inputs" / "written"
    for path in sorted([*folder.glob("*.mlir"), *written.glob("*.mlir")]):
        text = path.read_text()
        if path.name == "linalg.mlir":
            if not mlir_opt:
                continue
            text = subprocess.run([mlir_opt, path, "-mlir-print-op-generic"],
                                  capture_output=True, text=True,
                                  check=True).stdout
        parts = re.split(r"^// -----.*$", text, flags=re.M)
        for number, part in enumerate(parts):
            part = re.sub(r"^\s*//.*\n", "", part, flags=re.M)
            if part.strip() and len(part) <= MOST_CHARACTERS:
                yield f"{path.relative_to(TESTS)}#{number} import", part


def read_stages(tools):
    """Modules after every pass that changes a kernel."""
    for name, options in KERNELS:
        done = subprocess.run(
            [f"{tools}/fa3-opt", TESTS / name, "--mlir-disable-threading",
             "--mlir-print-ir-after-all", "--mlir-print-ir-after-change",
             "--mlir-print-ir-module-scope",
             f"--pass-pipeline=builtin.module({TO_NVVM}{{{options}}})",
             "-o", os.devnull], capture_output=True, text=True, check=True)
        dumps = re.split(r"^// -----// IR Dump After \S+ \((\S+)\).*$",
                         done.stderr, flags=re.M)
        for i in range(1, len(dumps) - 1, 2):
            if len(dumps[i + 1]) <= MOST_CHARACTERS:
                yield f"{name} after {dumps[i]} ({i // 2})", dumps[i + 1]


def read_passes(tools):
    """Passes of fa3, and sets of them."""
    text = subprocess.run([f"{tools}/fa3-opt", "--help"], capture_output=True,
                          text=True, check=True).stdout
    names = re.findall(r"^ {6}--((?:attention|tile|warp|hopper|convert|fa3)-"
                       r"[\w-]+)", text, re.M)
    return sorted(set(names) - {"hopper-mutate", "tile-mutate"})


#===-----------------------------------------------------------------------===#
# Damage
#===-----------------------------------------------------------------------===#


def damage_text(rng, text, words):
    """One change of a text; `words` are tokens from elsewhere."""
    kind = rng.choice(["number", "number", "number", "token", "token", "swap",
                       "name", "name", "drop", "line", "line", "repeat",
                       "exchange", "cut", "byte"])
    tokens = list(TOKEN.finditer(text))
    lines = text.splitlines(keepends=True)
    if not tokens or len(lines) < 2:
        return text

    def replace(match, by):
        return text[:match.start()] + by + text[match.end():]

    if kind == "number":
        numbers = list(re.finditer(r"(?<![\w%#])-?\d+", text))
        if numbers:
            return replace(rng.choice(numbers), rng.choice(NUMBERS))
    if kind == "token":
        return replace(rng.choice(tokens), rng.choice(words))
    if kind == "swap":
        return replace(rng.choice(tokens), rng.choice(tokens).group())
    if kind == "name":
        names = [t for t in tokens if t.group()[0] == "%"]
        if names:
            return replace(rng.choice(names), rng.choice(names).group())
    if kind == "drop":
        return replace(rng.choice(tokens), "")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    if kind == "line":
        del lines[i]
    elif kind == "repeat":
        lines.insert(j, lines[i])
    elif kind == "exchange":
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == "cut":
        return text[:rng.randrange(len(text))]
    elif kind == "byte":
        at = rng.randrange(len(text))
        return text[:at] + chr(rng.randrange(1, 256)) + text[at + 1:]
    return "".join(lines)


def get_operation(line):
    match = re.search(r"[a-z_]\w*(?:\.[a-z_]\w*)+", line)
    return match.group() if match else ""


def damage_gently(rng, text, lines_of):
    """One change that parsers and verifiers may well accept. `lines_of` holds
    lines of all sources by their operation."""
    lines = text.splitlines(keepends=True)
    i = rng.randrange(len(lines))
    kind = rng.choice(["number", "number", "value", "value", "operands",
                       "likewise", "likewise", "likewise", "drop", "exchange"])
    line = lines[i]
    tokens = list(TOKEN.finditer(line))
    names = [t for t in tokens if t.group()[0] == "%"]
    if kind == "number":
        numbers = list(re.finditer(r"(?<![\w%#])-?\d+", text))
        if not numbers:
            return text
        number = rng.choice(numbers)
        return text[:number.start()] + rng.choice(NUMBERS) + text[number.end():]
    if kind == "value" and len(names) > 1:
        # Another value that is named alike, and defined before or after.
        name = rng.choice(names[1:] if " = " in line else names)
        stem = re.match(r"%[a-z]*", name.group()).group()
        others = re.findall(re.escape(stem) + r"[\w#]*", text)
        lines[i] = line[:name.start()] + rng.choice(others) + line[name.end():]
    elif kind == "operands" and len(names) > 2:
        a, b = sorted(rng.sample(range(len(names)), 2))
        a, b = names[a], names[b]
        lines[i] = (line[:a.start()] + b.group() + line[a.end():b.start()] +
                    a.group() + line[b.end():])
    elif kind == "likewise" and tokens:
        # What another operation of the name has there, of the same kind.
        other = [t.group() for t in TOKEN.finditer(
            rng.choice(lines_of.get(get_operation(line), [line])))] or ["0"]
        at = rng.randrange(min(len(tokens), len(other)))
        token = tokens[at]
        if other[at][0] != "%" and token.group()[0] != "%":
            lines[i] = line[:token.start()] + other[at] + line[token.end():]
    elif kind == "drop" and " = " not in line and "{" not in line and \
            "}" not in line:
        del lines[i]
    elif kind == "exchange" and i + 1 < len(lines):
        lines[i], lines[i + 1] = lines[i + 1], line
    return "".join(lines)


def damage_bytes(rng, data):
    """Some changes of a file that is not text."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(data))
        kind = rng.randrange(4)
        if kind == 0:
            data[at] = rng.randrange(256)
        elif kind == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del data[at:at + rng.choice([1, 4, 50])]
        else:
            data[at:at] = bytes(rng.randrange(256)
                                for _ in range(rng.choice([1, 8])))
        if not data:
            break
    return bytes(data)


def damage_json(rng, value):
    """A manifest with one place changed."""
    places = []

    def walk(node):
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, child in items:
            places.append((node, key))
            if isinstance(child, (dict, list)):
                walk(child)

    value = json.loads(json.dumps(value))
    walk(value)
    node, key = rng.choice(places)
    kind = rng.choice(["drop", "number", "word", "null", "list", "other",
                       "formula"])
    if kind == "drop":
        del node[key]
    elif kind == "number":
        node[key] = rng.choice([0, -1, 1, 2**31, 2**63, 1e300, 0.5, 17])
    elif kind == "word":
        node[key] = rng.choice(["", "f16", "q", "x" * 5000, "\u0000", "%s%n"])
    elif kind == "null":
        node[key] = None
    elif kind == "list":
        node[key] = rng.choice([[], {}, [[]], [node[key]] * 50])
    elif kind == "formula":
        node[key] = rng.choice([
            "1 / 0", "(" * 3000, "q.shape[99]", "q.shape[0] ** 9", "- - - 1",
            "a ? b", "ceildiv(q.shape[0], 0)", "9999999999999999999999",
            "q.shape[0] * 4611686018427387904 * 4"])
    else:
        other, name = rng.choice(places)
        node[key] = json.loads(json.dumps(other.get(name)
                                          if isinstance(other, dict) else
                                          other[name] if name < len(other)
                                          else None))
    return value


#===-----------------------------------------------------------------------===#
# Trials
#===-----------------------------------------------------------------------===#


class Trials:
    """What is damaged, and what is run on it."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.imports = list(read_imports(args.mlir_opt))
        self.modules = [*read_tests(), *read_stages(args.tools), *self.imports]
        self.chosen = [m for m in self.modules if args.only and args.only in m[0]]
        if args.only and not self.chosen:
            sys.exit(f"no source has '{args.only}' in its name")
        self.passes = read_passes(args.tools)
        words, self.lines_of = set(), {}
        for _, text in self.modules:
            words.update(token.group() for token in TOKEN.finditer(text))
            for line in text.splitlines(keepends=True):
                self.lines_of.setdefault(get_operation(line), []).append(line)
        self.words = sorted(words)
        self.stages = [m for m in self.modules if " after " in m[0]]
        self.bytecode, self.programs = [], []
        for i, (name, text) in enumerate(self.modules):
            if " after " not in name or i % 5:
                continue
            path = os.path.join(folder, f"source{i}.mlir")
            pathlib.Path(path).write_text(text)
            code, _ = run([f"{args.tools}/fa3-opt", path, "--emit-bytecode",
                           "-o", path + "bc"], 60)
            if code == 0:
                self.bytecode.append((name, pathlib.Path(path + "bc")
                                      .read_bytes()))
        if args.driver and os.path.exists(args.driver):
            for i, (name, options) in enumerate(KERNELS):
                path = os.path.join(folder, f"program{i}.ptx")
                subprocess.run(
                    [f"{args.tools}/fa3-translate", TESTS / name,
                     f"--pass-pipeline=builtin.module({TO_NVVM}"
                     f"{{{options}}})", "--mlir-to-ptx", "-o", path],
                    check=True)
                manifest = path[:-4] + ".json"
                self.programs.append(
                    (name, path, pathlib.Path(manifest).read_text()))

    def make(self, number):
        """(description, command, environment, file that is damaged)"""
        rng = random.Random(f"{self.args.seed}/{number}")
        tools = self.args.tools
        base = os.path.join(self.folder, f"trial{number}")
        kind = rng.choices(["text", "bytecode", "manifest"],
                           [8, 1, 1 if self.programs else 0])[0]
        if self.chosen:
            kind = "text"
        if kind == "manifest":
            name, program, text = rng.choice(self.programs)
            if rng.random() < 0.3:
                text = damage_bytes(rng, text.encode())
            else:
                text = json.dumps(damage_json(rng, json.loads(text))).encode()
            path = base + ".json"
            pathlib.Path(path).write_bytes(text)
            dims = "b=1,h=2,hk=1,sq=9,sk=13,m=8,n=8,k=8"
            return (f"manifest of {name}",
                    [f"{tools}/fa3-run", program, f"--manifest={path}",
                     f"--dims={dims}", "--no-check"],
                    dict(os.environ, FA3_LIBCUDA=self.args.driver), path)
        if kind == "bytecode":
            name, data = rng.choice(self.bytecode)
            path = base + ".mlirbc"
            pathlib.Path(path).write_bytes(damage_bytes(rng, data))
        else:
            name, text = rng.choice(self.chosen or rng.choice(
                [self.modules, self.modules, self.stages, self.stages,
                 self.imports]))
            gentle = rng.random() < 0.8
            for _ in range(rng.choice([1, 1, 1, 2, 3])):
                text = (damage_gently(rng, text, self.lines_of) if gentle else
                        damage_text(rng, text, self.words))
            path = base + ".mlir"
            pathlib.Path(path).write_text(text)
        # What may follow: a pass, all of them, code, or the interpreter.
        some = rng.choice(self.passes)
        what = rng.choices(["parse", "pass", "passes", "code", "run"],
                           [2, 3, 3, 2, 2])[0]
        after = re.search(r" after ", name)
        pipeline = TO_NVVM if not after else rng.choice(
            [TO_NVVM, "fa3-hopper-to-llvm", "canonicalize,cse"])
        if what == "parse":
            command = [f"{tools}/fa3-opt"]
        elif what == "pass":
            command = [f"{tools}/fa3-opt", f"--{some}"]
        elif what == "passes":
            command = [f"{tools}/fa3-opt",
                       f"--pass-pipeline=builtin.module({pipeline})"]
        elif what == "code":
            command = [f"{tools}/fa3-translate", "--mlir-to-ptx",
                       "--no-manifest",
                       f"--pass-pipeline=builtin.module({pipeline})"]
        else:
            dims = ["b", "h", "hk", "sq", "sk", "m", "n", "k"]
            command = [f"{tools}/fa3-run", "--cpu", "--no-check", "--dims=" +
                       ",".join(f"{d}={rng.choice([1, 2, 3])}" for d in dims)]
        if name.endswith(" import"):
            foreign = "--allow-unregistered-dialect"
            command = [f"{tools}/fa3-opt", foreign, "--convert-to-attention"]
            if what == "code":
                command = [f"{tools}/fa3-translate", foreign, "--mlir-to-ptx",
                           "--no-manifest", "--pass-pipeline=builtin.module("
                           f"convert-to-attention,{TO_NVVM})"]
            elif what in ("passes", "run"):
                what = "passes"
                command = [f"{tools}/fa3-opt", foreign, "--pass-pipeline="
                           f"builtin.module(convert-to-attention,{IMPORTED})"]
        if what in ("parse", "pass", "passes"):
            command += ["-o", os.devnull, "--mlir-disable-threading"]
        elif what == "code":
            command += ["-o", os.devnull]
        return name, command + [path], None, path

    def kills_upstream(self, path):
        """Whether upstream's reader dies of bytecode, with no code of fa3."""
        if not self.args.mlir_opt:
            return False
        code, text = run([self.args.mlir_opt, "--allow-unregistered-dialect",
                          "-o", os.devnull, path], self.args.timeout)
        return code is None or code < 0 or bool(CRASH.search(text))

    def attempt(self, number):
        """(number, what is wrong or nothing, command, the damaged file)"""
        name, command, environment, path = self.make(number)
        code, text = run(command, self.args.timeout, env=environment)
        problem = ""
        if code is None:
            problem = f"no end in {self.args.timeout} s"
        elif code < 0:
            problem = f"signal {-code}"
        elif CRASH.search(text):
            problem = CRASH.search(text).group()
        elif code not in (0, 1):
            problem = f"exit code {code}"
        elif code == 1 and "error" not in text:
            problem = "fails without an error"
        if problem and path.endswith(".mlirbc") and self.kills_upstream(path):
            problem = UPSTREAM
        if not problem:
            os.unlink(path)
        return number, problem, code, name, command, path, text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, help="folder of the tools")
    parser.add_argument("--driver", help="library that acts as CUDA driver, "
                        "for manifests")
    parser.add_argument("--mlir-opt", help="upstream's tool, to tell whose a "
                        "failure in bytecode is")
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", help="only sources with this in their name, such as "
                        "' import', or 'written' for attention that is written out")
    parser.add_argument("--timeout", type=int, default=60)
    parser.add_argument("--save", help="folder for what fails")
    args = parser.parse_args()
    begin = time.time()
    counts = {"accepted": 0, "refused": 0, "upstream": 0, "failed": 0}
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        trials = Trials(args, folder)
        for number, problem, code, name, command, path, text in pool.map(
                trials.attempt, range(args.first, args.first + args.count)):
            verdict = ("upstream" if problem == UPSTREAM else
                       "failed" if problem else
                       "accepted" if code == 0 else "refused")
            counts[verdict] += 1
            if not problem:
                continue
            print(f"{number}: {problem}: {name}: {' '.join(command)}")
            lines = [line for line in text.splitlines()
                     if re.search(r"error|#\d+ .* in |Assert|fa3::", line)]
            print("    " + "\n    ".join(line[:200] for line in lines[:8]),
                  flush=True)
            if args.save:
                os.makedirs(args.save, exist_ok=True)
                os.replace(path, os.path.join(
                    args.save, os.path.basename(path)))
    print("damaged: tried %d, refused %d, accepted %d, upstream's %d, "
          "failed %d, seconds %.0f" % (
              args.count, counts["refused"], counts["accepted"],
              counts["upstream"], counts["failed"], time.time() - begin))
    return counts["failed"] != 0


if __name__ == "__main__":
    sys.exit(main())
