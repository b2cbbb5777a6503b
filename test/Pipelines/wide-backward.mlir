// Gradients of head dims above 256: kernels of dv, dk and dq, whose tiles have 64
// rows and whose sums of more than 256 columns are in two groups.

// DEFINE: %{d} = 512
// DEFINE: %{dv} = 512
// DEFINE: %{mods} = [#attention.causal]
// DEFINE: %{make} = sed -e 's/xDIMx/x%{d}x/g' -e 's/xVALUESx/x%{dv}x/g' -e 's/MODS/%{mods}/' %s
// DEFINE: %{check} = fa3-run --check-each-pass %t.mlir --dims b=1,h=2,hk=1
// DEFINE: %{assemble} = fa3-translate %t.mlir '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)' --mlir-to-cubin --ptxas-strict -o %t.cubin

// RUN: %{make} > %t.mlir && %{check},sq=70,sk=100 | FileCheck %s
// RUN: fa3-run --cpu %t.mlir --dims b=1,h=2,hk=1,sq=70,sk=100 | FileCheck %s --check-prefix=RIGHT
// RUN: %if ptxas %{ %{assemble} %}
// RUN: fa3-opt %t.mlir --fa3-tile --fa3-specialize | FileCheck %s --check-prefix=GROUPS
// RUN: fa3-opt %t.mlir --fa3-tile --fa3-specialize --fa3-pipeline | FileCheck %s --check-prefix=ORDER
// REDEFINE: %{d} = 320
// REDEFINE: %{dv} = 320
// REDEFINE: %{mods} = [#attention.window<left = 20, right = 30>, #attention.softcap<5.0>]
// RUN: %{make} > %t.mlir && %{check},sq=66,sk=65 | FileCheck %s
// RUN: fa3-run --cpu %t.mlir --dims b=1,h=2,hk=1,sq=70,sk=100 | FileCheck %s --check-prefix=RIGHT
// RUN: %if ptxas %{ %{assemble} %}
// REDEFINE: %{d} = 576
// REDEFINE: %{dv} = 512
// REDEFINE: %{mods} = []
// RUN: %{make} > %t.mlir && %{check},sq=40,sk=70 | FileCheck %s
// RUN: fa3-run --cpu %t.mlir --dims b=1,h=2,hk=1,sq=70,sk=100 | FileCheck %s --check-prefix=RIGHT
// RUN: %if ptxas %{ %{assemble} %}
// Values are wide, keys are not: dk and dq in one group.
// REDEFINE: %{d} = 64
// RUN: %{make} > %t.mlir && %{check},sq=40,sk=70 | FileCheck %s
// RUN: fa3-run --cpu %t.mlir --dims b=1,h=2,hk=1,sq=70,sk=100 | FileCheck %s --check-prefix=RIGHT
// RUN: %if ptxas %{ %{assemble} %}
// Packed: numbers of sequences leave no registers to read statistics early, and the
// group that computes scores waits for them between asking for the slot that it
// hands over and writing it.
// RUN: fa3-run --check-each-pass %S/../Inputs/wide-varlen.mlir --dims tq=40,tk=50,b1=3 --lengths=cu_q=1,39 --lengths=cu_k=30,20 | FileCheck %s
// RUN: fa3-run --cpu %S/../Inputs/wide-varlen.mlir --dims tq=80,tk=130,b1=4 --lengths=cu_q=1,0,70 --lengths=cu_k=65,3,60 | FileCheck %s --check-prefix=RIGHT
// RUN: %if ptxas %{ fa3-translate %S/../Inputs/wide-varlen.mlir '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)' --mlir-to-cubin --ptxas-strict -o %t.cubin %}
// CHECK: same answer after
// RIGHT: dq: max error
// RIGHT: dk: max error
// RIGHT: dv: max error

// GROUPS-LABEL: gpu.func @wide_dv(
// GROUPS: warp.group @math warps 4
// GROUPS: tile.dot.async {{.*}} lhs mk rhs nk {{.*}} -> <tensor<64x64xf32>>
// GROUPS: tile.dot.async {{.*}} lhs mk rhs kn {{.*}} -> <tensor<64x256xf32>>
// GROUPS: warp.group @math1 warps 4
// GROUPS: tile.dot.async {{.*}} lhs mk rhs kn {{.*}} -> <tensor<64x256xf32>>
// Rows of queries come by columns of dk: both groups read the second half.
// GROUPS-LABEL: gpu.func @wide_dk(
// GROUPS: %[[R:.*]] = warp.ring : <1, [tensor<32x256xbf16>]>
// GROUPS: warp.group @math warps 4
// GROUPS: warp.acquire %[[R]]
// GROUPS: tile.dot.async {{.*}} -> <tensor<64x32xf32>>
// GROUPS: warp.group @math1 warps 4
// GROUPS: warp.acquire %[[R]]
// GROUPS: tile.dot.async {{.*}} lhs mk rhs kn {{.*}} -> <tensor<64x256xf32>>
// GROUPS-LABEL: gpu.func @wide_dq(
// GROUPS: warp.group @math1 warps 4
// GROUPS: tile.dot.async {{.*}} lhs mk rhs kn {{.*}} -> <tensor<64x256xf32>>

// Rows of queries are read by the last product of a step and arrive last: the
// product of those of do, which are on their way since they were read, is in front
// of that with them, and copies are in this order, too.
// ORDER-LABEL: gpu.func @wide_dk(
// ORDER: warp.group @load
// ORDER: scf.for
// ORDER-COUNT-4: -> <tensor<32x128xbf16>>
// ORDER-COUNT-2: -> <tensor<32xf32
// ORDER-COUNT-2: -> <tensor<32x256xbf16>>
// ORDER: warp.group @math warps 4
// ORDER-COUNT-4: tile.dot.async {{.*}}, !tile.view<tensor<32x128xbf16>>, {{.*}} -> <tensor<64x32xf32>>
// ORDER-COUNT-2: tile.dot.async {{.*}}, !tile.view<tensor<32x256xbf16>>, {{.*}} -> <tensor<64x32xf32>>
// ORDER: tile.dot.async {{.*}} -> <tensor<64x256xf32>>
// ORDER-LABEL: gpu.func @wide_dq(
// ORDER: warp.group @load
// ORDER: scf.for
// ORDER-COUNT-4: -> <tensor<32x128xbf16>>
// ORDER-COUNT-2: -> <tensor<32x256xbf16>>
// ORDER: warp.group @math warps 4
// ORDER-COUNT-4: tile.dot.async {{.*}}, !tile.view<tensor<32x128xbf16>>, {{.*}} -> <tensor<64x32xf32>>
// ORDER-COUNT-2: tile.dot.async {{.*}}, !tile.view<tensor<32x256xbf16>>, {{.*}} -> <tensor<64x32xf32>>

!q = tensor<?x?x?xDIMxbf16>
!o = tensor<?x?x?xVALUESxbf16>
func.func @wide(%q: !q {tile.name = "q"}, %k: !q {tile.name = "k"}, %v: !o {tile.name = "v"}, %o: !o {tile.name = "o"}, %lse: tensor<?x?x?xf32> {tile.name = "lse"}, %do: !o {tile.name = "do"}) -> (!q {tile.name = "dq"}, !q {tile.name = "dk"}, !o {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do mods MODS
    : (!q, !q, !o, !o, tensor<?x?x?xf32>, !o) -> (!q, !q, !o)
  return %dq, %dk, %dv : !q, !q, !o
}
