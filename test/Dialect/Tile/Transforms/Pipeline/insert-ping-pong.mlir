// RUN: fa3-opt %s -tile-insert-ping-pong=ping-pong=on | FileCheck %s
// RUN: fa3-opt %s -tile-insert-ping-pong=ping-pong=off | FileCheck %s --check-prefix=OFF
// RUN: not fa3-opt %s -tile-insert-ping-pong=ping-pong=maybe 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: %stages-window --pass tile-insert-ping-pong --options 'block-m=128 block-n=64 ping-pong=on'
// RUN: %stages-window --pass tile-insert-ping-pong --options 'mode=static block-m=128 block-n=32 ping-pong=on' --run=--completion=random --run=--schedule-seed=3
// RUN: %stages-chain --pass tile-insert-ping-pong --options 'ping-pong=on'

// WORD: for the --ping-pong option: expects 'on' or 'off', got 'maybe'
// OFF-NOT: warp.take_turn

!K = tensor<32x16xf16>
!S = tensor<64x32xf32>
!ring = !warp.ring<1, [!K]>
!slot = !warp.slot<read, [!K]>
!kv = !tile.view<!K>
!read = !warp.cursor<read>
gpu.module @m {
  // A step that is skipped, the first step of a pipelined loop, its steady part
  // and what is left behind it: as many turns as entries of %k. The entry of
  // %v is acquired before the turn is taken, and the turn is passed before
  // anything is awaited.
  // CHECK-LABEL: gpu.func @pipelined
  // CHECK: %[[K:.*]] = warp.ring
  // CHECK: %[[V:.*]] = warp.ring
  // CHECK: %[[ORDER:.*]] = warp.ordered_barrier
  // CHECK: warp.specialize
  // CHECK: scf.for
  // CHECK: warp.acquire %[[K]]
  // CHECK-NEXT: %[[SKIP:.*]] = warp.take_turn %[[ORDER]]
  // CHECK-NEXT: warp.pass_turn %[[SKIP]]
  // CHECK: warp.acquire %[[V]]
  // CHECK: scf.if
  // CHECK: warp.acquire %[[K]]
  // CHECK: %[[FIRST:.*]] = warp.take_turn
  // CHECK-NEXT: tile.dot.async
  // CHECK-NEXT: warp.pass_turn %[[FIRST]]
  // CHECK: scf.for
  // CHECK: warp.acquire %[[K]]
  // CHECK: warp.acquire %[[V]]
  // CHECK-NEXT: %[[STEP:.*]] = warp.take_turn
  // CHECK-NEXT: tile.dot.async
  // CHECK-NEXT: = tile.view
  // CHECK-NEXT: tile.dot.async
  // CHECK-NEXT: warp.pass_turn %[[STEP]]
  // CHECK-NEXT: tile.await
  // CHECK-NOT: warp.take_turn
  gpu.func @pipelined(%n: index, %first: index, %some: i1, %q: !S) kernel {
    %k = warp.ring : !ring
    %v = warp.ring : !ring
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : !S
        %none = arith.constant dense<0.0> : tensor<64x16xf32>
        %x = arith.constant dense<1.0> : tensor<64x16xf16>
        %rk = warp.cursor read %k : !ring
        %rv = warp.cursor read %v : !ring
        %live:2 = scf.for %t = %c0 to %first step %c1 iter_args(%ck = %rk, %cv = %rv) -> (!read, !read) {
          %sk, %nk = warp.acquire %k[%ck] : !ring, !read
          warp.release %sk : !slot
          %sv, %nv = warp.acquire %v[%cv] : !ring, !read
          warp.release %sv : !slot
          scf.yield %nk, %nv : !read, !read
        }
        scf.if %some {
          %sk, %nk = warp.acquire %k[%live#0] : !ring, !read
          %w = tile.view %sk[%c0, %c0] : !slot -> !kv
          %s, %d = tile.dot.async %x, %w, %zero lhs mk rhs nk : tensor<64x16xf16>, !kv, !S -> !tile.pending<!S>
          %sf = tile.await %s : !tile.pending<!S>
          warp.release %sk after %d : !slot
          %p = arith.truncf %sf : !S to tensor<64x32xf16>
          %end:4 = scf.for %t = %first to %n step %c1 iter_args(%ck = %nk, %cv = %live#1, %pc = %p, %acc = %none) -> (!read, !read, tensor<64x32xf16>, tensor<64x16xf32>) {
            %sk1, %nk1 = warp.acquire %k[%ck] : !ring, !read
            %w1 = tile.view %sk1[%c0, %c0] : !slot -> !kv
            %s1, %d1 = tile.dot.async %x, %w1, %zero lhs mk rhs nk : tensor<64x16xf16>, !kv, !S -> !tile.pending<!S>
            %sv1, %nv1 = warp.acquire %v[%cv] : !ring, !read
            %u1 = tile.view %sv1[%c0, %c0] : !slot -> !kv
            %o1, %e1 = tile.dot.async %pc, %u1, %acc lhs mk rhs kn : tensor<64x32xf16>, !kv, tensor<64x16xf32> -> !tile.pending<tensor<64x16xf32>>
            %sf1 = tile.await %s1 : !tile.pending<!S>
            warp.release %sk1 after %d1 : !slot
            %twice = arith.addf %sf1, %sf1 : !S
            %of1 = tile.await %o1 : !tile.pending<tensor<64x16xf32>>
            warp.release %sv1 after %e1 : !slot
            %p1 = arith.truncf %twice : !S to tensor<64x32xf16>
            scf.yield %nk1, %nv1, %p1, %of1 : !read, !read, tensor<64x32xf16>, tensor<64x16xf32>
          }
          %sv, %nv = warp.acquire %v[%end#1] : !ring, !read
          %u = tile.view %sv[%c0, %c0] : !slot -> !kv
          %o, %e = tile.dot.async %end#2, %u, %end#3 lhs mk rhs kn : tensor<64x32xf16>, !kv, tensor<64x16xf32> -> !tile.pending<tensor<64x16xf32>>
          %of = tile.await %o : !tile.pending<tensor<64x16xf32>>
          warp.release %sv after %e : !slot
        }
      }
    }
    gpu.return
  }

  // Without pipelining the first product is awaited before the second can be
  // issued, which is not in the turn. Nothing is in flight meanwhile.
  // CHECK-LABEL: gpu.func @one_stage
  // CHECK: warp.take_turn
  // CHECK-NEXT: tile.dot.async
  // CHECK-NEXT: warp.pass_turn
  // CHECK: tile.dot.async
  // CHECK-NOT: warp.pass_turn
  gpu.func @one_stage(%n: index, %m: memref<?x?xf32>) kernel {
    %k = warp.ring : !ring
    %v = warp.ring : !ring
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : !S
        %none = arith.constant dense<0.0> : tensor<64x16xf32>
        %x = arith.constant dense<1.0> : tensor<64x16xf16>
        %rk = warp.cursor read %k : !ring
        %rv = warp.cursor read %v : !ring
        %end:3 = scf.for %t = %c0 to %n step %c1 iter_args(%ck = %rk, %cv = %rv, %acc = %none) -> (!read, !read, tensor<64x16xf32>) {
          %sk, %nk = warp.acquire %k[%ck] : !ring, !read
          %w = tile.view %sk[%c0, %c0] : !slot -> !kv
          %s, %d = tile.dot.async %x, %w, %zero lhs mk rhs nk : tensor<64x16xf16>, !kv, !S -> !tile.pending<!S>
          %sf = tile.await %s : !tile.pending<!S>
          warp.release %sk after %d : !slot
          %p = arith.truncf %sf : !S to tensor<64x32xf16>
          %sv, %nv = warp.acquire %v[%cv] : !ring, !read
          %u = tile.view %sv[%c0, %c0] : !slot -> !kv
          %o, %e = tile.dot.async %p, %u, %acc lhs mk rhs kn : tensor<64x32xf16>, !kv, tensor<64x16xf32> -> !tile.pending<tensor<64x16xf32>>
          %of = tile.await %o : !tile.pending<tensor<64x16xf32>>
          warp.release %sv after %e : !slot
          scf.yield %nk, %nv, %of : !read, !read, tensor<64x16xf32>
        }
        tile.store %end#2, %m[%c0, %c0] : tensor<64x16xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }
}
