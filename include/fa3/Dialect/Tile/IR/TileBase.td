//===- TileBase.td - the tile dialect ----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TILE_BASE
#define FA3_TILE_BASE

include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::fa3::tile";
  let summary = "how one CTA computes: tiles, loops, asynchronous products";
  let description = [{
    Programs of one CTA on *tiles*: statically shaped tensors of rank 1 or 2.
    Element work is `arith` and `math` on these tensors, control flow is `scf`,
    global arrays are memrefs. What the tile dialect adds is what those lack:
    loads and stores of tiles, matrix products, reductions and broadcasts,
    coordinates, and the asynchronous forms that use `warp` rings.

    A tile without encoding has no layout yet. With an encoding
    (`#tile.acc`, `#tile.slice`, `#tile.smem`) it says where its elements live.

    A kernel is a `gpu.func` whose body holds one `tile.grid`, until
    `tile-map-grid` turns it into block indices; `tile.launch` in a host
    function says what it is called with.
  }];
  let dependentDialects = ["::fa3::warp::WarpDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Role of an operation, advisory: "load" or "math". Set by
    /// tile-assign-roles, consumed by tile-specialize.
    static constexpr ::llvm::StringLiteral kRoleAttrName = "tile.role";
    /// Stage and position of an operation in its loop's pipeline, advisory.
    /// Set by tile-schedule, consumed by tile-pipeline.
    static constexpr ::llvm::StringLiteral kSlottingAttrName = "tile.slotting";
    /// Name of a function argument or result in the launch contract.
    static constexpr ::llvm::StringLiteral kNameAttrName = ::fa3::kArgumentNameAttr;
    /// Names of the dimensions of a memref argument in the launch contract.
    static constexpr ::llvm::StringLiteral kDimsAttrName = ::fa3::kArgumentDimsAttr;
  }];
}

#endif // FA3_TILE_BASE
