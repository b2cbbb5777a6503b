// A narrow block by itself: where it spares 32 columns and three whole blocks
// are left, without a mask and turns.
// RUN: fa3-opt %s -fa3-tile="block-n=96" | FileCheck %s --check-prefix=NARROW
// RUN: fa3-opt %s -fa3-tile="block-n=64" | FileCheck %s --check-prefix=WHOLE
// RUN: fa3-opt %s -fa3-tile="block-n=112" | FileCheck %s --check-prefix=WHOLE
// RUN: fa3-opt %s -fa3-tile="block-n=96 ping-pong=on" | FileCheck %s --check-prefix=WHOLE
// RUN: fa3-run --cpu --check-each-pass="block-n=96" %s --function=plain --completion random | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="block-n=96 mode=static ping-pong=on" %s --function=plain --sms=2 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// 330 keys: 42 behind three blocks of 96, for which products take 48 columns.
// NARROW-LABEL: gpu.func @plain
// NARROW: tile.dot {{.*}} -> tensor<{{[0-9]+}}x48xf32>
// NARROW: scf.for
// NARROW: tile.dot {{.*}} -> tensor<{{[0-9]+}}x96xf32>
// NARROW-LABEL: gpu.func @causal
// NARROW-NOT: x48xf32>
// WHOLE-LABEL: gpu.func @plain
// WHOLE-NOT: tile.dot
// WHOLE: scf.for
// WHOLE-NOT: x48xf32>
!q = tensor<1x2x130x64xf16>
!k = tensor<1x2x330x64xf16>
func.func @plain(%q: !q, %k: !k, %v: !k) -> !q {
  %o = attention.forward %q, %k, %v : (!q, !k, !k) -> !q
  return %o : !q
}

func.func @causal(%q: !q, %k: !k, %v: !k) -> !q {
  %o = attention.forward %q, %k, %v mods [#attention.causal] : (!q, !k, !k) -> !q
  return %o : !q
}
