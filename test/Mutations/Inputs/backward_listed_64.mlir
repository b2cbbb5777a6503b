// Causal gradients by lists of blocks that are computed: block m of queries looks at
// block m of keys through the mask and sees those in front of it as a whole.
!q = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
func.func @backward_listed_64(%q: !q {tile.name = "q"}, %k: !q {tile.name = "k"}, %v: !q {tile.name = "v"}, %o: !q {tile.name = "o"},
                              %lse: !l {tile.name = "lse"}, %do: !q {tile.name = "do"}) -> (!q {tile.name = "dq"}, !q {tile.name = "dk"}, !q {tile.name = "dv"}) {
  %blocks = attention.blocks [128, 128]
    by_query (%b, %h, %m, %t) {
      %c1 = arith.constant 1 : index
      attention.yield %c1, %m, %m, %t : index, index, index, index
    }
    by_key (%b, %h, %n, %t) {
      %c1 = arith.constant 1 : index
      %c128 = arith.constant 128 : index
      %queries = attention.length query
      %blocks = arith.ceildivsi %queries, %c128 : index
      %next = arith.addi %n, %c1 : index
      %behind = arith.subi %blocks, %next : index
      %entry = arith.addi %next, %t : index
      attention.yield %c1, %n, %behind, %entry : index, index, index, index
    }
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do blocks %blocks : (!q, !q, !q, !q, !l, !q) -> (!q, !q, !q)
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.cmpi sle, %j, %i : index
      attention.yield %keep : i1
    }
  return %dq, %dk, %dv : !q, !q, !q
}
