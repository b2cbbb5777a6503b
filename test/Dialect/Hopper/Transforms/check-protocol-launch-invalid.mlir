// RUN: fa3-opt %s -hopper-check-protocol -split-input-file -verify-diagnostics
// RUN: not fa3-opt %S/../../../Inputs/gemm-reference.mlir -hopper-check-protocol=happens-before=%t.svg 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not ls %t.svg

// NONE: error: {{.*}}has no kernel to draw

// What a launch gives a kernel has to be what the kernel uses.
func.func @host(%n: index) {
  // expected-error @below {{starts 256 threads of a kernel for 128}}
  hopper.launch @m::@k blocks %n threads 256 smem 0 args()
  return
}
gpu.module @m {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
      }
    }
    gpu.return
  }
}

// -----

// Two replicas of a group take the buffer twice.
func.func @host(%n: index) {
  // expected-error @below {{gives 8192 bytes of shared memory to a kernel that uses 16384}}
  hopper.launch @m::@k blocks %n threads 256 smem 8192 args()
  return
}
gpu.module @m {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    warp.specialize {
      warp.group @math warps 4 replicas 2 at 0 (%g) {
        %b = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<64x64xf16>, 128>
      }
    }
    gpu.return
  }
}
