// RUN: fa3-opt %s -tile-insert-turns=turns=on | FileCheck %s
// RUN: fa3-opt %s -tile-insert-turns=turns=off | FileCheck %s --check-prefix=OFF
// RUN: not fa3-opt %s -tile-insert-turns=turns=maybe 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: %stages-window --pass tile-insert-turns --options 'block-m=128 block-n=64 turns=on'
// RUN: %stages-window --pass tile-insert-turns --options 'mode=static block-m=128 block-n=32 turns=on' --run=--completion=random --run=--schedule-seed=3
// RUN: %stages-chain --pass tile-insert-turns --options 'turns=on'

// WORD: error: tile-insert-turns: expects turns 'on' or 'off', got 'maybe'
// OFF-NOT: flow.take

!K = tensor<32x16xf16>
!S = tensor<64x32xf32>
!ring = !flow.ring<1, [!K]>
!slot = !flow.slot<read, [!K]>
!kv = !tile.view<!K>
!read = !flow.cursor<read>
gpu.module @m {
  // A step that is skipped, the first step of a pipelined loop, its steady part
  // and what is left behind it: as many turns as entries of %k. The entry of
  // %v is acquired before the turn is taken, and the turn is passed before
  // anything is awaited.
  // CHECK-LABEL: gpu.func @pipelined
  // CHECK: %[[K:.*]] = flow.ring
  // CHECK: %[[V:.*]] = flow.ring
  // CHECK: %[[ORDER:.*]] = flow.order
  // CHECK: flow.specialize
  // CHECK: scf.for
  // CHECK: flow.acquire %[[K]]
  // CHECK-NEXT: %[[SKIP:.*]] = flow.take %[[ORDER]]
  // CHECK-NEXT: flow.pass %[[SKIP]]
  // CHECK: flow.acquire %[[V]]
  // CHECK: scf.if
  // CHECK: flow.acquire %[[K]]
  // CHECK: %[[FIRST:.*]] = flow.take
  // CHECK-NEXT: tile.dot.async
  // CHECK-NEXT: flow.pass %[[FIRST]]
  // CHECK: scf.for
  // CHECK: flow.acquire %[[K]]
  // CHECK: flow.acquire %[[V]]
  // CHECK-NEXT: %[[STEP:.*]] = flow.take
  // CHECK-NEXT: tile.dot.async
  // CHECK-NEXT: = tile.view
  // CHECK-NEXT: tile.dot.async
  // CHECK-NEXT: flow.pass %[[STEP]]
  // CHECK-NEXT: tile.await
  // CHECK-NOT: flow.take
  gpu.func @pipelined(%n: index, %first: index, %some: i1, %q: !S) kernel {
    %k = flow.ring : !ring
    %v = flow.ring : !ring
    flow.specialize {
      flow.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : !S
        %none = arith.constant dense<0.0> : tensor<64x16xf32>
        %x = arith.constant dense<1.0> : tensor<64x16xf16>
        %rk = flow.cursor read %k : !ring
        %rv = flow.cursor read %v : !ring
        %live:2 = scf.for %t = %c0 to %first step %c1 iter_args(%ck = %rk, %cv = %rv) -> (!read, !read) {
          %sk, %nk = flow.acquire %k[%ck] : !ring, !read
          flow.release %sk : !slot
          %sv, %nv = flow.acquire %v[%cv] : !ring, !read
          flow.release %sv : !slot
          scf.yield %nk, %nv : !read, !read
        }
        scf.if %some {
          %sk, %nk = flow.acquire %k[%live#0] : !ring, !read
          %w = tile.view %sk[%c0, %c0] : !slot -> !kv
          %s, %d = tile.dot.async %x, %w, %zero lhs mk rhs nk : tensor<64x16xf16>, !kv, !S -> !tile.pending<!S>
          %sf = tile.await %s : !tile.pending<!S>
          flow.release %sk after %d : !slot
          %p = arith.truncf %sf : !S to tensor<64x32xf16>
          %end:4 = scf.for %t = %first to %n step %c1 iter_args(%ck = %nk, %cv = %live#1, %pc = %p, %acc = %none) -> (!read, !read, tensor<64x32xf16>, tensor<64x16xf32>) {
            %sk1, %nk1 = flow.acquire %k[%ck] : !ring, !read
            %w1 = tile.view %sk1[%c0, %c0] : !slot -> !kv
            %s1, %d1 = tile.dot.async %x, %w1, %zero lhs mk rhs nk : tensor<64x16xf16>, !kv, !S -> !tile.pending<!S>
            %sv1, %nv1 = flow.acquire %v[%cv] : !ring, !read
            %u1 = tile.view %sv1[%c0, %c0] : !slot -> !kv
            %o1, %e1 = tile.dot.async %pc, %u1, %acc lhs mk rhs kn : tensor<64x32xf16>, !kv, tensor<64x16xf32> -> !tile.pending<tensor<64x16xf32>>
            %sf1 = tile.await %s1 : !tile.pending<!S>
            flow.release %sk1 after %d1 : !slot
            %twice = arith.addf %sf1, %sf1 : !S
            %of1 = tile.await %o1 : !tile.pending<tensor<64x16xf32>>
            flow.release %sv1 after %e1 : !slot
            %p1 = arith.truncf %twice : !S to tensor<64x32xf16>
            scf.yield %nk1, %nv1, %p1, %of1 : !read, !read, tensor<64x32xf16>, tensor<64x16xf32>
          }
          %sv, %nv = flow.acquire %v[%end#1] : !ring, !read
          %u = tile.view %sv[%c0, %c0] : !slot -> !kv
          %o, %e = tile.dot.async %end#2, %u, %end#3 lhs mk rhs kn : tensor<64x32xf16>, !kv, tensor<64x16xf32> -> !tile.pending<tensor<64x16xf32>>
          %of = tile.await %o : !tile.pending<tensor<64x16xf32>>
          flow.release %sv after %e : !slot
        }
      }
    }
    gpu.return
  }

  // Without pipelining the first product is awaited before the second can be
  // issued, which is not in the turn. Nothing is in flight meanwhile.
  // CHECK-LABEL: gpu.func @one_stage
  // CHECK: flow.take
  // CHECK-NEXT: tile.dot.async
  // CHECK-NEXT: flow.pass
  // CHECK: tile.dot.async
  // CHECK-NOT: flow.pass
  gpu.func @one_stage(%n: index, %m: memref<?x?xf32>) kernel {
    %k = flow.ring : !ring
    %v = flow.ring : !ring
    flow.specialize {
      flow.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : !S
        %none = arith.constant dense<0.0> : tensor<64x16xf32>
        %x = arith.constant dense<1.0> : tensor<64x16xf16>
        %rk = flow.cursor read %k : !ring
        %rv = flow.cursor read %v : !ring
        %end:3 = scf.for %t = %c0 to %n step %c1 iter_args(%ck = %rk, %cv = %rv, %acc = %none) -> (!read, !read, tensor<64x16xf32>) {
          %sk, %nk = flow.acquire %k[%ck] : !ring, !read
          %w = tile.view %sk[%c0, %c0] : !slot -> !kv
          %s, %d = tile.dot.async %x, %w, %zero lhs mk rhs nk : tensor<64x16xf16>, !kv, !S -> !tile.pending<!S>
          %sf = tile.await %s : !tile.pending<!S>
          flow.release %sk after %d : !slot
          %p = arith.truncf %sf : !S to tensor<64x32xf16>
          %sv, %nv = flow.acquire %v[%cv] : !ring, !read
          %u = tile.view %sv[%c0, %c0] : !slot -> !kv
          %o, %e = tile.dot.async %p, %u, %acc lhs mk rhs kn : tensor<64x32xf16>, !kv, tensor<64x16xf32> -> !tile.pending<tensor<64x16xf32>>
          %of = tile.await %o : !tile.pending<tensor<64x16xf32>>
          flow.release %sv after %e : !slot
          scf.yield %nk, %nv, %of : !read, !read, tensor<64x16xf32>
        }
        tile.store %end#2, %m[%c0, %c0] : tensor<64x16xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }
}
