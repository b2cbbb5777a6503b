#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes mutants of PTX text and asks the executor of fa3-run what it finds.

The kernels are cases of cases.json. A mutant is run on the case's problems until
one finds it, and is

  error      if the executor stops: a check, a deadlock, no end in --timeout;
  value      if the answer differs from the reference by more than the bound;
  bits       if the answer is in the bound but has other bits than without mutation;
  unreached  if no problem gets to the place: nothing was tried, it does not count;
  MISSED     otherwise.

An unreached place is shown by a run with 'trap' in front of it. No mutant is called
harmless: what is MISSED may be a hole in the checks, a place that matters for other
sizes only, or a text that means the same. PTX's registers are virtual, so that the
executor cannot see what 'setmaxnreg' is for.

The exit code is 1 if mutants are missed. --count takes so many, evenly by kind.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CASES = ["full d64", "full d64 three slots", "full d64 persistent", "causal d64",
         "gqa d64 dynamic", "fp8 d64", "window d128",
         "computed operands softcap d64 persistent", "packed gqa d64 persistent"]
DROPPED = {
    "drop-proxy-fence": r"fence\.proxy\.async",
    "drop-product-fence": r"wgmma\.fence",
    "drop-thread-fence": r"fence\.(acq_rel|mbarrier_init)",
    "drop-commit": r"wgmma\.commit_group",
    "drop-product": r"wgmma\.mma_async",
    "drop-product-wait": r"wgmma\.wait_group",
    "drop-arrive": r"mbarrier\.arrive\.shared",
    "drop-expect": r"mbarrier\.arrive\.expect_tx",
    "drop-init": r"mbarrier\.init",
    "drop-repeat": r"bra\s+WAIT_",
    "drop-barrier": r"bar(rier)?\.sync",
    "drop-copy": r"cp\.async\.bulk\.tensor",
    "drop-store-wait": r"cp\.async\.bulk\.wait_group",
    "drop-store-commit": r"cp\.async\.bulk\.commit_group",
    "drop-registers": r"setmaxnreg",
    "drop-store": r"(st\.(shared|global)|stmatrix)",
    "drop-shuffle": r"shfl\.sync",
}
STATEMENT = re.compile(r"^\s*(@!?%?\w+\s+)?([a-z][\w.:]+)(\s.*)?;")


def dropped(pattern):
    def edit(line, opcode):
        if re.match(pattern, opcode) or re.match(pattern, line.strip()):
            yield "//"
    return edit


def replaced(opcodes, pattern, *new):
    """Each place of the pattern in instructions of a name, by each new text."""
    def edit(line, opcode):
        if not re.match(opcodes, opcode):
            return
        for match in re.finditer(pattern, line):
            for text in new:
                changed = match.expand(text) if isinstance(text, str) else text(match)
                if changed != match.group():
                    yield line[:match.start()] + changed + line[match.end():]
    return edit


def other_predicate(line, opcode):
    match = re.match(r"^(\s*@)(!?)(.*)", line)
    if match:
        yield match[1] + ("" if match[2] else "!") + match[3]
    if match and not opcode.startswith("bra"):
        yield re.sub(r"^(\s*)@!?%?\w+\s+", r"\1", line)


def swapped(line, opcode):
    """The two sources of what is not symmetric."""
    match = re.match(r"^(\s*(?:@\S+\s+)?\S+\s+%\w+, )(%\w+), (%\w+)(.*)", line)
    if match and re.match(r"(sub|shl|shr|selp|div|setp\.(lt|gt|le|ge))", opcode) \
            and match[2] != match[3]:
        yield f"{match[1]}{match[3]}, {match[2]}{match[4]}"


def one_more(match):
    return str(int(match[0]) + 1)


def one_less(match):
    return str(int(match[0]) - 1)


def twice(match):
    return str(2 * int(match[0]))


def half(match):
    return str(int(match[0]) // 2)


EDITS = {
    **{name: dropped(pattern) for name, pattern in DROPPED.items()},
    "product-wait": replaced(r"wgmma\.wait_group", r"\d+(?=;)", one_more),
    "bytes": replaced(r"mbarrier\.arrive\.expect_tx", r"\d+(?=;)", half, twice),
    "arrivals": replaced(r"mbarrier\.init", r"\d+(?=;)", one_more, twice),
    "barrier-count": replaced(r"bar\.sync", r"\d+(?=;)", twice, half),
    "transpose": replaced(r"wgmma\.mma", r"(\d), (\d);", lambda m: f"{m[1]}, {1 - int(m[2])};"),
    "scale": replaced(r"wgmma\.mma", r"p, 1, 1", "p, -1, 1", "p, 1, -1"),
    "accumulate": replaced(r"setp\.ne\.b32", r"p, ([01]), 0;",
                           lambda m: f"p, {1 - int(m[1])}, 0;"),
    "parity": replaced(r"xor\.b32", r", 1;", ", 0;"),
    "comparison": replaced(r"setp", r"(?<=setp\.)(lt|le|gt|ge|eq|ne)(?=\.)", lambda m: {
        "lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}[m[0]]),
    "predicate": other_predicate,
    "swap": swapped,
    "offset": replaced(r"(st|ld)\.(shared|global)|stmatrix|ldmatrix", r"(?<=\+)\d+(?=\])",
                       lambda m: str(int(m[0]) + 16)),
    "parameter": replaced(r"ld\.param", r"(?<=param_)\d+(?=[\]+])", one_more),
    "descriptor": replaced(r"(add|or|mov|and|shl|shr)\.(b|s|u)64", r"(?<=, )-?\d+(?=;)",
                           one_more, twice),
    "constant": replaced(r"(add|shl|shr|and|or|mul|mad|xor|shfl)\.", r"(?<=, )\d+(?=[;,])",
                         one_more, one_less),
    "operation": replaced(r"(add|sub|max|min|and|or|mul)\.(rn\.)?(ftz\.)?[sfb]",
                          r"\b(add|sub|max|min|and|or)(?=\.)", lambda m: {
                              "add": "sub", "sub": "add", "max": "min", "min": "max",
                              "and": "or", "or": "and"}[m[0]]),
}


def mutants(text):
    """(kind, number of the line, new line) of every place."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        match = STATEMENT.match(line)
        if not match or line.lstrip().startswith("."):
            continue
        for kind, edit in EDITS.items():
            for changed in edit(line, match[2]):
                yield kind, number, changed


class Kernel:
    def __init__(self, args, case, folder):
        self.args, self.case, self.folder = args, case, folder
        self.name = case["name"]
        self.path = HERE / case["file"]
        self.stem = re.sub(r"\W", "_", self.name)
        pipeline = f"builtin.module(fa3-lower-to-nvvm-pipeline{{{case['pipeline']}}})"
        ptx = folder / f"{self.stem}.ptx"
        subprocess.run([args.translate, "--mlir-to-ptx", self.path,
                        f"--pass-pipeline={pipeline}", "-o", ptx], check=True)
        self.manifest = ptx.with_suffix(".json")
        self.text = ptx.read_text()
        self.lines = self.text.split("\n")
        module = self.path.read_text()
        results = module[module.index("->"):module.index("{\n")]
        self.outputs = re.findall(r'tile\.name = "(\w+)"', results)
        self.good = []
        for problem in case["problems"]:
            verdict, message, answer = self.run(self.text, "good", problem)
            if verdict:
                sys.exit(f"'{self.name}' fails without a mutation: {message}")
            self.good.append(answer)

    def run(self, text, name, problem):
        """('' or a verdict, what the tool says, the bytes of the answer)"""
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            ptx = pathlib.Path(place) / "mutant.ptx"
            ptx.write_text(text)
            files = [pathlib.Path(place) / f"{output}.npy" for output in self.outputs]
            command = [self.args.run, "--cpu", ptx, "--manifest", self.manifest,
                       "--reference", self.path,
                       "--dims", ",".join(f"{k}={v}" for k, v in problem.items())]
            if "sms" in self.case:
                command += ["--sms", self.case["sms"]]
            for output, file in zip(self.outputs, files):
                command += ["--output", f"{output}={file}"]
            try:
                done = subprocess.run([str(part) for part in command],
                                      capture_output=True, text=True,
                                      timeout=self.args.timeout)
            except subprocess.TimeoutExpired:
                return "error", "no end", b""
            if done.returncode < 0:
                return "crash", f"signal {-done.returncode}", b""
            message = done.stderr.strip()
            if done.returncode:
                return "value" if "differs" in message else "error", message, b""
            return "", "", b"".join(file.read_bytes() for file in files)

    def mutate(self, number, line):
        lines = list(self.lines)
        lines[number] = line
        return "\n".join(lines)

    def judge(self, mutant):
        kind, number, line = mutant
        text = self.mutate(number, line)
        for problem, good in zip(self.case["problems"], self.good):
            verdict, message, answer = self.run(text, "mutant", problem)
            if not verdict and answer != good:
                verdict, message = "bits", "other bits"
            if verdict:
                return verdict, message
        old = self.lines[number]
        guard = re.match(r"^\s*(@!?%?\w+\s+)?", old)[1] or ""
        if kind == "predicate":
            guard = ""
        probe = self.mutate(number, f"{guard}trap;\n{old}")
        if not any(self.run(probe, "probe", problem)[0]
                   for problem in self.case["problems"]):
            return "unreached", ""
        return "MISSED", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--run", default="fa3-run")
    parser.add_argument("--translate", default="fa3-translate")
    parser.add_argument("--case", action="append", help="names of cases.json")
    parser.add_argument("--kind", action="append", choices=sorted(EDITS))
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=int, default=20)
    parser.add_argument("--list", action="store_true", help="a line for each mutant")
    args = parser.parse_args()
    begin = time.time()
    cases = {case["name"]: case for case in json.loads((HERE / "cases.json").read_text())}
    table = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as name, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        kinds = collections.defaultdict(list)
        for case in args.case or CASES:
            kernel = Kernel(args, cases[case], pathlib.Path(name))
            for mutant in mutants(kernel.text):
                if not args.kind or mutant[0] in args.kind:
                    kinds[mutant[0]].append((kernel, mutant))
        # Kinds with few places are whole; those with many share what is left.
        chosen, left = [], args.count or sum(map(len, kinds.values()))
        for i, (_, places) in enumerate(sorted(kinds.items(), key=lambda x: len(x[1]))):
            take = min(len(places), max(1, left // (len(kinds) - i)))
            chosen += [places[j * len(places) // take] for j in range(take)]
            left -= take
        jobs = {pool.submit(kernel.judge, mutant): (kernel, mutant)
                for kernel, mutant in chosen}
        for job in concurrent.futures.as_completed(jobs):
            kernel, (kind, number, line) = jobs[job]
            verdict, message = job.result()
            table[kind][verdict] += 1
            if args.list or verdict in ("MISSED", "crash"):
                print(f"{kernel.name}, {kind}, line {number + 1}: {verdict}: "
                      f"{kernel.lines[number].strip()} -> {line.strip()}: "
                      f"{message[:200]}", flush=True)
    print("%-20s %6s %6s %6s %6s %9s %6s" % ("kind", "tried", "error", "value",
          "bits", "unreached", "MISSED"))
    total = sum(table.values(), collections.Counter())
    for kind, count in [*sorted(table.items()), ("all", total)]:
        tried = sum(count.values()) - count["unreached"]
        print("%-20s %6d %6d %6d %6d %9d %6d" % (
            kind, tried, count["error"], count["value"], count["bits"],
            count["unreached"], count["MISSED"] + count["crash"]))
    caught = total["error"] + total["value"] + total["bits"]
    missed = total["MISSED"] + total["crash"]
    print("mutants of PTX: tried %d, caught %d, missed %d, seconds %.0f" % (
        caught + missed, caught, missed, time.time() - begin))
    return missed != 0


if __name__ == "__main__":
    sys.exit(main())
