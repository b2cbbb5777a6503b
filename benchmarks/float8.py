#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of attention with 8-bit operands on a GPU.

`accuracy`: root mean square error against fp64 of the unrounded inputs, by
granularity of scales, Hadamard matrix and accumulation, and what each kernel
takes. `length`: relative error against fp64 of the rounded inputs by number of
keys, where one key matters and where all are alike. `values`: throughput with v
as (batch, head, key, element) and with v transposed, by head dim, mask and
length, beside kernels of a --peer file, and how much their results differ.
Inputs are quantized by torch. Writes CSV, and a plot of `length` if there is
matplotlib.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
for folder in (HERE, ROOT / "test" / "Device", ROOT / "python"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from fa3_device import arguments, build, features  # noqa: E402

def _compile(given, modules: dict) -> dict:
    """Programs by name, from (text, options)."""
    import fa3_runtime

    compiler = build.Compiler(given)
    futures = {
        name: compiler.submit(name.replace(" ", "-"), text, options)
        for name, (text, options) in modules.items()
    }
    programs = {}
    for name, future in futures.items():
        built = future.result()
        if built.error:
            raise SystemExit(f"error: {name}: {built.error}")
        programs[name] = fa3_runtime.Program.load(built.stem)
    return programs


def _run(program, inputs, out):
    """The output, and a call that can be timed."""
    import torch

    values = [x.values for x in inputs] + [x.scales for x in inputs]
    lse = torch.empty(out.shape[:3], device="cuda")
    call = program.bind(*values, out.fill_(float("nan")), lse)
    call()
    torch.cuda.synchronize()
    return out, call


def accuracy(given) -> list[dict]:
    import torch
    from fa3_benchmarks import float8
    from fa3_device import timing

    heads, d = 16, 128
    # Types of q and k, and how many of them make an element of q.
    formats = {"f8E4M3FN": ("f8E4M3FN", 1), "two f8E4M3FN": ("f8E4M3FN", 2),
               "i8": ("i8", 1)}  # fmt: skip
    modules = {
        f"{name} {granularity} {levels}": (
            float8.module(d, rows, element=element, q_terms=terms),
            float8.TWO_LEVEL if levels == "two" else float8.ONE_LEVEL,
        )
        for name, (element, terms) in formats.items()
        for granularity, rows in float8.GRANULARITIES.items()
        for levels in ("one", "two")
    }
    programs = _compile(given, modules)
    rows = []
    for length in given.lengths or (2048, 8192):
        generator = torch.Generator("cuda").manual_seed(given.seed)
        q, k, v = (
            float8.outliers((1, heads, length, d), generator) for _ in "qkv"
        )
        want = float8.attention(q, k, v)
        matrix = float8.rotation(d, generator)
        for name, (granularity, shared), rotated in itertools.product(
            formats, float8.GRANULARITIES.items(), (False, True)
        ):
            element, terms = formats[name]
            inputs = [
                float8.quantize(x, r, kind, granularity == "tensor", count)
                for x, r, kind, count in zip(
                    (q @ matrix, k @ matrix, v) if rotated else (q, k, v),
                    shared,
                    (element, element, features.value_type(element)),
                    (terms, 1, 1),
                )
            ]
            own = float8.attention(*(x.exact() for x in inputs))
            out = torch.empty(1, heads, length, d, device="cuda")
            for levels in ("one", "two"):
                got, call = _run(
                    programs[f"{name} {granularity} {levels}"], inputs, out
                )
                time = timing.single(call, iterations=7)
                rows.append({
                    "length": length, "q and k": name,
                    "scales": granularity,
                    "hadamard": int(rotated), "levels": levels,
                    "error": float8.rms(got - want),
                    "of inputs": float8.rms(own - want),
                    "of arithmetic": float8.rms(got - own),
                    "tflops": time.tflops(4 * heads * length**2 * d),
                })  # fmt: skip
                _print(rows[-1])
    return rows


def length(given) -> list[dict]:
    import torch
    from fa3_benchmarks import float8

    queries, d = 256, 128
    text = float8.module(d, (0, 0, 0))
    options = {"one": float8.ONE_LEVEL, "two": float8.TWO_LEVEL}
    for steps in given.steps:
        options[f"two, {steps} steps"] = (
            f"{float8.TWO_LEVEL} two-level-steps={steps}"
        )
    programs = _compile(
        given, {name: (text, option) for name, option in options.items()}
    )
    rows = []
    for keys in given.lengths or [1 << n for n in range(9, 18)]:
        generator = torch.Generator("cuda").manual_seed(given.seed)
        plain = [
            torch.randn(1, 1, n, d, generator=generator, device="cuda").double()
            for n in (queries, keys, keys)
        ]
        for kind, inputs in (
            ("needle", float8.needle(queries, keys, d, generator)),
            ("plain", plain),
        ):
            inputs = [float8.quantize(x, 0) for x in inputs]
            want = float8.attention(*(x.exact() for x in inputs))
            row = {"keys": keys, "inputs": kind}
            for levels, program in programs.items():
                out = torch.empty(1, 1, queries, d, device="cuda")
                got, _ = _run(program, inputs, out)
                row[levels] = float8.rms(got - want) / float8.rms(want)
            rows.append(row)
            _print(row)
    return rows


def values(given) -> list[dict]:
    import torch
    from fa3_benchmarks import float8, presets
    from fa3_device import timing
    from fa3_device.peers import Kernels

    element = "f8E4M3FN"
    kinds = {"natural": False, "transposed": True}
    cells = [
        presets.cell(element, d, mask, length)
        for d in given.dims
        for mask in ("full", "causal")
        for length in given.lengths or presets.LENGTHS
    ]
    programs = _compile(given, {
        f"{cell.name} {kind}": (
            cell.module(transposed=transposed), given.pipeline_options,
        )
        for cell in cells for kind, transposed in kinds.items()
    })  # fmt: skip
    peers = {
        family: Kernels(given.peer, None, family[0], family[1] == "causal", True)
        for family in {(cell.d, cell.mask_name) for cell in cells}
    }
    rows = []
    for cell in cells:
        generator = torch.Generator("cuda").manual_seed(given.seed)
        shape = (cell.batch, cell.heads, cell.length, cell.d)
        q, k, v = (
            torch.randn(shape, generator=generator, device="cuda").to(
                float8.FORMATS[element]
            )
            for _ in "qkv"
        )
        one = torch.ones(1, 1, 1, device="cuda")
        across = v.transpose(2, 3).contiguous()
        row = {"d": cell.d, "mask": cell.mask_name, "length": cell.length}
        results = {}

        def take(name, call, row=row, results=results, flops=cell.flops):
            out = results[name]
            out.fill_(float("nan"))
            time = timing.single(call, iterations=11)
            row[name] = time.tflops(flops)
            exact = results["natural"].float()
            row[f"{name} differs"] = float8.rms(out.float() - exact) / float8.rms(
                exact
            )

        for kind, transposed in kinds.items():
            out = results[kind] = torch.empty(
                shape, device="cuda", dtype=torch.half
            )
            given_v = across if transposed else v
            program = programs[f"{cell.name} {kind}"]
            take(kind, program.bind(q, k, given_v, one, one, one, out))
        for name, peer in peers[cell.d, cell.mask_name].references.items():
            out = results[name] = torch.empty(
                shape, device="cuda", dtype=torch.half
            )
            heads_last = (x.transpose(1, 2) for x in (q, k))
            take(name, peer.bind(*heads_last, across, out.transpose(1, 2)))
        rows.append(row)
        _print(row)
    return rows


def _print(row: dict) -> None:
    print("  ".join(
        f"{name} {value:.3e}" if isinstance(value, float) and value < 1
        else f"{name} {value:.0f}" if isinstance(value, float)
        else f"{name} {value}" for name, value in row.items()
    ), flush=True)  # fmt: skip


def _plot(rows: list[dict], path: pathlib.Path) -> None:
    try:
        import matplotlib
    except ImportError:
        print("no plot: there is no matplotlib")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for kind in ("needle", "plain"):
        part = [row for row in rows if row["inputs"] == kind]
        for levels in list(part[0])[2:]:
            axes.loglog(
                [row["keys"] for row in part], [row[levels] for row in part],
                marker="o", markersize=3, label=f"{kind}, {levels} level",
            )  # fmt: skip
    axes.set_xlabel("keys")
    axes.set_ylabel("relative error (RMS)")
    axes.grid(linewidth=0.4)
    axes.legend()
    figure.savefig(path, dpi=150, bbox_inches="tight")
    print(f"written to {path}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("accuracy", "length", "values"))
    parser.add_argument(
        "--dims", type=lambda s: [int(x) for x in s.split(",")],
        default=[64, 128, 256], help="of values",
    )  # fmt: skip
    parser.add_argument("--lengths", type=lambda s: [int(x) for x in s.split(",")])
    parser.add_argument(
        "--steps", type=lambda s: [int(x) for x in s.split(",")], default=[],
        help="steps between additions of two levels, of length",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peer", help="file of other kernels, of values")
    parser.add_argument("--from-csv", metavar="FILE", help="plot again; no GPU")
    arguments.add_tools(parser, out="benchmark-results")
    given = parser.parse_args()
    arguments.prepare(given)
    path = pathlib.Path(given.out) / f"float8-{given.what}.csv"
    if given.from_csv:
        from fa3_benchmarks.rows import read_lines

        rows = [
            {k: v if k == "inputs" else float(v) for k, v in row.items()}
            for row in read_lines(given.from_csv)
        ]
    else:
        rows = {
            "accuracy": accuracy, "length": length, "values": values,
        }[given.what](given)
        with open(path, "w", newline="") as file:
            columns = dict.fromkeys(name for row in rows for name in row)
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)
        print(f"written to {path}")
    if given.what == "length":
        _plot(rows, path.with_suffix(".png"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
