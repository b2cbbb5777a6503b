// Rows that end anywhere: a product for every segment of rows, one behind the
// other in memory. A tile that reaches behind its segment leaves the rows of the
// next one alone.
// DEFINE: %{run} = fa3-run --cpu %s --lengths=ends=1,0,65,127,7 --distribution=uniform
// RUN: fa3-opt %s -fa3-tile -fa3-specialize -fa3-pipeline -fa3-layout -fa3-hopper | FileCheck %s --check-prefix=HOPPER
// RUN: %{run} --dims m=210,n=72,k=80,s=5,s1=6 --against %S/Inputs/row-ends-reference.mlir --atol 2e-3 --rtol 2e-3 --pass-pipeline='builtin.module(fa3-tile)' | FileCheck %s
// RUN: %{run} --dims m=210,n=72,k=80,s=5,s1=6 --against %S/Inputs/row-ends-reference.mlir --atol 2e-3 --rtol 2e-3 --pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' | FileCheck %s
// RUN: %{run} --dims m=210,n=72,k=80,s=5,s1=6 --check-each-pass | FileCheck %s --check-prefix=SAME
// RUN: %{run} --dims m=210,n=72,k=80,s=5,s1=6 --check-each-pass="mode=static store=staged" --sms 2 --completion random | FileCheck %s --check-prefix=SAME
// CHECK: c: max abs {{.*}}, 720 not written
// SAME: same answer after {{[0-9]+}} passes

// The end bounds what threads store.
// HOPPER: %[[BOUND:.*]] = arith.minsi %{{.*}}, %[[END:.*]] : i32
// HOPPER: hopper.fragment.store {{.*}} bounds(%[[BOUND]], %{{.*}})

!a = memref<?x?xf16, strided<[?, 1]>>
!b = memref<?x?x?xf16, strided<[?, ?, 1]>>
func.func @segments(%a: !a {tile.name = "a", tile.dims = ["m", "k"]}, %b: !b {tile.name = "b", tile.dims = ["s", "n", "k"]},
                    %ends: memref<?xi32> {tile.name = "ends", tile.dims = ["s1"]}, %c: !a {tile.name = "c", tile.dims = ["m", "n"]}) {
  tile.launch @kernels::@segments args(%a, %b, %ends, %c : !a, !b, memref<?xi32>, !a)
  return
}

gpu.module @kernels {
  gpu.func @segments(%a: !a, %b: !b, %ends: memref<?xi32>, %c: !a) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %bm = arith.constant 128 : index
    %bn = arith.constant 64 : index
    %m = memref.dim %a, %c0 : !a
    %k = memref.dim %a, %c1 : !a
    %s = memref.dim %b, %c0 : !b
    %n = memref.dim %b, %c1 : !b
    %mt = arith.ceildivsi %m, %bm : index
    %nt = arith.ceildivsi %n, %bn : index
    %kt = arith.ceildivsi %k, %bn : index
    tile.grid (%i, %j, %g) in (%mt, %nt, %s) {
      %g1 = arith.addi %g, %c1 : index
      %first32 = tile.scalar_load %ends[%g] : memref<?xi32>
      %end32 = tile.scalar_load %ends[%g1] : memref<?xi32>
      %first = arith.index_cast %first32 : i32 to index
      %end = arith.index_cast %end32 : i32 to index
      %i0 = arith.muli %i, %bm : index
      %row = arith.addi %first, %i0 : index
      %j0 = arith.muli %j, %bn : index
      %zero = arith.constant dense<0.0> : tensor<128x64xf32>
      %acc = scf.for %t = %c0 to %kt step %c1 iter_args(%sum = %zero) -> (tensor<128x64xf32>) {
        %k0 = arith.muli %t, %bn : index
        %x = tile.load %a[%row, %k0] : !a -> tensor<128x64xf16>
        %y = tile.load %b[%g, %j0, %k0] : !b -> tensor<64x64xf16>
        %next = tile.dot %x, %y, %sum lhs mk rhs nk : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
        scf.yield %next : tensor<128x64xf32>
      }
      %out = arith.truncf %acc : tensor<128x64xf32> to tensor<128x64xf16>
      tile.store %out, %c[%row, %j0] below %end : tensor<128x64xf16>, !a
    }
    gpu.return
  }
}
