// RUN: fa3-run --cpu %s --dims m=200,n=50,k=70 --against %S/Inputs/gemm-reference.mlir | FileCheck %s
// RUN: fa3-run --cpu %s --dims m=200,n=50,k=70 --completion eager --against %S/Inputs/gemm-reference.mlir | FileCheck %s
// RUN: fa3-run --cpu %s --dims m=200,n=50,k=70 --completion random --schedule-seed 1 --against %S/Inputs/gemm-reference.mlir | FileCheck %s
// RUN: fa3-run --cpu %s --dims m=200,n=50,k=16 --completion random --schedule-seed 2 --against %S/Inputs/gemm-reference.mlir | FileCheck %s

// CHECK: c: max abs 0, max rel 0, rms 0

// Asynchronous loads and a chain of asynchronous products.
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
            tile.load.async %a[%i0, %l0], %va : memref<?x?xf16>, !tile.view<!A>
            tile.load.async %b[%l0, %j0], %vb : !b, !tile.view<!B>
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
          // Entry l is released when product l + 1 has been issued: one product
          // stays in flight, and the accumulator never leaves the chain.
          %s0, %r1 = warp.acquire %ring[%r0] : !warp.ring<2, [!A, !B]>, !warp.cursor<read>
          %va0 = tile.view %s0[%half, %c0] : !warp.slot<read, [!A, !B]> -> !tile.view<tensor<64x16xf16>>
          %vb0 = tile.view %s0[%c0, %c0] field 1 : !warp.slot<read, [!A, !B]> -> !tile.view<!B>
          %p0, %d0 = tile.dot.async %va0, %vb0, %zero lhs mk rhs kn
            : !tile.view<tensor<64x16xf16>>, !tile.view<!B>, tensor<64x24xf32> -> !tile.pending<tensor<64x24xf32>>
          %r, %pend, %slot, %done = scf.for %l = %c1 to %tk step %c1
              iter_args(%r2 = %r1, %p1 = %p0, %s1 = %s0, %d1 = %d0)
              -> (!warp.cursor<read>, !tile.pending<tensor<64x24xf32>>, !warp.slot<read, [!A, !B]>, !warp.done) {
            %s, %next = warp.acquire %ring[%r2] : !warp.ring<2, [!A, !B]>, !warp.cursor<read>
            %va = tile.view %s[%half, %c0] : !warp.slot<read, [!A, !B]> -> !tile.view<tensor<64x16xf16>>
            %vb = tile.view %s[%c0, %c0] field 1 : !warp.slot<read, [!A, !B]> -> !tile.view<!B>
            %p, %d = tile.dot.async %va, %vb, %p1 lhs mk rhs kn
              : !tile.view<tensor<64x16xf16>>, !tile.view<!B>, !tile.pending<tensor<64x24xf32>> -> !tile.pending<tensor<64x24xf32>>
            warp.release %s1 after %d1 : !warp.slot<read, [!A, !B]>
            scf.yield %next, %p, %s, %d : !warp.cursor<read>, !tile.pending<tensor<64x24xf32>>, !warp.slot<read, [!A, !B]>, !warp.done
          }
          warp.release %slot after %done : !warp.slot<read, [!A, !B]>
          %sum = tile.await %pend : !tile.pending<tensor<64x24xf32>>
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
