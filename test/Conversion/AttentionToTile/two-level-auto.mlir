// So many known 8-bit keys that one level loses what a step adds get two, if
// there are registers for that.
// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile=last-block=whole -split-input-file | FileCheck %s
// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile="two-level-accumulation=false last-block=whole" -split-input-file | FileCheck %s --check-prefix=FALSE
// RUN: not fa3-opt %s -attention-expand-mods -attention-to-tile=two-level-accumulation=maybe -split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: for the --two-level-accumulation option: expects 'auto', 'true' or 'false', got 'maybe'

// FALSE-COUNT-6: tile.where

!q = tensor<1x1x64x128xf8E4M3FN>
!k = tensor<1x1x32768x128xf8E4M3FN>
!o = tensor<1x1x64x128xf16>
!s = tensor<1x1x1xf32>
// CHECK-LABEL: gpu.func @long
// CHECK-NOT: tile.where
// CHECK: %[[PRODUCT:.*]] = tile.dot {{.*}} lhs mk rhs kn
// CHECK: math.fma %{{.*}}, %{{.*}}, %[[PRODUCT]]
func.func @long(%q: !q, %k: !k, %v: !k, %qs: !s, %ks: !s, %vs: !s) -> !o {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) : (!q, !k, !k) -> !o
  return %o : !o
}

// -----

!q = tensor<1x1x64x128xf8E4M3FN>
!k = tensor<1x1x32767x128xf8E4M3FN>
!o = tensor<1x1x64x128xf16>
!s = tensor<1x1x1xf32>
// CHECK-LABEL: gpu.func @shorter
// CHECK: tile.where
func.func @shorter(%q: !q, %k: !k, %v: !k, %qs: !s, %ks: !s, %vs: !s) -> !o {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) : (!q, !k, !k) -> !o
  return %o : !o
}

// -----

!q = tensor<1x1x64x256xf8E4M3FN>
!k = tensor<1x1x65536x256xf8E4M3FN>
!o = tensor<1x1x64x256xf16>
!s = tensor<1x1x1xf32>
// CHECK-LABEL: gpu.func @wide
// CHECK: tile.where
func.func @wide(%q: !q, %k: !k, %v: !k, %qs: !s, %ks: !s, %vs: !s) -> !o {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) : (!q, !k, !k) -> !o
  return %o : !o
}

// -----

!q = tensor<1x1x64x128xf16>
!k = tensor<1x1x65536x128xf16>
// CHECK-LABEL: gpu.func @half
// CHECK: tile.where
func.func @half(%q: !q, %k: !k, %v: !k) -> !q {
  %o = attention.forward %q, %k, %v : (!q, !k, !k) -> !q
  return %o : !q
}

// -----

// Nobody sees more than 1025 keys.
!q = tensor<1x1x64x128xf8E4M3FN>
!k = tensor<1x1x65536x128xf8E4M3FN>
!o = tensor<1x1x64x128xf16>
!s = tensor<1x1x1xf32>
// CHECK-LABEL: gpu.func @window
// CHECK: tile.where
func.func @window(%q: !q, %k: !k, %v: !k, %qs: !s, %ks: !s, %vs: !s) -> !o {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) mods [#attention.window<left = 1024, right = 0>] : (!q, !k, !k) -> !o
  return %o : !o
}

// -----

// Columns as numbers and as a mask beside both sums: a narrower step.
!q = tensor<1x1x64x128xf8E4M3FN>
!k = tensor<1x1x40000x128xf8E4M3FN>
!o = tensor<1x1x64x128xf16>
!s = tensor<1x1x1xf32>
// CHECK-LABEL: gpu.func @causal_alibi
// CHECK: tile.load %arg1{{.*}} -> tensor<64x128xf8E4M3FN>
func.func @causal_alibi(%q: !q, %k: !k, %v: !k, %slopes: tensor<1xf32>, %qs: !s, %ks: !s, %vs: !s) -> !o {
  %o = attention.forward %q, %k, %v aux(%slopes : tensor<1xf32>) scales(%qs, %ks, %vs : !s, !s, !s) mods [#attention.causal, #attention.alibi<aux = 0>] : (!q, !k, !k) -> !o
  return %o : !o
}
