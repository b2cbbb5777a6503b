# SPDX-License-Identifier: Apache-2.0
"""Cells: problems that are measured, with their modules."""

from __future__ import annotations

import dataclasses

from fa3_device import features
from fa3_device.features import Mask


@dataclasses.dataclass(frozen=True)
class Cell:
    """One problem: `length` keys and as many queries, or `queries`."""

    type: str
    d: int
    dv: int
    mask_name: str
    mask: Mask
    length: int
    batch: int
    heads: int
    key_heads: int
    queries: int | None = None
    q_terms: int = 1  # numbers whose sum is an element of q, with 8-bit floats
    lse: bool = True  # is a result, with 16-bit operands
    model: str = ""  # that has such a layer
    gradient: bool = False  # those of q, k and v, given o and lse

    @property
    def rows(self) -> int:
        return self.queries or self.length

    @property
    def dims(self) -> str:
        return f"d{self.d}" if self.d == self.dv else f"d{self.d}x{self.dv}"

    @property
    def family(self) -> str:
        """Head dims, mask and queries if they are others than the keys: what
        shares a table, and a process unless it is a model's."""
        if self.model:
            return self.model
        queries = f" q{self.queries}" if self.queries else ""
        terms = f" terms {self.q_terms}" if self.q_terms != 1 else ""
        lse = "" if self.lse else " no lse"
        gradient = " gradient" if self.gradient else ""
        return f"{self.dims} {self.mask_name}{queries}{terms}{lse}{gradient}"

    @property
    def process(self) -> str:
        """What shares a process."""
        return "models" if self.model else self.family

    @property
    def name(self) -> str:
        heads = f"h{self.heads}"
        if self.key_heads != self.heads:
            heads += f"x{self.key_heads}"
        queries = f"-q{self.queries}" if self.queries else ""
        terms = f"-terms{self.q_terms}" if self.q_terms != 1 else ""
        lse = "" if self.lse else "-nolse"
        lse += "-gradient" if self.gradient else ""
        return (
            f"{self.type}-{self.dims}-{self.mask_name}-"
            f"b{self.batch}-{heads}{queries}{terms}{lse}-s{self.length}"
        )

    @property
    def is_8_bit(self) -> bool:
        """8-bit operands with one scale each; o has 16 bits."""
        return self.type in features.EIGHT_BITS

    @property
    def has_lse(self) -> bool:
        """8-bit operands are for inference, which has no use for it."""
        return self.lse and not self.is_8_bit

    @property
    def is_plain(self) -> bool:
        """Full or causal: what every peer computes."""
        return self.mask in (Mask(), Mask(causal=True))

    @property
    def flops(self) -> int:
        """Operations of both products, of the five of gradients; a causal mask
        counts half of the scores, a window those that it shows."""
        per_score = 2 * (self.d + self.dv)
        if self.gradient:
            per_score = 2 * (3 * self.d + 2 * self.dv)
        scores = self.rows * self.length
        if self.queries and not self.is_plain:
            raise ValueError(f"{self.name}: visible scores are not counted")
        if self.mask.window:
            scores = visible_scores(self.mask, self.length)
        elif self.mask.causal:
            # The last query sees all keys, the first one rows - 1 fewer.
            scores -= self.rows * self.rows // 2
        return self.batch * self.heads * scores * per_score

    def module(
        self, dynamic: bool = False, transposed: bool = False,
        knows_heads: bool = False,
    ) -> str:
        """The text that fa3-translate compiles, in bhsd order. Choices of tiles
        and grids follow static extents; with `dynamic` only types and head dims
        are known, and with `knows_heads` numbers of heads. `transposed`: v as
        (batch, head, element, key)."""
        scaling = "tensor" if self.is_8_bit else None
        if dynamic:
            feature = features.Feature(
                self.type, self.d, self.dv, "full", scaling=scaling,
                lse=self.has_lse, q_terms=self.q_terms,
                heads=(self.heads, self.key_heads) if knows_heads else None,
            )  # fmt: skip
            types = features.dynamic_types(feature)
        else:
            types = self._static_types(transposed)
        rows = features.SCALINGS[scaling] if scaling else None
        if self.gradient:
            return features.gradient_text(self.mask, types)
        return features.module_text(
            self.mask, types, rows=rows, transposed=transposed,
            q_terms=self.q_terms,
        )  # fmt: skip

    def _static_types(self, transposed: bool) -> dict[str, str]:
        b, h, hk, s = self.batch, self.heads, self.key_heads, self.length
        rows = self.rows

        def tensor(*extents, type=self.type):
            return f"tensor<{'x'.join(map(str, extents))}x{type}>"

        wide = "f16" if self.is_8_bit else self.type
        scales = {f"{name}_scale": "tensor<1x1x1xf32>" for name in "qkv"}
        lse = {"lse": tensor(b, h, rows, type="f32")} if self.has_lse else {}
        return scales | lse | {
            "q": tensor(b, h, rows, self.q_terms * self.d),
            "k": tensor(b, hk, s, self.d),
            "v": tensor(
                b, hk, *((self.dv, s) if transposed else (s, self.dv)),
                type=features.value_type(self.type),
            ),  # fmt: skip
            "o": tensor(b, h, rows, self.dv, type=wide),
            "alibi": tensor(h, type="f32"),
            "bias": tensor(b, h, rows, s, type=wide),
        }


def visible_range(mask: Mask, length: int, row: int) -> tuple[int, int]:
    """First key that a row sees and the end of its keys."""
    first, end = 0, length
    left, right = mask.window or (None, None)
    if left is not None:
        first = max(row - left, 0)
    if right is not None:
        end = min(row + right + 1, length)
    if mask.causal:
        end = min(end, row + 1)
    return first, end


def visible_scores(mask: Mask, length: int) -> int:
    total = 0
    for row in range(length):
        first, end = visible_range(mask, length, row)
        total += end - first
    return total


def touched_scores(
    mask: Mask, length: int, block_m: int, block_n: int
) -> int:
    """Scores in the tiles that one head computes: what is visible, rounded out
    to whole tiles of block_m rows and block_n keys."""
    total = 0
    for top in range(0, length, block_m):
        bottom = min(top + block_m, length) - 1
        first, _ = visible_range(mask, length, top)
        _, end = visible_range(mask, length, bottom)
        tiles = -(-end // block_n) - first // block_n
        total += tiles * block_m * block_n
    return total
