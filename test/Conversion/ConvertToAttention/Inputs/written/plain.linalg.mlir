#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>) -> tensor<2x4x48x16xf16>, sym_name = "plain"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x4x48x16xf16>, %arg2: tensor<2x4x48x16xf16>):
    %0 = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32
    %1 = "arith.constant"() <{value = 0 : i64}> : () -> i64
    %2 = "arith.constant"() <{value = 0xFF800000 : f32}> : () -> f32
    %3 = "arith.constant"() <{value = 2.500000e-01 : f16}> : () -> f16
    %4 = "tensor.empty"() : () -> tensor<2x4x16x48xf16>
    %5 = "linalg.transpose"(%arg1, %4) <{permutation = array<i64: 0, 1, 3, 2>}> ({
    ^bb0(%arg42: f16, %arg43: f16):
      "linalg.yield"(%arg42) : (f16) -> ()
    }) : (tensor<2x4x48x16xf16>, tensor<2x4x16x48xf16>) -> tensor<2x4x16x48xf16>
    %6 = "tensor.collapse_shape"(%arg0) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %7 = "tensor.collapse_shape"(%5) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x16x48xf16>) -> tensor<8x16x48xf16>
    %8 = "tensor.empty"() : () -> tensor<8x48x48xf32>
    %9 = "linalg.fill"(%0, %8) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg40: f32, %arg41: f32):
      "linalg.yield"(%arg40) : (f32) -> ()
    }) : (f32, tensor<8x48x48xf32>) -> tensor<8x48x48xf32>
    %10 = "linalg.batch_matmul"(%6, %7, %9) <{indexing_maps = [#map, #map1, #map2], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg37: f16, %arg38: f16, %arg39: f32):
      %57 = "arith.extf"(%arg37) : (f16) -> f32
      %58 = "arith.extf"(%arg38) : (f16) -> f32
      %59 = "arith.mulf"(%57, %58) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %60 = "arith.addf"(%arg39, %59) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%60) : (f32) -> ()
    }) : (tensor<8x48x16xf16>, tensor<8x16x48xf16>, tensor<8x48x48xf32>) -> tensor<8x48x48xf32>
    %11 = "tensor.empty"() : () -> tensor<8x48x48xf16>
    %12 = "linalg.generic"(%10, %11) <{indexing_maps = [#map3, #map3], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg35: f32, %arg36: f16):
      %56 = "arith.truncf"(%arg35) : (f32) -> f16
      "linalg.yield"(%56) : (f16) -> ()
    }) : (tensor<8x48x48xf32>, tensor<8x48x48xf16>) -> tensor<8x48x48xf16>
    %13 = "tensor.expand_shape"(%12) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 48, 48>}> : (tensor<8x48x48xf16>) -> tensor<2x4x48x48xf16>
    %14 = "tensor.empty"() : () -> tensor<2x4x48x48xf16>
    %15 = "linalg.generic"(%13, %14) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg33: f16, %arg34: f16):
      %55 = "arith.mulf"(%arg33, %3) <{fastmath = #arith.fastmath<none>}> : (f16, f16) -> f16
      "linalg.yield"(%55) : (f16) -> ()
    }) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %16 = "tensor.empty"() : () -> tensor<2x4x48x48xf32>
    %17 = "linalg.generic"(%15, %16) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg31: f16, %arg32: f32):
      %54 = "arith.extf"(%arg31) : (f16) -> f32
      "linalg.yield"(%54) : (f32) -> ()
    }) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %18 = "tensor.empty"() : () -> tensor<2x4x48xi64>
    %19 = "linalg.fill"(%1, %18) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg29: i64, %arg30: i64):
      "linalg.yield"(%arg29) : (i64) -> ()
    }) : (i64, tensor<2x4x48xi64>) -> tensor<2x4x48xi64>
    %20 = "tensor.empty"() : () -> tensor<2x4x48xf32>
    %21 = "linalg.fill"(%2, %20) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg27: f32, %arg28: f32):
      "linalg.yield"(%arg27) : (f32) -> ()
    }) : (f32, tensor<2x4x48xf32>) -> tensor<2x4x48xf32>
    %22:2 = "linalg.generic"(%17, %21, %19) <{indexing_maps = [#map4, #map2, #map2], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 2>}> ({
    ^bb0(%arg24: f32, %arg25: f32, %arg26: i64):
      %49 = "linalg.index"() <{dim = 3 : i64}> : () -> index
      %50 = "arith.index_cast"(%49) : (index) -> i64
      %51 = "arith.maximumf"(%arg24, %arg25) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %52 = "arith.cmpf"(%arg24, %arg25) <{fastmath = #arith.fastmath<none>, predicate = 2 : i64}> : (f32, f32) -> i1
      %53 = "arith.select"(%52, %50, %arg26) : (i1, i64, i64) -> i64
      "linalg.yield"(%51, %53) : (f32, i64) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48xf32>, tensor<2x4x48xi64>) -> (tensor<2x4x48xf32>, tensor<2x4x48xi64>)
    %23 = "tensor.expand_shape"(%22#0) <{reassociation = [[0], [1], [2, 3]], static_output_shape = array<i64: 2, 4, 48, 1>}> : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %24 = "linalg.generic"(%17, %23, %16) <{indexing_maps = [#map4, #map5, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg21: f32, %arg22: f32, %arg23: f32):
      %48 = "arith.subf"(%arg21, %arg22) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%48) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %25 = "linalg.generic"(%24, %16) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg19: f32, %arg20: f32):
      %47 = "math.exp"(%arg19) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32
      "linalg.yield"(%47) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %26 = "tensor.empty"() : () -> tensor<2x4x48x1xf32>
    %27 = "linalg.fill"(%0, %26) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg17: f32, %arg18: f32):
      "linalg.yield"(%arg17) : (f32) -> ()
    }) : (f32, tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %28 = "linalg.generic"(%25, %27) <{indexing_maps = [#map4, #map5], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg15: f32, %arg16: f32):
      %46 = "arith.addf"(%arg15, %arg16) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%46) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %29 = "linalg.generic"(%25, %28, %16) <{indexing_maps = [#map4, #map5, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg12: f32, %arg13: f32, %arg14: f32):
      %45 = "arith.divf"(%arg12, %arg13) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%45) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %30 = "linalg.generic"(%29, %14) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg10: f32, %arg11: f16):
      %44 = "arith.truncf"(%arg10) : (f32) -> f16
      "linalg.yield"(%44) : (f16) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %31 = "tensor.collapse_shape"(%30) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x48x48xf16>) -> tensor<8x48x48xf16>
    %32 = "tensor.collapse_shape"(%arg2) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %33 = "tensor.empty"() : () -> tensor<8x48x16xf32>
    %34 = "linalg.fill"(%0, %33) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg8: f32, %arg9: f32):
      "linalg.yield"(%arg8) : (f32) -> ()
    }) : (f32, tensor<8x48x16xf32>) -> tensor<8x48x16xf32>
    %35 = "linalg.batch_matmul"(%31, %32, %34) <{indexing_maps = [#map, #map1, #map2], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg5: f16, %arg6: f16, %arg7: f32):
      %40 = "arith.extf"(%arg5) : (f16) -> f32
      %41 = "arith.extf"(%arg6) : (f16) -> f32
      %42 = "arith.mulf"(%40, %41) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %43 = "arith.addf"(%arg7, %42) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%43) : (f32) -> ()
    }) : (tensor<8x48x48xf16>, tensor<8x48x16xf16>, tensor<8x48x16xf32>) -> tensor<8x48x16xf32>
    %36 = "tensor.empty"() : () -> tensor<8x48x16xf16>
    %37 = "linalg.generic"(%35, %36) <{indexing_maps = [#map3, #map3], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg3: f32, %arg4: f16):
      %39 = "arith.truncf"(%arg3) : (f32) -> f16
      "linalg.yield"(%39) : (f16) -> ()
    }) : (tensor<8x48x16xf32>, tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %38 = "tensor.expand_shape"(%37) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 48, 16>}> : (tensor<8x48x16xf16>) -> tensor<2x4x48x16xf16>
    "func.return"(%38) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
