// A window over few keys with grouped heads: bounds to shrink, tiles that the
// mask cuts at both sides, and tiles without any visible key.
!q = tensor<?x?x?x32xf16>
!lse = tensor<?x?x?xf32>
func.func @window(%q: !q {tile.name = "q"}, %k: !q {tile.name = "k"},
                  %v: !q {tile.name = "v"})
    -> (!q {tile.name = "o"}, !lse {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v
    mods [#attention.window<left = 90, right = 0>] : (!q, !q, !q) -> (!q, !lse)
  return %o, %lse : !q, !lse
}
