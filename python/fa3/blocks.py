# SPDX-License-Identifier: Apache-2.0
"""Block masks: lists of the blocks of keys that each block of queries looks at, as
FlexAttention's BlockMask has them. A kernel reads the lists and loads no other
blocks (docs/ScoreCode.md). Where there is no kernel with lists (gradients, blocks of
other sizes) they become a table that the mask reads."""

from __future__ import annotations

import dataclasses
import sys
import weakref
from typing import Any, Callable

from . import tensors
from .errors import ArgumentError, ArgumentTypeError

#: Names of the lists, in the order of operators.
NAMES = ("block_count", "block_index", "full_count", "full_index")
_MAX_BLOCK = 1 << 20


@dataclasses.dataclass
class BlockMask:
    """A block mask for any kind of tensors, with the names of torch's BlockMask.

    kv_num_blocks (batch or 1, heads or 1, blocks of queries) says of how many blocks
    of keys mask_mod is asked, kv_indices (.., entries) which; of the blocks in the
    full_ lists all keys are visible and mask_mod is not asked. Keys of other blocks
    are not visible. All are int32. No block is in both lists. Of the block that the
    end of the keys cuts, mask_mod keeps all keys that there are, if it is in the full
    list; and that list ascends. BLOCK_SIZE are queries and keys of a block."""

    kv_num_blocks: Any
    kv_indices: Any
    full_kv_num_blocks: Any = None
    full_kv_indices: Any = None
    BLOCK_SIZE: int | tuple[int, int] = 128
    mask_mod: Callable[..., Any] | None = None


@dataclasses.dataclass(frozen=True)
class Lists:
    """The lists of a block mask, checked for a call: two or four tensors as NAMES has
    them, and the size of a block. `fits`: kernels can read them."""

    tensors: tuple[Any, ...]
    size: tuple[int, int]
    fits: bool
    keys: int

    @property
    def named(self) -> dict[str, Any]:
        return {**dict(zip(NAMES, self.tensors)), "block_size": self.size}


def read(
    mask: Any, batch: int, heads: int, queries: int, keys: int, masked: bool = False
) -> tuple[Lists, Callable[..., Any] | None]:
    """The lists and the mask_mod of a block mask, torch's or ours, for a call with
    these extents; `masked`: causal or a window cuts them further."""
    if not hasattr(mask, "kv_num_blocks"):
        what = "a function" if callable(mask) else tensors.type_name(mask)
        raise ArgumentError(
            "block_mask", f"is {what}, expected a BlockMask (create_block_mask)"
        )
    given = (mask.kv_num_blocks, mask.kv_indices)
    if (mask.full_kv_num_blocks is None) != (mask.full_kv_indices is None):
        raise ArgumentError("block_mask", "full_kv_num_blocks and full_kv_indices go together")
    if mask.full_kv_num_blocks is not None:
        given = (*given, mask.full_kv_num_blocks, mask.full_kv_indices)
    size = mask.BLOCK_SIZE
    size = (size, size) if isinstance(size, int) else tuple(size)
    _check(given, size, batch, heads)
    rows = given[0].shape[2]
    lengths = getattr(mask, "seq_lengths", None)
    if lengths is None:
        lengths = (rows * size[0], max(keys, 0))
    if queries > min(lengths[0], rows * size[0]) or keys > lengths[1]:
        # A block mask may be longer than the sequences, as torch's may.
        raise ArgumentError(
            "block_mask", f"is for lengths {tuple(lengths)}, the call has "
            f"{(queries, keys)}",
        )  # fmt: skip
    # Kernels take the numbers of blocks in the full list as they are.
    covered = -(-lengths[1] // size[1]) == -(-keys // size[1]) or len(given) == 2
    fits = covered and size[0] % 64 == 0 and size[1] % 16 == 0
    # Of full blocks a kernel asks no mask at all.
    fits = fits and not (masked and len(given) == 4)
    mod = getattr(mask, "mask_mod", None)
    if _is_noop(mod):
        mod = None
    if fits and len(given) == 4 and keys % size[1]:
        given = (*given[:3], _ascending(given[2], given[3]))
    return Lists(given, size, fits, keys), mod


def _is_noop(mod: Any) -> bool:
    """Whether a mask_mod is the one that torch puts where there is none."""
    flex = sys.modules.get("torch.nn.attention.flex_attention")
    return flex is not None and mod is not None and mod is getattr(flex, "noop_mask", None)


def _check(given: Any, size: Any, batch: int, heads: int) -> None:
    if len(size) != 2 or not all(
        isinstance(one, int) and 1 <= one <= _MAX_BLOCK for one in size
    ):
        raise ArgumentError("block_mask", f"BLOCK_SIZE {size}, expected two from 1 to 2^20")
    names = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
    first = tuple(given[0].shape)
    for name, one in zip(names, given):
        shape, rank = tuple(one.shape), 4 if name.endswith("indices") else 3
        if str(one.dtype).split(".")[-1] != "int32":
            raise ArgumentTypeError("block_mask", f"{name} is {one.dtype}, expected int32")
        if len(shape) != rank or shape[:3] != first:
            raise ArgumentError(
                "block_mask", f"{name} has shape {shape}, expected "
                + ("(batch, heads, blocks of queries)" if name == names[0] else
                   f"{first}" if rank == 3 else f"{first} and entries"),
            )  # fmt: skip
    for what, extent, limit in (("batch", first[0], batch), ("heads", first[1], heads)):
        if extent not in (1, limit):
            raise ArgumentError(
                "block_mask", f"kv_num_blocks has extent {extent} of {what}, expected "
                f"{limit} or 1",
            )  # fmt: skip


# -----------------------------------------------------------------------------
# Lists that ascend, and tables
# -----------------------------------------------------------------------------

_sorted: Any = None


def _ascending(count: Any, index: Any) -> Any:
    """The entries of a list in order: kernels want the last block of keys, if some of
    it are not there, at the end. Lists of torch's create_block_mask are so already."""
    if not tensors.is_torch(index):
        return index
    torch = sys.modules["torch"]
    # A tensor of torch.inference_mode() does not say whether it was written since.
    remembers = not (
        torch.compiler.is_compiling() or count.is_inference() or index.is_inference()
    )
    if remembers:
        known = _known().get(index)
        if known is not None and known[0]() is count and known[1] == (
            count._version, index._version
        ):  # fmt: skip
            return known[2]
    entry = torch.arange(index.shape[3], device=index.device)
    most = torch.iinfo(torch.int32).max
    made = torch.where(entry < count[..., None], index, most).sort(dim=3).values
    if remembers:
        _known()[index] = (
            weakref.ref(count), (count._version, index._version), made
        )  # fmt: skip
    return made


def _known() -> Any:
    global _sorted
    if _sorted is None:
        from torch.utils.weak import WeakIdKeyDictionary

        _sorted = WeakIdKeyDictionary()
    return _sorted


def as_mask(lists: Lists, mod: Callable[..., Any] | None) -> Callable[..., Any]:
    """A mask_mod that says what the lists say, of torch tensors: it reads a table of
    blocks."""
    rows, width = lists.tensors[0].shape[2], -(-lists.keys // lists.size[1])
    queries, keys = lists.size
    ones = tuple(extent == 1 for extent in lists.tensors[0].shape[:2])
    partial = _table(*lists.tensors[:2], rows, width)
    full = _table(*lists.tensors[2:], rows, width) if len(lists.tensors) == 4 else None

    def at(table: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
        return table[0 if ones[0] else b, 0 if ones[1] else h, q // queries, kv // keys]

    def without_full(b: Any, h: Any, q: Any, kv: Any) -> Any:
        seen = at(partial, b, h, q, kv)
        return seen if mod is None else seen & mod(b, h, q, kv)

    def mask_mod(b: Any, h: Any, q: Any, kv: Any) -> Any:
        return without_full(b, h, q, kv) | at(full, b, h, q, kv)

    return without_full if full is None else mask_mod


def _table(count: Any, index: Any, rows: int, width: int) -> Any:
    """Whether a block of keys is in the list of a block of queries."""
    torch = sys.modules["torch"]
    entry = torch.arange(index.shape[3], device=index.device)
    is_one = (entry < count[..., None]) & (index >= 0) & (index < width)
    made = torch.zeros(
        (*index.shape[:2], rows, width + 1), dtype=torch.bool, device=index.device
    )
    # A column more takes what is no entry.
    made.scatter_(3, torch.where(is_one, index, width).long(), True)
    return made[..., :width].contiguous()
