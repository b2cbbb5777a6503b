// Without stages a window has several loops, whose bounds are minima and maxima
// of minima and maxima: both proofs count their iterations, whatever the
// lengths.
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline='tuning-table=none stages=1' -o /dev/null
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline='tuning-table=none stages=1 mode=cta' -o /dev/null
// RUN: fa3-run --cpu --check-each-pass='stages=1 mode=cta block-m=128 block-n=96' %s --function=short | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

!long = tensor<1x2x3000x128xf16>
func.func @long(%q: !long {tile.name = "q"}, %k: !long {tile.name = "k"}, %v: !long {tile.name = "v"}) -> (!long {tile.name = "o"}, tensor<1x2x3000xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.window<left = 1024, right = 0>] : (!long, !long, !long) -> (!long, tensor<1x2x3000xf32>)
  return %o, %lse : !long, tensor<1x2x3000xf32>
}

!short = tensor<1x1x300x64xf16>
func.func @short(%q: !short {tile.name = "q"}, %k: !short {tile.name = "k"}, %v: !short {tile.name = "v"}) -> (!short {tile.name = "o"}, tensor<1x1x300xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.window<left = 200, right = 0>] : (!short, !short, !short) -> (!short, tensor<1x1x300xf32>)
  return %o, %lse : !short, tensor<1x1x300xf32>
}
