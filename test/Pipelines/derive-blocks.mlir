// Lists of blocks from the code of a mask, made by kernels: the same as in
// Python, and attention that takes them gives the same answer as without.
//
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %fa3_src/test/Inputs/table.py %t/document.npy "<i4" 2,330 "j // (60 + 40 * i)"
// DEFINE: %{function} =
// DEFINE: %{more} =
// DEFINE: %{check} = fa3-run --cpu %s --function=%{function} --dims b=2,sq=300,sk=330 %{more}

// In front of attention, after every pass.
// REDEFINE: %{function} = documents
// REDEFINE: %{more} = --input document=%t/document.npy --check-each-pass='block-lists=call'
// RUN: %{check} | FileCheck %s
// REDEFINE: %{more} = --input document=%t/document.npy --check-each-pass='block-lists=call block-m=64 block-n=32 mode=dynamic' --completion random --sms 2
// RUN: %{check} | FileCheck %s
// REDEFINE: %{function} = by_head
// REDEFINE: %{more} = --input document=%t/document.npy --check-each-pass='block-lists=call' --scalar step=3
// RUN: %{check} | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// The heads of a group as rows.
// REDEFINE: %{function} = grouped
// REDEFINE: %{more} = --check-each-pass='block-lists=call pack-gqa=true' --scalar step=3
// RUN: %{check} | FileCheck %s

// A function of their own: its lists, and what attention makes of them.
// RUN: fa3-opt %s --attention-expand-mods --attention-derive-blocks=block-lists=apart > %t/apart.mlir
// DEFINE: %{sizes} =
// DEFINE: %{list} = fa3-run --cpu %t/apart.mlir --function=%{function}_blocks %{sizes} %{more} --pass-pipeline='builtin.module(fa3-tile{block-lists=never})' --output count=%t/count.npy --output index=%t/index.npy --output full_count=%t/full_count.npy --output full_index=%t/full_index.npy
// REDEFINE: %{function} = documents
// REDEFINE: %{sizes} = --dims b=2,h=1,mq=3,nk=3 --scalar batch=2 --scalar queries=300 --scalar keys=330
// REDEFINE: %{more} = --input document=%t/document.npy
// RUN: %{list}
// RUN: %python %fa3_src/test/Inputs/check_blocks.py %t 300 330 128 128 "i // (60 + 40 * b) == j // (60 + 40 * b)" | FileCheck %s --check-prefix=DOCUMENTS
// DOCUMENTS: right: {{[1-9][0-9]*}} masked, {{[0-9]+}} full
// RUN: fa3-run --cpu %t/apart.mlir --function=documents --dims b=2,sq=300,sk=330 --input document=%t/document.npy --input count=%t/count.npy --input index=%t/index.npy --input full_count=%t/full_count.npy --input full_index=%t/full_index.npy --check-each-pass='block-lists=never' | FileCheck %s
// RUN: fa3-run --cpu %t/apart.mlir --function=documents_blocks %{sizes} --input document=%t/document.npy --check-each-pass='block-lists=never' | FileCheck %s

// More blocks than a tile has rows, full ones, and queries that see nothing.
// REDEFINE: %{function} = window
// REDEFINE: %{sizes} = --dims b=1,h=1,mq=11,nk=82 --scalar queries=700 --scalar keys=1300 --scalar first=100 --scalar last=900
// REDEFINE: %{more} =
// RUN: fa3-opt %s --attention-expand-mods --attention-derive-blocks='block-lists=apart queries=64 keys=16' > %t/apart.mlir
// RUN: %{list}
// RUN: %python %fa3_src/test/Inputs/check_blocks.py %t 700 1300 64 16 "i > 150 and 100 <= j - i < 900" | FileCheck %s --check-prefix=WINDOW
// WINDOW: right: {{[1-9][0-9]*}} masked, {{[1-9][0-9]+}} full
// Nothing to list.
// REDEFINE: %{sizes} = --dims b=1,h=1,mq=1,nk=1 --scalar queries=0 --scalar keys=0 --scalar first=100 --scalar last=900
// RUN: %{list}
// RUN: %python %fa3_src/test/Inputs/check_blocks.py %t 0 0 64 16 "True" | FileCheck %s --check-prefix=NOTHING
// NOTHING: right: 0 masked, 0 full
// RUN: fa3-run --cpu %s --function=window --dims b=1,sq=70,sk=0 --scalar first=100 --scalar last=900 --check-each-pass='block-lists=call' | FileCheck %s

// SHAPE-LABEL: func.func @window
// SHAPE: memref.alloc{{.*}} {tile.name = "count"} : memref<1x1x?xi32>
// SHAPE: memref.alloc{{.*}} {tile.name = "pairs"} : memref<1x1x?x8x?xf32>
// SHAPE: tile.launch @window_kernels::@window_pairs
// SHAPE: tile.launch @window_kernels::@window_positions
// SHAPE: tile.launch @window_kernels::@window_lists
// SHAPE: tile.launch @window_kernels::@window
// RUN: fa3-opt %s --attention-expand-mods --attention-derive-blocks=block-lists=call --attention-to-tile | FileCheck %s --check-prefix=SHAPE

!t = tensor<?x2x?x64xf16>
func.func @documents(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"},
                     %document: tensor<?x?xi32> {tile.name = "document"})
    -> (!t {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%document : tensor<?x?xi32>) : (!t, !t, !t) -> !t
    mask_mod (%b, %h, %i, %j) {
      %x = tensor.extract %document[%b, %i] : tensor<?x?xi32>
      %y = tensor.extract %document[%b, %j] : tensor<?x?xi32>
      %same = arith.cmpi eq, %x, %y : i32
      attention.yield %same : i1
    }
  return %o : !t
}

func.func @by_head(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"},
                   %document: tensor<?x?xi32> {tile.name = "document"}, %step: index {tile.name = "step"})
    -> (!t {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%document : tensor<?x?xi32>) : (!t, !t, !t) -> !t
    mask_mod (%b, %h, %i, %j) {
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      %c130 = arith.constant 130 : index
      %more = arith.addi %h, %c1 : index
      %n = arith.muli %more, %step : index
      %distance = arith.subi %i, %j : index
      %rest = arith.remsi %distance, %n : index
      %hit = arith.cmpi eq, %rest, %c0 : index
      %x = tensor.extract %document[%c0, %i] : tensor<?x?xi32>
      %row = arith.index_cast %x : i32 to index
      %near = arith.cmpi sle, %j, %c130 : index
      %some = arith.cmpi sgt, %row, %c1 : index
      %both = arith.andi %near, %some : i1
      %keep = arith.andi %hit, %both : i1
      attention.yield %keep : i1
    }
  return %o : !t
}

!four = tensor<?x4x?x64xf16>
func.func @grouped(%q: !four {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"},
                   %step: index {tile.name = "step"}) -> (!four {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v : (!four, !t, !t) -> !four
    mask_mod (%b, %h, %i, %j) {
      %c0 = arith.constant 0 : index
      %c100 = arith.constant 100 : index
      %distance = arith.subi %i, %j : index
      %rest = arith.remsi %distance, %step : index
      %hit = arith.cmpi eq, %rest, %c0 : index
      %near = arith.cmpi slt, %distance, %c100 : index
      %keep = arith.andi %hit, %near : i1
      attention.yield %keep : i1
    }
  return %o : !four
}

func.func @window(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"},
                  %first: index {tile.name = "first"}, %last: index {tile.name = "last"}) -> (!t {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
    mask_mod (%b, %h, %i, %j) {
      %c150 = arith.constant 150 : index
      %distance = arith.subi %j, %i : index
      %behind = arith.cmpi sge, %distance, %first : index
      %before = arith.cmpi slt, %distance, %last : index
      %late = arith.cmpi sgt, %i, %c150 : index
      %in = arith.andi %behind, %before : i1
      %keep = arith.andi %in, %late : i1
      attention.yield %keep : i1
    }
  return %o : !t
}

// Arrays for lists that do not fit the lengths.
// RUN: not fa3-run --cpu %t/apart.mlir --function=window_blocks --dims b=1,h=1,mq=2,nk=1 --scalar queries=64 --scalar keys=16 --scalar first=1 --scalar last=9 --pass-pipeline='builtin.module(fa3-tile{block-lists=never})' 2>&1 | FileCheck %s --check-prefix=EXTENT
// EXTENT: count has another extent in dimension 2 than there are blocks of queries
