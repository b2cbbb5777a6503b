// Gradients in the split form after the passes on tiles, and by the instructions of the kernels,
// compared with the formula in f64.

// DEFINE: %{dims} =
// DEFINE: %{tiles} = fa3-run --cpu --pass-pipeline='builtin.module(fa3-tile{backward-form=split})' --dims %{dims}
// DEFINE: %{hopper} = fa3-run --cpu --require-fences --pass-pipeline='builtin.module(fa3-tile{backward-form=split},fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' --dims %{dims}

// RUN: split-file %s %t
// REDEFINE: %{dims} = b=1,sq=70,sk=150
// RUN: %{tiles} %t/causal.mlir | FileCheck %s
// RUN: %{hopper} %t/causal.mlir | FileCheck %s

// More queries than keys: some see none, and their gradients are 0.
// REDEFINE: %{dims} = b=1,sq=150,sk=20
// RUN: %{tiles} %t/causal.mlir | FileCheck %s
// RUN: %{hopper} %t/causal.mlir | FileCheck %s

// No keys at all, no queries at all.
// REDEFINE: %{dims} = b=1,sq=5,sk=0
// RUN: %{hopper} %t/causal.mlir | FileCheck %s --check-prefix=EMPTY
// REDEFINE: %{dims} = b=1,sq=0,sk=5
// RUN: %{hopper} %t/causal.mlir | FileCheck %s --check-prefix=EMPTY

// REDEFINE: %{dims} = b=2,h=2,hk=1,sq=40,sk=70
// RUN: %{tiles} %t/softcap.mlir | FileCheck %s
// RUN: %{hopper} %t/softcap.mlir | FileCheck %s

// REDEFINE: %{dims} = b=1,sq=70,sk=72
// RUN: %{tiles} %t/bias.mlir | FileCheck %s
// RUN: %{hopper} %t/bias.mlir | FileCheck %s

// REDEFINE: %{dims} = b=1,sq=24,sk=40
// RUN: %{tiles} %t/rules.mlir | FileCheck %s

// Tables, indices outside of them, divisions.
// RUN: %python %S/../Inputs/table.py %t.documents.npy '<i4' 1,130 'j // 37'
// RUN: %python %S/../Inputs/table.py %t.steps.npy '<i4' 2 '5 - 9 * i'
// REDEFINE: %{dims} = b=1,sq=130,sk=130 --input documents=%t.documents.npy --input steps=%t.steps.npy
// RUN: %{tiles} %t/tables.mlir | FileCheck %s
// RUN: %{hopper} %t/tables.mlir | FileCheck %s

// CHECK: dq: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// CHECK: dk: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// CHECK: dv: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}

// EMPTY: dq: max error 0, bound 0,
// EMPTY: dk: max error 0, bound 0,
// EMPTY: dv: max error 0, bound 0,

//--- causal.mlir
// Groups of two heads.
func.func @causal(%q: tensor<?x4x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %o: tensor<?x4x?x64xf16>, %lse: tensor<?x4x?xf32>, %do: tensor<?x4x?x64xf16>)
    -> (tensor<?x4x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do mods [#attention.causal]
    : (tensor<?x4x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x4x?x64xf16>, tensor<?x4x?xf32>, tensor<?x4x?x64xf16>)
    -> (tensor<?x4x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>)
  return %dq, %dk, %dv : tensor<?x4x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>
}

//--- softcap.mlir
// Unequal head dims, the other layout, a gradient of lse, heads that nobody
// knows before the run.
func.func @softcap(%q: tensor<?x?x?x40xbf16>, %k: tensor<?x?x?x40xbf16>, %v: tensor<?x?x?x72xbf16>, %o: tensor<?x?x?x72xbf16>, %lse: tensor<?x?x?xf32>, %do: tensor<?x?x?x72xbf16>, %dlse: tensor<?x?x?xf32>)
    -> (tensor<?x?x?x40xbf16>, tensor<?x?x?x40xbf16>, tensor<?x?x?x72xbf16>) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do dlse %dlse layout bshd mods [#attention.softcap<2.0>, #attention.window<left = 30, right = 4>]
    : (tensor<?x?x?x40xbf16>, tensor<?x?x?x40xbf16>, tensor<?x?x?x72xbf16>, tensor<?x?x?x72xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x72xbf16>, tensor<?x?x?xf32>)
    -> (tensor<?x?x?x40xbf16>, tensor<?x?x?x40xbf16>, tensor<?x?x?x72xbf16>)
  return %dq, %dk, %dv : tensor<?x?x?x40xbf16>, tensor<?x?x?x40xbf16>, tensor<?x?x?x72xbf16>
}

//--- bias.mlir
func.func @bias(%q: tensor<?x2x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %o: tensor<?x2x?x64xf16>, %lse: tensor<?x2x?xf32>, %do: tensor<?x2x?x64xf16>, %bias: tensor<1x2x?x?xf16>)
    -> (tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do aux(%bias : tensor<1x2x?x?xf16>) mods [#attention.bias<aux = 0>]
    : (tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?xf32>, tensor<?x2x?x64xf16>)
    -> (tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>)
  return %dq, %dk, %dv : tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>
}

//--- tables.mlir
!x = tensor<?x2x?x64xf16>
func.func @tables(%q: !x, %k: !x, %v: !x, %o: !x, %lse: tensor<?x2x?xf32>, %do: !x, %documents: tensor<1x?xi32> {tile.name = "documents"},
                  %steps: tensor<2xi32> {tile.name = "steps"}, %few: tensor<4x130xf32> {tile.name = "few"}) -> (!x, !x, !x) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do aux(%documents, %steps, %few : tensor<1x?xi32>, tensor<2xi32>, tensor<4x130xf32>)
      mods [#attention.document<aux = 0>, #attention.causal<align = top_left>]
    : (!x, !x, !x, !x, tensor<?x2x?xf32>, !x) -> (!x, !x, !x)
    score_mod (%s, %b, %h, %i, %j) {
      %n = tensor.extract %steps[%h] : tensor<2xi32>
      %at = arith.index_cast %n : i32 to index
      %x = tensor.extract %few[%at, %j] : tensor<4x130xf32>
      %rest = arith.remsi %j, %h : index
      %rest32 = arith.index_cast %rest : index to i32
      %restf = arith.sitofp %rest32 : i32 to f32
      %y = arith.addf %s, %x : f32
      %z = arith.addf %y, %restf : f32
      attention.yield %z : f32
    }
  return %dq, %dk, %dv : !x, !x, !x
}

//--- rules.mlir
// Every operation whose derivative is known, against differences of the score.
func.func @rules(%q: tensor<?x1x?x32xf16>, %k: tensor<?x1x?x32xf16>, %v: tensor<?x1x?x32xf16>, %o: tensor<?x1x?x32xf16>, %lse: tensor<?x1x?xf32>, %do: tensor<?x1x?x32xf16>)
    -> (tensor<?x1x?x32xf16>, tensor<?x1x?x32xf16>, tensor<?x1x?x32xf16>) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<?x1x?x32xf16>, tensor<?x1x?x32xf16>, tensor<?x1x?x32xf16>, tensor<?x1x?x32xf16>, tensor<?x1x?xf32>, tensor<?x1x?x32xf16>)
    -> (tensor<?x1x?x32xf16>, tensor<?x1x?x32xf16>, tensor<?x1x?x32xf16>)
    score_mod (%s, %b, %h, %i, %j) {
      %c03 = arith.constant 0.3 : f32
      %one = arith.constant 1.0 : f32
      %p = arith.constant 1.5 : f32
      %zero = arith.constant 0.0 : f32
      %square = arith.mulf %s, %s : f32
      %positive = arith.addf %square, %one : f32
      %small = arith.mulf %s, %c03 : f32
      %exp = math.exp %small : f32
      %exp2 = math.exp2 %small : f32
      %expm1 = math.expm1 %small : f32
      %log = math.log %positive : f32
      %log2 = math.log2 %positive : f32
      %log1p = math.log1p %square : f32
      %sin = math.sin %s : f32
      %cos = math.cos %s : f32
      %tanh = math.tanh %s : f32
      %erf = math.erf %s : f32
      %sqrt = math.sqrt %positive : f32
      %rsqrt = math.rsqrt %positive : f32
      %pow = math.powf %positive, %p : f32
      %abs = math.absf %s : f32
      %max = arith.maximumf %s, %c03 : f32
      %maxnum = arith.maxnumf %small, %sin : f32
      %min = arith.minimumf %s, %c03 : f32
      %minnum = arith.minnumf %small, %sin : f32
      %ratio = arith.divf %sin, %positive : f32
      %minus = arith.negf %cos : f32
      %fma = math.fma %sin, %tanh, %cos : f32
      %isPositive = arith.cmpf ogt, %s, %zero : f32
      %select = arith.select %isPositive, %small, %sin : f32
      %short = arith.truncf %sin : f32 to bf16
      %long = arith.extf %short : bf16 to f32
      %0 = arith.addf %exp, %exp2 : f32
      %1 = arith.addf %0, %expm1 : f32
      %2 = arith.addf %1, %log : f32
      %3 = arith.addf %2, %log2 : f32
      %4 = arith.addf %3, %log1p : f32
      %5 = arith.subf %4, %sin : f32
      %6 = arith.addf %5, %minus : f32
      %7 = arith.addf %6, %tanh : f32
      %8 = arith.addf %7, %erf : f32
      %9 = arith.addf %8, %sqrt : f32
      %10 = arith.addf %9, %rsqrt : f32
      %11 = arith.addf %10, %pow : f32
      %12 = arith.addf %11, %abs : f32
      %13 = arith.addf %12, %max : f32
      %14 = arith.addf %13, %maxnum : f32
      %15 = arith.addf %14, %min : f32
      %16 = arith.addf %15, %minnum : f32
      %17 = arith.addf %16, %ratio : f32
      %18 = arith.addf %17, %fma : f32
      %19 = arith.addf %18, %select : f32
      %20 = arith.addf %19, %long : f32
      %c01 = arith.constant 0.1 : f32
      %y = arith.mulf %20, %c01 : f32
      attention.yield %y : f32
    }
  return %dq, %dk, %dv : tensor<?x1x?x32xf16>, tensor<?x1x?x32xf16>, tensor<?x1x?x32xf16>
}
