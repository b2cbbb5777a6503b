// Rows that end anywhere, of tiles in pieces: each has as many as are left for it. And of tiles that
// threads load, in part.
// DEFINE: %{small} = fa3-run --cpu %s --distribution=uniform
// RUN: %{small} --function=pieces --dims m=70,k=104,p0=90,blocks=16,n=48 --pages=list=wild --scalar count=59 --check-each-pass | FileCheck %s --check-prefix=SAME
// RUN: %{small} --function=pieces --dims m=70,k=104,p0=90,blocks=16,n=48 --pages=list=wild --scalar count=-1 --check-each-pass='warp-specialize=false' | FileCheck %s --check-prefix=SAME
// RUN: %{small} --function=threads --dims m=200,n=32,k=64 --scalar first=0 --scalar count=131 --check-each-pass | FileCheck %s --check-prefix=SAME
// RUN: %{small} --function=threads --dims m=200,n=32,k=64 --scalar first=-2 --scalar count=131 --check-each-pass | FileCheck %s --check-prefix=SAME
// SAME: same answer after {{[0-9]+}} passes

// RUN: fa3-opt %s --pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline,fa3-layout,tile-to-hopper)' | FileCheck %s --check-prefix=HOPPER
// HOPPER-LABEL: gpu.func @pieces
// HOPPER: hopper.tma.load %{{.*}} pieces 16 by 1 (
// HOPPER: } : <[4, 64], f16, 128>
// HOPPER: } else {
// HOPPER: hopper.tma.load %{{.*}} pieces 64 by 1 (%[[N:.*]]) {
// HOPPER: %[[ROW:.*]] = arith.remui %{{.*}}, %c4{{.*}} : i32
// HOPPER: %[[PIECE:.*]] = arith.divui %{{.*}}, %c4{{.*}} : i32
// HOPPER: arith.addi %{{.*}}, %[[PIECE]] : i32
// HOPPER: arith.addi %{{.*}}, %[[ROW]] : i32
// HOPPER: } : <[1, 64], f16, 128>

!a = memref<?x?xf16, strided<[?, 1]>>
!l = memref<?xi32>
!d = memref<?x48xf32, strided<[?, 1]>>
!e = memref<?x48xf16, strided<[?, 1]>>
func.func @pieces(%a: !a {tile.name = "a", tile.dims = ["m", "k"]}, %b: !e {tile.name = "b", tile.dims = ["p0", "n"]},
                  %list: !l {tile.name = "list", tile.dims = ["blocks"]}, %count: index {tile.name = "count"}, %c: !d {tile.name = "c", tile.dims = ["m", "n"]}) {
  tile.launch @kernels::@pieces args(%a, %b, %list, %count, %c : !a, !e, !l, index, !d)
  return
}
!f = memref<?x32xf32, strided<[?, 1]>>
func.func @threads(%a: !a {tile.name = "a", tile.dims = ["m", "k"]}, %b: !a {tile.name = "b", tile.dims = ["n", "k"]}, %x: !f {tile.name = "x", tile.dims = ["m", "n"]},
                   %first: index {tile.name = "first"}, %count: index {tile.name = "count"}, %c: !f {tile.name = "c", tile.dims = ["m", "n"]}) {
  tile.launch @kernels::@threads args(%a, %b, %x, %first, %count, %c : !a, !a, !f, index, index, !f)
  return
}

gpu.module @kernels {
  gpu.func @pieces(%a: !a, %b: !e, %list: !l, %count: index, %c: !d) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %m = memref.dim %a, %c0 : !a
    %k = memref.dim %a, %c1 : !a
    %blocks = memref.dim %list, %c0 : !l
    %last = arith.subi %blocks, %c1 : index
    %mt = arith.ceildivsi %m, %c64 : index
    %kt = arith.ceildivsi %k, %c64 : index
    tile.grid (%i) in (%mt) {
      %i0 = arith.muli %i, %c64 : index
      %zero = arith.constant dense<0.0> : tensor<64x48xf32>
      %acc = scf.for %t = %c0 to %kt step %c1 iter_args(%sum = %zero) -> (tensor<64x48xf32>) {
        %k0 = arith.muli %t, %c64 : index
        %left = arith.subi %count, %k0 : index
        %x = tile.load %a[%i0, %k0] : !a -> tensor<64x64xf16>
        %y = tile.load %b limit %left pieces 16 (%n) {
          %at = arith.addi %t, %n : index
          %inside = arith.minsi %at, %last : index
          %number = tile.scalar_load %list[%inside] : !l
          %row = arith.index_cast %number : i32 to index
          tile.yield %row, %c0 : index, index
        } : !e -> tensor<64x48xf16>
        %next = tile.dot %x, %y, %sum lhs mk rhs kn : tensor<64x64xf16>, tensor<64x48xf16> -> tensor<64x48xf32>
        scf.yield %next : tensor<64x48xf32>
      }
      tile.store %acc, %c[%i0, %c0] : tensor<64x48xf32>, !d
    }
    gpu.return
  }

  gpu.func @threads(%a: !a, %b: !a, %x: !f, %first: index, %count: index, %c: !f) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %m = memref.dim %a, %c0 : !a
    %mt = arith.ceildivsi %m, %c128 : index
    tile.grid (%i) in (%mt) {
      %i0 = arith.muli %i, %c128 : index
      %row = arith.addi %first, %i0 : index
      %left = arith.subi %count, %i0 : index
      %zero = arith.constant dense<0.0> : tensor<128x32xf32>
      %y = tile.load %a[%i0, %c0] : !a -> tensor<128x64xf16>
      %z = tile.load %b[%c0, %c0] : !a -> tensor<32x64xf16>
      %more = tile.load %x[%row, %c0] limit %left : !f -> tensor<128x32xf32>
      %r = tile.dot %y, %z, %zero lhs mk rhs nk : tensor<128x64xf16>, tensor<32x64xf16> -> tensor<128x32xf32>
      %sum = arith.addf %r, %more : tensor<128x32xf32>
      tile.store %sum, %c[%i0, %c0] : tensor<128x32xf32>, !f
    }
    gpu.return
  }
}
