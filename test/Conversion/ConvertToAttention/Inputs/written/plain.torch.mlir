"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>, sym_name = "plain"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,4,48,16],f16>, %arg1: !torch.vtensor<[2,4,48,16],f16>, %arg2: !torch.vtensor<[2,4,48,16],f16>):
    %0 = "torch.constant.int"() <{value = 5 : i64}> : () -> !torch.int
    %1 = "torch.constant.float"() <{value = 1.000000e+00 : f64}> : () -> !torch.float
    %2 = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
    %3 = "torch.constant.none"() : () -> !torch.none
    %4 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %5 = "torch.constant.int"() <{value = 6 : i64}> : () -> !torch.int
    %6 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %7 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %8 = "torch.constant.int"() <{value = 8 : i64}> : () -> !torch.int
    %9 = "torch.constant.int"() <{value = 16 : i64}> : () -> !torch.int
    %10 = "torch.constant.int"() <{value = 48 : i64}> : () -> !torch.int
    %11 = "torch.constant.int"() <{value = 4 : i64}> : () -> !torch.int
    %12 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %13 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %14 = "torch.constant.int"() <{value = 3 : i64}> : () -> !torch.int
    %15 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %16 = "torch.prim.ListConstruct"(%12, %13, %14, %15) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %17 = "torch.aten.permute"(%arg1, %16) : (!torch.vtensor<[2,4,48,16],f16>, !torch.list<int>) -> !torch.vtensor<[2,4,16,48],f16>
    %18 = "torch.prim.ListConstruct"(%8, %10, %9) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %19 = "torch.aten.view"(%arg0, %18) : (!torch.vtensor<[2,4,48,16],f16>, !torch.list<int>) -> !torch.vtensor<[8,48,16],f16>
    %20 = "torch.prim.ListConstruct"(%8, %9, %10) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %21 = "torch.aten.view"(%17, %20) : (!torch.vtensor<[2,4,16,48],f16>, !torch.list<int>) -> !torch.vtensor<[8,16,48],f16>
    %22 = "torch.aten.bmm"(%19, %21) : (!torch.vtensor<[8,48,16],f16>, !torch.vtensor<[8,16,48],f16>) -> !torch.vtensor<[8,48,48],f16>
    %23 = "torch.prim.ListConstruct"(%15, %11, %10, %10) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %24 = "torch.aten.view"(%22, %23) : (!torch.vtensor<[8,48,48],f16>, !torch.list<int>) -> !torch.vtensor<[2,4,48,48],f16>
    %25 = "torch.aten.mul.Scalar"(%24, %7) : (!torch.vtensor<[2,4,48,48],f16>, !torch.float) -> !torch.vtensor<[2,4,48,48],f16>
    %26 = "torch.aten.to.dtype"(%25, %5, %4, %4, %3) : (!torch.vtensor<[2,4,48,48],f16>, !torch.int, !torch.bool, !torch.bool, !torch.none) -> !torch.vtensor<[2,4,48,48],f32>
    %27:2 = "torch.aten.max.dim"(%26, %6, %2) : (!torch.vtensor<[2,4,48,48],f32>, !torch.int, !torch.bool) -> (!torch.vtensor<[2,4,48,1],f32>, !torch.vtensor<[2,4,48,1],si64>)
    %28 = "torch.aten.sub.Tensor"(%26, %27#0, %1) : (!torch.vtensor<[2,4,48,48],f32>, !torch.vtensor<[2,4,48,1],f32>, !torch.float) -> !torch.vtensor<[2,4,48,48],f32>
    %29 = "torch.aten.exp"(%28) : (!torch.vtensor<[2,4,48,48],f32>) -> !torch.vtensor<[2,4,48,48],f32>
    %30 = "torch.prim.ListConstruct"(%6) : (!torch.int) -> !torch.list<int>
    %31 = "torch.aten.sum.dim_IntList"(%29, %30, %2, %3) : (!torch.vtensor<[2,4,48,48],f32>, !torch.list<int>, !torch.bool, !torch.none) -> !torch.vtensor<[2,4,48,1],f32>
    %32 = "torch.aten.div.Tensor"(%29, %31) : (!torch.vtensor<[2,4,48,48],f32>, !torch.vtensor<[2,4,48,1],f32>) -> !torch.vtensor<[2,4,48,48],f32>
    %33 = "torch.aten.to.dtype"(%32, %0, %4, %4, %3) : (!torch.vtensor<[2,4,48,48],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none) -> !torch.vtensor<[2,4,48,48],f16>
    %34 = "torch.prim.ListConstruct"(%8, %10, %10) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %35 = "torch.aten.view"(%33, %34) : (!torch.vtensor<[2,4,48,48],f16>, !torch.list<int>) -> !torch.vtensor<[8,48,48],f16>
    %36 = "torch.prim.ListConstruct"(%8, %10, %9) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %37 = "torch.aten.view"(%arg2, %36) : (!torch.vtensor<[2,4,48,16],f16>, !torch.list<int>) -> !torch.vtensor<[8,48,16],f16>
    %38 = "torch.aten.bmm"(%35, %37) : (!torch.vtensor<[8,48,48],f16>, !torch.vtensor<[8,48,16],f16>) -> !torch.vtensor<[8,48,16],f16>
    %39 = "torch.prim.ListConstruct"(%15, %11, %10, %9) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %40 = "torch.aten.view"(%38, %39) : (!torch.vtensor<[8,48,16],f16>, !torch.list<int>) -> !torch.vtensor<[2,4,48,16],f16>
    "func.return"(%40) : (!torch.vtensor<[2,4,48,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()
