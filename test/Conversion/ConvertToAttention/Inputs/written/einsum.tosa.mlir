"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x48x4x16xf16>, tensor<2x48x4x16xf16>, tensor<2x48x4x16xf16>) -> tensor<2x48x4x16xf16>, sym_name = "einsum"}> ({
  ^bb0(%arg0: tensor<2x48x4x16xf16>, %arg1: tensor<2x48x4x16xf16>, %arg2: tensor<2x48x4x16xf16>):
    %0 = "tosa.const_shape"() <{values = dense<[2, 48, 4, 16, 1]> : tensor<5xindex>}> : () -> !tosa.shape<5>
    %1 = "tosa.const_shape"() <{values = dense<[8, 48, 16]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %2 = "tosa.const_shape"() <{values = dense<[8, 16, 48]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %3 = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1xf16>}> : () -> tensor<1xf16>
    %4 = "tosa.const_shape"() <{values = dense<[2, 4, 48, 48]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %5 = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
    %6 = "tosa.const_shape"() <{values = dense<[8, 48, 48]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %7 = "tosa.const_shape"() <{values = dense<[2, 4, 48, 1, 16]> : tensor<5xindex>}> : () -> !tosa.shape<5>
    %8 = "tosa.const_shape"() <{values = dense<[2, 48, 4, 16]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %9 = "tosa.const"() <{values = dense<2.500000e-01> : tensor<1x1x1x1xf16>}> : () -> tensor<1x1x1x1xf16>
    %10 = "tosa.reshape"(%arg0, %0) : (tensor<2x48x4x16xf16>, !tosa.shape<5>) -> tensor<2x48x4x16x1xf16>
    %11 = "tosa.reshape"(%arg1, %0) : (tensor<2x48x4x16xf16>, !tosa.shape<5>) -> tensor<2x48x4x16x1xf16>
    %12 = "tosa.transpose"(%10) <{perms = array<i32: 0, 2, 1, 3, 4>}> : (tensor<2x48x4x16x1xf16>) -> tensor<2x4x48x16x1xf16>
    %13 = "tosa.reshape"(%12, %1) : (tensor<2x4x48x16x1xf16>, !tosa.shape<3>) -> tensor<8x48x16xf16>
    %14 = "tosa.transpose"(%11) <{perms = array<i32: 0, 2, 3, 1, 4>}> : (tensor<2x48x4x16x1xf16>) -> tensor<2x4x16x48x1xf16>
    %15 = "tosa.reshape"(%14, %2) : (tensor<2x4x16x48x1xf16>, !tosa.shape<3>) -> tensor<8x16x48xf16>
    %16 = "tosa.matmul"(%13, %15, %3, %3) : (tensor<8x48x16xf16>, tensor<8x16x48xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<8x48x48xf32>
    %17 = "tosa.cast"(%16) : (tensor<8x48x48xf32>) -> tensor<8x48x48xf16>
    %18 = "tosa.reshape"(%17, %4) : (tensor<8x48x48xf16>, !tosa.shape<4>) -> tensor<2x4x48x48xf16>
    %19 = "tosa.mul"(%18, %9, %5) : (tensor<2x4x48x48xf16>, tensor<1x1x1x1xf16>, tensor<1xi8>) -> tensor<2x4x48x48xf16>
    %20 = "tosa.cast"(%19) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf32>
    %21 = "tosa.reduce_max"(%20) <{axis = 3 : i32, nan_mode = #tosa.nan_mode<PROPAGATE>}> : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x1xf32>
    %22 = "tosa.sub"(%20, %21) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %23 = "tosa.exp"(%22) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %24 = "tosa.reduce_sum"(%23) <{axis = 3 : i32}> : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x1xf32>
    %25 = "tosa.reciprocal"(%24) : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %26 = "tosa.mul"(%23, %25, %5) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<1xi8>) -> tensor<2x4x48x48xf32>
    %27 = "tosa.cast"(%26) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf16>
    %28 = "tosa.reshape"(%arg2, %0) : (tensor<2x48x4x16xf16>, !tosa.shape<5>) -> tensor<2x48x4x16x1xf16>
    %29 = "tosa.reshape"(%27, %6) : (tensor<2x4x48x48xf16>, !tosa.shape<3>) -> tensor<8x48x48xf16>
    %30 = "tosa.transpose"(%28) <{perms = array<i32: 0, 2, 1, 3, 4>}> : (tensor<2x48x4x16x1xf16>) -> tensor<2x4x48x16x1xf16>
    %31 = "tosa.reshape"(%30, %1) : (tensor<2x4x48x16x1xf16>, !tosa.shape<3>) -> tensor<8x48x16xf16>
    %32 = "tosa.matmul"(%29, %31, %3, %3) : (tensor<8x48x48xf16>, tensor<8x48x16xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<8x48x16xf32>
    %33 = "tosa.cast"(%32) : (tensor<8x48x16xf32>) -> tensor<8x48x16xf16>
    %34 = "tosa.reshape"(%33, %7) : (tensor<8x48x16xf16>, !tosa.shape<5>) -> tensor<2x4x48x1x16xf16>
    %35 = "tosa.transpose"(%34) <{perms = array<i32: 0, 2, 1, 4, 3>}> : (tensor<2x4x48x1x16xf16>) -> tensor<2x48x4x16x1xf16>
    %36 = "tosa.reshape"(%35, %8) : (tensor<2x48x4x16x1xf16>, !tosa.shape<4>) -> tensor<2x48x4x16xf16>
    "func.return"(%36) : (tensor<2x48x4x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
