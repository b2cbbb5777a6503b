// A stream that a function has goes to what it calls, and memory between kernels is
// the program's: of a static size where shapes are static.
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline -fa3-lower-host=workspace=program | FileCheck %s
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline -fa3-lower-host | FileCheck %s --check-prefix=KEPT

// CHECK: llvm.func @fa3_host_stream() -> !llvm.ptr
// CHECK: llvm.func @fa3_host_launch_on(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64)
// CHECK: func.func private @twice(%{{.*}}: memref<?xf32, strided<[?], offset: ?>> {tile.name = "x"}, %{{.*}}: memref<?xf32, strided<[?], offset: ?>>, %[[W:.*]]: memref<?xi8, strided<[?], offset: ?>>, %[[S:.*]]: !llvm.ptr)
// CHECK: %[[COUNT:.*]] = llvm.mlir.constant(2 : i64)
// CHECK: memref.extract_aligned_pointer_as_index %[[W]]
// CHECK: %[[AT:.*]] = llvm.inttoptr %{{.*}} : i64 to !llvm.ptr
// CHECK: %[[BYTES:.*]] = memref.dim %[[W]]
// CHECK: %[[SIZE:.*]] = arith.index_cast %[[BYTES]] : index to i64
// CHECK: llvm.call @fa3_host_launch_on(%{{.*}}, %{{.*}}, %[[COUNT]], %[[S]], %[[AT]], %[[SIZE]])

// 300 numbers of f32 in whole pieces of 256 bytes.
// CHECK-LABEL: func.func @on_stream
// CHECK-SAME: (%{{.*}}: memref<300xf32>, %{{.*}}: memref<300xf32>, %[[STREAM:[a-z0-9]+]]: !llvm.ptr)
// CHECK: scf.for
// CHECK: %[[ALLOC:.*]] = memref.alloc() {alignment = 256 : i64} : memref<1280xi8>
// CHECK: %[[CAST:.*]] = memref.cast %[[ALLOC]] : memref<1280xi8> to memref<?xi8, strided<[?], offset: ?>>
// CHECK: call @twice(%{{.*}}, %{{.*}}, %[[CAST]], %[[STREAM]])

// A size that the run knows, and the stream of the thread.
// CHECK-LABEL: func.func @without
// CHECK-SAME: (%[[X:.*]]: memref<?xf32>, %{{.*}}: memref<?xf32>)
// CHECK: %[[N:.*]] = memref.dim %{{.*}}
// CHECK: %[[B:.*]] = arith.muli %[[N]], %{{.*}} : index
// CHECK: %[[P:.*]] = arith.ceildivui %[[B]], %{{.*}} : index
// CHECK: %[[Q:.*]] = arith.muli %[[P]], %{{.*}} : index
// CHECK: memref.alloc(%[[Q]]) {alignment = 256 : i64} : memref<?xi8>
// CHECK: %[[THREADS:.*]] = llvm.call @fa3_host_stream()
// CHECK: call @twice(%{{.*}}, %{{.*}}, %{{.*}}, %[[THREADS]])

// Memory of the runtime: a null.
// KEPT: func.func private @twice(%{{.*}}, %{{.*}}, %[[S:.*]]: !llvm.ptr)
// KEPT: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
// KEPT: llvm.call @fa3_host_launch_on(%{{.*}}, %{{.*}}, %{{.*}}, %[[S]], %[[NULL]], %{{.*}})
// KEPT-LABEL: func.func @on_stream
// KEPT-NOT: memref.alloc
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
  %blocks = arith.ceildivsi %n, %c128 : index
  %w = memref.alloc(%n) : memref<?xf32>
  %v = memref.cast %w : memref<?xf32> to !any
  tile.launch @kernels::@copy args(%x, %v, %blocks : !any, !any, index)
  tile.launch @kernels::@copy args(%v, %y, %blocks : !any, !any, index)
  return
}
func.func @on_stream(%x: memref<300xf32>, %y: memref<300xf32>, %s: !llvm.ptr {attention.stream}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    attention.call @twice(%x : memref<300xf32>) outs(%y : memref<300xf32>)
  }
  return
}
func.func @without(%x: memref<?xf32>, %y: memref<?xf32>) {
  attention.call @twice(%x : memref<?xf32>) outs(%y : memref<?xf32>)
  return
}
