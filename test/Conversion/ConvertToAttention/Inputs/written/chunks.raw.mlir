"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>, sym_name = "chunks"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,48,16],f16>, %arg1: !torch.vtensor<[2,4,48,16],f16>, %arg2: !torch.vtensor<[2,4,48,16],f16>):
    %0 = "torch.constant.int"() <{value = 48 : i64}> : () -> !torch.int
    %1 = "torch.constant.none"() : () -> !torch.none
    %2 = "torch.constant.none"() : () -> !torch.none
    %3 = "torch.constant.device"() <{value = "cpu"}> : () -> !torch.Device
    %4 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %5 = "torch.aten.arange"(%0, %1, %2, %3, %4) : (!torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool) -> !torch.vtensor<[48],si64>
    %6 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %7 = "torch.prim.ListConstruct"(%6) : (!torch.int) -> !torch.list<int>
    %8 = "torch.constant.int"() <{value = 4 : i64}> : () -> !torch.int
    %9 = "torch.constant.none"() : () -> !torch.none
    %10 = "torch.constant.device"() <{value = "cpu"}> : () -> !torch.Device
    %11 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %12 = "torch.aten.zeros"(%7, %8, %9, %10, %11) : (!torch.list<int>, !torch.int, !torch.none, !torch.Device, !torch.bool) -> !torch.vtensor<[1],si64>
    %13 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %14 = "torch.aten.unsqueeze"(%5, %13) : (!torch.vtensor<[48],si64>, !torch.int) -> !torch.vtensor<[1,48],si64>
    %15 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %16 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %17 = "torch.aten.select.int"(%12, %15, %16) : (!torch.vtensor<[1],si64>, !torch.int, !torch.int) -> !torch.vtensor<[],si64>
    %18 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %19 = "torch.aten.sub.Tensor"(%14, %17, %18) : (!torch.vtensor<[1,48],si64>, !torch.vtensor<[],si64>, !torch.int) -> !torch.vtensor<[1,48],si64>
    %20 = "torch.constant.int"() <{value = 16 : i64}> : () -> !torch.int
    %21 = "torch.aten.floor_divide.Scalar"(%19, %20) : (!torch.vtensor<[1,48],si64>, !torch.int) -> !torch.vtensor<[1,48],si64>
    %22 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %23 = "torch.aten.unsqueeze"(%5, %22) : (!torch.vtensor<[48],si64>, !torch.int) -> !torch.vtensor<[48,1],si64>
    %24 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %25 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %26 = "torch.aten.select.int"(%12, %24, %25) : (!torch.vtensor<[1],si64>, !torch.int, !torch.int) -> !torch.vtensor<[],si64>
    %27 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %28 = "torch.aten.sub.Tensor"(%23, %26, %27) : (!torch.vtensor<[48,1],si64>, !torch.vtensor<[],si64>, !torch.int) -> !torch.vtensor<[48,1],si64>
    %29 = "torch.constant.int"() <{value = 16 : i64}> : () -> !torch.int
    %30 = "torch.aten.floor_divide.Scalar"(%28, %29) : (!torch.vtensor<[48,1],si64>, !torch.int) -> !torch.vtensor<[48,1],si64>
    %31 = "torch.aten.eq.Tensor"(%21, %30) : (!torch.vtensor<[1,48],si64>, !torch.vtensor<[48,1],si64>) -> !torch.vtensor<[48,48],i1>
    %32 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %33 = "torch.aten.unsqueeze"(%5, %32) : (!torch.vtensor<[48],si64>, !torch.int) -> !torch.vtensor<[1,48],si64>
    %34 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %35 = "torch.aten.unsqueeze"(%5, %34) : (!torch.vtensor<[48],si64>, !torch.int) -> !torch.vtensor<[48,1],si64>
    %36 = "torch.aten.le.Tensor"(%33, %35) : (!torch.vtensor<[1,48],si64>, !torch.vtensor<[48,1],si64>) -> !torch.vtensor<[48,48],i1>
    %37 = "torch.aten.__and__.Tensor"(%31, %36) : (!torch.vtensor<[48,48],i1>, !torch.vtensor<[48,48],i1>) -> !torch.vtensor<[48,48],i1>
    %38 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %39 = "torch.constant.int"() <{value = -2 : i64}> : () -> !torch.int
    %40 = "torch.aten.transpose.int"(%arg1, %38, %39) : (!torch.vtensor<[2,4,48,16],f16>, !torch.int, !torch.int) -> !torch.vtensor<[2,4,16,48],f16>
    %41 = "torch.aten.matmul"(%arg0, %40) : (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,16,48],f16>) -> !torch.vtensor<[2,4,48,48],f16>
    %42 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %43 = "torch.aten.mul.Scalar"(%41, %42) : (!torch.vtensor<[2,4,48,48],f16>, !torch.float) -> !torch.vtensor<[2,4,48,48],f16>
    %44 = "torch.constant.float"() <{value = 0xFFF0000000000000 : f64}> : () -> !torch.float
    %45 = "torch.aten.where.ScalarOther"(%37, %43, %44) : (!torch.vtensor<[48,48],i1>, !torch.vtensor<[2,4,48,48],f16>, !torch.float) -> !torch.vtensor<[2,4,48,48],f16>
    %46 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %47 = "torch.constant.none"() : () -> !torch.none
    %48 = "torch.aten.softmax.int"(%45, %46, %47) : (!torch.vtensor<[2,4,48,48],f16>, !torch.int, !torch.none) -> !torch.vtensor<[2,4,48,48],f16>
    %49 = "torch.aten.matmul"(%48, %arg2) : (!torch.vtensor<[2,4,48,48],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>
    "func.return"(%49) : (!torch.vtensor<[2,4,48,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()
