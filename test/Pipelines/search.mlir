// Rows of segments that lie one behind the other, as in row-ends.mlir, but a
// tile finds its segment: segment g has the tiles from ends[g] div 64 + g on. 45 are
// more than a warp looks at side by side; of the first six it sees all at once.
// DEFINE: %{many} = --lengths=ends=3,0,0,70,1,64,2,0,5,9,0,1,1,8,0,33,0,0,4,6,0,2,7,0,0,1,0,66,0,3,5,0,2,2,0,1,0,9,0,0,65,0,4,1,2 --dims m=377,n=40,k=48,s=45,s1=46
// DEFINE: %{few} = --lengths=ends=65,0,1,130,0,64 --dims m=260,n=40,k=48,s=6,s1=7
// DEFINE: %{run} = fa3-run --cpu %s --distribution=uniform
// RUN: fa3-opt %s -fa3-tile -fa3-specialize -fa3-pipeline -fa3-layout -fa3-hopper | FileCheck %s --check-prefix=HOPPER
// RUN: fa3-translate --mlir-to-ptx %s --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline)' -o - | FileCheck %s --check-prefix=PTX
// RUN: %{run} %{many} --against %S/Inputs/row-ends-reference.mlir --atol 2e-3 --rtol 2e-3 --pass-pipeline='builtin.module(fa3-tile)' | FileCheck %s
// RUN: %{run} %{many} --against %S/Inputs/row-ends-reference.mlir --atol 2e-3 --rtol 2e-3 --pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' | FileCheck %s
// RUN: %{run} %{few} --against %S/Inputs/row-ends-reference.mlir --atol 2e-3 --rtol 2e-3 --pass-pipeline='builtin.module(fa3-tile)' | FileCheck %s
// RUN: %{run} %{many} --check-each-pass | FileCheck %s --check-prefix=SAME
// RUN: %{run} %{few} --check-each-pass="mode=static" --sms 2 --completion random | FileCheck %s --check-prefix=SAME
// CHECK: c: max abs
// CHECK-NOT: not written
// SAME: same answer after {{[0-9]+}} passes

// Every group searches for itself.
// HOPPER-COUNT-2: hopper.search %{{.*}} stride %{{.*}} from %{{.*}} to %{{.*}} below %{{.*}} step %{{.*}} most 4096
// PTX: vote.sync.ballot.b32
// PTX: popc.b32

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
    %bm = arith.constant 64 : index
    %bn = arith.constant 64 : index
    %m = memref.dim %a, %c0 : !a
    %k = memref.dim %a, %c1 : !a
    %s = memref.dim %b, %c0 : !b
    %n = memref.dim %b, %c1 : !b
    %whole = arith.divui %m, %bm : index
    %mt = arith.addi %whole, %s : index
    %nt = arith.ceildivsi %n, %bn : index
    %kt = arith.ceildivsi %k, %bn : index
    tile.grid (%tile, %j) in (%mt, %nt) {
      %next_tile = arith.addi %tile, %c1 : index
      %limit = arith.muli %next_tile, %bm : index
      %g = tile.search %ends from %c1 to %s below %limit step %bm most 4096 : memref<?xi32>
      %g1 = arith.addi %g, %c1 : index
      %first32 = tile.scalar_load %ends[%g] : memref<?xi32>
      %end32 = tile.scalar_load %ends[%g1] : memref<?xi32>
      %first = arith.index_cast %first32 : i32 to index
      %end = arith.index_cast %end32 : i32 to index
      %tiles_in_front = arith.floordivsi %first, %bm : index
      %number = arith.addi %tiles_in_front, %g : index
      %i = arith.subi %tile, %number : index
      %i0 = arith.muli %i, %bm : index
      %row = arith.addi %first, %i0 : index
      %j0 = arith.muli %j, %bn : index
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %acc = scf.for %t = %c0 to %kt step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) {
        %k0 = arith.muli %t, %bn : index
        %x = tile.load %a[%row, %k0] : !a -> tensor<64x64xf16>
        %y = tile.load %b[%g, %j0, %k0] : !b -> tensor<64x64xf16>
        %next = tile.dot %x, %y, %sum lhs mk rhs nk : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
        scf.yield %next : tensor<64x64xf32>
      }
      %out = arith.truncf %acc : tensor<64x64xf32> to tensor<64x64xf16>
      tile.store %out, %c[%row, %j0] below %end : tensor<64x64xf16>, !a
    }
    gpu.return
  }
}
