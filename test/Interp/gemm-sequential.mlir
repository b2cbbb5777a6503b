// RUN: fa3-run --cpu %s --dims m=100,n=70,k=50 --against %S/Inputs/gemm-reference.mlir | FileCheck %s
// The array may lie in memory as it likes.
// RUN: fa3-run --cpu %s --dims m=100,n=70,k=50 --order b=1,0 --against %S/Inputs/gemm-reference.mlir | FileCheck %s

// The same order of summation as the reference: equal to the last bit.
// CHECK: c: max abs 0, max rel 0, rms 0

gpu.module @kernels {
  gpu.func @gemm(%a: memref<?x?xf16>, %bt: memref<?x?xf16, strided<[?, ?]>>, %c: memref<?x?xf32>,
                 %tm: index, %tn: index, %tk: index) kernel {
    tile.grid (%i, %j) in (%tm, %tn) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c32 = arith.constant 32 : index
      %c24 = arith.constant 24 : index
      %c16 = arith.constant 16 : index
      %zero = arith.constant dense<0.0> : tensor<32x24xf32>
      %i0 = arith.muli %i, %c32 : index
      %j0 = arith.muli %j, %c24 : index
      %sum = scf.for %l = %c0 to %tk step %c1 iter_args(%s = %zero) -> (tensor<32x24xf32>) {
        %l0 = arith.muli %l, %c16 : index
        %x = tile.load %a[%i0, %l0] : memref<?x?xf16> -> tensor<32x16xf16>
        %y = tile.load %bt[%j0, %l0] : memref<?x?xf16, strided<[?, ?]>> -> tensor<24x16xf16>
        %t = tile.dot %x, %y, %s lhs mk rhs nk : tensor<32x16xf16>, tensor<24x16xf16> -> tensor<32x24xf32>
        scf.yield %t : tensor<32x24xf32>
      }
      tile.store %sum, %c[%i0, %j0] : tensor<32x24xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}

func.func @gemm(%a: memref<?x?xf16> {tile.name = "a", tile.dims = ["m", "k"]},
                %b: memref<?x?xf16, strided<[?, ?]>> {tile.name = "b", tile.dims = ["k", "n"]},
                %c: memref<?x?xf32> {tile.name = "c", tile.dims = ["m", "n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c24 = arith.constant 24 : index
  %c16 = arith.constant 16 : index
  %m = memref.dim %a, %c0 : memref<?x?xf16>
  %k = memref.dim %a, %c1 : memref<?x?xf16>
  %n = memref.dim %b, %c1 : memref<?x?xf16, strided<[?, ?]>>
  %tm = arith.ceildivsi %m, %c32 : index
  %tn = arith.ceildivsi %n, %c24 : index
  %tk = arith.ceildivsi %k, %c16 : index
  %bt = memref.transpose %b (i, j) -> (j, i) : memref<?x?xf16, strided<[?, ?]>> to memref<?x?xf16, strided<[?, ?]>>
  tile.launch @kernels::@gemm args(%a, %bt, %c, %tm, %tn, %tk : memref<?x?xf16>, memref<?x?xf16, strided<[?, ?]>>, memref<?x?xf32>, index, index, index)
  return
}
