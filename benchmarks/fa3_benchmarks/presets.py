# SPDX-License-Identifier: Apache-2.0
"""Presets: lists of cells with the kernels and modes to measure them by."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Callable

from fa3_device.features import Mask

from . import models, serving
from .cells import Cell

LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
# Work of a cell: batch * length, and heads * head dim.
TOKENS, HIDDEN = 16384, 2048
PLAIN = {"full": Mask(), "causal": Mask(causal=True)}
ALL_PEERS = ("cudnn", "fa2", "reference", "flex", "triton", "mosaic")


@dataclasses.dataclass
class Preset:
    """`variants` are fa3's kernels: names and pipeline options; `by_cell` has
    those of cells with variants of their own. `unknown` names variants that are
    compiled without the cell's extents: "lengths" leaves only the heads, and
    "extents" leaves nothing but types and head dims. Ratios in tables are to the
    kernel `base`."""

    name: str
    cells: list[Cell]
    peers: tuple[str, ...] = ALL_PEERS
    modes: tuple[str, ...] = ("single",)
    variants: dict[str, str] = dataclasses.field(
        default_factory=lambda: {"fa3": ""}
    )
    base: str = "cudnn"
    # Peers that compile or tune for each shape run at these lengths only.
    slow_lengths: tuple[int, ...] = (4096, 16384)
    by_cell: dict[str, dict[str, str]] = dataclasses.field(
        default_factory=dict
    )
    unknown: dict[str, str] = dataclasses.field(default_factory=dict)

    def variants_of(self, cell: Cell) -> dict[str, str]:
        return self.by_cell.get(cell.name, self.variants)

    def module_of(self, cell: Cell, variant: str, dynamic: bool) -> str:
        """The text that a variant of a cell is compiled from; `dynamic`: no
        extent is known."""
        if isinstance(cell, serving.ServingCell):
            return cell.module(variant)
        unknown = self.unknown.get(variant)
        return cell.module(
            bool(unknown) or dynamic, knows_heads=unknown == "lengths"
        )


def cell(type, d, mask_name, length, *, dv=None, mask=None, batch=None,
         heads=None, key_heads=None, queries=None) -> Cell:  # fmt: skip
    """A cell of the usual amount of work where nothing else is said."""
    heads = heads or max(HIDDEN // d, 1)
    return Cell(
        type=type,
        d=d,
        dv=dv or d,
        mask_name=mask_name,
        mask=PLAIN[mask_name] if mask is None else mask,
        length=length,
        batch=batch or max(TOKENS // length, 1),
        heads=heads,
        key_heads=key_heads or heads,
        queries=queries,
    )


def _grid(types, dims, masks, lengths) -> list[Cell]:
    product = itertools.product(types, dims, masks, lengths)
    return [cell(*problem) for problem in product]


def _table() -> Preset:
    cells = _grid(["f16"], [64, 128, 256], PLAIN, LENGTHS)
    return Preset("table", cells, modes=("single", "burst"))


def _bf16() -> Preset:
    cells = _grid(["f16", "bf16"], [64, 128, 256], PLAIN, LENGTHS)
    return Preset("bf16", cells, peers=("cudnn",))


def _fp8() -> Preset:
    cells = _grid(["f8E4M3FN"], [64, 128, 256], PLAIN, LENGTHS)
    return Preset("fp8", cells, peers=(), base="fa3")


def _backward() -> Preset:
    """Gradients, in the form that is chosen and in each form."""
    cells = [
        dataclasses.replace(cell, gradient=True)
        for cell in _grid(["bf16"], [64, 128, 256], PLAIN, LENGTHS)
    ]
    forms = {"fa3": "", "split": "backward-form=split"}
    both = forms | {"fused": "backward-form=fused"}
    # Wider heads have no fused form, and the split one is chosen.
    by_cell = {
        cell.name: both if cell.d <= 128 else {"fa3": ""} for cell in cells
    }
    return Preset(
        "backward", cells, peers=("cudnn",), variants=forms, by_cell=by_cell
    )  # fmt: skip


def _int8() -> Preset:
    cells = _grid(["f8E4M3FN", "i8"], [64, 128, 256], PLAIN, LENGTHS)
    return Preset("int8", cells, peers=(), base="fa3")


def _terms() -> Preset:
    """One and two 8-bit floats for an element of q."""
    cells = _grid(["f8E4M3FN"], [64, 128, 256], PLAIN, LENGTHS)
    cells += [dataclasses.replace(cell, q_terms=2) for cell in cells]
    return Preset("terms", cells, peers=(), base="fa3")


def _gqa() -> Preset:
    cells = [
        cell("bf16", 128, "causal", length, batch=4 * 8192 // length, heads=32,
             key_heads=8)
        for length in LENGTHS[1:]
    ]  # fmt: skip
    return Preset("gqa", cells, modes=("single", "burst"), slow_lengths=(8192,))


def _lengths() -> Preset:
    """What it costs that only the launch knows lengths: the cells of `table` and
    `gqa`, compiled for their extents, for their heads, and for nothing."""
    unknown = {"lengths": "lengths", "extents": "extents"}
    return Preset(
        "lengths", _table().cells + _gqa().cells, peers=(), base="fa3",
        variants={"fa3": "", **dict.fromkeys(unknown, "")}, unknown=unknown,
    )  # fmt: skip


def _models() -> Preset:
    """Layers of models, by kernels that know no more than their heads and head
    dims."""
    cells = [
        Cell(
            type="bf16", d=m.d, dv=m.dv or m.d, mask_name=_name(m.mask),
            mask=m.mask, length=m.length, batch=m.batch, heads=m.heads,
            key_heads=m.key_heads, queries=m.queries, model=m.name, lse=False,
        )  # fmt: skip
        for m in models.MODELS
    ]
    lengths = tuple({m.length for m in models.MODELS})
    return Preset(
        "models", cells, peers=("cudnn", "flex"), slow_lengths=lengths,
        unknown={"fa3": "lengths"},
    )  # fmt: skip


def _name(mask: Mask) -> str:
    """Such as causal-window and full-bias."""
    words = ["causal" if mask.causal else "full"]
    words += ["window"] if mask.window else []
    words += ["softcap"] if mask.softcap is not None else []
    words += [name for name in ("alibi", "bias") if getattr(mask, name)]
    return "-".join(words)


# Queries of decoding, of speculative decoding, and of a short prompt.
FEW_QUERIES = (1, 4, 16, 128)


def _few_queries() -> Preset:
    """Few queries on long caches, with the heads of a group in the rows of a
    tile and apart."""
    cells = [
        cell("bf16", 128, "full", length, batch=32, heads=32, key_heads=8,
             queries=queries)
        for queries in FEW_QUERIES
        for length in (2048, 8192)
    ]  # fmt: skip
    return Preset(
        "few-queries", cells, peers=("cudnn", "fa2"),
        variants={"fa3": "", "apart": "pack-gqa=false"},
    )  # fmt: skip


WINDOW = 1024
# Each window and the mask whose kernel it is compared with.
WINDOWS = {
    "causal-window": (Mask(causal=True, window=(WINDOW, None)), "causal"),
    "window": (Mask(window=(WINDOW, WINDOW)), "full"),
}
# A mask, and with -softcap and so on score code, for each class of the tuning
# table.
SCORES = {
    "": {}, "-softcap": {"softcap": 30.0}, "-alibi": {"alibi": True},
    "-bias": {"bias": True},
}  # fmt: skip
CLASSES = {
    name + suffix: dataclasses.replace(mask, **score)
    for name, mask in (*PLAIN.items(), ("window", WINDOWS["causal-window"][0]))
    for suffix, score in SCORES.items()
}


def _window() -> Preset:
    cells = _grid(["f16"], [128], PLAIN, [16384])
    for name, (mask, _) in WINDOWS.items():
        cells.append(cell("f16", 128, name, 16384, mask=mask))
    return Preset("window", cells, peers=("cudnn", "flex"))


def _mods() -> Preset:
    names = ["causal" + suffix for suffix in SCORES]
    cells = [cell("f16", 128, n, 8192, mask=CLASSES[n]) for n in names]
    # Kernels for inference, which may round what lse would show.
    for name in ("causal", "causal-softcap"):
        with_lse = cell("f16", 128, name, 8192, mask=CLASSES[name])
        cells.append(dataclasses.replace(with_lse, lse=False))
    return Preset(
        "mods", cells, peers=("cudnn", "flex"), slow_lengths=(8192,)
    )


# Head dims and the next larger power of two.
HEAD_DIMS = {
    (72, 72): 128, (80, 80): 128, (96, 96): 128, (112, 112): 128,
    (192, 192): 256, (192, 128): 256,
}  # fmt: skip


def _head_dims() -> Preset:
    dims = [*HEAD_DIMS, *((d, d) for d in sorted(set(HEAD_DIMS.values())))]
    cells = [
        cell("f16", d, mask, 8192, dv=dv, heads=16)
        for d, dv in dims
        for mask in PLAIN
    ]
    return Preset("head-dims", cells, peers=("cudnn", "fa2"))


# Of q and k, and of v, with heads for which the work is that of a few tiles per SM.
WIDE_DIMS = ((512, 512), (576, 512), (64, 512))


def _wide() -> Preset:
    """Head dims above 256: the output's columns are in two warp groups."""
    cells = [
        cell("bf16", d, mask, length, dv=dv, batch=1, heads=8)
        for d, dv in WIDE_DIMS
        for mask in PLAIN
        for length in (8192, 16384)
    ]
    return Preset("wide", cells, peers=(), base="fa3")


def _wide_backward() -> Preset:
    cells = [dataclasses.replace(cell, gradient=True) for cell in _wide().cells]
    return Preset("wide-backward", cells, peers=(), base="fa3")


# On the tile of the table or of the passes, and on one that leaves registers
# for three stages.
_SMALL = "block-m=128 block-n=64"
ABLATION = (
    "stages=1", "ping-pong=on", "stages=1 ping-pong=on", "rescale=eager",
    "mode=cta", "mode=static", "mode=dynamic",
    "order=rows", "order=longest-first",
    "l2-bytes=0", "store=staged", "store=in-place", "store=direct",
    "max-depth=2", "early-votes=none",
    "llvm-passes=none", "block-m=192 block-n=80", "block-m=128 block-n=128",
    *(f"block-m=128 block-n=128 {more}" for more in (
        "stages=1", "warp-specialize=false", "warp-specialize=false stages=1",
        "warp-specialize=false ping-pong=on",
    )),
    _SMALL, *(f"{_SMALL} {more}" for more in (
        "ping-pong=on", "stages=1", "stages=1 ping-pong=on",
        "solver=modulo stages=1", "solver=modulo stages=2",
        "solver=modulo stages=3", "solver=modulo stages=2 ping-pong=on",
        "solver=modulo stages=3 ping-pong=on",
    )),
)  # fmt: skip


def _ablation() -> Preset:
    cells = _grid(["f16"], [64, 256], PLAIN, [8192])
    cells += _grid(["f16"], [128], PLAIN, [1024, 8192])
    variants = {"fa3": "", **{options: options for options in ABLATION}}
    return Preset(
        "ablation", cells, peers=("cudnn",), variants=variants, base="fa3"
    )


def _sustained() -> Preset:
    cells = _grid(["f16"], [64, 128, 256], PLAIN, [16384])
    return Preset(
        "sustained",
        cells,
        peers=("cudnn", "fa2", "reference"),
        modes=("sustained",),
    )


def _serving(name: str, cells: list[serving.ServingCell]) -> Preset:
    return Preset(
        name, cells, peers=("cudnn", "fa2"),
        by_cell={cell.name: cell.variants() for cell in cells},
    )  # fmt: skip


def _mla() -> Preset:
    return dataclasses.replace(
        _serving("mla", serving.mla_cells()), peers=(), base="fa3"
    )


def _backward_varlen() -> Preset:
    """Gradients of packed sequences, in each form, beside FlashAttention-2."""
    cells = serving.packed_gradient_cells()
    return Preset(
        "backward-varlen", cells, peers=("fa2",), base="fa2",
        by_cell={cell.name: cell.variants() for cell in cells},
    )  # fmt: skip


PRESETS: dict[str, Callable[[], Preset]] = {
    "table": _table,
    "bf16": _bf16,
    "fp8": _fp8,
    "backward": _backward,
    "int8": _int8,
    "terms": _terms,
    "gqa": _gqa,
    "lengths": _lengths,
    "models": _models,
    "few-queries": _few_queries,
    "window": _window,
    "mods": _mods,
    "head-dims": _head_dims,
    "wide": _wide,
    "wide-backward": _wide_backward,
    "ablation": _ablation,
    "sustained": _sustained,
    "decode": lambda: _serving("decode", serving.decode_cells()),
    "paged": lambda: _serving("paged", serving.paged_cells()),
    "mla": _mla,
    "append": lambda: _serving("append", serving.append_cells()),
    "varlen": lambda: _serving("varlen", serving.varlen_cells()),
    "mixed": lambda: _serving("mixed", serving.mixed_cells()),
    "backward-varlen": _backward_varlen,
}


def narrow(preset: Preset, given) -> Preset:
    """Applies the filters of the command line. A further variant of a preset
    with unknown extents has unknown lengths."""
    cells = [
        c
        for c in preset.cells
        if (not given.types or c.type in given.types)
        and (not given.dims or c.dims[1:] in given.dims)
        and (not given.masks or c.mask_name in given.masks)
        and (not given.lengths or c.length in given.lengths)
    ]
    variants, unknown = dict(preset.variants), dict(preset.unknown)
    for options in given.variant or []:
        variants[options] = options
        if preset.unknown:
            unknown[options] = "lengths"
    more = {options: options for options in given.variant or []}
    by_cell = {name: own | more for name, own in preset.by_cell.items()}
    changes = {
        "cells": cells, "variants": variants, "unknown": unknown,
        "by_cell": by_cell,
    }  # fmt: skip
    if given.peers is not None:
        changes["peers"] = tuple(given.peers)
    if given.modes:
        changes["modes"] = tuple(given.modes)
    if given.slow_lengths:
        changes["slow_lengths"] = tuple(given.slow_lengths)
    return dataclasses.replace(preset, **changes)
