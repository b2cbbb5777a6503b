// RUN: fa3-opt %s -attention-quantize | FileCheck %s
// RUN: fa3-opt %s -attention-quantize="scales=tensor format=f8E5M2" | FileCheck %s --check-prefix=TENSOR
// RUN: fa3-opt %s -attention-quantize="scales=block" | FileCheck %s --check-prefix=BLOCK
// RUN: fa3-opt %s -attention-quantize="scales=block block-rows=128,96,32" | FileCheck %s --check-prefix=ROWS
// RUN: fa3-opt %s -attention-quantize="scales=token hadamard" | FileCheck %s --check-prefix=TOKEN
// RUN: fa3-opt %s -attention-quantize="qk-format=i8" | FileCheck %s --check-prefix=INTEGER
// RUN: fa3-opt %s -attention-quantize="q-terms=2" | FileCheck %s --check-prefix=TERMS

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[Q:.*]]: tensor<2x4x300x64xbf16>, %[[K:.*]]: tensor<2x2x?x64xbf16>, %[[V:.*]]: tensor<2x2x?x32xbf16>) ->
// CHECK: %[[Q8:.*]], %[[QS:.*]] = attention.quantize %[[Q]] : tensor<2x4x300x64xbf16> -> tensor<2x4x300x64xf8E4M3FN>, tensor<2x4x1xf32>
// CHECK: %[[K8:.*]], %[[KS:.*]] = attention.quantize %[[K]] : tensor<2x2x?x64xbf16> -> tensor<2x2x?x64xf8E4M3FN>, tensor<2x2x1xf32>
// CHECK: %[[V8:.*]], %[[VS:.*]] = attention.quantize %[[V]] : tensor<2x2x?x32xbf16> -> tensor<2x2x?x32xf8E4M3FN>, tensor<2x2x1xf32>
// CHECK: attention.forward %[[Q8]], %[[K8]], %[[V8]]
// CHECK-SAME: scales(%[[QS]], %[[KS]], %[[VS]] : tensor<2x4x1xf32>, tensor<2x2x1xf32>, tensor<2x2x1xf32>) mods [#attention.causal]
// CHECK-SAME: -> (tensor<2x4x300x32xbf16>, tensor<2x4x300xf32>)

// TENSOR-LABEL: func.func @forward(
// TENSOR-COUNT-3: f8E5M2>, tensor<1x1x1xf32>
// TENSOR: attention.forward

// INTEGER-LABEL: func.func @forward(
// INTEGER-COUNT-2: xi8>, tensor<2x{{[24]}}x1xf32>
// INTEGER: f8E4M3FN>, tensor<2x2x1xf32>
// INTEGER: attention.forward

// TERMS-LABEL: func.func @forward(
// TERMS: attention.quantize %{{[a-z0-9]+}} terms 2 : {{.*}} -> tensor<2x4x300x128xf8E4M3FN>, tensor<2x4x1xf32>
// TERMS: attention.quantize %{{[a-z0-9]+}} : {{.*}} -> tensor<2x2x?x64xf8E4M3FN>
// TERMS: attention.quantize %{{[a-z0-9]+}} : {{.*}} -> tensor<2x2x?x32xf8E4M3FN>
// TERMS: attention.forward
// TERMS-SAME: q_terms 2 mods

// BLOCK-LABEL: func.func @forward(
// BLOCK: attention.quantize %{{.*}} rows 128 : tensor<2x4x300x64xbf16> -> tensor<2x4x300x64xf8E4M3FN>, tensor<2x4x3xf32>
// BLOCK: attention.quantize %{{.*}} rows 128 : {{.*}}, tensor<2x2x?xf32>
// BLOCK: attention.quantize %{{.*}} rows 128 : {{.*}}, tensor<2x2x?xf32>
// BLOCK: rows [128, 128, 128] mods

// ROWS-LABEL: func.func @forward(
// ROWS: attention.quantize %{{.*}} rows 128 : {{.*}}, tensor<2x4x3xf32>
// ROWS: attention.quantize %{{.*}} rows 96 : {{.*}}, tensor<2x2x?xf32>
// ROWS: attention.quantize %{{.*}} rows 32 : {{.*}}, tensor<2x2x?xf32>
// ROWS: rows [128, 96, 32] mods

// TOKEN-LABEL: func.func @forward(
// TOKEN-SAME: %[[SIGNS:[a-z0-9]+]]: tensor<64xbf16> {tile.name = "signs"}) ->
// TOKEN: attention.quantize %{{.*}} rotate %[[SIGNS]] : tensor<64xbf16> rows 1 : {{.*}}, tensor<2x4x300xf32>
// TOKEN: attention.quantize %{{.*}} rotate %[[SIGNS]] : tensor<64xbf16> rows 1 : {{.*}}, tensor<2x2x?xf32>
// TOKEN: attention.quantize %{{[a-z0-9]+}} : {{.*}}, tensor<2x2x1xf32>
// TOKEN: rows [1, 1, 0] mods
func.func @forward(%q: tensor<2x4x300x64xbf16>, %k: tensor<2x2x?x64xbf16>, %v: tensor<2x2x?x32xbf16>)
    -> (tensor<2x4x300x32xbf16>, tensor<2x4x300xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal]
    : (tensor<2x4x300x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x32xbf16>) -> (tensor<2x4x300x32xbf16>, tensor<2x4x300xf32>)
  return %o, %lse : tensor<2x4x300x32xbf16>, tensor<2x4x300xf32>
}

// One tensor in two roles; another layout.
// BLOCK-LABEL: func.func @shared(
// BLOCK: attention.quantize %[[X:.*]] rows 128 layout bshd : {{.*}}, tensor<?x8x?xf32>
// BLOCK: attention.quantize %[[X]] rows 128 layout bshd :
// BLOCK: attention.quantize %[[X]] rows 128 layout bshd :
func.func @shared(%x: tensor<?x?x8x16xf16>) -> tensor<?x?x8x16xf16> {
  %o = attention.forward %x, %x, %x layout bshd
    : (tensor<?x?x8x16xf16>, tensor<?x?x8x16xf16>, tensor<?x?x8x16xf16>) -> tensor<?x?x8x16xf16>
  return %o : tensor<?x?x8x16xf16>
}

// What has 8 bits and scales stays.
// CHECK-LABEL: func.func @quantized(
// CHECK-NOT: attention.quantize
// TOKEN-LABEL: func.func @quantized(
// TOKEN-NOT: signs
// TOKEN-NOT: attention.quantize
func.func @quantized(%x: tensor<?x?x?x16xf8E5M2>, %s: tensor<1x1x1xf32>) -> tensor<?x?x?x16xf16> {
  %o = attention.forward %x, %x, %x scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
    : (tensor<?x?x?x16xf8E5M2>, tensor<?x?x?x16xf8E5M2>, tensor<?x?x?x16xf8E5M2>) -> tensor<?x?x?x16xf16>
  return %o : tensor<?x?x?x16xf16>
}
