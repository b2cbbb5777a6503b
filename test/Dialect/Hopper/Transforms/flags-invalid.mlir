// RUN: fa3-opt %s -hopper-check-protocol -split-input-file -verify-diagnostics
// RUN: fa3-opt %s -pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm))' -split-input-file -verify-diagnostics

// What orders a kernel that sets flags with one that waits for them.

// A flag of the launch before is still set.
gpu.module @m {
  // expected-error @+1 {{expects a flag to be cleared and set, got 'hopper.flag.set' alone}}
  gpu.func @uncleared(%f: !llvm.ptr<1>, %i: i32, %s: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    gpu.barrier
    hopper.flag.set %f[%i] strides(%s)
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @+1 {{expects a flag to be cleared and set, got 'hopper.flag.clear' alone}}
  gpu.func @unset(%f: !llvm.ptr<1>, %i: i32, %s: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    hopper.flag.clear %f[%i] strides(%s)
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @other(%f: !llvm.ptr<1>, %i: i32, %j: i32, %s: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    hopper.flag.clear %f[%i] strides(%s)
    gpu.barrier
    // expected-error @+1 {{expects the flag that is cleared}}
    hopper.flag.set %f[%j] strides(%s)
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @before_groups(%f: !llvm.ptr<1>, %i: i32, %s: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    hopper.flag.clear %f[%i] strides(%s)
    gpu.barrier
    // expected-error @+1 {{expects the groups between the clearing and the setting of a flag}}
    hopper.flag.set %f[%i] strides(%s)
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_barrier(%f: !llvm.ptr<1>, %i: i32, %s: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    hopper.flag.clear %f[%i] strides(%s)
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
      }
    }
    // expected-error @+1 {{expects a 'gpu.barrier' in front of it: other threads may still store}}
    hopper.flag.set %f[%i] strides(%s)
    gpu.return
  }
}

// -----

// Bulk stores have read shared memory, but may not be in memory.
gpu.module @m {
  gpu.func @unwritten(%f: !llvm.ptr<1>, %map: !hopper.tensormap<[64, 64], bf16, 128>, %i: i32, %s: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %o = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<64x64xbf16>, 128>
    hopper.flag.clear %f[%i] strides(%s)
    warp.specialize {
      // expected-note @+1 {{this one does not}}
      warp.group @math warps 4 at 0 (%g) {
        hopper.tma.store %o[%i, %i, %i] to %map[%i, %i] : !hopper.buffer<1, tensor<64x64xbf16>, 128>, !hopper.tensormap<[64, 64], bf16, 128>
        hopper.tma.commit
        hopper.tma.wait_read pending 0
      }
    }
    gpu.barrier
    // expected-error @+1 {{says that all is in memory, expects groups with bulk stores to end with 'hopper.tma.wait_read pending 0 written'}}
    hopper.flag.set %f[%i] strides(%s)
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @early_start(%f: !llvm.ptr<1>, %i: i32, %s: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @+1 {{lets the next kernel start, which may see the flag before it is cleared: expects 'start' of 'hopper.flag.clear'}}
    nvvm.griddepcontrol launch_dependents
    hopper.flag.clear %f[%i] strides(%s) start
    gpu.barrier
    hopper.flag.set %f[%i] strides(%s)
    gpu.return
  }
}

// -----

// Groups read before the threads that wait have seen the flags.
gpu.module @m {
  gpu.func @awaited_alone(%f: !llvm.ptr<1>, %i: i32, %s: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @+1 {{expects to stand in front of the groups and of a 'gpu.barrier', which all threads wait for}}
    hopper.flag.await %f[%i] strides(%s) count %i step %s
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
      }
    }
    gpu.return
  }
}

// -----

// The end of the kernel in front of this one is no end of this one if there is
// work behind it.
gpu.module @m {
  gpu.func @end(%f: !llvm.ptr<1>, %i: i32, %s: i64, %c: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    hopper.flag.await %f[%i] strides(%s) count %i step %s
    gpu.barrier
    scf.if %c {
      // expected-error @+1 {{expects to wait in the first block of the kernel, where all threads pass}}
      nvvm.griddepcontrol wait
    }
    %x = hopper.scalar_load %f[%i] strides(%s) : i32
    gpu.return
  }
}

// -----

// Copies may read from elsewhere than the threads that have seen the flags.
gpu.module @m {
  gpu.func @copies(%f: !llvm.ptr<1>, %map: !hopper.tensormap<[64, 64], bf16, 128>, %i: i32, %s: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %q = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<64x64xbf16>, 128>
    %full = hopper.barrier.alloc offset 8192 : !hopper.barrier<1, 1>
    // expected-error @+1 {{expects 'copies' in a kernel with bulk copies}}
    hopper.flag.await %f[%i] strides(%s) count %i step %s
    hopper.barrier.init %full : !hopper.barrier<1, 1>
    gpu.barrier
    warp.specialize {
      warp.group @load warps 1 at 0 (%g) {
        hopper.barrier.expect_tx %full[%i], 8192 : !hopper.barrier<1, 1>
        hopper.tma.load %map[%i, %i] to %q[%i, %i, %i] signal %full[%i] : !hopper.tensormap<[64, 64], bf16, 128>, !hopper.buffer<1, tensor<64x64xbf16>, 128>, !hopper.barrier<1, 1>
      }
    }
    gpu.return
  }
}
