//===- WarpEnums.td - enums of the warp dialect ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_WARP_ENUMS
#define FA3_WARP_ENUMS

include "mlir/IR/EnumAttr.td"

def Warp_Side : I32EnumAttr<"Side", "the end of a ring a cursor or slot belongs to", [
  I32EnumAttrCase<"read", 0>, I32EnumAttrCase<"write", 1>,
]> { let cppNamespace = "::fa3::warp"; }

def Warp_Scope : I32EnumAttr<"Scope", "who shares a ring", [
  I32EnumAttrCase<"cta", 0>, I32EnumAttrCase<"cluster", 1>,
]> { let cppNamespace = "::fa3::warp"; }

#endif // FA3_WARP_ENUMS
