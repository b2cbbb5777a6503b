// RUN: fa3-opt %s | fa3-opt | FileCheck %s

// CHECK-LABEL: @documents
// CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} = attention.list_blocks [128, 64] (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) aux(%{{.*}} : tensor<1x?xi32>) : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
// CHECK-NEXT: mask_mod (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: attention.yield
func.func @documents(%document: tensor<1x?xi32>, %sq: index, %sk: index)
    -> (tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>) {
  %c1 = arith.constant 1 : index
  %l:4 = attention.list_blocks [128, 64] (%c1, %c1, %sq, %sk) aux(%document : tensor<1x?xi32>)
    : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %c0 = arith.constant 0 : index
      %x = tensor.extract %document[%c0, %i] : tensor<1x?xi32>
      %y = tensor.extract %document[%c0, %j] : tensor<1x?xi32>
      %keep = arith.cmpi eq, %x, %y : i32
      attention.yield %keep : i1
    }
  return %l#0, %l#1, %l#2, %l#3 : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>
}

// CHECK-LABEL: @lengths
// CHECK: attention.list_blocks [64, 16] (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {note = 1 : i32} : tensor<?x4x?xi32>
// CHECK: attention.length key
func.func @lengths(%b: index, %h: index, %sq: index, %sk: index) {
  %l:4 = attention.list_blocks [64, 16] (%b, %h, %sq, %sk) {note = 1 : i32}
    : tensor<?x4x?xi32>, tensor<?x4x?x?xi32>, tensor<?x4x?xi32>, tensor<?x4x?x?xi32>
    mask_mod (%n, %m, %i, %j) {
      %keys = attention.length key
      %last = arith.subi %keys, %i : index
      %keep = arith.cmpi slt, %j, %last : index
      attention.yield %keep : i1
    }
  return
}
