// Keys that do not fill a block, in a narrow block in front of the others: their
// entries are the first rows of the others' in the same rings. The answer is
// that of the definition after every pass.

// RUN: fa3-opt %s -fa3-tile="block-n=96 last-block=narrow" | FileCheck %s --check-prefix=TILE
// RUN: fa3-opt %s -fa3-tile="block-n=96 last-block=narrow" -fa3-specialize -fa3-pipeline -fa3-layout -fa3-hopper | FileCheck %s --check-prefix=HOPPER
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline="tuning-table=none block-n=96 last-block=narrow" -o /dev/null

// RUN: fa3-run --cpu --check-each-pass="block-n=96 last-block=narrow" %s --function=full --completion random | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="block-n=96 mode=dynamic stages=1 rescale=eager" %s --function=full --sms=2 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="block-n=64 last-block=narrow two-level-accumulation=true two-level-steps=2" %s --function=full | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="block-n=96 last-block=narrow max-depth=1" %s --function=causal --completion random | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="block-n=128 last-block=narrow mode=static stages=1" %s --function=window --sms=2 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="block-n=96 last-block=narrow" %s --function=transposed | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="block-n=96 mode=dynamic hold=1 last-block=narrow" %s --function=held --sms=2 | FileCheck %s
// RUN: fa3-opt %s -fa3-tile="block-n=96 mode=dynamic last-block=narrow" -fa3-specialize -fa3-pipeline=hold=1 | FileCheck %s --check-prefix=HOLD
// CHECK: same answer after {{[0-9]+}} passes

// 230 keys: 38 behind two blocks of 96, for which products take 64 columns.
// TILE-LABEL: gpu.func @full
// TILE: tile.load {{.*}}[%{{.*}}, %{{.*}}, %c192{{.*}} -> tensor<64x64xf8E4M3FN>
// TILE: tile.dot {{.*}} -> tensor<{{[0-9]+}}x64xf32>
// TILE: scf.for %{{.*}} = %c0 to %c2
// TILE: tile.load {{.*}} -> tensor<96x64xf8E4M3FN>
// HOPPER-LABEL: gpu.func @full
// HOPPER: hopper.barrier.expect_tx %{{.*}}, 4096
// HOPPER: hopper.barrier.expect_tx %{{.*}}, 4096
// HOPPER: hopper.barrier.expect_tx %{{.*}}, 6144
// HOPPER: hopper.barrier.expect_tx %{{.*}}, 6144
!q8 = tensor<1x2x130x64xf8E4M3FN>
!k8 = tensor<1x2x230x64xf8E4M3FN>
!s = tensor<1x1x1xf32>
func.func @full(%q: !q8, %k: !k8, %v: !k8, %qs: !s, %ks: !s, %vs: !s) -> tensor<1x2x130x64xf16> {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) : (!q8, !k8, !k8) -> tensor<1x2x130x64xf16>
  return %o : tensor<1x2x130x64xf16>
}

// The narrow step is one of the loop over tiles, which reads queries anew: they
// are held all the same.
// HOLD-LABEL: gpu.func @held
// HOLD: warp.group @math
// HOLD: %[[HELD:.*]] = tile.read
// HOLD: tile.dot.async %[[HELD]], {{.*}} -> <tensor<64x32xf32>>
// HOLD: scf.for
// HOLD: tile.dot.async %[[HELD]], {{.*}} -> <tensor<64x96xf32>>
!k320 = tensor<1x2x320x64xf8E4M3FN>
func.func @held(%q: !q8, %k: !k320, %v: !k320, %qs: !s, %ks: !s, %vs: !s) -> (tensor<1x2x130x64xf16>, tensor<1x2x130xf32>) {
  %o, %lse = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) : (!q8, !k320, !k320) -> (tensor<1x2x130x64xf16>, tensor<1x2x130xf32>)
  return %o, %lse : tensor<1x2x130x64xf16>, tensor<1x2x130xf32>
}

// Only the last rows see the last keys.
!q16 = tensor<1x2x300x72xf16>
!k16 = tensor<1x1x311x72xf16>
func.func @causal(%q: !q16, %k: !k16, %v: !k16) -> (!q16, tensor<1x2x300xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal] : (!q16, !k16, !k16) -> (!q16, tensor<1x2x300xf32>)
  return %o, %lse : !q16, tensor<1x2x300xf32>
}

func.func @window(%q: !q16, %k: !k16, %v: !k16) -> !q16 {
  %o = attention.forward %q, %k, %v mods [#attention.window<left = 50, right = 10>] : (!q16, !k16, !k16) -> !q16
  return %o : !q16
}

// v as (batch, head, element, key): its narrow tile has fewer columns, not rows,
// and a ring of its own.
!v8 = tensor<1x2x64x240xf8E4M3FN>
!k240 = tensor<1x2x240x64xf8E4M3FN>
func.func @transposed(%q: !q8, %k: !k240, %v: !v8, %qs: !s, %ks: !s, %vs: !s) -> tensor<1x2x130x64xf16> {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) transposed_v : (!q8, !k240, !v8) -> tensor<1x2x130x64xf16>
  return %o : tensor<1x2x130x64xf16>
}
