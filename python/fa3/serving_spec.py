# SPDX-License-Identifier: Apache-2.0
"""What a kernel of fa3.serving is compiled for, and its text."""

from __future__ import annotations

import dataclasses
import functools

from .spec import Spec, function_text

#: Arrays that say where sequences lie and how long they are.
ARRAYS = ("cu_q", "cu_k", "used_q", "used_k", "batch_index", "leftpad", "page_table")


@dataclasses.dataclass(frozen=True)
class ServingSpec:
    """A kernel with places and lengths: `arrays` are the names of ARRAYS that it
    takes; `page` are the rows of a page, 0 without pages; `heads` the numbers of
    heads and key heads where the compiler is to know them."""

    attention: Spec
    arrays: tuple[str, ...]
    page: int = 0
    chunk: int = 0
    splits: bool = False
    heads: tuple[int, int] | None = None

    @functools.cached_property
    def inputs(self) -> tuple[str, ...]:
        spec = self.attention
        scales = ("q_descale", "k_descale", "v_descale") if spec.has_scales else ()
        return (
            "q", "k", "v", "scale", *scales, *(("sinks",) if spec.sinks else ()),
            *self.arrays, *(("max_q",) if "cu_q" in self.arrays else ()),
            *(("splits",) if self.splits else ()),
        )  # fmt: skip

    def to_mlir(self) -> str:
        spec, arrays = self.attention, self.arrays
        heads, key_heads = self.heads or ("?", "?")
        packed_q, packed_k = "cu_q" in arrays, "cu_k" in arrays
        rows_q = "?x" if packed_q else "?x?x"
        rows_k = "?x" if packed_k else f"?x{self.page}x" if self.page else "?x?x"
        types = {
            "q": f"tensor<{rows_q}{heads}x{spec.head_dim}x{spec.q_type}>",
            "k": f"tensor<{rows_k}{key_heads}x{spec.head_dim}x{spec.k_type}>",
            "v": f"tensor<{rows_k}{key_heads}x{spec.head_dim_v}x{spec.v_type}>",
            "o": f"tensor<{rows_q}{heads}x{spec.head_dim_v}x{spec.out_type}>",
            "lse": f"tensor<{'' if packed_q else '?x'}{heads}x?xf32>",
            "scale": "f32", "max_q": "i32", "splits": "i32",
            "sinks": f"tensor<{heads}xf32>", "page_table": "tensor<?x?xi32>",
        }  # fmt: skip
        types |= {name: "tensor<?xi32>" for name in ARRAYS if name != "page_table"}
        types |= {f"{name}_descale": "tensor<?x?x1xf32>" for name in "qkv"}
        lines, before = ["    attention.forward %q, %k, %v"], []
        if arrays:
            operands = ", ".join("%" + name for name in arrays)
            lines.append(f"    aux({operands} : {', '.join(types[a] for a in arrays)})")
        lines.append("    scale %scale")
        if spec.has_scales:
            scales = types["q_descale"]
            lines.append(
                "    scales(%q_descale, %k_descale, %v_descale : "
                f"{scales}, {scales}, {scales})"
            )
        # Numbers that a grid is computed of: at least so much, as a formula needs.
        for name, least in (("max_q", 0), ("splits", 1)):
            if name in self.inputs:
                before += [
                    f"  %{name}_least = arith.constant {least} : index",
                    f"  %{name}_given = arith.index_cast %{name} : i32 to index",
                    f"  %{name}_index = arith.maxsi %{name}_given, %{name}_least : index",
                ]
                lines.append(f"    {name} %{name}_index")
        if spec.sinks:
            lines.append(f"    sinks(%sinks : {types['sinks']})")
        lines.append("    layout bshd")
        mods = self._mods()
        if mods:
            lines.append(f"    mods [{', '.join(mods)}]")
        made = ", ".join(types[name] for name in spec.outputs)
        lines.append(f"    : ({types['q']}, {types['k']}, {types['v']}) -> ({made})")
        return function_text(
            "attention_serving", self.inputs, spec.outputs, types, lines, before
        )

    def _mods(self) -> list[str]:
        number = {name: index for index, name in enumerate(self.arrays)}

        def pair(word: str, prefix: str) -> list[str]:
            ends = [
                f"{side} = {number[f'{prefix}_{side}']}"
                for side in "qk" if f"{prefix}_{side}" in number
            ]  # fmt: skip
            return [f"#attention.{word}<{', '.join(ends)}>"] if ends else []

        mods = [*pair("packed", "cu"), *pair("used", "used")]
        for name, text in (
            ("batch_index", "#attention.batch_index<aux = {}>"),
            ("leftpad", "#attention.leftpad<aux = {}>"),
            ("page_table", "#attention.paged<table = {}>"),
        ):
            if name in number:
                mods.append(text.format(number[name]))
        mods += self.attention._mods([])
        return [*mods, f"#attention.chunk<{self.chunk}>"] if self.chunk else mods
