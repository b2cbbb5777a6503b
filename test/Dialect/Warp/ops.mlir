// RUN: fa3-opt %s | fa3-opt | FileCheck %s
// RUN: fa3-opt %s -mlir-print-op-generic | fa3-opt | FileCheck %s

// Every form of every operation and type survives printing and parsing.

// CHECK: func.func private @types(
// CHECK-SAME: !warp.ring<2, [tensor<80x128xf16>]>
// CHECK-SAME: !warp.ring<3, [tensor<64x64xbf16>, tensor<64xf32>, i32, index, !warp.token], parts = 2, initial = 1>
// CHECK-SAME: !warp.ring<1, [i1], initial = 1>
// CHECK-SAME: !warp.ring<1, [tensor<8x64xf16, #tile.smem<128>>]>
// CHECK-SAME: !warp.cursor<read>
// CHECK-SAME: !warp.cursor<write>
// CHECK-SAME: !warp.slot<read, [tensor<80x128xf16>]>
// CHECK-SAME: !warp.slot<write, [tensor<8xf32>, !warp.token]>
// CHECK-SAME: !warp.done
// CHECK-SAME: !warp.token
// CHECK-SAME: !warp.ordered_barrier
// CHECK-SAME: !warp.turn
func.func private @types(
  !warp.ring<2, [tensor<80x128xf16>]>,
  !warp.ring<3, [tensor<64x64xbf16>, tensor<64xf32>, i32, index, !warp.token], parts = 2, initial = 1>,
  !warp.ring<1, [i1], initial = 1, scope = cta>,
  !warp.ring<1, [tensor<8x64xf16, #tile.smem<128>>], parts = 1>,
  !warp.cursor<read>, !warp.cursor<write>,
  !warp.slot<read, [tensor<80x128xf16>]>, !warp.slot<write, [tensor<8xf32>, !warp.token]>,
  !warp.done, !warp.token, !warp.ordered_barrier, !warp.turn)

// CHECK-LABEL: func.func @turns(
// CHECK: %[[O:.*]] = warp.ordered_barrier
// CHECK: %[[T:.*]] = warp.take_turn %[[O]]
// CHECK: warp.pass_turn %[[T]]
func.func @turns() {
  %order = warp.ordered_barrier
  warp.specialize {
    warp.group @math warps 4 replicas 2 (%g) {
      %turn = warp.take_turn %order
      warp.pass_turn %turn
    }
  }
  return
}

!kt = tensor<80x128xf16>

// CHECK-LABEL: func.func @pipeline(
// CHECK: %[[K:.*]] = warp.ring : <2, [tensor<80x128xf16>]>
// CHECK: warp.specialize {
// CHECK: warp.group @load warps 1 (%{{.*}}) {
// CHECK:   %[[C:.*]] = warp.cursor write %[[K]] : <2, [tensor<80x128xf16>]>
// CHECK:   scf.for {{.*}} iter_args(%[[CK:.*]] = %[[C]]) -> (!warp.cursor<write>) {
// CHECK:     %[[S:.*]], %[[N:.*]] = warp.acquire %[[K]][%[[CK]]] : <2, [tensor<80x128xf16>]>, <write>
// CHECK:     warp.publish %[[S]] : <write, [tensor<80x128xf16>]>
// CHECK-NOT: warp.end
// CHECK: warp.group @math warps 4 replicas 2 at 4 (%{{.*}}) {
// CHECK:   warp.cursor read %[[K]] : <2, [tensor<80x128xf16>]>
// CHECK:   %[[READY:.*]] = warp.ready
// CHECK:     %[[R:.*]], %{{.*}} = warp.acquire
// CHECK:     warp.release %[[R]] after %{{.*}}, %[[READY]] : <read, [tensor<80x128xf16>]>
// CHECK: warp.group @more warps 8 (%{{.*}}) {
// CHECK:   %[[P:.*]] = warp.ring : <1, [i32], parts = 2>
// CHECK:   warp.cursor write %[[P]] part 1 : <1, [i32], parts = 2>
// CHECK:   warp.cursor write %[[P]] : <1, [i32], parts = 2>
// CHECK:   warp.release %{{.*}} : <read, [i32]>
// CHECK: } {note = "any"}
func.func @pipeline(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = warp.ring : !warp.ring<2, [tensor<80x128xf16>]>
  warp.specialize {
    warp.group @load warps 1 (%g) {
      %c = warp.cursor write %k : !warp.ring<2, [tensor<80x128xf16>]>
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%ck = %c) -> !warp.cursor<write> {
        %slot, %next = warp.acquire %k[%ck] : !warp.ring<2, [tensor<80x128xf16>]>, !warp.cursor<write>
        warp.publish %slot : !warp.slot<write, [tensor<80x128xf16>]>
        scf.yield %next : !warp.cursor<write>
      }
    }
    warp.group @math warps 4 replicas 2 at 4 (%g) {
      %c = warp.cursor read %k : !warp.ring<2, [tensor<80x128xf16>]>
      %ready = warp.ready
      %last:2 = scf.for %i = %c0 to %n step %c1 iter_args(%ck = %c, %done = %ready) -> (!warp.cursor<read>, !warp.done) {
        %slot, %next = warp.acquire %k[%ck] : !warp.ring<2, [tensor<80x128xf16>]>, !warp.cursor<read>
        warp.release %slot after %done, %ready : !warp.slot<read, [tensor<80x128xf16>]>
        scf.yield %next, %done : !warp.cursor<read>, !warp.done
      }
    }
    warp.group @more warps 8 (%g) {
      %p = warp.ring : !warp.ring<1, [i32], parts = 2>
      %w1 = warp.cursor write %p part 1 : !warp.ring<1, [i32], parts = 2>
      %w0 = warp.cursor write %p part 0 : !warp.ring<1, [i32], parts = 2>
      %r = warp.cursor read %p : !warp.ring<1, [i32], parts = 2>
      %slot, %next = warp.acquire %p[%r] : !warp.ring<1, [i32], parts = 2>, !warp.cursor<read>
      warp.release %slot : !warp.slot<read, [i32]>
    } {note = "any"}
  }
  return
}

// Cursors and slots through every kind of structured control flow; a value may
// be consumed in both arms of a branch.
// CHECK-LABEL: func.func @control(
func.func @control(%n: index, %c: i1) {
  %k = warp.ring : !warp.ring<2, [i32]>
  warp.specialize {
    warp.group @a warps 2 (%g) {
      %c0 = warp.cursor read %k : !warp.ring<2, [i32]>
      %c1 = scf.if %c -> !warp.cursor<read> {
        %slot, %next = warp.acquire %k[%c0] : !warp.ring<2, [i32]>, !warp.cursor<read>
        warp.release %slot : !warp.slot<read, [i32]>
        scf.yield %next : !warp.cursor<read>
      } else {
        scf.yield %c0 : !warp.cursor<read>
      }
      %c2 = scf.while (%x = %c1) : (!warp.cursor<read>) -> !warp.cursor<read> {
        scf.condition(%c) %x : !warp.cursor<read>
      } do {
      ^bb0(%x: !warp.cursor<read>):
        %slot, %next = warp.acquire %k[%x] : !warp.ring<2, [i32]>, !warp.cursor<read>
        warp.release %slot : !warp.slot<read, [i32]>
        scf.yield %next : !warp.cursor<read>
      }
      %slot, %next = warp.acquire %k[%c2] : !warp.ring<2, [i32]>, !warp.cursor<read>
      scf.if %c {
        warp.release %slot : !warp.slot<read, [i32]>
      } else {
        warp.release %slot : !warp.slot<read, [i32]>
      }
    }
  }
  return
}

// CHECK-LABEL: func.func @wait(
// CHECK: warp.wait %{{.*}}
func.func @wait() {
  %d = warp.ready
  warp.wait %d
  return
}

// A release covers an older product by the token of a younger one, and tokens
// that come from elsewhere are taken on trust.
// CHECK-LABEL: func.func @release(
// CHECK: warp.release %{{.*}} after %{{.*}} : <read, [tensor<64x64xf16>]>
func.func @release(%zero: tensor<64x64xf32>) {
  %k = warp.ring : !warp.ring<2, [tensor<64x64xf16>]>
  warp.specialize {
    warp.group @math warps 4 (%g) {
      %c0 = arith.constant 0 : index
      %z = arith.constant dense<0.0> : tensor<64x64xf32>
      %c = warp.cursor read %k : !warp.ring<2, [tensor<64x64xf16>]>
      %slot, %next = warp.acquire %k[%c] : !warp.ring<2, [tensor<64x64xf16>]>, !warp.cursor<read>
      %v = tile.view %slot[%c0, %c0] : !warp.slot<read, [tensor<64x64xf16>]> -> !tile.view<tensor<64x64xf16>>
      %a, %da = tile.dot.async %v, %v, %z lhs mk rhs nk : !tile.view<tensor<64x64xf16>>, !tile.view<tensor<64x64xf16>>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
      %b, %db = tile.dot.async %v, %v, %z lhs mk rhs nk : !tile.view<tensor<64x64xf16>>, !tile.view<tensor<64x64xf16>>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
      warp.release %slot after %db : !warp.slot<read, [tensor<64x64xf16>]>
      %ra = tile.await %a : !tile.pending<tensor<64x64xf32>>
      %rb = tile.await %b : !tile.pending<tensor<64x64xf32>>
    }
  }
  return
}

// CHECK-LABEL: func.func @each(
// CHECK: warp.cursor write %{{.*}} each : <1, [i32], parts = 2>
func.func @each() {
  %a = warp.ring : !warp.ring<1, [i32], parts = 2>
  warp.specialize {
    warp.group @math warps 4 replicas 2 (%g) {
      %ca = warp.cursor write %a each : !warp.ring<1, [i32], parts = 2>
    }
  }
  return
}

// CHECK-LABEL: func.func @leader(
// CHECK: warp.cursor write %{{.*}} leader : <1, [i32]>
// CHECK: warp.cursor write %{{.*}} part 1 leader : <1, [i32], parts = 2>
func.func @leader() {
  %a = warp.ring : !warp.ring<1, [i32]>
  %b = warp.ring : !warp.ring<1, [i32], parts = 2>
  warp.specialize {
    warp.group @math warps 4 replicas 2 (%g) {
      %ca = warp.cursor write %a leader : !warp.ring<1, [i32]>
      %cb = warp.cursor write %b part 1 leader : !warp.ring<1, [i32], parts = 2>
    }
  }
  return
}
