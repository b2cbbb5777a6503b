// RUN: fa3-opt %s -split-input-file -verify-diagnostics

// Constraints of attention.rotary and attention.append, by their numbers.

// rotary C1
func.func @rank(%x: tensor<?x2x64xf16>, %c: tensor<?x32xf32>, %f: tensor<?xi32>) {
  // expected-error @+1 {{'attention.rotary' op expects a source of rank 4, got 3}}
  %0 = attention.rotary %x, %c, %c at %f : tensor<?x2x64xf16>, tensor<?x32xf32>, tensor<?xi32>
  return
}

// -----

// rotary C1
func.func @element(%x: tensor<?x2x?x64xf32>, %c: tensor<?x32xf32>, %f: tensor<?xi32>) {
  // expected-error @+1 {{expects a source of f16 or bf16, got 'f32'}}
  %0 = attention.rotary %x, %c, %c at %f : tensor<?x2x?x64xf32>, tensor<?x32xf32>, tensor<?xi32>
  return
}

// -----

// rotary C1
func.func @head_dim(%x: tensor<?x2x?x12xf16>, %c: tensor<?x32xf32>, %f: tensor<?xi32>) {
  // expected-error @+1 {{expects a static head dim that is a multiple of 8 up to 256, got 'tensor<?x2x?x12xf16>'}}
  %0 = attention.rotary %x, %c, %c at %f : tensor<?x2x?x12xf16>, tensor<?x32xf32>, tensor<?xi32>
  return
}

// -----

// rotary C2
func.func @tables(%x: tensor<?x2x?x64xf16>, %c: tensor<?x32xf64>, %f: tensor<?xi32>) {
  // expected-error @+1 {{expects cos and sin of rank 2 with elements of f32, f16 or bf16, got 'tensor<?x32xf64>'}}
  %0 = attention.rotary %x, %c, %c at %f : tensor<?x2x?x64xf16>, tensor<?x32xf64>, tensor<?xi32>
  return
}

// -----

// rotary C2
func.func @pairs(%x: tensor<?x2x?x64xf16>, %c: tensor<?x40xf32>, %f: tensor<?xi32>) {
  // expected-error @+1 {{expects a static number of columns of cos and sin that is a multiple of 8 up to 32, half the head dim, got 'tensor<?x40xf32>'}}
  %0 = attention.rotary %x, %c, %c at %f : tensor<?x2x?x64xf16>, tensor<?x40xf32>, tensor<?xi32>
  return
}

// -----

// rotary C3
func.func @first(%x: tensor<?x2x?x64xf16>, %c: tensor<?x32xf32>, %f: tensor<?xi64>) {
  // expected-error @+1 {{expects first positions of rank 1 and i32, got 'tensor<?xi64>'}}
  %0 = attention.rotary %x, %c, %c at %f : tensor<?x2x?x64xf16>, tensor<?x32xf32>, tensor<?xi64>
  return
}

// -----

// rotary C3
func.func @first_extent(%x: tensor<3x2x?x64xf16>, %c: tensor<?x32xf32>, %f: tensor<2xi32>) {
  // expected-error @+1 {{expects a first position for every batch of the source (3), got 2}}
  %0 = attention.rotary %x, %c, %c at %f : tensor<3x2x?x64xf16>, tensor<?x32xf32>, tensor<2xi32>
  return
}

// -----

// rotary C4
func.func @extents(%x: tensor<?x2x1073741825x64xf16>, %c: tensor<?x32xf32>, %f: tensor<?xi32>) {
  // expected-error @+1 {{expects extents of at most 1073741824}}
  %0 = attention.rotary %x, %c, %c at %f : tensor<?x2x1073741825x64xf16>, tensor<?x32xf32>, tensor<?xi32>
  return
}

// -----

!n = tensor<?x2x?x64xf16>

// append C1
func.func @cache_rank(%n: !n, %k: tensor<?x2x64xf16>, %f: tensor<?xi32>) {
  // expected-error @+1 {{expects a cache of rank 4, got 3}}
  %0 = attention.append %n, %k at %f : !n, tensor<?x2x64xf16>, tensor<?xi32>
  return
}

// -----

!n = tensor<?x2x?x64xf16>

// append C2
func.func @cache_element(%n: !n, %k: tensor<?x2x?x64xbf16>, %f: tensor<?xi32>) {
  // expected-error @+1 {{expects the cache to have the element type of the source ('f16'), f8E4M3FN or f8E5M2, got 'bf16'}}
  %0 = attention.append %n, %k at %f : !n, tensor<?x2x?x64xbf16>, tensor<?xi32>
  return
}

// -----

!n = tensor<?x2x?x64xf16>

// append C2
func.func @cache_dim(%n: !n, %k: tensor<?x2x?x128xf16>, %f: tensor<?xi32>) {
  // expected-error @+1 {{expects source and cache to agree in head dim, got 64 and 128}}
  %0 = attention.append %n, %k at %f : !n, tensor<?x2x?x128xf16>, tensor<?xi32>
  return
}

// -----

!n = tensor<?x2x?x64xf16>

// append C3
func.func @cache_heads(%n: !n, %k: tensor<?x4x?x64xf16>, %f: tensor<?xi32>) {
  // expected-error @+1 {{expects source and cache to agree in heads, got 2 and 4}}
  %0 = attention.append %n, %k at %f : !n, tensor<?x4x?x64xf16>, tensor<?xi32>
  return
}

// -----

// append C3
func.func @cache_batch(%n: tensor<2x2x?x64xf16>, %k: tensor<3x2x?x64xf16>, %f: tensor<2xi32>) {
  // expected-error @+1 {{expects source and cache to agree in batch, got 2 and 3}}
  %0 = attention.append %n, %k at %f : tensor<2x2x?x64xf16>, tensor<3x2x?x64xf16>, tensor<2xi32>
  return
}

// -----

!n = tensor<?x2x?x64xf16>

// append C4
func.func @append_first(%n: !n, %f: tensor<?x?xi32>) {
  // expected-error @+1 {{expects first positions of rank 1 and i32, got 'tensor<?x?xi32>'}}
  %0 = attention.append %n, %n at %f : !n, !n, tensor<?x?xi32>
  return
}

// -----

!n = tensor<?x2x?x64xf16>

// append C7
func.func @mod_of_lengths(%n: !n, %f: tensor<?xi32>) {
  // expected-error @+1 {{expects mods that say where keys are, as #attention.paged, got #attention.used<k = 0>}}
  %0 = attention.append %n, %n at %f aux(%f : tensor<?xi32>) mods [#attention.used<k = 0>] : !n, !n, tensor<?xi32>
  return
}

// -----

!n = tensor<?x2x?x64xf16>

// append C7
func.func @mod_of_packing(%n: !n, %f: tensor<?xi32>) {
  // expected-error @+1 {{expects mods that say where keys are, as #attention.paged, got #attention.packed<k = 0>}}
  %0 = attention.append %n, %n at %f aux(%f : tensor<?xi32>) mods [#attention.packed<k = 0>] : !n, !n, tensor<?xi32>
  return
}

// -----

!n = tensor<?x2x?x64xf16>

// append C7
func.func @mod_rows(%n: !n, %f: tensor<?xi32>, %table: tensor<?x?xi32>) {
  // expected-error @+1 {{#attention.paged expects a static number of rows in a page, got 'tensor<?x2x?x64xf16>'}}
  %0 = attention.append %n, %n at %f aux(%table : tensor<?x?xi32>) mods [#attention.paged<table = 0>] : !n, !n, tensor<?xi32>
  return
}

// -----

!n = tensor<?x2x?x64xf16>

func.func @types(%n: !n, %f: tensor<?xi32>) {
  // expected-error @+1 {{expects types of source, cache and first positions, got 2}}
  %0 = attention.append %n, %n at %f : !n, !n
  return
}

// -----

!n = tensor<?x2x?x64xf16>
!k = tensor<?x2x?x64xf8E4M3FN>

// append C9
func.func @two_scales(%n: !n, %k: !k, %f: tensor<?xi32>, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{expects scales to be one operand, got 2}}
  %0 = attention.append %n, %k at %f scales(%s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>) : !n, !k, tensor<?xi32>
  return
}

// -----

!n = tensor<?x2x?x64xf16>
!k = tensor<?x2x?x64xf8E4M3FN>

// append C9
func.func @no_scales(%n: !n, %k: !k, %f: tensor<?xi32>) {
  // expected-error @+1 {{expects scales for a cache of 8 bits}}
  %0 = attention.append %n, %k at %f : !n, !k, tensor<?xi32>
  return
}

// -----

!n = tensor<?x2x?x64xf16>
!k = tensor<?x2x?x64xf8E4M3FN>

// append C9
func.func @scales_of_16_bits(%n: !n, %f: tensor<?xi32>, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{has scales: expects a cache of f8E4M3FN or f8E5M2, got 'f16'}}
  %0 = attention.append %n, %n at %f scales(%s : tensor<1x1x1xf32>) : !n, !n, tensor<?xi32>
  return
}

// -----

!n = tensor<?x2x?x64xf16>
!k = tensor<?x2x?x64xf8E4M3FN>

// append C9
func.func @rank_of_scales(%n: !n, %k: !k, %f: tensor<?xi32>, %s: tensor<1x1xf32>) {
  // expected-error @+1 {{expects scales of rank 3 and f32, got 'tensor<1x1xf32>'}}
  %0 = attention.append %n, %k at %f scales(%s : tensor<1x1xf32>) : !n, !k, tensor<?xi32>
  return
}

// -----

!n = tensor<?x2x?x64xf16>
!k = tensor<?x2x?x64xf8E4M3FN>

// append C9
func.func @extents_of_scales(%n: !n, %k: !k, %f: tensor<?xi32>, %s: tensor<?x4x1xf32>) {
  // expected-error @+1 {{expects scales to have extent 1 or 2 in dimension 1, got 4}}
  %0 = attention.append %n, %k at %f scales(%s : tensor<?x4x1xf32>) : !n, !k, tensor<?xi32>
  return
}

// -----

!n = tensor<?x2x?x72xf16>
!k = tensor<?x2x?x72xf8E4M3FN>

// append C2
func.func @dim_of_8_bits(%n: !n, %k: !k, %f: tensor<?xi32>, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{has a cache of 8 bits: expects a head dim that is a multiple of 16, got 72}}
  %0 = attention.append %n, %k at %f scales(%s : tensor<1x1x1xf32>) : !n, !k, tensor<?xi32>
  return
}
