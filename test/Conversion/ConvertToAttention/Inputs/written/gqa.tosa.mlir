"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x2x48x16xf16>, tensor<2x2x48x16xf16>) -> tensor<2x4x48x16xf16>, sym_name = "gqa"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x2x48x16xf16>, %arg2: tensor<2x2x48x16xf16>):
    %0 = "tosa.const_shape"() <{values = dense<[2, 2, 1, 48, 16]> : tensor<5xindex>}> : () -> !tosa.shape<5>
    %1 = "tosa.const_shape"() <{values = dense<[1, 1, 2, 1, 1]> : tensor<5xindex>}> : () -> !tosa.shape<5>
    %2 = "tosa.const_shape"() <{values = dense<[2, 4, 48, 16]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %3 = "tosa.const_shape"() <{values = dense<[8, 48, 16]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %4 = "tosa.const_shape"() <{values = dense<[8, 16, 48]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %5 = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1xf16>}> : () -> tensor<1xf16>
    %6 = "tosa.const_shape"() <{values = dense<[2, 4, 48, 48]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %7 = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
    %8 = "tosa.const_shape"() <{values = dense<[8, 48, 48]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %9 = "tosa.const"() <{values = dense<2.500000e-01> : tensor<1x1x1x1xf16>}> : () -> tensor<1x1x1x1xf16>
    %10 = "tosa.reshape"(%arg1, %0) : (tensor<2x2x48x16xf16>, !tosa.shape<5>) -> tensor<2x2x1x48x16xf16>
    %11 = "tosa.tile"(%10, %1) : (tensor<2x2x1x48x16xf16>, !tosa.shape<5>) -> tensor<2x2x2x48x16xf16>
    %12 = "tosa.reshape"(%11, %2) : (tensor<2x2x2x48x16xf16>, !tosa.shape<4>) -> tensor<2x4x48x16xf16>
    %13 = "tosa.reshape"(%arg2, %0) : (tensor<2x2x48x16xf16>, !tosa.shape<5>) -> tensor<2x2x1x48x16xf16>
    %14 = "tosa.tile"(%13, %1) : (tensor<2x2x1x48x16xf16>, !tosa.shape<5>) -> tensor<2x2x2x48x16xf16>
    %15 = "tosa.transpose"(%12) <{perms = array<i32: 0, 1, 3, 2>}> : (tensor<2x4x48x16xf16>) -> tensor<2x4x16x48xf16>
    %16 = "tosa.reshape"(%arg0, %3) : (tensor<2x4x48x16xf16>, !tosa.shape<3>) -> tensor<8x48x16xf16>
    %17 = "tosa.reshape"(%15, %4) : (tensor<2x4x16x48xf16>, !tosa.shape<3>) -> tensor<8x16x48xf16>
    %18 = "tosa.matmul"(%16, %17, %5, %5) : (tensor<8x48x16xf16>, tensor<8x16x48xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<8x48x48xf32>
    %19 = "tosa.cast"(%18) : (tensor<8x48x48xf32>) -> tensor<8x48x48xf16>
    %20 = "tosa.reshape"(%19, %6) : (tensor<8x48x48xf16>, !tosa.shape<4>) -> tensor<2x4x48x48xf16>
    %21 = "tosa.mul"(%20, %9, %7) : (tensor<2x4x48x48xf16>, tensor<1x1x1x1xf16>, tensor<1xi8>) -> tensor<2x4x48x48xf16>
    %22 = "tosa.cast"(%21) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf32>
    %23 = "tosa.reduce_max"(%22) <{axis = 3 : i32, nan_mode = #tosa.nan_mode<PROPAGATE>}> : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x1xf32>
    %24 = "tosa.sub"(%22, %23) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %25 = "tosa.exp"(%24) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %26 = "tosa.reduce_sum"(%25) <{axis = 3 : i32}> : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x1xf32>
    %27 = "tosa.reciprocal"(%26) : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %28 = "tosa.mul"(%25, %27, %7) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<1xi8>) -> tensor<2x4x48x48xf32>
    %29 = "tosa.cast"(%28) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf16>
    %30 = "tosa.reshape"(%29, %8) : (tensor<2x4x48x48xf16>, !tosa.shape<3>) -> tensor<8x48x48xf16>
    %31 = "tosa.reshape"(%14, %3) : (tensor<2x2x2x48x16xf16>, !tosa.shape<3>) -> tensor<8x48x16xf16>
    %32 = "tosa.matmul"(%30, %31, %5, %5) : (tensor<8x48x48xf16>, tensor<8x48x16xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<8x48x16xf32>
    %33 = "tosa.cast"(%32) : (tensor<8x48x16xf32>) -> tensor<8x48x16xf16>
    %34 = "tosa.reshape"(%33, %2) : (tensor<8x48x16xf16>, !tosa.shape<4>) -> tensor<2x4x48x16xf16>
    "func.return"(%34) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
