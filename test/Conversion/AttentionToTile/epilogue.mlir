// RUN: fa3-opt %s --attention-derive-gradient --attention-to-tile | FileCheck %s

// The code runs on the tile of the output, once, between the division by the sum
// of weights and the store; what it reads is loaded by the threads that use it.
// CHECK-LABEL: gpu.func @gate(
// CHECK: scf.for
// CHECK: arith.divf
// CHECK: %[[INVERSE:.*]] = tile.broadcast {{.*}} -> tensor<[[M:[0-9]+]]x64xf32>
// CHECK-NEXT: %[[X:.*]] = arith.mulf %{{.*}}, %[[INVERSE]]
// CHECK: %[[G:.*]] = tile.load {{.*}} {tile.role = "math"} : {{.*}} -> tensor<[[M]]x64xbf16>
// CHECK: %[[W:.*]] = arith.extf %[[G]]
// CHECK: %[[Y:.*]] = arith.mulf %[[X]], %[[W]]
// CHECK: %[[R:.*]] = arith.truncf %[[Y]] : tensor<[[M]]x64xf32> to tensor<[[M]]x64xbf16>
// CHECK: tile.store %[[R]]
func.func @gate(%q: tensor<1x2x?x64xbf16>, %gate: tensor<1x2x?x64xbf16>) -> tensor<1x2x?x64xbf16> {
  %o = attention.forward %q, %q, %q aux(%gate : tensor<1x2x?x64xbf16>)
    : (tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>) -> tensor<1x2x?x64xbf16>
    epilogue (%x, %b, %h, %i, %c) {
      %g = tensor.extract %gate[%b, %h, %i, %c] : tensor<1x2x?x64xbf16>
      %w = arith.extf %g : bf16 to f32
      %y = arith.mulf %x, %w : f32
      attention.yield %y : f32
    }
  return %o : tensor<1x2x?x64xbf16>
}

// Beside a wide output there are no registers for what is read: it goes to memory
// as it is, and a kernel of its own edits 32 columns at a time.
// CHECK-LABEL: func.func @wide(
// CHECK: memref.alloc({{.*}}) {tile.name = "o_unedited"} : memref<1x2x?x256xf32>
// CHECK: tile.launch @wide_kernels::@wide
// CHECK: tile.launch @wide_kernels::@wide_epilogue
// CHECK: gpu.func @wide(
// CHECK-NOT: truncf {{.*}} to tensor<{{[0-9]+}}x256xbf16>
// CHECK: tile.store {{.*}} : tensor<{{[0-9]+}}x256xf32>, memref<1x2x?x256xf32>
// CHECK: gpu.func @wide_epilogue(
// CHECK: %[[X:.*]] = tile.load {{.*}} -> tensor<64x32xf32>
// CHECK: %[[Y:.*]] = arith.mulf %[[X]],
// CHECK: tile.store {{.*}} : tensor<64x32xbf16>
func.func @wide(%q: tensor<1x2x?x256xbf16>, %gate: tensor<1x2x?x256xbf16>) -> tensor<1x2x?x256xbf16> {
  %o = attention.forward %q, %q, %q aux(%gate : tensor<1x2x?x256xbf16>)
    : (tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>) -> tensor<1x2x?x256xbf16>
    epilogue (%x, %b, %h, %i, %c) {
      %g = tensor.extract %gate[%b, %h, %i, %c] : tensor<1x2x?x256xbf16>
      %w = arith.extf %g : bf16 to f32
      %y = arith.mulf %x, %w : f32
      attention.yield %y : f32
    }
  return %o : tensor<1x2x?x256xbf16>
}

// Parts of the keys are merged first, in either of the kernels that merge.
// CHECK-LABEL: gpu.func @parts(
// CHECK-NOT: math.tanh
// CHECK-LABEL: gpu.func @parts_merge_few(
// CHECK: math.tanh
// CHECK: tile.store
// CHECK-LABEL: gpu.func @parts_merge(
// CHECK: math.tanh
// CHECK: tile.store
func.func @parts(%q: tensor<1x2x?x64xbf16>, %n: index) -> tensor<1x2x?x64xbf16> {
  %o = attention.forward %q, %q, %q splits %n
    : (tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>) -> tensor<1x2x?x64xbf16>
    epilogue (%x, %b, %h, %i, %c) {
      %y = math.tanh %x : f32
      attention.yield %y : f32
    }
  return %o : tensor<1x2x?x64xbf16>
}

// The gradient with respect to o is rounded, stored, and read by the others.
// CHECK-LABEL: func.func @gradient(
// CHECK: memref.alloc({{.*}}) {tile.name = "do_plain"} : memref<1x2x?x64xbf16>
// CHECK: gpu.func @gradient_delta(
// CHECK: %[[DX:.*]] = arith.mulf %{{.*}}, %{{.*}} fastmath<reassoc,contract> : tensor<64x32xf32>
// CHECK: tile.store %{{.*}} : tensor<64x32xbf16>, memref<1x2x?x64xbf16
// CHECK: %[[R:.*]] = arith.truncf %[[DX]]
// CHECK: tile.store %[[R]]
// CHECK: %[[W:.*]] = arith.extf %[[R]]
// CHECK: arith.mulf %{{.*}}, %[[W]]
func.func @gradient(%q: tensor<1x2x?x64xbf16>, %lse: tensor<1x2x?xf32>, %gate: tensor<1x2x?x64xbf16>)
    -> (tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>) {
  %g:4 = attention.backward %q, %q, %q, %q, %lse, %q aux(%gate : tensor<1x2x?x64xbf16>) grad_aux [0]
    : (tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?xf32>, tensor<1x2x?x64xbf16>)
    -> (tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>)
    epilogue (%x, %b, %h, %i, %c) {
      %g = tensor.extract %gate[%b, %h, %i, %c] : tensor<1x2x?x64xbf16>
      %w = arith.extf %g : bf16 to f32
      %y = arith.mulf %x, %w : f32
      attention.yield %y : f32
    }
  return %g#0, %g#1, %g#2, %g#3 : tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>
}
