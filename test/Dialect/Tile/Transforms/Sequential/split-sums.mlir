// RUN: fa3-opt %s -split-input-file -verify-diagnostics -tile-split-sums | FileCheck %s

!a = memref<?x?xbf16, strided<[?, 1]>>
!b = memref<?x512xbf16, strided<[?, 1]>>
!c = memref<?x512xf32, strided<[?, 1]>>
gpu.module @gemm {
  // A sum of 512 columns becomes two of 256. What is of rows alone stays one.
  // CHECK-LABEL: gpu.func @wide
  // CHECK-DAG: %[[C256:.*]] = arith.constant 256 : index
  // CHECK: %[[R:.*]]:2 = scf.for {{.*}} -> (tensor<64x256xf32>, tensor<64x256xf32>) {
  // CHECK: %[[X:.*]] = tile.load %{{.*}} -> tensor<64x64xbf16>
  // CHECK-DAG: %[[L:.*]] = tile.load %{{.*}}[%{{.*}}, %c0] : {{.*}} -> tensor<64x256xbf16>
  // CHECK-DAG: %[[H:.*]] = tile.load %{{.*}}[%{{.*}}, %[[C256]]] : {{.*}} -> tensor<64x256xbf16>
  // CHECK-DAG: %[[P:.*]] = tile.dot %[[X]], %[[L]], %{{.*}} -> tensor<64x256xf32>
  // CHECK-DAG: %[[Q:.*]] = tile.dot %[[X]], %[[H]], %{{.*}} -> tensor<64x256xf32>
  // CHECK: scf.yield %[[P]], %[[Q]]
  // CHECK: tile.store %[[R]]#0, %{{.*}}[%{{.*}}, %c0]
  // CHECK: tile.store %[[R]]#1, %{{.*}}[%{{.*}}, %[[C256]]]
  gpu.func @wide(%a: !a, %b: !b, %c: !c, %i: index, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x512xf32>
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x512xf32>) {
      %x = tile.load %a[%i, %k] : !a -> tensor<64x64xbf16>
      %y = tile.load %b[%k, %c0] : !b -> tensor<64x512xbf16>
      %d = tile.dot %x, %y, %acc lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x512xbf16> -> tensor<64x512xf32>
      scf.yield %d : tensor<64x512xf32>
    }
    tile.store %r, %c[%i, %c0] : tensor<64x512xf32>, !c
    gpu.return
  }

  // Uneven: 320 columns are 192 and 128. What else a condition chooses stays
  // with the first;
  // coordinates of columns start where the piece does; so do branches.
  // CHECK-LABEL: gpu.func @scaled
  // CHECK: %[[R:.*]]:3 = scf.for {{.*}} -> (tensor<64x8xf32>, tensor<64x192xf32>, tensor<64x128xf32>)
  // CHECK: scf.if {{.*}} -> (tensor<64x8xf32>, tensor<64x192xf32>, tensor<64x128xf32>)
  // CHECK: tile.where %[[C:.*]] else %{{.*}} : tensor<64xi1>, tensor<64x192xf32>, tensor<64x8xf32>
  // CHECK: tile.where %[[C]] else %{{.*}} : tensor<64xi1>, tensor<64x128xf32>
  // CHECK: tile.coord dim 1 offset %c192 : tensor<64x128xindex>
  gpu.func @scaled(%a: !a, %b: memref<?x320xbf16, strided<[?, 1]>>, %c: memref<?x320xf32>, %i: index, %n: index, %ok: i1) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x320xf32>
    %few = arith.constant dense<0.0> : tensor<64x8xf32>
    %two = arith.constant dense<2.0> : tensor<64xf32>
    %row = tile.coord dim 0 offset %i : tensor<64xindex>
    %limit = tensor.splat %n : tensor<64xindex>
    %some = arith.cmpi slt, %row, %limit : tensor<64xindex>
    %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero, %l = %few) -> (tensor<64x320xf32>, tensor<64x8xf32>) {
      %x = tile.load %a[%i, %k] : !a -> tensor<64x64xbf16>
      %y = tile.load %b[%k, %c0] : memref<?x320xbf16, strided<[?, 1]>> -> tensor<64x320xbf16>
      %s:2 = scf.if %ok -> (tensor<64x320xf32>, tensor<64x8xf32>) {
        %w:2 = tile.where %some else %acc, %l : tensor<64xi1>, tensor<64x320xf32>, tensor<64x8xf32> {
          %t = tile.broadcast %two dim 1 : tensor<64xf32> -> tensor<64x320xf32>
          %u = tile.broadcast %two dim 1 : tensor<64xf32> -> tensor<64x8xf32>
          %m = arith.mulf %acc, %t : tensor<64x320xf32>
          %o = arith.addf %l, %u : tensor<64x8xf32>
          tile.yield %m, %o : tensor<64x320xf32>, tensor<64x8xf32>
        }
        %d = tile.dot %x, %y, %w#0 lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x320xbf16> -> tensor<64x320xf32>
        scf.yield %d, %w#1 : tensor<64x320xf32>, tensor<64x8xf32>
      } else {
        scf.yield %acc, %l : tensor<64x320xf32>, tensor<64x8xf32>
      }
      scf.yield %s#0, %s#1 : tensor<64x320xf32>, tensor<64x8xf32>
    }
    %j = tile.coord dim 1 offset %c0 : tensor<64x320xindex>
    %q = arith.index_cast %j : tensor<64x320xindex> to tensor<64x320xi32>
    %f = arith.sitofp %q : tensor<64x320xi32> to tensor<64x320xf32>
    %sum = arith.addf %r#0, %f : tensor<64x320xf32>
    tile.store %sum, %c[%i, %c0] : tensor<64x320xf32>, memref<?x320xf32>
    %total = tile.reduce add %r#1 dim 1 : tensor<64x8xf32> -> tensor<64xf32>
    %all = tile.broadcast %total dim 1 : tensor<64xf32> -> tensor<64x320xf32>
    tile.store %all, %c[%n, %c0] : tensor<64x320xf32>, memref<?x320xf32>
    gpu.return
  }

  // What the sum's product takes by columns another one sums up over: a chain, of
  // what is loaded once.
  // CHECK-LABEL: gpu.func @shared
  // CHECK-DAG: %[[A:.*]] = tile.load %arg0[%{{.*}}, %c0] : {{.*}} -> tensor<64x256xbf16>
  // CHECK-DAG: %[[B:.*]] = tile.load %arg0[%{{.*}}, %c256] : {{.*}} -> tensor<64x256xbf16>
  // CHECK: scf.for
  // CHECK-DAG: %[[L:.*]] = tile.load %arg1[%{{.*}}, %c0] : {{.*}} -> tensor<32x256xbf16>
  // CHECK-DAG: %[[H:.*]] = tile.load %arg1[%{{.*}}, %c256] : {{.*}} -> tensor<32x256xbf16>
  // CHECK: %[[S:.*]] = tile.dot %[[A]], %[[L]], %{{.*}} lhs mk rhs nk
  // CHECK: %[[T:.*]] = tile.dot %[[B]], %[[H]], %[[S]] lhs mk rhs nk
  // CHECK: %[[W:.*]] = arith.truncf %[[T]]
  // CHECK-DAG: tile.dot %[[W]], %[[L]], %{{.*}} lhs mk rhs kn
  // CHECK-DAG: tile.dot %[[W]], %[[H]], %{{.*}} lhs mk rhs kn
  gpu.func @shared(%a: !b, %b: !b, %c: !c, %i: index, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : tensor<64x512xf32>
    %none = arith.constant dense<0.0> : tensor<64x32xf32>
    %x = tile.load %a[%i, %c0] : !b -> tensor<64x512xbf16>
    %r = scf.for %k = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x512xf32>) {
      %y = tile.load %b[%k, %c0] : !b -> tensor<32x512xbf16>
      %s = tile.dot %x, %y, %none lhs mk rhs nk : tensor<64x512xbf16>, tensor<32x512xbf16> -> tensor<64x32xf32>
      %w = arith.truncf %s : tensor<64x32xf32> to tensor<64x32xbf16>
      %d = tile.dot %w, %y, %acc lhs mk rhs kn : tensor<64x32xbf16>, tensor<32x512xbf16> -> tensor<64x512xf32>
      scf.yield %d : tensor<64x512xf32>
    }
    tile.store %r, %c[%i, %c0] : tensor<64x512xf32>, !c
    gpu.return
  }
}

// -----

gpu.module @refused {
  gpu.func @reduced(%a: memref<?x?xbf16>, %b: memref<?x512xbf16>, %c: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x512xf32>
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x512xf32>) {
      %x = tile.load %a[%c0, %k] : memref<?x?xbf16> -> tensor<64x64xbf16>
      %y = tile.load %b[%k, %c0] : memref<?x512xbf16> -> tensor<64x512xbf16>
      %d = tile.dot %x, %y, %acc lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x512xbf16> -> tensor<64x512xf32>
      scf.yield %d : tensor<64x512xf32>
    }
    // expected-error @+1 {{reduces the columns of a sum that takes 2 products}}
    %s = tile.reduce add %r dim 1 : tensor<64x512xf32> -> tensor<64xf32>
    tile.store %s, %c[%c0] : tensor<64xf32>, memref<?xf32>
    gpu.return
  }
}

// -----

gpu.module @refused {
  gpu.func @multiplied(%a: memref<?x?xbf16>, %b: memref<?x512xbf16>, %c: memref<?x?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x512xf32>
    %none = arith.constant dense<0.0> : tensor<512x64xf32>
    %y = tile.load %b[%n, %c0] : memref<?x512xbf16> -> tensor<64x512xbf16>
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x512xf32>) {
      %x = tile.load %a[%c0, %k] : memref<?x?xbf16> -> tensor<64x64xbf16>
      %d = tile.dot %x, %y, %acc lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x512xbf16> -> tensor<64x512xf32>
      scf.yield %d : tensor<64x512xf32>
    }
    %h = arith.truncf %r : tensor<64x512xf32> to tensor<64x512xbf16>
    %z = tile.load %a[%n, %c0] : memref<?x?xbf16> -> tensor<64x64xbf16>
    // expected-error @+1 {{multiplies by the columns of a sum that takes 2 products}}
    %s = tile.dot %h, %z, %none lhs km rhs kn : tensor<64x512xbf16>, tensor<64x64xbf16> -> tensor<512x64xf32>
    tile.store %s, %c[%c0, %c0] : tensor<512x64xf32>, memref<?x?xf32>
    gpu.return
  }
}
