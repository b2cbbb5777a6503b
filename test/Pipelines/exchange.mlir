// A product whose left operand is a computed tile with its columns as rows: two
// warp groups exchange it through shared memory, and what it gives is added to
// an array by all CTAs: in bulk, or by threads.
//
// RUN: fa3-run --cpu %s --function=f --dims n=150,m=200 --against %S/Inputs/exchange-reference.mlir --atol 1e-2 --rtol 1e-3
// RUN: fa3-run --cpu %s --function=f --check-each-pass="stages=1" --dims n=150,m=200 --atol 1e-2 --rtol 1e-3 | FileCheck %s --check-prefix=SAME
// SAME: same answer after
// RUN: fa3-run --cpu %s --function=f --dims n=150,m=200 --against %S/Inputs/exchange-reference.mlir --atol 1e-2 --rtol 1e-3 --require-fences --pass-pipeline='builtin.module(fa3-tile,fa3-specialize{store=direct},fa3-pipeline{stages=1},fa3-layout,fa3-hopper)'
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline="stages=1" | FileCheck %s --check-prefix=BULK
// BULK: cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline="stages=1 store=direct" | FileCheck %s --check-prefix=THREADS
// THREADS: red.global.add.f32

!x = memref<?x64xf16, strided<[?, 1]>>
!r = memref<?x64xf32, strided<[?, 1]>>
func.func @f(%x: !x {tile.name = "x", tile.dims = ["n", "d"]}, %y: !x {tile.name = "y", tile.dims = ["m", "d"]},
             %a: !r {tile.name = "a", tile.dims = ["n", "d"]}, %r: !r {tile.name = "r", tile.dims = ["m", "d"]}) {
  tile.launch @kernels::@zero args(%r : !r)
  tile.launch @kernels::@main args(%x, %y, %a, %r : !x, !x, !r, !r)
  return
}

gpu.module @kernels {
  gpu.func @zero(%r: !r) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %m = memref.dim %r, %c0 : !r
    %blocks = arith.ceildivsi %m, %c64 : index
    tile.grid (%t) in (%blocks) {
      %j0 = arith.muli %t, %c64 : index
      tile.store %zero, %r[%j0, %c0] : tensor<64x64xf32>, !r
    }
    gpu.return
  }
  gpu.func @main(%x: !x, %y: !x, %a: !r, %r: !r) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %n = memref.dim %x, %c0 : !x
    %m = memref.dim %y, %c0 : !x
    %rows = arith.ceildivsi %n, %c128 : index
    %steps = arith.ceildivsi %m, %c128 : index
    tile.grid (%i) in (%rows) {
      %zero = arith.constant dense<0.0> : tensor<128x128xf32>
      %none = arith.constant dense<0.0> : tensor<128x64xf32>
      %i0 = arith.muli %i, %c128 : index
      %xt = tile.load %x[%i0, %c0] : !x -> tensor<128x64xf16>
      %sum = scf.for %t = %c0 to %steps step %c1 iter_args(%s = %none) -> (tensor<128x64xf32>) {
        %j0 = arith.muli %t, %c128 : index
        %yt = tile.load %y[%j0, %c0] : !x -> tensor<128x64xf16>
        %p = tile.dot %xt, %yt, %zero lhs mk rhs nk : tensor<128x64xf16>, tensor<128x64xf16> -> tensor<128x128xf32>
        %p16 = arith.truncf %p : tensor<128x128xf32> to tensor<128x128xf16>
        %next = tile.dot %p16, %yt, %s lhs mk rhs kn : tensor<128x128xf16>, tensor<128x64xf16> -> tensor<128x64xf32>
        %part = tile.dot %p16, %xt, %none lhs km rhs kn : tensor<128x128xf16>, tensor<128x64xf16> -> tensor<128x64xf32>
        tile.store %part, %r[%j0, %c0] add : tensor<128x64xf32>, !r
        scf.yield %next : tensor<128x64xf32>
      }
      tile.store %sum, %a[%i0, %c0] : tensor<128x64xf32>, !r
    }
    gpu.return
  }
}
