// y = sum over blocks of ((a b^T) * w) b, no attention: numbers w of the rows of b
// come beside b, and b is read in front of them and behind.
!a = memref<?x64xbf16, strided<[?, 1]>>
!w = memref<?xf32, strided<[1]>>

func.func @weighted_rows(%a: !a {tile.name = "a", tile.dims = ["m", "k"]},
                         %b: !a {tile.name = "b", tile.dims = ["n", "k"]},
                         %w: !w {tile.name = "w", tile.dims = ["n"]},
                         %y: !a {tile.name = "y", tile.dims = ["m", "k"]}) {
  tile.launch @kernels::@weighted_rows args(%a, %b, %w, %y : !a, !a, !w, !a)
  return
}

gpu.module @kernels {
  gpu.func @weighted_rows(%a: !a, %b: !a, %w: !w, %y: !a) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %m = memref.dim %a, %c0 : !a
    %n = memref.dim %b, %c0 : !a
    %mt = arith.ceildivsi %m, %c128 : index
    %nt = arith.ceildivsi %n, %c64 : index
    %none = arith.constant dense<0.0> : tensor<128x64xf32>
    tile.grid (%i) in (%mt) {
      %i0 = arith.muli %i, %c128 : index
      %x = tile.load %a[%i0, %c0] : !a -> tensor<128x64xbf16>
      %r = scf.for %t = %c0 to %nt step %c1 iter_args(%acc = %none) -> (tensor<128x64xf32>) {
        %j0 = arith.muli %t, %c64 : index
        %z = tile.load %b[%j0, %c0] : !a -> tensor<64x64xbf16>
        %u = tile.load %w[%j0] {tile.role = "load"} : !w -> tensor<64xf32>
        %s = tile.dot %x, %z, %none lhs mk rhs nk : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
        %v = tile.broadcast %u dim 0 : tensor<64xf32> -> tensor<128x64xf32>
        %p = arith.mulf %s, %v : tensor<128x64xf32>
        %h = arith.truncf %p : tensor<128x64xf32> to tensor<128x64xbf16>
        %next = tile.dot %h, %z, %acc lhs mk rhs kn : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
        scf.yield %next : tensor<128x64xf32>
      }
      %out = arith.truncf %r : tensor<128x64xf32> to tensor<128x64xbf16>
      tile.store %out, %y[%i0, %c0] : tensor<128x64xbf16>, !a
    }
    gpu.return
  }
}
