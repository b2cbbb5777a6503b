# SPDX-License-Identifier: Apache-2.0
"""The matrix of feature sets and shapes."""

import dataclasses
import json
import pathlib
import time
import zlib


from . import build, cases, comparison, features, kernels, workers


@dataclasses.dataclass
class _Job:
    feature: features.Feature
    stem: str
    cases: list
    attempt: int = 0


def compare(problem):
    """Errors of what a kernel wrote: a list of complaints, and numbers."""
    factor = 3 if problem.mask.softcap is not None else 2
    truth = problem.oracle()
    lse = problem.lse.tensor if problem.feature.lse else None
    return comparison.compare(problem.o.tensor, lse, truth, factor, problem.slack)


def body(job):
    """In a worker: sends the number of each case, then its result."""
    program = kernels.load(job.stem)
    for number, case in enumerate(job.cases):
        yield number
        seed = zlib.crc32(f"{job.feature.name} {case.name}".encode())
        problem = kernels.Problem(job.feature, case, seed)
        problem.poison()
        refusal = kernels.launch(program, problem.arguments())
        if refusal:
            yield number, [refusal], None
            continue
        complaints, numbers = compare(problem)
        complaints += [f"{name}: written around it" for name in problem.intact()]
        yield number, complaints, numbers
    program.close()


class _Report:
    """Counts, prints failures, keeps a line of JSON for each case."""

    def __init__(self, folder, limit):
        self.passed = self.failed = 0
        self._limit = limit
        self._file = open(pathlib.Path(folder) / "matrix.jsonl", "w")
        self._worst = []

    def add(self, feature, case, complaints, numbers=None):
        if complaints:
            self.failed += 1
            if self.failed <= self._limit:
                text = "; ".join(complaints)
                print(f"FAIL {feature.name} {case.name}: {text}", flush=True)
        else:
            self.passed += 1
            if numbers and numbers["bound"]:
                ratio = numbers["error"] / numbers["bound"]
                self._worst.append((ratio, numbers["lse"], feature.name, case.name))
        record = {"feature": feature.name, "case": case.name}
        record.update(numbers or {}, failures=complaints)
        self._file.write(json.dumps(record) + "\n")

    def close(self):
        self._file.close()
        if self.failed > self._limit:
            print(f"... {self.failed - self._limit} more failures")
        if self._worst:
            ratio, _, *names = max(self._worst)
            print(f"largest error / bound of what passed: {ratio:.2f}", *names)
            lse, names = max((w[1], w[2:]) for w in self._worst)
            print(f"largest error of lse of what passed: {lse:.2g}", *names)


def _select(arguments):
    dims = features.HEAD_DIMS + features.UNEVEN_DIMS + features.WIDE_DIMS
    if arguments.dims:
        dims = [(int(d), int(d)) if "x" not in d else tuple(map(int, d.split("x")))
                for d in arguments.dims]  # fmt: skip
    layouts = {"alternate": None, "both": list(features.LAYOUTS)}.get(
        arguments.layouts, [arguments.layouts]
    )
    chosen = features.all_features(
        arguments.types or list(features.TYPES),
        dims,
        arguments.masks or list(features.MASKS),
        layouts,
        arguments.heads,
    )
    if arguments.filter:
        chosen = [f for f in chosen if arguments.filter in f.name]
    if not chosen:
        raise SystemExit("error: no feature set is left")
    return chosen


def _shapes(arguments):
    if arguments.shapes:
        return [tuple(map(int, shape.split("x"))) for shape in arguments.shapes]
    return cases.SHAPES + ([] if arguments.no_empty else cases.EMPTY_SHAPES)


def run(arguments):
    chosen, shapes = _select(arguments), _shapes(arguments)
    groups = [arguments.heads] if arguments.heads else arguments.groups
    groups = groups or list(cases.GROUPS)
    batches = arguments.batches or list(cases.BATCHES)
    plan = cases.product if arguments.full else cases.covering
    report = _Report(arguments.out, arguments.max_print)
    compiler = build.Compiler(arguments)
    pool = workers.Pool(arguments.workers, body, kernels.setup, arguments.timeout)
    start = time.monotonic()
    builds = []

    def compiled(feature, planned, future):
        # Runs in a thread of the compiler.
        done = future.result()
        builds.append(done)
        if done.error:
            broken.append((feature, planned, done.error))
            pool.give(None)
        else:
            pool.give(_Job(feature, done.stem, planned))

    broken = []
    pool.expect(len(chosen))
    for number, feature in enumerate(chosen):
        taken = [s for s in shapes if s[1] % feature.key_multiple == 0]
        planned = plan(number, groups, taken, batches)
        future = compiler.submit(feature.name, feature.module())
        future.add_done_callback(
            lambda future, feature=feature, planned=planned: compiled(
                feature, planned, future
            )
        )
    end = start + arguments.budget if arguments.budget else None
    _listen(pool, report, end, arguments)
    for feature, planned, error in broken:
        for case in planned:
            report.add(feature, case, [f"not compiled: {error}"])
    compiler.shutdown()
    report.close()
    _write_builds(arguments.out, builds)
    print(f"{len(chosen)} feature sets, {time.monotonic() - start:.0f} s")
    print(
        f"passed {report.passed}, failed {report.failed}, "
        f"compilations {compiler.count}"
    )
    return 1 if report.failed else 0


def _listen(pool, report, end, arguments):
    """Takes messages of the workers until all jobs are done."""
    current = {}
    for job, message in pool.run(end):
        if isinstance(message, int):
            current[id(job)] = message
        elif isinstance(message, tuple):
            number, complaints, numbers = message
            report.add(job.feature, job.cases[number], complaints, numbers)
            current[id(job)] = number + 1
        elif isinstance(message, workers.Lost):
            # The case at fault has failed; the others get another chance.
            at = current.pop(id(job), 0)
            rest = job.cases[at:]
            if rest:
                report.add(job.feature, rest[0], [message.reason])
            rest = rest[1:]
            over = end is not None and time.monotonic() > end
            if rest and not over and job.attempt < arguments.retries:
                pool.expect()
                pool.give(_Job(job.feature, job.stem, rest, job.attempt + 1))
                continue
            for case in rest:
                report.add(job.feature, case, ["not run after that"])
        else:
            current.pop(id(job), None)


def _write_builds(folder, builds):
    with open(pathlib.Path(folder) / "builds.csv", "w") as file:
        file.write("kernel,seconds,usage,error\n")
        for done in sorted(builds, key=lambda b: b.name):
            error = (done.error or "").replace('"', "'")
            file.write(f'{done.name},{done.seconds:.2f},"{done.usage}","{error}"\n')
