// Entries of tables are of attention without lists of blocks: with one of 192
// rows, blocks of 64 queries would be refused though nobody asked for that.
// RUN: fa3-opt %s --fa3-lower-to-nvvm-pipeline=variants=3 -o /dev/null
// RUN: fa3-opt %s --fa3-lower-to-nvvm-pipeline | FileCheck %s
// RUN: not fa3-opt %s --fa3-lower-to-nvvm-pipeline=last-block=narrow -o /dev/null 2>&1 | FileCheck %s --check-prefix=ASKED

// CHECK-NOT: hopper.llvm_passes
// CHECK: llvm.func @known
// ASKED: error: 'attention.forward' op has lists of blocks of keys, expects no last-block=narrow
!k = tensor<1x2x4096x64xbf16>
func.func @known(%q: !k {tile.name = "q"}, %k: !k {tile.name = "k"}, %v: !k {tile.name = "v"}) -> (!k {tile.name = "o"}) {
  %l = attention.blocks [64, 64]
    by_query (%b, %h, %m, %t) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      attention.yield %c0, %c0, %c1, %m : index, index, index, index
    }
  %o = attention.forward %q, %k, %v blocks %l : (!k, !k, !k) -> !k
  return %o : !k
}
!u = tensor<?x2x?x64xbf16>
func.func @unknown(%q: !u {tile.name = "q"}, %k: !u {tile.name = "k"}, %v: !u {tile.name = "v"}) -> (!u {tile.name = "o"}) {
  %l = attention.blocks [64, 64]
    by_query (%b, %h, %m, %t) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      attention.yield %c0, %c0, %c1, %m : index, index, index, index
    }
  %o = attention.forward %q, %k, %v blocks %l : (!u, !u, !u) -> !u
  return %o : !u
}
