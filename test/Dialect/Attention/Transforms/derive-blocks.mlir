// RUN: fa3-opt %s --split-input-file --attention-derive-blocks=block-lists=call | FileCheck %s --check-prefixes=CHECK,CALL
// RUN: fa3-opt %s --split-input-file --attention-derive-blocks='block-lists=apart queries=64 keys=32' | FileCheck %s --check-prefixes=CHECK,APART
// RUN: fa3-opt %s --split-input-file --attention-derive-blocks=block-lists=never | FileCheck %s --check-prefix=NEVER
// RUN: fa3-opt %s --split-input-file --attention-derive-blocks | FileCheck %s --check-prefix=NEVER
// NEVER-NOT: list_blocks

!t = tensor<?x4x?x64xf16>

// The mask looks at the batch, so lists are of batches; of heads one serves all.
// CHECK-LABEL: func.func @documents(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x4x?x64xf16>, %[[K:[^:]*]]: {{.*}}, %[[V:[^:]*]]: {{.*}}, %[[BIAS:[^:]*]]: tensor<4xf32>, %[[D:[^:]*]]: tensor<?x?xi32> {{.*}}, %[[W:[^:]*]]: index
// APART-SAME: {tile.name = "width"}, %[[COUNT:[^:]*]]: tensor<?x1x?xi32> {tile.name = "count"}, %[[INDEX:[^:]*]]: tensor<?x1x?x?xi32> {tile.name = "index"}, %[[FULL:[^:]*]]: tensor<?x1x?xi32> {tile.name = "full_count"}, %[[OF_FULL:[^:]*]]: tensor<?x1x?x?xi32> {tile.name = "full_index"}
// CALL-DAG: %[[B:.*]] = tensor.dim %[[Q]], %c0
// CALL-DAG: %[[SQ:.*]] = tensor.dim %[[Q]], %c2
// CALL-DAG: %[[SK:.*]] = tensor.dim %[[K]], %c2
// CALL: %[[L0:.*]], %[[L1:.*]], %[[L2:.*]], %[[L3:.*]] = attention.list_blocks [128, 128] (%[[B]], %c1{{.*}}, %[[SQ]], %[[SK]]) aux(%[[D]] : tensor<?x?xi32>) : tensor<?x1x?xi32>, tensor<?x1x?x?xi32>
// CALL-NEXT: mask_mod (%[[N:.*]], %{{.*}}, %[[I:.*]], %{{.*}}) {
// CALL: tensor.extract %[[D]][%[[N]], %[[I]]]
// CALL: arith.cmpi slt, %{{.*}}, %[[W]]
// CALL: %[[BLOCKS:.*]] = attention.blocks [128, 128]
// CALL-NEXT: by_query (%[[LB:.*]], %{{.*}}, %[[M:.*]], %{{.*}}) {
// CALL: tensor.extract %[[L0]][%[[LB]], %c0{{.*}}, %{{.*}}]
// APART: %[[BLOCKS:.*]] = attention.blocks [64, 32]
// CALL: attention.forward {{.*}} aux(%[[BIAS]], %[[D]], %[[L0]], %[[L1]], %[[L2]], %[[L3]] : {{.*}} blocks %[[BLOCKS]] :
// APART: attention.forward {{.*}} aux(%[[BIAS]], %[[D]], %[[COUNT]], %[[INDEX]], %[[FULL]], %[[OF_FULL]] : {{.*}} blocks %[[BLOCKS]] :
// CHECK: mask_mod
// CALL-NOT: func.func
// APART: func.func @documents_blocks(
// APART-SAME: %[[D:[^:]*]]: tensor<?x?xi32> {tile.name = "document"}, %[[W:[^:]*]]: index {tile.name = "width"}, %[[B:[^:]*]]: index {tile.name = "batch"}, %[[SQ:[^:]*]]: index {tile.name = "queries"}, %[[SK:[^:]*]]: index {tile.name = "keys"})
// APART-SAME: tile.name = "count"{{.*}}tile.name = "index"{{.*}}tile.name = "full_count"{{.*}}tile.name = "full_index"
// APART: %[[L0:.*]], %[[L1:.*]], %[[L2:.*]], %[[L3:.*]] = attention.list_blocks [64, 32] (%[[B]], %{{.*}}, %[[SQ]], %[[SK]]) aux(%[[D]] :
// APART: return %[[L0]], %[[L1]], %[[L2]], %[[L3]]
func.func @documents(%q: !t, %k: !t, %v: !t, %bias: tensor<4xf32>,
                     %d: tensor<?x?xi32> {tile.name = "document"},
                     %w: index {tile.name = "width"}) -> !t {
  %o = attention.forward %q, %k, %v aux(%bias, %d : tensor<4xf32>, tensor<?x?xi32>) : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      %x = tensor.extract %bias[%h] : tensor<4xf32>
      %y = arith.addf %s, %x : f32
      attention.yield %y : f32
    }
    mask_mod (%b, %h, %i, %j) {
      %x = tensor.extract %d[%b, %i] : tensor<?x?xi32>
      %y = tensor.extract %d[%b, %j] : tensor<?x?xi32>
      %same = arith.cmpi eq, %x, %y : i32
      %distance = arith.subi %i, %j : index
      %near = arith.cmpi slt, %distance, %w : index
      %keep = arith.andi %same, %near : i1
      attention.yield %keep : i1
    }
  return %o : !t
}

// -----

// What computes a captured scalar goes along; known lengths are constants.
!s = tensor<2x4x300x64xf16>

// CHECK-LABEL: func.func @remainder(
// CALL: attention.list_blocks [128, 128] (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : tensor<1x1x3xi32>, tensor<1x1x3x3xi32>
// APART: func.func @remainder_blocks(%[[N:.*]]: i32)
// APART: %[[SUM:.*]] = arith.addi %[[N]]
// APART: %[[CAST:.*]] = arith.index_cast %[[SUM]]
// APART: attention.list_blocks [64, 32] (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : tensor<1x1x5xi32>, tensor<1x1x5x10xi32>
// APART: arith.remsi %{{.*}}, %[[CAST]]
func.func @remainder(%q: !s, %k: !s, %v: !s, %n: i32) -> !s {
  %c1 = arith.constant 1 : i32
  %sum = arith.addi %n, %c1 : i32
  %m = arith.index_cast %sum : i32 to index
  %o = attention.forward %q, %k, %v : (!s, !s, !s) -> !s
    mask_mod (%b, %h, %i, %j) {
      %c0 = arith.constant 0 : index
      %distance = arith.subi %i, %j : index
      %rest = arith.remsi %distance, %m : index
      %keep = arith.cmpi eq, %rest, %c0 : index
      attention.yield %keep : i1
    }
  return %o : !s
}
