// Rows that are summed up over and end anywhere: for every segment of rows of b, one behind the
// other in memory, the product of so many columns of a. Rows of the next segment read as zero,
// whatever they are.
// DEFINE: %{run} = fa3-run --cpu %s --lengths=ends=1,0,65,128,130,7 --dims m=70,k=136,r=340,n=64,s1=7,s=6 --distribution=uniform
// DEFINE: %{against} = --against %S/Inputs/limits-reference.mlir --atol 2e-3 --rtol 2e-3
// RUN: %{run} %{against} --pass-pipeline='builtin.module(fa3-tile)' | FileCheck %s
// RUN: %{run} %{against} --pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' --require-fences | FileCheck %s
// RUN: %{run} --check-each-pass | FileCheck %s --check-prefix=SAME
// RUN: %{run} --check-each-pass='mode=dynamic' --sms 1 --completion random | FileCheck %s --check-prefix=SAME
// Segments that start in front of the array, or behind it: nothing outside of it is read.
// RUN: fa3-run --cpu %s --lengths=ends=-3,400,2000000000,-2000000000,100,100 --dims m=70,k=136,r=340,n=64,s1=7,s=6 --check-each-pass | FileCheck %s --check-prefix=SAME

// CHECK: c: max abs
// SAME: same answer after {{[0-9]+}} passes

// One copy where all rows count, otherwise groups of rows, and single ones where one is cut.
// RUN: fa3-opt %s --pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline,fa3-layout,tile-to-hopper)' | FileCheck %s --check-prefix=HOPPER
// HOPPER-LABEL: gpu.func @segments
// HOPPER: warp.group @load
// HOPPER: %[[WHOLE:.*]] = arith.cmpi sge, %{{.*}}, %c64{{.*}} : i32
// HOPPER: scf.if %[[WHOLE]] {
// HOPPER: hopper.tma.load {{.*}} : <[64, 64], f16, 128>
// HOPPER: } else {
// HOPPER: %[[CUT:.*]] = arith.cmpi ult, %{{.*}}, %c15{{.*}} : i32
// HOPPER: scf.if %[[CUT]] {
// HOPPER: hopper.tma.load {{.*}} pieces 16 by 1 (%[[N:.*]]) {
// HOPPER: %[[COUNTS:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : i32
// HOPPER: arith.select %[[COUNTS]], %{{.*}}, %c-16{{.*}} : i32
// HOPPER: } : <[1, 64], f16, 128>
// HOPPER: } else {
// HOPPER: arith.select %{{.*}}, %{{.*}}, %c-16{{.*}} : i32
// HOPPER: hopper.tma.load {{.*}} : <[16, 64], f16, 128>
// HOPPER: }
// HOPPER: arith.cmpi ult, %{{.*}}, %c15{{.*}} : i32

!a = memref<?x?xf16, strided<[?, 1]>>
!b = memref<?x64xf16, strided<[?, 1]>>
!c = memref<?x?x64xf32, strided<[?, ?, 1]>>
!l = memref<?xi32>
func.func @segments(%a: !a {tile.name = "a", tile.dims = ["m", "k"]}, %b: !b {tile.name = "b", tile.dims = ["r", "n"]},
                    %ends: !l {tile.name = "ends", tile.dims = ["s1"]}, %c: !c {tile.name = "c", tile.dims = ["s", "m", "n"]}) {
  tile.launch @kernels::@segments args(%a, %b, %ends, %c : !a, !b, !l, !c)
  return
}

gpu.module @kernels {
  gpu.func @segments(%a: !a, %b: !b, %ends: !l, %c: !c) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %m = memref.dim %a, %c0 : !a
    %k = memref.dim %a, %c1 : !a
    %s = memref.dim %c, %c0 : !c
    %mt = arith.ceildivsi %m, %c64 : index
    %kt = arith.ceildivsi %k, %c64 : index
    tile.grid (%i, %g) in (%mt, %s) {
      %g1 = arith.addi %g, %c1 : index
      %first32 = tile.scalar_load %ends[%g] : !l
      %end32 = tile.scalar_load %ends[%g1] : !l
      %first = arith.index_cast %first32 : i32 to index
      %end = arith.index_cast %end32 : i32 to index
      %i0 = arith.muli %i, %c64 : index
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %acc = scf.for %t = %c0 to %kt step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
        %k0 = arith.muli %t, %c64 : index
        %row = arith.addi %first, %k0 : index
        %left = arith.subi %end, %row : index
        %x = tile.load %a[%i0, %k0] : !a -> tensor<64x64xf16>
        %y = tile.load %b[%row, %c0] limit %left : !b -> tensor<64x64xf16>
        %next = tile.dot %x, %y, %sum lhs mk rhs kn : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
        scf.yield %next : tensor<64x64xf32>
      }
      tile.store %acc, %c[%g, %i0, %c0] : tensor<64x64xf32>, !c
    }
    gpu.return
  }
}
