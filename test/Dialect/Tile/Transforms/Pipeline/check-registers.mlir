// RUN: fa3-opt %s -tile-check-registers | FileCheck %s
// RUN: %stages-chain --pass tile-check-registers

// What fits passes unchanged; kernels without groups have nothing to check.
// CHECK-LABEL: gpu.func @fits
// CHECK: %[[X:.*]] = tile.load
// CHECK-NEXT: tile.store %[[X]]
gpu.module @m {
  gpu.func @fits(%p: memref<?x?xf32>) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %x = tile.load %p[%c0, %c0] : memref<?x?xf32> -> tensor<64x256xf32>
        tile.store %x, %p[%c0, %c0] : tensor<64x256xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // Coordinates, masks, splats and views occupy nothing.
  // CHECK-LABEL: gpu.func @free
  gpu.func @free(%p: memref<?x?xf32>, %i0: index) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %i = tile.coord dim 0 offset %i0 : tensor<64x256xindex>
        %j = tile.coord dim 1 offset %c0 : tensor<64x256xindex>
        %keep = arith.cmpi sle, %j, %i : tensor<64x256xindex>
        %zero = arith.constant dense<0.0> : tensor<64x256xf32>
        %x = tile.load %p[%c0, %c0] : memref<?x?xf32> -> tensor<64x256xf32>
        %y = arith.select %keep, %x, %zero : tensor<64x256xi1>, tensor<64x256xf32>
        tile.store %y, %p[%c0, %c0] : tensor<64x256xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // So do tiles that element code reads, a few registers at a time.
  // CHECK-LABEL: gpu.func @read
  gpu.func @read(%p: memref<?x?xf32>) kernel {
    %ring = warp.ring : !warp.ring<1, [tensor<64x256xf16>]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %w = warp.cursor write %ring : !warp.ring<1, [tensor<64x256xf16>]>
        %s, %n = warp.acquire %ring[%w] : !warp.ring<1, [tensor<64x256xf16>]>, !warp.cursor<write>
        warp.publish %s : !warp.slot<write, [tensor<64x256xf16>]>
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %x = tile.load %p[%c0, %c0] : memref<?x?xf32> -> tensor<64x256xf32>
        %r = warp.cursor read %ring : !warp.ring<1, [tensor<64x256xf16>]>
        %s, %n = warp.acquire %ring[%r] : !warp.ring<1, [tensor<64x256xf16>]>, !warp.cursor<read>
        %v = tile.view %s[%c0, %c0] : !warp.slot<read, [tensor<64x256xf16>]> -> !tile.view<tensor<64x256xf16>>
        %b = tile.read %v : !tile.view<tensor<64x256xf16>> -> tensor<64x256xf16>
        %wide = arith.extf %b : tensor<64x256xf16> to tensor<64x256xf32>
        %y = arith.addf %x, %wide : tensor<64x256xf32>
        warp.release %s : !warp.slot<read, [tensor<64x256xf16>]>
        tile.store %y, %p[%c0, %c0] : tensor<64x256xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @no_group
  gpu.func @no_group(%p: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %p[%c0, %c0] : memref<?x?xf32> -> tensor<512x512xf32>
    tile.store %x, %p[%c0, %c0] : tensor<512x512xf32>, memref<?x?xf32>
    gpu.return
  }
}
