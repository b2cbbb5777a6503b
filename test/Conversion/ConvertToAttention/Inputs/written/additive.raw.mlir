"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,1,48,48],f16>) -> !torch.vtensor<[2,4,48,16],f16>, sym_name = "additive"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,48,16],f16>, %arg1: !torch.vtensor<[2,4,48,16],f16>, %arg2: !torch.vtensor<[2,4,48,16],f16>, %arg3: !torch.vtensor<[2,1,48,48],f16>):
    %0 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %1 = "torch.constant.int"() <{value = -2 : i64}> : () -> !torch.int
    %2 = "torch.aten.transpose.int"(%arg1, %0, %1) : (!torch.vtensor<[2,4,48,16],f16>, !torch.int, !torch.int) -> !torch.vtensor<[2,4,16,48],f16>
    %3 = "torch.aten.matmul"(%arg0, %2) : (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,16,48],f16>) -> !torch.vtensor<[2,4,48,48],f16>
    %4 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %5 = "torch.aten.mul.Scalar"(%3, %4) : (!torch.vtensor<[2,4,48,48],f16>, !torch.float) -> !torch.vtensor<[2,4,48,48],f16>
    %6 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %7 = "torch.aten.add.Tensor"(%5, %arg3, %6) : (!torch.vtensor<[2,4,48,48],f16>, !torch.vtensor<[2,1,48,48],f16>, !torch.int) -> !torch.vtensor<[2,4,48,48],f16>
    %8 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %9 = "torch.constant.none"() : () -> !torch.none
    %10 = "torch.aten.softmax.int"(%7, %8, %9) : (!torch.vtensor<[2,4,48,48],f16>, !torch.int, !torch.none) -> !torch.vtensor<[2,4,48,48],f16>
    %11 = "torch.aten.matmul"(%10, %arg2) : (!torch.vtensor<[2,4,48,48],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>
    "func.return"(%11) : (!torch.vtensor<[2,4,48,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()
