// Places whose rows make no tile, and sequences that nothing counts.
// RUN: fa3-opt %s -split-input-file -verify-diagnostics -attention-expand-mods -attention-to-tile

!t = tensor<?x4x?x64xf16>
func.func @strided(%q: !t, %k: !t, %used: tensor<?xi32>) -> !t {
  %sequences = attention.sequences
    place_q (%b, %h, %i) {
      %c2 = arith.constant 2 : index
      // expected-error @+1 {{gives rows of a tile places that are not one behind the other}}
      %row = arith.muli %i, %c2 : index
      attention.yield %b, %h, %row : index, index, index
    }
  %o = attention.forward %q, %k, %k aux(%used : tensor<?xi32>) sequences %sequences mods [#attention.used<q = 0>] : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x4x?x64xf16>
func.func @queries_in_pages(%q: !t, %k: !t, %used: tensor<?xi32>) -> !t {
  %sequences = attention.sequences
    place_q (%b, %h, %i) {
      %c64 = arith.constant 64 : index
      %page = arith.divui %i, %c64 : index
      %row = arith.remui %i, %c64 : index
      attention.yield %page, %h, %row : index, index, index
    }
  // expected-error @+1 {{has queries of which only 64 lie one behind the other, expects all}}
  %o = attention.forward %q, %k, %k aux(%used : tensor<?xi32>) sequences %sequences mods [#attention.used<q = 0>] : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x4x?x64xf16>
func.func @uncounted(%q: !t, %k: !t) -> !t {
  %sequences = attention.sequences
    lengths (%b) {
      %c9 = arith.constant 9 : index
      attention.yield %c9, %c9 : index, index
    }
    place_q (%b, %h, %i) {
      attention.yield %b, %h, %i : index, index, index
    }
  // expected-error @+1 {{has a number of sequences that nothing says: expects its regions to read an auxiliary operand by sequence}}
  %o = attention.forward %q, %k, %k sequences %sequences : (!t, !t, !t) -> !t
  return %o : !t
}
