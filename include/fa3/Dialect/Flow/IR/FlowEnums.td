//===- FlowEnums.td - enums of the flow dialect ------------*- tablegen -*-===//

#ifndef FA3_FLOW_ENUMS
#define FA3_FLOW_ENUMS

include "mlir/IR/EnumAttr.td"

def Flow_Side : I32EnumAttr<"Side", "the end of a ring a cursor or slot belongs to", [
  I32EnumAttrCase<"read", 0>, I32EnumAttrCase<"write", 1>,
]> { let cppNamespace = "::fa3::flow"; }

def Flow_Scope : I32EnumAttr<"Scope", "who shares a ring", [
  I32EnumAttrCase<"cta", 0>, I32EnumAttrCase<"cluster", 1>,
]> { let cppNamespace = "::fa3::flow"; }

#endif // FA3_FLOW_ENUMS
