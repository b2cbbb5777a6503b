# SPDX-License-Identifier: Apache-2.0
"""Gradients of sequences with lengths and places of their own, against those of
each one.

Every sequence is computed alone in f64. What no sequence uses holds NaN. Rows of
dq, dk and dv that are none of a sequence are to stay as they were. A packed sequence
has the same bits when all others are NaN.
"""

from __future__ import annotations

import random
import time

import torch

from . import (
    backward_places_cases, features, gradient_oracle, kernels, memory, oracle, workers,
)  # fmt: skip
from .backward_places_cases import GRADIENTS, INPUTS, OPTIONS, plans
from .serving_cases import LENGTHS

BLOCK = 128  # rows that are loaded at a time, at most
UNTOUCHED = 0x7FBD  # bits of a NaN
MOST = 100  # max_q of packed sequences, in half of the problems


class _Rows:
    """Where sequences of given lengths are among all rows of an array."""

    def __init__(self, case, lengths, draw, is_key):
        self.lengths, self.starts = lengths, []
        gap = case.place == "used"
        if case.is_packed:
            self.shape, end = (), 3
            for length in lengths:
                self.starts.append(end)
                end += length + (draw.randrange(20) if gap else 0)
            # cu_q and cu_k; behind the last one there is a block, and more.
            self.bounds = [*self.starts, end]
            self.count = end + BLOCK + 40
            self.shape = (self.count,)
            return
        pads = [
            draw.randrange(1, 70) if is_key and case.place == "leftpad" else 0
            for _ in lengths
        ]
        room = max(p + n for p, n in zip(pads, lengths)) + BLOCK + 11
        self.pads, self.count = pads, len(lengths) * room
        self.shape = (len(lengths), room)
        self.starts = [n * room + pad for n, pad in enumerate(pads)]

    def of(self, n, most=None):
        """Rows of sequence n, as a slice; of the first `most`."""
        length = self.lengths[n] if most is None else min(self.lengths[n], most)
        return slice(self.starts[n], self.starts[n] + length)


class Problem:
    """Lengths, inputs, outputs, and what is expected, by sequence."""

    def __init__(self, case, plan, device="cuda"):
        self.case, self.mask = case, features.MASKS[case.mask]
        self.dtype, self.device = kernels.torch_type(case.type), device
        draw = random.Random(plan.seed)
        g = torch.Generator(device=device).manual_seed(plan.seed)
        queries, keys = (
            [draw.choice(LENGTHS) for _ in range(plan.batch)] for _ in range(2)
        )
        self.queries = _Rows(case, queries, draw, False)
        self.keys = _Rows(case, keys, draw, True)
        self.max_q = MOST if plan.is_bounded else max(queries)

        def make(rows, heads, last):
            shape = (1, heads, rows, last)
            x = torch.randn(shape, generator=g, device=device)
            return x if last == 0 else x.to(self.dtype)

        h, hk, d, dv = case.heads, case.key_heads, case.d, case.dv
        self.sequences = []
        for a, b in zip(queries, keys):
            x = {"q": make(a, h, d), "k": make(b, hk, d), "v": make(b, hk, dv),
                 "do": make(a, h, dv)}  # fmt: skip
            if case.dlse:
                x["dlse"] = torch.randn((1, h, a), generator=g, device=device)
            self.sequences.append(x)
        self._solve()
        self._place()

    def _solve(self):
        """Gradients by definition and in low precision; o and lse become inputs
        of the kernel."""
        self.expected = []
        for x in self.sequences:
            # Sums are over the first max_q queries.
            y = dict(x, scale=self.case.d**-0.5)
            for name in ("do", "dlse"):
                if name in x:
                    y[name] = x[name].clone()
                    y[name][:, :, self.max_q :] = 0
            want, x["o"], x["lse"] = gradient_oracle.gradients(self.mask, y, torch.float64)
            low, _, _ = gradient_oracle.gradients(self.mask, y, self.dtype)
            self.expected.append((want, low))

    def _place(self):
        """Lays the sequences out in arrays."""
        case = self.case
        widths = {"q": case.d, "k": case.d, "v": case.dv, "o": case.dv, "do": case.dv}
        widths |= {"d" + name: widths[name] for name in "qkv"}
        self.arrays, self.arguments, self.flat = {}, {}, {}
        names = [*INPUTS, *(("dlse",) if case.dlse else ()), *GRADIENTS]
        for name in names:
            is_key = name in ("k", "v", "dk", "dv")
            rows = self.keys if is_key else self.queries
            heads = case.key_heads if is_key else case.heads
            if name in ("lse", "dlse"):
                outer = (1, rows.count) if case.is_packed else rows.shape
                shape = outer[0], heads, outer[1]
                guarded = memory.Guarded(shape, torch.float32, "bhsd", self.device)
                view = guarded.tensor[0] if case.is_packed else guarded.tensor
                flat = torch.empty(rows.count, heads, device=self.device)
            else:
                shape = 1, 1, rows.count, heads * widths[name]
                guarded = memory.Guarded(shape, self.dtype, "bhsd", self.device)
                view = guarded.tensor.view(*rows.shape, heads, widths[name])
                flat = guarded.tensor.view(rows.count, heads, widths[name])
            if name not in GRADIENTS:
                self._fill(name, flat, rows)
            if name in ("lse", "dlse"):
                guarded.fill(flat.view(*outer, heads).transpose(1, 2))
            self.arrays[name], self.arguments[name] = guarded, view
            self.flat[name] = flat
        self._number()

    def _fill(self, name, flat, rows):
        flat.fill_(torch.nan)
        is_statistic = name in ("o", "lse", "dlse")
        for n, x in enumerate(self.sequences):
            # What a forward with max_q writes, and what goes with it.
            at = rows.of(n, self.max_q if is_statistic else None)
            values = x[name][0].transpose(0, 1)
            flat[at] = values[: at.stop - at.start].to(flat.dtype)

    def _number(self):
        """Lengths and places as integers."""
        case = self.case

        def integers(values):
            return torch.tensor(values, dtype=torch.int32, device=self.device)

        if case.is_packed:
            self.arguments["max_q"] = self.max_q
            self.arguments["cu_q"] = integers(self.queries.bounds)
            self.arguments["cu_k"] = integers(self.keys.bounds)
        if case.place == "leftpad":
            self.arguments["pad"] = integers(self.keys.pads)
        if case.place != "packed":
            self.used = {"used_q": self.queries.lengths, "used_k": self.keys.lengths}
            if case.place == "leftpad":  # of all rows
                ends = [p + n for p, n in zip(self.keys.pads, self.keys.lengths)]
                self.used["used_k"] = ends
            for name, values in self.used.items():
                self.arguments[name] = integers(values)

    def poison(self):
        for name in GRADIENTS:
            self.arrays[name].poison()
            # Another NaN than those that kernels make.
            self.flat[name].view(torch.int16).fill_(UNTOUCHED)

    def bits(self):
        return [self.arrays[name].bits() for name in GRADIENTS]

    def leave(self, sequence):
        """Lets one sequence have rows, those of the others none."""
        for name, values in self.used.items():
            alone = [v if n == sequence else 0 for n, v in enumerate(values)]
            self.arguments[name].copy_(torch.tensor(alone, dtype=torch.int32))

    def spoil(self, sequence):
        """Makes all inputs of other sequences NaN."""
        for name in ("q", "k", "v", "o", "do"):
            rows = self.keys if name in ("k", "v") else self.queries
            own = self.flat[name][rows.of(sequence)].clone()
            self.flat[name].fill_(torch.nan)
            self.flat[name][rows.of(sequence)] = own
        for name in ("lse", "dlse"):
            if name in self.arguments:
                at = self.queries.of(sequence)
                own = self.arguments[name][..., at].clone()
                self.arguments[name].fill_(torch.nan)
                self.arguments[name][..., at] = own

    def rows_of(self, name, n):
        """Rows of sequence n that are written."""
        return self.queries.of(n, self.max_q) if name == "dq" else self.keys.of(n)

    def check(self):
        """What is wrong, in words; first the largest error over its bound."""
        found, largest = [], 0.0
        for name, guarded in self.arrays.items():
            if not guarded.is_intact():
                found.append(f"memory beside {name} was written")
        for number, name in enumerate(GRADIENTS):
            rest = self.flat[name].clone().view(torch.int16)
            for n, (want, low) in enumerate(self.expected):
                at = self.rows_of(name, n)
                rest[at] = UNTOUCHED
                if at.stop == at.start:
                    continue
                count = at.stop - at.start
                exact, rough = (
                    x[number][0, :, :count].transpose(0, 1) for x in (want, low)
                )
                error = (self.flat[name][at].float() - exact).abs()
                bound = oracle.error_bound(exact, rough, self.dtype, 2)
                largest = max(largest, float(error.max()) / max(bound, 1e-30))
                wrong = ~(error <= bound)  # NaN, the poison, is wrong
                if wrong.any():
                    first = tuple(torch.nonzero(wrong)[0].tolist())
                    found.append(
                        f"sequence {n} ({self.queries.lengths[n]} queries, "
                        f"{self.keys.lengths[n]} keys): {name} is off by "
                        f"{float(error.max()):.2e}, bound {bound:.2e}, "
                        f"{int(wrong.sum())} of {wrong.numel()}, first at {first}"
                    )
            if (rest != UNTOUCHED).any():
                found.append(f"{name}: rows of no sequence were written")
        return largest, found


# --- Jobs --------------------------------------------------------------------


def check(job):
    """Runs in a worker, yields (problem, largest error over bound, complaints)."""
    case, stem = job
    program = kernels.load(stem)
    for plan in plans(case):
        problem = Problem(case, plan)
        problem.poison()
        refused = kernels.launch(program, problem.arguments)
        largest, found = (0.0, [refused]) if refused else problem.check()
        yield str(plan), largest, found
    if not refused:
        yield "repeated", 0.0, _repeat(case, program, problem)
    if not refused and case.is_repeatable and case.place != "packed":
        yield "alone", 0.0, _alone(program, problem)
    if not refused and case.is_packed:
        yield "neighbors", 0.0, _find_neighbors(case, program, plan)
    program.close()


def _repeat(case, program, problem):
    """Another run has the same bits; dq where nothing is added in memory."""
    before = problem.bits()
    problem.poison()
    kernels.launch(program, problem.arguments)
    return [
        f"{name} differs from run to run"
        for name, old, new in zip(GRADIENTS, before, problem.bits())
        if (case.is_repeatable or name != "dq") and not torch.equal(old, new)
    ]


def _find_neighbors(case, program, plan):
    """Sequences that NaN in others reaches; where nothing is added in memory, by
    their bits."""
    found = []
    for n in range(min(plan.batch, 4)):
        problem = Problem(case, plan)
        problem.poison()
        kernels.launch(program, problem.arguments)
        at = {name: problem.rows_of(name, n) for name in GRADIENTS}
        before = {name: problem.flat[name][at[name]].clone() for name in GRADIENTS}
        problem.spoil(n)
        kernels.launch(program, problem.arguments)
        for name, old in before.items():
            new = problem.flat[name][at[name]]
            same = torch.equal(old.view(torch.int16), new.view(torch.int16))
            if not case.is_repeatable and name == "dq":
                same = bool(torch.isfinite(new).all())
            if not same:
                found.append(f"{name}: NaN beside sequence {n} reaches it")
    return found


def _alone(program, problem):
    """A sequence has the same bits alone and beside others, a captured launch
    when it is replayed with other lengths, too."""
    together = {name: problem.flat[name].clone() for name in GRADIENTS}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        # Bound here: the stream that is captured is the current one.
        run = program.bind(**problem.arguments)
        run()
    found = []
    for n in range(len(problem.queries.lengths)):
        problem.leave(n)
        problem.poison()
        graph.replay()
        torch.cuda.synchronize()
        for name, old in together.items():
            at = problem.rows_of(name, n)
            alone, beside = problem.flat[name][at], old[at]
            if not torch.equal(alone.view(torch.int16), beside.view(torch.int16)):
                found.append(f"{name} of sequence {n} depends on the others")
    return found


def submit(compiler, arguments):
    """Starts the compilations of what arguments choose; (case, future)."""

    def is_chosen(case):
        dims = {str(case.d), f"{case.d}x{case.dv}"}
        if case.d != case.dv:
            dims.remove(str(case.d))
        return (
            (not arguments.types or case.type in arguments.types)
            and (not arguments.dims or dims & set(arguments.dims))
            and (not arguments.masks or case.mask in arguments.masks)
            and (not arguments.filter or arguments.filter in case.name)
        )

    def compiled(case):
        text = backward_places_cases.module(case)
        options = f"{arguments.pipeline_options} {OPTIONS[case.form]}".strip()
        return compiler.submit("backward-" + case.name, text, options)

    chosen = filter(is_chosen, backward_places_cases.kernels())
    return [(case, compiled(case)) for case in chosen]


def run(arguments, builds):
    """Checks what `submit` gave; the number of failures."""
    start, passed, failed, worst = time.monotonic(), 0, 0, (0.0, "")

    def fail(text):
        nonlocal failed
        failed += 1
        if failed <= arguments.max_print:
            print(f"FAIL {text}")

    pool = workers.Pool(4, check, kernels.setup, arguments.timeout)
    pool.expect(len(builds))
    broken = []

    def give(case, done):
        # Runs in a thread of the compiler.
        if done.error:
            broken.append(f"{case.name}: not compiled: {done.error}")
        pool.give(None if done.error else (case, done.stem))

    for case, future in builds:
        future.add_done_callback(lambda done, case=case: give(case, done.result()))
    for (case, _), message in pool.run():
        if message is None:
            continue
        if isinstance(message, workers.Lost):
            fail(f"{case.name}: {message.reason}")
            continue
        what, largest, found = message
        for text in found:
            fail(f"{case.name}: {what}: {text}")
        passed += not found
        if not found:
            worst = max(worst, (largest, f"{case.name} {what}"))
    for text in broken:
        fail(text)
    print(f"places: largest error / bound of what passed: {worst[0]:.2f} {worst[1]}")
    print(f"places: {len(builds)} kernels, {time.monotonic() - start:.0f} s, "
          f"passed {passed}, failed {failed}")
    return failed
