//===- AttentionEnums.td - enums of attention --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_ATTENTION_ENUMS
#define FA3_ATTENTION_ENUMS

include "mlir/IR/EnumAttr.td"

def Attention_Layout : I32EnumAttr<"Layout", "order of batch, head and sequence dimensions", [
  I32EnumAttrCase<"bhsd", 0>, I32EnumAttrCase<"bshd", 1>,
]> { let cppNamespace = "::fa3::attention"; }

def Attention_Sequence : I32EnumAttr<"Sequence", "one of the two sequences", [
  I32EnumAttrCase<"query", 0>, I32EnumAttrCase<"key", 1>,
]> { let cppNamespace = "::fa3::attention"; }

def Attention_Alignment : I32EnumAttr<"Alignment", "which ends of the sequences stand together", [
  I32EnumAttrCase<"bottom_right", 0>, I32EnumAttrCase<"top_left", 1>,
]> { let cppNamespace = "::fa3::attention"; }

#endif // FA3_ATTENTION_ENUMS
