// RUN: fa3-opt %s -canonicalize | FileCheck %s

// Constants stay in the group that uses them: in front of warp.specialize a
// constant tile would be a captured one.

// CHECK-LABEL: func.func @constants(
// CHECK-NOT: arith.constant
// CHECK: warp.group @a
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.store %[[ZERO]]
// CHECK: warp.group @b
// CHECK-DAG: arith.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-DAG: arith.constant 0 : index
func.func @constants(%m: memref<8xf32>, %c: i1, %i: index) {
  warp.specialize {
    warp.group @a warps 1 (%g) {
      scf.if %c {
        %zero = arith.constant dense<0.0> : tensor<8xf32>
        tile.store %zero, %m[%i] : tensor<8xf32>, memref<8xf32>
      }
    }
    warp.group @b warps 1 (%g) {
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
// CHECK: warp.cursor
// CHECK-COUNT-2: warp.acquire
// CHECK-COUNT-2: warp.release
func.func @effects() {
  %k = warp.ring : !warp.ring<2, [i32]>
  warp.specialize {
    warp.group @a warps 1 (%g) {
      %c0 = warp.cursor read %k : !warp.ring<2, [i32]>
      %s0, %c1 = warp.acquire %k[%c0] : !warp.ring<2, [i32]>, !warp.cursor<read>
      %s1, %c2 = warp.acquire %k[%c1] : !warp.ring<2, [i32]>, !warp.cursor<read>
      warp.release %s1 : !warp.slot<read, [i32]>
      warp.release %s0 : !warp.slot<read, [i32]>
    }
  }
  return
}
