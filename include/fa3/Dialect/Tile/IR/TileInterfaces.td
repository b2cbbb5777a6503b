//===- TileInterfaces.td - what tile asks of layouts -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TILE_INTERFACES
#define FA3_TILE_INTERFACES

include "mlir/IR/OpBase.td"

def Tile_LayoutAttrInterface : AttrInterface<"LayoutAttrInterface"> {
  let cppNamespace = "::fa3::tile";
  let description = [{
    A tensor encoding that distributes a tile over the registers of a warp
    group. Two encodings mean the same layout when their normal forms are equal.
  }];
  let methods = [
    InterfaceMethod<
      "The normal form for a tile of this shape and element width in bits; "
      "empty if the layout does not exist for it.",
      "::std::optional<::fa3::LinearLayout>", "toLinear",
      (ins "::llvm::ArrayRef<int64_t>":$shape, "unsigned":$bits)>,
  ];
}

#endif // FA3_TILE_INTERFACES
