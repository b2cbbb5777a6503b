// RUN: fa3-opt %s -split-input-file -verify-diagnostics

// 8-bit copies in attention.backward: C31 to C33.

// -----

// backward C31
!t = tensor<1x2x?x64xbf16>
!l = tensor<1x2x?xf32>
!e = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x1x1xf32>
func.func @three(%q: !t, %l: !l, %e: !e, %s: !s) {
  // expected-error @+1 {{expects 8-bit copies of q, k, v and do, and a scale for each, got 3 and 4}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q quantized(%e, %e, %e : !e, !e, !e) scales(%s, %s, %s, %s : !s, !s, !s, !s)
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return
}

// -----

// backward C31
!t = tensor<1x2x?x64xbf16>
!l = tensor<1x2x?xf32>
!e = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x1x1xf32>
func.func @no_scale(%q: !t, %l: !l, %e: !e, %s: !s) {
  // expected-error @+1 {{expects 8-bit copies of q, k, v and do, and a scale for each, got 4 and 1}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q quantized(%e, %e, %e, %e : !e, !e, !e, !e) scales(%s : !s)
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return
}

// -----

// backward C31
!t = tensor<1x2x?x64xbf16>
!l = tensor<1x2x?xf32>
!e = tensor<1x2x?x64xi8>
!s = tensor<1x1x1xf32>
func.func @integers(%q: !t, %l: !l, %e: !e, %s: !s) {
  // expected-error @+1 {{expects 8-bit copies of f8E4M3FN or f8E5M2, got 'i8'}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q quantized(%e, %e, %e, %e : !e, !e, !e, !e) scales(%s, %s, %s, %s : !s, !s, !s, !s)
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return
}

// -----

// backward C31
!t = tensor<1x2x?x64xbf16>
!l = tensor<1x2x?xf32>
!e = tensor<1x2x?x64xf8E4M3FN>
!f = tensor<1x2x?x64xf8E5M2>
!s = tensor<1x1x1xf32>
func.func @two_types(%q: !t, %l: !l, %e: !e, %f: !f, %s: !s) {
  // expected-error @+1 {{expects 8-bit copies of one element type, got 'f8E4M3FN' and 'f8E5M2' for do}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q quantized(%e, %e, %e, %f : !e, !e, !e, !f) scales(%s, %s, %s, %s : !s, !s, !s, !s)
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return
}

// -----

// backward C31
!t = tensor<1x2x?x64xbf16>
!l = tensor<1x2x?xf32>
!e = tensor<1x2x?x32xf8E4M3FN>
!s = tensor<1x1x1xf32>
func.func @shape(%q: !t, %l: !l, %e: !e, %s: !s) {
  // expected-error @+1 {{expects the 8-bit copy of q to have its shape ('tensor<1x2x?x64xbf16>'), got 'tensor<1x2x?x32xf8E4M3FN>'}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q quantized(%e, %e, %e, %e : !e, !e, !e, !e) scales(%s, %s, %s, %s : !s, !s, !s, !s)
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return
}

// -----

// backward C31
!t = tensor<1x2x?x72xbf16>
!l = tensor<1x2x?xf32>
!e = tensor<1x2x?x72xf8E4M3FN>
!s = tensor<1x1x1xf32>
func.func @odd(%q: !t, %l: !l, %e: !e, %s: !s) {
  // expected-error @+1 {{expects 8-bit copies with head dims that are multiples of 16 up to 256, that of q is 72}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q quantized(%e, %e, %e, %e : !e, !e, !e, !e) scales(%s, %s, %s, %s : !s, !s, !s, !s)
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return
}

// -----

// backward C31
!t = tensor<1x2x?x512xbf16>
!l = tensor<1x2x?xf32>
!e = tensor<1x2x?x512xf8E4M3FN>
!s = tensor<1x1x1xf32>
func.func @wide(%q: !t, %l: !l, %e: !e, %s: !s) {
  // expected-error @+1 {{expects 8-bit copies with head dims that are multiples of 16 up to 256, that of q is 512}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q quantized(%e, %e, %e, %e : !e, !e, !e, !e) scales(%s, %s, %s, %s : !s, !s, !s, !s)
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return
}

// -----

// backward C32
!t = tensor<1x2x?x64xbf16>
!l = tensor<1x2x?xf32>
!e = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x1xf32>
func.func @scale_rank(%q: !t, %l: !l, %e: !e, %s: !s) {
  // expected-error @+1 {{expects scales of rank 3 and f32, got 'tensor<1x1xf32>'}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q quantized(%e, %e, %e, %e : !e, !e, !e, !e) scales(%s, %s, %s, %s : !s, !s, !s, !s)
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return
}

// -----

// backward C32
!t = tensor<1x2x?x64xbf16>
!l = tensor<1x2x?xf32>
!e = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x1x?xf32>
func.func @scale_rows(%q: !t, %l: !l, %e: !e, %s: !s) {
  // expected-error @+1 {{expects scales for whole sequences, with a last extent of 1, got 'tensor<1x1x?xf32>'}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q quantized(%e, %e, %e, %e : !e, !e, !e, !e) scales(%s, %s, %s, %s : !s, !s, !s, !s)
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return
}

// -----

// backward C33
!t = tensor<1x2x?x64xbf16>
!l = tensor<1x2x?xf32>
!e = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x1x1xf32>
func.func @bound(%q: !t, %l: !l, %e: !e, %s: !s, %n: index) {
  %sequences = attention.sequences max_q %n
  // expected-error @+1 {{expects no 'max_q' beside 8-bit copies}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q quantized(%e, %e, %e, %e : !e, !e, !e, !e) scales(%s, %s, %s, %s : !s, !s, !s, !s) sequences %sequences
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return
}

// -----

// backward C33
!t = tensor<1x2x?x64xbf16>
!l = tensor<1x2x?xf32>
!e = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x1x1xf32>
func.func @lengths(%q: !t, %l: !l, %e: !e, %s: !s, %n: tensor<1xi32>) {
  // expected-error @+1 {{expects no lengths of sequences beside 8-bit copies}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q quantized(%e, %e, %e, %e : !e, !e, !e, !e) scales(%s, %s, %s, %s : !s, !s, !s, !s) aux(%n : tensor<1xi32>) mods [#attention.used<k = 0>]
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return
}

// -----

// backward C33
!t = tensor<1x2x?x64xbf16>
!l = tensor<1x2x?xf32>
!e = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x1x1xf32>
func.func @gradient(%q: !t, %l: !l, %e: !e, %s: !s, %b: tensor<1x2x?x?xbf16>) {
  // expected-error @+1 {{expects no 'grad_aux' beside 8-bit copies}}
  %0:4 = attention.backward %q, %q, %q, %q, %l, %q quantized(%e, %e, %e, %e : !e, !e, !e, !e) scales(%s, %s, %s, %s : !s, !s, !s, !s) aux(%b : tensor<1x2x?x?xbf16>) grad_aux [0] mods [#attention.bias<aux = 0>]
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t, tensor<1x2x?x?xbf16>)
  return
}

// -----

// backward C33
!t = tensor<1x2x?x64xbf16>
!l = tensor<1x2x?xf32>
!e = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x1x1xf32>
func.func @places(%q: !t, %l: !l, %e: !e, %s: !s) {
  %sequences = attention.sequences
    lengths (%b) {
      %one = arith.constant 1 : index
      attention.yield %one, %one : index, index
    }
    place_q (%b, %h, %i) {
      attention.yield %b, %h, %i : index, index, index
    }
  // expected-error @+1 {{expects no places of sequences beside 8-bit copies}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q quantized(%e, %e, %e, %e : !e, !e, !e, !e) scales(%s, %s, %s, %s : !s, !s, !s, !s) sequences %sequences
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return
}

// -----

// backward C33
!t = tensor<1x2x?x64xbf16>
!l = tensor<1x2x?xf32>
!e = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x1x1xf32>
func.func @epilogue(%q: !t, %l: !l, %e: !e, %s: !s) {
  // expected-error @+1 {{expects no 'epilogue' beside 8-bit copies}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q quantized(%e, %e, %e, %e : !e, !e, !e, !e) scales(%s, %s, %s, %s : !s, !s, !s, !s)
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
    epilogue (%x, %b, %h, %i, %c) {
      attention.yield %x : f32
    }
  return
}

// -----

// backward C33
!t = tensor<1x2x?x64xbf16>
!l = tensor<1x2x?xf32>
!e = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x1x1xf32>
func.func @lists(%q: !t, %l: !l, %e: !e, %s: !s, %n: tensor<1x1x?xi32>, %x: tensor<1x1x?x?xi32>) {
  // expected-error @+1 {{expects no lists of blocks beside 8-bit copies}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q quantized(%e, %e, %e, %e : !e, !e, !e, !e) scales(%s, %s, %s, %s : !s, !s, !s, !s) aux(%n, %x : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>) mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 64>, #attention.blocks<count = 0, index = 1, queries = 128, keys = 64, by = key>]
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return
}
