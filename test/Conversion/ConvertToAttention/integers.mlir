// Integers without signs, and sums of those of 8 and 16 bits, which wrap around, are
// computed by the program: attention reads a table of what they decide.
// RUN: fa3-opt %s -split-input-file -allow-unregistered-dialect -convert-to-attention | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: func.func @unsigned
// CHECK: %[[M:.*]] = "torch.aten.gt.Scalar"
// CHECK: %[[TABLE:.*]] = "torch_c.to_builtin_tensor"(%[[M]]) : {{.*}} -> tensor<40x40xi1>
// CHECK: attention.forward {{.*}} aux(%[[TABLE]] : tensor<40x40xi1>)
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[40,40],ui8>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "unsigned"}> ({
  ^bb0(%q: !torch.vtensor<[2,4,40,16],f16>, %k: !torch.vtensor<[2,4,40,16],f16>, %v: !torch.vtensor<[2,4,40,16],f16>, %t: !torch.vtensor<[40,40],ui8>):
    %zero = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %none = "torch.constant.none"() : () -> !torch.none
    %limit = "torch.constant.int"() <{value = 100 : i64}> : () -> !torch.int
    %one = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %m = "torch.aten.gt.Scalar"(%t, %limit) : (!torch.vtensor<[40,40],ui8>, !torch.int) -> !torch.vtensor<[40,40],i1>
    %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %m, %zero, %no, %none, %no) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[40,40],i1>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%o) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @wrapping
// CHECK: "torch.aten.add.Tensor"
// CHECK: %[[TABLE:.*]] = "torch_c.to_builtin_tensor"({{.*}} -> tensor<40x40xi8>
// CHECK: attention.forward {{.*}} aux(%[[TABLE]] : tensor<40x40xi8>)
// CHECK: tensor.extract %[[TABLE]]
// CHECK: arith.cmpi sgt
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[40,40],si8>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "wrapping"}> ({
  ^bb0(%q: !torch.vtensor<[2,4,40,16],f16>, %k: !torch.vtensor<[2,4,40,16],f16>, %v: !torch.vtensor<[2,4,40,16],f16>, %t: !torch.vtensor<[40,40],si8>):
    %zero = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %none = "torch.constant.none"() : () -> !torch.none
    %limit = "torch.constant.int"() <{value = 100 : i64}> : () -> !torch.int
    %one = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %s = "torch.aten.add.Tensor"(%t, %t, %one) : (!torch.vtensor<[40,40],si8>, !torch.vtensor<[40,40],si8>, !torch.int) -> !torch.vtensor<[40,40],si8>
    %m = "torch.aten.gt.Scalar"(%s, %limit) : (!torch.vtensor<[40,40],si8>, !torch.int) -> !torch.vtensor<[40,40],i1>
    %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %m, %zero, %no, %none, %no) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[40,40],i1>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%o) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Those of 32 bits, and comparisons of any with a sign, are code.
// CHECK-LABEL: func.func @wide
// CHECK-NOT: torch
// CHECK: attention.forward {{.*}} aux(%{{.*}} : tensor<40x40xi32>)
// CHECK: arith.addi
// CHECK: arith.subi
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: arith.cmpi sgt
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[40,40],si32>) -> !torch.vtensor<[2,4,40,16],f16>, sym_name = "wide"}> ({
  ^bb0(%q: !torch.vtensor<[2,4,40,16],f16>, %k: !torch.vtensor<[2,4,40,16],f16>, %v: !torch.vtensor<[2,4,40,16],f16>, %t: !torch.vtensor<[40,40],si32>):
    %zero = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %none = "torch.constant.none"() : () -> !torch.none
    %limit = "torch.constant.int"() <{value = 100 : i64}> : () -> !torch.int
    %one = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %s = "torch.aten.add.Tensor"(%t, %t, %one) : (!torch.vtensor<[40,40],si32>, !torch.vtensor<[40,40],si32>, !torch.int) -> !torch.vtensor<[40,40],si32>
    %r = "torch.aten.rsub.Scalar"(%s, %limit, %one) : (!torch.vtensor<[40,40],si32>, !torch.int, !torch.int) -> !torch.vtensor<[40,40],si32>
    %c = "torch.aten.clamp"(%r, %one, %limit) : (!torch.vtensor<[40,40],si32>, !torch.int, !torch.int) -> !torch.vtensor<[40,40],si32>
    %d = "torch.aten.clamp"(%c, %none, %limit) : (!torch.vtensor<[40,40],si32>, !torch.none, !torch.int) -> !torch.vtensor<[40,40],si32>
    %m = "torch.aten.gt.Scalar"(%d, %limit) : (!torch.vtensor<[40,40],si32>, !torch.int) -> !torch.vtensor<[40,40],i1>
    %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %m, %zero, %no, %none, %no) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[40,40],i1>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    "func.return"(%o) : (!torch.vtensor<[2,4,40,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()
