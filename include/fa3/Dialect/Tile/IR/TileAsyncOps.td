//===- TileAsyncOps.td - slots and asynchronous products ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TILE_ASYNC_OPS
#define FA3_TILE_ASYNC_OPS

include "fa3/Dialect/Tile/IR/TileOps.td"

//===----------------------------------------------------------------------===//
// Memory of slots
//===----------------------------------------------------------------------===//

def Tile_ViewOp : Tile_Op<"view", [Pure, Warp_BorrowsLinear]> {
  let summary = "borrows a window of a held slot";
  let description = [{
    The window of the `field`-th tensor of the entry that starts at the offsets.
    The slot must outlive every use of the view.

    Example:
    ```mlir
    %v = tile.view %slot[%r, %c0] : !warp.slot<read, [tensor<192x128xf16>]> -> !tile.view<tensor<64x128xf16>>
    ```

    A window with wider elements than the tensor takes the bytes of its rows:
    offsets and columns count elements of the window. What is read has to have
    been written with the same elements.

    C1. field names a tensor of the payload.
    C2. one offset per dimension; the window has as many dimensions and is no
        larger than the tensor, rows of other elements in bytes.
    C3. encodings agree; elements agree, or the window has rank 2 and elements
        of a multiple of the tensor's bits.
    C4. the view is not used after the slot's publish or release in its block.
  }];
  let arguments = (ins Warp_SlotType:$slot, Variadic<Index>:$offsets,
                       DefaultValuedAttr<I64Attr, "0">:$field);
  let results = (outs Tile_ViewType:$view);
  let assemblyFormat = [{
    $slot `[` $offsets `]` (`field` $field^)? attr-dict `:` type($slot) `->` type($view)
  }];
  let hasVerifier = 1;
}

def Tile_ReadOp : Tile_Op<"read", [
    MemoryEffects<[MemRead<Tile_SlotMemory>]>,
    DeclareOpInterfaceMethods<Warp_AccessOpInterface>]> {
  let summary = "copies a view into a tile value";
  let arguments = (ins Tile_ViewType:$view);
  let description = [{
    The only way in which memory of a slot becomes a value. The copy is complete
    when the operation returns.

    Example: `%x = tile.read %v : !tile.view<tensor<64x64xf16>> -> tensor<64x64xf16>`

    C1. shape and element type of view and result agree.
  }];
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$view attr-dict `:` type($view) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_WriteOp : Tile_Op<"write", [
    MemoryEffects<[MemWrite<Tile_SlotMemory>]>,
    DeclareOpInterfaceMethods<Warp_AccessOpInterface>]> {
  let summary = "copies a tile value into a view";
  let description = [{
    Readers see it once the slot is published. In a slot that is held for reading
    it replaces what was there for the replica that writes: its own copies, reads
    and products that follow see it, and nobody else may read the window.

    Example: `tile.write %x, %w : tensor<64x64xf16>, !tile.view<tensor<64x64xf16>>`

    C1. shape and element type of value and view agree.
  }];
  let arguments = (ins Tile_Tile:$value, Tile_ViewType:$view);
  let assemblyFormat = "$value `,` $view attr-dict `:` type($value) `,` type($view)";
  let hasVerifier = 1;
}

def Tile_PostOp : Tile_Op<"post", [
    MemoryEffects<[MemWrite<Tile_SlotMemory>]>,
    DeclareOpInterfaceMethods<Warp_AccessOpInterface>]> {
  let summary = "writes a number into a view";
  let description = [{
    Of an entry that copies fill, a number that who copies has computed and
    readers need, too. They see it once the slot is published.

    Example: `tile.post %row, %w : !tile.view<tensor<1xi32>>`

    C1. the view is of one i32.
  }];
  let arguments = (ins Index:$number, Tile_ViewType:$view);
  let assemblyFormat = "$number `,` $view attr-dict `:` type($view)";
  let hasVerifier = 1;
}

def Tile_ReceiveOp : Tile_Op<"receive", [
    MemoryEffects<[MemRead<Tile_SlotMemory>]>,
    DeclareOpInterfaceMethods<Warp_AccessOpInterface>]> {
  let summary = "reads a number from a view";
  let description = [{
    The number that was posted to the entry (`tile.post`), the same for all
    threads.

    Example: `%row = tile.receive %v : !tile.view<tensor<1xi32>>`

    C1. the view is of one i32.
  }];
  let arguments = (ins Tile_ViewType:$view);
  let results = (outs Index:$result);
  let assemblyFormat = "$view attr-dict `:` type($view)";
  let hasVerifier = 1;
}

def Tile_LoadAsyncOp : Tile_Op<"load.async", [
    MemoryEffects<[MemRead, MemWrite<Tile_SlotMemory>]>, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Warp_AccessOpInterface>]> {
  let summary = "starts copying a tile of a global array into a view";
  let description = [{
    As `tile.load` into shared memory; the bytes have landed when a reader's
    acquire of the published slot returns. With `rows` the row at coordinate x
    of the tile goes to row y of the view, where bit i of y is bit rows[i] of x
    and higher bits agree, as `tile.relabel` along dimension 0 does.

    Example: `tile.load.async %K[%j, %c0], %w : memref<?x64xf16>, !tile.view<tensor<80x64xf16>>`

    C1. one index per dimension of the memref; the region yields them instead if
        there are `pieces`.
    C2. the rank of the tile is at most that of the memref.
    C3. element types agree.
    C4. the view is of a write slot (checked where it can be followed).
    C5. `rows` is a permutation of 0 to its size - 1; the tile has rank 2, and 2
        to the number of bits divides its rows.
    C6. `fold` is a power of two that divides the first extent of the tile, of
        less rank than the memref; there is no `rows` beside it.
    C7. `pieces` and their region are as those of `tile.load`; there is no `rows`
        beside them.
    C8. a tile with a `limit` has rank 2, and neither `fold` nor `rows`.
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$indices, Tile_ViewType:$view,
                       Optional<Index>:$limit,
                       OptionalAttr<DenseI64ArrayAttr>:$rows, OptionalAttr<I64Attr>:$fold,
                       OptionalAttr<I64Attr>:$pieces);
  let regions = (region VariadicRegion<AnyRegion>:$places);
  let assemblyFormat = [{
    $source (`[` $indices^ `]`)? `,` $view (`rows` $rows^)? (`fold` $fold^)?
    (`limit` $limit^)? (`pieces` $pieces^ custom<Places>($places))? attr-dict
    `:` type($source) `,` type($view)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$source, "::mlir::ValueRange":$indices,
                                 "::mlir::Value":$view), [{
    build($_builder, $_state, source, indices, view, ::mlir::Value(),
          ::mlir::DenseI64ArrayAttr(), ::mlir::IntegerAttr(),
          ::mlir::IntegerAttr(), 0);
  }]>];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Tile_StoreAsyncOp : Tile_Op<"store.async", [
    MemoryEffects<[MemWrite, MemRead<Tile_SlotMemory>]>,
    DeclareOpInterfaceMethods<Warp_AccessOpInterface, ["getDoneToken"]>]> {
  let summary = "starts copying a view into a global array";
  let description = [{
    As `tile.store`. `done` holds when the view has been read; the array holds
    the elements when the launch has ended.

    Example: `%d = tile.store.async %r, %O[%i, %c0] : !tile.view<tensor<64x64xf16>>, memref<?x64xf16>`

    C1. one index per dimension of the memref.
    C2. the rank of the tile is at most that of the memref; with `fold` less.
    C3. element types agree.
    C4. `fold` is a power of two that divides the first extent of the tile.
    C5. with `add` the elements are f32 or i32.
  }];
  let arguments = (ins Tile_ViewType:$view, AnyMemRef:$target, Variadic<Index>:$indices,
                       UnitAttr:$add, OptionalAttr<I64Attr>:$fold);
  let results = (outs Warp_DoneType:$done);
  let assemblyFormat = [{
    $view `,` $target `[` $indices `]` (`add` $add^)? (`fold` $fold^)? attr-dict
    `:` type($view) `,` type($target)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Asynchronous products
//===----------------------------------------------------------------------===//

def Tile_DotAsyncOp : Tile_Op<"dot.async", [
    MemoryEffects<[MemWrite<Tile_TensorCore>, MemRead<Tile_SlotMemory>]>,
    DeclareOpInterfaceMethods<Warp_AccessOpInterface, ["getDoneToken"]>]> {
  let summary = "issues a matrix product";
  let description = [{
    As `tile.dot`, but the result is pending and `done` tells when the operands
    have been read. Products retire in the order of issue. The accumulator may
    itself be pending: the products chain on the tensor core.

    lhs may be a tile (registers) or a view (shared memory). rhs is a view, or a
    constant of one value, which has a place in shared memory of its own.

    Example:
    ```mlir
    %s, %d = tile.dot.async %q, %k, %zero lhs mk rhs nk
      : !tile.view<tensor<64x128xf16>>, !tile.view<tensor<80x128xf16>>, tensor<64x80xf32> -> !tile.pending<tensor<64x80xf32>>
    ```

    C1. all three have rank 2.
    C2. lhs and rhs agree in K.
    C3. acc has the rows of lhs and the columns of rhs.
    C4. lhs and rhs have the same element type.
    C5. the result is pending of the accumulator's tile.
  }];
  let arguments = (ins Tile_TileOrView:$lhs, Tile_TileOrView:$rhs, Tile_TileOrPending:$acc,
                       Tile_LhsOrder:$lhsOrder, Tile_RhsOrder:$rhsOrder);
  let results = (outs Tile_PendingType:$result, Warp_DoneType:$done);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $acc `lhs` $lhsOrder `rhs` $rhsOrder attr-dict
    `:` type($lhs) `,` type($rhs) `,` type($acc) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_PendOp : Tile_Op<"pend", [
    MemoryEffects<[MemWrite<Tile_TensorCore>]>]> {
  let summary = "a complete tile as the start of a chain of products";
  let description = [{
    For accumulators that a loop carries in flight: nothing waits between the
    products of the chain.

    Example:
    ```mlir
    %p = tile.pend %zero : tensor<64x128xf32> -> !tile.pending<tensor<64x128xf32>>
    ```

    C1. the result is pending of the operand's tile.
  }];
  let arguments = (ins Tile_Tile:$value);
  let results = (outs Tile_PendingType:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_AwaitOp : Tile_Op<"await", [
    InferTypeOpAdaptor,
    MemoryEffects<[MemWrite<Tile_TensorCore>]>]> {
  let summary = "waits for a pending product";
  let description = [{
    Gives the tile. A kept value is passed through unchanged: its result is the
    same value, usable only after the wait. It keeps work that would overwrite
    registers in flight behind the wait.

    Example:
    ```mlir
    %o, %x1 = tile.await %O keep %x : tensor<64x80xf32> : !tile.pending<tensor<64x128xf32>>
    ```
  }];
  let arguments = (ins Tile_PendingType:$pending, Variadic<Tile_Tile>:$keep);
  let results = (outs Tile_Tile:$result, Variadic<Tile_Tile>:$kept);
  let assemblyFormat = [{
    $pending (`keep` $keep^ `:` type($keep))? attr-dict `:` type($pending)
  }];
}

#endif // FA3_TILE_ASYNC_OPS
