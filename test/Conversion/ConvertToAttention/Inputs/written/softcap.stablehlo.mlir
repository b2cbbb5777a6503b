"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>) -> tensor<2x4x48x16xf16>, sym_name = "softcap"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x4x48x16xf16>, %arg2: tensor<2x4x48x16xf16>):
    %0 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %2 = "arith.constant"() <{value = dense<2.500000e-01> : tensor<1xf64>}> : () -> tensor<1xf64>
    %3 = "arith.constant"() <{value = dense<30> : tensor<1xi64>}> : () -> tensor<1xi64>
    %4 = "stablehlo.transpose"(%arg1) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<2x4x48x16xf16>) -> tensor<2x4x16x48xf16>
    %5 = "stablehlo.reshape"(%arg0) : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %6 = "stablehlo.reshape"(%4) : (tensor<2x4x16x48xf16>) -> tensor<8x16x48xf16>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x16x48xf16>) -> tensor<8x16x48xf16>
    %8 = "stablehlo.dot_general"(%5, %7) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x16xf16>, tensor<8x16x48xf16>) -> tensor<8x48x48xf16>
    %9 = "stablehlo.reshape"(%8) : (tensor<8x48x48xf16>) -> tensor<2x4x48x48xf16>
    %10 = "stablehlo.convert"(%2) : (tensor<1xf64>) -> tensor<1xf16>
    %11 = "stablehlo.reshape"(%10) : (tensor<1xf16>) -> tensor<f16>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<2x4x48x48xf16>
    %13 = "stablehlo.multiply"(%9, %12) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %14 = "stablehlo.convert"(%3) : (tensor<1xi64>) -> tensor<1xf16>
    %15 = "stablehlo.reshape"(%14) : (tensor<1xf16>) -> tensor<f16>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<2x4x48x48xf16>
    %17 = "stablehlo.divide"(%13, %16) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %18 = "stablehlo.tanh"(%17) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %19 = "stablehlo.multiply"(%18, %16) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %20 = "stablehlo.convert"(%19) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf32>
    %21 = "stablehlo.reduce"(%20, %0) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %37 = "stablehlo.maximum"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%37) : (tensor<f32>) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<f32>) -> tensor<2x4x48xf32>
    %22 = "stablehlo.reshape"(%21) : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %24 = "stablehlo.subtract"(%20, %23) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %25 = "stablehlo.exponential"(%24) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %26 = "stablehlo.reduce"(%25, %1) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %36 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%36) : (tensor<f32>) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<f32>) -> tensor<2x4x48xf32>
    %27 = "stablehlo.reshape"(%26) : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %29 = "stablehlo.divide"(%25, %28) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %30 = "stablehlo.convert"(%29) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf16>
    %31 = "stablehlo.reshape"(%30) : (tensor<2x4x48x48xf16>) -> tensor<8x48x48xf16>
    %32 = "stablehlo.reshape"(%arg2) : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %33 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %34 = "stablehlo.dot_general"(%31, %33) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x48xf16>, tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %35 = "stablehlo.reshape"(%34) : (tensor<8x48x16xf16>) -> tensor<2x4x48x16xf16>
    "func.return"(%35) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
