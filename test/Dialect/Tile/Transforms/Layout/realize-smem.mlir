// RUN: fa3-opt %s -tile-realize-smem | FileCheck %s
// RUN: %stages-window --pass tile-realize-smem
// RUN: %stages-chain --pass tile-realize-smem

// The widest swizzle whose blocks the rows fill, in rings, slots and views: 128
// bytes hold 64 elements of 16 bits. 72 columns would waste the most of a
// second block of 128 bytes; 96 are three blocks of 64 bytes.
// CHECK-LABEL: gpu.func @widths
// CHECK: warp.ring : <2, [tensor<64x128xf16, #tile.smem<128>>]>
// CHECK: warp.ring : <1, [tensor<32x32xf16, #tile.smem<64>>]>
// CHECK: warp.ring : <1, [tensor<32x16xf16, #tile.smem<32>>]>
// CHECK: warp.ring : <1, [tensor<32x96xf16, #tile.smem<64>>]>
// CHECK: warp.ring : <1, [tensor<32x72xf16, #tile.smem<128>>]>
// CHECK: warp.cursor write %{{.*}} : <2, [tensor<64x128xf16, #tile.smem<128>>]>
// CHECK: %[[S:.*]], %{{.*}} = warp.acquire %{{.*}} : <2, [tensor<64x128xf16, #tile.smem<128>>]>, <write>
// CHECK: tile.view %[[S]]{{.*}} : <write, [tensor<64x128xf16, #tile.smem<128>>]> -> <tensor<64x64xf16, #tile.smem<128>>>
// CHECK: warp.publish %[[S]] : <write, [tensor<64x128xf16, #tile.smem<128>>]>
// CHECK: scf.for {{.*}} -> (!warp.cursor<write>, !warp.slot<write, [tensor<64x128xf16, #tile.smem<128>>]>)
!W = tensor<64x128xf16>
gpu.module @m {
  gpu.func @widths(%a: memref<?x?xf16, strided<[?, 1]>>, %n: index) kernel {
    %r = warp.ring : !warp.ring<2, [!W]>
    %r64 = warp.ring : !warp.ring<1, [tensor<32x32xf16>]>
    %r32 = warp.ring : !warp.ring<1, [tensor<32x16xf16>]>
    %r96 = warp.ring : !warp.ring<1, [tensor<32x96xf16>]>
    %r72 = warp.ring : !warp.ring<1, [tensor<32x72xf16>]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = warp.cursor write %r : !warp.ring<2, [!W]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<2, [!W]>, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!W]> -> !tile.view<tensor<64x64xf16>>
        tile.load.async %a[%c0, %c0], %v : memref<?x?xf16, strided<[?, 1]>>, !tile.view<tensor<64x64xf16>>
        warp.publish %s : !warp.slot<write, [!W]>
        %s1, %next1 = warp.acquire %r[%next] : !warp.ring<2, [!W]>, !warp.cursor<write>
        %e:2 = scf.for %t = %c0 to %n step %c1 iter_args(%c = %next1, %held = %s1) -> (!warp.cursor<write>, !warp.slot<write, [!W]>) {
          warp.publish %held : !warp.slot<write, [!W]>
          %s2, %next2 = warp.acquire %r[%c] : !warp.ring<2, [!W]>, !warp.cursor<write>
          scf.yield %next2, %s2 : !warp.cursor<write>, !warp.slot<write, [!W]>
        }
        warp.publish %e#1 : !warp.slot<write, [!W]>
      }
    }
    gpu.return
  }
}
