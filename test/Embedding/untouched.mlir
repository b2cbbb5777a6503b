// What is around attention is left as it is, also what canonicalization would
// change; each attention has a kernel of its own, and what is no longer used of
// its function is not there.
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline -allow-unregistered-dialect | FileCheck %s
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline=tuning-table=none -allow-unregistered-dialect | FileCheck %s --check-prefix=PLAIN

// CHECK-LABEL: func.func @f
// CHECK-NEXT: arith.constant 1 : i32
// CHECK-NEXT: arith.constant 1 : i32
// CHECK-NEXT: arith.addi
// CHECK-NEXT: "other.op"(%{{.*}}) <{fact = @f}> ({
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<1x2x300x64xf16>):
// CHECK: attention.call @f_attention(
// CHECK: attention.call @f_attention_1(
// CHECK: hopper.launch @f_attention_kernels::@f_attention
// CHECK: gpu.module @f_attention_kernels
// CHECK: hopper.launch @f_attention_1_kernels::@f_attention_1
// CHECK: gpu.module @f_attention_1_kernels
// CHECK-LABEL: func.func private @other
// CHECK-NEXT: cf.br

// PLAIN-DAG: hopper.launch @f_attention_1_kernels::@f_attention_1
// PLAIN-DAG: hopper.launch @f_attention_kernels::@f_attention
// PLAIN-DAG: "other.op"
!t = tensor<1x2x300x64xf16>
!w = tensor<1x2x300x128xf16>
func.func @f(%w: !w) -> i32 {
  %a = arith.constant 1 : i32
  %b = arith.constant 1 : i32
  %c = arith.addi %a, %b : i32
  "other.op"(%c) <{fact = @f}> ({
  ^bb0(%q: !t):
    %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    %p = attention.forward %w, %w, %w mods [#attention.causal] : (!w, !w, !w) -> !w
    "other.end"(%o, %p) : (!t, !w) -> ()
  }) : (i32) -> ()
  return %c : i32
}
func.func private @other(%x: i32) -> i32 {
  cf.br ^next
^next:
  return %x : i32
}
