// Places whose rows make no tile, and sequences that nothing counts.
// RUN: fa3-opt %s -split-input-file -verify-diagnostics -attention-expand-mods -attention-to-tile

!t = tensor<?x4x?x64xf16>
!k = tensor<?x4x24x64xf16>
func.func @small_pages(%q: !t, %k: !k, %table: tensor<?x?xi32>) -> !t {
  // expected-error @+1 {{has keys of which only 24 lie one behind the other, expects a multiple of 16}}
  %o = attention.forward %q, %k, %k aux(%table : tensor<?x?xi32>) mods [#attention.paged<table = 0>] : (!t, !k, !k) -> !t
  return %o : !t
}

// -----

!t = tensor<?x4x?x64xf16>
!k = tensor<?x4x64x64xf16>
func.func @shifted_pages(%q: !t, %k: !k, %table: tensor<?x?xi32>, %pad: tensor<?xi32>) -> !t {
  // expected-error @+1 {{has keys of which only 1 lie one behind the other, expects a multiple of 16}}
  %o = attention.forward %q, %k, %k aux(%table, %pad : tensor<?x?xi32>, tensor<?xi32>) mods [#attention.leftpad<aux = 1>, #attention.paged<table = 0>] : (!t, !k, !k) -> !t
  return %o : !t
}

// -----

!t = tensor<?x4x?x64xf16>
func.func @strided(%q: !t, %k: !t, %used: tensor<?xi32>) -> !t {
  %o = attention.forward %q, %k, %k aux(%used : tensor<?xi32>) mods [#attention.used<k = 0>] : (!t, !t, !t) -> !t
    place_k (%b, %h, %j) {
      %c2 = arith.constant 2 : index
      // expected-error @+1 {{gives rows of a tile places that are not one behind the other}}
      %row = arith.muli %j, %c2 : index
      attention.yield %b, %h, %row : index, index, index
    }
  return %o : !t
}

// -----

!t = tensor<?x4x?x64xf16>
func.func @uncounted(%q: !t, %k: !t) -> !t {
  // expected-error @+1 {{has a number of sequences that nothing says: expects its regions to read an auxiliary operand by sequence}}
  %o = attention.forward %q, %k, %k : (!t, !t, !t) -> !t
    lengths (%b) {
      %c9 = arith.constant 9 : index
      attention.yield %c9, %c9 : index, index
    }
    place_q (%b, %h, %i) {
      attention.yield %b, %h, %i : index, index, index
    }
  return %o : !t
}
