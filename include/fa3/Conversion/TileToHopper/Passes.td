//===- Passes.td - tile-to-hopper --------------------------*- tablegen -*-===//

#ifndef FA3_CONVERSION_TILETOHOPPER_PASSES
#define FA3_CONVERSION_TILETOHOPPER_PASSES

include "mlir/Pass/PassBase.td"

def TileToHopper : Pass<"tile-to-hopper", "::mlir::ModuleOp"> {
  let summary = "laid-out tiles and rings -> fragments, buffers and mbarriers";
  let description = [{
    Input: kernels whose tiles have register layouts and whose rings have shared
    memory layouts, and host functions with `tile.launch`.

    Output: kernels in the hopper dialect. Tiles become vectors of the registers
    of one thread, index values 32-bit integers. A ring between groups becomes a
    buffer and two arrays of mbarriers: *full*, completed by one arrival and the
    bytes of the copies, and *empty*, completed by one arrival per replica that
    reads; a cursor becomes a slot number and a parity. A ring inside a group
    stages stores: its writers and the bulk store are ordered by a named barrier
    of the replica. Kernel arguments become tensor maps, addresses, extents and
    strides, as used; `hopper.launch` computes them from the memrefs.

    Fails on what a Hopper SM has no instruction for: products whose extents
    wgmma does not take, rings that are not filled by bulk copies, tiles that
    cross warps in a reduction.
  }];
  let dependentDialects = [
    "::fa3::hopper::HopperDialect", "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

#endif // FA3_CONVERSION_TILETOHOPPER_PASSES
