// Gradients with code on the output: of q, k and v through it, and of what it
// reads, an element of a gate for each of o or for each row of a head; the same
// answer after every pass.
//
// DEFINE: %{function} =
// DEFINE: %{more} =
// DEFINE: %{run} = fa3-run --cpu %s --function=%{function} %{more}
// CHECK: same answer after {{[0-9]+}} passes
// RIGHT: max error

// REDEFINE: %{function} = gates
// REDEFINE: %{more} = --dims b=2,sq=40,sk=70
// RUN: %{run} --check-each-pass | FileCheck %s
// RUN: %{run} | FileCheck %s --check-prefix=GATES
// GATES: dq: max error
// GATES: dgate: max error
// GATES: dof_row: max error
// RUN: %{run} --pass-pipeline='builtin.module(attention-expand-mods,attention-derive-gradient,attention-to-tile{backward-form=split})' | FileCheck %s --check-prefix=GATES

// Head dims that no multiple of 64 columns is, and scores with code.
// REDEFINE: %{function} = odd
// REDEFINE: %{more} = --dims b=1,sq=40,sk=70
// RUN: %{run} --check-each-pass | FileCheck %s

// Rows of all sequences, of which some are behind the last one.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %fa3_src/test/Inputs/table.py %t/starts.npy "<i4" 4 "[0, 37, 37, 110][i]"
// REDEFINE: %{function} = packed
// REDEFINE: %{more} = --dims tq=120,tk=120,n=4 --scalar max_q=73 --input starts=%t/starts.npy
// RUN: %{run} --check-each-pass | FileCheck %s
// RUN: %{run} | FileCheck %s --check-prefix=PACKED
// PACKED: dgate: max error

// Without the gradient of the code, the kernels are refused.
// RUN: not fa3-opt %s --attention-expand-mods --attention-to-tile 2>&1 | FileCheck %s --check-prefix=NOT
// NOT: error: 'attention.backward' op has code on the output without 'epilogue_grad': run attention-derive-gradient first

!q = tensor<?x4x?x64xbf16>
!k = tensor<?x2x?x64xbf16>
!g = tensor<?x?x4x64xbf16>
func.func @gates(%q: !q, %k: !k, %v: !k, %o: !q, %lse: tensor<?x4x?xf32>, %do: !q,
                 %gate: !g {tile.name = "gate"}, %of_row: tensor<?x?x4xf32> {tile.name = "of_row"})
    -> (!q, !k, !k, !g {tile.name = "dgate"}, tensor<?x?x4xf32> {tile.name = "dof_row"}) {
  %r:5 = attention.backward %q, %k, %v, %o, %lse, %do aux(%gate, %of_row : !g, tensor<?x?x4xf32>) grad_aux [0, 1]
    mods [#attention.causal] : (!q, !k, !k, !q, tensor<?x4x?xf32>, !q) -> (!q, !k, !k, !g, tensor<?x?x4xf32>)
    epilogue (%x, %b, %h, %i, %c) {
      %one = arith.constant 1.0 : f32
      %element = tensor.extract %gate[%b, %i, %h, %c] : !g
      %wide = arith.extf %element : bf16 to f32
      %negative = arith.negf %wide : f32
      %power = math.exp %negative : f32
      %sum = arith.addf %power, %one : f32
      %gated = arith.divf %x, %sum : f32
      %factor = tensor.extract %of_row[%b, %i, %h] : tensor<?x?x4xf32>
      %y = arith.mulf %gated, %factor : f32
      attention.yield %y : f32
    }
  return %r#0, %r#1, %r#2, %r#3, %r#4 : !q, !k, !k, !g, tensor<?x?x4xf32>
}

!a = tensor<?x2x?x72xf16>
func.func @odd(%q: !a, %k: !a, %v: !a, %o: !a, %lse: tensor<?x2x?xf32>, %do: !a, %residual: !a) -> (!a, !a, !a, !a) {
  %r:4 = attention.backward %q, %k, %v, %o, %lse, %do aux(%residual : !a) grad_aux [0]
    mods [#attention.softcap<2.0>] : (!a, !a, !a, !a, tensor<?x2x?xf32>, !a) -> (!a, !a, !a, !a)
    epilogue (%x, %b, %h, %i, %c) {
      %element = tensor.extract %residual[%b, %h, %i, %c] : !a
      %wide = arith.extf %element : f16 to f32
      %sum = arith.addf %x, %wide : f32
      %y = math.tanh %sum : f32
      attention.yield %y : f32
    }
  return %r#0, %r#1, %r#2, %r#3 : !a, !a, !a, !a
}

!p = tensor<?x2x64xf16>
func.func @packed(%q: !p {tile.name = "q", tile.dims = ["tq", "h", "d"]}, %k: !p {tile.name = "k", tile.dims = ["tk", "h", "d"]},
                  %v: !p {tile.name = "v", tile.dims = ["tk", "h", "d"]}, %o: !p {tile.name = "o", tile.dims = ["tq", "h", "d"]},
                  %lse: tensor<2x?xf32> {tile.name = "lse", tile.dims = ["h", "tq"]}, %do: !p {tile.name = "do", tile.dims = ["tq", "h", "d"]},
                  %gate: !p {tile.name = "gate", tile.dims = ["tq", "h", "d"]},
                  %starts: tensor<?xi32> {tile.name = "starts", tile.dims = ["n"]}, %max_q: index {tile.name = "max_q"})
    -> (!p {tile.name = "dq", tile.dims = ["tq", "h", "d"]}, !p {tile.name = "dk", tile.dims = ["tk", "h", "d"]},
        !p {tile.name = "dv", tile.dims = ["tk", "h", "d"]}, !p {tile.name = "dgate", tile.dims = ["tq", "h", "d"]}) {
  %sequences = attention.sequences max_q %max_q
  %r:4 = attention.backward %q, %k, %v, %o, %lse, %do aux(%gate, %starts : !p, tensor<?xi32>) grad_aux [0]
    sequences %sequences layout bshd mods [#attention.packed<q = 1, k = 1>, #attention.causal]
    : (!p, !p, !p, !p, tensor<2x?xf32>, !p) -> (!p, !p, !p, !p)
    epilogue (%x, %b, %h, %i, %c) {
      %start = tensor.extract %starts[%b] : tensor<?xi32>
      %first = arith.index_cast %start : i32 to index
      %row = arith.addi %i, %first : index
      %element = tensor.extract %gate[%row, %h, %c] : !p
      %wide = arith.extf %element : f16 to f32
      %y = arith.mulf %x, %wide : f32
      attention.yield %y : f32
    }
  return %r#0, %r#1, %r#2, %r#3 : !p, !p, !p, !p
}
