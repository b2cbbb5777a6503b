// Kernels whose replicas take turns pass both proofs, and give the answer of
// those without.
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline='tuning-table=none ping-pong=on block-m=128 block-n=128' -o /dev/null
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline='tuning-table=none ping-pong=on block-m=192 block-n=64' -o /dev/null
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline='tuning-table=none ping-pong=on block-m=192 block-n=64 mode=static rescale=eager max-depth=2' -o /dev/null
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline='tuning-table=none ping-pong=on block-m=192 block-n=64 mode=dynamic stages=1' -o /dev/null
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline='tuning-table=none ping-pong=on block-m=128 block-n=64 max-depth=1 mode=cta' -o /dev/null
// RUN: fa3-opt %fa3_src/examples/chain.mlir -fa3-lower-to-nvvm-pipeline='ping-pong=on mode=static' -o /dev/null
// RUN: fa3-opt %fa3_src/examples/gemm.mlir -fa3-lower-to-nvvm-pipeline='ping-pong=on mode=static' -o /dev/null
// RUN: fa3-opt %fa3_src/examples/fp8_blocks.mlir -fa3-lower-to-nvvm-pipeline='ping-pong=on' -o /dev/null

// RUN: fa3-run --cpu --check-each-pass='ping-pong=on block-m=128 block-n=64' %s --function=causal --dims b=1,h=2,hk=1,sq=200,sk=300 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='ping-pong=on block-m=192 block-n=64 mode=dynamic' %s --function=causal --dims b=1,h=2,hk=1,sq=200,sk=130 --sms 1 --schedule-seed 3 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='ping-pong=on block-m=192 block-n=32' %s --function=window --dims b=1,h=1,hk=1,sq=210,sk=250 --completion random | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='ping-pong=on block-m=128 block-n=64' %s --function=full --dims b=1,h=1,hk=1,sq=70,sk=0 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='ping-pong=on block-m=128 block-n=64 mode=static' %s --function=full --dims b=1,h=2,hk=1,sq=130,sk=64 --sms 1 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

func.func @full(%q: tensor<?x?x?x128xf16> {tile.name = "q"}, %k: tensor<?x?x?x128xf16> {tile.name = "k"}, %v: tensor<?x?x?x128xf16> {tile.name = "v"}) -> (tensor<?x?x?x128xf16> {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v : (tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>) -> (tensor<?x?x?x128xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xf16>, tensor<?x?x?xf32>
}

func.func @causal(%q: tensor<?x?x?x64xf16> {tile.name = "q"}, %k: tensor<?x?x?x64xf16> {tile.name = "k"}, %v: tensor<?x?x?x64xf16> {tile.name = "v"}) -> (tensor<?x?x?x64xf16> {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal] : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}

func.func @window(%q: tensor<?x?x?x64xf16> {tile.name = "q"}, %k: tensor<?x?x?x64xf16> {tile.name = "k"}, %v: tensor<?x?x?x64xf16> {tile.name = "v"}) -> (tensor<?x?x?x64xf16> {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.window<left = 60, right = 10>] : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}
