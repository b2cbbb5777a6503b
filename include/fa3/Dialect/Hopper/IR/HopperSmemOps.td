//===- HopperSmemOps.td - shared memory, barriers and TMA --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_HOPPER_SMEM_OPS
#define FA3_HOPPER_SMEM_OPS

include "fa3/Dialect/Hopper/IR/HopperOps.td"

//===----------------------------------------------------------------------===//
// Shared memory and barriers
//===----------------------------------------------------------------------===//

def Hopper_AllocOp : Hopper_Op<"smem.alloc", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "reserves a buffer in dynamic shared memory";
  let description = [{
    `offset` is set by hopper-allocate-smem: bytes from the start of dynamic
    shared memory, a multiple of 1024. In a replicated group it is that of
    replica 0, each further replica is `getReplicaBytes()` further on.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Hopper_BufferType:$buffer);
  let assemblyFormat = "(`offset` $offset^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t kAlignment = 1024;
    /// Bytes that one replica's slots take, rounded up to the alignment.
    int64_t getReplicaBytes() {
      ::fa3::hopper::BufferType type = getBuffer().getType();
      return ::llvm::alignTo(type.getSlots() * type.getSlotBytes(), kAlignment);
    }
  }];
}

def Hopper_SmemFillOp : Hopper_OrderedOp<"smem.fill"> {
  let summary = "writes one value to all elements of a buffer";
  let description = [{
    By all threads of the CTA, outside of groups. Ends with the fence that makes
    it visible to the async proxy; a CTA-wide barrier must follow before any use.

    Example: `hopper.smem.fill %ones, 1.000000e+00 : f16 : !hopper.buffer<1, tensor<8x80xf16>, 128>`

    C1. the value is a floating-point number of the type of the elements.
  }];
  let arguments = (ins Hopper_BufferType:$buffer, TypedAttrInterface:$value);
  let assemblyFormat = "$buffer `,` $value attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Hopper_BarrierAllocOp : Hopper_Op<"barrier.alloc", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "reserves mbarriers in dynamic shared memory";
  let description = [{
    `offset` is set by hopper-allocate-smem: bytes from the start of dynamic
    shared memory, a multiple of 8. In a replicated group it is that of replica
    0, each further replica is `getReplicaBytes()` further on.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Hopper_BarrierType:$barrier);
  let assemblyFormat = "(`offset` $offset^)? attr-dict `:` type($barrier)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t kAlignment = 8;
    int64_t getReplicaBytes() {
      return getBarrier().getType().getCount() * kAlignment;
    }
  }];
}

def Hopper_BarrierInitOp : Hopper_OrderedOp<"barrier.init"> {
  let summary = "initializes mbarriers (mbarrier.init), by thread 0 of the CTA";
  let description = [{
    Ends with the fence that makes the initialization visible to the async
    proxy; a CTA-wide barrier must follow before any use.
  }];
  let arguments = (ins Variadic<Hopper_BarrierType>:$barriers);
  let assemblyFormat = "$barriers attr-dict `:` type($barriers)";
}

def Hopper_BarrierWaitOp : Hopper_OrderedOp<"barrier.wait"> {
  let summary = "blocks until the phase of the given parity has completed";
  let description = [{
    mbarrier.try_wait.parity in a loop, by every thread. A fresh mbarrier is in
    phase 0; waiting for parity 1 on it returns at once.

    Example: `hopper.barrier.wait %full[%i] parity %p : !hopper.barrier<2, 1>`
  }];
  let arguments = (ins Hopper_BarrierType:$barrier, I32:$index, I32:$parity);
  let assemblyFormat = "$barrier `[` $index `]` `parity` $parity attr-dict `:` type($barrier)";
}

def Hopper_BarrierArriveOp : Hopper_OrderedOp<"barrier.arrive"> {
  let summary = "the elected thread arrives once (mbarrier.arrive)";
  let description = [{
    For the whole group: what the group has done before must be complete. A wait
    for products is; reads by threads need a barrier of the group first.

    Example: `hopper.barrier.arrive %empty[%i] : !hopper.barrier<2, 3>`
  }];
  let arguments = (ins Hopper_BarrierType:$barrier, I32:$index);
  let assemblyFormat = "$barrier `[` $index `]` attr-dict `:` type($barrier)";
}

def Hopper_BarrierExpectTxOp : Hopper_OrderedOp<"barrier.expect_tx"> {
  let summary = "the elected thread arrives once and expects bytes (mbarrier.arrive.expect_tx)";
  let description = [{
    The phase completes when all arrivals are made and these bytes have been
    written by `hopper.tma.load`.

    Example: `hopper.barrier.expect_tx %full[%i], 16384 : !hopper.barrier<2, 1>`

    C1. bytes is between 1 and 2^20 - 1.
  }];
  let arguments = (ins Hopper_BarrierType:$barrier, I32:$index, I64Attr:$bytes);
  let assemblyFormat = "$barrier `[` $index `]` `,` $bytes attr-dict `:` type($barrier)";
  let hasVerifier = 1;
}

def Hopper_NamedBarrierSyncOp : Hopper_OrderedOp<"named_barrier.sync"> {
  let summary = "synchronizes `threads` threads at a named barrier (bar.sync)";
  let description = [{
    `id` is between 0 and 15; 0 is the barrier of the whole CTA.

    Example: `hopper.named_barrier.sync %id threads 128`

    C1. threads is a positive multiple of 32 up to 1024.
  }];
  let arguments = (ins I32:$id, I64Attr:$threads);
  let assemblyFormat = "$id `threads` $threads attr-dict";
  let hasVerifier = 1;
}

def Hopper_NamedBarrierArriveOp : Hopper_OrderedOp<"named_barrier.arrive"> {
  let summary = "counts the threads of the group at a named barrier (bar.arrive)";
  let description = [{
    Like `hopper.named_barrier.sync`, but goes on at once: of the `threads` that
    open the barrier, those that arrive let others go, those that synchronize
    wait. Arriving twice before the barrier has opened mixes two openings up.

    Example: `hopper.named_barrier.arrive %id threads 256`

    C1. threads is a positive multiple of 32 up to 1024.
  }];
  let arguments = (ins I32:$id, I64Attr:$threads);
  let assemblyFormat = "$id `threads` $threads attr-dict";
  let hasVerifier = 1;
}

def Hopper_FenceProxyAsyncOp : Hopper_OrderedOp<"fence.proxy_async"> {
  let summary = "orders generic accesses to shared memory before async ones";
  let description = [{
    fence.proxy.async.shared::cta, by every thread. Between writes by threads and
    accesses by TMA or wgmma, in front of the barrier that lets the other side go
    on.
  }];
  let assemblyFormat = "attr-dict";
}

def Hopper_FenceAcqRelOp : Hopper_OrderedOp<"fence.acq_rel"> {
  let summary = "waits for what the threads read (fence.acq_rel.cta)";
  let description = [{
    fence.acq_rel.cta, by every thread. Behind reads by threads of a buffer that
    TMA writes next, in front of the barrier that lets it begin: barriers order
    reads only before other accesses by threads, and a read that is still under
    way behind an arrival can be overtaken by the copy.
    `hopper.fence.proxy_async` does as well, and takes longer.
  }];
  let assemblyFormat = "attr-dict";
}

def Hopper_SetMaxRegistersOp : Hopper_OrderedOp<"setmaxnreg"> {
  let summary = "changes the registers per thread of a warp group";
  let description = [{
    setmaxnreg.dec or .inc, by all warps of the warp group. An increase blocks
    until other warp groups have given up as many.

    Example: `hopper.setmaxnreg increase 160`

    C1. registers is a multiple of 8 between 24 and 256.
  }];
  let arguments = (ins I64Attr:$registers, UnitAttr:$increase);
  let assemblyFormat = "(`increase` $increase^) : (`decrease`)? $registers attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// TMA
//===----------------------------------------------------------------------===//

def Hopper_TmaLoadOp : Hopper_OrderedOp<"tma.load"> {
  let summary = "the elected thread starts a copy of a box into a buffer slot";
  let description = [{
    cp.async.bulk.tensor from global to shared memory. The box lands at (row,
    column) of slot `index`; its bytes count on the mbarrier. Coordinates are
    given outermost first.

    With `pieces` n by m there are n * m boxes, n below each other and m side by
    side, from (row, column) on. The region takes the number of a piece, which is
    a row of boxes, and yields the coordinates of its first box; the others have
    the columns that follow. Threads of the group start a copy each.

    Example:
    ```mlir
    hopper.tma.load %map[%b, %h, %i, %c] to %buf[%s, %c0, %c64] signal %full[%s]
      : !hopper.tensormap<[1, 1, 80, 64], f16, 128>, !hopper.buffer<2, tensor<80x128xf16>, 128>, !hopper.barrier<2, 1>
    ```

    C1. one coordinate per dimension of the box; the region yields them instead if
        there are `pieces`.
    C2. map and buffer agree in element type and swizzle; a box is one block of
        columns wide.
    C3. `pieces` are positive and their boxes fit into a slot.
    C4. the region has an i32 as argument and holds scalar code without effects or
        regions.
  }];
  let arguments = (ins Hopper_TensorMapType:$map, Variadic<I32>:$coordinates,
                       Hopper_BufferType:$buffer, I32:$index, I32:$row, I32:$column,
                       Hopper_BarrierType:$barrier, I32:$barrierIndex,
                       OptionalAttr<I64Attr>:$pieces, OptionalAttr<I64Attr>:$blocks);
  let regions = (region VariadicRegion<AnyRegion>:$places);
  let assemblyFormat = [{
    $map (`[` $coordinates^ `]`)? `to` $buffer `[` $index `,` $row `,` $column `]`
    `signal` $barrier `[` $barrierIndex `]`
    (`pieces` $pieces^ `by` $blocks custom<Places>($places))? attr-dict
    `:` type($map) `,` type($buffer) `,` type($barrier)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$map, "::mlir::ValueRange":$coordinates,
                                 "::mlir::Value":$buffer, "::mlir::Value":$index,
                                 "::mlir::Value":$row, "::mlir::Value":$column,
                                 "::mlir::Value":$barrier, "::mlir::Value":$barrierIndex), [{
    build($_builder, $_state, map, coordinates, buffer, index, row, column, barrier,
          barrierIndex, ::mlir::IntegerAttr(), ::mlir::IntegerAttr(), 0);
  }]>];
  let extraClassDeclaration = [{
    ::fa3::hopper::BufferType getWindowType() { return getBuffer().getType(); }
    /// Boxes that it copies, below each other and side by side.
    int64_t getNumPieces() { return getPieces().value_or(1); }
    int64_t getNumBlocks() { return getBlocks().value_or(1); }
    /// Rows and columns of the slot that it fills.
    int64_t getRows() { return getNumPieces() * getMap().getType().getBoxRows(); }
    int64_t getColumns() { return getNumBlocks() * getMap().getType().getBox().back(); }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Hopper_TmaStoreOp : Hopper_OrderedOp<"tma.store"> {
  let summary = "the elected thread starts a copy of a box from a buffer slot";
  let description = [{
    cp.async.bulk.tensor from shared to global memory; clips at the array. The
    column counts elements of the map, also where the buffer has others: rows
    are then taken as bytes. With `add` the elements are added to the array's
    (cp.reduce.async.bulk.tensor).

    C1. one coordinate per dimension of the box.
    C2. map and buffer agree in swizzle; a box is one block of columns wide.
    C3. with `add` the elements of the map are f32 or i32.
  }];
  let arguments = (ins Hopper_BufferType:$buffer, I32:$index, I32:$row, I32:$column,
                       Hopper_TensorMapType:$map, Variadic<I32>:$coordinates,
                       UnitAttr:$add);
  let assemblyFormat = [{
    $buffer `[` $index `,` $row `,` $column `]` `to` $map `[` $coordinates `]` (`add` $add^)? attr-dict
    `:` type($buffer) `,` type($map)
  }];
  let extraClassDeclaration = [{
    /// The buffer with the elements that the operation reads.
    ::fa3::hopper::BufferType getWindowType() {
      return getBuffer().getType().withElementType(getMap().getType().getElementType());
    }
  }];
  let hasVerifier = 1;
}

def Hopper_TmaCommitOp : Hopper_OrderedOp<"tma.commit"> {
  let summary = "the elected thread closes a group of stores (cp.async.bulk.commit_group)";
  let description = [{
    The group holds the `hopper.tma.store` since the last one.
  }];
  let assemblyFormat = "attr-dict";
}

def Hopper_TmaWaitReadOp : Hopper_OrderedOp<"tma.wait_read"> {
  let summary = "the elected thread waits until all but `pending` groups of stores have read their source";
  let description = [{
    cp.async.bulk.wait_group.read. With `written` what they store is in memory as
    well (cp.async.bulk.wait_group, fence.proxy.async.global).

    C1. pending is at least 0.
  }];
  let arguments = (ins I64Attr:$pending, UnitAttr:$written);
  let assemblyFormat = "`pending` $pending (`written` $written^)? attr-dict";
  let hasVerifier = 1;
}

#endif // FA3_HOPPER_SMEM_OPS
