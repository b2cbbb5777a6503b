// RUN: fa3-opt %s | FileCheck %s
// RUN: fa3-opt %s | fa3-opt | FileCheck %s

// What said of sequences and lists of blocks in clauses of attention, until
// these became values, is read as these; docs/Rationale.md says until when.

!t = tensor<?x4x?x64xf16>
!rows = tensor<?x4x?xf32>

// CHECK-LABEL: func.func @forward(
// CHECK: %[[S:.*]] = attention.sequences max_q %{{.*}}
// CHECK-NEXT: lengths (%[[B:.*]]) {
// CHECK: place_q (%{{.*}}, %[[H:.*]], %{{.*}}) {
// CHECK: place_k (%{{.*}}, %[[H:.*]], %{{.*}}) {
// CHECK: attention.forward {{.*}} scale 1.250000e-01 sequences %[[S]] splits %{{.*}} layout bshd :
// CHECK-NOT: lengths
// CHECK: return
func.func @forward(%q: tensor<?x?x4x64xf16>, %cu: tensor<?xi32>, %n: index) -> tensor<?x?x4x64xf16> {
  %o = attention.forward %q, %q, %q aux(%cu : tensor<?xi32>) scale 0.125 max_q %n splits %n layout bshd
    : (tensor<?x?x4x64xf16>, tensor<?x?x4x64xf16>, tensor<?x?x4x64xf16>) -> tensor<?x?x4x64xf16>
    lengths (%b) {
      %x = tensor.extract %cu[%b] : tensor<?xi32>
      %length = arith.index_cast %x : i32 to index
      attention.yield %length, %length : index, index
    }
    place_q (%b, %h, %i) {
      attention.yield %b, %h, %i : index, index, index
    }
    place_k (%b, %h, %j) {
      attention.yield %b, %h, %j : index, index, index
    }
  return %o : tensor<?x?x4x64xf16>
}

// CHECK-LABEL: func.func @backward(
// CHECK: %[[S:.*]] = attention.sequences max_q %{{.*}}
// CHECK-NEXT: attention.backward {{.*}} sequences %[[S]] :
// CHECK: %[[L:.*]] = attention.blocks [128, 64]
// CHECK-NEXT: by_query (
// CHECK: by_key (
// CHECK: attention.backward {{.*}} blocks %[[L]] :
// CHECK-NEXT: mask_mod
func.func @backward(%q: !t, %l: !rows, %n: index) {
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q max_q %n : (!t, !t, !t, !t, !rows, !t) -> (!t, !t, !t)
  %1:3 = attention.backward %q, %q, %q, %q, %l, %q : (!t, !t, !t, !t, !rows, !t) -> (!t, !t, !t)
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.cmpi sle, %j, %i : index
      attention.yield %keep : i1
    }
    blocks [128, 64] (%b, %h, %m, %t) {
      attention.yield %m, %t, %m, %t : index, index, index, index
    }
    blocks_by_key (%b, %h, %m, %t) {
      attention.yield %m, %t, %m, %t : index, index, index, index
    }
  return
}

// CHECK-LABEL: func.func @append(
// CHECK: %[[S:.*]] = attention.sequences
// CHECK-NEXT: place_k (
// CHECK: attention.append {{.*}} sequences %[[S]] :
// CHECK-NOT: place
// CHECK: return
func.func @append(%x: !t, %cache: !t, %first: tensor<?xi32>) -> !t {
  %y = attention.append %x, %cache at %first : !t, !t, tensor<?xi32>
    place (%b, %h, %j) {
      attention.yield %b, %h, %j : index, index, index
    }
  return %y : !t
}

// In front of a loop that it is in, where all that it uses is: and behind what
// it uses, at the end of an earlier block.
// CHECK-LABEL: func.func @elsewhere(
// CHECK: %[[S:.*]] = attention.sequences max_q
// CHECK-NEXT: scf.for
// CHECK: attention.forward {{.*}} sequences %[[S]]
// CHECK: %[[P:.*]] = attention.sequences max_q
// CHECK-NEXT: cf.br
// CHECK: attention.forward {{.*}} sequences %[[P]]
func.func @elsewhere(%q: !t, %n: index) {
  %c0 = arith.constant 0 : index
  scf.for %i = %c0 to %n step %n {
    %o = attention.forward %q, %q, %q max_q %n : (!t, !t, !t) -> !t
  }
  cf.br ^end
^end:
  %o = attention.forward %q, %q, %q max_q %n : (!t, !t, !t) -> !t
  return
}
