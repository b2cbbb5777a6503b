# SPDX-License-Identifier: Apache-2.0
"""Cells of serving: sequences with lengths of their own, packed, padded or in
pages, few queries on long caches, new keys."""

from __future__ import annotations

import dataclasses

from fa3.kernels.serving_spec import Append, ServingBackwardSpec, ServingSpec
from fa3.kernels.spec import Spec
from fa3_device.features import EIGHT_BITS, Mask

from .cells import Cell

# What parts of the keys are to fill, and heads of a group that are rows.
_SMS, _FEW_QUERIES, _ROWS = 132, 16, 64
PLAIN, UNKNOWN, DENSE = "fa3", "unknown heads", "dense"


@dataclasses.dataclass(frozen=True)
class ServingCell:
    """Sequences of so many `queries` that see so many `keys`, the last `new` of
    which are appended and turned first. Keys are in pages of `page` rows, or 0;
    queries are `packed`, one sequence behind the other, and so are keys that are
    in no pages. `parts`: numbers of parts of the keys, the first is about that of
    the plain kernel, whose launch chooses it. `value_dim`: values are so many of the
    columns of keys, in one memory, and queries have a part for them (qv); 0: they are
    as wide, and apart."""

    form: str
    label: str
    queries: tuple[int, ...]
    keys: tuple[int, ...]
    heads: int = 32
    key_heads: int = 8
    d: int = 128
    type: str = "bf16"
    causal: bool = False
    packed: bool = False
    page: int = 0
    new: int = 0
    parts: tuple[int, ...] = (1,)
    value_dim: int = 0

    has_lse = False
    is_plain = False  # what peers of dense cells compute

    @property
    def dv(self) -> int:
        return self.value_dim or self.d

    @property
    def dims(self) -> str:
        return f"d{self.d}" if self.d == self.dv else f"d{self.d}x{self.dv}"

    @property
    def mask_name(self) -> str:
        return "causal" if self.causal else "full"

    @property
    def batch(self) -> int:
        return len(self.keys)

    @property
    def length(self) -> int:
        return max(self.keys)

    @property
    def family(self) -> str:
        return self.label

    @property
    def process(self) -> str:
        return self.form

    @property
    def name(self) -> str:
        words = "".join(c if c.isalnum() else "-" for c in self.label)
        return f"{self.form}-{words}"

    @property
    def flops(self) -> int:
        """Operations of both products for every visible score."""
        scores = sum(
            q * k - (q * q // 2 if self.causal else 0)
            for q, k in zip(self.queries, self.keys)
        )
        return 2 * (self.d + self.dv) * self.heads * scores

    @property
    def bytes(self) -> int:
        """Of the memory of keys and values, where queries are few: 0 elsewhere."""
        if max(self.queries) > _FEW_QUERIES:
            return 0
        size = 1 if self.is_8_bit else 2
        rows = self.d if self.value_dim else 2 * self.d
        return size * rows * self.key_heads * sum(self.keys)

    @property
    def is_8_bit(self) -> bool:
        return self.type in EIGHT_BITS

    @property
    def is_balanced(self) -> bool:
        """All sequences have one number of queries and keys."""
        alike = len({*self.queries, *self.keys}) == 1
        return self.packed and not self.page and alike

    @property
    def arrays(self) -> tuple[str, ...]:
        """What says where sequences are and how long."""
        names = ("cu_q",) if self.packed else ()
        if self.page:
            return (*names, "used_k", "page_table")
        return (*names, "cu_k" if self.packed else "used_k")

    def variants(self) -> dict[str, str]:
        """Kernels of fa3, which all have the options of the command line: with
        other numbers of parts; compiled without the numbers of heads, as the
        Python package does for many queries; and for attention of a batch of
        equal lengths."""
        names = [PLAIN, *(f"{count} parts" for count in self.parts[1:])]
        if self.packed:
            names.append(UNKNOWN)
        if self.is_balanced and not self.is_8_bit:
            names.append(DENSE)
        packs = max(self.queries) <= _FEW_QUERIES and self.heads > self.key_heads
        # Kernels of parts are for few queries as they are.
        return {
            name: "pack-gqa=true"
            if packs and name != UNKNOWN and self.parts_of(name) == 1 else ""
            for name in names
        }

    def parts_of(self, variant: str) -> int:
        count, _, word = variant.partition(" ")
        return int(count) if word == "parts" else self.parts[0]

    def dense_cell(self) -> Cell:
        return Cell(
            self.type, self.d, self.d, self.mask_name, Mask(causal=self.causal),
            self.length, self.batch, self.heads, self.key_heads, lse=False,
        )  # fmt: skip

    def module(self, variant: str = PLAIN) -> str:
        if variant == DENSE:
            return self.dense_cell().module(dynamic=True, knows_heads=True)
        spec = Spec(
            *[self.type] * 3, "bf16" if self.is_8_bit else self.type,
            self.d - self.value_dim, self.dv, causal=self.causal, lse=False,
        )  # fmt: skip
        append = Append(pairs=self.d // 2, table="f32") if self.new else None
        heads = None if variant == UNKNOWN else (self.heads, self.key_heads)
        return ServingSpec(
            spec, self.arrays, self.page, splits=self.parts_of(variant) > 1,
            heads=heads, append=append,
            scale_heads=(self.key_heads,) * 3 if heads and self.is_8_bit else None,
            qv=bool(self.value_dim),
        ).to_mlir()  # fmt: skip


@dataclasses.dataclass(frozen=True)
class PackedGradientCell(ServingCell):
    """Gradients of q, k and v of packed sequences, given o and lse."""

    @property
    def flops(self) -> int:
        """Operations of five products for every visible score."""
        return super().flops * 5 // 2

    def variants(self) -> dict[str, str]:
        """The form that is chosen, and each form; where all sequences have one
        length, the kernels for a batch of them, too."""
        forms = {
            PLAIN: "", "split": "backward-form=split", "fused": "backward-form=fused",
        }  # fmt: skip
        return forms | ({DENSE: ""} if self.is_balanced else {})

    def dense_cell(self) -> Cell:
        return dataclasses.replace(super().dense_cell(), gradient=True, lse=True)

    def module(self, variant: str = PLAIN) -> str:
        if variant == DENSE:
            return self.dense_cell().module(dynamic=True, knows_heads=True)
        spec = Spec(*[self.type] * 4, self.d, self.d, causal=self.causal, lse=True)
        heads = self.heads, self.key_heads
        forward = ServingSpec(spec, self.arrays, heads=heads)
        return ServingBackwardSpec(forward).to_mlir()


def filling_parts(batch: int, queries: int, key_heads: int, group: int,
                  keys: int) -> int:  # fmt: skip
    """Parts of the keys that fill the GPU with tiles, nearly as launches choose them
    (lib/Conversion/AttentionToTile/Plan/SplitCount.cpp)."""
    tiles = batch * key_heads * -(-queries * group // _ROWS)
    for waves in (1, 2, 4):
        count = waves * _SMS // tiles
        if count * tiles * 8 >= waves * _SMS * 7:
            break
    return max(1, min(count, max(min(keys // 256, 16), keys // 9600 * 16)))


# -----------------------------------------------------------------------------
# Presets
# -----------------------------------------------------------------------------


def _few(form: str, batch: int, keys: int, queries: int = 1, *, key_heads: int = 8,
         page: int = 0, new: int = 0, causal: bool = False,
         type: str = "bf16") -> ServingCell:  # fmt: skip
    words = [f"{batch} x {keys} keys"]
    words += [f"{queries} queries"] if queries > 1 else []
    words += ["32/32 heads"] if key_heads == 32 else []
    words += [f"pages of {page}"] if page else []
    words += [type] if type != "bf16" else []
    count = filling_parts(batch, queries, key_heads, 32 // key_heads, keys)
    # Twice as many and half, to see whether that is the best.
    others = [n for n in (count * 2, count // 2) if n >= 1]
    return ServingCell(
        form, ", ".join(words), (queries,) * batch, (keys,) * batch,
        key_heads=key_heads, type=type, page=page, new=new, causal=causal,
        parts=(count, *others),
    )  # fmt: skip


def decode_cells() -> list[ServingCell]:
    """Few queries on long caches of one length."""
    sizes = [
        (8, 32768), (1, 131072), (32, 4096), (1, 2048), (1, 8192), (1, 2048, 4),
        (1, 8192, 8), (1, 8192, 16),
    ]  # fmt: skip
    return [
        *(_few("decode", *size) for size in sizes),
        _few("decode", 8, 32768, key_heads=32),
    ]


def paged_cells() -> list[ServingCell]:
    """One query on keys in pages, and in none; the same in 8 bits."""
    pages = (0, 16, 64, 128, 256)
    return [
        *(_few("paged", 8, 32768, page=page) for page in pages),
        *(_few("paged", 8, 32768, page=page, type="f8E4M3FN") for page in pages),
    ]


def mla_cells() -> list[ServingCell]:
    """One query of multi-head latent attention in its absorbed form, on pages of 64:
    one key of 576 columns for all heads, whose first 512 are the value."""
    cells = []
    for heads in (16, 64, 128):
        for keys in (4096, 8192, 16384):
            count = filling_parts(64, 1, 1, heads, keys)
            cells.append(ServingCell(
                "mla", f"64 x {keys} keys, {heads} heads", (1,) * 64, (keys,) * 64,
                heads=heads, key_heads=1, d=576, value_dim=512, page=64,
                parts=(count, *(n for n in (2 * count, count // 2) if n >= 1)),
            ))  # fmt: skip
    return cells


def append_cells() -> list[ServingCell]:
    """One step of a model: new keys and rotary embedding in front."""
    return [
        _few("append", 8, 32768, page=64, new=1),
        _few("append", 1, 2048, page=64, new=1),
        _few("append", 32, 4096, 4, page=64, new=4, causal=True),
    ]


def _mix() -> tuple[int, ...]:
    """24 sequences of 128 to 8192 tokens."""
    few = (8192, 8192, 7168, 6144, 5120, 4096, 4096, 3584, 3072, 2560, 2048, 2048)
    many = (1600, 1536, 1280, 1024, 832, 768, 640, 512, 384, 256, 200, 128)
    return few + many


def _label(keys: tuple[int, ...]) -> str:
    some = f"{keys[0]}" if min(keys) == max(keys) else f"{min(keys)} to {max(keys)}"
    return f"{len(keys)} of {some}"


def varlen_cells() -> list[ServingCell]:
    """Packed sequences, of different lengths and of one; some in 8 bits."""
    lengths = [_mix(), *((n,) * (65536 // n) for n in (4096, 2048, 1024))]
    cells = [
        ServingCell("varlen", _label(keys), keys, keys, causal=True, packed=True)
        for keys in lengths
    ]
    return cells + [
        dataclasses.replace(cell, label=f"{cell.label}, f8E4M3FN", type="f8E4M3FN")
        for cell in cells[:2]
    ]


def packed_gradient_cells() -> list[ServingCell]:
    """The layer of Llama-3 8B on packed sequences, of different lengths and of
    one, and that of Llama-3.2 1B, of half the head dim."""
    return [
        PackedGradientCell(
            "backward-varlen", f"{_label(keys)}, d {d}", keys, keys, d=d,
            causal=True, packed=True,
        )
        for keys, d in ((_mix(), 128), ((4096,) * 16, 128), (_mix(), 64))
    ]  # fmt: skip


def mixed_cells() -> list[ServingCell]:
    """A batch of one long prompt and 63 steps of decoding, and its two halves,
    whose times add up to what two launches take."""
    caches = tuple(512 + 128 * n for n in range(63))
    halves = {
        "1 prompt, 63 steps": ((8192, *[1] * 63), (8192, *caches)),
        "the prompt": ((8192,), (8192,)),
        "the steps": ((1,) * 63, caches),
    }
    return [
        ServingCell(
            "mixed", label, queries, keys, causal=True, packed=True, page=64
        )
        for label, (queries, keys) in halves.items()
    ]
