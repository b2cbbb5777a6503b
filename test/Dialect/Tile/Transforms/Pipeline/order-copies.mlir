// RUN: fa3-opt %s -tile-order-copies | FileCheck %s
// RUN: %stages-chain --pass tile-order-copies
// RUN: %stages-window --pass tile-order-copies

// test/Pipelines/wide-backward.mlir has values of loops that it orders.

!a = tensor<64x32xf16>
!slot = !warp.slot<write, [!a]>
!read = !warp.slot<read, [!a]>
!w = !warp.cursor<write>
!c = !warp.cursor<read>
gpu.module @m {
  // V is given back while the product of K is still to come, and copied first; what
  // says where it lies stays in front.
  // CHECK-LABEL: gpu.func @kept
  // CHECK: %[[K:.*]] = warp.ring
  // CHECK-NEXT: %[[V:.*]] = warp.ring
  // CHECK: scf.for %[[I:[a-z0-9]+]] =
  // CHECK-NEXT: %[[ROW:.*]] = arith.addi
  // CHECK-NEXT: %[[T:.*]], %{{.*}} = warp.acquire %[[V]][
  // CHECK-NEXT: tile.view %[[T]]
  // CHECK-NEXT: tile.load.async %{{.*}}[%[[ROW]],
  // CHECK-NEXT: warp.publish %[[T]]
  // CHECK-NEXT: %[[S:.*]], %{{.*}} = warp.acquire %[[K]][
  // CHECK-NEXT: tile.view %[[S]]
  // CHECK-NEXT: tile.load.async %{{.*}}[%[[I]],
  // CHECK-NEXT: warp.publish %[[S]]
  // CHECK-NEXT: scf.yield
  gpu.func @kept(%a: memref<?x32xf16>, %n: index) kernel {
    %k = warp.ring : !warp.ring<1, [!a]>
    %v = warp.ring : !warp.ring<1, [!a]>
    %rest = warp.ring : !warp.ring<1, [tensor<1728x64xf16>]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %kc = warp.cursor write %k : !warp.ring<1, [!a]>
        %vc = warp.cursor write %v : !warp.ring<1, [!a]>
        %all:2 = scf.for %i = %c0 to %n step %c1 iter_args(%k1 = %kc, %v1 = %vc) -> (!w, !w) {
          %s, %k2 = warp.acquire %k[%k1] : !warp.ring<1, [!a]>, !w
          %sv = tile.view %s[%c0, %c0] : !slot -> !tile.view<!a>
          tile.load.async %a[%i, %c0], %sv : memref<?x32xf16>, !tile.view<!a>
          warp.publish %s : !slot
          %row = arith.addi %i, %n : index
          %t, %v2 = warp.acquire %v[%v1] : !warp.ring<1, [!a]>, !w
          %tv = tile.view %t[%c0, %c0] : !slot -> !tile.view<!a>
          tile.load.async %a[%row, %c0], %tv : memref<?x32xf16>, !tile.view<!a>
          warp.publish %t : !slot
          scf.yield %k2, %v2 : !w, !w
        }
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %x = arith.constant dense<1.0> : tensor<64x64xf16>
        %zero = arith.constant dense<0.0> : tensor<64x32xf32>
        %kc = warp.cursor read %k : !warp.ring<1, [!a]>
        %vc = warp.cursor read %v : !warp.ring<1, [!a]>
        %all:3 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero, %k1 = %kc, %v1 = %vc) -> (tensor<64x32xf32>, !c, !c) {
          %s, %k2 = warp.acquire %k[%k1] : !warp.ring<1, [!a]>, !c
          %sv = tile.view %s[%c0, %c0] : !read -> !tile.view<!a>
          %t, %v2 = warp.acquire %v[%v1] : !warp.ring<1, [!a]>, !c
          %tv = tile.view %t[%c0, %c0] : !read -> !tile.view<!a>
          %q, %d = tile.dot.async %x, %tv, %zero lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %r = tile.await %q : !tile.pending<tensor<64x32xf32>>
          warp.release %t after %d : !read
          %y, %e = tile.dot.async %x, %sv, %sum lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %z = tile.await %y : !tile.pending<tensor<64x32xf32>>
          warp.release %s after %e : !read
          scf.yield %z, %k2, %v2 : tensor<64x32xf32>, !c, !c
        }
      }
      warp.group @other warps 4 (%g) {
      }
    }
    gpu.return
  }

  // With room for two entries, which tile-size-rings gives, copies stay.
  // CHECK-LABEL: gpu.func @room
  // CHECK: %[[K:.*]] = warp.ring
  // CHECK-NEXT: %[[V:.*]] = warp.ring
  // CHECK: scf.for
  // CHECK: warp.acquire %[[K]][
  // CHECK: warp.publish
  // CHECK: warp.acquire %[[V]][
  // CHECK: warp.publish
  gpu.func @room(%a: memref<?x32xf16>, %n: index) kernel {
    %k = warp.ring : !warp.ring<1, [!a]>
    %v = warp.ring : !warp.ring<1, [!a]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %kc = warp.cursor write %k : !warp.ring<1, [!a]>
        %vc = warp.cursor write %v : !warp.ring<1, [!a]>
        %all:2 = scf.for %i = %c0 to %n step %c1 iter_args(%k1 = %kc, %v1 = %vc) -> (!w, !w) {
          %s, %k2 = warp.acquire %k[%k1] : !warp.ring<1, [!a]>, !w
          %sv = tile.view %s[%c0, %c0] : !slot -> !tile.view<!a>
          tile.load.async %a[%i, %c0], %sv : memref<?x32xf16>, !tile.view<!a>
          warp.publish %s : !slot
          %row = arith.addi %i, %n : index
          %t, %v2 = warp.acquire %v[%v1] : !warp.ring<1, [!a]>, !w
          %tv = tile.view %t[%c0, %c0] : !slot -> !tile.view<!a>
          tile.load.async %a[%row, %c0], %tv : memref<?x32xf16>, !tile.view<!a>
          warp.publish %t : !slot
          scf.yield %k2, %v2 : !w, !w
        }
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %x = arith.constant dense<1.0> : tensor<64x64xf16>
        %zero = arith.constant dense<0.0> : tensor<64x32xf32>
        %kc = warp.cursor read %k : !warp.ring<1, [!a]>
        %vc = warp.cursor read %v : !warp.ring<1, [!a]>
        %all:3 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero, %k1 = %kc, %v1 = %vc) -> (tensor<64x32xf32>, !c, !c) {
          %s, %k2 = warp.acquire %k[%k1] : !warp.ring<1, [!a]>, !c
          %sv = tile.view %s[%c0, %c0] : !read -> !tile.view<!a>
          %t, %v2 = warp.acquire %v[%v1] : !warp.ring<1, [!a]>, !c
          %tv = tile.view %t[%c0, %c0] : !read -> !tile.view<!a>
          %q, %d = tile.dot.async %x, %tv, %zero lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %r = tile.await %q : !tile.pending<tensor<64x32xf32>>
          warp.release %t after %d : !read
          %y, %e = tile.dot.async %x, %sv, %sum lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %z = tile.await %y : !tile.pending<tensor<64x32xf32>>
          warp.release %s after %e : !read
          scf.yield %z, %k2, %v2 : tensor<64x32xf32>, !c, !c
        }
      }
      warp.group @other warps 4 (%g) {
      }
    }
    gpu.return
  }

  // Replicas of one group hide such waits from each other.
  // CHECK-LABEL: gpu.func @alone
  // CHECK: %[[K:.*]] = warp.ring
  // CHECK-NEXT: %[[V:.*]] = warp.ring
  // CHECK: scf.for
  // CHECK: warp.acquire %[[K]][
  // CHECK: warp.publish
  // CHECK: warp.acquire %[[V]][
  // CHECK: warp.publish
  gpu.func @alone(%a: memref<?x32xf16>, %n: index) kernel {
    %k = warp.ring : !warp.ring<1, [!a]>
    %v = warp.ring : !warp.ring<1, [!a]>
    %rest = warp.ring : !warp.ring<1, [tensor<1728x64xf16>]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %kc = warp.cursor write %k : !warp.ring<1, [!a]>
        %vc = warp.cursor write %v : !warp.ring<1, [!a]>
        %all:2 = scf.for %i = %c0 to %n step %c1 iter_args(%k1 = %kc, %v1 = %vc) -> (!w, !w) {
          %s, %k2 = warp.acquire %k[%k1] : !warp.ring<1, [!a]>, !w
          %sv = tile.view %s[%c0, %c0] : !slot -> !tile.view<!a>
          tile.load.async %a[%i, %c0], %sv : memref<?x32xf16>, !tile.view<!a>
          warp.publish %s : !slot
          %row = arith.addi %i, %n : index
          %t, %v2 = warp.acquire %v[%v1] : !warp.ring<1, [!a]>, !w
          %tv = tile.view %t[%c0, %c0] : !slot -> !tile.view<!a>
          tile.load.async %a[%row, %c0], %tv : memref<?x32xf16>, !tile.view<!a>
          warp.publish %t : !slot
          scf.yield %k2, %v2 : !w, !w
        }
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %x = arith.constant dense<1.0> : tensor<64x64xf16>
        %zero = arith.constant dense<0.0> : tensor<64x32xf32>
        %kc = warp.cursor read %k : !warp.ring<1, [!a]>
        %vc = warp.cursor read %v : !warp.ring<1, [!a]>
        %all:3 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero, %k1 = %kc, %v1 = %vc) -> (tensor<64x32xf32>, !c, !c) {
          %s, %k2 = warp.acquire %k[%k1] : !warp.ring<1, [!a]>, !c
          %sv = tile.view %s[%c0, %c0] : !read -> !tile.view<!a>
          %t, %v2 = warp.acquire %v[%v1] : !warp.ring<1, [!a]>, !c
          %tv = tile.view %t[%c0, %c0] : !read -> !tile.view<!a>
          %q, %d = tile.dot.async %x, %tv, %zero lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %r = tile.await %q : !tile.pending<tensor<64x32xf32>>
          warp.release %t after %d : !read
          %y, %e = tile.dot.async %x, %sv, %sum lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %z = tile.await %y : !tile.pending<tensor<64x32xf32>>
          warp.release %s after %e : !read
          scf.yield %z, %k2, %v2 : tensor<64x32xf32>, !c, !c
        }
      }
    }
    gpu.return
  }

  // What writes memory is not passed.
  // CHECK-LABEL: gpu.func @between
  // CHECK: %[[K:.*]] = warp.ring
  // CHECK-NEXT: %[[V:.*]] = warp.ring
  // CHECK: scf.for
  // CHECK: warp.acquire %[[K]][
  // CHECK: warp.publish
  // CHECK: warp.acquire %[[V]][
  // CHECK: warp.publish
  gpu.func @between(%a: memref<?x32xf16>, %n: index) kernel {
    %k = warp.ring : !warp.ring<1, [!a]>
    %v = warp.ring : !warp.ring<1, [!a]>
    %rest = warp.ring : !warp.ring<1, [tensor<1728x64xf16>]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %kc = warp.cursor write %k : !warp.ring<1, [!a]>
        %vc = warp.cursor write %v : !warp.ring<1, [!a]>
        %x0 = arith.constant 0.0 : f16
        %all:2 = scf.for %i = %c0 to %n step %c1 iter_args(%k1 = %kc, %v1 = %vc) -> (!w, !w) {
          %s, %k2 = warp.acquire %k[%k1] : !warp.ring<1, [!a]>, !w
          %sv = tile.view %s[%c0, %c0] : !slot -> !tile.view<!a>
          tile.load.async %a[%i, %c0], %sv : memref<?x32xf16>, !tile.view<!a>
          warp.publish %s : !slot
          memref.store %x0, %a[%i, %c0] : memref<?x32xf16>
          %row = arith.addi %i, %n : index
          %t, %v2 = warp.acquire %v[%v1] : !warp.ring<1, [!a]>, !w
          %tv = tile.view %t[%c0, %c0] : !slot -> !tile.view<!a>
          tile.load.async %a[%row, %c0], %tv : memref<?x32xf16>, !tile.view<!a>
          warp.publish %t : !slot
          scf.yield %k2, %v2 : !w, !w
        }
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %x = arith.constant dense<1.0> : tensor<64x64xf16>
        %zero = arith.constant dense<0.0> : tensor<64x32xf32>
        %kc = warp.cursor read %k : !warp.ring<1, [!a]>
        %vc = warp.cursor read %v : !warp.ring<1, [!a]>
        %all:3 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero, %k1 = %kc, %v1 = %vc) -> (tensor<64x32xf32>, !c, !c) {
          %s, %k2 = warp.acquire %k[%k1] : !warp.ring<1, [!a]>, !c
          %sv = tile.view %s[%c0, %c0] : !read -> !tile.view<!a>
          %t, %v2 = warp.acquire %v[%v1] : !warp.ring<1, [!a]>, !c
          %tv = tile.view %t[%c0, %c0] : !read -> !tile.view<!a>
          %q, %d = tile.dot.async %x, %tv, %zero lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %r = tile.await %q : !tile.pending<tensor<64x32xf32>>
          warp.release %t after %d : !read
          %y, %e = tile.dot.async %x, %sv, %sum lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %z = tile.await %y : !tile.pending<tensor<64x32xf32>>
          warp.release %s after %e : !read
          scf.yield %z, %k2, %v2 : tensor<64x32xf32>, !c, !c
        }
      }
      warp.group @other warps 4 (%g) {
      }
    }
    gpu.return
  }
}
