// Blocks of keys that a mask of quotients shows as a whole have a loop without
// its code, also behind the passes that make groups and pipelines: coordinates
// are at least 0, so their unsigned quotients are known.
//
// RUN: fa3-opt %s -pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline)' | FileCheck %s

// CHECK: warp.group @math
// Tiles, then blocks in front of the first visible one, which are only passed.
// CHECK: scf.for
// CHECK: scf.for
// Those that the mask cuts.
// CHECK: scf.for
// CHECK: arith.divui %{{.*}} : tensor<64xindex>
// CHECK: arith.cmpi sge, %{{.*}} : tensor<64x64xindex>
// CHECK: scf.yield
// Those that it shows.
// CHECK: scf.for
// CHECK-NOT: tensor<64x64xindex>
// CHECK: scf.yield
!t = tensor<?x2x?x64xbf16>
func.func @block_causal(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
    mask_mod (%b, %h, %i, %j) {
      %c100 = arith.constant 100 : index
      %x = arith.floordivsi %i, %c100 : index
      %y = arith.floordivsi %j, %c100 : index
      %keep = arith.cmpi sge, %x, %y : index
      attention.yield %keep : i1
    }
  return %o : !t
}
