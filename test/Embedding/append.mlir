// Steps of decoding: keys, rotated, and values go into caches that the loop
// carries, in place, and a query sees what is there up to its own.
// REQUIRES: mlir-runner
// RUN: %embedding --kernels 3
// RUN: cat %S/Inputs/prelude.mlir %s | fa3-opt -attention-outline | FileCheck %s
// RUN: cat %S/Inputs/prelude.mlir %s | %mlir_fa3 --pass-pipeline='builtin.module(fa3-tile,one-shot-bufferize{bufferize-function-boundaries allow-return-allocs-from-loops function-boundary-type-conversion=identity-layout-map},canonicalize)' | FileCheck %s --check-prefix=PLACE

// CHECK-LABEL: func.func private @steps(
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[KEYS:.*]] = %{{.*}}, %[[VALUES:.*]] = %{{.*}}) ->
// CHECK-NOT: attention.append
// CHECK: %[[K:.*]] = attention.call @steps_append({{.*}}) updates outs(%[[KEYS]] :
// CHECK: %[[V:.*]] = attention.call @steps_append_1({{.*}}) updates outs(%[[VALUES]] :
// CHECK: attention.call @steps_attention(%{{.*}}, %[[K]], %[[V]],
// CHECK: func.func private @steps_append(
// CHECK-NEXT: attention.rotary
// CHECK-NEXT: attention.append
// CHECK-NEXT: return

// PLACE-LABEL: func.func private @steps(
// PLACE: scf.for
// PLACE-NOT: memref.copy {{.*}}2x2x20x16xf16
// PLACE: attention.call @steps_append({{.*}}) updates outs(
// PLACE-NOT: memref.copy {{.*}}2x2x20x16xf16
// PLACE: attention.call @steps_append_1({{.*}}) updates outs(
// PLACE-NOT: memref.copy {{.*}}2x2x20x16xf16
// PLACE: return

!new = tensor<2x2x1x16xf16>
!cache = tensor<2x2x20x16xf16>
!table = tensor<40x8xf32>
func.func private @get(%seed: index) -> !cache {
  %n = arith.constant 1280 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<1280xf16>
  %q = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [2, 2, 20, 16] : tensor<1280xf16> into !cache
  return %q : !cache
}
func.func private @get_table(%seed: index) -> !table {
  %n = arith.constant 320 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<320xf16>
  %c = tensor.expand_shape %b [[0, 1]] output_shape [40, 8] : tensor<320xf16> into tensor<40x8xf16>
  %e = tensor.empty() : !table
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<40x8xf16>) outs(%e : !table) {
  ^bb0(%x: f16, %unused: f32):
    %y = arith.extf %x : f16 to f32
    linalg.yield %y : f32
  } -> !table
  return %d : !table
}
func.func private @show(%x: !cache) {
  %r = tensor.collapse_shape %x [[0, 1, 2, 3]] : !cache into tensor<1280xf16>
  %s = tensor.cast %r : tensor<1280xf16> to tensor<?xf16>
  call @print(%s) : (tensor<?xf16>) -> ()
  return
}
func.func private @steps(%x: !cache, %keys: !cache, %values: !cache, %cos: !table, %sin: !table, %count: index) -> (!new, !cache, !cache) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : !new
  %zero = arith.constant 0.0 : f16
  %start = linalg.fill ins(%zero : f16) outs(%e : !new) -> !new
  %base = arith.constant dense<[4, 9]> : tensor<2xi32>
  %r:3 = scf.for %i = %c0 to %count step %c1 iter_args(%last = %start, %ks = %keys, %vs = %values) -> (!new, !cache, !cache) {
    %step = arith.index_cast %i : index to i32
    %f = tensor.empty() : tensor<2xi32>
    %first = linalg.generic {indexing_maps = [affine_map<(b) -> (b)>, affine_map<(b) -> (b)>], iterator_types = ["parallel"]}
        ins(%base : tensor<2xi32>) outs(%f : tensor<2xi32>) {
    ^bb0(%a: i32, %unused: i32):
      %s = arith.addi %a, %step : i32
      linalg.yield %s : i32
    } -> tensor<2xi32>
    // Row i of x is the next token's.
    %row = tensor.extract_slice %x[0, 0, %i, 0] [2, 2, 1, 16] [1, 1, 1, 1] : !cache to !new
    %turned = attention.rotary %row, %cos, %sin at %first : !new, !table, tensor<2xi32>
    %k = attention.append %turned, %ks at %first : !new, !cache, tensor<2xi32>
    %v = attention.append %row, %vs at %first : !new, !cache, tensor<2xi32>
    %sequences = attention.sequences
      lengths (%b) {
        %before = tensor.extract %first[%b] : tensor<2xi32>
        %old = arith.index_cast %before : i32 to index
        %new = attention.length query
        %n = arith.addi %old, %new : index
        attention.yield %new, %n : index, index
      }
    %o = attention.forward %row, %k, %v aux(%first : tensor<2xi32>) scale 0.1 sequences %sequences : (!new, !cache, !cache) -> !new
    %sum = linalg.add ins(%last, %o : !new, !new) outs(%e : !new) -> !new
    scf.yield %sum, %k, %v : !new, !cache, !cache
  }
  return %r#0, %r#1, %r#2 : !new, !cache, !cache
}
func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %x = call @get(%c1) : (index) -> !cache
  %keys = call @get(%c2) : (index) -> !cache
  %values = call @get(%c3) : (index) -> !cache
  %cos = call @get_table(%c4) : (index) -> !table
  %sin = call @get_table(%c5) : (index) -> !table
  %o, %k, %v = call @steps(%x, %keys, %values, %cos, %sin, %c4) : (!cache, !cache, !cache, !table, !table, index) -> (!new, !cache, !cache)
  %flat = tensor.collapse_shape %o [[0, 1, 2, 3]] : !new into tensor<64xf16>
  %any = tensor.cast %flat : tensor<64xf16> to tensor<?xf16>
  call @print(%any) : (tensor<?xf16>) -> ()
  call @show(%k) : (!cache) -> ()
  call @show(%v) : (!cache) -> ()
  return
}
