// RUN: fa3-run --cpu %s --dims m=200,n=50,k=70 --against %S/Inputs/gemm-reference.mlir | FileCheck %s
// One block does all tiles; a block per tile.
// RUN: fa3-run --cpu %s --dims m=200,n=50,k=70 --sms 1 --against %S/Inputs/gemm-reference.mlir | FileCheck %s
// RUN: fa3-run --cpu %s --dims m=200,n=50,k=70 --sms 99 --schedule-seed 1 --against %S/Inputs/gemm-reference.mlir | FileCheck %s

// CHECK: c: max abs 0, max rel 0, rms 0

// A loading group feeds two copies of a computing group through a ring whose
// entries hold a tile of each operand.
!b = memref<?x?xf16, strided<[?, ?]>>
!A = tensor<128x16xf16>
!B = tensor<16x24xf16>
gpu.module @kernels {
  gpu.func @gemm(%a: memref<?x?xf16>, %b: !b, %c: memref<?x?xf32>, %tiles: index, %tn: index, %tk: index) kernel {
    %ring = warp.ring : !warp.ring<2, [!A, !B]>
    %first = gpu.block_id x
    %step = gpu.grid_dim x
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c16 = arith.constant 16 : index
        %c24 = arith.constant 24 : index
        %c128 = arith.constant 128 : index
        %cur = warp.cursor write %ring : !warp.ring<2, [!A, !B]>
        %end = scf.for %t = %first to %tiles step %step iter_args(%w0 = %cur) -> (!warp.cursor<write>) {
          %i = arith.divui %t, %tn : index
          %j = arith.remui %t, %tn : index
          %i0 = arith.muli %i, %c128 : index
          %j0 = arith.muli %j, %c24 : index
          %w = scf.for %l = %c0 to %tk step %c1 iter_args(%w1 = %w0) -> (!warp.cursor<write>) {
            %l0 = arith.muli %l, %c16 : index
            %s, %next = warp.acquire %ring[%w1] : !warp.ring<2, [!A, !B]>, !warp.cursor<write>
            %va = tile.view %s[%c0, %c0] : !warp.slot<write, [!A, !B]> -> !tile.view<!A>
            %vb = tile.view %s[%c0, %c0] field 1 : !warp.slot<write, [!A, !B]> -> !tile.view<!B>
            %x = tile.load %a[%i0, %l0] : memref<?x?xf16> -> !A
            %y = tile.load %b[%l0, %j0] : !b -> !B
            tile.write %x, %va : !A, !tile.view<!A>
            tile.write %y, %vb : !B, !tile.view<!B>
            warp.publish %s : !warp.slot<write, [!A, !B]>
            scf.yield %next : !warp.cursor<write>
          }
          scf.yield %w : !warp.cursor<write>
        }
      }
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c24 = arith.constant 24 : index
        %c64 = arith.constant 64 : index
        %c128 = arith.constant 128 : index
        %zero = arith.constant dense<0.0> : tensor<64x24xf32>
        %half = arith.muli %g, %c64 : index
        %cur = warp.cursor read %ring : !warp.ring<2, [!A, !B]>
        %end = scf.for %t = %first to %tiles step %step iter_args(%r0 = %cur) -> (!warp.cursor<read>) {
          %i = arith.divui %t, %tn : index
          %j = arith.remui %t, %tn : index
          %i1 = arith.muli %i, %c128 : index
          %i0 = arith.addi %i1, %half : index
          %j0 = arith.muli %j, %c24 : index
          %r, %sum = scf.for %l = %c0 to %tk step %c1 iter_args(%r1 = %r0, %acc = %zero) -> (!warp.cursor<read>, tensor<64x24xf32>) {
            %s, %next = warp.acquire %ring[%r1] : !warp.ring<2, [!A, !B]>, !warp.cursor<read>
            %va = tile.view %s[%half, %c0] : !warp.slot<read, [!A, !B]> -> !tile.view<tensor<64x16xf16>>
            %vb = tile.view %s[%c0, %c0] field 1 : !warp.slot<read, [!A, !B]> -> !tile.view<!B>
            %d = tile.dot %va, %vb, %acc lhs mk rhs kn : !tile.view<tensor<64x16xf16>>, !tile.view<!B> -> tensor<64x24xf32>
            warp.release %s : !warp.slot<read, [!A, !B]>
            scf.yield %next, %d : !warp.cursor<read>, tensor<64x24xf32>
          }
          tile.store %sum, %c[%i0, %j0] : tensor<64x24xf32>, memref<?x?xf32>
          scf.yield %r : !warp.cursor<read>
        }
      }
    }
    gpu.return
  }
}

func.func @gemm(%a: memref<?x?xf16> {tile.name = "a", tile.dims = ["m", "k"]},
                %b: !b {tile.name = "b", tile.dims = ["k", "n"]},
                %c: memref<?x?xf32> {tile.name = "c", tile.dims = ["m", "n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %c128 = arith.constant 128 : index
  %m = memref.dim %a, %c0 : memref<?x?xf16>
  %k = memref.dim %a, %c1 : memref<?x?xf16>
  %n = memref.dim %b, %c1 : !b
  %tm = arith.ceildivsi %m, %c128 : index
  %tn = arith.ceildivsi %n, %c24 : index
  %tk = arith.ceildivsi %k, %c16 : index
  %tiles = arith.muli %tm, %tn : index
  %p = tile.sm_count
  %blocks = arith.minsi %p, %tiles : index
  tile.launch @kernels::@gemm blocks %blocks args(%a, %b, %c, %tiles, %tn, %tk : memref<?x?xf16>, !b, memref<?x?xf32>, index, index, index)
  return
}
