#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x48x4x16xf16>, tensor<2x48x4x16xf16>, tensor<2x48x4x16xf16>) -> tensor<2x48x4x16xf16>, sym_name = "einsum"}> ({
  ^bb0(%arg0: tensor<2x48x4x16xf16>, %arg1: tensor<2x48x4x16xf16>, %arg2: tensor<2x48x4x16xf16>):
    %0 = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32
    %1 = "arith.constant"() <{value = 0 : i64}> : () -> i64
    %2 = "arith.constant"() <{value = 0xFF800000 : f32}> : () -> f32
    %3 = "arith.constant"() <{value = 2.500000e-01 : f16}> : () -> f16
    %4 = "tensor.expand_shape"(%arg0) <{reassociation = [[0], [1], [2], [3, 4]], static_output_shape = array<i64: 2, 48, 4, 16, 1>}> : (tensor<2x48x4x16xf16>) -> tensor<2x48x4x16x1xf16>
    %5 = "tensor.expand_shape"(%arg1) <{reassociation = [[0], [1], [2], [3, 4]], static_output_shape = array<i64: 2, 48, 4, 16, 1>}> : (tensor<2x48x4x16xf16>) -> tensor<2x48x4x16x1xf16>
    %6 = "tensor.empty"() : () -> tensor<2x4x48x16x1xf16>
    %7 = "linalg.transpose"(%4, %6) <{permutation = array<i64: 0, 2, 1, 3, 4>}> ({
    ^bb0(%arg50: f16, %arg51: f16):
      "linalg.yield"(%arg50) : (f16) -> ()
    }) : (tensor<2x48x4x16x1xf16>, tensor<2x4x48x16x1xf16>) -> tensor<2x4x48x16x1xf16>
    %8 = "tensor.collapse_shape"(%7) <{reassociation = [[0, 1], [2], [3, 4]]}> : (tensor<2x4x48x16x1xf16>) -> tensor<8x48x16xf16>
    %9 = "tensor.empty"() : () -> tensor<2x4x16x48x1xf16>
    %10 = "linalg.transpose"(%5, %9) <{permutation = array<i64: 0, 2, 3, 1, 4>}> ({
    ^bb0(%arg48: f16, %arg49: f16):
      "linalg.yield"(%arg48) : (f16) -> ()
    }) : (tensor<2x48x4x16x1xf16>, tensor<2x4x16x48x1xf16>) -> tensor<2x4x16x48x1xf16>
    %11 = "tensor.collapse_shape"(%10) <{reassociation = [[0, 1], [2], [3, 4]]}> : (tensor<2x4x16x48x1xf16>) -> tensor<8x16x48xf16>
    %12 = "tensor.empty"() : () -> tensor<8x48x48xf32>
    %13 = "linalg.fill"(%0, %12) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg46: f32, %arg47: f32):
      "linalg.yield"(%arg46) : (f32) -> ()
    }) : (f32, tensor<8x48x48xf32>) -> tensor<8x48x48xf32>
    %14 = "linalg.batch_matmul"(%8, %11, %13) <{indexing_maps = [#map, #map1, #map2], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg43: f16, %arg44: f16, %arg45: f32):
      %69 = "arith.extf"(%arg43) : (f16) -> f32
      %70 = "arith.extf"(%arg44) : (f16) -> f32
      %71 = "arith.mulf"(%69, %70) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %72 = "arith.addf"(%arg45, %71) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%72) : (f32) -> ()
    }) : (tensor<8x48x16xf16>, tensor<8x16x48xf16>, tensor<8x48x48xf32>) -> tensor<8x48x48xf32>
    %15 = "tensor.empty"() : () -> tensor<8x48x48xf16>
    %16 = "linalg.generic"(%14, %15) <{indexing_maps = [#map3, #map3], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg41: f32, %arg42: f16):
      %68 = "arith.truncf"(%arg41) : (f32) -> f16
      "linalg.yield"(%68) : (f16) -> ()
    }) : (tensor<8x48x48xf32>, tensor<8x48x48xf16>) -> tensor<8x48x48xf16>
    %17 = "tensor.expand_shape"(%16) <{reassociation = [[0, 1], [2], [3, 4]], static_output_shape = array<i64: 2, 4, 48, 1, 48>}> : (tensor<8x48x48xf16>) -> tensor<2x4x48x1x48xf16>
    %18 = "tensor.empty"() : () -> tensor<2x4x48x48x1xf16>
    %19 = "linalg.transpose"(%17, %18) <{permutation = array<i64: 0, 1, 2, 4, 3>}> ({
    ^bb0(%arg39: f16, %arg40: f16):
      "linalg.yield"(%arg39) : (f16) -> ()
    }) : (tensor<2x4x48x1x48xf16>, tensor<2x4x48x48x1xf16>) -> tensor<2x4x48x48x1xf16>
    %20 = "tensor.collapse_shape"(%19) <{reassociation = [[0], [1], [2], [3, 4]]}> : (tensor<2x4x48x48x1xf16>) -> tensor<2x4x48x48xf16>
    %21 = "tensor.empty"() : () -> tensor<2x4x48x48xf16>
    %22 = "linalg.generic"(%20, %21) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg37: f16, %arg38: f16):
      %67 = "arith.mulf"(%arg37, %3) <{fastmath = #arith.fastmath<none>}> : (f16, f16) -> f16
      "linalg.yield"(%67) : (f16) -> ()
    }) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %23 = "tensor.empty"() : () -> tensor<2x4x48x48xf32>
    %24 = "linalg.generic"(%22, %23) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg35: f16, %arg36: f32):
      %66 = "arith.extf"(%arg35) : (f16) -> f32
      "linalg.yield"(%66) : (f32) -> ()
    }) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %25 = "tensor.empty"() : () -> tensor<2x4x48xi64>
    %26 = "linalg.fill"(%1, %25) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg33: i64, %arg34: i64):
      "linalg.yield"(%arg33) : (i64) -> ()
    }) : (i64, tensor<2x4x48xi64>) -> tensor<2x4x48xi64>
    %27 = "tensor.empty"() : () -> tensor<2x4x48xf32>
    %28 = "linalg.fill"(%2, %27) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg31: f32, %arg32: f32):
      "linalg.yield"(%arg31) : (f32) -> ()
    }) : (f32, tensor<2x4x48xf32>) -> tensor<2x4x48xf32>
    %29:2 = "linalg.generic"(%24, %28, %26) <{indexing_maps = [#map4, #map2, #map2], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 2>}> ({
    ^bb0(%arg28: f32, %arg29: f32, %arg30: i64):
      %61 = "linalg.index"() <{dim = 3 : i64}> : () -> index
      %62 = "arith.index_cast"(%61) : (index) -> i64
      %63 = "arith.maximumf"(%arg28, %arg29) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %64 = "arith.cmpf"(%arg28, %arg29) <{fastmath = #arith.fastmath<none>, predicate = 2 : i64}> : (f32, f32) -> i1
      %65 = "arith.select"(%64, %62, %arg30) : (i1, i64, i64) -> i64
      "linalg.yield"(%63, %65) : (f32, i64) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48xf32>, tensor<2x4x48xi64>) -> (tensor<2x4x48xf32>, tensor<2x4x48xi64>)
    %30 = "tensor.expand_shape"(%29#0) <{reassociation = [[0], [1], [2, 3]], static_output_shape = array<i64: 2, 4, 48, 1>}> : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %31 = "linalg.generic"(%24, %30, %23) <{indexing_maps = [#map4, #map5, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg25: f32, %arg26: f32, %arg27: f32):
      %60 = "arith.subf"(%arg25, %arg26) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%60) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %32 = "linalg.generic"(%31, %23) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg23: f32, %arg24: f32):
      %59 = "math.exp"(%arg23) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32
      "linalg.yield"(%59) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %33 = "tensor.empty"() : () -> tensor<2x4x48x1xf32>
    %34 = "linalg.fill"(%0, %33) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg21: f32, %arg22: f32):
      "linalg.yield"(%arg21) : (f32) -> ()
    }) : (f32, tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %35 = "linalg.generic"(%32, %34) <{indexing_maps = [#map4, #map5], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg19: f32, %arg20: f32):
      %58 = "arith.addf"(%arg19, %arg20) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%58) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %36 = "linalg.generic"(%32, %35, %23) <{indexing_maps = [#map4, #map5, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg16: f32, %arg17: f32, %arg18: f32):
      %57 = "arith.divf"(%arg16, %arg17) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%57) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %37 = "linalg.generic"(%36, %21) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg14: f32, %arg15: f16):
      %56 = "arith.truncf"(%arg14) : (f32) -> f16
      "linalg.yield"(%56) : (f16) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %38 = "tensor.expand_shape"(%arg2) <{reassociation = [[0], [1], [2], [3, 4]], static_output_shape = array<i64: 2, 48, 4, 16, 1>}> : (tensor<2x48x4x16xf16>) -> tensor<2x48x4x16x1xf16>
    %39 = "tensor.collapse_shape"(%37) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x48x48xf16>) -> tensor<8x48x48xf16>
    %40 = "linalg.transpose"(%38, %6) <{permutation = array<i64: 0, 2, 1, 3, 4>}> ({
    ^bb0(%arg12: f16, %arg13: f16):
      "linalg.yield"(%arg12) : (f16) -> ()
    }) : (tensor<2x48x4x16x1xf16>, tensor<2x4x48x16x1xf16>) -> tensor<2x4x48x16x1xf16>
    %41 = "tensor.collapse_shape"(%40) <{reassociation = [[0, 1], [2], [3, 4]]}> : (tensor<2x4x48x16x1xf16>) -> tensor<8x48x16xf16>
    %42 = "tensor.empty"() : () -> tensor<8x48x16xf32>
    %43 = "linalg.fill"(%0, %42) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg10: f32, %arg11: f32):
      "linalg.yield"(%arg10) : (f32) -> ()
    }) : (f32, tensor<8x48x16xf32>) -> tensor<8x48x16xf32>
    %44 = "linalg.batch_matmul"(%39, %41, %43) <{indexing_maps = [#map, #map1, #map2], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg7: f16, %arg8: f16, %arg9: f32):
      %52 = "arith.extf"(%arg7) : (f16) -> f32
      %53 = "arith.extf"(%arg8) : (f16) -> f32
      %54 = "arith.mulf"(%52, %53) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %55 = "arith.addf"(%arg9, %54) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%55) : (f32) -> ()
    }) : (tensor<8x48x48xf16>, tensor<8x48x16xf16>, tensor<8x48x16xf32>) -> tensor<8x48x16xf32>
    %45 = "tensor.empty"() : () -> tensor<8x48x16xf16>
    %46 = "linalg.generic"(%44, %45) <{indexing_maps = [#map3, #map3], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg5: f32, %arg6: f16):
      %51 = "arith.truncf"(%arg5) : (f32) -> f16
      "linalg.yield"(%51) : (f16) -> ()
    }) : (tensor<8x48x16xf32>, tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %47 = "tensor.expand_shape"(%46) <{reassociation = [[0, 1], [2], [3, 4]], static_output_shape = array<i64: 2, 4, 48, 1, 16>}> : (tensor<8x48x16xf16>) -> tensor<2x4x48x1x16xf16>
    %48 = "tensor.empty"() : () -> tensor<2x48x4x16x1xf16>
    %49 = "linalg.transpose"(%47, %48) <{permutation = array<i64: 0, 2, 1, 4, 3>}> ({
    ^bb0(%arg3: f16, %arg4: f16):
      "linalg.yield"(%arg3) : (f16) -> ()
    }) : (tensor<2x4x48x1x16xf16>, tensor<2x48x4x16x1xf16>) -> tensor<2x48x4x16x1xf16>
    %50 = "tensor.collapse_shape"(%49) <{reassociation = [[0], [1], [2], [3, 4]]}> : (tensor<2x48x4x16x1xf16>) -> tensor<2x48x4x16xf16>
    "func.return"(%50) : (tensor<2x48x4x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
