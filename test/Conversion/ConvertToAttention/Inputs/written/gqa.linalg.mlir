#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map5 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x2x48x16xf16>, tensor<2x2x48x16xf16>) -> tensor<2x4x48x16xf16>, sym_name = "gqa"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x2x48x16xf16>, %arg2: tensor<2x2x48x16xf16>):
    %0 = "arith.constant"() <{value = 0 : i64}> : () -> i64
    %1 = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32
    %2 = "arith.constant"() <{value = 0xFF800000 : f32}> : () -> f32
    %3 = "arith.constant"() <{value = 2.500000e-01 : f16}> : () -> f16
    %4 = "tensor.empty"() : () -> tensor<2x2x2x48x16xf16>
    %5 = "linalg.generic"(%arg1, %4) <{indexing_maps = [#map, #map1], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg46: f16, %arg47: f16):
      "linalg.yield"(%arg46) : (f16) -> ()
    }) : (tensor<2x2x48x16xf16>, tensor<2x2x2x48x16xf16>) -> tensor<2x2x2x48x16xf16>
    %6 = "tensor.collapse_shape"(%5) <{reassociation = [[0], [1, 2], [3], [4]]}> : (tensor<2x2x2x48x16xf16>) -> tensor<2x4x48x16xf16>
    %7 = "linalg.generic"(%arg2, %4) <{indexing_maps = [#map, #map1], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg44: f16, %arg45: f16):
      "linalg.yield"(%arg44) : (f16) -> ()
    }) : (tensor<2x2x48x16xf16>, tensor<2x2x2x48x16xf16>) -> tensor<2x2x2x48x16xf16>
    %8 = "tensor.empty"() : () -> tensor<2x4x16x48xf16>
    %9 = "linalg.transpose"(%6, %8) <{permutation = array<i64: 0, 1, 3, 2>}> ({
    ^bb0(%arg42: f16, %arg43: f16):
      "linalg.yield"(%arg42) : (f16) -> ()
    }) : (tensor<2x4x48x16xf16>, tensor<2x4x16x48xf16>) -> tensor<2x4x16x48xf16>
    %10 = "tensor.collapse_shape"(%arg0) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %11 = "tensor.collapse_shape"(%9) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x16x48xf16>) -> tensor<8x16x48xf16>
    %12 = "tensor.empty"() : () -> tensor<8x48x48xf32>
    %13 = "linalg.fill"(%1, %12) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg40: f32, %arg41: f32):
      "linalg.yield"(%arg40) : (f32) -> ()
    }) : (f32, tensor<8x48x48xf32>) -> tensor<8x48x48xf32>
    %14 = "linalg.batch_matmul"(%10, %11, %13) <{indexing_maps = [#map2, #map3, #map4], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg37: f16, %arg38: f16, %arg39: f32):
      %61 = "arith.extf"(%arg37) : (f16) -> f32
      %62 = "arith.extf"(%arg38) : (f16) -> f32
      %63 = "arith.mulf"(%61, %62) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %64 = "arith.addf"(%arg39, %63) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%64) : (f32) -> ()
    }) : (tensor<8x48x16xf16>, tensor<8x16x48xf16>, tensor<8x48x48xf32>) -> tensor<8x48x48xf32>
    %15 = "tensor.empty"() : () -> tensor<8x48x48xf16>
    %16 = "linalg.generic"(%14, %15) <{indexing_maps = [#map5, #map5], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg35: f32, %arg36: f16):
      %60 = "arith.truncf"(%arg35) : (f32) -> f16
      "linalg.yield"(%60) : (f16) -> ()
    }) : (tensor<8x48x48xf32>, tensor<8x48x48xf16>) -> tensor<8x48x48xf16>
    %17 = "tensor.expand_shape"(%16) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 48, 48>}> : (tensor<8x48x48xf16>) -> tensor<2x4x48x48xf16>
    %18 = "tensor.empty"() : () -> tensor<2x4x48x48xf16>
    %19 = "linalg.generic"(%17, %18) <{indexing_maps = [#map6, #map6], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg33: f16, %arg34: f16):
      %59 = "arith.mulf"(%arg33, %3) <{fastmath = #arith.fastmath<none>}> : (f16, f16) -> f16
      "linalg.yield"(%59) : (f16) -> ()
    }) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %20 = "tensor.empty"() : () -> tensor<2x4x48x48xf32>
    %21 = "linalg.generic"(%19, %20) <{indexing_maps = [#map6, #map6], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg31: f16, %arg32: f32):
      %58 = "arith.extf"(%arg31) : (f16) -> f32
      "linalg.yield"(%58) : (f32) -> ()
    }) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %22 = "tensor.empty"() : () -> tensor<2x4x48xi64>
    %23 = "linalg.fill"(%0, %22) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg29: i64, %arg30: i64):
      "linalg.yield"(%arg29) : (i64) -> ()
    }) : (i64, tensor<2x4x48xi64>) -> tensor<2x4x48xi64>
    %24 = "tensor.empty"() : () -> tensor<2x4x48xf32>
    %25 = "linalg.fill"(%2, %24) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg27: f32, %arg28: f32):
      "linalg.yield"(%arg27) : (f32) -> ()
    }) : (f32, tensor<2x4x48xf32>) -> tensor<2x4x48xf32>
    %26:2 = "linalg.generic"(%21, %25, %23) <{indexing_maps = [#map6, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 2>}> ({
    ^bb0(%arg24: f32, %arg25: f32, %arg26: i64):
      %53 = "linalg.index"() <{dim = 3 : i64}> : () -> index
      %54 = "arith.index_cast"(%53) : (index) -> i64
      %55 = "arith.maximumf"(%arg24, %arg25) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %56 = "arith.cmpf"(%arg24, %arg25) <{fastmath = #arith.fastmath<none>, predicate = 2 : i64}> : (f32, f32) -> i1
      %57 = "arith.select"(%56, %54, %arg26) : (i1, i64, i64) -> i64
      "linalg.yield"(%55, %57) : (f32, i64) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48xf32>, tensor<2x4x48xi64>) -> (tensor<2x4x48xf32>, tensor<2x4x48xi64>)
    %27 = "tensor.expand_shape"(%26#0) <{reassociation = [[0], [1], [2, 3]], static_output_shape = array<i64: 2, 4, 48, 1>}> : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %28 = "linalg.generic"(%21, %27, %20) <{indexing_maps = [#map6, #map7, #map6], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg21: f32, %arg22: f32, %arg23: f32):
      %52 = "arith.subf"(%arg21, %arg22) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%52) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %29 = "linalg.generic"(%28, %20) <{indexing_maps = [#map6, #map6], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg19: f32, %arg20: f32):
      %51 = "math.exp"(%arg19) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32
      "linalg.yield"(%51) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %30 = "tensor.empty"() : () -> tensor<2x4x48x1xf32>
    %31 = "linalg.fill"(%1, %30) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg17: f32, %arg18: f32):
      "linalg.yield"(%arg17) : (f32) -> ()
    }) : (f32, tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %32 = "linalg.generic"(%29, %31) <{indexing_maps = [#map6, #map7], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg15: f32, %arg16: f32):
      %50 = "arith.addf"(%arg15, %arg16) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%50) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %33 = "linalg.generic"(%29, %32, %20) <{indexing_maps = [#map6, #map7, #map6], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg12: f32, %arg13: f32, %arg14: f32):
      %49 = "arith.divf"(%arg12, %arg13) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%49) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %34 = "linalg.generic"(%33, %18) <{indexing_maps = [#map6, #map6], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg10: f32, %arg11: f16):
      %48 = "arith.truncf"(%arg10) : (f32) -> f16
      "linalg.yield"(%48) : (f16) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %35 = "tensor.collapse_shape"(%34) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x48x48xf16>) -> tensor<8x48x48xf16>
    %36 = "tensor.collapse_shape"(%7) <{reassociation = [[0, 1, 2], [3], [4]]}> : (tensor<2x2x2x48x16xf16>) -> tensor<8x48x16xf16>
    %37 = "tensor.empty"() : () -> tensor<8x48x16xf32>
    %38 = "linalg.fill"(%1, %37) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg8: f32, %arg9: f32):
      "linalg.yield"(%arg8) : (f32) -> ()
    }) : (f32, tensor<8x48x16xf32>) -> tensor<8x48x16xf32>
    %39 = "linalg.batch_matmul"(%35, %36, %38) <{indexing_maps = [#map2, #map3, #map4], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg5: f16, %arg6: f16, %arg7: f32):
      %44 = "arith.extf"(%arg5) : (f16) -> f32
      %45 = "arith.extf"(%arg6) : (f16) -> f32
      %46 = "arith.mulf"(%44, %45) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %47 = "arith.addf"(%arg7, %46) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%47) : (f32) -> ()
    }) : (tensor<8x48x48xf16>, tensor<8x48x16xf16>, tensor<8x48x16xf32>) -> tensor<8x48x16xf32>
    %40 = "tensor.empty"() : () -> tensor<8x48x16xf16>
    %41 = "linalg.generic"(%39, %40) <{indexing_maps = [#map5, #map5], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg3: f32, %arg4: f16):
      %43 = "arith.truncf"(%arg3) : (f32) -> f16
      "linalg.yield"(%43) : (f16) -> ()
    }) : (tensor<8x48x16xf32>, tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %42 = "tensor.expand_shape"(%41) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 48, 16>}> : (tensor<8x48x16xf16>) -> tensor<2x4x48x16xf16>
    "func.return"(%42) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
