//===- Passes.td - tile-to-hopper --------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_CONVERSION_TILETOHOPPER_PASSES
#define FA3_CONVERSION_TILETOHOPPER_PASSES

include "mlir/Pass/PassBase.td"
include "fa3/Options/Effects.td"

def TileToHopper : Pass<"tile-to-hopper", "::mlir::ModuleOp">, Reorders {
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
    of the replica. A ring of tokens (turns) becomes mbarriers alone; if all of
    its entries are initial, the reader is the one whose first lap never blocks.
    Turns of replicas become named barriers, one per replica: taking a turn waits
    there, passing it arrives at that of the next replica.
    Kernel arguments become tensor maps, addresses, extents and
    strides, as used; `hopper.launch` computes them from the memrefs.

    A kernel whose name is no identifier of PTX is renamed: `a.b` becomes `a_b`.
    The host function, whose name the manifest gives, keeps its own.

    A load that brings rows in another order becomes copies of a few rows each.
    The tensor map splits the array's rows into dimensions (`memref.expand_shape`
    on the host, which demands whole blocks of rows) along which a box steps:
    [0, 2, 3, 1] on an array of rank 4 takes boxes of 4 x 2 rows, 4 apart and
    adjacent, eight at a time.

    Example, a writer:
    ```mlir
    %slot, %next = warp.acquire %ring[%c]   %w = tile.view %slot[%c0, %c0]
    tile.load.async %K[%b, %h, %j, %c0], %w
    warp.publish %slot
    // becomes, for entries of 80x64 f16
    hopper.barrier.wait %empty[%i] parity %p : !hopper.barrier<2, 3>
    hopper.barrier.expect_tx %full[%i], 10240 : !hopper.barrier<2, 1>
    hopper.tma.load %map[%b, %h, %j, %c0] to %buffer[%i, %c0, %c0] signal %full[%i] : ...
    ```

    Fails on what a Hopper SM has no instruction for: products whose extents
    wgmma does not take, rings that are not filled by bulk copies, tiles that
    cross warps in a reduction. And on stores to an array that `tile.scalar_load`
    reads in the same kernel, which it promises not to be written.
  }];
  let dependentDialects = [
    "::fa3::hopper::HopperDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
  let statistics = [
    Statistic<"numBarriers", "mbarriers", "mbarriers made">
  ];
}

#endif // FA3_CONVERSION_TILETOHOPPER_PASSES
