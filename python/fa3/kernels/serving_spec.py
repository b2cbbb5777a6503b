# SPDX-License-Identifier: Apache-2.0
"""What a kernel of fa3.serving is compiled for, and its text."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from ..build import answers
from . import invariance
from .spec import Spec, function_text

#: Arrays that say where sequences lie and how long they are.
ARRAYS = ("cu_q", "cu_k", "used_q", "used_k", "batch_index", "leftpad", "page_table")
#: Those of them that say where keys are.
PLACES = ("batch_index", "leftpad", "page_table")


@dataclasses.dataclass(frozen=True)
class Append:
    """New keys and values, which go into the cache behind its used_k rows. `pairs` of
    elements are turned by their positions, 0 for none; `table` is the element type
    of cos and sin. `own_first`: the number of the first new key is an array of its
    own, `own_position`: so is its position. In a cache of 8 bits new rows have
    `new_type`, and `shared` says of k and v whether all have one scale."""

    pairs: int = 0
    table: str = ""
    interleaved: bool = False
    own_first: bool = False
    own_position: bool = False
    new_type: str = ""
    shared: tuple[bool, ...] = ()

    @functools.cached_property
    def inputs(self) -> tuple[str, ...]:
        names = ["k_new", "v_new", *(("cos", "sin") if self.pairs else ())]
        names += ["first"] if self.own_first else []
        names += ["position"] if self.own_position else []
        return (*names, "new")

    def types(self, spec: Spec, key_heads: int | str) -> dict[str, str]:
        front = f"tensor<?x?x{key_heads}x"
        return {
            "k_new": f"{front}{spec.head_dim}x{self.new_type or spec.k_type}>",
            "v_new": f"{front}{spec.head_dim_v}x{self.new_type or spec.v_type}>",
            "cos": f"tensor<?x{self.pairs}x{self.table}>",
            "sin": f"tensor<?x{self.pairs}x{self.table}>",
            "first": "tensor<?xi32>", "position": "tensor<?xi32>", "new": "i32",
        }  # fmt: skip

    def lines(
        self, types: dict[str, str], places: list[str], mods: list[str]
    ) -> tuple[list[str], tuple[str, str, str]]:
        """The operations in front of attention, and the names of q, k and v then.
        `places` are the arrays that say where keys are, `mods` the words."""
        lines, names = [], {"q": "q", "k": "k_new", "v": "v_new"}
        if self.pairs:
            at = "position" if self.own_position else "used_k"
            for name in "qk":
                given = names[name]
                lines.append(
                    f"  %turned_{name} = attention.rotary %{given}, %cos, %sin at %{at} "
                    f"{'interleaved ' if self.interleaved else ''}layout bshd"
                    f" : {types[given]}, {types['cos']}, tensor<?xi32>"
                )
                names[name] = f"turned_{name}"
        first = "first" if self.own_first else "used_k"
        aux = ", ".join("%" + one for one in places)
        of_aux = f"aux({aux} : {', '.join(types[one] for one in places)}) "
        for name in "kv":
            scales = f"scales(%{name}_descale : {types[f'{name}_descale']}) "
            lines.append(
                f"  %all_{name} = attention.append %{names[name]}, %{name} at %{first} "
                f"{of_aux if places else ''}{scales if self.new_type else ''}layout bshd "
                f"{'mods [' + ', '.join(mods) + '] ' if mods else ''}"
                f": {types[name + '_new']}, {types[name]}, tensor<?xi32>"
            )
        return lines, (names["q"], "all_k", "all_v")

    #: The keys of a sequence: those in the cache, and the new ones.
    LENGTHS = (
        "    lengths (%b) {\n"
        "      %before = tensor.extract %used_k[%b] : tensor<?xi32>\n"
        "      %old = arith.index_cast %before : i32 to index\n"
        "      %more = arith.index_cast %new : i32 to index\n"
        "      %keys = arith.addi %old, %more : index\n"
        "      %queries = attention.length query\n"
        "      attention.yield %queries, %keys : index, index\n"
        "    }"
    )


@dataclasses.dataclass(frozen=True)
class ServingSpec:
    """A kernel with places and lengths: `arrays` are the names of ARRAYS that it
    takes; `page` are the rows of a page, 0 without pages; `heads` the numbers of
    heads and key heads, and `scale_heads` those of scales of q, k and v, where the
    compiler is to know them; `group` the heads of each key head, where it is to know
    only that. `short`: most sequences have few queries. `many`: the number of packed
    sequences, where the compiler has to know it. `part`: keys of each part, in kernels
    that give the same bits in every batch; 0 for others. `qv`: scores have a part of
    values. `rows` are those of a tile; 0 for the compiler's choice.
    `by_row`: mask code looks at more than a comparison of numbers of the sequence."""

    attention: Spec
    arrays: tuple[str, ...]
    page: int = 0
    chunk: int = 0
    splits: bool = False
    heads: tuple[int, int] | None = None
    append: Append | None = None
    scale_heads: tuple[int, ...] | None = None
    group: int | None = None
    short: bool = False
    many: int | None = None
    part: int = 0
    qv: bool = False
    rows: int = 0
    by_row: bool = False

    @functools.cached_property
    def inputs(self) -> tuple[str, ...]:
        spec = self.attention
        scales = ("q_descale", "k_descale", "v_descale") if spec.has_scales else ()
        if self.quantizes:
            scales = scales[1:]
        if spec.has_nibbles:
            scales = ("k_descale", "v_descale")
        return (
            "q", "k", "v", *(("qv",) if self.qv else ()), "scale", *scales,
            *(("sinks",) if spec.sinks else ()), *self.arrays, *self.tables,
            *(("max_q",) if "cu_q" in self.arrays else ()),
            *(("splits",) if self.splits else ()),
            *(self.append.inputs if self.append else ()),
            *(f"arg{n}" for n in range(len(spec.regions.scalars))),
        )  # fmt: skip

    @property
    def tables(self) -> tuple[str, ...]:
        """What mask and score code reads."""
        return tuple(f"aux{n}" for n in range(len(self.attention.regions.aux)))

    @property
    def quantizes(self) -> bool:
        """Whether queries of 16 bits meet a cache of 8."""
        return self.attention.has_scales and self.attention.q_type in ("f16", "bf16")

    @property
    def options(self) -> dict[str, Any]:
        """Of the pipeline: heads are given for few queries, whose number the compiler
        does not know. The heads of a group are then rows of one tile, which holds 64.
        A group alone leaves it to the compiler, unless sequences are short."""
        group = (self.group or 1) if self.short else 1
        if self.heads:
            group = self.heads[0] // self.heads[1]
        # Scales of key heads would tell several groups apart.
        plan = answers.of_group(group, self.attention.head_dim_v, False)
        packs = plan.rows > 0 and (plan.parts == 1 or not self.attention.has_scales)
        chosen: dict[str, Any] = {"pack_gqa": True} if packs and not self.splits else {}
        if self.attention.regions.mask and self.by_row:
            chosen["edges"] = "together"  # less code, and as fast
        if self.part:
            chosen |= invariance.options(self.attention, self.part)
        if self.rows:
            chosen["block_m"] = self.rows
        return chosen

    @functools.cached_property
    def types(self) -> dict[str, str]:
        """By name, without those of new keys."""
        spec, arrays = self.attention, self.arrays
        heads, key_heads = self.heads or ("?", "?")
        packed_q, packed_k = "cu_q" in arrays, "cu_k" in arrays
        rows_q = "?x" if packed_q else "?x?x"
        rows_k = "?x" if packed_k else f"?x{self.page}x" if self.page else "?x?x"
        in_element = 2 if spec.has_nibbles else 1
        types = {
            "q": f"tensor<{rows_q}{heads}x{spec.head_dim}x{spec.q_type}>",
            "qv": f"tensor<{rows_q}{heads}x{spec.head_dim_v}x{spec.q_type}>",
            "k": f"tensor<{rows_k}{key_heads}x{spec.head_dim // in_element}x{spec.k_type}>",
            "v": f"tensor<{rows_k}{key_heads}x{spec.head_dim_v // in_element}x{spec.v_type}>",
            "o": f"tensor<{rows_q}{heads}x{spec.head_dim_v}x{spec.out_type}>",
            "lse": f"tensor<{'' if packed_q else '?x'}{heads}x?xf32>",
            "max_logits": f"tensor<{'' if packed_q else '?x'}{heads}x?xf32>",
            "scale": "f32", "max_q": "i32", "splits": "i32",
            "sinks": f"tensor<{heads}xf32>", "page_table": "tensor<?x?xi32>",
        }  # fmt: skip
        types |= {name: "tensor<?xi32>" for name in ARRAYS if name != "page_table"}
        types |= {name: one.mlir for name, one in zip(self.tables, spec.regions.aux)}
        types |= {f"arg{n}": one for n, one in enumerate(spec.regions.scalars)}
        if self.many:
            types |= {name: f"tensor<{self.many + 1}xi32>" for name in ("cu_q", "cu_k")}
        for name, count in zip("qkv", self.scale_heads or ("?",) * 3):
            types[f"{name}_descale"] = f"tensor<?x{count}x1xf32>"
        if spec.has_nibbles:
            front, behind = ("", "?") if packed_k else ("?x", self.page or "?")
            of_rows = f"tensor<{front}{key_heads}x{behind}xf32>"
            types |= {"k_descale": of_rows, "v_descale": of_rows}
        for name, shared in zip("kv", self.append.shared if self.append else ()):
            extents = "1x1" if shared else f"?x{key_heads}"
            types[f"{name}_descale"] = f"tensor<{extents}x1xf32>"
        return types

    def to_mlir(self) -> str:
        spec, arrays = self.attention, self.arrays
        key_heads = self.heads[1] if self.heads else "?"
        types = dict(self.types)
        before: list[str] = []
        named: tuple[str, ...] = ("q", "k", "v")
        if self.append:
            types |= self.append.types(spec, key_heads)
            places = [name for name in PLACES if name in arrays]
            before, named = self.append.lines(
                types, places, self._place_mods({n: i for i, n in enumerate(places)})
            )
        of_q = types["q"]
        if self.quantizes:
            # In two terms, with a scale for all heads of a sequence.
            types["q_descale"] = "tensor<?x1x1xf32>"
            of_q = of_q.replace(
                f"x{spec.head_dim}x{spec.q_type}", f"x{2 * spec.head_dim}x{spec.k_type}"
            )
            before.append(
                f"  %q8, %q_descale = attention.quantize %{named[0]} terms 2 layout bshd"
                f" : {types['q']} -> {of_q}, {types['q_descale']}"
            )
            named = ("q8", *named[1:])
        lines = [f"    attention.forward {', '.join('%' + one for one in named)}"]
        if self.qv:
            lines.append(f"    qv(%qv : {types['qv']})")
        aux = (*arrays, *self.tables)
        if aux:
            operands = ", ".join("%" + name for name in aux)
            lines.append(f"    aux({operands} : {', '.join(types[a] for a in aux)})")
        lines.append("    scale %scale")
        if spec.has_scales:
            scales = ", ".join(types[f"{name}_descale"] for name in "qkv")
            lines.append(f"    scales(%q_descale, %k_descale, %v_descale : {scales})")
        if spec.has_nibbles:
            scales = f"{types['k_descale']}, {types['v_descale']}"
            lines.append(f"    nibbles(%k_descale, %v_descale : {scales})")
        # Numbers that a grid is computed of: at least so much, as a formula needs.
        for name in ("max_q", "splits"):
            if name in self.inputs:
                before += _index_of(name)
        sequences = _sequences("max_q" in self.inputs, Append.LENGTHS if self.append else "")
        if sequences:
            before += sequences
            lines.append("    sequences %sequences")
        if "splits" in self.inputs:
            lines.append("    splits %splits_index")
        if spec.sinks:
            lines.append(f"    sinks(%sinks : {types['sinks']})")
        if self.quantizes:
            lines.append("    q_terms 2")
        if self.group:
            lines.append(f"    group {self.group}")
        lines.append("    layout bshd")
        if spec.max_logits:
            lines.append("    max_logits")
        mods = self._mods()
        if mods:
            lines.append(f"    mods [{', '.join(mods)}]")
        made = ", ".join(types[name] for name in spec.outputs)
        lines.append(f"    : ({of_q}, {types['k']}, {types['v']}) -> ({made})")
        lines += spec._region_clauses(types)
        # Tables of mods have names of their own.
        rows = "cached" if "batch_index" in arrays else "b"
        return function_text(
            "attention_serving", self.inputs, spec.outputs, types, lines, before,
            {"page_table": f'"{rows}", "pages_of_sequence"'},
        )  # fmt: skip

    def _mods(self) -> list[str]:
        number = {name: index for index, name in enumerate(self.arrays)}

        def pair(word: str, prefix: str) -> list[str]:
            ends = [
                f"{side} = {number[f'{prefix}_{side}']}"
                for side in "qk" if f"{prefix}_{side}" in number
                # The region of lengths adds what is new.
                and not (self.append and (prefix, side) == ("used", "k"))
            ]  # fmt: skip
            return [f"#attention.{word}<{', '.join(ends)}>"] if ends else []

        mods = [*pair("packed", "cu"), *pair("used", "used")]
        mods += self._place_mods(number)
        mods += self.attention._mods([])
        return [*mods, f"#attention.chunk<{self.chunk}>"] if self.chunk else mods

    @staticmethod
    def _place_mods(number: dict[str, int]) -> list[str]:
        words = {
            "batch_index": "#attention.batch_index<aux = {}>",
            "leftpad": "#attention.leftpad<aux = {}>",
            "page_table": "#attention.paged<table = {}>",
        }
        return [words[name].format(number[name]) for name in PLACES if name in number]


@dataclasses.dataclass(frozen=True)
class ServingBackwardSpec:
    """The kernels of the gradients of q, k and v of a ServingSpec. `dlse`: there is a
    gradient of lse too."""

    forward: ServingSpec
    dlse: bool = False

    @functools.cached_property
    def inputs(self) -> tuple[str, ...]:
        given = ("q", "k", "v", "o", "lse", "do", *(("dlse",) if self.dlse else ()))
        most = ("max_q",) if "cu_q" in self.forward.arrays else ()
        return (*given, "scale", *self.forward.arrays, *most)

    outputs = ("dq", "dk", "dv")

    def to_mlir(self) -> str:
        arrays, types = self.forward.arrays, dict(self.forward.types)
        types["do"], types["dlse"] = types["o"], types["lse"]
        types |= {f"d{name}": types[name] for name in "qkv"}
        dlse = " dlse %dlse" if self.dlse else ""
        lines = [f"    attention.backward %q, %k, %v, %o, %lse, %do{dlse}"]
        operands = ", ".join("%" + name for name in arrays)
        lines.append(f"    aux({operands} : {', '.join(types[a] for a in arrays)})")
        lines.append("    scale %scale")
        before: list[str] = []
        if "max_q" in self.inputs:
            before = [*_index_of("max_q"), *_sequences(True)]
            lines.append("    sequences %sequences")
        lines.append("    layout bshd")
        lines.append(f"    mods [{', '.join(self.forward._mods())}]")
        given = ", ".join(types[name] for name in self.inputs[: 7 if self.dlse else 6])
        made = ", ".join(types[name] for name in self.outputs)
        lines.append(f"    : ({given}) -> ({made})")
        return function_text(
            "attention_serving_backward", self.inputs, self.outputs, types, lines, before
        )


def _sequences(has_most: bool, lengths: str = "") -> list[str]:
    """Lines that say how many queries of a sequence are computed, and what lengths it
    has; none for neither."""
    if not has_most and not lengths:
        return []
    most = " max_q %max_q_index" if has_most else ""
    return [f"  %sequences = attention.sequences{most}", *([lengths] if lengths else [])]


def _index_of(name: str) -> list[str]:
    """Lines that make an index, at least 0, of an i32 that a grid is computed of."""
    return [
        f"  %{name}_least = arith.constant 0 : index",
        f"  %{name}_given = arith.index_cast %{name} : i32 to index",
        f"  %{name}_index = arith.maxsi %{name}_given, %{name}_least : index",
    ]
