"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>, sym_name = "causal_fill"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,48,16],f16>, %arg1: !torch.vtensor<[2,4,48,16],f16>, %arg2: !torch.vtensor<[2,4,48,16],f16>):
    %0 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %1 = "torch.constant.int"() <{value = -2 : i64}> : () -> !torch.int
    %2 = "torch.aten.transpose.int"(%arg1, %0, %1) : (!torch.vtensor<[2,4,48,16],f16>, !torch.int, !torch.int) -> !torch.vtensor<[2,4,16,48],f16>
    %3 = "torch.aten.matmul"(%arg0, %2) : (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,16,48],f16>) -> !torch.vtensor<[2,4,48,48],f16>
    %4 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %5 = "torch.aten.mul.Scalar"(%3, %4) : (!torch.vtensor<[2,4,48,48],f16>, !torch.float) -> !torch.vtensor<[2,4,48,48],f16>
    %6 = "torch.constant.int"() <{value = 48 : i64}> : () -> !torch.int
    %7 = "torch.constant.int"() <{value = 48 : i64}> : () -> !torch.int
    %8 = "torch.prim.ListConstruct"(%6, %7) : (!torch.int, !torch.int) -> !torch.list<int>
    %9 = "torch.constant.int"() <{value = 11 : i64}> : () -> !torch.int
    %10 = "torch.constant.none"() : () -> !torch.none
    %11 = "torch.constant.device"() <{value = "cpu"}> : () -> !torch.Device
    %12 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %13 = "torch.aten.ones"(%8, %9, %10, %11, %12) : (!torch.list<int>, !torch.int, !torch.none, !torch.Device, !torch.bool) -> !torch.vtensor<[48,48],i1>
    %14 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %15 = "torch.aten.triu"(%13, %14) : (!torch.vtensor<[48,48],i1>, !torch.int) -> !torch.vtensor<[48,48],i1>
    %16 = "torch.constant.float"() <{value = 0xFFF0000000000000 : f64}> : () -> !torch.float
    %17 = "torch.aten.masked_fill.Scalar"(%5, %15, %16) : (!torch.vtensor<[2,4,48,48],f16>, !torch.vtensor<[48,48],i1>, !torch.float) -> !torch.vtensor<[2,4,48,48],f16>
    %18 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %19 = "torch.constant.none"() : () -> !torch.none
    %20 = "torch.aten.softmax.int"(%17, %18, %19) : (!torch.vtensor<[2,4,48,48],f16>, !torch.int, !torch.none) -> !torch.vtensor<[2,4,48,48],f16>
    %21 = "torch.aten.matmul"(%20, %arg2) : (!torch.vtensor<[2,4,48,48],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>
    "func.return"(%21) : (!torch.vtensor<[2,4,48,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()
