// Launches by the gpu dialect: checks and extents stay, addresses are numbers,
// memory between kernels is the device's.
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline=mode=cta -fa3-lower-host=launch=gpu | FileCheck %s

// CHECK: module attributes {gpu.container_module}
// CHECK: gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_90a", features = "+ptx90">, assembly = "{{.*}}.entry copy({{.*}}\00">]
// CHECK-LABEL: func.func private @twice
// CHECK-SAME: (%[[X:.*]]: memref<?xf32, strided<[?], offset: ?>> {tile.name = "x"}, %[[Y:.*]]: memref<?xf32, strided<[?], offset: ?>>)
// What the types of arguments said is asked for now.
// Of at most one element any stride will do.
// CHECK: %[[IS_SHORT:.*]] = arith.cmpi sle, %sizes, %{{.*}}
// CHECK: %[[WILL_DO:.*]] = arith.ori %[[IS_SHORT]], %{{.*}}
// CHECK: cf.assert %[[WILL_DO]], "argument 0 ('x') has another stride in dimension 0 than 1"
// CHECK: cf.assert %{{.*}}, "argument 1 has another stride in dimension 0 than 1"
// CHECK: %[[N:.*]] = memref.dim %[[X]]
// CHECK: cf.assert %{{.*}}, "x and y differ in length"
// CHECK: %[[BLOCKS:.*]] = arith.ceildivsi %[[N]]
// CHECK: %[[START:.*]] = gpu.wait async
// CHECK: %[[W:.*]], %[[DONE:.*]] = gpu.alloc async [%[[START]]] (%[[N]]) : memref<?xf32>
// CHECK: gpu.wait [%[[DONE]]]
// CHECK: %[[AT:.*]] = memref.extract_aligned_pointer_as_index %[[X]]
// CHECK: %[[A:.*]] = llvm.inttoptr %{{.*}} : i64 to !llvm.ptr<1>
// CHECK: %[[SOME:.*]] = arith.cmpi sgt, %[[BLOCKS]], %{{.*}} : index
// CHECK: scf.if %[[SOME]] {
// CHECK: gpu.launch_func @kernels::@copy blocks in (%[[BLOCKS]], %[[ONE:.*]], %[[ONE]]) threads in (%[[THREADS:.*]], %[[ONE]], %[[ONE]]) args(%[[A]] : !llvm.ptr<1>, %{{.*}} : i32, %{{.*}} : !llvm.ptr<1>, %{{.*}} : i32)
// CHECK: gpu.launch_func @kernels::@copy
// CHECK: %[[LAST:.*]] = gpu.dealloc async [%{{.*}}] %[[W]]
// CHECK-NEXT: gpu.wait [%[[LAST]]]
// CHECK-NEXT: return
// CHECK-NOT: hopper.
// CHECK-NOT: llvm.func

// A number of blocks that is known needs no question; shared memory.
// CHECK-LABEL: func.func @reversed
// CHECK-NOT: scf.if
// CHECK: %[[BYTES:.*]] = arith.constant {{[1-9][0-9]*}} : i32
// CHECK: gpu.launch_func @reverse_kernels::@reverse {{.*}} dynamic_shared_memory_size %[[BYTES]]
!any = memref<?xf32, strided<[1]>>
gpu.module @kernels {
  gpu.func @copy(%x: !any, %y: !any, %n: index) kernel {
    %c128 = arith.constant 128 : index
    tile.grid (%m) in (%n) {
      %i = arith.muli %m, %c128 : index
      %t = tile.load %x[%i] : !any -> tensor<128xf32>
      tile.store %t, %y[%i] : tensor<128xf32>, !any
    }
    gpu.return
  }
}
func.func private @twice(%x: !any {tile.name = "x"}, %y: !any) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %x, %c0 : !any
  %m = memref.dim %y, %c0 : !any
  %same = arith.cmpi eq, %n, %m : index
  cf.assert %same, "x and y differ in length"
  %blocks = arith.ceildivsi %n, %c128 : index
  %w = memref.alloc(%n) : memref<?xf32>
  %v = memref.cast %w : memref<?xf32> to !any
  tile.launch @kernels::@copy args(%x, %v, %blocks : !any, !any, index)
  tile.launch @kernels::@copy args(%v, %y, %blocks : !any, !any, index)
  return
}
func.func @caller(%x: !any, %y: !any) {
  attention.call @twice(%x : !any) outs(%y : !any)
  return
}

gpu.module @reverse_kernels {
  llvm.func @reverse(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
func.func @reversed(%x: memref<64xf32>) {
  %c1 = arith.constant 1 : index
  %a = hopper.address %x : memref<64xf32>
  hopper.launch @reverse_kernels::@reverse blocks %c1 threads 64 smem 1024 args(%a : !llvm.ptr<1>)
  return
}

// Under a condition.
// CHECK-LABEL: func.func @conditional
// CHECK: scf.if
// CHECK: gpu.launch_func @one_kernels::@one
// CHECK-NOT: hopper.
gpu.module @one_kernels {
  llvm.func @one(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
func.func @conditional(%x: memref<64xf32>, %is_long: i1) {
  scf.if %is_long {
    %c1 = arith.constant 1 : index
    %a = hopper.address %x : memref<64xf32>
    hopper.launch @one_kernels::@one blocks %c1 threads 64 smem 0 args(%a : !llvm.ptr<1>)
  }
  return
}
