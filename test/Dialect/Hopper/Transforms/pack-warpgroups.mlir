// RUN: fa3-opt %s --hopper-pack-warpgroups --split-input-file --verify-diagnostics | FileCheck %s
// RUN: %stages-chain --pass hopper-pack-warpgroups --run=--completion=random --run=--schedule-seed=2

// CHECK: hopper.launch @m::@k blocks %{{.*}} threads 512 smem 0
func.func @host(%n: index) {
  hopper.launch @m::@k blocks %n threads 32 smem 0 args()
  return
}
gpu.module @m {
  // CHECK: gpu.func @k() kernel attributes {known_block_size = array<i32: 512, 1, 1>}
  gpu.func @k() kernel {
    warp.specialize {
      // CHECK: warp.group @math warps 4 replicas 3 at 4
      warp.group @math warps 4 replicas 3 (%g) {}
      // CHECK: warp.group @load warps 1 at 0
      warp.group @load warps 1 (%g) {}
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  // CHECK: @k() kernel attributes {known_block_size = array<i32: 512, 1, 1>}
  gpu.func @k() kernel {
    warp.specialize {
      // Groups of two first: 0-1, 2-3, 4-5; then single warps.
      // CHECK: @one warps 1 replicas 2 at 6
      warp.group @one warps 1 replicas 2 (%g) {}
      // CHECK: @two warps 2 at 0
      warp.group @two warps 2 (%g) {}
      // CHECK: @pair warps 2 replicas 2 at 2
      warp.group @pair warps 2 replicas 2 (%g) {}
      // CHECK: @big warps 8 at 8
      warp.group @big warps 8 (%g) {}
    }
    gpu.return
  }
}

// -----

// A kernel without groups keeps the threads of its launch.
func.func @host(%n: index) {
  // CHECK: hopper.launch @m::@k blocks %{{.*}} threads 128
  hopper.launch @m::@k blocks %n threads 128 smem 0 args()
  return
}
gpu.module @m {
  // CHECK: @k() kernel attributes {known_block_size = array<i32: 128, 1, 1>}
  gpu.func @k() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k() kernel {
    // expected-error@+1 {{needs 1152 threads, the limit of a block is 1024}}
    warp.specialize {
      warp.group @load warps 1 (%g) {}
      warp.group @math warps 4 replicas 8 (%g) {}
    }
    gpu.return
  }
}

// -----

func.func @host(%n: index) {
  hopper.launch @m::@k blocks %n threads 128 smem 0 args()
  // expected-error@+1 {{expects the threads of the other launches of its kernel (128), got 256}}
  hopper.launch @m::@k blocks %n threads 256 smem 0 args()
  return
}
gpu.module @m {
  gpu.func @k() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k() kernel {
    warp.specialize {
      warp.group @a warps 4 (%g) {}
    }
    // expected-error@+1 {{expects to be the only 'warp.specialize' of its kernel}}
    warp.specialize {
      warp.group @b warps 4 (%g) {}
    }
    gpu.return
  }
}
