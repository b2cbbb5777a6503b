// RUN: fa3-opt %s -tile-check-registers -split-input-file -verify-diagnostics
// RUN: not fa3-opt %S/check-registers.mlir -tile-check-registers=registers=152 -o %t.none 2>&1 | FileCheck %s --check-prefix=GIVEN
// RUN: fa3-opt %S/check-registers.mlir -tile-check-registers=registers=153
// RUN: not fa3-opt %S/check-registers.mlir -tile-check-registers=registers=-8 -o %t.none 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not ls %t.none

// GIVEN: check-registers.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 'warp.group' op needs about 153 registers per thread, the limit is 152; choose a smaller tile (block-m, block-n) or more replicas
// NEGATIVE: check-registers.mlir:{{.*}} error: tile-check-registers: expects registers of at least 0, got -8

// Two tiles of 64 x 256 live at once: 2 * 128 registers and the rest.
gpu.module @m {
  gpu.func @too_much(%p: memref<?x?xf32>) kernel {
    warp.specialize {
      // expected-error @below {{needs about 281 registers per thread, the limit is 240; choose a smaller tile (block-m, block-n) or more replicas}}
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %x = tile.load %p[%c0, %c0] : memref<?x?xf32> -> tensor<64x256xf32>
        // expected-note @below {{most tiles live here}}
        %y = tile.load %p[%c0, %c0] : memref<?x?xf32> -> tensor<64x256xf32>
        tile.store %x, %p[%c0, %c0] : tensor<64x256xf32>, memref<?x?xf32>
        tile.store %y, %p[%c0, %c0] : tensor<64x256xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }
}

// -----

// Three replicas share the register file with the loads: 160 are left.
gpu.module @m {
  gpu.func @three(%p: memref<?x?xf32>) kernel {
    warp.specialize {
      warp.group @load warps 1 (%g) {
      }
      // expected-error @below {{needs about 185 registers per thread, the limit is 160}}
      warp.group @math warps 4 replicas 3 (%g) {
        %c0 = arith.constant 0 : index
        // expected-note @below {{most tiles live here}}
        %x = tile.load %p[%c0, %c0] : memref<?x?xf32> -> tensor<64x320xf32>
        tile.store %x, %p[%c0, %c0] : tensor<64x320xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }
}

// -----

// 8 warp groups of replicas and one that the small groups share: no block of
// that many threads starts, whatever they need.
gpu.module @m {
  gpu.func @crowd(%p: memref<?x?xf32>) kernel {
    // expected-error @below {{needs 1152 threads, the limit of a block is 1024; choose a smaller tile or fewer replicas}}
    warp.specialize {
      warp.group @load warps 1 (%g) {
      }
      warp.group @side warps 2 (%g) {
      }
      warp.group @math warps 4 replicas 8 (%g) {
        %c0 = arith.constant 0 : index
        %x = tile.load %p[%c0, %c0] : memref<?x?xf32> -> tensor<64x320xf32>
        tile.store %x, %p[%c0, %c0] : tensor<64x320xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }
}
