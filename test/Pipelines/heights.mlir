// Tiles of different heights give the answer of even ones, and pass both proofs:
// two of 192 rows and one of 64 for each of three heads, by CTAs that take one
// tile and by such that take several.
// RUN: fa3-opt %s -fa3-tile='block-m=192 block-n=64 sms=2 mode=cta' | FileCheck %s --check-prefix=TILE
// RUN: fa3-run --cpu --check-each-pass='block-m=192 block-n=64 sms=2 mode=cta' %s | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='block-m=192 block-n=64 sms=2 mode=static max-depth=2' %s --sms 2 --completion random | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='block-m=192 block-n=64 sms=2 mode=dynamic' %s --sms 2 --schedule-seed 3 --guards random | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='block-m=256 block-n=32 sms=5 mode=cta stages=1' %s | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// TILE: %[[ID:.*]] = gpu.block_id
// TILE: arith.divui %[[ID]], %c2
// TILE: tile.store {{.*}} below

// A loop that a replica runs or skips is branched around, so that its range is
// that of a tile with all rows.
// RUN: fa3-opt %s -fa3-tile='block-m=192 block-n=64 last-block=whole sms=2 mode=cta' -fa3-specialize | FileCheck %s --check-prefix=BRANCH
// BRANCH: warp.group @math warps 4 replicas 3
// BRANCH: scf.if
// BRANCH: scf.for %{{.*}} = %c0{{.*}} to %c3
// BRANCH: tile.dot.async
// BRANCH: } else {
// BRANCH: scf.for %{{.*}} = %c0{{.*}} to %c3
// BRANCH-NOT: tile.dot
// BRANCH: scf.yield %{{.*}} : tensor<64x64xf32>
// BRANCH: tile.store

!Q = tensor<1x3x400x64xf16>
!K = tensor<1x3x150x64xf16>
func.func @heights_64(%q: !Q {tile.name = "q"}, %k: !K {tile.name = "k"}, %v: !K {tile.name = "v"}) -> (!Q {tile.name = "o"}, tensor<1x3x400xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v : (!Q, !K, !K) -> (!Q, tensor<1x3x400xf32>)
  return %o, %lse : !Q, tensor<1x3x400xf32>
}
