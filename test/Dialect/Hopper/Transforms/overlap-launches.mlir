// RUN: fa3-opt %s -hopper-overlap-launches | FileCheck %s
// RUN: fa3-opt %s -hopper-overlap-launches -hopper-overlap-launches | FileCheck %s

// Kernels of a host function one behind the other: all but the first wait
// before they touch memory. One lets the next start while it runs if blocks of
// that take more than half of a multiprocessor's memory. Those of different
// branches are not behind each other.

#rows = #hopper.fragment<[128], reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]], repeat = []>

func.func @chain(%x: memref<?xf32>, %n: index, %c: i1) {
  %a = hopper.address %x : memref<?xf32>
  hopper.launch @m::@first blocks %n threads 128 smem 0 args(%a : !llvm.ptr<1>)
  hopper.launch @m::@other blocks %n threads 256 smem 200000 args(%a : !llvm.ptr<1>)
  scf.if %c {
    hopper.launch @m::@middle blocks %n threads 128 smem 116737 args(%a : !llvm.ptr<1>)
  }
  hopper.launch @m::@last blocks %n threads 128 smem 116736 args(%a : !llvm.ptr<1>)
  return
}
func.func @choice(%x: memref<?xf32>, %n: index, %c: i1) {
  %a = hopper.address %x : memref<?xf32>
  scf.if %c {
    hopper.launch @m::@alone blocks %n threads 128 smem 0 args(%a : !llvm.ptr<1>)
  } else {
    hopper.launch @m::@instead blocks %n threads 128 smem 0 args(%a : !llvm.ptr<1>)
  }
  return
}
gpu.module @m {
  // CHECK-LABEL: gpu.func @first
  // CHECK-NEXT: nvvm.griddepcontrol launch_dependents
  // CHECK-NOT: nvvm.griddepcontrol
  // CHECK: gpu.return
  gpu.func @first(%p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %n = arith.constant 128 : i32
    %x = arith.constant dense<1.0> : vector<1xf32>
    hopper.fragment.store %x, %p[%c0] strides(%one) bounds(%n) of #rows : vector<1xf32>
    gpu.return
  }
  // What reads memory without a side effect counts, too.
  // CHECK-LABEL: gpu.func @middle
  // CHECK-NOT: launch_dependents
  // CHECK-NOT: scalar_load
  // CHECK: nvvm.griddepcontrol wait
  // CHECK-NEXT: hopper.scalar_load
  gpu.func @middle(%p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %b = gpu.block_id x
    %i = arith.index_cast %b : index to i32
    %one = arith.constant 1 : i64
    %n = arith.constant 128 : i32
    %s = hopper.scalar_load %p[%i] strides(%one) : f32
    %x = vector.broadcast %s : f32 to vector<1xf32>
    hopper.fragment.store %x, %p[%i] strides(%one) bounds(%n) of #rows : vector<1xf32>
    gpu.return
  }
  // In front of the groups, all of whose threads wait.
  // CHECK-LABEL: gpu.func @other
  // CHECK-NOT: launch_dependents
  // CHECK: gpu.barrier
  // CHECK-NEXT: nvvm.griddepcontrol wait
  // CHECK-NEXT: warp.specialize
  gpu.func @other(%p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %n = arith.constant 128 : i32
    %x = arith.constant dense<1.0> : vector<1xf32>
    gpu.barrier
    warp.specialize {
      warp.group @load warps 1 at 0 (%g) {
      }
      warp.group @math warps 4 at 4 (%g) {
        hopper.fragment.store %x, %p[%c0] strides(%one) bounds(%n) of #rows : vector<1xf32>
      }
    }
    gpu.return
  }
  // CHECK-LABEL: gpu.func @last
  // CHECK-NEXT: nvvm.griddepcontrol wait
  // CHECK-NEXT: gpu.return
  gpu.func @last(%p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    gpu.return
  }
  // CHECK-LABEL: gpu.func @alone
  // CHECK-NOT: nvvm.griddepcontrol
  gpu.func @alone(%p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    gpu.return
  }
  gpu.func @instead(%p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    gpu.return
  }
}

// Flags: who sets them lets the next one start when they are cleared, and that
// waits for them; for the end of others its last block waits. Not if another
// kernel may be in front of it.
func.func @flags(%x: memref<?xi32>, %n: index, %c: i1) {
  %a = hopper.address %x : memref<?xi32>
  hopper.launch @f::@plain blocks %n threads 128 smem 0 args(%a : !llvm.ptr<1>)
  hopper.launch @f::@set blocks %n threads 128 smem 0 args(%a : !llvm.ptr<1>)
  scf.if %c {
    hopper.launch @f::@await blocks %n threads 128 smem 0 args(%a : !llvm.ptr<1>)
  } else {
    hopper.launch @f::@instead blocks %n threads 128 smem 0 args(%a : !llvm.ptr<1>)
  }
  hopper.launch @f::@late blocks %n threads 128 smem 0 args(%a : !llvm.ptr<1>)
  return
}
gpu.module @f {
  gpu.func @plain(%p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    gpu.return
  }
  // CHECK-LABEL: gpu.func @set
  // CHECK-NOT: launch_dependents
  // CHECK: nvvm.griddepcontrol wait
  // CHECK-NEXT: hopper.flag.clear {{.*}} start
  // CHECK-NOT: nvvm.griddepcontrol
  // CHECK: gpu.return
  gpu.func @set(%p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    hopper.flag.clear %p[%c0] strides(%one)
    gpu.barrier
    hopper.flag.set %p[%c0] strides(%one)
    gpu.return
  }
  // CHECK-LABEL: gpu.func @await
  // CHECK-NOT: nvvm.griddepcontrol
  // CHECK: hopper.flag.await
  // CHECK: %[[B:.*]] = gpu.block_id x
  // CHECK: %[[I:.*]] = arith.index_cast %[[B]] : index to i32
  // CHECK: %[[D:.*]] = gpu.grid_dim x
  // CHECK: %[[N:.*]] = arith.index_cast %[[D]] : index to i32
  // CHECK: %[[L:.*]] = arith.subi %[[N]], %{{.*}} : i32
  // CHECK: %[[C:.*]] = arith.cmpi eq, %[[I]], %[[L]] : i32
  // CHECK: scf.if %[[C]] {
  // CHECK-NEXT: nvvm.griddepcontrol wait
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.return
  gpu.func @await(%p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    hopper.flag.await %p[%c0] strides(%one) count %c0 step %one
    gpu.barrier
    gpu.return
  }
  // CHECK-LABEL: gpu.func @instead
  // CHECK: hopper.flag.await
  // CHECK: scf.if
  // CHECK-NEXT: nvvm.griddepcontrol wait
  gpu.func @instead(%p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    hopper.flag.await %p[%c0] strides(%one) count %c0 step %one
    gpu.barrier
    gpu.return
  }
  // CHECK-LABEL: gpu.func @late
  // CHECK: nvvm.griddepcontrol wait
  // CHECK-NEXT: hopper.flag.await
  // CHECK-NOT: nvvm.griddepcontrol
  gpu.func @late(%p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    hopper.flag.await %p[%c0] strides(%one) count %c0 step %one
    gpu.barrier
    gpu.return
  }
}
