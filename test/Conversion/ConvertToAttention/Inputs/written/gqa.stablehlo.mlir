"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x2x48x16xf16>, tensor<2x2x48x16xf16>) -> tensor<2x4x48x16xf16>, sym_name = "gqa"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x2x48x16xf16>, %arg2: tensor<2x2x48x16xf16>):
    %0 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %2 = "arith.constant"() <{value = dense<2.500000e-01> : tensor<1xf64>}> : () -> tensor<1xf64>
    %3 = "stablehlo.reshape"(%arg1) : (tensor<2x2x48x16xf16>) -> tensor<2x2x1x48x16xf16>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<2x2x1x48x16xf16>) -> tensor<2x2x2x48x16xf16>
    %5 = "stablehlo.reshape"(%4) : (tensor<2x2x2x48x16xf16>) -> tensor<2x4x48x16xf16>
    %6 = "stablehlo.reshape"(%arg2) : (tensor<2x2x48x16xf16>) -> tensor<2x2x1x48x16xf16>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<2x2x1x48x16xf16>) -> tensor<2x2x2x48x16xf16>
    %8 = "stablehlo.reshape"(%7) : (tensor<2x2x2x48x16xf16>) -> tensor<2x4x48x16xf16>
    %9 = "stablehlo.transpose"(%5) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<2x4x48x16xf16>) -> tensor<2x4x16x48xf16>
    %10 = "stablehlo.reshape"(%arg0) : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %11 = "stablehlo.reshape"(%9) : (tensor<2x4x16x48xf16>) -> tensor<8x16x48xf16>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x16x48xf16>) -> tensor<8x16x48xf16>
    %13 = "stablehlo.dot_general"(%10, %12) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x16xf16>, tensor<8x16x48xf16>) -> tensor<8x48x48xf16>
    %14 = "stablehlo.reshape"(%13) : (tensor<8x48x48xf16>) -> tensor<2x4x48x48xf16>
    %15 = "stablehlo.convert"(%2) : (tensor<1xf64>) -> tensor<1xf16>
    %16 = "stablehlo.reshape"(%15) : (tensor<1xf16>) -> tensor<f16>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<2x4x48x48xf16>
    %18 = "stablehlo.multiply"(%14, %17) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %19 = "stablehlo.convert"(%18) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf32>
    %20 = "stablehlo.reduce"(%19, %0) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %36 = "stablehlo.maximum"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%36) : (tensor<f32>) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<f32>) -> tensor<2x4x48xf32>
    %21 = "stablehlo.reshape"(%20) : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %23 = "stablehlo.subtract"(%19, %22) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %24 = "stablehlo.exponential"(%23) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %25 = "stablehlo.reduce"(%24, %1) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %35 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%35) : (tensor<f32>) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<f32>) -> tensor<2x4x48xf32>
    %26 = "stablehlo.reshape"(%25) : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %27 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %28 = "stablehlo.divide"(%24, %27) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %29 = "stablehlo.convert"(%28) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf16>
    %30 = "stablehlo.reshape"(%29) : (tensor<2x4x48x48xf16>) -> tensor<8x48x48xf16>
    %31 = "stablehlo.reshape"(%8) : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %32 = "stablehlo.broadcast_in_dim"(%31) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %33 = "stablehlo.dot_general"(%30, %32) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x48xf16>, tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %34 = "stablehlo.reshape"(%33) : (tensor<8x48x16xf16>) -> tensor<2x4x48x16xf16>
    "func.return"(%34) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
