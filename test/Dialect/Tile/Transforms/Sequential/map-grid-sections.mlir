// RUN: fa3-opt %s '-tile-map-grid=order=longest-first mode=cta' | FileCheck %s
// RUN: fa3-opt %s '-tile-map-grid=order=longest-first mode=cta l2-bytes=0' | FileCheck %s --check-prefix=NONE
// RUN: fa3-opt %s '-tile-map-grid=order=rows mode=cta' | FileCheck %s --check-prefix=NONE
// RUN: fa3-opt %s '-tile-map-grid=order=longest-first mode=cta section-rounds=0' | FileCheck %s --check-prefix=ALL-THAT-FIT
// RUN: %stages-window --pass tile-map-grid --options 'order=longest-first l2-bytes=4096'
// RUN: %stages-window --pass tile-map-grid --options 'order=longest-first l2-bytes=4096 mode=static'
// RUN: %stages %fa3_src/test/Mutations/Inputs/causal_64.mlir --pass tile-map-grid --options 'block-m=64 section-rounds=1' --run=--sms=3 --dims b=2,h=3,hk=3,sq=200,sk=200

// What all rows of a head load decides how many heads can share the cache; what
// a tile loads for itself (%q) does not count. As few do as keep all SMs
// busy: three tiles for each.
// CHECK-LABEL: func.func @host
// CHECK-SAME: %[[Q:.*]]: memref<?x64xf16>, %[[K:.*]]: memref<?x?x64xf16>
// CHECK: memref.dim %[[K]]
// CHECK: %[[FIT:.*]] = arith.ceildivui %{{.*}}, %c33554432
// CHECK: %[[ALL:.*]] = tile.sm_count
// CHECK: %[[EACH:.*]] = arith.muli %[[ALL]], %c3
// CHECK: %[[THREE:.*]] = arith.maxui %[[EACH]], %c1
// CHECK: %[[HALF:.*]] = arith.divui %[[THREE]], %c2
// CHECK: %[[MORE:.*]] = arith.addi %{{.*}}, %[[HALF]]
// CHECK: %[[ROUNDS:.*]] = arith.divui %[[MORE]], %[[THREE]]
// CHECK: arith.maxui %[[FIT]], %[[ROUNDS]]
// CHECK: tile.launch @kernels::@rows blocks %{{.*}} args(%[[Q]], %[[K]], %{{.*}}, %{{.*}} : {{.*}}, index, index)
// ALL-THAT-FIT-LABEL: func.func @host
// ALL-THAT-FIT: arith.ceildivui
// ALL-THAT-FIT-NOT: tile.sm_count
// ALL-THAT-FIT: tile.launch
// NONE-LABEL: func.func @host
// NONE-NOT: arith.ceildivui
// NONE: args(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} :
func.func @host(%q: memref<?x64xf16>, %k: memref<?x?x64xf16>, %h: index) {
  tile.launch @kernels::@rows args(%q, %k, %h : memref<?x64xf16>, memref<?x?x64xf16>, index)
  return
}
// A loop whose range moves with the tile needs a part of bounded length at a
// time: here 2048 iterations at most, of 8192 bytes each, for every head. Tiles
// at a time are then as many as fit.
// CHECK-LABEL: func.func @sliding_host
// CHECK-NOT: tile.sm_count
// CHECK: %[[PART:.*]] = arith.muli %{{.*}}, %c16777216
// CHECK: %[[BYTES:.*]] = arith.minui %{{.*}}, %[[PART]]
// CHECK: arith.ceildivui %[[BYTES]], %c33554432
func.func @sliding_host(%k: memref<?x?x64xf16>, %h: index, %m: index) {
  tile.launch @kernels::@sliding args(%k, %h, %m : memref<?x?x64xf16>, index, index)
  return
}
// A loop in a loop has no such bound: the whole array counts.
// CHECK-LABEL: func.func @nested_host
// CHECK-NOT: arith.minui
// CHECK: arith.ceildivui %{{.*}}, %c33554432
func.func @nested_host(%k: memref<?x?x64xf16>, %h: index, %m: index) {
  tile.launch @kernels::@nested args(%k, %h, %m : memref<?x?x64xf16>, index, index)
  return
}
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @rows
  // CHECK-SAME: %[[HEADS:[a-z0-9]+]]: index, %[[S:[a-z0-9]+]]: index
  // CHECK: %[[ID:.*]] = gpu.block_id x
  // CHECK: arith.divui %[[ID]]
  // CHECK: arith.muli %{{.*}}, %[[S]]
  gpu.func @rows(%q: memref<?x64xf16>, %k: memref<?x?x64xf16>, %h: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %m = memref.dim %q, %c0 : memref<?x64xf16>
    %n = memref.dim %k, %c1 : memref<?x?x64xf16>
    %tiles = arith.ceildivsi %m, %c64 : index
    tile.grid (%i, %j) in (%tiles, %h) {
      %row = arith.muli %i, %c64 : index
      scf.for %t = %c0 to %n step %c64 {
        %x = tile.load %q[%row, %c0] : memref<?x64xf16> -> tensor<64x64xf16>
        %y = tile.load %k[%j, %t, %c0] : memref<?x?x64xf16> -> tensor<64x64xf16>
      }
    }
    gpu.return
  }

  gpu.func @sliding(%k: memref<?x?x64xf16>, %h: index, %m: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c1200 = arith.constant 1200 : index
    %n = memref.dim %k, %c1 : memref<?x?x64xf16>
    tile.grid (%i, %j) in (%m, %h) {
      %low = arith.subi %i, %c1200 : index
      %first = arith.maxsi %low, %c0 : index
      %from = arith.minsi %first, %n : index
      %next = arith.addi %i, %c1 : index
      %last = arith.maxsi %next, %c0 : index
      %to = arith.minsi %last, %n : index
      scf.for %t = %from to %to step %c1 {
        %y = tile.load %k[%j, %t, %c0] : memref<?x?x64xf16> -> tensor<64x64xf16>
      }
    }
    gpu.return
  }

  gpu.func @nested(%k: memref<?x?x64xf16>, %h: index, %m: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    tile.grid (%i, %j) in (%m, %h) {
      scf.for %s = %c0 to %m step %c1 {
        %from = arith.muli %s, %c4 : index
        scf.for %t = %c0 to %c4 step %c1 {
          %row = arith.addi %from, %t : index
          %y = tile.load %k[%j, %row, %c0] : memref<?x?x64xf16> -> tensor<64x64xf16>
        }
      }
    }
    gpu.return
  }
}
