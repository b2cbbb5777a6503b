"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>) -> tensor<2x4x48x16xf16>, sym_name = "chunks"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x4x48x16xf16>, %arg2: tensor<2x4x48x16xf16>):
    %0 = "tosa.const"() <{values = dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47]> : tensor<48xi64>}> : () -> tensor<48xi64>
    %1 = "tosa.const_shape"() <{values = dense<[1, 48]> : tensor<2xindex>}> : () -> !tosa.shape<2>
    %2 = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
    %3 = "tosa.const_shape"() <{values = dense<[48, 1]> : tensor<2xindex>}> : () -> !tosa.shape<2>
    %4 = "tosa.const_shape"() <{values = dense<[8, 48, 16]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %5 = "tosa.const_shape"() <{values = dense<[8, 16, 48]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %6 = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1xf16>}> : () -> tensor<1xf16>
    %7 = "tosa.const_shape"() <{values = dense<[2, 4, 48, 48]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %8 = "tosa.const_shape"() <{values = dense<[1, 1, 48, 48]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %9 = "tosa.const_shape"() <{values = dense<[8, 48, 48]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %10 = "tosa.const_shape"() <{values = dense<[2, 4, 48, 16]> : tensor<4xindex>}> : () -> !tosa.shape<4>
    %11 = "tosa.const"() <{values = dense<16> : tensor<1x1xi64>}> : () -> tensor<1x1xi64>
    %12 = "tosa.const"() <{values = dense<1> : tensor<1x1xi64>}> : () -> tensor<1x1xi64>
    %13 = "tosa.const"() <{values = dense<0> : tensor<1x1xi64>}> : () -> tensor<1x1xi64>
    %14 = "tosa.const"() <{values = dense<2.500000e-01> : tensor<1x1x1x1xf16>}> : () -> tensor<1x1x1x1xf16>
    %15 = "tosa.const"() <{values = dense<0xFC00> : tensor<1x1x1x1xf16>}> : () -> tensor<1x1x1x1xf16>
    %16 = "tosa.reshape"(%0, %1) : (tensor<48xi64>, !tosa.shape<2>) -> tensor<1x48xi64>
    %17 = "tosa.cast"(%16) : (tensor<1x48xi64>) -> tensor<1x48xi32>
    %18 = "tosa.cast"(%17) : (tensor<1x48xi32>) -> tensor<1x48xi64>
    %19 = "tosa.intdiv"(%18, %11) : (tensor<1x48xi64>, tensor<1x1xi64>) -> tensor<1x48xi64>
    %20 = "tosa.mul"(%18, %11, %2) : (tensor<1x48xi64>, tensor<1x1xi64>, tensor<1xi8>) -> tensor<1x48xi64>
    %21 = "tosa.greater"(%13, %20) : (tensor<1x1xi64>, tensor<1x48xi64>) -> tensor<1x48xi1>
    %22 = "tosa.mul"(%19, %11, %2) : (tensor<1x48xi64>, tensor<1x1xi64>, tensor<1xi8>) -> tensor<1x48xi64>
    %23 = "tosa.equal"(%22, %18) : (tensor<1x48xi64>, tensor<1x48xi64>) -> tensor<1x48xi1>
    %24 = "tosa.logical_not"(%23) : (tensor<1x48xi1>) -> tensor<1x48xi1>
    %25 = "tosa.sub"(%19, %12) : (tensor<1x48xi64>, tensor<1x1xi64>) -> tensor<1x48xi64>
    %26 = "tosa.logical_and"(%21, %24) : (tensor<1x48xi1>, tensor<1x48xi1>) -> tensor<1x48xi1>
    %27 = "tosa.select"(%26, %25, %19) : (tensor<1x48xi1>, tensor<1x48xi64>, tensor<1x48xi64>) -> tensor<1x48xi64>
    %28 = "tosa.reshape"(%0, %3) : (tensor<48xi64>, !tosa.shape<2>) -> tensor<48x1xi64>
    %29 = "tosa.cast"(%28) : (tensor<48x1xi64>) -> tensor<48x1xi32>
    %30 = "tosa.cast"(%29) : (tensor<48x1xi32>) -> tensor<48x1xi64>
    %31 = "tosa.intdiv"(%30, %11) : (tensor<48x1xi64>, tensor<1x1xi64>) -> tensor<48x1xi64>
    %32 = "tosa.mul"(%30, %11, %2) : (tensor<48x1xi64>, tensor<1x1xi64>, tensor<1xi8>) -> tensor<48x1xi64>
    %33 = "tosa.greater"(%13, %32) : (tensor<1x1xi64>, tensor<48x1xi64>) -> tensor<48x1xi1>
    %34 = "tosa.mul"(%31, %11, %2) : (tensor<48x1xi64>, tensor<1x1xi64>, tensor<1xi8>) -> tensor<48x1xi64>
    %35 = "tosa.equal"(%34, %30) : (tensor<48x1xi64>, tensor<48x1xi64>) -> tensor<48x1xi1>
    %36 = "tosa.logical_not"(%35) : (tensor<48x1xi1>) -> tensor<48x1xi1>
    %37 = "tosa.sub"(%31, %12) : (tensor<48x1xi64>, tensor<1x1xi64>) -> tensor<48x1xi64>
    %38 = "tosa.logical_and"(%33, %36) : (tensor<48x1xi1>, tensor<48x1xi1>) -> tensor<48x1xi1>
    %39 = "tosa.select"(%38, %37, %31) : (tensor<48x1xi1>, tensor<48x1xi64>, tensor<48x1xi64>) -> tensor<48x1xi64>
    %40 = "tosa.equal"(%27, %39) : (tensor<1x48xi64>, tensor<48x1xi64>) -> tensor<48x48xi1>
    %41 = "tosa.greater_equal"(%28, %16) : (tensor<48x1xi64>, tensor<1x48xi64>) -> tensor<48x48xi1>
    %42 = "tosa.logical_and"(%40, %41) : (tensor<48x48xi1>, tensor<48x48xi1>) -> tensor<48x48xi1>
    %43 = "tosa.transpose"(%arg1) <{perms = array<i32: 0, 1, 3, 2>}> : (tensor<2x4x48x16xf16>) -> tensor<2x4x16x48xf16>
    %44 = "tosa.reshape"(%arg0, %4) : (tensor<2x4x48x16xf16>, !tosa.shape<3>) -> tensor<8x48x16xf16>
    %45 = "tosa.reshape"(%43, %5) : (tensor<2x4x16x48xf16>, !tosa.shape<3>) -> tensor<8x16x48xf16>
    %46 = "tosa.matmul"(%44, %45, %6, %6) : (tensor<8x48x16xf16>, tensor<8x16x48xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<8x48x48xf32>
    %47 = "tosa.cast"(%46) : (tensor<8x48x48xf32>) -> tensor<8x48x48xf16>
    %48 = "tosa.reshape"(%47, %7) : (tensor<8x48x48xf16>, !tosa.shape<4>) -> tensor<2x4x48x48xf16>
    %49 = "tosa.mul"(%48, %14, %2) : (tensor<2x4x48x48xf16>, tensor<1x1x1x1xf16>, tensor<1xi8>) -> tensor<2x4x48x48xf16>
    %50 = "tosa.reshape"(%42, %8) : (tensor<48x48xi1>, !tosa.shape<4>) -> tensor<1x1x48x48xi1>
    %51 = "tosa.select"(%50, %49, %15) : (tensor<1x1x48x48xi1>, tensor<2x4x48x48xf16>, tensor<1x1x1x1xf16>) -> tensor<2x4x48x48xf16>
    %52 = "tosa.cast"(%51) : (tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf32>
    %53 = "tosa.reduce_max"(%52) <{axis = 3 : i32, nan_mode = #tosa.nan_mode<PROPAGATE>}> : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x1xf32>
    %54 = "tosa.sub"(%52, %53) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>) -> tensor<2x4x48x48xf32>
    %55 = "tosa.exp"(%54) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %56 = "tosa.reduce_sum"(%55) <{axis = 3 : i32}> : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x1xf32>
    %57 = "tosa.reciprocal"(%56) : (tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %58 = "tosa.mul"(%55, %57, %2) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<1xi8>) -> tensor<2x4x48x48xf32>
    %59 = "tosa.cast"(%58) : (tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf16>
    %60 = "tosa.reshape"(%59, %9) : (tensor<2x4x48x48xf16>, !tosa.shape<3>) -> tensor<8x48x48xf16>
    %61 = "tosa.reshape"(%arg2, %4) : (tensor<2x4x48x16xf16>, !tosa.shape<3>) -> tensor<8x48x16xf16>
    %62 = "tosa.matmul"(%60, %61, %6, %6) : (tensor<8x48x48xf16>, tensor<8x48x16xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<8x48x16xf32>
    %63 = "tosa.cast"(%62) : (tensor<8x48x16xf32>) -> tensor<8x48x16xf16>
    %64 = "tosa.reshape"(%63, %10) : (tensor<8x48x16xf16>, !tosa.shape<4>) -> tensor<2x4x48x16xf16>
    "func.return"(%64) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
