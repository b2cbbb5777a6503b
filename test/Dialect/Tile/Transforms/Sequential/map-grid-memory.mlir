// RUN: fa3-opt %s -tile-map-grid=mode=auto | FileCheck %s --check-prefixes=CHECK,CLAIM
// RUN: fa3-opt %s -tile-map-grid=mode=static | FileCheck %s --check-prefixes=CHECK,STATIC
// RUN: fa3-opt %s -tile-map-grid="order=longest-first mode=dynamic" | FileCheck %s --check-prefixes=CHECK,LONG
// RUN: not fa3-opt %s -tile-map-grid=mode=cta -o %t.none 2>&1 | FileCheck %s --check-prefix=CTA
// RUN: not ls %t.none
// CTA: error: 'tile.grid' op has a bound in memory, of which the host knows nothing: expects a static or dynamic grid, got one CTA per tile

// Of a grid whose bounds are in memory the host knows nothing: as many CTAs as
// there are SMs read them.
!a = memref<?x?x64xf16>
!n = memref<?xi32>
// CHECK-LABEL: func.func @listed
// CHECK-NEXT: %[[SMS:.*]] = tile.sm_count
// CHECK-NEXT: tile.launch @kernels::@listed blocks %[[SMS]]
func.func @listed(%a: !a, %n: !n, %heads: index) {
  tile.launch @kernels::@listed args(%a, %n, %heads : !a, !n, index)
  return
}
func.func @plain(%a: !a, %n: !n) {
  tile.launch @kernels::@plain args(%a, %n : !a, !n)
  return
}

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @listed
  // CHECK: %[[COUNT:.*]] = tile.scalar_load
  // CHECK: %[[INDEX:.*]] = arith.index_cast %[[COUNT]]
  // CHECK: %[[ENTRIES:.*]] = arith.maxsi %[[INDEX]], %c0
  // CHECK: %[[HEADS:.*]] = arith.maxsi %arg2, %c0
  // CHECK: %[[TILES:.*]] = arith.muli %[[ENTRIES]], %[[HEADS]]
  // CLAIM: tile.share %[[TILES]]
  // CLAIM: tile.claim
  // CLAIM: %[[E:.*]] = arith.remui %{{.*}}, %[[ENTRIES]]
  // STATIC: scf.for %{{.*}} = %{{.*}} to %[[TILES]]
  // STATIC-NOT: tile.claim
  // The host computes no sections.
  // LONG: %[[ID:.*]] = tile.claim
  // LONG-NEXT: arith.remui %[[ID]], %[[HEADS]]
  // LONG-NEXT: arith.divui %[[ID]], %[[HEADS]]
  gpu.func @listed(%a: !a, %n: !n, %heads: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %count32 = tile.scalar_load %n[%c0] : !n
    %count = arith.index_cast %count32 : i32 to index
    tile.grid (%e, %h) in (%count, %heads) {
      %place = arith.addi %e, %c1 : index
      %s32 = tile.scalar_load %n[%place] : !n
      %s = arith.index_cast %s32 : i32 to index
      %sum = scf.for %t = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
        %x = tile.load %a[%h, %t, %c0] : !a -> tensor<64x64xf16>
        %next = tile.dot %x, %x, %acc lhs mk rhs nk : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
        scf.yield %next : tensor<64x64xf32>
      }
      %y = arith.truncf %sum : tensor<64x64xf32> to tensor<64x64xf16>
      tile.store %y, %a[%s, %h, %c0] : tensor<64x64xf16>, !a
    }
    gpu.return
  }

  // Nobody loads tiles here, and nobody claims them.
  // CHECK-LABEL: gpu.func @plain
  // CHECK-NOT: tile.claim
  // CHECK: scf.for
  gpu.func @plain(%a: !a, %n: !n) kernel {
    %c0 = arith.constant 0 : index
    %x = arith.constant dense<1.0> : tensor<64x64xf16>
    %count32 = tile.scalar_load %n[%c0] : !n
    %count = arith.index_cast %count32 : i32 to index
    tile.grid (%s) in (%count) {
      tile.store %x, %a[%s, %c0, %c0] : tensor<64x64xf16>, !a
    }
    gpu.return
  }
}
