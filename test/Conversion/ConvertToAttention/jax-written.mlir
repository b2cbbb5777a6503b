// jax.nn.dot_product_attention by XLA and an einsum, as JAX 0.10.2 prints them: the maximum
// is one with -inf, sums of f16 are in f32, and parts are in functions that are called.
// Printed by Inputs/projects.py, which also compares the numbers.
// RUN: fa3-opt %s -split-input-file -allow-unregistered-dialect -convert-to-attention | FileCheck %s --implicit-check-not=func.call --implicit-check-not=@_where --implicit-check-not=@tril
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: func.func public @main
// CHECK: attention.forward {{.*}} layout bshd mods [#attention.causal] : (tensor<2x40x4x16xf16>, tensor<2x40x2x16xf16>, tensor<2x40x2x16xf16>)
"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{function_type = (tensor<2x40x4x16xf16>, tensor<2x40x2x16xf16>, tensor<2x40x2x16xf16>) -> tensor<2x40x4x16xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg4: tensor<2x40x4x16xf16>, %arg5: tensor<2x40x2x16xf16>, %arg6: tensor<2x40x2x16xf16>):
    %14 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %15 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %16 = "stablehlo.constant"() <{value = dense<-2.38197633E+38> : tensor<f32>}> : () -> tensor<f32>
    %17 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %18 = "stablehlo.constant"() <{value = dense<2.500000e-01> : tensor<f32>}> : () -> tensor<f32>
    %19 = "stablehlo.reshape"(%arg4) : (tensor<2x40x4x16xf16>) -> tensor<2x40x2x2x16xf16>
    %20 = "stablehlo.dot_general"(%19, %arg5) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f16, rhs_precision_type = f16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>}> : (tensor<2x40x2x2x16xf16>, tensor<2x40x2x16xf16>) -> tensor<2x2x40x2x40xf32>
    %21 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x40x2x40xf32>
    %22 = "stablehlo.multiply"(%20, %21) : (tensor<2x2x40x2x40xf32>, tensor<2x2x40x2x40xf32>) -> tensor<2x2x40x2x40xf32>
    %23 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<2x2x40x40xi1>
    %24 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<40x40xi1>
    %25 = "func.call"(%24) <{callee = @tril}> : (tensor<40x40xi1>) -> tensor<40x40xi1>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<40x40xi1>) -> tensor<1x1x40x40xi1>
    %27 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x40x40xi1>) -> tensor<2x2x40x40xi1>
    %28 = "stablehlo.and"(%23, %27) : (tensor<2x2x40x40xi1>, tensor<2x2x40x40xi1>) -> tensor<2x2x40x40xi1>
    %29 = "func.call"(%28, %22, %16) <{callee = @_where}> : (tensor<2x2x40x40xi1>, tensor<2x2x40x2x40xf32>, tensor<f32>) -> tensor<2x2x2x40x40xf32>
    %30 = "stablehlo.reduce"(%29, %15) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      %47 = "stablehlo.maximum"(%arg9, %arg10) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%47) : (tensor<f32>) -> ()
    }) : (tensor<2x2x2x40x40xf32>, tensor<f32>) -> tensor<2x2x2x40xf32>
    %31 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x2x40xf32>
    %32 = "stablehlo.maximum"(%31, %30) : (tensor<2x2x2x40xf32>, tensor<2x2x2x40xf32>) -> tensor<2x2x2x40xf32>
    %33 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x2x2x40xf32>) -> tensor<2x2x2x40x1xf32>
    %34 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<2x2x2x40x1xf32>) -> tensor<2x2x2x40x40xf32>
    %35 = "stablehlo.subtract"(%29, %34) : (tensor<2x2x2x40x40xf32>, tensor<2x2x2x40x40xf32>) -> tensor<2x2x2x40x40xf32>
    %36 = "stablehlo.exponential"(%35) : (tensor<2x2x2x40x40xf32>) -> tensor<2x2x2x40x40xf32>
    %37 = "stablehlo.reduce"(%36, %14) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %46 = "stablehlo.add"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%46) : (tensor<f32>) -> ()
    }) : (tensor<2x2x2x40x40xf32>, tensor<f32>) -> tensor<2x2x2x40xf32>
    %38 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x2x2x40xf32>) -> tensor<2x2x2x40x1xf32>
    %39 = "stablehlo.broadcast_in_dim"(%38) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<2x2x2x40x1xf32>) -> tensor<2x2x2x40x40xf32>
    %40 = "stablehlo.divide"(%36, %39) : (tensor<2x2x2x40x40xf32>, tensor<2x2x2x40x40xf32>) -> tensor<2x2x2x40x40xf32>
    %41 = "stablehlo.convert"(%40) : (tensor<2x2x2x40x40xf32>) -> tensor<2x2x2x40x40xf16>
    %42 = "stablehlo.dot_general"(%arg6, %41) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>}> : (tensor<2x40x2x16xf16>, tensor<2x2x2x40x40xf16>) -> tensor<2x2x16x2x40xf16>
    %43 = "stablehlo.transpose"(%42) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<2x2x16x2x40xf16>) -> tensor<2x2x40x2x16xf16>
    %44 = "stablehlo.transpose"(%43) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<2x2x40x2x16xf16>) -> tensor<2x40x2x2x16xf16>
    %45 = "stablehlo.reshape"(%44) : (tensor<2x40x2x2x16xf16>) -> tensor<2x40x4x16xf16>
    "func.return"(%45) : (tensor<2x40x4x16xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<40x40xi1>) -> tensor<40x40xi1>, sym_name = "tril", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<40x40xi1>):
    %5 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %6 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %7 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<40x40xi32>
    %8 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<40x40xi32>
    %9 = "stablehlo.add"(%7, %8) : (tensor<40x40xi32>, tensor<40x40xi32>) -> tensor<40x40xi32>
    %10 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<40x40xi32>
    %11 = "stablehlo.compare"(%9, %10) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<40x40xi32>, tensor<40x40xi32>) -> tensor<40x40xi1>
    %12 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<40x40xi1>
    %13 = "stablehlo.select"(%11, %arg3, %12) : (tensor<40x40xi1>, tensor<40x40xi1>, tensor<40x40xi1>) -> tensor<40x40xi1>
    "func.return"(%13) : (tensor<40x40xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x2x40x40xi1>, tensor<2x2x40x2x40xf32>, tensor<f32>) -> tensor<2x2x2x40x40xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x2x40x40xi1>, %arg1: tensor<2x2x40x2x40xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x40x40xf32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x2x40x40xi1>) -> tensor<2x2x2x40x40xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x2x40x40xf32>) -> tensor<2x2x2x40x40xf32>
    %3 = "stablehlo.transpose"(%arg1) <{permutation = array<i64: 3, 0, 1, 2, 4>}> : (tensor<2x2x40x2x40xf32>) -> tensor<2x2x2x40x40xf32>
    %4 = "stablehlo.select"(%1, %3, %2) : (tensor<2x2x2x40x40xi1>, tensor<2x2x2x40x40xf32>, tensor<2x2x2x40x40xf32>) -> tensor<2x2x2x40x40xf32>
    "func.return"(%4) : (tensor<2x2x2x40x40xf32>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

// -----

// CHECK-LABEL: func.func public @main
// CHECK: attention.forward {{.*}} layout bshd mods [#attention.causal] : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>)
"builtin.module"() <{sym_name = "jit_by_einsum"}> ({
  "func.func"() <{function_type = (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<2x40x4x16xf16>, %arg4: tensor<2x40x4x16xf16>, %arg5: tensor<2x40x4x16xf16>):
    %4 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %5 = "stablehlo.constant"() <{value = dense<0xFC00> : tensor<f16>}> : () -> tensor<f16>
    %6 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %7 = "stablehlo.constant"() <{value = dense<4.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %8 = "stablehlo.dot_general"(%arg3, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>}> : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x4x40x40xf16>
    %9 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<2x4x40x40xf16>
    %10 = "stablehlo.divide"(%8, %9) : (tensor<2x4x40x40xf16>, tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
    %11 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<40xi32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 1>}> : (tensor<40xi32>) -> tensor<1x40xi32>
    %13 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<40xi32>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0>}> : (tensor<40xi32>) -> tensor<40x1xi32>
    %15 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x40xi32>) -> tensor<40x40xi32>
    %16 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<40x1xi32>) -> tensor<40x40xi32>
    %17 = "stablehlo.compare"(%15, %16) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<40x40xi32>, tensor<40x40xi32>) -> tensor<40x40xi1>
    %18 = "func.call"(%17, %10, %6) <{callee = @_where}> : (tensor<40x40xi1>, tensor<2x4x40x40xf16>, tensor<f32>) -> tensor<2x4x40x40xf16>
    %19 = "stablehlo.reduce"(%18, %5) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg8: tensor<f16>, %arg9: tensor<f16>):
      %35 = "stablehlo.maximum"(%arg8, %arg9) : (tensor<f16>, tensor<f16>) -> tensor<f16>
      "stablehlo.return"(%35) : (tensor<f16>) -> ()
    }) : (tensor<2x4x40x40xf16>, tensor<f16>) -> tensor<2x4x40xf16>
    %20 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<2x4x40xf16>
    %21 = "stablehlo.maximum"(%20, %19) : (tensor<2x4x40xf16>, tensor<2x4x40xf16>) -> tensor<2x4x40xf16>
    %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x40xf16>) -> tensor<2x4x40x1xf16>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x40x1xf16>) -> tensor<2x4x40x40xf16>
    %24 = "stablehlo.subtract"(%18, %23) : (tensor<2x4x40x40xf16>, tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
    %25 = "stablehlo.exponential"(%24) : (tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
    %26 = "stablehlo.convert"(%25) : (tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf32>
    %27 = "stablehlo.reduce"(%26, %4) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %34 = "stablehlo.add"(%arg6, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%34) : (tensor<f32>) -> ()
    }) : (tensor<2x4x40x40xf32>, tensor<f32>) -> tensor<2x4x40xf32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x40xf32>) -> tensor<2x4x40x1xf32>
    %29 = "stablehlo.convert"(%28) : (tensor<2x4x40x1xf32>) -> tensor<2x4x40x1xf16>
    %30 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x40x1xf16>) -> tensor<2x4x40x40xf16>
    %31 = "stablehlo.divide"(%25, %30) : (tensor<2x4x40x40xf16>, tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
    %32 = "stablehlo.dot_general"(%arg5, %31) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>}> : (tensor<2x40x4x16xf16>, tensor<2x4x40x40xf16>) -> tensor<2x4x16x40xf16>
    %33 = "stablehlo.transpose"(%32) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x4x16x40xf16>) -> tensor<2x40x4x16xf16>
    "func.return"(%33) : (tensor<2x40x4x16xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<40x40xi1>, tensor<2x4x40x40xf16>, tensor<f32>) -> tensor<2x4x40x40xf16>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<40x40xi1>, %arg1: tensor<2x4x40x40xf16>, %arg2: tensor<f32>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<f32>) -> tensor<f16>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<40x40xi1>) -> tensor<2x4x40x40xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<2x4x40x40xf16>
    %3 = "stablehlo.select"(%1, %arg1, %2) : (tensor<2x4x40x40xi1>, tensor<2x4x40x40xf16>, tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
    "func.return"(%3) : (tensor<2x4x40x40xf16>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
