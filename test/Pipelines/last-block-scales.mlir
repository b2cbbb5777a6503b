// A narrow block in front of an unknown number of keys, with 8 bits: scales of
// blocks of keys and of tokens; v as (batch, head, element, key), whose narrow
// tile has a ring of its own.

// DEFINE: %{check} = fa3-run --cpu --check-each-pass="tuning-table=none last-block=narrow block-n=96" %s --sms=2

// RUN: %{check} --function=scales --dims sq=130,sk=220,k_scale.2=2,v_scale.2=2 | FileCheck %s
// RUN: %{check} --function=scales --dims sq=130,sk=250,k_scale.2=2,v_scale.2=2 | FileCheck %s
// RUN: %{check} --function=tokens --dims sq=130,sk=220,k_scale.2=220 | FileCheck %s
// RUN: %{check} --function=tokens --dims sq=130,sk=250,k_scale.2=250 | FileCheck %s
// RUN: %{check} --function=transposed --dims sq=130,sk=208 | FileCheck %s
// RUN: %{check} --function=transposed --dims sq=130,sk=240 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

!q8 = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x1x1xf32>
!b = tensor<1x1x?xf32>
!o = tensor<1x2x?x64xf16>
func.func @scales(%q: !q8 {tile.name = "q", tile.dims = ["b", "h", "sq", "d"]},
                  %k: !q8 {tile.name = "k", tile.dims = ["b", "hk", "sk", "d"]}, %v: !q8 {tile.name = "v"},
                  %qs: !s {tile.name = "q_scale"}, %ks: !b {tile.name = "k_scale"}, %vs: !b {tile.name = "v_scale"})
    -> !o {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !b, !b) rows [0, 192, 192] : (!q8, !q8, !q8) -> !o
  return %o : !o
}
func.func @tokens(%q: !q8 {tile.name = "q", tile.dims = ["b", "h", "sq", "d"]},
                  %k: !q8 {tile.name = "k", tile.dims = ["b", "hk", "sk", "d"]}, %v: !q8 {tile.name = "v"},
                  %qs: !s {tile.name = "q_scale"}, %ks: !b {tile.name = "k_scale"}, %vs: !s {tile.name = "v_scale"})
    -> !o {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !b, !s) rows [0, 1, 0] : (!q8, !q8, !q8) -> !o
  return %o : !o
}
func.func @transposed(%q: !q8 {tile.name = "q", tile.dims = ["b", "h", "sq", "d"]},
                      %k: !q8 {tile.name = "k", tile.dims = ["b", "hk", "sk", "d"]}, %v: tensor<1x2x64x?xf8E4M3FN> {tile.name = "v"},
                      %qs: !s {tile.name = "q_scale"}, %ks: !s {tile.name = "k_scale"}, %vs: !s {tile.name = "v_scale"})
    -> !o {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) transposed_v : (!q8, !q8, tensor<1x2x64x?xf8E4M3FN>) -> !o
  return %o : !o
}
