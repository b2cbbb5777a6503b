// Attention in tiles, by upstream's transform dialect: of batches, of heads (whole
// groups and parts of them) and of queries, with a rest. What masks and scores
// know of batch, head and query is that of the whole.
// REQUIRES: mlir-runner
// RUN: %embedding --kernels 5 --before 'transform-preload-library{transform-library-paths=%S/Inputs/tiles-library.mlir},transform-interpreter,canonicalize,cse'
// RUN: cat %S/Inputs/prelude.mlir %s | %mlir_fa3 --pass-pipeline='builtin.module(transform-preload-library{transform-library-paths=%S/Inputs/tiles-library.mlir},transform-interpreter)' | FileCheck %s

// CHECK-LABEL: func.func private @groups
// CHECK-COUNT-3: scf.for
// CHECK: attention.forward {{.*}} -> tensor<1x2x?x16xf16>
// CHECK-LABEL: func.func private @heads
// CHECK-COUNT-2: scf.for
// CHECK: attention.forward {{.*}} : (tensor<1x20x1x16xf16>, tensor<1x20x1x16xf16>,
// CHECK-LABEL: func.func private @used
// CHECK-COUNT-3: scf.for
// CHECK: attention.forward {{.*}} -> tensor<1x2x5x16xf16>
// CHECK-LABEL: func.func private @dropped
// CHECK-COUNT-3: scf.for
// CHECK: attention.forward {{.*}} -> tensor<1x1x10x16xf16>

!q = tensor<2x4x20x16xf16>
!k = tensor<2x2x20x16xf16>
!flat = tensor<2x20x4x16xf16>
!one = tensor<2x20x1x16xf16>
func.func private @get(%seed: index) -> !q {
  %n = arith.constant 2560 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<2560xf16>
  %q = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [2, 4, 20, 16] : tensor<2560xf16> into !q
  return %q : !q
}
func.func private @get_keys(%seed: index) -> !k {
  %n = arith.constant 1280 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<1280xf16>
  %k = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [2, 2, 20, 16] : tensor<1280xf16> into !k
  return %k : !k
}
func.func private @get_one(%seed: index) -> !one {
  %n = arith.constant 640 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<640xf16>
  %k = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [2, 20, 1, 16] : tensor<640xf16> into !one
  return %k : !one
}
func.func private @show(%x: !q) {
  %r = tensor.collapse_shape %x [[0, 1, 2, 3]] : !q into tensor<2560xf16>
  %s = tensor.cast %r : tensor<2560xf16> to tensor<?xf16>
  call @print(%s) : (tensor<?xf16>) -> ()
  return
}
// Whole groups, and queries with a rest.
func.func private @groups(%q: !q, %k: !k, %v: !k) -> !q {
  %o = attention.forward %q, %k, %v mods [#attention.causal] {by = "groups"} : (!q, !k, !k) -> !q
  return %o : !q
}
// A head at a time of the four that one key head has.
func.func private @heads(%q: !flat, %k: !one, %v: !one) -> !flat {
  %o = attention.forward %q, %k, %v layout bshd {by = "heads"} : (!flat, !one, !one) -> !flat
    score_mod (%s, %b, %h, %i, %j) {
      %c3 = arith.constant 3 : index
      %c5 = arith.constant 5 : index
      %x = arith.muli %b, %c3 : index
      %y = arith.addi %x, %h : index
      %d = arith.subi %i, %j : index
      %z = arith.muli %d, %c5 : index
      %w = arith.addi %y, %z : index
      %n = arith.index_cast %w : index to i32
      %f = arith.sitofp %n : i32 to f32
      %unit = arith.constant 0.03125 : f32
      %g = arith.mulf %f, %unit : f32
      %r = arith.addf %s, %g : f32
      attention.yield %r : f32
    }
  return %o : !flat
}
// Sequences of their own lengths.
func.func private @used(%q: !q, %k: !k, %v: !k, %n: tensor<2xi32>, %sinks: tensor<4xf32>) -> !q {
  %o = attention.forward %q, %k, %v aux(%n : tensor<2xi32>) sinks(%sinks : tensor<4xf32>) mods [#attention.used<k = 0>, #attention.causal<align = top_left>] {by = "used"} : (!q, !k, !k) -> !q
  return %o : !q
}
// Random numbers are those of batch, head and query: the difference is 0.
func.func private @dropped(%q: !q, %k: !k, %v: !k, %state: tensor<2xi64>) -> !q {
  %o = attention.forward %q, %k, %v aux(%state : tensor<2xi64>) mods [#attention.dropout<p = 0.25, aux = 0>] {by = "dropped"} : (!q, !k, !k) -> !q
  %p = attention.forward %q, %k, %v aux(%state : tensor<2xi64>) mods [#attention.dropout<p = 0.25, aux = 0>] : (!q, !k, !k) -> !q
  %e = tensor.empty() : !q
  %d = linalg.sub ins(%o, %p : !q, !q) outs(%e : !q) -> !q
  return %d : !q
}
func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %q = call @get(%c1) : (index) -> !q
  %k = call @get_keys(%c2) : (index) -> !k
  %v = call @get_keys(%c3) : (index) -> !k
  %o1 = call @groups(%q, %k, %v) : (!q, !k, !k) -> !q
  call @show(%o1) : (!q) -> ()

  %flat = tensor.collapse_shape %q [[0, 1, 2, 3]] : !q into tensor<2560xf16>
  %qs = tensor.expand_shape %flat [[0, 1, 2, 3]] output_shape [2, 20, 4, 16] : tensor<2560xf16> into !flat
  %k1 = call @get_one(%c2) : (index) -> !one
  %v1 = call @get_one(%c3) : (index) -> !one
  %o2 = call @heads(%qs, %k1, %v1) : (!flat, !one, !one) -> !flat
  %r2 = tensor.collapse_shape %o2 [[0, 1, 2, 3]] : !flat into tensor<2560xf16>
  %s2 = tensor.cast %r2 : tensor<2560xf16> to tensor<?xf16>
  call @print(%s2) : (tensor<?xf16>) -> ()

  %n = arith.constant dense<[20, 13]> : tensor<2xi32>
  %sinks = arith.constant dense<[0.5, -1.0, 1.5, 0.25]> : tensor<4xf32>
  %o3 = call @used(%q, %k, %v, %n, %sinks) : (!q, !k, !k, tensor<2xi32>, tensor<4xf32>) -> !q
  call @show(%o3) : (!q) -> ()

  %state = arith.constant dense<[7, 3]> : tensor<2xi64>
  %o4 = call @dropped(%q, %k, %v, %state) : (!q, !k, !k, tensor<2xi64>) -> !q
  call @show(%o4) : (!q) -> ()
  return
}
