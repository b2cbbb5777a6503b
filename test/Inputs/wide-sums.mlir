// A sum of 64 x 512 that one warp group has no registers for, in a chain of two
// products that is no attention: y = sum over blocks of max(a b^T, 0) d, where
// a block halves what is there already in rows whose largest element exceeds 1.
// In the end every row is divided by one more than what its blocks added up to.
!a = memref<?x128xbf16, strided<[?, 1]>>
!d = memref<?x512xbf16, strided<[?, 1]>>

func.func @wide_sums(%a: !a {tile.name = "a", tile.dims = ["m", "k"]},
                     %b: !a {tile.name = "b", tile.dims = ["n", "k"]},
                     %d: !d {tile.name = "d", tile.dims = ["n", "c"]},
                     %y: !d {tile.name = "y", tile.dims = ["m", "c"]}) {
  tile.launch @kernels::@wide_sums args(%a, %b, %d, %y : !a, !a, !d, !d)
  return
}

gpu.module @kernels {
  gpu.func @wide_sums(%a: !a, %b: !a, %d: !d, %y: !d) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %m = memref.dim %a, %c0 : !a
    %n = memref.dim %b, %c0 : !a
    %mt = arith.ceildivsi %m, %c64 : index
    %nt = arith.ceildivsi %n, %c64 : index
    %none = arith.constant dense<0.0> : tensor<64x64xf32>
    %wide = arith.constant dense<0.0> : tensor<64x512xf32>
    %zero = arith.constant dense<0.0> : tensor<64xf32>
    %half = arith.constant dense<0.5> : tensor<64xf32>
    %one = arith.constant dense<1.0> : tensor<64xf32>
    tile.grid (%i) in (%mt) {
      %i0 = arith.muli %i, %c64 : index
      %x = tile.load %a[%i0, %c0] : !a -> tensor<64x128xbf16>
      %r:2 = scf.for %t = %c0 to %nt step %c1 iter_args(%acc = %wide, %count = %zero) -> (tensor<64x512xf32>, tensor<64xf32>) {
        %j0 = arith.muli %t, %c64 : index
        %z = tile.load %b[%j0, %c0] : !a -> tensor<64x128xbf16>
        %v = tile.load %d[%j0, %c0] : !d -> tensor<64x512xbf16>
        %s = tile.dot %x, %z, %none lhs mk rhs nk : tensor<64x128xbf16>, tensor<64x128xbf16> -> tensor<64x64xf32>
        %p = arith.maximumf %s, %none : tensor<64x64xf32>
        %most = tile.reduce max %p dim 1 : tensor<64x64xf32> -> tensor<64xf32>
        %large = arith.cmpf ogt, %most, %one : tensor<64xf32>
        %h = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
        %w = tile.where %large else %acc : tensor<64xi1>, tensor<64x512xf32> {
          %f = tile.broadcast %half dim 1 : tensor<64xf32> -> tensor<64x512xf32>
          %g = arith.mulf %acc, %f : tensor<64x512xf32>
          tile.yield %g : tensor<64x512xf32>
        }
        %next = tile.dot %h, %v, %w lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x512xbf16> -> tensor<64x512xf32>
        %sum = tile.reduce add %p dim 1 : tensor<64x64xf32> -> tensor<64xf32>
        %more = arith.addf %count, %sum : tensor<64xf32>
        scf.yield %next, %more : tensor<64x512xf32>, tensor<64xf32>
      }
      %plus = arith.addf %r#1, %one : tensor<64xf32>
      %inverse = arith.divf %one, %plus : tensor<64xf32>
      %by = tile.broadcast %inverse dim 1 : tensor<64xf32> -> tensor<64x512xf32>
      %scaled = arith.mulf %r#0, %by : tensor<64x512xf32>
      %out = arith.truncf %scaled : tensor<64x512xf32> to tensor<64x512xbf16>
      tile.store %out, %y[%i0, %c0] : tensor<64x512xbf16>, !d
    }
    gpu.return
  }
}
