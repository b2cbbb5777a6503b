// GroupQueryAttention with a cache and rotation, as iree-import-onnx of IREE 3.13
// prints it. test/Embedding/onnx_runtime.py compares the numbers.
// RUN: fa3-opt %s -split-input-file -allow-unregistered-dialect -convert-to-attention | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// A cache with room: keys, rotated, and values go into it.
// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[X:.*]]: tensor<2x1x128xf16>, %[[PK:.*]]: tensor<2x2x20x16xf16>, %[[PV:.*]]: tensor<2x2x20x16xf16>, %[[LAST:.*]]: tensor<2xi32>, %{{.*}}: tensor<1xi32>, %[[COS:.*]]: tensor<64x8xf16>, %[[SIN:.*]]: tensor<64x8xf16>)
// CHECK-DAG: tensor.extract_slice %[[X]][0, 0, 0] [2, 1, 64] [1, 1, 1]
// CHECK-DAG: tensor.extract_slice %[[X]][0, 0, 64] [2, 1, 32] [1, 1, 1]
// CHECK-DAG: tensor.extract_slice %[[X]][0, 0, 96] [2, 1, 32] [1, 1, 1]
// CHECK: %[[OLD:.*]] = linalg.generic {{.*}} ins(%[[LAST]] :
// CHECK: arith.maxsi
// CHECK: %[[KEYS:.*]] = linalg.generic {{.*}} ins(%[[OLD]] :
// CHECK: %[[Q:.*]] = attention.rotary %{{.*}}, %[[COS]], %[[SIN]] at %[[OLD]] : tensor<2x4x1x16xf16>
// CHECK-NEXT: %[[TURNED:.*]] = attention.rotary %{{.*}}, %[[COS]], %[[SIN]] at %[[OLD]] : tensor<2x2x1x16xf16>
// CHECK-NEXT: %[[K:.*]] = attention.append %[[TURNED]], %[[PK]] at %[[OLD]]
// CHECK-NEXT: %[[V:.*]] = attention.append %{{.*}}, %[[PV]] at %[[OLD]]
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[Q]], %[[K]], %[[V]] aux(%[[KEYS]] : tensor<2xi32>) mods [#attention.used<k = 0>, #attention.causal]
// CHECK: tensor.collapse_shape
// CHECK: return %{{.*}}, %[[K]], %[[V]] :
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,1,128],f16>, !torch.vtensor<[2,2,20,16],f16>, !torch.vtensor<[2,2,20,16],f16>, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>, !torch.vtensor<[64,8],f16>, !torch.vtensor<[64,8],f16>) -> (!torch.vtensor<[2,1,64],f16>, !torch.vtensor<[2,2,20,16],f16>, !torch.vtensor<[2,2,20,16],f16>), sym_name = "step"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,1,128],f16>, %arg1: !torch.vtensor<[2,2,20,16],f16>, %arg2: !torch.vtensor<[2,2,20,16],f16>, %arg3: !torch.vtensor<[2],si32>, %arg4: !torch.vtensor<[1],si32>, %arg5: !torch.vtensor<[64,8],f16>, %arg6: !torch.vtensor<[64,8],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1:3 = "torch.operator"(%arg0, %0, %0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6) <{name = "onnx.GroupQueryAttention"}> {torch.onnx.do_rotary = 1 : si64, torch.onnx.kv_num_heads = 2 : si64, torch.onnx.num_heads = 4 : si64} : (!torch.vtensor<[2,1,128],f16>, !torch.none, !torch.none, !torch.vtensor<[2,2,20,16],f16>, !torch.vtensor<[2,2,20,16],f16>, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>, !torch.vtensor<[64,8],f16>, !torch.vtensor<[64,8],f16>) -> (!torch.vtensor<[2,1,64],f16>, !torch.vtensor<[2,2,20,16],f16>, !torch.vtensor<[2,2,20,16],f16>)
    "func.return"(%1#0, %1#1, %1#2) : (!torch.vtensor<[2,1,64],f16>, !torch.vtensor<[2,2,20,16],f16>, !torch.vtensor<[2,2,20,16],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.opset_versions = {com.microsoft = 1 : si64}} : () -> ()
}) : () -> ()

// -----

// A cache that grows: another one, with the past in front.
// CHECK-LABEL: func.func @chunk_longer
// CHECK: %[[ROOM:.*]] = linalg.fill {{.*}} -> tensor<1x2x12x16xf16>
// CHECK-NEXT: %[[CACHE:.*]] = tensor.insert_slice %{{.*}} into %[[ROOM]][0, 0, 0, 0] [1, 2, 7, 16] [1, 1, 1, 1]
// CHECK-NEXT: attention.append %{{.*}}, %[[CACHE]] at
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[1,5,128],f16>, !torch.vtensor<[1,2,7,16],f16>, !torch.vtensor<[1,2,7,16],f16>, !torch.vtensor<[1],si32>, !torch.vtensor<[1],si32>, !torch.vtensor<[64,8],f16>, !torch.vtensor<[64,8],f16>) -> (!torch.vtensor<[1,5,64],f16>, !torch.vtensor<[1,2,12,16],f16>, !torch.vtensor<[1,2,12,16],f16>), sym_name = "chunk_longer"}> ({
  ^bb0(%arg0: !torch.vtensor<[1,5,128],f16>, %arg1: !torch.vtensor<[1,2,7,16],f16>, %arg2: !torch.vtensor<[1,2,7,16],f16>, %arg3: !torch.vtensor<[1],si32>, %arg4: !torch.vtensor<[1],si32>, %arg5: !torch.vtensor<[64,8],f16>, %arg6: !torch.vtensor<[64,8],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1:3 = "torch.operator"(%arg0, %0, %0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6) <{name = "onnx.GroupQueryAttention"}> {torch.onnx.do_rotary = 1 : si64, torch.onnx.kv_num_heads = 2 : si64, torch.onnx.num_heads = 4 : si64} : (!torch.vtensor<[1,5,128],f16>, !torch.none, !torch.none, !torch.vtensor<[1,2,7,16],f16>, !torch.vtensor<[1,2,7,16],f16>, !torch.vtensor<[1],si32>, !torch.vtensor<[1],si32>, !torch.vtensor<[64,8],f16>, !torch.vtensor<[64,8],f16>) -> (!torch.vtensor<[1,5,64],f16>, !torch.vtensor<[1,2,12,16],f16>, !torch.vtensor<[1,2,12,16],f16>)
    "func.return"(%1#0, %1#1, %1#2) : (!torch.vtensor<[1,5,64],f16>, !torch.vtensor<[1,2,12,16],f16>, !torch.vtensor<[1,2,12,16],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.opset_versions = {com.microsoft = 1 : si64}} : () -> ()
}) : () -> ()

// -----

// No past: rows are those of the prompt, in their order.
// CHECK-LABEL: func.func @prompt_padded
// CHECK-NOT: attention.append
// CHECK: %[[Q:.*]] = attention.rotary {{.*}} layout bshd : tensor<2x6x4x16xf16>
// CHECK-NEXT: %[[K:.*]] = attention.rotary {{.*}} layout bshd : tensor<2x6x2x16xf16>
// CHECK: %[[PRESENT:.*]] = linalg.transpose ins(%[[K]] :
// CHECK: attention.forward %[[Q]], %[[K]], %{{.*}} layout bshd mods [#attention.causal]
// CHECK: return %{{.*}}, %[[PRESENT]],
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,6,128],f16>, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>, !torch.vtensor<[64,8],f16>, !torch.vtensor<[64,8],f16>) -> (!torch.vtensor<[2,6,64],f16>, !torch.vtensor<[2,2,6,16],f16>, !torch.vtensor<[2,2,6,16],f16>), sym_name = "prompt_padded"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,6,128],f16>, %arg1: !torch.vtensor<[2],si32>, %arg2: !torch.vtensor<[1],si32>, %arg3: !torch.vtensor<[64,8],f16>, %arg4: !torch.vtensor<[64,8],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1:3 = "torch.operator"(%arg0, %0, %0, %0, %0, %arg1, %arg2, %arg3, %arg4) <{name = "onnx.GroupQueryAttention"}> {torch.onnx.do_rotary = 1 : si64, torch.onnx.kv_num_heads = 2 : si64, torch.onnx.num_heads = 4 : si64} : (!torch.vtensor<[2,6,128],f16>, !torch.none, !torch.none, !torch.none, !torch.none, !torch.vtensor<[2],si32>, !torch.vtensor<[1],si32>, !torch.vtensor<[64,8],f16>, !torch.vtensor<[64,8],f16>) -> (!torch.vtensor<[2,6,64],f16>, !torch.vtensor<[2,2,6,16],f16>, !torch.vtensor<[2,2,6,16],f16>)
    "func.return"(%1#0, %1#1, %1#2) : (!torch.vtensor<[2,6,64],f16>, !torch.vtensor<[2,2,6,16],f16>, !torch.vtensor<[2,2,6,16],f16>) -> ()
  }) {torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 24 : si64, torch.onnx_meta.opset_versions = {com.microsoft = 1 : si64}} : () -> ()
}) : () -> ()

// -----

// Rotation by positions, as com.microsoft has it: one for a step, and for all.
// CHECK-LABEL: func.func @positions
// CHECK: %[[AT:.*]] = linalg.generic
// CHECK: attention.rotary %{{.*}}, %arg2, %arg3 at %{{.*}} interleaved layout bshd : tensor<2x1x4x32xf16>, tensor<64x8xf16>
// CHECK: linalg.fill
// CHECK: attention.rotary %arg4, %arg2, %arg3 at %{{.*}} : tensor<2x4x3x16xf16>
func.func @positions(%x: tensor<2x1x128xf16>, %ids: tensor<2x1xi64>, %cos: tensor<64x8xf16>, %sin: tensor<64x8xf16>, %y: tensor<2x4x3x16xf16>, %all: tensor<1xi64>) -> (tensor<2x1x128xf16>, tensor<2x4x3x16xf16>) {
  %0 = "onnx.Custom"(%x, %ids, %cos, %sin) {function_name = "RotaryEmbedding", domain_name = "com.microsoft", interleaved = 1 : si64, num_heads = 4 : si64, rotary_embedding_dim = 16 : si64} : (tensor<2x1x128xf16>, tensor<2x1xi64>, tensor<64x8xf16>, tensor<64x8xf16>) -> tensor<2x1x128xf16>
  %1 = "onnx.Custom"(%y, %all, %cos, %sin) {function_name = "RotaryEmbedding", domain_name = "com.microsoft"} : (tensor<2x4x3x16xf16>, tensor<1xi64>, tensor<64x8xf16>, tensor<64x8xf16>) -> tensor<2x4x3x16xf16>
  return %0, %1 : tensor<2x1x128xf16>, tensor<2x4x3x16xf16>
}

// -----

// More keys than queries come in: what counts is the extent of the past.
// CHECK-LABEL: func.func @past
// CHECK: attention.forward %arg0, %{{.*}}, %{{.*}} mods [#attention.window<right = 7, align = top_left>]
// CHECK-LABEL: func.func @past_unknown
// CHECK: %[[PAST:.*]] = tensor.dim %arg2
// CHECK: mask_mod (%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) {
// CHECK: %[[LIMIT:.*]] = arith.addi %[[I]], %[[PAST]] : index
// CHECK: arith.cmpi sle, %[[J]], %[[LIMIT]] : index
func.func @past(%q: tensor<2x4x3x16xf16>, %k: tensor<2x4x5x16xf16>, %p: tensor<2x4x7x16xf16>) -> tensor<2x4x3x16xf16> {
  %n = "onnx.NoValue"() : () -> none
  %y:3 = "onnx.Attention"(%q, %k, %k, %n, %p, %p) {is_causal = 1 : si64} : (tensor<2x4x3x16xf16>, tensor<2x4x5x16xf16>, tensor<2x4x5x16xf16>, none, tensor<2x4x7x16xf16>, tensor<2x4x7x16xf16>) -> (tensor<2x4x3x16xf16>, tensor<2x4x12x16xf16>, tensor<2x4x12x16xf16>)
  return %y#0 : tensor<2x4x3x16xf16>
}
func.func @past_unknown(%q: tensor<2x4x3x16xf16>, %k: tensor<2x4x?x16xf16>, %p: tensor<2x4x?x16xf16>) -> tensor<2x4x3x16xf16> {
  %n = "onnx.NoValue"() : () -> none
  %y:3 = "onnx.Attention"(%q, %k, %k, %n, %p, %p) {is_causal = 1 : si64} : (tensor<2x4x3x16xf16>, tensor<2x4x?x16xf16>, tensor<2x4x?x16xf16>, none, tensor<2x4x?x16xf16>, tensor<2x4x?x16xf16>) -> (tensor<2x4x3x16xf16>, tensor<2x4x?x16xf16>, tensor<2x4x?x16xf16>)
  return %y#0 : tensor<2x4x3x16xf16>
}
