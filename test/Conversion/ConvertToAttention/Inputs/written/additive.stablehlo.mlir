"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>, tensor<2x1x48x48xf16>) -> tensor<2x4x48x16xf16>, sym_name = "additive"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x4x48x16xf16>, %arg2: tensor<2x4x48x16xf16>, %arg3: tensor<2x1x48x48xf16>):
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
    %13 = "stablehlo.broadcast_in_dim"(%arg3) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x1x48x48xf16>) -> tensor<2x4x48x48xf16>
    %14 = "stablehlo.add"(%12, %13) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %15 = "stablehlo.convert"(%14) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf32>
    %16 = "stablehlo.reduce"(%15, %0) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %32 = "stablehlo.maximum"(%arg6, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%32) : (tensor<f32>) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<f32>) -> tensor<2x4x48xf32>
    %17 = "stablehlo.reshape"(%16) : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %19 = "stablehlo.subtract"(%15, %18) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %20 = "stablehlo.exponential"(%19) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %21 = "stablehlo.reduce"(%20, %1) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %31 = "stablehlo.add"(%arg4, %arg5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%31) : (tensor<f32>) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<f32>) -> tensor<2x4x48xf32>
    %22 = "stablehlo.reshape"(%21) : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %24 = "stablehlo.divide"(%20, %23) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %25 = "stablehlo.convert"(%24) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf16>
    %26 = "stablehlo.reshape"(%25) : (tensor<2x4x48x48xf16>) -> tensor<8x48x48xf16>
    %27 = "stablehlo.reshape"(%arg2) : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %29 = "stablehlo.dot_general"(%26, %28) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x48xf16>, tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %30 = "stablehlo.reshape"(%29) : (tensor<8x48x16xf16>) -> tensor<2x4x48x16xf16>
    "func.return"(%30) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
