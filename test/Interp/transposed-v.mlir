// 8-bit attention with v given transposed: no role converts, keys of a block
// come in another order, masks and what varies with the key follow.
// RUN: fa3-run --check-each-pass %s --function causal --dims b=1,h=2,hk=1,sq=100,sk=208 | FileCheck %s
// RUN: fa3-run --check-each-pass="mode=static" %s --function blocks --dims b=1,h=2,hk=1,sq=70,sk=272,q_scale.0=1,q_scale.1=2,k_scale.0=1,k_scale.1=1,q_scale.2=70,k_scale.2=272 --sms 2 | FileCheck %s
// RUN: fa3-run --check-each-pass %s --function half --dims b=1,h=2,hk=1,sq=70,sk=136 | FileCheck %s
// CHECK: same answer after

// RUN: fa3-opt %s -fa3-tile -fa3-specialize | FileCheck %s --check-prefix=GROUPS
// GROUPS-LABEL: gpu.func @causal
// GROUPS: tile.load.async %{{.*}} rows [0, 2, 3, 1]
// GROUPS-NOT: warp.group @convert
// GROUPS: warp.group @math

!q = tensor<?x?x?x64xf8E4M3FN>
!v = tensor<?x?x64x?xf8E4M3FN>
!o = tensor<?x?x?x64xf16>
!s = tensor<1x1x1xf32>
!t = tensor<?x?x?xf32>
func.func @causal(%q: !q {tile.name = "q"}, %k: !q {tile.name = "k"}, %v: !v {tile.name = "v"},
                  %qs: !s, %ks: !s, %vs: !s) -> !o {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) transposed_v
    mods [#attention.causal] : (!q, !q, !v) -> !o
  return %o : !o
}

// A scale for every key, and one for every query.
func.func @blocks(%q: !q {tile.name = "q"}, %k: !q {tile.name = "k"}, %v: !v {tile.name = "v"},
                  %qs: !t, %ks: !t, %vs: !s) -> !o {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !t, !t, !s) rows [1, 1, 0] transposed_v
    : (!q, !q, !v) -> !o
  return %o : !o
}

// 16 bits: both orders are read from shared memory.
!h = tensor<?x?x?x64xf16>
!w = tensor<?x?x64x?xf16>
func.func @half(%q: !h {tile.name = "q"}, %k: !h {tile.name = "k"}, %v: !w {tile.name = "v"}) -> !h {
  %o = attention.forward %q, %k, %v transposed_v : (!h, !h, !w) -> !h
  return %o : !h
}
