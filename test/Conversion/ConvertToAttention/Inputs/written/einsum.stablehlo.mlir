"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x48x4x16xf16>, tensor<2x48x4x16xf16>, tensor<2x48x4x16xf16>) -> tensor<2x48x4x16xf16>, sym_name = "einsum"}> ({
  ^bb0(%arg0: tensor<2x48x4x16xf16>, %arg1: tensor<2x48x4x16xf16>, %arg2: tensor<2x48x4x16xf16>):
    %0 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %2 = "arith.constant"() <{value = dense<2.500000e-01> : tensor<1xf64>}> : () -> tensor<1xf64>
    %3 = "stablehlo.reshape"(%arg0) : (tensor<2x48x4x16xf16>) -> tensor<2x48x4x16x1xf16>
    %4 = "stablehlo.transpose"(%3) <{permutation = array<i64: 0, 2, 1, 4, 3>}> : (tensor<2x48x4x16x1xf16>) -> tensor<2x4x48x1x16xf16>
    %5 = "stablehlo.reshape"(%arg1) : (tensor<2x48x4x16xf16>) -> tensor<2x48x4x16x1xf16>
    %6 = "stablehlo.transpose"(%5) <{permutation = array<i64: 0, 2, 4, 1, 3>}> : (tensor<2x48x4x16x1xf16>) -> tensor<2x4x1x48x16xf16>
    %7 = "stablehlo.transpose"(%4) <{permutation = array<i64: 0, 1, 2, 4, 3>}> : (tensor<2x4x48x1x16xf16>) -> tensor<2x4x48x16x1xf16>
    %8 = "stablehlo.reshape"(%7) : (tensor<2x4x48x16x1xf16>) -> tensor<8x48x16xf16>
    %9 = "stablehlo.transpose"(%6) <{permutation = array<i64: 0, 1, 4, 3, 2>}> : (tensor<2x4x1x48x16xf16>) -> tensor<2x4x16x48x1xf16>
    %10 = "stablehlo.reshape"(%9) : (tensor<2x4x16x48x1xf16>) -> tensor<8x16x48xf16>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x16x48xf16>) -> tensor<8x16x48xf16>
    %12 = "stablehlo.dot_general"(%8, %11) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x16xf16>, tensor<8x16x48xf16>) -> tensor<8x48x48xf16>
    %13 = "stablehlo.reshape"(%12) : (tensor<8x48x48xf16>) -> tensor<2x4x48x1x48xf16>
    %14 = "stablehlo.transpose"(%13) <{permutation = array<i64: 0, 1, 2, 4, 3>}> : (tensor<2x4x48x1x48xf16>) -> tensor<2x4x48x48x1xf16>
    %15 = "stablehlo.reshape"(%14) : (tensor<2x4x48x48x1xf16>) -> tensor<2x4x48x48xf16>
    %16 = "stablehlo.convert"(%2) : (tensor<1xf64>) -> tensor<1xf16>
    %17 = "stablehlo.reshape"(%16) : (tensor<1xf16>) -> tensor<f16>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<2x4x48x48xf16>
    %19 = "stablehlo.multiply"(%15, %18) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %20 = "stablehlo.convert"(%19) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf32>
    %21 = "stablehlo.reduce"(%20, %0) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %45 = "stablehlo.maximum"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%45) : (tensor<f32>) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<f32>) -> tensor<2x4x48xf32>
    %22 = "stablehlo.reshape"(%21) : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %24 = "stablehlo.subtract"(%20, %23) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %25 = "stablehlo.exponential"(%24) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %26 = "stablehlo.reduce"(%25, %1) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %44 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%44) : (tensor<f32>) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<f32>) -> tensor<2x4x48xf32>
    %27 = "stablehlo.reshape"(%26) : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %29 = "stablehlo.divide"(%25, %28) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %30 = "stablehlo.convert"(%29) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf16>
    %31 = "stablehlo.reshape"(%30) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48x1xf16>
    %32 = "stablehlo.transpose"(%31) <{permutation = array<i64: 0, 2, 1, 4, 3>}> : (tensor<2x4x48x48x1xf16>) -> tensor<2x48x4x1x48xf16>
    %33 = "stablehlo.reshape"(%arg2) : (tensor<2x48x4x16xf16>) -> tensor<2x48x4x16x1xf16>
    %34 = "stablehlo.transpose"(%33) <{permutation = array<i64: 0, 4, 2, 3, 1>}> : (tensor<2x48x4x16x1xf16>) -> tensor<2x1x4x16x48xf16>
    %35 = "stablehlo.transpose"(%32) <{permutation = array<i64: 0, 2, 1, 4, 3>}> : (tensor<2x48x4x1x48xf16>) -> tensor<2x4x48x48x1xf16>
    %36 = "stablehlo.reshape"(%35) : (tensor<2x4x48x48x1xf16>) -> tensor<8x48x48xf16>
    %37 = "stablehlo.transpose"(%34) <{permutation = array<i64: 0, 2, 4, 3, 1>}> : (tensor<2x1x4x16x48xf16>) -> tensor<2x4x48x16x1xf16>
    %38 = "stablehlo.reshape"(%37) : (tensor<2x4x48x16x1xf16>) -> tensor<8x48x16xf16>
    %39 = "stablehlo.broadcast_in_dim"(%38) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %40 = "stablehlo.dot_general"(%36, %39) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x48xf16>, tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %41 = "stablehlo.reshape"(%40) : (tensor<8x48x16xf16>) -> tensor<2x4x48x1x16xf16>
    %42 = "stablehlo.transpose"(%41) <{permutation = array<i64: 0, 2, 1, 4, 3>}> : (tensor<2x4x48x1x16xf16>) -> tensor<2x48x4x16x1xf16>
    %43 = "stablehlo.reshape"(%42) : (tensor<2x48x4x16x1xf16>) -> tensor<2x48x4x16xf16>
    "func.return"(%43) : (tensor<2x48x4x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
