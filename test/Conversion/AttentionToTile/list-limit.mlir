// Kernels count blocks of keys in f32: there are at most 2^24 of them.

// RUN: fa3-opt %s -attention-to-tile -o %t.mlir && FileCheck %s < %t.mlir
// CHECK-LABEL: func.func @counts(
// CHECK: memref.alloc(%[[BLOCKS:.*]]) {tile.name = "index"}
// CHECK: %[[MOST:.*]] = arith.constant 16777216 : index
// CHECK: %[[FITS:.*]] = arith.cmpi sle, %[[BLOCKS]], %[[MOST]] : index
// CHECK: cf.assert %[[FITS]], "there are more than 16777216 blocks of keys to list"
// CHECK: tile.launch

// A launch with more is refused before any kernel runs.
// RUN: not fa3-run --cpu %t.mlir --function=counts --dims b=1,h=1,mq=1 --scalar keys=268435457 --no-check 2>&1 | FileCheck %s --check-prefix=MORE
// MORE: error: {{.*}}there are more than 16777216 blocks of keys to list

func.func @counts(%keys: index {tile.name = "keys"}) -> tensor<1x1x1xi32> {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %l:4 = attention.list_blocks [64, 16] (%c1, %c1, %c64, %keys)
    : tensor<1x1x1xi32>, tensor<1x1x1x?xi32>, tensor<1x1x1xi32>, tensor<1x1x1x?xi32>
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.cmpi sle, %j, %i : index
      attention.yield %keep : i1
    }
  return %l#0 : tensor<1x1x1xi32>
}
