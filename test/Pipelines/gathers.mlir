// Tables at indices that are no block of elements: by distance, by block, of
// tables, clamped, with the key first, strided. An index outside reads 0.

// DEFINE: %{run} = fa3-run --cpu --check-each-pass %s --dims b=1,sq=150,sk=100
// RUN: %{run},n0=40 --function=distance | FileCheck %s
// RUN: %{run},n0=40 --function=key_first | FileCheck %s
// RUN: %python %S/../Inputs/table.py %t.ids.npy '<i2' 100 '(i * 7) %% 9 - 2'
// RUN: %{run} --function=of_tables --input ids=%t.ids.npy | FileCheck %s
// RUN: %python %S/../Inputs/table.py %t.wide.npy '<i8' 60,2 'i %% 5 - j * 2'
// RUN: %{run} --function=wide --input table=%t.wide.npy | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// RUN: fa3-opt %s --attention-to-tile 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: remark: reads elements one by one, which is slow
// SHAPE-LABEL: gpu.func @distance
// SHAPE: %[[D:.*]] = arith.subi %{{.*}}, %{{.*}} : tensor<[[SHAPE:.*]]xindex>
// SHAPE: tile.gather %{{.*}}[%[[D]] : tensor<[[SHAPE]]xindex>] : memref<{{.*}}> -> tensor<[[SHAPE]]xf32>
// SHAPE-LABEL: gpu.func @key_first
// SHAPE: tile.gather %{{.*}}[%{{.*}}, %{{.*}} : tensor<{{.*}}xindex>, tensor<{{.*}}xindex>]
// A number for every key is one for each column.
// SHAPE-LABEL: gpu.func @of_tables
// SHAPE: tile.load %{{.*}} : memref<{{.*}}xi16{{.*}}> -> tensor<[[N:[0-9]+]]xi16>
// SHAPE: tile.gather %{{.*}}[%{{.*}}, %{{.*}} : index, tensor<[[N]]xindex>] : memref<{{.*}}> -> tensor<[[N]]xf16>

!x = tensor<?x2x?x64xf16>
func.func @distance(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"},
                    %table: tensor<?xf32> {tile.name = "table"}) -> (!x {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%table : tensor<?xf32>) : (!x, !x, !x) -> !x
    score_mod (%s, %b, %h, %i, %j) {
      %d = arith.subi %i, %j : index
      %x = tensor.extract %table[%d] : tensor<?xf32>
      %y = arith.addf %s, %x : f32
      attention.yield %y : f32
    }
  return %o : !x
}

func.func @key_first(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"},
                     %table: tensor<?x150xbf16> {tile.name = "table"}) -> (!x {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%table : tensor<?x150xbf16>) : (!x, !x, !x) -> !x
    score_mod (%s, %b, %h, %i, %j) {
      %c3 = arith.constant 3 : index
      %m = arith.divui %j, %c3 : index
      %x16 = tensor.extract %table[%m, %i] : tensor<?x150xbf16>
      %x = arith.extf %x16 : bf16 to f32
      %y = arith.addf %s, %x : f32
      attention.yield %y : f32
    }
  return %o : !x
}

func.func @of_tables(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"},
                     %ids: tensor<?xi16> {tile.name = "ids"}, %table: tensor<2x5xf16> {tile.name = "table"})
    -> (!x {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%ids, %table : tensor<?xi16>, tensor<2x5xf16>) : (!x, !x, !x) -> !x
    score_mod (%s, %b, %h, %i, %j) {
      %id = tensor.extract %ids[%j] : tensor<?xi16>
      %at = arith.index_cast %id : i16 to index
      %x16 = tensor.extract %table[%h, %at] : tensor<2x5xf16>
      %x = arith.extf %x16 : f16 to f32
      %y = arith.addf %s, %x : f32
      attention.yield %y : f32
    }
  return %o : !x
}

// Integers of 64 bits, and a uniform index behind one that varies.
func.func @wide(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"},
                %table: tensor<60x2xi64> {tile.name = "table"}) -> (!x {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%table : tensor<60x2xi64>) : (!x, !x, !x) -> !x
    mask_mod (%b, %h, %i, %j) {
      %c2 = arith.constant 2 : index
      %zero = arith.constant 0 : i64
      %at = arith.divui %j, %c2 : index
      %x = tensor.extract %table[%at, %h] : tensor<60x2xi64>
      %keep = arith.cmpi sge, %x, %zero : i64
      attention.yield %keep : i1
    }
  return %o : !x
}
