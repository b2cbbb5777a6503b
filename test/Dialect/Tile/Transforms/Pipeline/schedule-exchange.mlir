// What replicas exchange in a step, in the order of a schedule of one stage.
//
// RUN: fa3-opt %s -fa3-tile -fa3-specialize -tile-schedule=late-products=false -tile-pipeline -tile-release-early | FileCheck %s --check-prefix=ORDER
// RUN: fa3-run --cpu %s --function=f --check-each-pass --dims n=150,m=200 --atol 1e-2 --rtol 1e-3 | FileCheck %s --check-prefix=SAME
// SAME: same answer after

// The entry is asked for when the first product is worked off. The product that
// reads it is issued before the one that takes the tile from registers, and is
// awaited and stored while that one runs, to whose end the slot is held. Numbers
// of columns are a field of an entry (tile-join-rings).
// ORDER-LABEL: gpu.func @main
// ORDER: warp.group @math
// ORDER: scf.for
// ORDER: tile.dot.async
// ORDER: tile.dot.async
// ORDER: tile.await
// ORDER: tile.read
// ORDER: math.exp2
// ORDER: warp.acquire {{.*}} <write>
// ORDER: tile.await
// ORDER: arith.truncf
// ORDER: tile.write
// ORDER-NEXT: warp.publish
// ORDER: warp.acquire {{.*}} <read>
// ORDER: tile.dot.async {{.*}} lhs km
// ORDER-NEXT: tile.dot.async {{.*}} lhs mk
// ORDER: tile.await
// ORDER: tile.store.async
// ORDER: warp.release {{.*}} after
// ORDER: warp.release {{.*}} after
// ORDER: scf.yield

!x = memref<?x64xf16, strided<[?, 1]>>
!r = memref<?x64xf32, strided<[?, 1]>>
!c = memref<?xf32>
func.func @f(%x: !x {tile.name = "x", tile.dims = ["n", "d"]}, %z: !x {tile.name = "z", tile.dims = ["n", "d"]},
             %y: !x {tile.name = "y", tile.dims = ["m", "d"]}, %c: !c {tile.name = "c", tile.dims = ["m"]},
             %a: !r {tile.name = "a", tile.dims = ["n", "d"]}, %r: !r {tile.name = "r", tile.dims = ["m", "d"]}) {
  tile.launch @kernels::@zero args(%r : !r)
  tile.launch @kernels::@main args(%x, %z, %y, %c, %a, %r : !x, !x, !x, !c, !r, !r)
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
        %both16 = arith.truncf %both : tensor<128x128xf32> to tensor<128x128xf16>
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
