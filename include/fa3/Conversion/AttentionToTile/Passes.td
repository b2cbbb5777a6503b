//===- Passes.td - attention-to-tile -----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_CONVERSION_ATTENTIONTOTILE_PASSES
#define FA3_CONVERSION_ATTENTIONTOTILE_PASSES

include "mlir/Pass/PassBase.td"
include "fa3/Options/Options.td"

def AttentionToTile : Pass<"attention-to-tile", "::mlir::ModuleOp"> {
  let summary = "functions with attention -> host functions and tiled kernels";
  let description = [{
    Input: functions on tensors whose `attention.forward` or `attention.backward`
    have no `mods` left, take function arguments, or results of `attention.quantize`,
    `attention.rotary` or `attention.append` of arguments, and give function
    results; or these alone; or one `attention.merge` of arguments.

    Output: for each function a host function on memrefs (results become trailing
    arguments) that states the launch contract, and a `gpu.module` with one
    kernel per attention: a `tile.grid` over (query blocks, heads, batch), a loop
    over key blocks from the last to the first, and in it one step of online
    softmax (FlashAttention-2, arXiv 2307.08691, section 3.1), guarded by
    `tile.any_possible` of the mask_mod region. The score_mod and mask_mod regions become
    elementwise code on tiles, each value at the lowest rank that it needs.

    `rescale=lazy` moves the reference maximum of a row, and rescales its
    accumulator, only when the maximum has grown by more than
    2^`rescale-threshold`: weights are then at most 2^threshold, the result is
    the same up to rounding. `rescale=eager` does both whenever it grows.
    `rescale=never` does neither: all rows share a reference, for which weights
    are from 2^-100 to 2^64, and no maximum is computed. It fails where score
    code has no bounds that intervals find (as those of a soft cap), or not
    these, and with other weights than those of the exponents of f32 (bf16). The
    largest weight of a row is then rounded as all others are, instead of being
    1.

    Products of integers become f32 before anything is done with them. With
    8-bit operands weights are multiplied by a power of two that makes the
    largest 2^8 (f8E4M3FN, whose numbers end at 448) or 2^15 (f8E5M2, 57344):
    2^(8 - threshold) times weights of at most 2^threshold. The factor cancels
    between accumulator and row sum. Scales of q and k go into the factor of the
    exponents, per row, per tile or, for tokens of k, into the scores; those of
    v for whole heads into the last normalization, those of blocks of keys into
    the exponents, which bounds the weights whatever the scales. Blocks of more
    than one row must be multiples of the tile.

    With `last-block=narrow` keys that do not fill a block, of a known number,
    are done first, in a block of as many columns as products need for them
    (multiples of 32 with 8 bits, else 16). The loop then has whole blocks only.
    One narrow step is not pipelined with the others; what it saves is most of a
    step (up to 8 % at 2048 keys), where no mask by query does that.

    `attention.backward` becomes kernels in one of two forms (docs/Backward.md).
    Split: `_delta` for the statistics of queries, `_dkdv` (or `_dv` and `_dk`,
    where both do not fit into registers) with rows of keys and a loop over the
    heads of the group and blocks of queries, `_dq` with rows of queries and a
    loop over blocks of keys. Fused: `_delta`, `_grads`, which is `_dkdv` and adds
    what a step gives to dq to sums in memory, and `_dq`, which rounds these.
    `backward-form=auto` takes the fused form where head dims, mask and lengths
    make it the faster one, unless results have to be `deterministic` or sizes of
    tiles are given. Two warp groups have 64 rows each; `block-m` and `block-n`
    are rows and columns of the scores of a step in all kernels; with `stages` of
    two or more, steps are narrower. Other options do not concern them. Score code needs its derivative
    (attention-derive-gradient). Its `cost` counts 2 (3 d + 2 dv) operations for
    every visible pair.

    `attention.quantize` becomes kernels in front of the attention's: one that
    reads every row once if each has its own scale; three otherwise: `_maxima`
    leaves a partial maximum for every row of a tile, `_scales` combines those
    that share a scale, `_quantize` divides. A rotation is a product on the
    tensor cores inside the first and the last. Blocks of rows are multiples of
    64. What lies between kernels is memory that the host function allocates
    (`memref.alloc`), a workspace of the manifest.

    `attention.rotary` and `attention.append` become one kernel `_update` in front
    of the attention's, with a tile for 64 heads of every row of every tensor.
    What is appended is turned on the way. It loads and stores by threads, since
    the keys of a sequence may be anywhere.

    `attention.merge` becomes the kernel that merges the parts of a forward with
    `splits`: tiles of 64 rows and 32 columns, and a loop over parts. Where the
    number of heads is static, heads that are a power of two are rows of a tile.

    `attention.list_blocks` becomes three kernels in front of the attention's:
    `_pairs` counts the visible pairs of every two blocks, 64 blocks of keys a
    tile and a query a step, `_positions` counts how many blocks in front of each
    are in its list, and `_lists` finds the block of every entry. What lies
    between is memory of the call.

    Keys that lie one behind the other in parts only, as in pages, come in pieces
    (`tile.load` with `pieces`). Without `block-n` a block is whole pages, or a
    part of one, if that is at least half of the widest.

    `two-level-accumulation` starts the product of every step from zero and adds
    it to the output in fp32, one fused multiply-add an element, which also
    rescales. Products of 8-bit operands keep about 14 bits of their accumulator
    (FlashAttention-3, arXiv 2407.08608, leaves it at that), so over many steps
    they lose what one adds to the sum of all before; sums of 16-bit operands
    are of fp32 quality already. It costs dv / 2 registers per thread, and so
    smaller tiles. With `two-level-steps` n the products of n steps are added up
    by the tensor core first, and the sum in fp32 and the rescaling are done where
    they are due (`tile.where`), every n steps and as maxima grow; without the
    option 8 steps for dv up to 64 and no mask, else one. `auto` takes two levels
    for 8-bit operands whose number of keys is known to be 32768 or more (in a
    window, if there is one), where one level loses a fifth of a result of which
    one key is half (docs/Performance.md, "Long sequences"), unless dv is above
    128, for which there are no registers.

    `end-rows` states where the rows of a tile end: in the guard of an iteration,
    and at the stores. `tile-map-grid` may then cut the rows into tiles of
    different heights.

    `pack-gqa` makes the heads that share a key head rows of one tile, as
    FlashAttention's option of this name does: row r is of query r div n and
    head r mod n of the group, n the next power of two of its heads, up to 64
    (`tile.load` and `tile.store` with `fold`). A step then serves all of them.
    `auto` does so where the queries are known and so few that tiles of 64 rows
    are filled better by 10 %; and where keys are masked by query, the heads of a
    group are a power of two and dv is at most 128: a tile then has fewer queries,
    and fewer keys beside those that they see. Rows do not end early then (`end-rows`). Needs
    known numbers of heads, score code that reads no auxiliary operand by head
    or query, scales of q that the heads of a group share, and lists of blocks
    that are the same for all heads.

    Without `block-m` and `block-n` the tile follows from the head dims: the
    widest key block for which the estimated registers of a consumer and the
    shared memory suffice. Elements of auxiliary operands that vary with query and
    key count as shared memory if they will come in bulk, as registers if threads
    load them (`loads`).

    A constant between 2^-20 and 2^20 that multiplies the yielded score with the
    flag `reassoc` goes into the factor of the exponents instead, as the scale of
    a kernel without score code does: a maximum commutes with it. What is said of
    scores below is then said of scores divided by it.

    The launch's `cost` counts 2 (d + dv) operations for every visible pair of
    query and key. Masks that are bands, j <= i + e and j >= i + e with e affine
    in the lengths, and their conjunctions, count by area: half of a square for
    a causal mask, as published numbers do. Whatever else a mask_mod region asks for
    counts as if it held, so a prefix or a mask that is loaded counts in full.

    The running maximum starts from the finite value -2^100, so a score below
    that counts as masked. Where score code may yield more than 2^24, as
    intervals tell, it has the unit of scores, starts from the least float and is
    taken off before the product with log2(e): right for all finite scores. Where
    it may yield more than 2^14, `attention.backward` has the split form, whose
    kernel of dq comes first and sums up weights (docs/Backward.md). Index
    arithmetic of the regions has 32 bits in the
    kernel; a constant that does not fit is refused by `tile-to-hopper`, a sum
    that does not fit wraps around.

    Fails on operands that are not function arguments, on results that are not
    returned, and on a `memref.dim` of a dimension that is not there, of which the
    canonicalization that follows would die. Auxiliary operands read at indices
    that are neither uniform nor (query, key) in the last dimensions are read
    element by element (`tile.gather`), with a remark.

    Example, without masks, types and the end of the softmax:
    ```mlir
    tile.grid (%m, %h, %b) in (%tiles, %heads, %batch) {
      %q = tile.load %Q[%b, %h, %i0, %c0]
      %r:3 = scf.for %t = %c0 to %blocks step %c1 iter_args(%acc = %zero, %m = %lowest, %l = %none) {
        %k = tile.load %K[...]   %v = tile.load %V[...]
        %s = tile.dot %q, %k, %zero lhs mk rhs nk
        %n = tile.reduce max %s init %m dim 1
        ... %p = exp2(%s * c - %n * c)   %l1 = %l * a + sum of %p   %acc1 = %acc * a ...
        %o = tile.dot %p, %v, %acc1 lhs mk rhs kn
        scf.yield %o, %n, %l1
      }
    }
    ```
  }];
  let dependentDialects = [
    "::fa3::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::gpu::GPUDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
  let options = [
    Option_BlockM, Option_BlockN, Option_Rescale, Option_RescaleThreshold,
    Option_Loads, Option_TwoLevel, Option_TwoLevelSteps, Option_PackGqa,
    Option_LastBlock, Option_BackwardForm, Option_Deterministic, Option_Stages,
    Option<"endRows", "end-rows", "bool", "false",
           "state where the rows of a tile end">
  ];
  let statistics = [
    Statistic<"kernels", "kernels", "attention operations turned into kernels">,
    Statistic<"packed", "packed", "kernels whose rows are the heads of a group">,
    Statistic<"quantizeKernels", "quantize-kernels",
              "kernels of attention.quantize">,
    Statistic<"listKernels", "list-kernels",
              "kernels of attention.list_blocks">
  ];
}

#endif // FA3_CONVERSION_ATTENTIONTOTILE_PASSES
