// Lengths that are known leave no test of the trip count around pipelined loops.
// Short ones take the tile that they fill better, and halves of it where
// SMs would be idle.

// RUN: split-file %s %t
// RUN: fa3-opt %t/short.mlir -fa3-lower-to-nvvm-pipeline | fa3-translate --mlir-to-ptx -o %t.ptx
// RUN: FileCheck %s --check-prefix=SHORT --input-file=%t.json
// SHORT: "grid": "min(device.sms, 8)"
// RUN: fa3-run --cpu --check-each-pass %t/short.mlir | FileCheck %s
// CHECK: same answer after

// Keys that are one step leave no loop over keys. The guard is true, and the loop
// over tiles is not pipelined: two tiles are too many registers.
// RUN: fa3-opt %t/step.mlir -fa3-lower-to-nvvm-pipeline -o - | FileCheck %s --check-prefix=STEP
// STEP: hopper.launch
// RUN: fa3-run --cpu --check-each-pass %t/step.mlir | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='mode=static heights=even block-m=64' %t/step.mlir --sms 2 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='mode=dynamic block-m=128' %t/step.mlir --sms 2 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass %t/float8.mlir --dims b=1,h=2,hk=1,sq=140 --sms 1 --function=float8 | FileCheck %s

// Nor are there products without keys, or replicas that could lack rows.
// RUN: fa3-run --cpu --check-each-pass=block-m=128 %t/none.mlir | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass=block-m=192 %t/none.mlir | FileCheck %s

//--- short.mlir

func.func @short(%q: tensor<1x1x512x128xf16> {tile.name = "q"},
                 %k: tensor<1x1x150x128xf16> {tile.name = "k"},
                 %v: tensor<1x1x150x128xf16> {tile.name = "v"})
    -> (tensor<1x1x512x128xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    : (tensor<1x1x512x128xf16>, tensor<1x1x150x128xf16>,
       tensor<1x1x150x128xf16>) -> tensor<1x1x512x128xf16>
  return %o : tensor<1x1x512x128xf16>
}

//--- step.mlir
func.func @step(%q: tensor<1x3x390x128xf16> {tile.name = "q"},
                %k: tensor<1x3x65x128xf16> {tile.name = "k"},
                %v: tensor<1x3x65x128xf16> {tile.name = "v"})
    -> (tensor<1x3x390x128xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    : (tensor<1x3x390x128xf16>, tensor<1x3x65x128xf16>,
       tensor<1x3x65x128xf16>) -> tensor<1x3x390x128xf16>
  return %o : tensor<1x3x390x128xf16>
}

//--- float8.mlir
func.func @float8(%q: tensor<?x?x?x64xf8E4M3FN> {tile.name = "q"},
                  %k: tensor<?x?x64x64xf8E4M3FN> {tile.name = "k"},
                  %v: tensor<?x?x64x64xf8E4M3FN> {tile.name = "v"},
                  %qs: tensor<1x1x1xf32>, %ks: tensor<1x1x1xf32>,
                  %vs: tensor<1x1x1xf32>)
    -> (tensor<?x?x?x64xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    scales(%qs, %ks, %vs : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
    : (tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x64x64xf8E4M3FN>,
       tensor<?x?x64x64xf8E4M3FN>) -> tensor<?x?x?x64xf16>
  return %o : tensor<?x?x?x64xf16>
}

//--- none.mlir
func.func @none(%q: tensor<1x3x100x64xf16> {tile.name = "q"},
                %k: tensor<1x3x0x64xf16> {tile.name = "k"},
                %v: tensor<1x3x0x64xf16> {tile.name = "v"})
    -> (tensor<1x3x100x64xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    : (tensor<1x3x100x64xf16>, tensor<1x3x0x64xf16>,
       tensor<1x3x0x64xf16>) -> tensor<1x3x100x64xf16>
  return %o : tensor<1x3x100x64xf16>
}
