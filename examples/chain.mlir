// C = (A x B^T) x V in bf16 with fp32 accumulation: A is m x 96, B is n x 96, V
// is n x 64. The inner product is rounded to bf16 between; there is no softmax,
// yet the second product runs under the first of the next step as in attention.
!ab = memref<?x96xbf16, strided<[?, 1]>>
!vc = memref<?x64xbf16, strided<[?, 1]>>

func.func @chain(%a: !ab {tile.name = "a", tile.dims = ["m", "d"]},
                 %b: !ab {tile.name = "b", tile.dims = ["n", "d"]},
                 %v: !vc {tile.name = "v", tile.dims = ["n", "e"]},
                 %c: !vc {tile.name = "c", tile.dims = ["m", "e"]}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %width = arith.constant 160 : index
  %m = memref.dim %a, %c0 : !ab
  %n = memref.dim %b, %c0 : !ab
  %nv = memref.dim %v, %c0 : !vc
  %mc = memref.dim %c, %c0 : !vc
  %sameN = arith.cmpi eq, %n, %nv : index
  cf.assert %sameN, "b and v differ in rows"
  %sameM = arith.cmpi eq, %m, %mc : index
  cf.assert %sameM, "a and c differ in rows"
  %mn = arith.muli %m, %n : index
  %products = arith.muli %mn, %width : index
  %flops = arith.muli %products, %c2 : index
  %rows = arith.addi %m, %n : index
  %elements = arith.muli %rows, %width : index
  %bytes = arith.muli %elements, %c2 : index
  tile.launch @kernels::@chain args(%a, %b, %v, %c : !ab, !ab, !vc, !vc) cost(%flops, %bytes)
  return
}

gpu.module @kernels {
  gpu.func @chain(%a: !ab, %b: !ab, %v: !vc, %c: !vc) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bm = arith.constant 128 : index
    %bn = arith.constant 112 : index
    %m = memref.dim %a, %c0 : !ab
    %n = memref.dim %b, %c0 : !ab
    %mt = arith.ceildivsi %m, %bm : index
    %nt = arith.ceildivsi %n, %bn : index
    tile.grid (%i) in (%mt) {
      %i0 = arith.muli %i, %bm : index
      %zero = arith.constant dense<0.0> : tensor<128x112xf32>
      %none = arith.constant dense<0.0> : tensor<128x64xf32>
      %x = tile.load %a[%i0, %c0] : !ab -> tensor<128x96xbf16>
      %acc = scf.for %t = %c0 to %nt step %c1 iter_args(%sum = %none) -> (tensor<128x64xf32>) {
        %j0 = arith.muli %t, %bn : index
        %y = tile.load %b[%j0, %c0] : !ab -> tensor<112x96xbf16>
        %z = tile.load %v[%j0, %c0] : !vc -> tensor<112x64xbf16>
        %s = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<128x96xbf16>, tensor<112x96xbf16> -> tensor<128x112xf32>
        %p = arith.truncf %s : tensor<128x112xf32> to tensor<128x112xbf16>
        %next = tile.dot %p, %z, %sum lhs mk rhs kn : tensor<128x112xbf16>, tensor<112x64xbf16> -> tensor<128x64xf32>
        scf.yield %next : tensor<128x64xf32>
      }
      %out = arith.truncf %acc : tensor<128x64xf32> to tensor<128x64xbf16>
      tile.store %out, %c[%i0, %c0] : tensor<128x64xbf16>, !vc
    }
    gpu.return
  }
}
