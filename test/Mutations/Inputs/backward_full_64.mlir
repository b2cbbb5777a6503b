!q = tensor<?x?x?x64xbf16>
!l = tensor<?x?x?xf32>
func.func @backward_64(%q: !q {tile.name = "q"}, %k: !q {tile.name = "k"}, %v: !q {tile.name = "v"}, %o: !q {tile.name = "o"},
                       %lse: !l {tile.name = "lse"}, %do: !q {tile.name = "do"}) -> (!q, !q, !q) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do : (!q, !q, !q, !q, !l, !q) -> (!q, !q, !q)
  return %dq, %dk, %dv : !q, !q, !q
}
