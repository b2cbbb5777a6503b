// A store over the window of a slot that a persistent loop fills again: the
// elected thread alone waits for the copy out of the slot before it hands it back, and
// the loader that waits for it may write.
// RUN: fa3-run --check-each-pass="store=in-place mode=static" %s --dims b=2,sq=100,sk=1 --sms 2 | FileCheck %s
// CHECK: same answer after

// Without that wait it may not.
// RUN: fa3-opt %s "-pass-pipeline=builtin.module(fa3-tile{mode=static},fa3-specialize{store=in-place},fa3-pipeline,fa3-layout,fa3-hopper)" -o %t.mlir
// RUN: sed 's/hopper.tma.wait_read pending 0//' %t.mlir > %t.early.mlir
// RUN: not fa3-run --cpu %t.early.mlir --dims b=2,sq=100,sk=1 --sms 2 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: error: 'hopper.tma.load' writes bytes {{[0-9]+}} to {{[0-9]+}} of shared memory, which an operation in flight may still read
// EARLY: note: issued here, and not waited for

func.func @f(%q: tensor<?x?x6x72xf16> {tile.name = "q"},
             %k: tensor<?x?x2x72xf16> {tile.name = "k"},
             %v: tensor<?x?x2x72xf16> {tile.name = "v"}) -> tensor<?x?x6x72xf16> {
  %o = attention.forward %q, %k, %v layout bshd
    : (tensor<?x?x6x72xf16>, tensor<?x?x2x72xf16>, tensor<?x?x2x72xf16>) -> tensor<?x?x6x72xf16>
  return %o : tensor<?x?x6x72xf16>
}
