// RUN: fa3-opt %s -tile-size-rings=max-depth=4 | FileCheck %s --check-prefix=FOUR
// RUN: fa3-opt %s -tile-size-rings=max-depth=2 | FileCheck %s --check-prefix=TWO
// RUN: fa3-opt %s '-tile-size-rings=max-depth=4 smem-budget=49152' | FileCheck %s --check-prefix=THREE
// RUN: fa3-opt %s '-tile-size-rings=max-depth=4 smem-budget=61440' | FileCheck %s --check-prefix=HANDED
// RUN: %stages-gemm --pass tile-size-rings --options max-depth=4
// RUN: %stages-window --pass tile-size-rings --options 'max-depth=3 block-m=128 block-n=32'

!A = tensor<64x64xf16>
!B = tensor<32x64xf16>
gpu.module @m {
  // The two rings of a loop grow together; what is filled once, and what a
  // replica stages stores through, do not. 8192 + 4096 bytes a step beside
  // 8192 for the latter (the budget of 49152 holds three steps).
  // TWO-LABEL: gpu.func @loop
  // TWO: warp.ring : <2, [tensor<64x64xf16>]>
  // TWO: warp.ring : <2, [tensor<32x64xf16>]>
  // TWO: warp.ring : <1, [tensor<32x64xf16>]>
  // TWO: warp.ring : <1, [tensor<32x64xf16>]>
  // THREE-LABEL: gpu.func @loop
  // THREE: warp.ring : <3, [tensor<64x64xf16>]>
  // THREE: warp.ring : <3, [tensor<32x64xf16>]>
  // THREE: warp.ring : <1, [tensor<32x64xf16>]>
  // THREE: warp.ring : <1, [tensor<32x64xf16>]>
  // FOUR-LABEL: gpu.func @loop
  // FOUR: %[[A:.*]] = warp.ring : <4, [tensor<64x64xf16>]>
  // FOUR: warp.ring : <4, [tensor<32x64xf16>]>
  // FOUR: warp.ring : <1, [tensor<32x64xf16>]>
  // FOUR: warp.cursor write %[[A]] : <4, [tensor<64x64xf16>]>
  // FOUR: warp.ring : <1, [tensor<32x64xf16>]>
  gpu.func @loop(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %n: index) kernel {
    %ra = warp.ring : !warp.ring<1, [!A]>
    %rb = warp.ring : !warp.ring<1, [!B]>
    %once = warp.ring : !warp.ring<1, [!B]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %wa = warp.cursor write %ra : !warp.ring<1, [!A]>
        %wb = warp.cursor write %rb : !warp.ring<1, [!B]>
        %wo = warp.cursor write %once : !warp.ring<1, [!B]>
        %so, %no = warp.acquire %once[%wo] : !warp.ring<1, [!B]>, !warp.cursor<write>
        warp.publish %so : !warp.slot<write, [!B]>
        scf.for %t = %c0 to %n step %c1 iter_args(%ca = %wa, %cb = %wb) -> (!warp.cursor<write>, !warp.cursor<write>) {
          %s, %na = warp.acquire %ra[%ca] : !warp.ring<1, [!A]>, !warp.cursor<write>
          %x = tile.view %s[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
          tile.load.async %a[%t, %c0], %x : memref<?x?xf16>, !tile.view<!A>
          warp.publish %s : !warp.slot<write, [!A]>
          %s2, %nb = warp.acquire %rb[%cb] : !warp.ring<1, [!B]>, !warp.cursor<write>
          %y = tile.view %s2[%c0, %c0] : !warp.slot<write, [!B]> -> !tile.view<!B>
          tile.load.async %b[%t, %c0], %y : memref<?x?xf16>, !tile.view<!B>
          warp.publish %s2 : !warp.slot<write, [!B]>
          scf.yield %na, %nb : !warp.cursor<write>, !warp.cursor<write>
        }
      }
      warp.group @math warps 4 replicas 1 (%g) {
        %own = warp.ring : !warp.ring<1, [!B]>
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = warp.cursor write %own : !warp.ring<1, [!B]>
        scf.for %t = %c0 to %n step %c1 iter_args(%c = %w) -> (!warp.cursor<write>) {
          %s, %next = warp.acquire %own[%c] : !warp.ring<1, [!B]>, !warp.cursor<write>
          warp.publish %s : !warp.slot<write, [!B]>
          scf.yield %next : !warp.cursor<write>
        }
      }
    }
    gpu.return
  }

  // In three loops around each other two entries are the most.
  // FOUR-LABEL: gpu.func @deep
  // FOUR: warp.ring : <2, [tensor<64x64xf16>]>
  gpu.func @deep(%a: memref<?x?xf16>, %n: index) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = warp.cursor write %r : !warp.ring<1, [!A]>
        scf.for %i = %c0 to %n step %c1 iter_args(%x = %w) -> (!warp.cursor<write>) {
          %e = scf.for %j = %c0 to %n step %c1 iter_args(%y = %x) -> (!warp.cursor<write>) {
            %f = scf.for %t = %c0 to %n step %c1 iter_args(%z = %y) -> (!warp.cursor<write>) {
              %s, %next = warp.acquire %r[%z] : !warp.ring<1, [!A]>, !warp.cursor<write>
              %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
              tile.load.async %a[%t, %c0], %v : memref<?x?xf16>, !tile.view<!A>
              warp.publish %s : !warp.slot<write, [!A]>
              scf.yield %next : !warp.cursor<write>
            }
            scf.yield %f : !warp.cursor<write>
          }
          scf.yield %e : !warp.cursor<write>
        }
      }
    }
    gpu.return
  }

  // No room for 65536 bytes: what a group that multiplies hands over stays as it is,
  // what copies fill gets deeper.
  // HANDED-LABEL: gpu.func @handed
  // HANDED: warp.ring : <2, [tensor<128x64xf16>]>
  // HANDED: warp.ring : <1, [tensor<128x64xf16>]>
  // TWO-LABEL: gpu.func @handed
  // TWO: warp.ring : <2, [tensor<128x64xf16>]>
  // TWO: warp.ring : <2, [tensor<128x64xf16>]>
  gpu.func @handed(%a: memref<?x?xf16>, %n: index) kernel {
    %loaded = warp.ring : !warp.ring<1, [tensor<128x64xf16>]>
    %made = warp.ring : !warp.ring<1, [tensor<128x64xf16>]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = warp.cursor write %loaded : !warp.ring<1, [tensor<128x64xf16>]>
        scf.for %t = %c0 to %n step %c1 iter_args(%c = %w) -> (!warp.cursor<write>) {
          %s, %next = warp.acquire %loaded[%c] : !warp.ring<1, [tensor<128x64xf16>]>, !warp.cursor<write>
          %x = tile.view %s[%c0, %c0] : !warp.slot<write, [tensor<128x64xf16>]> -> !tile.view<tensor<128x64xf16>>
          tile.load.async %a[%t, %c0], %x : memref<?x?xf16>, !tile.view<tensor<128x64xf16>>
          warp.publish %s : !warp.slot<write, [tensor<128x64xf16>]>
          scf.yield %next : !warp.cursor<write>
        }
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %one = arith.constant dense<1.0> : tensor<64x128xf16>
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %two = arith.constant dense<2.0> : tensor<128x64xf16>
        %r = warp.cursor read %loaded : !warp.ring<1, [tensor<128x64xf16>]>
        %w = warp.cursor write %made : !warp.ring<1, [tensor<128x64xf16>]>
        scf.for %t = %c0 to %n step %c1 iter_args(%x = %r, %y = %w) -> (!warp.cursor<read>, !warp.cursor<write>) {
          %s, %nx = warp.acquire %loaded[%x] : !warp.ring<1, [tensor<128x64xf16>]>, !warp.cursor<read>
          %v = tile.view %s[%c0, %c0] : !warp.slot<read, [tensor<128x64xf16>]> -> !tile.view<tensor<128x64xf16>>
          %p, %d = tile.dot.async %one, %v, %zero lhs mk rhs kn : tensor<64x128xf16>, !tile.view<tensor<128x64xf16>>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
          %q = tile.await %p : !tile.pending<tensor<64x64xf32>>
          warp.release %s after %d : !warp.slot<read, [tensor<128x64xf16>]>
          %o, %ny = warp.acquire %made[%y] : !warp.ring<1, [tensor<128x64xf16>]>, !warp.cursor<write>
          %u = tile.view %o[%c0, %c0] : !warp.slot<write, [tensor<128x64xf16>]> -> !tile.view<tensor<128x64xf16>>
          tile.write %two, %u : tensor<128x64xf16>, !tile.view<tensor<128x64xf16>>
          warp.publish %o : !warp.slot<write, [tensor<128x64xf16>]>
          scf.yield %nx, %ny : !warp.cursor<read>, !warp.cursor<write>
        }
      }
      warp.group @other warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %one = arith.constant dense<1.0> : tensor<64x128xf16>
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %r = warp.cursor read %made : !warp.ring<1, [tensor<128x64xf16>]>
        scf.for %t = %c0 to %n step %c1 iter_args(%x = %r) -> (!warp.cursor<read>) {
          %s, %nx = warp.acquire %made[%x] : !warp.ring<1, [tensor<128x64xf16>]>, !warp.cursor<read>
          %v = tile.view %s[%c0, %c0] : !warp.slot<read, [tensor<128x64xf16>]> -> !tile.view<tensor<128x64xf16>>
          %p, %d = tile.dot.async %one, %v, %zero lhs mk rhs kn : tensor<64x128xf16>, !tile.view<tensor<128x64xf16>>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
          %q = tile.await %p : !tile.pending<tensor<64x64xf32>>
          warp.release %s after %d : !warp.slot<read, [tensor<128x64xf16>]>
          scf.yield %nx : !warp.cursor<read>
        }
      }
    }
    gpu.return
  }
}
