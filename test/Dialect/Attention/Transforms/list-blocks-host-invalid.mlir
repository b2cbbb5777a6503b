// RUN: fa3-opt %s -split-input-file -verify-diagnostics -attention-to-reference
// RUN: fa3-opt %s -split-input-file -verify-diagnostics -attention-to-tile

// What attention.list_blocks may be in a host function.

func.func @computed(%n: index) -> tensor<1x1x?xi32> {
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{it is computed here}}
  %t = tensor.empty(%n) : tensor<?xi32>
  // expected-error @+1 {{'attention.list_blocks' op expects auxiliary operand 0 to be an argument of the function}}
  %l:4 = attention.list_blocks [64, 64] (%c1, %c1, %n, %n) aux(%t : tensor<?xi32>)
    : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %x = tensor.extract %t[%i] : tensor<?xi32>
      %zero = arith.constant 0 : i32
      %keep = arith.cmpi eq, %x, %zero : i32
      attention.yield %keep : i1
    }
  return %l#0 : tensor<1x1x?xi32>
}

// -----

func.func @used(%n: index) -> tensor<1x1x?xi32> {
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{'attention.list_blocks' op expects result 0 to be an auxiliary operand of 'attention.forward' or returned}}
  %l:4 = attention.list_blocks [64, 64] (%c1, %c1, %n, %n)
    : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.cmpi sle, %i, %j : index
      attention.yield %keep : i1
    }
  // expected-note @+1 {{it is used here}}
  %x = tensor.cast %l#0 : tensor<1x1x?xi32> to tensor<1x1x4xi32>
  return %l#2 : tensor<1x1x?xi32>
}

// -----

func.func @twice(%n: index) -> (tensor<1x1x?xi32>, tensor<1x1x?xi32>) {
  %c1 = arith.constant 1 : index
  %l:4 = attention.list_blocks [64, 64] (%c1, %c1, %n, %n)
    : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.cmpi sle, %i, %j : index
      attention.yield %keep : i1
    }
  // expected-error @+1 {{returns a result of 'attention.list_blocks' twice}}
  return %l#0, %l#0 : tensor<1x1x?xi32>, tensor<1x1x?xi32>
}
