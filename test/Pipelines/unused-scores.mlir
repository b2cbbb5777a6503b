// Score code that ignores the score: nothing uses the product of q and k, nor, in
// gradients, that of the output's gradient and v. What is left of a step has to
// give registers and slots back in time.

// DEFINE: %{dims} =
// DEFINE: %{options} =
// DEFINE: %{function} =
// DEFINE: %{run} = fa3-run --cpu --require-fences --pass-pipeline='builtin.module(fa3-tile{%{options}},fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' --dims %{dims} %s --function %{function}
// REDEFINE: %{dims} = b=1,sq=70,sk=300

// REDEFINE: %{function} = forward
// RUN: %{run} | FileCheck %s --check-prefix=VALUES
// REDEFINE: %{function} = constant
// RUN: %{run} | FileCheck %s --check-prefix=VALUES
// REDEFINE: %{function} = float8
// RUN: %{run} | FileCheck %s --check-prefix=VALUES
// REDEFINE: %{dims} = b=1,sq=330,sk=140
// REDEFINE: %{function} = backward
// RUN: %{run} | FileCheck %s --check-prefix=VALUES
// REDEFINE: %{options} = backward-form=split
// RUN: %{run} | FileCheck %s --check-prefix=VALUES
// REDEFINE: %{options} = backward-form=split solver=modulo
// RUN: %{run} | FileCheck %s --check-prefix=VALUES

// VALUES: max error

// The columns of weights that come from no product have their order, too.
// RUN: fa3-opt %s -fa3-tile -tile-relabel-contractions | FileCheck %s --check-prefix=ORDER
// ORDER-LABEL: gpu.func @float8
// ORDER: tile.relabel {{.*}} dim 1 bits [0, 3, 1, 2] : tensor<192x128xf32>
// ORDER: %[[ROWS:.*]] = tile.relabel {{.*}} dim 0 bits [0, 3, 1, 2]
// ORDER: tile.dot {{.*}}, %[[ROWS]],

// The weights of the next step are made when the product with these is done.
// RUN: fa3-opt %s -fa3-tile=backward-form=split -fa3-specialize -fa3-pipeline | FileCheck %s --check-prefix=STEP
// STEP-LABEL: gpu.func @backward_dkdv
// STEP: warp.group @math
// STEP: scf.for {{.*}} !warp.done
// STEP: warp.release %[[SLOT:.*]] after %[[DONE:.*]]
// STEP: %[[WEIGHTS:.*]] = arith.truncf
// STEP: tile.dot.async %[[WEIGHTS]]

// Zeros in place of a gradient are fenced once, in front of the loops.
// RUN: fa3-opt %s -fa3-tile=backward-form=split -fa3-specialize -fa3-pipeline -fa3-layout -tile-to-hopper | FileCheck %s --check-prefix=FENCE
// FENCE-LABEL: gpu.func @backward_dq
// FENCE: warp.group @math
// FENCE: hopper.wgmma.fence(
// FENCE: scf.for
// FENCE-NOT: hopper.wgmma.fence(
// FENCE: gpu.return

!x = tensor<?x2x?x64xf16>

func.func @forward(%q: !x, %k: !x, %v: !x) -> !x {
  %o = attention.forward %q, %k, %v : (!x, !x, !x) -> !x
    score_mod (%s, %b, %h, %i, %j) {
      %difference = arith.subi %i, %j : index
      %number = arith.index_cast %difference : index to i32
      %float = arith.sitofp %number : i32 to f32
      %tenth = arith.constant 0.1 : f32
      %score = arith.mulf %float, %tenth : f32
      attention.yield %score : f32
    }
  return %o : !x
}

func.func @constant(%q: !x, %k: !x, %v: !x) -> (!x, tensor<?x2x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal] : (!x, !x, !x) -> (!x, tensor<?x2x?xf32>)
    score_mod (%s, %b, %h, %i, %j) {
      %score = arith.constant 3.0 : f32
      attention.yield %score : f32
    }
  return %o, %lse : !x, tensor<?x2x?xf32>
}

!x8 = tensor<?x2x?x64xf8E4M3FN>
!s = tensor<1x1x1xf32>

func.func @float8(%q: !x8, %k: !x8, %v: !x8, %qs: !s, %ks: !s, %vs: !s) -> !x {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) : (!x8, !x8, !x8) -> !x
    score_mod (%s, %b, %h, %i, %j) {
      %c7 = arith.constant 7 : index
      %column = arith.remsi %j, %c7 : index
      %number = arith.index_cast %column : index to i32
      %score = arith.sitofp %number : i32 to f32
      attention.yield %score : f32
    }
  return %o : !x
}

func.func @backward(%q: !x, %k: !x, %v: !x, %o: !x, %lse: tensor<?x2x?xf32>, %do: !x) -> (!x, !x, !x) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do : (!x, !x, !x, !x, tensor<?x2x?xf32>, !x) -> (!x, !x, !x)
    score_mod (%s, %b, %h, %i, %j) {
      %difference = arith.subi %i, %j : index
      %number = arith.index_cast %difference : index to i32
      %float = arith.sitofp %number : i32 to f32
      %tenth = arith.constant 0.1 : f32
      %score = arith.mulf %float, %tenth : f32
      attention.yield %score : f32
    }
  return %dq, %dk, %dv : !x, !x, !x
}
