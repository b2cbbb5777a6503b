// C = A x B^T in fp16 with fp32 accumulation: A is m x k, B is n x k, both
// contiguous along k. A plain matrix product in the tile dialect: the passes
// that make attention fast know nothing of attention.
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
    %bn = arith.constant 256 : index
    %bk = arith.constant 64 : index
    %m = memref.dim %a, %c0 : !a
    %k = memref.dim %a, %c1 : !a
    %n = memref.dim %b, %c0 : !a
    %mt = arith.ceildivsi %m, %bm : index
    %nt = arith.ceildivsi %n, %bn : index
    %kt = arith.ceildivsi %k, %bk : index
    tile.grid (%i, %j) in (%mt, %nt) {
      %i0 = arith.muli %i, %bm : index
      %j0 = arith.muli %j, %bn : index
      %zero = arith.constant dense<0.0> : tensor<128x256xf32>
      %acc = scf.for %t = %c0 to %kt step %c1 iter_args(%sum = %zero) -> (tensor<128x256xf32>) {
        %k0 = arith.muli %t, %bk : index
        %x = tile.load %a[%i0, %k0] : !a -> tensor<128x64xf16>
        %y = tile.load %b[%j0, %k0] : !a -> tensor<256x64xf16>
        %next = tile.dot %x, %y, %sum lhs mk rhs nk : tensor<128x64xf16>, tensor<256x64xf16> -> tensor<128x256xf32>
        scf.yield %next : tensor<128x256xf32>
      }
      %out = arith.truncf %acc : tensor<128x256xf32> to tensor<128x256xf16>
      tile.store %out, %c[%i0, %j0] : tensor<128x256xf16>, !a
    }
    gpu.return
  }
}
