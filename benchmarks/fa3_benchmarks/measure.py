# SPDX-License-Identifier: Apache-2.0
"""What runs in the process of a family."""

from __future__ import annotations

import dataclasses
import os

import torch

from fa3_device import kernels, timing

from . import gradients, packed_gradients, peers, serving_problem, sustained
from .problem import PEER_TOLERANCE, Problem
from .serving import PackedGradientCell, ServingCell

OURS = "ours"


@dataclasses.dataclass
class Options:
    """What the process must know of the command line."""

    peers: tuple
    modes: tuple
    iterations: int
    seconds: float
    slow_lengths: tuple
    peer: str | None
    peer_kernels: list | None
    triton_kernel: str | None


@dataclasses.dataclass
class Job:
    """A family. `stems` are the kernels of each cell by variant. What is in
    `done`, pairs of names of cell and kernel, and kernels that are `dropped`
    are left out: after a process was lost, another one takes up the rest."""

    cells: list
    stems: dict
    options: Options
    done: set = dataclasses.field(default_factory=set)
    dropped: set = dataclasses.field(default_factory=set)


def setup():
    # JAX shares the device.
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    kernels.setup()


def _ours(stem, variant):
    def make(problem, _options):
        program = kernels.load(stem)
        run = program.bind(**problem.arguments(variant))

        def call():
            run()
            return problem.result()

        return peers.Candidate(call)

    return make


def _problem(cell):
    if isinstance(cell, PackedGradientCell):
        return packed_gradients.PackedGradientProblem(cell)
    if isinstance(cell, ServingCell):
        return serving_problem.ServingProblem(cell)
    return (gradients.GradientProblem if cell.gradient else Problem)(cell)


def _makers(job, cell, references):
    """(name, whether it is ours, maker), cuDNN first."""
    options = job.options
    makers = peers.MAKERS
    if isinstance(cell, PackedGradientCell):
        makers = packed_gradients.MAKERS
    elif isinstance(cell, ServingCell):
        makers = serving_problem.MAKERS
    elif cell.gradient:
        makers = gradients.MAKERS
    if "cudnn" in options.peers:
        yield "cudnn", False, makers["cudnn"]
    for name, stem in job.stems[cell.name].items():
        yield name, True, _ours(stem, name)
    if "reference" in options.peers:
        for name, make in references.makers():
            yield name, False, make
    for name in options.peers:
        if name in ("cudnn", "reference"):
            continue
        if name in peers.SLOW and cell.length not in options.slow_lengths:
            continue
        if name in makers:
            yield name, False, makers[name]


def _check(problem, candidate, ours):
    """Runs once on poisoned outputs: complaints, relative error."""
    problem.poison()
    o = candidate.run()
    torch.cuda.synchronize()
    if ours:
        return problem.check_ours()
    error = problem.relative_error(o)
    if error <= PEER_TOLERANCE:
        return [], error
    return [f"relative error {error:.2g}"], error


def _time(candidate, mode, options):
    if candidate.time:
        return candidate.time(mode, options.iterations)
    if mode == "sustained":
        return sustained.sustained(candidate.run, options.seconds)
    return timing.MODES[mode](candidate.run, options.iterations)


def body(job):
    """Yields ("begin", cell, kernel), then ("time", cell, kernel, mode, time,
    error) for each mode or ("none" or "wrong", cell, kernel, reason)."""
    references = None
    for cell in job.cells:
        yield "begin", cell.name, ""
        problem = _problem(cell)
        if references is None:
            references = peers.References(job.options, cell)
        for name, ours, make in _makers(job, cell, references):
            if (cell.name, name) in job.done or name in job.dropped:
                continue
            yield "begin", cell.name, name
            try:
                candidate = make(problem, job.options)
                complaints, error = _check(problem, candidate, ours)
                if complaints:
                    yield "wrong", cell.name, name, "; ".join(complaints)
                    continue
                for mode in job.options.modes:
                    time = _time(candidate, mode, job.options)
                    yield "time", cell.name, name, mode, time, error
            except peers.Unavailable as reason:
                yield "none", cell.name, name, str(reason)
            except Exception as error:
                # Raises again if the context is lost: no kernel can follow.
                torch.cuda.synchronize()
                kind = "wrong" if ours else "none"
                text = f"{type(error).__name__}: {error}".splitlines()[0]
                yield kind, cell.name, name, text[:300]
            candidate = None
        del problem
        torch.cuda.empty_cache()
