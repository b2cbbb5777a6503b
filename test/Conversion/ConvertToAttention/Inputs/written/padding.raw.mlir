"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,48],si64>) -> !torch.vtensor<[2,4,48,16],f16>, sym_name = "padding"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,48,16],f16>, %arg1: !torch.vtensor<[2,4,48,16],f16>, %arg2: !torch.vtensor<[2,4,48,16],f16>, %arg3: !torch.vtensor<[2,48],si64>):
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
    %11 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %12 = "torch.aten.unsqueeze"(%10, %11) : (!torch.vtensor<[48,48],i1>, !torch.int) -> !torch.vtensor<[1,48,48],i1>
    %13 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %14 = "torch.aten.unsqueeze"(%12, %13) : (!torch.vtensor<[1,48,48],i1>, !torch.int) -> !torch.vtensor<[1,1,48,48],i1>
    %15 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %16 = "torch.aten.unsqueeze"(%arg3, %15) : (!torch.vtensor<[2,48],si64>, !torch.int) -> !torch.vtensor<[2,1,48],si64>
    %17 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %18 = "torch.aten.unsqueeze"(%16, %17) : (!torch.vtensor<[2,1,48],si64>, !torch.int) -> !torch.vtensor<[2,1,1,48],si64>
    %19 = "torch.constant.none"() : () -> !torch.none
    %20 = "torch.constant.none"() : () -> !torch.none
    %21 = "torch.constant.int"() <{value = 4 : i64}> : () -> !torch.int
    %22 = "torch.constant.device"() <{value = "cpu"}> : () -> !torch.Device
    %23 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    "torch.aten._assert_tensor_metadata"(%18, %19, %20, %21, %22, %23) : (!torch.vtensor<[2,1,1,48],si64>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int) -> ()
    %24 = "torch.constant.int"() <{value = 11 : i64}> : () -> !torch.int
    %25 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %26 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %27 = "torch.constant.none"() : () -> !torch.none
    %28 = "torch.aten.to.dtype"(%18, %24, %25, %26, %27) : (!torch.vtensor<[2,1,1,48],si64>, !torch.int, !torch.bool, !torch.bool, !torch.none) -> !torch.vtensor<[2,1,1,48],i1>
    %29 = "torch.aten.__and__.Tensor"(%14, %28) : (!torch.vtensor<[1,1,48,48],i1>, !torch.vtensor<[2,1,1,48],i1>) -> !torch.vtensor<[2,1,48,48],i1>
    %30 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %31 = "torch.constant.int"() <{value = -2 : i64}> : () -> !torch.int
    %32 = "torch.aten.transpose.int"(%arg1, %30, %31) : (!torch.vtensor<[2,4,48,16],f16>, !torch.int, !torch.int) -> !torch.vtensor<[2,4,16,48],f16>
    %33 = "torch.aten.matmul"(%arg0, %32) : (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,16,48],f16>) -> !torch.vtensor<[2,4,48,48],f16>
    %34 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %35 = "torch.aten.mul.Scalar"(%33, %34) : (!torch.vtensor<[2,4,48,48],f16>, !torch.float) -> !torch.vtensor<[2,4,48,48],f16>
    %36 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %37 = "torch.constant.float"() <{value = -6.550400e+04 : f64}> : () -> !torch.float
    %38 = "torch.aten.where.Scalar"(%29, %36, %37) : (!torch.vtensor<[2,1,48,48],i1>, !torch.float, !torch.float) -> !torch.vtensor<[2,1,48,48],f32>
    %39 = "torch.constant.none"() : () -> !torch.none
    %40 = "torch.constant.none"() : () -> !torch.none
    %41 = "torch.constant.int"() <{value = 6 : i64}> : () -> !torch.int
    %42 = "torch.constant.device"() <{value = "cpu"}> : () -> !torch.Device
    %43 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    "torch.aten._assert_tensor_metadata"(%38, %39, %40, %41, %42, %43) : (!torch.vtensor<[2,1,48,48],f32>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int) -> ()
    %44 = "torch.constant.int"() <{value = 5 : i64}> : () -> !torch.int
    %45 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %46 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %47 = "torch.constant.none"() : () -> !torch.none
    %48 = "torch.aten.to.dtype"(%38, %44, %45, %46, %47) : (!torch.vtensor<[2,1,48,48],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none) -> !torch.vtensor<[2,1,48,48],f16>
    %49 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %50 = "torch.aten.add.Tensor"(%35, %48, %49) : (!torch.vtensor<[2,4,48,48],f16>, !torch.vtensor<[2,1,48,48],f16>, !torch.int) -> !torch.vtensor<[2,4,48,48],f16>
    %51 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %52 = "torch.constant.none"() : () -> !torch.none
    %53 = "torch.aten.softmax.int"(%50, %51, %52) : (!torch.vtensor<[2,4,48,48],f16>, !torch.int, !torch.none) -> !torch.vtensor<[2,4,48,48],f16>
    %54 = "torch.aten.matmul"(%53, %arg2) : (!torch.vtensor<[2,4,48,48],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>
    "func.return"(%54) : (!torch.vtensor<[2,4,48,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()
