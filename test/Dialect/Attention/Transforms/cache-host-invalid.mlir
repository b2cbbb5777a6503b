// RUN: fa3-opt %s -attention-to-reference -split-input-file -verify-diagnostics

// What attention.rotary and attention.append may take in a host function, and
// who may take their results.

!t = tensor<?x2x?x64xf16>
!c = tensor<?x32xf32>
!f = tensor<?xi32>
func.func @mods(%n: !t, %k: tensor<?x2x16x64xf16>, %f: !f, %table: tensor<?x?xi32>) {
  // expected-error @+1 {{expects mods to be expanded, run attention-expand-mods first}}
  %0 = attention.append %n, %k at %f aux(%table : tensor<?x?xi32>) mods [#attention.paged<table = 0>] : !t, tensor<?x2x16x64xf16>, !f
  return
}

// -----

!t = tensor<?x2x?x64xf16>
!c = tensor<?x32xf32>
!f = tensor<?xi32>
func.func @unused(%x: !t, %c: !c, %f: !f) {
  // expected-error @+1 {{expects its result to be used}}
  %0 = attention.rotary %x, %c, %c at %f : !t, !c, !f
  return
}

// -----

!t = tensor<?x2x?x64xf16>
!c = tensor<?x32xf32>
!f = tensor<?xi32>
func.func @twice(%x: !t, %c: !c, %f: !f) -> !t {
  // expected-error @+1 {{expects its result to be q, k or v of 'attention.forward', the source of 'attention.append', or returned}}
  %0 = attention.rotary %x, %c, %c at %f : !t, !c, !f
  // expected-note @+1 {{it is used here}}
  %1 = attention.rotary %0, %c, %c at %f : !t, !c, !f
  return %1 : !t
}

// -----

!t = tensor<?x2x?x64xf16>
!c = tensor<?x32xf32>
!f = tensor<?xi32>
func.func @turned_cache(%x: !t, %c: !c, %f: !f) {
  // expected-error @+1 {{expects its result to be q, k or v of 'attention.forward', the source of 'attention.append', or returned}}
  %0 = attention.rotary %x, %c, %c at %f : !t, !c, !f
  // expected-note @+1 {{it is used here}}
  %1 = attention.append %x, %0 at %f : !t, !t, !f
  return
}

// -----

!t = tensor<?x2x?x64xf16>
!c = tensor<?x32xf32>
func.func @computed(%x: !t, %c: !c) -> !t {
  // expected-note @+1 {{it is computed here}}
  %f = arith.constant dense<0> : tensor<3xi32>
  // expected-error @+1 {{expects first positions to be an argument of the function}}
  %0 = attention.rotary %x, %c, %c at %f : !t, !c, tensor<3xi32>
  return %0 : !t
}

// -----

!t = tensor<?x2x?x64xf16>
!k = tensor<?x2x?x64xf8E4M3FN>
!c = tensor<?x32xf32>
!f = tensor<?xi32>
!s = tensor<1x1x1xf32>
func.func @turned_into_8_bits(%x: !t, %k: !k, %c: !c, %f: !f, %s: !s) {
  %0 = attention.rotary %x, %c, %c at %f : !t, !c, !f
  // expected-error @+1 {{has a cache of 8 bits: expects a source that is not the result of 'attention.rotary'}}
  %1 = attention.append %0, %k at %f scales(%s : !s) : !t, !k, !f
  return
}

// -----

!t = tensor<?x2x?x64xf16>
!k = tensor<?x2x?x64xf8E4M3FN>
!f = tensor<?xi32>
func.func @computed_scales(%x: !t, %k: !k, %f: !f) {
  // expected-note @+1 {{it is computed here}}
  %s = arith.constant dense<1.0> : tensor<1x1x1xf32>
  // expected-error @+1 {{expects scales to be an argument of the function}}
  %1 = attention.append %x, %k at %f scales(%s : tensor<1x1x1xf32>) : !t, !k, !f
  return
}

// -----

!t = tensor<?x2x?x64xf16>
!f = tensor<?xi32>
func.func @returned(%n: !t, %k: !t, %f: !f) -> !t {
  // expected-error @+1 {{expects its result, the caller's cache, to be k or v of 'attention.forward' only}}
  %0 = attention.append %n, %k at %f : !t, !t, !f
  // expected-note @+1 {{it is used here}}
  return %0 : !t
}

// -----

!t = tensor<?x2x?x64xf16>
!f = tensor<?xi32>
func.func @old_cache(%q: !t, %n: !t, %k: !t, %f: !f) -> !t {
  // expected-error @+1 {{expects nothing else to use its cache, which it writes in place: its result is to be used}}
  %0 = attention.append %n, %k at %f : !t, !t, !f
  // expected-note @+1 {{it is used here}}
  %o = attention.forward %q, %0, %k : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x2x?x64xf16>
!f = tensor<?xi32>
func.func @own_source(%n: !t, %f: !f) {
  // expected-error @+2 {{expects nothing else to use its cache, which it writes in place: its result is to be used}}
  // expected-note @+1 {{it is used here}}
  %0 = attention.append %n, %n at %f : !t, !t, !f
  return
}

// -----

!t = tensor<?x2x?x64xf16>
!f = tensor<?xi32>
func.func @layouts(%q: !t, %n: !t, %k: !t, %f: !f) -> !t {
  // expected-error @+1 {{expects the layout of who takes its result, 'bhsd', got 'bshd'}}
  %0 = attention.append %n, %k at %f layout bshd : !t, !t, !f
  %o = attention.forward %q, %0, %0 : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!f = tensor<?xi32>
func.func @batches(%n: tensor<2x2x?x64xf16>, %k: tensor<2x2x?x64xf16>, %m: tensor<3x2x?x64xf16>, %l: tensor<3x2x?x64xf16>, %f: !f) {
  %0 = attention.append %n, %k at %f : tensor<2x2x?x64xf16>, tensor<2x2x?x64xf16>, !f
  // expected-error @+1 {{expects the batch extent of what is turned or appended beside it (2), got 3}}
  %1 = attention.append %m, %l at %f : tensor<3x2x?x64xf16>, tensor<3x2x?x64xf16>, !f
  return
}

// -----

!t = tensor<?x2x?x64xf16>
!f = tensor<?xi32>
func.func @index(%n: !t, %k: !t, %f: !f, %a: tensor<?xi32>) {
  %sequences = attention.sequences
    place_k (%b, %h, %j) {
      %c-1 = arith.constant -1 : index
      // expected-error @+1 {{expects indices of at least 0, got -1}}
      %x = tensor.extract %a[%c-1] : tensor<?xi32>
      %p = arith.index_cast %x : i32 to index
      attention.yield %p, %h, %j : index, index, index
    }
  %0 = attention.append %n, %k at %f aux(%a : tensor<?xi32>) sequences %sequences : !t, !t, !f
  return
}
