// No further group takes a sum that begins with the product of a narrow block in
// front of the loop; of heads so wide that one has to there is no narrow block by
// itself.
// RUN: split-file %s %t
// RUN: fa3-run --cpu --check-each-pass=last-block=narrow %t/narrow.mlir --function=known | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass=last-block=narrow %t/narrow.mlir --function=unknown --dims sk=300 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass=last-block=narrow %t/narrow.mlir --function=unknown --dims sk=230 | FileCheck %s
// RUN: fa3-opt %t/wide.mlir -fa3-tile | FileCheck %s --check-prefix=WIDE
// RUN: fa3-opt %t/wide.mlir -fa3-lower-to-nvvm-pipeline -o /dev/null
// CHECK: same answer after {{[0-9]+}} passes
// WIDE-LABEL: gpu.func @wide
// WIDE-NOT: tile.dot
// WIDE: scf.for
//--- narrow.mlir
!q = tensor<1x1x64x192xf16>
!k = tensor<1x1x300x192xf16>
func.func @known(%q: !q, %k: !k, %v: !k) -> !q {
  %o = attention.forward %q, %k, %v : (!q, !k, !k) -> !q
  return %o : !q
}
!u = tensor<1x1x?x192xf16>
func.func @unknown(%q: !q, %k: !u {tile.name = "k", tile.dims = ["b", "h", "sk", "d"]}, %v: !u {tile.name = "v"}) -> !q {
  %o = attention.forward %q, %k, %v : (!q, !u, !u) -> !q
  return %o : !q
}
//--- wide.mlir
!q = tensor<1x1x64x512xf16>
!k = tensor<1x1x336x512xf16>
func.func @wide(%q: !q, %k: !k, %v: !k) -> !q {
  %o = attention.forward %q, %k, %v : (!q, !k, !k) -> !q
  return %o : !q
}
