#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0, d1) -> (0, d1)>
#map2 = affine_map<(d0, d1) -> (d0, 0)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#map4 = affine_map<(d0, d1) -> ()>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map8 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>) -> tensor<2x4x48x16xf16>, sym_name = "lowest"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x4x48x16xf16>, %arg2: tensor<2x4x48x16xf16>):
    %0 = "arith.constant"() <{value = 0 : i64}> : () -> i64
    %1 = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32
    %2 = "arith.constant"() <{value = 0xFF800000 : f32}> : () -> f32
    %3 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %4 = "arith.constant"() <{value = dense<-6.550400e+04> : tensor<f32>}> : () -> tensor<f32>
    %5 = "arith.constant"() <{value = 2.500000e-01 : f16}> : () -> f16
    %6 = "tensor.empty"() : () -> tensor<48xi64>
    %7 = "linalg.generic"(%6) <{indexing_maps = [#map], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg56: i64):
      %78 = "linalg.index"() <{dim = 0 : i64}> : () -> index
      %79 = "arith.index_cast"(%78) : (index) -> i64
      "linalg.yield"(%79) : (i64) -> ()
    }) : (tensor<48xi64>) -> tensor<48xi64>
    %8 = "tensor.expand_shape"(%7) <{reassociation = [[0, 1]], static_output_shape = array<i64: 1, 48>}> : (tensor<48xi64>) -> tensor<1x48xi64>
    %9 = "tensor.expand_shape"(%7) <{reassociation = [[0, 1]], static_output_shape = array<i64: 48, 1>}> : (tensor<48xi64>) -> tensor<48x1xi64>
    %10 = "tensor.empty"() : () -> tensor<48x48xi1>
    %11 = "linalg.generic"(%8, %9, %10) <{indexing_maps = [#map1, #map2, #map3], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg53: i64, %arg54: i64, %arg55: i1):
      %77 = "arith.cmpi"(%arg53, %arg54) <{predicate = 3 : i64}> : (i64, i64) -> i1
      "linalg.yield"(%77) : (i1) -> ()
    }) : (tensor<1x48xi64>, tensor<48x1xi64>, tensor<48x48xi1>) -> tensor<48x48xi1>
    %12 = "tensor.empty"() : () -> tensor<48x48xf32>
    %13 = "linalg.generic"(%11, %3, %4, %12) <{indexing_maps = [#map3, #map4, #map4, #map3], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 3, 1>}> ({
    ^bb0(%arg49: i1, %arg50: f32, %arg51: f32, %arg52: f32):
      %76 = "arith.select"(%arg49, %arg50, %arg51) : (i1, f32, f32) -> f32
      "linalg.yield"(%76) : (f32) -> ()
    }) : (tensor<48x48xi1>, tensor<f32>, tensor<f32>, tensor<48x48xf32>) -> tensor<48x48xf32>
    %14 = "tensor.empty"() : () -> tensor<48x48xf16>
    %15 = "linalg.generic"(%13, %14) <{indexing_maps = [#map3, #map3], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg47: f32, %arg48: f16):
      %75 = "arith.truncf"(%arg47) : (f32) -> f16
      "linalg.yield"(%75) : (f16) -> ()
    }) : (tensor<48x48xf32>, tensor<48x48xf16>) -> tensor<48x48xf16>
    %16 = "tensor.empty"() : () -> tensor<2x4x16x48xf16>
    %17 = "linalg.transpose"(%arg1, %16) <{permutation = array<i64: 0, 1, 3, 2>}> ({
    ^bb0(%arg45: f16, %arg46: f16):
      "linalg.yield"(%arg45) : (f16) -> ()
    }) : (tensor<2x4x48x16xf16>, tensor<2x4x16x48xf16>) -> tensor<2x4x16x48xf16>
    %18 = "tensor.collapse_shape"(%arg0) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %19 = "tensor.collapse_shape"(%17) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x16x48xf16>) -> tensor<8x16x48xf16>
    %20 = "tensor.empty"() : () -> tensor<8x48x48xf32>
    %21 = "linalg.fill"(%1, %20) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg43: f32, %arg44: f32):
      "linalg.yield"(%arg43) : (f32) -> ()
    }) : (f32, tensor<8x48x48xf32>) -> tensor<8x48x48xf32>
    %22 = "linalg.batch_matmul"(%18, %19, %21) <{indexing_maps = [#map5, #map6, #map7], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg40: f16, %arg41: f16, %arg42: f32):
      %71 = "arith.extf"(%arg40) : (f16) -> f32
      %72 = "arith.extf"(%arg41) : (f16) -> f32
      %73 = "arith.mulf"(%71, %72) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %74 = "arith.addf"(%arg42, %73) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%74) : (f32) -> ()
    }) : (tensor<8x48x16xf16>, tensor<8x16x48xf16>, tensor<8x48x48xf32>) -> tensor<8x48x48xf32>
    %23 = "tensor.empty"() : () -> tensor<8x48x48xf16>
    %24 = "linalg.generic"(%22, %23) <{indexing_maps = [#map8, #map8], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg38: f32, %arg39: f16):
      %70 = "arith.truncf"(%arg38) : (f32) -> f16
      "linalg.yield"(%70) : (f16) -> ()
    }) : (tensor<8x48x48xf32>, tensor<8x48x48xf16>) -> tensor<8x48x48xf16>
    %25 = "tensor.expand_shape"(%24) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 48, 48>}> : (tensor<8x48x48xf16>) -> tensor<2x4x48x48xf16>
    %26 = "tensor.empty"() : () -> tensor<2x4x48x48xf16>
    %27 = "linalg.generic"(%25, %26) <{indexing_maps = [#map9, #map9], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg36: f16, %arg37: f16):
      %69 = "arith.mulf"(%arg36, %5) <{fastmath = #arith.fastmath<none>}> : (f16, f16) -> f16
      "linalg.yield"(%69) : (f16) -> ()
    }) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %28 = "linalg.generic"(%27, %15, %26) <{indexing_maps = [#map9, #map10, #map9], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg33: f16, %arg34: f16, %arg35: f16):
      %68 = "arith.addf"(%arg33, %arg34) <{fastmath = #arith.fastmath<none>}> : (f16, f16) -> f16
      "linalg.yield"(%68) : (f16) -> ()
    }) : (tensor<2x4x48x48xf16>, tensor<48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %29 = "tensor.empty"() : () -> tensor<2x4x48x48xf32>
    %30 = "linalg.generic"(%28, %29) <{indexing_maps = [#map9, #map9], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg31: f16, %arg32: f32):
      %67 = "arith.extf"(%arg31) : (f16) -> f32
      "linalg.yield"(%67) : (f32) -> ()
    }) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %31 = "tensor.empty"() : () -> tensor<2x4x48xi64>
    %32 = "linalg.fill"(%0, %31) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg29: i64, %arg30: i64):
      "linalg.yield"(%arg29) : (i64) -> ()
    }) : (i64, tensor<2x4x48xi64>) -> tensor<2x4x48xi64>
    %33 = "tensor.empty"() : () -> tensor<2x4x48xf32>
    %34 = "linalg.fill"(%2, %33) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg27: f32, %arg28: f32):
      "linalg.yield"(%arg27) : (f32) -> ()
    }) : (f32, tensor<2x4x48xf32>) -> tensor<2x4x48xf32>
    %35:2 = "linalg.generic"(%30, %34, %32) <{indexing_maps = [#map9, #map7, #map7], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 2>}> ({
    ^bb0(%arg24: f32, %arg25: f32, %arg26: i64):
      %62 = "linalg.index"() <{dim = 3 : i64}> : () -> index
      %63 = "arith.index_cast"(%62) : (index) -> i64
      %64 = "arith.maximumf"(%arg24, %arg25) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %65 = "arith.cmpf"(%arg24, %arg25) <{fastmath = #arith.fastmath<none>, predicate = 2 : i64}> : (f32, f32) -> i1
      %66 = "arith.select"(%65, %63, %arg26) : (i1, i64, i64) -> i64
      "linalg.yield"(%64, %66) : (f32, i64) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48xf32>, tensor<2x4x48xi64>) -> (tensor<2x4x48xf32>, tensor<2x4x48xi64>)
    %36 = "tensor.expand_shape"(%35#0) <{reassociation = [[0], [1], [2, 3]], static_output_shape = array<i64: 2, 4, 48, 1>}> : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %37 = "linalg.generic"(%30, %36, %29) <{indexing_maps = [#map9, #map11, #map9], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg21: f32, %arg22: f32, %arg23: f32):
      %61 = "arith.subf"(%arg21, %arg22) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%61) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %38 = "linalg.generic"(%37, %29) <{indexing_maps = [#map9, #map9], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg19: f32, %arg20: f32):
      %60 = "math.exp"(%arg19) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32
      "linalg.yield"(%60) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %39 = "tensor.empty"() : () -> tensor<2x4x48x1xf32>
    %40 = "linalg.fill"(%1, %39) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg17: f32, %arg18: f32):
      "linalg.yield"(%arg17) : (f32) -> ()
    }) : (f32, tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %41 = "linalg.generic"(%38, %40) <{indexing_maps = [#map9, #map11], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg15: f32, %arg16: f32):
      %59 = "arith.addf"(%arg15, %arg16) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%59) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %42 = "linalg.generic"(%38, %41, %29) <{indexing_maps = [#map9, #map11, #map9], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg12: f32, %arg13: f32, %arg14: f32):
      %58 = "arith.divf"(%arg12, %arg13) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%58) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %43 = "linalg.generic"(%42, %26) <{indexing_maps = [#map9, #map9], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg10: f32, %arg11: f16):
      %57 = "arith.truncf"(%arg10) : (f32) -> f16
      "linalg.yield"(%57) : (f16) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %44 = "tensor.collapse_shape"(%43) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x48x48xf16>) -> tensor<8x48x48xf16>
    %45 = "tensor.collapse_shape"(%arg2) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %46 = "tensor.empty"() : () -> tensor<8x48x16xf32>
    %47 = "linalg.fill"(%1, %46) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg8: f32, %arg9: f32):
      "linalg.yield"(%arg8) : (f32) -> ()
    }) : (f32, tensor<8x48x16xf32>) -> tensor<8x48x16xf32>
    %48 = "linalg.batch_matmul"(%44, %45, %47) <{indexing_maps = [#map5, #map6, #map7], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg5: f16, %arg6: f16, %arg7: f32):
      %53 = "arith.extf"(%arg5) : (f16) -> f32
      %54 = "arith.extf"(%arg6) : (f16) -> f32
      %55 = "arith.mulf"(%53, %54) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %56 = "arith.addf"(%arg7, %55) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%56) : (f32) -> ()
    }) : (tensor<8x48x48xf16>, tensor<8x48x16xf16>, tensor<8x48x16xf32>) -> tensor<8x48x16xf32>
    %49 = "tensor.empty"() : () -> tensor<8x48x16xf16>
    %50 = "linalg.generic"(%48, %49) <{indexing_maps = [#map8, #map8], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg3: f32, %arg4: f16):
      %52 = "arith.truncf"(%arg3) : (f32) -> f16
      "linalg.yield"(%52) : (f16) -> ()
    }) : (tensor<8x48x16xf32>, tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %51 = "tensor.expand_shape"(%50) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 48, 16>}> : (tensor<8x48x16xf16>) -> tensor<2x4x48x16xf16>
    "func.return"(%51) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
