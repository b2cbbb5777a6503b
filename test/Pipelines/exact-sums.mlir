// Sums of the elements of a product by numbers that elements have: by code, and
// by diagonals, of which some are outside of the array. Tiles add to them in any
// order; every run gives the same bits, with tiles and columns of any size.
// DEFINE: %{dims} = --dims m=130,n=100,k=40,s=17,t=150
// DEFINE: %{run} = fa3-run --cpu %s --distribution=uniform %{dims}
// RUN: %{run} --against %S/Inputs/exact-sums-reference.mlir --atol 2e-3 --rtol 2e-3 --pass-pipeline='builtin.module(fa3-tile)' | FileCheck %s
// RUN: %{run} --against %S/Inputs/exact-sums-reference.mlir --atol 2e-3 --rtol 2e-3 --pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' | FileCheck %s
// RUN: %{run} --check-each-pass --check-ptx | FileCheck %s --check-prefix=SAME
// RUN: %{run} --check-each-pass="mode=static" --sms 2 --completion random | FileCheck %s --check-prefix=SAME
// CHECK: by_code: max abs
// CHECK: by_diagonal: max abs
// CHECK-NOT: not written
// SAME: same answer after {{[0-9]+}} passes

// RUN: fa3-opt %s -fa3-tile -fa3-specialize -fa3-pipeline -fa3-layout -fa3-hopper | FileCheck %s --check-prefix=HOPPER
// HOPPER-LABEL: gpu.func @add
// HOPPER: hopper.add_exact %{{.*}}, %{{.*}}[%{{.*}} : vector<32xi32>] strides(%{{.*}}) bounds(%{{.*}}) : vector<32xf32>
// HOPPER: %[[TERMS:.*]] = hopper.diagonal.reduce add %{{.*}} : vector<32xf32> -> vector<3xf32>
// HOPPER: %[[AT:.*]] = hopper.diagonal.reduce max %{{.*}} : vector<32xi32> -> vector<3xi32>
// HOPPER: hopper.add_exact %[[TERMS]], %{{.*}}[%[[AT]] : vector<3xi32>]

!a = memref<?x?xf16, strided<[?, 1]>>
!s = memref<?x32xi64>
!o = memref<?xf32>
func.func @sums(%a: !a {tile.name = "a", tile.dims = ["m", "k"]}, %b: !a {tile.name = "b", tile.dims = ["n", "k"]},
                %by_code: !o {tile.name = "by_code", tile.dims = ["s"]}, %by_diagonal: !o {tile.name = "by_diagonal", tile.dims = ["t"]}) {
  %c0 = arith.constant 0 : index
  %s = memref.dim %by_code, %c0 : !o
  %t = memref.dim %by_diagonal, %c0 : !o
  %of_code = memref.alloc(%s) {tile.name = "of_code"} : !s
  %of_diagonal = memref.alloc(%t) {tile.name = "of_diagonal"} : !s
  tile.launch @kernels::@zero args(%of_code : !s)
  tile.launch @kernels::@zero args(%of_diagonal : !s)
  tile.launch @kernels::@add args(%a, %b, %of_code, %of_diagonal : !a, !a, !s, !s)
  tile.launch @kernels::@round args(%of_code, %by_code : !s, !o)
  tile.launch @kernels::@round args(%of_diagonal, %by_diagonal : !s, !o)
  return
}

gpu.module @kernels {
  gpu.func @zero(%sums: !s) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %count = memref.dim %sums, %c0 : !s
    %tiles = arith.ceildivsi %count, %c64 : index
    tile.grid (%tile) in (%tiles) {
      %first = arith.muli %tile, %c64 : index
      %zero = arith.constant dense<0> : tensor<64x32xi64>
      tile.store %zero, %sums[%first, %c0] : tensor<64x32xi64>, !s
    }
    gpu.return
  }

  gpu.func @add(%a: !a, %b: !a, %of_code: !s, %of_diagonal: !s) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %m = memref.dim %a, %c0 : !a
    %k = memref.dim %a, %c1 : !a
    %n = memref.dim %b, %c0 : !a
    %s = memref.dim %of_code, %c0 : !s
    %mt = arith.ceildivsi %m, %c64 : index
    %nt = arith.ceildivsi %n, %c64 : index
    %kt = arith.ceildivsi %k, %c64 : index
    tile.grid (%i, %j) in (%mt, %nt) {
      %i0 = arith.muli %i, %c64 : index
      %j0 = arith.muli %j, %c64 : index
      %none = arith.constant dense<0.0> : tensor<64x64xf32>
      %x = scf.for %l = %c0 to %kt step %c1 iter_args(%acc = %none) -> (tensor<64x64xf32>) {
        %l0 = arith.muli %l, %c64 : index
        %at = tile.load %a[%i0, %l0] : !a -> tensor<64x64xf16>
        %bt = tile.load %b[%j0, %l0] : !a -> tensor<64x64xf16>
        %next = tile.dot %at, %bt, %acc lhs mk rhs nk : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
        scf.yield %next : tensor<64x64xf32>
      }
      %row = tile.coord dim 0 offset %i0 : tensor<64x64xindex>
      %column = tile.coord dim 1 offset %j0 : tensor<64x64xindex>
      %three = arith.constant dense<3> : tensor<64x64xindex>
      %many = tensor.splat %s : tensor<64x64xindex>
      %triple = arith.muli %row, %three : tensor<64x64xindex>
      %mixed = arith.addi %triple, %column : tensor<64x64xindex>
      %code = arith.remui %mixed, %many : tensor<64x64xindex>
      tile.add_exact %x, %of_code[%code : tensor<64x64xindex>] : tensor<64x64xf32>, !s
      %shift = arith.constant dense<50> : tensor<64x64xindex>
      %difference = arith.subi %row, %column : tensor<64x64xindex>
      %diagonal = arith.addi %difference, %shift : tensor<64x64xindex>
      tile.add_exact %x, %of_diagonal[%diagonal : tensor<64x64xindex>] diagonal : tensor<64x64xf32>, !s
    }
    gpu.return
  }

  gpu.func @round(%sums: !s, %out: !o) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %count = memref.dim %sums, %c0 : !s
    %tiles = arith.ceildivsi %count, %c64 : index
    tile.grid (%tile) in (%tiles) {
      %first = arith.muli %tile, %c64 : index
      %x = tile.load_exact %sums[%first] : !s -> tensor<64xf32>
      tile.store %x, %out[%first] : tensor<64xf32>, !o
    }
    gpu.return
  }
}
