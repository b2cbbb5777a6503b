"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>, sym_name = "windows"}> ({
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
    %9 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %10 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %11 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %12 = "torch.aten.slice.Tensor"(%7, %8, %9, %10, %11) : (!torch.vtensor<[1,48],si64>, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.vtensor<[1,1],si64>
    %13 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %14 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %15 = "torch.aten.sub.Scalar"(%12, %13, %14) : (!torch.vtensor<[1,1],si64>, !torch.int, !torch.int) -> !torch.vtensor<[1,1],si64>
    %16 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %17 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %18 = "torch.constant.none"() : () -> !torch.none
    %19 = "torch.operator"(%7, %16, %17, %15, %18) <{name = "torch.aten.diff"}> : (!torch.vtensor<[1,48],si64>, !torch.int, !torch.int, !torch.vtensor<[1,1],si64>, !torch.none) -> !torch.vtensor<[1,48],si64>
    %20 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %21 = "torch.aten.ne.Scalar"(%19, %20) : (!torch.vtensor<[1,48],si64>, !torch.int) -> !torch.vtensor<[1,48],i1>
    %22 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %23 = "torch.constant.none"() : () -> !torch.none
    %24 = "torch.aten.cumsum"(%21, %22, %23) : (!torch.vtensor<[1,48],i1>, !torch.int, !torch.none) -> !torch.vtensor<[1,48],si64>
    %25 = "torch.constant.int"() <{value = 48 : i64}> : () -> !torch.int
    %26 = "torch.constant.none"() : () -> !torch.none
    %27 = "torch.constant.none"() : () -> !torch.none
    %28 = "torch.constant.device"() <{value = "cpu"}> : () -> !torch.Device
    %29 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %30 = "torch.aten.arange"(%25, %26, %27, %28, %29) : (!torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool) -> !torch.vtensor<[48],si64>
    %31 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %32 = "torch.aten.unsqueeze"(%30, %31) : (!torch.vtensor<[48],si64>, !torch.int) -> !torch.vtensor<[48,1],si64>
    %33 = "torch.constant.int"() <{value = 48 : i64}> : () -> !torch.int
    %34 = "torch.constant.none"() : () -> !torch.none
    %35 = "torch.constant.none"() : () -> !torch.none
    %36 = "torch.constant.device"() <{value = "cpu"}> : () -> !torch.Device
    %37 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %38 = "torch.aten.arange"(%33, %34, %35, %36, %37) : (!torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool) -> !torch.vtensor<[48],si64>
    %39 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %40 = "torch.aten.unsqueeze"(%38, %39) : (!torch.vtensor<[48],si64>, !torch.int) -> !torch.vtensor<[1,48],si64>
    %41 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %42 = "torch.constant.none"() : () -> !torch.none
    %43 = "torch.constant.none"() : () -> !torch.none
    %44 = "torch.constant.device"() <{value = "cpu"}> : () -> !torch.Device
    %45 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %46 = "torch.aten.arange"(%41, %42, %43, %44, %45) : (!torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool) -> !torch.vtensor<[1],si64>
    %47 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %48 = "torch.aten.unsqueeze"(%46, %47) : (!torch.vtensor<[1],si64>, !torch.int) -> !torch.vtensor<[1,1],si64>
    %49 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %50 = "torch.aten.unsqueeze"(%48, %49) : (!torch.vtensor<[1,1],si64>, !torch.int) -> !torch.vtensor<[1,1,1],si64>
    %51 = "torch.prim.ListConstruct"(%50, %32) : (!torch.vtensor<[1,1,1],si64>, !torch.vtensor<[48,1],si64>) -> !torch.list<optional<vtensor>>
    %52 = "torch.aten.index.Tensor"(%7, %51) : (!torch.vtensor<[1,48],si64>, !torch.list<optional<vtensor>>) -> !torch.vtensor<[1,48,1],si64>
    %53 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %54 = "torch.aten.unsqueeze"(%46, %53) : (!torch.vtensor<[1],si64>, !torch.int) -> !torch.vtensor<[1,1],si64>
    %55 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %56 = "torch.aten.unsqueeze"(%54, %55) : (!torch.vtensor<[1,1],si64>, !torch.int) -> !torch.vtensor<[1,1,1],si64>
    %57 = "torch.prim.ListConstruct"(%56, %40) : (!torch.vtensor<[1,1,1],si64>, !torch.vtensor<[1,48],si64>) -> !torch.list<optional<vtensor>>
    %58 = "torch.aten.index.Tensor"(%7, %57) : (!torch.vtensor<[1,48],si64>, !torch.list<optional<vtensor>>) -> !torch.vtensor<[1,1,48],si64>
    %59 = "torch.aten.le.Tensor"(%58, %52) : (!torch.vtensor<[1,1,48],si64>, !torch.vtensor<[1,48,1],si64>) -> !torch.vtensor<[1,48,48],i1>
    %60 = "torch.constant.int"() <{value = 9 : i64}> : () -> !torch.int
    %61 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %62 = "torch.aten.sub.Scalar"(%52, %60, %61) : (!torch.vtensor<[1,48,1],si64>, !torch.int, !torch.int) -> !torch.vtensor<[1,48,1],si64>
    %63 = "torch.aten.gt.Tensor"(%58, %62) : (!torch.vtensor<[1,1,48],si64>, !torch.vtensor<[1,48,1],si64>) -> !torch.vtensor<[1,48,48],i1>
    %64 = "torch.aten.__and__.Tensor"(%59, %63) : (!torch.vtensor<[1,48,48],i1>, !torch.vtensor<[1,48,48],i1>) -> !torch.vtensor<[1,48,48],i1>
    %65 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %66 = "torch.aten.unsqueeze"(%46, %65) : (!torch.vtensor<[1],si64>, !torch.int) -> !torch.vtensor<[1,1],si64>
    %67 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %68 = "torch.aten.unsqueeze"(%66, %67) : (!torch.vtensor<[1,1],si64>, !torch.int) -> !torch.vtensor<[1,1,1],si64>
    %69 = "torch.prim.ListConstruct"(%68, %32) : (!torch.vtensor<[1,1,1],si64>, !torch.vtensor<[48,1],si64>) -> !torch.list<optional<vtensor>>
    %70 = "torch.aten.index.Tensor"(%24, %69) : (!torch.vtensor<[1,48],si64>, !torch.list<optional<vtensor>>) -> !torch.vtensor<[1,48,1],si64>
    %71 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %72 = "torch.aten.unsqueeze"(%46, %71) : (!torch.vtensor<[1],si64>, !torch.int) -> !torch.vtensor<[1,1],si64>
    %73 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %74 = "torch.aten.unsqueeze"(%72, %73) : (!torch.vtensor<[1,1],si64>, !torch.int) -> !torch.vtensor<[1,1,1],si64>
    %75 = "torch.prim.ListConstruct"(%74, %40) : (!torch.vtensor<[1,1,1],si64>, !torch.vtensor<[1,48],si64>) -> !torch.list<optional<vtensor>>
    %76 = "torch.aten.index.Tensor"(%24, %75) : (!torch.vtensor<[1,48],si64>, !torch.list<optional<vtensor>>) -> !torch.vtensor<[1,1,48],si64>
    %77 = "torch.aten.eq.Tensor"(%70, %76) : (!torch.vtensor<[1,48,1],si64>, !torch.vtensor<[1,1,48],si64>) -> !torch.vtensor<[1,48,48],i1>
    %78 = "torch.aten.__and__.Tensor"(%64, %77) : (!torch.vtensor<[1,48,48],i1>, !torch.vtensor<[1,48,48],i1>) -> !torch.vtensor<[1,48,48],i1>
    %79 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %80 = "torch.constant.int"() <{value = -2 : i64}> : () -> !torch.int
    %81 = "torch.aten.transpose.int"(%arg1, %79, %80) : (!torch.vtensor<[2,4,48,16],f16>, !torch.int, !torch.int) -> !torch.vtensor<[2,4,16,48],f16>
    %82 = "torch.aten.matmul"(%arg0, %81) : (!torch.vtensor<[2,4,48,16],f16>, !torch.vtensor<[2,4,16,48],f16>) -> !torch.vtensor<[2,4,48,48],f16>
    %83 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %84 = "torch.aten.mul.Scalar"(%82, %83) : (!torch.vtensor<[2,4,48,48],f16>, !torch.float) -> !torch.vtensor<[2,4,48,48],f16>
    %85 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %86 = "torch.aten.unsqueeze"(%78, %85) : (!torch.vtensor<[1,48,48],i1>, !torch.int) -> !torch.vtensor<[1,1,48,48],i1>
    %87 = "torch.aten.bitwise_not"(%86) : (!torch.vtensor<[1,1,48,48],i1>) -> !torch.vtensor<[1,1,48,48],i1>
    %88 = "torch.constant.float"() <{value = 0xFFF0000000000000 : f64}> : () -> !torch.float
    %89 = "torch.aten.masked_fill.Scalar"(%84, %87, %88) : (!torch.vtensor<[2,4,48,48],f16>, !torch.vtensor<[1,1,48,48],i1>, !torch.float) -> !torch.vtensor<[2,4,48,48],f16>
    %90 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %91 = "torch.constant.none"() : () -> !torch.none
    %92 = "torch.aten.softmax.int"(%89, %90, %91) : (!torch.vtensor<[2,4,48,48],f16>, !torch.int, !torch.none) -> !torch.vtensor<[2,4,48,48],f16>
    %93 = "torch.aten.matmul"(%92, %arg2) : (!torch.vtensor<[2,4,48,48],f16>, !torch.vtensor<[2,4,48,16],f16>) -> !torch.vtensor<[2,4,48,16],f16>
    "func.return"(%93) : (!torch.vtensor<[2,4,48,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()
