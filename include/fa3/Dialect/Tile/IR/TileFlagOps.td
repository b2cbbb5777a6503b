//===- TileFlagOps.td - tiles that another kernel waits for -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TILE_FLAG_OPS
#define FA3_TILE_FLAG_OPS

include "fa3/Dialect/Tile/IR/TileOps.td"

def Tile_ClearFlagOp : Tile_Op<"clear_flag", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "what a tile of this kernel stores is not there yet";
  let description = [{
    Kernels follow each other: one stores, the next one reads. Where the second
    waits for tiles of the first, one by one, it need not wait for all of them. A
    flag is an element of an array in global memory, one for each tile of the
    first kernel, which is 1 when all that the tile has stored is in memory.
    Whatever it was before, a tile clears its flag at its start, and sets it at
    its end.

    The next kernel starts when all tiles of this one have cleared theirs. So each
    tile has a CTA of its own (tile-map-grid), and tile-specialize puts this
    operation in front of the groups, where all threads pass.

    Example: `tile.clear_flag %flags[%part, %m] : memref<?x?xi32>`

    C1. one index per dimension of the memref.
    C2. the memref has elements of i32.
  }];
  let arguments = (ins AnyMemRef:$flags, Variadic<Index>:$indices);
  let assemblyFormat = "$flags `[` $indices `]` attr-dict `:` type($flags)";
  let hasVerifier = 1;
}

def Tile_SetFlagOp : Tile_Op<"set_flag", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "what a tile of this kernel stores is in memory";
  let description = [{
    Sets the flag that the tile has cleared (`tile.clear_flag`), behind all that
    its groups store: tile-specialize puts it behind the groups, where they meet.

    Example: `tile.set_flag %flags[%part, %m] : memref<?x?xi32>`

    C1. one index per dimension of the memref.
    C2. the memref has elements of i32.
  }];
  let arguments = (ins AnyMemRef:$flags, Variadic<Index>:$indices);
  let assemblyFormat = "$flags `[` $indices `]` attr-dict `:` type($flags)";
  let hasVerifier = 1;
}

def Tile_AwaitFlagsOp : Tile_Op<"await_flags", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for tiles of the kernel in front of this one";
  let description = [{
    Waits until all flags of the first dimension are set, at the indices of the
    others. What is behind it may read what those tiles have stored, and nothing
    else that the kernel in front of this one writes. A kernel that waits this
    way may run beside the one whose tiles it waits for
    (hopper-overlap-launches), whose CTAs have all started: so the wait ends.

    Example: `tile.await_flags %flags[%m] : memref<?x?xi32>`

    C1. one index per dimension of the memref but the first.
    C2. the memref has elements of i32.
  }];
  let arguments = (ins AnyMemRef:$flags, Variadic<Index>:$indices);
  let assemblyFormat = "$flags `[` $indices `]` attr-dict `:` type($flags)";
  let hasVerifier = 1;
}

#endif // FA3_TILE_FLAG_OPS
