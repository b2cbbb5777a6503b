"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>) -> tensor<2x4x48x16xf16>, sym_name = "softcap"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x4x48x16xf16>, %arg2: tensor<2x4x48x16xf16>):
    %0 = "tosa.const_shape"() <{values = dense<[8, 48, 16]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %1 = "tosa.const_shape"() <{values = dense<[8, 16, 48]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %2 = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1xf16>}> : () -> tensor<1xf16>
    %3 = "tosa.const_shape"() <{values = dense<[2, 4, 48, 48]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %4 = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
    %5 = "tosa.const_shape"() <{values = dense<[8, 48, 48]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %6 = "tosa.const_shape"() <{values = dense<[2, 4, 48, 16]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %7 = "tosa.const"() <{values = dense<2.500000e-01> : tensor<1x1x1x1xf16>}> : () -> tensor<1x1x1x1xf16>
    %8 = "tosa.const"() <{values = dense<3.332520e-02> : tensor<1x1x1x1xf16>}> : () -> tensor<1x1x1x1xf16>
    %9 = "tosa.const"() <{values = dense<3.000000e+01> : tensor<1x1x1x1xf16>}> : () -> tensor<1x1x1x1xf16>
    %10 = "tosa.transpose"(%arg1) <{perms = array<i32: 0, 1, 3, 2>}> : (tensor<2x4x48x16xf16>) -> tensor<2x4x16x48xf16>
    %11 = "tosa.reshape"(%arg0, %0) : (tensor<2x4x48x16xf16>, !tosa.shape<3>) -> tensor<8x48x16xf16>
    %12 = "tosa.reshape"(%10, %1) : (tensor<2x4x16x48xf16>, !tosa.shape<3>) -> tensor<8x16x48xf16>
    %13 = "tosa.matmul"(%11, %12, %2, %2) : (tensor<8x48x16xf16>, tensor<8x16x48xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<8x48x48xf32>
    %14 = "tosa.cast"(%13) : (tensor<8x48x48xf32>) -> tensor<8x48x48xf16>
    %15 = "tosa.reshape"(%14, %3) : (tensor<8x48x48xf16>, !tosa.shape<4>) -> tensor<2x4x48x48xf16>
    %16 = "tosa.mul"(%15, %7, %4) : (tensor<2x4x48x48xf16>, tensor<1x1x1x1xf16>, tensor<1xi8>) -> tensor<2x4x48x48xf16>
    %17 = "tosa.mul"(%16, %8, %4) : (tensor<2x4x48x48xf16>, tensor<1x1x1x1xf16>, tensor<1xi8>) -> tensor<2x4x48x48xf16>
    %18 = "tosa.tanh"(%17) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %19 = "tosa.mul"(%18, %9, %4) : (tensor<2x4x48x48xf16>, tensor<1x1x1x1xf16>, tensor<1xi8>) -> tensor<2x4x48x48xf16>
    %20 = "tosa.cast"(%19) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf32>
    %21 = "tosa.reduce_max"(%20) <{axis = 3 : i32, nan_mode = #tosa.nan_mode<PROPAGATE>}> : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x1xf32>
    %22 = "tosa.sub"(%20, %21) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %23 = "tosa.exp"(%22) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %24 = "tosa.reduce_sum"(%23) <{axis = 3 : i32}> : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x1xf32>
    %25 = "tosa.reciprocal"(%24) : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %26 = "tosa.mul"(%23, %25, %4) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<1xi8>) -> tensor<2x4x48x48xf32>
    %27 = "tosa.cast"(%26) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf16>
    %28 = "tosa.reshape"(%27, %5) : (tensor<2x4x48x48xf16>, !tosa.shape<3>) -> tensor<8x48x48xf16>
    %29 = "tosa.reshape"(%arg2, %0) : (tensor<2x4x48x16xf16>, !tosa.shape<3>) -> tensor<8x48x16xf16>
    %30 = "tosa.matmul"(%28, %29, %2, %2) : (tensor<8x48x48xf16>, tensor<8x48x16xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<8x48x16xf32>
    %31 = "tosa.cast"(%30) : (tensor<8x48x16xf32>) -> tensor<8x48x16xf16>
    %32 = "tosa.reshape"(%31, %6) : (tensor<8x48x16xf16>, !tosa.shape<4>) -> tensor<2x4x48x16xf16>
    "func.return"(%32) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
