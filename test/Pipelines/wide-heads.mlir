// Head dims above 256: 64 rows of a tile, columns of the output in two groups.

// DEFINE: %{d} = 512
// DEFINE: %{dv} = 512
// DEFINE: %{mods} = [#attention.causal]
// DEFINE: %{make} = sed -e 's/xDIMx/x%{d}x/g' -e 's/xVALUESx/x%{dv}x/g' -e 's/MODS/%{mods}/' %s
// DEFINE: %{check} = fa3-run --check-each-pass %t.mlir --dims b=1,h=2,hk=1
// DEFINE: %{assemble} = fa3-translate %t.mlir '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)' --mlir-to-cubin --ptxas-strict -o %t.cubin

// RUN: %{make} > %t.mlir && %{check},sq=70,sk=130 | FileCheck %s
// RUN: %if ptxas %{ %{assemble} %}
// RUN: fa3-opt %t.mlir --fa3-tile --fa3-specialize | FileCheck %s --check-prefix=GROUPS
// REDEFINE: %{d} = 320
// REDEFINE: %{dv} = 320
// REDEFINE: %{mods} = []
// RUN: %{make} > %t.mlir && %{check},sq=66,sk=65 | FileCheck %s
// RUN: fa3-opt %t.mlir --fa3-tile --fa3-specialize | FileCheck %s --check-prefix=ONE
// RUN: %if ptxas %{ %{assemble} %}
// Code in integers needs registers beside so wide a sum.
// REDEFINE: %{mods} = [#attention.chunk<96>]
// RUN: %{make} > %t.mlir && %{check},sq=66,sk=65 | FileCheck %s
// RUN: fa3-opt %t.mlir --fa3-tile --fa3-specialize | FileCheck %s --check-prefix=GROUPS
// RUN: %if ptxas %{ %{assemble} %}
// REDEFINE: %{mods} = []
// Keys are wide, the output is not: one group.
// REDEFINE: %{d} = 576
// REDEFINE: %{dv} = 64
// RUN: %{make} > %t.mlir && %{check},sq=40,sk=70 | FileCheck %s
// CHECK: same answer after

// Keys are awaited in pieces of columns; weights, which a product of the other
// group reads, are handed over with the factors that it scales its sum by, in front.
// GROUPS: warp.group @math warps 4
// GROUPS: tile.dot.async {{.*}} lhs mk rhs nk
// GROUPS: tile.dot.async {{.*}} lhs mk rhs nk
// GROUPS: warp.acquire {{.*}}, [tensor<64xf32>]>, <write>
// GROUPS: tile.write
// GROUPS-NEXT: warp.publish {{.*}}, [tensor<64x64xbf16>]>
// GROUPS-NEXT: warp.publish {{.*}}, [tensor<64xf32>]>
// GROUPS: warp.group @math1 warps 4
// ONE-NOT: warp.group @math1

!q = tensor<?x?x?xDIMxbf16>
!o = tensor<?x?x?xVALUESxbf16>
func.func @wide(%q: !q {tile.name = "q"}, %k: !q {tile.name = "k"}, %v: !o {tile.name = "v"}) -> (!o {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods MODS : (!q, !q, !o) -> (!o, tensor<?x?x?xf32>)
  return %o, %lse : !o, tensor<?x?x?xf32>
}
