// Score code through the whole pipeline: the same answer after every pass, and
// what the kernels of it are made of.

// DEFINE: %{check} = fa3-run --cpu %s --completion=random --schedule-seed=1
// RUN: %{check} --check-each-pass --function=linear --dims b=1,sq=200,sk=281 | FileCheck %s
// RUN: %{check} --check-each-pass --function=capped --dims b=1,sq=70,sk=131 | FileCheck %s
// RUN: %{check} --check-each-pass --function=added | FileCheck %s
// RUN: %{check} --check-each-pass="loads=bulk block-m=128 block-n=80" --function=added_any --dims b=1,sq=150,sk=200 | FileCheck %s
// RUN: %{check} --check-each-pass="loads=threads" --function=added | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// RUN: fa3-opt %s -fa3-tile | FileCheck %s --check-prefix=TILE
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline | FileCheck %s --check-prefix=NVVM

// Linear biases: under the causal mask the distance has a sign, and what a
// thread computes of an element are two products with sums.
// TILE-LABEL: gpu.func @linear
// TILE-NOT: math.absf
// TILE: gpu.return
func.func @linear(%q: tensor<?x2x?x64xf16> {tile.name = "q"}, %k: tensor<?x1x?x64xf16> {tile.name = "k"},
                  %v: tensor<?x1x?x64xf16> {tile.name = "v"}, %slopes: tensor<2xf32> {tile.name = "slopes"})
    -> tensor<?x2x?x64xf16> {
  %o = attention.forward %q, %k, %v aux(%slopes : tensor<2xf32>) mods [#attention.causal, #attention.alibi<aux = 0>]
    : (tensor<?x2x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>) -> tensor<?x2x?x64xf16>
  return %o : tensor<?x2x?x64xf16>
}

// A soft cap: the scale joins the factor in front of tanh, the cap that of the
// exponents.
// TILE-LABEL: gpu.func @capped
// TILE: tile.dot
// TILE: arith.mulf
// TILE-NEXT: math.tanh
// TILE-NEXT: arith.select
func.func @capped(%q: tensor<?x2x?x64xf16> {tile.name = "q"}, %k: tensor<?x1x?x64xf16> {tile.name = "k"},
                  %v: tensor<?x1x?x64xf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal, #attention.softcap<20.0>]
    : (tensor<?x2x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>) -> (tensor<?x2x?x64xf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x2x?x64xf16>, tensor<?x2x?xf32>
}

// A bias with rows of whole units: through shared memory, read by matrices.
// NVVM-LABEL: llvm.func @added(
// NVVM: ldmatrix.sync.aligned.m8n8.x4.shared.b16
func.func @added(%q: tensor<1x2x150x64xf16> {tile.name = "q"}, %k: tensor<1x1x200x64xf16> {tile.name = "k"},
                 %v: tensor<1x1x200x64xf16> {tile.name = "v"}, %bias: tensor<1x2x150x200xf16> {tile.name = "bias"})
    -> tensor<1x2x150x64xf16> {
  %o = attention.forward %q, %k, %v aux(%bias : tensor<1x2x150x200xf16>) mods [#attention.causal, #attention.bias<aux = 0>]
    : (tensor<1x2x150x64xf16>, tensor<1x1x200x64xf16>, tensor<1x1x200x64xf16>) -> tensor<1x2x150x64xf16>
  return %o : tensor<1x2x150x64xf16>
}

// Of rows that nobody knows the length of: by threads, unless asked for.
// NVVM-LABEL: llvm.func @added_any(
// NVVM-NOT: ldmatrix
// NVVM: llvm.return
func.func @added_any(%q: tensor<?x2x?x64xf16> {tile.name = "q"}, %k: tensor<?x1x?x64xf16> {tile.name = "k"},
                     %v: tensor<?x1x?x64xf16> {tile.name = "v"}, %bias: tensor<1x2x?x?xf32> {tile.name = "bias"})
    -> tensor<?x2x?x64xf16> {
  %o = attention.forward %q, %k, %v aux(%bias : tensor<1x2x?x?xf32>) mods [#attention.bias<aux = 0>]
    : (tensor<?x2x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>) -> tensor<?x2x?x64xf16>
  return %o : tensor<?x2x?x64xf16>
}
