// Gradients of keys that two sequences, or two keys, may share, and of rows that make no tile.
// RUN: fa3-opt %s -split-input-file -verify-diagnostics -attention-expand-mods -attention-to-tile

!t = tensor<?x4x?x64xf16>
!l = tensor<?x4x?xf32>
func.func @shared(%q: !t, %lse: !l, %used: tensor<?xi32>) -> (!t, !t, !t) {
  %sequences = attention.sequences
    place_k (%b, %h, %j) {
      %x = tensor.extract %used[%b] : tensor<?xi32>
      %other = arith.index_cast %x : i32 to index
      attention.yield %other, %h, %j : index, index, index
    }
  // expected-error @+1 {{has places of keys that may be the same for two, whose gradients are not summed up: expects 'place_k' to yield the sequence, or rows behind what an auxiliary operand of rank 1 says of each, one for every key}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%used : tensor<?xi32>) sequences %sequences mods [#attention.used<k = 0>]
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return %g#0, %g#1, %g#2 : !t, !t, !t
}

// -----

!t = tensor<?x4x?x64xf16>
!l = tensor<?x4x?xf32>
func.func @twice(%q: !t, %lse: !l, %used: tensor<?xi32>) -> (!t, !t, !t) {
  %sequences = attention.sequences
    place_k (%b, %h, %j) {
      %c2 = arith.constant 2 : index
      %row = arith.divui %j, %c2 : index
      attention.yield %b, %h, %row : index, index, index
    }
  // expected-error @+1 {{has places of keys that may be the same for two}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%used : tensor<?xi32>) sequences %sequences mods [#attention.used<k = 0>]
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return %g#0, %g#1, %g#2 : !t, !t, !t
}

// -----

// Rows that start anywhere: nothing says that sequences do not overlap.
!t = tensor<?x4x64xf16>
!l = tensor<?x4x?xf32>
func.func @anywhere(%q: tensor<?x4x?x64xf16>, %k: tensor<4x?x64xf16>, %lse: !l, %cu: tensor<?xi32>) -> (tensor<?x4x?x64xf16>, tensor<4x?x64xf16>, tensor<4x?x64xf16>) {
  %sequences = attention.sequences
    lengths (%b) {
      %c9 = arith.constant 9 : index
      attention.yield %c9, %c9 : index, index
    }
    place_k (%b, %h, %j) {
      %c3 = arith.constant 3 : index
      %row = arith.muli %j, %c3 : index
      attention.yield %b, %h, %row : index, index, index
    }
  // expected-error @+1 {{has places of keys that may be the same for two}}
  %g:3 = attention.backward %q, %k, %k, %q, %lse, %q aux(%cu : tensor<?xi32>) sequences %sequences mods [#attention.packed<k = 0>]
    : (tensor<?x4x?x64xf16>, tensor<4x?x64xf16>, tensor<4x?x64xf16>, tensor<?x4x?x64xf16>, !l, tensor<?x4x?x64xf16>)
    -> (tensor<?x4x?x64xf16>, tensor<4x?x64xf16>, tensor<4x?x64xf16>)
  return %g#0, %g#1, %g#2 : tensor<?x4x?x64xf16>, tensor<4x?x64xf16>, tensor<4x?x64xf16>
}

// -----

!t = tensor<?x4x?x64xf16>
!l = tensor<?x4x?xf32>
func.func @queries(%q: !t, %lse: !l, %used: tensor<?xi32>) -> (!t, !t, !t) {
  %sequences = attention.sequences
    place_q (%b, %h, %i) {
      %c64 = arith.constant 64 : index
      %page = arith.divui %i, %c64 : index
      %row = arith.remui %i, %c64 : index
      attention.yield %page, %h, %row : index, index, index
    }
  // expected-error @+1 {{has queries of which only 64 lie one behind the other, expects all}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%used : tensor<?xi32>) sequences %sequences mods [#attention.used<q = 0>]
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return %g#0, %g#1, %g#2 : !t, !t, !t
}

// -----

!t = tensor<?x4x?x64xf16>
!l = tensor<?x4x?xf32>
func.func @uncounted(%q: !t, %lse: !l) -> (!t, !t, !t) {
  %sequences = attention.sequences
    lengths (%b) {
      %c9 = arith.constant 9 : index
      attention.yield %c9, %c9 : index, index
    }
    place_q (%b, %h, %i) {
      attention.yield %b, %h, %i : index, index, index
    }
  // expected-error @+1 {{has a number of sequences that nothing says: expects its regions to read an auxiliary operand by sequence}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q sequences %sequences
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return %g#0, %g#1, %g#2 : !t, !t, !t
}
