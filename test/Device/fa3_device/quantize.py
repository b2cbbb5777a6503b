# SPDX-License-Identifier: Apache-2.0
"""attention.quantize against its definition, and attention that quantizes."""

import dataclasses
import itertools

import torch

from . import build, features, kernels, memory, timing, workers

LARGEST = {"f8E4M3FN": 448.0, "f8E5M2": 57344.0, "i8": 127.0}
# Half a step: relative to a number, and of the least ones.
HALF_STEP = {
    "f8E4M3FN": (2.0**-4, 2.0**-10), "f8E5M2": (2.0**-3, 2.0**-17), "i8": (0.0, 0.5),
}  # fmt: skip
TORCH = {
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
    "f8E4M3FN": torch.float8_e4m3fn, "f8E5M2": torch.float8_e5m2, "i8": torch.int8,
}  # fmt: skip
LEAST_SCALE = 2.0**-64
# What sums in another order may change, relative to the largest of a row.
ROTATION_ERROR = 1e-5
# (batch, heads, rows): partial tiles and blocks, several CTAs for a maximum.
SHAPES = [(1, 1, 1), (2, 3, 200), (3, 2, 1024), (1, 5, 2500), (2, 2, 0)]


@dataclasses.dataclass(frozen=True)
class Case:
    """One program that only quantizes."""

    type: str
    format: str
    d: int
    shared: str  # tensor, head, batch: whose rows share a scale
    rows: int
    rotated: bool
    layout: str
    terms: int = 1

    @property
    def name(self):
        rotated = "-hadamard" if self.rotated else ""
        rotated += "-terms2" if self.terms == 2 else ""
        return (
            f"quantize-{self.type}-{self.format}-d{self.d}-{self.shared}"
            f"-rows{self.rows}-{self.layout}{rotated}"
        )

    def module(self):
        source = f"tensor<?x?x?x{self.d}x{self.type}>"
        values = f"tensor<?x?x?x{self.terms * self.d}x{self.format}>"
        owners = {"tensor": "1x1", "batch": "?x1", "head": "?x?"}[self.shared]
        scales = f"tensor<{owners}x{'?' if self.rows else '1'}xf32>"
        signs = f"tensor<{self.d}x{self.type}>"
        argument = f', %s: {signs} {{tile.name = "signs"}}' if self.rotated else ""
        clauses = f" rotate %s : {signs}" if self.rotated else ""
        clauses += f" rows {self.rows}" if self.rows else ""
        clauses += f" terms {self.terms}" if self.terms != 1 else ""
        clauses += f" layout {self.layout}" if self.layout != "bhsd" else ""
        return (
            f'func.func @quantize(%x: {source} {{tile.name = "x"}}{argument})\n'
            f'    -> ({values} {{tile.name = "y"}}, {scales} {{tile.name = "t"}}) {{\n'
            f"  %y, %t = attention.quantize %x{clauses} : {source} -> {values}, {scales}\n"
            f"  return %y, %t : {values}, {scales}\n"
            "}\n"
        )


def hadamard(d, device="cuda"):
    """The Hadamard matrix of the operation, all signs positive."""
    for paley, prime in ((1, 0), (12, 11), (20, 19)):  # noqa: B007
        power = d // paley
        if d % paley == 0 and power & (power - 1) == 0:
            break
    matrix = torch.ones(1, 1)
    while matrix.shape[0] < power:
        matrix = torch.cat(
            [torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)]
        )
    if prime:
        squares = {x * x % prime for x in range(prime)}
        factor = torch.ones(paley, paley)
        for a, b in itertools.product(range(1, paley), range(paley)):
            factor[a, b] = 1 if b and (a - b) % prime in squares else -1
        matrix = torch.kron(factor, matrix)
    return matrix.double().to(device)


def define(case, x, signs):
    """The rotated source and the scales, (batch, head, sequence, element)."""
    y = x.double()
    if case.rotated:
        signed = torch.where(signs < 0, -1.0, 1.0).double()[:, None] * hadamard(case.d)
        y = y @ signed / case.d**0.5
    largest = y.abs().amax(3).float()
    batch, heads, length = largest.shape
    rows = case.rows or max(length, 1)
    blocks = -(-length // rows) if case.rows else 1
    padded = torch.zeros(batch, heads, blocks * rows, device=x.device)
    padded[:, :, :length] = largest
    scales = padded.view(batch, heads, blocks, rows).amax(3)
    if case.shared != "head":
        scales = scales.amax(1, keepdim=True)
    if case.shared == "tensor":
        scales = scales.amax(0, keepdim=True)
    factor = torch.tensor(1 / LARGEST[case.format], device=x.device)
    return y, (scales * factor).clamp_min(LEAST_SCALE)


def _compare(case, y, want, values, scales):
    """What is wrong, in words."""
    if not values.is_intact() or not scales.is_intact():
        yield "memory beside a result was written"
    got, t = values.tensor.float(), scales.tensor
    if case.layout == "bshd":
        got = got.transpose(1, 2)
    if not torch.isfinite(t).all():
        yield "a scale was not written"
        return
    if not case.rotated and not torch.equal(t, want):
        yield f"scales differ in {(t != want).sum()} of {want.numel()}"
    off = ((t - want).abs() / want).max().item() if want.numel() else 0
    if off > ROTATION_ERROR:
        yield f"scales are off by {off:.1e}"
    if not got.numel():
        return
    length = got.shape[2]
    rows = case.rows or length
    spread = t.repeat_interleave(rows, 2)[:, :, :length, None].double()
    exact = y / spread
    relative, least = HALF_STEP[case.format]
    # A term rounds what the ones before left, with the error of f32 that those
    # had.
    slack = ROTATION_ERROR * LARGEST[case.format] if case.rotated else 0
    for term in range(case.terms):
        slack += term * 2.0**-22 * LARGEST[case.format]
        limit = (exact.abs() * relative).clamp_min(least) * (1 + 1e-4) + slack
        part = got[..., term * case.d : (term + 1) * case.d].double()
        error = (part - exact).abs()
        if not (error <= limit).all():
            wrong = (~(error <= limit)).nonzero()
            yield f"values differ in {len(wrong)}, first at {wrong[0].tolist()}"
        exact = exact - part


def _run_case(case, program, shape, seed):
    batch, heads, length = shape
    generator = torch.Generator(device="cuda").manual_seed(seed)
    x = kernels._random((*shape, case.d), "outlier", generator, "cuda")
    x[:, :, length // 2 : length // 2 + 130] *= 1e-3
    signs = torch.randn(case.d, generator=generator, device="cuda")
    order = "bhsd" if case.layout == "bhsd" else "padded"
    logical = (batch, heads, length, case.d)
    if case.layout == "bshd":
        logical = (batch, length, heads, case.d)
        x = x.transpose(1, 2)
    source = memory.Guarded(logical, TORCH[case.type], order).fill(x)
    x = source.tensor if case.layout == "bhsd" else source.tensor.transpose(1, 2)
    signs = signs.to(TORCH[case.type])
    y, want = define(case, x, signs)
    terms = (*logical[:3], case.terms * case.d)
    values = memory.Guarded(terms, TORCH[case.format], order)
    scales = memory.Guarded(tuple(want.shape), torch.float32, "bhsd")
    arguments = {"x": source.tensor, "y": values.tensor, "t": scales.tensor}
    if case.rotated:
        arguments["signs"] = signs
    refused = kernels.launch(program, arguments)
    if refused:
        return [refused]
    return list(_compare(case, y, want, values, scales))


def _check(job):
    case, stem = job
    program = kernels.load(stem)
    for number, shape in enumerate(SHAPES):
        yield shape, _run_case(case, program, shape, number)


def _cases():
    """Every way to share, with formats, types, head dims and layouts in turn."""
    plain = itertools.cycle([
        ("f16", "f8E4M3FN", 128, "bhsd"), ("bf16", "f8E5M2", 64, "bshd"),
        ("f16", "f8E5M2", 96, "bshd"), ("bf16", "f8E4M3FN", 256, "bhsd"),
        ("f32", "f8E4M3FN", 80, "bhsd"), ("f16", "f8E4M3FN", 16, "bshd"),
        ("f16", "i8", 64, "bhsd"),
    ])  # fmt: skip
    rotated = itertools.cycle([
        ("f16", "f8E4M3FN", 128, "bhsd"), ("bf16", "f8E5M2", 96, "bshd"),
        ("bf16", "f8E4M3FN", 192, "bhsd"), ("f16", "f8E4M3FN", 64, "bshd"),
        ("f16", "f8E4M3FN", 256, "bhsd"), ("bf16", "f8E4M3FN", 80, "bshd"),
        ("bf16", "i8", 128, "bshd"),
    ])  # fmt: skip
    sharings = [("tensor", 0), ("batch", 0), ("head", 0), ("head", 1), ("head", 64),
                ("head", 128), ("head", 192), ("tensor", 128)]  # fmt: skip
    for shared, rows in sharings * 2:
        type, format, d, layout = next(plain)
        yield Case(type, format, d, shared, rows, False, layout)
        type, format, d, layout = next(rotated)
        yield Case(type, format, d, shared, rows, True, layout)
    # All ways to share, plain and rotated, with sums of two floats.
    formats = itertools.cycle(["f8E4M3FN", "f8E4M3FN", "f8E5M2"])
    layouts = itertools.cycle(features.LAYOUTS)
    for (shared, rows), rotated in itertools.product(sharings, (False, True)):
        yield Case(
            "f16", next(formats), 128, shared, rows, rotated, next(layouts), 2
        )


# --- Attention that quantizes ------------------------------------------------

ATTENTION = """
func.func @attention(%q: tensor<?x?x?xDxf16>, %k: tensor<?x?x?xDxf16>,
                     %v: tensor<?x?x?xDxf16>) -> tensor<?x?x?xDxf16> {
  %o = attention.forward %q, %k, %v
    : (tensor<?x?x?xDxf16>, tensor<?x?x?xDxf16>, tensor<?x?x?xDxf16>) -> tensor<?x?x?xDxf16>
  return %o : tensor<?x?x?xDxf16>
}
"""
# Options of the pass, and a bound on the error (root mean square) with outliers.
VARIANTS = {
    "none": (None, 1e-3), "tensor": ("scales=tensor", 4e-2),
    "head": ("scales=head", 4e-2), "block": ("scales=block", 3e-2),
    "token": ("scales=token", 2e-2), "head-hadamard": ("scales=head hadamard", 2e-2),
    "block-hadamard": ("scales=block hadamard", 2e-2),
    "token-hadamard": ("scales=token hadamard", 2e-2),
    "block-hadamard-i8": ("scales=block hadamard qk-format=i8", 8e-3),
    "token-hadamard-i8": ("scales=token hadamard qk-format=i8", 8e-3),
    "block-hadamard-terms": ("scales=block hadamard q-terms=2", 1e-2),
    "e5m2": ("scales=head format=f8E5M2", 8e-2),
}  # fmt: skip


def _attend(job):
    stems, d, length, modes, iterations = job
    generator = torch.Generator(device="cuda").manual_seed(length)
    heads, batch = 16, max(8192 // length, 1)
    q, k, v = (
        kernels._random((batch, heads, length, d), "outlier", generator, "cuda").half()
        for _ in range(3)
    )
    signs = torch.randn(d, generator=generator, device="cuda").half()
    # One head of the definition in fp64 is enough of it.
    s = torch.softmax(q[0, 0].double() @ k[0, 0].double().T / d**0.5, 1)
    want = s @ v[0, 0].double()
    for name, stem in stems.items():
        program = kernels.load(stem)
        o = torch.full_like(q, torch.nan)
        arguments = {"q": q, "k": k, "v": v, "o": o}
        if any(argument.name == "signs" for argument in program.args):
            arguments["signs"] = signs
        size = program.workspace_size(**arguments)
        call = program.bind(**arguments)
        call()
        torch.cuda.synchronize()
        error = (o[0, 0].double() - want).square().mean().sqrt().item()
        times = {m: timing.MODES[m](call, iterations).ms for m in modes}
        yield name, error, size, times


def run(arguments):
    compiler = build.Compiler(arguments)
    cases = list(dict.fromkeys(_cases()))
    futures = [(case, compiler.submit(case.name, case.module())) for case in cases]
    attention = ATTENTION.replace("xD", f"x{arguments.d}")
    variants = {
        name: compiler.submit(
            f"attention-{name}", attention,
            passes=f"attention-quantize{{{options}}}" if options else "",
        )
        for name, (options, _) in VARIANTS.items()
    }  # fmt: skip
    passed = failed = 0
    for case, future in futures:
        done = future.result()
        complaints = []
        if done.error:
            complaints = [f"not compiled: {done.error}"]
        else:
            try:
                for shape, found in workers.run_one(
                    _check, kernels.setup, (case, done.stem), arguments.timeout
                ):
                    complaints += [f"{shape}: {text}" for text in found]
                    passed += not found
            except RuntimeError as error:
                complaints.append(str(error))
        failed += len(complaints)
        for complaint in complaints:
            print(f"FAIL {case.name}: {complaint}")
    stems = {}
    for name, future in variants.items():
        done = future.result()
        if done.error:
            print(f"FAIL {name}: not compiled: {done.error}")
            failed += 1
        else:
            stems[name] = done.stem
    compiler.shutdown()
    for length in arguments.lengths:
        job = stems, arguments.d, length, arguments.modes, arguments.iterations
        try:
            for name, error, size, times in workers.run_one(
                _attend, kernels.setup, job, arguments.timeout
            ):
                bad = not error <= VARIANTS[name][1]
                failed, passed = failed + bad, passed + (not bad)
                text = ", ".join(f"{mode} {ms:.3f} ms" for mode, ms in times.items())
                print(
                    f"{'FAIL ' if bad else ''}d{arguments.d} length {length} {name}: "
                    f"error {error:.2e}, workspace {size >> 10} KiB, {text}"
                )
        except RuntimeError as error:
            print(f"FAIL length {length}: {error}")
            failed += 1
    print(f"passed {passed}, failed {failed}, compilations {compiler.count}")
    return 1 if failed else 0
