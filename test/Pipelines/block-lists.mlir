// Lists of blocks of keys: two loops, of which the second has no mask; the same
// answer after every pass as attention by definition.
//
// RUN: rm -rf %t && mkdir -p %t/none
// RUN: %python %fa3_src/test/Inputs/blocks.py %t 300 330 128 64 "i // 100 == j // 100 or j < 20"
// RUN: %python %fa3_src/test/Inputs/table.py %t/documents.npy "<i4" 1,330 "i // 100 + j // 100"
// DEFINE: %{lists} = --input documents=%t/documents.npy --input count=%t/count.npy --input index=%t/index.npy --input full_count=%t/full_count.npy --input full_index=%t/full_index.npy
// RUN: fa3-run --cpu %s --function=documents --dims b=1,sq=300,sk=330 %{lists} --check-each-pass | FileCheck %s
// RUN: fa3-run --cpu %s --function=documents --dims b=1,sq=300,sk=330 %{lists} --check-each-pass='block-m=64 block-n=32 mode=dynamic' --completion random --sms 2 | FileCheck %s
// RUN: fa3-run --cpu %s --function=one_list --dims b=1,sq=300,sk=330 %{lists} --check-each-pass='two-level-accumulation=true two-level-steps=2' | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// Rows without an entry, and a full block that ends behind the keys.
// RUN: %python %fa3_src/test/Inputs/table.py %t/none/count.npy "<i4" 1,1,3 "(0, 1, 0)[k]"
// RUN: %python %fa3_src/test/Inputs/table.py %t/none/index.npy "<i4" 1,1,3,2 "4 - 3 * l"
// RUN: %python %fa3_src/test/Inputs/table.py %t/none/full_count.npy "<i4" 1,1,3 "(-1, 0, 2)[k]"
// RUN: %python %fa3_src/test/Inputs/table.py %t/none/full_index.npy "<i4" 1,1,3,2 "3 + 2 * l"
// DEFINE: %{none} = --input count=%t/none/count.npy --input index=%t/none/index.npy --input full_count=%t/none/full_count.npy --input full_index=%t/none/full_index.npy
// RUN: fa3-run --cpu %s --function=no_mask --dims b=1,sq=300,sk=330 %{none} --check-each-pass | FileCheck %s

// Lists that hold anything: nothing outside of the arrays is read.
// RUN: fa3-run --cpu %s --function=no_mask --dims b=1,sq=300,sk=330,n2=3,n3=2 --check-each-pass --fill count=2 --fill index=1000000 --fill full_count=0 --fill full_index=-5 | FileCheck %s

// One loop for both lists, whose blocks share rings.
// SHAPE-LABEL: gpu.func @documents
// SHAPE: tile.grid
// SHAPE: scf.for
// SHAPE: arith.cmpi sge
// SHAPE: arith.ori
// SHAPE: tile.any_possible
// SHAPE: tile.dot
// SHAPE-NOT: scf.for
// SHAPE: tile.store
// RUN: fa3-opt %s --attention-expand-mods --attention-to-tile --canonicalize | FileCheck %s --check-prefix=SHAPE

// It is divided at the first block of the second list, which has no mask.
// SPLIT-LABEL: gpu.func @documents
// SPLIT-COUNT-2: warp.ring : <{{[2-9]}}, [tensor<64x64xf16>]>
// SPLIT: warp.group @math
// Tiles.
// SPLIT: scf.for
// SPLIT: scf.for
// SPLIT: tensor<64x64xi1>
// SPLIT: scf.yield
// SPLIT: scf.for
// SPLIT-NOT: tensor<64x64xi1>
// SPLIT: scf.yield
// RUN: fa3-opt %s -pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline)' | FileCheck %s --check-prefix=SPLIT

!t = tensor<?x2x?x64xf16>
func.func @documents(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"},
                     %documents: tensor<1x?xi32> {tile.name = "documents"},
                     %count: tensor<1x1x?xi32> {tile.name = "count"}, %index: tensor<1x1x?x?xi32> {tile.name = "index"},
                     %full_count: tensor<1x1x?xi32> {tile.name = "full_count"}, %full_index: tensor<1x1x?x?xi32> {tile.name = "full_index"})
    -> (!t {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v
    aux(%documents, %count, %index, %full_count, %full_index : tensor<1x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>)
    mods [#attention.blocks<count = 1, index = 2, full_count = 3, full_index = 4, queries = 128, keys = 64>]
    : (!t, !t, !t) -> (!t, tensor<?x2x?xf32>)
    mask_mod (%b, %h, %i, %j) {
      %c0 = arith.constant 0 : index
      %c20 = arith.constant 20 : index
      %x = tensor.extract %documents[%c0, %i] : tensor<1x?xi32>
      %y = tensor.extract %documents[%c0, %j] : tensor<1x?xi32>
      %same = arith.cmpi eq, %x, %y : i32
      %first = arith.cmpi slt, %j, %c20 : index
      %keep = arith.ori %same, %first : i1
      attention.yield %keep : i1
    }
  return %o, %lse : !t, tensor<?x2x?xf32>
}

// Both lists are of blocks to look at, one behind the other.
func.func @one_list(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"},
                    %documents: tensor<1x?xi32> {tile.name = "documents"},
                    %count: tensor<1x1x?xi32> {tile.name = "count"}, %index: tensor<1x1x?x?xi32> {tile.name = "index"},
                    %full_count: tensor<1x1x?xi32> {tile.name = "full_count"}, %full_index: tensor<1x1x?x?xi32> {tile.name = "full_index"})
    -> (!t {tile.name = "o"}) {
  %blocks = attention.blocks [128, 64]
    by_query (%b, %h, %m, %t) {
      %c0 = arith.constant 0 : index
      %n32 = tensor.extract %count[%c0, %c0, %m] : tensor<1x1x?xi32>
      %n = arith.index_cast %n32 : i32 to index
      %f32 = tensor.extract %full_count[%c0, %c0, %m] : tensor<1x1x?xi32>
      %f = arith.index_cast %f32 : i32 to index
      %all = arith.addi %n, %f : index
      %behind = arith.subi %t, %n : index
      %x32 = tensor.extract %index[%c0, %c0, %m, %t] : tensor<1x1x?x?xi32>
      %y32 = tensor.extract %full_index[%c0, %c0, %m, %behind] : tensor<1x1x?x?xi32>
      %isFirst = arith.cmpi slt, %t, %n : index
      %z32 = arith.select %isFirst, %x32, %y32 : i32
      %z = arith.index_cast %z32 : i32 to index
      attention.yield %all, %z, %c0, %c0 : index, index, index, index
    }
  %o = attention.forward %q, %k, %v
    aux(%documents, %count, %index, %full_count, %full_index : tensor<1x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>) blocks %blocks
    : (!t, !t, !t) -> !t
    mask_mod (%b, %h, %i, %j) {
      %c0 = arith.constant 0 : index
      %c20 = arith.constant 20 : index
      %x = tensor.extract %documents[%c0, %i] : tensor<1x?xi32>
      %y = tensor.extract %documents[%c0, %j] : tensor<1x?xi32>
      %same = arith.cmpi eq, %x, %y : i32
      %first = arith.cmpi slt, %j, %c20 : index
      %keep = arith.ori %same, %first : i1
      attention.yield %keep : i1
    }
  return %o : !t
}

func.func @no_mask(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"},
                   %count: tensor<1x1x?xi32> {tile.name = "count"}, %index: tensor<1x1x?x?xi32> {tile.name = "index"},
                   %full_count: tensor<1x1x?xi32> {tile.name = "full_count"}, %full_index: tensor<1x1x?x?xi32> {tile.name = "full_index"})
    -> (!t {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    aux(%count, %index, %full_count, %full_index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>)
    mods [#attention.blocks<count = 0, index = 1, full_count = 2, full_index = 3, queries = 128, keys = 64>]
    : (!t, !t, !t) -> !t
  return %o : !t
}
