// Kernels without warps of their own for copies pass both proofs, and give the
// answer of attention after every pass.
// RUN: fa3-run --cpu --check-each-pass='warp-specialize=false block-m=128 block-n=64' %s --function=full --dims b=1,h=2,hk=1,sq=200,sk=300 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='warp-specialize=false block-m=192 block-n=64 stages=1 mode=static' %s --function=causal --dims b=1,h=2,hk=1,sq=200,sk=130 --sms 1 --schedule-seed 3 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='warp-specialize=false block-m=128 block-n=32 ping-pong=on' %s --function=window --dims b=1,h=1,hk=1,sq=210,sk=250 --completion random | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='warp-specialize=false block-m=64 block-n=64 solver=modulo stages=3' %s --function=full --dims b=1,h=1,hk=1,sq=70,sk=200 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='warp-specialize=false block-m=128 block-n=64 rescale=eager' %s --function=causal --dims b=1,h=1,hk=1,sq=100,sk=0 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// A tuning table's point, which is of kernels with such warps, is put aside.
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline='warp-specialize=false' -o /dev/null

// One warp group, and it starts copies behind its products.
// RUN: fa3-opt %s -pass-pipeline='builtin.module(fa3-tile{mode=cta},fa3-specialize{warp-specialize=false},fa3-pipeline)' | FileCheck %s --check-prefix=LOOP
// LOOP-LABEL: gpu.func @full
// LOOP: warp.ring : <3, [tensor<{{[0-9]+}}x128xf16>]>
// LOOP: warp.ring : <2, [tensor<{{[0-9]+}}x128xf16>]>
// LOOP: warp.group @math
// LOOP: scf.for
// LOOP-NEXT: warp.acquire {{.*}}, <read>
// LOOP: tile.dot.async
// LOOP: warp.acquire {{.*}}, <read>
// LOOP: tile.dot.async
// LOOP: warp.acquire {{.*}}, <write>
// LOOP: tile.load.async
// LOOP: warp.acquire {{.*}}, <write>
// LOOP: tile.load.async
// LOOP: tile.await

// Who copies is one replica.
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline='warp-specialize=false block-m=128 block-n=64' -mlir-print-ir-after=hopper-insert-waits -o /dev/null 2>&1 | FileCheck %s --check-prefix=LEADER
// LEADER: warp.group @math warps 4 replicas 2 at 0 (%[[REPLICA:.*]]) {
// LEADER: %[[NUMBER:.*]] = arith.index_cast %[[REPLICA]]
// LEADER: %[[LEADS:.*]] = arith.cmpi eq, %[[NUMBER]], %{{.*}} : i32
// LEADER: scf.if %[[LEADS]] {
// LEADER-NEXT: hopper.barrier.wait
// LEADER-NEXT: hopper.barrier.expect_tx
// LEADER: hopper.tma.load

// What has no such kernel is refused.
// RUN: not fa3-opt %s -fa3-lower-to-nvvm-pipeline='warp-specialize=false mode=dynamic' -o /dev/null 2>&1 | FileCheck %s --check-prefix=CLAIMS
// CLAIMS: error: 'warp.group' op has no lowering to hopper: expects a group of one warp and one replica that claims tiles for all
// RUN: not fa3-opt %fa3_src/examples/fp8_blocks.mlir -fa3-lower-to-nvvm-pipeline='warp-specialize=false' -o /dev/null 2>&1 | FileCheck %s --check-prefix=CONVERTS
// CONVERTS: fp8_blocks.mlir:13:8: error: 'warp.cursor' op converts an operand between two rings, which needs a group of its own: expects 'warp-specialize'

!q = tensor<?x?x?x128xf16>
func.func @full(%q: !q {tile.name = "q"}, %k: !q {tile.name = "k"}, %v: !q {tile.name = "v"}) -> (!q {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v : (!q, !q, !q) -> (!q, tensor<?x?x?xf32>)
  return %o, %lse : !q, tensor<?x?x?xf32>
}
func.func @causal(%q: !q {tile.name = "q"}, %k: !q {tile.name = "k"}, %v: !q {tile.name = "v"}) -> (!q {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal] : (!q, !q, !q) -> (!q, tensor<?x?x?xf32>)
  return %o, %lse : !q, tensor<?x?x?xf32>
}
func.func @window(%q: !q {tile.name = "q"}, %k: !q {tile.name = "k"}, %v: !q {tile.name = "v"}) -> (!q {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.window<left = 60, right = 20>] : (!q, !q, !q) -> (!q, tensor<?x?x?xf32>)
  return %o, %lse : !q, tensor<?x?x?xf32>
}
