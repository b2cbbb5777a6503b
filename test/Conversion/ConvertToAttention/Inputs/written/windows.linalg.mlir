#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1, d2) -> (0, 0, 0)>
#map3 = affine_map<(d0, d1, d2) -> (d1, 0)>
#map4 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map5 = affine_map<(d0, d1, d2) -> (0, d2)>
#map6 = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
#map7 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map12 = affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>
#map13 = affine_map<(d0, d1, d2, d3) -> ()>
#map14 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>, tensor<2x4x48x16xf16>) -> tensor<2x4x48x16xf16>, sym_name = "windows"}> ({
  ^bb0(%arg0: tensor<2x4x48x16xf16>, %arg1: tensor<2x4x48x16xf16>, %arg2: tensor<2x4x48x16xf16>):
    %0 = "arith.constant"() <{value = 0 : i64}> : () -> i64
    %1 = "arith.constant"() <{value = 9 : i64}> : () -> i64
    %2 = "arith.constant"() <{value = 48 : i64}> : () -> i64
    %3 = "arith.constant"() <{value = 1 : i64}> : () -> i64
    %4 = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32
    %5 = "arith.constant"() <{value = true}> : () -> i1
    %6 = "arith.constant"() <{value = 0xFF800000 : f32}> : () -> f32
    %7 = "arith.constant"() <{value = dense<0xFC00> : tensor<f16>}> : () -> tensor<f16>
    %8 = "arith.constant"() <{value = 2.500000e-01 : f16}> : () -> f16
    %9 = "tensor.empty"() : () -> tensor<48xi64>
    %10 = "linalg.generic"(%9) <{indexing_maps = [#map], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg95: i64):
      %153 = "linalg.index"() <{dim = 0 : i64}> : () -> index
      %154 = "arith.index_cast"(%153) : (index) -> i64
      "linalg.yield"(%154) : (i64) -> ()
    }) : (tensor<48xi64>) -> tensor<48xi64>
    %11 = "tensor.expand_shape"(%10) <{reassociation = [[0, 1]], static_output_shape = array<i64: 1, 48>}> : (tensor<48xi64>) -> tensor<1x48xi64>
    %12 = "tensor.extract_slice"(%11) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 1>, static_strides = array<i64: 1, 1>}> : (tensor<1x48xi64>) -> tensor<1x1xi64>
    %13 = "tensor.empty"() : () -> tensor<1x1xi64>
    %14 = "linalg.generic"(%12, %13) <{indexing_maps = [#map1, #map1], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg93: i64, %arg94: i64):
      %152 = "arith.subi"(%arg93, %3) <{overflowFlags = #arith.overflow<none>}> : (i64, i64) -> i64
      "linalg.yield"(%152) : (i64) -> ()
    }) : (tensor<1x1xi64>, tensor<1x1xi64>) -> tensor<1x1xi64>
    %15 = "tensor.concat"(%14, %11) <{dim = 1 : i64}> : (tensor<1x1xi64>, tensor<1x48xi64>) -> tensor<1x49xi64>
    %16 = "tensor.extract_slice"(%15) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 48>, static_strides = array<i64: 1, 1>}> : (tensor<1x49xi64>) -> tensor<1x48xi64>
    %17 = "tensor.extract_slice"(%15) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 1>, static_sizes = array<i64: 1, 48>, static_strides = array<i64: 1, 1>}> : (tensor<1x49xi64>) -> tensor<1x48xi64>
    %18 = "tensor.empty"() : () -> tensor<1x48xi64>
    %19 = "linalg.generic"(%17, %16, %18) <{indexing_maps = [#map1, #map1, #map1], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg90: i64, %arg91: i64, %arg92: i64):
      %151 = "arith.subi"(%arg90, %arg91) <{overflowFlags = #arith.overflow<none>}> : (i64, i64) -> i64
      "linalg.yield"(%151) : (i64) -> ()
    }) : (tensor<1x48xi64>, tensor<1x48xi64>, tensor<1x48xi64>) -> tensor<1x48xi64>
    %20 = "tensor.empty"() : () -> tensor<1x48xi1>
    %21 = "linalg.generic"(%19, %20) <{indexing_maps = [#map1, #map1], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg88: i64, %arg89: i1):
      %150 = "arith.cmpi"(%arg88, %3) <{predicate = 1 : i64}> : (i64, i64) -> i1
      "linalg.yield"(%150) : (i1) -> ()
    }) : (tensor<1x48xi64>, tensor<1x48xi1>) -> tensor<1x48xi1>
    %22 = "linalg.generic"(%21, %18) <{indexing_maps = [#map1, #map1], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg86: i1, %arg87: i64):
      %149 = "arith.extui"(%arg86) : (i1) -> i64
      "linalg.yield"(%149) : (i64) -> ()
    }) : (tensor<1x48xi1>, tensor<1x48xi64>) -> tensor<1x48xi64>
    %23 = "linalg.fill"(%0, %18) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg84: i64, %arg85: i64):
      "linalg.yield"(%arg84) : (i64) -> ()
    }) : (i64, tensor<1x48xi64>) -> tensor<1x48xi64>
    %24 = "tensor.empty"() : () -> tensor<1xi64>
    %25 = "linalg.fill"(%0, %24) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg82: i64, %arg83: i64):
      "linalg.yield"(%arg82) : (i64) -> ()
    }) : (i64, tensor<1xi64>) -> tensor<1xi64>
    %26:2 = "tm_tensor.scan"(%22, %23, %25) <{dimension = 1 : i64, inclusive = true, operandSegmentSizes = array<i32: 1, 2>}> ({
    ^bb0(%arg80: i64, %arg81: i64):
      %148 = "arith.addi"(%arg80, %arg81) <{overflowFlags = #arith.overflow<none>}> : (i64, i64) -> i64
      "tm_tensor.yield"(%148) : (i64) -> ()
    }) : (tensor<1x48xi64>, tensor<1x48xi64>, tensor<1xi64>) -> (tensor<1x48xi64>, tensor<1xi64>)
    %27 = "tensor.expand_shape"(%10) <{reassociation = [[0, 1]], static_output_shape = array<i64: 48, 1>}> : (tensor<48xi64>) -> tensor<48x1xi64>
    %28 = "linalg.generic"(%24) <{indexing_maps = [#map], iterator_types = [#linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg79: i64):
      "linalg.yield"(%0) : (i64) -> ()
    }) : (tensor<1xi64>) -> tensor<1xi64>
    %29 = "tensor.expand_shape"(%28) <{reassociation = [[0, 1, 2]], static_output_shape = array<i64: 1, 1, 1>}> : (tensor<1xi64>) -> tensor<1x1x1xi64>
    %30 = "tensor.empty"() : () -> tensor<1x48x1xi64>
    %31 = "linalg.generic"(%29, %27, %30) <{indexing_maps = [#map2, #map3, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg76: i64, %arg77: i64, %arg78: i64):
      %139 = "arith.cmpi"(%arg76, %0) <{predicate = 2 : i64}> : (i64, i64) -> i1
      %140 = "arith.addi"(%arg76, %3) <{overflowFlags = #arith.overflow<none>}> : (i64, i64) -> i64
      %141 = "arith.select"(%139, %140, %arg76) : (i1, i64, i64) -> i64
      %142 = "arith.index_cast"(%141) : (i64) -> index
      %143 = "arith.cmpi"(%arg77, %0) <{predicate = 2 : i64}> : (i64, i64) -> i1
      %144 = "arith.addi"(%arg77, %2) <{overflowFlags = #arith.overflow<none>}> : (i64, i64) -> i64
      %145 = "arith.select"(%143, %144, %arg77) : (i1, i64, i64) -> i64
      %146 = "arith.index_cast"(%145) : (i64) -> index
      %147 = "tensor.extract"(%11, %142, %146) : (tensor<1x48xi64>, index, index) -> i64
      "linalg.yield"(%147) : (i64) -> ()
    }) : (tensor<1x1x1xi64>, tensor<48x1xi64>, tensor<1x48x1xi64>) -> tensor<1x48x1xi64>
    %32 = "tensor.empty"() : () -> tensor<1x1x48xi64>
    %33 = "linalg.generic"(%29, %11, %32) <{indexing_maps = [#map2, #map5, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg73: i64, %arg74: i64, %arg75: i64):
      %130 = "arith.cmpi"(%arg73, %0) <{predicate = 2 : i64}> : (i64, i64) -> i1
      %131 = "arith.addi"(%arg73, %3) <{overflowFlags = #arith.overflow<none>}> : (i64, i64) -> i64
      %132 = "arith.select"(%130, %131, %arg73) : (i1, i64, i64) -> i64
      %133 = "arith.index_cast"(%132) : (i64) -> index
      %134 = "arith.cmpi"(%arg74, %0) <{predicate = 2 : i64}> : (i64, i64) -> i1
      %135 = "arith.addi"(%arg74, %2) <{overflowFlags = #arith.overflow<none>}> : (i64, i64) -> i64
      %136 = "arith.select"(%134, %135, %arg74) : (i1, i64, i64) -> i64
      %137 = "arith.index_cast"(%136) : (i64) -> index
      %138 = "tensor.extract"(%11, %133, %137) : (tensor<1x48xi64>, index, index) -> i64
      "linalg.yield"(%138) : (i64) -> ()
    }) : (tensor<1x1x1xi64>, tensor<1x48xi64>, tensor<1x1x48xi64>) -> tensor<1x1x48xi64>
    %34 = "tensor.empty"() : () -> tensor<1x48x48xi1>
    %35 = "linalg.generic"(%33, %31, %34) <{indexing_maps = [#map6, #map7, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg70: i64, %arg71: i64, %arg72: i1):
      %129 = "arith.cmpi"(%arg70, %arg71) <{predicate = 3 : i64}> : (i64, i64) -> i1
      "linalg.yield"(%129) : (i1) -> ()
    }) : (tensor<1x1x48xi64>, tensor<1x48x1xi64>, tensor<1x48x48xi1>) -> tensor<1x48x48xi1>
    %36 = "linalg.generic"(%31, %30) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg68: i64, %arg69: i64):
      %128 = "arith.subi"(%arg68, %1) <{overflowFlags = #arith.overflow<none>}> : (i64, i64) -> i64
      "linalg.yield"(%128) : (i64) -> ()
    }) : (tensor<1x48x1xi64>, tensor<1x48x1xi64>) -> tensor<1x48x1xi64>
    %37 = "linalg.generic"(%33, %36, %34) <{indexing_maps = [#map6, #map7, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg65: i64, %arg66: i64, %arg67: i1):
      %127 = "arith.cmpi"(%arg65, %arg66) <{predicate = 4 : i64}> : (i64, i64) -> i1
      "linalg.yield"(%127) : (i1) -> ()
    }) : (tensor<1x1x48xi64>, tensor<1x48x1xi64>, tensor<1x48x48xi1>) -> tensor<1x48x48xi1>
    %38 = "linalg.generic"(%35, %37, %34) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg62: i1, %arg63: i1, %arg64: i1):
      %126 = "arith.andi"(%arg62, %arg63) : (i1, i1) -> i1
      "linalg.yield"(%126) : (i1) -> ()
    }) : (tensor<1x48x48xi1>, tensor<1x48x48xi1>, tensor<1x48x48xi1>) -> tensor<1x48x48xi1>
    %39 = "linalg.generic"(%29, %27, %30) <{indexing_maps = [#map2, #map3, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg59: i64, %arg60: i64, %arg61: i64):
      %117 = "arith.cmpi"(%arg59, %0) <{predicate = 2 : i64}> : (i64, i64) -> i1
      %118 = "arith.addi"(%arg59, %3) <{overflowFlags = #arith.overflow<none>}> : (i64, i64) -> i64
      %119 = "arith.select"(%117, %118, %arg59) : (i1, i64, i64) -> i64
      %120 = "arith.index_cast"(%119) : (i64) -> index
      %121 = "arith.cmpi"(%arg60, %0) <{predicate = 2 : i64}> : (i64, i64) -> i1
      %122 = "arith.addi"(%arg60, %2) <{overflowFlags = #arith.overflow<none>}> : (i64, i64) -> i64
      %123 = "arith.select"(%121, %122, %arg60) : (i1, i64, i64) -> i64
      %124 = "arith.index_cast"(%123) : (i64) -> index
      %125 = "tensor.extract"(%26#0, %120, %124) : (tensor<1x48xi64>, index, index) -> i64
      "linalg.yield"(%125) : (i64) -> ()
    }) : (tensor<1x1x1xi64>, tensor<48x1xi64>, tensor<1x48x1xi64>) -> tensor<1x48x1xi64>
    %40 = "linalg.generic"(%29, %11, %32) <{indexing_maps = [#map2, #map5, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg56: i64, %arg57: i64, %arg58: i64):
      %108 = "arith.cmpi"(%arg56, %0) <{predicate = 2 : i64}> : (i64, i64) -> i1
      %109 = "arith.addi"(%arg56, %3) <{overflowFlags = #arith.overflow<none>}> : (i64, i64) -> i64
      %110 = "arith.select"(%108, %109, %arg56) : (i1, i64, i64) -> i64
      %111 = "arith.index_cast"(%110) : (i64) -> index
      %112 = "arith.cmpi"(%arg57, %0) <{predicate = 2 : i64}> : (i64, i64) -> i1
      %113 = "arith.addi"(%arg57, %2) <{overflowFlags = #arith.overflow<none>}> : (i64, i64) -> i64
      %114 = "arith.select"(%112, %113, %arg57) : (i1, i64, i64) -> i64
      %115 = "arith.index_cast"(%114) : (i64) -> index
      %116 = "tensor.extract"(%26#0, %111, %115) : (tensor<1x48xi64>, index, index) -> i64
      "linalg.yield"(%116) : (i64) -> ()
    }) : (tensor<1x1x1xi64>, tensor<1x48xi64>, tensor<1x1x48xi64>) -> tensor<1x1x48xi64>
    %41 = "linalg.generic"(%39, %40, %34) <{indexing_maps = [#map7, #map6, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg53: i64, %arg54: i64, %arg55: i1):
      %107 = "arith.cmpi"(%arg53, %arg54) <{predicate = 0 : i64}> : (i64, i64) -> i1
      "linalg.yield"(%107) : (i1) -> ()
    }) : (tensor<1x48x1xi64>, tensor<1x1x48xi64>, tensor<1x48x48xi1>) -> tensor<1x48x48xi1>
    %42 = "linalg.generic"(%38, %41, %34) <{indexing_maps = [#map4, #map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg50: i1, %arg51: i1, %arg52: i1):
      %106 = "arith.andi"(%arg50, %arg51) : (i1, i1) -> i1
      "linalg.yield"(%106) : (i1) -> ()
    }) : (tensor<1x48x48xi1>, tensor<1x48x48xi1>, tensor<1x48x48xi1>) -> tensor<1x48x48xi1>
    %43 = "tensor.empty"() : () -> tensor<2x4x16x48xf16>
    %44 = "linalg.transpose"(%arg1, %43) <{permutation = array<i64: 0, 1, 3, 2>}> ({
    ^bb0(%arg48: f16, %arg49: f16):
      "linalg.yield"(%arg48) : (f16) -> ()
    }) : (tensor<2x4x48x16xf16>, tensor<2x4x16x48xf16>) -> tensor<2x4x16x48xf16>
    %45 = "tensor.collapse_shape"(%arg0) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %46 = "tensor.collapse_shape"(%44) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x16x48xf16>) -> tensor<8x16x48xf16>
    %47 = "tensor.empty"() : () -> tensor<8x48x48xf32>
    %48 = "linalg.fill"(%4, %47) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg46: f32, %arg47: f32):
      "linalg.yield"(%arg46) : (f32) -> ()
    }) : (f32, tensor<8x48x48xf32>) -> tensor<8x48x48xf32>
    %49 = "linalg.batch_matmul"(%45, %46, %48) <{indexing_maps = [#map8, #map9, #map10], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg43: f16, %arg44: f16, %arg45: f32):
      %102 = "arith.extf"(%arg43) : (f16) -> f32
      %103 = "arith.extf"(%arg44) : (f16) -> f32
      %104 = "arith.mulf"(%102, %103) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %105 = "arith.addf"(%arg45, %104) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%105) : (f32) -> ()
    }) : (tensor<8x48x16xf16>, tensor<8x16x48xf16>, tensor<8x48x48xf32>) -> tensor<8x48x48xf32>
    %50 = "tensor.empty"() : () -> tensor<8x48x48xf16>
    %51 = "linalg.generic"(%49, %50) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg41: f32, %arg42: f16):
      %101 = "arith.truncf"(%arg41) : (f32) -> f16
      "linalg.yield"(%101) : (f16) -> ()
    }) : (tensor<8x48x48xf32>, tensor<8x48x48xf16>) -> tensor<8x48x48xf16>
    %52 = "tensor.expand_shape"(%51) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 48, 48>}> : (tensor<8x48x48xf16>) -> tensor<2x4x48x48xf16>
    %53 = "tensor.empty"() : () -> tensor<2x4x48x48xf16>
    %54 = "linalg.generic"(%52, %53) <{indexing_maps = [#map11, #map11], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg39: f16, %arg40: f16):
      %100 = "arith.mulf"(%arg39, %8) <{fastmath = #arith.fastmath<none>}> : (f16, f16) -> f16
      "linalg.yield"(%100) : (f16) -> ()
    }) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %55 = "tensor.expand_shape"(%42) <{reassociation = [[0], [1, 2], [3]], static_output_shape = array<i64: 1, 1, 48, 48>}> : (tensor<1x48x48xi1>) -> tensor<1x1x48x48xi1>
    %56 = "tensor.empty"() : () -> tensor<1x1x48x48xi1>
    %57 = "linalg.generic"(%55, %56) <{indexing_maps = [#map11, #map11], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg37: i1, %arg38: i1):
      %99 = "arith.xori"(%arg37, %5) : (i1, i1) -> i1
      "linalg.yield"(%99) : (i1) -> ()
    }) : (tensor<1x1x48x48xi1>, tensor<1x1x48x48xi1>) -> tensor<1x1x48x48xi1>
    %58 = "linalg.generic"(%57, %7, %54, %53) <{indexing_maps = [#map12, #map13, #map11, #map11], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 3, 1>}> ({
    ^bb0(%arg33: i1, %arg34: f16, %arg35: f16, %arg36: f16):
      %98 = "arith.select"(%arg33, %arg34, %arg35) : (i1, f16, f16) -> f16
      "linalg.yield"(%98) : (f16) -> ()
    }) : (tensor<1x1x48x48xi1>, tensor<f16>, tensor<2x4x48x48xf16>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %59 = "tensor.empty"() : () -> tensor<2x4x48x48xf32>
    %60 = "linalg.generic"(%58, %59) <{indexing_maps = [#map11, #map11], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg31: f16, %arg32: f32):
      %97 = "arith.extf"(%arg31) : (f16) -> f32
      "linalg.yield"(%97) : (f32) -> ()
    }) : (tensor<2x4x48x48xf16>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %61 = "tensor.empty"() : () -> tensor<2x4x48xi64>
    %62 = "linalg.fill"(%0, %61) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg29: i64, %arg30: i64):
      "linalg.yield"(%arg29) : (i64) -> ()
    }) : (i64, tensor<2x4x48xi64>) -> tensor<2x4x48xi64>
    %63 = "tensor.empty"() : () -> tensor<2x4x48xf32>
    %64 = "linalg.fill"(%6, %63) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg27: f32, %arg28: f32):
      "linalg.yield"(%arg27) : (f32) -> ()
    }) : (f32, tensor<2x4x48xf32>) -> tensor<2x4x48xf32>
    %65:2 = "linalg.generic"(%60, %64, %62) <{indexing_maps = [#map11, #map10, #map10], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 2>}> ({
    ^bb0(%arg24: f32, %arg25: f32, %arg26: i64):
      %92 = "linalg.index"() <{dim = 3 : i64}> : () -> index
      %93 = "arith.index_cast"(%92) : (index) -> i64
      %94 = "arith.maximumf"(%arg24, %arg25) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %95 = "arith.cmpf"(%arg24, %arg25) <{fastmath = #arith.fastmath<none>, predicate = 2 : i64}> : (f32, f32) -> i1
      %96 = "arith.select"(%95, %93, %arg26) : (i1, i64, i64) -> i64
      "linalg.yield"(%94, %96) : (f32, i64) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48xf32>, tensor<2x4x48xi64>) -> (tensor<2x4x48xf32>, tensor<2x4x48xi64>)
    %66 = "tensor.expand_shape"(%65#0) <{reassociation = [[0], [1], [2, 3]], static_output_shape = array<i64: 2, 4, 48, 1>}> : (tensor<2x4x48xf32>) -> tensor<2x4x48x1xf32>
    %67 = "linalg.generic"(%60, %66, %59) <{indexing_maps = [#map11, #map14, #map11], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg21: f32, %arg22: f32, %arg23: f32):
      %91 = "arith.subf"(%arg21, %arg22) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%91) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %68 = "linalg.generic"(%67, %59) <{indexing_maps = [#map11, #map11], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg19: f32, %arg20: f32):
      %90 = "math.exp"(%arg19) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32
      "linalg.yield"(%90) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %69 = "tensor.empty"() : () -> tensor<2x4x48x1xf32>
    %70 = "linalg.fill"(%4, %69) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg17: f32, %arg18: f32):
      "linalg.yield"(%arg17) : (f32) -> ()
    }) : (f32, tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %71 = "linalg.generic"(%68, %70) <{indexing_maps = [#map11, #map14], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg15: f32, %arg16: f32):
      %89 = "arith.addf"(%arg15, %arg16) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%89) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>) -> tensor<2x4x48x1xf32>
    %72 = "linalg.generic"(%68, %71, %59) <{indexing_maps = [#map11, #map14, #map11], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg12: f32, %arg13: f32, %arg14: f32):
      %88 = "arith.divf"(%arg12, %arg13) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%88) : (f32) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x1xf32>, tensor<2x4x48x48xf32>) -> tensor<2x4x48x48xf32>
    %73 = "linalg.generic"(%72, %53) <{indexing_maps = [#map11, #map11], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg10: f32, %arg11: f16):
      %87 = "arith.truncf"(%arg10) : (f32) -> f16
      "linalg.yield"(%87) : (f16) -> ()
    }) : (tensor<2x4x48x48xf32>, tensor<2x4x48x48xf16>) -> tensor<2x4x48x48xf16>
    %74 = "tensor.collapse_shape"(%73) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x48x48xf16>) -> tensor<8x48x48xf16>
    %75 = "tensor.collapse_shape"(%arg2) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x48x16xf16>) -> tensor<8x48x16xf16>
    %76 = "tensor.empty"() : () -> tensor<8x48x16xf32>
    %77 = "linalg.fill"(%4, %76) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg8: f32, %arg9: f32):
      "linalg.yield"(%arg8) : (f32) -> ()
    }) : (f32, tensor<8x48x16xf32>) -> tensor<8x48x16xf32>
    %78 = "linalg.batch_matmul"(%74, %75, %77) <{indexing_maps = [#map8, #map9, #map10], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg5: f16, %arg6: f16, %arg7: f32):
      %83 = "arith.extf"(%arg5) : (f16) -> f32
      %84 = "arith.extf"(%arg6) : (f16) -> f32
      %85 = "arith.mulf"(%83, %84) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %86 = "arith.addf"(%arg7, %85) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%86) : (f32) -> ()
    }) : (tensor<8x48x48xf16>, tensor<8x48x16xf16>, tensor<8x48x16xf32>) -> tensor<8x48x16xf32>
    %79 = "tensor.empty"() : () -> tensor<8x48x16xf16>
    %80 = "linalg.generic"(%78, %79) <{indexing_maps = [#map4, #map4], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg3: f32, %arg4: f16):
      %82 = "arith.truncf"(%arg3) : (f32) -> f16
      "linalg.yield"(%82) : (f16) -> ()
    }) : (tensor<8x48x16xf32>, tensor<8x48x16xf16>) -> tensor<8x48x16xf16>
    %81 = "tensor.expand_shape"(%80) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 48, 16>}> : (tensor<8x48x16xf16>) -> tensor<2x4x48x16xf16>
    "func.return"(%81) : (tensor<2x4x48x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
