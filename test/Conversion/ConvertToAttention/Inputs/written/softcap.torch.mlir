"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>, sym_name = "softcap"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,48,16],f16>, %arg1: !torch.vtensor<[2,4,48,16],f16>, %arg2: !torch.vtensor<[2,4,48,16],f16>):
    %0 = "torch.constant.int"() <{value = 5 : i64}> : () -> !torch.int
    %1 = "torch.constant.float"() <{value = 1.000000e+00 : f64}> : () -> !torch.float
    %2 = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
    %3 = "torch.constant.none"() : () -> !torch.none
    %4 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %5 = "torch.constant.int"() <{value = 6 : i64}> : () -> !torch.int
    %6 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %7 = "torch.constant.int"() <{value = 30 : i64}> : () -> !torch.int
    %8 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %9 = "torch.constant.int"() <{value = 8 : i64}> : () -> !torch.int
    %10 = "torch.constant.int"() <{value = 16 : i64}> : () -> !torch.int
    %11 = "torch.constant.int"() <{value = 48 : i64}> : () -> !torch.int
    %12 = "torch.constant.int"() <{value = 4 : i64}> : () -> !torch.int
    %13 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %14 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %15 = "torch.constant.int"() <{value = 3 : i64}> : () -> !torch.int
    %16 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %17 = "torch.prim.ListConstruct"(%13, %14, %15, %16) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %18 = "torch.aten.permute"(%arg1, %17) : (!torch.vtensor<[2,4,48,16],f16>, !torch.list<int>) -> !torch.vtensor<[2,4,16,48],f16>
    %19 = "torch.prim.ListConstruct"(%9, %11, %10) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %20 = "torch.aten.view"(%arg0, %19) : (!torch.vtensor<[2,4,48,16],f16>, !torch.list<int>) -> !torch.vtensor<[8,48,16],f16>
    %21 = "torch.prim.ListConstruct"(%9, %10, %11) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %22 = "torch.aten.view"(%18, %21) : (!torch.vtensor<[2,4,16,48],f16>, !torch.list<int>) -> !torch.vtensor<[8,16,48],f16>
    %23 = "torch.aten.bmm"(%20, %22) : (!torch.vtensor<[8,48,16],f16>, !torch.vtensor<[8,16,48],f16>) -> !torch.vtensor<[8,48,48],f16>
    %24 = "torch.prim.ListConstruct"(%16, %12, %11, %11) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %25 = "torch.aten.view"(%23, %24) : (!torch.vtensor<[8,48,48],f16>, !torch.list<int>) -> !torch.vtensor<[2,4,48,48],f16>
    %26 = "torch.aten.mul.Scalar"(%25, %8) : (!torch.vtensor<[2,4,48,48],f16>, !torch.float) -> !torch.vtensor<[2,4,48,48],f16>
    %27 = "torch.aten.div.Scalar"(%26, %7) : (!torch.vtensor<[2,4,48,48],f16>, !torch.int) -> !torch.vtensor<[2,4,48,48],f16>
    %28 = "torch.aten.tanh"(%27) : (!torch.vtensor<[2,4,48,48],f16>) -> !torch.vtensor<[2,4,48,48],f16>
    %29 = "torch.aten.mul.Scalar"(%28, %7) : (!torch.vtensor<[2,4,48,48],f16>, !torch.int) -> !torch.vtensor<[2,4,48,48],f16>
    %30 = "torch.aten.to.dtype"(%29, %5, %4, %4, %3) : (!torch.vtensor<[2,4,48,48],f16>, !torch.int, !torch.bool, !torch.bool, !torch.none) -> !torch.vtensor<[2,4,48,48],f32>
    %31:2 = "torch.aten.max.dim"(%30, %6, %2) : (!torch.vtensor<[2,4,48,48],f32>, !torch.int, !torch.bool) -> (!torch.vtensor<[2,4,48,1],f32>, !torch.vtensor<[2,4,48,1],si64>)
    %32 = "torch.aten.sub.Tensor"(%30, %31#0, %1) : (!torch.vtensor<[2,4,48,48],f32>, !torch.vtensor<[2,4,48,1],f32>, !torch.float) -> !torch.vtensor<[2,4,48,48],f32>
    %33 = "torch.aten.exp"(%32) : (!torch.vtensor<[2,4,48,48],f32>) -> !torch.vtensor<[2,4,48,48],f32>
    %34 = "torch.prim.ListConstruct"(%6) : (!torch.int) -> !torch.list<int>
    %35 = "torch.aten.sum.dim_IntList"(%33, %34, %2, %3) : (!torch.vtensor<[2,4,48,48],f32>, !torch.list<int>, !torch.bool, !torch.none) -> !torch.vtensor<[2,4,48,1],f32>
    %36 = "torch.aten.div.Tensor"(%33, %35) : (!torch.vtensor<[2,4,48,48],f32>, !torch.vtensor<[2,4,48,1],f32>) -> !torch.vtensor<[2,4,48,48],f32>
    %37 = "torch.aten.to.dtype"(%36, %0, %4, %4, %3) : (!torch.vtensor<[2,4,48,48],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none) -> !torch.vtensor<[2,4,48,48],f16>
    %38 = "torch.prim.ListConstruct"(%9, %11, %11) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %39 = "torch.aten.view"(%37, %38) : (!torch.vtensor<[2,4,48,48],f16>, !torch.list<int>) -> !torch.vtensor<[8,48,48],f16>
    %40 = "torch.prim.ListConstruct"(%9, %11, %10) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %41 = "torch.aten.view"(%arg2, %40) : (!torch.vtensor<[2,4,48,16],f16>, !torch.list<int>) -> !torch.vtensor<[8,48,16],f16>
    %42 = "torch.aten.bmm"(%39, %41) : (!torch.vtensor<[8,48,48],f16>, !torch.vtensor<[8,48,16],f16>) -> !torch.vtensor<[8,48,16],f16>
    %43 = "torch.prim.ListConstruct"(%16, %12, %11, %10) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %44 = "torch.aten.view"(%42, %43) : (!torch.vtensor<[8,48,16],f16>, !torch.list<int>) -> !torch.vtensor<[2,4,48,16],f16>
    "func.return"(%44) : (!torch.vtensor<[2,4,48,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()
