//===- HopperExactOps.td - sums of integers in memory ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Their classes are in ExactOps.h: few passes ask for them.
//===----------------------------------------------------------------------===//
#ifndef FA3_HOPPER_EXACT_OPS
#define FA3_HOPPER_EXACT_OPS

include "fa3/Dialect/Hopper/IR/HopperOps.td"

def Hopper_DiagonalReduceOp : Hopper_Op<"diagonal.reduce"> {
  let summary = "combines the elements of each diagonal that a warp holds";
  let description = [{
    A warp holds 16 rows of an accumulator; a diagonal has its elements of one
    difference of column and row, the warp's first row being 0. Register r of
    lane l gets those of the difference 32 r + 8 (l mod 4) + l div 4 - 16: their
    sum, or the greatest one. Of a diagonal without elements that is 0, or the
    least i32.

    Example: `%d = hopper.diagonal.reduce add %x of #fragment : vector<32xf32> -> vector<3xf32>`

    C1. the fragment is an accumulator of 64 rows.
    C2. the operand has the registers of the fragment, the result one for every
        32 of its columns and 16 more.
    C3. both have elements of f32 with `add`, of i32 with `max`.
  }];
  let arguments = (ins Hopper_Combine:$kind, Hopper_AnyVector:$source,
                       Hopper_FragmentAttr:$fragment);
  let results = (outs Hopper_AnyVector:$result);
  let assemblyFormat = [{
    $kind $source `of` $fragment attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Registers of the result for so many columns.
    static int64_t getNumResults(int64_t columns) {
      return ::llvm::divideCeil(columns + 16, 32);
    }
    /// Whether a fragment is one that it takes.
    static bool takes(const ::fa3::LinearLayout &layout);
  }];
}

def Hopper_AddExactOp : Hopper_OrderedOp<"add_exact", [AttrSizedOperandSegments]> {
  let summary = "adds numbers to sums in global memory, each at its own index";
  let description = [{
    As `tile.add_exact`: every register of every thread is a term of the sum whose
    first word is at `pointer` plus the sum of index * stride. An index is a
    number, or one for each register; a term of which one is not below its bound,
    or below 0, is added to nothing (red.global.add.u64).

    C1. as many strides and bounds as indices.
    C2. an index that is a vector has an i32 for each register of the value.
    C3. the value has elements of f32.
  }];
  let arguments = (ins Hopper_AnyVector:$value, Hopper_Pointer:$pointer,
                       Variadic<AnyTypeOf<[I32, Hopper_AnyVector]>>:$indices,
                       Variadic<I64>:$strides, Variadic<I32>:$bounds);
  let assemblyFormat = [{
    $value `,` $pointer `[` $indices `:` type($indices) `]` `strides` `(` $strides `)`
    `bounds` `(` $bounds `)` attr-dict `:` type($value)
  }];
  let hasVerifier = 1;
}

def Hopper_LoadExactOp : Hopper_Op<"load_exact", [Pure, AttrSizedOperandSegments]> {
  let summary = "reads sums of hopper.add_exact from global memory";
  let description = [{
    As `tile.load_exact`, each thread its elements: as `hopper.fragment.load`
    finds numbers, so are the first words of sums found here. The launch does not
    write the array.

    C1. as many strides as indices, one bound, and at least one index.
    C2. the result has one f32 per register of the fragment, whose tile has rank
        1.
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

#endif // FA3_HOPPER_EXACT_OPS
