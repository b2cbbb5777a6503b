"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>, sym_name = "softmax_f32"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,48,16],f16>, %arg1: !torch.vtensor<[2,4,48,16],f16>, %arg2: !torch.vtensor<[2,4,48,16],f16>):
    %0 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %1 = "torch.constant.int"() <{value = -2 : i64}> : () -> !torch.int
    %2 = "torch.aten.transpose.int"(%arg1, %0, %1) : (!torch.vtensor<[2,4,48,16],f16>, !torch.int, !torch.int) -> !torch.vtensor<[2,4,16,48],f16>
    %3 = "torch.aten.matmul"(%arg0, %2) : (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,16,48],f16>) -> !torch.vtensor<[2,4,48,48],f16>
    %4 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %5 = "torch.aten.mul.Scalar"(%3, %4) : (!torch.vtensor<[2,4,48,48],f16>, !torch.float) -> !torch.vtensor<[2,4,48,48],f16>
    %6 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %7 = "torch.constant.int"() <{value = 6 : i64}> : () -> !torch.int
    %8 = "torch.aten.softmax.int"(%5, %6, %7) : (!torch.vtensor<[2,4,48,48],f16>, !torch.int, !torch.int) -> !torch.vtensor<[2,4,48,48],f32>
    %9 = "torch.constant.none"() : () -> !torch.none
    %10 = "torch.constant.none"() : () -> !torch.none
    %11 = "torch.constant.int"() <{value = 6 : i64}> : () -> !torch.int
    %12 = "torch.constant.device"() <{value = "cpu"}> : () -> !torch.Device
    %13 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    "torch.aten._assert_tensor_metadata"(%8, %9, %10, %11, %12, %13) : (!torch.vtensor<[2,4,48,48],f32>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int) -> ()
    %14 = "torch.constant.int"() <{value = 5 : i64}> : () -> !torch.int
    %15 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %16 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %17 = "torch.constant.none"() : () -> !torch.none
    %18 = "torch.aten.to.dtype"(%8, %14, %15, %16, %17) : (!torch.vtensor<[2,4,48,48],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none) -> !torch.vtensor<[2,4,48,48],f16>
    %19 = "torch.aten.matmul"(%18, %arg2) : (!torch.vtensor<[2,4,48,48],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>
    "func.return"(%19) : (!torch.vtensor<[2,4,48,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()
