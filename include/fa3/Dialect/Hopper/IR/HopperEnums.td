//===- HopperEnums.td - enums of the hopper dialect --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_HOPPER_ENUMS
#define FA3_HOPPER_ENUMS

include "mlir/IR/EnumAttr.td"

class Hopper_Enum<string name, string description, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, description, cases> {
  let cppNamespace = "::fa3::hopper";
}

def Hopper_Major : Hopper_Enum<"Major",
    "dimension of a wgmma operand that is contiguous in shared memory", [
  I32EnumAttrCase<"k", 0>, I32EnumAttrCase<"mn", 1>]>;
def Hopper_Combine : Hopper_Enum<"Combine", "combining function of a reduction", [
  I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"max", 1>]>;

#endif // FA3_HOPPER_ENUMS
