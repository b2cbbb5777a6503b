// Tiles in the order of a list that kernels make from lengths in memory: a sum of
// products for every segment of k, whose ends only the device knows.
// DEFINE: %{run} = fa3-run --cpu %s --lengths=starts=3,0,7,1,2 --dims m=140,n=72,k=832,s=5,s1=6 --distribution=uniform
// DEFINE: %{right} = %{run} --against %S/Inputs/list-tiles-reference.mlir --atol 5e-3 --rtol 5e-3
// RUN: %{right} --pass-pipeline='builtin.module(fa3-tile{order=list})' | FileCheck %s
// RUN: %{right} --pass-pipeline='builtin.module(fa3-tile{order=list},fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' --sms 2 | FileCheck %s
// RUN: %{run} --check-each-pass="order=list" --sms 2 | FileCheck %s --check-prefix=SAME
// RUN: %{run} --check-each-pass="order=list mode=static" --sms 3 --completion random | FileCheck %s --check-prefix=SAME
// RUN: %{run} --check-each-pass="order=list mode=dynamic" --sms 2 --schedule-seed 3 | FileCheck %s --check-prefix=SAME
// RUN: %{run} --check-each-pass="order=list mode=cta" | FileCheck %s --check-prefix=SAME
// CHECK: c: max abs
// CHECK-NOT: not written
// SAME: same answer after {{[0-9]+}} passes

// RUN: fa3-opt %s -pass-pipeline='builtin.module(fa3-tile{order=list})' | FileCheck %s --check-prefix=KERNELS
// KERNELS: tile.launch @kernels::@ragged_steps
// KERNELS: tile.launch @kernels::@ragged_ranks
// KERNELS: tile.launch @kernels::@ragged_list
// KERNELS: tile.launch @kernels::@ragged blocks
// KERNELS: tile.claim
// KERNELS: tile.scalar_load {{.*}} : memref<?x1xi32>

// No segments, and more than a list takes.
// RUN: fa3-run --cpu %s --fill starts=0 --dims m=140,n=72,k=832,s=0,s1=1 --check-each-pass="order=list" | FileCheck %s --check-prefix=SAME
// RUN: not fa3-run --cpu %s --dims m=64,n=64,k=64,s=65537,s1=65538 --fill starts=0 --pass-pipeline='builtin.module(fa3-tile{order=list})' 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: there are more than 65536 tiles to list

!a = memref<?x?xf16, strided<[?, 1]>>
!c = memref<?x?x?xf32, strided<[?, ?, 1]>>
func.func @ragged(%a: !a {tile.name = "a", tile.dims = ["m", "k"]}, %b: !a {tile.name = "b", tile.dims = ["n", "k"]},
                  %starts: memref<?xi32> {tile.name = "starts", tile.dims = ["s1"]}, %c: !c {tile.name = "c", tile.dims = ["s", "m", "n"]}) {
  tile.launch @kernels::@ragged args(%a, %b, %starts, %c : !a, !a, memref<?xi32>, !c)
  return
}

gpu.module @kernels {
  gpu.func @ragged(%a: !a, %b: !a, %starts: memref<?xi32>, %c: !c) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %bm = arith.constant 128 : index
    %m = memref.dim %a, %c0 : !a
    %n = memref.dim %b, %c0 : !a
    %s = memref.dim %c, %c0 : !c
    %mt = arith.ceildivsi %m, %bm : index
    %nt = arith.ceildivsi %n, %c64 : index
    tile.grid (%i, %j, %g) in (%mt, %nt, %s) {
      %g1 = arith.addi %g, %c1 : index
      %first32 = tile.scalar_load %starts[%g] : memref<?xi32>
      %end32 = tile.scalar_load %starts[%g1] : memref<?xi32>
      %first = arith.index_cast %first32 : i32 to index
      %end = arith.index_cast %end32 : i32 to index
      %i0 = arith.muli %i, %bm : index
      %j0 = arith.muli %j, %c64 : index
      %zero = arith.constant dense<0.0> : tensor<128x64xf32>
      %acc = scf.for %t = %first to %end step %c1 iter_args(%sum = %zero) -> (tensor<128x64xf32>) {
        %k0 = arith.muli %t, %c64 : index
        %x = tile.load %a[%i0, %k0] : !a -> tensor<128x64xf16>
        %y = tile.load %b[%j0, %k0] : !a -> tensor<64x64xf16>
        %next = tile.dot %x, %y, %sum lhs mk rhs nk : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
        scf.yield %next : tensor<128x64xf32>
      }
      tile.store %acc, %c[%g, %i0, %j0] : tensor<128x64xf32>, !c
    }
    gpu.return
  }
}
