// RUN: fa3-opt %s -tile-assign-roles | FileCheck %s
// RUN: %stages-chain --pass tile-assign-roles

// CHECK-LABEL: gpu.func @gemm
// CHECK: tile.load %arg0{{.*}} {tile.role = "load"}
// CHECK: tile.load %arg1{{.*}} {tile.role = "load"}
// CHECK: tile.store {{.*}} {tile.role = "math"}
!a = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  gpu.func @gemm(%a: !a, %b: !a, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %x = tile.load %a[%c0, %c0] : !a -> tensor<64x32xf16>
    %y = tile.load %b[%c0, %c0] : !a -> tensor<64x32xf16>
    %r = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
    tile.store %r, %c[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }

  // The inner tile of a chain is no load; its other operands are.
  // CHECK-LABEL: gpu.func @chain
  // CHECK: tile.load %arg1{{.*}} {tile.role = "load"}
  // CHECK: tile.load %arg2{{.*}} {tile.role = "load"}
  gpu.func @chain(%s: tensor<64x32xf32>, %b: !a, %v: !a, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %zero2 = arith.constant dense<0.0> : tensor<64x64xf32>
    %p = arith.truncf %s : tensor<64x32xf32> to tensor<64x32xf16>
    %y = tile.load %b[%c0, %c0] : !a -> tensor<32x32xf16>
    %z = tile.load %v[%c0, %c0] : !a -> tensor<32x64xf16>
    %q = tile.dot %p, %y, %zero lhs mk rhs nk : tensor<64x32xf16>, tensor<32x32xf16> -> tensor<64x32xf32>
    %t = arith.truncf %q : tensor<64x32xf32> to tensor<64x32xf16>
    %r = tile.dot %t, %z, %zero2 lhs mk rhs kn : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
    tile.store %r, %c[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }

  // Not for the load role: an accumulator, a tile that is also computed with, a
  // vector, rows that are not contiguous, more dimensions than a bulk copy has,
  // a tile that nothing uses.
  // CHECK-LABEL: gpu.func @stays
  // CHECK-NOT: tile.role = "load"
  // CHECK: gpu.return
  gpu.func @stays(%a: !a, %acc: memref<?x?xf32>, %bias: memref<?xf16>,
                  %columns: memref<?x?xf16, strided<[1, ?]>>,
                  %deep: memref<1x1x1x1x?x?xf16>, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %init = tile.load %acc[%c0, %c0] : memref<?x?xf32> -> tensor<64x64xf32>
    %x = tile.load %a[%c0, %c0] : !a -> tensor<64x64xf16>
    %twice = arith.addf %x, %x : tensor<64x64xf16>
    %row = tile.load %bias[%c0] : memref<?xf16> -> tensor<64xf16>
    %wide = tile.broadcast %row dim 0 : tensor<64xf16> -> tensor<64x64xf16>
    %sum = arith.addf %twice, %wide : tensor<64x64xf16>
    %y = tile.load %columns[%c0, %c0] : memref<?x?xf16, strided<[1, ?]>> -> tensor<64x64xf16>
    %z = tile.load %deep[%c0, %c0, %c0, %c0, %c0, %c0] : memref<1x1x1x1x?x?xf16> -> tensor<64x64xf16>
    %unused = tile.load %a[%c0, %c0] : !a -> tensor<64x64xf16>
    %r = tile.dot %x, %y, %init lhs mk rhs nk : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %r2 = tile.dot %sum, %z, %r lhs mk rhs nk : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    tile.store %r2, %c[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }

  // Functions that are no kernels are left alone.
  // CHECK-LABEL: gpu.func @helper
  // CHECK-NOT: tile.role
  gpu.func @helper(%a: !a, %c: !a) {
    %c0 = arith.constant 0 : index
    %x = tile.load %a[%c0, %c0] : !a -> tensor<64x64xf16>
    tile.store %x, %c[%c0, %c0] : tensor<64x64xf16>, !a
    gpu.return
  }
}
