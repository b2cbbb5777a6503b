// Gradients of tables that score code reads at computed indices, after the passes
// on tiles, by the instructions of the kernels and after each pass, compared with
// the formula in f64.

// DEFINE: %{dims} =
// DEFINE: %{tiles} = fa3-run --cpu --dims %{dims}
// DEFINE: %{hopper} = fa3-run --cpu --require-fences --pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' --dims %{dims}
// RUN: split-file %s %t

// A number for each head and distance; distances beyond the table are read as 0
// and add nothing.
// REDEFINE: %{dims} = b=2,sq=70,sk=75,n1=99
// RUN: %{tiles} %t/distance.mlir | FileCheck %s
// RUN: %{hopper} %t/distance.mlir | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass --check-ptx %t/distance.mlir --dims b=1,sq=70,sk=75,n1=99 | FileCheck %s --check-prefix=SAME
// Walks of several blocks along diagonals, from the first row and from the first
// columns, of which the end cuts the last.
// REDEFINE: %{dims} = b=1,sq=300,sk=330,n1=99
// RUN: %{tiles} %t/distance.mlir | FileCheck %s
// RUN: %{hopper} %t/distance.mlir | FileCheck %s
// REDEFINE: %{dims} = b=1,sq=5,sk=0,n1=9
// RUN: %{hopper} %t/distance.mlir | FileCheck %s

// Buckets of a window of 7 x 7, which are no diagonals, in f16, heads last; a mask.
// REDEFINE: %{dims} = b=3,sq=49,sk=49
// RUN: %{tiles} %t/window.mlir | FileCheck %s
// RUN: %{hopper} %t/window.mlir | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass --check-ptx %t/window.mlir --dims b=1,sq=49,sk=49 | FileCheck %s --check-prefix=SAME

// More sequences than one CTA sums up.
// REDEFINE: %{dims} = b=18,sq=49,sk=49
// RUN: %{tiles} %t/window.mlir | FileCheck %s

// A table at numbers in memory, an order that no bias has, and a factor.
// REDEFINE: %{dims} = b=2,sq=40,sk=70
// RUN: %python %S/../Inputs/table.py %t.hops.npy '<i4' 2,40,70 '(i * 5 + j * j + k) %% 7 - 1'
// RUN: %{tiles} %t/hops.mlir --input hops=%t.hops.npy | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: %{hopper} %t/hops.mlir --input hops=%t.hops.npy | FileCheck %s --check-prefixes=CHECK,TWO

// CHECK: dq: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// CHECK: dk: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// CHECK: dv: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// CHECK: daux{{[01]}}: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// TWO: daux2: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// SAME: same answer after {{[0-9]+}} passes

// What the kernels are: along diagonals terms are summed up first.
// RUN: fa3-opt %t/distance.mlir --attention-expand-mods --attention-derive-gradient --attention-to-tile | FileCheck %s --check-prefix=DISTANCE
// DISTANCE: arith.cmpi sle, %{{.*}}, %{{.*}} : index
// DISTANCE: cf.assert %{{.*}}, "more than 34359738368 pairs may read one element of a table with a gradient"
// DISTANCE: memref.alloc(%{{.*}}, %{{.*}}, %{{.*}}) {tile.name = "daux0_sums"} : memref<?x?x?x32xi64>
// DISTANCE: tile.launch @{{.*}}daux0_zero
// DISTANCE: tile.launch @{{.*}}daux0_sums
// DISTANCE: tile.launch @{{.*}}daux0 args
// Blocks along a diagonal are added up in a loop, with elements that are read in
// front of it, and added in memory behind it.
// DISTANCE: gpu.func @distance_daux0_sums
// DISTANCE: %[[TABLE:.*]] = tile.gather
// DISTANCE: %[[TERMS:.*]] = scf.for %{{.*}} iter_args(%[[OUTER:.*]] = %{{.*}}) -> (
// DISTANCE: scf.for %{{.*}} iter_args(%[[SUM:.*]] = %[[OUTER]]) -> (
// DISTANCE-NOT: tile.gather
// DISTANCE: arith.addf %{{.*}}, %[[TABLE]] :
// DISTANCE: arith.addf %[[SUM]], %{{.*}} :
// DISTANCE: scf.yield
// DISTANCE: tile.add_exact %[[TERMS]], %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}} : index, index, tensor<[[SHAPE:.*]]xindex>] diagonal : tensor<[[SHAPE]]xf32>
// RUN: fa3-opt %t/window.mlir --attention-expand-mods --attention-derive-gradient --attention-to-tile | FileCheck %s --check-prefix=WINDOW
// WINDOW: "more than 4294967296 pairs
// Those of several sequences are.
// WINDOW: gpu.func @window_daux0_sums
// WINDOW: %[[MANY:.*]] = arith.constant 16 : index
// WINDOW: %[[TERMS:.*]] = scf.for %{{.*}} iter_args(
// WINDOW: tile.add_exact %[[TERMS]]
// WINDOW-NOT: diagonal
// WINDOW: : tensor<
// What differs by sequence is added for each block.
// RUN: fa3-opt %t/hops.mlir --attention-expand-mods --attention-derive-gradient --attention-to-tile | FileCheck %s --check-prefix=HOPS
// HOPS: gpu.func @hops_daux1_sums
// HOPS: scf.for
// HOPS-NOT: scf.yield
// HOPS: tile.add_exact

//--- distance.mlir
!q = tensor<?x4x?x64xf16>
!k = tensor<?x2x?x64xf16>
!l = tensor<?x4x?xf32>
!t = tensor<4x?xf32>
func.func @distance(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !l, %do: !q, %table: !t) -> (!q, !k, !k, !t) {
  %dq, %dk, %dv, %dt = attention.backward %q, %k, %v, %o, %lse, %do aux(%table : !t) grad_aux [0] mods [#attention.softcap<4.0>]
    : (!q, !k, !k, !q, !l, !q) -> (!q, !k, !k, !t)
    score_mod (%s, %b, %h, %i, %j) {
      %c50 = arith.constant 50 : index
      %d = arith.subi %i, %j : index
      %n = arith.addi %d, %c50 : index
      %x = tensor.extract %table[%h, %n] : !t
      %y = arith.addf %s, %x : f32
      attention.yield %y : f32
    }
  return %dq, %dk, %dv, %dt : !q, !k, !k, !t
}

//--- window.mlir
!q = tensor<?x3x?x32xbf16>
!l = tensor<?x3x?xf32>
!t = tensor<169x3xf16>
func.func @window(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !l, %do: !q, %table: !t) -> (!q, !q, !q, !t) {
  %dq, %dk, %dv, %dt = attention.backward %q, %k, %v, %o, %lse, %do aux(%table : !t) grad_aux [0] mods [#attention.causal]
    : (!q, !q, !q, !q, !l, !q) -> (!q, !q, !q, !t)
    score_mod (%s, %b, %h, %i, %j) {
      %c6 = arith.constant 6 : index
      %c7 = arith.constant 7 : index
      %c13 = arith.constant 13 : index
      %i1 = arith.divui %i, %c7 : index
      %i0 = arith.remui %i, %c7 : index
      %j1 = arith.divui %j, %c7 : index
      %j0 = arith.remui %j, %c7 : index
      %d1 = arith.subi %i1, %j1 : index
      %d0 = arith.subi %i0, %j0 : index
      %n1 = arith.addi %d1, %c6 : index
      %n0 = arith.addi %d0, %c6 : index
      %m = arith.muli %n1, %c13 : index
      %n = arith.addi %m, %n0 : index
      %x16 = tensor.extract %table[%n, %h] : !t
      %x = arith.extf %x16 : f16 to f32
      %y = arith.addf %s, %x : f32
      attention.yield %y : f32
    }
  return %dq, %dk, %dv, %dt : !q, !q, !q, !t
}

//--- hops.mlir
!q = tensor<?x2x?x64xf16>
!l = tensor<?x2x?xf32>
!h = tensor<?x?x?xi32>
!t = tensor<6x2xf32>
!r = tensor<40x2xf32>
func.func @hops(%q: !q {tile.name = "q"}, %k: !q {tile.name = "k"}, %v: !q {tile.name = "v"}, %o: !q {tile.name = "o"},
                %lse: !l {tile.name = "lse"}, %do: !q {tile.name = "do"},
                %hops: !h {tile.name = "hops"}, %table: !t {tile.name = "table"}, %factors: !r {tile.name = "factors"})
    -> (!q {tile.name = "dq"}, !q {tile.name = "dk"}, !q {tile.name = "dv"}, !t {tile.name = "daux1"}, !r {tile.name = "daux2"}) {
  %dq, %dk, %dv, %dt, %dr = attention.backward %q, %k, %v, %o, %lse, %do aux(%hops, %table, %factors : !h, !t, !r) grad_aux [1, 2]
    : (!q, !q, !q, !q, !l, !q) -> (!q, !q, !q, !t, !r)
    score_mod (%s, %b, %h, %i, %j) {
      %n32 = tensor.extract %hops[%b, %i, %j] : !h
      %n = arith.index_cast %n32 : i32 to index
      %x = tensor.extract %table[%n, %h] : !t
      %f = tensor.extract %factors[%i, %h] : !r
      %z = arith.mulf %s, %f : f32
      %y = arith.addf %z, %x : f32
      attention.yield %y : f32
    }
  return %dq, %dk, %dv, %dt, %dr : !q, !q, !q, !t, !r
}
