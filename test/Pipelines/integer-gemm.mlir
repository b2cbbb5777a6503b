// C = A x B^T of 8-bit integers with 32-bit sums, which are exact: products of
// integers need no attention.

// RUN: fa3-run --cpu %s --dims m=200,n=300,k=304 --against %S/Inputs/integer-gemm-reference.mlir --atol 0 --rtol 0
// RUN: fa3-run --cpu --check-each-pass %s --dims m=200,n=300,k=304 --atol 0 --rtol 0 | FileCheck %s
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline | FileCheck %s --check-prefix=PTX
// CHECK: same answer after {{[0-9]+}} passes
// PTX: wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8
!a = memref<?x?xi8, strided<[?, 1]>>
!c = memref<?x?xi32, strided<[?, 1]>>

func.func @gemm(%a: !a {tile.name = "a", tile.dims = ["m", "k"]},
                %b: !a {tile.name = "b", tile.dims = ["n", "k"]},
                %c: !c {tile.name = "c", tile.dims = ["m", "n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m = memref.dim %a, %c0 : !a
  %k = memref.dim %a, %c1 : !a
  %n = memref.dim %b, %c0 : !a
  %kb = memref.dim %b, %c1 : !a
  %same = arith.cmpi eq, %k, %kb : index
  cf.assert %same, "a and b differ in k"
  %mn = arith.muli %m, %n : index
  %mnk = arith.muli %mn, %k : index
  %flops = arith.muli %mnk, %c2 : index
  %sum = arith.addi %m, %n : index
  %inputs = arith.muli %sum, %k : index
  %c4 = arith.constant 4 : index
  %sums = arith.muli %mn, %c4 : index
  %bytes = arith.addi %inputs, %sums : index
  tile.launch @kernels::@gemm args(%a, %b, %c : !a, !a, !c) cost(%flops, %bytes)
  return
}

gpu.module @kernels {
  gpu.func @gemm(%a: !a, %b: !a, %c: !c) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bm = arith.constant 128 : index
    %bn = arith.constant 256 : index
    %bk = arith.constant 128 : index
    %m = memref.dim %a, %c0 : !a
    %k = memref.dim %a, %c1 : !a
    %n = memref.dim %b, %c0 : !a
    %mt = arith.ceildivsi %m, %bm : index
    %nt = arith.ceildivsi %n, %bn : index
    %kt = arith.ceildivsi %k, %bk : index
    tile.grid (%i, %j) in (%mt, %nt) {
      %i0 = arith.muli %i, %bm : index
      %j0 = arith.muli %j, %bn : index
      %zero = arith.constant dense<0> : tensor<128x256xi32>
      %acc = scf.for %t = %c0 to %kt step %c1 iter_args(%sum = %zero) -> (tensor<128x256xi32>) {
        %k0 = arith.muli %t, %bk : index
        %x = tile.load %a[%i0, %k0] : !a -> tensor<128x128xi8>
        %y = tile.load %b[%j0, %k0] : !a -> tensor<256x128xi8>
        %next = tile.dot %x, %y, %sum lhs mk rhs nk : tensor<128x128xi8>, tensor<256x128xi8> -> tensor<128x256xi32>
        scf.yield %next : tensor<128x256xi32>
      }
      tile.store %acc, %c[%i0, %j0] : tensor<128x256xi32>, !c
    }
    gpu.return
  }
}
