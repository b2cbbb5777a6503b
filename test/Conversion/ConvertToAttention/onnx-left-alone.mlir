// Attention of ONNX with caches, rotation and caches by themselves: what is not
// converted stays, and a remark says why.
// RUN: fa3-opt %s -split-input-file -allow-unregistered-dialect -convert-to-attention -verify-diagnostics | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: func.func @group_query_0
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_0(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>, %a9: none, %a10: none, %a11: none, %a12: tensor<1xf32>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{it has a 'k_scale', of a cache in 8 or 4 bits}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11, %a12) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>, none, none, none, tensor<1xf32>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_1
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_1(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>, %a9: none, %a10: none, %a11: none, %a12: none, %a13: tensor<1xf32>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{it has a 'v_scale', of a cache in 8 or 4 bits}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11, %a12, %a13) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>, none, none, none, none, tensor<1xf32>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_2
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_2(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x4x1x20xf16>) {
  // expected-remark @below {{its 'output_qk' is used, which attention.forward does not have}}
  %r:4 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2x4x1x20xf16>)
  return %r#3 : tensor<2x4x1x20xf16>
}

// CHECK-LABEL: func.func @group_query_3
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_3(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: none, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{it has a past of keys or of values, not of both}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, none, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_4
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_4(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2x3xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{its 'seqlens_k' are no integers for each batch}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2x3xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_5
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_5(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{its window is too large}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64, local_window_size = 4294967296 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_6
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_6(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>, %a9: none, %a10: none, %a11: tensor<4xf64>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{its 'head_sink' is no float of at most 32 bits for each head}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>, none, none, tensor<4xf64>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_7
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_7(%a0: tensor<2x1x128xf16>, %a1: tensor<2x1x32xf16>, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{it has k or v, not both}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, tensor<2x1x32xf16>, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_8
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_8(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{expects known numbers of heads, those of q a multiple of those of k, got 4 and 3}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 3 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_9
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_9(%a0: tensor<2x1x?xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{expects a tensor (batch, sequence, columns), columns a multiple of its 8 heads}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x?xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_10
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_10(%a0: tensor<2x1x64xf16>, %a1: tensor<2x1x32xf16>, %a2: tensor<2x2x32xf16>, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{expects k and v of the sequence and elements of q, with 32 columns}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x64xf16>, tensor<2x1x32xf16>, tensor<2x2x32xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_11
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_11(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xi8>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{its 'past_value' is no tensor of rank 4 with the elements of q}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xi8>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_12
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_12(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x3x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{its 'past_key' has 3 heads of 16 elements, expects 2 of 16}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x3x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_13
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_13(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{it has a 'past_key', but no tensor of rank 4 for what it becomes}}
  %r = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>)
  return %r : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_14
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_14(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{its 'past_key' has 20 rows, what it becomes 19}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x19x16xf16>, tensor<2x2x19x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_15
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_15(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<39x8xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{its 'cos_cache' and 'sin_cache' are no tensors of one type}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64, do_rotary = 1 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<39x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_16
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_16(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>, %a9: tensor<2xi64>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{its 'position_ids' are no integers for each row, or its 'cos_cache' is no table}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64, do_rotary = 1 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>, tensor<2xi64>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_17
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_17(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: none, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{its 'total_sequence_length' is no integer, and its types do not say how many rows its present has}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, none, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x?x16xf16>, tensor<2x2x?x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_18
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_18(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x2x20x16xf32>) {
  // expected-remark @below {{the type of its result 1 is not that of its cache}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf32>, tensor<2x2x20x16xf16>)
  return %r#1 : tensor<2x2x20x16xf32>
}

// CHECK-LABEL: func.func @group_query_19
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_19(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x1x64xf32>) {
  // expected-remark @below {{the type of its result is not that of q}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf32>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf32>
}

// CHECK-LABEL: func.func @group_query_20
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_20(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{its soft cap is not positive}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64, softcap = -1.0 : f32} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_21
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_21(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>, %a9: none, %a10: tensor<2x4x1x10xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{its 'attention_bias' is for 10 keys, there are 20}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>, none, tensor<2x4x1x10xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_22
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_22(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>, %a9: none, %a10: tensor<2x3x1x20xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{its mask has extent 3 where scores have 4}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>, none, tensor<2x3x1x20xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_23
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_23(%a0: tensor<2x1x128xf32>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf32>, %a4: tensor<2x2x20x16xf32>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{it has a cache or a rotation of f32, expects f16 or bf16}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf32>, none, none, tensor<2x2x20x16xf32>, tensor<2x2x20x16xf32>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_24
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_24(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x16xf16>, %a8: tensor<40x16xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{expects a static number of columns of cos and sin that is a multiple of 8 up to 8, half the head dim, got 'tensor<40x16xf16>'}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64, do_rotary = 1 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x16xf16>, tensor<40x16xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_25
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_25(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<3xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{expects a first position for every batch of the source (2), got 3}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<3xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @group_query_26
// CHECK-NEXT: "onnx.Custom"(%arg0
// CHECK-NEXT: return
func.func @group_query_26(%a0: tensor<2x1x128xf16>, %a1: none, %a2: none, %a3: tensor<2x2x20x16xf16>, %a4: tensor<2x2x20x16xf16>, %a5: tensor<2xi32>, %a6: tensor<i32>, %a7: tensor<40x8xf16>, %a8: tensor<40x8xf16>, %a9: none, %a10: none, %a11: tensor<5xf16>) -> (tensor<2x1x64xf16>) {
  // expected-remark @below {{expects a sink for every query head (4), got 5}}
  %r:3 = "onnx.Custom"(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>, none, none, tensor<5xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %r#0 : tensor<2x1x64xf16>
}

// CHECK-LABEL: func.func @past_0
// CHECK-NEXT: "onnx.Attention"(%arg0
// CHECK-NEXT: return
func.func @past_0(%a0: tensor<2x3x64xf16>, %a1: tensor<2x3x32xf16>, %a2: tensor<2x3x32xf16>, %a3: none, %a4: tensor<2x2x7x16xf16>, %a5: tensor<2x2x7x16xf16>, %a6: tensor<2xi64>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{it has a 'nonpad_kv_seqlen' beside past or present keys}}
  %r:3 = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5, %a6) {q_num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x3x64xf16>, tensor<2x3x32xf16>, tensor<2x3x32xf16>, none, tensor<2x2x7x16xf16>, tensor<2x2x7x16xf16>, tensor<2xi64>) -> (tensor<2x3x64xf16>, tensor<2x2x10x16xf16>, tensor<2x2x10x16xf16>)
  return %r#0 : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @past_1
// CHECK-NEXT: "onnx.Attention"(%arg0
// CHECK-NEXT: return
func.func @past_1(%a0: tensor<2x3xf16>, %a1: tensor<2x3x32xf16>, %a2: tensor<2x3x32xf16>, %a3: none, %a4: tensor<2x2x7x16xf16>, %a5: tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{expects q, k, v and the result to be of rank 3 or 4}}
  %r:3 = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5) {q_num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x3xf16>, tensor<2x3x32xf16>, tensor<2x3x32xf16>, none, tensor<2x2x7x16xf16>, tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>, tensor<2x2x10x16xf16>, tensor<2x2x10x16xf16>)
  return %r#0 : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @past_2
// CHECK-NEXT: "onnx.Attention"(%arg0
// CHECK-NEXT: return
func.func @past_2(%a0: tensor<2x3x64xf16>, %a1: tensor<2x2x3x16xf16>, %a2: tensor<2x3x32xf16>, %a3: none, %a4: tensor<2x2x7x16xf16>, %a5: tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{expects q, k, v and the result to be of one rank}}
  %r:3 = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5) {q_num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x3x64xf16>, tensor<2x2x3x16xf16>, tensor<2x3x32xf16>, none, tensor<2x2x7x16xf16>, tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>, tensor<2x2x10x16xf16>, tensor<2x2x10x16xf16>)
  return %r#0 : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @past_3
// CHECK-NEXT: "onnx.Attention"(%arg0
// CHECK-NEXT: return
func.func @past_3(%a0: tensor<2x3x64xf16>, %a1: tensor<2x3x32xf16>, %a2: tensor<2x3x32xf16>, %a3: none, %a4: tensor<2x2x7x16xf16>, %a5: tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{expects known numbers of heads, got 4 and 5}}
  %r:3 = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5) {q_num_heads = 4 : si64, kv_num_heads = 5 : si64} : (tensor<2x3x64xf16>, tensor<2x3x32xf16>, tensor<2x3x32xf16>, none, tensor<2x2x7x16xf16>, tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>, tensor<2x2x10x16xf16>, tensor<2x2x10x16xf16>)
  return %r#0 : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @past_4
// CHECK-NEXT: "onnx.Attention"(%arg0
// CHECK-NEXT: return
func.func @past_4(%a0: tensor<2x3x64xf16>, %a1: tensor<2x3x32xf16>, %a2: tensor<2x3x32xf16>, %a3: none, %a4: tensor<2x3x7x16xf16>, %a5: tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{its 'past_key' is no tensor (batch, head, row, element) that fits its keys and values}}
  %r:3 = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5) {q_num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x3x64xf16>, tensor<2x3x32xf16>, tensor<2x3x32xf16>, none, tensor<2x3x7x16xf16>, tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>, tensor<2x2x10x16xf16>, tensor<2x2x10x16xf16>)
  return %r#0 : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @past_5
// CHECK-NEXT: "onnx.Attention"(%arg0
// CHECK-NEXT: return
func.func @past_5(%a0: tensor<2x3x64xf16>, %a1: tensor<2x3x32xf16>, %a2: tensor<2x3x32xf16>, %a3: none, %a4: tensor<2x2x7x16xf16>, %a5: tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{its window is too large}}
  %r:3 = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5) {q_num_heads = 4 : si64, kv_num_heads = 2 : si64, left_window_size = 4294967296 : si64} : (tensor<2x3x64xf16>, tensor<2x3x32xf16>, tensor<2x3x32xf16>, none, tensor<2x2x7x16xf16>, tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>, tensor<2x2x10x16xf16>, tensor<2x2x10x16xf16>)
  return %r#0 : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @past_6
// CHECK-NEXT: "onnx.Attention"(%arg0
// CHECK-NEXT: return
func.func @past_6(%a0: tensor<2x3x64xf16>, %a1: tensor<2x3x32xf16>, %a2: tensor<2x3x32xf16>, %a3: none, %a4: tensor<2x2x7x16xf16>, %a5: tensor<2x2x7x16xf16>) -> (tensor<2x2x11x16xf16>) {
  // expected-remark @below {{the type of its result 2 is not that of its keys and values}}
  %r:3 = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5) {q_num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x3x64xf16>, tensor<2x3x32xf16>, tensor<2x3x32xf16>, none, tensor<2x2x7x16xf16>, tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>, tensor<2x2x10x16xf16>, tensor<2x2x11x16xf16>)
  return %r#2 : tensor<2x2x11x16xf16>
}

// CHECK-LABEL: func.func @past_7
// CHECK-NEXT: "onnx.Attention"(%arg0
// CHECK-NEXT: return
func.func @past_7(%a0: tensor<2x3x64xf16>, %a1: tensor<2x3x32xf16>, %a2: tensor<2x3x32xf16>, %a3: none, %a4: tensor<2x2x7x16xf16>, %a5: tensor<2x2x7x16xf16>) -> (tensor<2x3x65xf16>) {
  // expected-remark @below {{the type of its result is not that of q}}
  %r:3 = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5) {q_num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x3x64xf16>, tensor<2x3x32xf16>, tensor<2x3x32xf16>, none, tensor<2x2x7x16xf16>, tensor<2x2x7x16xf16>) -> (tensor<2x3x65xf16>, tensor<2x2x10x16xf16>, tensor<2x2x10x16xf16>)
  return %r#0 : tensor<2x3x65xf16>
}

// CHECK-LABEL: func.func @past_8
// CHECK-NEXT: "onnx.Attention"(%arg0
// CHECK-NEXT: return
func.func @past_8(%a0: tensor<2x3x64xf16>, %a1: tensor<2x3x32xf16>, %a2: tensor<2x3x32xf16>, %a3: none, %a4: tensor<2x2x7x16xf16>, %a5: tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{its soft cap is not positive}}
  %r:3 = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5) {q_num_heads = 4 : si64, kv_num_heads = 2 : si64, softcap = -1.0 : f32} : (tensor<2x3x64xf16>, tensor<2x3x32xf16>, tensor<2x3x32xf16>, none, tensor<2x2x7x16xf16>, tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>, tensor<2x2x10x16xf16>, tensor<2x2x10x16xf16>)
  return %r#0 : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @past_9
// CHECK-NEXT: "onnx.Attention"(%arg0
// CHECK-NEXT: return
func.func @past_9(%a0: tensor<2x3x64xf16>, %a1: tensor<2x3x32xf16>, %a2: tensor<2x3x32xf16>, %a3: tensor<3x9xi1>, %a4: tensor<2x2x7x16xf16>, %a5: tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{its mask has fewer keys than there are}}
  %r:3 = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5) {q_num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x3x64xf16>, tensor<2x3x32xf16>, tensor<2x3x32xf16>, tensor<3x9xi1>, tensor<2x2x7x16xf16>, tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>, tensor<2x2x10x16xf16>, tensor<2x2x10x16xf16>)
  return %r#0 : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @past_10
// CHECK-NEXT: "onnx.Attention"(%arg0
// CHECK-NEXT: return
func.func @past_10(%a0: tensor<2x3x64xf16>, %a1: tensor<2x3x32xf16>, %a2: tensor<2x3x32xf16>, %a3: tensor<4x10xi1>, %a4: tensor<2x2x7x16xf16>, %a5: tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{its mask has extent 4 where scores have 3}}
  %r:3 = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5) {q_num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x3x64xf16>, tensor<2x3x32xf16>, tensor<2x3x32xf16>, tensor<4x10xi1>, tensor<2x2x7x16xf16>, tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>, tensor<2x2x10x16xf16>, tensor<2x2x10x16xf16>)
  return %r#0 : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @past_11
// CHECK-NEXT: "onnx.Attention"(%arg0
// CHECK-NEXT: return
func.func @past_11(%a0: tensor<2x3x64xf32>, %a1: tensor<2x3x32xf32>, %a2: tensor<2x3x32xf32>, %a3: none, %a4: tensor<2x2x7x16xf32>, %a5: tensor<2x2x7x16xf32>) -> (tensor<2x3x64xf32>) {
  // expected-remark @below {{expects elements of f16, bf16, f8E4M3FN, f8E5M2 or i8, got 'f32'}}
  %r:3 = "onnx.Attention"(%a0, %a1, %a2, %a3, %a4, %a5) {q_num_heads = 4 : si64, kv_num_heads = 2 : si64} : (tensor<2x3x64xf32>, tensor<2x3x32xf32>, tensor<2x3x32xf32>, none, tensor<2x2x7x16xf32>, tensor<2x2x7x16xf32>) -> (tensor<2x3x64xf32>, tensor<2x2x10x16xf32>, tensor<2x2x10x16xf32>)
  return %r#0 : tensor<2x3x64xf32>
}

// CHECK-LABEL: func.func @rotary_0
// CHECK-NEXT: "onnx.RotaryEmbedding"(%arg0
// CHECK-NEXT: return
func.func @rotary_0(%a0: tensor<2x3x64xf16>, %a1: tensor<40x8xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{expects tables of cosines and sines}}
  %r = "onnx.RotaryEmbedding"(%a0, %a1) {num_heads = 4 : si64} : (tensor<2x3x64xf16>, tensor<40x8xf16>) -> (tensor<2x3x64xf16>)
  return %r : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @rotary_1
// CHECK-NEXT: "onnx.RotaryEmbedding"(%arg0
// CHECK-NEXT: return
func.func @rotary_1(%a0: tensor<2x3x64xf16>, %a1: tensor<2x3xi64>, %a2: tensor<40x8xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{expects tables of cosines and sines}}
  %r = "onnx.RotaryEmbedding"(%a0, %a1, %a2) {num_heads = 4 : si64} : (tensor<2x3x64xf16>, tensor<2x3xi64>, tensor<40x8xf16>) -> (tensor<2x3x64xf16>)
  return %r : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @rotary_2
// CHECK-NEXT: "onnx.RotaryEmbedding"(%arg0
// CHECK-NEXT: return
func.func @rotary_2(%a0: tensor<2x3x64xf16>, %a1: tensor<40x8xf16>, %a2: tensor<2x3x8xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{its cosines and sines are no tensors of one type}}
  %r = "onnx.RotaryEmbedding"(%a0, %a1, %a2) {num_heads = 4 : si64} : (tensor<2x3x64xf16>, tensor<40x8xf16>, tensor<2x3x8xf16>) -> (tensor<2x3x64xf16>)
  return %r : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @rotary_3
// CHECK-NEXT: "onnx.RotaryEmbedding"(%arg0
// CHECK-NEXT: return
func.func @rotary_3(%a0: tensor<2x3x64xf16>, %a1: tensor<2x3xi64>, %a2: tensor<40x8xf16>, %a3: tensor<40x8xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{it has packed batches ('is_packed_batching')}}
  %r = "onnx.RotaryEmbedding"(%a0, %a1, %a2, %a3) {num_heads = 4 : si64, is_packed_batching = 1 : si64} : (tensor<2x3x64xf16>, tensor<2x3xi64>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x3x64xf16>)
  return %r : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @rotary_4
// CHECK-NEXT: "onnx.RotaryEmbedding"(%arg0
// CHECK-NEXT: return
func.func @rotary_4(%a0: tensor<2x3x64xf16>, %a1: tensor<2x3xi64>, %a2: tensor<40x8xf16>, %a3: tensor<40x8xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{it has a 'scale'}}
  %r = "onnx.RotaryEmbedding"(%a0, %a1, %a2, %a3) {num_heads = 4 : si64, scale = 2.0 : f32} : (tensor<2x3x64xf16>, tensor<2x3xi64>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x3x64xf16>)
  return %r : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @rotary_5
// CHECK-NEXT: "onnx.RotaryEmbedding"(%arg0
// CHECK-NEXT: return
func.func @rotary_5(%a0: tensor<2x3xf16>, %a1: tensor<2x3x8xf16>, %a2: tensor<2x3x8xf16>) -> (tensor<2x3xf16>) {
  // expected-remark @below {{expects a tensor of rank 3 or 4}}
  %r = "onnx.RotaryEmbedding"(%a0, %a1, %a2) {num_heads = 4 : si64} : (tensor<2x3xf16>, tensor<2x3x8xf16>, tensor<2x3x8xf16>) -> (tensor<2x3xf16>)
  return %r : tensor<2x3xf16>
}

// CHECK-LABEL: func.func @rotary_6
// CHECK-NEXT: "onnx.RotaryEmbedding"(%arg0
// CHECK-NEXT: return
func.func @rotary_6(%a0: tensor<2x3x64xf16>, %a1: tensor<2x3x8xf16>, %a2: tensor<2x3x8xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{expects a known number of heads that divides its columns, got 5}}
  %r = "onnx.RotaryEmbedding"(%a0, %a1, %a2) {num_heads = 5 : si64} : (tensor<2x3x64xf16>, tensor<2x3x8xf16>, tensor<2x3x8xf16>) -> (tensor<2x3x64xf16>)
  return %r : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @rotary_7
// CHECK-NEXT: "onnx.RotaryEmbedding"(%arg0
// CHECK-NEXT: return
func.func @rotary_7(%a0: tensor<2x3x64xf16>, %a1: tensor<40x8xf16>, %a2: tensor<40x8xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{it has no positions: expects a 'cos_cache' (batch, sequence, pairs)}}
  %r = "onnx.RotaryEmbedding"(%a0, %a1, %a2) {num_heads = 4 : si64} : (tensor<2x3x64xf16>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x3x64xf16>)
  return %r : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @rotary_8
// CHECK-NEXT: "onnx.RotaryEmbedding"(%arg0
// CHECK-NEXT: return
func.func @rotary_8(%a0: tensor<2x3x64xf16>, %a1: tensor<2x3x8xf16>, %a2: tensor<2x3x8xf16>, %a3: tensor<2x3xi64>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{expects positions for each row, or for all, of a 'cos_cache' (position, pairs)}}
  %r = "onnx.RotaryEmbedding"(%a0, %a1, %a2, %a3) {num_heads = 4 : si64} : (tensor<2x3x64xf16>, tensor<2x3x8xf16>, tensor<2x3x8xf16>, tensor<2x3xi64>) -> (tensor<2x3x64xf16>)
  return %r : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @rotary_9
// CHECK-NEXT: "onnx.RotaryEmbedding"(%arg0
// CHECK-NEXT: return
func.func @rotary_9(%a0: tensor<2x3x64xf16>, %a1: tensor<2xi64>, %a2: tensor<40x8xf16>, %a3: tensor<40x8xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{expects positions for each row, or one for all}}
  %r = "onnx.RotaryEmbedding"(%a0, %a1, %a2, %a3) {num_heads = 4 : si64} : (tensor<2x3x64xf16>, tensor<2xi64>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x3x64xf16>)
  return %r : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @rotary_10
// CHECK-NEXT: "onnx.RotaryEmbedding"(%arg0
// CHECK-NEXT: return
func.func @rotary_10(%a0: tensor<2x3x64xf16>, %a1: tensor<2x3x8xf16>, %a2: tensor<2x3x8xf16>) -> (tensor<2x3x64xf16>) {
  // expected-remark @below {{expects a column of cosines for each of 4 pairs}}
  %r = "onnx.RotaryEmbedding"(%a0, %a1, %a2) {num_heads = 4 : si64, rotary_embedding_dim = 8 : si64} : (tensor<2x3x64xf16>, tensor<2x3x8xf16>, tensor<2x3x8xf16>) -> (tensor<2x3x64xf16>)
  return %r : tensor<2x3x64xf16>
}

// CHECK-LABEL: func.func @rotary_11
// CHECK-NEXT: "onnx.RotaryEmbedding"(%arg0
// CHECK-NEXT: return
func.func @rotary_11(%a0: tensor<2x3x64xf32>, %a1: tensor<2x3x8xf16>, %a2: tensor<2x3x8xf16>) -> (tensor<2x3x64xf32>) {
  // expected-remark @below {{expects a source of f16 or bf16, got 'f32'}}
  %r = "onnx.RotaryEmbedding"(%a0, %a1, %a2) {num_heads = 4 : si64} : (tensor<2x3x64xf32>, tensor<2x3x8xf16>, tensor<2x3x8xf16>) -> (tensor<2x3x64xf32>)
  return %r : tensor<2x3x64xf32>
}

// CHECK-LABEL: func.func @rotary_12
// CHECK-NEXT: "onnx.RotaryEmbedding"(%arg0
// CHECK-NEXT: return
func.func @rotary_12(%a0: tensor<2x3x64xf16>, %a1: tensor<2x3x8xf16>, %a2: tensor<2x3x8xf16>) -> (tensor<2x3x64xf32>) {
  // expected-remark @below {{the type of its result is another one}}
  %r = "onnx.RotaryEmbedding"(%a0, %a1, %a2) {num_heads = 4 : si64} : (tensor<2x3x64xf16>, tensor<2x3x8xf16>, tensor<2x3x8xf16>) -> (tensor<2x3x64xf32>)
  return %r : tensor<2x3x64xf32>
}

// CHECK-LABEL: func.func @scatter_0
// CHECK-NEXT: "onnx.TensorScatter"(%arg0
// CHECK-NEXT: return
func.func @scatter_0(%a0: tensor<2x20x16xf16>, %a1: tensor<2x3x16xf16>) -> (tensor<2x20x16xf16>) {
  // expected-remark @below {{expects a cache and rows of rank 4}}
  %r = "onnx.TensorScatter"(%a0, %a1) {} : (tensor<2x20x16xf16>, tensor<2x3x16xf16>) -> (tensor<2x20x16xf16>)
  return %r : tensor<2x20x16xf16>
}

// CHECK-LABEL: func.func @scatter_1
// CHECK-NEXT: "onnx.TensorScatter"(%arg0
// CHECK-NEXT: return
func.func @scatter_1(%a0: tensor<2x2x20x16xf16>, %a1: tensor<2x2x3x16xf16>) -> (tensor<2x2x20x16xf16>) {
  // expected-remark @below {{its mode is 'circular', expects 'linear'}}
  %r = "onnx.TensorScatter"(%a0, %a1) {mode = "circular"} : (tensor<2x2x20x16xf16>, tensor<2x2x3x16xf16>) -> (tensor<2x2x20x16xf16>)
  return %r : tensor<2x2x20x16xf16>
}

// CHECK-LABEL: func.func @scatter_2
// CHECK-NEXT: "onnx.TensorScatter"(%arg0
// CHECK-NEXT: return
func.func @scatter_2(%a0: tensor<2x2x20x16xf16>, %a1: tensor<2x2x3x16xf16>) -> (tensor<2x2x20x16xf16>) {
  // expected-remark @below {{its axis is 1, expects -2}}
  %r = "onnx.TensorScatter"(%a0, %a1) {axis = 1 : si64} : (tensor<2x2x20x16xf16>, tensor<2x2x3x16xf16>) -> (tensor<2x2x20x16xf16>)
  return %r : tensor<2x2x20x16xf16>
}

// CHECK-LABEL: func.func @scatter_3
// CHECK-NEXT: "onnx.TensorScatter"(%arg0
// CHECK-NEXT: return
func.func @scatter_3(%a0: tensor<2x2x20x16xf16>, %a1: tensor<2x2x3x16xf16>, %a2: tensor<2xf32>) -> (tensor<2x2x20x16xf16>) {
  // expected-remark @below {{its 'write_indices' are no integers for each batch}}
  %r = "onnx.TensorScatter"(%a0, %a1, %a2) {} : (tensor<2x2x20x16xf16>, tensor<2x2x3x16xf16>, tensor<2xf32>) -> (tensor<2x2x20x16xf16>)
  return %r : tensor<2x2x20x16xf16>
}

// CHECK-LABEL: func.func @scatter_4
// CHECK-NEXT: "onnx.TensorScatter"(%arg0
// CHECK-NEXT: return
func.func @scatter_4(%a0: tensor<2x2x20x16xf16>, %a1: tensor<2x3x3x16xf16>) -> (tensor<2x2x20x16xf16>) {
  // expected-remark @below {{expects source and cache to agree in heads, got 3 and 2}}
  %r = "onnx.TensorScatter"(%a0, %a1) {} : (tensor<2x2x20x16xf16>, tensor<2x3x3x16xf16>) -> (tensor<2x2x20x16xf16>)
  return %r : tensor<2x2x20x16xf16>
}

// CHECK-LABEL: func.func @scatter_5
// CHECK-NEXT: "onnx.TensorScatter"(%arg0
// CHECK-NEXT: return
func.func @scatter_5(%a0: tensor<2x2x20x16xf16>, %a1: tensor<2x2x3x16xf16>) -> (tensor<2x2x20x16xf32>) {
  // expected-remark @below {{the type of its result is not that of the cache}}
  %r = "onnx.TensorScatter"(%a0, %a1) {} : (tensor<2x2x20x16xf16>, tensor<2x2x3x16xf16>) -> (tensor<2x2x20x16xf32>)
  return %r : tensor<2x2x20x16xf32>
}
