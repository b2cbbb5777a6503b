// RUN: fa3-opt %s -split-input-file -verify-diagnostics

// Constraints of attention.merge, by their numbers.

// merge C1
func.func @rank(%p: tensor<?x?x2x?x64xf32>, %l: tensor<?x?x2x?xf32>) {
  // expected-error @+1 {{'attention.merge' op expects o of rank 3 or 4, got 2}}
  %0:2 = attention.merge %p, %l : tensor<?x?x2x?x64xf32>, tensor<?x?x2x?xf32> -> tensor<?x64xf16>, tensor<?x2x?xf32>
  return
}

// -----

// merge C1
func.func @parts(%p: tensor<?x2x?x64xf32>, %l: tensor<?x?x2x?xf32>) {
  // expected-error @+1 {{expects parts of rank 5 beside o of rank 4, got 4}}
  %0:2 = attention.merge %p, %l : tensor<?x2x?x64xf32>, tensor<?x?x2x?xf32> -> tensor<?x2x?x64xf16>, tensor<?x2x?xf32>
  return
}

// -----

// merge C1
func.func @columns(%p: tensor<?x?x2x?x12xf32>, %l: tensor<?x?x2x?xf32>) {
  // expected-error @+1 {{expects o to have a static last extent that is a multiple of 8, got 'tensor<?x2x?x12xf16>'}}
  %0:2 = attention.merge %p, %l : tensor<?x?x2x?x12xf32>, tensor<?x?x2x?xf32> -> tensor<?x2x?x12xf16>, tensor<?x2x?xf32>
  return
}

// -----

// merge C1
func.func @dynamic(%p: tensor<?x?x2x?x64xf32>, %l: tensor<?x?x2x?xf32>) {
  // expected-error @+1 {{expects o to have a static last extent that is a multiple of 8, got 'tensor<?x2x?x?xf16>'}}
  %0:2 = attention.merge %p, %l : tensor<?x?x2x?x64xf32>, tensor<?x?x2x?xf32> -> tensor<?x2x?x?xf16>, tensor<?x2x?xf32>
  return
}

// -----

// merge C1
func.func @width(%p: tensor<?x?x2x?x32xf32>, %l: tensor<?x?x2x?xf32>) {
  // expected-error @+1 {{expects parts and o to agree in their last extent, got 32 and 64}}
  %0:2 = attention.merge %p, %l : tensor<?x?x2x?x32xf32>, tensor<?x?x2x?xf32> -> tensor<?x2x?x64xf16>, tensor<?x2x?xf32>
  return
}

// -----

// merge C2
func.func @element_of_parts(%p: tensor<?x?x2x?x64xf64>, %l: tensor<?x?x2x?xf32>) {
  // expected-error @+1 {{expects parts of f16, bf16 or f32, got 'f64'}}
  %0:2 = attention.merge %p, %l : tensor<?x?x2x?x64xf64>, tensor<?x?x2x?xf32> -> tensor<?x2x?x64xf16>, tensor<?x2x?xf32>
  return
}

// -----

// merge C2
func.func @element_of_o(%p: tensor<?x?x2x?x64xf32>, %l: tensor<?x?x2x?xf32>) {
  // expected-error @+1 {{expects o of f16, bf16 or f32, got 'f8E4M3FN'}}
  %0:2 = attention.merge %p, %l : tensor<?x?x2x?x64xf32>, tensor<?x?x2x?xf32> -> tensor<?x2x?x64xf8E4M3FN>, tensor<?x2x?xf32>
  return
}

// -----

// merge C3
func.func @rank_of_lse_parts(%p: tensor<?x?x2x?x64xf32>, %l: tensor<?x2x?xf32>) {
  // expected-error @+1 {{expects lse_parts of rank 4 beside o of rank 4, got 3}}
  %0:2 = attention.merge %p, %l : tensor<?x?x2x?x64xf32>, tensor<?x2x?xf32> -> tensor<?x2x?x64xf16>, tensor<?x2x?xf32>
  return
}

// -----

// merge C3
func.func @rank_of_lse(%p: tensor<?x?x2x?x64xf32>, %l: tensor<?x?x2x?xf32>) {
  // expected-error @+1 {{expects lse of rank 3 beside o of rank 4, got 4}}
  %0:2 = attention.merge %p, %l : tensor<?x?x2x?x64xf32>, tensor<?x?x2x?xf32> -> tensor<?x2x?x64xf16>, tensor<?x?x2x?xf32>
  return
}

// -----

// merge C3
func.func @element_of_lse_parts(%p: tensor<?x?x2x?x64xf32>, %l: tensor<?x?x2x?xf64>) {
  // expected-error @+1 {{expects lse_parts of f32, got 'f64'}}
  %0:2 = attention.merge %p, %l : tensor<?x?x2x?x64xf32>, tensor<?x?x2x?xf64> -> tensor<?x2x?x64xf16>, tensor<?x2x?xf32>
  return
}

// -----

// merge C3
func.func @element_of_lse(%p: tensor<?x?x2x?x64xf32>, %l: tensor<?x?x2x?xf32>) {
  // expected-error @+1 {{expects lse of f32, got 'bf16'}}
  %0:2 = attention.merge %p, %l : tensor<?x?x2x?x64xf32>, tensor<?x?x2x?xf32> -> tensor<?x2x?x64xf16>, tensor<?x2x?xbf16>
  return
}

// -----

// merge C4
func.func @numbers(%p: tensor<3x?x2x?x64xf32>, %l: tensor<4x?x2x?xf32>) {
  // expected-error @+1 {{expects parts, lse_parts, o and lse to agree in the number of parts, got 3, 4}}
  %0:2 = attention.merge %p, %l : tensor<3x?x2x?x64xf32>, tensor<4x?x2x?xf32> -> tensor<?x2x?x64xf16>, tensor<?x2x?xf32>
  return
}

// -----

// merge C4
func.func @batches(%p: tensor<?x?x2x?x64xf32>, %l: tensor<?x?x2x?xf32>) {
  // expected-error @+1 {{expects parts, lse_parts, o and lse to agree in batch, got ?, ?, 5, 6}}
  %0:2 = attention.merge %p, %l : tensor<?x?x2x?x64xf32>, tensor<?x?x2x?xf32> -> tensor<5x2x?x64xf16>, tensor<6x2x?xf32>
  return
}

// -----

// merge C4
func.func @heads(%p: tensor<?x?x2x?x64xf32>, %l: tensor<?x?x2x?xf32>) {
  // expected-error @+1 {{expects parts, lse_parts, o and lse to agree in heads, got 2, 2, 4, 2}}
  %0:2 = attention.merge %p, %l : tensor<?x?x2x?x64xf32>, tensor<?x?x2x?xf32> -> tensor<?x4x?x64xf16>, tensor<?x2x?xf32>
  return
}

// -----

// merge C4
func.func @rows(%p: tensor<?x?x2x8x64xf32>, %l: tensor<?x?x2x9xf32>) {
  // expected-error @+1 {{expects parts, lse_parts, o and lse to agree in rows, got 8, 9, ?, ?}}
  %0:2 = attention.merge %p, %l : tensor<?x?x2x8x64xf32>, tensor<?x?x2x9xf32> -> tensor<?x2x?x64xf16>, tensor<?x2x?xf32>
  return
}

// -----

// merge C5
func.func @sinks(%p: tensor<?x?x2x?x64xf32>, %l: tensor<?x?x2x?xf32>, %s: tensor<2xf16>) {
  // expected-error @+1 {{expects sinks of rank 1 and f32, got 'tensor<2xf16>'}}
  %0:2 = attention.merge %p, %l sinks(%s : tensor<2xf16>) : tensor<?x?x2x?x64xf32>, tensor<?x?x2x?xf32> -> tensor<?x2x?x64xf16>, tensor<?x2x?xf32>
  return
}

// -----

// merge C5
func.func @number_of_sinks(%p: tensor<?x?x2x?x64xf32>, %l: tensor<?x?x2x?xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{expects a sink for every head (2), got 3}}
  %0:2 = attention.merge %p, %l sinks(%s : tensor<3xf32>) : tensor<?x?x2x?x64xf32>, tensor<?x?x2x?xf32> -> tensor<?x2x?x64xf16>, tensor<?x2x?xf32>
  return
}

// -----

// merge C6
func.func @extent(%p: tensor<?x2000000000x2x?x64xf32>, %l: tensor<?x?x2x?xf32>) {
  // expected-error @+1 {{expects extents of at most 1073741824, those of operand 0 are}}
  %0:2 = attention.merge %p, %l : tensor<?x2000000000x2x?x64xf32>, tensor<?x?x2x?xf32> -> tensor<?x2x?x64xf16>, tensor<?x2x?xf32>
  return
}
