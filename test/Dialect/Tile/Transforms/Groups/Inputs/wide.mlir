// Heads so wide that o is stored in pieces beside the rings.
!q = tensor<?x?x?x256xf16>
func.func @wide(%q: !q, %k: !q, %v: !q) -> !q {
  %o = attention.forward %q, %k, %v : (!q, !q, !q) -> !q
  return %o : !q
}
