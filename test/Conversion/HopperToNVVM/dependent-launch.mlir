// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm,canonicalize,cse))' | FileCheck %s
// RUN: fa3-opt %s --pass-pipeline='builtin.module(fa3-hopper-to-llvm)' | fa3-translate --mlir-to-ptx -o - | FileCheck %s --check-prefix=PTX
// RUN: fa3-opt %s --pass-pipeline='builtin.module(fa3-hopper-to-llvm)' | fa3-translate --mlir-to-ptx -o %t.ptx
// RUN: FileCheck %s --check-prefix=MANIFEST --input-file=%t.json

// A kernel that waits for others does not take its arrays to be constant from
// its start on, and nothing that reads memory moves in front of the wait.

#rows = #hopper.fragment<[128], reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]], repeat = []>

// MANIFEST: "kernel": "first"
// MANIFEST-NOT: "waits"
// MANIFEST: "kernel": "second"
// MANIFEST: "smem": 0,
// MANIFEST-NEXT: "waits": true,
// MANIFEST-NEXT: "args"
func.func @chain(%x: memref<?xf32> {tile.name = "x"}, %y: memref<?xf32> {tile.name = "y"}, %n: index {tile.name = "n"}) {
  %a = hopper.address %x : memref<?xf32>
  %b = hopper.address %y : memref<?xf32>
  hopper.launch @m::@first blocks %n threads 128 smem 0 args(%a, %b : !llvm.ptr<1>, !llvm.ptr<1>)
  hopper.launch @m::@second blocks %n threads 128 smem 0 args(%a, %b : !llvm.ptr<1>, !llvm.ptr<1>)
  return
}
gpu.module @m {
  // CHECK-LABEL: llvm.func @first
  // CHECK: nvvm.griddepcontrol launch_dependents
  // CHECK: llvm.load %{{.*}} invariant
  // PTX: .entry first
  // PTX: griddepcontrol.launch_dependents;
  // PTX: ld.global.nc.b32
  // PTX: ret;
  gpu.func @first(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    nvvm.griddepcontrol launch_dependents
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %n = arith.constant 128 : i32
    %s = hopper.scalar_load %p[%c0] strides(%one) : f32
    %x = vector.broadcast %s : f32 to vector<1xf32>
    hopper.fragment.store %x, %q[%c0] strides(%one) bounds(%n) of #rows : vector<1xf32>
    gpu.return
  }
  // CHECK-LABEL: llvm.func @second
  // CHECK: nvvm.griddepcontrol wait
  // CHECK-NEXT: llvm.inline_asm has_side_effects "", "~{memory}"
  // CHECK: llvm.load
  // CHECK-NOT: invariant
  // CHECK: llvm.return
  // PTX: .entry second
  // PTX-NOT: ld.global
  // PTX: griddepcontrol.wait;
  // PTX-NOT: ld.global.nc
  // PTX: ld.global.b32
  gpu.func @second(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    nvvm.griddepcontrol wait
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %n = arith.constant 128 : i32
    %s = hopper.scalar_load %q[%c0] strides(%one) : f32
    %x = vector.broadcast %s : f32 to vector<1xf32>
    hopper.fragment.store %x, %p[%c0] strides(%one) bounds(%n) of #rows : vector<1xf32>
    gpu.return
  }
}
