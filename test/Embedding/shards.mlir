// Attention that a grid of two by two devices shares, by upstream's sharding
// propagation and partition. One device after another runs here: what a grid would
// say of each is a number in memory. Masks and scores know batch, head and query of
// the whole.
// REQUIRES: mlir-runner
// RUN: split-file %s %t
// RUN: %mlir_fa3 %t/parts.mlir --pass-pipeline='builtin.module(func.func(sharding-propagation,shard-partition,canonicalize,cse))' > %t/partitioned.mlir
// RUN: FileCheck %t/parts.mlir --input-file %t/partitioned.mlir
// RUN: sed -e '/^module {$/d' -e '/^}$/d' -e '/shard.grid/d' -e 's/shard.process_multi_index on @grid axes = .\([01]\). : index/func.call @device\1() : () -> index/' %t/partitioned.mlir > %t/shards.mlir
// RUN: cat %t/main.mlir >> %t/shards.mlir
// RUN: %embedding_run %t/shards.mlir --kernels 4

//--- parts.mlir
// CHECK-LABEL: func.func private @rows
// CHECK: attention.forward {{.*}} -> tensor<2x2x10x16xf16>
// CHECK-LABEL: func.func private @used
// CHECK: attention.forward {{.*}} -> tensor<1x2x20x16xf16>
// CHECK-LABEL: func.func private @gradients
// CHECK: attention.backward {{.*}} -> (tensor<1x2x20x16xf16>, tensor<1x1x20x16xf16>, tensor<1x1x20x16xf16>)
!q = tensor<2x4x20x16xf16>
!k = tensor<2x2x20x16xf16>
!lse = tensor<2x4x20xf32>
shard.grid @grid(shape = 2x2)
func.func private @rows(%q: !q, %k: !k, %v: !k) -> !q {
  %s = shard.sharding @grid split_axes = [[], [1], [0]] : !shard.sharding
  %p = shard.shard %q to %s : !q
  %o = attention.forward %p, %k, %v mods [#attention.causal] : (!q, !k, !k) -> !q
    score_mod (%x, %b, %h, %i, %j) {
      %c3 = arith.constant 3 : index
      %c5 = arith.constant 5 : index
      %b3 = arith.muli %b, %c3 : index
      %y = arith.addi %b3, %h : index
      %d = arith.subi %i, %j : index
      %z = arith.muli %d, %c5 : index
      %w = arith.addi %y, %z : index
      %n = arith.index_cast %w : index to i32
      %f = arith.sitofp %n : i32 to f32
      %unit = arith.constant 0.03125 : f32
      %g = arith.mulf %f, %unit : f32
      %r = arith.addf %x, %g : f32
      attention.yield %r : f32
    }
  return %o : !q
}
func.func private @used(%q: !q, %k: !k, %v: !k, %n: tensor<2xi32>, %sinks: tensor<4xf32>) -> !q {
  %o = attention.forward %q, %k, %v aux(%n : tensor<2xi32>) sinks(%sinks : tensor<4xf32>) mods [#attention.used<k = 0>, #attention.causal<align = top_left>] : (!q, !k, !k) -> !q
  %s = shard.sharding @grid split_axes = [[0], [1]] : !shard.sharding
  %p = shard.shard %o to %s : !q
  return %p : !q
}
func.func private @gradients(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !lse) -> (!q, !k, !k) {
  %s = shard.sharding @grid split_axes = [[0], [1]] : !shard.sharding
  %p = shard.shard %k to %s : !k
  %do = shard.shard %o to %s : !q
  %dq, %dk, %dv = attention.backward %q, %p, %v, %do, %lse, %do : (!q, !k, !k, !q, !lse, !q) -> (!q, !k, !k)
    score_mod (%x, %b, %h, %i, %j) {
      %w = arith.addi %b, %h : index
      %n = arith.index_cast %w : index to i32
      %f = arith.sitofp %n : i32 to f32
      %unit = arith.constant 0.0625 : f32
      %g = arith.mulf %f, %unit : f32
      %r = arith.mulf %x, %g : f32
      attention.yield %r : f32
    }
    score_grad (%x, %dz, %b, %h, %i, %j) {
      %w = arith.addi %b, %h : index
      %n = arith.index_cast %w : index to i32
      %f = arith.sitofp %n : i32 to f32
      %unit = arith.constant 0.0625 : f32
      %g = arith.mulf %f, %unit : f32
      %r = arith.mulf %dz, %g : f32
      attention.yield %r : f32
    }
  return %dq, %dk, %dv : !q, !k, !k
}

//--- main.mlir
!wholeq = tensor<2x4x20x16xf16>
!wholek = tensor<2x2x20x16xf16>
!wholelse = tensor<2x4x20xf32>
memref.global "private" @place : memref<2xindex> = dense<0>
func.func private @device0() -> index {
  %m = memref.get_global @place : memref<2xindex>
  %c0 = arith.constant 0 : index
  %d = memref.load %m[%c0] : memref<2xindex>
  return %d : index
}
func.func private @device1() -> index {
  %m = memref.get_global @place : memref<2xindex>
  %c1 = arith.constant 1 : index
  %d = memref.load %m[%c1] : memref<2xindex>
  return %d : index
}
func.func private @move(%x: index, %y: index) {
  %m = memref.get_global @place : memref<2xindex>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  memref.store %x, %m[%c0] : memref<2xindex>
  memref.store %y, %m[%c1] : memref<2xindex>
  return
}
func.func private @get(%seed: index) -> !wholeq {
  %n = arith.constant 2560 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<2560xf16>
  %q = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [2, 4, 20, 16] : tensor<2560xf16> into !wholeq
  return %q : !wholeq
}
func.func private @get_keys(%seed: index) -> !wholek {
  %n = arith.constant 1280 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<1280xf16>
  %k = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [2, 2, 20, 16] : tensor<1280xf16> into !wholek
  return %k : !wholek
}
func.func private @show(%x: !wholeq) {
  %r = tensor.collapse_shape %x [[0, 1, 2, 3]] : !wholeq into tensor<2560xf16>
  %s = tensor.cast %r : tensor<2560xf16> to tensor<?xf16>
  call @print(%s) : (tensor<?xf16>) -> ()
  return
}
func.func private @show_difference(%x: !wholek, %y: !wholek) {
  %e = tensor.empty() : !wholek
  %d = linalg.sub ins(%x, %y : !wholek, !wholek) outs(%e : !wholek) -> !wholek
  %r = tensor.collapse_shape %d [[0, 1, 2, 3]] : !wholek into tensor<1280xf16>
  %s = tensor.cast %r : tensor<1280xf16> to tensor<?xf16>
  call @print(%s) : (tensor<?xf16>) -> ()
  return
}
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c10 = arith.constant 10 : index
  %q = call @get(%c1) : (index) -> !wholeq
  %k = call @get_keys(%c2) : (index) -> !wholek
  %v = call @get_keys(%c3) : (index) -> !wholek
  %e = tensor.empty() : !wholeq
  %o1 = scf.for %x = %c0 to %c2 step %c1 iter_args(%all0 = %e) -> !wholeq {
    %all1 = scf.for %y = %c0 to %c2 step %c1 iter_args(%all = %all0) -> !wholeq {
      func.call @move(%x, %y) : (index, index) -> ()
      %row = arith.muli %x, %c10 : index
      %head = arith.muli %y, %c2 : index
      %a = tensor.extract_slice %q[0, %head, %row, 0] [2, 2, 10, 16] [1, 1, 1, 1] : !wholeq to tensor<2x2x10x16xf16>
      %b = tensor.extract_slice %k[0, %y, 0, 0] [2, 1, 20, 16] [1, 1, 1, 1] : !wholek to tensor<2x1x20x16xf16>
      %c = tensor.extract_slice %v[0, %y, 0, 0] [2, 1, 20, 16] [1, 1, 1, 1] : !wholek to tensor<2x1x20x16xf16>
      %o = func.call @rows(%a, %b, %c) : (tensor<2x2x10x16xf16>, tensor<2x1x20x16xf16>, tensor<2x1x20x16xf16>) -> tensor<2x2x10x16xf16>
      %next = tensor.insert_slice %o into %all[0, %head, %row, 0] [2, 2, 10, 16] [1, 1, 1, 1] : tensor<2x2x10x16xf16> into !wholeq
      scf.yield %next : !wholeq
    }
    scf.yield %all1 : !wholeq
  }
  call @show(%o1) : (!wholeq) -> ()

  %n = arith.constant dense<[20, 13]> : tensor<2xi32>
  %sinks = arith.constant dense<[0.5, -1.0, 1.5, 0.25]> : tensor<4xf32>
  %o2 = scf.for %x = %c0 to %c2 step %c1 iter_args(%all0 = %e) -> !wholeq {
    %all1 = scf.for %y = %c0 to %c2 step %c1 iter_args(%all = %all0) -> !wholeq {
      func.call @move(%x, %y) : (index, index) -> ()
      %head = arith.muli %y, %c2 : index
      %a = tensor.extract_slice %q[%x, %head, 0, 0] [1, 2, 20, 16] [1, 1, 1, 1] : !wholeq to tensor<1x2x20x16xf16>
      %b = tensor.extract_slice %k[%x, %y, 0, 0] [1, 1, 20, 16] [1, 1, 1, 1] : !wholek to tensor<1x1x20x16xf16>
      %c = tensor.extract_slice %v[%x, %y, 0, 0] [1, 1, 20, 16] [1, 1, 1, 1] : !wholek to tensor<1x1x20x16xf16>
      %d = tensor.extract_slice %sinks[%head] [2] [1] : tensor<4xf32> to tensor<2xf32>
      %o = func.call @used(%a, %b, %c, %n, %d) : (tensor<1x2x20x16xf16>, tensor<1x1x20x16xf16>, tensor<1x1x20x16xf16>, tensor<2xi32>, tensor<2xf32>) -> tensor<1x2x20x16xf16>
      %next = tensor.insert_slice %o into %all[%x, %head, 0, 0] [1, 2, 20, 16] [1, 1, 1, 1] : tensor<1x2x20x16xf16> into !wholeq
      scf.yield %next : !wholeq
    }
    scf.yield %all1 : !wholeq
  }
  call @show(%o2) : (!wholeq) -> ()

  // Gradients of all on one device.
  %lse = arith.constant dense<2.0> : !wholelse
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o1, %lse, %o1 : (!wholeq, !wholek, !wholek, !wholeq, !wholelse, !wholeq) -> (!wholeq, !wholek, !wholek)
    score_mod (%x, %b, %h, %i, %j) {
      %w = arith.addi %b, %h : index
      %m = arith.index_cast %w : index to i32
      %f = arith.sitofp %m : i32 to f32
      %unit = arith.constant 0.0625 : f32
      %g = arith.mulf %f, %unit : f32
      %r = arith.mulf %x, %g : f32
      attention.yield %r : f32
    }
  %e3 = tensor.empty() : !wholek
  %g:3 = scf.for %x = %c0 to %c2 step %c1 iter_args(%q0 = %e, %k0 = %e3, %v0 = %e3) -> (!wholeq, !wholek, !wholek) {
    %g1:3 = scf.for %y = %c0 to %c2 step %c1 iter_args(%q1 = %q0, %k1 = %k0, %v1 = %v0) -> (!wholeq, !wholek, !wholek) {
      func.call @move(%x, %y) : (index, index) -> ()
      %head = arith.muli %y, %c2 : index
      %a = tensor.extract_slice %q[%x, %head, 0, 0] [1, 2, 20, 16] [1, 1, 1, 1] : !wholeq to tensor<1x2x20x16xf16>
      %b = tensor.extract_slice %k[%x, %y, 0, 0] [1, 1, 20, 16] [1, 1, 1, 1] : !wholek to tensor<1x1x20x16xf16>
      %c = tensor.extract_slice %v[%x, %y, 0, 0] [1, 1, 20, 16] [1, 1, 1, 1] : !wholek to tensor<1x1x20x16xf16>
      %o = tensor.extract_slice %o1[%x, %head, 0, 0] [1, 2, 20, 16] [1, 1, 1, 1] : !wholeq to tensor<1x2x20x16xf16>
      %l = tensor.extract_slice %lse[%x, %head, 0] [1, 2, 20] [1, 1, 1] : !wholelse to tensor<1x2x20xf32>
      %p:3 = func.call @gradients(%a, %b, %c, %o, %l) : (tensor<1x2x20x16xf16>, tensor<1x1x20x16xf16>, tensor<1x1x20x16xf16>, tensor<1x2x20x16xf16>, tensor<1x2x20xf32>) -> (tensor<1x2x20x16xf16>, tensor<1x1x20x16xf16>, tensor<1x1x20x16xf16>)
      %nq = tensor.insert_slice %p#0 into %q1[%x, %head, 0, 0] [1, 2, 20, 16] [1, 1, 1, 1] : tensor<1x2x20x16xf16> into !wholeq
      %nk = tensor.insert_slice %p#1 into %k1[%x, %y, 0, 0] [1, 1, 20, 16] [1, 1, 1, 1] : tensor<1x1x20x16xf16> into !wholek
      %nv = tensor.insert_slice %p#2 into %v1[%x, %y, 0, 0] [1, 1, 20, 16] [1, 1, 1, 1] : tensor<1x1x20x16xf16> into !wholek
      scf.yield %nq, %nk, %nv : !wholeq, !wholek, !wholek
    }
    scf.yield %g1#0, %g1#1, %g1#2 : !wholeq, !wholek, !wholek
  }
  %e4 = tensor.empty() : !wholeq
  %difference = linalg.sub ins(%g#0, %dq : !wholeq, !wholeq) outs(%e4 : !wholeq) -> !wholeq
  call @show(%difference) : (!wholeq) -> ()
  call @show_difference(%g#1, %dk) : (!wholek, !wholek) -> ()
  call @show_difference(%g#2, %dv) : (!wholek, !wholek) -> ()
  return
}
