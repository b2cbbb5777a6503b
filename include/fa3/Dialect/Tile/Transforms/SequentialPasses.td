//===- SequentialPasses.td - passes on sequential kernels --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TILE_SEQUENTIAL_PASSES
#define FA3_TILE_SEQUENTIAL_PASSES

include "mlir/Pass/PassBase.td"
include "fa3/Options/Effects.td"
include "fa3/Options/Options.td"

def ShrinkBounds : Pass<"tile-shrink-bounds"> {
  let summary = "loops guarded by a predicate -> loops over its possible range";
  let description = [{
    Input: sequential tile kernels. Where the body of an `scf.for` of step 1 does
    nothing unless `tile.any_possible` of a mask holds, and the mask is false for
    all elements on an end of the range, that end is cut off. The range comes
    from the corners of the box of coordinates (see PredicateRange.h), so it is
    found for any affine mask: causal, windows, prefixes, padding, and their
    conjunctions and disjunctions. The guard stays: true for the tile of a CTA
    does not mean true for the rows of one warp group.

    Before and after, for `j0 + c <= i0 + r` with 128 rows and 64 columns:
    ```mlir
    scf.for %t = %c0 to %n step %c1 { scf.if %live { ... } }
    scf.for %t = %c0 to min(%n, (%i0 + 127) floordiv 64 + 1) step %c1 { scf.if %live { ... } }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"shrunk", "loops-shrunk", "loops whose bounds changed">];
}

def StrengthReduce : Pass<"tile-strength-reduce">, Reorders {
  let summary = "element code on coordinates and constant factors -> less of it";
  let description = [{
    Five rewrites of element code, each exact or allowed by the flags of the
    operations that are rewritten.

    *Coordinates as numbers.* The conversion of an index tile of rank 2 to f32,
    affine in row and column, becomes the sum of a converted tile of rows and of
    the converted column number within the tile:
    `sitofp(j0 + j - i) = sitofp(j0 - i) + sitofp(j)`. In registers that is one
    conversion per row and one addition of an immediate per element, where it was
    one addition and one conversion per element, at a quarter of the rate. The sum
    is exact if all numbers are below 2^24, which is proved from static extents and
    bounds of loops; otherwise the pass does it only where every use, through
    signs and absolute values, is a float operation with the flag `reassoc`.

    *Signs.* |x| becomes x or -x where the sign of the number x, affine in row and
    column, follows from a mask: every use of |x| ends in an `arith.select` whose
    condition implies the sign. With causal masks |j - i| is i - j.

    *Factors.* (x * a) * b with a and b the same for the whole tile becomes
    x * (a * b) if both multiplications have the flag `reassoc`.

    *Terms of rows.* In x + broadcast(r), r a number per row, the sum is moved
    along its uses, through sums, products with factors of rows and masks by -inf,
    where each of them has the flag `reassoc` or is exact, and taken out where all
    of them end in a maximum of the row, max(x) + r, or in a fused product whose
    addend is a number per row, fma(x, c, broadcast(fma(r, c, s))). The term then
    costs an operation per row instead of one per element, and what is left of
    slope * (j - i) is the same for all rows, one product per column.

    [Notes](PassNotes.md#tile-strength-reduce) say more.

    Example, under `%keep` = `j <= i`:
    ```mlir
    %d = arith.sitofp %jmi : tensor<64x32xi32> to tensor<64x32xf32>
    %far = math.absf %d : tensor<64x32xf32>
    %s1 = arith.select %keep, (%s - %far * %slope), %low
    // becomes
    %d = arith.addf %rows, %columns : tensor<64x32xf32>   // broadcast from rank 1
    %far = arith.negf %d : tensor<64x32xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numNumbers", "numbers", "conversions of coordinates divided">,
    Statistic<"numComparisons", "comparisons",
              "comparisons of minima, maxima and absolute values">,
    Statistic<"numSigns", "signs", "absolute values whose sign is known">,
    Statistic<"numFactors", "factors", "multiplications joined">,
    Statistic<"numRowTerms", "row-terms", "terms of rows taken out">
  ];
}

def ListTiles : Pass<"tile-list-tiles", "::mlir::ModuleOp"> {
  let summary = "grids whose work lies in memory -> grids in the order of a list";
  let description = [{
    Input: kernels with a `tile.grid`, before `tile-map-grid`. Does nothing unless
    `order=list`, or `auto` for gradients over lists of blocks that all heads share.

    Where bounds of loops of a tile depend on indices of the grid by way of
    memory (lengths, starts, counts of sequences), the host cannot tell long tiles
    from short ones, and neither can a formula. Kernels in front of this one then
    can: they make a list of the values of those indices, in order of the steps
    that their loops take, least first, as `tile-map-grid` expects it of work that
    grows with the first index. The grid gets the list's entries as its first
    index, in place of those.

    What else every tile would find out by a chain of dependent loads (which of
    many sequences its rows belong to) is in the entry, too: scalars that are
    computed from listed indices, arguments and memory alone, by at least two
    loads that wait for each other, of which the rest of the tile sees nothing but
    the result.

    Three kernels, one after the other, named like theirs:
    `_steps` counts the steps of a tile, `_ranks` the tiles that come before it in
    the order, which breaks ties by number, and `_list` writes entries to their
    places. Memory between them is the host's (`memref.alloc`). Ranks are counted
    one by one, so that a launch has at most 65536 entries; the host requires it.

    [Notes](PassNotes.md#tile-list-tiles) say more.

    Example:
    ```mlir
    tile.grid (%s, %h) in (%sequences, %heads) {
      %n = tile.scalar_load %lengths[%s]
      scf.for %t = %c0 to %n step %c1 { ... }
    }
    // becomes, behind kernels that write %list
    tile.grid (%e, %h) in (%sequences, %heads) {
      %i = tile.scalar_load %list[%e, %c0]
      %s = arith.index_cast %i : i32 to index
      %n = tile.scalar_load %lengths[%s]
      ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::tensor::TensorDialect",
                           "::mlir::cf::ControlFlowDialect"];
  let options = [Option_Order];
  let statistics = [
    Statistic<"numLists", "lists", "kernels whose tiles are in a list">,
    Statistic<"numScalars", "listed-scalars", "scalars that entries have">
  ];
}

def MapGrid : Pass<"tile-map-grid", "::mlir::ModuleOp"> {
  let summary = "tile.grid -> block indices and the number of blocks at the launch";
  let description = [{
    Input: kernels with a `tile.grid` whose bounds are computed from kernel
    arguments, or read from memory (`tile.scalar_load`). Output: the body,
    preceded by the decoding of a linear tile number; `tile.launch` gets its
    `blocks`.

    `mode=cta`: one CTA per tile. `mode=static`: one CTA per SM, each in a
    loop over every n-th tile. `mode=dynamic`: one CTA per SM, each in a
    loop over tiles that it claims when it is ready for them (`tile.share`); the
    group that loads tiles does so, and a kernel without one gets one CTA per
    tile (a remark, if no kernel has one).
    `mode=auto`: a loop over tiles if registers are left for its state; dynamic
    if the work differs between tiles, static if not, unless loops are known to
    be so long that starting a CTA per tile costs nothing. Static as well where
    registers are left for the loop, but none for a claimed number: three groups
    of consumers whose steps are in lists in memory.

    A bound that is read from memory, such as the number of entries of a list of
    work, is known when the kernel runs: there is one CTA per SM, and each reads
    the bound and goes through its tiles, or claims them. Nothing is then cut or
    shared by what the host would compute; a negative bound is one of no tiles.
    `mode=cta` is refused.

    Fails on a grid bound that is no index arithmetic on kernel arguments and
    elements of arrays that the kernel only reads, and on a second grid.

    [Notes](PassNotes.md#tile-map-grid) say more.

    Example, `mode=cta order=rows`:
    ```mlir
    tile.grid (%m, %h) in (%tiles, %heads) { ... }
    // becomes
    %id = gpu.block_id x
    %m = arith.remui %id, %tiles : index
    %h = arith.divui %id, %tiles : index
    ...
    // and in front of the launch, from the extents of its operands
    %blocks = arith.muli %tiles, %heads : index
    tile.launch @kernels::@k blocks %blocks args(...)
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect"];
  let options = [
    Option_Mode, Option_Order, Option_L2Bytes, Option_SectionRounds,
    Option<"heights", Option_Heights.argument, Option_Heights.type,
           "::fa3::options::Heights::Even", Option_Heights.description>,
    Option_SMs, Option_Loads
  ];
  let statistics = [
    Statistic<"numPersistent", "persistent-kernels", "kernels with a loop over tiles">,
    Statistic<"numPartitioned", "partitioned-kernels", "kernels with tiles of different heights">
  ];
}

def RelabelContractions : Pass<"tile-relabel-contractions">, Reorders {
  let summary = "products of computed tiles -> sums in an order that needs no shuffles";
  let description = [{
    Input: sequential kernels. The left operand of a product that is computed
    from the result of another one is in registers, in the layout of an
    accumulator. Where the tensor core wants its left operand in another layout,
    the order in which the product sums is changed: both operands are relabeled
    along K by the permutation of coordinate bits under which the first layout
    becomes the second without an element leaving its thread. It is computed
    from the two layouts: the identity for 16-bit elements, [0, 3, 1, 2] for 8
    bits (FlashAttention-3, arXiv 2407.08608, section 3.3).

    Where K runs along the columns of the right operand, whose neighbors no
    copy separates, its order stays. The left operand is then computed in the
    inverse order from the start: the rows of the loaded operand of the product
    that it depends on are relabeled, element code on the way is repeated for
    it, masks and whatever else varies with the column are relabeled. Maxima
    and sums along the columns do not see it. If something else does, the
    columns of the right operand are relabeled after all.

    Fails where no such permutation exists.

    Example, 8-bit elements:
    ```mlir
    %o = tile.dot %p, %v, %acc lhs mk rhs kn : ...
    // becomes
    %p1 = tile.relabel %p dim 1 bits [0, 3, 1, 2] : ...
    %v1 = tile.relabel %v dim 0 bits [0, 3, 1, 2] : ...
    %o = tile.dot %p1, %v1, %acc lhs mk rhs kn : ...
    ```
    The left one is relabeled in front of its conversion to the narrow type.
  }];
  let statistics = [
    Statistic<"relabeled", "relabeled", "products whose order of summation changed">
  ];
}

def TransposeOperands : Pass<"tile-transpose-operands"> {
  let summary = "operands that wgmma cannot read -> transposed operands";
  let description = [{
    Input: sequential kernels. Tensor cores read 16-bit operands in shared memory
    along rows or columns, 8-bit ones along K only. An 8-bit operand whose K runs
    along its columns' neighbors is transposed first.

    Example:
    ```mlir
    %o = tile.dot %p, %v, %acc lhs mk rhs kn : tensor<64x96xf8E4M3FN>, tensor<96x128xf8E4M3FN> -> ...
    // becomes
    %t = tile.transpose %v : tensor<96x128xf8E4M3FN> -> tensor<128x96xf8E4M3FN>
    %o = tile.dot %p, %t, %acc lhs mk rhs nk : ...
    ```
  }];
  let statistics = [
    Statistic<"transposed", "transposed", "operands transposed">
  ];
}

def ScaleOperands : Pass<"tile-scale-operands">, RoundsOperands {
  let summary = "products under tanh -> products of an operand that is scaled";
  let description = [{
    Input: sequential kernels. c tanh(k s), of a product s and of small arguments,
    is s (a c k + b c k^3 s^2) for the polynomial of `hopper-shorten-functions`: a
    multiplication and two fused ones with the sum around it. If s is f times
    larger, with f^3 = -b c k^3, and k f times smaller, that is
    s (a c k - s^2): two fused multiplications.

    So where a loaded tile of f16 or bf16 is the left operand of products under
    such a tanh and nothing else, and a loop that leaves it alone is around a
    product, the tile is multiplied by f, a sum of two numbers of its type and of
    one sign, with one rounding. The factor k needs the flag `reassoc`, as does the product with
    c.

    Rounding the operand once more changes scores by about as much as it was
    rounded itself, if it was: for q and k of N(0, 1) with a standard deviation of
    2e-4 in f16 and 2e-3 in bf16, more where operands are large. The result hardly shows that, beside the
    rounding of weights to the same type, logarithms of sums do (by up to 2e-3 in
    f16 and 1e-2 in bf16). Elements of f16 below 6.1e-5 / f keep an absolute error of 3e-8 / f
    only; for a head dim of 128 and a cap of 30 f is 0.0071. It is not done where
    f is below 1/512 or above 1.

    [Notes](PassNotes.md#tile-scale-operands) say more.

    Example:
    ```mlir
    %q = tile.load %Q[...] : ... -> tensor<64x128xf16>
    scf.for ... {
      %s = tile.dot %q, %k, %zero lhs mk rhs nk : ...
      %t = math.tanh (%s * 0.00295) : tensor<64x64xf32>
      %e = math.fma %t, 43.3, %negated : tensor<64x64xf32>
    // becomes
    %rest = arith.mulf %q, 3.6e-6 : tensor<64x128xf16>
    %f = math.fma %q, 0.007095, %rest : tensor<64x128xf16>
    scf.for ... {
      %s = tile.dot %f, %k, %zero lhs mk rhs nk : ...
      %t = math.tanh (%s * 0.415) : tensor<64x64xf32>
      %e = math.fma %t, 43.3, %negated : tensor<64x64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let options = [Option_ScaleOperands];
  let statistics = [
    Statistic<"scaled", "scaled", "loaded tiles that are scaled">
  ];
}

def SumByProducts : Pass<"tile-sum-by-products">, Reorders {
  let summary = "sums of what a product multiplies -> products with a constant";
  let description = [{
    Input: sequential kernels. Partial sums along the columns of a tile
    (`tile.reduce add .. modulo 8`) that is also the left operand of a product
    take an addition per element. The tensor core can add them up, as a product
    of that operand, which is in registers already, with a constant of 8 columns.
    Each column gets all of the sum divided by 8, which is exact: the constant is
    1/8. So all that is done with the partial sums has to be linear, and they
    have to be summed in the end.

    The sum is then that of the operand as the product takes it, converted to its
    type: sums and product see the same rounding, and a quotient of the two loses
    nothing. A sum that is told to others, say by its logarithm, is off by at most
    the type's unit roundoff. Every sum starts from zero: the tensor core keeps
    about 14 bits of long sums of 8-bit operands.

    | `sums` | |
    |---|---|
    | `auto` | by products where that is faster and the sum only divides: 8-bit operands of products with up to 64 columns, no loaded tiles in element code |
    | `rounded` | by products wherever that is possible |
    | `exact` | by additions of what has not been rounded |

    Example:
    ```mlir
    %s = tile.reduce add %p dim 1 modulo 8 : tensor<64x96xf32> -> tensor<64x8xf32>
    %h = arith.truncf %p : tensor<64x96xf32> to tensor<64x96xf8E4M3FN>
    %o = tile.dot %h, %v, %acc lhs mk rhs nk : ...
    // becomes
    %h = arith.truncf %p : tensor<64x96xf32> to tensor<64x96xf8E4M3FN>
    %c = arith.constant dense<1.250000e-01> : tensor<8x96xf8E4M3FN>
    %s = tile.dot %h, %c, %zero lhs mk rhs nk : ...
    ```
  }];
  let options = [Option_Sums];
  let statistics = [
    Statistic<"replaced", "replaced", "sums that became products">
  ];
}

def SplitSums : Pass<"tile-split-sums"> {
  let summary = "sums of more than 256 columns -> sums of columns one product has";
  let description = [{
    Input: sequential kernels. A product of the tensor core has at most 256
    columns. A sum of 64 rows and more columns, which a loop carries from product
    to product, becomes as many sums as it takes, of as equal numbers of whole
    units of 64 columns as can be. All that has these columns is divided with it:
    elementwise operations, `tile.where`, loops and branches, the right operand
    of the product and its load, stores. What has no such columns stays one:
    the left operand, vectors of rows, conditions. A product that sums up over
    them, of rows that are the right operand of another step, becomes a chain of
    products, each over the columns of a piece.

    Beside such sums a product of one step over more than 256 columns of two loads
    becomes a chain of products over 128 or 192: each piece is awaited and given
    back by itself.

    Fails where something cannot be divided so: a reduction along the columns, a
    product that has them as rows of its left operand.

    Example:
    ```mlir
    %y = scf.for ... iter_args(%acc = %zero) -> (tensor<64x512xf32>) {
      %b = tile.load %B[%k, %c0] : ... -> tensor<64x512xf16>
      %r = tile.dot %a, %b, %acc lhs mk rhs kn : ...
      scf.yield %r : tensor<64x512xf32>
    }
    // becomes
    %y:2 = scf.for ... iter_args(%p = %zero, %q = %zero) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
      %b = tile.load %B[%k, %c0] : ... -> tensor<64x256xf16>
      %d = tile.load %B[%k, %c256] : ... -> tensor<64x256xf16>
      %r = tile.dot %a, %b, %p lhs mk rhs kn : ...
      %s = tile.dot %a, %d, %q lhs mk rhs kn : ...
      scf.yield %r, %s : tensor<64x256xf32>, tensor<64x256xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numSplit", "split", "sums that were divided">];
}

#endif // FA3_TILE_SEQUENTIAL_PASSES
