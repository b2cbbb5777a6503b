// RUN: fa3-opt %s -split-input-file -verify-diagnostics

// sequences C1
func.func @lengths_yield() {
  // expected-error @+1 {{'attention.sequences' op expects 'lengths' to yield 'index', 'index'}}
  %s = attention.sequences
    lengths (%b) {
      attention.yield %b : index
    }
  return
}

// -----

// sequences C1
func.func @lengths_take() {
  %s = attention.sequences
    // expected-error @+1 {{expects 1 arguments in 'lengths', got 2}}
    lengths (%b, %h) {
      attention.yield %b, %b : index, index
    }
  return
}

// -----

// sequences C2
func.func @place_yield() {
  // expected-error @+1 {{'attention.sequences' op expects 'place_q' to yield two indices or more}}
  %s = attention.sequences
    place_q (%b, %h, %i) {
      attention.yield %i : index
    }
  return
}

// -----

// sequences C2, the head
func.func @place_head() {
  // expected-error @+1 {{'attention.sequences' op expects 'place_k' to yield the head that it takes last but one}}
  %s = attention.sequences
    place_k (%b, %h, %j) {
      attention.yield %h, %b, %j : index, index, index
    }
  return
}

// -----

// sequences C3
func.func @capture(%v: vector<4xindex>) {
  %s = attention.sequences
    lengths (%b) {
      // expected-error @+1 {{in 'lengths' captures a value of type 'vector<4xindex>'}}
      %sum = arith.addi %v, %v : vector<4xindex>
      attention.yield %b, %b : index, index
    }
  return
}

// -----

// sequences C3
func.func @code(%m: memref<index>) {
  %s = attention.sequences
    lengths (%b) {
      // expected-error @+1 {{is not allowed in 'lengths', which holds pure elementwise scalar operations}}
      memref.store %b, %m[] : memref<index>
      attention.yield %b, %b : index, index
    }
  return
}

// -----

// blocks C1
func.func @sizes() {
  // expected-error @+1 {{expects two sizes, queries and keys of a block, got 3}}
  %l = attention.blocks [128, 64, 32]
    by_query (%b, %h, %m, %t) {
      attention.yield %m, %m, %m, %m : index, index, index, index
    }
  return
}

// -----

// blocks C1
func.func @queries() {
  // expected-error @+1 {{expects blocks of queries that are a multiple of 64 up to 1048576, got 96}}
  %l = attention.blocks [96, 64]
    by_query (%b, %h, %m, %t) {
      attention.yield %m, %m, %m, %m : index, index, index, index
    }
  return
}

// -----

// blocks C1
func.func @keys() {
  // expected-error @+1 {{expects blocks of keys that are a multiple of 16 up to 1048576, got 40}}
  %l = attention.blocks [128, 40]
    by_key (%b, %h, %m, %t) {
      attention.yield %m, %m, %m, %m : index, index, index, index
    }
  return
}

// -----

// blocks C2
func.func @neither() {
  // expected-error @+1 {{expects lists 'by_query' or 'by_key', got neither}}
  %l = attention.blocks [128, 64]
  return
}

// -----

// blocks C3
func.func @arguments() {
  %l = attention.blocks [128, 64]
    // expected-error @+1 {{expects 4 arguments in 'by_query', got 3}}
    by_query (%b, %h, %m) {
      attention.yield %m, %m, %m, %m : index, index, index, index
    }
  return
}

// -----

// blocks C3
func.func @results() {
  // expected-error @+1 {{expects 'by_query' to yield 'index', 'index', 'index', 'index'}}
  %l = attention.blocks [128, 64]
    by_query (%b, %h, %m, %t) {
      attention.yield %m, %m : index, index
    }
  return
}

// -----

// blocks C3
func.func @results_by_key() {
  // expected-error @+1 {{expects 'by_key' to yield 'index', 'index', 'index', 'index'}}
  %l = attention.blocks [128, 64]
    by_key (%b, %h, %m, %t) {
      attention.yield %m, %m : index, index
    }
  return
}

// -----

// blocks C4
func.func @capture(%v: vector<4xindex>) {
  %l = attention.blocks [128, 64]
    by_query (%b, %h, %m, %t) {
      // expected-error @+1 {{in 'by_query' captures a value of type 'vector<4xindex>'}}
      %sum = arith.addi %v, %v : vector<4xindex>
      attention.yield %m, %m, %m, %m : index, index, index, index
    }
  return
}

// -----

// C16
!t = tensor<?x4x?x64xf16>
func.func @argument(%q: !t, %s: !attention.sequences) {
  // expected-error @+1 {{'attention.forward' op expects sequences that are the result of 'attention.sequences'}}
  %o = attention.forward %q, %q, %q sequences %s : (!t, !t, !t) -> !t
  return
}

// -----

// C16
!t = tensor<?x4x?x64xf16>
func.func @argument(%q: !t, %l: !attention.blocks) {
  // expected-error @+1 {{'attention.forward' op expects blocks that are the result of 'attention.blocks'}}
  %o = attention.forward %q, %q, %q blocks %l : (!t, !t, !t) -> !t
  return
}

// -----

// backward C18
!t = tensor<?x4x?x64xf16>
!rows = tensor<?x4x?xf32>
func.func @argument(%q: !t, %l: !rows, %s: !attention.sequences) {
  // expected-error @+1 {{'attention.backward' op expects sequences that are the result of 'attention.sequences'}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q sequences %s : (!t, !t, !t, !t, !rows, !t) -> (!t, !t, !t)
  return
}

// -----

// append C5
!t = tensor<?x4x?x64xf16>
func.func @argument(%x: !t, %cache: !t, %first: tensor<?xi32>, %s: !attention.sequences) {
  // expected-error @+1 {{'attention.append' op expects sequences that are the result of 'attention.sequences'}}
  %y = attention.append %x, %cache at %first sequences %s : !t, !t, tensor<?xi32>
  return
}

// -----

// C17
!t = tensor<?x4x?x64xf16>
func.func @reads(%q: !t, %cu: tensor<?xi32>) {
  %s = attention.sequences
    lengths (%b) {
      // expected-error @+1 {{in 'lengths' reads a tensor that is not an auxiliary operand}}
      %x = tensor.extract %cu[%b] : tensor<?xi32>
      %length = arith.index_cast %x : i32 to index
      attention.yield %length, %length : index, index
    }
  // expected-note @+1 {{this takes what it computes}}
  %o = attention.forward %q, %q, %q sequences %s : (!t, !t, !t) -> !t
  return
}

// -----

// C17, memory
!t = tensor<?x4x?x64xf16>
func.func @reads_memory(%q: !t, %cu: memref<?xindex>) {
  %l = attention.blocks [128, 64]
    by_query (%b, %h, %m, %t) {
      // expected-error @+1 {{in 'by_query' reads memory that is not an auxiliary operand}}
      %x = memref.load %cu[%b] : memref<?xindex>
      attention.yield %x, %x, %x, %x : index, index, index, index
    }
  // expected-note @+1 {{this takes what it computes}}
  %o = attention.forward %q, %q, %q blocks %l : (!t, !t, !t) -> !t
  return
}

// -----

// append C6
!t = tensor<?x4x?x64xf16>
func.func @append_reads(%x: !t, %cache: !t, %first: tensor<?xi32>) {
  %s = attention.sequences
    place_k (%b, %h, %j) {
      // expected-error @+1 {{in 'place_k' reads a tensor that is not an auxiliary operand}}
      %a = tensor.extract %first[%b] : tensor<?xi32>
      %row = arith.index_cast %a : i32 to index
      attention.yield %b, %h, %row : index, index, index
    }
  // expected-note @+1 {{this takes what it computes}}
  %y = attention.append %x, %cache at %first sequences %s : !t, !t, tensor<?xi32>
  return
}

// -----

// append C6
!t = tensor<?x4x?x64xf16>
func.func @append_length(%x: !t, %cache: !t, %first: tensor<?xi32>) {
  %s = attention.sequences
    place_k (%b, %h, %j) {
      %n = attention.length key
      attention.yield %b, %h, %n : index, index, index
    }
  // expected-error @+1 {{expects 'place_k' not to ask for a length}}
  %y = attention.append %x, %cache at %first sequences %s : !t, !t, tensor<?xi32>
  return
}

// -----

// C24
!t = tensor<?x4x?x64xf16>
func.func @lists_by_key(%q: !t) {
  %l = attention.blocks [128, 64]
    by_key (%b, %h, %m, %t) {
      attention.yield %m, %m, %m, %m : index, index, index, index
    }
  // expected-error @+1 {{expects lists of blocks by queries, got 1 by keys, which are for gradients}}
  %o = attention.forward %q, %q, %q blocks %l : (!t, !t, !t) -> !t
  return
}

// -----

// C24, of a mod
!t = tensor<?x4x?x64xf16>
func.func @queries_of_mod(%q: !t, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>) {
  // expected-error @+1 {{expects blocks of queries that are a multiple of 64 up to 1048576, got 96}}
  %o = attention.forward %q, %q, %q aux(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>) mods [#attention.blocks<count = 0, index = 1, queries = 96, keys = 64>] : (!t, !t, !t) -> !t
  return
}

// -----

// C24, of a mod
!t = tensor<?x4x?x64xf16>
func.func @keys_of_mod(%q: !t, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>) {
  // expected-error @+1 {{expects blocks of keys that are a multiple of 16 up to 1048576, got 40}}
  %o = attention.forward %q, %q, %q aux(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>) mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 40>] : (!t, !t, !t) -> !t
  return
}

// -----

// The old text beside the new one.
!t = tensor<?x4x?x64xf16>
func.func @both(%q: !t, %n: index) {
  %s = attention.sequences max_q %n
  // expected-error @+1 {{expects 'sequences' or the clause 'max_q', got both}}
  %o = attention.forward %q, %q, %q sequences %s max_q %n : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x4x?x64xf16>
func.func @both_lists(%q: !t) {
  %l = attention.blocks [128, 64]
    by_query (%b, %h, %m, %t) {
      attention.yield %m, %m, %m, %m : index, index, index, index
    }
  // expected-error @+1 {{expects 'blocks' or the clause 'blocks', got both}}
  %o = attention.forward %q, %q, %q blocks %l : (!t, !t, !t) -> !t
    blocks [128, 64] (%b, %h, %m, %t) {
      attention.yield %m, %m, %m, %m : index, index, index, index
    }
  return
}

// -----

!t = tensor<?x4x?x64xf16>
!rows = tensor<?x4x?xf32>
func.func @without_sizes(%q: !t, %l: !rows) {
  // expected-error @+1 {{expects 'blocks [m, n]' in front of 'blocks_by_key'}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q : (!t, !t, !t, !t, !rows, !t) -> (!t, !t, !t)
    blocks_by_key (%b, %h, %m, %t) {
      attention.yield %m, %m, %m, %m : index, index, index, index
    }
  return
}

// -----

// Where the old text does not say in front of what the value is to be.
!t = tensor<?x4x?x64xf16>
func.func @two_blocks(%q: !t, %n: index) {
  %c0 = arith.constant 0 : index
  scf.for %i = %c0 to %n step %n {
    // expected-error @+1 {{expects 'attention.sequences' in front: the clause 'max_q' stands for it only where all that is used is of one block, and defined before}}
    %o = attention.forward %q, %q, %q max_q %i : (!t, !t, !t) -> !t
  }
  return
}
