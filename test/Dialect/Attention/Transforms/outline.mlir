// RUN: fa3-opt %s -attention-outline -split-input-file -allow-unregistered-dialect | FileCheck %s
// RUN: fa3-opt %s -attention-outline -split-input-file -allow-unregistered-dialect -mlir-print-debuginfo | FileCheck %s --check-prefix=LOC
// RUN: fa3-opt %s -attention-outline -split-input-file -allow-unregistered-dialect -remarks-filter=attention-outline -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: fa3-opt %s -attention-outline -split-input-file -allow-unregistered-dialect | fa3-opt -attention-outline -split-input-file -allow-unregistered-dialect | FileCheck %s

// Equal attention has one function, in regions of operations that nobody knows,
// too. What it captures is an argument, a constant is not. lse is there for who
// uses it.

// CHECK-LABEL: func.func @several
// CHECK: %[[N:.*]] = tensor.dim %arg0, %{{.*}} : tensor<2x4x?x64xf16>
// CHECK: %[[INIT:.*]] = tensor.empty(%[[N]]) : tensor<2x4x?x64xf16>
// CHECK: %[[O:.*]] = attention.call @several_attention(%arg0, %arg1, %arg1, %arg2 : tensor<2x4x?x64xf16>, tensor<2x2x?x64xf16>, tensor<2x2x?x64xf16>, f32) outs(%[[INIT]] : tensor<2x4x?x64xf16>) -> tensor<2x4x?x64xf16>
// CHECK: "foreign.region"(%[[O]]) ({
// CHECK: ^bb0(%[[S:.*]]: f32):
// CHECK: attention.call @several_attention(%[[O]], %arg1, %arg1, %[[S]] :
// CHECK: "foreign.op"() {kept} : () -> ()
// CHECK: outs(%{{.*}}, %{{.*}} : tensor<2x4x?x64xf16>, tensor<2x4x?xf32>) -> tensor<2x4x?x64xf16>, tensor<2x4x?xf32>
// CHECK: func.func private @several_attention(%[[Q:.*]]: tensor<2x4x?x64xf16>, %[[K:.*]]: tensor<2x2x?x64xf16>, %[[V:.*]]: tensor<2x2x?x64xf16>, %[[SCALAR:.*]]: f32) -> tensor<2x4x?x64xf16> {
// CHECK-NEXT: %[[TWO:.*]] = arith.constant 2.0
// CHECK-NEXT: attention.forward %[[Q]], %[[K]], %[[V]] mods [#attention.causal]
// CHECK: arith.mulf %{{.*}}, %[[TWO]]
// CHECK: arith.addf %{{.*}}, %[[SCALAR]]
// CHECK: return %{{.*}} : tensor<2x4x?x64xf16>
// CHECK-NOT: func.func
// CHECK: func.func private @several_attention_1
// CHECK-SAME: -> (tensor<2x4x?x64xf16>, tensor<2x4x?xf32>)
// CHECK-NOT: func.func

// Locations of the place of use, and in the function those of the first place.
// LOC: attention.call @several_attention({{.*}} loc(#[[FIRST:.*]])
// LOC: #[[FIRST]] = loc("first place")

// REMARK: [Passed] Outlined | Category:attention-outline | Function=several | Remark="becomes the function 'several_attention'"
// REMARK: [Passed] Shared | Category:attention-outline | Function=several | Remark="is the attention of 'several_attention'"
!q = tensor<2x4x?x64xf16>
!k = tensor<2x2x?x64xf16>
func.func @several(%q: !q, %k: !k, %x: f32) {
  %two = arith.constant 2.0 : f32
  %o = attention.forward %q, %k, %k mods [#attention.causal] : (!q, !k, !k) -> !q
    score_mod (%s, %b, %h, %i, %j) {
      %t = arith.mulf %s, %two : f32
      %u = arith.addf %t, %x : f32
      attention.yield %u : f32
    } loc("first place")
  "foreign.region"(%o) ({
  ^bb0(%y: f32):
    %again = arith.constant 2.0 : f32
    %p, %unused = attention.forward %o, %k, %k mods [#attention.causal] : (!q, !k, !k) -> (!q, tensor<2x4x?xf32>)
      score_mod (%s, %b, %h, %i, %j) {
        %t = arith.mulf %s, %again : f32
        %u = arith.addf %t, %y : f32
        attention.yield %u : f32
      }
    "foreign.op"() {kept} : () -> ()
    "foreign.end"(%p) : (!q) -> ()
  }) : (!q) -> ()
  %r, %lse = attention.forward %q, %k, %k : (!q, !k, !k) -> (!q, tensor<2x4x?xf32>)
  "foreign.use"(%r, %lse) : (!q, tensor<2x4x?xf32>) -> ()
  return
}

// -----

// A function that consists of attention stays, whatever is beside it; one that
// is called keeps its type.

// CHECK-LABEL: func.func @stays
// CHECK-NEXT: attention.forward
// CHECK-LABEL: func.func @called
// CHECK: attention.call @called_attention
// CHECK: func.func private @called_attention
// CHECK-LABEL: func.func @caller
!t = tensor<1x2x?x64xf16>
func.func @stays(%q: !t) -> !t {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return %o : !t
}
func.func @called(%q: !t) -> !t {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return %o : !t
}
func.func @caller(%q: !t) -> !t {
  %o = call @called(%q) : (!t) -> !t
  return %o : !t
}

// -----

// Transpositions are views, through slices, casts, and shapes. One that moves
// the elements stays, as one stays whose result has other users.

// CHECK-LABEL: func.func @views
// CHECK-NOT: permutation = [0, 2, 1, 3]
// CHECK: linalg.transpose {{.*}} permutation = [0, 1, 3, 2]
// CHECK: %[[CAST:.*]] = tensor.cast %arg0 : tensor<2x?x64x64xf16> to tensor<2x32x64x64xf16>
// CHECK: %[[EXPANDED:.*]] = tensor.expand_shape %[[CAST]] {{\[\[}}0], [1], [2, 3], [4]] output_shape [2, 32, 8, 8, 64] : tensor<2x32x64x64xf16> into tensor<2x32x8x8x64xf16>
// CHECK: %[[SLICE:.*]] = tensor.extract_slice %[[EXPANDED]][0, 0, 3, 0, 0] [2, 32, 1, 8, 64] [1, 1, 1, 1, 1] : tensor<2x32x8x8x64xf16> to tensor<2x32x8x64xf16>
// CHECK: attention.call @views_attention(%[[SLICE]], %{{.*}}, %{{.*}} : {{.*}}) outs(%{{.*}} : tensor<32x2x8x64xf16>) views {{\[\[}}0, 2, 1, 3], [], [], [1, 2, 0, 3]] -> tensor<32x2x8x64xf16>
// CHECK: linalg.transpose {{.*}} permutation = [0, 2, 1, 3]
// CHECK: func.func private @views_attention(%{{.*}}: tensor<2x8x32x64xf16>, %{{.*}}: tensor<2x8x?x64xf16>,

// REMARK: [Passed] Transposition {{.*}} Remark="operand 0 is read in the order [0, 2, 1, 3]"
// REMARK: [Missed] Transposition {{.*}} Reason="operand 1 is moved in memory
// REMARK: [Passed] Transposition {{.*}} Remark="result 0 is written in the order [2, 0, 1, 3]"
// REMARK: [Missed] Transposition {{.*}} Reason="result 0 is moved in memory
!all = tensor<2x?x64x64xf16>
!q = tensor<2x8x32x64xf16>
!k = tensor<2x8x?x64xf16>
func.func @views(%x: !all, %kt: tensor<2x8x64x?xf16>, %v: !k, %e0: tensor<2x64x?x64xf16>, %e1: !k,
                 %e2: tensor<2x32x8x64xf16>) -> (tensor<32x2x8x64xf16>, !q, tensor<2x32x8x64xf16>) {
  %t = linalg.transpose ins(%x : !all) outs(%e0 : tensor<2x64x?x64xf16>) permutation = [0, 2, 1, 3]
  %cast = tensor.cast %t : tensor<2x64x?x64xf16> to tensor<2x64x32x64xf16>
  %expanded = tensor.expand_shape %cast [[0], [1, 2], [3], [4]] output_shape [2, 8, 8, 32, 64]
    : tensor<2x64x32x64xf16> into tensor<2x8x8x32x64xf16>
  %q = tensor.extract_slice %expanded[0, 3, 0, 0, 0] [2, 1, 8, 32, 64] [1, 1, 1, 1, 1]
    : tensor<2x8x8x32x64xf16> to !q
  %k = linalg.transpose ins(%kt : tensor<2x8x64x?xf16>) outs(%e1 : !k) permutation = [0, 1, 3, 2]
  %o = attention.forward %q, %k, %v : (!q, !k, !k) -> !q
  %e3 = tensor.empty() : tensor<32x2x8x64xf16>
  %moved = linalg.transpose ins(%o : !q) outs(%e3 : tensor<32x2x8x64xf16>) permutation = [2, 0, 1, 3]
  %both = attention.forward %q, %v, %v : (!q, !k, !k) -> !q
  %other = linalg.transpose ins(%both : !q) outs(%e2 : tensor<2x32x8x64xf16>) permutation = [0, 2, 1, 3]
  return %moved, %both, %other : tensor<32x2x8x64xf16>, !q, tensor<2x32x8x64xf16>
}

// -----

// What users would write to is written.

// CHECK-LABEL: func.func @destination
// CHECK: %[[R:.*]] = attention.call {{.*}} outs(%arg1 : tensor<1x?x2x64xf16>) views {{\[\[}}], [], [], [0, 2, 1, 3]]
// CHECK-NEXT: return %[[R]]
!t = tensor<1x2x?x64xf16>
func.func @destination(%q: !t, %to: tensor<1x?x2x64xf16>) -> tensor<1x?x2x64xf16> {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  %r = linalg.transpose ins(%o : !t) outs(%to : tensor<1x?x2x64xf16>) permutation = [0, 2, 1, 3]
  return %r : tensor<1x?x2x64xf16>
}

// -----

// Shapes that do not lie side by side before they are transposed are copied.

// CHECK-LABEL: func.func @apart
// CHECK: linalg.transpose
// CHECK: tensor.collapse_shape
// CHECK: attention.call {{.*}} outs(%{{.*}}) -> tensor<1x8x16x64xf16>
func.func @apart(%x: tensor<1x2x16x4x64xf16>) -> tensor<1x8x16x64xf16> {
  %e = tensor.empty() : tensor<1x2x4x16x64xf16>
  %t = linalg.transpose ins(%x : tensor<1x2x16x4x64xf16>) outs(%e : tensor<1x2x4x16x64xf16>) permutation = [0, 1, 3, 2, 4]
  %q = tensor.collapse_shape %t [[0], [1, 2], [3], [4]] : tensor<1x2x4x16x64xf16> into tensor<1x8x16x64xf16>
  %o = attention.forward %q, %q, %q : (tensor<1x8x16x64xf16>, tensor<1x8x16x64xf16>, tensor<1x8x16x64xf16>) -> tensor<1x8x16x64xf16>
  return %o : tensor<1x8x16x64xf16>
}

// -----

// Gradients, and a bias that attention reads and has a gradient for.

// CHECK-LABEL: func.func @gradients
// CHECK: %[[G:.*]]:4 = attention.call @gradients_backward(
// CHECK-SAME: outs(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x?xf32>)
// CHECK: func.func private @gradients_backward
!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
!bias = tensor<1x2x?x?xf32>
func.func @gradients(%q: !t, %lse: !l, %bias: !bias) -> (!t, !bias) {
  %dq, %dk, %dv, %db = attention.backward %q, %q, %q, %q, %lse, %q aux(%bias : !bias) grad_aux [0] mods [#attention.bias<aux = 0>]
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t, !bias)
  return %dq, %db : !t, !bias
}

// -----

// Quantization goes with the attention that it is for; what others use is a
// function of its own.

// CHECK-LABEL: func.func @quantized
// CHECK: %[[K:.*]]:2 = attention.call @quantized_quantize(%arg1 : tensor<1x2x?x64xf16>) outs(%{{.*}}, %{{.*}} : tensor<1x2x?x64xf8E4M3FN>, tensor<1x2x?xf32>)
// CHECK: attention.call @quantized_attention(%arg0, %arg2, %[[K]]#0, %[[K]]#1 :
// CHECK: attention.call @quantized_attention(%{{.*}}, %arg2, %[[K]]#0, %[[K]]#1 :
// CHECK: func.func private @quantized_attention(%[[Q:.*]]: tensor<1x2x?x64xf16>, %[[V:.*]]: tensor<1x2x?x64xf16>, %{{.*}}: tensor<1x2x?x64xf8E4M3FN>, %{{.*}}: tensor<1x2x?xf32>)
// CHECK: attention.quantize %[[Q]]
// CHECK: attention.quantize %[[V]]
!t = tensor<1x2x?x64xf16>
!e = tensor<1x2x?x64xf8E4M3FN>
!one = tensor<1x2x1xf32>
!s = tensor<1x2x?xf32>
func.func @quantized(%q: !t, %k: !t, %v: !t) -> !t {
  %k8, %ks = attention.quantize %k rows 128 : !t -> !e, !s
  %q8, %qs = attention.quantize %q : !t -> !e, !one
  %v8, %vs = attention.quantize %v : !t -> !e, !one
  %o = attention.forward %q8, %k8, %v8 scales(%qs, %ks, %vs : !one, !s, !one) rows [0, 128, 0] : (!e, !e, !e) -> !t
  %o8, %os = attention.quantize %o : !t -> !e, !one
  %w8, %ws = attention.quantize %v : !t -> !e, !one
  %r = attention.forward %o8, %k8, %w8 scales(%os, %ks, %ws : !one, !s, !one) rows [0, 128, 0] : (!e, !e, !e) -> !t
  return %r : !t
}

// -----

// Modules in modules have functions of their own.

// CHECK-LABEL: module @inner
// CHECK: attention.call @f_attention
// CHECK: func.func private @f_attention
!t = tensor<1x2x?x64xf16>
module @inner {
  func.func @f(%q: !t, %x: index) -> (!t, index) {
    %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    return %o, %x : !t, index
  }
}

// -----

// Lists of blocks that a program computes from what is no argument.

// CHECK-LABEL: func.func @program(
// CHECK-SAME: %[[N:[^:]*]]: index)
// CHECK: %[[ROWS:.*]] = arith.ceildivsi %[[N]], %{{.*}} : index
// CHECK: %[[BLOCKS:.*]] = arith.maxsi %[[ROWS]]
// CHECK: tensor.empty(%[[BLOCKS]]) : tensor<1x1x?xi32>
// CHECK: attention.call @program_blocks(
// CHECK: func.func private @program_blocks(
// CHECK: attention.list_blocks
func.func @program(%document: tensor<1x?xi32>, %n: index) -> (tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>) {
  %c1 = arith.constant 1 : index
  %twice = arith.addi %document, %document : tensor<1x?xi32>
  %count, %index, %full_count, %full_index = attention.list_blocks [128, 64] (%c1, %c1, %n, %n) aux(%twice : tensor<1x?xi32>)
    : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %c0 = arith.constant 0 : index
      %x = tensor.extract %twice[%c0, %i] : tensor<1x?xi32>
      %y = tensor.extract %twice[%c0, %j] : tensor<1x?xi32>
      %keep = arith.cmpi eq, %x, %y : i32
      attention.yield %keep : i1
    }
  return %count, %index, %full_count, %full_index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
}

// -----

// Results for parts of the keys, which what a program computes becomes one of.

// CHECK-LABEL: func.func @merge(
// CHECK-SAME: %[[P:[^:]*]]: tensor<?x?x?x4x64xf32>
// CHECK-DAG: tensor.dim %[[P]], %c1
// CHECK-DAG: tensor.dim %[[P]], %c2
// CHECK: tensor.empty(%{{.*}}, %{{.*}}) : tensor<?x?x4x64xbf16>
// CHECK: attention.call @merge_attention(%[[P]], %{{.*}} outs(%{{.*}} : tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>)
// CHECK: func.func private @merge_attention(
// CHECK: attention.merge
func.func @merge(%p: tensor<?x?x?x4x64xf32>, %l: tensor<?x?x4x?xf32>) -> (tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>) {
  %less = arith.negf %l : tensor<?x?x4x?xf32>
  %o, %lse = attention.merge %p, %less layout bshd
    : tensor<?x?x?x4x64xf32>, tensor<?x?x4x?xf32> -> tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>
  return %o, %lse : tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>
}
