# SPDX-License-Identifier: Apache-2.0
"""What a call of fa3.attention asks for besides its tensors, as text: the key of
caches and the argument of operators. It has values only, so that a graph that was
saved by one process means the same in another."""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import Any, Sequence

from ..mods.trace import Traced
from .arguments import Arguments
from .spec import Auxiliary, Regions

#: Tensors besides q, k and v, in the order in which operators take them; those
#: that mods read follow.
EXTRAS = (
    "q_descale", "k_descale", "v_descale", "bias", "alibi", "sinks", "previous_o",
    "previous_lse", "rng_state",
    "block_count", "block_index", "full_count", "full_index",
    "block_count_q", "block_index_q", "full_count_q", "full_index_q",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Program:
    """`extras` are the names of EXTRAS that are given, `grads` those of extras (aux0,
    .. are the tensors of mods) that the backward gives gradients of; `block_size` is that
    of lists of blocks; `regions`, `uses` and `names` are those of traced mods."""

    causal: bool = False
    window: tuple[int | None, int | None] | None = None
    softcap: float = 0.0
    out_dtype: str | None = None
    return_lse: bool = False
    layout: str = "bhsd"
    top_left: bool = False
    interpret: bool | str = False
    backward: str = "None"
    grads: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    block_size: tuple[int, int] | None = None
    regions: Regions = Regions()
    uses: tuple[tuple[str | None, ...], ...] = ()
    names: tuple[str, ...] = ()
    dropout: float = 0.0
    max_logits: bool = False

    @property
    def has_mods(self) -> bool:
        regions = self.regions
        return bool(regions.score or regions.mask or regions.epilogue)

    def named(self, extras: Sequence[Any]) -> dict[str, Any]:
        """The tensors of an operator by name, without those of mods."""
        return dict(zip(self.extras, extras))

    def of_forward(self, extras: Sequence[Any]) -> Sequence[Any]:
        """Those of the extras that the forward's kernel reads."""
        if "block_count_q" not in self.extras:
            return extras
        kept = [
            one for name, one in zip(self.extras, extras)
            if not name.endswith(("count_q", "index_q"))
        ]  # fmt: skip
        return [*kept, *extras[len(self.extras) :]]

    def traced(self, extras: Sequence[Any], numbers: Sequence[float]) -> Traced | None:
        """The mods, with their tensors and numbers."""
        if not self.has_mods:
            return None
        scalars = tuple(
            one if type == "f32" else int(one) for type, one in zip(self.regions.scalars, numbers)
        )
        return Traced(
            self.regions, tuple(extras[len(self.extras) :]), scalars, self.uses,
            self.names, known_places.get(self.regions, {}),
        )  # fmt: skip


_MAX_PLACES = 1024
#: The user's lines of mods that this process has traced.
known_places: dict[Regions, dict[str, list[tuple[str, int]]]] = {}


def to_text(
    asked: Arguments, extras: str = "", mods: str = "", backward: str | None = None,
    grads: str = "", block_size: tuple[int, int] | None = None,
) -> str:  # fmt: skip
    """A Program as text. Simple enough for Dynamo to follow: `extras` and `grads`
    are names with commas between, `mods` what mods_text gives."""
    left, right = asked.window if asked.window is not None else (None, None)
    out = str(asked.out_dtype)[6:] if asked.out_dtype is not None else "None"
    blocks = "None" if block_size is None else f"{block_size[0]},{block_size[1]}"
    return (
        f"causal={bool(asked.causal)} left={left} right={right} "
        f"softcap={float(asked.softcap)} out={out} lse={bool(asked.return_lse)} "
        f"layout={asked.layout} top_left={bool(asked.top_left)} interpret={asked.interpret} "
        f"backward={backward} grads={grads} extras={extras} blocks={blocks} "
        f"dropout={float(asked.dropout_p)} max_logits={bool(asked.max_logits)} mods={mods}"
    )


def mods_text(traced: Traced | None) -> str:
    """Traced mods without their tensors and numbers."""
    if traced is None:
        return ""
    if len(known_places) >= _MAX_PLACES:
        known_places.pop(next(iter(known_places)), None)
    known_places[traced.regions] = traced.places
    regions = traced.regions
    return json.dumps({
        "score": regions.score, "mask": regions.mask, "epilogue": regions.epilogue,
        "aux": [[one.type, one.rank] for one in regions.aux],
        "scalars": regions.scalars, "uses": traced.uses, "names": traced.names,
    })  # fmt: skip


@functools.lru_cache(maxsize=1024)
def parse(text: str) -> Program:
    """The inverse of to_text."""
    head, _, mods = text.partition(" mods=")
    named = dict(one.split("=", 1) for one in head.split(" "))

    def end(text: str) -> int | None:
        return None if text == "None" else int(text)

    window = (end(named["left"]), end(named["right"]))
    interpret = named["interpret"]
    made = Program(
        named["causal"] == "True",
        None if window == (None, None) else window,
        float(named["softcap"]),
        None if named["out"] == "None" else named["out"],
        named["lse"] == "True",
        named["layout"],
        named["top_left"] == "True",
        {"True": True, "False": False}.get(interpret, interpret),
        named["backward"],
        tuple(one for one in named["grads"].split(",") if one),
        tuple(one for one in named["extras"].split(",") if one),
    )
    if named["dropout"] != "0.0":
        made = dataclasses.replace(made, dropout=float(named["dropout"]))
    if named["max_logits"] == "True":
        made = dataclasses.replace(made, max_logits=True)
    if named["blocks"] != "None":
        queries, keys = map(int, named["blocks"].split(","))
        made = dataclasses.replace(made, block_size=(queries, keys))
    if not mods:
        return made
    read = json.loads(mods)
    return dataclasses.replace(
        made,
        regions=Regions(
            read["score"], read["mask"],
            tuple(Auxiliary(type, rank) for type, rank in read["aux"]),
            tuple(read["scalars"]), read["epilogue"],
        ),
        uses=tuple(tuple(one) for one in read["uses"]),
        names=tuple(read["names"]),
    )  # fmt: skip
