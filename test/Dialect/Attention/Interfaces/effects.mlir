// What nobody uses goes, but what writes a cache.
// RUN: fa3-opt %s -canonicalize | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: func.func @dead
// CHECK-NEXT: attention.append %arg0, %arg0 at %arg1
// CHECK-NEXT: return
func.func @dead(%x: tensor<2x4x8x64xf16>, %first: tensor<2xi32>, %cos: tensor<40x32xf32>, %lse: tensor<2x4x8xf32>, %parts: tensor<3x2x4x8x64xf32>, %lses: tensor<3x2x4x8xf32>) {
  %r = attention.rotary %x, %cos, %cos at %first : tensor<2x4x8x64xf16>, tensor<40x32xf32>, tensor<2xi32>
  %k = attention.append %x, %x at %first : tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>, tensor<2xi32>
  %o = attention.forward %r, %x, %x aux(%first : tensor<2xi32>) : (tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>) -> tensor<2x4x8x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %0 = tensor.extract %first[%b] : tensor<2xi32>
      %1 = arith.index_cast %0 : i32 to index
      %2 = arith.cmpi slt, %j, %1 : index
      attention.yield %2 : i1
    }
  %g:3 = attention.backward %x, %x, %x, %o, %lse, %x : (tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>, tensor<2x4x8xf32>, tensor<2x4x8x64xf16>) -> (tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>)
  %m:2 = attention.merge %parts, %lses : tensor<3x2x4x8x64xf32>, tensor<3x2x4x8xf32> -> tensor<2x4x8x64xf16>, tensor<2x4x8xf32>
  return
}
