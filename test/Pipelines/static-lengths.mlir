// Lengths that are known leave no test of the trip count around pipelined loops.
// Short ones take the tile that they fill better, and halves of it where
// processors would be idle.

// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline | fa3-translate --mlir-to-ptx -o %t.ptx
// RUN: FileCheck %s --check-prefix=SHORT --input-file=%t.json
// SHORT: "grid": "min(device.sms, 8)"
// RUN: fa3-run --cpu --check-each-pass %s | FileCheck %s
// CHECK: same answer after

func.func @short(%q: tensor<1x1x512x128xf16> {tile.name = "q"},
                 %k: tensor<1x1x150x128xf16> {tile.name = "k"},
                 %v: tensor<1x1x150x128xf16> {tile.name = "v"})
    -> (tensor<1x1x512x128xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    : (tensor<1x1x512x128xf16>, tensor<1x1x150x128xf16>,
       tensor<1x1x150x128xf16>) -> tensor<1x1x512x128xf16>
  return %o : tensor<1x1x512x128xf16>
}
