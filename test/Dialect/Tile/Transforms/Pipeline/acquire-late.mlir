// RUN: fa3-opt %s -tile-acquire-late | FileCheck %s
// RUN: %stages-chain --pass tile-acquire-late
// RUN: %stages-window --pass tile-acquire-late

!a = tensor<64x32xf16>
!slot = !warp.slot<read, [!a]>
!c = !warp.cursor<read>
!acc = tensor<64x64xf32>
gpu.module @m {
  // The second entry is waited for behind the release of the first; views go
  // along. A loop without loops in it stays as it is.
  // CHECK-LABEL: gpu.func @late
  // CHECK: warp.group @math
  // CHECK: %[[S:.*]], %{{.*}} = warp.acquire
  // CHECK-NEXT: tile.view %[[S]]
  // CHECK-NEXT: tile.dot.async
  // CHECK-NEXT: tile.await
  // CHECK-NEXT: warp.release %[[S]]
  // CHECK-NEXT: %[[T:.*]], %{{.*}} = warp.acquire
  // CHECK-NEXT: tile.view %[[T]]
  // CHECK-NEXT: tile.dot.async
  // CHECK: scf.for
  // CHECK-NEXT: warp.acquire
  // CHECK-NEXT: tile.view
  // CHECK-NEXT: arith.addf
  gpu.func @late(%n: index) kernel {
    %k = warp.ring : !warp.ring<1, [!a]>
    %v = warp.ring : !warp.ring<1, [!a]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %x = arith.constant dense<1.0> : tensor<64x64xf16>
        %y = arith.constant dense<2.0> : tensor<64x64xf16>
        %zero = arith.constant dense<0.0> : tensor<64x32xf32>
        %kc = warp.cursor read %k : !warp.ring<1, [!a]>
        %vc = warp.cursor read %v : !warp.ring<1, [!a]>
        %s, %k1 = warp.acquire %k[%kc] : !warp.ring<1, [!a]>, !c
        %sv = tile.view %s[%c0, %c0] : !slot -> !tile.view<!a>
        %t, %v1 = warp.acquire %v[%vc] : !warp.ring<1, [!a]>, !c
        %tv = tile.view %t[%c0, %c0] : !slot -> !tile.view<!a>
        %p, %d = tile.dot.async %x, %sv, %zero lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
        %r = tile.await %p : !tile.pending<tensor<64x32xf32>>
        warp.release %s after %d : !slot
        %q, %e = tile.dot.async %y, %tv, %r lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
        %u = tile.await %q : !tile.pending<tensor<64x32xf32>>
        warp.release %t after %e : !slot
        %all:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %u, %cursor = %k1) -> (tensor<64x32xf32>, !c) {
          %o, %next = warp.acquire %k[%cursor] : !warp.ring<1, [!a]>, !c
          %ov = tile.view %o[%c0, %c0] : !slot -> !tile.view<!a>
          %twice = arith.addf %sum, %sum : tensor<64x32xf32>
          %w, %f = tile.dot.async %x, %ov, %twice lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %z = tile.await %w : !tile.pending<tensor<64x32xf32>>
          warp.release %o after %f : !slot
          scf.yield %z, %next : tensor<64x32xf32>, !c
        }
      }
    }
    gpu.return
  }

  // A step that another group waits for, and memory that has no room for a second
  // entry of any ring: V is waited for behind what the step hands over.
  // CHECK-LABEL: gpu.func @awaited
  // CHECK: scf.for
  // CHECK-NEXT: %[[S:.*]], %{{.*}} = warp.acquire
  // CHECK-NEXT: tile.view %[[S]]
  // CHECK-NEXT: tile.dot.async
  // CHECK: warp.publish
  // CHECK-NEXT: %[[T:.*]], %{{.*}} = warp.acquire
  // CHECK-NEXT: tile.view %[[T]]
  // CHECK-NEXT: tile.dot.async
  gpu.func @awaited(%n: index) kernel {
    %k = warp.ring : !warp.ring<1, [!a]>
    %v = warp.ring : !warp.ring<1, [!a]>
    %rest = warp.ring : !warp.ring<1, [tensor<1728x64xf16>]>
    %p = warp.ring : !warp.ring<1, [tensor<64x32xf32>]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %x = arith.constant dense<1.0> : tensor<64x64xf16>
        %zero = arith.constant dense<0.0> : tensor<64x32xf32>
        %kc = warp.cursor read %k : !warp.ring<1, [!a]>
        %vc = warp.cursor read %v : !warp.ring<1, [!a]>
        %pc = warp.cursor write %p : !warp.ring<1, [tensor<64x32xf32>]>
        %all:4 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero, %k1 = %kc, %v1 = %vc, %p1 = %pc) -> (tensor<64x32xf32>, !c, !c, !warp.cursor<write>) {
          %s, %k2 = warp.acquire %k[%k1] : !warp.ring<1, [!a]>, !c
          %sv = tile.view %s[%c0, %c0] : !slot -> !tile.view<!a>
          %t, %v2 = warp.acquire %v[%v1] : !warp.ring<1, [!a]>, !c
          %tv = tile.view %t[%c0, %c0] : !slot -> !tile.view<!a>
          %q, %d = tile.dot.async %x, %sv, %zero lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %r = tile.await %q : !tile.pending<tensor<64x32xf32>>
          warp.release %s after %d : !slot
          %o, %p2 = warp.acquire %p[%p1] : !warp.ring<1, [tensor<64x32xf32>]>, !warp.cursor<write>
          %ov = tile.view %o[%c0, %c0] : !warp.slot<write, [tensor<64x32xf32>]> -> !tile.view<tensor<64x32xf32>>
          tile.write %r, %ov : tensor<64x32xf32>, !tile.view<tensor<64x32xf32>>
          warp.publish %o : !warp.slot<write, [tensor<64x32xf32>]>
          %w, %e = tile.dot.async %x, %tv, %sum lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %z = tile.await %w : !tile.pending<tensor<64x32xf32>>
          warp.release %t after %e : !slot
          scf.yield %z, %k2, %v2, %p2 : tensor<64x32xf32>, !c, !c, !warp.cursor<write>
        }
      }
      warp.group @other warps 4 (%g) {
        %pc = warp.cursor read %p : !warp.ring<1, [tensor<64x32xf32>]>
      }
    }
    gpu.return
  }

  // With room for two entries, which tile-size-rings gives, waits stay.
  // CHECK-LABEL: gpu.func @room
  // CHECK: scf.for
  // CHECK-NEXT: warp.acquire
  // CHECK-NEXT: tile.view
  // CHECK-NEXT: warp.acquire
  gpu.func @room(%n: index) kernel {
    %k = warp.ring : !warp.ring<1, [!a]>
    %v = warp.ring : !warp.ring<1, [!a]>
    %p = warp.ring : !warp.ring<1, [tensor<64x32xf32>]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %x = arith.constant dense<1.0> : tensor<64x64xf16>
        %zero = arith.constant dense<0.0> : tensor<64x32xf32>
        %kc = warp.cursor read %k : !warp.ring<1, [!a]>
        %vc = warp.cursor read %v : !warp.ring<1, [!a]>
        %pc = warp.cursor write %p : !warp.ring<1, [tensor<64x32xf32>]>
        %all:4 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero, %k1 = %kc, %v1 = %vc, %p1 = %pc) -> (tensor<64x32xf32>, !c, !c, !warp.cursor<write>) {
          %s, %k2 = warp.acquire %k[%k1] : !warp.ring<1, [!a]>, !c
          %sv = tile.view %s[%c0, %c0] : !slot -> !tile.view<!a>
          %t, %v2 = warp.acquire %v[%v1] : !warp.ring<1, [!a]>, !c
          %tv = tile.view %t[%c0, %c0] : !slot -> !tile.view<!a>
          %q, %d = tile.dot.async %x, %sv, %zero lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %r = tile.await %q : !tile.pending<tensor<64x32xf32>>
          warp.release %s after %d : !slot
          %o, %p2 = warp.acquire %p[%p1] : !warp.ring<1, [tensor<64x32xf32>]>, !warp.cursor<write>
          %ov = tile.view %o[%c0, %c0] : !warp.slot<write, [tensor<64x32xf32>]> -> !tile.view<tensor<64x32xf32>>
          tile.write %r, %ov : tensor<64x32xf32>, !tile.view<tensor<64x32xf32>>
          warp.publish %o : !warp.slot<write, [tensor<64x32xf32>]>
          %w, %e = tile.dot.async %x, %tv, %sum lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %z = tile.await %w : !tile.pending<tensor<64x32xf32>>
          warp.release %t after %e : !slot
          scf.yield %z, %k2, %v2, %p2 : tensor<64x32xf32>, !c, !c, !warp.cursor<write>
        }
      }
      warp.group @other warps 4 (%g) {
        %pc = warp.cursor read %p : !warp.ring<1, [tensor<64x32xf32>]>
      }
    }
    gpu.return
  }

  // Sums in a chain: what the second product reads is waited for while the first
  // one runs, however deep rings are.
  // CHECK-LABEL: gpu.func @chain
  // CHECK: scf.for
  // CHECK-NEXT: %[[S:.*]], %{{.*}} = warp.acquire
  // CHECK-NEXT: tile.view %[[S]]
  // CHECK-NEXT: %[[Q:.*]], %{{.*}} = tile.dot.async
  // CHECK-NEXT: %[[T:.*]], %{{.*}} = warp.acquire
  // CHECK-NEXT: tile.view %[[T]]
  // CHECK-NEXT: tile.dot.async {{.*}}, %[[Q]]
  gpu.func @chain(%n: index) kernel {
    %k = warp.ring : !warp.ring<2, [!a]>
    %v = warp.ring : !warp.ring<2, [!a]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %x = arith.constant dense<1.0> : tensor<64x64xf16>
        %zero = arith.constant dense<0.0> : tensor<64x32xf32>
        %kc = warp.cursor read %k : !warp.ring<2, [!a]>
        %vc = warp.cursor read %v : !warp.ring<2, [!a]>
        %all:3 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero, %k1 = %kc, %v1 = %vc) -> (tensor<64x32xf32>, !c, !c) {
          %s, %k2 = warp.acquire %k[%k1] : !warp.ring<2, [!a]>, !c
          %sv = tile.view %s[%c0, %c0] : !slot -> !tile.view<!a>
          %t, %v2 = warp.acquire %v[%v1] : !warp.ring<2, [!a]>, !c
          %tv = tile.view %t[%c0, %c0] : !slot -> !tile.view<!a>
          %q, %d = tile.dot.async %x, %sv, %zero lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %w, %e = tile.dot.async %x, %tv, %q lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!a>, !tile.pending<tensor<64x32xf32>> -> !tile.pending<tensor<64x32xf32>>
          %r = tile.await %w : !tile.pending<tensor<64x32xf32>>
          warp.release %s after %d : !slot
          warp.release %t after %e : !slot
          %z = arith.addf %sum, %r : tensor<64x32xf32>
          scf.yield %z, %k2, %v2 : tensor<64x32xf32>, !c, !c
        }
      }
    }
    gpu.return
  }
}
