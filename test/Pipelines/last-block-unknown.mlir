// Keys of which only the launch says how many there are: what is left behind
// whole blocks comes first, in a narrow block, if it fits into that; a branch
// skips that block where it is empty. The answer is that of the definition after
// every pass.

// RUN: fa3-opt %s -fa3-tile="block-n=96 last-block=narrow" | FileCheck %s --check-prefix=TILE
// RUN: fa3-opt %s -fa3-tile="block-n=96 last-block=narrow" -fa3-specialize -fa3-pipeline -fa3-layout -fa3-hopper | FileCheck %s --check-prefix=HOPPER
// RUN: fa3-opt %s -fa3-tile="block-n=96 last-block=narrow mode=dynamic" -fa3-specialize -fa3-pipeline=hold=1 | FileCheck %s --check-prefix=HOLD
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline="tuning-table=none block-n=96 last-block=narrow" -o /dev/null

// DEFINE: %{options} = block-n=96
// DEFINE: %{check} = fa3-run --cpu --check-each-pass="tuning-table=none last-block=narrow %{options}" %s --sms=2
// DEFINE: %{full} = %{check} --function=full --dims sq=130

// No key, fewer than the narrow block has, as many, one more; a whole block and
// what goes with it.
// RUN: %{full},sk=0 | FileCheck %s
// RUN: %{full},sk=1 | FileCheck %s
// RUN: %{full},sk=32 | FileCheck %s
// RUN: %{full},sk=33 | FileCheck %s
// RUN: %{full},sk=97 | FileCheck %s
// RUN: %{full},sk=128 --completion random | FileCheck %s
// RUN: %{full},sk=129 --completion random | FileCheck %s
// RUN: %{full},sk=320 --completion random | FileCheck %s

// Tiles one after another, of CTAs of their own, in one stage, held queries; a
// wider block; sums in two levels and a maximum that moves every step.
// REDEFINE: %{options} = block-n=96 mode=dynamic hold=1
// RUN: %{full},sk=230 | FileCheck %s
// RUN: %{full},sk=300 | FileCheck %s
// REDEFINE: %{options} = block-n=96 mode=cta stages=1
// RUN: %{full},sk=230 | FileCheck %s
// RUN: %{full},sk=300 | FileCheck %s
// REDEFINE: %{options} = block-n=96 last-keys=64 mode=static rescale=eager max-depth=1
// RUN: %{full},sk=230 | FileCheck %s
// RUN: %{full},sk=353 | FileCheck %s
// REDEFINE: %{options} = block-n=64 two-level-accumulation=true two-level-steps=2
// RUN: %{full},sk=153 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// The last key of the narrow block is at most the last one that there is, so
// that the loop has as many steps as without it, or one less.
// TILE-LABEL: gpu.func @full
// TILE: %[[MORE:.*]] = arith.addi %[[KEYS:.*]], %c63
// TILE: %[[BLOCKS:.*]] = arith.floordivsi %[[MORE]], %c96
// TILE: %[[FIRST:.*]] = arith.muli %[[BLOCKS]], %c96
// TILE: %[[IS_THERE:.*]] = arith.cmpi slt, %[[FIRST]], %[[KEYS]]
// TILE: %[[STATE:.*]]:3 = scf.if %[[IS_THERE]]
// TILE: tile.load %{{.*}}[%{{.*}}, %{{.*}}, %[[FIRST]], %c0] {{.*}} -> tensor<32x64xf8E4M3FN>
// TILE-NOT: tile.where
// TILE: tile.dot {{.*}} -> tensor<{{[0-9]+}}x64xf32>
// TILE: scf.for %{{.*}} = %c0 to %[[BLOCKS]] {{.*}} iter_args(%{{.*}} = %[[STATE]]#0
// TILE: tile.load {{.*}} -> tensor<96x64xf8E4M3FN>
// TILE: tile.where

// One ring for both widths.
// HOPPER-LABEL: gpu.func @full
// HOPPER: scf.if
// HOPPER: hopper.barrier.expect_tx %[[K:.*]][{{.*}}], 2048
// HOPPER: hopper.barrier.expect_tx %[[V:.*]][{{.*}}], 2048
// HOPPER: scf.for
// HOPPER: hopper.barrier.expect_tx %[[K]][{{.*}}], 6144
// HOPPER: hopper.barrier.expect_tx %[[V]][{{.*}}], 6144

// HOLD-LABEL: gpu.func @full
// HOLD: warp.group @math
// HOLD: %[[HELD:.*]] = tile.read
// HOLD: scf.if
// HOLD: tile.dot.async %[[HELD]], {{.*}} -> <tensor<64x32xf32>>
// HOLD: tile.dot.async %[[HELD]], {{.*}} -> <tensor<64x96xf32>>
!q8 = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x1x1xf32>
!o = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
func.func @full(%q: !q8 {tile.name = "q", tile.dims = ["b", "h", "sq", "d"]}, %k: !q8 {tile.name = "k", tile.dims = ["b", "hk", "sk", "d"]}, %v: !q8 {tile.name = "v"},
                %qs: !s {tile.name = "q_scale"}, %ks: !s {tile.name = "k_scale"}, %vs: !s {tile.name = "v_scale"}) -> (!o, !l) {
  %o, %lse = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) : (!q8, !q8, !q8) -> (!o, !l)
  return %o, %lse : !o, !l
}
