//===- HopperOps.td - operations of the hopper dialect -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_HOPPER_OPS
#define FA3_HOPPER_OPS

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Dialect/LLVMIR/LLVMTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "fa3/Dialect/Warp/IR/WarpTypes.td"
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
  let summary = "the elected thread claims the tile after `tile` (atomic add)";
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
  let summary = "the elected thread writes a number into a slot";
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

include "fa3/Dialect/Hopper/IR/HopperSmemOps.td"
include "fa3/Dialect/Hopper/IR/HopperProductOps.td"
include "fa3/Dialect/Hopper/IR/HopperFragmentOps.td"
include "fa3/Dialect/Hopper/IR/HopperExactOps.td"
include "fa3/Dialect/Hopper/IR/HopperProgressOps.td"
include "fa3/Dialect/Hopper/IR/HopperFlagOps.td"
include "fa3/Dialect/Hopper/IR/HopperRecordOps.td"

#endif // FA3_HOPPER_OPS
