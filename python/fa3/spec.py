# SPDX-License-Identifier: Apache-2.0
"""What a kernel of attention is compiled for, and its text. A specification has
types, head dims and mods; lengths, heads, batch and strides are left to the
call."""

from __future__ import annotations

import dataclasses
import functools

# The words of the two regions of attention.forward.
SCORE_REGION = "score_mod"
MASK_REGION = "mask_mod"

FLOATS_8 = ("f8E4M3FN", "f8E5M2")
_MAX_WINDOW = 1 << 30


@dataclasses.dataclass(frozen=True)
class Auxiliary:
    """A tensor that mods read: its element type and rank, and the extents that
    are 1, which broadcast."""

    type: str
    rank: int

    @property
    def mlir(self) -> str:
        return "tensor<" + "?x" * self.rank + self.type + ">"


@dataclasses.dataclass(frozen=True)
class Regions:
    """Traced mods: the bodies of the two regions ("" if there is none), over
    auxiliary tensors %aux0, .. and scalar arguments %arg0, .. of these types."""

    score: str = ""
    mask: str = ""
    aux: tuple[Auxiliary, ...] = ()
    scalars: tuple[str, ...] = ()


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
    regions: Regions = Regions()

    @property
    def has_scales(self) -> bool:
        return self.v_type in FLOATS_8

    @functools.cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the arguments in the order of the kernel, before outputs."""
        names = ["q", "k", "v", "scale"]
        if self.has_scales:
            names += ["q_descale", "k_descale", "v_descale"]
        if self.bias:
            names.append("bias")
        if self.alibi:
            names.append("alibi")
        names += [f"aux{i}" for i in range(len(self.regions.aux))]
        names += [f"arg{i}" for i in range(len(self.regions.scalars))]
        return tuple(names)

    @property
    def outputs(self) -> tuple[str, ...]:
        return ("o", "lse") if self.lse else ("o",)

    def to_mlir(self) -> str:
        """The module that is compiled."""
        q, k, v = (
            self._tensor(dim, type)
            for dim, type in (
                (self.head_dim, self.q_type),
                (self.head_dim, self.k_type),
                (self.head_dim_v, self.v_type),
            )
        )
        o = self._tensor(self.head_dim_v, self.out_type)
        types = {"q": q, "k": k, "v": v, "scale": "f32", "alibi": "tensor<?xf32>"}
        scales = "tensor<?x?x1xf32>"
        types |= {name: scales for name in ("q_descale", "k_descale", "v_descale")}
        aux: list[str] = []
        if self.bias:
            types["bias"] = self.bias.mlir
            aux.append("bias")
        if self.alibi:
            aux.append("alibi")
        for i, one in enumerate(self.regions.aux):
            types[f"aux{i}"] = one.mlir
            aux.append(f"aux{i}")
        for i, scalar in enumerate(self.regions.scalars):
            types[f"arg{i}"] = scalar

        parameters = ",\n    ".join(
            f'%{name}: {types[name]} {{tile.name = "{name}"}}' for name in self.inputs
        )
        results = {"o": o, "lse": "tensor<?x?x?xf32>"}
        named = ", ".join(
            f'{results[name]} {{tile.name = "{name}"}}' for name in self.outputs
        )
        values = ", ".join("%" + name for name in self.outputs)
        made = ", ".join(results[name] for name in self.outputs)

        lines = ["    attention.forward %q, %k, %v"]
        if aux:
            operands = ", ".join("%" + name for name in aux)
            lines.append(f"    aux({operands} : {', '.join(types[a] for a in aux)})")
        lines.append("    scale %scale")
        if self.has_scales:
            lines.append(
                "    scales(%q_descale, %k_descale, %v_descale : "
                f"{scales}, {scales}, {scales})"
            )
        mods = self._mods(aux)
        if mods:
            lines.append(f"    mods [{', '.join(mods)}]")
        lines.append(f"    : ({q}, {k}, {v}) -> ({made})")
        if self.regions.score:
            lines.append(f"    {SCORE_REGION} (%score, %b, %h, %i, %j) {{")
            lines.append(self.regions.score.rstrip() + "\n    }")
        if self.regions.mask:
            lines.append(f"    {MASK_REGION} (%b, %h, %i, %j) {{")
            lines.append(self.regions.mask.rstrip() + "\n    }")
        body = "\n".join(lines).lstrip()
        return (
            f"func.func @attention(\n    {parameters})\n    -> ({named}) {{\n"
            f"  {values} = {body}\n  return {values} : {made}\n}}\n"
        )

    def _tensor(self, dim: int, type: str) -> str:
        return f"tensor<?x?x?x{dim}x{type}>"

    def _mods(self, aux: list[str]) -> list[str]:
        mods = []
        # As FlashAttention: the cap comes first, then what is added.
        if self.softcap:
            mods.append(f"#attention.softcap<{self.softcap!r}>")
        if self.bias:
            mods.append(f"#attention.bias<aux = {aux.index('bias')}>")
        if self.alibi:
            mods.append(f"#attention.alibi<aux = {aux.index('alibi')}>")
        if self.causal:
            mods.append("#attention.causal")
        if self.window is not None:
            left, right = self.window
            ends = []
            if left is not None:
                ends.append(f"left = {left}")
            if right is not None:
                ends.append(f"right = {right}")
            if ends:
                mods.append(f"#attention.window<{', '.join(ends)}>")
        return mods
