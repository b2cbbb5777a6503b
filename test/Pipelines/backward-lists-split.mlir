// Lists of blocks in gradients that have no fused form.
//
// RUN: rm -rf %t && mkdir -p %t/heads %t/large
// DEFINE: %{folder} = %t/heads
// DEFINE: %{function} = heads
// DEFINE: %{extents} = b=1,sq=200,sk=200
// DEFINE: %{lists} = --input count=%{folder}/count.npy --input index=%{folder}/index.npy --input full_count=%{folder}/full_count.npy --input full_index=%{folder}/full_index.npy --input q_count=%{folder}/q_count.npy --input q_index=%{folder}/q_index.npy --input full_q_count=%{folder}/full_q_count.npy --input full_q_index=%{folder}/full_q_index.npy
// DEFINE: %{run} = fa3-run --cpu %s --function=%{function} --dims %{extents} %{lists} --check-each-pass

// Lists of each head, two of which share a head of keys; blocks of 64, whose tiles
// have one group.
// RUN: %python %fa3_src/test/Inputs/blocks.py %t/heads 200 200 64 64 "(i // 64 + j // 32) % 3 == h % 3 or j == 5" --heads 4
// RUN: %{run} | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// Scores that may have any size: dq comes first and sums the weights of the listed blocks, and
// kernels of dk and dv take what that leaves. Positions in score code are those of
// the blocks.
// RUN: %python %fa3_src/test/Inputs/blocks.py %t/large 300 330 128 128 "(i // 128 + j // 128) % 3 != 1" --cut
// REDEFINE: %{function} = large
// REDEFINE: %{folder} = %t/large
// REDEFINE: %{extents} = b=1,sq=300,sk=330
// RUN: %{run} | FileCheck %s

!q = tensor<?x4x?x64xf16>
!k = tensor<?x2x?x64xf16>
!rows = tensor<?x4x?xf32>
!count = tensor<1x1x?xi32>
!index = tensor<1x1x?x?xi32>
func.func @large(%q: !q {tile.name = "q"}, %k: !k {tile.name = "k"}, %v: !k {tile.name = "v"}, %o: !q {tile.name = "o"},
                 %lse: !rows {tile.name = "lse"}, %do: !q {tile.name = "do"},
                 %count: !count {tile.name = "count"}, %index: !index {tile.name = "index"},
                 %full_count: !count {tile.name = "full_count"}, %full_index: !index {tile.name = "full_index"},
                 %q_count: !count {tile.name = "q_count"}, %q_index: !index {tile.name = "q_index"},
                 %full_q_count: !count {tile.name = "full_q_count"}, %full_q_index: !index {tile.name = "full_q_index"})
    -> (!q {tile.name = "dq"}, !k {tile.name = "dk"}, !k {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    aux(%count, %index, %full_count, %full_index, %q_count, %q_index, %full_q_count, %full_q_index
        : !count, !index, !count, !index, !count, !index, !count, !index)
    mods [#attention.blocks<count = 0, index = 1, full_count = 2, full_index = 3, queries = 128, keys = 128>,
          #attention.blocks<count = 4, index = 5, full_count = 6, full_index = 7, queries = 128, keys = 128, by = key>]
    : (!q, !k, !k, !q, !rows, !q) -> (!q, !k, !k)
    score_mod (%s, %b, %h, %i, %j) {
      %d = arith.subi %j, %i : index
      %d32 = arith.index_cast %d : index to i32
      %x = arith.sitofp %d32 : i32 to f32
      %c = arith.constant 0.0078125 : f32
      %y = arith.mulf %x, %c : f32
      %z = arith.addf %s, %y : f32
      attention.yield %z : f32
    }
  return %dq, %dk, %dv : !q, !k, !k
}

!counts = tensor<1x4x?xi32>
!indices = tensor<1x4x?x?xi32>
func.func @heads(%q: !q {tile.name = "q"}, %k: !k {tile.name = "k"}, %v: !k {tile.name = "v"}, %o: !q {tile.name = "o"},
                 %lse: !rows {tile.name = "lse"}, %do: !q {tile.name = "do"},
                 %count: !counts {tile.name = "count"}, %index: !indices {tile.name = "index"},
                 %full_count: !counts {tile.name = "full_count"}, %full_index: !indices {tile.name = "full_index"},
                 %q_count: !counts {tile.name = "q_count"}, %q_index: !indices {tile.name = "q_index"},
                 %full_q_count: !counts {tile.name = "full_q_count"}, %full_q_index: !indices {tile.name = "full_q_index"})
    -> (!q {tile.name = "dq"}, !k {tile.name = "dk"}, !k {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    aux(%count, %index, %full_count, %full_index, %q_count, %q_index, %full_q_count, %full_q_index
        : !counts, !indices, !counts, !indices, !counts, !indices, !counts, !indices)
    mods [#attention.blocks<count = 0, index = 1, full_count = 2, full_index = 3, queries = 64, keys = 64>,
          #attention.blocks<count = 4, index = 5, full_count = 6, full_index = 7, queries = 64, keys = 64, by = key>]
    : (!q, !k, !k, !q, !rows, !q) -> (!q, !k, !k)
    mask_mod (%b, %h, %i, %j) {
      %c3 = arith.constant 3 : index
      %c5 = arith.constant 5 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %m = arith.divui %i, %c64 : index
      %n = arith.divui %j, %c32 : index
      %s = arith.addi %m, %n : index
      %x = arith.remui %s, %c3 : index
      %y = arith.remui %h, %c3 : index
      %same = arith.cmpi eq, %x, %y : index
      %fifth = arith.cmpi eq, %j, %c5 : index
      %keep = arith.ori %same, %fifth : i1
      attention.yield %keep : i1
    }
  return %dq, %dk, %dv : !q, !k, !k
}
