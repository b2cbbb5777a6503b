# SPDX-License-Identifier: Apache-2.0
"""Gradients with 8-bit copies: against the formula on shapes, their errors beside
those of 16 bits, and times."""

from __future__ import annotations

import torch

from . import backward, build, cases, features, gradient_oracle, kernels, memory, oracle, timing
from .quantize import LARGEST, TORCH

_DIMS = (32, 64, 96, 128, 256)
_SHAPES = [(1, 1), (1, 147), (113, 203), (108, 256), (384, 256), (1023, 1024), (5, 0), (0, 5)]
_COPIED = ("q", "k", "v", "do")
_GRADIENTS = ("dq", "dk", "dv")
_FORMAT = "f8E4M3FN"
_CUT = 2.0**-11  # of the norms of two rows; errors may be twice that


def module(d, type, mask):
    """Text of a module with one attention.backward on copies, a scale a head."""
    wide = f"tensor<?x?x?x{d}x{type}>"
    names = {name: wide for name in ("q", "k", "v", "o")}
    names |= {"lse": "tensor<?x?x?xf32>", "do": wide}
    copies = {name + "8": f"tensor<?x?x?x{d}x{_FORMAT}>" for name in _COPIED}
    scales = {name + "_scale": "tensor<?x?x1xf32>" for name in _COPIED}
    arguments = ", ".join(
        f'%{name}: {t} {{tile.name = "{name}"}}'
        for name, t in (names | copies | scales).items()
    )

    def group(values):
        listed = ", ".join("%" + name for name in values)
        return f"({listed} : {', '.join(values.values())})"

    mods = " mods [#attention.causal]" if mask == "causal" else ""
    results = ", ".join(f'{wide} {{tile.name = "{name}"}}' for name in _GRADIENTS)
    types = ", ".join([wide] * 3)
    return (
        f"func.func @backward({arguments}) -> ({results}) {{\n"
        "  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do "
        f"quantized{group(copies)} scales{group(scales)}{mods}\n"
        f"    : ({', '.join(names.values())}) -> ({types})\n"
        f"  return %dq, %dk, %dv : {types}\n}}\n"
    )


def quantized(x):
    """The copy of an array and its scales, (batch, head, 1)."""
    if not x.numel():
        return x.to(TORCH[_FORMAT]), torch.ones(*x.shape[:2], 1, device=x.device)
    scale = (x.float().abs().amax((2, 3)) / LARGEST[_FORMAT]).clamp_min(2.0**-64)
    copy = (x.float() / scale[..., None, None]).to(TORCH[_FORMAT])
    return copy, scale[..., None].contiguous()


def widen(copy, scale, dtype):
    return copy.to(dtype) * scale[..., None].to(dtype)


class Problem:
    """Arrays of one case; o and lse are those of a forward on the copies."""

    def __init__(self, d, type, mask, case, seed):
        self.mask, self.dtype = features.MASKS[mask], kernels.torch_type(type)
        generator = torch.Generator(device="cuda").manual_seed(seed)
        rows = {"q": (case.heads, case.queries), "k": (case.key_heads, case.keys)}
        rows |= {"v": rows["k"], "do": rows["q"], "o": rows["q"]}
        rows |= {"dq": rows["q"], "dk": rows["k"], "dv": rows["k"]}
        self.arrays = {
            name: memory.Guarded((case.batch, *of, d), self.dtype, case.memory, alignment=8)
            for name, of in rows.items()
        }
        for name in _COPIED:
            x = self.arrays[name]
            x.fill(kernels._random(x.tensor.shape, case.distribution, generator, "cuda"))
        self.scale = d**-0.5
        self.copies = {n: quantized(self.arrays[n].tensor) for n in _COPIED}
        wide = {n: widen(*self.copies[n], torch.float64) for n in ("q", "k", "v")}
        o, lse = gradient_oracle.forward(
            self.mask, {**wide, "scale": self.scale}, torch.float64
        )
        self.arrays["o"].fill(o)
        self.lse = lse.float().contiguous()

    def solve(self, dtype):
        """The formula with its numbers rounded to `dtype` where a kernel rounds, and
        sums of 8-bit products cut as the tensor cores cut them: at 13 bits, at every
        step (oracle.Inputs)."""
        x = {n: self.arrays[n].tensor for n in (*_COPIED, "o")}
        group = x["q"].shape[1] // x["k"].shape[1]
        wide = torch.float64 if dtype == torch.float64 else torch.float32

        def each(y):
            return y.repeat_interleave(group, 1)

        def low(y):
            return y.to(dtype).to(wide)

        def product(x, y):
            sums = x @ y.mT
            if dtype == torch.float64:
                return sums
            reach = x.norm(dim=-1)[..., None] * y.norm(dim=-1)[..., None, :]
            return sums - sums.sign() * _CUT * reach

        q8, k8, v8, do8 = (widen(*self.copies[n], wide) for n in _COPIED)
        s = low(product(q8, each(k8)) * self.scale)
        keep = oracle.visible(self.mask, *s.shape[2:], s.device)
        p = low((s - self.lse.nan_to_num(neginf=0)[..., None].to(wide)).exp())
        if keep is not None:
            p = p.masked_fill(~keep, 0)
        do, o = x["do"].to(wide), x["o"].to(wide)
        ds = low(p * (low(product(do8, each(v8))) - (do * o).sum(-1, keepdim=True)))
        dq = self.scale * (ds @ each(x["k"].to(wide)))

        def by_key_head(y):
            return y.unflatten(1, (-1, group)).sum(2)

        dk = by_key_head(self.scale * (ds.mT @ x["q"].to(wide)))
        return [g.float() for g in (dq, dk, by_key_head(p.mT @ do))]

    def arguments(self):
        found = {name: x.tensor for name, x in self.arrays.items()} | {"lse": self.lse}
        for name, (copy, scale) in self.copies.items():
            found |= {name + "8": copy, name + "_scale": scale}
        return found


def _check(problem, program):
    """What is wrong, and the largest error over its bound."""
    for name in _GRADIENTS:
        problem.arrays[name].poison()
    refusal = kernels.launch(program, problem.arguments())
    if refusal:
        return [refusal], 0.0
    complaints, worst = [], 0.0
    solved = zip(_GRADIENTS, problem.solve(torch.float64), problem.solve(problem.dtype))
    for name, exact, rough in solved:
        got = problem.arrays[name].tensor.float()
        if not got.numel():
            continue
        bound = oracle.error_bound(exact, rough, problem.dtype, 2)
        error = (got - exact).abs()
        if not (error <= bound).all():
            complaints.append(f"{name}: max error {error.max():.3g}, bound {bound:.3g}")
        worst = max(worst, float(error.max()) / max(bound, 1e-30))
        if not problem.arrays[name].is_intact():
            complaints.append(f"{name}: written around it")
    return complaints, worst


def _matrix(arguments, chosen, builds):
    passed = failed = 0
    largest = 0.0
    for number, (d, type, mask) in enumerate(chosen):
        done = builds[d, type, mask].result()
        if done.error:
            print(f"FAIL {done.name}: not compiled: {done.error}")
            failed += 1
            continue
        program = kernels.load(done.stem)
        for case in cases.covering(number, list(cases.GROUPS), _SHAPES, (1, 2)):
            complaints, worst = _check(Problem(d, type, mask, case, number), program)
            passed, failed = passed + (not complaints), failed + bool(complaints)
            largest = max(largest, worst if not complaints else 0)
            if complaints and failed <= 20:
                print(f"FAIL {done.name} {case.name}: {'; '.join(complaints)}")
        program.close()
    print(f"passed {passed}, failed {failed}; largest error / bound {largest:.2f}")
    return failed


def _errors(d, mask, program, ours16, distribution):
    """Errors of gradients relative to those by definition in fp64 on the inputs:
    with copies, with copies and lse and o of 16 bits, and of 16 bits."""
    case = cases.Case(1, 4, 4, 2048, 2048, "bhsd", distribution)
    problem = Problem(d, "bf16", mask, case, 7)
    x = {n: problem.arrays[n].tensor for n in _COPIED} | {"scale": problem.scale}
    want, o, lse = gradient_oracle.gradients(problem.mask, x, torch.float64)

    def run(which, names):
        arguments = problem.arguments()
        kernels.launch(which, {n: arguments[n] for n in names or arguments})
        got = [problem.arrays[n].tensor.float() for n in _GRADIENTS]
        return [float((g - w).norm() / w.norm()) for g, w in zip(got, want)]

    found = [run(program, None)]
    problem.arrays["o"].fill(o)
    problem.lse = lse.contiguous()
    found.append(run(program, None))
    found.append(run(ours16, ("q", "k", "v", "o", "lse", "do", *_GRADIENTS)))
    return found


def _measure(arguments, compiler):
    """Errors and times of kernels for bf16."""
    plain = {}
    programs = {}
    forms = ("split", "fused")
    for d in (64, 128):
        for mask in ("full", "causal"):
            for form in forms:
                options = f"backward-form={form} {arguments.pipeline_options}"
                programs[d, mask, form] = compiler.submit(
                    f"copies-{d}-{mask}-{form}", module(d, "bf16", mask), options
                )
                feature = features.Feature("bf16", d, d, mask, "bhsd", False)
                plain[d, mask, form] = compiler.submit(
                    f"plain-{d}-{mask}-{form}", backward.module(feature), options
                )
    for (d, mask, form), done in programs.items():
        loaded = []
        for future in (done, plain[d, mask, form]):
            made = future.result()
            if made.error:
                print(f"FAIL {made.name}: {made.error}")
                return 1
            loaded.append(kernels.load(made.stem))
        copies, ours16 = loaded
        if form == "split":
            for distribution in ("normal", "outlier"):
                for name, errors in zip(
                    ("copies", "copies, lse and o of 16 bits", "16 bits"),
                    _errors(d, mask, copies, ours16, distribution),
                ):
                    print(
                        f"errors d {d} {mask} {distribution} {name}: "
                        + ", ".join(f"{e:.2e}" for e in errors)
                    )
        _time(arguments, d, mask, form, copies, ours16)
        for program in loaded:
            program.close()
    return 0


def _time(arguments, d, mask, form, copies, ours16):
    for length in arguments.lengths:
        heads = 2048 // d
        case = cases.Case(max(16384 // length, 1), heads, heads, length, length, "bhsd", "normal")
        generator = torch.Generator(device="cuda").manual_seed(length)
        shape = (case.batch, heads, length, d)
        x = {
            n: torch.randn(shape, generator=generator, device="cuda").bfloat16()
            for n in (*_COPIED, "o", *_GRADIENTS)
        }
        x["lse"] = torch.full(shape[:3], 8.0, device="cuda")
        given = dict(x)
        for n in _COPIED:
            given[n + "8"], given[n + "_scale"] = quantized(x[n])
        flops = 10 * case.batch * heads * length**2 * d // (2 if mask == "causal" else 1)
        for mode in arguments.modes:
            with_copies = timing.MODES[mode](copies.bind(**given), arguments.iterations)
            without = timing.MODES[mode](ours16.bind(**x), arguments.iterations)
            print(
                f"time d {d} {mask} {form} {length} {mode}: copies {with_copies.ms:.4f} ms, "
                f"{with_copies.tflops(flops):.0f} TFLOP/s; 16 bits {without.ms:.4f} ms, "
                f"{without.tflops(flops):.0f}; ratio {without.ms / with_copies.ms:.3f}",
                flush=True,
            )


def run(arguments):
    kernels.setup()
    compiler = build.Compiler(arguments)
    if arguments.train:
        from . import copies_training

        failed = copies_training.run(arguments, compiler)
    elif arguments.time:
        failed = _measure(arguments, compiler)
    else:
        chosen = [
            (d, type, mask)
            for d in _DIMS for type in ("bf16", "f16") for mask in ("full", "causal")
        ]  # fmt: skip
        builds = {
            (d, type, mask): compiler.submit(
                f"copies-{type}-d{d}-{mask}", module(d, type, mask)
            )
            for d, type, mask in chosen
        }
        failed = _matrix(arguments, chosen, builds)
    compiler.shutdown()
    return 1 if failed else 0
