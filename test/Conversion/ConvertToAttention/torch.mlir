// torch.aten.scaled_dot_product_attention as torch-mlir 20261001 prints it of torch
// 2.11. Printed by Inputs/projects.py, which also compares the numbers.
// RUN: fa3-opt %s -split-input-file -allow-unregistered-dialect -convert-to-attention | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: func.func @bool_mask
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>, %[[A3:.*]]: tensor<40x40xi1>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]] : tensor<40x40xi1>) : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: mask_mod (%[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]]) {
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A6]], %[[A7]]] : tensor<40x40xi1>
// CHECK-NEXT: attention.yield %[[EXTRACTED]] : i1
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[40,40],i1>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "bool_mask"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>, %arg3: !torch.vtensor<[40,40],i1>):
    %0 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %1 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %2 = "torch.constant.none"() : () -> !torch.none
    %3 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %4 = "torch.aten.scaled_dot_product_attention"(%arg0, %arg1, %arg2, %arg3, %0, %1, %2, %3) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[40,40],i1>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%4) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @bool_mask_4d
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x72x16xf16>, %[[A2:.*]]: tensor<2x4x72x16xf16>, %[[A3:.*]]: tensor<2x1x40x72xi1>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] aux(%[[A3]] : tensor<2x1x40x72xi1>) : (tensor<2x4x40x16xf16>, tensor<2x4x72x16xf16>, tensor<2x4x72x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: mask_mod (%[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]]) {
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[EXTRACTED:.*]] = tensor.extract %[[A3]][%[[A4]], %[[C0]], %[[A6]], %[[A7]]] : tensor<2x1x40x72xi1>
// CHECK-NEXT: attention.yield %[[EXTRACTED]] : i1
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,72,16],f16>, !torch.vtensor<[2,4,72,16],f16>, !torch.vtensor<[2,1,40,72],i1>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "bool_mask_4d"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,72,16],f16>, %arg2: !torch.vtensor<[2,4,72,16],f16>, %arg3: !torch.vtensor<[2,1,40,72],i1>):
    %0 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %1 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %2 = "torch.constant.none"() : () -> !torch.none
    %3 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %4 = "torch.aten.scaled_dot_product_attention"(%arg0, %arg1, %arg2, %arg3, %0, %1, %2, %3) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,72,16],f16>, !torch.vtensor<[2,4,72,16],f16>, !torch.vtensor<[2,1,40,72],i1>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%4) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @causal
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] mods [#attention.causal] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "causal"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %2 = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
    %3 = "torch.constant.none"() : () -> !torch.none
    %4 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %5 = "torch.aten.scaled_dot_product_attention"(%arg0, %arg1, %arg2, %0, %1, %2, %3, %4) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%5) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @causal_longer
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x72x16xf16>, %[[A2:.*]]: tensor<2x4x72x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] mods [#attention.causal<align = top_left>] : (tensor<2x4x40x16xf16>, tensor<2x4x72x16xf16>, tensor<2x4x72x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,72,16],f16>, !torch.vtensor<[2,4,72,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "causal_longer"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,72,16],f16>, %arg2: !torch.vtensor<[2,4,72,16],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %2 = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
    %3 = "torch.constant.none"() : () -> !torch.none
    %4 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %5 = "torch.aten.scaled_dot_product_attention"(%arg0, %arg1, %arg2, %0, %1, %2, %3, %4) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,72,16],f16>, !torch.vtensor<[2,4,72,16],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%5) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @enable_gqa
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x2x40x16xf16>, %[[A2:.*]]: tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] : (tensor<2x4x40x16xf16>, tensor<2x2x40x16xf16>, tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "enable_gqa"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,2,40,16],f16>, %arg2: !torch.vtensor<[2,2,40,16],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %2 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %3 = "torch.constant.none"() : () -> !torch.none
    %4 = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
    %5 = "torch.aten.scaled_dot_product_attention"(%arg0, %arg1, %arg2, %0, %1, %2, %3, %4) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%5) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
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
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,1,40,40],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "float_mask"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>, %arg3: !torch.vtensor<[2,1,40,40],f16>):
    %0 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %1 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %2 = "torch.constant.none"() : () -> !torch.none
    %3 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %4 = "torch.aten.scaled_dot_product_attention"(%arg0, %arg1, %arg2, %arg3, %0, %1, %2, %3) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,1,40,40],f16>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%4) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
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
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[1,4,40,40],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "float_mask_heads"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>, %arg3: !torch.vtensor<[1,4,40,40],f16>):
    %0 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %1 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %2 = "torch.constant.none"() : () -> !torch.none
    %3 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %4 = "torch.aten.scaled_dot_product_attention"(%arg0, %arg1, %arg2, %arg3, %0, %1, %2, %3) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[1,4,40,40],f16>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%4) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @permuted
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x4x16xf16>, %[[A1:.*]]: tensor<2x40x4x16xf16>, %[[A2:.*]]: tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] layout bshd mods [#attention.causal] : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x40x4x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,40,4,16],f16>, !torch.vtensor<[2,40,4,16],f16>, !torch.vtensor<[2,40,4,16],f16>) -> !torch.vtensor<[2,40,4,16],f16>, sym_name = "permuted"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,40,4,16],f16>, %arg1: !torch.vtensor<[2,40,4,16],f16>, %arg2: !torch.vtensor<[2,40,4,16],f16>):
    %0 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %1 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %2 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %3 = "torch.constant.int"() <{value = 3 : i64}> : () -> !torch.int
    %4 = "torch.prim.ListConstruct"(%0, %1, %2, %3) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %5 = "torch.aten.permute"(%arg0, %4) : (!torch.vtensor<[2,40,4,16],f16>, !torch.list<int>) -> !torch.vtensor<[2,4,40,16],f16>
    %6 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %7 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %8 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %9 = "torch.constant.int"() <{value = 3 : i64}> : () -> !torch.int
    %10 = "torch.prim.ListConstruct"(%6, %7, %8, %9) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %11 = "torch.aten.permute"(%arg1, %10) : (!torch.vtensor<[2,40,4,16],f16>, !torch.list<int>) -> !torch.vtensor<[2,4,40,16],f16>
    %12 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %13 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %14 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %15 = "torch.constant.int"() <{value = 3 : i64}> : () -> !torch.int
    %16 = "torch.prim.ListConstruct"(%12, %13, %14, %15) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %17 = "torch.aten.permute"(%arg2, %16) : (!torch.vtensor<[2,40,4,16],f16>, !torch.list<int>) -> !torch.vtensor<[2,4,40,16],f16>
    %18 = "torch.constant.none"() : () -> !torch.none
    %19 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %20 = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
    %21 = "torch.constant.none"() : () -> !torch.none
    %22 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %23 = "torch.aten.scaled_dot_product_attention"(%5, %11, %17, %18, %19, %20, %21, %22) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    %24 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %25 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %26 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %27 = "torch.constant.int"() <{value = 3 : i64}> : () -> !torch.int
    %28 = "torch.prim.ListConstruct"(%24, %25, %26, %27) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %29 = "torch.aten.permute"(%23, %28) : (!torch.vtensor<[2,4,40,16],f16>, !torch.list<int>) -> !torch.vtensor<[2,40,4,16],f16>
    "func.return"(%29) : (!torch.vtensor<[2,40,4,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @plain
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "plain"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %2 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %3 = "torch.constant.none"() : () -> !torch.none
    %4 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %5 = "torch.aten.scaled_dot_product_attention"(%arg0, %arg1, %arg2, %0, %1, %2, %3, %4) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%5) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @repeat_interleave
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x2x40x16xf16>, %[[A2:.*]]: tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] : (tensor<2x4x40x16xf16>, tensor<2x2x40x16xf16>, tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "repeat_interleave"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,2,40,16],f16>, %arg2: !torch.vtensor<[2,2,40,16],f16>):
    %0 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %1 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %2 = "torch.constant.none"() : () -> !torch.none
    %3 = "torch.aten.repeat_interleave.self_int"(%arg1, %0, %1, %2) : (!torch.vtensor<[2,2,40,16],f16>, !torch.int, !torch.int, !torch.none) -> !torch.vtensor<[2,4,40,16],f16>
    %4 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %5 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %6 = "torch.constant.none"() : () -> !torch.none
    %7 = "torch.aten.repeat_interleave.self_int"(%arg2, %4, %5, %6) : (!torch.vtensor<[2,2,40,16],f16>, !torch.int, !torch.int, !torch.none) -> !torch.vtensor<[2,4,40,16],f16>
    %8 = "torch.constant.none"() : () -> !torch.none
    %9 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %10 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %11 = "torch.constant.none"() : () -> !torch.none
    %12 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %13 = "torch.aten.scaled_dot_product_attention"(%arg0, %3, %7, %8, %9, %10, %11, %12) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%13) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @repeat_kv
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x2x40x16xf16>, %[[A2:.*]]: tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] mods [#attention.causal] : (tensor<2x4x40x16xf16>, tensor<2x2x40x16xf16>, tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "repeat_kv"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,2,40,16],f16>, %arg2: !torch.vtensor<[2,2,40,16],f16>):
    %0 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %1 = "torch.aten.unsqueeze"(%arg1, %0) : (!torch.vtensor<[2,2,40,16],f16>, !torch.int) -> !torch.vtensor<[2,2,1,40,16],f16>
    %2 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %3 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %4 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %5 = "torch.constant.int"() <{value = 40 : i64}> : () -> !torch.int
    %6 = "torch.constant.int"() <{value = 16 : i64}> : () -> !torch.int
    %7 = "torch.prim.ListConstruct"(%2, %3, %4, %5, %6) : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %8 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %9 = "torch.aten.expand"(%1, %7, %8) : (!torch.vtensor<[2,2,1,40,16],f16>, !torch.list<int>, !torch.bool) -> !torch.vtensor<[2,2,2,40,16],f16>
    %10 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %11 = "torch.constant.int"() <{value = 4 : i64}> : () -> !torch.int
    %12 = "torch.constant.int"() <{value = 40 : i64}> : () -> !torch.int
    %13 = "torch.constant.int"() <{value = 16 : i64}> : () -> !torch.int
    %14 = "torch.prim.ListConstruct"(%10, %11, %12, %13) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %15 = "torch.aten.reshape"(%9, %14) : (!torch.vtensor<[2,2,2,40,16],f16>, !torch.list<int>) -> !torch.vtensor<[2,4,40,16],f16>
    %16 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %17 = "torch.aten.unsqueeze"(%arg2, %16) : (!torch.vtensor<[2,2,40,16],f16>, !torch.int) -> !torch.vtensor<[2,2,1,40,16],f16>
    %18 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %19 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %20 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %21 = "torch.constant.int"() <{value = 40 : i64}> : () -> !torch.int
    %22 = "torch.constant.int"() <{value = 16 : i64}> : () -> !torch.int
    %23 = "torch.prim.ListConstruct"(%18, %19, %20, %21, %22) : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %24 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %25 = "torch.aten.expand"(%17, %23, %24) : (!torch.vtensor<[2,2,1,40,16],f16>, !torch.list<int>, !torch.bool) -> !torch.vtensor<[2,2,2,40,16],f16>
    %26 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %27 = "torch.constant.int"() <{value = 4 : i64}> : () -> !torch.int
    %28 = "torch.constant.int"() <{value = 40 : i64}> : () -> !torch.int
    %29 = "torch.constant.int"() <{value = 16 : i64}> : () -> !torch.int
    %30 = "torch.prim.ListConstruct"(%26, %27, %28, %29) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %31 = "torch.aten.reshape"(%25, %30) : (!torch.vtensor<[2,2,2,40,16],f16>, !torch.list<int>) -> !torch.vtensor<[2,4,40,16],f16>
    %32 = "torch.constant.none"() : () -> !torch.none
    %33 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %34 = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
    %35 = "torch.constant.none"() : () -> !torch.none
    %36 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %37 = "torch.aten.scaled_dot_product_attention"(%arg0, %15, %31, %32, %33, %34, %35, %36) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%37) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @scale
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] scale 5.000000e-01 : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "scale"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %2 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %3 = "torch.constant.float"() <{value = 5.000000e-01 : f64}> : () -> !torch.float
    %4 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %5 = "torch.aten.scaled_dot_product_attention"(%arg0, %arg1, %arg2, %0, %1, %2, %3, %4) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%5) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @transposed
// CHECK-SAME: (%[[A0:.*]]: tensor<2x40x4x16xf16>, %[[A1:.*]]: tensor<2x40x4x16xf16>, %[[A2:.*]]: tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] layout bshd : (tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x40x4x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,40,4,16],f16>, !torch.vtensor<[2,40,4,16],f16>, !torch.vtensor<[2,40,4,16],f16>) -> !torch.vtensor<[2,40,4,16],f16>, sym_name = "transposed"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,40,4,16],f16>, %arg1: !torch.vtensor<[2,40,4,16],f16>, %arg2: !torch.vtensor<[2,40,4,16],f16>):
    %0 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %1 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %2 = "torch.aten.transpose.int"(%arg0, %0, %1) : (!torch.vtensor<[2,40,4,16],f16>, !torch.int, !torch.int) -> !torch.vtensor<[2,4,40,16],f16>
    %3 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %4 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %5 = "torch.aten.transpose.int"(%arg1, %3, %4) : (!torch.vtensor<[2,40,4,16],f16>, !torch.int, !torch.int) -> !torch.vtensor<[2,4,40,16],f16>
    %6 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %7 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %8 = "torch.aten.transpose.int"(%arg2, %6, %7) : (!torch.vtensor<[2,40,4,16],f16>, !torch.int, !torch.int) -> !torch.vtensor<[2,4,40,16],f16>
    %9 = "torch.constant.none"() : () -> !torch.none
    %10 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %11 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %12 = "torch.constant.none"() : () -> !torch.none
    %13 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %14 = "torch.aten.scaled_dot_product_attention"(%2, %5, %8, %9, %10, %11, %12, %13) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    %15 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %16 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %17 = "torch.aten.transpose.int"(%14, %15, %16) : (!torch.vtensor<[2,4,40,16],f16>, !torch.int, !torch.int) -> !torch.vtensor<[2,40,4,16],f16>
    "func.return"(%17) : (!torch.vtensor<[2,40,4,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()
