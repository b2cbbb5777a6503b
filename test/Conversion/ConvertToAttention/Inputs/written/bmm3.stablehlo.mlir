"builtin.module"() ({
  "func.func"() <{function_type = (tensor<8x48x16xf16>, tensor<8x48x16xf16>, tensor<8x48x16xf16>) -> tensor<8x48x16xf16>, sym_name = "bmm3"}> ({
  ^bb0(%arg0: tensor<8x48x16xf16>, %arg1: tensor<8x48x16xf16>, %arg2: tensor<8x48x16xf16>):
    %0 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %2 = "arith.constant"() <{value = dense<2.500000e-01> : tensor<1xf64>}> : () -> tensor<1xf64>
    %3 = "stablehlo.transpose"(%arg1) <{permutation = array<i64: 0, 2, 1>}> : (tensor<8x48x16xf16>) -> tensor<8x16x48xf16>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x16x48xf16>) -> tensor<8x16x48xf16>
    %5 = "stablehlo.dot_general"(%arg0, %4) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x16xf16>, tensor<8x16x48xf16>) -> tensor<8x48x48xf16>
    %6 = "stablehlo.convert"(%2) : (tensor<1xf64>) -> tensor<1xf16>
    %7 = "stablehlo.reshape"(%6) : (tensor<1xf16>) -> tensor<f16>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<8x48x48xf16>
    %9 = "stablehlo.multiply"(%5, %8) : (tensor<8x48x48xf16>, tensor<8x48x48xf16>) -> tensor<8x48x48xf16>
    %10 = "stablehlo.convert"(%9) : (tensor<8x48x48xf16>) -> tensor<8x48x48xf32>
    %11 = "stablehlo.reduce"(%10, %0) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %24 = "stablehlo.maximum"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%24) : (tensor<f32>) -> ()
    }) : (tensor<8x48x48xf32>, tensor<f32>) -> tensor<8x48xf32>
    %12 = "stablehlo.reshape"(%11) : (tensor<8x48xf32>) -> tensor<8x48x1xf32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x48x1xf32>) -> tensor<8x48x48xf32>
    %14 = "stablehlo.subtract"(%10, %13) : (tensor<8x48x48xf32>, tensor<8x48x48xf32>) -> tensor<8x48x48xf32>
    %15 = "stablehlo.exponential"(%14) : (tensor<8x48x48xf32>) -> tensor<8x48x48xf32>
    %16 = "stablehlo.reduce"(%15, %1) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %23 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%23) : (tensor<f32>) -> ()
    }) : (tensor<8x48x48xf32>, tensor<f32>) -> tensor<8x48xf32>
    %17 = "stablehlo.reshape"(%16) : (tensor<8x48xf32>) -> tensor<8x48x1xf32>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x48x1xf32>) -> tensor<8x48x48xf32>
    %19 = "stablehlo.divide"(%15, %18) : (tensor<8x48x48xf32>, tensor<8x48x48xf32>) -> tensor<8x48x48xf32>
    %20 = "stablehlo.convert"(%19) : (tensor<8x48x48xf32>) -> tensor<8x48x48xf16>
    %21 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %22 = "stablehlo.dot_general"(%20, %21) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x48xf16>, tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    "func.return"(%22) : (tensor<8x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
