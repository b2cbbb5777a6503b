// torch.hop_flex_attention as torch-mlir 20261001 prints it of torch 2.11: functions of
// score and mask become the regions. Printed by Inputs/projects.py, which also compares the numbers.
// RUN: fa3-opt %s -split-input-file -allow-unregistered-dialect -convert-to-attention | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: func.func @alibi
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] mods [#attention.causal] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: score_mod (%[[A3:.*]], %[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]]) {
// CHECK-NEXT: %[[X0:.*]] = arith.index_cast %[[A5]] : index to i32
// CHECK-NEXT: %[[X1:.*]] = arith.sitofp %[[X0]] : i32 to f32
// CHECK-NEXT: %[[CST:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %[[X2:.*]] = arith.addf %[[X1]], %[[CST]] : f32
// CHECK-NEXT: %[[X3:.*]] = arith.negf %[[X2]] : f32
// CHECK-NEXT: %[[CST_0:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT: %[[X4:.*]] = arith.mulf %[[X3]], %[[CST_0]] : f32
// CHECK-NEXT: %[[X5:.*]] = math.exp2 %[[X4]] : f32
// CHECK-NEXT: %[[X6:.*]] = arith.subi %[[A6]], %[[A7]] : index
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[X7:.*]] = arith.subi %[[C0]], %[[X6]] : index
// CHECK-NEXT: %[[X8:.*]] = arith.maxsi %[[X6]], %[[X7]] : index
// CHECK-NEXT: %[[X9:.*]] = arith.index_cast %[[X8]] : index to i32
// CHECK-NEXT: %[[X10:.*]] = arith.sitofp %[[X9]] : i32 to f32
// CHECK-NEXT: %[[X11:.*]] = arith.mulf %[[X5]], %[[X10]] : f32
// CHECK-NEXT: %[[X12:.*]] = arith.subf %[[A3]], %[[X11]] : f32
// CHECK-NEXT: attention.yield %[[X12]] : f32
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[],f16>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],f32>, sym_name = "sdpa_score0", sym_visibility = "private"}> ({
  ^bb0(%arg7: !torch.vtensor<[],f16>, %arg8: !torch.vtensor<[],si32>, %arg9: !torch.vtensor<[],si32>, %arg10: !torch.vtensor<[],si32>, %arg11: !torch.vtensor<[],si32>):
    %5 = "torch.constant.float"() <{value = 1.000000e+00 : f64}> : () -> !torch.float
    %6 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %7 = "torch.aten.add.Scalar"(%arg9, %5, %6) : (!torch.vtensor<[],si32>, !torch.float, !torch.int) -> !torch.vtensor<[],f32>
    %8 = "torch.aten.neg"(%7) : (!torch.vtensor<[],f32>) -> !torch.vtensor<[],f32>
    %9 = "torch.constant.float"() <{value = 2.000000e+00 : f64}> : () -> !torch.float
    %10 = "torch.aten.mul.Scalar"(%8, %9) : (!torch.vtensor<[],f32>, !torch.float) -> !torch.vtensor<[],f32>
    %11 = "torch.aten.exp2"(%10) : (!torch.vtensor<[],f32>) -> !torch.vtensor<[],f32>
    %12 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %13 = "torch.aten.sub.Tensor"(%arg10, %arg11, %12) : (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.int) -> !torch.vtensor<[],si32>
    %14 = "torch.aten.abs"(%13) : (!torch.vtensor<[],si32>) -> !torch.vtensor<[],si32>
    %15 = "torch.aten.mul.Tensor"(%11, %14) : (!torch.vtensor<[],f32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],f32>
    %16 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %17 = "torch.aten.sub.Tensor"(%arg7, %15, %16) : (!torch.vtensor<[],f16>, !torch.vtensor<[],f32>, !torch.int) -> !torch.vtensor<[],f32>
    "func.return"(%17) : (!torch.vtensor<[],f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>, sym_name = "sdpa_mask0", sym_visibility = "private"}> ({
  ^bb0(%arg3: !torch.vtensor<[],si32>, %arg4: !torch.vtensor<[],si32>, %arg5: !torch.vtensor<[],si32>, %arg6: !torch.vtensor<[],si32>):
    %4 = "torch.aten.ge.Tensor"(%arg5, %arg6) : (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>
    "func.return"(%4) : (!torch.vtensor<[],i1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "alibi"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>):
    %0 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %1 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %2 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %3:3 = "torch.hop_flex_attention"(%arg0, %arg1, %arg2, %0, %1, %2) <{mask_mod_fn = @sdpa_mask0, score_mod_fn = @sdpa_score0}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.float, !torch.bool, !torch.bool) -> (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40],f32>, !torch.vtensor<[2,4,40],f32>)
    "func.return"(%3#0) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @by_batch
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: mask_mod (%[[A3:.*]], %[[A4:.*]], %[[A5:.*]], %[[A6:.*]]) {
// CHECK-NEXT: %[[C10:.*]] = arith.constant 10 : index
// CHECK-NEXT: %[[X0:.*]] = arith.muli %[[A3]], %[[C10]] : index
// CHECK-NEXT: %[[C20:.*]] = arith.constant 20 : index
// CHECK-NEXT: %[[X1:.*]] = arith.addi %[[X0]], %[[C20]] : index
// CHECK-NEXT: %[[X2:.*]] = arith.cmpi sle, %[[A6]], %[[X1]] : index
// CHECK-NEXT: attention.yield %[[X2]] : i1
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[],f16>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],f16>, sym_name = "sdpa_score0", sym_visibility = "private"}> ({
  ^bb0(%arg7: !torch.vtensor<[],f16>, %arg8: !torch.vtensor<[],si32>, %arg9: !torch.vtensor<[],si32>, %arg10: !torch.vtensor<[],si32>, %arg11: !torch.vtensor<[],si32>):
    "func.return"(%arg7) : (!torch.vtensor<[],f16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>, sym_name = "sdpa_mask0", sym_visibility = "private"}> ({
  ^bb0(%arg3: !torch.vtensor<[],si32>, %arg4: !torch.vtensor<[],si32>, %arg5: !torch.vtensor<[],si32>, %arg6: !torch.vtensor<[],si32>):
    %4 = "torch.constant.int"() <{value = 10 : i64}> : () -> !torch.int
    %5 = "torch.aten.mul.Scalar"(%arg3, %4) : (!torch.vtensor<[],si32>, !torch.int) -> !torch.vtensor<[],si32>
    %6 = "torch.constant.int"() <{value = 20 : i64}> : () -> !torch.int
    %7 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %8 = "torch.aten.add.Scalar"(%5, %6, %7) : (!torch.vtensor<[],si32>, !torch.int, !torch.int) -> !torch.vtensor<[],si32>
    %9 = "torch.aten.le.Tensor"(%arg6, %8) : (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>
    %10 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %11 = "torch.aten.ge.Scalar"(%arg4, %10) : (!torch.vtensor<[],si32>, !torch.int) -> !torch.vtensor<[],i1>
    %12 = "torch.aten.__and__.Tensor"(%9, %11) : (!torch.vtensor<[],i1>, !torch.vtensor<[],i1>) -> !torch.vtensor<[],i1>
    "func.return"(%12) : (!torch.vtensor<[],i1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "by_batch"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>):
    %0 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %1 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %2 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %3:3 = "torch.hop_flex_attention"(%arg0, %arg1, %arg2, %0, %1, %2) <{mask_mod_fn = @sdpa_mask0, score_mod_fn = @sdpa_score0}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.float, !torch.bool, !torch.bool) -> (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40],f32>, !torch.vtensor<[2,4,40],f32>)
    "func.return"(%3#0) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @causal
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] mods [#attention.causal] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[],f16>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],f16>, sym_name = "sdpa_score0", sym_visibility = "private"}> ({
  ^bb0(%arg7: !torch.vtensor<[],f16>, %arg8: !torch.vtensor<[],si32>, %arg9: !torch.vtensor<[],si32>, %arg10: !torch.vtensor<[],si32>, %arg11: !torch.vtensor<[],si32>):
    "func.return"(%arg7) : (!torch.vtensor<[],f16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>, sym_name = "sdpa_mask0", sym_visibility = "private"}> ({
  ^bb0(%arg3: !torch.vtensor<[],si32>, %arg4: !torch.vtensor<[],si32>, %arg5: !torch.vtensor<[],si32>, %arg6: !torch.vtensor<[],si32>):
    %4 = "torch.aten.ge.Tensor"(%arg5, %arg6) : (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>
    "func.return"(%4) : (!torch.vtensor<[],i1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "causal"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>):
    %0 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %1 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %2 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %3:3 = "torch.hop_flex_attention"(%arg0, %arg1, %arg2, %0, %1, %2) <{mask_mod_fn = @sdpa_mask0, score_mod_fn = @sdpa_score0}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.float, !torch.bool, !torch.bool) -> (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40],f32>, !torch.vtensor<[2,4,40],f32>)
    "func.return"(%3#0) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @chunks
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: mask_mod (%[[A3:.*]], %[[A4:.*]], %[[A5:.*]], %[[A6:.*]]) {
// CHECK-NEXT: %[[C8:.*]] = arith.constant 8 : index
// CHECK-NEXT: %[[X0:.*]] = arith.floordivsi %[[A5]], %[[C8]] : index
// CHECK-NEXT: %[[C8_0:.*]] = arith.constant 8 : index
// CHECK-NEXT: %[[X1:.*]] = arith.floordivsi %[[A6]], %[[C8_0]] : index
// CHECK-NEXT: %[[X2:.*]] = arith.cmpi eq, %[[X0]], %[[X1]] : index
// CHECK-NEXT: attention.yield %[[X2]] : i1
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[],f16>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],f16>, sym_name = "sdpa_score0", sym_visibility = "private"}> ({
  ^bb0(%arg7: !torch.vtensor<[],f16>, %arg8: !torch.vtensor<[],si32>, %arg9: !torch.vtensor<[],si32>, %arg10: !torch.vtensor<[],si32>, %arg11: !torch.vtensor<[],si32>):
    "func.return"(%arg7) : (!torch.vtensor<[],f16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>, sym_name = "sdpa_mask0", sym_visibility = "private"}> ({
  ^bb0(%arg3: !torch.vtensor<[],si32>, %arg4: !torch.vtensor<[],si32>, %arg5: !torch.vtensor<[],si32>, %arg6: !torch.vtensor<[],si32>):
    %4 = "torch.constant.int"() <{value = 8 : i64}> : () -> !torch.int
    %5 = "torch.aten.floor_divide.Scalar"(%arg5, %4) : (!torch.vtensor<[],si32>, !torch.int) -> !torch.vtensor<[],si32>
    %6 = "torch.constant.int"() <{value = 8 : i64}> : () -> !torch.int
    %7 = "torch.aten.floor_divide.Scalar"(%arg6, %6) : (!torch.vtensor<[],si32>, !torch.int) -> !torch.vtensor<[],si32>
    %8 = "torch.aten.eq.Tensor"(%5, %7) : (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>
    "func.return"(%8) : (!torch.vtensor<[],i1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "chunks"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>):
    %0 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %1 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %2 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %3:3 = "torch.hop_flex_attention"(%arg0, %arg1, %arg2, %0, %1, %2) <{mask_mod_fn = @sdpa_mask0, score_mod_fn = @sdpa_score0}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.float, !torch.bool, !torch.bool) -> (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40],f32>, !torch.vtensor<[2,4,40],f32>)
    "func.return"(%3#0) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @dilated
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] mods [#attention.causal] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: mask_mod (%[[A3:.*]], %[[A4:.*]], %[[A5:.*]], %[[A6:.*]]) {
// CHECK-NEXT: %[[X0:.*]] = arith.subi %[[A5]], %[[A6]] : index
// CHECK-NEXT: %[[C3:.*]] = arith.constant 3 : index
// CHECK-NEXT: %[[X1:.*]] = arith.floordivsi %[[X0]], %[[C3]] : index
// CHECK-NEXT: %[[X2:.*]] = arith.muli %[[X1]], %[[C3]] : index
// CHECK-NEXT: %[[X3:.*]] = arith.subi %[[X0]], %[[X2]] : index
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[X4:.*]] = arith.cmpi eq, %[[X3]], %[[C0]] : index
// CHECK-NEXT: attention.yield %[[X4]] : i1
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[],f16>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],f16>, sym_name = "sdpa_score0", sym_visibility = "private"}> ({
  ^bb0(%arg7: !torch.vtensor<[],f16>, %arg8: !torch.vtensor<[],si32>, %arg9: !torch.vtensor<[],si32>, %arg10: !torch.vtensor<[],si32>, %arg11: !torch.vtensor<[],si32>):
    "func.return"(%arg7) : (!torch.vtensor<[],f16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>, sym_name = "sdpa_mask0", sym_visibility = "private"}> ({
  ^bb0(%arg3: !torch.vtensor<[],si32>, %arg4: !torch.vtensor<[],si32>, %arg5: !torch.vtensor<[],si32>, %arg6: !torch.vtensor<[],si32>):
    %4 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %5 = "torch.aten.sub.Tensor"(%arg5, %arg6, %4) : (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.int) -> !torch.vtensor<[],si32>
    %6 = "torch.constant.int"() <{value = 3 : i64}> : () -> !torch.int
    %7 = "torch.aten.remainder.Scalar"(%5, %6) : (!torch.vtensor<[],si32>, !torch.int) -> !torch.vtensor<[],si32>
    %8 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %9 = "torch.aten.eq.Scalar"(%7, %8) : (!torch.vtensor<[],si32>, !torch.int) -> !torch.vtensor<[],i1>
    %10 = "torch.aten.ge.Tensor"(%arg5, %arg6) : (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>
    %11 = "torch.aten.__and__.Tensor"(%9, %10) : (!torch.vtensor<[],i1>, !torch.vtensor<[],i1>) -> !torch.vtensor<[],i1>
    "func.return"(%11) : (!torch.vtensor<[],i1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "dilated"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>):
    %0 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %1 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %2 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %3:3 = "torch.hop_flex_attention"(%arg0, %arg1, %arg2, %0, %1, %2) <{mask_mod_fn = @sdpa_mask0, score_mod_fn = @sdpa_score0}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.float, !torch.bool, !torch.bool) -> (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40],f32>, !torch.vtensor<[2,4,40],f32>)
    "func.return"(%3#0) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @distance
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] scale 5.000000e-01 mods [#attention.causal] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: score_mod (%[[A3:.*]], %[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]]) {
// CHECK-NEXT: %[[X0:.*]] = arith.subi %[[A7]], %[[A6]] : index
// CHECK-NEXT: %[[X1:.*]] = arith.index_cast %[[X0]] : index to i32
// CHECK-NEXT: %[[X2:.*]] = arith.sitofp %[[X1]] : i32 to f32
// CHECK-NEXT: %[[CST:.*]] = arith.constant 1.250000e-01 : f32
// CHECK-NEXT: %[[X3:.*]] = arith.mulf %[[X2]], %[[CST]] : f32
// CHECK-NEXT: %[[X4:.*]] = arith.addf %[[A3]], %[[X3]] : f32
// CHECK-NEXT: attention.yield %[[X4]] : f32
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[],f16>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],f32>, sym_name = "sdpa_score0", sym_visibility = "private"}> ({
  ^bb0(%arg7: !torch.vtensor<[],f16>, %arg8: !torch.vtensor<[],si32>, %arg9: !torch.vtensor<[],si32>, %arg10: !torch.vtensor<[],si32>, %arg11: !torch.vtensor<[],si32>):
    %5 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %6 = "torch.aten.sub.Tensor"(%arg11, %arg10, %5) : (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.int) -> !torch.vtensor<[],si32>
    %7 = "torch.constant.float"() <{value = 1.250000e-01 : f64}> : () -> !torch.float
    %8 = "torch.aten.mul.Scalar"(%6, %7) : (!torch.vtensor<[],si32>, !torch.float) -> !torch.vtensor<[],f32>
    %9 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %10 = "torch.aten.add.Tensor"(%arg7, %8, %9) : (!torch.vtensor<[],f16>, !torch.vtensor<[],f32>, !torch.int) -> !torch.vtensor<[],f32>
    "func.return"(%10) : (!torch.vtensor<[],f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>, sym_name = "sdpa_mask0", sym_visibility = "private"}> ({
  ^bb0(%arg3: !torch.vtensor<[],si32>, %arg4: !torch.vtensor<[],si32>, %arg5: !torch.vtensor<[],si32>, %arg6: !torch.vtensor<[],si32>):
    %4 = "torch.aten.ge.Tensor"(%arg5, %arg6) : (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>
    "func.return"(%4) : (!torch.vtensor<[],i1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "distance"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>):
    %0 = "torch.constant.float"() <{value = 5.000000e-01 : f64}> : () -> !torch.float
    %1 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %2 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %3:3 = "torch.hop_flex_attention"(%arg0, %arg1, %arg2, %0, %1, %2) <{mask_mod_fn = @sdpa_mask0, score_mod_fn = @sdpa_score0}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.float, !torch.bool, !torch.bool) -> (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40],f32>, !torch.vtensor<[2,4,40],f32>)
    "func.return"(%3#0) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @gqa
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x2x40x16xf16>, %[[A2:.*]]: tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] mods [#attention.causal] : (tensor<2x4x40x16xf16>, tensor<2x2x40x16xf16>, tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[],f16>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],f16>, sym_name = "sdpa_score0", sym_visibility = "private"}> ({
  ^bb0(%arg7: !torch.vtensor<[],f16>, %arg8: !torch.vtensor<[],si32>, %arg9: !torch.vtensor<[],si32>, %arg10: !torch.vtensor<[],si32>, %arg11: !torch.vtensor<[],si32>):
    "func.return"(%arg7) : (!torch.vtensor<[],f16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>, sym_name = "sdpa_mask0", sym_visibility = "private"}> ({
  ^bb0(%arg3: !torch.vtensor<[],si32>, %arg4: !torch.vtensor<[],si32>, %arg5: !torch.vtensor<[],si32>, %arg6: !torch.vtensor<[],si32>):
    %4 = "torch.aten.ge.Tensor"(%arg5, %arg6) : (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>
    "func.return"(%4) : (!torch.vtensor<[],i1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "gqa"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,2,40,16],f16>, %arg2: !torch.vtensor<[2,2,40,16],f16>):
    %0 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %1 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %2 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %3:3 = "torch.hop_flex_attention"(%arg0, %arg1, %arg2, %0, %1, %2) <{mask_mod_fn = @sdpa_mask0, score_mod_fn = @sdpa_score0}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>, !torch.vtensor<[2,2,40,16],f16>, !torch.float, !torch.bool, !torch.bool) -> (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40],f32>, !torch.vtensor<[2,4,40],f32>)
    "func.return"(%3#0) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @prefix
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: mask_mod (%[[A3:.*]], %[[A4:.*]], %[[A5:.*]], %[[A6:.*]]) {
// CHECK-NEXT: %[[C7:.*]] = arith.constant 7 : index
// CHECK-NEXT: %[[X0:.*]] = arith.cmpi slt, %[[A6]], %[[C7]] : index
// CHECK-NEXT: %[[X1:.*]] = arith.cmpi sge, %[[A5]], %[[A6]] : index
// CHECK-NEXT: %[[X2:.*]] = arith.ori %[[X0]], %[[X1]] : i1
// CHECK-NEXT: attention.yield %[[X2]] : i1
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[],f16>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],f16>, sym_name = "sdpa_score0", sym_visibility = "private"}> ({
  ^bb0(%arg7: !torch.vtensor<[],f16>, %arg8: !torch.vtensor<[],si32>, %arg9: !torch.vtensor<[],si32>, %arg10: !torch.vtensor<[],si32>, %arg11: !torch.vtensor<[],si32>):
    "func.return"(%arg7) : (!torch.vtensor<[],f16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>, sym_name = "sdpa_mask0", sym_visibility = "private"}> ({
  ^bb0(%arg3: !torch.vtensor<[],si32>, %arg4: !torch.vtensor<[],si32>, %arg5: !torch.vtensor<[],si32>, %arg6: !torch.vtensor<[],si32>):
    %4 = "torch.constant.int"() <{value = 7 : i64}> : () -> !torch.int
    %5 = "torch.aten.lt.Scalar"(%arg6, %4) : (!torch.vtensor<[],si32>, !torch.int) -> !torch.vtensor<[],i1>
    %6 = "torch.aten.ge.Tensor"(%arg5, %arg6) : (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>
    %7 = "torch.aten.__or__.Tensor"(%5, %6) : (!torch.vtensor<[],i1>, !torch.vtensor<[],i1>) -> !torch.vtensor<[],i1>
    "func.return"(%7) : (!torch.vtensor<[],i1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "prefix"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>):
    %0 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %1 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %2 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %3:3 = "torch.hop_flex_attention"(%arg0, %arg1, %arg2, %0, %1, %2) <{mask_mod_fn = @sdpa_mask0, score_mod_fn = @sdpa_score0}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.float, !torch.bool, !torch.bool) -> (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40],f32>, !torch.vtensor<[2,4,40],f32>)
    "func.return"(%3#0) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @where
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] mods [#attention.causal] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: score_mod (%[[A3:.*]], %[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]]) {
// CHECK-NEXT: %[[X0:.*]] = arith.addi %[[A6]], %[[A7]] : index
// CHECK-NEXT: %[[C2:.*]] = arith.constant 2 : index
// CHECK-NEXT: %[[X1:.*]] = arith.floordivsi %[[X0]], %[[C2]] : index
// CHECK-NEXT: %[[X2:.*]] = arith.muli %[[X1]], %[[C2]] : index
// CHECK-NEXT: %[[X3:.*]] = arith.subi %[[X0]], %[[X2]] : index
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[X4:.*]] = arith.cmpi eq, %[[X3]], %[[C0]] : index
// CHECK-NEXT: %[[CST:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT: %[[X5:.*]] = arith.mulf %[[A3]], %[[CST]] : f32
// CHECK-NEXT: %[[X6:.*]] = arith.select %[[X4]], %[[X5]], %[[A3]] : f32
// CHECK-NEXT: attention.yield %[[X6]] : f32
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[],f16>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],f16>, sym_name = "sdpa_score0", sym_visibility = "private"}> ({
  ^bb0(%arg7: !torch.vtensor<[],f16>, %arg8: !torch.vtensor<[],si32>, %arg9: !torch.vtensor<[],si32>, %arg10: !torch.vtensor<[],si32>, %arg11: !torch.vtensor<[],si32>):
    %5 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %6 = "torch.aten.add.Tensor"(%arg10, %arg11, %5) : (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.int) -> !torch.vtensor<[],si32>
    %7 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %8 = "torch.aten.remainder.Scalar"(%6, %7) : (!torch.vtensor<[],si32>, !torch.int) -> !torch.vtensor<[],si32>
    %9 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %10 = "torch.aten.eq.Scalar"(%8, %9) : (!torch.vtensor<[],si32>, !torch.int) -> !torch.vtensor<[],i1>
    %11 = "torch.constant.float"() <{value = 5.000000e-01 : f64}> : () -> !torch.float
    %12 = "torch.aten.mul.Scalar"(%arg7, %11) : (!torch.vtensor<[],f16>, !torch.float) -> !torch.vtensor<[],f16>
    %13 = "torch.aten.where.self"(%10, %12, %arg7) : (!torch.vtensor<[],i1>, !torch.vtensor<[],f16>, !torch.vtensor<[],f16>) -> !torch.vtensor<[],f16>
    "func.return"(%13) : (!torch.vtensor<[],f16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>, sym_name = "sdpa_mask0", sym_visibility = "private"}> ({
  ^bb0(%arg3: !torch.vtensor<[],si32>, %arg4: !torch.vtensor<[],si32>, %arg5: !torch.vtensor<[],si32>, %arg6: !torch.vtensor<[],si32>):
    %4 = "torch.aten.ge.Tensor"(%arg5, %arg6) : (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>
    "func.return"(%4) : (!torch.vtensor<[],i1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "where"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>):
    %0 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %1 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %2 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %3:3 = "torch.hop_flex_attention"(%arg0, %arg1, %arg2, %0, %1, %2) <{mask_mod_fn = @sdpa_mask0, score_mod_fn = @sdpa_score0}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.float, !torch.bool, !torch.bool) -> (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40],f32>, !torch.vtensor<[2,4,40],f32>)
    "func.return"(%3#0) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @window_cap
// CHECK-SAME: (%[[A0:.*]]: tensor<2x4x40x16xf16>, %[[A1:.*]]: tensor<2x4x40x16xf16>, %[[A2:.*]]: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: %[[O:.*]] = attention.forward %[[A0]], %[[A1]], %[[A2]] mods [#attention.window<left = 8, right = 0>] : (tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-NEXT: score_mod (%[[A3:.*]], %[[A4:.*]], %[[A5:.*]], %[[A6:.*]], %[[A7:.*]]) {
// CHECK-NEXT: %[[CST:.*]] = arith.constant 5.000000e+00 : f32
// CHECK-NEXT: %[[X0:.*]] = arith.divf %[[A3]], %[[CST]] : f32
// CHECK-NEXT: %[[X1:.*]] = math.tanh %[[X0]] : f32
// CHECK-NEXT: %[[CST_0:.*]] = arith.constant 5.000000e+00 : f32
// CHECK-NEXT: %[[X2:.*]] = arith.mulf %[[X1]], %[[CST_0]] : f32
// CHECK-NEXT: attention.yield %[[X2]] : f32
// CHECK: return %[[O]] : tensor<2x4x40x16xf16>
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[],f16>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],f16>, sym_name = "sdpa_score0", sym_visibility = "private"}> ({
  ^bb0(%arg7: !torch.vtensor<[],f16>, %arg8: !torch.vtensor<[],si32>, %arg9: !torch.vtensor<[],si32>, %arg10: !torch.vtensor<[],si32>, %arg11: !torch.vtensor<[],si32>):
    %10 = "torch.constant.float"() <{value = 5.000000e+00 : f64}> : () -> !torch.float
    %11 = "torch.aten.div.Scalar"(%arg7, %10) : (!torch.vtensor<[],f16>, !torch.float) -> !torch.vtensor<[],f16>
    %12 = "torch.aten.tanh"(%11) : (!torch.vtensor<[],f16>) -> !torch.vtensor<[],f16>
    %13 = "torch.constant.float"() <{value = 5.000000e+00 : f64}> : () -> !torch.float
    %14 = "torch.aten.mul.Scalar"(%12, %13) : (!torch.vtensor<[],f16>, !torch.float) -> !torch.vtensor<[],f16>
    "func.return"(%14) : (!torch.vtensor<[],f16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>, sym_name = "sdpa_mask0", sym_visibility = "private"}> ({
  ^bb0(%arg3: !torch.vtensor<[],si32>, %arg4: !torch.vtensor<[],si32>, %arg5: !torch.vtensor<[],si32>, %arg6: !torch.vtensor<[],si32>):
    %4 = "torch.aten.ge.Tensor"(%arg5, %arg6) : (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>) -> !torch.vtensor<[],i1>
    %5 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %6 = "torch.aten.sub.Tensor"(%arg5, %arg6, %5) : (!torch.vtensor<[],si32>, !torch.vtensor<[],si32>, !torch.int) -> !torch.vtensor<[],si32>
    %7 = "torch.constant.int"() <{value = 8 : i64}> : () -> !torch.int
    %8 = "torch.aten.le.Scalar"(%6, %7) : (!torch.vtensor<[],si32>, !torch.int) -> !torch.vtensor<[],i1>
    %9 = "torch.aten.__and__.Tensor"(%4, %8) : (!torch.vtensor<[],i1>, !torch.vtensor<[],i1>) -> !torch.vtensor<[],i1>
    "func.return"(%9) : (!torch.vtensor<[],i1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "window_cap"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>):
    %0 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %1 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %2 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %3:3 = "torch.hop_flex_attention"(%arg0, %arg1, %arg2, %0, %1, %2) <{mask_mod_fn = @sdpa_mask0, score_mod_fn = @sdpa_score0}> : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.float, !torch.bool, !torch.bool) -> (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40],f32>, !torch.vtensor<[2,4,40],f32>)
    "func.return"(%3#0) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()
