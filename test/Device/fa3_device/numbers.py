# SPDX-License-Identifier: Apache-2.0
"""Speed beside cuDNN, FlashAttention-2 and given kernels, in one process."""

import csv
import itertools
import pathlib

import torch

from . import build, features, kernels, peers, timing, workers

# Work per row of the table: batch * sequence and heads * head dim.
TOKENS, HIDDEN = 16384, 2048


def _inputs(feature, length):
    """q, k, v and o as (batch, sequence, head, element) in memory."""
    generator = torch.Generator(device="cuda").manual_seed(length + feature.d)
    batch, heads = max(TOKENS // length, 1), HIDDEN // feature.d
    shape = batch, length, heads, feature.d
    dtype = kernels.torch_type(feature.type)
    q, k, v = (
        torch.randn(shape, generator=generator, device="cuda").to(dtype)
        for _ in range(3)
    )
    return q, k, v


def _our_call(program, q, k, v):
    """For a module in bhsd order, on strides of (b, s, h, d) memory."""
    o = torch.full_like(q, torch.nan)
    batch, length, heads, _ = q.shape
    lse = torch.full((batch, heads, length), torch.nan, device="cuda")
    views = {"q": q, "k": k, "v": v, "o": o}
    views = {name: x.transpose(1, 2) for name, x in views.items()}
    run = program.bind(**views, lse=lse)

    def call():
        run()
        return o

    return call


def _body(job):
    feature, stems, lengths, options = job
    causal = feature.mask == "causal"
    programs = {name: kernels.load(stem) for name, stem in stems.items()}
    given = peers.Kernels(options["peer"], options["peer_kernels"], feature.d, causal)
    for length in lengths:
        q, k, v = _inputs(feature, length)
        calls = {name: _our_call(p, q, k, v) for name, p in programs.items()}
        for name, backend in peers.BACKENDS.items():
            calls[name] = peers.sdpa(backend, q, k, v, causal)
        if feature.type == "f16":
            calls.update(given.calls(q, k, v))
        batch, _, heads, d = q.shape
        flops = 4 * batch * heads * length * length * d // (2 if causal else 1)
        want = None
        for name in ["cudnn", *(n for n in calls if n != "cudnn")]:
            try:
                got = calls[name]().float()
            except RuntimeError as error:
                if name not in peers.BACKENDS:
                    raise
                # A back end may refuse a head dim.
                yield feature, length, name, None, str(error).splitlines()[0]
                continue
            torch.cuda.synchronize()
            want = got if want is None else want
            error = float((got - want).norm() / want.norm())
            for mode in options["modes"]:
                time = timing.MODES[mode](calls[name], options["iterations"])
                yield feature, length, name, mode, (time, flops, error)


class _Table:
    """Rows of the CSV file, and a line for each printed as it comes."""

    _FIELDS = (
        "type d mask length kernel mode ms low high tflops cycles mhz "
        "of_cudnn of_fa2 error"
    ).split()

    def __init__(self, path):
        self.rows, self.path = [], path

    def add(self, feature, length, kernel, mode, time, flops, error):
        row = {
            "type": feature.type, "d": feature.d, "mask": feature.mask,
            "length": length, "kernel": kernel, "mode": mode, "ms": time.ms,
            "low": time.low, "high": time.high, "tflops": time.tflops(flops),
            "cycles": time.cycles, "mhz": time.mhz, "error": error,
        }  # fmt: skip
        self.rows.append(row)
        print(
            f"{feature.type} d{feature.d} {feature.mask} {length} {kernel} {mode}: "
            f"{time.ms:.4f} ms, {row['tflops']:.0f} TFLOP/s, "
            f"{time.cycles / 1e3:.0f} kcycles at {time.mhz:.0f} MHz, "
            f"relative error {error:.1e}",
            flush=True,
        )

    def finish(self):
        """Ratios to the peers, then the file; prints one line per problem."""
        key = ("type", "d", "mask", "length", "mode")
        groups = {}
        for row in self.rows:
            groups.setdefault(tuple(row[k] for k in key), []).append(row)
        for problem, rows in groups.items():
            by_name = {row["kernel"]: row for row in rows}
            for row in rows:
                for peer in peers.BACKENDS:
                    if peer in by_name:
                        ratio = row["tflops"] / by_name[peer]["tflops"]
                        row["of_" + peer] = round(ratio, 4)
            text = ", ".join(f"{row['kernel']} {row['tflops']:.0f}" for row in rows)
            print("TFLOP/s", *problem, "-", text)
        with open(self.path, "w", newline="") as file:
            writer = csv.DictWriter(file, self._FIELDS)
            writer.writeheader()
            writer.writerows(self.rows)
        print(f"written to {self.path}")


def _variants(arguments):
    """Pipeline options to compile each kernel with, by name."""
    variants = {"fa3": None}
    for text in arguments.variant or []:
        variants[f"fa3[{text}]"] = text
    return variants


def run(arguments):
    dims = [(d, d) for d in arguments.d]
    chosen = features.all_features(arguments.types, dims, arguments.masks, ["bhsd"])
    # The scale is the default everywhere, as the peers take it.
    chosen = [features.Feature(f.type, f.d, f.dv, f.mask) for f in chosen]
    compiler = build.Compiler(arguments)
    variants = _variants(arguments)
    futures = {
        (feature, name): compiler.submit(
            f"{feature.name}-v{number}", feature.module(), options
        )
        for feature, (number, (name, options)) in itertools.product(
            chosen, enumerate(variants.items())
        )
    }
    options = {
        "modes": arguments.modes,
        "iterations": arguments.iterations,
        "peer": arguments.peer,
        "peer_kernels": arguments.peer_kernels,
    }
    table = _Table(pathlib.Path(arguments.out) / f"{arguments.command}.csv")
    failed = 0
    for feature in chosen:
        stems = {}
        for name in variants:
            done = futures[feature, name].result()
            if done.error:
                print(f"FAIL {feature.name} {name}: not compiled: {done.error}")
                failed += 1
            else:
                stems[name] = done.stem
        failed += _measure((feature, stems, arguments.lengths, options), table,
                           arguments)  # fmt: skip
    compiler.shutdown()
    table.finish()
    return 1 if failed else 0


def _measure(job, table, arguments):
    """Takes the measurements of one worker; the number of failures."""
    failed = 0
    try:
        for feature, length, name, mode, result in workers.run_one(
            _body, kernels.setup, job, arguments.timeout
        ):
            if mode is None:
                print(f"{feature.name} {length} {name}: {result}")
                continue
            table.add(feature, length, name, mode, *result)
            if name not in peers.BACKENDS and not result[2] <= arguments.tolerance:
                print(f"FAIL {feature.name} {length} {name}: not what cuDNN gives")
                failed += 1
    except RuntimeError as error:
        print(f"FAIL {job[0].name}: {error}")
        failed += 1
    return failed
