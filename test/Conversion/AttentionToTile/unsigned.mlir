// RUN: fa3-opt %s --attention-to-tile | FileCheck %s
//
// Divisions of what is at least 0 become unsigned, which takes fewer
// instructions and registers; of what may be less they stay as they are.

// CHECK-LABEL: gpu.func @pixels
// CHECK-DAG: arith.divui %{{.*}} : tensor<64xindex>
// CHECK-DAG: arith.remui %{{.*}} : tensor<64xindex>
// CHECK-NOT: arith.floordivsi %{{.*}} : tensor<192xindex>
// CHECK-NOT: arith.remsi
// CHECK: arith.floordivsi %{{.*}} : tensor<192x64xindex>

!t = tensor<?x2x?x128xf16>
func.func @pixels(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
    mask_mod (%b, %h, %i, %j) {
      %c32 = arith.constant 32 : index
      %c3 = arith.constant 3 : index
      %iy = arith.floordivsi %i, %c32 : index
      %ix = arith.remsi %i, %c32 : index
      %jy = arith.floordivsi %j, %c32 : index
      %jx = arith.remsi %j, %c32 : index
      %dy = arith.subi %iy, %jy : index
      %dx = arith.subi %ix, %jx : index
      %far = arith.floordivsi %dx, %c3 : index
      %x = arith.cmpi sle, %dy, %c3 : index
      %y = arith.cmpi sle, %far, %c3 : index
      %keep = arith.andi %x, %y : i1
      attention.yield %keep : i1
    }
  return %o : !t
}

// One number of a key beside wide heads costs nothing, two cost a step of keys.
// CHECK-LABEL: gpu.func @lines
// CHECK: tile.dot {{.*}} -> tensor<192x80xf32>
func.func @lines(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
    mask_mod (%b, %h, %i, %j) {
      %c32 = arith.constant 32 : index
      %iy = arith.floordivsi %i, %c32 : index
      %jy = arith.floordivsi %j, %c32 : index
      %keep = arith.cmpi eq, %iy, %jy : index
      attention.yield %keep : i1
    }
  return %o : !t
}
