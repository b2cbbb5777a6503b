// Scores with a part of values (multi-head latent attention): the values are
// loaded once for both of their products.

// DEFINE: %{check} = fa3-run --cpu %s --check-each-pass

// RUN: %{check} --function=dense --dims b=1,sq=70,sk=130 | FileCheck %s
// RUN: %{check} --function=dense --dims b=2,sq=3,sk=0 | FileCheck %s
// RUN: %{check}='rescale=eager max-depth=1' --function=dense --dims b=1,sq=5,sk=65 --completion random --schedule-seed 3 | FileCheck %s
// RUN: %{check} --function=paged --dims b=3,sq=2,p0=9,pages_of_sequence=3 --lengths=used_k=150,0,64 --pages=page_table=random --scalar splits=2 | FileCheck %s
// RUN: %{check} --function=packed --dims tq=80,tk=130,b1=4 --lengths=cu_q=1,0,70 --lengths=cu_k=65,3,60 --scalar max_q=70 | FileCheck %s
// RUN: %{check} --function=tokens --dims b=2,p0=40,pages_of_sequence=70 --lengths=used_k=70,9 --pages=page_table=random | FileCheck %s
// RUN: %{check} --function=narrow --dims b=1,h=4,hk=2,sq=130,sk=200 | FileCheck %s
// CHECK: same answer after

// RUN: fa3-opt %s --fa3-tile --fa3-specialize --fa3-pipeline | FileCheck %s --check-prefix=RINGS
// The vector and the weights that are handed over, values in two pieces and keys,
// each with two entries, and queries. Both groups read the right piece.
// RINGS-LABEL: gpu.func @paged(
// RINGS: warp.ring : <1, [tensor<64xf32>]>
// RINGS-NEXT: warp.ring : <1, [tensor<64x64xbf16>]>
// RINGS-NEXT: %[[R:.*]] = warp.ring : <2, [tensor<64x256xbf16>]>
// RINGS-NEXT: %[[L:.*]] = warp.ring : <2, [tensor<64x256xbf16>]>
// RINGS-NEXT: %[[K:.*]] = warp.ring : <2, [tensor<64x64xbf16>]>
// RINGS-NEXT: warp.ring : <1, [tensor<64x256xbf16>]>
// RINGS-NEXT: warp.ring : <1, [tensor<64x256xbf16>]>
// RINGS-NEXT: warp.ring : <1, [tensor<64x64xbf16>]>
// RINGS: warp.group @math warps 4
// RINGS: scf.for
// RINGS: warp.acquire %[[K]]
// RINGS: tile.dot.async {{.*}} rhs nk
// RINGS: warp.acquire %[[L]]
// RINGS: tile.dot.async {{.*}} rhs nk
// RINGS: warp.acquire %[[R]]
// RINGS: tile.dot.async {{.*}} rhs nk
// RINGS: tile.await
// RINGS: tile.dot.async {{.*}} rhs kn
// RINGS: warp.group @math1 warps 4
// RINGS-NOT: rhs nk
// RINGS: warp.acquire %[[R]]
// RINGS: tile.dot.async {{.*}} rhs kn

// DEFINE: %{name} = dense
// DEFINE: %{alone} = sed -n -e '/^!/p' -e '/^func.func @%{name}(/,/^}/p' %s > %t.mlir
// DEFINE: %{assemble} = fa3-translate %t.mlir '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)' --mlir-to-cubin --ptxas-strict -o %t.cubin
// RUN: %if ptxas %{ %{alone} && %{assemble} %}
// REDEFINE: %{name} = paged
// RUN: %if ptxas %{ %{alone} && %{assemble} %}
// REDEFINE: %{name} = packed
// RUN: %if ptxas %{ %{alone} && %{assemble} %}
// REDEFINE: %{name} = tokens
// RUN: %if ptxas %{ %{alone} && %{assemble} %}
// REDEFINE: %{name} = narrow
// RUN: %if ptxas %{ %{alone} && %{assemble} %}

// Extents that differ are found by the launch.
// RUN: fa3-opt %s --fa3-tile | FileCheck %s --check-prefix=EXTENTS
// EXTENTS-LABEL: func.func @dense
// EXTENTS: cf.assert %{{.*}}, "q and qv differ in length"

!q = tensor<?x4x?x64xbf16>
!k = tensor<?x1x?x64xbf16>
!v = tensor<?x1x?x512xbf16>
!o = tensor<?x4x?x512xbf16>
func.func @dense(%q: !q {tile.name = "q"}, %k: !k {tile.name = "k"}, %v: !v {tile.name = "v"}, %qv: !o {tile.name = "qv"}) -> (!o {tile.name = "o"}, tensor<?x4x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v qv(%qv : !o) mods [#attention.causal] : (!q, !k, !v) -> (!o, tensor<?x4x?xf32>)
  return %o, %lse : !o, tensor<?x4x?xf32>
}

!q16 = tensor<?x?x16x64xbf16>
!o16 = tensor<?x?x16x512xbf16>
!pages = tensor<?x64x1x64xbf16>
!latent = tensor<?x64x1x512xbf16>
func.func @paged(%q: !q16 {tile.name = "q"}, %qv: !o16 {tile.name = "qv"}, %k: !pages {tile.name = "k"}, %v: !latent {tile.name = "v"},
                 %table: tensor<?x?xi32> {tile.name = "page_table", tile.dims = ["b", "pages_of_sequence"]}, %used: tensor<?xi32> {tile.name = "used_k"},
                 %splits: i32 {tile.name = "splits"}) -> (!o16 {tile.name = "o"}, tensor<?x16x?xf32> {tile.name = "lse"}) {
  %n = arith.index_cast %splits : i32 to index
  %o, %lse = attention.forward %q, %k, %v qv(%qv : !o16) aux(%table, %used : tensor<?x?xi32>, tensor<?xi32>) splits %n layout bshd
      mods [#attention.used<k = 1>, #attention.paged<table = 0>, #attention.causal] : (!q16, !pages, !latent) -> (!o16, tensor<?x16x?xf32>)
  return %o, %lse : !o16, tensor<?x16x?xf32>
}

// Prompts, one behind the other.
!rows = tensor<?x2x64xbf16>
!outs = tensor<?x2x512xbf16>
func.func @packed(%q: !rows {tile.name = "q"}, %k: tensor<?x1x64xbf16> {tile.name = "k"}, %v: tensor<?x1x512xbf16> {tile.name = "v"}, %qv: !outs {tile.name = "qv"},
                  %cu_q: tensor<?xi32> {tile.name = "cu_q"}, %cu_k: tensor<?xi32> {tile.name = "cu_k"}, %max_q: i32 {tile.name = "max_q"})
    -> (!outs {tile.name = "o"}, tensor<2x?xf32> {tile.name = "lse"}) {
  %most = arith.index_cast %max_q : i32 to index
  %sequences = attention.sequences max_q %most
  %o, %lse = attention.forward %q, %k, %v qv(%qv : !outs) aux(%cu_q, %cu_k : tensor<?xi32>, tensor<?xi32>) sequences %sequences layout bshd
      mods [#attention.packed<q = 0, k = 1>, #attention.causal] : (!rows, tensor<?x1x64xbf16>, tensor<?x1x512xbf16>) -> (!outs, tensor<2x?xf32>)
  return %o, %lse : !outs, tensor<2x?xf32>
}

// Lists of tokens: pages of one row.
!one = tensor<?x1x4x64xbf16>
!out = tensor<?x1x4x512xbf16>
func.func @tokens(%q: !one {tile.name = "q"}, %qv: !out {tile.name = "qv"}, %k: tensor<?x1x1x64xbf16> {tile.name = "k"}, %v: tensor<?x1x1x512xbf16> {tile.name = "v"},
                  %table: tensor<?x?xi32> {tile.name = "page_table", tile.dims = ["b", "pages_of_sequence"]}, %used: tensor<?xi32> {tile.name = "used_k"})
    -> (!out {tile.name = "o"}, tensor<?x4x1xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v qv(%qv : !out) aux(%table, %used : tensor<?x?xi32>, tensor<?xi32>) layout bshd
      mods [#attention.used<k = 1>, #attention.paged<table = 0>] : (!one, tensor<?x1x1x64xbf16>, tensor<?x1x1x512xbf16>) -> (!out, tensor<?x4x1xf32>)
  return %o, %lse : !out, tensor<?x4x1xf32>
}

// Head dims whose output one group has.
!f = tensor<?x?x?x64xf16>
!w = tensor<?x?x?x128xf16>
func.func @narrow(%q: !f {tile.name = "q"}, %k: !f {tile.name = "k"}, %v: !w {tile.name = "v"}, %qv: !w {tile.name = "qv"}) -> (!w {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v qv(%qv : !w) mods [#attention.window<left = 40, right = 0>] : (!f, !f, !w) -> (!w, tensor<?x?x?xf32>)
  return %o, %lse : !w, tensor<?x?x?xf32>
}
