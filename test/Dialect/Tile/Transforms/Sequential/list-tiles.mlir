// RUN: fa3-opt %s -tile-list-tiles=order=list -verify-diagnostics | FileCheck %s
// RUN: fa3-opt %s -tile-list-tiles=order=list -tile-map-grid="order=list mode=dynamic" | FileCheck %s --check-prefix=MAPPED
// RUN: fa3-opt %s -tile-list-tiles | FileCheck %s --check-prefix=NONE
// RUN: fa3-opt %s -tile-list-tiles=order=longest-first | FileCheck %s --check-prefix=NONE
// NONE-NOT: memref.alloc
// NONE-NOT: _steps

!a = memref<?x?x64xf16>
!n = memref<?xi32>

// Three kernels in front, and memory between them; the host knows the number of
// entries from the bounds of the grid.
// CHECK-LABEL: func.func @lengths
// CHECK-SAME: %[[A:.*]]: memref<?x?x64xf16>, %[[N:.*]]: memref<?xi32>
// CHECK: %[[COUNT:.*]] = memref.dim %[[N]]
// CHECK: %[[FITS:.*]] = arith.cmpi ule, %[[COUNT]], %c65536
// CHECK: cf.assert %[[FITS]], "there are more than 65536 tiles to list"
// CHECK: %[[STEPS:.*]] = memref.alloc(%[[COUNT]]) {tile.name = "lengths_steps"} : memref<?xf32>
// CHECK: %[[RANKS:.*]] = memref.alloc(%[[COUNT]]) {tile.name = "lengths_ranks"} : memref<?xi32>
// CHECK: %[[LIST:.*]] = memref.alloc(%[[COUNT]]) {tile.name = "lengths_list"} : memref<?x1xi32>
// CHECK: %[[WIDE:.*]] = memref.expand_shape %[[STEPS]]
// CHECK: tile.launch @kernels::@lengths_steps args(%[[N]], %[[WIDE]] :
// CHECK: tile.launch @kernels::@lengths_ranks args(%[[STEPS]], %[[RANKS]] :
// CHECK: tile.launch @kernels::@lengths_list args(%[[N]], %[[RANKS]], %[[LIST]] :
// CHECK: tile.launch @kernels::@lengths args(%[[A]], %[[N]], %{{.*}}, %[[LIST]] :
func.func @lengths(%a: !a, %n: !n, %heads: index) {
  tile.launch @kernels::@lengths args(%a, %n, %heads : !a, !n, index)
  return
}
func.func @chain(%a: !a, %n: !n, %heads: index) {
  tile.launch @kernels::@chain args(%a, %n, %heads : !a, !n, index)
  return
}
func.func @known(%a: !a, %heads: index) {
  tile.launch @kernels::@known args(%a, %heads : !a, index)
  return
}
func.func @bound(%a: !a, %n: !n) {
  tile.launch @kernels::@bound args(%a, %n : !a, !n)
  return
}
func.func @twice(%a: !a, %n: !n) {
  tile.launch @kernels::@twice args(%a, %n : !a, !n)
  tile.launch @kernels::@twice args(%a, %n : !a, !n)
  return
}

gpu.module @kernels {
  // Scalar code of the bounds, for every tile.
  // CHECK-LABEL: gpu.func @lengths_steps
  // CHECK-SAME: %[[N:.*]]: memref<?xi32>, %[[STEPS:.*]]: memref<?x1xf32>
  // CHECK: tile.grid (%[[S:.*]]) in (%{{.*}}) {
  // CHECK: %[[LENGTH:.*]] = tile.scalar_load %[[N]][%[[S]]]
  // CHECK: %[[END:.*]] = arith.index_cast %[[LENGTH]]
  // CHECK: %[[DIFFERENCE:.*]] = arith.subi %[[END]], %c0
  // CHECK: %[[LEFT:.*]] = arith.maxsi %[[DIFFERENCE]]
  // CHECK: %[[COUNT:.*]] = arith.ceildivsi %[[LEFT]], %c2
  // CHECK: %[[SUM:.*]] = arith.addi %{{.*}}, %[[COUNT]]
  // CHECK: %[[SPLAT:.*]] = tensor.splat %[[SUM]]
  // CHECK: tile.store %{{.*}}, %[[STEPS]][%[[S]], %c0

  // Tiles of fewer steps, and of as many before it.
  // CHECK-LABEL: gpu.func @lengths_ranks
  // CHECK-SAME: %[[STEPS:.*]]: memref<?xf32>, %[[RANKS:.*]]: memref<?xi32>
  // CHECK: tile.grid (%[[BLOCK:.*]]) in
  // CHECK: %[[ROW:.*]] = arith.muli %[[BLOCK]], %c64
  // CHECK: %[[OWN:.*]] = tile.load %[[STEPS]][%[[ROW]]] : memref<?xf32> -> tensor<64xf32>
  // CHECK: %[[RANK:.*]] = scf.for
  // CHECK: tile.load %[[STEPS]][%{{.*}}] : memref<?xf32> -> tensor<128xf32>
  // CHECK: arith.cmpf oeq
  // CHECK: arith.cmpf olt
  // CHECK: tile.reduce add
  // CHECK: arith.fptosi %[[RANK]]
  // CHECK: tile.store %{{.*}}, %[[RANKS]][%[[ROW]]]

  // CHECK-LABEL: gpu.func @lengths_list
  // CHECK-SAME: %{{.*}}: memref<?xi32>, %[[RANKS:.*]]: memref<?xi32>, %[[LIST:.*]]: memref<?x1xi32>
  // CHECK: tile.grid (%[[S:.*]]) in
  // CHECK: tensor.splat %[[S]]
  // CHECK: %[[RANK:.*]] = tile.scalar_load %[[RANKS]][%[[S]]]
  // CHECK: %[[PLACE:.*]] = arith.index_cast %[[RANK]]
  // CHECK: tile.store %{{.*}}, %[[LIST]][%[[PLACE]], %c0{{.*}}] : tensor<64xi32>, memref<?x1xi32>

  // The heads are no part of the list.
  // CHECK-LABEL: gpu.func @lengths(
  // CHECK-SAME: %[[A:.*]]: memref<?x?x64xf16>, %[[N:.*]]: memref<?xi32>, %[[HEADS:.*]]: index, %[[LIST:.*]]: memref<?x1xi32>
  // CHECK: tile.grid (%[[E:.*]], %[[H:.*]]) in (%{{.*}}, %[[HEADS]])
  // CHECK: %[[ENTRY:.*]] = tile.scalar_load %[[LIST]][%[[E]], %c0
  // CHECK: %[[S:.*]] = arith.index_cast %[[ENTRY]]
  // CHECK: tile.scalar_load %[[N]][%[[S]]]
  // CHECK: tile.load %[[A]][%[[S]],

  // The last entries have the most steps, and come first.
  // MAPPED-LABEL: gpu.func @lengths(
  // MAPPED: %[[COUNT:.*]] = memref.dim
  // MAPPED: %[[LAST:.*]] = arith.subi %[[COUNT]]
  // MAPPED: tile.claim
  // MAPPED: %[[E:.*]] = arith.subi %[[LAST]]
  // MAPPED: tile.scalar_load %{{.*}}[%[[E]], %c0
  gpu.func @lengths(%a: !a, %n: !n, %heads: index) kernel {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %count = memref.dim %n, %c0 : !n
    tile.grid (%h, %s) in (%heads, %count) {
      %length = tile.scalar_load %n[%s] : !n
      %end = arith.index_cast %length : i32 to index
      %sum = scf.for %t = %c0 to %end step %c2 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
        %row = arith.muli %t, %c64 : index
        %x = tile.load %a[%s, %row, %c0] : !a -> tensor<64x64xf16>
        %next = tile.dot %x, %x, %acc lhs mk rhs nk : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
        scf.yield %next : tensor<64x64xf32>
      }
      %y = arith.truncf %sum : tensor<64x64xf32> to tensor<64x64xf16>
      tile.store %y, %a[%s, %h, %c0] : tensor<64x64xf16>, !a
    }
    gpu.return
  }

  // What waits for two loads is in the entry, with both indices; what is known
  // after one is not.
  // CHECK-LABEL: gpu.func @chain_list
  // CHECK: tile.grid (%[[P:.*]]) in
  // CHECK: %[[I:.*]] = arith.remui %[[P]]
  // CHECK: %[[S:.*]] = arith.divui %[[P]]
  // CHECK: tile.scalar_load %{{.*}}[%[[S]]]
  // CHECK: %[[FOUND:.*]] = tile.scalar_load
  // CHECK: %[[SCALAR:.*]] = arith.index_cast %[[FOUND]]
  // CHECK: tensor.splat %[[I]]
  // CHECK: tensor.splat %[[S]]
  // CHECK: tensor.splat %[[SCALAR]]
  // CHECK: tile.store %{{.*}} : tensor<64xi32>, memref<?x3xi32>
  // CHECK-LABEL: gpu.func @chain(
  // CHECK-SAME: %[[N:.*]]: memref<?xi32>, %{{.*}}: index, %[[LIST:.*]]: memref<?x3xi32>
  // CHECK: tile.grid (%[[E:.*]]) in
  // CHECK-DAG: tile.scalar_load %[[LIST]][%[[E]], %c0
  // CHECK-DAG: tile.scalar_load %[[LIST]][%[[E]], %c1
  // CHECK-DAG: %[[FOUND:.*]] = tile.scalar_load %[[LIST]][%[[E]], %c2
  // CHECK-NOT: tile.scalar_load
  // CHECK: arith.index_cast %[[FOUND]]
  // CHECK: scf.for
  gpu.func @chain(%a: !a, %n: !n, %tiles: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %count = memref.dim %n, %c0 : !n
    tile.grid (%i, %s) in (%tiles, %count) {
      %next32 = tile.scalar_load %n[%s] : !n
      %next = arith.index_cast %next32 : i32 to index
      %found32 = tile.scalar_load %n[%next] : !n
      %found = arith.index_cast %found32 : i32 to index
      %row = arith.muli %i, %c64 : index
      %end = arith.addi %found, %i : index
      %sum = scf.for %t = %c0 to %end step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
        %x = tile.load %a[%s, %t, %c0] : !a -> tensor<64x64xf16>
        %more = tile.dot %x, %x, %acc lhs mk rhs nk : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
        scf.yield %more : tensor<64x64xf32>
      }
      %y = arith.truncf %sum : tensor<64x64xf32> to tensor<64x64xf16>
      tile.store %y, %a[%s, %found, %c0] : tensor<64x64xf16>, !a
    }
    gpu.return
  }

  // expected-remark @below {{its tiles are in no list: no bound of a loop depends on the grid by way of memory}}
  gpu.func @known(%a: !a, %heads: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    tile.grid (%h) in (%heads) {
      %sum = scf.for %t = %c0 to %h step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
        %x = tile.load %a[%h, %t, %c0] : !a -> tensor<64x64xf16>
        %more = tile.dot %x, %x, %acc lhs mk rhs nk : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
        scf.yield %more : tensor<64x64xf32>
      }
      %y = arith.truncf %sum : tensor<64x64xf32> to tensor<64x64xf16>
      tile.store %y, %a[%h, %c0, %c0] : tensor<64x64xf16>, !a
    }
    gpu.return
  }

  // expected-remark @below {{its tiles are in no list: the grid's bounds are in memory}}
  gpu.func @bound(%a: !a, %n: !n) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = arith.constant dense<1.0> : tensor<64x64xf16>
    %count32 = tile.scalar_load %n[%c0] : !n
    %count = arith.index_cast %count32 : i32 to index
    tile.grid (%s) in (%count) {
      tile.store %x, %a[%s, %c0, %c0] : tensor<64x64xf16>, !a
    }
    gpu.return
  }

  // expected-remark @below {{its tiles are in no list: several launches have it}}
  gpu.func @twice(%a: !a, %n: !n) kernel {
    %c0 = arith.constant 0 : index
    %x = arith.constant dense<1.0> : tensor<64x64xf16>
    %count = memref.dim %n, %c0 : !n
    tile.grid (%s) in (%count) {
      tile.store %x, %a[%s, %c0, %c0] : tensor<64x64xf16>, !a
    }
    gpu.return
  }

  // expected-remark @below {{its tiles are in no list: nothing launches it}}
  gpu.func @alone(%a: !a, %n: !n) kernel {
    %c0 = arith.constant 0 : index
    %x = arith.constant dense<1.0> : tensor<64x64xf16>
    %count = memref.dim %n, %c0 : !n
    tile.grid (%s) in (%count) {
      tile.store %x, %a[%s, %c0, %c0] : tensor<64x64xf16>, !a
    }
    gpu.return
  }
}
