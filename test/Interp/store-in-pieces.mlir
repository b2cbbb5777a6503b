// O has twice the bytes of Q and leaves through Q's rows in two pieces. The
// elected thread waits for the copy of the first before anybody writes the second.
// RUN: fa3-run --check-each-pass="store=in-place mode=static" %s --dims b=2,sq=100,sk=64 --sms 2 | FileCheck %s
// CHECK: same answer after

// RUN: fa3-opt %s "-pass-pipeline=builtin.module(fa3-tile{mode=cta},fa3-specialize{store=in-place},fa3-pipeline,fa3-layout,fa3-hopper{check=false})" -o %t.mlir
// RUN: fa3-run --cpu %t.mlir --dims b=1,sq=100,sk=64 --completion=latest
// RUN: sed 's/hopper.tma.wait_read pending 0//' %t.mlir > %t.early.mlir
// RUN: not fa3-run --cpu %t.early.mlir --dims b=1,sq=100,sk=64 --completion=latest 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: error: 'hopper.smem.store' writes bytes {{[0-9]+}} to {{[0-9]+}} of shared memory, which an operation in flight may still read
// RUN: not fa3-opt %t.early.mlir -hopper-check-protocol 2>&1 | FileCheck %s --check-prefix=CHECKED
// CHECKED: error: 'hopper.smem.store' op writes to slot 0 of a buffer that @math replica {{[01]}} may still read

!q = tensor<?x?x2x64xf8E4M3FN>
!o = tensor<?x?x2x64xf16>
!s = tensor<1x1x1xf32>
func.func @f(%q: !q {tile.name = "q"}, %k: !q {tile.name = "k"}, %v: !q {tile.name = "v"},
             %qs: !s, %ks: !s, %vs: !s) -> !o {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) layout bshd : (!q, !q, !q) -> !o
  return %o : !o
}
