"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,48,4,16],f16>, !torch.vtensor<[2,48,4,16],f16>, !torch.vtensor<[2,48,4,16],f16>) -> !torch.vtensor<[2,48,4,16],f16>, sym_name = "einsum"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,48,4,16],f16>, %arg1: !torch.vtensor<[2,48,4,16],f16>, %arg2: !torch.vtensor<[2,48,4,16],f16>):
    %0 = "torch.constant.str"() <{value = "bqhd,bkhd->bhqk"}> : () -> !torch.str
    %1 = "torch.prim.ListConstruct"(%arg0, %arg1) : (!torch.vtensor<[2,48,4,16],f16>, !torch.vtensor<[2,48,4,16],f16>) -> !torch.list<vtensor>
    %2 = "torch.constant.none"() : () -> !torch.none
    %3 = "torch.aten.einsum"(%0, %1, %2) : (!torch.str, !torch.list<vtensor>, !torch.none) -> !torch.vtensor<[2,4,48,48],f16>
    %4 = "torch.constant.float"() <{value = 2.500000e-01 : f64}> : () -> !torch.float
    %5 = "torch.aten.mul.Scalar"(%3, %4) : (!torch.vtensor<[2,4,48,48],f16>, !torch.float) -> !torch.vtensor<[2,4,48,48],f16>
    %6 = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
    %7 = "torch.constant.none"() : () -> !torch.none
    %8 = "torch.aten.softmax.int"(%5, %6, %7) : (!torch.vtensor<[2,4,48,48],f16>, !torch.int, !torch.none) -> !torch.vtensor<[2,4,48,48],f16>
    %9 = "torch.constant.str"() <{value = "bhqk,bkhd->bqhd"}> : () -> !torch.str
    %10 = "torch.prim.ListConstruct"(%8, %arg2) : (!torch.vtensor<[2,4,48,48],f16>, !torch.vtensor<[2,48,4,16],f16>) -> !torch.list<vtensor>
    %11 = "torch.constant.none"() : () -> !torch.none
    %12 = "torch.aten.einsum"(%9, %10, %11) : (!torch.str, !torch.list<vtensor>, !torch.none) -> !torch.vtensor<[2,48,4,16],f16>
    "func.return"(%12) : (!torch.vtensor<[2,48,4,16],f16>) -> ()
  }) : () -> ()
}) : () -> ()
