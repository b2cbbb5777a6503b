// RUN: fa3-opt %s | fa3-opt | FileCheck %s
// RUN: fa3-opt %s -mlir-print-op-generic | fa3-opt | FileCheck %s

// Every form of every operation and type survives printing and parsing.

// CHECK: func.func private @types(
// CHECK-SAME: !flow.ring<2, [tensor<80x128xf16>]>
// CHECK-SAME: !flow.ring<3, [tensor<64x64xbf16>, tensor<64xf32>, i32, index, !flow.token], parts = 2, initial = 1>
// CHECK-SAME: !flow.ring<1, [i1], initial = 1>
// CHECK-SAME: !flow.ring<1, [tensor<8x64xf16, #tile.smem<128>>]>
// CHECK-SAME: !flow.cursor<read>
// CHECK-SAME: !flow.cursor<write>
// CHECK-SAME: !flow.slot<read, [tensor<80x128xf16>]>
// CHECK-SAME: !flow.slot<write, [tensor<8xf32>, !flow.token]>
// CHECK-SAME: !flow.done
// CHECK-SAME: !flow.token
// CHECK-SAME: !flow.order
// CHECK-SAME: !flow.turn
func.func private @types(
  !flow.ring<2, [tensor<80x128xf16>]>,
  !flow.ring<3, [tensor<64x64xbf16>, tensor<64xf32>, i32, index, !flow.token], parts = 2, initial = 1>,
  !flow.ring<1, [i1], initial = 1, scope = cta>,
  !flow.ring<1, [tensor<8x64xf16, #tile.smem<128>>], parts = 1>,
  !flow.cursor<read>, !flow.cursor<write>,
  !flow.slot<read, [tensor<80x128xf16>]>, !flow.slot<write, [tensor<8xf32>, !flow.token]>,
  !flow.done, !flow.token, !flow.order, !flow.turn)

// CHECK-LABEL: func.func @turns(
// CHECK: %[[O:.*]] = flow.order
// CHECK: %[[T:.*]] = flow.take %[[O]]
// CHECK: flow.pass %[[T]]
func.func @turns() {
  %order = flow.order
  flow.specialize {
    flow.group @math warps 4 replicas 2 (%g) {
      %turn = flow.take %order
      flow.pass %turn
    }
  }
  return
}

!kt = tensor<80x128xf16>

// CHECK-LABEL: func.func @pipeline(
// CHECK: %[[K:.*]] = flow.ring : <2, [tensor<80x128xf16>]>
// CHECK: flow.specialize {
// CHECK: flow.group @load warps 1 (%{{.*}}) {
// CHECK:   %[[C:.*]] = flow.cursor write %[[K]] : <2, [tensor<80x128xf16>]>
// CHECK:   scf.for {{.*}} iter_args(%[[CK:.*]] = %[[C]]) -> (!flow.cursor<write>) {
// CHECK:     %[[S:.*]], %[[N:.*]] = flow.acquire %[[K]][%[[CK]]] : <2, [tensor<80x128xf16>]>, <write>
// CHECK:     flow.publish %[[S]] : <write, [tensor<80x128xf16>]>
// CHECK-NOT: flow.end
// CHECK: flow.group @math warps 4 replicas 2 at 4 (%{{.*}}) {
// CHECK:   flow.cursor read %[[K]] : <2, [tensor<80x128xf16>]>
// CHECK:   %[[READY:.*]] = flow.ready
// CHECK:     %[[R:.*]], %{{.*}} = flow.acquire
// CHECK:     flow.release %[[R]] after %{{.*}}, %[[READY]] : <read, [tensor<80x128xf16>]>
// CHECK: flow.group @more warps 8 (%{{.*}}) {
// CHECK:   %[[P:.*]] = flow.ring : <1, [i32], parts = 2>
// CHECK:   flow.cursor write %[[P]] part 1 : <1, [i32], parts = 2>
// CHECK:   flow.cursor write %[[P]] : <1, [i32], parts = 2>
// CHECK:   flow.release %{{.*}} : <read, [i32]>
// CHECK: } {note = "any"}
func.func @pipeline(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = flow.ring : !flow.ring<2, [tensor<80x128xf16>]>
  flow.specialize {
    flow.group @load warps 1 (%g) {
      %c = flow.cursor write %k : !flow.ring<2, [tensor<80x128xf16>]>
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%ck = %c) -> !flow.cursor<write> {
        %slot, %next = flow.acquire %k[%ck] : !flow.ring<2, [tensor<80x128xf16>]>, !flow.cursor<write>
        flow.publish %slot : !flow.slot<write, [tensor<80x128xf16>]>
        scf.yield %next : !flow.cursor<write>
      }
    }
    flow.group @math warps 4 replicas 2 at 4 (%g) {
      %c = flow.cursor read %k : !flow.ring<2, [tensor<80x128xf16>]>
      %ready = flow.ready
      %last:2 = scf.for %i = %c0 to %n step %c1 iter_args(%ck = %c, %done = %ready) -> (!flow.cursor<read>, !flow.done) {
        %slot, %next = flow.acquire %k[%ck] : !flow.ring<2, [tensor<80x128xf16>]>, !flow.cursor<read>
        flow.release %slot after %done, %ready : !flow.slot<read, [tensor<80x128xf16>]>
        scf.yield %next, %done : !flow.cursor<read>, !flow.done
      }
    }
    flow.group @more warps 8 (%g) {
      %p = flow.ring : !flow.ring<1, [i32], parts = 2>
      %w1 = flow.cursor write %p part 1 : !flow.ring<1, [i32], parts = 2>
      %w0 = flow.cursor write %p part 0 : !flow.ring<1, [i32], parts = 2>
      %r = flow.cursor read %p : !flow.ring<1, [i32], parts = 2>
      %slot, %next = flow.acquire %p[%r] : !flow.ring<1, [i32], parts = 2>, !flow.cursor<read>
      flow.release %slot : !flow.slot<read, [i32]>
    } {note = "any"}
  }
  return
}

// Cursors and slots through every kind of structured control flow; a value may
// be consumed in both arms of a branch.
// CHECK-LABEL: func.func @control(
func.func @control(%n: index, %c: i1) {
  %k = flow.ring : !flow.ring<2, [i32]>
  flow.specialize {
    flow.group @a warps 2 (%g) {
      %c0 = flow.cursor read %k : !flow.ring<2, [i32]>
      %c1 = scf.if %c -> !flow.cursor<read> {
        %slot, %next = flow.acquire %k[%c0] : !flow.ring<2, [i32]>, !flow.cursor<read>
        flow.release %slot : !flow.slot<read, [i32]>
        scf.yield %next : !flow.cursor<read>
      } else {
        scf.yield %c0 : !flow.cursor<read>
      }
      %c2 = scf.while (%x = %c1) : (!flow.cursor<read>) -> !flow.cursor<read> {
        scf.condition(%c) %x : !flow.cursor<read>
      } do {
      ^bb0(%x: !flow.cursor<read>):
        %slot, %next = flow.acquire %k[%x] : !flow.ring<2, [i32]>, !flow.cursor<read>
        flow.release %slot : !flow.slot<read, [i32]>
        scf.yield %next : !flow.cursor<read>
      }
      %slot, %next = flow.acquire %k[%c2] : !flow.ring<2, [i32]>, !flow.cursor<read>
      scf.if %c {
        flow.release %slot : !flow.slot<read, [i32]>
      } else {
        flow.release %slot : !flow.slot<read, [i32]>
      }
    }
  }
  return
}

// CHECK-LABEL: func.func @wait(
// CHECK: flow.wait %{{.*}}
func.func @wait() {
  %d = flow.ready
  flow.wait %d
  return
}

// A release covers an older product by the token of a younger one, and tokens
// that come from elsewhere are taken on trust.
// CHECK-LABEL: func.func @release(
// CHECK: flow.release %{{.*}} after %{{.*}} : <read, [tensor<64x64xf16>]>
func.func @release(%zero: tensor<64x64xf32>) {
  %k = flow.ring : !flow.ring<2, [tensor<64x64xf16>]>
  flow.specialize {
    flow.group @math warps 4 (%g) {
      %c0 = arith.constant 0 : index
      %z = arith.constant dense<0.0> : tensor<64x64xf32>
      %c = flow.cursor read %k : !flow.ring<2, [tensor<64x64xf16>]>
      %slot, %next = flow.acquire %k[%c] : !flow.ring<2, [tensor<64x64xf16>]>, !flow.cursor<read>
      %v = tile.view %slot[%c0, %c0] : !flow.slot<read, [tensor<64x64xf16>]> -> !tile.view<tensor<64x64xf16>>
      %a, %da = tile.dot.async %v, %v, %z lhs mk rhs nk : !tile.view<tensor<64x64xf16>>, !tile.view<tensor<64x64xf16>>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
      %b, %db = tile.dot.async %v, %v, %z lhs mk rhs nk : !tile.view<tensor<64x64xf16>>, !tile.view<tensor<64x64xf16>>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
      flow.release %slot after %db : !flow.slot<read, [tensor<64x64xf16>]>
      %ra = tile.await %a : !tile.pending<tensor<64x64xf32>>
      %rb = tile.await %b : !tile.pending<tensor<64x64xf32>>
    }
  }
  return
}

// CHECK-LABEL: func.func @leader(
// CHECK: flow.cursor write %{{.*}} leader : <1, [i32]>
// CHECK: flow.cursor write %{{.*}} part 1 leader : <1, [i32], parts = 2>
func.func @leader() {
  %a = flow.ring : !flow.ring<1, [i32]>
  %b = flow.ring : !flow.ring<1, [i32], parts = 2>
  flow.specialize {
    flow.group @math warps 4 replicas 2 (%g) {
      %ca = flow.cursor write %a leader : !flow.ring<1, [i32]>
      %cb = flow.cursor write %b part 1 leader : !flow.ring<1, [i32], parts = 2>
    }
  }
  return
}
