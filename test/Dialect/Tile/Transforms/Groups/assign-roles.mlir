// RUN: fa3-opt %s -tile-assign-roles | FileCheck %s
// RUN: fa3-opt %s -tile-assign-roles=loads=bulk | FileCheck %s --check-prefix=BULK
// RUN: fa3-opt %s -tile-assign-roles=loads=threads | FileCheck %s --check-prefix=THREADS
// RUN: not fa3-opt %s -tile-assign-roles=loads=all -o %t.none 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not ls %t.none
// RUN: %stages-chain --pass tile-assign-roles

// NAME: for the --loads option: expects 'auto', 'bulk' or 'threads', got 'all'

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

  // What is computed of a left operand alone does not make it another tile.
  // CHECK-LABEL: gpu.func @computed
  // CHECK: tile.load %arg0{{.*}} {tile.role = "load"}
  gpu.func @computed(%a: !a, %y: tensor<64x32xf16>, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %half = arith.constant dense<0.5> : tensor<64x32xf16>
    %x = tile.load %a[%c0, %c0] : !a -> tensor<64x32xf16>
    %h = arith.mulf %x, %half : tensor<64x32xf16>
    %r = tile.dot %h, %y, %zero lhs mk rhs nk : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
    tile.store %r, %c[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }

  // A right operand, which all replicas read; a tile that is also an operand as
  // it was loaded; one that is computed of another tile, too.
  // CHECK-LABEL: gpu.func @shared
  // CHECK: tile.load %arg0{{.*}} {tile.role = "math"}
  // CHECK: tile.load %arg1{{.*}} {tile.role = "math"}
  // CHECK: tile.load %arg2{{.*}} {tile.role = "math"}
  gpu.func @shared(%a: !a, %b: !a, %d: !a, %y: tensor<64x32xf16>, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %half = arith.constant dense<0.5> : tensor<64x32xf16>
    %x = tile.load %a[%c0, %c0] : !a -> tensor<64x32xf16>
    %h = arith.mulf %x, %half : tensor<64x32xf16>
    %r = tile.dot %y, %h, %zero lhs mk rhs nk : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
    %z = tile.load %b[%c0, %c0] : !a -> tensor<64x32xf16>
    %g = arith.mulf %z, %half : tensor<64x32xf16>
    %s = tile.dot %g, %y, %r lhs mk rhs nk : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
    %t = tile.dot %z, %y, %s lhs mk rhs nk : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
    %w = tile.load %d[%c0, %c0] : !a -> tensor<64x32xf16>
    %f = arith.mulf %w, %y : tensor<64x32xf16>
    %u = tile.dot %f, %y, %t lhs mk rhs nk : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
    tile.store %u, %c[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
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

  // What somebody has given to the threads stays theirs.
  // CHECK-LABEL: gpu.func @given
  // CHECK: tile.load {{.*}} {tile.role = "math"}
  // BULK-LABEL: gpu.func @given
  // BULK: tile.load {{.*}} {tile.role = "math"}
  gpu.func @given(%a: memref<?x800xf32, strided<[?, 1]>>, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %a[%c0, %c0] {tile.role = "math"} : memref<?x800xf32, strided<[?, 1]>> -> tensor<64x16xf32>
    %y = arith.addf %x, %x : tensor<64x16xf32>
    tile.store %y, %c[%c0, %c0] : tensor<64x16xf32>, memref<?x?xf32>
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

  // Tiles for element code of a loop: in bulk where rows are known to be whole
  // units of 16 bytes, or wherever that is asked for. The load leaves its guard.
  // CHECK-LABEL: gpu.func @elements
  // CHECK: %[[LIVE:.*]] = tile.any_possible
  // CHECK: %[[J:.*]] = arith.muli
  // CHECK: tile.load %arg1[%{{.*}}, %[[J]]] {tile.role = "load"}
  // CHECK: scf.if %[[LIVE]]
  // CHECK: tile.load %arg2{{.*}} {tile.role = "math"}
  // BULK-LABEL: gpu.func @elements
  // BULK: tile.load %arg1{{.*}} {tile.role = "load"}
  // BULK: tile.load %arg2{{.*}} {tile.role = "load"}
  // BULK: scf.if
  // THREADS-LABEL: gpu.func @elements
  // THREADS: scf.if
  // THREADS: tile.load %arg1{{.*}} {tile.role = "math"}
  // THREADS: tile.load %arg2{{.*}} {tile.role = "math"}
  gpu.func @elements(%n: index, %even: memref<?x800xf16, strided<[?, 1]>>,
                     %odd: memref<?x77xf16, strided<[?, 1]>>, %c: memref<?x?xf16>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf16>
    %keys = tensor.splat %n : tensor<64x32xindex>
    %sum = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x32xf16> {
      %column = tile.coord dim 1 offset %t : tensor<64x32xindex>
      %keep = arith.cmpi slt, %column, %keys : tensor<64x32xindex>
      %live = tile.any_possible %keep : tensor<64x32xi1>
      %next = scf.if %live -> tensor<64x32xf16> {
        %j = arith.muli %t, %c32 : index
        %x = tile.load %even[%c0, %j] : memref<?x800xf16, strided<[?, 1]>> -> tensor<64x32xf16>
        %y = tile.load %odd[%c0, %j] : memref<?x77xf16, strided<[?, 1]>> -> tensor<64x32xf16>
        %xy = arith.addf %x, %y : tensor<64x32xf16>
        %r = arith.addf %acc, %xy : tensor<64x32xf16>
        scf.yield %r : tensor<64x32xf16>
      } else {
        scf.yield %acc : tensor<64x32xf16>
      }
      scf.yield %next : tensor<64x32xf16>
    }
    tile.store %sum, %c[%c0, %c0] : tensor<64x32xf16>, memref<?x?xf16>
    gpu.return
  }

  // Also outside of loops; by threads whatever is asked for if not for element
  // code only.
  // BULK-LABEL: gpu.func @threads
  // BULK: tile.load %arg0{{.*}} {tile.role = "load"}
  // BULK-NOT: tile.role = "load"
  // BULK: gpu.return
  gpu.func @threads(%a: memref<?x800xf32, strided<[?, 1]>>, %n: index, %c: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<64xf32>
    %once = tile.load %a[%c0, %c0] : memref<?x800xf32, strided<[?, 1]>> -> tensor<64x32xf32>
    %twice = arith.addf %once, %once : tensor<64x32xf32>
    %first = tile.reduce add %twice dim 1 : tensor<64x32xf32> -> tensor<64xf32>
    %sum = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %first) -> tensor<64xf32> {
      %x = tile.load %a[%c0, %t] : memref<?x800xf32, strided<[?, 1]>> -> tensor<64x32xf32>
      %r = tile.reduce add %x init %acc dim 1 : tensor<64x32xf32>, tensor<64xf32> -> tensor<64xf32>
      scf.yield %r : tensor<64xf32>
    }
    tile.store %sum, %c[%c0] : tensor<64xf32>, memref<?xf32>
    gpu.return
  }
}
