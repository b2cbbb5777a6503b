// Element code that takes every value twice: what an exchanged tile is made of is
// looked at once for each operation, not once for each way to it, of which there
// are 2^32.
//
// RUN: fa3-opt %s -fa3-tile -fa3-specialize -tile-schedule | FileCheck %s

// CHECK-LABEL: gpu.func @main
// CHECK: warp.group @math
// CHECK: scf.for
// CHECK-COUNT-33: arith.mulf
// CHECK: tile.write

!x = memref<?x64xf16, strided<[?, 1]>>
!r = memref<?x64xf32, strided<[?, 1]>>
!c = memref<?xf32>
func.func @f(%x: !x, %z: !x, %y: !x, %c: !c, %a: !r, %r: !r) {
  tile.launch @kernels::@main args(%x, %z, %y, %c, %a, %r : !x, !x, !x, !c, !r, !r)
  return
}

gpu.module @kernels {
  gpu.func @main(%x: !x, %z: !x, %y: !x, %c: !c, %a: !r, %r: !r) kernel {
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
      %factor = arith.constant dense<0.0625> : tensor<128x128xf32>
      %i0 = arith.muli %i, %c128 : index
      %xt = tile.load %x[%i0, %c0] : !x -> tensor<128x64xf16>
      %zt = tile.load %z[%i0, %c0] : !x -> tensor<128x64xf16>
      %sum = scf.for %t = %c0 to %steps step %c1 iter_args(%s = %none) -> (tensor<128x64xf32>) {
        %j0 = arith.muli %t, %c128 : index
        %yt = tile.load %y[%j0, %c0] : !x -> tensor<128x64xf16>
        %ct = tile.load %c[%j0] {tile.role = "load"} : !c -> tensor<128xf32>
        %p = tile.dot %xt, %yt, %zero lhs mk rhs nk : tensor<128x64xf16>, tensor<128x64xf16> -> tensor<128x128xf32>
        %q = tile.dot %zt, %yt, %zero lhs mk rhs nk : tensor<128x64xf16>, tensor<128x64xf16> -> tensor<128x128xf32>
        %cb = tile.broadcast %ct dim 0 : tensor<128xf32> -> tensor<128x128xf32>
        %e = math.fma %p, %factor, %cb : tensor<128x128xf32>
        %w = math.exp2 %e : tensor<128x128xf32>
        %both = arith.mulf %w, %q : tensor<128x128xf32>
        %x0 = arith.mulf %both, %both : tensor<128x128xf32>
        %x1 = arith.mulf %x0, %x0 : tensor<128x128xf32>
        %x2 = arith.mulf %x1, %x1 : tensor<128x128xf32>
        %x3 = arith.mulf %x2, %x2 : tensor<128x128xf32>
        %x4 = arith.mulf %x3, %x3 : tensor<128x128xf32>
        %x5 = arith.mulf %x4, %x4 : tensor<128x128xf32>
        %x6 = arith.mulf %x5, %x5 : tensor<128x128xf32>
        %x7 = arith.mulf %x6, %x6 : tensor<128x128xf32>
        %x8 = arith.mulf %x7, %x7 : tensor<128x128xf32>
        %x9 = arith.mulf %x8, %x8 : tensor<128x128xf32>
        %x10 = arith.mulf %x9, %x9 : tensor<128x128xf32>
        %x11 = arith.mulf %x10, %x10 : tensor<128x128xf32>
        %x12 = arith.mulf %x11, %x11 : tensor<128x128xf32>
        %x13 = arith.mulf %x12, %x12 : tensor<128x128xf32>
        %x14 = arith.mulf %x13, %x13 : tensor<128x128xf32>
        %x15 = arith.mulf %x14, %x14 : tensor<128x128xf32>
        %x16 = arith.mulf %x15, %x15 : tensor<128x128xf32>
        %x17 = arith.mulf %x16, %x16 : tensor<128x128xf32>
        %x18 = arith.mulf %x17, %x17 : tensor<128x128xf32>
        %x19 = arith.mulf %x18, %x18 : tensor<128x128xf32>
        %x20 = arith.mulf %x19, %x19 : tensor<128x128xf32>
        %x21 = arith.mulf %x20, %x20 : tensor<128x128xf32>
        %x22 = arith.mulf %x21, %x21 : tensor<128x128xf32>
        %x23 = arith.mulf %x22, %x22 : tensor<128x128xf32>
        %x24 = arith.mulf %x23, %x23 : tensor<128x128xf32>
        %x25 = arith.mulf %x24, %x24 : tensor<128x128xf32>
        %x26 = arith.mulf %x25, %x25 : tensor<128x128xf32>
        %x27 = arith.mulf %x26, %x26 : tensor<128x128xf32>
        %x28 = arith.mulf %x27, %x27 : tensor<128x128xf32>
        %x29 = arith.mulf %x28, %x28 : tensor<128x128xf32>
        %x30 = arith.mulf %x29, %x29 : tensor<128x128xf32>
        %x31 = arith.mulf %x30, %x30 : tensor<128x128xf32>
        %both16 = arith.truncf %x31 : tensor<128x128xf32> to tensor<128x128xf16>
        %next = tile.dot %both16, %yt, %s lhs mk rhs kn : tensor<128x128xf16>, tensor<128x64xf16> -> tensor<128x64xf32>
        %part = tile.dot %both16, %xt, %none lhs km rhs kn : tensor<128x128xf16>, tensor<128x64xf16> -> tensor<128x64xf32>
        tile.store %part, %r[%j0, %c0] add : tensor<128x64xf32>, !r
        scf.yield %next : tensor<128x64xf32>
      }
      tile.store %sum, %a[%i0, %c0] : tensor<128x64xf32>, !r
    }
    gpu.return
  }
}
