#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0) -> (d0)>
#map6 = affine_map<(d0, d1) -> (0, d1)>
#map7 = affine_map<(d0, d1) -> (d0, 0)>
#map8 = affine_map<(d0, d1) -> (d0, d1)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map10 = affine_map<(d0, d1, d2, d3) -> ()>
#map11 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>) -> tensor<2x4x48x16xf16>, sym_name = "causal_fill"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x4x48x16xf16>, %arg2: tensor<2x4x48x16xf16>):
    %0 = "arith.constant"() <{value = 0 : i64}> : () -> i64
    %1 = "arith.constant"() <{value = 1 : i64}> : () -> i64
    %2 = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32
    %3 = "arith.constant"() <{value = 0xFF800000 : f32}> : () -> f32
    %4 = "arith.constant"() <{value = dense<0xFC00> : tensor<f16>}> : () -> tensor<f16>
    %5 = "arith.constant"() <{value = dense<true> : tensor<48x48xi1>}> : () -> tensor<48x48xi1>
    %6 = "arith.constant"() <{value = 2.500000e-01 : f16}> : () -> f16
    %7 = "tensor.empty"() : () -> tensor<2x4x16x48xf16>
    %8 = "linalg.transpose"(%arg1, %7) <{permutation = array<i64: 0, 1, 3, 2>}> ({
    ^bb0(%arg55: f16, %arg56: f16):
      "linalg.yield"(%arg55) : (f16) -> ()
    }) : (tensor<2x4x48x16xf16>, tensor<2x4x16x48xf16>) -> tensor<2x4x16x48xf16>
    %9 = "tensor.collapse_shape"(%arg0) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %10 = "tensor.collapse_shape"(%8) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x16x48xf16>) -> tensor<8x16x48xf16>
    %11 = "tensor.empty"() : () -> tensor<8x48x48xf32>
    %12 = "linalg.fill"(%2, %11) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg53: f32, %arg54: f32):
      "linalg.yield"(%arg53) : (f32) -> ()
    }) : (f32, tensor<8x48x48xf32>) -> tensor<8x48x48xf32>
    %13 = "linalg.batch_matmul"(%9, %10, %12) <{indexing_maps = [#map, #map1, #map2], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg50: f16, %arg51: f16, %arg52: f32):
      %76 = "arith.extf"(%arg50) : (f16) -> f32
      %77 = "arith.extf"(%arg51) : (f16) -> f32
      %78 = "arith.mulf"(%76, %77) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %79 = "arith.addf"(%arg52, %78) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%79) : (f32) -> ()
    }) : (tensor<8x48x16xf16>, tensor<8x16x48xf16>, tensor<8x48x48xf32>) -> tensor<8x48x48xf32>
    %14 = "tensor.empty"() : () -> tensor<8x48x48xf16>
    %15 = "linalg.generic"(%13, %14) <{indexing_maps = [#map3, #map3], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg48: f32, %arg49: f16):
      %75 = "arith.truncf"(%arg48) : (f32) -> f16
      "linalg.yield"(%75) : (f16) -> ()
    }) : (tensor<8x48x48xf32>, tensor<8x48x48xf16>) -> tensor<8x48x48xf16>
    %16 = "tensor.expand_shape"(%15) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 48, 48>}> : (tensor<8x48x48xf16>) -> tensor<2x4x48x48xf16>
    %17 = "tensor.empty"() : () -> tensor<2x4x48x48xf16>
    %18 = "linalg.generic"(%16, %17) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg46: f16, %arg47: f16):
      %74 = "arith.mulf"(%arg46, %6) <{fastmath = #arith.fastmath<none>}> : (f16, f16) -> f16
      "linalg.yield"(%74) : (f16) -> ()
    }) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %19 = "tensor.empty"() : () -> tensor<48xi64>
    %20 = "linalg.generic"(%19) <{indexing_maps = [#map5], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg45: i64):
      %72 = "linalg.index"() <{dim = 0 : i64}> : () -> index
      %73 = "arith.index_cast"(%72) : (index) -> i64
      "linalg.yield"(%73) : (i64) -> ()
    }) : (tensor<48xi64>) -> tensor<48xi64>
    %21 = "tensor.expand_shape"(%20) <{reassociation = [[0, 1]], static_output_shape = array<i64: 1, 48>}> : (tensor<48xi64>) -> tensor<1x48xi64>
    %22 = "tensor.expand_shape"(%20) <{reassociation = [[0, 1]], static_output_shape = array<i64: 48, 1>}> : (tensor<48xi64>) -> tensor<48x1xi64>
    %23 = "tensor.empty"() : () -> tensor<48x48xi64>
    %24 = "linalg.generic"(%21, %22, %23) <{indexing_maps = [#map6, #map7, #map8], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg42: i64, %arg43: i64, %arg44: i64):
      %71 = "arith.subi"(%arg42, %arg43) <{overflowFlags = #arith.overflow<none>}> : (i64, i64) -> i64
      "linalg.yield"(%71) : (i64) -> ()
    }) : (tensor<1x48xi64>, tensor<48x1xi64>, tensor<48x48xi64>) -> tensor<48x48xi64>
    %25 = "tensor.empty"() : () -> tensor<48x48xi1>
    %26 = "linalg.generic"(%24, %25) <{indexing_maps = [#map8, #map8], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg40: i64, %arg41: i1):
      %70 = "arith.cmpi"(%arg40, %1) <{predicate = 5 : i64}> : (i64, i64) -> i1
      "linalg.yield"(%70) : (i1) -> ()
    }) : (tensor<48x48xi64>, tensor<48x48xi1>) -> tensor<48x48xi1>
    %27 = "linalg.generic"(%26, %5, %25) <{indexing_maps = [#map8, #map8, #map8], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg37: i1, %arg38: i1, %arg39: i1):
      %69 = "arith.andi"(%arg37, %arg38) : (i1, i1) -> i1
      "linalg.yield"(%69) : (i1) -> ()
    }) : (tensor<48x48xi1>, tensor<48x48xi1>, tensor<48x48xi1>) -> tensor<48x48xi1>
    %28 = "linalg.generic"(%27, %4, %18, %17) <{indexing_maps = [#map9, #map10, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 3, 1>}> ({
    ^bb0(%arg33: i1, %arg34: f16, %arg35: f16, %arg36: f16):
      %68 = "arith.select"(%arg33, %arg34, %arg35) : (i1, f16, f16) -> f16
      "linalg.yield"(%68) : (f16) -> ()
    }) : (tensor<48x48xi1>, tensor<f16>, tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %29 = "tensor.empty"() : () -> tensor<2x4x48x48xf32>
    %30 = "linalg.generic"(%28, %29) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
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
    %34 = "linalg.fill"(%3, %33) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg27: f32, %arg28: f32):
      "linalg.yield"(%arg27) : (f32) -> ()
    }) : (f32, tensor<2x4x48xf32>) -> tensor<2x4x48xf32>
    %35:2 = "linalg.generic"(%30, %34, %32) <{indexing_maps = [#map4, #map2, #map2], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 2>}> ({
    ^bb0(%arg24: f32, %arg25: f32, %arg26: i64):
      %62 = "linalg.index"() <{dim = 3 : i64}> : () -> index
      %63 = "arith.index_cast"(%62) : (index) -> i64
      %64 = "arith.maximumf"(%arg24, %arg25) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %65 = "arith.cmpf"(%arg24, %arg25) <{fastmath = #arith.fastmath<none>, predicate = 2 : i64}> : (f32, f32) -> i1
      %66 = "arith.select"(%65, %63, %arg26) : (i1, i64, i64) -> i64
      "linalg.yield"(%64, %66) : (f32, i64) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48xf32>, tensor<2x4x48xi64>) -> (tensor<2x4x48xf32>, tensor<2x4x48xi64>)
    %36 = "tensor.expand_shape"(%35#0) <{reassociation = [[0], [1], [2, 3]], static_output_shape = array<i64: 2, 4, 48, 1>}> : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %37 = "linalg.generic"(%30, %36, %29) <{indexing_maps = [#map4, #map11, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg21: f32, %arg22: f32, %arg23: f32):
      %61 = "arith.subf"(%arg21, %arg22) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%61) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %38 = "linalg.generic"(%37, %29) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg19: f32, %arg20: f32):
      %60 = "math.exp"(%arg19) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32
      "linalg.yield"(%60) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %39 = "tensor.empty"() : () -> tensor<2x4x48x1xf32>
    %40 = "linalg.fill"(%2, %39) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg17: f32, %arg18: f32):
      "linalg.yield"(%arg17) : (f32) -> ()
    }) : (f32, tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %41 = "linalg.generic"(%38, %40) <{indexing_maps = [#map4, #map11], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg15: f32, %arg16: f32):
      %59 = "arith.addf"(%arg15, %arg16) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%59) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %42 = "linalg.generic"(%38, %41, %29) <{indexing_maps = [#map4, #map11, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg12: f32, %arg13: f32, %arg14: f32):
      %58 = "arith.divf"(%arg12, %arg13) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%58) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %43 = "linalg.generic"(%42, %17) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg10: f32, %arg11: f16):
      %57 = "arith.truncf"(%arg10) : (f32) -> f16
      "linalg.yield"(%57) : (f16) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %44 = "tensor.collapse_shape"(%43) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x48x48xf16>) -> tensor<8x48x48xf16>
    %45 = "tensor.collapse_shape"(%arg2) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %46 = "tensor.empty"() : () -> tensor<8x48x16xf32>
    %47 = "linalg.fill"(%2, %46) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg8: f32, %arg9: f32):
      "linalg.yield"(%arg8) : (f32) -> ()
    }) : (f32, tensor<8x48x16xf32>) -> tensor<8x48x16xf32>
    %48 = "linalg.batch_matmul"(%44, %45, %47) <{indexing_maps = [#map, #map1, #map2], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg5: f16, %arg6: f16, %arg7: f32):
      %53 = "arith.extf"(%arg5) : (f16) -> f32
      %54 = "arith.extf"(%arg6) : (f16) -> f32
      %55 = "arith.mulf"(%53, %54) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %56 = "arith.addf"(%arg7, %55) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%56) : (f32) -> ()
    }) : (tensor<8x48x48xf16>, tensor<8x48x16xf16>, tensor<8x48x16xf32>) -> tensor<8x48x16xf32>
    %49 = "tensor.empty"() : () -> tensor<8x48x16xf16>
    %50 = "linalg.generic"(%48, %49) <{indexing_maps = [#map3, #map3], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg3: f32, %arg4: f16):
      %52 = "arith.truncf"(%arg3) : (f32) -> f16
      "linalg.yield"(%52) : (f16) -> ()
    }) : (tensor<8x48x16xf32>, tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %51 = "tensor.expand_shape"(%50) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 48, 16>}> : (tensor<8x48x16xf16>) -> tensor<2x4x48x16xf16>
    "func.return"(%51) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
