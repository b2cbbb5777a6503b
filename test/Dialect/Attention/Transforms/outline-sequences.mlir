// RUN: fa3-opt %s -attention-outline | FileCheck %s

// Sequences that two attentions share go to the function of each, where what
// their code uses is an argument; outside nothing is left of them.

!t = tensor<?x4x?x64xf16>

// CHECK-LABEL: func.func @program(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x4x?x64xf16>, %[[FIRST:[^:]*]]: tensor<?xi32>, %[[N:[^:]*]]: index
// CHECK-NOT: attention.sequences
// CHECK: scf.for
// CHECK: attention.call @program_attention(%{{.*}}, %{{.*}}, %{{.*}}, %[[FIRST]], %[[N]] :
// CHECK: attention.call @program_backward(
// CHECK-NOT: attention.sequences
// CHECK: return

// CHECK-LABEL: func.func private @program_attention(
// CHECK-SAME: %[[AUX:[^:]*]]: tensor<?xi32>, %[[MOST:[^:]*]]: index)
// CHECK: %[[S:.*]] = attention.sequences max_q %[[MOST]]
// CHECK: tensor.extract %[[AUX]]
// CHECK: arith.addi %{{.*}}, %[[MOST]]
// CHECK: attention.forward {{.*}} sequences %[[S]]

// CHECK-LABEL: func.func private @program_backward(
// CHECK: attention.sequences
// CHECK: attention.backward {{.*}} sequences
func.func @program(%q: !t, %first: tensor<?xi32>, %n: index, %lse: tensor<?x4x?xf32>) -> (!t, !t, !t, !t) {
  %c0 = arith.constant 0 : index
  %s = attention.sequences max_q %n
    lengths (%b) {
      %x = tensor.extract %first[%b] : tensor<?xi32>
      %before = arith.index_cast %x : i32 to index
      %keys = arith.addi %before, %n : index
      attention.yield %keys, %keys : index, index
    }
  %last = scf.for %i = %c0 to %n step %n iter_args(%x = %q) -> !t {
    %o = attention.forward %x, %q, %q aux(%first : tensor<?xi32>) sequences %s : (!t, !t, !t) -> !t
    scf.yield %o : !t
  }
  %g:3 = attention.backward %q, %q, %q, %last, %lse, %q aux(%first : tensor<?xi32>) sequences %s
    : (!t, !t, !t, !t, tensor<?x4x?xf32>, !t) -> (!t, !t, !t)
  return %last, %g#0, %g#1, %g#2 : !t, !t, !t, !t
}
