//===- HopperOps.td - operations of the hopper dialect -----*- tablegen -*-===//

#ifndef FA3_HOPPER_OPS
#define FA3_HOPPER_OPS

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Dialect/LLVMIR/LLVMTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "fa3/Dialect/Flow/IR/FlowTypes.td"
include "fa3/Dialect/Hopper/IR/HopperTypes.td"

/// Barriers, shared memory and the tensor core queue: ordered state.
def Hopper_State : Resource<"::fa3::hopper::MachineResource">;
class Hopper_Op<string mnemonic, list<Trait> traits = []>
    : Op<Hopper_Dialect, mnemonic, traits>;
/// An operation that is ordered with all others of its kind.
class Hopper_OrderedOp<string mnemonic, list<Trait> traits = []>
    : Hopper_Op<mnemonic, !listconcat(traits,
        [MemoryEffects<[MemRead<Hopper_State>, MemWrite<Hopper_State>]>])>;

def Hopper_AnyVector : VectorOfAnyRankOf<[AnyType]>;
def Hopper_Pointer : LLVM_PointerInAddressSpace<1>;

//===----------------------------------------------------------------------===//
// Host
//===----------------------------------------------------------------------===//

def Hopper_LaunchOp : Hopper_Op<"launch", [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "launches a kernel";
  let description = [{
    Grid of `blocks` CTAs of `threads` threads with `smem` bytes of dynamic
    shared memory. `cost` gives floating-point operations and the least bytes of
    global memory moved.

    C1. the symbol names a kernel: a `gpu.func kernel`, or an `llvm.func` after
        lowering.
    C2. operands and kernel arguments agree in number and, before lowering, type.
    C3. threads is a multiple of 32 up to 1024, smem at most 232448.
    C4. `cost` has both values or none.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Index:$blocks, I64Attr:$threads,
                       I64Attr:$smem, Variadic<AnyType>:$kernelArgs,
                       Variadic<Index>:$cost);
  let assemblyFormat = [{
    $kernel `blocks` $blocks `threads` $threads `smem` $smem
    `args` `(` ($kernelArgs^ `:` type($kernelArgs))? `)` (`cost` `(` $cost^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Hopper_SmCountOp : Hopper_Op<"sm_count", [Pure]> {
  let summary = "number of streaming multiprocessors of the device";
  let description = [{ `device.sms` of the manifest. }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Hopper_EncodeOp : Hopper_Op<"tensormap.encode", [Pure]> {
  let summary = "TMA descriptor of a memref";
  let description = [{
    Out-of-bounds elements are read as zero and not written.

    C1. the box has the rank of the memref, between 1 and 5.
    C2. the element type is that of the memref.
    C3. the innermost stride of the memref is 1.
  }];
  let arguments = (ins AnyMemRef:$source);
  let results = (outs Hopper_TensorMapType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Hopper_AddressOp : Hopper_Op<"address", [Pure]> {
  let summary = "global address of the first element of a memref";
  let description = [{
    A `pointer` argument of the manifest. Strides and extents travel as scalars.
  }];
  let arguments = (ins AnyMemRef:$source);
  let results = (outs Hopper_Pointer:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

def Hopper_CounterOp : Hopper_Op<"counter", [Pure]> {
  let summary = "address of an i32 that is 0 when the kernel starts";
  let description = [{
    A `counter` argument of the manifest. The host owns the memory and lends it
    to one launch at a time; `hopper.claim` leaves it 0 when the kernel ends.
  }];
  let results = (outs Hopper_Pointer:$result);
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Tiles that CTAs share out
//===----------------------------------------------------------------------===//

def Hopper_ShareOp : Hopper_Op<"share", [Pure]> {
  let summary = "how many of the launch's tiles this CTA performs";
  let description = [{
    Upper bound of a loop `for 0 to share step 1` whose first carried value is
    the tile: the CTA's number at first, then what `hopper.claim` gave. It ends
    when that is not less than `tiles`, and becomes a while loop that tests it.

    Example: `%n = hopper.share %tiles`
  }];
  let arguments = (ins I32:$tiles);
  let results = (outs I32:$result);
  let assemblyFormat = "$tiles attr-dict";
}

def Hopper_ClaimOp : Hopper_OrderedOp<"claim"> {
  let summary = "the leader claims the tile after `tile` (atomic add)";
  let description = [{
    Adds 1 to the counter and gives its old value plus the number of CTAs, a
    number of `tiles` or more if none is left. Over a launch, `tiles` claims are
    made in all (each CTA has its first tile without one, and its last claim
    fails): the last one sets the counter back to 0. Needs at least as many tiles
    as CTAs.

    Example: `%next = hopper.claim %counter after %t of %tiles`

    C1. the group has one warp in one replica: the others get the number from it.
  }];
  let arguments = (ins Hopper_Pointer:$counter, I32:$tile, I32:$tiles);
  let results = (outs I32:$next);
  let assemblyFormat = "$counter `after` $tile `of` $tiles attr-dict";
  let hasVerifier = 1;
}

def Hopper_MailboxAllocOp : Hopper_Op<"mailbox.alloc", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "reserves a mailbox in dynamic shared memory";
  let description = [{
    `offset` is set by hopper-allocate-smem: bytes from the start of dynamic
    shared memory, a multiple of 8.

    C1. the offset is not negative, a multiple of 8, and the mailbox fits.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Hopper_MailboxType:$mailbox);
  let assemblyFormat = "(`offset` $offset^)? attr-dict `:` type($mailbox)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t kAlignment = 8, kSlotBytes = 4;
    int64_t getReplicaBytes() {
      return ::llvm::alignTo(getMailbox().getType().getSlots() * kSlotBytes,
                             kAlignment);
    }
  }];
}

def Hopper_MailboxPostOp : Hopper_OrderedOp<"mailbox.post"> {
  let summary = "the leader writes a number into a slot";
  let description = [{
    A barrier orders it with reads.

    Example: `hopper.mailbox.post %next, %box[%slot] : !hopper.mailbox<2>`
  }];
  let arguments = (ins I32:$value, Hopper_MailboxType:$mailbox, I32:$index);
  let assemblyFormat = "$value `,` $mailbox `[` $index `]` attr-dict `:` type($mailbox)";
}

def Hopper_MailboxReadOp : Hopper_OrderedOp<"mailbox.read"> {
  let summary = "every thread reads the number in a slot";
  let description = [{
    Example: `%next = hopper.mailbox.read %box[%slot] : !hopper.mailbox<2>`
  }];
  let arguments = (ins Hopper_MailboxType:$mailbox, I32:$index);
  let results = (outs I32:$value);
  let assemblyFormat = "$mailbox `[` $index `]` attr-dict `:` type($mailbox)";
}

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
  let summary = "initialises mbarriers (mbarrier.init), by thread 0 of the CTA";
  let description = [{
    Ends with the fence that makes the initialisation visible to the async
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
  let summary = "the leader arrives once (mbarrier.arrive)";
  let description = [{
    For the whole group: what the group has done before must be complete. A wait
    for products is; reads by threads need a barrier of the group first.

    Example: `hopper.barrier.arrive %empty[%i] : !hopper.barrier<2, 3>`
  }];
  let arguments = (ins Hopper_BarrierType:$barrier, I32:$index);
  let assemblyFormat = "$barrier `[` $index `]` attr-dict `:` type($barrier)";
}

def Hopper_BarrierExpectTxOp : Hopper_OrderedOp<"barrier.expect_tx"> {
  let summary = "the leader arrives once and expects bytes (mbarrier.arrive.expect_tx)";
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
  let summary = "synchronises `threads` threads at a named barrier (bar.sync)";
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
    open the barrier, those that arrive let others go, those that synchronise
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
  let summary = "the leader starts a copy of a box into a buffer slot";
  let description = [{
    cp.async.bulk.tensor from global to shared memory. The box lands at (row,
    column) of slot `index`; its bytes count on the mbarrier. Coordinates are
    given outermost first.

    Example:
    ```mlir
    hopper.tma.load %map[%b, %h, %i, %c] to %buf[%s, %c0, %c64] signal %full[%s]
      : !hopper.tensormap<[1, 1, 80, 64], f16, 128>, !hopper.buffer<2, tensor<80x128xf16>, 128>, !hopper.barrier<2, 1>
    ```

    C1. one coordinate per dimension of the box.
    C2. map and buffer agree in element type and swizzle; a box is one block of
        columns wide.
  }];
  let arguments = (ins Hopper_TensorMapType:$map, Variadic<I32>:$coordinates,
                       Hopper_BufferType:$buffer, I32:$index, I32:$row, I32:$column,
                       Hopper_BarrierType:$barrier, I32:$barrierIndex);
  let assemblyFormat = [{
    $map `[` $coordinates `]` `to` $buffer `[` $index `,` $row `,` $column `]`
    `signal` $barrier `[` $barrierIndex `]` attr-dict
    `:` type($map) `,` type($buffer) `,` type($barrier)
  }];
  let extraClassDeclaration = [{
    ::fa3::hopper::BufferType getWindowType() { return getBuffer().getType(); }
  }];
  let hasVerifier = 1;
}

def Hopper_TmaStoreOp : Hopper_OrderedOp<"tma.store"> {
  let summary = "the leader starts a copy of a box from a buffer slot";
  let description = [{
    cp.async.bulk.tensor from shared to global memory; clips at the array. The
    column counts elements of the map, also where the buffer has others: rows
    are then taken as bytes.

    C1. one coordinate per dimension of the box.
    C2. map and buffer agree in swizzle; a box is one block of columns wide.
  }];
  let arguments = (ins Hopper_BufferType:$buffer, I32:$index, I32:$row, I32:$column,
                       Hopper_TensorMapType:$map, Variadic<I32>:$coordinates);
  let assemblyFormat = [{
    $buffer `[` $index `,` $row `,` $column `]` `to` $map `[` $coordinates `]` attr-dict
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
  let summary = "the leader closes a group of stores (cp.async.bulk.commit_group)";
  let description = [{
    The group holds the `hopper.tma.store` since the last one.
  }];
  let assemblyFormat = "attr-dict";
}

def Hopper_TmaWaitReadOp : Hopper_OrderedOp<"tma.wait_read"> {
  let summary = "the leader waits until all but `pending` groups of stores have read their source";
  let description = [{
    cp.async.bulk.wait_group.read.

    C1. pending is at least 0.
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "`pending` $pending attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

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
    only `hopper.warp_if` may use it.

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
    The region may hold per-thread arithmetic only: nothing that waits for, or
    is performed together with, other warps.

    C1. the region yields a value for each result, of its type.
    C2. the region holds no operation that has effects.
  }];
  let arguments = (ins I1:$condition, Variadic<AnyType>:$otherwise);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$condition `else` $otherwise attr-dict `:` type($results) $body";
  let hasRegionVerifier = 1;
}

def Hopper_YieldOp : Hopper_Op<"yield", [Terminator, Pure, HasParent<"WarpIfOp">]> {
  let summary = "results of a warp's branch";
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

def Hopper_FragmentStoreOp : Hopper_OrderedOp<"fragment.store", [AttrSizedOperandSegments]> {
  let summary = "writes a tile to global memory, each thread its elements";
  let description = [{
    As `hopper.fragment.load`; elements out of bounds are not written, replicated
    elements are written by one thread.

    C1. as many strides as indices, as many bounds as dimensions of the tile,
        and at least as many indices.
    C2. the value has one element per register of the fragment.
  }];
  let arguments = (ins Hopper_AnyVector:$value, Hopper_Pointer:$pointer,
                       Variadic<I32>:$indices, Variadic<I64>:$strides,
                       Variadic<I32>:$bounds, Hopper_FragmentAttr:$fragment);
  let assemblyFormat = [{
    $value `,` $pointer `[` $indices `]` `strides` `(` $strides `)` `bounds` `(` $bounds `)`
    `of` $fragment attr-dict `:` type($value)
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

include "fa3/Dialect/Hopper/IR/HopperRecordOps.td"

#endif // FA3_HOPPER_OPS
