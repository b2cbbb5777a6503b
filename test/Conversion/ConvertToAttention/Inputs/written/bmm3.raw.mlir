"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[8,48,16],f16>, !torch.vtensor<[8,48,16],f16>, !torch.vtensor<[8,48,16],f16>) -> !torch.vtensor<[8,48,16],f16>, sym_name = "bmm3"}> ({
  ^bb0(%arg0: !torch.vtensor<[8,48,16],f16>, %arg1: !torch.vtensor<[8,48,16],f16>, %arg2: !torch.vtensor<[8,48,16],f16>):
    %0 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %1 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %2 = "torch.aten.transpose.int"(%arg1, %0, %1) : (!torch.vtensor<[8,48,16],f16>, !torch.int, !torch.int) -> !torch.vtensor<[8,16,48],f16>
    %3 = "torch.aten.bmm"(%arg0, %2) : (!torch.vtensor<[8,48,16],f16>, !torch.vtensor<[8,16,48],f16>) -> !torch.vtensor<[8,48,48],f16>
    %4 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %5 = "torch.aten.mul.Scalar"(%3, %4) : (!torch.vtensor<[8,48,48],f16>, !torch.float) -> !torch.vtensor<[8,48,48],f16>
    %6 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %7 = "torch.constant.none"() : () -> !torch.none
    %8 = "torch.aten.softmax.int"(%5, %6, %7) : (!torch.vtensor<[8,48,48],f16>, !torch.int, !torch.none) -> !torch.vtensor<[8,48,48],f16>
    %9 = "torch.aten.bmm"(%8, %arg2) : (!torch.vtensor<[8,48,48],f16>, !torch.vtensor<[8,48,16],f16>) -> !torch.vtensor<[8,48,16],f16>
    "func.return"(%9) : (!torch.vtensor<[8,48,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()
