# SPDX-License-Identifier: Apache-2.0
"""What a trace of mods gives: the text of regions, and what they read."""

from __future__ import annotations

import dataclasses


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
    """Traced mods: the bodies of the regions ("" if there is none), over auxiliary
    tensors %aux0, .. and scalar arguments %arg0, .. of these types."""

    score: str = ""
    mask: str = ""
    aux: tuple[Auxiliary, ...] = ()
    scalars: tuple[str, ...] = ()
    epilogue: str = ""
