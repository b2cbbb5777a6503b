# SPDX-License-Identifier: Apache-2.0
"""The kernel_options of fa3.flex_attention: fa3's own, in small letters, and the names
that FlexAttention's Triton kernels have, which are hints. All others are refused."""

from __future__ import annotations

from typing import Any, Mapping

from ..errors import ArgumentError, ArgumentTypeError

#: Of FlexAttention (torch.nn.attention.flex_attention.FlexKernelOptions, and what its
#: lowering reads besides): how another kernel computes the same.
HINTS = frozenset((
    "BACKEND", "BLOCKS_ARE_CONTIGUOUS", "BLOCK_M", "BLOCK_M1", "BLOCK_M2", "BLOCK_N",
    "BLOCK_N1", "BLOCK_N2", "FLOAT32_PRECISION", "FORCE_USE_FLEX_ATTENTION",
    "OUTPUT_LOGSUMEXP", "PRESCALE_QK", "ROWS_GUARANTEED_SAFE", "SPLIT_KV", "USE_TMA",
    "WRITE_DQ", "kpack", "matrix_instr_nonkdim", "num_buffers_warp_spec",
    "num_consumer_groups", "num_ctas", "num_stages", "num_warps", "waves_per_eu",
))  # fmt: skip
_PARTS = ("fwd_", "bwd_")


def split(given: Mapping[str, Any] | None) -> tuple[str, tuple[tuple[str, Any], ...]]:
    """How blocks are found, "lists" or "mask", and the options of fa3's kernels, which
    the compiler checks."""
    if given is None:
        return "lists", ()
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(
            "kernel_options", f"{type(given).__name__}, expected a dictionary"
        )
    how = given.get("BLOCKS", "lists")
    if how not in ("lists", "mask"):
        raise ArgumentError("kernel_options", f"BLOCKS {how!r}, expected 'lists' or 'mask'")
    made = []
    for name, value in given.items():
        if name == "BLOCKS" or _is_hint(name):
            continue
        if name != name.lower() or name[:4] in _PARTS:
            raise ArgumentError("kernel_options", _unknown(name))
        made.append((name, value))
    return how, tuple(sorted(made))


def _is_hint(name: Any) -> bool:
    if not isinstance(name, str):
        raise ArgumentTypeError("kernel_options", f"key {name!r}, expected a string")
    return name in HINTS or (name[:4] in _PARTS and name[4:] in HINTS)


def _unknown(name: str) -> str:
    import difflib

    said = f"{name!r} is no option of fa3 (BLOCKS, and small letters) or FlexAttention"
    part = name[:4] if name[:4] in _PARTS else ""
    close = difflib.get_close_matches(name[len(part) :], (*HINTS, "BLOCKS"), 1)
    return said + (f"; did you mean {part + close[0]!r}?" if close else "")
