// RUN: fa3-opt %s -tile-size-rings=max-depth=4 | FileCheck %s --check-prefix=FOUR
// RUN: fa3-opt %s -tile-size-rings=max-depth=2 | FileCheck %s --check-prefix=TWO
// RUN: fa3-opt %s '-tile-size-rings=max-depth=4 smem-budget=49152' | FileCheck %s --check-prefix=THREE
// RUN: %stages-gemm --pass tile-size-rings --options max-depth=4
// RUN: %stages-window --pass tile-size-rings --options 'max-depth=3 block-m=128 block-n=32'

!A = tensor<64x64xf16>
!B = tensor<32x64xf16>
gpu.module @m {
  // The two rings of a loop grow together; what is filled once, and what a
  // replica stages stores through, do not. 8192 + 4096 bytes a step beside
  // 8192 for the latter (the budget of 49152 holds three steps).
  // TWO-LABEL: gpu.func @loop
  // TWO: flow.ring : <2, [tensor<64x64xf16>]>
  // TWO: flow.ring : <2, [tensor<32x64xf16>]>
  // TWO: flow.ring : <1, [tensor<32x64xf16>]>
  // TWO: flow.ring : <1, [tensor<32x64xf16>]>
  // THREE-LABEL: gpu.func @loop
  // THREE: flow.ring : <3, [tensor<64x64xf16>]>
  // THREE: flow.ring : <3, [tensor<32x64xf16>]>
  // THREE: flow.ring : <1, [tensor<32x64xf16>]>
  // THREE: flow.ring : <1, [tensor<32x64xf16>]>
  // FOUR-LABEL: gpu.func @loop
  // FOUR: %[[A:.*]] = flow.ring : <4, [tensor<64x64xf16>]>
  // FOUR: flow.ring : <4, [tensor<32x64xf16>]>
  // FOUR: flow.ring : <1, [tensor<32x64xf16>]>
  // FOUR: flow.cursor write %[[A]] : <4, [tensor<64x64xf16>]>
  // FOUR: flow.ring : <1, [tensor<32x64xf16>]>
  gpu.func @loop(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %n: index) kernel {
    %ra = flow.ring : !flow.ring<1, [!A]>
    %rb = flow.ring : !flow.ring<1, [!B]>
    %once = flow.ring : !flow.ring<1, [!B]>
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %wa = flow.cursor write %ra : !flow.ring<1, [!A]>
        %wb = flow.cursor write %rb : !flow.ring<1, [!B]>
        %wo = flow.cursor write %once : !flow.ring<1, [!B]>
        %so, %no = flow.acquire %once[%wo] : !flow.ring<1, [!B]>, !flow.cursor<write>
        flow.publish %so : !flow.slot<write, [!B]>
        scf.for %t = %c0 to %n step %c1 iter_args(%ca = %wa, %cb = %wb) -> (!flow.cursor<write>, !flow.cursor<write>) {
          %s, %na = flow.acquire %ra[%ca] : !flow.ring<1, [!A]>, !flow.cursor<write>
          %x = tile.view %s[%c0, %c0] : !flow.slot<write, [!A]> -> !tile.view<!A>
          tile.load.async %a[%t, %c0], %x : memref<?x?xf16>, !tile.view<!A>
          flow.publish %s : !flow.slot<write, [!A]>
          %s2, %nb = flow.acquire %rb[%cb] : !flow.ring<1, [!B]>, !flow.cursor<write>
          %y = tile.view %s2[%c0, %c0] : !flow.slot<write, [!B]> -> !tile.view<!B>
          tile.load.async %b[%t, %c0], %y : memref<?x?xf16>, !tile.view<!B>
          flow.publish %s2 : !flow.slot<write, [!B]>
          scf.yield %na, %nb : !flow.cursor<write>, !flow.cursor<write>
        }
      }
      flow.group @math warps 4 replicas 1 (%g) {
        %own = flow.ring : !flow.ring<1, [!B]>
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = flow.cursor write %own : !flow.ring<1, [!B]>
        scf.for %t = %c0 to %n step %c1 iter_args(%c = %w) -> (!flow.cursor<write>) {
          %s, %next = flow.acquire %own[%c] : !flow.ring<1, [!B]>, !flow.cursor<write>
          flow.publish %s : !flow.slot<write, [!B]>
          scf.yield %next : !flow.cursor<write>
        }
      }
    }
    gpu.return
  }
}
