// D = (A x B^T) x C in fp16 with fp32 accumulation: A is m x 64, B is n x 64, C
// is n x 128. Two products in one loop, the first feeding the second from
// registers, and nothing of attention.
!a = memref<?x64xf16, strided<[?, 1]>>
!c = memref<?x128xf16, strided<[?, 1]>>

func.func @chain(%a: !a {tile.name = "a", tile.dims = ["m", "e"]},
                 %b: !a {tile.name = "b", tile.dims = ["n", "e"]},
                 %c: !c {tile.name = "c", tile.dims = ["n", "f"]},
                 %d: !c {tile.name = "d", tile.dims = ["m", "f"]}) {
  %c0 = arith.constant 0 : index
  %c384 = arith.constant 384 : index
  %m = memref.dim %a, %c0 : !a
  %n = memref.dim %b, %c0 : !a
  %nc = memref.dim %c, %c0 : !c
  %same = arith.cmpi eq, %n, %nc : index
  cf.assert %same, "b and c differ in n"
  %mn = arith.muli %m, %n : index
  %flops = arith.muli %mn, %c384 : index
  %rows = arith.addi %m, %n : index
  %bytes = arith.muli %rows, %c384 : index
  tile.launch @kernels::@chain args(%a, %b, %c, %d : !a, !a, !c, !c) cost(%flops, %bytes)
  return
}

gpu.module @kernels {
  gpu.func @chain(%a: !a, %b: !a, %c: !c, %d: !c) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bm = arith.constant 128 : index
    %bn = arith.constant 64 : index
    %m = memref.dim %a, %c0 : !a
    %n = memref.dim %b, %c0 : !a
    %mt = arith.ceildivsi %m, %bm : index
    %nt = arith.ceildivsi %n, %bn : index
    tile.grid (%i) in (%mt) {
      %i0 = arith.muli %i, %bm : index
      %x = tile.load %a[%i0, %c0] : !a -> tensor<128x64xf16>
      %zero = arith.constant dense<0.0> : tensor<128x64xf32>
      %none = arith.constant dense<0.0> : tensor<128x128xf32>
      %acc = scf.for %t = %c0 to %nt step %c1 iter_args(%sum = %none) -> (tensor<128x128xf32>) {
        %j0 = arith.muli %t, %bn : index
        %y = tile.load %b[%j0, %c0] : !a -> tensor<64x64xf16>
        %z = tile.load %c[%j0, %c0] : !c -> tensor<64x128xf16>
        %s = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
        %p = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xf16>
        %next = tile.dot %p, %z, %sum lhs mk rhs kn : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
        scf.yield %next : tensor<128x128xf32>
      }
      %out = arith.truncf %acc : tensor<128x128xf32> to tensor<128x128xf16>
      tile.store %out, %d[%i0, %c0] : tensor<128x128xf16>, !c
    }
    gpu.return
  }
}
