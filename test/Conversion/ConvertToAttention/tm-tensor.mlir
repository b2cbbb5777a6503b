// tm_tensor.attention as IREE 3.13 (with torch-mlir) makes it of torch 2.11. Printed by Inputs/projects.py, which also compares the numbers.
// RUN: fa3-opt %s -split-input-file -allow-unregistered-dialect -convert-to-attention | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: func.func @bool_mask_4d
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x72x16xf16>, %[[A2:.*]]: tensor<2x4x72x16xf16>, %[[A3:.*]]: tensor<2x1x40x72xi1>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]] : tensor<2x1x40x72xi1>) : (tensor<2x4x40x16xf16>, tensor<2x4x72x16xf16>, tensor<2x4x72x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: mask_mod (%[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]]) {
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A4]], %[[C0]], %[[A6]], %[[A7]]] : tensor<2x1x40x72xi1>
// CHECK-NEXT: attention.yield %[[EXTRACTED]] : i1
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
#map = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x4x72x16xf16>, tensor<2x4x72x16xf16>, tensor<2x1x40x72xi1>) -> tensor<2x4x40x16xf16>, sym_name = "bool_mask_4d"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x4x72x16xf16>, %arg2: tensor<2x4x72x16xf16>, %arg3: tensor<2x1x40x72xi1>):
    %0 = "arith.constant"() <{value = 0.000000e+00 : f16}> : () -> f16
    %1 = "tensor.empty"() : () -> tensor<2x4x40x72xi1>
    %2 = "linalg.generic"(%arg3, %1) <{indexing_maps = [#map, #map1], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg6: i1, %arg7: i1):
      "linalg.yield"(%arg6) : (i1) -> ()
    }) : (tensor<2x1x40x72xi1>, tensor<2x4x40x72xi1>) -> tensor<2x4x40x72xi1>
    %3 = "tensor.collapse_shape"(%arg0) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %4 = "tensor.collapse_shape"(%arg1) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x72x16xf16>) -> tensor<8x72x16xf16>
    %5 = "tensor.collapse_shape"(%arg2) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x72x16xf16>) -> tensor<8x72x16xf16>
    %6 = "tensor.collapse_shape"(%2) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x72xi1>) -> tensor<8x40x72xi1>
    %7 = "tensor.empty"() : () -> tensor<8x40x16xf16>
    %8 = "linalg.fill"(%0, %7) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg4: f16, %arg5: f16):
      "linalg.yield"(%arg4) : (f16) -> ()
    }) : (f16, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %9 = "tm_tensor.attention"(%3, %4, %5, %6, %8) <{operandSegmentSizes = array<i32: 4, 1>}> : (tensor<8x40x16xf16>, tensor<8x72x16xf16>, tensor<8x72x16xf16>, tensor<8x40x72xi1>, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %10 = "tensor.expand_shape"(%9) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 40, 16>}> : (tensor<8x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%10) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @causal
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] mods [#attention.causal] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>, sym_name = "causal"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x4x40x16xf16>, %arg2: tensor<2x4x40x16xf16>):
    %0 = "arith.constant"() <{value = 0xFC00 : f16}> : () -> f16
    %1 = "arith.constant"() <{value = 0.000000e+00 : f16}> : () -> f16
    %2 = "tensor.empty"() : () -> tensor<2x4x40x40xf16>
    %3 = "linalg.fill"(%1, %2) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg6: f16, %arg7: f16):
      "linalg.yield"(%arg6) : (f16) -> ()
    }) : (f16, tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
    %4 = "linalg.generic"(%3) <{indexing_maps = [#map], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg5: f16):
      %13 = "linalg.index"() <{dim = 2 : i64}> : () -> index
      %14 = "linalg.index"() <{dim = 3 : i64}> : () -> index
      %15 = "arith.cmpi"(%13, %14) <{predicate = 5 : i64}> : (index, index) -> i1
      %16 = "arith.select"(%15, %1, %0) : (i1, f16, f16) -> f16
      "linalg.yield"(%16) : (f16) -> ()
    }) : (tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
    %5 = "tensor.collapse_shape"(%arg0) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %6 = "tensor.collapse_shape"(%arg1) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %7 = "tensor.collapse_shape"(%arg2) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %8 = "tensor.collapse_shape"(%4) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x40xf16>) -> tensor<8x40x40xf16>
    %9 = "tensor.empty"() : () -> tensor<8x40x16xf16>
    %10 = "linalg.fill"(%1, %9) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg3: f16, %arg4: f16):
      "linalg.yield"(%arg3) : (f16) -> ()
    }) : (f16, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %11 = "tm_tensor.attention"(%5, %6, %7, %8, %10) <{operandSegmentSizes = array<i32: 4, 1>}> : (tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x40xf16>, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %12 = "tensor.expand_shape"(%11) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 40, 16>}> : (tensor<8x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%12) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @causal_longer
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x72x16xf16>, %[[A2:.*]]: tensor<2x4x72x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] mods [#attention.causal<align = top_left>] : (tensor<2x4x40x16xf16>, tensor<2x4x72x16xf16>, tensor<2x4x72x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x4x72x16xf16>, tensor<2x4x72x16xf16>) -> tensor<2x4x40x16xf16>, sym_name = "causal_longer"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x4x72x16xf16>, %arg2: tensor<2x4x72x16xf16>):
    %0 = "arith.constant"() <{value = 0xFC00 : f16}> : () -> f16
    %1 = "arith.constant"() <{value = 0.000000e+00 : f16}> : () -> f16
    %2 = "tensor.empty"() : () -> tensor<2x4x40x72xf16>
    %3 = "linalg.fill"(%1, %2) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg6: f16, %arg7: f16):
      "linalg.yield"(%arg6) : (f16) -> ()
    }) : (f16, tensor<2x4x40x72xf16>) -> tensor<2x4x40x72xf16>
    %4 = "linalg.generic"(%3) <{indexing_maps = [#map], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg5: f16):
      %13 = "linalg.index"() <{dim = 2 : i64}> : () -> index
      %14 = "linalg.index"() <{dim = 3 : i64}> : () -> index
      %15 = "arith.cmpi"(%13, %14) <{predicate = 5 : i64}> : (index, index) -> i1
      %16 = "arith.select"(%15, %1, %0) : (i1, f16, f16) -> f16
      "linalg.yield"(%16) : (f16) -> ()
    }) : (tensor<2x4x40x72xf16>) -> tensor<2x4x40x72xf16>
    %5 = "tensor.collapse_shape"(%arg0) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %6 = "tensor.collapse_shape"(%arg1) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x72x16xf16>) -> tensor<8x72x16xf16>
    %7 = "tensor.collapse_shape"(%arg2) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x72x16xf16>) -> tensor<8x72x16xf16>
    %8 = "tensor.collapse_shape"(%4) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x72xf16>) -> tensor<8x40x72xf16>
    %9 = "tensor.empty"() : () -> tensor<8x40x16xf16>
    %10 = "linalg.fill"(%1, %9) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg3: f16, %arg4: f16):
      "linalg.yield"(%arg3) : (f16) -> ()
    }) : (f16, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %11 = "tm_tensor.attention"(%5, %6, %7, %8, %10) <{operandSegmentSizes = array<i32: 4, 1>}> : (tensor<8x40x16xf16>, tensor<8x72x16xf16>, tensor<8x72x16xf16>, tensor<8x40x72xf16>, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %12 = "tensor.expand_shape"(%11) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 40, 16>}> : (tensor<8x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%12) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @enable_gqa
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x2x40x16xf16>, %[[A2:.*]]: tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] : (tensor<2x4x40x16xf16>, tensor<2x2x40x16xf16>, tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x2x40x16xf16>, tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>, sym_name = "enable_gqa"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x2x40x16xf16>, %arg2: tensor<2x2x40x16xf16>):
    %0 = "arith.constant"() <{value = 0.000000e+00 : f16}> : () -> f16
    %1 = "tensor.empty"() : () -> tensor<2x2x2x40x16xf16>
    %2 = "linalg.generic"(%arg1, %1) <{indexing_maps = [#map, #map1], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg7: f16, %arg8: f16):
      "linalg.yield"(%arg7) : (f16) -> ()
    }) : (tensor<2x2x40x16xf16>, tensor<2x2x2x40x16xf16>) -> tensor<2x2x2x40x16xf16>
    %3 = "linalg.generic"(%arg2, %1) <{indexing_maps = [#map, #map1], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg5: f16, %arg6: f16):
      "linalg.yield"(%arg5) : (f16) -> ()
    }) : (tensor<2x2x40x16xf16>, tensor<2x2x2x40x16xf16>) -> tensor<2x2x2x40x16xf16>
    %4 = "tensor.collapse_shape"(%arg0) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %5 = "tensor.collapse_shape"(%2) <{reassociation = [[0, 1, 2], [3], [4]]}> : (tensor<2x2x2x40x16xf16>) -> tensor<8x40x16xf16>
    %6 = "tensor.collapse_shape"(%3) <{reassociation = [[0, 1, 2], [3], [4]]}> : (tensor<2x2x2x40x16xf16>) -> tensor<8x40x16xf16>
    %7 = "tensor.empty"() : () -> tensor<8x40x16xf16>
    %8 = "linalg.fill"(%0, %7) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg3: f16, %arg4: f16):
      "linalg.yield"(%arg3) : (f16) -> ()
    }) : (f16, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %9 = "tm_tensor.attention"(%4, %5, %6, %8) <{operandSegmentSizes = array<i32: 3, 1>}> : (tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %10 = "tensor.expand_shape"(%9) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 40, 16>}> : (tensor<8x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%10) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @float_mask
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>, %[[A3:.*]]: tensor<2x1x40x40xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]] : tensor<2x1x40x40xf16>) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: score_mod (%[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]], %[[A8:.*]]) {
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A5]], %[[C0]], %[[A7]], %[[A8]]] : tensor<2x1x40x40xf16>
// CHECK-NEXT: %[[X0:.*]] = arith.extf %[[EXTRACTED]] : f16 to f32
// CHECK-NEXT: %[[X1:.*]] = arith.addf %[[A4]], %[[X0]] : f32
// CHECK-NEXT: attention.yield %[[X1]] : f32
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
#map = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x1x40x40xf16>) -> tensor<2x4x40x16xf16>, sym_name = "float_mask"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x4x40x16xf16>, %arg2: tensor<2x4x40x16xf16>, %arg3: tensor<2x1x40x40xf16>):
    %0 = "arith.constant"() <{value = 0.000000e+00 : f16}> : () -> f16
    %1 = "tensor.empty"() : () -> tensor<2x4x40x40xf16>
    %2 = "linalg.generic"(%arg3, %1) <{indexing_maps = [#map, #map1], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg6: f16, %arg7: f16):
      "linalg.yield"(%arg6) : (f16) -> ()
    }) : (tensor<2x1x40x40xf16>, tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
    %3 = "tensor.collapse_shape"(%arg0) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %4 = "tensor.collapse_shape"(%arg1) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %5 = "tensor.collapse_shape"(%arg2) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %6 = "tensor.collapse_shape"(%2) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x40xf16>) -> tensor<8x40x40xf16>
    %7 = "tensor.empty"() : () -> tensor<8x40x16xf16>
    %8 = "linalg.fill"(%0, %7) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg4: f16, %arg5: f16):
      "linalg.yield"(%arg4) : (f16) -> ()
    }) : (f16, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %9 = "tm_tensor.attention"(%3, %4, %5, %6, %8) <{operandSegmentSizes = array<i32: 4, 1>}> : (tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x40xf16>, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %10 = "tensor.expand_shape"(%9) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 40, 16>}> : (tensor<8x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%10) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @float_mask_heads
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>, %[[A3:.*]]: tensor<1x4x40x40xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]] : tensor<1x4x40x40xf16>) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: score_mod (%[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]], %[[A8:.*]]) {
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[C0]], %[[A6]], %[[A7]], %[[A8]]] : tensor<1x4x40x40xf16>
// CHECK-NEXT: %[[X0:.*]] = arith.extf %[[EXTRACTED]] : f16 to f32
// CHECK-NEXT: %[[X1:.*]] = arith.addf %[[A4]], %[[X0]] : f32
// CHECK-NEXT: attention.yield %[[X1]] : f32
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
#map = affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<1x4x40x40xf16>) -> tensor<2x4x40x16xf16>, sym_name = "float_mask_heads"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x4x40x16xf16>, %arg2: tensor<2x4x40x16xf16>, %arg3: tensor<1x4x40x40xf16>):
    %0 = "arith.constant"() <{value = 0.000000e+00 : f16}> : () -> f16
    %1 = "tensor.empty"() : () -> tensor<2x4x40x40xf16>
    %2 = "linalg.generic"(%arg3, %1) <{indexing_maps = [#map, #map1], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg6: f16, %arg7: f16):
      "linalg.yield"(%arg6) : (f16) -> ()
    }) : (tensor<1x4x40x40xf16>, tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
    %3 = "tensor.collapse_shape"(%arg0) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %4 = "tensor.collapse_shape"(%arg1) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %5 = "tensor.collapse_shape"(%arg2) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %6 = "tensor.collapse_shape"(%2) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x40xf16>) -> tensor<8x40x40xf16>
    %7 = "tensor.empty"() : () -> tensor<8x40x16xf16>
    %8 = "linalg.fill"(%0, %7) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg4: f16, %arg5: f16):
      "linalg.yield"(%arg4) : (f16) -> ()
    }) : (f16, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %9 = "tm_tensor.attention"(%3, %4, %5, %6, %8) <{operandSegmentSizes = array<i32: 4, 1>}> : (tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x40xf16>, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %10 = "tensor.expand_shape"(%9) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 40, 16>}> : (tensor<8x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%10) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @permuted
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x4x16xf16>, %[[A1:.*]]: tensor<2x40x4x16xf16>, %[[A2:.*]]: tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] layout bshd mods [#attention.causal] : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x40x4x16xf16>
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>, sym_name = "permuted"}> ({
  ^bb0(%arg0: tensor<2x40x4x16xf16>, %arg1: tensor<2x40x4x16xf16>, %arg2: tensor<2x40x4x16xf16>):
    %0 = "arith.constant"() <{value = 0xFC00 : f16}> : () -> f16
    %1 = "arith.constant"() <{value = 0.000000e+00 : f16}> : () -> f16
    %2 = "tensor.empty"() : () -> tensor<2x4x40x16xf16>
    %3 = "linalg.transpose"(%arg0, %2) <{permutation = array<i64: 0, 2, 1, 3>}> ({
    ^bb0(%arg14: f16, %arg15: f16):
      "linalg.yield"(%arg14) : (f16) -> ()
    }) : (tensor<2x40x4x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
    %4 = "linalg.transpose"(%arg1, %2) <{permutation = array<i64: 0, 2, 1, 3>}> ({
    ^bb0(%arg12: f16, %arg13: f16):
      "linalg.yield"(%arg12) : (f16) -> ()
    }) : (tensor<2x40x4x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
    %5 = "linalg.transpose"(%arg2, %2) <{permutation = array<i64: 0, 2, 1, 3>}> ({
    ^bb0(%arg10: f16, %arg11: f16):
      "linalg.yield"(%arg10) : (f16) -> ()
    }) : (tensor<2x40x4x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
    %6 = "tensor.empty"() : () -> tensor<2x4x40x40xf16>
    %7 = "linalg.fill"(%1, %6) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg8: f16, %arg9: f16):
      "linalg.yield"(%arg8) : (f16) -> ()
    }) : (f16, tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
    %8 = "linalg.generic"(%7) <{indexing_maps = [#map], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg7: f16):
      %19 = "linalg.index"() <{dim = 2 : i64}> : () -> index
      %20 = "linalg.index"() <{dim = 3 : i64}> : () -> index
      %21 = "arith.cmpi"(%19, %20) <{predicate = 5 : i64}> : (index, index) -> i1
      %22 = "arith.select"(%21, %1, %0) : (i1, f16, f16) -> f16
      "linalg.yield"(%22) : (f16) -> ()
    }) : (tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
    %9 = "tensor.collapse_shape"(%3) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %10 = "tensor.collapse_shape"(%4) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %11 = "tensor.collapse_shape"(%5) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %12 = "tensor.collapse_shape"(%8) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x40xf16>) -> tensor<8x40x40xf16>
    %13 = "tensor.empty"() : () -> tensor<8x40x16xf16>
    %14 = "linalg.fill"(%1, %13) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg5: f16, %arg6: f16):
      "linalg.yield"(%arg5) : (f16) -> ()
    }) : (f16, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %15 = "tm_tensor.attention"(%9, %10, %11, %12, %14) <{operandSegmentSizes = array<i32: 4, 1>}> : (tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x40xf16>, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %16 = "tensor.expand_shape"(%15) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 40, 16>}> : (tensor<8x40x16xf16>) -> tensor<2x4x40x16xf16>
    %17 = "tensor.empty"() : () -> tensor<2x40x4x16xf16>
    %18 = "linalg.transpose"(%16, %17) <{permutation = array<i64: 0, 2, 1, 3>}> ({
    ^bb0(%arg3: f16, %arg4: f16):
      "linalg.yield"(%arg3) : (f16) -> ()
    }) : (tensor<2x4x40x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
    "func.return"(%18) : (tensor<2x40x4x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @plain
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>, sym_name = "plain"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x4x40x16xf16>, %arg2: tensor<2x4x40x16xf16>):
    %0 = "arith.constant"() <{value = 0.000000e+00 : f16}> : () -> f16
    %1 = "tensor.collapse_shape"(%arg0) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %2 = "tensor.collapse_shape"(%arg1) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %3 = "tensor.collapse_shape"(%arg2) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %4 = "tensor.empty"() : () -> tensor<8x40x16xf16>
    %5 = "linalg.fill"(%0, %4) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg3: f16, %arg4: f16):
      "linalg.yield"(%arg3) : (f16) -> ()
    }) : (f16, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %6 = "tm_tensor.attention"(%1, %2, %3, %5) <{operandSegmentSizes = array<i32: 3, 1>}> : (tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %7 = "tensor.expand_shape"(%6) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 40, 16>}> : (tensor<8x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%7) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @repeat_kv
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x2x40x16xf16>, %[[A2:.*]]: tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] mods [#attention.causal] : (tensor<2x4x40x16xf16>, tensor<2x2x40x16xf16>, tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x2x40x16xf16>, tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>, sym_name = "repeat_kv"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x2x40x16xf16>, %arg2: tensor<2x2x40x16xf16>):
    %0 = "arith.constant"() <{value = 0xFC00 : f16}> : () -> f16
    %1 = "arith.constant"() <{value = 0.000000e+00 : f16}> : () -> f16
    %2 = "tensor.empty"() : () -> tensor<2x2x2x40x16xf16>
    %3 = "linalg.generic"(%arg1, %2) <{indexing_maps = [#map, #map1], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg10: f16, %arg11: f16):
      "linalg.yield"(%arg10) : (f16) -> ()
    }) : (tensor<2x2x40x16xf16>, tensor<2x2x2x40x16xf16>) -> tensor<2x2x2x40x16xf16>
    %4 = "linalg.generic"(%arg2, %2) <{indexing_maps = [#map, #map1], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg8: f16, %arg9: f16):
      "linalg.yield"(%arg8) : (f16) -> ()
    }) : (tensor<2x2x40x16xf16>, tensor<2x2x2x40x16xf16>) -> tensor<2x2x2x40x16xf16>
    %5 = "tensor.empty"() : () -> tensor<2x4x40x40xf16>
    %6 = "linalg.fill"(%1, %5) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg6: f16, %arg7: f16):
      "linalg.yield"(%arg6) : (f16) -> ()
    }) : (f16, tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
    %7 = "linalg.generic"(%6) <{indexing_maps = [#map2], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg5: f16):
      %16 = "linalg.index"() <{dim = 2 : i64}> : () -> index
      %17 = "linalg.index"() <{dim = 3 : i64}> : () -> index
      %18 = "arith.cmpi"(%16, %17) <{predicate = 5 : i64}> : (index, index) -> i1
      %19 = "arith.select"(%18, %1, %0) : (i1, f16, f16) -> f16
      "linalg.yield"(%19) : (f16) -> ()
    }) : (tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
    %8 = "tensor.collapse_shape"(%arg0) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %9 = "tensor.collapse_shape"(%3) <{reassociation = [[0, 1, 2], [3], [4]]}> : (tensor<2x2x2x40x16xf16>) -> tensor<8x40x16xf16>
    %10 = "tensor.collapse_shape"(%4) <{reassociation = [[0, 1, 2], [3], [4]]}> : (tensor<2x2x2x40x16xf16>) -> tensor<8x40x16xf16>
    %11 = "tensor.collapse_shape"(%7) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x40xf16>) -> tensor<8x40x40xf16>
    %12 = "tensor.empty"() : () -> tensor<8x40x16xf16>
    %13 = "linalg.fill"(%1, %12) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg3: f16, %arg4: f16):
      "linalg.yield"(%arg3) : (f16) -> ()
    }) : (f16, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %14 = "tm_tensor.attention"(%8, %9, %10, %11, %13) <{operandSegmentSizes = array<i32: 4, 1>}> : (tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x40xf16>, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %15 = "tensor.expand_shape"(%14) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 40, 16>}> : (tensor<8x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%15) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @scale
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] scale 5.000000e-01 : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>, sym_name = "scale"}> ({
  ^bb0(%arg0: tensor<2x4x40x16xf16>, %arg1: tensor<2x4x40x16xf16>, %arg2: tensor<2x4x40x16xf16>):
    %0 = "arith.constant"() <{value = 0.000000e+00 : f16}> : () -> f16
    %1 = "tensor.collapse_shape"(%arg0) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %2 = "tensor.collapse_shape"(%arg1) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %3 = "tensor.collapse_shape"(%arg2) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %4 = "tensor.empty"() : () -> tensor<8x40x16xf16>
    %5 = "linalg.fill"(%0, %4) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg3: f16, %arg4: f16):
      "linalg.yield"(%arg3) : (f16) -> ()
    }) : (f16, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %6 = "tm_tensor.attention"(%1, %2, %3, %5) <{operandSegmentSizes = array<i32: 3, 1>, scale = 5.000000e-01 : f64}> : (tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %7 = "tensor.expand_shape"(%6) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 40, 16>}> : (tensor<8x40x16xf16>) -> tensor<2x4x40x16xf16>
    "func.return"(%7) : (tensor<2x4x40x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @transposed
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x4x16xf16>, %[[A1:.*]]: tensor<2x40x4x16xf16>, %[[A2:.*]]: tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] layout bshd : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x40x4x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>, sym_name = "transposed"}> ({
  ^bb0(%arg0: tensor<2x40x4x16xf16>, %arg1: tensor<2x40x4x16xf16>, %arg2: tensor<2x40x4x16xf16>):
    %0 = "arith.constant"() <{value = 0.000000e+00 : f16}> : () -> f16
    %1 = "tensor.empty"() : () -> tensor<2x4x40x16xf16>
    %2 = "linalg.transpose"(%arg0, %1) <{permutation = array<i64: 0, 2, 1, 3>}> ({
    ^bb0(%arg11: f16, %arg12: f16):
      "linalg.yield"(%arg11) : (f16) -> ()
    }) : (tensor<2x40x4x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
    %3 = "linalg.transpose"(%arg1, %1) <{permutation = array<i64: 0, 2, 1, 3>}> ({
    ^bb0(%arg9: f16, %arg10: f16):
      "linalg.yield"(%arg9) : (f16) -> ()
    }) : (tensor<2x40x4x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
    %4 = "linalg.transpose"(%arg2, %1) <{permutation = array<i64: 0, 2, 1, 3>}> ({
    ^bb0(%arg7: f16, %arg8: f16):
      "linalg.yield"(%arg7) : (f16) -> ()
    }) : (tensor<2x40x4x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
    %5 = "tensor.collapse_shape"(%2) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %6 = "tensor.collapse_shape"(%3) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %7 = "tensor.collapse_shape"(%4) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x40x16xf16>) -> tensor<8x40x16xf16>
    %8 = "tensor.empty"() : () -> tensor<8x40x16xf16>
    %9 = "linalg.fill"(%0, %8) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg5: f16, %arg6: f16):
      "linalg.yield"(%arg5) : (f16) -> ()
    }) : (f16, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %10 = "tm_tensor.attention"(%5, %6, %7, %9) <{operandSegmentSizes = array<i32: 3, 1>}> : (tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x16xf16>, tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
    %11 = "tensor.expand_shape"(%10) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 40, 16>}> : (tensor<8x40x16xf16>) -> tensor<2x4x40x16xf16>
    %12 = "tensor.empty"() : () -> tensor<2x40x4x16xf16>
    %13 = "linalg.transpose"(%11, %12) <{permutation = array<i64: 0, 2, 1, 3>}> ({
    ^bb0(%arg3: f16, %arg4: f16):
      "linalg.yield"(%arg3) : (f16) -> ()
    }) : (tensor<2x4x40x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
    "func.return"(%13) : (tensor<2x40x4x16xf16>) -> ()
  }) : () -> ()
}) : () -> ()
