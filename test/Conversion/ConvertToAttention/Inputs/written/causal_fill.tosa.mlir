"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>) -> tensor<2x4x48x16xf16>, sym_name = "causal_fill"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x4x48x16xf16>, %arg2: tensor<2x4x48x16xf16>):
    %0 = "tosa.const"() <{values = dense<true> : tensor<48x48xi1>}> : () -> tensor<48x48xi1>
    %1 = "tosa.const_shape"() <{values = dense<[8, 48, 16]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %2 = "tosa.const_shape"() <{values = dense<[8, 16, 48]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %3 = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1xf16>}> : () -> tensor<1xf16>
    %4 = "tosa.const_shape"() <{values = dense<[2, 4, 48, 48]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %5 = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
    %6 = "tosa.const"() <{values = dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47]> : tensor<48xi64>}> : () -> tensor<48xi64>
    %7 = "tosa.const_shape"() <{values = dense<[1, 48]> : tensor<2xindex>}> : () -> !tosa.shape<2>
    %8 = "tosa.const_shape"() <{values = dense<[48, 1]> : tensor<2xindex>}> : () -> !tosa.shape<2>
    %9 = "tosa.const_shape"() <{values = dense<[1, 1, 48, 48]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %10 = "tosa.const_shape"() <{values = dense<[8, 48, 48]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %11 = "tosa.const_shape"() <{values = dense<[2, 4, 48, 16]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %12 = "tosa.const"() <{values = dense<2.500000e-01> : tensor<1x1x1x1xf16>}> : () -> tensor<1x1x1x1xf16>
    %13 = "tosa.const"() <{values = dense<1> : tensor<1x1xi64>}> : () -> tensor<1x1xi64>
    %14 = "tosa.const"() <{values = dense<0xFC00> : tensor<1x1x1x1xf16>}> : () -> tensor<1x1x1x1xf16>
    %15 = "tosa.transpose"(%arg1) <{perms = array<i32: 0, 1, 3, 2>}> : (tensor<2x4x48x16xf16>) -> tensor<2x4x16x48xf16>
    %16 = "tosa.reshape"(%arg0, %1) : (tensor<2x4x48x16xf16>, !tosa.shape<3>) -> tensor<8x48x16xf16>
    %17 = "tosa.reshape"(%15, %2) : (tensor<2x4x16x48xf16>, !tosa.shape<3>) -> tensor<8x16x48xf16>
    %18 = "tosa.matmul"(%16, %17, %3, %3) : (tensor<8x48x16xf16>, tensor<8x16x48xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<8x48x48xf32>
    %19 = "tosa.cast"(%18) : (tensor<8x48x48xf32>) -> tensor<8x48x48xf16>
    %20 = "tosa.reshape"(%19, %4) : (tensor<8x48x48xf16>, !tosa.shape<4>) -> tensor<2x4x48x48xf16>
    %21 = "tosa.mul"(%20, %12, %5) : (tensor<2x4x48x48xf16>, tensor<1x1x1x1xf16>, tensor<1xi8>) -> tensor<2x4x48x48xf16>
    %22 = "tosa.reshape"(%6, %7) : (tensor<48xi64>, !tosa.shape<2>) -> tensor<1x48xi64>
    %23 = "tosa.reshape"(%6, %8) : (tensor<48xi64>, !tosa.shape<2>) -> tensor<48x1xi64>
    %24 = "tosa.cast"(%23) : (tensor<48x1xi64>) -> tensor<48x1xi32>
    %25 = "tosa.cast"(%22) : (tensor<1x48xi64>) -> tensor<1x48xi32>
    %26 = "tosa.sub"(%25, %24) : (tensor<1x48xi32>, tensor<48x1xi32>) -> tensor<48x48xi32>
    %27 = "tosa.cast"(%26) : (tensor<48x48xi32>) -> tensor<48x48xi64>
    %28 = "tosa.greater_equal"(%27, %13) : (tensor<48x48xi64>, tensor<1x1xi64>) -> tensor<48x48xi1>
    %29 = "tosa.logical_and"(%28, %0) : (tensor<48x48xi1>, tensor<48x48xi1>) -> tensor<48x48xi1>
    %30 = "tosa.reshape"(%29, %9) : (tensor<48x48xi1>, !tosa.shape<4>) -> tensor<1x1x48x48xi1>
    %31 = "tosa.select"(%30, %14, %21) : (tensor<1x1x48x48xi1>, tensor<1x1x1x1xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %32 = "tosa.cast"(%31) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf32>
    %33 = "tosa.reduce_max"(%32) <{axis = 3 : i32, nan_mode = #tosa.nan_mode<PROPAGATE>}> : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x1xf32>
    %34 = "tosa.sub"(%32, %33) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %35 = "tosa.exp"(%34) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %36 = "tosa.reduce_sum"(%35) <{axis = 3 : i32}> : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x1xf32>
    %37 = "tosa.reciprocal"(%36) : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %38 = "tosa.mul"(%35, %37, %5) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<1xi8>) -> tensor<2x4x48x48xf32>
    %39 = "tosa.cast"(%38) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf16>
    %40 = "tosa.reshape"(%39, %10) : (tensor<2x4x48x48xf16>, !tosa.shape<3>) -> tensor<8x48x48xf16>
    %41 = "tosa.reshape"(%arg2, %1) : (tensor<2x4x48x16xf16>, !tosa.shape<3>) -> tensor<8x48x16xf16>
    %42 = "tosa.matmul"(%40, %41, %3, %3) : (tensor<8x48x48xf16>, tensor<8x48x16xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<8x48x16xf32>
    %43 = "tosa.cast"(%42) : (tensor<8x48x16xf32>) -> tensor<8x48x16xf16>
    %44 = "tosa.reshape"(%43, %11) : (tensor<8x48x16xf16>, !tosa.shape<4>) -> tensor<2x4x48x16xf16>
    "func.return"(%44) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
