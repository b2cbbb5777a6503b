"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>) -> tensor<2x4x48x16xf16>, sym_name = "plain"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x4x48x16xf16>, %arg2: tensor<2x4x48x16xf16>):
    %0 = "tosa.const_shape"() <{values = dense<[8, 48, 16]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %1 = "tosa.const_shape"() <{values = dense<[8, 16, 48]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %2 = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1xf16>}> : () -> tensor<1xf16>
    %3 = "tosa.const_shape"() <{values = dense<[2, 4, 48, 48]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %4 = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
    %5 = "tosa.const_shape"() <{values = dense<[8, 48, 48]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %6 = "tosa.const_shape"() <{values = dense<[2, 4, 48, 16]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %7 = "tosa.const"() <{values = dense<2.500000e-01> : tensor<1x1x1x1xf16>}> : () -> tensor<1x1x1x1xf16>
    %8 = "tosa.transpose"(%arg1) <{perms = array<i32: 0, 1, 3, 2>}> : (tensor<2x4x48x16xf16>) -> tensor<2x4x16x48xf16>
    %9 = "tosa.reshape"(%arg0, %0) : (tensor<2x4x48x16xf16>, !tosa.shape<3>) -> tensor<8x48x16xf16>
    %10 = "tosa.reshape"(%8, %1) : (tensor<2x4x16x48xf16>, !tosa.shape<3>) -> tensor<8x16x48xf16>
    %11 = "tosa.matmul"(%9, %10, %2, %2) : (tensor<8x48x16xf16>, tensor<8x16x48xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<8x48x48xf32>
    %12 = "tosa.cast"(%11) : (tensor<8x48x48xf32>) -> tensor<8x48x48xf16>
    %13 = "tosa.reshape"(%12, %3) : (tensor<8x48x48xf16>, !tosa.shape<4>) -> tensor<2x4x48x48xf16>
    %14 = "tosa.mul"(%13, %7, %4) : (tensor<2x4x48x48xf16>, tensor<1x1x1x1xf16>, tensor<1xi8>) -> tensor<2x4x48x48xf16>
    %15 = "tosa.cast"(%14) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf32>
    %16 = "tosa.reduce_max"(%15) <{axis = 3 : i32, nan_mode = #tosa.nan_mode<PROPAGATE>}> : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x1xf32>
    %17 = "tosa.sub"(%15, %16) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %18 = "tosa.exp"(%17) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %19 = "tosa.reduce_sum"(%18) <{axis = 3 : i32}> : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x1xf32>
    %20 = "tosa.reciprocal"(%19) : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %21 = "tosa.mul"(%18, %20, %4) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<1xi8>) -> tensor<2x4x48x48xf32>
    %22 = "tosa.cast"(%21) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf16>
    %23 = "tosa.reshape"(%22, %5) : (tensor<2x4x48x48xf16>, !tosa.shape<3>) -> tensor<8x48x48xf16>
    %24 = "tosa.reshape"(%arg2, %0) : (tensor<2x4x48x16xf16>, !tosa.shape<3>) -> tensor<8x48x16xf16>
    %25 = "tosa.matmul"(%23, %24, %2, %2) : (tensor<8x48x48xf16>, tensor<8x48x16xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<8x48x16xf32>
    %26 = "tosa.cast"(%25) : (tensor<8x48x16xf32>) -> tensor<8x48x16xf16>
    %27 = "tosa.reshape"(%26, %6) : (tensor<8x48x16xf16>, !tosa.shape<4>) -> tensor<2x4x48x16xf16>
    "func.return"(%27) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
