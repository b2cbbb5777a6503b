// RUN: fa3-opt %s | fa3-opt | FileCheck %s
// RUN: fa3-opt %s -mlir-print-op-generic | fa3-opt | FileCheck %s
// RUN: fa3-opt %s -attention-expand-mods | FileCheck %s --check-prefix=EXPANDED
// RUN: fa3-opt %s -canonicalize | FileCheck %s --check-prefix=DEAD

// Sequences and lists of blocks are values: one serves a forward, its backward
// and an append. What mods say goes to a copy for the operation that has them.

!t = tensor<?x4x?x64xf16>
!rows = tensor<?x4x?xf32>

// CHECK-LABEL: func.func @shared(
// CHECK: %[[S:.*]] = attention.sequences max_q %{{.*}}
// CHECK-NEXT: lengths (%[[B:.*]]) {
// CHECK: attention.length query
// CHECK: tensor.extract %{{.*}}[%[[B]]]
// CHECK: place_k (%[[B:.*]], %[[H:.*]], %[[J:.*]]) {
// CHECK: attention.yield %[[B]], %[[H]], %{{.*}} : index, index, index
// CHECK: attention.append {{.*}} aux(%{{.*}} : tensor<?xi32>) sequences %[[S]] :
// CHECK: attention.forward {{.*}} aux(%{{.*}} : tensor<?xi32>) sequences %[[S]] splits %{{.*}} :
// CHECK: attention.forward {{.*}} sequences %[[S]] mods
// CHECK: attention.backward {{.*}} aux(%{{.*}} : tensor<?xi32>) sequences %[[S]] group 1 :
// CHECK-NOT: lengths

// EXPANDED-LABEL: func.func @shared(
// EXPANDED: %[[S:.*]] = attention.sequences
// EXPANDED: attention.append {{.*}} sequences %[[S]]
// EXPANDED: attention.forward {{.*}} sequences %[[S]]
// EXPANDED: %[[OWN:.*]] = attention.sequences
// EXPANDED: lengths
// EXPANDED: arith.minsi
// EXPANDED: attention.forward {{.*}} sequences %[[OWN]]
// EXPANDED: attention.backward {{.*}} sequences %[[S]]
func.func @shared(%q: !t, %l: !rows, %cache: !t, %first: tensor<?xi32>, %n: index) -> (!t, !t, !t, !t, !t, !t) {
  %s = attention.sequences max_q %n
    lengths (%b) {
      %queries = attention.length query
      %x = tensor.extract %first[%b] : tensor<?xi32>
      %keys = arith.index_cast %x : i32 to index
      attention.yield %queries, %keys : index, index
    }
    place_k (%b, %h, %j) {
      %row = arith.addi %j, %n : index
      attention.yield %b, %h, %row : index, index, index
    }
  %k = attention.append %q, %cache at %first aux(%first : tensor<?xi32>) sequences %s : !t, !t, tensor<?xi32>
  %o = attention.forward %q, %q, %q aux(%first : tensor<?xi32>) sequences %s splits %n : (!t, !t, !t) -> !t
  %p = attention.forward %q, %q, %q aux(%first : tensor<?xi32>) sequences %s mods [#attention.used<k = 0>] : (!t, !t, !t) -> !t
  %g:3 = attention.backward %q, %q, %q, %q, %l, %q aux(%first : tensor<?xi32>) sequences %s group 1
    : (!t, !t, !t, !t, !rows, !t) -> (!t, !t, !t)
  return %k, %o, %p, %g#0, %g#1, %g#2 : !t, !t, !t, !t, !t, !t
}

// CHECK-LABEL: func.func @lists(
// CHECK: %[[L:.*]] = attention.blocks [192, 80]
// CHECK-NEXT: by_query (%{{.*}}, %{{.*}}, %[[M:.*]], %[[T:.*]]) {
// CHECK: attention.yield %[[M]], %[[T]], %{{.*}}, %{{.*}} : index, index, index, index
// CHECK: by_key (%{{.*}}, %{{.*}}, %[[N:.*]], %[[U:.*]]) {
// CHECK: attention.yield %[[N]], %[[U]], %{{.*}}, %{{.*}} : index, index, index, index
// CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} blocks %[[L]] mods
// CHECK: attention.backward {{.*}} blocks %[[L]] :

// Where mods say nothing of sequences there are none.
// EXPANDED-LABEL: func.func @lists(
// EXPANDED-NOT: attention.sequences
func.func @lists(%q: !t, %l: !rows) -> (!t, !t, !t, !t) {
  %lists = attention.blocks [192, 80]
    by_query (%b, %h, %m, %t) {
      %c0 = arith.constant 0 : index
      attention.yield %m, %t, %c0, %c0 : index, index, index, index
    }
    by_key (%b, %h, %n, %t) {
      %c0 = arith.constant 0 : index
      attention.yield %n, %t, %c0, %c0 : index, index, index, index
    }
  %o = attention.forward %q, %q, %q blocks %lists mods [#attention.causal] : (!t, !t, !t) -> !t
  %g:3 = attention.backward %q, %q, %q, %q, %l, %q blocks %lists
    : (!t, !t, !t, !t, !rows, !t) -> (!t, !t, !t)
  return %o, %g#0, %g#1, %g#2 : !t, !t, !t, !t
}

// They compute nothing where they stand.
// EXPANDED-LABEL: func.func @dead(
// DEAD-LABEL: func.func @dead(
// DEAD-NOT: attention.sequences
// DEAD: return
func.func @dead(%cu: tensor<?xi32>) {
  %s = attention.sequences
    lengths (%b) {
      %x = tensor.extract %cu[%b] : tensor<?xi32>
      %length = arith.index_cast %x : i32 to index
      attention.yield %length, %length : index, index
    }
  return
}
