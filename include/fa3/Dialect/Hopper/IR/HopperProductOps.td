//===- HopperProductOps.td - wgmma and its operands --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_HOPPER_PRODUCT_OPS
#define FA3_HOPPER_PRODUCT_OPS

include "fa3/Dialect/Hopper/IR/HopperOps.td"

def Hopper_DescOp : Hopper_Op<"desc", [Pure]> {
  let summary = "matrix descriptor of a window of a buffer slot";
  let description = [{
    The window starts at (row, column) of slot `index`. The major dimension of
    the descriptor says how the product reads it: `k` where its K runs along the
    columns, `mn` where it runs along the rows.

    C1. the type follows from the buffer.
  }];
  let arguments = (ins Hopper_BufferType:$buffer, I32:$index, I32:$row, I32:$column);
  let results = (outs Hopper_DescType:$desc);
  let assemblyFormat = [{
    $buffer `[` $index `,` $row `,` $column `]` attr-dict `:` type($buffer) `->` type($desc)
  }];
  let hasVerifier = 1;
}

def Hopper_WgmmaFenceOp : Hopper_OrderedOp<"wgmma.fence", [InferTypeOpAdaptor]> {
  let summary = "orders register accesses before the next wgmma (wgmma.fence)";
  let description = [{
    Gives its operands back: registers that the next products read or
    accumulate into, which no other operation may move past the fence.
  }];
  let arguments = (ins Variadic<Hopper_AnyVector>:$values);
  let results = (outs Variadic<Hopper_AnyVector>:$results);
  let assemblyFormat = "(`(` $values^ `:` type($values) `)`)? attr-dict";
}

def Hopper_WgmmaOp : Hopper_OrderedOp<"wgmma.mma"> {
  let summary = "issues the products of one m x n x k block (wgmma.mma_async)";
  let description = [{
    One wgmma.mma_async per 64 rows and 32 bytes of k. lhs is a descriptor or a
    fragment (registers), rhs a descriptor. Without accumulator the sum starts
    from zero; an in-flight accumulator chains. Sums of i8 wrap around.

    Example:
    ```mlir
    %s = hopper.wgmma.mma %dq, %dk m 64 n 80 k 128
      : !hopper.desc<192, f16, 128, k>, !hopper.desc<80, f16, 128, k> -> !hopper.inflight<vector<40xf32>>
    ```

    C1. m is a multiple of 64 up to 256, n a multiple of 8 up to 256, k a
        multiple of 32 bytes of elements up to 1024. With i8, n above 32 is a
        multiple of 16.
    C2. the result has m * n / 128 elements of f32, of i32 with operands of i8;
        the accumulator likewise.
    C3. lhs and rhs have one element type; a fragment lhs has m * k / 128
        elements of 8 or 16 bits.
  }];
  let arguments = (ins AnyTypeOf<[Hopper_DescType, Hopper_AnyVector]>:$lhs,
                       Hopper_DescType:$rhs,
                       Optional<AnyTypeOf<[Hopper_AnyVector, Hopper_InflightType]>>:$acc,
                       I64Attr:$m, I64Attr:$n, I64Attr:$k);
  let results = (outs Hopper_InflightType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`acc` $acc^ `:` type($acc))? `m` $m `n` $n `k` $k attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hopper_WgmmaCommitOp : Hopper_OrderedOp<"wgmma.commit"> {
  let summary = "closes a group of products (wgmma.commit_group)";
  let description = [{
    The group holds the `hopper.wgmma.mma` since the last one. Groups retire in
    the order in which they were closed.
  }];
  let results = (outs Hopper_GroupType:$group);
  let assemblyFormat = "attr-dict";
}

def Hopper_GroupReadyOp : Hopper_Op<"group.ready", [Pure]> {
  let summary = "a group that is complete from the start";
  let description = [{ The start value of groups that a loop carries. }];
  let results = (outs Hopper_GroupType:$group);
  let assemblyFormat = "attr-dict";
}

def Hopper_InflightReadyOp : Hopper_Op<"inflight.ready"> {
  let summary = "a complete fragment as the start of a chain of products";
  let description = [{
    For accumulators that a loop carries in flight.

    C1. the result is in flight of the operand's type.
  }];
  let arguments = (ins Hopper_AnyVector:$value);
  let results = (outs Hopper_InflightType:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Hopper_WgmmaWaitOp : Hopper_OrderedOp<"wgmma.wait", [
    AttrSizedOperandSegments, InferTypeOpAdaptor]> {
  let summary = "waits for groups of products (wgmma.wait_group)";
  let description = [{
    Waits until the given groups have retired and turns in-flight fragments,
    which they produce, into values. Kept fragments pass through unchanged: they
    cannot be touched before the wait. `pending`, the number of younger groups
    that may stay in flight, is set by hopper-insert-waits; -1 says that the
    groups are known to have retired and no instruction is needed.

    Example:
    ```mlir
    %s = hopper.wgmma.wait %g inflight(%S : !hopper.inflight<vector<40xf32>>) pending 1
    ```

    C1. pending is at least -1.
  }];
  let arguments = (ins Variadic<Hopper_GroupType>:$groups,
                       Variadic<Hopper_InflightType>:$inflight,
                       Variadic<Hopper_AnyVector>:$keep,
                       OptionalAttr<I64Attr>:$pending);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    ($groups^)? (`inflight` `(` $inflight^ `:` type($inflight) `)`)?
    (`keep` `(` $keep^ `:` type($keep) `)`)? (`pending` $pending^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // FA3_HOPPER_PRODUCT_OPS
