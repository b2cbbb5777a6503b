// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm))' -split-input-file -verify-diagnostics
// RUN: not fa3-opt %S/hopper-to-nvvm.mlir --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm{barrier-wait=spin}))' 2>&1 | FileCheck %s --check-prefix=WAIT
// RUN: not fa3-opt %S/hopper-to-nvvm.mlir --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm{wgmma-asm=all}))' 2>&1 | FileCheck %s --check-prefix=ASM
// RUN: not fa3-opt %S/hopper-to-nvvm.mlir --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm{reduction-chains=0}))' 2>&1 | FileCheck %s --check-prefix=CHAINS

// WAIT: hopper-to-nvvm.mlir:{{[0-9]+}}:{{[0-9]+}}: error: option barrier-wait expects asm or intrinsic, got spin
// ASM: error: option wgmma-asm expects instruction or chain, got all
// CHAINS: error: option reduction-chains expects at least 1, got 0

gpu.module @m {
  // expected-error @below {{expects a one-dimensional 'known_block_size' (see hopper-pack-warpgroups)}}
  gpu.func @size() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{expects a kernel, functions called from kernels are not supported}}
  gpu.func @helper() {
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @place() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    flow.specialize {
      // expected-error @below {{expects a place (see hopper-pack-warpgroups)}}
      flow.group @math warps 4 (%g) {
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @outside() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    flow.specialize {
      // expected-error @below {{ends at warp 8, the block has 4}}
      flow.group @math warps 4 at 4 (%g) {
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @offset() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{expects an offset (see hopper-allocate-smem)}}
    // expected-error @below {{failed to legalize operation 'hopper.barrier.alloc'}}
    %full = hopper.barrier.alloc : !hopper.barrier<2, 1>
    hopper.barrier.init %full : !hopper.barrier<2, 1>
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{expects structured control flow, got 2 blocks}}
  gpu.func @blocks() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    cf.br ^next
  ^next:
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @pending() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    flow.specialize {
      flow.group @math warps 4 at 0 (%g) {
        %h = hopper.wgmma.commit
        // expected-error @below {{expects 'pending' (see hopper-insert-waits)}}
        // expected-error @below {{failed to legalize operation 'hopper.wgmma.wait'}}
        hopper.wgmma.wait %h
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @barrier() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    flow.specialize {
      flow.group @math warps 4 at 0 (%g) {
        // expected-error @below {{waits for all warps of the block, of which only those of its group come here}}
        // expected-error @below {{failed to legalize operation 'gpu.barrier'}}
        gpu.barrier
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @init() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %full = hopper.barrier.alloc offset 0 : !hopper.barrier<2, 1>
    flow.specialize {
      flow.group @math warps 4 at 0 (%g) {
        // expected-error @below {{expects to stand outside of groups, thread 0 of the block performs it}}
        // expected-error @below {{failed to legalize operation 'hopper.barrier.init'}}
        hopper.barrier.init %full : !hopper.barrier<2, 1>
      }
    }
    gpu.return
  }
}

// -----

// A row that is no start of the swizzle's pattern.
gpu.module @m {
  gpu.func @row() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<64x64xf16>, 128>
    flow.specialize {
      flow.group @math warps 4 at 0 (%g) {
        %c0 = arith.constant 0 : i32
        %c4 = arith.constant 4 : i32
        // expected-error @below {{expects a row that is a multiple of 8, got 4}}
        // expected-error @below {{failed to legalize operation 'hopper.desc'}}
        %x = hopper.desc %a[%c0, %c4, %c0] : !hopper.buffer<1, tensor<64x64xf16>, 128> -> !hopper.desc<64, f16, 128, k>
        hopper.wgmma.fence
        %d = hopper.wgmma.mma %x, %x m 64 n 64 k 64 : !hopper.desc<64, f16, 128, k>, !hopper.desc<64, f16, 128, k> -> !hopper.inflight<vector<32xf32>>
        %h = hopper.wgmma.commit
        %v = hopper.wgmma.wait %h inflight(%d : !hopper.inflight<vector<32xf32>>) pending 0
      }
    }
    gpu.return
  }
}
