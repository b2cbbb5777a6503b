"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,2,48,16],f16>, !torch.vtensor<[2,2,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>, sym_name = "gqa"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,48,16],f16>, %arg1: !torch.vtensor<[2,2,48,16],f16>, %arg2: !torch.vtensor<[2,2,48,16],f16>):
    %0 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %1 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %2 = "torch.constant.none"() : () -> !torch.none
    %3 = "torch.aten.repeat_interleave.self_int"(%arg1, %0, %1, %2) : (!torch.vtensor<[2,2,48,16],f16>, !torch.int, !torch.int, !torch.none) -> !torch.vtensor<[2,4,48,16],f16>
    %4 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %5 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %6 = "torch.constant.none"() : () -> !torch.none
    %7 = "torch.aten.repeat_interleave.self_int"(%arg2, %4, %5, %6) : (!torch.vtensor<[2,2,48,16],f16>, !torch.int, !torch.int, !torch.none) -> !torch.vtensor<[2,4,48,16],f16>
    %8 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %9 = "torch.constant.int"() <{value = -2 : i64}> : () -> !torch.int
    %10 = "torch.aten.transpose.int"(%3, %8, %9) : (!torch.vtensor<[2,4,48,16],f16>, !torch.int, !torch.int) -> !torch.vtensor<[2,4,16,48],f16>
    %11 = "torch.aten.matmul"(%arg0, %10) : (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,16,48],f16>) -> !torch.vtensor<[2,4,48,48],f16>
    %12 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %13 = "torch.aten.mul.Scalar"(%11, %12) : (!torch.vtensor<[2,4,48,48],f16>, !torch.float) -> !torch.vtensor<[2,4,48,48],f16>
    %14 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %15 = "torch.constant.none"() : () -> !torch.none
    %16 = "torch.aten.softmax.int"(%13, %14, %15) : (!torch.vtensor<[2,4,48,48],f16>, !torch.int, !torch.none) -> !torch.vtensor<[2,4,48,48],f16>
    %17 = "torch.aten.matmul"(%16, %7) : (!torch.vtensor<[2,4,48,48],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>
    "func.return"(%17) : (!torch.vtensor<[2,4,48,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()
