// RUN: fa3-opt %s -tile-map-grid=mode=dynamic -verify-diagnostics | FileCheck %s

// expected-remark @below {{no kernel has CTAs that claim tiles: none has a group that loads tiles for others}}
module {
  gpu.module @m {
    // CHECK-LABEL: gpu.func @rows
    // CHECK: %[[ID:.*]] = gpu.block_id x
    // CHECK-NOT: scf.for
    // CHECK: memref.store %{{.*}}[%[[ID]]]
    gpu.func @rows(%n: index, %a: memref<?xf16>) kernel {
      %zero = arith.constant 0.0 : f16
      tile.grid (%i) in (%n) {
        memref.store %zero, %a[%i] : memref<?xf16>
      }
      gpu.return
    }
  }
}
