// RUN: fa3-opt %s -split-input-file -verify-diagnostics

// Constraints of attention.list_blocks, by their numbers.

// C1
func.func @rank(%n: index) {
  // expected-error @+1 {{'attention.list_blocks' op expects result 2 to have rank 3 and elements of i32, got 'tensor<1x?xi32>'}}
  %l:4 = attention.list_blocks [64, 64] (%n, %n, %n, %n)
    : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x?xi32>, tensor<1x1x?x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.constant true
      attention.yield %keep : i1
    }
  return
}

// -----

// C1
func.func @element(%n: index) {
  // expected-error @+1 {{expects result 1 to have rank 4 and elements of i32, got 'tensor<1x1x?x?xi64>'}}
  %l:4 = attention.list_blocks [64, 64] (%n, %n, %n, %n)
    : tensor<1x1x?xi32>, tensor<1x1x?x?xi64>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.constant true
      attention.yield %keep : i1
    }
  return
}

// -----

// C1
func.func @extents(%n: index) {
  // expected-error @+1 {{expects results that agree in extents, got 2 and 1 in dimension 1}}
  %l:4 = attention.list_blocks [64, 64] (%n, %n, %n, %n)
    : tensor<1x2x?xi32>, tensor<1x2x?x?xi32>, tensor<1x1x?xi32>, tensor<1x2x?x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.constant true
      attention.yield %keep : i1
    }
  return
}

// -----

// C2
func.func @queries(%n: index) {
  // expected-error @+1 {{expects blocks of a positive multiple of 64 queries up to 4096, got 96}}
  %l:4 = attention.list_blocks [96, 64] (%n, %n, %n, %n)
    : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.constant true
      attention.yield %keep : i1
    }
  return
}

// -----

// C2
func.func @keys(%n: index) {
  // expected-error @+1 {{expects blocks of a positive multiple of 16 keys up to 4096, got 8192}}
  %l:4 = attention.list_blocks [64, 8192] (%n, %n, %n, %n)
    : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.constant true
      attention.yield %keep : i1
    }
  return
}

// -----

// C2
func.func @sizes(%n: index) {
  // expected-error @+1 {{expects two sizes, queries and keys of a block, got 1}}
  %l:4 = attention.list_blocks [64] (%n, %n, %n, %n)
    : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.constant true
      attention.yield %keep : i1
    }
  return
}

// -----

// C3
func.func @arguments(%n: index) {
  // expected-error @+3 {{expects 4 arguments in 'mask_mod', got 2}}
  %l:4 = attention.list_blocks [64, 64] (%n, %n, %n, %n)
    : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
    mask_mod (%i, %j) {
      %keep = arith.constant true
      attention.yield %keep : i1
    }
  return
}

// -----

// C3
func.func @result(%n: index) {
  // expected-error @+1 {{expects 'mask_mod' to yield 'i1'}}
  %l:4 = attention.list_blocks [64, 64] (%n, %n, %n, %n)
    : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
    mask_mod (%b, %h, %i, %j) {
      attention.yield %i : index
    }
  return
}

// -----

// C3
func.func @tensor(%n: index, %t: tensor<4xi32>) {
  %l:4 = attention.list_blocks [64, 64] (%n, %n, %n, %n)
    : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
    mask_mod (%b, %h, %i, %j) {
      // expected-error @+1 {{in 'mask_mod' reads a tensor that is not an auxiliary operand}}
      %x = tensor.extract %t[%i] : tensor<4xi32>
      %zero = arith.constant 0 : i32
      %keep = arith.cmpi eq, %x, %zero : i32
      attention.yield %keep : i1
    }
  return
}

// -----

// C4
func.func @batch(%n: index) {
  %c3 = arith.constant 3 : index
  // expected-error @+1 {{expects results for 3 batches, got an extent of 1}}
  %l:4 = attention.list_blocks [64, 64] (%c3, %n, %n, %n)
    : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.constant true
      attention.yield %keep : i1
    }
  return
}

// -----

// C5
func.func @large(%n: index) {
  // expected-error @+1 {{expects extents of at most 1073741824, those of result 0 are 'tensor<1x1x4294967296xi32>'}}
  %l:4 = attention.list_blocks [64, 64] (%n, %n, %n, %n)
    : tensor<1x1x4294967296xi32>, tensor<1x1x4294967296x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.constant true
      attention.yield %keep : i1
    }
  return
}

// -----

func.func @numbers(%n: index) {
  // expected-error @+1 {{expects numbers of batches, heads, queries and keys, got 2}}
  %l:4 = attention.list_blocks [64, 64] (%n, %n)
    : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.constant true
      attention.yield %keep : i1
    }
  return
}
