#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes mutants of PTX text and asks the executor of fa3-run what it finds.

The kernels are cases of cases.json. A mutant is run on problems (see there) until one
finds it, in the usual schedule, then with each warp behind all others and in RANDOM
random ones. It is

  error      if the executor stops: a check, a deadlock, no end in --seconds;
  answer     if the answer has other bits than without mutation;
  unreached  if no problem gets to the place: nothing was tried, it does not count;
  harmless   if a rule of ptx_harmless.py shows that the text means the same;
  MISSED     otherwise: a hole in the checks, or a place that matters for other sizes.

An unreached place is shown by a run with 'trap' in front of it. The exit code is 1 if
mutants are missed. --count takes so many, evenly by kind.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import ptx_edits
import ptx_harmless
import ptx_inputs
import ptx_slices

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "Device"))
import ptx_bits  # noqa: E402

CASES = [
    "full d64",
    "full d64 three slots",
    "full d64 persistent",
    "causal d64",
    "gqa d64 dynamic",
    "fp8 d64",
    "window d128",
    "full d64 turns",
    "computed operands softcap d64 persistent",
    "packed gqa d64 persistent",
]
# With blocks of 32 keys, so that a group of 64 rows has several that are masked in part
# and goes through their loop more than once.
NARROW = ["causal d64", "gqa d64 dynamic", "window d128", "packed gqa d64 persistent"]
RANDOM = 5
KINDS = ["error", "answer", "unreached", "harmless", "MISSED", "crash"]


def problems(case):
    """Arguments of what a case is run on, the cheap and telling ones first: its own
    problems, some of them with six times the heads on one SM, and one with two batches,
    heads that share keys, scores that grow and two SMs."""

    def line(dims, sms, *more):
        dims = ",".join(f"{name}={value}" for name, value in dims.items())
        return ["--dims", dims, *(["--sms", str(sms)] if sms else []), *more]

    first = case["problems"][0]
    rich = {"b": 2, "h": 6, "hk": 2, "sq": 200, "sk": 330}
    if "h" not in first:
        rich = {"b": 5, "sq": 75, "sk": 330}
    given = [line(problem, case.get("sms")) for problem in case["problems"]]
    many = [
        line({**problem, dim: 6 * problem[dim]}, 1)
        for problem in case["problems"]
        for dim in ["h" if "h" in first else "b"]
        if problem["sk"] <= 260
    ]
    return [given[0], line(rich, 2, "--distribution=growing"), *many[:1], *given[1:], *many[1:]]


def last_problems(case):
    """What is tried when these find nothing: scores that grow in other ways; numbers
    of tiles and heads that divisions by multiplication have to get right (2^62 / 5
    has an even upper and an odd lower half); the last of so many tiles that a quotient
    needs all bits of its factor; and another order in memory."""

    def line(dims, *more):
        dims = ",".join(f"{name}={value}" for name, value in dims.items())
        return ["--dims", dims, *more]

    kinds = [f"--distribution={kind}" for kind in ("growing", "negative", "outlier")]
    long = {name: value for name, value in case["problems"][0].items()}
    long.update(sq=min(200, 2 * long["sq"]), sk=600)
    made = [line(long, "--sms=1", kind) for kind in kinds]
    made += [line({**long, "sq": 75, "sk": 333}, "--sms=1", kind) for kind in kinds]
    made += [
        line(problem, "--sms=2", kind)
        for problem in case["problems"][1:]
        if 0 < problem["sk"] <= 448
        for kind in kinds[:2]
    ]
    # Rows that end in the last keys of a block, with another masked block before it.
    made += [
        line(
            {**long, "sq": 128 if "h" in long else 32, "sk": sk},
            "--sms=1",
            "--distribution=growing",
        )
        for sk in (424, 436)
    ]
    several = {"sq": 3 * 128 + 30, "sk": 70} if "h" in long else {"sq": 3 * 32 + 5, "sk": 70}
    heads = [{"b": 2, "h": 5, "hk": 5}, {"b": 2, "h": 10, "hk": 2}] if "h" in long else [{"b": 6}]
    for some in heads:
        made.append(line({**some, **several}, "--sms=3"))
    made.append(line({**heads[0], "sq": 4 * 128 + 1, "sk": 64}, "--sms=60"))
    many = 32769
    of_heads = (
        [
            {"b": 2, "h": many, "hk": 1},
            {"b": 1, "h": 2 * many, "hk": 2},
            {"b": 2, "h": many, "hk": many},
        ]
        if "h" in long
        else [{"b": 2 * many}]
    )
    for some in of_heads:
        made.append(
            line({**some, "sq": 1, "sk": 1}, f"--sms={2 * many}", f"--first-block={2 * many - 2}")
        )
    order = ["--order=lse=1,0,2"] if "h" in long else ["--pad=lse=3"]
    made.append(line({**heads[0], "b": 2, "sq": 70, "sk": 70}, "--sms=2", *order))
    return made


def order_problems(case, block):
    """Where an order shows: tiles of one block of keys, of which one is done before a
    warp that stays behind has left the last one; and long tiles before short ones."""
    dim = "h" if "h" in case["problems"][0] else "b"
    tile = {**case["problems"][0], "sq": 64 if dim == "h" else 16, "sk": block}
    made = [({**tile, dim: 6 * tile[dim]}, 1), ({**tile, "sq": 512, "sk": 412}, 3)]
    return [
        ["--dims", ",".join(f"{name}={value}" for name, value in dims.items()), f"--sms={sms}"]
        for dims, sms in made
    ]


class Kernel:
    def __init__(self, args, case, folder):
        self.args, self.case, self.folder = args, case, folder
        self.name = case["name"]
        self.path = HERE / case["file"]
        self.stem = re.sub(r"\W", "_", self.name)
        options = case["pipeline"]
        if self.name in NARROW:
            options = options.replace("block-n=64", "block-n=32")
        pipeline = f"builtin.module(fa3-lower-to-nvvm-pipeline{{{options}}})"
        ptx = folder / f"{self.stem}.ptx"
        subprocess.run(
            [args.translate, "--mlir-to-ptx", self.path, f"--pass-pipeline={pipeline}", "-o", ptx],
            check=True,
        )
        self.manifest = ptx.with_suffix(".json")
        self.text = ptx.read_text()
        self.lines = self.text.split("\n")
        self.rules = ptx_harmless.Rules(self.lines)
        module = self.path.read_text()
        results = module[module.index("->") : module.index("{\n")]
        self.outputs = re.findall(r'tile\.name = "(\w+)"', results)
        self.problems = problems(case)
        written = folder / f"{self.stem}.inputs"
        self.sizes = last_problems(case)
        self.orders = order_problems(case, 32 if self.name in NARROW else 64)
        self.last = ptx_inputs.problems(written, module) + self.sizes
        # Each warp stays behind the others once; and orders at random.
        warps = int(re.search(r"\.maxntid (\d+)", self.text)[1]) // 32
        self.seeds = [*range(2, 2 * warps + 2, 2), *range(1, 2 * RANDOM, 2)]
        self.good = {}
        for problem in self.problems:
            self.answer(problem)

    def answer(self, problem):
        """That of the kernel as it is, which has to be right."""
        key = tuple(problem)
        if key not in self.good:
            is_whole = not any("--first-block" in word for word in problem)
            check = ["--reference", self.path] if is_whole else []
            verdict, message, self.good[key] = self.run(self.text, problem, *check)
            if verdict:
                sys.exit(f"'{self.name}' fails without a mutation: {problem}: {message}")
        return self.good[key]

    def run(self, text, problem, *more):
        """('' or a verdict, what the tool says, the bytes of the answer)"""
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            ptx = pathlib.Path(place) / "mutant.ptx"
            ptx.write_text(text)
            files = [pathlib.Path(place) / f"{output}.npy" for output in self.outputs]
            command = [self.args.run, "--cpu", ptx, "--manifest", self.manifest, *more, *problem]
            for output, file in zip(self.outputs, files):
                command += ["--output", f"{output}={file}"]
            limited = ["sh", "-c", f'ulimit -t {self.args.seconds}; exec "$0" "$@"']
            done = subprocess.run([*limited, *map(str, command)], capture_output=True, text=True)
            if done.returncode == -signal.SIGXCPU or done.returncode == -signal.SIGKILL:
                return "error", "no end", b""
            if done.returncode < 0:
                return "crash", f"signal {-done.returncode}", b""
            message = done.stderr.strip()
            if done.returncode:
                return "error", message, b""
            return "", "", b"".join(file.read_bytes() for file in files)

    def mutate(self, number, line):
        lines = list(self.lines)
        lines[number] = line
        return "\n".join(lines)

    def find(self, text, problems, *more):
        """What problems find of a text."""
        for problem in problems:
            verdict, message, answer = self.run(text, problem, *more)
            if not verdict and answer != self.answer(problem):
                verdict = "answer"
            if verdict:
                return verdict, message
        return "", ""

    def save(self, folder, mutant):
        """What test/Device/ptx_bits.py --replay compares with a GPU."""
        kind, number, line = mutant
        for i, problem in enumerate(self.problems[:2]):
            text = folder / f"kernel-{self.stem}-{kind}-{number + 1}-{i}.ptx"
            text.write_text(self.mutate(number, line))
            shutil.copy(self.manifest, text.with_suffix(".json"))
            ptx_bits.write_tolerance(text, self.path.read_text())
            ptx_bits.Case(text).save(self.args, *problem)

    def is_reached(self, kind, number):
        old = self.lines[number]
        guard = re.match(r"^\s*(@!?%?\w+\s+)?", old)[1] or ""
        if kind == "predicate":
            guard = ""
        probe = self.mutate(number, f"{guard}trap;\n{old}")
        return any(self.run(probe, problem)[0] for problem in self.problems)

    def stronger(self, number, line):
        """By rule, texts that an edit is harmless in if these give the same answers."""
        jumps = self.rules.careful_jumps(number, line)
        lines = ["//" if i in jumps else each for i, each in enumerate(self.lines)]
        yield self.rules.CAREFUL, ["\n".join(lines)] if jumps else []
        garbage = self.rules.dead_lanes(number, line)
        old = self.lines[number]
        yield self.rules.DEAD, [self.mutate(number, f"{old}\n{more}") for more in garbage]
        unequal = self.rules.unequal(number, line)
        yield self.rules.EQUAL, [self.mutate(number, f"{unequal}\n{old}")] if unequal else []
        lowest = self.rules.lowest(number, line)
        yield self.rules.LOWEST, [self.mutate(number, lowest)] if lowest else []

    def judge(self, mutant):
        kind, number, line = mutant
        text = self.mutate(number, line)
        verdict, message = self.find(text, self.problems[:3])
        if verdict:
            return verdict, message
        if rule := self.rules.find(kind, number, line):
            return "harmless", rule
        verdict, message = self.find(text, self.problems[3:])
        if verdict:
            return verdict, message
        if not self.is_reached(kind, number):
            return "unreached", ""
        if quotient := ptx_slices.find(self.rules, number, line):
            return "answer", quotient
        order = self.rules.find_by_running(kind, number, line)
        verdict, message = self.find(text, self.orders + self.sizes if order else self.last)
        if verdict:
            return verdict, message
        for seed in self.seeds if order else self.seeds[-RANDOM:]:
            problems = (self.orders[:1] if order else []) + self.problems[:3]
            verdict, message = self.find(text, problems, f"--schedule-seed={seed}")
            if verdict:
                return verdict, message
        if order:
            return "harmless", order
        for rule, texts in self.stronger(number, line):
            if texts and not any(self.find(one, self.problems + self.last)[0] for one in texts):
                return "harmless", rule
        return "MISSED", ""


def choose(kinds, count):
    """Kinds with few places are whole; those with many share what is left."""
    chosen, left = [], count or sum(map(len, kinds.values()))
    for i, (_, places) in enumerate(sorted(kinds.items(), key=lambda x: len(x[1]))):
        take = min(len(places), max(1, left // (len(kinds) - i)))
        chosen += [places[j * len(places) // take] for j in range(take)]
        left -= take
    return chosen


def describe(kernel, mutant):
    kind, number, line = mutant
    return (
        f"{kernel.name}, {kind}, line {number + 1}: "
        f"{kernel.lines[number].strip()} -> {line.strip()}"
    )


def read_verdicts(path):
    """Of an earlier run, by description."""
    known = {}
    for line in path.read_text().splitlines():
        match = re.match(r"(\w+): (.*?): ((?:.(?!->))*)$", line)
        if match and match[1] in ("error", "answer", "unreached", "harmless"):
            known[match[2]] = match[1], match[3]
    return known


def report(table, rules, seconds):
    print("%-20s %6s " % ("kind", "tried") + " ".join("%9s" % kind for kind in KINDS[:-1]))
    total = sum(table.values(), collections.Counter())
    for kind, count in [*sorted(table.items()), ("all", total)]:
        count["MISSED"] += count.pop("crash", 0)
        print(
            "%-20s %6d " % (kind, sum(count.values()) - count["unreached"])
            + " ".join("%9d" % count[verdict] for verdict in KINDS[:-1])
        )
    for rule, count in sorted(rules.items()):
        print(f"harmless: {count} {rule}")
    caught = total["error"] + total["answer"]
    print(
        "mutants of PTX: tried %d, caught %d, harmless %d, missed %d, seconds %.0f"
        % (
            caught + total["harmless"] + total["MISSED"],
            caught,
            total["harmless"],
            total["MISSED"],
            seconds,
        )
    )
    return total["MISSED"] != 0


def write_csv(path, table, rules, seconds, command):
    """What docs/performance_tables.py reads."""
    total = sum(table.values(), collections.Counter())
    harmless = "; ".join(f"{count} {rule}" for rule, count in sorted(rules.items()))
    columns = ["error", "answer", "harmless", "MISSED"]
    rows = [
        [kind, sum(count[column] for column in columns), *(count[column] for column in columns)]
        for kind, count in [*sorted(table.items()), ("all", total)]
    ]
    path.write_text(
        "\n".join(
            [
                f"# what: mutants of PTX by kind; harmless are {harmless}",
                f"# device: {os.cpu_count()} cores, {seconds:.0f} s",
                f"# date: {time.strftime('%Y-%m-%d')}",
                f"# command: {command}",
                "kind,tried,error,answer,harmless,missed",
                *(",".join(map(str, row)) for row in rows),
                "",
            ]
        )
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--run", default="fa3-run")
    parser.add_argument("--translate", default="fa3-translate")
    parser.add_argument("--case", action="append", help="names of cases.json")
    parser.add_argument("--kind", action="append", choices=sorted(ptx_edits.EDITS))
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=10, help="of a core, which a run may take")
    parser.add_argument(
        "--resume",
        type=pathlib.Path,
        metavar="FILE",
        help="output of an earlier run with --list, whose verdicts other\nthan MISSED count",
    )
    parser.add_argument(
        "--save",
        type=pathlib.Path,
        metavar="DIR",
        help="what is harmless by running, for test/Device/ptx_bits.py --replay",
    )
    parser.add_argument("--csv", type=pathlib.Path, metavar="FILE", help="counts, for docs/figures")
    parser.add_argument("--list", action="store_true", help="a line for each mutant")
    parser.set_defaults(timeout=300)
    args = parser.parse_args()
    if args.save:
        args.save.mkdir(parents=True, exist_ok=True)
    begin = time.time()
    cases = {case["name"]: case for case in json.loads((HERE / "cases.json").read_text())}
    table = collections.defaultdict(collections.Counter)
    rules = collections.Counter()
    with (
        tempfile.TemporaryDirectory() as name,
        concurrent.futures.ThreadPoolExecutor(args.jobs) as pool,
    ):
        kinds = collections.defaultdict(list)
        kernels = pool.map(
            lambda case: Kernel(args, cases[case], pathlib.Path(name)), args.case or CASES
        )
        for kernel in kernels:
            for mutant in ptx_edits.mutants(kernel.text):
                if not args.kind or mutant[0] in args.kind:
                    kinds[mutant[0]].append((kernel, mutant))
        known = read_verdicts(args.resume) if args.resume else {}
        jobs = {}
        for kernel, mutant in choose(kinds, args.count):
            verdict = known.get(describe(kernel, mutant))
            judge = (lambda _, verdict=verdict: verdict) if verdict else kernel.judge
            jobs[pool.submit(judge, mutant)] = kernel, mutant
        for job in concurrent.futures.as_completed(jobs):
            kernel, (kind, number, line) = jobs[job]
            verdict, message = job.result()
            table[kind][verdict] += 1
            if verdict == "harmless":
                rules[message] += 1
            if args.save and message.startswith("by running"):
                kernel.save(args.save, (kind, number, line))
            if args.list or verdict in ("MISSED", "crash"):
                print(
                    f"{verdict}: {describe(kernel, (kind, number, line))}: {message[:200]}",
                    flush=True,
                )
    seconds = time.time() - begin
    failed = report(table, rules, seconds)
    if args.csv:
        write_csv(args.csv, table, rules, seconds, f"test/Mutations/ptx.py --count {args.count}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
