// RUN: fa3-opt %s --hopper-allocate-smem --split-input-file --verify-diagnostics | FileCheck %s
// RUN: %stages-window --pass hopper-allocate-smem --run=--completion=random --run=--schedule-seed=2

// CHECK: hopper.launch @m::@k {{.*}} smem 86056
func.func @host(%n: index) {
  hopper.launch @m::@k blocks %n threads 512 smem 0 args()
  return
}
gpu.module @m {
  gpu.func @k() kernel {
    // CHECK: barrier.alloc offset 86016
    %full = hopper.barrier.alloc : !hopper.barrier<2, 1>
    // CHECK: smem.alloc offset 0
    %k = hopper.smem.alloc : !hopper.buffer<3, tensor<80x128xf16>, 128>
    // CHECK: barrier.alloc offset 86032
    %q = hopper.barrier.alloc : !hopper.barrier<3, 3>
    warp.specialize {
      warp.group @math warps 4 replicas 3 at 4 (%g) {
        // Three replicas of 7168 bytes.
        // CHECK: smem.alloc offset 61440
        %o = hopper.smem.alloc : !hopper.buffer<1, tensor<56x64xf16>, 128>
        // Three replicas of 512 bytes, each padded to 1024.
        // CHECK: smem.alloc offset 82944
        %p = hopper.smem.alloc : !hopper.buffer<1, tensor<8x32xf16>, 64>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{needs 237568 bytes of shared memory, the limit is 232448}}
  gpu.func @too_large() kernel {
    // expected-note@+1 {{163840 bytes for '!hopper.buffer<5, tensor<128x128xf16>, 128>' of 1 owner}}
    %k = hopper.smem.alloc : !hopper.buffer<5, tensor<128x128xf16>, 128>
    warp.specialize {
      warp.group @math warps 4 replicas 3 at 0 (%g) {
        // expected-note@+1 {{73728 bytes for '!hopper.buffer<1, tensor<96x128xf16>, 128>' of 3 replicas}}
        %o = hopper.smem.alloc : !hopper.buffer<1, tensor<96x128xf16>, 128>
      }
    }
    gpu.return
  }
}
