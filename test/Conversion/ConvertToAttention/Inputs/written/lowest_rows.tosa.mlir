"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>) -> tensor<2x4x48x16xf16>, sym_name = "lowest_rows"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x4x48x16xf16>, %arg2: tensor<2x4x48x16xf16>):
    %0 = "tosa.const"() <{values = dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47]> : tensor<48xi64>}> : () -> tensor<48xi64>
    %1 = "tosa.const_shape"() <{values = dense<[1, 48]> : tensor<2xindex>}> : () -> !tosa.shape<2>
    %2 = "tosa.const_shape"() <{values = dense<[48, 1]> : tensor<2xindex>}> : () -> !tosa.shape<2>
    %3 = "tosa.const_shape"() <{values = dense<[8, 48, 16]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %4 = "tosa.const_shape"() <{values = dense<[8, 16, 48]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %5 = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1xf16>}> : () -> tensor<1xf16>
    %6 = "tosa.const_shape"() <{values = dense<[2, 4, 48, 48]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %7 = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
    %8 = "tosa.const_shape"() <{values = dense<[1, 1, 48, 48]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %9 = "tosa.const_shape"() <{values = dense<[8, 48, 48]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %10 = "tosa.const_shape"() <{values = dense<[2, 4, 48, 16]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %11 = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1x1xf32>}> : () -> tensor<1x1xf32>
    %12 = "tosa.const"() <{values = dense<-6.550400e+04> : tensor<1x1xf32>}> : () -> tensor<1x1xf32>
    %13 = "tosa.const"() <{values = dense<2.500000e-01> : tensor<1x1x1x1xf16>}> : () -> tensor<1x1x1x1xf16>
    %14 = "tosa.reshape"(%0, %1) : (tensor<48xi64>, !tosa.shape<2>) -> tensor<1x48xi64>
    %15 = "tosa.reshape"(%0, %2) : (tensor<48xi64>, !tosa.shape<2>) -> tensor<48x1xi64>
    %16 = "tosa.greater"(%15, %14) : (tensor<48x1xi64>, tensor<1x48xi64>) -> tensor<48x48xi1>
    %17 = "tosa.select"(%16, %11, %12) : (tensor<48x48xi1>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<48x48xf32>
    %18 = "tosa.cast"(%17) : (tensor<48x48xf32>) -> tensor<48x48xf16>
    %19 = "tosa.transpose"(%arg1) <{perms = array<i32: 0, 1, 3, 2>}> : (tensor<2x4x48x16xf16>) -> tensor<2x4x16x48xf16>
    %20 = "tosa.reshape"(%arg0, %3) : (tensor<2x4x48x16xf16>, !tosa.shape<3>) -> tensor<8x48x16xf16>
    %21 = "tosa.reshape"(%19, %4) : (tensor<2x4x16x48xf16>, !tosa.shape<3>) -> tensor<8x16x48xf16>
    %22 = "tosa.matmul"(%20, %21, %5, %5) : (tensor<8x48x16xf16>, tensor<8x16x48xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<8x48x48xf32>
    %23 = "tosa.cast"(%22) : (tensor<8x48x48xf32>) -> tensor<8x48x48xf16>
    %24 = "tosa.reshape"(%23, %6) : (tensor<8x48x48xf16>, !tosa.shape<4>) -> tensor<2x4x48x48xf16>
    %25 = "tosa.mul"(%24, %13, %7) : (tensor<2x4x48x48xf16>, tensor<1x1x1x1xf16>, tensor<1xi8>) -> tensor<2x4x48x48xf16>
    %26 = "tosa.reshape"(%18, %8) : (tensor<48x48xf16>, !tosa.shape<4>) -> tensor<1x1x48x48xf16>
    %27 = "tosa.add"(%25, %26) : (tensor<2x4x48x48xf16>, tensor<1x1x48x48xf16>) -> tensor<2x4x48x48xf16>
    %28 = "tosa.cast"(%27) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf32>
    %29 = "tosa.reduce_max"(%28) <{axis = 3 : i32, nan_mode = #tosa.nan_mode<PROPAGATE>}> : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x1xf32>
    %30 = "tosa.sub"(%28, %29) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %31 = "tosa.exp"(%30) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %32 = "tosa.reduce_sum"(%31) <{axis = 3 : i32}> : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x1xf32>
    %33 = "tosa.reciprocal"(%32) : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %34 = "tosa.mul"(%31, %33, %7) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<1xi8>) -> tensor<2x4x48x48xf32>
    %35 = "tosa.cast"(%34) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf16>
    %36 = "tosa.reshape"(%35, %9) : (tensor<2x4x48x48xf16>, !tosa.shape<3>) -> tensor<8x48x48xf16>
    %37 = "tosa.reshape"(%arg2, %3) : (tensor<2x4x48x16xf16>, !tosa.shape<3>) -> tensor<8x48x16xf16>
    %38 = "tosa.matmul"(%36, %37, %5, %5) : (tensor<8x48x48xf16>, tensor<8x48x16xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<8x48x16xf32>
    %39 = "tosa.cast"(%38) : (tensor<8x48x16xf32>) -> tensor<8x48x16xf16>
    %40 = "tosa.reshape"(%39, %10) : (tensor<8x48x16xf16>, !tosa.shape<4>) -> tensor<2x4x48x16xf16>
    "func.return"(%40) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
