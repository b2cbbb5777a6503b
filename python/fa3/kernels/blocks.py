# SPDX-License-Identifier: Apache-2.0
"""Block masks: lists of the blocks of keys that each block of queries looks at, as
FlexAttention's BlockMask has them. A kernel reads the lists and loads no other
blocks (docs/ScoreCode.md). Kernels of gradients read the same by blocks of keys, too.
Where there is no kernel with lists (blocks of other sizes) they become a table that
the mask reads."""

from __future__ import annotations

import dataclasses
import sys
import weakref
from typing import Any, Callable

from ..errors import ArgumentError, ArgumentTypeError
from ..support import tensors
from .arguments import Arguments
from .checks import extents

#: Names of the lists, in the order of operators.
NAMES = ("block_count", "block_index", "full_count", "full_index")
#: The same of the lists of blocks of queries for each block of keys.
NAMES_BY_KEY = tuple(name + "_q" for name in NAMES)
_MAX_BLOCK = 1 << 20


@dataclasses.dataclass
class BlockMask:
    """A block mask for any kind of tensors, with the names of torch's BlockMask.

    kv_num_blocks (batch or 1, heads or 1, blocks of queries) says of how many blocks
    of keys mask_mod is asked, kv_indices (.., entries) which; of the blocks in the
    full_ lists all keys are visible and mask_mod is not asked. Keys of other blocks
    are not visible. All are int32. No block is in both lists. Of the block that the
    end of the keys cuts, mask_mod keeps all keys that there are, if it is in the full
    list; and that list ascends. BLOCK_SIZE are queries and keys of a block. The lists
    with q_ in their names say the same by blocks of keys, for gradients; where they
    are not given they are made."""

    kv_num_blocks: Any
    kv_indices: Any
    full_kv_num_blocks: Any = None
    full_kv_indices: Any = None
    BLOCK_SIZE: int | tuple[int, int] = 128
    mask_mod: Callable[..., Any] | None = None
    q_num_blocks: Any = None
    q_indices: Any = None
    full_q_num_blocks: Any = None
    full_q_indices: Any = None


@dataclasses.dataclass(frozen=True)
class Lists:
    """The lists of a block mask, checked for a call: two or four tensors as NAMES has
    them, and the size of a block. `fits`: kernels can read them; `by_key`: as many
    as NAMES_BY_KEY has them, none where kernels of gradients are not to read them;
    `given_by_key` what the mask has of these."""

    tensors: tuple[Any, ...]
    size: tuple[int, int]
    fits: bool
    queries: int
    keys: int
    given_by_key: tuple[Any, ...] = ()
    by_key: tuple[Any, ...] = ()

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names of all tensors."""
        return (*NAMES[: len(self.tensors)], *NAMES_BY_KEY[: len(self.by_key)])


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
    by_key = [
        getattr(mask, name, None)
        for name in ("q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices")
    ]
    by_key = by_key[: len(given)]
    if any(one is None for one in by_key):
        by_key = []
    _check_by_key(by_key, given, size)
    return Lists(given, size, fits, queries, keys, tuple(by_key)), mod


def read_asked(q: Any, k: Any, asked: Arguments) -> Arguments:
    """With lists of blocks, and the mask_mod beside them, in place of a block_mask."""
    if asked.block_mask is None:
        return asked
    if asked.mask_mod is not None:
        raise ArgumentError("mask_mod", "is given beside block_mask, which has one")
    lists, mask_mod = read(
        asked.block_mask, *extents(q, k, asked.layout),
        asked.causal or asked.window is not None,
    )  # fmt: skip
    return asked.replace(block_mask=None, mask_mod=mask_mod, lists=lists)


def for_gradients(lists: Lists, others: bool = False) -> Lists | None:
    """The lists as forward and gradients read them; None where no kernel of gradients
    can: blocks of which tiles are not made, lists that are not of this length, or
    `others` than q, k and v have gradients that kernels give."""
    if others:
        return None
    queries, keys = lists.size
    # A full list may have no blocks behind the last one.
    rows = lists.tensors[0].shape[2]
    covered = rows == -(-lists.queries // queries) or len(lists.tensors) == 2
    if not (lists.fits and covered and keys % 64 == 0):
        return None
    by_key = lists.given_by_key
    columns = -(-lists.keys // keys)
    if not by_key:
        made = [
            _by_key(*lists.tensors[at : at + 2], columns)
            for at in range(0, len(lists.tensors), 2)
        ]
        by_key = tuple(one for pair in made for one in pair)
    elif len(by_key) == 4 and lists.queries % queries:
        by_key = (*by_key[:3], _ascending(by_key[2], by_key[3]))
    # Kernels take contiguous entries.
    by_key = tuple(one if one.stride(-1) == 1 else one.contiguous() for one in by_key)
    return dataclasses.replace(lists, by_key=by_key)


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


def _check_by_key(by_key: Any, given: Any, size: Any) -> None:
    if not by_key:
        return
    names = ("q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices")
    first = tuple(by_key[0].shape)
    for name, one in zip(names, by_key):
        shape, rank = tuple(one.shape), 4 if name.endswith("indices") else 3
        if str(one.dtype).split(".")[-1] != "int32":
            raise ArgumentTypeError("block_mask", f"{name} is {one.dtype}, expected int32")
        if len(shape) != rank or shape[:3] != first or shape[:2] != tuple(given[0].shape[:2]):
            raise ArgumentError(
                "block_mask", f"{name} has shape {shape}, expected "
                f"{tuple(given[0].shape[:2])} and blocks of keys"
                + ("" if rank == 3 else ", and entries"),
            )  # fmt: skip


# -----------------------------------------------------------------------------
# Lists that ascend, and tables
# -----------------------------------------------------------------------------

#: By what is made, then by the indices that it is made of.
_made: dict[Any, Any] = {}


def _ascending(count: Any, index: Any) -> Any:
    """The entries of a list in order: kernels want the last block of keys, if some of
    it are not there, at the end. Lists of torch's create_block_mask are so already."""
    if not tensors.is_torch(index):
        return index
    torch = sys.modules["torch"]

    def make() -> Any:
        entry = torch.arange(index.shape[3], device=index.device)
        most = torch.iinfo(torch.int32).max
        return torch.where(entry < count[..., None], index, most).sort(dim=3).values

    return _remember("ascending", count, index, make)


def _by_key(count: Any, index: Any, width: int) -> tuple[Any, Any]:
    """Of lists of blocks of keys the numbers and lists of blocks of queries, for so
    many blocks of keys."""
    torch = sys.modules["torch"]

    def make() -> tuple[Any, Any]:
        seen = _table(count, index, index.shape[2], width).transpose(2, 3)
        order = torch.argsort((~seen).to(torch.int8), dim=3, stable=True)
        return seen.sum(3, dtype=torch.int32), order.to(torch.int32).contiguous()

    return _remember(("by key", width), count, index, make)


def _remember(what: Any, count: Any, index: Any, make: Callable[[], Any]) -> Any:
    """What is made of a list, once."""
    torch = sys.modules["torch"]
    # A tensor of torch.inference_mode() does not say whether it was written since.
    if torch.compiler.is_compiling() or count.is_inference() or index.is_inference():
        return make()
    all_known = _known(what)
    known = all_known.get(index)
    versions = (count._version, index._version)
    if known is not None and known[0]() is count and known[1] == versions:
        return known[2]
    made = make()
    all_known[index] = (weakref.ref(count), versions, made)
    return made


def _known(what: Any = "ascending") -> Any:
    if what not in _made:
        from torch.utils.weak import WeakIdKeyDictionary

        _made[what] = WeakIdKeyDictionary()
    return _made[what]


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
