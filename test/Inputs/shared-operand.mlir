// What a step loads is both what it multiplies by and what it sums up, over more
// columns than a product has: y = sum over blocks of max(a b^T, 0) b, no attention.
// Two warp groups share the sum's columns, and one of them reads all of b.
!a = memref<?x512xbf16, strided<[?, 1]>>

func.func @shared_operand(%a: !a {tile.name = "a", tile.dims = ["m", "k"]},
                          %b: !a {tile.name = "b", tile.dims = ["n", "k"]},
                          %y: !a {tile.name = "y", tile.dims = ["m", "k"]}) {
  tile.launch @kernels::@shared_operand args(%a, %b, %y : !a, !a, !a)
  return
}

gpu.module @kernels {
  gpu.func @shared_operand(%a: !a, %b: !a, %y: !a) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %m = memref.dim %a, %c0 : !a
    %n = memref.dim %b, %c0 : !a
    %mt = arith.ceildivsi %m, %c64 : index
    %nt = arith.ceildivsi %n, %c32 : index
    %none = arith.constant dense<0.0> : tensor<64x32xf32>
    %wide = arith.constant dense<0.0> : tensor<64x512xf32>
    tile.grid (%i) in (%mt) {
      %i0 = arith.muli %i, %c64 : index
      %x = tile.load %a[%i0, %c0] : !a -> tensor<64x512xbf16>
      %r = scf.for %t = %c0 to %nt step %c1 iter_args(%acc = %wide) -> (tensor<64x512xf32>) {
        %j0 = arith.muli %t, %c32 : index
        %z = tile.load %b[%j0, %c0] : !a -> tensor<32x512xbf16>
        %s = tile.dot %x, %z, %none lhs mk rhs nk : tensor<64x512xbf16>, tensor<32x512xbf16> -> tensor<64x32xf32>
        %p = arith.maximumf %s, %none : tensor<64x32xf32>
        %h = arith.truncf %p : tensor<64x32xf32> to tensor<64x32xbf16>
        %next = tile.dot %h, %z, %acc lhs mk rhs kn : tensor<64x32xbf16>, tensor<32x512xbf16> -> tensor<64x512xf32>
        scf.yield %next : tensor<64x512xf32>
      }
      %out = arith.truncf %r : tensor<64x512xf32> to tensor<64x512xbf16>
      tile.store %out, %y[%i0, %c0] : tensor<64x512xbf16>, !a
    }
    gpu.return
  }
}
