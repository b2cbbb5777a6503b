"""The matrix product of examples/gemm.mlir: right, and its share of cuBLAS."""

import torch

from . import build, kernels, memory, timing, workers

# (m, n, k): small and uneven ones, which the tiles do not divide.
SHAPES = [(1, 1, 8), (127, 255, 72), (1000, 520, 328), (384, 1024, 4096)]


def _matrices(m, n, k, generator):
    def matrix(rows, columns):
        # As one batch and head, so that memory around it is watched.
        guarded = memory.Guarded((1, 1, rows, columns), torch.float16, "padded")
        values = torch.randn(1, 1, rows, columns, generator=generator, device="cuda")
        return guarded.fill(values)

    return matrix(m, k), matrix(n, k), matrix(m, n)


def _check(program, m, n, k, generator):
    """Complaints about one product."""
    a, b, c = _matrices(m, n, k, generator)
    c.poison()
    flat = [x.tensor[0, 0] for x in (a, b, c)]
    refusal = kernels.launch(program, dict(zip("abc", flat)))
    if refusal:
        return [refusal]
    x, y, out = flat
    exact = x.double() @ y.double().T
    low = (x @ y.T).double()
    # Twice the error of the library's product, and an ulp of the largest.
    bound = 2 * float((low - exact).abs().max())
    bound += float(exact.abs().max()) * 2**-10
    error = (out.double() - exact).abs()
    wrong = ~(error <= bound)
    complaints = []
    if wrong.any():
        index = torch.nonzero(wrong)[0].tolist()
        complaints.append(
            f"max error {float(error.max()):.3g}, bound {bound:.3g}, wrong "
            f"{int(wrong.sum())} of {wrong.numel()}, first at {index}"
        )
    names = [name for name, g in zip("abc", (a, b, c)) if not g.is_intact()]
    return complaints + [f"{name}: written around it" for name in names]


def _body(job):
    stem, size, modes, iterations = job
    program = kernels.load(stem)
    generator = torch.Generator(device="cuda").manual_seed(3)
    for shape in SHAPES + [(2048, 2048, 2048)]:
        yield "check", shape, _check(program, *shape, generator)
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
    yield "check", (size, size, size), failures
    ours = program.bind(a=a, b=b, c=c)
    flops = 2 * size**3
    for mode in modes:
        timer = timing.MODES[mode]
        mine = timer(ours, iterations)
        theirs = timer(lambda: torch.matmul(a, b.T, out=want), iterations)
        yield "time", mode, mine, theirs, flops


def run(arguments):
    module = (build.ROOT / "examples" / "gemm.mlir").read_text()
    compiler = build.Compiler(arguments)
    done = compiler.submit("gemm", module).result()
    compiler.shutdown()
    if done.error:
        print(f"FAIL gemm: not compiled: {done.error}")
        return 1
    print(f"gemm: compiled in {done.seconds:.2f} s {done.usage}")
    failed = 0
    job = done.stem, arguments.size, arguments.modes, arguments.iterations
    try:
        for kind, *message in workers.run_one(
            _body, kernels.setup, job, arguments.timeout
        ):
            if kind == "check":
                shape, complaints = message
                failed += bool(complaints)
                text = "; ".join(complaints) or "right"
                print(f"gemm {'x'.join(map(str, shape))}: {text}", flush=True)
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
