# SPDX-License-Identifier: Apache-2.0
"""How XLA shares out fa3's calls under jit: over batch, and over key heads with the
heads of their groups. Each device then calls the handler with its part. Where mods
read the numbers of batch and head, a part would see others: such calls are not
shared out, XLA gathers their operands."""

from __future__ import annotations

import inspect
import re
from typing import Any, Callable

from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding, PartitionSpec

from ..kernels import blocks
from ..kernels.program import Program

# Of older versions XLA gathers all operands, too.
_HAS_RULES = (
    "need_replication_factors" in inspect.signature(custom_partitioning.def_partition).parameters
)


def partitioned(
    call: Callable[..., Any], program: Program, rows: int,
    shapes: tuple[tuple[int, ...], ...],
) -> Callable[..., Any]:  # fmt: skip
    """`call` of operands of these shapes, the first `rows` of which are those of a
    forward (3) or a backward, with a rule for sharding."""
    if program.has_mods or blocks.NAMES[0] in program.extras or not _HAS_RULES:
        return call
    rule, groups, fixed = _rule(program, rows, shapes)
    made = custom_partitioning(call)
    q, k = (0, 1) if rows == 3 else (1, 2)
    head = 2 if program.layout == "bshd" else 1

    def partition(mesh: Any, arguments: Any, results: Any) -> Any:
        """Of what XLA proposes, the axes of batch and key heads that go with all
        operands; the rest is gathered."""
        batch = _axes(mesh, arguments[q], 0, shapes[q][0])
        heads = _axes(mesh, arguments[k], head, shapes[k][head])
        heads = heads or _axes(mesh, arguments[q], head, shapes[k][head])
        if set(batch) & set(heads):
            heads = ()
        at = {"b": batch or None, "(g r)": heads or None, "g": heads or None}
        shardings = [
            NamedSharding(mesh, PartitionSpec(*(at.get(one) for one in factors)))
            for side in rule.split("->")
            for factors in (re.findall(r"\([^)]*\)|\w+", one) for one in side.split(","))
        ]
        count = len(shapes)
        return mesh, call, tuple(shardings[count:]), tuple(shardings[:count])

    made.def_partition(
        partition=partition, sharding_rule=rule, need_replication_factors=fixed,
        **groups,
    )  # fmt: skip
    return made


def _axes(mesh: Any, argument: Any, dimension: int, extent: int) -> tuple[str, ...]:
    """The axes of the mesh that a dimension is shared out over, if they divide an
    extent."""
    spec = getattr(argument.sharding, "spec", ())
    axes = spec[dimension] if dimension < len(spec) else None
    axes = (axes,) if isinstance(axes, str) else tuple(axes or ())
    parts = 1
    for one in axes:
        parts *= mesh.shape[one]
    return axes if extent % parts == 0 else ()


def _rule(
    program: Program, rows: int, shapes: tuple[tuple[int, ...], ...]
) -> tuple[str, dict[str, int], tuple[str, ...]]:
    """The rule, the sizes of its factors that no dimension has by itself, and the
    factors that are not shared out. b is batch, g key heads, r heads of a group."""
    turned = program.layout == "bshd"
    head = 2 if turned else 1
    q, k = (shapes[0], shapes[1]) if rows == 3 else (shapes[1], shapes[2])
    r = q[head] // max(1, k[head])
    heads, key_heads = ("g", "g") if r == 1 else ("(g r)", "g")

    def four(h: str, s: str, d: str) -> str:
        return f"b {s} {h} {d}" if turned else f"b {h} {s} {d}"

    of_q, of_k, of_v = four(heads, "i", "d"), four(key_heads, "j", "d"), four(key_heads, "j", "e")
    of_o, of_lse = four(heads, "i", "e"), f"b {heads} i"
    fixed = ["i", "j", "d", "e"] + (["r"] if r > 1 else [])
    if rows == 3:
        given = [of_q, of_k, of_v]
        made = [of_o, of_lse] if program.return_lse else [of_o]
        made += [of_lse] if program.max_logits else []
    else:
        given = [of_o, of_q, of_k, of_v, of_o, of_lse, *[of_lse] * (rows - 6)]
        made = [of_q, of_k, of_v]
    for name, shape in zip(program.extras, shapes[rows:]):
        if name == "bias":
            # Extents of 1 are factors of their own.
            words = [heads, "i", "j"]
            parts = ["b" if shape[0] == q[0] and shape[0] > 1 else "x"]
            parts += [
                word if extent > 1 or d == 3 else f"y{d}"
                for d, (word, extent) in enumerate(zip(words, shape[1:]), 1)
            ]
            given.append(" ".join(parts))
            fixed += [one for one in parts if one[0] in "xy"]
        else:  # a number for every head
            given.append(heads)
    groups = {"r": r} if r > 1 else {}
    rule = f"{', '.join(given)} -> {', '.join(made)}"
    # In the order in which they come.
    order = list(dict.fromkeys(re.findall("[a-z][0-9]?", rule)))
    return rule, groups, tuple(sorted(set(fixed), key=order.index))
