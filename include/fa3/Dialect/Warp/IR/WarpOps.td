//===- WarpOps.td - operations of the warp dialect ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_WARP_OPS
#define FA3_WARP_OPS

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "fa3/Dialect/Warp/IR/WarpTypes.td"

/// State of rings: makes acquire, publish and release ordered effects.
def Warp_State : Resource<"::fa3::warp::StateResource">;

class Warp_Op<string mnemonic, list<Trait> traits = []>
    : Op<Warp_Dialect, mnemonic, traits>;

def Warp_RingOp : Warp_Op<"ring", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "creates a ring";
  let description = [{
    Allocates the entries of a ring. A ring outside `warp.specialize` joins the
    groups that have cursors on it. A ring created inside a group is private to
    each replica of the group.

    Example:
    ```mlir
    %k = warp.ring : !warp.ring<2, [tensor<80x128xf16>]>
    ```
  }];
  let results = (outs Warp_RingType:$ring);
  let assemblyFormat = "attr-dict `:` type($ring)";
}

def Warp_CursorOp : Warp_Op<"cursor", [
    InferTypeOpAdaptor,
    MemoryEffects<[MemRead<Warp_State>, MemWrite<Warp_State>]>]> {
  let summary = "the first position of a group in a ring";
  let description = [{
    The position is threaded from here through the group's control flow.

    Example:
    ```mlir
    %c = warp.cursor read %k : !warp.ring<2, [tensor<80x128xf16>]>
    ```

    With `leader` replica 0 writes for all replicas of the group: in the others
    an acquire through the cursor waits for nothing and gives the next position,
    and what is done with its slot has no effect. With `each` every replica writes
    a part of its own, `part` plus its number.

    C1. part is less than the ring's parts, and 0 on the read side.
    C2. it is the only one of its group on this side (and part, for writers) of
        the ring: a second would fork the position.
    C3. `leader` is on the write side, of a ring between replicas: not of one
        that is declared in the group.
    C4. so is `each`, without `leader`; the ring has a part for every replica.
  }];
  let arguments = (ins Warp_Side:$side, Warp_RingType:$ring,
                       DefaultValuedAttr<I64Attr, "0">:$part,
                       UnitAttr:$leader, UnitAttr:$each);
  let results = (outs Warp_CursorType:$cursor);
  let assemblyFormat = "$side $ring (`part` $part^)? (`leader` $leader^)? (`each` $each^)? attr-dict `:` type($ring)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$ring, "::fa3::warp::Side":$side)>];
  let extraClassDeclaration = [{
    /// Whether replica `replica` of the group does what the cursor is used for.
    bool isActive(int64_t replica) { return !getLeader() || replica == 0; }
    /// The part that replica `replica` of the group writes.
    int64_t getPartOf(int64_t replica) { return getPart() + (getEach() ? replica : 0); }
  }];
}

def Warp_AcquireOp : Warp_Op<"acquire", [
    InferTypeOpAdaptor,
    MemoryEffects<[MemRead<Warp_State>, MemWrite<Warp_State>]>]> {
  let summary = "waits for the entry at a cursor";
  let description = [{
    Read side: blocks until every part of the entry is published. Write side:
    blocks until every reader has released what the entry held `depth` entries
    ago. Gives the slot and the next position.

    Example:
    ```mlir
    %slot, %next = warp.acquire %k[%c] : !warp.ring<2, [tensor<80x128xf16>]>, !warp.cursor<read>
    ```

    C1. the cursor stems from a `warp.cursor` of the same ring (checked where it
        can be followed through structured control flow).
  }];
  let arguments = (ins Warp_RingType:$ring, Warp_CursorType:$cursor);
  let results = (outs Warp_SlotType:$slot, Warp_CursorType:$next);
  let assemblyFormat = "$ring `[` $cursor `]` attr-dict `:` type($ring) `,` type($cursor)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::fa3::warp::Side getSide() { return getCursor().getType().getSide(); }
  }];
}

def Warp_PublishOp : Warp_Op<"publish", [
    MemoryEffects<[MemRead<Warp_State>, MemWrite<Warp_State>]>]> {
  let summary = "hands a filled entry to the readers";
  let description = [{
    The entry becomes readable when everything that was issued into it before
    this point has landed; the writer does not wait for that.

    Example: `warp.publish %slot : !warp.slot<write, [tensor<80x128xf16>]>`

    C1. the slot is a write slot.
  }];
  let arguments = (ins Warp_SlotType:$slot);
  let assemblyFormat = "$slot attr-dict `:` type($slot)";
  let hasVerifier = 1;
}

def Warp_ReleaseOp : Warp_Op<"release", [
    MemoryEffects<[MemRead<Warp_State>, MemWrite<Warp_State>]>]> {
  let summary = "hands a read entry back to the writer";
  let description = [{
    Waits for the completion tokens, then gives the entry back. The tokens are
    those of every asynchronous operation that viewed the slot; asynchronous
    products retire in order, so the token of the last one suffices for all.

    Example: `warp.release %slot after %done : !warp.slot<read, [tensor<80x128xf16>]>`

    C1. the slot is a read slot.
    C2. every asynchronous operation that borrowed the slot through a view is
        covered by a token in `after` (checked within the block of the acquire).
  }];
  let arguments = (ins Warp_SlotType:$slot, Variadic<Warp_DoneType>:$after);
  let assemblyFormat = "$slot (`after` $after^)? attr-dict `:` type($slot)";
  let hasVerifier = 1;
}

def Warp_ReadyOp : Warp_Op<"ready", [Pure]> {
  let summary = "a token of something already complete";
  let description = [{ The start value of tokens that a loop carries. }];
  let results = (outs Warp_DoneType:$done);
  let assemblyFormat = "attr-dict";
}

def Warp_OrderedBarrierOp : Warp_Op<"ordered_barrier", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "creates an order in which replicas take turns";
  let description = [{
    Lets the replicas of one group do something one after another, round and
    round: replica 0 first, then 1, and after the last one 0 again. A ring of
    tokens orders two groups; its entries look alike to all replicas of a group,
    which is why these need an order of their own.

    Example: `%order = warp.ordered_barrier`

    C1. all turns of it are taken by one group.
  }];
  let results = (outs Warp_OrderedBarrierType:$order);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Warp_TakeTurnOp : Warp_Op<"take_turn", [
    MemoryEffects<[MemRead<Warp_State>, MemWrite<Warp_State>]>]> {
  let summary = "waits for the turn of this replica";
  let description = [{
    Blocks until the replica before has passed as many turns as this one takes,
    replica 0 one less: every replica has to take as many turns. Whoever waits
    for something else while it has the turn keeps the others waiting, so what
    needs an entry of a ring acquires it first.

    Example: `%turn = warp.take_turn %order`

    C1. it is in a group of at least 2 replicas.
    C2. the order is created outside the group.
  }];
  let arguments = (ins Warp_OrderedBarrierType:$order);
  let results = (outs Warp_TurnType:$turn);
  let assemblyFormat = "$order attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The 'warp.ordered_barrier' it takes a turn of; null if that cannot be followed.
    OrderedBarrierOp getOrderedBarrier();
  }];
}

def Warp_PassTurnOp : Warp_Op<"pass_turn", [
    MemoryEffects<[MemRead<Warp_State>, MemWrite<Warp_State>]>]> {
  let summary = "gives the turn to the next replica";
  let description = [{
    What was issued before is issued; it need not be complete.

    Example: `warp.pass_turn %turn`

    C1. the turn is the result of a `warp.take_turn` in the same block.
  }];
  let arguments = (ins Warp_TurnType:$turn);
  let assemblyFormat = "$turn attr-dict";
  let hasVerifier = 1;
}

def Warp_WaitOp : Warp_Op<"wait", [
    MemoryEffects<[MemRead<Warp_State>, MemWrite<Warp_State>]>]> {
  let summary = "waits for completion tokens";
  let description = [{
    When it returns, the asynchronous operations have read their slots, which
    the group still holds and may write again.

    Example: `warp.wait %done`
  }];
  let arguments = (ins Variadic<Warp_DoneType>:$tokens);
  let assemblyFormat = "$tokens attr-dict";
}

def Warp_SpecializeOp : Warp_Op<"specialize", [
    NoRegionArguments, NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "groups of warps that run side by side";
  let description = [{
    The groups run concurrently; the operation ends when all have ended. Values
    of the surrounding code may be captured if they are scalars, memory or
    rings; tile values and linear values may not, they would be silent reads
    across groups.

    Example:
    ```mlir
    warp.specialize {
      warp.group @load warps 1 { ... }
      warp.group @math warps 4 replicas 2 (%g) { ... }
    }
    ```

    C1. holds only `warp.group` operations, at least one, with distinct names.
    C2. a captured value is neither a tensor nor of a linear type.
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Warp_GroupOp : Warp_Op<"group", [
    HasParent<"SpecializeOp">, SingleBlockImplicitTerminator<"EndOp">,
    RecursiveMemoryEffects]> {
  let summary = "code of one group of warps, in one or more replicas";
  let description = [{
    `replicas` copies of the region run, each on `warps` warps of its own; the
    block argument is the number of the copy. `at` is the first warp of copy 0;
    a packing pass sets it, the copies follow each other.

    C1. warps is 1, 2 or a multiple of 4 (a warp group).
    C2. replicas is at least 1.
    C3. the body has one argument of type index.
    C4. linear values are consumed once on every path (cursors at most once),
        no loop body captures one, and `arith.select` does not choose between
        them.
    C5. the first warp is at least 0 and, for warp groups, a multiple of 4.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$warps,
                       DefaultValuedAttr<I64Attr, "1">:$replicas,
                       OptionalAttr<I64Attr>:$first_warp);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "int64_t":$warps,
                                 "int64_t":$replicas)>];
  let extraClassDeclaration = [{
    ::mlir::Value getReplica() { return getBody().getArgument(0); }
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
    /// Whether one replica writes for all: a cursor of the group is `leader`.
    bool hasLeader();
  }];
}

def Warp_EndOp : Warp_Op<"end", [Terminator, HasParent<"GroupOp">, Pure]> {
  let summary = "end of a group";
  let assemblyFormat = "attr-dict";
}

#endif // FA3_WARP_OPS
