// Three groups that read from lists which steps they take have no registers for
// the number of a tile that is claimed; two have.
// RUN: fa3-opt %s -fa3-tile | FileCheck %s

// Lists of each head and block.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %fa3_src/test/Inputs/table.py %t/count.npy "<i4" 1,2,3 "(j + k) % 3"
// RUN: %python %fa3_src/test/Inputs/table.py %t/index.npy "<i4" 1,2,3,4 "l"
// RUN: %python %fa3_src/test/Inputs/table.py %t/full_count.npy "<i4" 1,2,3 "(j + 2 * k + 1) % 3"
// RUN: %python %fa3_src/test/Inputs/table.py %t/full_index.npy "<i4" 1,2,3,4 "2 + l"
// RUN: fa3-run --cpu %s --function=three --dims b=1,h=2,hk=2,sq=400,sk=400 --input count=%t/count.npy --input index=%t/index.npy --input full_count=%t/full_count.npy --input full_index=%t/full_index.npy --check-each-pass --sms 2 | FileCheck %s --check-prefix=SAME
// SAME: same answer after {{[0-9]+}} passes

!counts = tensor<?x?x?xi32>
!indices = tensor<?x?x?x?xi32>
// CHECK-LABEL: gpu.func @three
// CHECK-NOT: tile.share
// CHECK: gpu.grid_dim
func.func @three(%q: tensor<?x?x?x128xbf16> {tile.name = "q"}, %k: tensor<?x?x?x128xbf16> {tile.name = "k"}, %v: tensor<?x?x?x128xbf16> {tile.name = "v"},
                 %n: !counts {tile.name = "count"}, %i: !indices {tile.name = "index"}, %m: !counts {tile.name = "full_count"}, %j: !indices {tile.name = "full_index"}) -> tensor<?x?x?x128xbf16> {
  %o = attention.forward %q, %k, %v aux(%n, %i, %m, %j : !counts, !indices, !counts, !indices)
    mods [#attention.blocks<count = 0, index = 1, full_count = 2, full_index = 3, queries = 192, keys = 128>]
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

// CHECK-LABEL: gpu.func @two
// CHECK: tile.share
func.func @two(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %n: !counts, %i: !indices, %m: !counts, %j: !indices) -> tensor<?x?x?x128xbf16> {
  %o = attention.forward %q, %k, %v aux(%n, %i, %m, %j : !counts, !indices, !counts, !indices)
    mods [#attention.blocks<count = 0, index = 1, full_count = 2, full_index = 3, queries = 128, keys = 128>]
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}
