// Gradients over lists of blocks: of keys for each block of queries in dq, of
// queries for each block of keys in dk, dv and the fused form. The same answer after
// every pass as gradients by definition.
//
// RUN: rm -rf %t && mkdir -p %t/cut
// RUN: %python %fa3_src/test/Inputs/blocks.py %t 300 330 128 128 "i // 100 == j // 100 or j < 20 or j >= 256 and i < 128"
// RUN: %python %fa3_src/test/Inputs/table.py %t/documents.npy "<i4" 1,330 "i // 100 + j // 100"
// DEFINE: %{folder} = %t
// DEFINE: %{lists} = --input count=%{folder}/count.npy --input index=%{folder}/index.npy --input full_count=%{folder}/full_count.npy --input full_index=%{folder}/full_index.npy --input q_count=%{folder}/q_count.npy --input q_index=%{folder}/q_index.npy --input full_q_count=%{folder}/full_q_count.npy --input full_q_index=%{folder}/full_q_index.npy
// DEFINE: %{function} = documents
// DEFINE: %{options} =
// DEFINE: %{extents} = b=1,sq=300,sk=330
// DEFINE: %{run} = fa3-run --cpu %s --function=%{function} --dims %{extents} %{lists} --check-each-pass='%{options}'
// Sums in memory come in any order: the fused form after tiles and at the end.
// DEFINE: %{tiles} = fa3-run --cpu %s --function=%{function} --dims %{extents} %{lists} --pass-pipeline='builtin.module(fa3-tile{backward-form=fused})'
// DEFINE: %{hopper} = fa3-run --cpu %s --function=%{function} --dims %{extents} %{lists} --require-fences --pass-pipeline='builtin.module(fa3-tile{backward-form=fused},fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)'

// REDEFINE: %{options} = backward-form=split
// RUN: %{run} --input documents=%t/documents.npy | FileCheck %s
// RUN: %{tiles} --input documents=%t/documents.npy | FileCheck %s --check-prefix=VALUES
// RUN: %{hopper} --input documents=%t/documents.npy | FileCheck %s --check-prefix=VALUES
// REDEFINE: %{options} = backward-form=split mode=dynamic block-m=64 block-n=32
// RUN: %{run} --input documents=%t/documents.npy --completion random --sms 2 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes
// VALUES: dq: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// VALUES: dk: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// VALUES: dv: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}

// Lists alone, of which full ones have blocks that end behind the queries and the
// keys: of keys beyond the end nothing may get into dq.
// RUN: %python %fa3_src/test/Inputs/blocks.py %t/cut 300 330 128 128 "(i // 128 + j // 128) % 3 != 1" --cut
// REDEFINE: %{function} = no_mask
// REDEFINE: %{folder} = %t/cut
// REDEFINE: %{options} = backward-form=split
// RUN: %{run} | FileCheck %s
// RUN: %{tiles} | FileCheck %s --check-prefix=VALUES
// RUN: %{hopper} | FileCheck %s --check-prefix=VALUES

// The same with score code, whose queries beyond the end have to weigh nothing.
// REDEFINE: %{function} = scores
// REDEFINE: %{options} = backward-form=split
// RUN: %{run} | FileCheck %s
// RUN: %{tiles} | FileCheck %s --check-prefix=VALUES
// RUN: %{hopper} | FileCheck %s --check-prefix=VALUES

// A mask that reads whether blocks are visible: one element for a step, and the
// fused form for it.
// RUN: mkdir -p %t/table
// RUN: %python %fa3_src/test/Inputs/blocks.py %t/table 300 330 128 128 "(i // 128 + j // 128) % 3 != 1 or j == 5"
// RUN: %python %fa3_src/test/Inputs/table.py %t/seen.npy "<i4" 3,3 "(i + j) % 3 != 1"
// REDEFINE: %{function} = table
// REDEFINE: %{folder} = %t/table
// RUN: %{tiles} --input seen=%t/seen.npy | FileCheck %s --check-prefix=VALUES
// RUN: %{hopper} --input seen=%t/seen.npy | FileCheck %s --check-prefix=VALUES
// TABLE-LABEL: gpu.func @table_grads
// TABLE-NOT: tile.gather
// TABLE: tile.scalar_load %{{.*}} : memref<?x?xi32
// TABLE-NOT: tile.gather
// TABLE: gpu.return
// RUN: fa3-opt %s --attention-expand-mods --attention-derive-gradient --attention-to-tile=backward-form=fused --canonicalize | FileCheck %s --check-prefix=TABLE

// Lists that hold anything: nothing outside of the arrays is read.
// RUN: fa3-run --cpu %s --function=no_mask --dims b=1,sq=300,sk=330,n2=3,n3=3,m2=3,m3=3 --check-each-pass=backward-form=split --fill count=2 --fill index=1000000 --fill full_count=0 --fill full_index=-5 --fill q_count=2 --fill q_index=1000000 --fill full_q_count=0 --fill full_q_index=-5 | FileCheck %s
// RUN: fa3-run --cpu %s --function=no_mask --dims b=1,sq=300,sk=330,n2=3,n3=3,m2=3,m3=3 --require-fences --pass-pipeline='builtin.module(fa3-tile{backward-form=fused},fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' --fill count=2 --fill index=1000000 --fill full_count=0 --fill full_index=-5 --fill q_count=2 --fill q_index=1000000 --fill full_q_count=0 --fill full_q_index=-5 | FileCheck %s --check-prefix=VALUES

// Each kernel has one loop for both lists.
// SHAPE-LABEL: gpu.func @documents_grads
// SHAPE: tile.grid
// SHAPE: scf.for
// SHAPE: scf.for
// SHAPE: arith.cmpi sge
// SHAPE: arith.ori
// SHAPE: tile.any_possible
// SHAPE: tile.dot
// SHAPE-NOT: scf.for
// SHAPE: gpu.return
// RUN: fa3-opt %s --attention-expand-mods --attention-derive-gradient --attention-to-tile=backward-form=fused --canonicalize | FileCheck %s --check-prefix=SHAPE

// It is divided at the first block of the second list, which has no mask.
// DIVIDED-LABEL: gpu.func @documents_grads
// Heads of a group.
// DIVIDED: warp.group @math
// DIVIDED: scf.for
// DIVIDED: scf.for
// DIVIDED: arith.ori {{.*}} : tensor<64x128xi1>
// DIVIDED: tile.store.async {{.*}} add :
// DIVIDED: scf.yield
// DIVIDED: scf.for
// No list is read: who copies says where the step is.
// DIVIDED-NOT: tensor<64x128xi1>
// DIVIDED-NOT: tile.scalar_load
// DIVIDED: tile.receive
// DIVIDED-NOT: tensor<64x128xi1>
// DIVIDED-NOT: tile.scalar_load
// DIVIDED: tile.store.async {{.*}} add :
// DIVIDED: scf.yield
// DIVIDED: gpu.return
// RUN: fa3-opt %s -pass-pipeline='builtin.module(fa3-tile{backward-form=fused},fa3-specialize,fa3-pipeline)' | FileCheck %s --check-prefix=DIVIDED

// Of wide heads dq is stored a step behind, at rows that the step before hands
// over as one number.
// CARRIED-LABEL: gpu.func @documents_grads
// CARRIED: warp.group @math
// CARRIED: tile.store.async {{.*}}, %arg{{[0-9]+}}, %{{[0-9a-z]+}}] add :
// RUN: sed 's/x64xf16/x128xf16/g' %s | fa3-opt -pass-pipeline='builtin.module(fa3-tile{backward-form=fused},fa3-specialize,fa3-pipeline)' | FileCheck %s --check-prefix=CARRIED

!q = tensor<?x4x?x64xf16>
!k = tensor<?x2x?x64xf16>
!rows = tensor<?x4x?xf32>
!count = tensor<1x1x?xi32>
!index = tensor<1x1x?x?xi32>
func.func @documents(%q: !q {tile.name = "q"}, %k: !k {tile.name = "k"}, %v: !k {tile.name = "v"}, %o: !q {tile.name = "o"},
                     %lse: !rows {tile.name = "lse"}, %do: !q {tile.name = "do"}, %documents: tensor<1x?xi32> {tile.name = "documents"},
                     %count: !count {tile.name = "count"}, %index: !index {tile.name = "index"},
                     %full_count: !count {tile.name = "full_count"}, %full_index: !index {tile.name = "full_index"},
                     %q_count: !count {tile.name = "q_count"}, %q_index: !index {tile.name = "q_index"},
                     %full_q_count: !count {tile.name = "full_q_count"}, %full_q_index: !index {tile.name = "full_q_index"})
    -> (!q {tile.name = "dq"}, !k {tile.name = "dk"}, !k {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    aux(%documents, %count, %index, %full_count, %full_index, %q_count, %q_index, %full_q_count, %full_q_index
        : tensor<1x?xi32>, !count, !index, !count, !index, !count, !index, !count, !index)
    mods [#attention.blocks<count = 1, index = 2, full_count = 3, full_index = 4, queries = 128, keys = 128>,
          #attention.blocks<count = 5, index = 6, full_count = 7, full_index = 8, queries = 128, keys = 128, by = key>]
    : (!q, !k, !k, !q, !rows, !q) -> (!q, !k, !k)
    mask_mod (%b, %h, %i, %j) {
      %c0 = arith.constant 0 : index
      %c20 = arith.constant 20 : index
      %c128 = arith.constant 128 : index
      %c256 = arith.constant 256 : index
      %x = tensor.extract %documents[%c0, %i] : tensor<1x?xi32>
      %y = tensor.extract %documents[%c0, %j] : tensor<1x?xi32>
      %same = arith.cmpi eq, %x, %y : i32
      %first = arith.cmpi slt, %j, %c20 : index
      %last = arith.cmpi sge, %j, %c256 : index
      %early = arith.cmpi slt, %i, %c128 : index
      %both = arith.andi %last, %early : i1
      %some = arith.ori %same, %first : i1
      %keep = arith.ori %some, %both : i1
      attention.yield %keep : i1
    }
  return %dq, %dk, %dv : !q, !k, !k
}

func.func @no_mask(%q: !q {tile.name = "q"}, %k: !k {tile.name = "k"}, %v: !k {tile.name = "v"}, %o: !q {tile.name = "o"},
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
  return %dq, %dk, %dv : !q, !k, !k
}

func.func @scores(%q: !q {tile.name = "q"}, %k: !k {tile.name = "k"}, %v: !k {tile.name = "v"}, %o: !q {tile.name = "o"},
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
      %c1 = arith.constant 1 : index
      %more = arith.constant 2.0 : f32
      %none = arith.constant -1.0 : f32
      %second = arith.cmpi eq, %h, %c1 : index
      %x = arith.select %second, %more, %none : f32
      %z = arith.addf %s, %x : f32
      attention.yield %z : f32
    }
  return %dq, %dk, %dv : !q, !k, !k
}

func.func @table(%q: !q {tile.name = "q"}, %k: !k {tile.name = "k"}, %v: !k {tile.name = "v"}, %o: !q {tile.name = "o"},
                 %lse: !rows {tile.name = "lse"}, %do: !q {tile.name = "do"}, %seen: tensor<?x?xi32> {tile.name = "seen"},
                 %count: !count {tile.name = "count"}, %index: !index {tile.name = "index"},
                 %full_count: !count {tile.name = "full_count"}, %full_index: !index {tile.name = "full_index"},
                 %q_count: !count {tile.name = "q_count"}, %q_index: !index {tile.name = "q_index"},
                 %full_q_count: !count {tile.name = "full_q_count"}, %full_q_index: !index {tile.name = "full_q_index"})
    -> (!q {tile.name = "dq"}, !k {tile.name = "dk"}, !k {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    aux(%seen, %count, %index, %full_count, %full_index, %q_count, %q_index, %full_q_count, %full_q_index
        : tensor<?x?xi32>, !count, !index, !count, !index, !count, !index, !count, !index)
    mods [#attention.blocks<count = 1, index = 2, full_count = 3, full_index = 4, queries = 128, keys = 128>,
          #attention.blocks<count = 5, index = 6, full_count = 7, full_index = 8, queries = 128, keys = 128, by = key>]
    : (!q, !k, !k, !q, !rows, !q) -> (!q, !k, !k)
    mask_mod (%b, %h, %i, %j) {
      %c0 = arith.constant 0 : i32
      %c5 = arith.constant 5 : index
      %c128 = arith.constant 128 : index
      %m = arith.divsi %i, %c128 : index
      %n = arith.divsi %j, %c128 : index
      %x = tensor.extract %seen[%m, %n] : tensor<?x?xi32>
      %some = arith.cmpi ne, %x, %c0 : i32
      %fifth = arith.cmpi eq, %j, %c5 : index
      %keep = arith.ori %some, %fifth : i1
      attention.yield %keep : i1
    }
  return %dq, %dk, %dv : !q, !k, !k
}
