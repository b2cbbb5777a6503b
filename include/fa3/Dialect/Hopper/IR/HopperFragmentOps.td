//===- HopperFragmentOps.td - what threads hold of tiles ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_HOPPER_FRAGMENT_OPS
#define FA3_HOPPER_FRAGMENT_OPS

include "fa3/Dialect/Hopper/IR/HopperOps.td"

def Hopper_CoordOp : Hopper_Op<"coord", [Pure]> {
  let summary = "coordinates of the elements a thread holds";
  let description = [{
    `%j = hopper.coord dim 1 offset %j0 of #fragment : vector<40xi32>`

    C1. dim is less than the rank of the fragment's tile.
    C2. the result has one i32 per register.
  }];
  let arguments = (ins I64Attr:$dim, I32:$offset, Hopper_FragmentAttr:$fragment);
  let results = (outs Hopper_AnyVector:$result);
  let assemblyFormat = "`dim` $dim `offset` $offset `of` $fragment attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Hopper_FragmentReduceOp : Hopper_Op<"fragment.reduce", [Pure]> {
  let summary = "combines the elements along a dimension that one thread holds";
  let description = [{
    The thread's part of a reduction; `hopper.lane.reduce` completes it. With
    `modulo`, register elements that agree in the coordinate modulo that number
    are combined.

    C1. dim is less than the rank of the fragment's tile.
    C2. operand and result have the registers of the fragment and of its
        reduced tile, and one element type.
    C3. modulo divides the extent of the tile along dim.
  }];
  let arguments = (ins Hopper_Combine:$kind, Hopper_AnyVector:$source, I64Attr:$dim,
                       OptionalAttr<I64Attr>:$modulo, Hopper_FragmentAttr:$fragment);
  let results = (outs Hopper_AnyVector:$result);
  let assemblyFormat = [{
    $kind $source `dim` $dim (`modulo` $modulo^)? `of` $fragment attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hopper_LaneReduceOp : Hopper_Op<"lane.reduce", [SameOperandsAndResultType]> {
  let summary = "combines values across lanes by butterfly exchanges (shfl.bfly)";
  let description = [{
    For every lane bit given, each element is combined with that of the lane
    which differs in the bit.

    C1. lane bits are between 0 and 4.
  }];
  let arguments = (ins Hopper_Combine:$kind, Hopper_AnyVector:$source,
                       DenseI64ArrayAttr:$laneBits);
  let results = (outs Hopper_AnyVector:$result);
  let assemblyFormat = "$kind $source `over` $laneBits attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Hopper_VoteAnyOp : Hopper_Op<"vote.any"> {
  let summary = "whether some element of some lane of the warp is true (vote.any)";
  let description = [{
    The result is the same in all lanes of a warp, but may differ between warps:
    only `hopper.warp_if` and `hopper.warp_if_else` may use it.

    C1. the operand is a vector of i1.
  }];
  let arguments = (ins Hopper_AnyVector:$source);
  let results = (outs I1:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Hopper_WarpIfOp : Hopper_Op<"warp_if", [
    NoRegionArguments, SingleBlock, RecursiveMemoryEffects,
    RangedTypesMatchWith<"results have the types of what they are otherwise",
                         "results", "otherwise", "$_self">]> {
  let summary = "a branch that each warp takes or not";
  let description = [{
    The region may hold arithmetic of threads and of the lanes of a warp only:
    nothing that waits for, or is performed together with, other warps.

    C1. the region yields a value for each result, of its type.
    C2. the region holds no operation that has effects, `lane.reduce` aside.
  }];
  let arguments = (ins I1:$condition, Variadic<AnyType>:$otherwise);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$condition `else` $otherwise attr-dict `:` type($results) $body";
  let hasRegionVerifier = 1;
}

def Hopper_WarpIfElseOp : Hopper_Op<"warp_if_else", [
    NoRegionArguments, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "one of two ways for each warp";
  let description = [{
    What `hopper.warp_if` is, for warps that have something else to compute
    where the condition is false.

    C1. each region yields a value for each result, of its type.
    C2. neither region holds an operation that has effects, `lane.reduce` aside.
  }];
  let arguments = (ins I1:$condition);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$thenBody, SizedRegion<1>:$elseBody);
  let assemblyFormat = "$condition attr-dict `:` type($results) $thenBody `else` $elseBody";
  let hasRegionVerifier = 1;
}

def Hopper_YieldOp : Hopper_Op<"yield", [
    Terminator, Pure, ParentOneOf<["TmaLoadOp", "WarpIfOp", "WarpIfElseOp"]>]> {
  let summary = "results of a region";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def Hopper_FragmentLoadOp : Hopper_Op<"fragment.load", [AttrSizedOperandSegments]> {
  let summary = "reads a tile from global memory, each thread its elements";
  let description = [{
    Element (x0, x1) of the tile is at `pointer` plus the sum of (index +
    coordinate) * stride; the tile's coordinates belong to the last indices.
    Elements at or beyond `bounds` (one per dimension of the tile, on index plus
    coordinate) or before 0 read as zero. A tile of rank 3 is one of rank 2 whose
    rows are two dimensions of the array (`fold` of `tile.load`).

    C1. as many strides as indices, as many bounds as dimensions of the tile,
        and at least as many indices.
    C2. the result has one element per register of the fragment.
  }];
  let arguments = (ins Hopper_Pointer:$pointer, Variadic<I32>:$indices,
                       Variadic<I64>:$strides, Variadic<I32>:$bounds,
                       Hopper_FragmentAttr:$fragment);
  let results = (outs Hopper_AnyVector:$result);
  let assemblyFormat = [{
    $pointer `[` $indices `]` `strides` `(` $strides `)` `bounds` `(` $bounds `)`
    `of` $fragment attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Hopper_GatherOp : Hopper_Op<"gather", [Pure, AttrSizedOperandSegments]> {
  let summary = "reads elements of global memory, each at its own index";
  let description = [{
    Every register of the result is the element at `pointer` plus the sum of index
    * stride. An index is a number, or one for each register; what is not below
    its bound, or below 0, reads as zero. The array is one that the launch does
    not write.

    C1. as many strides and bounds as indices.
    C2. an index that is a vector has an i32 for each register of the result.
  }];
  let arguments = (ins Hopper_Pointer:$pointer,
                       Variadic<AnyTypeOf<[I32, Hopper_AnyVector]>>:$indices,
                       Variadic<I64>:$strides, Variadic<I32>:$bounds);
  let results = (outs Hopper_AnyVector:$result);
  let assemblyFormat = [{
    $pointer `[` $indices `:` type($indices) `]` `strides` `(` $strides `)`
    `bounds` `(` $bounds `)` attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Hopper_FragmentStoreOp : Hopper_OrderedOp<"fragment.store", [AttrSizedOperandSegments]> {
  let summary = "writes a tile to global memory, each thread its elements";
  let description = [{
    As `hopper.fragment.load`; elements out of bounds are not written, replicated
    elements are written by one thread. With `add` the elements are added to the
    array's (red.global.add).

    C1. as many strides as indices, as many bounds as dimensions of the tile,
        and at least as many indices.
    C2. the value has one element per register of the fragment.
    C3. with `add` the elements are f32 or i32.
  }];
  let arguments = (ins Hopper_AnyVector:$value, Hopper_Pointer:$pointer,
                       Variadic<I32>:$indices, Variadic<I64>:$strides,
                       Variadic<I32>:$bounds, Hopper_FragmentAttr:$fragment,
                       UnitAttr:$add);
  let assemblyFormat = [{
    $value `,` $pointer `[` $indices `]` `strides` `(` $strides `)` `bounds` `(` $bounds `)`
    `of` $fragment (`add` $add^)? attr-dict `:` type($value)
  }];
  let hasVerifier = 1;
}

def Hopper_ScalarLoadOp : Hopper_Op<"scalar_load", [Pure, AttrSizedOperandSegments]> {
  let summary = "reads one element from global memory";
  let description = [{
    The launch does not write the array.

    C1. as many strides as indices.
  }];
  let arguments = (ins Hopper_Pointer:$pointer, Variadic<I32>:$indices,
                       Variadic<I64>:$strides);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $pointer `[` $indices `]` `strides` `(` $strides `)` attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Hopper_SearchOp : Hopper_Op<"search", [Pure]> {
  let summary = "how many numbers of a rising array lie below a falling line";
  let description = [{
    As `tile.search`. Each warp of the group counts for itself, 32 elements at a
    time, and gets the same result. Element end - 1 is in the array.

    C1. `most` is from 1 to 32768.
  }];
  let arguments = (ins Hopper_Pointer:$pointer, I64:$stride, I32:$first, I32:$end,
                       I32:$limit, I32:$step,
                       ConfinedAttr<I64Attr, [IntMinValue<1>,
                                              IntMaxValue<32768>]>:$most);
  let results = (outs I32:$result);
  let assemblyFormat = [{
    $pointer `stride` $stride `from` $first `to` $end `below` $limit `step` $step
    `most` $most attr-dict
  }];
}

def Hopper_SmemStoreOp : Hopper_OrderedOp<"smem.store"> {
  let summary = "writes a fragment into a buffer slot (stmatrix or st.shared)";
  let description = [{
    The column counts elements of the value, also where the buffer has others:
    rows are then taken as bytes.

    C1. the value has one element per register of the fragment, whose tile has
        rank 1 or 2; elements of 8, 16 or 32 bits.
  }];
  let arguments = (ins Hopper_AnyVector:$value, Hopper_BufferType:$buffer, I32:$index,
                       I32:$row, I32:$column, Hopper_FragmentAttr:$fragment);
  let extraClassDeclaration = [{
    /// The buffer with the elements that the operation writes.
    ::fa3::hopper::BufferType getWindowType() {
      return getBuffer().getType().withElementType(
          ::mlir::getElementTypeOrSelf(getValue().getType()));
    }
  }];
  let assemblyFormat = [{
    $value `to` $buffer `[` $index `,` $row `,` $column `]` `of` $fragment attr-dict
    `:` type($value) `,` type($buffer)
  }];
  let hasVerifier = 1;
}

def Hopper_SmemLoadOp : Hopper_OrderedOp<"smem.load"> {
  let summary = "reads a fragment from a buffer slot (ld.shared)";
  let description = [{
    C1. the result has one element per register of the fragment, whose tile has
        rank 1 or 2, of the buffer's element type.
  }];
  let arguments = (ins Hopper_BufferType:$buffer, I32:$index, I32:$row, I32:$column,
                       Hopper_FragmentAttr:$fragment);
  let results = (outs Hopper_AnyVector:$result);
  let assemblyFormat = [{
    $buffer `[` $index `,` $row `,` $column `]` `of` $fragment attr-dict
    `:` type($buffer) `->` type($result)
  }];
  let extraClassDeclaration = [{
    ::fa3::hopper::BufferType getWindowType() { return getBuffer().getType(); }
  }];
  let hasVerifier = 1;
}

#endif // FA3_HOPPER_FRAGMENT_OPS
