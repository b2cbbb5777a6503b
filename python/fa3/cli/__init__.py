# SPDX-License-Identifier: Apache-2.0
"""python -m fa3 info | demo | warm | cache | bench | mask."""

from __future__ import annotations

import argparse
import importlib.util
import json
import pathlib
import platform
import subprocess
import sys
import time
from typing import Any, Sequence

from .. import __version__
from .. import bench as benchmarks
from ..build import cache as caches
from ..build.compiler import build_id, get_compiler
from ..build.driver import default_ptx_version, find_ptxas
from ..errors import CompilerNotFoundError, Fa3Error
from ..kernels.checks import MAX_HEAD_DIM, MAX_VALUE_DIM
from ..support import native
from ..support.runtime import runtime
from . import bundle
from .masks import classify, draw, evaluate_mask, load_mod
from .masks import show as _mask  # noqa: F401 (by its name)

__all__ = ["classify", "draw", "evaluate_mask", "load_mod", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m fa3", description=__doc__)
    parser.add_argument("--version", action="version", version=f"fa3 {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)

    info = commands.add_parser("info", help="versions, device, cache; for bug reports")
    info.add_argument("--json", action="store_true", help="as JSON")

    commands.add_parser("demo", help="compiles, interprets, and launches where there is a Hopper")

    warm = commands.add_parser("warm", help="compiles kernels into the cache, or into a bundle")
    what = warm.add_mutually_exclusive_group(required=True)
    what.add_argument("--common", action="store_true", help="the common kernels")
    what.add_argument(
        "--spec", type=pathlib.Path, metavar="FILE",
        help="JSON: a list of kernels (docs/Python.md)",
    )  # fmt: skip
    warm.add_argument("--out", type=pathlib.Path, metavar="DIR", help="a bundle there")
    warm.add_argument(
        "--ptx-version", type=int, action="append", metavar="N",
        help="PTX ISA times ten (by the driver); may be given more than once",
    )  # fmt: skip

    cache = commands.add_parser("cache", help="the kernels on disk")
    cache.add_argument("action", choices=("dir", "list", "clear"))

    bench = commands.add_parser(
        "bench", help="TFLOP/s through the Python call, beside other kernels"
    )
    bench.add_argument(
        "--kind", choices=benchmarks.KINDS, default="dense",
        help="dense: whole sequences; decode: one query of each beside a cache; "
        "varlen: packed sequences of half, all and one and a half of a length",
    )  # fmt: skip
    bench.add_argument(
        "--lengths", type=_numbers, default="1024,4096,16384", metavar="N,N",
        help="keys of a sequence, a row each (default: %(default)s)",
    )  # fmt: skip
    bench.add_argument(
        "--tokens", type=_positive, default=16384, metavar="N",
        help="batch times length, at least one sequence (default: %(default)s)",
    )  # fmt: skip
    bench.add_argument(
        "--heads", type=_positive, default=16, metavar="N",
        help="of queries (default: %(default)s)",
    )  # fmt: skip
    bench.add_argument(
        "--key-heads", type=_positive, metavar="N", help="as many as --heads by default"
    )
    bench.add_argument(
        "--head-dim", type=_positive, default=128, metavar="N",
        help="of q, k and v (default: %(default)s)",
    )  # fmt: skip
    bench.add_argument(
        "--dtype", choices=("bfloat16", "float16", benchmarks.FLOAT_8), default="bfloat16",
        help="of q, k and v (default: %(default)s)",
    )  # fmt: skip
    bench.add_argument("--causal", action="store_true", help="a query sees no later key")
    bench.add_argument(
        "--window", type=_positive, metavar="N",
        help="keys before a query that it sees; implies --causal",
    )  # fmt: skip
    bench.add_argument("--backward", action="store_true", help="forward and backward")
    bench.add_argument(
        "--with", dest="peers", default="cudnn,flash,flex", metavar="NAMES",
        help="of cudnn, flash (FlashAttention-2 of torch), flex (compiled "
        "FlexAttention), fa4 (default: %(default)s)",
    )  # fmt: skip
    bench.add_argument("--out", type=pathlib.Path, metavar="FILE", help="a CSV")
    bench.add_argument("--plot", type=pathlib.Path, metavar="FILE", help="a PNG (needs matplotlib)")

    mask = commands.add_parser(
        "mask", help="a picture of a mask_mod: full, partial and empty blocks"
    )
    mask.add_argument("mod", help="causal, window:LEFT, prefix:N, or FILE.py:FUNCTION")
    mask.add_argument(
        "--queries", type=_positive, default=1024, metavar="N",
        help="rows of the picture (default: %(default)s)",
    )  # fmt: skip
    mask.add_argument(
        "--keys", type=_positive, default=1024, metavar="N",
        help="its columns (default: %(default)s)",
    )  # fmt: skip
    mask.add_argument(
        "--block", type=_positive, default=64, metavar="N",
        help="queries and keys of a block (default: %(default)s)",
    )  # fmt: skip
    mask.add_argument("--png", type=pathlib.Path, metavar="FILE", help="a PNG, a pixel an element")

    options = parser.parse_args(arguments)
    try:
        return globals()[f"_{options.command}"](options)
    except (Fa3Error, OSError, ValueError) as error:
        print(f"fa3: {error}", file=sys.stderr)
        return 1


def _positive(text: str) -> int:
    if not text.strip().isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}', expected a number from 1 on")
    return int(text)


def _numbers(text: str) -> list[int]:
    return [_positive(one) for one in text.split(",")]


# -----------------------------------------------------------------------------
# info
# -----------------------------------------------------------------------------


def collect_info() -> dict[str, Any]:
    """What a bug report needs."""
    made: dict[str, Any] = {
        "fa3": __version__,
        "commit": describe_commit(),
        "python": platform.python_version(),
        "system": f"{platform.platform()}, {' '.join(platform.libc_ver())}",
    }
    try:
        compiler = get_compiler()
        made["compiler"] = f"{compiler.name} {compiler.version} ({compiler.build_id})"
    except (CompilerNotFoundError, ImportError, OSError) as error:
        made["compiler"] = f"none: {error}"
    try:
        count = runtime.device_count()
        devices = [runtime.device_info(number) for number in range(count)]
        made["driver"] = f"CUDA {devices[0].driver_version / 1000}" if devices else "-"
        made["devices"] = [
            f"{one.name}, sm_{one.compute_capability[0]}{one.compute_capability[1]}, "
            f"{one.sms} SMs" for one in devices
        ]  # fmt: skip
        made["hopper"] = _describe_hopper([one.compute_capability for one in devices])
    except (runtime.Error, OSError) as error:
        made["driver"], made["devices"] = f"none: {error}", []
        made["hopper"] = _describe_hopper([])
    made["calls"] = native.report()
    made["ptx_version"] = default_ptx_version() / 10
    made["ptxas"] = find_ptxas() or "none: the driver compiles PTX"
    folder = caches.default_folder()
    made["cache"] = str(folder) if folder else "off"
    made["bundles"] = _describe_bundles()
    for name in ("torch", "jax", "transformers"):
        made[name] = _version_of(name)
    return made


def describe_commit() -> str:
    """What `git describe` said where the wheel was made, or says in a clone."""
    folder = pathlib.Path(__file__).resolve().parents[1]
    try:
        return (folder / "_commit.txt").read_text().strip()
    except OSError:
        pass
    root = folder.parents[1]
    if not (root / ".git").exists() or not (root / "python" / "fa3").samefile(folder):
        return "unknown"
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--tags"]
    try:
        made = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return made.stdout.strip()


def _describe_hopper(capabilities: Sequence[tuple[int, int]]) -> str:
    """Whether kernels run on the devices: those of compute capability 9.0."""
    if not capabilities:
        return "no device: kernels run in the interpreter"
    fitting = [str(i) for i, one in enumerate(capabilities) if tuple(one) == (9, 0)]
    if not fitting:
        return "no: kernels need compute capability 9.0 (H100, H200, H800, GH200)"
    if len(fitting) == len(capabilities):
        return "yes"
    return f"yes, of the devices only {', '.join(fitting)}"


def _describe_bundles() -> list[str]:
    found = caches.bundles()
    if not found:
        return ["none: every kernel is compiled at its first call"]
    try:
        build = build_id()
    except (CompilerNotFoundError, ImportError, OSError):
        build = ""
    return [bundle.describe(one, build, default_ptx_version()) for one in found]


def _version_of(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _info(options: argparse.Namespace) -> int:
    made = collect_info()
    if options.json:
        print(json.dumps(made, indent=1))
        return 0
    for name, value in made.items():
        if isinstance(value, list):
            value = "; ".join(value) or "-"
        print(f"{name:14}{value}")
    return 0


def _demo(options: argparse.Namespace) -> int:
    from . import demo

    return demo.run()


# -----------------------------------------------------------------------------
# warm and cache
# -----------------------------------------------------------------------------


def _warm(options: argparse.Namespace) -> int:
    start = time.perf_counter()
    kernels = bundle.common_kernels() if options.common else bundle.expand(
        json.loads(options.spec.read_text())
    )  # fmt: skip
    where = bundle.warm(
        kernels, options.ptx_version or (), options.out,
        lambda count, total: _progress(count, total, start),
    )  # fmt: skip
    count = len(kernels) * max(1, len(options.ptx_version or ()))
    print(f"{count} kernels in {where}, {time.perf_counter() - start:.1f} s")
    return 0


def _progress(count: int, total: int, start: float) -> None:
    if not sys.stderr.isatty():
        return
    spent = time.perf_counter() - start
    left = spent / count * (total - count)
    end = "\n" if count == total else ""
    print(f"\r{count} of {total}, {left:.0f} s left  ", end=end, file=sys.stderr)


def _cache(options: argparse.Namespace) -> int:
    folder = caches.default_folder()
    if folder is None:
        print("off (FA3_CACHE=0)")
        return 0
    cache = caches.Cache(folder)
    if options.action == "dir":
        print(folder)
    elif options.action == "clear":
        print(f"{cache.clear()} kernels removed from {folder}")
    else:
        entries = cache.entries()
        for entry in entries:
            print(
                f"{entry.key}  {entry.size / 1024:8.0f} KiB  "
                f"{caches.age(entry):>8} ago  {entry.function}"
            )
        total = sum(entry.size for entry in entries)
        print(f"{len(entries)} kernels, {total / 2**20:.1f} MiB in {folder}")
    return 0


# -----------------------------------------------------------------------------
# bench
# -----------------------------------------------------------------------------


def bench_cases(
    options: argparse.Namespace,
) -> tuple[list[benchmarks.Case], list[str]]:
    """The rows and peers that were asked for."""
    key_heads = options.key_heads or options.heads
    peers = [one.strip() for one in options.peers.split(",") if one.strip()]
    for name in peers:
        if name not in benchmarks.PEERS:
            raise ValueError(f"--with: '{name}', expected {', '.join(benchmarks.PEERS)}")
    if options.heads % key_heads:
        raise ValueError(
            f"--key-heads: {key_heads}, expected a divisor of --heads, {options.heads}"
        )
    is_8_bit = options.dtype == benchmarks.FLOAT_8
    step = 16 if is_8_bit else 8
    most = MAX_HEAD_DIM if is_8_bit else MAX_VALUE_DIM
    if options.head_dim % step or options.head_dim > most:
        raise ValueError(
            f"--head-dim: {options.head_dim}, expected a multiple of {step} up to {most}"
        )
    if options.backward and (is_8_bit or options.kind == "decode"):
        given = f"--dtype {options.dtype}" if is_8_bit else "--kind decode"
        raise ValueError(f"--backward: there is none with {given}")
    return [
        benchmarks.Case(
            max(1, options.tokens // n), options.heads, key_heads, n,
            options.head_dim, options.causal or options.window is not None,
            options.backward, options.dtype, options.kind, options.window,
        )
        for n in options.lengths
    ], peers  # fmt: skip


def _bench(options: argparse.Namespace) -> int:
    cases, peers = bench_cases(options)
    for path in (options.out, options.plot):
        if path is not None and not path.resolve().parent.is_dir():
            raise ValueError(f"{path}: there is no folder {path.resolve().parent}")
    if options.plot is not None and importlib.util.find_spec("matplotlib") is None:
        raise ValueError("--plot needs matplotlib (pip install matplotlib)")
    try:
        import torch
    except ImportError:
        raise ValueError("bench needs torch (pip install torch)") from None
    if not torch.cuda.is_available():
        raise ValueError("bench needs a GPU that torch sees (python -m fa3 info)")
    benchmarks.bench(cases, peers, options.out, options.plot)
    return 0
