// With block-lists=auto attention gets lists where lengths are known and long,
// and no analysis of inequalities decides the mask.
//
// RUN: fa3-opt %s --split-input-file --attention-expand-mods --attention-derive-blocks | FileCheck %s

// CHECK-LABEL: @documents
// CHECK: attention.list_blocks [128, 128]
!t0 = tensor<1x4x2048x64xf16>
func.func @documents(%q: !t0, %k: !t0, %v: !t0, %d: tensor<1x2048xi32>) -> !t0 {
  %o = attention.forward %q, %k, %v aux(%d : tensor<1x2048xi32>) mods [#attention.document<aux = 0>] : (!t0, !t0, !t0) -> !t0
  return %o : !t0
}

// -----

// Remainders by constants hide no blocks.
// CHECK-LABEL: @dilated
// CHECK-NOT: attention.list_blocks
!t1 = tensor<1x4x4096x64xf16>
func.func @dilated(%q: !t1, %k: !t1, %v: !t1) -> !t1 {
  %o = attention.forward %q, %k, %v mods [#attention.dilation<3>] : (!t1, !t1, !t1) -> !t1
  return %o : !t1
}

// -----

// CHECK-LABEL: @chunks
// CHECK: attention.list_blocks [128, 128]
!t6 = tensor<1x4x4096x64xf16>
func.func @chunks(%q: !t6, %k: !t6, %v: !t6, %n: index) -> !t6 {
  %o = attention.forward %q, %k, %v : (!t6, !t6, !t6) -> !t6
    mask_mod (%b, %h, %i, %j) {
      %x = arith.divui %i, %n : index
      %y = arith.divui %j, %n : index
      %keep = arith.cmpi eq, %x, %y : index
      attention.yield %keep : i1
    }
  return %o : !t6
}

// -----

// CHECK-LABEL: @causal
// CHECK-NOT: attention.list_blocks
!t2 = tensor<1x4x4096x64xf16>
func.func @causal(%q: !t2, %k: !t2, %v: !t2) -> !t2 {
  %o = attention.forward %q, %k, %v mods [#attention.causal] : (!t2, !t2, !t2) -> !t2
  return %o : !t2
}

// -----

// CHECK-LABEL: @short
// CHECK-NOT: attention.list_blocks
!t3 = tensor<1x4x1024x64xf16>
func.func @short(%q: !t3, %k: !t3, %v: !t3, %d: tensor<1x1024xi32>) -> !t3 {
  %o = attention.forward %q, %k, %v aux(%d : tensor<1x1024xi32>) mods [#attention.document<aux = 0>] : (!t3, !t3, !t3) -> !t3
  return %o : !t3
}

// -----

// CHECK-LABEL: @unknown
// CHECK-NOT: attention.list_blocks
!t4 = tensor<1x4x?x64xf16>
func.func @unknown(%q: !t4, %k: !t4, %v: !t4, %d: tensor<1x?xi32>) -> !t4 {
  %o = attention.forward %q, %k, %v aux(%d : tensor<1x?xi32>) mods [#attention.document<aux = 0>] : (!t4, !t4, !t4) -> !t4
  return %o : !t4
}

// -----

// CHECK-LABEL: @uniform
// CHECK-NOT: attention.list_blocks
!t5 = tensor<1x4x4096x64xf16>
func.func @uniform(%q: !t5, %k: !t5, %v: !t5, %n: tensor<1xi32>) -> !t5 {
  %o = attention.forward %q, %k, %v aux(%n : tensor<1xi32>) : (!t5, !t5, !t5) -> !t5
    mask_mod (%b, %h, %i, %j) {
      %x = tensor.extract %n[%b] : tensor<1xi32>
      %y = arith.index_cast %x : i32 to index
      %keep = arith.cmpi slt, %j, %y : index
      attention.yield %keep : i1
    }
  return %o : !t5
}
