# SPDX-License-Identifier: Apache-2.0
"""Which gradients of sequences with places `run.py backward` checks: kernels are a
pairwise cover, as those of `run.py serving`."""

import dataclasses
import itertools
import zlib

from . import features
from .serving_cases import cover

BATCHES = [2, 7]
INPUTS, GRADIENTS = ("q", "k", "v", "o", "lse", "do"), ("dq", "dk", "dv")

# packed: one behind the other. used: with rows between them that do not count.
# padded: in arrays with a batch. leftpad: keys from some row on.
AXES = {
    "place": ["packed", "used", "padded", "leftpad"],
    "kind": [
        (64, 64, "fused"), (64, 64, "split"), (64, 64, "deterministic"),
        (128, 128, "fused"), (128, 128, "split"), (128, 128, "auto"),
        (192, 128, "auto"), (192, 128, "deterministic"),
        (256, 256, "split"), (256, 256, "deterministic"),
        (512, 512, "auto"), (576, 512, "auto"), (64, 512, "auto"),
    ],
    "mask": ["full", "causal", "window"],
    "heads": [(2, 2), (8, 2)],
    "type": ["bf16", "f16"],
    "dlse": [False, True],
}  # fmt: skip
OPTIONS = {
    "auto": "", "fused": "backward-form=fused", "split": "backward-form=split",
    "deterministic": "deterministic=true",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Case:
    """One kernel; `dlse`: lse has a gradient, too."""

    place: str
    d: int
    dv: int
    form: str
    mask: str
    heads: int
    key_heads: int
    type: str
    dlse: bool

    @property
    def name(self):
        dims = str(self.d) if self.d == self.dv else f"{self.d}x{self.dv}"
        return (
            f"places-{self.place}-{self.type}-d{dims}-{self.form}-{self.mask}"
            f"-h{self.heads}x{self.key_heads}{'-dlse' if self.dlse else ''}"
        )

    @property
    def is_packed(self):
        return self.place in ("packed", "used")

    @property
    def is_repeatable(self):
        """Whether dq, too, has the same bits in every run."""
        return self.form in ("split", "deterministic")


def kernels():
    return [
        Case(row["place"], *row["kind"], row["mask"], *row["heads"], row["type"],
             row["dlse"])
        for row in cover(AXES)
    ]  # fmt: skip


def module(case):
    """The text of a kernel."""
    t, d, dv = case.type, case.d, case.dv
    rows = "?x" if case.is_packed else "?x?x"
    q, o = (f"tensor<{rows}{case.heads}x{n}x{t}>" for n in (d, dv))
    k, v = (f"tensor<{rows}{case.key_heads}x{n}x{t}>" for n in (d, dv))
    batch = "" if case.is_packed else "?x"
    lse, integers = f"tensor<{batch}{case.heads}x?xf32>", "tensor<?xi32>"
    arguments = dict(zip(INPUTS, (q, k, v, o, lse, o)))
    if case.dlse:
        arguments["dlse"] = lse
    operands = list(arguments)
    aux, mods = {
        "packed": (["cu_q", "cu_k"], ["packed<q = 0, k = 1>"]),
        "used": (["cu_q", "cu_k", "used_q", "used_k"],
                 ["packed<q = 0, k = 1>", "used<q = 2, k = 3>"]),
        "padded": (["used_q", "used_k"], ["used<q = 0, k = 1>"]),
        "leftpad": (["used_q", "used_k", "pad"],
                    ["used<q = 0, k = 1>", "leftpad<aux = 2>"]),
    }[case.place]  # fmt: skip
    arguments.update((name, integers) for name in aux)
    if case.is_packed:
        arguments["max_q"] = "index"
    mods = [f"#attention.{mod}" for mod in mods]
    mods += features.MASKS[case.mask].mods()[0]
    parameters = ", ".join(
        f'%{n}: {type} {{tile.name = "{n}"}}' for n, type in arguments.items()
    )
    results = dict(zip(GRADIENTS, (q, k, v)))
    named = ", ".join(f'{type} {{tile.name = "{n}"}}' for n, type in results.items())
    values = ", ".join("%" + name for name in results)
    types = ", ".join(results.values())
    most = "  %sequences = attention.sequences max_q %max_q\n" if case.is_packed else ""
    return (
        f"func.func @backward({parameters})\n    -> ({named}) {{\n{most}"
        f"  {values} = attention.backward %q, %k, %v, %o, %lse, %do"
        f"{' dlse %dlse' if case.dlse else ''}\n"
        f"      aux({', '.join('%' + n for n in aux)} : "
        f"{', '.join(integers for _ in aux)})"
        f"{' sequences %sequences' if case.is_packed else ''} layout bshd\n"
        f"      mods [{', '.join(mods)}]\n"
        f"    : ({', '.join(arguments[n] for n in operands)}) -> ({types})\n"
        f"  return {values} : {types}\n}}\n"
    )


@dataclasses.dataclass(frozen=True)
class Plan:
    """One problem of a kernel; `is_bounded`: by a max_q below some lengths."""

    batch: int
    is_bounded: bool
    seed: int

    def __str__(self):
        return f"batch {self.batch}{', max_q' if self.is_bounded else ''}"


def plans(case):
    for batch, is_bounded in itertools.product(BATCHES, (False, True)):
        name = f"{case.name} {batch} {is_bounded}"
        yield Plan(batch, is_bounded and case.is_packed, zlib.crc32(name.encode()))
