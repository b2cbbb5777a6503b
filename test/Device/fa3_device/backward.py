# SPDX-License-Identifier: Apache-2.0
"""Gradients: every feature set on shapes, repeated runs, and times beside torch."""

from __future__ import annotations

import csv
import json
import pathlib
import time
import zlib

import torch

from . import (
    backward_places, build, cases, features, gradient_oracle, kernels, memory, oracle, timing,
)  # fmt: skip

_SHAPES = [
    (1, 1), (1, 147), (64, 128), (113, 203), (128, 217), (108, 256), (256, 512),
    (384, 256), (640, 128), (1023, 1024), (1024, 1023), (2048, 2048),
]  # fmt: skip
_HIDDEN = 2048  # elements of all heads of a layer that is timed
_EXACT = 1 << 24  # scores up to which the definition is computed in f64
_GRADIENTS = ("dq", "dk", "dv")


def _shares_bias(feature):
    """Whether all sequences have the same bias, whose gradient is a sum then."""
    return feature.layout == "bshd"


def module(feature):
    """Text of a module with one attention.backward; auxiliary operands have
    gradients, too."""
    types = features.dynamic_types(feature)
    if _shares_bias(feature):
        types["bias"] = types["bias"].replace("<?", "<1", 1)
    return features.gradient_text(
        features.MASKS[feature.mask], types, feature.layout, feature.scale,
        of_aux=True,
    )  # fmt: skip


class _Problem:
    """Inputs and outputs of one case, guarded."""

    def __init__(self, feature, case, seed):
        self.feature, self.mask = feature, features.MASKS[feature.mask]
        self.dtype = kernels.torch_type(feature.type)
        generator = torch.Generator(device="cuda").manual_seed(seed)

        def guarded(heads, rows, last):
            shape = (case.batch, heads, rows, last)
            return memory.Guarded(shape, self.dtype, case.memory)

        def normal(x):
            values = torch.randn(x.tensor.shape, generator=generator, device="cuda")
            return x.fill(values)

        def queries(last):
            return guarded(case.heads, case.queries, last)

        def keys(last):
            return guarded(case.key_heads, case.keys, last)

        d, dv = feature.d, feature.dv
        self.arrays = {
            "q": normal(queries(d)), "k": normal(keys(d)), "v": normal(keys(dv)),
            "do": normal(queries(dv)), "o": queries(dv),
            "dq": queries(d), "dk": keys(d), "dv": keys(dv),
        }  # fmt: skip
        shape = (case.batch, case.heads, case.queries)
        self.lse = memory.Guarded(shape, torch.float32, case.memory)
        self.scale = d**-0.5 * (0.875 if feature.scale else 1)
        self.extra = {}
        if self.mask.alibi:
            steps = torch.arange(1, case.heads + 1, device="cuda")
            self.extra["alibi"] = torch.exp2(-8.0 * steps / case.heads)
        if self.mask.bias:
            batch = 1 if _shares_bias(feature) else case.batch
            shape = (batch, case.heads, case.queries, case.keys)
            bias = torch.randn(shape, generator=generator, device="cuda")
            self.extra["bias"] = bias.to(self.dtype)
        self.gradients = {name: self.arrays[name].tensor for name in _GRADIENTS}
        for name, x in self.extra.items():
            self.gradients["d" + name] = torch.empty_like(x)

    def solve(self):
        """The gradients by definition and in low precision; o and lse become
        inputs of the kernel."""
        x = {name: self.arrays[name].tensor for name in ("q", "k", "v", "do")}
        x.update(self.extra, scale=self.scale)
        batch, heads, queries, _ = x["q"].shape
        keys = x["k"].shape[2]
        exact = batch * heads * queries * keys <= _EXACT
        wide = torch.float64 if exact else torch.float32
        want, o, lse = gradient_oracle.gradients(self.mask, x, wide)
        low, _, _ = gradient_oracle.gradients(self.mask, x, self.dtype)
        self.arrays["o"].fill(o)
        self.lse.fill(lse)
        given = gradient_oracle.of_given(self.mask, x, self.arrays["o"].tensor, lse, wide)
        return want[: len(_GRADIENTS)] + given, low

    def arguments(self):
        def arranged(x):
            return x if self.feature.layout == "bhsd" else x.transpose(1, 2)

        found = {name: arranged(x.tensor) for name, x in self.arrays.items()}
        found.update(self.extra, lse=self.lse.tensor)
        found.update(("d" + name, self.gradients["d" + name]) for name in self.extra)
        if self.feature.scale:
            found["scale"] = self.scale
        return found

    def poison(self):
        for name in _GRADIENTS:
            self.arrays[name].poison()
        for name in self.extra:
            self.gradients["d" + name].fill_(torch.nan)


def _complaints(problem, want, low):
    """What is wrong, and the largest error of each gradient over its bound."""
    factor = 3 if problem.mask.softcap is not None else 2
    complaints, ratios = [], {}
    for (name, x), exact, rough in zip(problem.gradients.items(), want, low):
        got = x.float()
        if not got.numel():
            continue
        bound = oracle.error_bound(exact, rough, x.dtype, factor)
        difference = (got - exact).abs()
        wrong = ~(difference <= bound)  # NaN, the poison, is wrong
        ratios[name] = float(difference.max()) / max(bound, 1e-30)
        if wrong.any():
            at = tuple(torch.nonzero(wrong)[0].tolist())
            complaints.append(
                f"{name}: max error {float(difference.max()):.3g}, bound "
                f"{bound:.3g}, {int(wrong.sum())} of {wrong.numel()}, first at "
                f"{list(at)}: {float(got[at]):.5g} for {float(exact[at]):.5g}"
            )
    for name, x in problem.arrays.items():
        if not x.is_intact():
            complaints.append(f"{name}: written around it")
    return complaints, ratios


def _matrix(arguments, chosen, builds):
    passed = failed = 0
    worst = (0.0, "")
    shapes = _SHAPES + ([] if arguments.no_empty else cases.EMPTY_SHAPES)
    if arguments.shapes:
        shapes = [tuple(map(int, s.split("x"))) for s in arguments.shapes]
    groups = arguments.groups or list(cases.GROUPS)
    log = open(pathlib.Path(arguments.out) / "backward.jsonl", "w")
    for number, feature in enumerate(chosen):
        done = builds[feature.name].result()
        planned = cases.covering(
            number, groups, shapes, arguments.batches or list(cases.BATCHES)
        )
        if done.error:
            print(f"FAIL {feature.name}: not compiled: {done.error}")
            failed += len(planned)
            continue
        program = kernels.load(done.stem)
        for case in planned:
            seed = zlib.crc32(f"{feature.name} {case.name}".encode())
            problem = _Problem(feature, case, seed)
            want, low = problem.solve()
            problem.poison()
            refusal = kernels.launch(program, problem.arguments())
            complaints, ratios = [refusal], {}
            if not refusal:
                complaints, ratios = _complaints(problem, want, low)
            record = {"feature": feature.name, "case": case.name, "ratios": ratios}
            log.write(json.dumps({**record, "failures": complaints}) + "\n")
            if complaints:
                failed += 1
                if failed <= arguments.max_print:
                    print(f"FAIL {feature.name} {case.name}: {'; '.join(complaints)}")
                continue
            passed += 1
            largest = max(ratios.values(), default=0.0)
            worst = max(worst, (largest, f"{feature.name} {case.name}"))
        program.close()
    log.close()
    print(f"largest error / bound of what passed: {worst[0]:.2f} {worst[1]}")
    print(f"passed {passed}, failed {failed}, compilations {len(chosen)}")
    return failed


def _inputs(feature, length):
    """Tensors of a layer (batch, head, sequence, element), and what it gives."""
    tokens = 16384
    batch, heads = max(tokens // length, 1), _HIDDEN // feature.d
    shape = batch, length, heads, feature.d
    generator = torch.Generator(device="cuda").manual_seed(length + feature.d)
    dtype = kernels.torch_type(feature.type)
    q, k, v, out_grad = (
        torch.randn(shape, generator=generator, device="cuda")
        .to(dtype).transpose(1, 2)
        for _ in range(4)
    )  # fmt: skip
    causal = feature.mask == "causal"
    found = torch.ops.aten._scaled_dot_product_cudnn_attention(
        q, k, v, None, True, 0.0, causal
    )
    o, lse = found[0], found[1]
    return q, k, v, o, lse.reshape(batch, heads, length).contiguous(), out_grad


def _peer_call(q, k, v, out_grad, causal):
    """The backward of cuDNN, by torch."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        o = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal)

    def call():
        return torch.autograd.grad(o, leaves, out_grad, retain_graph=True)

    return call


_COLUMNS = (
    "d", "dv", "mask", "type", "length", "mode", "fa3_ms", "fa3_tflops",
    "cudnn_ms", "cudnn_tflops", "of_cudnn",
)  # fmt: skip


def _write(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(_COLUMNS)
        writer.writerows(rows)
    print(f"written to {path}")


def _measure(arguments, chosen, builds):
    failed, rows = 0, []
    for feature in chosen:
        done = builds[feature.name].result()
        if done.error:
            print(f"FAIL {feature.name}: not compiled: {done.error}")
            failed += 1
            continue
        program = kernels.load(done.stem)
        causal = feature.mask == "causal"
        for length in arguments.lengths:
            q, k, v, o, lse, out_grad = _inputs(feature, length)
            gradients = [torch.full_like(x, torch.nan) for x in (q, k, v)]
            run = program.bind(
                q=q, k=k, v=v, o=o, lse=lse, do=out_grad,
                **dict(zip(_GRADIENTS, gradients)),
            )  # fmt: skip
            peer = _peer_call(q, k, v, out_grad, causal)
            run()
            want = peer()
            torch.cuda.synchronize()
            errors = [
                float((g.float() - w.float()).norm() / w.float().norm())
                for g, w in zip(gradients, want)
            ]
            batch, heads, _, d = q.shape
            flops = 10 * batch * heads * length * length * d // (2 if causal else 1)
            for mode in arguments.modes:
                mine = timing.MODES[mode](run, arguments.iterations)
                theirs = timing.MODES[mode](peer, arguments.iterations)
                print(
                    f"{feature.name} {length} {mode}: fa3 {mine.ms:.4f} ms, "
                    f"{mine.tflops(flops):.0f} TFLOP/s; cudnn {theirs.ms:.4f} ms, "
                    f"{theirs.tflops(flops):.0f}; ratio {theirs.ms / mine.ms:.3f}; "
                    f"errors {', '.join(f'{e:.1e}' for e in errors)}",
                    flush=True,
                )
                rows.append((
                    feature.d, feature.dv, feature.mask, feature.type, length, mode,
                    f"{mine.ms:.5f}", f"{mine.tflops(flops):.2f}",
                    f"{theirs.ms:.5f}", f"{theirs.tflops(flops):.2f}",
                    f"{theirs.ms / mine.ms:.4f}",
                ))  # fmt: skip
            if not max(errors) <= arguments.tolerance:
                print(f"FAIL {feature.name} {length}: not what cuDNN gives")
                failed += 1
            failed += _repeat(arguments, feature, length, run, gradients)
        program.close()
    if arguments.csv:
        _write(arguments.csv, rows)
    return failed


def _repeat(arguments, feature, length, run, gradients):
    """Whether repeated runs are equal bit for bit; 1 if not. So is dq where that is
    asked for, or the form is the split one."""
    options = arguments.pipeline_options
    same = "deterministic" in options or "backward-form=split" in options
    checked = gradients if same else gradients[1:]
    first = [g.clone() for g in checked]
    for number in range(arguments.repeat):
        for g in gradients:
            g.fill_(torch.nan)
        run()
        if not all(torch.equal(g, f) for g, f in zip(checked, first)):
            print(f"FAIL {feature.name} {length}: run {number} differs")
            return 1
    return 0


def run(arguments):
    kernels.setup()
    # cuDNN, which is timed beside, takes no wide ones.
    dims = features.HEAD_DIMS + ([] if arguments.time else features.WIDE_DIMS)
    if arguments.dims:
        dims = [
            tuple(map(int, d.split("x"))) if "x" in d else (int(d), int(d))
            for d in arguments.dims
        ]
    types = arguments.types or list(features.TYPES)
    masks = arguments.masks or list(features.MASKS)
    chosen = features.all_features(types, dims, masks, [None])
    # lse is an operand of every kernel; layouts alternate.
    chosen = [
        features.Feature(
            f.type, f.d, f.dv, f.mask,
            "bhsd" if arguments.time else features.LAYOUTS[n % 2],
            f.scale and not arguments.time,
            heads=(_HIDDEN // f.d,) * 2
            if arguments.time and arguments.known_heads else None,
        )
        for n, f in enumerate(chosen)
    ]  # fmt: skip
    if arguments.filter:
        chosen = [f for f in chosen if arguments.filter in f.name]
    compiler = build.Compiler(arguments)
    start = time.monotonic()
    builds = {
        f.name: compiler.submit("backward-" + f.name, module(f)) for f in chosen
    }
    places = [] if arguments.time else backward_places.submit(compiler, arguments)
    failed = 0
    if chosen:
        failed = (_measure if arguments.time else _matrix)(arguments, chosen, builds)
        print(f"{len(chosen)} feature sets, {time.monotonic() - start:.0f} s")
    if places:
        failed += backward_places.run(arguments, places)
    compiler.shutdown()
    return 1 if failed else 0
