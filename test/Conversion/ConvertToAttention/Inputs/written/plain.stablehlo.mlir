"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>) -> tensor<2x4x48x16xf16>, sym_name = "plain"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x4x48x16xf16>, %arg2: tensor<2x4x48x16xf16>):
    %0 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %2 = "arith.constant"() <{value = dense<2.500000e-01> : tensor<1xf64>}> : () -> tensor<1xf64>
    %3 = "stablehlo.transpose"(%arg1) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<2x4x48x16xf16>) -> tensor<2x4x16x48xf16>
    %4 = "stablehlo.reshape"(%arg0) : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %5 = "stablehlo.reshape"(%3) : (tensor<2x4x16x48xf16>) -> tensor<8x16x48xf16>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x16x48xf16>) -> tensor<8x16x48xf16>
    %7 = "stablehlo.dot_general"(%4, %6) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x16xf16>, tensor<8x16x48xf16>) -> tensor<8x48x48xf16>
    %8 = "stablehlo.reshape"(%7) : (tensor<8x48x48xf16>) -> tensor<2x4x48x48xf16>
    %9 = "stablehlo.convert"(%2) : (tensor<1xf64>) -> tensor<1xf16>
    %10 = "stablehlo.reshape"(%9) : (tensor<1xf16>) -> tensor<f16>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<2x4x48x48xf16>
    %12 = "stablehlo.multiply"(%8, %11) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %13 = "stablehlo.convert"(%12) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf32>
    %14 = "stablehlo.reduce"(%13, %0) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %30 = "stablehlo.maximum"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%30) : (tensor<f32>) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<f32>) -> tensor<2x4x48xf32>
    %15 = "stablehlo.reshape"(%14) : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %17 = "stablehlo.subtract"(%13, %16) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %18 = "stablehlo.exponential"(%17) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %19 = "stablehlo.reduce"(%18, %1) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %29 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%29) : (tensor<f32>) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<f32>) -> tensor<2x4x48xf32>
    %20 = "stablehlo.reshape"(%19) : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %21 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %22 = "stablehlo.divide"(%18, %21) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %23 = "stablehlo.convert"(%22) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf16>
    %24 = "stablehlo.reshape"(%23) : (tensor<2x4x48x48xf16>) -> tensor<8x48x48xf16>
    %25 = "stablehlo.reshape"(%arg2) : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %27 = "stablehlo.dot_general"(%24, %26) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x48xf16>, tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %28 = "stablehlo.reshape"(%27) : (tensor<8x48x16xf16>) -> tensor<2x4x48x16xf16>
    "func.return"(%28) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
