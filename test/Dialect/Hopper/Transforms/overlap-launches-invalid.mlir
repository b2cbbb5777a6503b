// RUN: fa3-opt %s -hopper-check-protocol -split-input-file -verify-diagnostics
// RUN: fa3-opt %s -pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm))' -split-input-file -verify-diagnostics

#rows = #hopper.fragment<[128], reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]], repeat = []>

// A read in front of the wait may be of what is not there yet.
gpu.module @m {
  gpu.func @early(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %n = arith.constant 128 : i32
    // expected-note @+1 {{'hopper.scalar_load' does}}
    %s = hopper.scalar_load %p[%c0] strides(%one) : f32
    // expected-error @+1 {{waits for kernels in front of this one, which has touched global memory before}}
    nvvm.griddepcontrol wait
    %x = vector.broadcast %s : f32 to vector<1xf32>
    hopper.fragment.store %x, %q[%c0] strides(%one) bounds(%n) of #rows : vector<1xf32>
    gpu.return
  }
}

// -----

#rows = #hopper.fragment<[128], reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]], repeat = []>

// So may a write, of what others still read, in whatever region it is.
gpu.module @m {
  gpu.func @inside(%p: !llvm.ptr<1>, %c: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %n = arith.constant 128 : i32
    %x = arith.constant dense<1.0> : vector<1xf32>
    // expected-note @+1 {{'scf.if' does}}
    scf.if %c {
      hopper.fragment.store %x, %p[%c0] strides(%one) bounds(%n) of #rows : vector<1xf32>
    }
    // expected-error @+1 {{waits for kernels in front of this one, which has touched global memory before}}
    nvvm.griddepcontrol wait
    gpu.return
  }
}

// -----

// A kernel of which some threads have not waited may end before what is in
// front of it.
gpu.module @m {
  gpu.func @some(%c: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    scf.if %c {
      // expected-error @+1 {{expects to wait in the first block of the kernel, where all threads pass}}
      nvvm.griddepcontrol wait
    }
    gpu.return
  }
}
