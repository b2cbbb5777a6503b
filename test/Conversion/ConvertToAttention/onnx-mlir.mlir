// onnx.Attention and GroupQueryAttention in onnx.Custom, in the forms of
// onnx-mlir's own tests and of programs that it has printed.
// RUN: fa3-opt %s -split-input-file -allow-unregistered-dialect -convert-to-attention | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: func.func @flat
// CHECK: %[[Q:.*]] = tensor.expand_shape %arg0 {{\[\[}}0], [1], [2, 3]] output_shape [2, 10, 8, 8]
// CHECK: %[[O:.*]] = attention.forward %[[Q]], %{{.*}}, %{{.*}} layout bshd : (tensor<2x10x8x8xf16>, tensor<2x20x8x8xf16>, tensor<2x20x8x8xf16>) -> tensor<2x10x8x8xf16>
// CHECK-NEXT: tensor.collapse_shape %[[O]]
func.func @flat(%Q: tensor<2x10x64xf16>, %K: tensor<2x20x64xf16>, %V: tensor<2x20x64xf16>) -> tensor<2x10x64xf16> {
  %none = "onnx.NoValue"() {value} : () -> none
  %Y, %present_key, %present_value, %qk_out = "onnx.Attention"(%Q, %K, %V, %none, %none, %none, %none) {q_num_heads = 8 : si64, kv_num_heads = 8 : si64} : (tensor<2x10x64xf16>, tensor<2x20x64xf16>, tensor<2x20x64xf16>, none, none, none, none) -> (tensor<2x10x64xf16>, none, none, none)
  return %Y : tensor<2x10x64xf16>
}

// -----

// CHECK-LABEL: func.func @lengths
// CHECK-NEXT: attention.forward %arg0, %arg1, %arg2 aux(%arg3 : tensor<1xi64>) scale 5.000000e-01
// CHECK-NEXT: mask_mod (%[[B:.*]], %{{.*}}, %{{.*}}, %[[J:.*]]) {
// CHECK: %[[N:.*]] = tensor.extract %arg3[%{{.*}}] : tensor<1xi64>
// CHECK-NEXT: %[[L:.*]] = arith.index_cast %[[N]] : i64 to index
// CHECK-NEXT: arith.cmpi slt, %[[J]], %[[L]] : index
func.func @lengths(%Q: tensor<1x1x1x8xf16>, %K: tensor<1x1x4x8xf16>, %V: tensor<1x1x4x8xf16>, %nonpad: tensor<1xi64>) -> tensor<1x1x1x8xf16> {
  %none0 = "onnx.NoValue"() : () -> none
  %Y, %pk, %pv, %qkmm = "onnx.Attention"(%Q, %K, %V, %none0, %none0, %none0, %nonpad) {is_causal = 0 : si64, qk_matmul_output_mode = 0 : si64, scale = 5.000000e-01 : f32, softcap = 0.000000e+00 : f32} : (tensor<1x1x1x8xf16>, tensor<1x1x4x8xf16>, tensor<1x1x4x8xf16>, none, none, none, tensor<1xi64>) -> (tensor<1x1x1x8xf16>, none, none, none)
  return %Y : tensor<1x1x1x8xf16>
}

// -----

// CHECK-LABEL: func.func @group_query
// CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} aux(%arg3 : tensor<1x1xi32>) layout bshd mods [#attention.causal] : (tensor<1x128x32x96xf16>, tensor<1x128x16x96xf16>, tensor<1x128x16x96xf16>)
// CHECK-NEXT: mask_mod (%[[B:.*]], %{{.*}}, %{{.*}}, %[[J:.*]]) {
// CHECK: tensor.extract %arg3[%{{.*}}, %{{.*}}] : tensor<1x1xi32>
func.func @group_query(%q: tensor<1x128x3072xf16>, %k: tensor<1x128x1536xf16>, %v: tensor<1x128x1536xf16>, %seqlens: tensor<1x1xi32>, %total: tensor<i32>) -> tensor<1x128x3072xf16> {
  %none = "onnx.NoValue"() {value} : () -> none
  %out, %pk, %pv = "onnx.Custom"(%q, %k, %v, %none, %none, %seqlens, %total, %none, %none) {do_rotary = 0 : si64, domain_name = "com.microsoft", function_name = "GroupQueryAttention", kv_num_heads = 16 : si64, num_heads = 32 : si64, rotary_interleaved = 0 : si64, scale = 0.000000e+00 : f32, softcap = 0.000000e+00 : f32} : (tensor<1x128x3072xf16>, tensor<1x128x1536xf16>, tensor<1x128x1536xf16>, none, none, tensor<1x1xi32>, tensor<i32>, none, none) -> (tensor<1x128x3072xf16>, none, none)
  return %out : tensor<1x128x3072xf16>
}

// -----

// An empty cache is none.
// CHECK-LABEL: func.func @empty_cache
// CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} aux(%arg5 : tensor<1xi32>) scale 0.08838833{{[0-9]*}} layout bshd mods [#attention.softcap<3.000000e+01 : f64>, #attention.window<left = 63, right = 0, align = top_left>]
func.func @empty_cache(%q: tensor<1x128x4096xf16>, %k: tensor<1x128x1024xf16>, %v: tensor<1x128x1024xf16>, %pk: tensor<1x8x0x128xf16>, %pv: tensor<1x8x0x128xf16>, %seqlens: tensor<1xi32>, %total: tensor<i32>) -> tensor<1x128x4096xf16> {
  %none = "onnx.NoValue"() {value} : () -> none
  %out:3 = "onnx.Custom"(%q, %k, %v, %pk, %pv, %seqlens, %total, %none, %none) <{function_name = "GroupQueryAttention"}> {domain_name = "com.microsoft", do_rotary = 0 : si64, kv_num_heads = 8 : si64, num_heads = 32 : si64, local_window_size = 64 : si64, scale = 8.838834e-02 : f32, softcap = 3.000000e+01 : f32} : (tensor<1x128x4096xf16>, tensor<1x128x1024xf16>, tensor<1x128x1024xf16>, tensor<1x8x0x128xf16>, tensor<1x8x0x128xf16>, tensor<1xi32>, tensor<i32>, none, none) -> (tensor<1x128x4096xf16>, tensor<1x8x128x128xf16>, tensor<1x8x128x128xf16>)
  return %out#0 : tensor<1x128x4096xf16>
}
