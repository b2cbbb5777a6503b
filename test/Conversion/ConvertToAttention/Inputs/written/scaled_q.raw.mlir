"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>, sym_name = "scaled_q"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,48,16],f16>, %arg1: !torch.vtensor<[2,4,48,16],f16>, %arg2: !torch.vtensor<[2,4,48,16],f16>):
    %0 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %1 = "torch.aten.mul.Scalar"(%arg0, %0) : (!torch.vtensor<[2,4,48,16],f16>, !torch.float) -> !torch.vtensor<[2,4,48,16],f16>
    %2 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %3 = "torch.constant.int"() <{value = -2 : i64}> : () -> !torch.int
    %4 = "torch.aten.transpose.int"(%arg1, %2, %3) : (!torch.vtensor<[2,4,48,16],f16>, !torch.int, !torch.int) -> !torch.vtensor<[2,4,16,48],f16>
    %5 = "torch.aten.matmul"(%1, %4) : (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,16,48],f16>) -> !torch.vtensor<[2,4,48,48],f16>
    %6 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %7 = "torch.constant.none"() : () -> !torch.none
    %8 = "torch.aten.softmax.int"(%5, %6, %7) : (!torch.vtensor<[2,4,48,48],f16>, !torch.int, !torch.none) -> !torch.vtensor<[2,4,48,48],f16>
    %9 = "torch.aten.matmul"(%8, %arg2) : (!torch.vtensor<[2,4,48,48],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>
    "func.return"(%9) : (!torch.vtensor<[2,4,48,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()
