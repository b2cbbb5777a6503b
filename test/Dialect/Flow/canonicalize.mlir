// RUN: fa3-opt %s -canonicalize | FileCheck %s

// Constants stay in the group that uses them: in front of flow.specialize a
// constant tile would be a captured one.

// CHECK-LABEL: func.func @constants(
// CHECK-NOT: arith.constant
// CHECK: flow.group @a
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.store %[[ZERO]]
// CHECK: flow.group @b
// CHECK-DAG: arith.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-DAG: arith.constant 0 : index
func.func @constants(%m: memref<8xf32>, %c: i1, %i: index) {
  flow.specialize {
    flow.group @a warps 1 (%g) {
      scf.if %c {
        %zero = arith.constant dense<0.0> : tensor<8xf32>
        tile.store %zero, %m[%i] : tensor<8xf32>, memref<8xf32>
      }
    }
    flow.group @b warps 1 (%g) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant dense<0.0> : tensor<8xf32>
      tile.store %zero, %m[%c0] : tensor<8xf32>, memref<8xf32>
    }
  }
  return
}

// Cursors, acquires and releases are ordered effects: none is dropped, merged
// or moved, although their results may be unused.

// CHECK-LABEL: func.func @effects(
// CHECK: flow.cursor
// CHECK-COUNT-2: flow.acquire
// CHECK-COUNT-2: flow.release
func.func @effects() {
  %k = flow.ring : !flow.ring<2, [i32]>
  flow.specialize {
    flow.group @a warps 1 (%g) {
      %c0 = flow.cursor read %k : !flow.ring<2, [i32]>
      %s0, %c1 = flow.acquire %k[%c0] : !flow.ring<2, [i32]>, !flow.cursor<read>
      %s1, %c2 = flow.acquire %k[%c1] : !flow.ring<2, [i32]>, !flow.cursor<read>
      flow.release %s1 : !flow.slot<read, [i32]>
      flow.release %s0 : !flow.slot<read, [i32]>
    }
  }
  return
}
