// Weights are converted in front of the branch around the rescaling, which hangs
// on the vote in front of the exponentials: code generation must not sink what
// only later blocks use behind it. Maxima of bits are signed ones.
// RUN: fa3-translate %s --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline{block-m=128 block-n=64 tuning-table=none})' --mlir-to-ptx | FileCheck %s
// Votes in front of their branches leave code generation as it is.
// RUN: fa3-translate %s --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline{block-m=128 block-n=64 tuning-table=none early-votes=none})' --mlir-to-ptx | FileCheck %s --check-prefix=LATE

// CHECK-COUNT-30: max.s32
// CHECK: vote.sync.any.pred
// CHECK: not.pred %[[NONE:p[0-9]+]]
// CHECK: @%[[NONE]] bra
// CHECK-COUNT-4: shfl.sync.bfly
// CHECK-COUNT-32: ex2.approx.ftz.f32
// CHECK-NOT: bra
// CHECK-COUNT-32: cvt.rn.f16.f32
// CHECK-NOT: vote
// CHECK: @%[[NONE]] bra
// CHECK-NOT: cvt.rn.f16.f32

// LATE: vote.sync.any.pred
// LATE: vote.sync.any.pred
// LATE-NEXT: not.pred
// LATE-NEXT: bra
!t = tensor<1x1x8192x64xf16>

func.func @plain(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"}) -> (!t {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
  return %o : !t
}
