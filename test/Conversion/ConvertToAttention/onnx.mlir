// ONNX's Attention (opset 24) and com.microsoft's GroupQueryAttention as
// iree-import-onnx of IREE 3.13 prints them. Printed by Inputs/projects.py, which also compares the numbers.
// RUN: fa3-opt %s -split-input-file -allow-unregistered-dialect -convert-to-attention | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: func.func @bool_mask
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>, %[[A3:.*]]: tensor<40x40xi1>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]] : tensor<40x40xi1>) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: mask_mod (%[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]]) {
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A6]], %[[A7]]] : tensor<40x40xi1>
// CHECK-NEXT: attention.yield %[[EXTRACTED]] : i1
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[40,40],i1>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "bool_mask"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>, %arg3: !torch.vtensor<[40,40],i1>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2, %arg3) <{name = "onnx.Attention"}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[40,40],i1>) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%1) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @causal
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] mods [#attention.causal] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "causal"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2) <{name = "onnx.Attention"}> {torch.onnx.is_causal = 1 : si64} : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%1) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @causal_longer
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x72x16xf16>, %[[A2:.*]]: tensor<2x4x72x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] mods [#attention.causal<align = top_left>] : (tensor<2x4x40x16xf16>, tensor<2x4x72x16xf16>, tensor<2x4x72x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,72,16],f16>, !torch.vtensor<[2,4,72,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "causal_longer"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,72,16],f16>, %arg2: !torch.vtensor<[2,4,72,16],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2) <{name = "onnx.Attention"}> {torch.onnx.is_causal = 1 : si64} : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,72,16],f16>, !torch.vtensor<[2,4,72,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%1) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @flat
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x64xf16>, %[[A1:.*]]: tensor<2x40x32xf16>, %[[A2:.*]]: tensor<2x40x32xf16>) -> tensor<2x40x64xf16>
// CHECK-NEXT: %[[EXPANDED:.*]] = tensor.expand_shape %[[A0]] {{\[\[}}0], [1], [2, 3]] output_shape [2, 40, 4, 16] : tensor<2x40x64xf16> into tensor<2x40x4x16xf16>
// CHECK-NEXT: %[[EXPANDED_0:.*]] = tensor.expand_shape %[[A1]] {{\[\[}}0], [1], [2, 3]] output_shape [2, 40, 2, 16] : tensor<2x40x32xf16> into tensor<2x40x2x16xf16>
// CHECK-NEXT: %[[EXPANDED_1:.*]] = tensor.expand_shape %[[A2]] {{\[\[}}0], [1], [2, 3]] output_shape [2, 40, 2, 16] : tensor<2x40x32xf16> into tensor<2x40x2x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[EXPANDED]], %[[EXPANDED_0]], %[[EXPANDED_1]] layout bshd mods [#attention.causal] : (tensor<2x40x4x16xf16>, tensor<2x40x2x16xf16>, tensor<2x40x2x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: %[[COLLAPSED:.*]] = tensor.collapse_shape %[[O]] {{\[\[}}0], [1], [2, 3]] : tensor<2x40x4x16xf16> into tensor<2x40x64xf16>
// CHECK-NEXT: return %[[COLLAPSED]] : tensor<2x40x64xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2,40,32],f16>) -> !torch.vtensor<[2,40,64],f16>, sym_name = "flat"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,40,64],f16>, %arg1: !torch.vtensor<[2,40,32],f16>, %arg2: !torch.vtensor<[2,40,32],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2) <{name = "onnx.Attention"}> {torch.onnx.is_causal = 1 : si64, torch.onnx.kv_num_heads = 2 : si64, torch.onnx.q_num_heads = 4 : si64} : (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2,40,32],f16>) -> !torch.vtensor<[2,40,64],f16>
    "func.return"(%1) : (!torch.vtensor<[2,40,64],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @float_mask
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>, %[[A3:.*]]: tensor<2x1x40x40xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]] : tensor<2x1x40x40xf16>) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: score_mod (%[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]], %[[A8:.*]]) {
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A5]], %[[C0]], %[[A7]], %[[A8]]] : tensor<2x1x40x40xf16>
// CHECK-NEXT: %[[X0:.*]] = arith.extf %[[EXTRACTED]] : f16 to f32
// CHECK-NEXT: %[[X1:.*]] = arith.addf %[[A4]], %[[X0]] : f32
// CHECK-NEXT: attention.yield %[[X1]] : f32
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,1,40,40],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "float_mask"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>, %arg3: !torch.vtensor<[2,1,40,40],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2, %arg3) <{name = "onnx.Attention"}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,1,40,40],f16>) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%1) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @gqa
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x2x40x16xf16>, %[[A2:.*]]: tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] mods [#attention.causal] : (tensor<2x4x40x16xf16>, tensor<2x2x40x16xf16>, tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "gqa"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,2,40,16],f16>, %arg2: !torch.vtensor<[2,2,40,16],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2) <{name = "onnx.Attention"}> {torch.onnx.is_causal = 1 : si64} : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%1) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @group_query
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x64xf16>, %[[A1:.*]]: tensor<2x40x32xf16>, %[[A2:.*]]: tensor<2x40x32xf16>, %[[A3:.*]]: tensor<2xi32>, %[[A4:.*]]: tensor<1xi32>) -> tensor<2x40x64xf16>
// CHECK-NEXT: %[[EXPANDED:.*]] = tensor.expand_shape %[[A0]] {{\[\[}}0], [1], [2, 3]] output_shape [2, 40, 4, 16] : tensor<2x40x64xf16> into tensor<2x40x4x16xf16>
// CHECK-NEXT: %[[EXPANDED_0:.*]] = tensor.expand_shape %[[A1]] {{\[\[}}0], [1], [2, 3]] output_shape [2, 40, 2, 16] : tensor<2x40x32xf16> into tensor<2x40x2x16xf16>
// CHECK-NEXT: %[[EXPANDED_1:.*]] = tensor.expand_shape %[[A2]] {{\[\[}}0], [1], [2, 3]] output_shape [2, 40, 2, 16] : tensor<2x40x32xf16> into tensor<2x40x2x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[EXPANDED]], %[[EXPANDED_0]], %[[EXPANDED_1]] aux(%[[A3]] : tensor<2xi32>) layout bshd mods [#attention.causal] : (tensor<2x40x4x16xf16>, tensor<2x40x2x16xf16>, tensor<2x40x2x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: mask_mod (%[[A5:.*]], %[[A6:.*]], %[[A7:.*]], %[[A8:.*]]) {
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A5]]] : tensor<2xi32>
// CHECK-NEXT: %[[X0:.*]] = arith.index_cast %[[EXTRACTED]] : i32 to index
// CHECK-NEXT: %[[X1:.*]] = arith.cmpi sle, %[[A8]], %[[X0]] : index
// CHECK-NEXT: attention.yield %[[X1]] : i1
// CHECK: %[[COLLAPSED:.*]] = tensor.collapse_shape %[[O]] {{\[\[}}0], [1], [2, 3]] : tensor<2x40x4x16xf16> into tensor<2x40x64xf16>
// CHECK-NEXT: return %[[COLLAPSED]] : tensor<2x40x64xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>, sym_name = "group_query"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,40,64],f16>, %arg1: !torch.vtensor<[2,40,32],f16>, %arg2: !torch.vtensor<[2,40,32],f16>, %arg3: !torch.vtensor<[2],si32>, %arg4: !torch.vtensor<[1],si32>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2, %0, %0, %arg3, %arg4) <{name = "onnx.GroupQueryAttention"}> {torch.onnx.kv_num_heads = 2 : si64, torch.onnx.num_heads = 4 : si64} : (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2,40,32],f16>, !torch.none, !torch.none, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>
    "func.return"(%1) : (!torch.vtensor<[2,40,64],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.opset_versions = {com.microsoft = 1 : si64}, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @group_query_softcap
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x64xf16>, %[[A1:.*]]: tensor<2x40x32xf16>, %[[A2:.*]]: tensor<2x40x32xf16>, %[[A3:.*]]: tensor<2xi32>, %[[A4:.*]]: tensor<1xi32>) -> tensor<2x40x64xf16>
// CHECK-NEXT: %[[EXPANDED:.*]] = tensor.expand_shape %[[A0]] {{\[\[}}0], [1], [2, 3]] output_shape [2, 40, 4, 16] : tensor<2x40x64xf16> into tensor<2x40x4x16xf16>
// CHECK-NEXT: %[[EXPANDED_0:.*]] = tensor.expand_shape %[[A1]] {{\[\[}}0], [1], [2, 3]] output_shape [2, 40, 2, 16] : tensor<2x40x32xf16> into tensor<2x40x2x16xf16>
// CHECK-NEXT: %[[EXPANDED_1:.*]] = tensor.expand_shape %[[A2]] {{\[\[}}0], [1], [2, 3]] output_shape [2, 40, 2, 16] : tensor<2x40x32xf16> into tensor<2x40x2x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[EXPANDED]], %[[EXPANDED_0]], %[[EXPANDED_1]] aux(%[[A3]] : tensor<2xi32>) layout bshd mods [#attention.softcap<5.000000e+00 : f64>, #attention.causal] : (tensor<2x40x4x16xf16>, tensor<2x40x2x16xf16>, tensor<2x40x2x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: mask_mod (%[[A5:.*]], %[[A6:.*]], %[[A7:.*]], %[[A8:.*]]) {
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A5]]] : tensor<2xi32>
// CHECK-NEXT: %[[X0:.*]] = arith.index_cast %[[EXTRACTED]] : i32 to index
// CHECK-NEXT: %[[X1:.*]] = arith.cmpi sle, %[[A8]], %[[X0]] : index
// CHECK-NEXT: attention.yield %[[X1]] : i1
// CHECK: %[[COLLAPSED:.*]] = tensor.collapse_shape %[[O]] {{\[\[}}0], [1], [2, 3]] : tensor<2x40x4x16xf16> into tensor<2x40x64xf16>
// CHECK-NEXT: return %[[COLLAPSED]] : tensor<2x40x64xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>, sym_name = "group_query_softcap"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,40,64],f16>, %arg1: !torch.vtensor<[2,40,32],f16>, %arg2: !torch.vtensor<[2,40,32],f16>, %arg3: !torch.vtensor<[2],si32>, %arg4: !torch.vtensor<[1],si32>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2, %0, %0, %arg3, %arg4) <{name = "onnx.GroupQueryAttention"}> {torch.onnx.kv_num_heads = 2 : si64, torch.onnx.num_heads = 4 : si64, torch.onnx.softcap = 5.000000e+00 : f32} : (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2,40,32],f16>, !torch.none, !torch.none, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>
    "func.return"(%1) : (!torch.vtensor<[2,40,64],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.opset_versions = {com.microsoft = 1 : si64}, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @group_query_window
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x64xf16>, %[[A1:.*]]: tensor<2x40x32xf16>, %[[A2:.*]]: tensor<2x40x32xf16>, %[[A3:.*]]: tensor<2xi32>, %[[A4:.*]]: tensor<1xi32>) -> tensor<2x40x64xf16>
// CHECK-NEXT: %[[EXPANDED:.*]] = tensor.expand_shape %[[A0]] {{\[\[}}0], [1], [2, 3]] output_shape [2, 40, 4, 16] : tensor<2x40x64xf16> into tensor<2x40x4x16xf16>
// CHECK-NEXT: %[[EXPANDED_0:.*]] = tensor.expand_shape %[[A1]] {{\[\[}}0], [1], [2, 3]] output_shape [2, 40, 2, 16] : tensor<2x40x32xf16> into tensor<2x40x2x16xf16>
// CHECK-NEXT: %[[EXPANDED_1:.*]] = tensor.expand_shape %[[A2]] {{\[\[}}0], [1], [2, 3]] output_shape [2, 40, 2, 16] : tensor<2x40x32xf16> into tensor<2x40x2x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[EXPANDED]], %[[EXPANDED_0]], %[[EXPANDED_1]] aux(%[[A3]] : tensor<2xi32>) scale 5.000000e-01 layout bshd mods [#attention.window<left = 7, right = 0, align = top_left>] : (tensor<2x40x4x16xf16>, tensor<2x40x2x16xf16>, tensor<2x40x2x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: mask_mod (%[[A5:.*]], %[[A6:.*]], %[[A7:.*]], %[[A8:.*]]) {
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A5]]] : tensor<2xi32>
// CHECK-NEXT: %[[X0:.*]] = arith.index_cast %[[EXTRACTED]] : i32 to index
// CHECK-NEXT: %[[X1:.*]] = arith.cmpi sle, %[[A8]], %[[X0]] : index
// CHECK-NEXT: attention.yield %[[X1]] : i1
// CHECK: %[[COLLAPSED:.*]] = tensor.collapse_shape %[[O]] {{\[\[}}0], [1], [2, 3]] : tensor<2x40x4x16xf16> into tensor<2x40x64xf16>
// CHECK-NEXT: return %[[COLLAPSED]] : tensor<2x40x64xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>, sym_name = "group_query_window"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,40,64],f16>, %arg1: !torch.vtensor<[2,40,32],f16>, %arg2: !torch.vtensor<[2,40,32],f16>, %arg3: !torch.vtensor<[2],si32>, %arg4: !torch.vtensor<[1],si32>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2, %0, %0, %arg3, %arg4) <{name = "onnx.GroupQueryAttention"}> {torch.onnx.kv_num_heads = 2 : si64, torch.onnx.local_window_size = 8 : si64, torch.onnx.num_heads = 4 : si64, torch.onnx.scale = 5.000000e-01 : f32} : (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2,40,32],f16>, !torch.none, !torch.none, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>
    "func.return"(%1) : (!torch.vtensor<[2,40,64],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.opset_versions = {com.microsoft = 1 : si64}, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
// CHECK-LABEL: func.func @group_query_scale(
// CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} aux(%{{.*}} : tensor<2xi32>) scale 1.250000e-01 layout bshd mods [#attention.causal] : (tensor<2x40x4x16xf16>, tensor<2x40x2x16xf16>, tensor<2x40x2x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: mask_mod (
  "func.func"() <{function_type = (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>, sym_name = "group_query_scale"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,40,64],f16>, %arg1: !torch.vtensor<[2,40,32],f16>, %arg2: !torch.vtensor<[2,40,32],f16>, %arg3: !torch.vtensor<[2],si32>, %arg4: !torch.vtensor<[1],si32>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2, %0, %0, %arg3, %arg4) <{name = "onnx.GroupQueryAttention"}> {torch.onnx.kv_num_heads = 2 : si64, torch.onnx.num_heads = 4 : si64, torch.onnx.scale = 1.250000e-01 : f32} : (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2,40,32],f16>, !torch.none, !torch.none, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>
    "func.return"(%1) : (!torch.vtensor<[2,40,64],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.opset_versions = {com.microsoft = 1 : si64}, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
// CHECK-LABEL: func.func @group_query_window_softcap(
// CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} aux(%{{.*}} : tensor<2xi32>) layout bshd mods [#attention.softcap<2.000000e+00 : f64>, #attention.window<left = 15, right = 0, align = top_left>] : (tensor<2x40x4x16xf16>, tensor<2x40x2x16xf16>, tensor<2x40x2x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: mask_mod (
  "func.func"() <{function_type = (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>, sym_name = "group_query_window_softcap"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,40,64],f16>, %arg1: !torch.vtensor<[2,40,32],f16>, %arg2: !torch.vtensor<[2,40,32],f16>, %arg3: !torch.vtensor<[2],si32>, %arg4: !torch.vtensor<[1],si32>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2, %0, %0, %arg3, %arg4) <{name = "onnx.GroupQueryAttention"}> {torch.onnx.kv_num_heads = 2 : si64, torch.onnx.local_window_size = 16 : si64, torch.onnx.num_heads = 4 : si64, torch.onnx.softcap = 2.000000e+00 : f32} : (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2,40,32],f16>, !torch.none, !torch.none, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>
    "func.return"(%1) : (!torch.vtensor<[2,40,64],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.opset_versions = {com.microsoft = 1 : si64}, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
// CHECK-LABEL: func.func @group_query_all(
// CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} aux(%{{.*}} : tensor<2xi32>) scale 3.000000e-01 layout bshd mods [#attention.softcap<3.000000e+00 : f64>, #attention.window<left = 4, right = 0, align = top_left>] : (tensor<2x40x4x16xf16>, tensor<2x40x2x16xf16>, tensor<2x40x2x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: mask_mod (
  "func.func"() <{function_type = (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>, sym_name = "group_query_all"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,40,64],f16>, %arg1: !torch.vtensor<[2,40,32],f16>, %arg2: !torch.vtensor<[2,40,32],f16>, %arg3: !torch.vtensor<[2],si32>, %arg4: !torch.vtensor<[1],si32>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2, %0, %0, %arg3, %arg4) <{name = "onnx.GroupQueryAttention"}> {torch.onnx.kv_num_heads = 2 : si64, torch.onnx.local_window_size = 5 : si64, torch.onnx.num_heads = 4 : si64, torch.onnx.scale = 3.000000e-01 : f32, torch.onnx.softcap = 3.000000e+00 : f32} : (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,32],f16>, !torch.vtensor<[2,40,32],f16>, !torch.none, !torch.none, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>
    "func.return"(%1) : (!torch.vtensor<[2,40,64],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.opset_versions = {com.microsoft = 1 : si64}, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
// CHECK-LABEL: func.func @multi_head(
// CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} aux(%{{.*}} : tensor<2xi32>) layout bshd mods [#attention.causal] : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: mask_mod (
  "func.func"() <{function_type = (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>, sym_name = "multi_head"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,40,64],f16>, %arg1: !torch.vtensor<[2,40,64],f16>, %arg2: !torch.vtensor<[2,40,64],f16>, %arg3: !torch.vtensor<[2],si32>, %arg4: !torch.vtensor<[1],si32>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2, %0, %0, %arg3, %arg4) <{name = "onnx.GroupQueryAttention"}> {torch.onnx.kv_num_heads = 4 : si64, torch.onnx.num_heads = 4 : si64} : (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,64],f16>, !torch.none, !torch.none, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>
    "func.return"(%1) : (!torch.vtensor<[2,40,64],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.opset_versions = {com.microsoft = 1 : si64}, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
// CHECK-LABEL: func.func @multi_query(
// CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} aux(%{{.*}} : tensor<2xi32>) layout bshd mods [#attention.causal] : (tensor<2x40x4x16xf16>, tensor<2x40x1x16xf16>, tensor<2x40x1x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: mask_mod (
  "func.func"() <{function_type = (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,16],f16>, !torch.vtensor<[2,40,16],f16>, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>, sym_name = "multi_query"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,40,64],f16>, %arg1: !torch.vtensor<[2,40,16],f16>, %arg2: !torch.vtensor<[2,40,16],f16>, %arg3: !torch.vtensor<[2],si32>, %arg4: !torch.vtensor<[1],si32>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2, %0, %0, %arg3, %arg4) <{name = "onnx.GroupQueryAttention"}> {torch.onnx.kv_num_heads = 1 : si64, torch.onnx.num_heads = 4 : si64} : (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,16],f16>, !torch.vtensor<[2,40,16],f16>, !torch.none, !torch.none, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>
    "func.return"(%1) : (!torch.vtensor<[2,40,64],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.opset_versions = {com.microsoft = 1 : si64}, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
// CHECK-LABEL: func.func @multi_query_window(
// CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} aux(%{{.*}} : tensor<2xi32>) layout bshd mods [#attention.window<left = 0, right = 0, align = top_left>] : (tensor<2x40x4x16xf16>, tensor<2x40x1x16xf16>, tensor<2x40x1x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: mask_mod (
  "func.func"() <{function_type = (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,16],f16>, !torch.vtensor<[2,40,16],f16>, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>, sym_name = "multi_query_window"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,40,64],f16>, %arg1: !torch.vtensor<[2,40,16],f16>, %arg2: !torch.vtensor<[2,40,16],f16>, %arg3: !torch.vtensor<[2],si32>, %arg4: !torch.vtensor<[1],si32>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2, %0, %0, %arg3, %arg4) <{name = "onnx.GroupQueryAttention"}> {torch.onnx.kv_num_heads = 1 : si64, torch.onnx.local_window_size = 1 : si64, torch.onnx.num_heads = 4 : si64} : (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[2,40,16],f16>, !torch.vtensor<[2,40,16],f16>, !torch.none, !torch.none, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>) -> !torch.vtensor<[2,40,64],f16>
    "func.return"(%1) : (!torch.vtensor<[2,40,64],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.opset_versions = {com.microsoft = 1 : si64}, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @lengths
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>, %[[A3:.*]]: tensor<2xi64>) -> tensor<2x4x40x16xf16> attributes {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""}
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]] : tensor<2xi64>) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: mask_mod (%[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]]) {
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A4]]] : tensor<2xi64>
// CHECK-NEXT: %[[X0:.*]] = arith.index_cast %[[EXTRACTED]] : i64 to index
// CHECK-NEXT: %[[X1:.*]] = arith.cmpi slt, %[[A7]], %[[X0]] : index
// CHECK-NEXT: attention.yield %[[X1]] : i1
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2],si64>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "lengths"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>, %arg3: !torch.vtensor<[2],si64>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2, %0, %0, %0, %arg3) <{name = "onnx.Attention"}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.none, !torch.none, !torch.none, !torch.vtensor<[2],si64>) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%1) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @mask_causal
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>, %[[A3:.*]]: tensor<40x40xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]] : tensor<40x40xf16>) mods [#attention.causal] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: score_mod (%[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]], %[[A8:.*]]) {
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A7]], %[[A8]]] : tensor<40x40xf16>
// CHECK-NEXT: %[[X0:.*]] = arith.extf %[[EXTRACTED]] : f16 to f32
// CHECK-NEXT: %[[X1:.*]] = arith.addf %[[A4]], %[[X0]] : f32
// CHECK-NEXT: attention.yield %[[X1]] : f32
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[40,40],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "mask_causal"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>, %arg3: !torch.vtensor<[40,40],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2, %arg3) <{name = "onnx.Attention"}> {torch.onnx.is_causal = 1 : si64} : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[40,40],f16>) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%1) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @mask_softcap
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>, %[[A3:.*]]: tensor<2x4x40x40xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]] : tensor<2x4x40x40xf16>) mods [#attention.softcap<3.000000e+00 : f64>] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: score_mod (%[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]], %[[A8:.*]]) {
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A5]], %[[A6]], %[[A7]], %[[A8]]] : tensor<2x4x40x40xf16>
// CHECK-NEXT: %[[X0:.*]] = arith.extf %[[EXTRACTED]] : f16 to f32
// CHECK-NEXT: %[[X1:.*]] = arith.addf %[[A4]], %[[X0]] : f32
// CHECK-NEXT: attention.yield %[[X1]] : f32
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,40],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "mask_softcap"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>, %arg3: !torch.vtensor<[2,4,40,40],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2, %arg3) <{name = "onnx.Attention"}> {torch.onnx.softcap = 3.000000e+00 : f32} : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,40],f16>) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%1) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @plain
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "plain"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2) <{name = "onnx.Attention"}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%1) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @scale_softcap
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] scale 5.000000e-01 mods [#attention.softcap<5.000000e+00 : f64>] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "scale_softcap"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.operator"(%arg0, %arg1, %arg2) <{name = "onnx.Attention"}> {torch.onnx.scale = 5.000000e-01 : f32, torch.onnx.softcap = 5.000000e+00 : f32} : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%1) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} : () -> ()
}) : () -> ()
