// Gradients in programs of JAX that call cuDNN: of grouped heads under a causal
// mask, of a bias, and of padded sequences. The calls are as JAX 0.10.2 prints them,
// without settings that nobody reads.
// REQUIRES: mlir-runner
// RUN: %embedding --kernels 6 --before convert-to-attention
// RUN: cat %S/Inputs/prelude.mlir %s | fa3-opt -allow-unregistered-dialect -convert-to-attention | FileCheck %s

// CHECK-LABEL: func.func private @causal
// CHECK: %[[O:.*]], %[[LSE:.*]] = attention.forward %arg0, %arg1, %arg2 layout bshd mods [#attention.causal]
// CHECK: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = attention.backward %arg0, %arg1, %arg2, %[[O]], %[[LSE]], %arg3 scale %{{.*}} layout bshd mods [#attention.causal]
// CHECK-NEXT: return %[[O]], %[[DQ]], %[[DK]], %[[DV]]
func.func private @causal(%arg0: tensor<2x20x4x16xf16>, %arg1: tensor<2x20x2x16xf16>, %arg2: tensor<2x20x2x16xf16>, %arg3: tensor<2x20x4x16xf16>) -> (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x2x16xf16>, tensor<2x20x2x16xf16>) {
    %0:3 = "stablehlo.custom_call"(%arg0, %arg1, %arg2) <{api_version = 2 : i32, backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25, \22is_flash_attention\22: true, \22mask_type\22: \22CAUSAL\22, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22dropout_rate\22: 0.0, \22seed\22: 42, \22sliding_window_length\22: 0, \22max_seg_per_batch\22: 1, \22is_paged_attention\22: false}}", call_target_name = "__cudnn$fmhaSoftmax"}> : (tensor<2x20x4x16xf16>, tensor<2x20x2x16xf16>, tensor<2x20x2x16xf16>) -> (tensor<2x4x20x16xf16>, tensor<2x4x20xf32>, tensor<0xui8>)
    %1 = "stablehlo.transpose"(%0#0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x20x16xf16>) -> tensor<2x20x4x16xf16>
    %2:4 = "stablehlo.custom_call"(%arg0, %arg1, %arg2, %0#1, %arg3, %1) <{api_version = 2 : i32, backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25, \22is_flash_attention\22: true, \22mask_type\22: \22CAUSAL\22, \22bmm1_grad_gemm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\222\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm1_grad_gemm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_grad_gemm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\222\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_grad_gemm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22dropout_rate\22: 0.0, \22seed\22: 42, \22sliding_window_length\22: 0, \22max_seg_per_batch\22: 1, \22is_paged_attention\22: false}}", call_target_name = "__cudnn$fmhaSoftmaxBackward"}> : (tensor<2x20x4x16xf16>, tensor<2x20x2x16xf16>, tensor<2x20x2x16xf16>, tensor<2x4x20xf32>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>) -> (tensor<2x4x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<0xui8>)
    %3 = "stablehlo.transpose"(%2#0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x20x16xf16>) -> tensor<2x20x4x16xf16>
    %4 = "stablehlo.transpose"(%2#1) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x2x20x16xf16>) -> tensor<2x20x2x16xf16>
    %5 = "stablehlo.transpose"(%2#2) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x2x20x16xf16>) -> tensor<2x20x2x16xf16>
    return %1, %3, %4, %5 : tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x2x16xf16>, tensor<2x20x2x16xf16>
}

// CHECK-LABEL: func.func private @bias
// CHECK: attention.forward
// CHECK: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]], %[[DBIAS:.*]] = attention.backward {{.*}} aux(%arg3 : tensor<1x4x20x20xf16>) grad_aux [0] scale %{{.*}} layout bshd mods [#attention.bias<aux = 0>]
// CHECK: return %{{.*}}, %[[DQ]], %[[DK]], %[[DV]], %[[DBIAS]]
func.func private @bias(%arg0: tensor<2x20x4x16xf16>, %arg1: tensor<2x20x4x16xf16>, %arg2: tensor<2x20x4x16xf16>, %arg3: tensor<1x4x20x20xf16>, %arg4: tensor<2x20x4x16xf16>) -> (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<1x4x20x20xf16>) {
    %0:3 = "stablehlo.custom_call"(%arg0, %arg1, %arg2, %arg3) <{api_version = 2 : i32, backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25, \22is_flash_attention\22: true, \22mask_type\22: \22NO_MASK\22, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22dropout_rate\22: 0.0, \22seed\22: 42, \22sliding_window_length\22: 0, \22max_seg_per_batch\22: 1, \22is_paged_attention\22: false}}", call_target_name = "__cudnn$fmhaScaleBiasSoftmax"}> : (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<1x4x20x20xf16>) -> (tensor<2x4x20x16xf16>, tensor<2x4x20xf32>, tensor<0xui8>)
    %1 = "stablehlo.transpose"(%0#0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x20x16xf16>) -> tensor<2x20x4x16xf16>
    %2:5 = "stablehlo.custom_call"(%arg0, %arg1, %arg2, %0#1, %arg4, %arg3, %1) <{api_version = 2 : i32, backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25, \22is_flash_attention\22: true, \22mask_type\22: \22NO_MASK\22, \22bmm1_grad_gemm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\222\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm1_grad_gemm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_grad_gemm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\222\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_grad_gemm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22dropout_rate\22: 0.0, \22seed\22: 42, \22sliding_window_length\22: 0, \22max_seg_per_batch\22: 1, \22is_paged_attention\22: false}}", call_target_name = "__cudnn$fmhaScaleBiasSoftmaxBackward"}> : (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x4x20xf32>, tensor<2x20x4x16xf16>, tensor<1x4x20x20xf16>, tensor<2x20x4x16xf16>) -> (tensor<2x4x20x16xf16>, tensor<2x4x20x16xf16>, tensor<2x4x20x16xf16>, tensor<1x4x20x20xf16>, tensor<0xui8>)
    %3 = "stablehlo.transpose"(%2#0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x20x16xf16>) -> tensor<2x20x4x16xf16>
    %4 = "stablehlo.transpose"(%2#1) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x20x16xf16>) -> tensor<2x20x4x16xf16>
    %5 = "stablehlo.transpose"(%2#2) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x20x16xf16>) -> tensor<2x20x4x16xf16>
    return %1, %3, %4, %5, %2#3 : tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<1x4x20x20xf16>
}

// CHECK-LABEL: func.func private @lengths
// CHECK: attention.forward
// CHECK: attention.backward {{.*}} aux(%arg3, %arg4 : tensor<2xi32>, tensor<2xi32>) {{.*}} mods [#attention.causal]
// CHECK-NEXT: mask_mod (%[[B:.*]], %{{.*}}, %[[I:.*]], %[[J:.*]]) {
// CHECK: tensor.extract %arg3[%[[B]]]
// CHECK: arith.cmpi slt, %[[I]],
// CHECK: tensor.extract %arg4[%[[B]]]
// CHECK: arith.cmpi slt, %[[J]],
func.func private @lengths(%arg0: tensor<2x20x4x16xf16>, %arg1: tensor<2x20x4x16xf16>, %arg2: tensor<2x20x4x16xf16>, %arg3: tensor<2xi32>, %arg4: tensor<2xi32>, %arg5: tensor<2x20x4x16xf16>) -> (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>) {
    %0:3 = "stablehlo.custom_call"(%arg0, %arg1, %arg2, %arg3, %arg4) <{api_version = 2 : i32, backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25, \22is_flash_attention\22: true, \22mask_type\22: \22PADDING_CAUSAL\22, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22dropout_rate\22: 0.0, \22seed\22: 42, \22sliding_window_length\22: 0, \22max_seg_per_batch\22: 1, \22is_paged_attention\22: false}}", call_target_name = "__cudnn$fmhaSoftmax"}> : (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2x4x20x16xf16>, tensor<2x4x20xf32>, tensor<0xui8>)
    %1 = "stablehlo.transpose"(%0#0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x20x16xf16>) -> tensor<2x20x4x16xf16>
    %2:4 = "stablehlo.custom_call"(%arg0, %arg1, %arg2, %0#1, %arg5, %1, %arg3, %arg4) <{api_version = 2 : i32, backend_config = "{\22cudnn_fmha_backend_config\22: {\22fmha_scale\22: 0.25, \22is_flash_attention\22: true, \22mask_type\22: \22PADDING_CAUSAL\22, \22bmm1_grad_gemm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\222\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm1_grad_gemm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_grad_gemm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\222\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_grad_gemm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22dropout_rate\22: 0.0, \22seed\22: 42, \22sliding_window_length\22: 0, \22max_seg_per_batch\22: 1, \22is_paged_attention\22: false}}", call_target_name = "__cudnn$fmhaSoftmaxBackward"}> : (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x4x20xf32>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2x4x20x16xf16>, tensor<2x4x20x16xf16>, tensor<2x4x20x16xf16>, tensor<0xui8>)
    %3 = "stablehlo.transpose"(%2#0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x20x16xf16>) -> tensor<2x20x4x16xf16>
    %4 = "stablehlo.transpose"(%2#1) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x20x16xf16>) -> tensor<2x20x4x16xf16>
    %5 = "stablehlo.transpose"(%2#2) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x20x16xf16>) -> tensor<2x20x4x16xf16>
    return %1, %3, %4, %5 : tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>
}

func.func private @get(%seed: index) -> tensor<2x20x4x16xf16> {
  %n = arith.constant 2560 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<2560xf16>
  %q = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [2, 20, 4, 16] : tensor<2560xf16> into tensor<2x20x4x16xf16>
  return %q : tensor<2x20x4x16xf16>
}
func.func private @get_keys(%seed: index) -> tensor<2x20x2x16xf16> {
  %n = arith.constant 1280 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<1280xf16>
  %q = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [2, 20, 2, 16] : tensor<1280xf16> into tensor<2x20x2x16xf16>
  return %q : tensor<2x20x2x16xf16>
}
func.func private @get_bias(%seed: index) -> tensor<1x4x20x20xf16> {
  %n = arith.constant 1600 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<1600xf16>
  %q = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [1, 4, 20, 20] : tensor<1600xf16> into tensor<1x4x20x20xf16>
  return %q : tensor<1x4x20x20xf16>
}
func.func private @show(%x: tensor<2x20x4x16xf16>) {
  %r = tensor.collapse_shape %x [[0, 1, 2, 3]] : tensor<2x20x4x16xf16> into tensor<2560xf16>
  %s = tensor.cast %r : tensor<2560xf16> to tensor<?xf16>
  call @print(%s) : (tensor<?xf16>) -> ()
  return
}
func.func private @show_keys(%x: tensor<2x20x2x16xf16>) {
  %r = tensor.collapse_shape %x [[0, 1, 2, 3]] : tensor<2x20x2x16xf16> into tensor<1280xf16>
  %s = tensor.cast %r : tensor<1280xf16> to tensor<?xf16>
  call @print(%s) : (tensor<?xf16>) -> ()
  return
}
func.func private @show_bias(%x: tensor<1x4x20x20xf16>) {
  %r = tensor.collapse_shape %x [[0, 1, 2, 3]] : tensor<1x4x20x20xf16> into tensor<1600xf16>
  %s = tensor.cast %r : tensor<1600xf16> to tensor<?xf16>
  call @print(%s) : (tensor<?xf16>) -> ()
  return
}
func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %q = call @get(%c1) : (index) -> tensor<2x20x4x16xf16>
  %k = call @get_keys(%c2) : (index) -> tensor<2x20x2x16xf16>
  %v = call @get_keys(%c3) : (index) -> tensor<2x20x2x16xf16>
  %do = call @get(%c4) : (index) -> tensor<2x20x4x16xf16>
  %a:4 = call @causal(%q, %k, %v, %do) : (tensor<2x20x4x16xf16>, tensor<2x20x2x16xf16>, tensor<2x20x2x16xf16>, tensor<2x20x4x16xf16>) -> (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x2x16xf16>, tensor<2x20x2x16xf16>)
  call @show(%a#0) : (tensor<2x20x4x16xf16>) -> ()
  call @show(%a#1) : (tensor<2x20x4x16xf16>) -> ()
  call @show_keys(%a#2) : (tensor<2x20x2x16xf16>) -> ()
  call @show_keys(%a#3) : (tensor<2x20x2x16xf16>) -> ()
  %x = call @get(%c2) : (index) -> tensor<2x20x4x16xf16>
  %y = call @get(%c3) : (index) -> tensor<2x20x4x16xf16>
  %z = call @get_bias(%c5) : (index) -> tensor<1x4x20x20xf16>
  %b:5 = call @bias(%q, %x, %y, %z, %do) : (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<1x4x20x20xf16>, tensor<2x20x4x16xf16>) -> (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<1x4x20x20xf16>)
  call @show(%b#0) : (tensor<2x20x4x16xf16>) -> ()
  call @show(%b#1) : (tensor<2x20x4x16xf16>) -> ()
  call @show(%b#2) : (tensor<2x20x4x16xf16>) -> ()
  call @show(%b#3) : (tensor<2x20x4x16xf16>) -> ()
  call @show_bias(%b#4) : (tensor<1x4x20x20xf16>) -> ()
  %m = arith.constant dense<[20, 9]> : tensor<2xi32>
  %n = arith.constant dense<[17, 12]> : tensor<2xi32>
  %l:4 = call @lengths(%q, %x, %y, %m, %n, %do) : (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2xi32>, tensor<2xi32>, tensor<2x20x4x16xf16>) -> (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>)
  call @show(%l#0) : (tensor<2x20x4x16xf16>) -> ()
  call @show(%l#1) : (tensor<2x20x4x16xf16>) -> ()
  call @show(%l#2) : (tensor<2x20x4x16xf16>) -> ()
  call @show(%l#3) : (tensor<2x20x4x16xf16>) -> ()
  return
}
