"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>) -> tensor<2x4x48x16xf16>, sym_name = "causal_fill"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x4x48x16xf16>, %arg2: tensor<2x4x48x16xf16>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<48x48xi64>}> : () -> tensor<48x48xi64>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<48xi64>}> : () -> tensor<48xi64>
    %2 = "stablehlo.constant"() <{value = dense<1> : tensor<48xi64>}> : () -> tensor<48xi64>
    %3 = "stablehlo.constant"() <{value = dense<48> : tensor<i64>}> : () -> tensor<i64>
    %4 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
    %5 = "stablehlo.constant"() <{value = dense<0xFC00> : tensor<f16>}> : () -> tensor<f16>
    %6 = "stablehlo.constant"() <{value = dense<true> : tensor<48x48xi1>}> : () -> tensor<48x48xi1>
    %7 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %8 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %9 = "arith.constant"() <{value = dense<2.500000e-01> : tensor<1xf64>}> : () -> tensor<1xf64>
    %10 = "stablehlo.transpose"(%arg1) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<2x4x48x16xf16>) -> tensor<2x4x16x48xf16>
    %11 = "stablehlo.reshape"(%arg0) : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %12 = "stablehlo.reshape"(%10) : (tensor<2x4x16x48xf16>) -> tensor<8x16x48xf16>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x16x48xf16>) -> tensor<8x16x48xf16>
    %14 = "stablehlo.dot_general"(%11, %13) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x16xf16>, tensor<8x16x48xf16>) -> tensor<8x48x48xf16>
    %15 = "stablehlo.reshape"(%14) : (tensor<8x48x48xf16>) -> tensor<2x4x48x48xf16>
    %16 = "stablehlo.convert"(%9) : (tensor<1xf64>) -> tensor<1xf16>
    %17 = "stablehlo.reshape"(%16) : (tensor<1xf16>) -> tensor<f16>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<2x4x48x48xf16>
    %19 = "stablehlo.multiply"(%15, %18) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %20 = "stablehlo.convert"(%4) : (tensor<i64>) -> tensor<f64>
    %21 = "stablehlo.convert"(%3) : (tensor<i64>) -> tensor<f64>
    %22 = "stablehlo.divide"(%21, %20) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %23 = "stablehlo.ceil"(%22) : (tensor<f64>) -> tensor<f64>
    %24 = "stablehlo.convert"(%23) : (tensor<f64>) -> tensor<i64>
    %25 = "stablehlo.reshape"(%24) : (tensor<i64>) -> tensor<1xi64>
    %26 = "stablehlo.dynamic_iota"(%25) <{iota_dimension = 0 : i64}> : (tensor<1xi64>) -> tensor<48xi64>
    %27 = "stablehlo.multiply"(%26, %2) : (tensor<48xi64>, tensor<48xi64>) -> tensor<48xi64>
    %28 = "stablehlo.add"(%27, %1) : (tensor<48xi64>, tensor<48xi64>) -> tensor<48xi64>
    %29 = "stablehlo.reshape"(%28) : (tensor<48xi64>) -> tensor<1x48xi64>
    %30 = "stablehlo.reshape"(%28) : (tensor<48xi64>) -> tensor<48x1xi64>
    %31 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x48xi64>) -> tensor<48x48xi64>
    %32 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<48x1xi64>) -> tensor<48x48xi64>
    %33 = "stablehlo.subtract"(%31, %32) : (tensor<48x48xi64>, tensor<48x48xi64>) -> tensor<48x48xi64>
    %34 = "stablehlo.compare"(%33, %0) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<48x48xi64>, tensor<48x48xi64>) -> tensor<48x48xi1>
    %35 = "stablehlo.and"(%34, %6) : (tensor<48x48xi1>, tensor<48x48xi1>) -> tensor<48x48xi1>
    %36 = "stablehlo.reshape"(%35) : (tensor<48x48xi1>) -> tensor<1x1x48x48xi1>
    %37 = "stablehlo.broadcast_in_dim"(%36) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x48x48xi1>) -> tensor<2x4x48x48xi1>
    %38 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<2x4x48x48xf16>
    %39 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %40 = "stablehlo.select"(%37, %38, %39) : (tensor<2x4x48x48xi1>, tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %41 = "stablehlo.convert"(%40) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf32>
    %42 = "stablehlo.reduce"(%41, %7) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %58 = "stablehlo.maximum"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%58) : (tensor<f32>) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<f32>) -> tensor<2x4x48xf32>
    %43 = "stablehlo.reshape"(%42) : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %44 = "stablehlo.broadcast_in_dim"(%43) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %45 = "stablehlo.subtract"(%41, %44) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %46 = "stablehlo.exponential"(%45) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %47 = "stablehlo.reduce"(%46, %8) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %57 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%57) : (tensor<f32>) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<f32>) -> tensor<2x4x48xf32>
    %48 = "stablehlo.reshape"(%47) : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %49 = "stablehlo.broadcast_in_dim"(%48) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %50 = "stablehlo.divide"(%46, %49) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %51 = "stablehlo.convert"(%50) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf16>
    %52 = "stablehlo.reshape"(%51) : (tensor<2x4x48x48xf16>) -> tensor<8x48x48xf16>
    %53 = "stablehlo.reshape"(%arg2) : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %54 = "stablehlo.broadcast_in_dim"(%53) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %55 = "stablehlo.dot_general"(%52, %54) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x48xf16>, tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %56 = "stablehlo.reshape"(%55) : (tensor<8x48x16xf16>) -> tensor<2x4x48x16xf16>
    "func.return"(%56) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
