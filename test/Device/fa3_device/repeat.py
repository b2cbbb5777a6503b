# SPDX-License-Identifier: Apache-2.0
"""Repeated runs of one case are bitwise equal, launched or replayed from graphs."""

import torch

from . import build, cases, features, kernels, matrix, workers


def _body(job):
    feature, stem, case, count = job
    program = kernels.load(stem)
    problem = kernels.Problem(feature, case, seed=1)
    problem.poison()
    program(**problem.arguments())
    torch.cuda.synchronize()
    complaints, _ = matrix.compare(problem)
    run = program.bind(**problem.arguments())
    first = problem.o.bits(), problem.lse.bits()
    differing = torch.zeros((), dtype=torch.int64, device="cuda")
    for number in range(count - 1):
        problem.poison()
        run()
        same = torch.ones((), dtype=torch.bool, device="cuda")
        for bits, guarded in zip(first, (problem.o, problem.lse)):
            same &= (bits == guarded.bits()).all()
        differing += ~same
        if number % 50 == 49:
            torch.cuda.synchronize()
            yield number + 2, None
    yield count, (int(differing), complaints)


def _body_of_graphs(job):
    """Captures `count` launches, 500 to a graph, and replays all graphs twice.

    Every captured launch has a counter of its own: more than the 16384 that a
    program starts with make the runtime allocate, while a stream is captured.
    """
    feature, stem, case, count = job
    program = kernels.load(stem)
    problem = kernels.Problem(feature, case, seed=1)
    problem.poison()
    run = program.bind(**problem.arguments())
    run()
    torch.cuda.synchronize()
    complaints, _ = matrix.compare(problem)
    first = problem.o.bits(), problem.lse.bits()
    graphs = []
    for begin in range(0, count, 500):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            stream = torch.cuda.current_stream().cuda_stream
            captured = program.bind(stream=stream, **problem.arguments())
            for _ in range(min(500, count - begin)):
                captured()
        graphs.append(graph)
        yield len(graphs), None
    differing = 0
    for number in range(2 * len(graphs)):
        problem.poison()
        graphs[number % len(graphs)].replay()
        torch.cuda.synchronize()
        pairs = zip(first, (problem.o, problem.lse))
        differing += not all(bool((bits == now.bits()).all()) for bits, now in pairs)
        yield len(graphs) + number + 1, None
    yield count, (differing, complaints)


def run(arguments):
    case = cases.Case(2, 16, 4, 1023, 1024, "bshd", "normal")
    scaling = "head" if arguments.type in features.EIGHT_BITS else None
    feature = features.Feature(
        arguments.type, arguments.d, arguments.d, "causal", scaling=scaling,
        q_terms=arguments.q_terms,
    )  # fmt: skip
    compiler = build.Compiler(arguments)
    done = compiler.submit(feature.name, feature.module()).result()
    compiler.shutdown()
    if done.error:
        print(f"FAIL {feature.name}: not compiled: {done.error}")
        return 1
    job = feature, done.stem, case, arguments.count
    body = _body_of_graphs if arguments.graphs else _body
    try:
        for _, message in workers.run_one(
            body, kernels.setup, job, arguments.timeout
        ):
            result = message
    except RuntimeError as error:
        print(f"FAIL {feature.name} {case.name}: {error}")
        return 1
    differing, complaints = result
    for complaint in complaints:
        print(f"FAIL {feature.name} {case.name}: {complaint}")
    print(
        f"{feature.name} {case.name}: {arguments.count} "
        f"{'captured launches' if arguments.graphs else 'runs'}, "
        f"{differing} differ from the first"
    )
    return 1 if differing or complaints else 0
