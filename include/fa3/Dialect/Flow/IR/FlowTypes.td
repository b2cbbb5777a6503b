//===- FlowTypes.td - types of the flow dialect ------------*- tablegen -*-===//

#ifndef FA3_FLOW_TYPES
#define FA3_FLOW_TYPES

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "fa3/Dialect/Flow/IR/FlowBase.td"
include "fa3/Dialect/Flow/IR/FlowEnums.td"
include "fa3/Dialect/Flow/IR/FlowInterfaces.td"


class Flow_Type<string name, string mnem, list<Trait> traits = []>
    : TypeDef<Flow_Dialect, name, traits> {
  let mnemonic = mnem;
}

def Flow_RingType : Flow_Type<"Ring", "ring"> {
  let summary = "bounded FIFO of entries in shared memory";
  let description = [{
    `depth` entries; an entry is a tuple of `payload` types (tensors, scalars).
    `parts` single writers each fill a disjoint part of every entry; readers see
    an entry once all parts are published, a writer reuses it once every reader
    has released it. `initial` entries are readable from the start.

    Examples: `!flow.ring<2, [tensor<80x128xf16>]>`,
    `!flow.ring<1, [tensor<64x64xf16>], parts = 2, initial = 1>`.

    C1. depth is at least 1.
    C2. the payload is not empty; its types are statically shaped tensors,
        integers, index, or `!flow.token`.
    C3. parts is at least 1.
    C4. initial is between 0 and depth.
    C5. scope `cluster` is not supported yet.
  }];
  let parameters = (ins "int64_t":$depth,
                        ArrayRefParameter<"::mlir::Type">:$payload,
                        DefaultValuedParameter<"int64_t", "1">:$parts,
                        DefaultValuedParameter<"int64_t", "0">:$initial,
                        DefaultValuedParameter<"::fa3::flow::Scope", "::fa3::flow::Scope::cta">:$scope);
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

def Flow_CursorType : Flow_Type<"Cursor", "cursor",
    [DeclareTypeInterfaceMethods<Flow_LinearTypeInterface>]> {
  let summary = "position in a ring: how many entries were acquired so far";
  let description = [{
    Affine: used by at most one acquire on every path. Example:
    `!flow.cursor<read>`.
  }];
  let parameters = (ins "::fa3::flow::Side":$side);
  let assemblyFormat = "`<` $side `>`";
}

def Flow_SlotType : Flow_Type<"Slot", "slot",
    [DeclareTypeInterfaceMethods<Flow_LinearTypeInterface>]> {
  let summary = "a held entry of a ring";
  let description = [{
    Linear: a write slot is published and a read slot released exactly once on
    every path. Example: `!flow.slot<read, [tensor<80x128xf16>]>`.

    C1. the payload is that of a ring (C2 there).
  }];
  let parameters = (ins "::fa3::flow::Side":$side,
                        ArrayRefParameter<"::mlir::Type">:$payload);
  let assemblyFormat = "`<` $side `,` `[` $payload `]` `>`";
  let genVerifyDecl = 1;
}

def Flow_DoneType : Flow_Type<"Done", "done"> {
  let summary = "completion of an asynchronous operation";
  let description = [{
    A freely copyable token. Who releases a slot names the tokens of all
    asynchronous operations that touched it, so early release cannot be written.
  }];
}

def Flow_TokenType : Flow_Type<"Token", "token"> {
  let summary = "payload of a ring that carries order and no data";
}

def Flow_OrderType : Flow_Type<"Order", "order"> {
  let summary = "the order in which the replicas of a group take turns";
  let description = [{
    Replica 0 has the first turn; who passes it gives it to the next replica,
    the last one to replica 0 again. Example: `!flow.order`.
  }];
}

def Flow_TurnType : Flow_Type<"Turn", "turn",
    [DeclareTypeInterfaceMethods<Flow_LinearTypeInterface>]> {
  let summary = "a turn that a replica has taken";
  let description = [{
    Linear: passed exactly once on every path. Example: `!flow.turn`.
  }];
}

#endif // FA3_FLOW_TYPES
