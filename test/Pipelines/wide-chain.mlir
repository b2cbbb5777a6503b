// A right operand of two products that is no attention: y = sum over blocks of
// max(a b^T + u d^T, 0) d. The columns of d are what the first sums over and what
// the second gives; each piece is loaded once, and one of them has two readers.
// Values are compared after every pass, both checkers on.

// RUN: fa3-run --cpu --check-each-pass %s --dims m=100,n=150,k=64,c=512 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass %s --dims m=65,n=0,k=64,c=512 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="mode=static max-depth=1" %s --dims m=200,n=70,k=64,c=512 --sms 2 --completion=random --schedule-seed=2 | FileCheck %s --check-prefix=SAME
// SAME: same answer after {{[0-9]+}} passes

// RUN: fa3-opt %s --fa3-tile --fa3-specialize --fa3-pipeline | FileCheck %s
// CHECK: warp.ring : <{{[0-9]}}, [tensor<64x64xbf16>]>
// CHECK: %[[R:.*]] = warp.ring : <2, [tensor<64x256xbf16>]>
// CHECK: %[[L:.*]] = warp.ring : <2, [tensor<64x256xbf16>]>
// CHECK: warp.group @load
// CHECK: scf.for
// CHECK-COUNT-3: tile.load.async
// CHECK-NOT: tile.load.async
// CHECK: warp.group @math warps 4
// CHECK: warp.group @math1 warps 4
// CHECK: warp.acquire %[[R]]

// RUN: %if ptxas %{ fa3-translate %s '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)' --mlir-to-cubin --ptxas-strict -o %t.cubin %}

!a = memref<?x64xbf16, strided<[?, 1]>>
!d = memref<?x512xbf16, strided<[?, 1]>>

func.func @wide_chain(%a: !a {tile.name = "a", tile.dims = ["m", "k"]},
                      %b: !a {tile.name = "b", tile.dims = ["n", "k"]},
                      %d: !d {tile.name = "d", tile.dims = ["n", "c"]},
                      %u: !d {tile.name = "u", tile.dims = ["m", "c"]},
                      %y: !d {tile.name = "y", tile.dims = ["m", "c"]}) {
  tile.launch @kernels::@wide_chain args(%a, %b, %d, %u, %y : !a, !a, !d, !d, !d)
  return
}

gpu.module @kernels {
  gpu.func @wide_chain(%a: !a, %b: !a, %d: !d, %u: !d, %y: !d) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %m = memref.dim %a, %c0 : !a
    %n = memref.dim %b, %c0 : !a
    %mt = arith.ceildivsi %m, %c64 : index
    %nt = arith.ceildivsi %n, %c64 : index
    %none = arith.constant dense<0.0> : tensor<64x64xf32>
    %wide = arith.constant dense<0.0> : tensor<64x512xf32>
    tile.grid (%i) in (%mt) {
      %i0 = arith.muli %i, %c64 : index
      %x = tile.load %a[%i0, %c0] : !a -> tensor<64x64xbf16>
      %w = tile.load %u[%i0, %c0] : !d -> tensor<64x512xbf16>
      %r = scf.for %t = %c0 to %nt step %c1 iter_args(%acc = %wide) -> (tensor<64x512xf32>) {
        %j0 = arith.muli %t, %c64 : index
        %z = tile.load %b[%j0, %c0] : !a -> tensor<64x64xbf16>
        %v = tile.load %d[%j0, %c0] : !d -> tensor<64x512xbf16>
        %s = tile.dot %x, %z, %none lhs mk rhs nk : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %q = tile.dot %w, %v, %s lhs mk rhs nk : tensor<64x512xbf16>, tensor<64x512xbf16> -> tensor<64x64xf32>
        %p = arith.maximumf %q, %none : tensor<64x64xf32>
        %h = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
        %next = tile.dot %h, %v, %acc lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x512xbf16> -> tensor<64x512xf32>
        scf.yield %next : tensor<64x512xf32>
      }
      %out = arith.truncf %r : tensor<64x512xf32> to tensor<64x512xbf16>
      tile.store %out, %y[%i0, %c0] : tensor<64x512xbf16>, !d
    }
    gpu.return
  }
}
