// Additions in one order have a group of their own, which waits for other tiles: by
// roles, rings, groups and copies. The kernel adds a product a step to rows.

// RUN: split-file %s %t
// RUN: fa3-opt %t/steps.mlir -tile-assign-roles | FileCheck %s --check-prefix=ROLES
// RUN: fa3-opt %t/steps.mlir -tile-assign-roles=warp-specialize=false | FileCheck %s --check-prefix=ONE
// RUN: fa3-opt %t/steps.mlir -tile-assign-roles -tile-insert-rings -tile-exchange-operands -canonicalize | FileCheck %s --check-prefix=RINGS
// RUN: fa3-opt %t/steps.mlir -fa3-specialize | FileCheck %s --check-prefix=GROUPS
// RUN: not fa3-opt %t/steps.mlir -tile-assign-roles -tile-insert-rings -tile-exchange-operands -tile-specialize=warp-specialize=false 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: fa3-opt %t/data.mlir -tile-assign-roles | FileCheck %s --check-prefix=DATA
// RUN: fa3-opt %t/guards.mlir -tile-assign-roles | FileCheck %s --check-prefix=DATA

// ROLES: tile.store %{{.*}}, %{{.*}} add {tile.role = "store"}
// ROLES: tile.end_ordered {{.*}} {tile.role = "store"}
// ONE-NOT: tile.role = "store"
// DATA: tile.store %{{.*}}, %{{.*}} add {tile.role = "math"}
// DATA: tile.end_ordered {{.*}} {tile.role = "math"}
// ALONE: error: {{.*}} has the store role, which is a group of its own: expects 'warp-specialize'

// Who computes writes the tile where it was stored.
// RINGS: %[[R:.*]] = warp.ring : <1, [tensor<128x64xf32>]>
// RINGS: %[[X:.*]] = tile.dot
// RINGS: %[[TO:.*]], %{{.*}} = warp.acquire %[[R]]{{.*}}<write>
// RINGS: %[[V:.*]] = tile.view %[[TO]][
// RINGS: tile.write %[[X]], %[[V]]
// RINGS: warp.publish %[[TO]]
// RINGS: %[[FROM:.*]], %{{.*}} = warp.acquire %[[R]]{{.*}} {tile.role = "store"}
// RINGS: %[[W:.*]] = tile.view %[[FROM]]{{.*}} {tile.role = "store"}
// RINGS: %[[Y:.*]] = tile.read %[[W]] {tile.role = "store"}
// RINGS: warp.release %[[FROM]] {tile.role = "store"}
// RINGS: tile.store %[[Y]]

// The store group copies from the entry, of which each replica fills its rows.
// Steps without work are skipped alike.
// GROUPS: %[[R:.*]] = warp.ring : <1, [tensor<128x64xf32>], parts = 2>
// GROUPS: warp.group @load warps 1
// GROUPS: warp.group @store warps 1
// GROUPS-NOT: tile.read
// GROUPS: %[[STEPS:.*]] = arith.minsi
// GROUPS: scf.for %{{.*}} = %c0 to %[[STEPS]] step
// GROUPS: %[[SUMS:.*]] = tile.ordered
// GROUPS: %[[SLOT:.*]], %{{.*}} = warp.acquire %[[R]]
// GROUPS: %[[VIEW:.*]] = tile.view %[[SLOT]][%c0, %c0] : {{.*}} -> <tensor<128x64xf32>>
// GROUPS: %[[DONE:.*]] = tile.store.async %[[VIEW]], %[[SUMS]][{{.*}}] add
// GROUPS: warp.release %[[SLOT]] after %[[DONE]]
// GROUPS: tile.end_ordered
// GROUPS: warp.group @math warps 4 replicas 2
// GROUPS: warp.cursor write %[[R]] each
// GROUPS: arith.minsi
// GROUPS: scf.for
// GROUPS: tile.write %{{.*}} : tensor<64x64xf32>
// GROUPS-NOT: tile.ordered
// GROUPS-NOT: tile.store
// GROUPS-NOT: tile.end_ordered

//--- steps.mlir
gpu.module @m {
  gpu.func @add(%a: memref<?x64xf16>, %b: memref<?x64xf16>, %sum: memref<?x64xf32>, %progress: memref<?x64xi32>, %n: index, %end: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %tile = gpu.block_id x
    %y = tile.load %b[%c0, %c0] : memref<?x64xf16> -> tensor<64x64xf16>
    scf.for %t = %c0 to %n step %c1 {
      %row = arith.muli %t, %c128 : index
      %number = tile.coord dim 0 offset %row : tensor<128xindex>
      %ends = tensor.splat %end : tensor<128xindex>
      %keep = arith.cmpi slt, %number, %ends : tensor<128xindex>
      %x = tile.load %a[%row, %c0] : memref<?x64xf16> -> tensor<128x64xf16>
      %live = tile.any_possible %keep : tensor<128xi1>
      scf.if %live {
        %r = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
        %s = tile.ordered %sum by %progress[%tile] at %t : memref<?x64xf32>, memref<?x64xi32>
        tile.store %r, %s[%row, %c0] add : tensor<128x64xf32>, memref<?x64xf32>
      }
    }
    tile.end_ordered %progress[%tile] : memref<?x64xi32>
    gpu.return
  }
}

//--- data.mlir
// The store group would have to read what the condition depends on.
gpu.module @m {
  gpu.func @add(%a: memref<?x64xf16>, %b: memref<?x64xf16>, %ids: memref<?xi32>, %sum: memref<?x64xf32>, %progress: memref<?x64xi32>, %n: index, %end: i32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %tile = gpu.block_id x
    %y = tile.load %b[%c0, %c0] : memref<?x64xf16> -> tensor<64x64xf16>
    scf.for %t = %c0 to %n step %c1 {
      %row = arith.muli %t, %c128 : index
      %number = tile.load %ids[%row] : memref<?xi32> -> tensor<128xi32>
      %ends = tensor.splat %end : tensor<128xi32>
      %keep = arith.cmpi slt, %number, %ends : tensor<128xi32>
      %x = tile.load %a[%row, %c0] : memref<?x64xf16> -> tensor<128x64xf16>
      %live = tile.any_possible %keep : tensor<128xi1>
      scf.if %live {
        %r = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
        %s = tile.ordered %sum by %progress[%tile] at %t : memref<?x64xf32>, memref<?x64xi32>
        tile.store %r, %s[%row, %c0] add : tensor<128x64xf32>, memref<?x64xf32>
      }
    }
    tile.end_ordered %progress[%tile] : memref<?x64xi32>
    gpu.return
  }
}

//--- guards.mlir
// Of two guards the group that computes takes none away; the store group would see
// one only.
gpu.module @m {
  gpu.func @add(%a: memref<?x64xf16>, %b: memref<?x64xf16>, %sum: memref<?x64xf32>, %progress: memref<?x64xi32>, %n: index, %end: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %tile = gpu.block_id x
    %y = tile.load %b[%c0, %c0] : memref<?x64xf16> -> tensor<64x64xf16>
    scf.for %t = %c0 to %n step %c1 {
      %row = arith.muli %t, %c128 : index
      %number = tile.coord dim 0 offset %row : tensor<128xindex>
      %ends = tensor.splat %end : tensor<128xindex>
      %keep = arith.cmpi slt, %number, %ends : tensor<128xindex>
      %x = tile.load %a[%row, %c0] : memref<?x64xf16> -> tensor<128x64xf16>
      %live = tile.any_possible %keep : tensor<128xi1>
      scf.if %live {
        %r = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
        %s = tile.ordered %sum by %progress[%tile] at %t : memref<?x64xf32>, memref<?x64xi32>
        tile.store %r, %s[%row, %c0] add : tensor<128x64xf32>, memref<?x64xf32>
      }
      %further = tile.any_possible %keep : tensor<128xi1>
      scf.if %further {
        tile.store %zero, %sum[%row, %c0] : tensor<128x64xf32>, memref<?x64xf32>
      }
    }
    tile.end_ordered %progress[%tile] : memref<?x64xi32>
    gpu.return
  }
}
