// Attention of f32 is rounded to what `cast` says, and stays without it. What is
// in 16 bits already is not rounded again.
// SPDX-License-Identifier: Apache-2.0
// RUN: fa3-opt %s -allow-unregistered-dialect -convert-to-attention=cast=f16 -split-input-file | FileCheck %s
// RUN: fa3-opt %s -allow-unregistered-dialect -convert-to-attention=cast=bf16 -split-input-file | FileCheck %s --check-prefix=BF16
// RUN: fa3-opt %s -allow-unregistered-dialect -convert-to-attention -split-input-file 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not fa3-opt %s -allow-unregistered-dialect -convert-to-attention=cast=f8 -split-input-file 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: Cannot find option named 'f8'
// NONE: remark: 'torch.aten.scaled_dot_product_attention' is left as it is: {{.*}} got 'f32'

// CHECK-LABEL: func.func @torch
// CHECK-DAG: %[[Q:.*]] = arith.truncf %arg0 : tensor<2x4x40x16xf32> to tensor<2x4x40x16xf16>
// CHECK-DAG: %[[K:.*]] = arith.truncf %arg1 : tensor<2x4x40x16xf32> to tensor<2x4x40x16xf16>
// CHECK-DAG: %[[V:.*]] = arith.truncf %arg2 : tensor<2x4x40x16xf32> to tensor<2x4x40x16xf16>
// CHECK: %[[O:.*]] = attention.forward %[[Q]], %[[K]], %[[V]] mods [#attention.causal]
// CHECK: %[[R:.*]] = arith.extf %[[O]] : tensor<2x4x40x16xf16> to tensor<2x4x40x16xf32>
// CHECK: return %[[R]]
// BF16-LABEL: func.func @torch
// BF16: attention.forward {{.*}} -> tensor<2x4x40x16xbf16>
// BF16: arith.extf {{.*}} to tensor<2x4x40x16xf32>
func.func @torch(%q: !torch.vtensor<[2,4,40,16],f32>, %k: !torch.vtensor<[2,4,40,16],f32>, %v: !torch.vtensor<[2,4,40,16],f32>) -> !torch.vtensor<[2,4,40,16],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() <{value = 0.0 : f64}> : () -> !torch.float
  %true = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
  %false = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %true, %none, %false) : (!torch.vtensor<[2,4,40,16],f32>, !torch.vtensor<[2,4,40,16],f32>, !torch.vtensor<[2,4,40,16],f32>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f32>
  func.return %o : !torch.vtensor<[2,4,40,16],f32>
}

// -----

// CHECK-LABEL: func.func @half
// CHECK-NOT: arith.truncf
// CHECK: attention.forward
// CHECK-NOT: arith.extf
// CHECK: return
// BF16-LABEL: func.func @half
// BF16: attention.forward {{.*}} -> tensor<2x4x40x16xf16>
func.func @half(%q: !torch.vtensor<[2,4,40,16],f16>, %k: !torch.vtensor<[2,4,40,16],f16>, %v: !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16> {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() <{value = 0.0 : f64}> : () -> !torch.float
  %false = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %false, %none, %false) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
  func.return %o : !torch.vtensor<[2,4,40,16],f16>
}

// -----

// Written out.
// CHECK-LABEL: func.func @written
// CHECK: attention.forward {{.*}} -> tensor<8x1x40x16xf16>
// CHECK: arith.extf
// CHECK-NOT: torch.aten
func.func @written(%q: !torch.vtensor<[8,40,16],f32>, %kt: !torch.vtensor<[8,40,16],f32>, %v: !torch.vtensor<[8,40,16],f32>) -> !torch.vtensor<[8,40,16],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %last = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
  %one = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
  %two = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
  %k = "torch.aten.transpose.int"(%kt, %one, %two) : (!torch.vtensor<[8,40,16],f32>, !torch.int, !torch.int) -> !torch.vtensor<[8,16,40],f32>
  %s = "torch.aten.bmm"(%q, %k) : (!torch.vtensor<[8,40,16],f32>, !torch.vtensor<[8,16,40],f32>) -> !torch.vtensor<[8,40,40],f32>
  %p = "torch.aten.softmax.int"(%s, %last, %none) : (!torch.vtensor<[8,40,40],f32>, !torch.int, !torch.none) -> !torch.vtensor<[8,40,40],f32>
  %o = "torch.aten.bmm"(%p, %v) : (!torch.vtensor<[8,40,40],f32>, !torch.vtensor<[8,40,16],f32>) -> !torch.vtensor<[8,40,16],f32>
  func.return %o : !torch.vtensor<[8,40,16],f32>
}
