// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm))' -split-input-file -verify-diagnostics
// RUN: not fa3-opt %S/hopper-to-nvvm.mlir --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm{reduction-chains=0}))' 2>&1 | FileCheck %s --check-prefix=CHAINS

// CHAINS: for the --reduction-chains option: expects a number from 1 on, got 0

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
    warp.specialize {
      // expected-error @below {{expects a place (see hopper-pack-warpgroups)}}
      warp.group @math warps 4 (%g) {
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @outside() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    warp.specialize {
      // expected-error @below {{ends at warp 8, the block has 4}}
      warp.group @math warps 4 at 4 (%g) {
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
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
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
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
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
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
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
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
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

// -----

gpu.module @m {
  // expected-error @below {{argument 0 of type 'memref<?xf32>' cannot be passed to a kernel}}
  // expected-error @below {{failed to legalize operation 'gpu.func'}}
  gpu.func @argument(%p: memref<?xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    gpu.return
  }
}

// -----

// Two groups on one warp group: registers are those of all its warps.
gpu.module @m {
  gpu.func @agree() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    warp.specialize {
      // expected-note @below {{one of them}}
      warp.group @load warps 1 at 0 (%g) {
        hopper.setmaxnreg decrease 24
      }
      // expected-error @below {{expects the 'hopper.setmaxnreg' of the groups in its warp group}}
      warp.group @other warps 1 at 1 (%g) {
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @late(%n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    warp.specialize {
      warp.group @load warps 1 at 0 (%g) {
        hopper.tma.wait_read pending 0
        // expected-error @below {{expects to open its group, which shares a warp group}}
        hopper.setmaxnreg decrease 24
      }
    }
    gpu.return
  }
}

// -----

#acc = #hopper.fragment<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
gpu.module @m {
  gpu.func @warps(%p: !llvm.ptr<1>, %s: i64, %n: i32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    warp.specialize {
      warp.group @math warps 8 at 0 (%g) {
        // expected-error @below {{expects a fragment over the 8 warps that run it, got one over 4}}
        %x = hopper.fragment.load %p[%n, %n] strides(%s, %s) bounds(%n, %n) of #acc : vector<32xf32>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @double(%p: !llvm.ptr<1>, %s: i64, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %x = hopper.scalar_load %p[%n] strides(%s) : f64
    // expected-error @below {{has no instruction for 'f64'}}
    // expected-error @below {{failed to legalize operation 'math.exp2'}}
    %y = math.exp2 %x : f64
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @pairs(%x: vector<3xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{expects an even number of elements, got 'vector<3xf32>' to 'vector<3xf8E4M3FN>'}}
    // expected-error @below {{failed to legalize operation 'arith.truncf'}}
    %y = arith.truncf %x : vector<3xf32> to vector<3xf8E4M3FN>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @lanes(%x: vector<2xf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{expects elements of f32 or i32, got 'f16'}}
    // expected-error @below {{failed to legalize operation 'hopper.lane.reduce'}}
    %y = hopper.lane.reduce max %x over [0, 1] : vector<2xf16>
    gpu.return
  }
}

// -----

#rows = #hopper.fragment<[64], reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]], repeat = []>
gpu.module @m {
  gpu.func @load_bits(%p: !llvm.ptr<1>, %s: i64, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{expects elements of 1 bit, or 8 to 64, got 'i4'}}
    // expected-error @below {{failed to legalize operation 'hopper.fragment.load'}}
    %x = hopper.fragment.load %p[%n] strides(%s) bounds(%n) of #rows : vector<2xi4>
    gpu.return
  }
}

// -----

#rows = #hopper.fragment<[64], reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]], repeat = []>
gpu.module @m {
  gpu.func @store_bits(%x: vector<2xi1>, %p: !llvm.ptr<1>, %s: i64, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{expects elements of 8 to 64 bits, got 'i1'}}
    // expected-error @below {{failed to legalize operation 'hopper.fragment.store'}}
    hopper.fragment.store %x, %p[%n] strides(%s) bounds(%n) of #rows : vector<2xi1>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @scalar_bits(%p: !llvm.ptr<1>, %s: i64, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{expects an element of 1 bit, or 8 to 64, got 'i4'}}
    // expected-error @below {{failed to legalize operation 'hopper.scalar_load'}}
    %x = hopper.scalar_load %p[%n] strides(%s) : i4
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @column() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<64x64xf16>, 128>
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    // expected-error @below {{expects a column at a multiple of 32 bytes, got 16 bytes into a block}}
    // expected-error @below {{failed to legalize operation 'hopper.desc'}}
    %x = hopper.desc %a[%c0, %c0, %c8] : !hopper.buffer<1, tensor<64x64xf16>, 128> -> !hopper.desc<64, f16, 128, k>
    %d = hopper.wgmma.mma %x, %x m 64 n 64 k 64 : !hopper.desc<64, f16, 128, k>, !hopper.desc<64, f16, 128, k> -> !hopper.inflight<vector<32xf32>>
    gpu.return
  }
}

// -----

// -----

gpu.module @m {
  gpu.func @computed_column(%c: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<64x128xf16>, 128>
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %half = arith.muli %c, %c32 : i32
    // expected-error @below {{expects a column that is computed to be a multiple of a block of 64}}
    // expected-error @below {{failed to legalize operation 'hopper.desc'}}
    %x = hopper.desc %a[%c0, %c0, %half] : !hopper.buffer<1, tensor<64x128xf16>, 128> -> !hopper.desc<64, f16, 128, k>
    %d = hopper.wgmma.mma %x, %x m 64 n 64 k 64 : !hopper.desc<64, f16, 128, k>, !hopper.desc<64, f16, 128, k> -> !hopper.inflight<vector<32xf32>>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @column_of_rows() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<64x64xf16>, 128>
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    // expected-error @below {{expects a column at a multiple of 128 bytes, got 64 bytes into a block}}
    // expected-error @below {{failed to legalize operation 'hopper.desc'}}
    %x = hopper.desc %a[%c0, %c0, %c32] : !hopper.buffer<1, tensor<64x64xf16>, 128> -> !hopper.desc<64, f16, 128, mn>
    %d = hopper.wgmma.mma %x, %x m 64 n 64 k 64 : !hopper.desc<64, f16, 128, mn>, !hopper.desc<64, f16, 128, mn> -> !hopper.inflight<vector<32xf32>>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @element() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<64x64xi16>, 128>
    %c0 = arith.constant 0 : i32
    %x = hopper.desc %a[%c0, %c0, %c0] : !hopper.buffer<1, tensor<64x64xi16>, 128> -> !hopper.desc<64, i16, 128, k>
    // expected-error @below {{has no instruction for elements of 'i16'}}
    // expected-error @below {{failed to legalize operation 'hopper.wgmma.mma'}}
    %d = hopper.wgmma.mma %x, %x m 64 n 64 k 64 : !hopper.desc<64, i16, 128, k>, !hopper.desc<64, i16, 128, k> -> !hopper.inflight<vector<32xf32>>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @major() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<64x128xf8E4M3FN>, 128>
    %c0 = arith.constant 0 : i32
    %x = hopper.desc %a[%c0, %c0, %c0] : !hopper.buffer<1, tensor<64x128xf8E4M3FN>, 128> -> !hopper.desc<64, f8E4M3FN, 128, k>
    %y = hopper.desc %a[%c0, %c0, %c0] : !hopper.buffer<1, tensor<64x128xf8E4M3FN>, 128> -> !hopper.desc<64, f8E4M3FN, 128, mn>
    // expected-error @below {{expects 8-bit operands whose K is contiguous}}
    // expected-error @below {{failed to legalize operation 'hopper.wgmma.mma'}}
    %d = hopper.wgmma.mma %x, %y m 64 n 128 k 64 : !hopper.desc<64, f8E4M3FN, 128, k>, !hopper.desc<64, f8E4M3FN, 128, mn> -> !hopper.inflight<vector<64xf32>>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @rows() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<192x64xf16>, 128>
    %c0 = arith.constant 0 : i32
    %x = hopper.desc %a[%c0, %c0, %c0] : !hopper.buffer<1, tensor<192x64xf16>, 128> -> !hopper.desc<192, f16, 128, k>
    // expected-error @below {{expects m to be a power of two times 64, got 192}}
    // expected-error @below {{failed to legalize operation 'hopper.wgmma.mma'}}
    %d = hopper.wgmma.mma %x, %x m 192 n 64 k 64 : !hopper.desc<192, f16, 128, k>, !hopper.desc<192, f16, 128, k> -> !hopper.inflight<vector<96xf32>>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @odd(%x: vector<3xf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{cannot hold a value of type 'vector<3xf16>' in registers of 32 or 64 bits}}
    // expected-error @below {{failed to legalize operation 'hopper.wgmma.fence'}}
    %y = hopper.wgmma.fence (%x : vector<3xf16>)
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @share_number(%n: i32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %share = hopper.share %n
    // expected-error @below {{expects a loop over the tiles of a CTA not to use their number}}
    %r = scf.for %i = %c0 to %share step %c1 iter_args(%t = %c0) -> i32 : i32 {
      scf.yield %i : i32
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @share_tile(%n: i32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %share = hopper.share %n
    // expected-error @below {{expects a loop over the tiles of a CTA to carry the tile (i32) as its first value}}
    scf.for %i = %c0 to %share step %c1 : i32 {
      hopper.tma.commit
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @share_use(%n: i32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{expects to be the upper bound of loops only}}
    %share = hopper.share %n
    %more = arith.addi %share, %n : i32
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @claim(%counter: !llvm.ptr<1>, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{expects a group of one warp}}
    // expected-error @below {{failed to legalize operation 'hopper.claim'}}
    %next = hopper.claim %counter after %n of %n
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @pieces(%map: !hopper.tensormap<[1, 1, 16, 64], f16, 128>)
      kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %buffer = hopper.smem.alloc offset 0 : !hopper.buffer<2, tensor<64x64xf16>, 128>
    %full = hopper.barrier.alloc offset 32768 : !hopper.barrier<2, 1>
    // expected-error @below {{in pieces expects a group of warps around it}}
    // expected-error @below {{failed to legalize operation 'hopper.tma.load'}}
    hopper.tma.load %map to %buffer[%c0, %c0, %c0] signal %full[%c0] pieces 4 by 1 (%n) {
      hopper.yield %n, %c0, %c0, %c0 : i32, i32, i32, i32
    } : !hopper.tensormap<[1, 1, 16, 64], f16, 128>, !hopper.buffer<2, tensor<64x64xf16>, 128>, !hopper.barrier<2, 1>
    gpu.return
  }
}
