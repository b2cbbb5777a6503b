# SPDX-License-Identifier: Apache-2.0
"""Kernels without attention: the matrix product of examples/gemm.mlir, right and
its share of cuBLAS, and a chain of two products.
"""

import pathlib

import torch

from . import build, kernels, memory, timing, workers

# (m, n, k): small and uneven ones, which the tiles do not divide.
SHAPES = [(1, 1, 8), (127, 255, 72), (1000, 520, 328), (384, 1024, 4096)]
# (m, n) of a chain.
CHAINS = [(1, 1), (127, 65), (500, 333), (2048, 1024)]


def _matrix(rows, columns, generator=None):
    """Elements as those of one batch and head, so that what is around them is
    watched; poison without a generator."""
    guarded = memory.Guarded((1, 1, rows, columns), torch.float16, "padded")
    if generator is None:
        return guarded
    values = torch.randn(1, 1, rows, columns, generator=generator, device="cuda")
    return guarded.fill(values)


def _flat(guarded):
    return guarded.tensor[0, 0]


def _check(program, matrices, out, exact, low):
    """Complaints about one launch. Allowed is twice the error of the library's
    products, and an ulp of the largest element."""
    arguments = {name: _flat(x) for name, x in matrices.items()}
    refusal = kernels.launch(program, arguments)
    if refusal:
        return [refusal]
    bound = 2 * float((low.double() - exact).abs().max())
    bound += float(exact.abs().max()) * 2**-10
    error = (arguments[out].double() - exact).abs()
    wrong = ~(error <= bound)
    complaints = []
    if wrong.any():
        index = torch.nonzero(wrong)[0].tolist()
        complaints.append(
            f"max error {float(error.max()):.3g}, bound {bound:.3g}, wrong "
            f"{int(wrong.sum())} of {wrong.numel()}, first at {index}"
        )
    names = [name for name, x in matrices.items() if not x.is_intact()]
    return complaints + [f"{name}: written around it" for name in names]


def _check_gemm(program, m, n, k, generator):
    a, b = _matrix(m, k, generator), _matrix(n, k, generator)
    matrices = {"a": a, "b": b, "c": _matrix(m, n)}
    x, y = _flat(a), _flat(b)
    return _check(program, matrices, "c", x.double() @ y.double().T, x @ y.T)


def _check_chain(program, m, n, generator):
    a, b = _matrix(m, 64, generator), _matrix(n, 64, generator)
    matrices = {"a": a, "b": b, "c": _matrix(n, 128, generator)}
    matrices["d"] = _matrix(m, 128)
    x, y, z = (_flat(matrices[name]) for name in "abc")
    # The product in between is rounded in any case.
    exact = (x.double() @ y.double().T).half().double() @ z.double()
    return _check(program, matrices, "d", exact, (x @ y.T) @ z)


def _body(job):
    stems, size, modes, iterations = job
    generator = torch.Generator(device="cuda").manual_seed(3)
    chain = kernels.load(stems["chain"])
    for shape in CHAINS:
        yield "check", "chain", shape, _check_chain(chain, *shape, generator)
    program = kernels.load(stems["gemm"])
    for shape in SHAPES + [(2048, 2048, 2048)]:
        yield "check", "gemm", shape, _check_gemm(program, *shape, generator)
    a, b = (
        torch.randn(size, size, generator=generator, device="cuda").half()
        for _ in range(2)
    )
    c = torch.full_like(a, torch.nan)
    program(a=a, b=b, c=c)
    want = torch.matmul(a, b.T)
    error = float((c.float() - want.float()).abs().max())
    limit = float(want.float().abs().max()) * 2**-9
    failures = [] if error <= limit else [f"error {error:.3g}, bound {limit:.3g}"]
    yield "check", "gemm", (size, size, size), failures
    ours = program.bind(a=a, b=b, c=c)
    flops = 2 * size**3
    for mode in modes:
        timer = timing.MODES[mode]
        mine = timer(ours, iterations)
        theirs = timer(lambda: torch.matmul(a, b.T, out=want), iterations)
        yield "time", mode, mine, theirs, flops


def _compile(arguments):
    """Stems by name, or None after an error."""
    sources = {
        "gemm": build.ROOT / "examples" / "gemm.mlir",
        "chain": pathlib.Path(__file__).parents[1] / "Inputs" / "chain.mlir",
    }
    compiler = build.Compiler(arguments)
    # A variant of the options is for the large product alone.
    futures = {
        name: compiler.submit(name, path.read_text(), None if name == "gemm" else "")
        for name, path in sources.items()
    }
    builds = [future.result() for future in futures.values()]
    compiler.shutdown()
    for done in builds:
        if done.error:
            print(f"FAIL {done.name}: not compiled: {done.error}")
        else:
            print(f"{done.name}: compiled in {done.seconds:.2f} s, {done.usage}")
    if any(done.error for done in builds):
        return None
    return {done.name: done.stem for done in builds}


def run(arguments):
    stems = _compile(arguments)
    if stems is None:
        return 1
    failed = 0
    job = stems, arguments.size, arguments.modes, arguments.iterations
    try:
        for kind, *message in workers.run_one(
            _body, kernels.setup, job, arguments.timeout
        ):
            if kind == "check":
                name, shape, complaints = message
                failed += bool(complaints)
                text = "; ".join(complaints) or "right"
                print(f"{name} {'x'.join(map(str, shape))}: {text}", flush=True)
                continue
            mode, mine, theirs, flops = message
            print(
                f"gemm {mode}: {mine.ms:.4f} ms, {mine.tflops(flops):.0f} TFLOP/s; "
                f"torch.matmul {theirs.ms:.4f} ms, {theirs.tflops(flops):.0f} "
                f"TFLOP/s; share {theirs.ms / mine.ms:.3f}",
                flush=True,
            )
    except RuntimeError as error:
        print(f"FAIL gemm: {error}")
        failed += 1
    return 1 if failed else 0
