// What nobody uses goes, but what writes a cache.
// RUN: fa3-opt %s -canonicalize -cse -loop-invariant-code-motion | FileCheck %s
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

// Two that put different rows at one place: both stay, in their order. Equal ones
// are no common expression, and what reads nothing of a cache is one.
// CHECK-LABEL: func.func @order
// CHECK-NEXT: attention.append %arg0, %arg2 at %arg3
// CHECK-NEXT: %[[R:.*]] = attention.rotary
// CHECK-NEXT: attention.append %arg1, %arg2 at %arg3
// CHECK-NEXT: attention.append %arg1, %arg2 at %arg3
// CHECK-NEXT: return %[[R]], %[[R]]
func.func @order(%x: tensor<2x4x8x64xf16>, %y: tensor<2x4x8x64xf16>, %cache: tensor<2x4x8x64xf16>, %first: tensor<2xi32>, %cos: tensor<40x32xf32>) -> (tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>) {
  %k = attention.append %x, %cache at %first : tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>, tensor<2xi32>
  %r = attention.rotary %x, %cos, %cos at %first : tensor<2x4x8x64xf16>, tensor<40x32xf32>, tensor<2xi32>
  %l = attention.append %y, %cache at %first : tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>, tensor<2xi32>
  %s = attention.rotary %x, %cos, %cos at %first : tensor<2x4x8x64xf16>, tensor<40x32xf32>, tensor<2xi32>
  %m = attention.append %y, %cache at %first : tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>, tensor<2xi32>
  return %r, %s : tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>
}

// A loop appends as often as it runs; one without effects of its own goes.
// CHECK-LABEL: func.func @loops
// CHECK: scf.for
// CHECK-NEXT: attention.append
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @loops(%x: tensor<2x4x8x64xf16>, %cache: tensor<2x4x8x64xf16>, %first: tensor<2xi32>, %cos: tensor<40x32xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %k = attention.append %x, %cache at %first : tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>, tensor<2xi32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %r = attention.rotary %x, %cos, %cos at %first : tensor<2x4x8x64xf16>, tensor<40x32xf32>, tensor<2xi32>
  }
  return
}

// A call that updates a tensor writes it, one that makes a tensor goes.
// CHECK-LABEL: func.func @calls
// CHECK-NEXT: attention.call @update(%arg0 : tensor<4xf16>) updates outs(%arg1 : tensor<4xf16>)
// CHECK-NEXT: return
func.func private @update(tensor<4xf16>, tensor<4xf16>)
func.func private @make(tensor<4xf16>) -> tensor<4xf16>
func.func @calls(%x: tensor<4xf16>, %cache: tensor<4xf16>) {
  %k = attention.call @update(%x : tensor<4xf16>) updates outs(%cache : tensor<4xf16>) -> tensor<4xf16>
  %o = attention.call @make(%x : tensor<4xf16>) outs(%cache : tensor<4xf16>) -> tensor<4xf16>
  return
}
