// Causal self attention, full cross attention and a window that is written out,
// as torch-mlir 20261001 prints them of torch 2.11. SPDX-License-Identifier: Apache-2.0
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,24,16],f16>, !torch.vtensor<[2,4,24,16],f16>, !torch.vtensor<[64,64],f16>) -> !torch.vtensor<[2,40,64],f16>, sym_name = "main"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,40,16],f16>, %arg1: !torch.vtensor<[2,4,40,16],f16>, %arg2: !torch.vtensor<[2,4,40,16],f16>, %arg3: !torch.vtensor<[2,4,24,16],f16>, %arg4: !torch.vtensor<[2,4,24,16],f16>, %arg5: !torch.vtensor<[64,64],f16>):
    %0 = "torch.constant.none"() : () -> !torch.none
    %1 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %2 = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
    %3 = "torch.constant.none"() : () -> !torch.none
    %4 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %5 = "torch.aten.scaled_dot_product_attention"(%arg0, %arg1, %arg2, %0, %1, %2, %3, %4) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    %6 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %7 = "torch.aten.add.Tensor"(%5, %arg0, %6) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,40,16],f16>, !torch.int) -> !torch.vtensor<[2,4,40,16],f16>
    %8 = "torch.constant.none"() : () -> !torch.none
    %9 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %10 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %11 = "torch.constant.none"() : () -> !torch.none
    %12 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %13 = "torch.aten.scaled_dot_product_attention"(%7, %arg3, %arg4, %8, %9, %10, %11, %12) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,24,16],f16>, !torch.vtensor<[2,4,24,16],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,4,40,16],f16>
    %14 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %15 = "torch.constant.int"() <{value = -2 : i64}> : () -> !torch.int
    %16 = "torch.aten.transpose.int"(%arg1, %14, %15) : (!torch.vtensor<[2,4,40,16],f16>, !torch.int, !torch.int) -> !torch.vtensor<[2,4,16,40],f16>
    %17 = "torch.aten.matmul"(%13, %16) : (!torch.vtensor<[2,4,40,16],f16>, !torch.vtensor<[2,4,16,40],f16>) -> !torch.vtensor<[2,4,40,40],f16>
    %18 = "torch.constant.float"() <{value = 1.250000e-01 : f64}> : () -> !torch.float
    %19 = "torch.aten.mul.Scalar"(%17, %18) : (!torch.vtensor<[2,4,40,40],f16>, !torch.float) -> !torch.vtensor<[2,4,40,40],f16>
    %20 = "torch.constant.int"() <{value = 40 : i64}> : () -> !torch.int
    %21 = "torch.constant.none"() : () -> !torch.none
    %22 = "torch.constant.none"() : () -> !torch.none
    %23 = "torch.constant.device"() <{value = "cpu"}> : () -> !torch.Device
    %24 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %25 = "torch.aten.arange"(%20, %21, %22, %23, %24) : (!torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool) -> !torch.vtensor<[40],si64>
    %26 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %27 = "torch.aten.unsqueeze"(%25, %26) : (!torch.vtensor<[40],si64>, !torch.int) -> !torch.vtensor<[40,1],si64>
    %28 = "torch.constant.int"() <{value = 40 : i64}> : () -> !torch.int
    %29 = "torch.constant.none"() : () -> !torch.none
    %30 = "torch.constant.none"() : () -> !torch.none
    %31 = "torch.constant.device"() <{value = "cpu"}> : () -> !torch.Device
    %32 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %33 = "torch.aten.arange"(%28, %29, %30, %31, %32) : (!torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool) -> !torch.vtensor<[40],si64>
    %34 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %35 = "torch.aten.unsqueeze"(%33, %34) : (!torch.vtensor<[40],si64>, !torch.int) -> !torch.vtensor<[1,40],si64>
    %36 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %37 = "torch.aten.sub.Tensor"(%27, %35, %36) : (!torch.vtensor<[40,1],si64>, !torch.vtensor<[1,40],si64>, !torch.int) -> !torch.vtensor<[40,40],si64>
    %38 = "torch.constant.int"() <{value = 8 : i64}> : () -> !torch.int
    %39 = "torch.aten.gt.Scalar"(%37, %38) : (!torch.vtensor<[40,40],si64>, !torch.int) -> !torch.vtensor<[40,40],i1>
    %40 = "torch.aten.gt.Tensor"(%35, %27) : (!torch.vtensor<[1,40],si64>, !torch.vtensor<[40,1],si64>) -> !torch.vtensor<[40,40],i1>
    %41 = "torch.aten.__or__.Tensor"(%39, %40) : (!torch.vtensor<[40,40],i1>, !torch.vtensor<[40,40],i1>) -> !torch.vtensor<[40,40],i1>
    %42 = "torch.constant.float"() <{value = 0xFFF0000000000000 : f64}> : () -> !torch.float
    %43 = "torch.aten.masked_fill.Scalar"(%19, %41, %42) : (!torch.vtensor<[2,4,40,40],f16>, !torch.vtensor<[40,40],i1>, !torch.float) -> !torch.vtensor<[2,4,40,40],f16>
    %44 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %45 = "torch.constant.none"() : () -> !torch.none
    %46 = "torch.aten.softmax.int"(%43, %44, %45) : (!torch.vtensor<[2,4,40,40],f16>, !torch.int, !torch.none) -> !torch.vtensor<[2,4,40,40],f16>
    %47 = "torch.aten.matmul"(%46, %arg2) : (!torch.vtensor<[2,4,40,40],f16>, !torch.vtensor<[2,4,40,16],f16>) -> !torch.vtensor<[2,4,40,16],f16>
    %48 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %49 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %50 = "torch.aten.transpose.int"(%47, %48, %49) : (!torch.vtensor<[2,4,40,16],f16>, !torch.int, !torch.int) -> !torch.vtensor<[2,40,4,16],f16>
    %51 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %52 = "torch.constant.int"() <{value = 40 : i64}> : () -> !torch.int
    %53 = "torch.constant.int"() <{value = 64 : i64}> : () -> !torch.int
    %54 = "torch.prim.ListConstruct"(%51, %52, %53) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %55 = "torch.aten.reshape"(%50, %54) : (!torch.vtensor<[2,40,4,16],f16>, !torch.list<int>) -> !torch.vtensor<[2,40,64],f16>
    %56 = "torch.aten.matmul"(%55, %arg5) : (!torch.vtensor<[2,40,64],f16>, !torch.vtensor<[64,64],f16>) -> !torch.vtensor<[2,40,64],f16>
    "func.return"(%56) : (!torch.vtensor<[2,40,64],f16>) -> ()
  }) : () -> ()
}) : () -> ()

