// What is not converted stays, and a remark says why. Malformed operations too:
// nobody has verified them.
// RUN: fa3-opt %s -split-input-file -allow-unregistered-dialect -convert-to-attention -verify-diagnostics | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// The remark engine gets them, where it wants them.
// RUN: fa3-opt %s -split-input-file -allow-unregistered-dialect -convert-to-attention -remarks-filter-missed=convert-to-attention 2>&1 | FileCheck %s --check-prefix=ENGINE
// ENGINE: [Missed] LeftAlone | Category:convert-to-attention | Remark="'iree_linalg_ext.online_attention' is left as it is

// CHECK-LABEL: func.func @online
// CHECK: iree_linalg_ext.online_attention
func.func @online(%q: tensor<2x8x16xf16>) -> tensor<2x8x16xf32> {
  // expected-remark @below {{'iree_linalg_ext.online_attention' is left as it is: it gives the parts of a running sum, which other operations finish; convert before IREE makes it of iree_linalg_ext.attention}}
  %0:3 = "iree_linalg_ext.online_attention"(%q, %q, %q) : (tensor<2x8x16xf16>, tensor<2x8x16xf16>, tensor<2x8x16xf16>) -> (tensor<2x8x16xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return %0#0 : tensor<2x8x16xf32>
}

// -----

// An attention of before 2024.
func.func @no_maps(%q: tensor<2x8x16xf16>, %o: tensor<2x8x16xf16>) -> tensor<2x8x16xf16> {
  // expected-remark @below {{it has no 'indexing_maps', as in IREE before 2024}}
  %0 = "iree_linalg_ext.attention"(%q, %q, %q, %o) : (tensor<2x8x16xf16>, tensor<2x8x16xf16>, tensor<2x8x16xf16>, tensor<2x8x16xf16>) -> tensor<2x8x16xf16>
  return %0 : tensor<2x8x16xf16>
}

// -----

#q = affine_map<(b, m, n, k, l) -> (b, m, l)>
#k = affine_map<(b, m, n, k, l) -> (b, k, l)>
#v = affine_map<(b, m, n, k, l) -> (b, k, n)>
#s = affine_map<(b, m, n, k, l) -> ()>
#o = affine_map<(b, m, n, k, l) -> (b, m, n)>
// 32 bits are no format of operands.
func.func @f32(%q: tensor<2x8x16xf32>, %s: f32, %o: tensor<2x8x16xf32>) -> tensor<2x8x16xf32> {
  // expected-remark @below {{expects elements of f16, bf16, f8E4M3FN, f8E5M2 or i8, got 'f32'}}
  %0 = "iree_linalg_ext.attention"(%q, %q, %q, %s, %o) <{indexing_maps = [#q, #k, #v, #s, #o]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>, f32, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return %0 : tensor<2x8x16xf32>
}

// The result has more bits than the operands.
func.func @wide(%q: tensor<2x8x16xf16>, %s: f32, %o: tensor<2x8x16xf32>) -> tensor<2x8x16xf32> {
  // expected-remark @below {{expects a result of the element type of q (f16), got f32}}
  %0 = "iree_linalg_ext.attention"(%q, %q, %q, %s, %o) <{indexing_maps = [#q, #k, #v, #s, #o]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<2x8x16xf16>, tensor<2x8x16xf16>, tensor<2x8x16xf16>, f32, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return %0 : tensor<2x8x16xf32>
}

// Nothing of the attempt stays behind.
// CHECK-LABEL: func.func @call
// CHECK-NEXT: "iree_linalg_ext.attention"
// CHECK: "other.scale"
// CHECK: return
func.func @call(%q: tensor<2x8x16xf16>, %s: f32, %o: tensor<2x8x16xf16>) -> tensor<2x8x16xf16> {
  // expected-remark @below {{its code has 'other.scale'}}
  %0 = "iree_linalg_ext.attention"(%q, %q, %q, %s, %o) <{indexing_maps = [#q, #k, #v, #s, #o]}> ({
  ^bb0(%x: f32):
    %y = "other.scale"(%x) : (f32) -> f32
    "iree_linalg_ext.yield"(%y) : (f32) -> ()
  }) : (tensor<2x8x16xf16>, tensor<2x8x16xf16>, tensor<2x8x16xf16>, f32, tensor<2x8x16xf16>) -> tensor<2x8x16xf16>
  return %0 : tensor<2x8x16xf16>
}

func.func @maps(%q: tensor<2x8x16xf16>, %s: f32, %o: tensor<2x8x16xf16>) -> tensor<2x8x16xf16> {
  // expected-remark @below {{the map of k does not fit its shape}}
  %0 = "iree_linalg_ext.attention"(%q, %q, %q, %s, %o) <{indexing_maps = [#q, #s, #v, #s, #o]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<2x8x16xf16>, tensor<2x8x16xf16>, tensor<2x8x16xf16>, f32, tensor<2x8x16xf16>) -> tensor<2x8x16xf16>
  return %0 : tensor<2x8x16xf16>
}

func.func @roles(%q: tensor<2x8x16xf16>, %s: f32, %o: tensor<2x8x16xf16>) -> tensor<2x8x16xf16> {
  // expected-remark @below {{its dimensions are not those of an attention}}
  %0 = "iree_linalg_ext.attention"(%q, %q, %q, %s, %o) <{indexing_maps = [#q, #q, #q, #s, #q]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<2x8x16xf16>, tensor<2x8x16xf16>, tensor<2x8x16xf16>, f32, tensor<2x8x16xf16>) -> tensor<2x8x16xf16>
  return %0 : tensor<2x8x16xf16>
}

func.func @region(%q: tensor<2x8x16xf16>, %s: f32, %o: tensor<2x8x16xf16>) -> tensor<2x8x16xf16> {
  // expected-remark @below {{expects a region that takes and yields a score}}
  %0 = "iree_linalg_ext.attention"(%q, %q, %q, %s, %o) <{indexing_maps = [#q, #k, #v, #s, #o]}> ({
  ^bb0:
    "iree_linalg_ext.yield"() : () -> ()
  }) : (tensor<2x8x16xf16>, tensor<2x8x16xf16>, tensor<2x8x16xf16>, f32, tensor<2x8x16xf16>) -> tensor<2x8x16xf16>
  return %0 : tensor<2x8x16xf16>
}

// -----

func.func @ranks(%a: i32) {
  // expected-remark @below {{expects q, k, v, perhaps a mask, and the output as operands, and one result, a tensor}}
  %0 = "tm_tensor.attention"(%a) : (i32) -> tensor<4xf32>
  // expected-remark @below {{expects tensors of rank 3 or more}}
  %1 = "tm_tensor.attention"(%a, %a, %a, %a) : (i32, i32, i32, i32) -> i32
  return
}

// -----

func.func @torch(%q: !torch.vtensor<[2,4,40,16],f16>, %k: !torch.vtensor<[2,2,40,16],f16>, %m: !torch.vtensor<[40,40],i1>, %p: !torch.float, %u: !torch.vtensor<*,f16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %zero = "torch.constant.float"() <{value = 0.0 : f64}> : () -> !torch.float
  %false = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %true = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
  // expected-remark @below {{it has a dropout that is not known to be 0}}
  %0 = "torch.aten.scaled_dot_product_attention"(%q, %q, %q, %none, %p, %false, %none, %false) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
  // expected-remark @below {{it has both a mask and is_causal}}
  %1 = "torch.aten.scaled_dot_product_attention"(%q, %q, %q, %m, %zero, %true, %none, %false) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[40,40],i1>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
  // expected-remark @below {{k has extent 2 in dimension 1, where q has 4}}
  %2 = "torch.aten.scaled_dot_product_attention"(%q, %k, %k, %none, %zero, %false, %none, %false) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
  // expected-remark @below {{expects its scale to be a constant}}
  %3 = "torch.aten.scaled_dot_product_attention"(%q, %q, %q, %none, %zero, %false, %p, %false) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
  // expected-remark @below {{its tensors have no known rank or element type}}
  %4 = "torch.aten.scaled_dot_product_attention"(%u, %u, %u, %none, %zero, %false, %none, %false) : (!torch.vtensor<*,f16>, !torch.vtensor<*,f16>, !torch.vtensor<*,f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<*,f16>
  // expected-remark @below {{expects 8 operands and a result, got 1 and 1}}
  %5 = "torch.aten.scaled_dot_product_attention"(%q) : (!torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>
  return
}

// -----

func.func private @score(%s: !torch.vtensor<[],f32>, %b: !torch.vtensor<[],si32>, %h: !torch.vtensor<[],si32>, %i: !torch.vtensor<[],si32>, %j: !torch.vtensor<[],si32>) -> !torch.vtensor<[],f32> {
  %0 = "torch.aten.digamma"(%s) : (!torch.vtensor<[],f32>) -> !torch.vtensor<[],f32>
  return %0 : !torch.vtensor<[],f32>
}
func.func @flex(%q: !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40],f32> {
  %scale = "torch.constant.float"() <{value = 0.25 : f64}> : () -> !torch.float
  %false = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  // expected-remark @below {{its code has 'torch.aten.digamma'}}
  %0:3 = "torch.hop_flex_attention"(%q, %q, %q, %scale, %false, %false) <{score_mod_fn = @score}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.float, !torch.bool, !torch.bool) -> (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40],f32>, !torch.vtensor<[2,4,40],f32>)
  // expected-remark @below {{'mask_mod_fn' names no function of 4 tensors of rank 0 that returns one}}
  %1:3 = "torch.hop_flex_attention"(%q, %q, %q, %scale, %false, %false) <{mask_mod_fn = @score}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.float, !torch.bool, !torch.bool) -> (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40],f32>, !torch.vtensor<[2,4,40],f32>)
  // expected-remark @below {{its log-sum-exp is used, which has the base 2 here}}
  %2:3 = "torch.hop_flex_attention"(%q, %q, %q, %scale, %false, %false) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.float, !torch.bool, !torch.bool) -> (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40],f32>, !torch.vtensor<[2,4,40],f32>)
  return %2#1 : !torch.vtensor<[2,4,40],f32>
}

// -----

func.func @cudnn(%q: tensor<2x40x4x16xf16>) {
  // expected-remark @below {{of cuDNN's calls '__cudnn$fmhaSoftmax', '__cudnn$fmhaScaleBiasSoftmax' and their gradients are converted, this is '__cudnn$fmhaSoftmaxDropoutBackward'}}
  %0 = "stablehlo.custom_call"(%q) <{call_target_name = "__cudnn$fmhaSoftmaxDropoutBackward"}> : (tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
  // expected-remark @below {{its 'backend_config' is no JSON: [1:1, byte=1]: Expected object key}}
  %1 = "stablehlo.custom_call"(%q) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{"}> : (tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
  // expected-remark @below {{its 'backend_config' has no 'cudnn_fmha_backend_config'}}
  %2 = "stablehlo.custom_call"(%q) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "[]"}> : (tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
  // expected-remark @below {{it has a dropout}}
  %3 = "stablehlo.custom_call"(%q) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22dropout_rate\22: 0.5}}"}> : (tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
  // expected-remark @below {{its keys are paged}}
  %4 = "stablehlo.custom_call"(%q) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22is_paged_attention\22: true}}"}> : (tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
  // expected-remark @below {{it has a mask of the type 'ALIBI'}}
  %5 = "stablehlo.custom_call"(%q) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25, \22mask_type\22: \22ALIBI\22}}"}> : (tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
  // expected-remark @below {{expects 3 operands and two results or more, got 1 and 1}}
  %6 = "stablehlo.custom_call"(%q) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}"}> : (tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
  // expected-remark @below {{its products have other dimensions than those of (b, s, h, d) or (b, h, s, d)}}
  %7:2 = "stablehlo.custom_call"(%q, %q, %q) <{call_target_name = "__cudnn$fmhaSoftmax", backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25}}"}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> (tensor<2x4x40x16xf16>, tensor<0xui8>)
  // Other calls are none of ours.
  %8 = "stablehlo.custom_call"(%q) <{call_target_name = "other"}> : (tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
  return
}

// -----

func.func @onnx(%q: tensor<2x4x40x16xf16>, %p: tensor<2x4x8x16xf16>, %n: none, %f: tensor<2x40x64xf16>, %l: tensor<2xi32>) -> tensor<2x4x40x40xf16> {
  // expected-remark @below {{its 'past_value' is no tensor (batch, head, row, element) that fits its keys and values}}
  %0 = "onnx.Attention"(%q, %q, %q, %n, %p, %n) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, none, tensor<2x4x8x16xf16>, none) -> tensor<2x4x40x16xf16>
  // expected-remark @below {{expects three operands or more, and a result}}
  %1 = "onnx.Attention"(%q) : (tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
  // expected-remark @below {{expects known numbers of heads, those of q a multiple of those of k, got -1 and -1}}
  %2 = "onnx.Attention"(%f, %f, %f) : (tensor<2x40x64xf16>, tensor<2x40x64xf16>, tensor<2x40x64xf16>) -> tensor<2x40x64xf16>
  // expected-remark @below {{its soft cap is not positive}}
  %3 = "onnx.Attention"(%q, %q, %q) {softcap = -1.0 : f32} : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
  // expected-remark @below {{its 'qk_matmul_output' is used (mode 0), which attention.forward does not have}}
  %4:4 = "onnx.Attention"(%q, %q, %q) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> (tensor<2x4x40x16xf16>, none, none, tensor<2x4x40x40xf16>)
  // expected-remark @below {{it rotates q and k ('do_rotary') without 'cos_cache' and 'sin_cache'}}
  %5 = "onnx.Custom"(%f, %f, %f, %n, %n, %l, %l) {function_name = "GroupQueryAttention", domain_name = "com.microsoft", num_heads = 4 : si64, kv_num_heads = 4 : si64, do_rotary = 1 : si64} : (tensor<2x40x64xf16>, tensor<2x40x64xf16>, tensor<2x40x64xf16>, none, none, tensor<2xi32>, tensor<2xi32>) -> tensor<2x40x64xf16>
  // expected-remark @below {{expects a tensor (batch, sequence, columns), columns a multiple of its 12 heads}}
  %6 = "onnx.Custom"(%f, %n, %n, %n, %n, %l, %l) {function_name = "GroupQueryAttention", domain_name = "com.microsoft", num_heads = 4 : si64, kv_num_heads = 4 : si64} : (tensor<2x40x64xf16>, none, none, none, none, tensor<2xi32>, tensor<2xi32>) -> tensor<2x40x64xf16>
  // Attention of com.microsoft has its projections: something else.
  %7 = "onnx.Custom"(%f, %f) {function_name = "Attention", domain_name = "com.microsoft"} : (tensor<2x40x64xf16>, tensor<2x40x64xf16>) -> tensor<2x40x64xf16>
  return %4#3 : tensor<2x4x40x40xf16>
}

// -----

// CHECK-LABEL: func.func @gradients
// CHECK-NOT: attention.backward
func.func @gradients(%q: tensor<2x40x4x16xf16>, %l: tensor<2x4x40xf32>, %m: tensor<2x4x41xf32>, %n: tensor<2xi32>, %u: tensor<*xf32>, %b: tensor<1x4x40x40xf16>) -> (tensor<2x4x40x16xf16>, tensor<0xui8>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x41x16xf16>, tensor<1x4x40x40xf32>, tensor<2x4x40x16xf16>) {
  // expected-remark @below {{expects 6 operands and four results, five with the gradient of a bias, got 5 and 4}}
  %0:4 = "stablehlo.custom_call"(%q, %q, %q, %l, %q) <{backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25, \22mask_type\22: \22NO_MASK\22, \22bmm2_grad_gemm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}", call_target_name = "__cudnn$fmhaSoftmaxBackward"}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x4x40xf32>, tensor<2x40x4x16xf16>) -> (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<0xui8>)
  // expected-remark @below {{its workspace is used}}
  %1:4 = "stablehlo.custom_call"(%q, %q, %q, %l, %q, %q) <{backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25, \22mask_type\22: \22NO_MASK\22, \22bmm2_grad_gemm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}", call_target_name = "__cudnn$fmhaSoftmaxBackward"}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x4x40xf32>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<0xui8>)
  // expected-remark @below {{its lengths are no integers for each batch}}
  %2:4 = "stablehlo.custom_call"(%q, %q, %q, %l, %q, %q, %n, %q) <{backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25, \22mask_type\22: \22PADDING\22, \22bmm2_grad_gemm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}", call_target_name = "__cudnn$fmhaSoftmaxBackward"}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x4x40xf32>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2xi32>, tensor<2x40x4x16xf16>) -> (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<0xui8>)
  // expected-remark @below {{expects ranked tensors}}
  %3:4 = "stablehlo.custom_call"(%q, %q, %q, %u, %q, %q) <{backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25, \22mask_type\22: \22NO_MASK\22, \22bmm2_grad_gemm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}", call_target_name = "__cudnn$fmhaSoftmaxBackward"}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<*xf32>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<0xui8>)
  // expected-remark @below {{'attention.backward' op expects q and lse to agree in length, got 40 and 41}}
  %4:4 = "stablehlo.custom_call"(%q, %q, %q, %m, %q, %q) <{backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25, \22mask_type\22: \22NO_MASK\22, \22bmm2_grad_gemm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}", call_target_name = "__cudnn$fmhaSoftmaxBackward"}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x4x41xf32>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<0xui8>)
  // expected-remark @below {{the type of its result 1 is not that of its operand, as (b, h, s, d)}}
  %5:4 = "stablehlo.custom_call"(%q, %q, %q, %l, %q, %q) <{backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25, \22mask_type\22: \22NO_MASK\22, \22bmm2_grad_gemm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}", call_target_name = "__cudnn$fmhaSoftmaxBackward"}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x4x40xf32>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> (tensor<2x4x40x16xf16>, tensor<2x4x41x16xf16>, tensor<2x4x40x16xf16>, tensor<0xui8>)
  // expected-remark @below {{the type of the gradient of its bias is not that of it}}
  %6:5 = "stablehlo.custom_call"(%q, %q, %q, %l, %q, %b, %q) <{backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25, \22mask_type\22: \22NO_MASK\22, \22bmm2_grad_gemm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}", call_target_name = "__cudnn$fmhaScaleBiasSoftmaxBackward"}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x4x40xf32>, tensor<2x40x4x16xf16>, tensor<1x4x40x40xf16>, tensor<2x40x4x16xf16>) -> (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<1x4x40x40xf32>, tensor<0xui8>)
  // expected-remark @below {{it has a dropout}}
  %7:4 = "stablehlo.custom_call"(%q, %q, %q, %l, %q, %q) <{backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25, \22mask_type\22: \22NO_MASK\22, \22dropout_rate\22: 0.5, \22bmm2_grad_gemm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}}}", call_target_name = "__cudnn$fmhaSoftmaxBackward"}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x4x40xf32>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<0xui8>)
  return %0#0, %1#3, %2#0, %3#0, %4#0, %5#1, %6#3, %7#0 : tensor<2x4x40x16xf16>, tensor<0xui8>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x41x16xf16>, tensor<1x4x40x40xf32>, tensor<2x4x40x16xf16>
}

// -----

// Programs of autograd: torch has chosen a kernel there.
func.func @autograd(%q: !torch.vtensor<[2,4,40,16],f16>, %l: !torch.vtensor<[2,4,40],f32>, %p: !torch.float, %c: !torch.bool, %n: !torch.none) -> !torch.vtensor<[2,4,40,16],f16> {
  // expected-remark @below {{'torch.aten._scaled_dot_product_flash_attention_for_cpu' is a kernel of torch; expects 'torch.aten.scaled_dot_product_attention', whose gradient attention-differentiate makes}}
  %0:2 = "torch.aten._scaled_dot_product_flash_attention_for_cpu"(%q, %q, %q, %p, %c, %n, %n) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.float, !torch.bool, !torch.none, !torch.none) -> (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40],f32>)
  // expected-remark @below {{'torch.aten._scaled_dot_product_flash_attention_for_cpu_backward' is the gradient of a kernel of torch}}
  %1:3 = "torch.operator"(%q, %q, %q, %q, %0#0, %0#1, %p, %c, %n, %n) <{name = "torch.aten._scaled_dot_product_flash_attention_for_cpu_backward"}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40],f32>, !torch.float, !torch.bool, !torch.none, !torch.none) -> (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>)
  return %1#0 : !torch.vtensor<[2,4,40,16],f16>
}
