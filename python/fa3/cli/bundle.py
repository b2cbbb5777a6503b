# SPDX-License-Identifier: Apache-2.0
"""Ready-made kernels: which ones are common (common_kernels.json), how a bundle of
them is made, and what a bundle says of itself.

A bundle is a folder of entries as the cache has them (fa3.build.cache), which is read
and never written, and bundle.json: the build of the compiler and the PTX ISAs that
it is for. Other compilers and drivers do not find anything in it."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
from typing import Any, Callable, Sequence

from ..api import attention_kernel, attention_spec
from ..build import answers
from ..build import cache as caches
from ..build.compiler import build_id
from ..build.driver import Driver, Kernel, compile, default_ptx_version, get_driver, set_driver
from ..kernels.serving_spec import ServingSpec
from ..kernels.spec import BackwardSpec

_LIST = pathlib.Path(__file__).with_name("common_kernels.json")


def common_kernels() -> list[dict[str, Any]]:
    """What most first calls ask for, as arguments of make_kernel."""
    return expand(json.loads(_LIST.read_text()))


def expand(listed: Any) -> list[dict[str, Any]]:
    """A list of kernels, where `each` stands for all combinations of the values that
    it has by name."""
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise ValueError("expected a list of kernels, each with names and values")
    made = []
    for one in listed:
        rest = {name: value for name, value in one.items() if name != "each"}
        each = one.get("each", {})
        for values in itertools.product(*each.values()):
            made.append({**rest, **dict(zip(each, values))})
    return made


def make_kernel(kernel: str = "forward", **named: Any) -> Kernel:
    """forward: `named` are arguments of fa3.attention_kernel, and `group` (heads of each
    key head). backward: the gradients of such a kernel, with `backward_form` as the option
    has it. serving: fa3.serving, with
    `arrays` (names of what is given), `page` (rows of a page), `heads` (heads and key
    heads, where heads of a group are packed), `group`, `splits`, `chunk`."""
    if kernel == "forward" and "group" not in named:
        return attention_kernel(**named)
    known = {name: named.pop(name) for name in ("ptx_version",) if name in named}
    dtypes = tuple(named.pop(name, None) for name in ("k_dtype", "v_dtype", "out_dtype"))
    if kernel == "forward":
        group = named.pop("group")
        spec = dataclasses.replace(attention_spec(dtypes=dtypes, **named), group=group)
        return compile(spec.to_mlir(), **known)
    if kernel == "backward":
        given = {n: named.pop(n) for n in ("backward_form",) if n in named}
        text = BackwardSpec(attention_spec(dtypes=dtypes, return_lse=True, **named)).to_mlir()
        return compile(text, deterministic=False, **given, **known)
    if kernel == "serving":
        heads = named.pop("heads", None)
        fields = ("page", "chunk", "splits", "group")
        rest = {n: named.pop(n) for n in fields if n in named}
        arrays = tuple(named.pop("arrays", ()))
        spec = ServingSpec(
            attention_spec(dtypes=dtypes, **named), arrays,
            heads=tuple(heads) if heads else None, **rest,
        )  # fmt: skip
        return compile(spec.to_mlir(), **spec.options, **known)
    raise ValueError(f"kernel '{kernel}', expected forward, backward or serving")


def warm(
    kernels: Sequence[dict[str, Any]], versions: Sequence[int] = (),
    out: pathlib.Path | None = None,
    progress: Callable[[int, int], None] = lambda count, total: None,
) -> pathlib.Path | None:  # fmt: skip
    """Compiles kernels, for each of these PTX ISAs (times ten), into the cache or
    into a bundle, which then holds these and no others. Gives the folder."""
    versions = list(versions) or [default_ptx_version()]
    previous = get_driver()
    if out is not None:
        set_driver(Driver(caches.Cache(out, limit=1 << 40, shared=True), [], variants=0))
    try:
        return _warm(kernels, versions, out, progress)
    finally:
        set_driver(previous)


def _warm(
    kernels: Sequence[dict[str, Any]], versions: Sequence[int],
    out: pathlib.Path | None, progress: Callable[[int, int], None],
) -> pathlib.Path | None:  # fmt: skip
    wanted = [{**one, "ptx_version": n} for n in versions for one in kernels]
    made: list[Kernel] = []
    # Each waits for an assembler most of the time.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for kernel in pool.map(lambda named: make_kernel(**named), wanted):
            made.append(kernel)
            progress(len(made), len(wanted))
    if out is not None:
        groups = set(filter(None, map(_group_of, kernels)))
        dims = {_dims_of(one) for one in kernels if one.get("kernel") == "backward"}
        _write_index(out, made, versions, answers.to_index(groups, dims))
    return get_driver().cache.folder


def _group_of(kernel: dict[str, Any]) -> tuple[int, int] | None:
    """Heads of a key head, where a kernel knows them, and the head dim of v."""
    heads, key_heads = kernel.get("heads") or (kernel.get("group", 1), 1)
    if heads == key_heads:
        return None
    return heads // key_heads, _dims_of(kernel)[1]


def _dims_of(kernel: dict[str, Any]) -> tuple[int, int]:
    head_dim = kernel.get("head_dim", 128)
    return head_dim, kernel.get("head_dim_v") or head_dim


def _write_index(
    folder: pathlib.Path, kernels: Sequence[Kernel], versions: Sequence[int],
    said: dict[str, Any],
) -> None:  # fmt: skip
    keys = {one.key for one in kernels}
    made = caches.Cache(folder)
    for entry in made.entries():
        if entry.key not in keys:
            made.remove(entry.key)
    with contextlib.suppress(OSError):
        (folder / "locks").rmdir()
    index = {
        "build_id": build_id(), "ptx_versions": sorted(versions),
        "kernels": len(keys),
        "cubins": len({one.key for one in kernels if one.cubin is not None}),
        **said,
    }  # fmt: skip
    (folder / answers.INDEX).write_text(json.dumps(index, indent=1) + "\n")


def describe(bundle: caches.Cache, build: str, ptx_version: int) -> str:
    """What a bundle holds, for people; and whether a compiler of this build finds
    anything in it, for a driver that takes this PTX ISA."""
    assert bundle.folder is not None
    try:
        index = json.loads((bundle.folder / answers.INDEX).read_text())
        versions = [int(one) for one in index["ptx_versions"]]
        said = f"{bundle.folder}, {index['kernels']} kernels, {index['cubins']} cubins"
        other = index["build_id"] != build
    except (OSError, ValueError, KeyError, TypeError):
        return f"{bundle.folder}, {len(bundle.entries())} kernels"
    if other:
        return said + "; not used: made by another build of the compiler"
    if ptx_version not in versions:
        made = ", ".join(str(one / 10) for one in versions)
        return said + f"; not used: made for PTX {made}, this driver has {ptx_version / 10}"
    return said
