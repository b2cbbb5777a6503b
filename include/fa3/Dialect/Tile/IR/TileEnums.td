//===- TileEnums.td - enums of the tile dialect ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TILE_ENUMS
#define FA3_TILE_ENUMS

include "mlir/IR/EnumAttr.td"

class Tile_Enum<string name, string description, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, description, cases> {
  let cppNamespace = "::fa3::tile";
}

def Tile_LhsOrder : Tile_Enum<"LhsOrder",
    "order of the dimensions of a product's left operand", [
  I32EnumAttrCase<"mk", 0>, I32EnumAttrCase<"km", 1>]>;
def Tile_RhsOrder : Tile_Enum<"RhsOrder",
    "order of the dimensions of a product's right operand", [
  I32EnumAttrCase<"kn", 0>, I32EnumAttrCase<"nk", 1>]>;
def Tile_ReduceKind : Tile_Enum<"ReduceKind",
    "combining function of a reduction", [
  I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"max", 1>]>;

#endif // FA3_TILE_ENUMS
