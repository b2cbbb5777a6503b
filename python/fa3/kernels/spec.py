# SPDX-License-Identifier: Apache-2.0
"""What a kernel of attention is compiled for, and its text. A specification has
types, head dims and mods; lengths, heads, batch and strides are left to the
call."""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Mapping, Sequence

from ..mods.regions import Auxiliary, Regions

# The words of the regions of attention.forward.
SCORE_REGION = "score_mod"
MASK_REGION = "mask_mod"
EPILOGUE_REGION = "epilogue"

FLOATS_8 = ("f8E4M3FN", "f8E5M2")


@dataclasses.dataclass(frozen=True)
class Blocks:
    """Lists of the blocks of keys that a block of queries looks at: the size of a
    block, whether there are two lists, and for batch and heads whether one list
    serves all."""

    queries: int
    keys: int
    full: bool
    ones: tuple[bool, bool]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the lists, in the order of the kernel."""
        names = ("block_count", "block_index", "full_count", "full_index")
        return names[: 4 if self.full else 2]

    @property
    def names_by_key(self) -> tuple[str, ...]:
        """Of the lists of blocks of queries for each block of keys, which only
        gradients read."""
        return tuple(name + "_q" for name in self.names)

    def types(self, names: Sequence[str]) -> dict[str, str]:
        front = "".join("1x" if one else "?x" for one in self.ones)
        return {name: f"tensor<{front}?x{'?x' if 'index' in name else ''}i32>" for name in names}

    def mod(self, aux: list[str], by_key: bool = False) -> str:
        names = self.names_by_key if by_key else self.names
        numbers = [
            f"{own.removeprefix('block_')} = {aux.index(name)}"
            for own, name in zip(self.names, names)
        ]
        sizes = f"queries = {self.queries}, keys = {self.keys}"
        by = ", by = key" if by_key else ""
        return f"#attention.blocks<{', '.join(numbers)}, {sizes}{by}>"


@dataclasses.dataclass(frozen=True)
class Spec:
    """One kernel. Types are spelled as in MLIR; `out_type` is that of o;
    `window` are the keys that a query sees before and after its own, None where
    unbounded."""

    q_type: str
    k_type: str
    v_type: str
    out_type: str
    head_dim: int
    head_dim_v: int
    causal: bool = False
    window: tuple[int | None, int | None] | None = None
    softcap: float = 0.0
    lse: bool = False
    bias: Auxiliary | None = None
    alibi: bool = False
    sinks: bool = False
    #: causal and window count from the first query and key, not from the last.
    top_left: bool = False
    regions: Regions = Regions()
    blocks: Blocks | None = None
    #: The probability with which a weight is dropped, by the state `rng_state`.
    dropout: float = 0.0
    #: Whether o without its epilogue is a further output, which gradients need.
    plain: bool = False
    #: The largest score of every query is a result, too, behind lse.
    max_logits: bool = False
    #: The element type of o of other keys, which o and lse take in; "" for none.
    previous: str = ""
    #: Heads of each key head, where the compiler is to know them; 1: any number.
    group: int = 1

    @property
    def has_scales(self) -> bool:
        return self.v_type in FLOATS_8

    @property
    def has_nibbles(self) -> bool:
        """Whether k and v hold two integers in a byte, with scales of rows."""
        return self.v_type == "i8"

    @functools.cached_property
    def extras(self) -> tuple[str, ...]:
        """Names of the tensors besides q, k and v, in the order of the kernel."""
        names = ["q_descale", "k_descale", "v_descale"] if self.has_scales else []
        for name in ("bias", "alibi", "sinks"):
            if getattr(self, name):
                names.append(name)
        if self.previous:
            names += ["previous_o", "previous_lse"]
        if self.dropout:
            names.append("rng_state")
        if self.blocks:
            names += self.blocks.names
        return (*names, *(f"aux{i}" for i in range(len(self.regions.aux))))

    @functools.cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the arguments in the order of the kernel, before outputs."""
        numbers = (f"arg{i}" for i in range(len(self.regions.scalars)))
        return ("q", "k", "v", "scale", *self.extras, *numbers)

    @property
    def outputs(self) -> tuple[str, ...]:
        return (
            "o", *(("lse",) if self.lse else ()), *(("o_plain",) if self.plain else ()),
            *(("max_logits",) if self.max_logits else ()),
        )  # fmt: skip

    def to_mlir(self) -> str:
        """The module that is compiled."""
        types = self._types()
        lines = ["    attention.forward %q, %k, %v"]
        lines += self._aux_clause(types)
        lines.append("    scale %scale")
        if self.has_scales:
            scales = types["q_descale"]
            lines.append(
                f"    scales(%q_descale, %k_descale, %v_descale : {scales}, {scales}, {scales})"
            )
        if self.sinks:
            lines.append(f"    sinks(%sinks : {types['sinks']})")
        if self.previous:
            both = ", ".join(types[name] for name in ("previous_o", "previous_lse"))
            lines.append(f"    previous(%previous_o, %previous_lse : {both})")
        if self.group > 1:
            lines.append(f"    group {self.group}")
        if self.plain:
            lines.append("    plain")
        if self.max_logits:
            lines.append("    max_logits")
        lines += self._mods_clause()
        made = ", ".join(types[name] for name in self.outputs)
        lines.append(f"    : ({types['q']}, {types['k']}, {types['v']}) -> ({made})")
        lines += self._region_clauses(types)
        return function_text("attention", self.inputs, self.outputs, types, lines)

    def _types(self) -> dict[str, str]:
        """The types of arguments and results by name."""
        types = {
            "q": self._tensor(self.head_dim, self.q_type),
            "k": self._tensor(self.head_dim, self.k_type),
            "v": self._tensor(self.head_dim_v, self.v_type),
            "o": self._tensor(self.head_dim_v, self.out_type),
            "lse": "tensor<?x?x?xf32>", "max_logits": "tensor<?x?x?xf32>",
            "o_plain": self._tensor(self.head_dim_v, self.q_type),
            "scale": "f32", "alibi": "tensor<?xf32>",
            "previous_o": self._tensor(self.head_dim_v, self.previous),
            "previous_lse": "tensor<?x?x?xf32>",
            "sinks": "tensor<?xf32>", "rng_state": "tensor<2xi64>",
        }  # fmt: skip
        for name in ("q_descale", "k_descale", "v_descale"):
            types[name] = "tensor<?x?x1xf32>"
        if self.bias:
            types["bias"] = self.bias.mlir
        if self.blocks:
            types |= self.blocks.types(self.blocks.names)
        for i, one in enumerate(self.regions.aux):
            types[f"aux{i}"] = one.mlir
        for i, scalar in enumerate(self.regions.scalars):
            types[f"arg{i}"] = scalar
        return types

    @functools.cached_property
    def _aux(self) -> list[str]:
        """The auxiliary operands."""
        return [
            name for name in self.extras
            if name in ("bias", "alibi", "rng_state") or name.startswith(("aux", "block", "full"))
        ]  # fmt: skip

    def _aux_clause(self, types: dict[str, str], more: Sequence[str] = ()) -> list[str]:
        aux = (*self._aux, *more)
        if not aux:
            return []
        operands = ", ".join("%" + name for name in aux)
        return [f"    aux({operands} : {', '.join(types[a] for a in aux)})"]

    def _mods_clause(self, more: Sequence[str] = ()) -> list[str]:
        mods = [*self._mods(self._aux), *more]
        return [f"    mods [{', '.join(mods)}]"] if mods else []

    def _region_clauses(self, types: dict[str, str]) -> list[str]:
        lines = []
        if self.regions.score:
            lines.append(f"    {SCORE_REGION} (%score, %b, %h, %i, %j) {{")
            lines.append(self._region(self.regions.score, types))
        if self.regions.mask:
            lines.append(f"    {MASK_REGION} (%b, %h, %i, %j) {{")
            lines.append(self._region(self.regions.mask, types))
        if self.regions.epilogue:
            lines.append(f"    {EPILOGUE_REGION} (%x, %b, %h, %i, %c) {{")
            lines.append(self._region(self.regions.epilogue, types))
        return lines

    def _region(self, text: str, types: dict[str, str]) -> str:
        """A region, where tables have these types."""
        for i, one in enumerate(self.regions.aux):
            if types[f"aux{i}"] != one.mlir:
                text = re.sub(
                    rf"(%aux{i}\[[^]]*\] : ){re.escape(one.mlir)}",
                    lambda found, i=i: found.group(1) + types[f"aux{i}"], text,
                )  # fmt: skip
        return text.rstrip() + "\n    }"

    def _tensor(self, dim: int, type: str) -> str:
        return f"tensor<?x?x?x{dim}x{type}>"

    def _mods(self, aux: list[str]) -> list[str]:
        mods = []
        # As FlashAttention: the cap comes first, then what is added.
        if self.softcap:
            mods.append(f"#attention.softcap<{_literal(self.softcap)}>")
        if self.bias:
            mods.append(f"#attention.bias<aux = {aux.index('bias')}>")
        if self.alibi:
            mods.append(f"#attention.alibi<aux = {aux.index('alibi')}>")
        align = "align = top_left" if self.top_left else ""
        if self.causal:
            mods.append("#attention.causal" + (f"<{align}>" if align else ""))
        if self.window is not None:
            left, right = self.window
            ends = []
            if left is not None:
                ends.append(f"left = {left}")
            if right is not None:
                ends.append(f"right = {right}")
            if ends:
                ends += [align] if align else []
                mods.append(f"#attention.window<{', '.join(ends)}>")
        if self.blocks:
            mods.append(self.blocks.mod(aux))
        if self.dropout:
            p = _literal(self.dropout)
            mods.append(f"#attention.dropout<p = {p}, aux = {aux.index('rng_state')}>")
        return mods


@dataclasses.dataclass(frozen=True)
class BackwardSpec:
    """The kernels of the gradients of a Spec's q, k and v, and of the extras
    `grads`. `dlse`: there is a gradient of lse too. `ones` has for each of `grads`
    the dimensions whose extent of 1 serves all."""

    forward: Spec
    dlse: bool = False
    grads: tuple[str, ...] = ()
    ones: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @functools.cached_property
    def inputs(self) -> tuple[str, ...]:
        spec = self.forward
        given = ("q", "k", "v", "o", "lse", "do", *(("dlse",) if self.dlse else ()))
        # Sinks and previous results are in o and lse, and need no operand.
        rest = (
            name for name in spec.inputs[3:]
            if name not in ("sinks", "previous_o", "previous_lse")
        )  # fmt: skip
        return (*given, *rest, *self._lists)

    @property
    def _lists(self) -> tuple[str, ...]:
        """Of blocks of queries for each block of keys."""
        blocks = self.forward.blocks
        return blocks.names_by_key if blocks else ()

    @functools.cached_property
    def outputs(self) -> tuple[str, ...]:
        return ("dq", "dk", "dv", *(f"d{name}" for name in self.grads))

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of all arguments in the order of the kernel."""
        return (*self.inputs, *self.outputs)

    def to_mlir(self) -> str:
        spec = self.forward
        types = spec._types()
        for name, ones in self.ones:
            head, *rest = types[name][len("tensor<") :].split("x")
            parts = [head, *rest]
            for d in ones:
                parts[d] = "1"
            types[name] = "tensor<" + "x".join(parts)
        types["do"], types["dlse"] = types["o"], types["lse"]
        types |= {f"d{name}": types[name] for name in (*"qkv", *self.grads)}
        dlse = " dlse %dlse" if self.dlse else ""
        lines = [f"    attention.backward %q, %k, %v, %o, %lse, %do{dlse}"]
        by_key = []
        if spec.blocks:
            types |= spec.blocks.types(self._lists)
            by_key = [spec.blocks.mod([*spec._aux, *self._lists], by_key=True)]
        lines += spec._aux_clause(types, self._lists)
        if self.grads:
            numbers = ", ".join(str(spec._aux.index(name)) for name in self.grads)
            lines.append(f"    grad_aux [{numbers}]")
        lines.append("    scale %scale")
        lines += spec._mods_clause(by_key)
        given = [types[name] for name in self.inputs[: 7 if self.dlse else 6]]
        made = ", ".join(types[name] for name in self.outputs)
        lines.append(f"    : ({', '.join(given)}) -> ({made})")
        lines += spec._region_clauses(types)
        return function_text("attention_backward", self.inputs, self.outputs, types, lines)


def _literal(value: float) -> str:
    """A float as MLIR reads it, which wants a point in front of an exponent."""
    digits, e, exponent = repr(float(value)).partition("e")
    return (digits if "." in digits else digits + ".0") + e + exponent


def function_text(
    name: str, inputs: Sequence[str], outputs: Sequence[str], types: dict[str, str],
    lines: Sequence[str], before: Sequence[str] = (), dims: Mapping[str, str] | None = None,
) -> str:  # fmt: skip
    """A function around one operation, whose text is `lines`, with the lines of
    `before` in front; `dims` names dimensions of inputs, else the compiler does."""

    def describe(name: str) -> str:
        said = (dims or {}).get(name)
        return f'{{tile.name = "{name}"' + (f", tile.dims = [{said}]}}" if said else "}")

    parameters = ",\n    ".join(f"%{name}: {types[name]} {describe(name)}" for name in inputs)
    named = ", ".join(f'{types[name]} {{tile.name = "{name}"}}' for name in outputs)
    values = ", ".join("%" + name for name in outputs)
    made = ", ".join(types[name] for name in outputs)
    body = "\n".join(lines).lstrip()
    return (
        f"func.func @{name}(\n    {parameters})\n    -> ({named}) {{\n"
        f"{''.join(line + chr(10) for line in before)}  {values} = {body}\n"
        f"  return {values} : {made}\n}}\n"
    )
