//===- WarpTypes.td - types of the warp dialect ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_WARP_TYPES
#define FA3_WARP_TYPES

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "fa3/Dialect/Warp/IR/WarpBase.td"
include "fa3/Dialect/Warp/IR/WarpEnums.td"
include "fa3/Dialect/Warp/IR/WarpInterfaces.td"


class Warp_Type<string name, string mnem, list<Trait> traits = []>
    : TypeDef<Warp_Dialect, name, traits> {
  let mnemonic = mnem;
}

def Warp_RingType : Warp_Type<"Ring", "ring"> {
  let summary = "bounded FIFO of entries in shared memory";
  let description = [{
    `depth` entries; an entry is a tuple of `payload` types (tensors, scalars).
    `parts` single writers each fill a disjoint part of every entry; readers see
    an entry once all parts are published, a writer reuses it once every reader
    has released it. `initial` entries are readable from the start.

    Examples: `!warp.ring<2, [tensor<80x128xf16>]>`,
    `!warp.ring<1, [tensor<64x64xf16>], parts = 2, initial = 1>`.

    C1. depth is at least 1.
    C2. the payload is not empty; its types are statically shaped tensors,
        integers, index, or `!warp.token`.
    C3. parts is at least 1.
    C4. initial is between 0 and depth.
    C5. scope `cluster` is not supported yet.
  }];
  let parameters = (ins "int64_t":$depth,
                        ArrayRefParameter<"::mlir::Type">:$payload,
                        DefaultValuedParameter<"int64_t", "1">:$parts,
                        DefaultValuedParameter<"int64_t", "0">:$initial,
                        DefaultValuedParameter<"::fa3::warp::Scope", "::fa3::warp::Scope::cta">:$scope);
  let assemblyFormat = [{
    `<` $depth `,` `[` $payload `]` `` custom<RingOptions>($parts, $initial, $scope) `` `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of shared memory of one entry; 0 for scalars and tokens.
    int64_t getEntryBytes() const;
    /// This type with another depth or payload.
    RingType withDepth(int64_t depth) const;
    RingType withPayload(::llvm::ArrayRef<::mlir::Type> payload) const;
  }];
}

def Warp_CursorType : Warp_Type<"Cursor", "cursor",
    [DeclareTypeInterfaceMethods<Warp_LinearTypeInterface>]> {
  let summary = "position in a ring: how many entries were acquired so far";
  let description = [{
    Affine: used by at most one acquire on every path. Example:
    `!warp.cursor<read>`.
  }];
  let parameters = (ins "::fa3::warp::Side":$side);
  let assemblyFormat = "`<` $side `>`";
}

def Warp_SlotType : Warp_Type<"Slot", "slot",
    [DeclareTypeInterfaceMethods<Warp_LinearTypeInterface>]> {
  let summary = "a held entry of a ring";
  let description = [{
    Linear: a write slot is published and a read slot released exactly once on
    every path. Example: `!warp.slot<read, [tensor<80x128xf16>]>`.

    C1. the payload is that of a ring (C2 there).
  }];
  let parameters = (ins "::fa3::warp::Side":$side,
                        ArrayRefParameter<"::mlir::Type">:$payload);
  let assemblyFormat = "`<` $side `,` `[` $payload `]` `>`";
  let genVerifyDecl = 1;
}

def Warp_DoneType : Warp_Type<"Done", "done"> {
  let summary = "completion of an asynchronous operation";
  let description = [{
    A freely copyable token. Who releases a slot names the tokens of all
    asynchronous operations that touched it, so early release cannot be written.
  }];
}

def Warp_TokenType : Warp_Type<"Token", "token"> {
  let summary = "payload of a ring that carries order and no data";
}

def Warp_OrderedBarrierType : Warp_Type<"OrderedBarrier", "ordered_barrier"> {
  let summary = "the order in which the replicas of a group take turns";
  let description = [{
    Replica 0 has the first turn; who passes it gives it to the next replica,
    the last one to replica 0 again. Example: `!warp.ordered_barrier`.
  }];
}

def Warp_TurnType : Warp_Type<"Turn", "turn",
    [DeclareTypeInterfaceMethods<Warp_LinearTypeInterface>]> {
  let summary = "a turn that a replica has taken";
  let description = [{
    Linear: passed exactly once on every path. Example: `!warp.turn`.
  }];
}

#endif // FA3_WARP_TYPES
