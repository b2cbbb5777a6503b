// Calls of cuDNN's attention as JAX 0.10.2 exports them for CUDA. Printed by Inputs/projects.py, which also compares the numbers.
// RUN: fa3-opt %s -split-input-file -allow-unregistered-dialect -convert-to-attention | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: func.func public @bias
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x4x16xf16>, %[[A1:.*]]: tensor<2x40x4x16xf16>, %[[A2:.*]]: tensor<2x40x4x16xf16>, %[[A3:.*]]: tensor<1x4x40x40xf16>) -> (tensor<2x40x4x16xf16> {{.*}})
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]] : tensor<1x4x40x40xf16>) layout bshd : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: score_mod (%[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]], %[[A8:.*]]) {
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[C0]], %[[A6]], %[[A7]], %[[A8]]] : tensor<1x4x40x40xf16>
// CHECK-NEXT: %[[X0:.*]] = arith.extf %[[EXTRACTED]] : f16 to f32
// CHECK-NEXT: %[[X1:.*]] = arith.addf %[[A4]], %[[X0]] : f32
// CHECK-NEXT: attention.yield %[[X1]] : f32
// CHECK: return %[[O]] : tensor<2x40x4x16xf16>
"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{function_type = (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<1x4x40x40xf16>) -> tensor<2x40x4x16xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "bias", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x40x4x16xf16>, %arg1: tensor<2x40x4x16xf16>, %arg2: tensor<2x40x4x16xf16>, %arg3: tensor<1x4x40x40xf16>):
    %0:2 = "stablehlo.custom_call"(%arg0, %arg1, %arg2, %arg3) <{api_version = 2 : i32, backend_config = "{\22operation_queue_id\22: \220\22, \22cudnn_fmha_backend_config\22: {\22algorithm\22: {\22algo_id\22: \220\22, \22math_type\22: \22TENSOR_OP_MATH\22, \22tuning_knobs\22: {\2217\22: \221\22, \2224\22: \220\22}, \22is_cudnn_frontend\22: true, \22workspace_size\22: \220\22}, \22fmha_scale\22: 0.25, \22intermediate_tensor_shape\22: {\22element_type\22: \22F16\22, \22dimensions\22: [\222\22, \224\22, \2240\22, \2240\22], \22tuple_shapes\22: [], \22layout\22: {\22dim_level_types\22: [], \22dim_unique\22: [], \22dim_ordered\22: [], \22minor_to_major\22: [\223\22, \222\22, \221\22, \220\22], \22tiles\22: [], \22element_size_in_bits\22: \220\22, \22memory_space\22: \220\22, \22index_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22pointer_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22dynamic_shape_metadata_prefix_bytes\22: \220\22}, \22is_dynamic_dimension\22: [false, false, false, false]}, \22is_flash_attention\22: true, \22mask_type\22: \22NO_MASK\22, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22dropout_rate\22: 0.0, \22seed\22: 42, \22sliding_window_length\22: 0, \22max_seg_per_batch\22: 1, \22is_paged_attention\22: false}}", call_target_name = "__cudnn$fmhaScaleBiasSoftmax", operand_layouts = [dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>], result_layouts = [dense<[3, 1, 2, 0]> : tensor<4xindex>, dense<0> : tensor<1xindex>]}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<1x4x40x40xf16>) -> (tensor<2x4x40x16xf16>, tensor<0xui8>)
    %1 = "stablehlo.transpose"(%0#0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x40x16xf16>) -> tensor<2x40x4x16xf16>
    "func.return"(%1) : (tensor<2x40x4x16xf16>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

// -----

// CHECK-LABEL: func.func public @bias_batch
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x4x16xf16>, %[[A1:.*]]: tensor<2x40x4x16xf16>, %[[A2:.*]]: tensor<2x40x4x16xf16>, %[[A3:.*]]: tensor<2x4x40x40xf16>) -> (tensor<2x40x4x16xf16> {{.*}})
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]] : tensor<2x4x40x40xf16>) layout bshd mods [#attention.causal] : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: score_mod (%[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]], %[[A8:.*]]) {
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A5]], %[[A6]], %[[A7]], %[[A8]]] : tensor<2x4x40x40xf16>
// CHECK-NEXT: %[[X0:.*]] = arith.extf %[[EXTRACTED]] : f16 to f32
// CHECK-NEXT: %[[X1:.*]] = arith.addf %[[A4]], %[[X0]] : f32
// CHECK-NEXT: attention.yield %[[X1]] : f32
// CHECK: return %[[O]] : tensor<2x40x4x16xf16>
"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{function_type = (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x4x40x40xf16>) -> tensor<2x40x4x16xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "bias_batch", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x40x4x16xf16>, %arg1: tensor<2x40x4x16xf16>, %arg2: tensor<2x40x4x16xf16>, %arg3: tensor<2x4x40x40xf16>):
    %0:2 = "stablehlo.custom_call"(%arg0, %arg1, %arg2, %arg3) <{api_version = 2 : i32, backend_config = "{\22operation_queue_id\22: \220\22, \22cudnn_fmha_backend_config\22: {\22algorithm\22: {\22algo_id\22: \220\22, \22math_type\22: \22TENSOR_OP_MATH\22, \22tuning_knobs\22: {\2217\22: \221\22, \2224\22: \220\22}, \22is_cudnn_frontend\22: true, \22workspace_size\22: \220\22}, \22fmha_scale\22: 0.25, \22intermediate_tensor_shape\22: {\22element_type\22: \22F16\22, \22dimensions\22: [\222\22, \224\22, \2240\22, \2240\22], \22tuple_shapes\22: [], \22layout\22: {\22dim_level_types\22: [], \22dim_unique\22: [], \22dim_ordered\22: [], \22minor_to_major\22: [\223\22, \222\22, \221\22, \220\22], \22tiles\22: [], \22element_size_in_bits\22: \220\22, \22memory_space\22: \220\22, \22index_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22pointer_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22dynamic_shape_metadata_prefix_bytes\22: \220\22}, \22is_dynamic_dimension\22: [false, false, false, false]}, \22is_flash_attention\22: true, \22mask_type\22: \22CAUSAL\22, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22dropout_rate\22: 0.0, \22seed\22: 42, \22sliding_window_length\22: 0, \22max_seg_per_batch\22: 1, \22is_paged_attention\22: false}}", call_target_name = "__cudnn$fmhaScaleBiasSoftmax", operand_layouts = [dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>], result_layouts = [dense<[3, 1, 2, 0]> : tensor<4xindex>, dense<0> : tensor<1xindex>]}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x4x40x40xf16>) -> (tensor<2x4x40x16xf16>, tensor<0xui8>)
    %1 = "stablehlo.transpose"(%0#0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x40x16xf16>) -> tensor<2x40x4x16xf16>
    "func.return"(%1) : (tensor<2x40x4x16xf16>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

// -----

// CHECK-LABEL: func.func public @causal_gqa
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x4x16xf16>, %[[A1:.*]]: tensor<2x40x2x16xf16>, %[[A2:.*]]: tensor<2x40x2x16xf16>) -> (tensor<2x40x4x16xf16> {{.*}})
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] layout bshd mods [#attention.causal] : (tensor<2x40x4x16xf16>, tensor<2x40x2x16xf16>, tensor<2x40x2x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x40x4x16xf16>
"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{function_type = (tensor<2x40x4x16xf16>, tensor<2x40x2x16xf16>, tensor<2x40x2x16xf16>) -> tensor<2x40x4x16xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "causal_gqa", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x40x4x16xf16>, %arg1: tensor<2x40x2x16xf16>, %arg2: tensor<2x40x2x16xf16>):
    %0:2 = "stablehlo.custom_call"(%arg0, %arg1, %arg2) <{api_version = 2 : i32, backend_config = "{\22operation_queue_id\22: \220\22, \22cudnn_fmha_backend_config\22: {\22algorithm\22: {\22algo_id\22: \220\22, \22math_type\22: \22TENSOR_OP_MATH\22, \22tuning_knobs\22: {\2217\22: \221\22, \2224\22: \220\22}, \22is_cudnn_frontend\22: true, \22workspace_size\22: \220\22}, \22fmha_scale\22: 0.25, \22intermediate_tensor_shape\22: {\22element_type\22: \22F16\22, \22dimensions\22: [\222\22, \224\22, \2240\22, \2240\22], \22tuple_shapes\22: [], \22layout\22: {\22dim_level_types\22: [], \22dim_unique\22: [], \22dim_ordered\22: [], \22minor_to_major\22: [\223\22, \222\22, \221\22, \220\22], \22tiles\22: [], \22element_size_in_bits\22: \220\22, \22memory_space\22: \220\22, \22index_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22pointer_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22dynamic_shape_metadata_prefix_bytes\22: \220\22}, \22is_dynamic_dimension\22: [false, false, false, false]}, \22is_flash_attention\22: true, \22mask_type\22: \22CAUSAL\22, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22dropout_rate\22: 0.0, \22seed\22: 42, \22sliding_window_length\22: 0, \22max_seg_per_batch\22: 1, \22is_paged_attention\22: false}}", call_target_name = "__cudnn$fmhaSoftmax", operand_layouts = [dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>], result_layouts = [dense<[3, 1, 2, 0]> : tensor<4xindex>, dense<0> : tensor<1xindex>]}> : (tensor<2x40x4x16xf16>, tensor<2x40x2x16xf16>, tensor<2x40x2x16xf16>) -> (tensor<2x4x40x16xf16>, tensor<0xui8>)
    %1 = "stablehlo.transpose"(%0#0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x40x16xf16>) -> tensor<2x40x4x16xf16>
    "func.return"(%1) : (tensor<2x40x4x16xf16>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

// -----

// CHECK-LABEL: func.func public @lengths
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x4x16xf16>, %[[A1:.*]]: tensor<2x40x4x16xf16>, %[[A2:.*]]: tensor<2x40x4x16xf16>, %[[A3:.*]]: tensor<2xi32>, %[[A4:.*]]: tensor<2xi32>) -> (tensor<2x40x4x16xf16> {{.*}})
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]], %[[A4]] : tensor<2xi32>, tensor<2xi32>) layout bshd : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: mask_mod (%[[A5:.*]], %[[A6:.*]], %[[A7:.*]], %[[A8:.*]]) {
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A5]]] : tensor<2xi32>
// CHECK-NEXT: %[[X0:.*]] = arith.index_cast %[[EXTRACTED]] : i32 to index
// CHECK-NEXT: %[[X1:.*]] = arith.cmpi slt, %[[A7]], %[[X0]] : index
// CHECK-NEXT: %[[EXTRACTED_0:.*]] = tensor.extract %[[A4]][%[[A5]]] : tensor<2xi32>
// CHECK-NEXT: %[[X2:.*]] = arith.index_cast %[[EXTRACTED_0]] : i32 to index
// CHECK-NEXT: %[[X3:.*]] = arith.cmpi slt, %[[A8]], %[[X2]] : index
// CHECK-NEXT: %[[X4:.*]] = arith.andi %[[X1]], %[[X3]] : i1
// CHECK-NEXT: attention.yield %[[X4]] : i1
// CHECK: return %[[O]] : tensor<2x40x4x16xf16>
"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{function_type = (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x40x4x16xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "lengths", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x40x4x16xf16>, %arg1: tensor<2x40x4x16xf16>, %arg2: tensor<2x40x4x16xf16>, %arg3: tensor<2xi32>, %arg4: tensor<2xi32>):
    %0:2 = "stablehlo.custom_call"(%arg0, %arg1, %arg2, %arg3, %arg4) <{api_version = 2 : i32, backend_config = "{\22operation_queue_id\22: \220\22, \22cudnn_fmha_backend_config\22: {\22algorithm\22: {\22algo_id\22: \220\22, \22math_type\22: \22TENSOR_OP_MATH\22, \22tuning_knobs\22: {\2217\22: \221\22, \2224\22: \220\22}, \22is_cudnn_frontend\22: true, \22workspace_size\22: \220\22}, \22fmha_scale\22: 0.25, \22intermediate_tensor_shape\22: {\22element_type\22: \22F16\22, \22dimensions\22: [\222\22, \224\22, \2240\22, \2240\22], \22tuple_shapes\22: [], \22layout\22: {\22dim_level_types\22: [], \22dim_unique\22: [], \22dim_ordered\22: [], \22minor_to_major\22: [\223\22, \222\22, \221\22, \220\22], \22tiles\22: [], \22element_size_in_bits\22: \220\22, \22memory_space\22: \220\22, \22index_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22pointer_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22dynamic_shape_metadata_prefix_bytes\22: \220\22}, \22is_dynamic_dimension\22: [false, false, false, false]}, \22is_flash_attention\22: true, \22mask_type\22: \22PADDING\22, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22dropout_rate\22: 0.0, \22seed\22: 42, \22sliding_window_length\22: 0, \22max_seg_per_batch\22: 1, \22is_paged_attention\22: false}}", call_target_name = "__cudnn$fmhaSoftmax", operand_layouts = [dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<[3, 1, 2, 0]> : tensor<4xindex>, dense<0> : tensor<1xindex>]}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2x4x40x16xf16>, tensor<0xui8>)
    %1 = "stablehlo.transpose"(%0#0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x40x16xf16>) -> tensor<2x40x4x16xf16>
    "func.return"(%1) : (tensor<2x40x4x16xf16>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

// -----

// CHECK-LABEL: func.func public @lengths_causal
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x4x16xf16>, %[[A1:.*]]: tensor<2x40x4x16xf16>, %[[A2:.*]]: tensor<2x40x4x16xf16>, %[[A3:.*]]: tensor<2xi32>, %[[A4:.*]]: tensor<2xi32>) -> (tensor<2x40x4x16xf16> {{.*}})
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]], %[[A4]] : tensor<2xi32>, tensor<2xi32>) layout bshd mods [#attention.causal] : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: mask_mod (%[[A5:.*]], %[[A6:.*]], %[[A7:.*]], %[[A8:.*]]) {
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A5]]] : tensor<2xi32>
// CHECK-NEXT: %[[X0:.*]] = arith.index_cast %[[EXTRACTED]] : i32 to index
// CHECK-NEXT: %[[X1:.*]] = arith.cmpi slt, %[[A7]], %[[X0]] : index
// CHECK-NEXT: %[[EXTRACTED_0:.*]] = tensor.extract %[[A4]][%[[A5]]] : tensor<2xi32>
// CHECK-NEXT: %[[X2:.*]] = arith.index_cast %[[EXTRACTED_0]] : i32 to index
// CHECK-NEXT: %[[X3:.*]] = arith.cmpi slt, %[[A8]], %[[X2]] : index
// CHECK-NEXT: %[[X4:.*]] = arith.andi %[[X1]], %[[X3]] : i1
// CHECK-NEXT: attention.yield %[[X4]] : i1
// CHECK: return %[[O]] : tensor<2x40x4x16xf16>
"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{function_type = (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x40x4x16xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "lengths_causal", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x40x4x16xf16>, %arg1: tensor<2x40x4x16xf16>, %arg2: tensor<2x40x4x16xf16>, %arg3: tensor<2xi32>, %arg4: tensor<2xi32>):
    %0:2 = "stablehlo.custom_call"(%arg0, %arg1, %arg2, %arg3, %arg4) <{api_version = 2 : i32, backend_config = "{\22operation_queue_id\22: \220\22, \22cudnn_fmha_backend_config\22: {\22algorithm\22: {\22algo_id\22: \220\22, \22math_type\22: \22TENSOR_OP_MATH\22, \22tuning_knobs\22: {\2217\22: \221\22, \2224\22: \220\22}, \22is_cudnn_frontend\22: true, \22workspace_size\22: \220\22}, \22fmha_scale\22: 0.25, \22intermediate_tensor_shape\22: {\22element_type\22: \22F16\22, \22dimensions\22: [\222\22, \224\22, \2240\22, \2240\22], \22tuple_shapes\22: [], \22layout\22: {\22dim_level_types\22: [], \22dim_unique\22: [], \22dim_ordered\22: [], \22minor_to_major\22: [\223\22, \222\22, \221\22, \220\22], \22tiles\22: [], \22element_size_in_bits\22: \220\22, \22memory_space\22: \220\22, \22index_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22pointer_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22dynamic_shape_metadata_prefix_bytes\22: \220\22}, \22is_dynamic_dimension\22: [false, false, false, false]}, \22is_flash_attention\22: true, \22mask_type\22: \22PADDING_CAUSAL\22, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22dropout_rate\22: 0.0, \22seed\22: 42, \22sliding_window_length\22: 0, \22max_seg_per_batch\22: 1, \22is_paged_attention\22: false}}", call_target_name = "__cudnn$fmhaSoftmax", operand_layouts = [dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<[3, 1, 2, 0]> : tensor<4xindex>, dense<0> : tensor<1xindex>]}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2x4x40x16xf16>, tensor<0xui8>)
    %1 = "stablehlo.transpose"(%0#0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x40x16xf16>) -> tensor<2x40x4x16xf16>
    "func.return"(%1) : (tensor<2x40x4x16xf16>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

// -----

// CHECK-LABEL: func.func public @longer
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x4x16xf16>, %[[A1:.*]]: tensor<2x72x4x16xf16>, %[[A2:.*]]: tensor<2x72x4x16xf16>) -> (tensor<2x40x4x16xf16> {{.*}})
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] layout bshd : (tensor<2x40x4x16xf16>, tensor<2x72x4x16xf16>, tensor<2x72x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x40x4x16xf16>
"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{function_type = (tensor<2x40x4x16xf16>, tensor<2x72x4x16xf16>, tensor<2x72x4x16xf16>) -> tensor<2x40x4x16xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "longer", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x40x4x16xf16>, %arg1: tensor<2x72x4x16xf16>, %arg2: tensor<2x72x4x16xf16>):
    %0:2 = "stablehlo.custom_call"(%arg0, %arg1, %arg2) <{api_version = 2 : i32, backend_config = "{\22operation_queue_id\22: \220\22, \22cudnn_fmha_backend_config\22: {\22algorithm\22: {\22algo_id\22: \220\22, \22math_type\22: \22TENSOR_OP_MATH\22, \22tuning_knobs\22: {\2217\22: \221\22, \2224\22: \220\22}, \22is_cudnn_frontend\22: true, \22workspace_size\22: \220\22}, \22fmha_scale\22: 0.25, \22intermediate_tensor_shape\22: {\22element_type\22: \22F16\22, \22dimensions\22: [\222\22, \224\22, \2240\22, \2272\22], \22tuple_shapes\22: [], \22layout\22: {\22dim_level_types\22: [], \22dim_unique\22: [], \22dim_ordered\22: [], \22minor_to_major\22: [\223\22, \222\22, \221\22, \220\22], \22tiles\22: [], \22element_size_in_bits\22: \220\22, \22memory_space\22: \220\22, \22index_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22pointer_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22dynamic_shape_metadata_prefix_bytes\22: \220\22}, \22is_dynamic_dimension\22: [false, false, false, false]}, \22is_flash_attention\22: true, \22mask_type\22: \22NO_MASK\22, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22dropout_rate\22: 0.0, \22seed\22: 42, \22sliding_window_length\22: 0, \22max_seg_per_batch\22: 1, \22is_paged_attention\22: false}}", call_target_name = "__cudnn$fmhaSoftmax", operand_layouts = [dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>], result_layouts = [dense<[3, 1, 2, 0]> : tensor<4xindex>, dense<0> : tensor<1xindex>]}> : (tensor<2x40x4x16xf16>, tensor<2x72x4x16xf16>, tensor<2x72x4x16xf16>) -> (tensor<2x4x40x16xf16>, tensor<0xui8>)
    %1 = "stablehlo.transpose"(%0#0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x40x16xf16>) -> tensor<2x40x4x16xf16>
    "func.return"(%1) : (tensor<2x40x4x16xf16>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

// -----

// CHECK-LABEL: func.func public @plain
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x4x16xf16>, %[[A1:.*]]: tensor<2x40x4x16xf16>, %[[A2:.*]]: tensor<2x40x4x16xf16>) -> (tensor<2x40x4x16xf16> {{.*}})
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] layout bshd : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x40x4x16xf16>
"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{function_type = (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "plain", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x40x4x16xf16>, %arg1: tensor<2x40x4x16xf16>, %arg2: tensor<2x40x4x16xf16>):
    %0:2 = "stablehlo.custom_call"(%arg0, %arg1, %arg2) <{api_version = 2 : i32, backend_config = "{\22operation_queue_id\22: \220\22, \22cudnn_fmha_backend_config\22: {\22algorithm\22: {\22algo_id\22: \220\22, \22math_type\22: \22TENSOR_OP_MATH\22, \22tuning_knobs\22: {\2217\22: \221\22, \2224\22: \220\22}, \22is_cudnn_frontend\22: true, \22workspace_size\22: \220\22}, \22fmha_scale\22: 0.25, \22intermediate_tensor_shape\22: {\22element_type\22: \22F16\22, \22dimensions\22: [\222\22, \224\22, \2240\22, \2240\22], \22tuple_shapes\22: [], \22layout\22: {\22dim_level_types\22: [], \22dim_unique\22: [], \22dim_ordered\22: [], \22minor_to_major\22: [\223\22, \222\22, \221\22, \220\22], \22tiles\22: [], \22element_size_in_bits\22: \220\22, \22memory_space\22: \220\22, \22index_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22pointer_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22dynamic_shape_metadata_prefix_bytes\22: \220\22}, \22is_dynamic_dimension\22: [false, false, false, false]}, \22is_flash_attention\22: true, \22mask_type\22: \22NO_MASK\22, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22dropout_rate\22: 0.0, \22seed\22: 42, \22sliding_window_length\22: 0, \22max_seg_per_batch\22: 1, \22is_paged_attention\22: false}}", call_target_name = "__cudnn$fmhaSoftmax", operand_layouts = [dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>], result_layouts = [dense<[3, 1, 2, 0]> : tensor<4xindex>, dense<0> : tensor<1xindex>]}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> (tensor<2x4x40x16xf16>, tensor<0xui8>)
    %1 = "stablehlo.transpose"(%0#0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x40x16xf16>) -> tensor<2x40x4x16xf16>
    "func.return"(%1) : (tensor<2x40x4x16xf16>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

// -----

// CHECK-LABEL: func.func public @scale
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x4x16xf16>, %[[A1:.*]]: tensor<2x40x4x16xf16>, %[[A2:.*]]: tensor<2x40x4x16xf16>) -> (tensor<2x40x4x16xf16> {{.*}})
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] scale 5.000000e-01 layout bshd : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x40x4x16xf16>
"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{function_type = (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "scale", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x40x4x16xf16>, %arg1: tensor<2x40x4x16xf16>, %arg2: tensor<2x40x4x16xf16>):
    %0:2 = "stablehlo.custom_call"(%arg0, %arg1, %arg2) <{api_version = 2 : i32, backend_config = "{\22operation_queue_id\22: \220\22, \22cudnn_fmha_backend_config\22: {\22algorithm\22: {\22algo_id\22: \220\22, \22math_type\22: \22TENSOR_OP_MATH\22, \22tuning_knobs\22: {\2217\22: \221\22, \2224\22: \220\22}, \22is_cudnn_frontend\22: true, \22workspace_size\22: \220\22}, \22fmha_scale\22: 0.5, \22intermediate_tensor_shape\22: {\22element_type\22: \22F16\22, \22dimensions\22: [\222\22, \224\22, \2240\22, \2240\22], \22tuple_shapes\22: [], \22layout\22: {\22dim_level_types\22: [], \22dim_unique\22: [], \22dim_ordered\22: [], \22minor_to_major\22: [\223\22, \222\22, \221\22, \220\22], \22tiles\22: [], \22element_size_in_bits\22: \220\22, \22memory_space\22: \220\22, \22index_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22pointer_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22dynamic_shape_metadata_prefix_bytes\22: \220\22}, \22is_dynamic_dimension\22: [false, false, false, false]}, \22is_flash_attention\22: true, \22mask_type\22: \22NO_MASK\22, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22dropout_rate\22: 0.0, \22seed\22: 42, \22sliding_window_length\22: 0, \22max_seg_per_batch\22: 1, \22is_paged_attention\22: false}}", call_target_name = "__cudnn$fmhaSoftmax", operand_layouts = [dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>], result_layouts = [dense<[3, 1, 2, 0]> : tensor<4xindex>, dense<0> : tensor<1xindex>]}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> (tensor<2x4x40x16xf16>, tensor<0xui8>)
    %1 = "stablehlo.transpose"(%0#0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x40x16xf16>) -> tensor<2x40x4x16xf16>
    "func.return"(%1) : (tensor<2x40x4x16xf16>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

// -----

// CHECK-LABEL: func.func public @window
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x4x16xf16>, %[[A1:.*]]: tensor<2x40x4x16xf16>, %[[A2:.*]]: tensor<2x40x4x16xf16>) -> (tensor<2x40x4x16xf16> {{.*}})
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] layout bshd mods [#attention.window<left = 8, right = 0, align = top_left>] : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x40x4x16xf16>
"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{function_type = (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "window", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x40x4x16xf16>, %arg1: tensor<2x40x4x16xf16>, %arg2: tensor<2x40x4x16xf16>):
    %0:2 = "stablehlo.custom_call"(%arg0, %arg1, %arg2) <{api_version = 2 : i32, backend_config = "{\22operation_queue_id\22: \220\22, \22cudnn_fmha_backend_config\22: {\22algorithm\22: {\22algo_id\22: \220\22, \22math_type\22: \22TENSOR_OP_MATH\22, \22tuning_knobs\22: {\2217\22: \221\22, \2224\22: \220\22}, \22is_cudnn_frontend\22: true, \22workspace_size\22: \220\22}, \22fmha_scale\22: 0.25, \22intermediate_tensor_shape\22: {\22element_type\22: \22F16\22, \22dimensions\22: [\222\22, \224\22, \2240\22, \2240\22], \22tuple_shapes\22: [], \22layout\22: {\22dim_level_types\22: [], \22dim_unique\22: [], \22dim_ordered\22: [], \22minor_to_major\22: [\223\22, \222\22, \221\22, \220\22], \22tiles\22: [], \22element_size_in_bits\22: \220\22, \22memory_space\22: \220\22, \22index_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22pointer_primitive_type\22: \22PRIMITIVE_TYPE_INVALID\22, \22dynamic_shape_metadata_prefix_bytes\22: \220\22}, \22is_dynamic_dimension\22: [false, false, false, false]}, \22is_flash_attention\22: true, \22mask_type\22: \22CAUSAL\22, \22bmm1_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\223\22], \22lhs_batch_dimensions\22: [\220\22, \222\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22bmm2_dot_dimension_numbers\22: {\22lhs_contracting_dimensions\22: [\223\22], \22rhs_contracting_dimensions\22: [\221\22], \22lhs_batch_dimensions\22: [\220\22, \221\22], \22rhs_batch_dimensions\22: [\220\22, \222\22]}, \22dropout_rate\22: 0.0, \22seed\22: 42, \22sliding_window_length\22: 9, \22max_seg_per_batch\22: 1, \22is_paged_attention\22: false}}", call_target_name = "__cudnn$fmhaSoftmax", operand_layouts = [dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>], result_layouts = [dense<[3, 1, 2, 0]> : tensor<4xindex>, dense<0> : tensor<1xindex>]}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> (tensor<2x4x40x16xf16>, tensor<0xui8>)
    %1 = "stablehlo.transpose"(%0#0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x4x40x16xf16>) -> tensor<2x40x4x16xf16>
    "func.return"(%1) : (tensor<2x40x4x16xf16>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
