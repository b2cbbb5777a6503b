// Gradients of sequences with lengths of their own: the same answer after every pass, right by
// definition, and no row of dq, dk or dv that is none of a sequence is written. Rows of o and lse
// that the forward does not write are no numbers.

// RUN: split-file %s %t
// DEFINE: %{packed} = fa3-run --cpu %t/packed.mlir --lengths=cu_q=0,1,63,64,65,127 --lengths=cu_k=64,129,1,0,128,65 --dims tq=330,tk=400,b1=7
// RUN: %{packed} --check-each-pass='backward-form=split' | FileCheck %s
// RUN: %{packed} --check-each-pass='backward-form=fused' --schedule-seed 3 | FileCheck %s
// RUN: %{packed} | FileCheck %s --check-prefix=RIGHT

// DEFINE: %{padded} = fa3-run --cpu %t/padded.mlir --dims b=4,sq=131,sk=150
// RUN: %{padded} --lengths=used_q=0,65,131,40 --lengths=used_k=64,129,1,0 --check-each-pass='backward-form=split' --completion random | FileCheck %s
// RUN: %{padded} --lengths=used_q=0,65,131,40 --lengths=used_k=64,129,1,0 | FileCheck %s --check-prefix=RIGHT
// All empty; lengths that are none.
// RUN: %{padded} --fill used_q=0 --fill used_k=0 | FileCheck %s --check-prefix=RIGHT
// RUN: %{padded} --lengths=used_q=-1,500,2000000000,131 --lengths=used_k=500,-1,70,2000000000 | FileCheck %s --check-prefix=RIGHT

// Keys from some row on, and queries one behind the other beside padded keys.
// DEFINE: %{mixed} = fa3-run --cpu %t/mixed.mlir --dims b1=4,b=3,tq=200,p0=3,tk=150 --lengths=cu_q=100,0,99 --lengths=used_k=130,150,9 --lengths=pad=13,0,9
// RUN: %{mixed} --check-each-pass='backward-form=split' | FileCheck %s
// RUN: %{mixed} | FileCheck %s --check-prefix=RIGHT

// Of each packed sequence some rows count, and the first max_q queries.
// DEFINE: %{most} = fa3-run --cpu %t/most.mlir --dims tq=200,tk=210,b1=5,b=4 --lengths=cu_q=1,0,70,129 --lengths=cu_k=65,3,60,82 --lengths=used_q=1,4,60,100 --lengths=used_k=60,10,60,80
// RUN: %{most} --scalar max_q=90 | FileCheck %s --check-prefix=RIGHT
// RUN: %{most} --scalar max_q=1 --pass-pipeline='builtin.module(fa3-tile{backward-form=split},fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' --require-fences | FileCheck %s --check-prefix=RIGHT
// RUN: %{most} --scalar max_q=0 | FileCheck %s --check-prefix=RIGHT

// CHECK: same answer after {{[0-9]+}} passes
// RIGHT: dq: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// RIGHT: dk: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// RIGHT: dv: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}

//--- packed.mlir
func.func @packed(%q: tensor<?x2x64xbf16>, %k: tensor<?x1x64xbf16>, %v: tensor<?x1x64xbf16>, %o: tensor<?x2x64xbf16>, %lse: tensor<2x?xf32>, %do: tensor<?x2x64xbf16>,
                  %cuq: tensor<?xi32> {tile.name = "cu_q"}, %cuk: tensor<?xi32> {tile.name = "cu_k"})
    -> (tensor<?x2x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do aux(%cuq, %cuk : tensor<?xi32>, tensor<?xi32>) layout bshd
      mods [#attention.packed<q = 0, k = 1>, #attention.causal]
    : (tensor<?x2x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>, tensor<?x2x64xbf16>, tensor<2x?xf32>, tensor<?x2x64xbf16>)
    -> (tensor<?x2x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>)
  return %dq, %dk, %dv : tensor<?x2x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>
}

//--- padded.mlir
func.func @padded(%q: tensor<?x2x?x64xf16>, %k: tensor<?x1x?x64xf16>, %v: tensor<?x1x?x64xf16>, %o: tensor<?x2x?x64xf16>, %lse: tensor<?x2x?xf32>, %do: tensor<?x2x?x64xf16>,
                  %usedq: tensor<?xi32> {tile.name = "used_q"}, %usedk: tensor<?xi32> {tile.name = "used_k"})
    -> (tensor<?x2x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do aux(%usedq, %usedk : tensor<?xi32>, tensor<?xi32>)
      mods [#attention.used<q = 0, k = 1>, #attention.window<left = 70, right = 10>]
    : (tensor<?x2x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?xf32>, tensor<?x2x?x64xf16>)
    -> (tensor<?x2x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>)
  return %dq, %dk, %dv : tensor<?x2x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>
}

//--- mixed.mlir
func.func @mixed(%q: tensor<2x?x64xbf16>, %k: tensor<?x1x?x64xbf16>, %v: tensor<?x1x?x64xbf16>, %o: tensor<2x?x64xbf16>, %lse: tensor<2x?xf32>, %do: tensor<2x?x64xbf16>,
                 %cuq: tensor<?xi32> {tile.name = "cu_q"}, %usedk: tensor<?xi32> {tile.name = "used_k"}, %pad: tensor<?xi32> {tile.name = "pad"})
    -> (tensor<2x?x64xbf16>, tensor<?x1x?x64xbf16>, tensor<?x1x?x64xbf16>) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do aux(%cuq, %usedk, %pad : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>)
      mods [#attention.packed<q = 0>, #attention.used<k = 1>, #attention.leftpad<aux = 2>]
    : (tensor<2x?x64xbf16>, tensor<?x1x?x64xbf16>, tensor<?x1x?x64xbf16>, tensor<2x?x64xbf16>, tensor<2x?xf32>, tensor<2x?x64xbf16>)
    -> (tensor<2x?x64xbf16>, tensor<?x1x?x64xbf16>, tensor<?x1x?x64xbf16>)
  return %dq, %dk, %dv : tensor<2x?x64xbf16>, tensor<?x1x?x64xbf16>, tensor<?x1x?x64xbf16>
}

//--- most.mlir
func.func @most(%q: tensor<?x2x128xf16>, %k: tensor<?x1x128xf16>, %v: tensor<?x1x128xf16>, %o: tensor<?x2x128xf16>, %lse: tensor<2x?xf32>, %do: tensor<?x2x128xf16>, %dlse: tensor<2x?xf32>,
                %cuq: tensor<?xi32> {tile.name = "cu_q"}, %cuk: tensor<?xi32> {tile.name = "cu_k"},
                %usedq: tensor<?xi32> {tile.name = "used_q"}, %usedk: tensor<?xi32> {tile.name = "used_k"}, %max: i32 {tile.name = "max_q"})
    -> (tensor<?x2x128xf16>, tensor<?x1x128xf16>, tensor<?x1x128xf16>) {
  %most = arith.index_cast %max : i32 to index
  %sequences = attention.sequences max_q %most
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do dlse %dlse
      aux(%cuq, %cuk, %usedq, %usedk : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) sequences %sequences layout bshd
      mods [#attention.packed<q = 0, k = 1>, #attention.used<q = 2, k = 3>, #attention.softcap<30.0>]
    : (tensor<?x2x128xf16>, tensor<?x1x128xf16>, tensor<?x1x128xf16>, tensor<?x2x128xf16>, tensor<2x?xf32>, tensor<?x2x128xf16>, tensor<2x?xf32>)
    -> (tensor<?x2x128xf16>, tensor<?x1x128xf16>, tensor<?x1x128xf16>)
  return %dq, %dk, %dv : tensor<?x2x128xf16>, tensor<?x1x128xf16>, tensor<?x1x128xf16>
}
