//===- TileOps.td - operations of the tile dialect ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TILE_OPS
#define FA3_TILE_OPS

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "fa3/Dialect/Warp/IR/WarpTypes.td"
include "fa3/Dialect/Tile/IR/TileTypes.td"

/// A tile: a statically shaped tensor of rank 1 or 2 without smem encoding.
def Tile_Tile : Type<CPred<"::fa3::tile::isTile($_self)">,
    "tile (statically shaped tensor of rank 1 or 2)", "::mlir::RankedTensorType">;
def Tile_TileOrView : AnyTypeOf<[Tile_Tile, Tile_ViewType]>;
def Tile_TileOrPending : AnyTypeOf<[Tile_Tile, Tile_PendingType]>;

/// The tensor core queue: asynchronous products are issued in program order.
def Tile_TensorCore : Resource<"::fa3::tile::TensorCoreResource">;
/// Memory of slots, reached through views.
def Tile_SlotMemory : Resource<"::fa3::tile::SlotMemoryResource">;

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Launch and grid
//===----------------------------------------------------------------------===//

def Tile_LaunchOp : Tile_Op<"launch", [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel over its grid";
  let description = [{
    Host side of the launch contract. The operands are the kernel's arguments;
    `blocks` is the number of CTAs once `tile-map-grid` has decided it. `cost`
    gives floating-point operations and the least bytes of global memory moved,
    for reports.

    Example:
    ```mlir
    tile.launch @fwd_kernels::@fwd args(%q, %o : memref<?x64xf16>, memref<?x64xf16>)
    ```

    C1. the symbol names a `gpu.func` kernel.
    C2. operands and kernel arguments agree in number and type.
    C3. `cost` has both values or none.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Optional<Index>:$blocks,
                       Variadic<AnyType>:$kernelArgs, Variadic<Index>:$cost);
  let assemblyFormat = [{
    $kernel (`blocks` $blocks^)? `args` `(` ($kernelArgs^ `:` type($kernelArgs))? `)`
    (`cost` `(` $cost^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Tile_SmCountOp : Tile_Op<"sm_count", [Pure]> {
  let summary = "number of SMs that run CTAs side by side";
  let description = [{ For host functions: the size of a persistent grid. }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Tile_ShareOp : Tile_Op<"share", [Pure]> {
  let summary = "how many of the launch's tiles this CTA performs";
  let description = [{
    CTAs share out the tiles 0, 1, ... `tiles` - 1 as they get ready
    (`tile.claim`). The outcome is not known before the launch, but a function
    of the CTA while it runs: all its warps agree. It is the upper bound of a
    loop, whose lowering claims tile after tile until there is none.

    Example: `%n = tile.share %tiles`
  }];
  let arguments = (ins Index:$tiles);
  let results = (outs Index:$result);
  let assemblyFormat = "$tiles attr-dict";
}

def Tile_ClaimOp : Tile_Op<"claim", [Pure]> {
  let summary = "the tile that this CTA performs as its i-th";
  let description = [{
    Every tile is claimed once by one CTA. `number` is less than the CTA's share.

    Example: `%t = tile.claim %i of %tiles`
  }];
  let arguments = (ins Index:$number, Index:$tiles);
  let results = (outs Index:$result);
  let assemblyFormat = "$number `of` $tiles attr-dict";
}

def Tile_GridOp : Tile_Op<"grid", [
    SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "independent tiles of work of a kernel";
  let description = [{
    Root of a sequential kernel: the body runs once for every point of the box
    of the upper bounds, in no particular order, each on one CTA. The first
    index is the one that may run fastest.

    Example:
    ```mlir
    tile.grid (%m, %h) in (%tiles, %heads) { ... }
    ```

    C1. the body has one index argument per bound, at least one.
    C2. the body yields nothing.
  }];
  let arguments = (ins Variadic<Index>:$upperBounds);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$upperBounds)>];
}

def Tile_YieldOp : Tile_Op<"yield", [
    Terminator, Pure, ReturnLike, ParentOneOf<["GridOp", "LoadAsyncOp", "LoadOp", "WhereOp"]>]> {
  let summary = "end of a tile region";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

def Tile_LoadOp : Tile_Op<"load", [
    MemoryEffects<[]>, AlwaysSpeculatable, AttrSizedOperandSegments]> {
  let summary = "reads a tile of a global array";
  let description = [{
    The tile covers the last dimensions of the memref, starting at the given
    indices; leading dimensions are selected. Elements outside the array read
    as zero. The array must not be written by the launch that loads it, so the
    operation has no effects and may be moved freely.

    With `fold` n the first dimension of the tile runs over two of the memref, n
    elements of the inner one for each of the outer one: element r is at r div n
    of the outer and r mod n of the inner dimension, from the indices on.
    Elements beyond either end are outside.

    With `pieces` n the tile is n blocks of as many rows, one below the other, that
    lie anywhere: the region takes the number of a block and yields its indices.
    A block may lie outside of the array.

    With `limit` n the rows of the tile from number n on read as zero, whatever
    lies there: another sequence, say, or what nobody has written. n may be any
    number.

    Example:
    ```mlir
    %k = tile.load %K[%b, %h, %j, %c0] : memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>> -> tensor<80x128xf16>
    %q = tile.load %Q[%b, %h, %i, %c0, %c0] fold 4 : memref<?x8x?x4x128xf16, strided<[?, ?, ?, ?, 1]>> -> tensor<64x128xf16>
    %p = tile.load %K pieces 2 (%n) {
      %i = arith.addi %first, %n : index
      %number = tile.scalar_load %pages[%i] : memref<?xi32>
      %page = arith.index_cast %number : i32 to index
      tile.yield %page, %c0, %c0 : index, index, index
    } : memref<?x16x128xf16> -> tensor<32x128xf16>
    %v = tile.load %V[%h, %j, %c0] limit %left : memref<8x?x128xf16> -> tensor<80x128xf16>
    ```

    C1. one index per dimension of the memref; the region yields them instead if
        there are `pieces`.
    C2. the rank of the tile is at most that of the memref; with `fold` less.
    C3. element types agree.
    C4. `fold` is a power of two that divides the first extent of the tile.
    C5. `pieces` is positive and divides the first extent of the tile, which has
        rank 2; there is no `fold` beside it.
    C6. the region has an index as argument and holds scalar code without effects
        or regions.
    C7. a tile with a `limit` has rank 2 and no `fold`.
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$indices,
                       Optional<Index>:$limit,
                       OptionalAttr<I64Attr>:$fold, OptionalAttr<I64Attr>:$pieces);
  let results = (outs Tile_Tile:$result);
  let regions = (region VariadicRegion<AnyRegion>:$places);
  let assemblyFormat = [{
    $source (`[` $indices^ `]`)? (`fold` $fold^)? (`limit` $limit^)?
    (`pieces` $pieces^ custom<Places>($places))? attr-dict
    `:` type($source) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$source,
                                 "::mlir::ValueRange":$indices,
                                 CArg<"::mlir::IntegerAttr", "{}">:$fold), [{
    build($_builder, $_state, result, source, indices, ::mlir::Value(), fold,
          ::mlir::IntegerAttr(), 0);
  }]>];
  let extraClassDeclaration = [{
    /// What the place of the tile is computed from: its indices, or what code of
    /// places captures. A limit does not move it.
    ::llvm::SmallVector<::mlir::Value> getPlaceOperands();
  }];
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather",
    !listconcat(ElementwiseMappable.traits, [Pure])> {
  let summary = "reads elements of a global array, each at its own index";
  let description = [{
    Element e of the result is that of the array at the indices of e: an index is
    a number, or a tile of them in the shape of the result. Elements outside the
    array read as zero. The array must not be written by the launch that reads
    it. Each thread reads its elements one by one: where rows of the result are
    consecutive, `tile.load` is faster by far.

    Example:
    ```mlir
    %d = arith.subi %i, %j : tensor<64x80xindex>
    %b = tile.gather %table[%h, %d : index, tensor<64x80xindex>] : memref<?x?xf32> -> tensor<64x80xf32>
    ```

    C1. one index per dimension of the memref; at least one is a tile.
    C2. element types agree.
  }];
  let arguments = (ins AnyMemRef:$source,
                       Variadic<AnyTypeOf<[Index, Tile_Tile]>>:$indices);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $source `[` $indices `:` type($indices) `]` attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ScalarLoadOp : Tile_Op<"scalar_load", [Pure,
    TypesMatchWith<"result type is the element type", "source", "result",
                   "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "reads one element of a global array that the launch never writes";
  let description = [{
    Pure by that contract, so every group of warps may repeat it; control flow
    that depends on it stays the same in all groups. The element must lie inside
    the array.

    Example: `%n = tile.scalar_load %lengths[%b] : memref<?xi32>`

    C1. one index per dimension of the memref.
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$indices);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source `[` $indices `]` attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Tile_SearchOp : Tile_Op<"search", [Pure]> {
  let summary = "how many numbers of a rising array lie below a falling line";
  let description = [{
    Of the elements i = `first`, ... `end` - 1 of the array, those count for which
    source[i] < limit - step * i. Where source[i] + step * i rises with i they are
    the first ones, and the next one of them is found. The array is one that the
    launch never writes, so the result is pure, as that of `tile.scalar_load` is.
    Warps read 32 elements at a time: two reads in a row, one if there are 32.

    Let n = end - first and s = ceil(n / 32). Among the elements first + j * s those
    below the line are counted first, say c; behind the last of c such elements
    the s - 1 next ones. What has no order has a result from 0 to n that way, too,
    and all groups of warps have the same one.

    Example: the last sequence that starts in front of a row, but for the first.
    ```mlir
    %s = tile.search %starts from %c1 to %n below %row step %c0 most 4096 : memref<?xi32>
    ```

    C1. the array has one dimension of i32.
    C2. `most`, which n does not exceed, is from 1 to 32768.
  }];
  let arguments = (ins MemRefRankOf<[I32], [1]>:$source, Index:$first, Index:$end,
                       Index:$limit, Index:$step,
                       ConfinedAttr<I64Attr, [IntMinValue<1>,
                                              IntMaxValue<32768>]>:$most);
  let results = (outs Index:$result);
  let assemblyFormat = [{
    $source `from` $first `to` $end `below` $limit `step` $step `most` $most
    attr-dict `:` type($source)
  }];
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>,
    AttrSizedOperandSegments]> {
  let summary = "writes a tile into a global array";
  let description = [{
    As `tile.load`, also with `fold`; elements outside the array are not
    written. With `below`, neither are those whose index along the tile's first
    dimension (with `fold` the outer one of two) is not below it: the next tile
    has them, or another sequence. The end may be any number.

    With `add` the elements are added to the array's, each addition as a whole:
    CTAs may add to the same elements, in any order. What a sum of floats is
    rounded to depends on it; one of integers is modulo 2^32, and so the same in
    every order. The launch reads nothing of the array.

    Example:
    ```mlir
    tile.store %o, %O[%b, %h, %i, %c0] : tensor<64x128xf16>, memref<?x?x?x128xf16>
    tile.store %o, %O[%b, %h, %i, %c0] below %end : tensor<64x128xf16>, memref<?x?x?x128xf16>
    tile.store %x, %S[%b, %h, %i, %c0] add : tensor<64x128xf32>, memref<?x?x?x128xf32>
    ```

    C1. one index per dimension of the memref.
    C2. the rank of the tile is at most that of the memref; with `fold` less.
    C3. element types agree.
    C4. `fold` is a power of two that divides the first extent of the tile.
    C5. with `add` the elements are f32 or i32.
  }];
  let arguments = (ins Tile_Tile:$value, AnyMemRef:$target, Variadic<Index>:$indices,
                       Optional<Index>:$below, UnitAttr:$add, OptionalAttr<I64Attr>:$fold);
  let assemblyFormat = [{
    $value `,` $target `[` $indices `]` (`below` $below^)? (`add` $add^)? (`fold` $fold^)? attr-dict
    `:` type($value) `,` type($target)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$target,
                                 "::mlir::ValueRange":$indices,
                                 CArg<"::mlir::Value", "::mlir::Value()">:$below), [{
    build($_builder, $_state, value, target, indices, below, ::mlir::UnitAttr(),
          ::mlir::IntegerAttr());
  }]>];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

def Tile_DotOp : Tile_Op<"dot", [Pure,
    AllTypesMatch<["acc", "result"]>]> {
  let summary = "matrix product added to an accumulator";
  let description = [{
    result = lhs x rhs + acc, summed in the element type of the accumulator.
    `lhs` and `rhs` say in which order the operands hold their dimensions. An
    operand in shared memory is given as a view.

    Example:
    ```mlir
    %s = tile.dot %q, %k, %zero lhs mk rhs nk : tensor<64x128xf16>, tensor<80x128xf16> -> tensor<64x80xf32>
    ```

    C1. all three have rank 2.
    C2. lhs and rhs agree in K.
    C3. acc has the rows of lhs and the columns of rhs.
    C4. lhs and rhs have the same element type.
    C5. acc has floats where the operands have floats, and integers of more bits
        where they have integers; sums of these are exact, modulo a power of two.
  }];
  let arguments = (ins Tile_TileOrView:$lhs, Tile_TileOrView:$rhs, Tile_Tile:$acc,
                       Tile_LhsOrder:$lhsOrder, Tile_RhsOrder:$rhsOrder);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $acc `lhs` $lhsOrder `rhs` $rhsOrder attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "combines the elements of a tile along a dimension";
  let description = [{
    `add` sums, `max` is the IEEE-754-2008 maxNum (a NaN loses). With `init` the
    result starts from it. With `modulo` k the dimension shrinks to k instead of
    vanishing: element j is combined into j mod k, so that the partial results
    stay where the elements are.

    Example:
    ```mlir
    %m = tile.reduce max %s init %m0 dim 1 : tensor<64x80xf32>, tensor<64xf32> -> tensor<64xf32>
    %l = tile.reduce add %p dim 1 modulo 8 : tensor<64x80xf32> -> tensor<64x8xf32>
    ```

    C1. dim is less than the rank of the operand.
    C2. the result has the operand's shape without dim; with `modulo`, with dim
        replaced by it, and `modulo` divides the extent.
    C3. init has the type of the result.
    C4. the element type is a float and stays.
  }];
  let arguments = (ins Tile_ReduceKind:$kind, Tile_Tile:$source,
                       Optional<Tile_Tile>:$init, I64Attr:$dim,
                       OptionalAttr<I64Attr>:$modulo);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $kind $source (`init` $init^)? `dim` $dim (`modulo` $modulo^)? attr-dict
    `:` type($source) (`,` type($init)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "repeats a tile of rank 1 along a new dimension";
  let description = [{
    Example: `%b = tile.broadcast %m dim 1 : tensor<64xf32> -> tensor<64x80xf32>`
    repeats along the columns.

    C1. the operand has rank 1 and the result rank 2.
    C2. the result without dimension dim has the operand's shape.
    C3. element types agree.
  }];
  let arguments = (ins Tile_Tile:$source, I64Attr:$dim);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source `dim` $dim attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_CoordOp : Tile_Op<"coord", [Pure]> {
  let summary = "coordinates of the elements of a tile";
  let description = [{
    Element x of the result is `offset` plus the coordinate of x along `dim`.
    Masks and score code are written with it, so that they follow every change
    of layout or split by construction. The offset is at least 0, so that
    coordinates are: a division of them may be unsigned, and the interpreter
    stops at another one.

    Example: `%j = tile.coord dim 1 offset %j0 : tensor<64x80xindex>`

    C1. dim is less than the rank of the result.
    C2. the element type is index.
    C3. a constant offset is at least 0.
  }];
  let arguments = (ins I64Attr:$dim, Index:$offset);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "`dim` $dim `offset` $offset attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_WhereOp : Tile_Op<"where", [
    RangedTypesMatchWith<"results have the types of what they are otherwise",
                         "results", "otherwise", "$_self">,
    NoRegionArguments, SingleBlock, RecursivelySpeculatable,
    RecursiveMemoryEffects]> {
  let summary = "elements from a region where a condition holds, else as given";
  let description = [{
    result = cond ? region : otherwise, element by element; the condition is
    broadcast along the dimensions it lacks at the end. A lowering may skip the
    region at any granularity at which the condition is uniformly false. Several
    tiles of different shapes may depend on one condition.

    Example:
    ```mlir
    %o1 = tile.where %grow else %o : tensor<64xi1>, tensor<64x128xf32> {
      %x = arith.mulf %o, %c : tensor<64x128xf32>
      tile.yield %x : tensor<64x128xf32>
    }
    ```

    C1. the condition has elements of i1 and a shape that is a prefix of the
        shape of every result.
    C2. the region yields a value for each result, of its type.
    C3. the region holds elementwise operations, broadcasts and constants only.
  }];
  let arguments = (ins Tile_Tile:$condition, Variadic<Tile_Tile>:$otherwise);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $condition `else` $otherwise attr-dict `:` type($condition) `,` type($results) $body
  }];
  let extraClassDeclaration = [{
    YieldOp getYield();
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Tile_AnyPossibleOp : Tile_Op<"any_possible", [Pure]> {
  let summary = "whether some element of a mask may be true";
  let description = [{
    A guard around work that is the identity when no element holds: true if any
    element is true; may be true although none is. An analysis may therefore
    resolve it to true at any time, and to false only where it has a proof.

    Example: `%live = tile.any_possible %keep : tensor<192x80xi1>`

    C1. the operand's element type is i1.
  }];
  let arguments = (ins Tile_Tile:$mask);
  let results = (outs I1:$result);
  let assemblyFormat = "$mask attr-dict `:` type($mask)";
  let hasVerifier = 1;
}

def Tile_RelabelOp : Tile_Op<"relabel", [Pure]> {
  let summary = "permutes a tile along a dimension by the bits of the coordinate";
  let description = [{
    The element at coordinate x goes to coordinate y, where bit i of y is bit
    bits[i] of x and higher bits agree. A sum over the dimension does not see
    it, so both operands of a product may be relabeled along K alike. With
    layouts it only renames registers.

    Example: `%p1 = tile.relabel %p dim 1 bits [0, 3, 1, 2] : tensor<64x96xf8E4M3FN> -> tensor<64x96xf8E4M3FN>`

    C1. dim is less than the rank of the operand.
    C2. bits is a permutation of 0 to its size - 1.
    C3. 2 to the number of bits divides the extent along dim.
    C4. operand and result agree in shape and element type.
  }];
  let arguments = (ins Tile_Tile:$source, I64Attr:$dim, DenseI64ArrayAttr:$bits);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $source `dim` $dim `bits` $bits attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_TransposeOp : Tile_Op<"transpose", [Pure]> {
  let summary = "exchanges rows and columns";
  let description = [{
    Example: `%t = tile.transpose %v : tensor<96x128xf8E4M3FN> -> tensor<128x96xf8E4M3FN>`

    C1. the operand has rank 2, the result its shape transposed and its element
        type.
  }];
  let arguments = (ins Tile_Tile:$source);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_UnpackOp : Tile_Op<"unpack", [Pure]> {
  let summary = "numbers of 4 bits, of which a byte holds two, as floats";
  let description = [{
    With n columns of bytes, element (i, c) of the result is the integer from -8
    to 7 in bits 0 to 3 of byte (i, c), and element (i, n + c) that in bits 4 to
    7. An operand of products that is unpacked on its way is unpacked by the
    convert role, from one ring to another (tile-insert-rings).

    Example: `%k = tile.unpack %bytes : tensor<64x64xi8> -> tensor<64x128xbf16>`

    C1. the operand has rank 2 and i8.
    C2. the result has twice the columns of the operand, and f16 or bf16.
  }];
  let arguments = (ins Tile_Tile:$source);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

include "fa3/Dialect/Tile/IR/TileAsyncOps.td"
include "fa3/Dialect/Tile/IR/TileExactOps.td"
include "fa3/Dialect/Tile/IR/TileOrderedOps.td"
include "fa3/Dialect/Tile/IR/TileFlagOps.td"

#endif // FA3_TILE_OPS
