// iree_linalg_ext.attention as IREE 3.13 prints it. Printed by Inputs/projects.py, which also compares the numbers.
// RUN: fa3-opt %s -split-input-file -allow-unregistered-dialect -convert-to-attention | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: func.func @bool_mask
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>, %[[A3:.*]]: tensor<40x40xi1>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]] : tensor<40x40xi1>) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: mask_mod (%[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]]) {
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A6]], %[[A7]]] : tensor<40x40xi1>
// CHECK-NEXT: attention.yield %[[EXTRACTED]] : i1
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<40x40xi1>) -> tensor<2x4x40x16xf16>, sym_name = "bool_mask"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x4x40x16xf16>, %arg2: tensor<2x4x40x16xf16>, %arg3: tensor<40x40xi1>):
    %0 = "arith.constant"() <{value = 2.500000e-01 : f32}> : () -> f32
    %1 = "tensor.empty"() : () -> tensor<2x4x40x16xf16>
    %2 = "iree_linalg_ext.attention"(%arg0, %arg1, %arg2, %0, %arg3, %1) <{indexing_maps = [#map, #map1, #map2, #map3, #map4, #map5]}> ({
    ^bb0(%arg4: f32):
      "iree_linalg_ext.yield"(%arg4) : (f32) -> ()
    }) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, f32, tensor<40x40xi1>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%2) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @bshd
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x4x16xf16>, %[[A1:.*]]: tensor<2x40x4x16xf16>, %[[A2:.*]]: tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] layout bshd : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x40x4x16xf16>
#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>, sym_name = "bshd"}> ({
  ^bb0(%arg0: tensor<2x40x4x16xf16>, %arg1: tensor<2x40x4x16xf16>, %arg2: tensor<2x40x4x16xf16>):
    %0 = "arith.constant"() <{value = 2.500000e-01 : f32}> : () -> f32
    %1 = "tensor.empty"() : () -> tensor<2x40x4x16xf16>
    %2 = "iree_linalg_ext.attention"(%arg0, %arg1, %arg2, %0, %1) <{indexing_maps = [#map, #map1, #map2, #map3, #map4]}> ({
    ^bb0(%arg3: f32):
      "iree_linalg_ext.yield"(%arg3) : (f32) -> ()
    }) : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, f32, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
    "func.return"(%2) : (tensor<2x40x4x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @float_mask
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>, %[[A3:.*]]: tensor<2x40x40xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]] : tensor<2x40x40xf16>) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: score_mod (%[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]], %[[A8:.*]]) {
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A5]], %[[A7]], %[[A8]]] : tensor<2x40x40xf16>
// CHECK-NEXT: %[[X0:.*]] = arith.extf %[[EXTRACTED]] : f16 to f32
// CHECK-NEXT: %[[X1:.*]] = arith.addf %[[A4]], %[[X0]] : f32
// CHECK-NEXT: attention.yield %[[X1]] : f32
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x40x40xf16>) -> tensor<2x4x40x16xf16>, sym_name = "float_mask"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x4x40x16xf16>, %arg2: tensor<2x4x40x16xf16>, %arg3: tensor<2x40x40xf16>):
    %0 = "arith.constant"() <{value = 2.500000e-01 : f32}> : () -> f32
    %1 = "tensor.empty"() : () -> tensor<2x4x40x16xf16>
    %2 = "iree_linalg_ext.attention"(%arg0, %arg1, %arg2, %0, %arg3, %1) <{indexing_maps = [#map, #map1, #map2, #map3, #map4, #map5]}> ({
    ^bb0(%arg4: f32):
      "iree_linalg_ext.yield"(%arg4) : (f32) -> ()
    }) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, f32, tensor<2x40x40xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%2) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @grouped
// CHECK-SAME: (%[[A0:.*]]: tensor<2x2x2x40x16xf16>, %[[A1:.*]]: tensor<2x2x40x16xf16>, %[[A2:.*]]: tensor<2x2x40x16xf16>) -> tensor<2x2x2x40x16xf16>
// CHECK-NEXT: %[[COLLAPSED:.*]] = tensor.collapse_shape %[[A0]] {{\[\[}}0], [1, 2], [3], [4]] : tensor<2x2x2x40x16xf16> into tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[COLLAPSED]], %[[A1]], %[[A2]] : (tensor<2x4x40x16xf16>, tensor<2x2x40x16xf16>, tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[EXPANDED:.*]] = tensor.expand_shape %[[O]] {{\[\[}}0], [1, 2], [3], [4]] output_shape [2, 2, 2, 40, 16] : tensor<2x4x40x16xf16> into tensor<2x2x2x40x16xf16>
// CHECK-NEXT: return %[[EXPANDED]] : tensor<2x2x2x40x16xf16>
#map = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d6)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d5, d6)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d5, d4)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x2x2x40x16xf16>, tensor<2x2x40x16xf16>, tensor<2x2x40x16xf16>) -> tensor<2x2x2x40x16xf16>, sym_name = "grouped"}> ({
  ^bb0(%arg0: tensor<2x2x2x40x16xf16>, %arg1: tensor<2x2x40x16xf16>, %arg2: tensor<2x2x40x16xf16>):
    %0 = "arith.constant"() <{value = 2.500000e-01 : f32}> : () -> f32
    %1 = "tensor.empty"() : () -> tensor<2x2x2x40x16xf16>
    %2 = "iree_linalg_ext.attention"(%arg0, %arg1, %arg2, %0, %1) <{indexing_maps = [#map, #map1, #map2, #map3, #map4]}> ({
    ^bb0(%arg3: f32):
      "iree_linalg_ext.yield"(%arg3) : (f32) -> ()
    }) : (tensor<2x2x2x40x16xf16>, tensor<2x2x40x16xf16>, tensor<2x2x40x16xf16>, f32, tensor<2x2x2x40x16xf16>) -> tensor<2x2x2x40x16xf16>
    "func.return"(%2) : (tensor<2x2x2x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @head_mask
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>, %[[A3:.*]]: tensor<2x4x40x40xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]] : tensor<2x4x40x40xf16>) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: score_mod (%[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]], %[[A8:.*]]) {
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A5]], %[[A6]], %[[A7]], %[[A8]]] : tensor<2x4x40x40xf16>
// CHECK-NEXT: %[[X0:.*]] = arith.extf %[[EXTRACTED]] : f16 to f32
// CHECK-NEXT: %[[X1:.*]] = arith.addf %[[A4]], %[[X0]] : f32
// CHECK-NEXT: attention.yield %[[X1]] : f32
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x40xf16>) -> tensor<2x4x40x16xf16>, sym_name = "head_mask"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x4x40x16xf16>, %arg2: tensor<2x4x40x16xf16>, %arg3: tensor<2x4x40x40xf16>):
    %0 = "arith.constant"() <{value = 2.500000e-01 : f32}> : () -> f32
    %1 = "tensor.empty"() : () -> tensor<2x4x40x16xf16>
    %2 = "iree_linalg_ext.attention"(%arg0, %arg1, %arg2, %0, %arg3, %1) <{indexing_maps = [#map, #map1, #map2, #map3, #map4, #map5]}> ({
    ^bb0(%arg4: f32):
      "iree_linalg_ext.yield"(%arg4) : (f32) -> ()
    }) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, f32, tensor<2x4x40x40xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%2) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @index
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: score_mod (%[[A3:.*]], %[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]]) {
// CHECK-NEXT: %[[CST:.*]] = arith.constant 1.44269502 : f32
// CHECK-NEXT: %[[X0:.*]] = arith.mulf %[[A3]], %[[CST]] : f32
// CHECK-NEXT: %[[X1:.*]] = arith.cmpi sge, %[[A6]], %[[A7]] : index
// CHECK-NEXT: %[[CST_0:.*]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: %[[X2:.*]] = arith.select %[[X1]], %[[X0]], %[[CST_0]] : f32
// CHECK-NEXT: %[[CST_1:.*]] = arith.constant 0.693147182 : f32
// CHECK-NEXT: %[[X3:.*]] = arith.mulf %[[X2]], %[[CST_1]] : f32
// CHECK-NEXT: attention.yield %[[X3]] : f32
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>, sym_name = "index"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x4x40x16xf16>, %arg2: tensor<2x4x40x16xf16>):
    %0 = "arith.constant"() <{value = 2.500000e-01 : f32}> : () -> f32
    %1 = "tensor.empty"() : () -> tensor<2x4x40x16xf16>
    %2 = "iree_linalg_ext.attention"(%arg0, %arg1, %arg2, %0, %1) <{indexing_maps = [#map, #map1, #map2, #map3, #map4]}> ({
    ^bb0(%arg3: f32):
      %3 = "iree_linalg_ext.index"() <{dim = 2 : i64}> : () -> index
      %4 = "iree_linalg_ext.index"() <{dim = 4 : i64}> : () -> index
      %5 = "arith.cmpi"(%3, %4) <{predicate = 5 : i64}> : (index, index) -> i1
      %6 = "arith.constant"() <{value = 0xFF800000 : f32}> : () -> f32
      %7 = "arith.select"(%5, %arg3, %6) : (i1, f32, f32) -> f32
      "iree_linalg_ext.yield"(%7) : (f32) -> ()
    }) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, f32, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%2) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @longer
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x72x16xf16>, %[[A2:.*]]: tensor<2x4x72x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] : (tensor<2x4x40x16xf16>, tensor<2x4x72x16xf16>, tensor<2x4x72x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x4x72x16xf16>, tensor<2x4x72x16xf16>) -> tensor<2x4x40x16xf16>, sym_name = "longer"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x4x72x16xf16>, %arg2: tensor<2x4x72x16xf16>):
    %0 = "arith.constant"() <{value = 2.500000e-01 : f32}> : () -> f32
    %1 = "tensor.empty"() : () -> tensor<2x4x40x16xf16>
    %2 = "iree_linalg_ext.attention"(%arg0, %arg1, %arg2, %0, %1) <{indexing_maps = [#map, #map1, #map2, #map3, #map4]}> ({
    ^bb0(%arg3: f32):
      "iree_linalg_ext.yield"(%arg3) : (f32) -> ()
    }) : (tensor<2x4x40x16xf16>, tensor<2x4x72x16xf16>, tensor<2x4x72x16xf16>, f32, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%2) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @mqa
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x40x16xf16>, %[[A2:.*]]: tensor<2x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[EXPANDED:.*]] = tensor.expand_shape %[[A1]] {{\[\[}}0], [1, 2], [3]] output_shape [2, 1, 40, 16] : tensor<2x40x16xf16> into tensor<2x1x40x16xf16>
// CHECK-NEXT: %[[EXPANDED_0:.*]] = tensor.expand_shape %[[A2]] {{\[\[}}0], [1, 2], [3]] output_shape [2, 1, 40, 16] : tensor<2x40x16xf16> into tensor<2x1x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[EXPANDED]], %[[EXPANDED_0]] : (tensor<2x4x40x16xf16>, tensor<2x1x40x16xf16>, tensor<2x1x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x40x16xf16>, tensor<2x40x16xf16>) -> tensor<2x4x40x16xf16>, sym_name = "mqa"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x40x16xf16>, %arg2: tensor<2x40x16xf16>):
    %0 = "arith.constant"() <{value = 2.500000e-01 : f32}> : () -> f32
    %1 = "tensor.empty"() : () -> tensor<2x4x40x16xf16>
    %2 = "iree_linalg_ext.attention"(%arg0, %arg1, %arg2, %0, %1) <{indexing_maps = [#map, #map1, #map2, #map3, #map4]}> ({
    ^bb0(%arg3: f32):
      "iree_linalg_ext.yield"(%arg3) : (f32) -> ()
    }) : (tensor<2x4x40x16xf16>, tensor<2x40x16xf16>, tensor<2x40x16xf16>, f32, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%2) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @plain
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>, sym_name = "plain"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x4x40x16xf16>, %arg2: tensor<2x4x40x16xf16>):
    %0 = "arith.constant"() <{value = 2.500000e-01 : f32}> : () -> f32
    %1 = "tensor.empty"() : () -> tensor<2x4x40x16xf16>
    %2 = "iree_linalg_ext.attention"(%arg0, %arg1, %arg2, %0, %1) <{indexing_maps = [#map, #map1, #map2, #map3, #map4]}> ({
    ^bb0(%arg3: f32):
      "iree_linalg_ext.yield"(%arg3) : (f32) -> ()
    }) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, f32, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%2) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @rank3
// CHECK-SAME: (%[[A0:.*]]: tensor<4x40x16xf16>, %[[A1:.*]]: tensor<4x40x16xf16>, %[[A2:.*]]: tensor<4x40x16xf16>) -> tensor<4x40x16xf16>
// CHECK-NEXT: %[[EXPANDED:.*]] = tensor.expand_shape %[[A0]] {{\[\[}}0], [1, 2], [3]] output_shape [4, 1, 40, 16] : tensor<4x40x16xf16> into tensor<4x1x40x16xf16>
// CHECK-NEXT: %[[EXPANDED_0:.*]] = tensor.expand_shape %[[A1]] {{\[\[}}0], [1, 2], [3]] output_shape [4, 1, 40, 16] : tensor<4x40x16xf16> into tensor<4x1x40x16xf16>
// CHECK-NEXT: %[[EXPANDED_1:.*]] = tensor.expand_shape %[[A2]] {{\[\[}}0], [1, 2], [3]] output_shape [4, 1, 40, 16] : tensor<4x40x16xf16> into tensor<4x1x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[EXPANDED]], %[[EXPANDED_0]], %[[EXPANDED_1]] : (tensor<4x1x40x16xf16>, tensor<4x1x40x16xf16>, tensor<4x1x40x16xf16>) -> tensor<4x1x40x16xf16>
// CHECK-NEXT: %[[COLLAPSED:.*]] = tensor.collapse_shape %[[O]] {{\[\[}}0], [1, 2], [3]] : tensor<4x1x40x16xf16> into tensor<4x40x16xf16>
// CHECK-NEXT: return %[[COLLAPSED]] : tensor<4x40x16xf16>
#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x40x16xf16>, tensor<4x40x16xf16>, tensor<4x40x16xf16>) -> tensor<4x40x16xf16>, sym_name = "rank3"}> ({
  ^bb0(%arg0: tensor<4x40x16xf16>, %arg1: tensor<4x40x16xf16>, %arg2: tensor<4x40x16xf16>):
    %0 = "arith.constant"() <{value = 2.500000e-01 : f32}> : () -> f32
    %1 = "tensor.empty"() : () -> tensor<4x40x16xf16>
    %2 = "iree_linalg_ext.attention"(%arg0, %arg1, %arg2, %0, %1) <{indexing_maps = [#map, #map1, #map2, #map3, #map4]}> ({
    ^bb0(%arg3: f32):
      "iree_linalg_ext.yield"(%arg3) : (f32) -> ()
    }) : (tensor<4x40x16xf16>, tensor<4x40x16xf16>, tensor<4x40x16xf16>, f32, tensor<4x40x16xf16>) -> tensor<4x40x16xf16>
    "func.return"(%2) : (tensor<4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @region
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: score_mod (%[[A3:.*]], %[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]]) {
// CHECK-NEXT: %[[CST:.*]] = arith.constant 1.44269502 : f32
// CHECK-NEXT: %[[X0:.*]] = arith.mulf %[[A3]], %[[CST]] : f32
// CHECK-NEXT: %[[CST_0:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT: %[[X1:.*]] = arith.divf %[[X0]], %[[CST_0]] : f32
// CHECK-NEXT: %[[X2:.*]] = math.tanh %[[X1]] : f32
// CHECK-NEXT: %[[X3:.*]] = arith.mulf %[[X2]], %[[CST_0]] : f32
// CHECK-NEXT: %[[CST_1:.*]] = arith.constant 0.693147182 : f32
// CHECK-NEXT: %[[X4:.*]] = arith.mulf %[[X3]], %[[CST_1]] : f32
// CHECK-NEXT: attention.yield %[[X4]] : f32
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>, sym_name = "region"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x4x40x16xf16>, %arg2: tensor<2x4x40x16xf16>):
    %0 = "arith.constant"() <{value = 2.500000e-01 : f32}> : () -> f32
    %1 = "tensor.empty"() : () -> tensor<2x4x40x16xf16>
    %2 = "iree_linalg_ext.attention"(%arg0, %arg1, %arg2, %0, %1) <{indexing_maps = [#map, #map1, #map2, #map3, #map4]}> ({
    ^bb0(%arg3: f32):
      %3 = "arith.constant"() <{value = 2.000000e+00 : f32}> : () -> f32
      %4 = "arith.divf"(%arg3, %3) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %5 = "math.tanh"(%4) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32
      %6 = "arith.mulf"(%5, %3) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "iree_linalg_ext.yield"(%6) : (f32) -> ()
    }) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, f32, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%2) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
