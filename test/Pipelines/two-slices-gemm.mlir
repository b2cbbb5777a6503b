// A product of two slices of k in one step: the second adds to what the first
// leaves pending. Values are compared after every pass.

// RUN: fa3-opt %s -fa3-tile -fa3-specialize -fa3-pipeline | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass %s --dims m=136,n=104,k=320 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="stages=1 mode=static" %s --dims m=136,n=104,k=320 --sms 2 --completion=random --schedule-seed=2 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="solver=modulo max-depth=1" %s --dims m=136,n=104,k=448 | FileCheck %s --check-prefix=SAME
// SAME: same answer after {{[0-9]+}} passes

// CHECK: warp.group @math
// CHECK: %[[FIRST:.*]], %[[D1:.*]] = tile.dot.async
// CHECK-NOT: tile.await
// CHECK: tile.dot.async {{.*}}, %[[FIRST]] lhs mk rhs nk

!a = memref<?x?xf16, strided<[?, 1]>>

func.func @gemm(%a: !a {tile.name = "a", tile.dims = ["m", "k"]},
                %b: !a {tile.name = "b", tile.dims = ["n", "k"]},
                %c: !a {tile.name = "c", tile.dims = ["m", "n"]}) {
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
  %elements = arith.addi %inputs, %mn : index
  %bytes = arith.muli %elements, %c2 : index
  tile.launch @kernels::@gemm args(%a, %b, %c : !a, !a, !a) cost(%flops, %bytes)
  return
}

gpu.module @kernels {
  gpu.func @gemm(%a: !a, %b: !a, %c: !a) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bm = arith.constant 128 : index
    %bn = arith.constant 64 : index
    %bk = arith.constant 128 : index
    %half = arith.constant 64 : index
    %m = memref.dim %a, %c0 : !a
    %k = memref.dim %a, %c1 : !a
    %n = memref.dim %b, %c0 : !a
    %mt = arith.ceildivsi %m, %bm : index
    %nt = arith.ceildivsi %n, %bn : index
    %kt = arith.ceildivsi %k, %bk : index
    tile.grid (%i, %j) in (%mt, %nt) {
      %i0 = arith.muli %i, %bm : index
      %j0 = arith.muli %j, %bn : index
      %zero = arith.constant dense<0.0> : tensor<128x64xf32>
      %acc = scf.for %t = %c0 to %kt step %c1 iter_args(%sum = %zero) -> (tensor<128x64xf32>) {
        %k0 = arith.muli %t, %bk : index
        %x = tile.load %a[%i0, %k0] : !a -> tensor<128x64xf16>
        %y = tile.load %b[%j0, %k0] : !a -> tensor<64x64xf16>
        %first = tile.dot %x, %y, %sum lhs mk rhs nk : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
        %k1 = arith.addi %k0, %half : index
        %x1 = tile.load %a[%i0, %k1] : !a -> tensor<128x64xf16>
        %y1 = tile.load %b[%j0, %k1] : !a -> tensor<64x64xf16>
        %next = tile.dot %x1, %y1, %first lhs mk rhs nk : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
        scf.yield %next : tensor<128x64xf32>
      }
      %out = arith.truncf %acc : tensor<128x64xf32> to tensor<128x64xf16>
      tile.store %out, %c[%i0, %j0] : tensor<128x64xf16>, !a
    }
    gpu.return
  }
}
