// RUN: fa3-opt %s -split-input-file -verify-diagnostics -attention-to-tile

func.func @more() -> tensor<1x1x1xi32> {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %keys = arith.constant 268435457 : index
  // expected-error @+1 {{'attention.list_blocks' op has lists of 16777217 blocks of keys, expects at most 16777216, which kernels count exactly}}
  %l:4 = attention.list_blocks [64, 16] (%c1, %c1, %c64, %keys)
    : tensor<1x1x1xi32>, tensor<1x1x1x?xi32>, tensor<1x1x1xi32>, tensor<1x1x1x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.cmpi sle, %j, %i : index
      attention.yield %keep : i1
    }
  return %l#0 : tensor<1x1x1xi32>
}

// -----

func.func @just() -> tensor<1x1x1xi32> {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %keys = arith.constant 268435456 : index
  %l:4 = attention.list_blocks [64, 16] (%c1, %c1, %c64, %keys)
    : tensor<1x1x1xi32>, tensor<1x1x1x?xi32>, tensor<1x1x1xi32>, tensor<1x1x1x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.cmpi sle, %j, %i : index
      attention.yield %keep : i1
    }
  return %l#0 : tensor<1x1x1xi32>
}
