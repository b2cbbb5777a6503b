# SPDX-License-Identifier: Apache-2.0
"""Feature sets: what a kernel is compiled for, and its module."""

from __future__ import annotations

import dataclasses
import itertools

# The lead type in the name of a feature set, and torch's name for it.
TYPES = {"f16": "float16", "bf16": "bfloat16"}
FLOAT8 = {"f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2"}
# Types of q and k that take scales. v has the same, or f8E4M3FN beside i8.
EIGHT_BITS = {**FLOAT8, "i8": "int8"}
HEAD_DIMS = [(d, d) for d in (32, 64, 72, 80, 96, 112, 128, 192, 256)]
HEAD_DIMS.append((192, 128))
# No multiples of 8, which tiles fill with zeros; forward only.
UNEVEN_DIMS = [(100, 100), (60, 36)]
# Columns of the output in two warp groups, or keys wider than that; 16 bits.
WIDE_DIMS = [(320, 320), (512, 512), (576, 512), (64, 512), (192, 512)]
LAYOUTS = ("bhsd", "bshd")
# What shares a scale, with the rows of q, k and v that do (0: all).
SCALINGS = {
    "tensor": (0, 0, 0), "head": (0, 0, 0), "block": (128, 128, 128),
    "token": (1, 1, 0),
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Mask:
    """Which keys are visible and how scores are edited. The fields are those of
    the one-line forms of the attention dialect; the oracle reads them too."""

    causal: bool = False
    window: tuple | None = None  # (left, right), None: unbounded
    prefix: int | None = None
    softcap: float | None = None
    alibi: bool = False
    bias: bool = False

    def mods(self):
        """The list of the operation, and the names of auxiliary operands."""
        mods, aux = [], []
        if self.softcap is not None:
            mods.append(f"softcap<{self.softcap}>")
        if self.causal:
            mods.append("causal")
        if self.window is not None:
            ends = [
                f"{name} = {end}"
                for name, end in zip(("left", "right"), self.window)
                if end is not None
            ]
            mods.append(f"window<{', '.join(ends)}>")
        if self.prefix is not None:
            mods.append(f"prefix<{self.prefix}>")
        for name in ("alibi", "bias"):
            if getattr(self, name):
                mods.append(f"{name}<aux = {len(aux)}>")
                aux.append(name)
        return [f"#attention.{mod}" for mod in mods], aux


MASKS = {
    "full": Mask(),
    "causal": Mask(causal=True),
    "window": Mask(window=(96, 40)),
    "prefix": Mask(prefix=100),
    "causal-softcap": Mask(causal=True, softcap=10.0),
    "alibi": Mask(alibi=True),
    "bias": Mask(bias=True),
    "causal-alibi": Mask(causal=True, alibi=True),
}


@dataclasses.dataclass(frozen=True)
class Feature:
    """One kernel. Everything but types, head dims and mask is a run-time
    value."""

    type: str
    d: int
    dv: int
    mask: str
    layout: str = "bhsd"
    scale: bool = False  # as an argument

    scaling: str | None = None  # of SCALINGS, with 8-bit operands
    lse: bool = True  # is a result
    transposed: bool = False  # v, with 8-bit operands
    heads: tuple | None = None  # query and key heads, if the compiler knows them
    q_terms: int = 1  # numbers whose sum is an element of q, with 8-bit floats

    @property
    def key_multiple(self):
        """What has to divide the number of keys: with v transposed, rows of K
        are loaded in another order, which permutes them in groups of 4."""
        return 4 if self.transposed else 1

    @property
    def name(self):
        dims = str(self.d) if self.d == self.dv else f"{self.d}x{self.dv}"
        scaling = f"-{self.scaling}" if self.scaling else ""
        lse = "" if self.lse else "-o"
        v = "-vt" if self.transposed else ""
        v += "-q2" if self.q_terms == 2 else ""
        return f"{self.type}-d{dims}-{self.mask}-{self.layout}{scaling}{lse}{v}"

    def module(self):
        """Text of the module, see module_text."""
        mask = MASKS[self.mask]
        rows = SCALINGS[self.scaling] if self.scaling else None
        return module_text(
            mask, dynamic_types(self), self.layout, self.scale, rows,
            self.transposed, self.q_terms,
        )  # fmt: skip


def value_type(type):
    """Of v, and of the weights, beside q and k of a type."""
    return "f8E4M3FN" if type == "i8" else type


def dynamic_types(feature):
    """Tensor types with nothing known but types, head dims and perhaps heads."""
    heads, key_heads = feature.heads or ("?", "?")
    is_bshd = feature.layout == "bshd"

    def tensor(count, last, type):
        rows = f"?x{count}" if is_bshd else f"{count}x?"
        return f"tensor<?x{rows}x{last}x{type}>"

    of_values = value_type(feature.type)
    value = tensor(key_heads, feature.dv, of_values)
    if feature.transposed:
        columns = [str(feature.dv), str(key_heads)]
        value = f"tensor<?x{'x'.join(columns if is_bshd else columns[::-1])}x?x{of_values}>"
    wide = "f16" if feature.scaling else feature.type
    types = {
        "q": tensor(heads, feature.q_terms * feature.d, feature.type),
        "k": tensor(key_heads, feature.d, feature.type), "v": value,
        "o": tensor(heads, feature.dv, wide),
        "alibi": "tensor<?xf32>", "bias": f"tensor<?x?x?x?x{wide}>",
    }  # fmt: skip
    if feature.lse:
        types["lse"] = f"tensor<?x{heads}x?xf32>"
    if feature.scaling:
        extents = dict.fromkeys("qkv", f"?x{key_heads}")
        if feature.scaling == "tensor":
            extents = dict.fromkeys("qkv", "1x1")
        elif feature.scaling != "head":
            extents["q"] = f"?x{heads}"
        for name, rows in zip("qkv", SCALINGS[feature.scaling]):
            last = "?" if rows else "1"
            types[f"{name}_scale"] = f"tensor<{extents[name]}x{last}xf32>"
    return types


def module_text(
    mask, types, layout="bhsd", scale=False, rows=None, transposed=False, q_terms=1
):
    """A module with one attention; `types` has those of q, k, v, o, of lse if it
    is wanted, and of what the mask reads; v may be given `transposed`, an element
    of q as the sum of `q_terms` numbers. Arguments are q, k, v, then those of
    `aux`, then scale if it is one, then scales of the operands with `rows`, then
    o and lse."""
    mods, aux = mask.mods()
    arguments = {name: types[name] for name in ["q", "k", "v", *aux]}
    if scale:
        arguments["scale"] = "f32"
    scales = [f"{name}_scale" for name in "qkv"] if rows else []
    arguments.update((name, types[name]) for name in scales)
    parameters = ", ".join(
        f'%{name}: {type} {{tile.name = "{name}"}}'
        for name, type in arguments.items()
    )
    clauses = ""
    if aux:
        names = ", ".join(f"%{name}" for name in aux)
        aux_types = ", ".join(types[name] for name in aux)
        clauses += f" aux({names} : {aux_types})"
    if scale:
        clauses += " scale %scale"
    if scales:
        names = ", ".join(f"%{name}" for name in scales)
        scale_types = ", ".join(types[name] for name in scales)
        clauses += f" scales({names} : {scale_types}) rows {list(rows)}"
    if q_terms != 1:
        clauses += f" q_terms {q_terms}"
    if layout != "bhsd":
        clauses += f" layout {layout}"
    if transposed:
        clauses += " transposed_v"
    if mods:
        clauses += f" mods [{', '.join(mods)}]"
    q, k, v = (types[name] for name in "qkv")
    results = {name: types[name] for name in ("o", "lse") if name in types}
    named = ", ".join(
        f'{type} {{tile.name = "{name}"}}' for name, type in results.items()
    )
    values = ", ".join(f"%{name}" for name in results)
    of_types = ", ".join(results.values())
    return (
        f"func.func @attention({parameters})\n"
        f"    -> ({named}) {{\n"
        f"  {values} = attention.forward %q, %k, %v{clauses}\n"
        f"    : ({q}, {k}, {v}) -> ({of_types})\n"
        f"  return {values} : {of_types}\n"
        "}\n"
    )


def gradient_text(mask, types, layout="bhsd", scale=False, of_aux=False):
    """A module with one attention.backward; `types` has those of q, k, v, o, lse
    and of what the mask reads, which has gradients `of_aux`, too."""
    mods, aux = mask.mods()
    q, k, v, o, lse = (types[n] for n in ("q", "k", "v", "o", "lse"))
    arguments = {"q": q, "k": k, "v": v, "o": o, "lse": lse, "do": o}
    arguments.update((name, types[name]) for name in aux)
    clauses = ""
    if aux:
        names = ", ".join(f"%{name}" for name in aux)
        clauses += f" aux({names} : {', '.join(types[name] for name in aux)})"
        if of_aux:
            clauses += f" grad_aux [{', '.join(map(str, range(len(aux))))}]"
    if scale:
        arguments["scale"] = "f32"
        clauses += " scale %scale"
    if layout != "bhsd":
        clauses += f" layout {layout}"
    if mods:
        clauses += f" mods [{', '.join(mods)}]"
    parameters = ", ".join(
        f'%{name}: {type} {{tile.name = "{name}"}}'
        for name, type in arguments.items()
    )
    gradients = dict(zip(("dq", "dk", "dv"), (q, k, v)))
    if of_aux:
        gradients.update(("d" + name, types[name]) for name in aux)
    results = ", ".join(
        f'{type} {{tile.name = "{name}"}}' for name, type in gradients.items()
    )
    values = ", ".join("%" + name for name in gradients)
    returned = ", ".join(gradients.values())
    return (
        f"func.func @backward({parameters})\n    -> ({results}) {{\n"
        f"  {values} = attention.backward %q, %k, %v, %o, %lse, %do{clauses}\n"
        f"    : ({q}, {k}, {v}, {o}, {lse}, {o}) -> ({returned})\n"
        f"  return {values} : {returned}\n}}\n"
    )


def all_features(types, dims, masks, layouts, heads=None):
    """The product of the lists. With one layout, `None`, the layouts alternate
    so that each occurs with every type, head dim and mask. Numbers of query and
    key `heads` are known to the compiler if they are given."""
    features = []
    for t, d, m in itertools.product(
        range(len(types)), range(len(dims)), range(len(masks))
    ):
        scaling = None
        if types[t] in EIGHT_BITS:
            if any(dim % 16 for dim in dims[d]):
                continue  # refused
            scaling = list(SCALINGS)[(t + d + 2 * m) % len(SCALINGS)]
        alternating = LAYOUTS[(t + d + m) % len(LAYOUTS)]
        for layout in layouts or [alternating]:
            # Half of the kernels take their scale as an argument, a third has
            # no lse; a quarter of those with 8 bits takes v transposed.
            scale, lse = (d + m) % 2 == 1, (t + 2 * d + m) % 3 != 0
            transposed = scaling is not None and (2 * t + d + m) % 4 == 1
            # Of 8-bit floats a fifth has q as sums of two.
            is_sum = types[t] in FLOAT8 and (3 * t + d + m) % 5 == 2
            features.append(
                Feature(
                    types[t], *dims[d], masks[m], layout, scale, scaling, lse,
                    transposed, heads, 2 if is_sum else 1,
                )  # fmt: skip
            )
    return features
