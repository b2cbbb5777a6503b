// RUN: split-file %s %t
// RUN: fa3-opt %t/default.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-registers)))' --split-input-file --verify-diagnostics | FileCheck %t/default.mlir
// RUN: fa3-opt %t/forced.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-registers{producer-registers=40})))' | FileCheck %t/forced.mlir
// RUN: fa3-opt %t/over.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-registers{consumer-registers=168})))' --verify-diagnostics
// RUN: %stages-gemm --pass hopper-assign-registers --run=--completion=random --run=--schedule-seed=2

//--- default.mlir
#window = #hopper.fragment<[32, 32], reg = [[0, 1], [1, 0], [8, 0], [0, 16]], lane = [[2, 0], [4, 0], [0, 2], [0, 4], [0, 8]], warp = [[16, 0]], repeat = []>
gpu.module @m {
  // CHECK-LABEL: @three
  gpu.func @three(%x: vector<4xf32>) kernel attributes {known_block_size = array<i32: 512, 1, 1>} {
    warp.specialize {
      // CHECK: @load
      // CHECK-NEXT: hopper.setmaxnreg decrease 32
      warp.group @load warps 1 at 0 (%g) {}
      // CHECK: @other
      // CHECK-NEXT: hopper.setmaxnreg decrease 32
      warp.group @other warps 2 at 1 (%g) {}
      // CHECK: @math
      // CHECK-NEXT: hopper.setmaxnreg increase 160
      warp.group @math warps 4 replicas 3 at 4 (%g) {
        %y = arith.addf %x, %x : vector<4xf32>
      }
    }
    gpu.return
  }

  // CHECK-LABEL: @two
  gpu.func @two(%x: vector<4xf32>) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    warp.specialize {
      // CHECK: setmaxnreg decrease 24
      warp.group @load warps 1 at 0 (%g) {}
      // CHECK: setmaxnreg increase 240
      warp.group @math warps 4 replicas 2 at 4 (%g) {
        %y = arith.addf %x, %x : vector<4xf32>
      }
    }
    gpu.return
  }

  // A loader of groups that compute different things keeps the places of more
  // rings.
  // CHECK-LABEL: @two_roles
  gpu.func @two_roles(%x: vector<4xf32>) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    warp.specialize {
      // CHECK: setmaxnreg decrease 40
      warp.group @load warps 1 at 0 (%g) {}
      // CHECK: setmaxnreg increase 232
      warp.group @left warps 4 at 4 (%g) {
        %y = arith.addf %x, %x : vector<4xf32>
      }
      // CHECK: setmaxnreg increase 232
      warp.group @right warps 4 at 8 (%g) {
        %y = arith.addf %x, %x : vector<4xf32>
      }
    }
    gpu.return
  }

  // CHECK-LABEL: @one_of_each
  gpu.func @one_of_each(%x: vector<4xf32>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    warp.specialize {
      // CHECK: setmaxnreg decrease 56
      warp.group @load warps 1 at 0 (%g) {}
      // CHECK: setmaxnreg decrease 240
      warp.group @math warps 4 at 4 (%g) {
        %y = arith.addf %x, %x : vector<4xf32>
      }
    }
    gpu.return
  }

  // One warp group, and warp groups that all compute: nothing to move.
  // CHECK-LABEL: @alone
  // CHECK-NOT: setmaxnreg
  gpu.func @alone(%x: vector<4xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
        %y = arith.addf %x, %x : vector<4xf32>
      }
    }
    gpu.return
  }
  gpu.func @equal(%x: vector<4xf32>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    warp.specialize {
      warp.group @math warps 4 replicas 2 at 0 (%g) {
        %y = arith.addf %x, %x : vector<4xf32>
      }
    }
    gpu.return
  }

  // A small group that works on fragments converts them on their way: it is no
  // consumer, and those who do not compute get the registers that it needs.
  // CHECK-LABEL: @shared
  gpu.func @shared(%x: vector<4xf32>) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    warp.specialize {
      // CHECK: @load
      // CHECK-NEXT: setmaxnreg decrease 56
      warp.group @load warps 1 at 0 (%g) {}
      // CHECK: @transpose
      // CHECK-NEXT: setmaxnreg decrease 56
      warp.group @transpose warps 2 at 2 (%g) {
        %y = arith.addf %x, %x : vector<4xf32>
      }
      // CHECK: @copy
      // CHECK-NEXT: setmaxnreg decrease 56
      warp.group @copy warps 4 replicas 1 at 4 (%g) {}
      // CHECK: @math
      // CHECK-NEXT: setmaxnreg increase 240
      warp.group @math warps 4 at 8 (%g) {
        %y = arith.addf %x, %x : vector<4xf32>
      }
    }
    gpu.return
  }

  // One that makes wider elements needs more.
  // CHECK-LABEL: @unpacking
  gpu.func @unpacking(%x: vector<4xf32>, %wide: vector<16xbf16>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %from = hopper.smem.alloc : !hopper.buffer<1, tensor<32x32xi8>, 32>
    %to = hopper.smem.alloc : !hopper.buffer<1, tensor<32x32xbf16>, 64>
    warp.specialize {
      // CHECK: @unpack
      // CHECK-NEXT: setmaxnreg decrease 96
      warp.group @unpack warps 2 at 0 (%g) {
        %bytes = hopper.smem.load %from[%c0, %c0, %c0] of #window : !hopper.buffer<1, tensor<32x32xi8>, 32> -> vector<16xi8>
        hopper.smem.store %wide to %to[%c0, %c0, %c0] of #window : vector<16xbf16>, !hopper.buffer<1, tensor<32x32xbf16>, 64>
      }
      // CHECK: @math
      // CHECK-NEXT: setmaxnreg decrease 240
      warp.group @math warps 4 at 4 (%g) {
        %y = arith.addf %x, %x : vector<4xf32>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @not_placed() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    warp.specialize {
      // expected-error@+1 {{expects a place (see hopper-pack-warpgroups)}}
      warp.group @load warps 4 (%g) {}
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{expects 'known_block_size' (see hopper-pack-warpgroups)}}
  gpu.func @no_size() kernel {
    warp.specialize {
      warp.group @load warps 4 at 0 (%g) {}
    }
    gpu.return
  }
}

//--- forced.mlir
gpu.module @m {
  // CHECK-LABEL: @three
  gpu.func @three(%x: vector<4xf32>) kernel attributes {known_block_size = array<i32: 512, 1, 1>} {
    warp.specialize {
      // CHECK: setmaxnreg decrease 40
      warp.group @load warps 1 at 0 (%g) {}
      // CHECK: setmaxnreg increase 152
      warp.group @math warps 4 replicas 3 at 4 (%g) {
        %y = arith.addf %x, %x : vector<4xf32>
      }
    }
    gpu.return
  }
}

//--- over.mlir
gpu.module @m {
  gpu.func @three(%x: vector<4xf32>) kernel attributes {known_block_size = array<i32: 512, 1, 1>} {
    // expected-error@+1 {{needs 68608 registers (1 warp groups with 32 per thread, 3 with 168), the block has 65536}}
    warp.specialize {
      warp.group @load warps 1 at 0 (%g) {}
      warp.group @math warps 4 replicas 3 at 4 (%g) {
        %y = arith.addf %x, %x : vector<4xf32>
      }
    }
    gpu.return
  }
}
