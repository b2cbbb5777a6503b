// Kernels that hold queries in registers pass both proofs, and give the answer
// of those that do not: parts of blocks of shared memory (d 96), a rest that is
// padded (d 72), all of a row (d 64), 8 bits; one CTA for every tile, and a
// loop over tiles.
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline='tuning-table=none hold=2' -o /dev/null
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline='tuning-table=none hold=8 mode=dynamic ping-pong=on' -o /dev/null
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline='tuning-table=none hold=3 mode=static rescale=eager max-depth=2 stages=1' -o /dev/null
// RUN: fa3-opt %fa3_src/examples/chain.mlir -fa3-lower-to-nvvm-pipeline='hold=3' -o /dev/null
// RUN: fa3-opt %fa3_src/examples/gemm.mlir -fa3-lower-to-nvvm-pipeline='hold=2' -o /dev/null
// RUN: fa3-opt %fa3_src/examples/fp8_blocks.mlir -fa3-lower-to-nvvm-pipeline='hold=2' -o /dev/null

// Registers of the role that converts make room for more.
// RUN: fa3-opt %fa3_src/examples/fp8_blocks.mlir -fa3-lower-to-nvvm-pipeline='hold=2 producer-registers=40' | FileCheck %s --check-prefix=REGISTERS
// REGISTERS: nvvm.setmaxregister decrease 40

// RUN: fa3-run --cpu --check-each-pass='hold=3' %s --function=causal --dims b=1,h=2,hk=1,sq=200,sk=300 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='hold=4 mode=dynamic' %s --function=padded --dims b=1,h=2,hk=1,sq=200,sk=130 --sms 1 --schedule-seed 3 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='hold=1 block-n=32' %s --function=padded --dims b=1,h=1,hk=1,sq=70,sk=0 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='hold=4 block-m=192 block-n=32' %s --function=window --dims b=1,h=1,hk=1,sq=210,sk=250 --completion random | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='hold=1' %fa3_src/examples/fp8_blocks.mlir --dims b=1,h=1,hk=1,sq=130,sk=200 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// Score code that reads tiles from shared memory: four steps of the queries by
// the passes' own choice, and what is asked for. Beside 8-bit products none.
// RUN: fa3-opt %s -fa3-tile=block-n=64 -fa3-specialize -fa3-pipeline | FileCheck %s --check-prefix=READS
// RUN: fa3-run --cpu --check-each-pass=block-n=64 %s --function=bias | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='hold=2 mode=dynamic block-m=128 block-n=32' %s --function=bias --sms 2 --completion=random --schedule-seed=5 | FileCheck %s
// READS-LABEL: gpu.func @bias
// READS: tile.read %{{.*}} : <tensor<64x64xf16>> -> tensor<64x64xf16>
// READS: tile.dot.async %{{.*}} lhs mk rhs nk : tensor<64x64xf16>
// READS: tile.dot.async %{{.*}} lhs mk rhs nk : !tile.view<tensor<64x64xf16>>
// READS-LABEL: gpu.func @bias8
// READS: warp.group @math
// READS-NOT: tile.read {{.*}}f8E4M3FN

func.func @causal(%q: tensor<?x?x?x96xf16> {tile.name = "q"}, %k: tensor<?x?x?x96xf16> {tile.name = "k"}, %v: tensor<?x?x?x96xf16> {tile.name = "v"}) -> (tensor<?x?x?x96xf16> {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal] : (tensor<?x?x?x96xf16>, tensor<?x?x?x96xf16>, tensor<?x?x?x96xf16>) -> (tensor<?x?x?x96xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x96xf16>, tensor<?x?x?xf32>
}

func.func @padded(%q: tensor<?x?x?x72xf16> {tile.name = "q"}, %k: tensor<?x?x?x72xf16> {tile.name = "k"}, %v: tensor<?x?x?x72xf16> {tile.name = "v"}) -> (tensor<?x?x?x72xf16> {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v : (tensor<?x?x?x72xf16>, tensor<?x?x?x72xf16>, tensor<?x?x?x72xf16>) -> (tensor<?x?x?x72xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x72xf16>, tensor<?x?x?xf32>
}

func.func @window(%q: tensor<?x?x?x64xf16> {tile.name = "q"}, %k: tensor<?x?x?x64xf16> {tile.name = "k"}, %v: tensor<?x?x?x64xf16> {tile.name = "v"}) -> (tensor<?x?x?x64xf16> {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.window<left = 60, right = 10>] : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}

func.func @bias(%q: tensor<1x2x200x128xf16> {tile.name = "q"}, %k: tensor<1x2x208x128xf16> {tile.name = "k"}, %v: tensor<1x2x208x128xf16> {tile.name = "v"}, %bias: tensor<1x2x200x208xf16> {tile.name = "bias"}) -> (tensor<1x2x200x128xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%bias : tensor<1x2x200x208xf16>) mods [#attention.bias<aux = 0>, #attention.causal] : (tensor<1x2x200x128xf16>, tensor<1x2x208x128xf16>, tensor<1x2x208x128xf16>) -> tensor<1x2x200x128xf16>
  return %o : tensor<1x2x200x128xf16>
}

func.func @bias8(%q: tensor<1x2x200x128xf8E4M3FN> {tile.name = "q"}, %k: tensor<1x2x208x128xf8E4M3FN> {tile.name = "k"}, %v: tensor<1x2x208x128xf8E4M3FN> {tile.name = "v"}, %bias: tensor<1x2x200x208xf16> {tile.name = "bias"}, %s: tensor<1x1x1xf32> {tile.name = "s"}) -> (tensor<1x2x200x128xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%bias : tensor<1x2x200x208xf16>) scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) mods [#attention.bias<aux = 0>] : (tensor<1x2x200x128xf8E4M3FN>, tensor<1x2x208x128xf8E4M3FN>, tensor<1x2x208x128xf8E4M3FN>) -> tensor<1x2x200x128xf16>
  return %o : tensor<1x2x200x128xf16>
}
