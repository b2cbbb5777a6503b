// RUN: fa3-opt %s -tile-size-rings=smem-budget=20000 -split-input-file -verify-diagnostics
// RUN: not fa3-opt %S/size-rings.mlir -tile-size-rings=max-depth=0 -o %t.none 2>&1 | FileCheck %s --check-prefix=DEPTH
// RUN: not fa3-opt %S/size-rings.mlir -tile-size-rings=smem-budget=-1 -o %t.none 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not ls %t.none

// DEPTH: for the --max-depth option: expects a number from 1 on, got 0
// BUDGET: for the --smem-budget option: expects a number from 0 on, got -1

// Rows that do not fill a block of the swizzle are padded: 32 x 72 takes 8192
// bytes. Staging counts once per replica.
!A = tensor<32x72xf16>
gpu.module @m {
  // expected-error @below {{needs 24576 bytes of shared memory for its rings, the limit is 20000}}
  gpu.func @padded(%n: index) kernel {
    // expected-note @below {{8192 bytes for '!warp.ring<1, [tensor<32x72xf16>]>'}}
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        // expected-note @below {{16384 bytes for '!warp.ring<1, [tensor<32x72xf16>]>'}}
        %own = warp.ring : !warp.ring<1, [!A]>
      }
    }
    gpu.return
  }
}
