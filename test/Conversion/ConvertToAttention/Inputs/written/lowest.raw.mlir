"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>, sym_name = "lowest"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,48,16],f16>, %arg1: !torch.vtensor<[2,4,48,16],f16>, %arg2: !torch.vtensor<[2,4,48,16],f16>):
    %0 = "torch.constant.int"() <{value = 48 : i64}> : () -> !torch.int
    %1 = "torch.constant.none"() : () -> !torch.none
    %2 = "torch.constant.none"() : () -> !torch.none
    %3 = "torch.constant.device"() <{value = "cpu"}> : () -> !torch.Device
    %4 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %5 = "torch.aten.arange"(%0, %1, %2, %3, %4) : (!torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool) -> !torch.vtensor<[48],si64>
    %6 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %7 = "torch.aten.unsqueeze"(%5, %6) : (!torch.vtensor<[48],si64>, !torch.int) -> !torch.vtensor<[1,48],si64>
    %8 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %9 = "torch.aten.unsqueeze"(%5, %8) : (!torch.vtensor<[48],si64>, !torch.int) -> !torch.vtensor<[48,1],si64>
    %10 = "torch.aten.le.Tensor"(%7, %9) : (!torch.vtensor<[1,48],si64>, !torch.vtensor<[48,1],si64>) -> !torch.vtensor<[48,48],i1>
    %11 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %12 = "torch.constant.float"() <{value = -6.550400e+04 : f64}> : () -> !torch.float
    %13 = "torch.aten.where.Scalar"(%10, %11, %12) : (!torch.vtensor<[48,48],i1>, !torch.float, !torch.float) -> !torch.vtensor<[48,48],f32>
    %14 = "torch.constant.none"() : () -> !torch.none
    %15 = "torch.constant.none"() : () -> !torch.none
    %16 = "torch.constant.int"() <{value = 6 : i64}> : () -> !torch.int
    %17 = "torch.constant.device"() <{value = "cpu"}> : () -> !torch.Device
    %18 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    "torch.aten._assert_tensor_metadata"(%13, %14, %15, %16, %17, %18) : (!torch.vtensor<[48,48],f32>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int) -> ()
    %19 = "torch.constant.int"() <{value = 5 : i64}> : () -> !torch.int
    %20 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %21 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %22 = "torch.constant.none"() : () -> !torch.none
    %23 = "torch.aten.to.dtype"(%13, %19, %20, %21, %22) : (!torch.vtensor<[48,48],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none) -> !torch.vtensor<[48,48],f16>
    %24 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %25 = "torch.constant.int"() <{value = -2 : i64}> : () -> !torch.int
    %26 = "torch.aten.transpose.int"(%arg1, %24, %25) : (!torch.vtensor<[2,4,48,16],f16>, !torch.int, !torch.int) -> !torch.vtensor<[2,4,16,48],f16>
    %27 = "torch.aten.matmul"(%arg0, %26) : (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,16,48],f16>) -> !torch.vtensor<[2,4,48,48],f16>
    %28 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %29 = "torch.aten.mul.Scalar"(%27, %28) : (!torch.vtensor<[2,4,48,48],f16>, !torch.float) -> !torch.vtensor<[2,4,48,48],f16>
    %30 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %31 = "torch.aten.add.Tensor"(%29, %23, %30) : (!torch.vtensor<[2,4,48,48],f16>, !torch.vtensor<[48,48],f16>, !torch.int) -> !torch.vtensor<[2,4,48,48],f16>
    %32 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %33 = "torch.constant.none"() : () -> !torch.none
    %34 = "torch.aten.softmax.int"(%31, %32, %33) : (!torch.vtensor<[2,4,48,48],f16>, !torch.int, !torch.none) -> !torch.vtensor<[2,4,48,48],f16>
    %35 = "torch.aten.matmul"(%34, %arg2) : (!torch.vtensor<[2,4,48,48],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>
    "func.return"(%35) : (!torch.vtensor<[2,4,48,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()
