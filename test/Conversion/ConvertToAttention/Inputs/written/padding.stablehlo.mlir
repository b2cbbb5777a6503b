"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>, tensor<2x48xi64>) -> tensor<2x4x48x16xf16>, sym_name = "padding"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x4x48x16xf16>, %arg2: tensor<2x4x48x16xf16>, %arg3: tensor<2x48xi64>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<48xi64>}> : () -> tensor<48xi64>
    %1 = "stablehlo.constant"() <{value = dense<1> : tensor<48xi64>}> : () -> tensor<48xi64>
    %2 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.constant"() <{value = dense<-6.550400e+04> : tensor<f32>}> : () -> tensor<f32>
    %4 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %5 = "arith.constant"() <{value = dense<2.500000e-01> : tensor<1xf64>}> : () -> tensor<1xf64>
    %6 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
    %7 = "stablehlo.constant"() <{value = dense<48> : tensor<i64>}> : () -> tensor<i64>
    %8 = "stablehlo.convert"(%6) : (tensor<i64>) -> tensor<f64>
    %9 = "stablehlo.convert"(%7) : (tensor<i64>) -> tensor<f64>
    %10 = "stablehlo.divide"(%9, %8) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %11 = "stablehlo.ceil"(%10) : (tensor<f64>) -> tensor<f64>
    %12 = "stablehlo.convert"(%11) : (tensor<f64>) -> tensor<i64>
    %13 = "stablehlo.reshape"(%12) : (tensor<i64>) -> tensor<1xi64>
    %14 = "stablehlo.dynamic_iota"(%13) <{iota_dimension = 0 : i64}> : (tensor<1xi64>) -> tensor<48xi64>
    %15 = "stablehlo.multiply"(%14, %1) : (tensor<48xi64>, tensor<48xi64>) -> tensor<48xi64>
    %16 = "stablehlo.add"(%15, %0) : (tensor<48xi64>, tensor<48xi64>) -> tensor<48xi64>
    %17 = "stablehlo.reshape"(%16) : (tensor<48xi64>) -> tensor<1x48xi64>
    %18 = "stablehlo.reshape"(%16) : (tensor<48xi64>) -> tensor<48x1xi64>
    %19 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x48xi64>) -> tensor<48x48xi64>
    %20 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<48x1xi64>) -> tensor<48x48xi64>
    %21 = "stablehlo.compare"(%19, %20) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<48x48xi64>, tensor<48x48xi64>) -> tensor<48x48xi1>
    %22 = "stablehlo.reshape"(%21) : (tensor<48x48xi1>) -> tensor<1x48x48xi1>
    %23 = "stablehlo.reshape"(%22) : (tensor<1x48x48xi1>) -> tensor<1x1x48x48xi1>
    %24 = "stablehlo.reshape"(%arg3) : (tensor<2x48xi64>) -> tensor<2x1x48xi64>
    %25 = "stablehlo.reshape"(%24) : (tensor<2x1x48xi64>) -> tensor<2x1x1x48xi64>
    %26 = "stablehlo.convert"(%25) : (tensor<2x1x1x48xi64>) -> tensor<2x1x1x48xi1>
    %27 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x48x48xi1>) -> tensor<2x1x48x48xi1>
    %28 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x1x1x48xi1>) -> tensor<2x1x48x48xi1>
    %29 = "stablehlo.and"(%27, %28) : (tensor<2x1x48x48xi1>, tensor<2x1x48x48xi1>) -> tensor<2x1x48x48xi1>
    %30 = "stablehlo.transpose"(%arg1) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<2x4x48x16xf16>) -> tensor<2x4x16x48xf16>
    %31 = "stablehlo.reshape"(%arg0) : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %32 = "stablehlo.reshape"(%30) : (tensor<2x4x16x48xf16>) -> tensor<8x16x48xf16>
    %33 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x16x48xf16>) -> tensor<8x16x48xf16>
    %34 = "stablehlo.dot_general"(%31, %33) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x16xf16>, tensor<8x16x48xf16>) -> tensor<8x48x48xf16>
    %35 = "stablehlo.reshape"(%34) : (tensor<8x48x48xf16>) -> tensor<2x4x48x48xf16>
    %36 = "stablehlo.convert"(%5) : (tensor<1xf64>) -> tensor<1xf16>
    %37 = "stablehlo.reshape"(%36) : (tensor<1xf16>) -> tensor<f16>
    %38 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<2x4x48x48xf16>
    %39 = "stablehlo.multiply"(%35, %38) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %40 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x1x48x48xi1>) -> tensor<2x1x48x48xi1>
    %41 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x1x48x48xf32>
    %42 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x1x48x48xf32>
    %43 = "stablehlo.select"(%40, %41, %42) : (tensor<2x1x48x48xi1>, tensor<2x1x48x48xf32>, tensor<2x1x48x48xf32>) -> tensor<2x1x48x48xf32>
    %44 = "stablehlo.convert"(%43) : (tensor<2x1x48x48xf32>) -> tensor<2x1x48x48xf16>
    %45 = "stablehlo.broadcast_in_dim"(%44) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x1x48x48xf16>) -> tensor<2x4x48x48xf16>
    %46 = "stablehlo.add"(%39, %45) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %47 = "stablehlo.convert"(%46) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf32>
    %48 = "stablehlo.reduce"(%47, %4) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %64 = "stablehlo.maximum"(%arg6, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%64) : (tensor<f32>) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<f32>) -> tensor<2x4x48xf32>
    %49 = "stablehlo.reshape"(%48) : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %50 = "stablehlo.broadcast_in_dim"(%49) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %51 = "stablehlo.subtract"(%47, %50) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %52 = "stablehlo.exponential"(%51) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %53 = "stablehlo.reduce"(%52, %2) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %63 = "stablehlo.add"(%arg4, %arg5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%63) : (tensor<f32>) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<f32>) -> tensor<2x4x48xf32>
    %54 = "stablehlo.reshape"(%53) : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %55 = "stablehlo.broadcast_in_dim"(%54) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %56 = "stablehlo.divide"(%52, %55) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %57 = "stablehlo.convert"(%56) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf16>
    %58 = "stablehlo.reshape"(%57) : (tensor<2x4x48x48xf16>) -> tensor<8x48x48xf16>
    %59 = "stablehlo.reshape"(%arg2) : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %60 = "stablehlo.broadcast_in_dim"(%59) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %61 = "stablehlo.dot_general"(%58, %60) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x48x48xf16>, tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %62 = "stablehlo.reshape"(%61) : (tensor<8x48x16xf16>) -> tensor<2x4x48x16xf16>
    "func.return"(%62) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
