# SPDX-License-Identifier: Apache-2.0
"""Smaller tiles, where the registers of a thread do not suffice for the one that the
compiler has chosen."""

from __future__ import annotations

import dataclasses
from typing import Callable, TypeVar

from ..errors import CompileError
from .interface import CompileOptions

# Tiles of queries and keys to take, in this order, where registers run out.
_TILES = ("block-n=96", "block-m=128", "block-m=128 block-n=64", "block-m=64 block-n=64")
_Made = TypeVar("_Made")


def try_tiles(
    options: CompileOptions, function: Callable[[CompileOptions], _Made]
) -> tuple[_Made, str]:
    """function(options); where the registers of a thread do not suffice for the tile
    that the compiler has chosen, with a smaller one, which is the second result."""
    try:
        return function(options), ""
    except CompileError as error:
        if not _wants_smaller_tile(error) or "block-" in options.pipeline:
            raise
        first = error
    for tile in _TILES:
        pipeline = f"{options.pipeline} {tile}".strip()
        try:
            return function(dataclasses.replace(options, pipeline=pipeline)), tile
        except CompileError as error:
            if not _wants_smaller_tile(error):
                raise
    raise first


def _wants_smaller_tile(error: CompileError) -> bool:
    return any("registers per thread" in one.message for one in error.diagnostics)
