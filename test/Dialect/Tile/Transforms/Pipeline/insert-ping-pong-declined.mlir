// RUN: fa3-opt %s -tile-insert-ping-pong=ping-pong=on -verify-diagnostics | FileCheck %s

!K = tensor<32x16xf16>
!ring = !warp.ring<1, [!K]>
gpu.module @m {
  // CHECK-LABEL: gpu.func @alone
  // CHECK-NOT: warp.ordered_barrier
  gpu.func @alone(%n: index) kernel {
    %k = warp.ring : !ring
    warp.specialize {
      // expected-remark @+1 {{has one replica, which needs no turns}}
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : tensor<64x32xf32>
        %x = arith.constant dense<1.0> : tensor<64x16xf16>
        %r = warp.cursor read %k : !ring
        scf.for %t = %c0 to %n step %c1 iter_args(%c = %r) -> (!warp.cursor<read>) {
          %s, %c2 = warp.acquire %k[%c] : !ring, !warp.cursor<read>
          %w = tile.view %s[%c0, %c0] : !warp.slot<read, [!K]> -> !tile.view<!K>
          %p, %d = tile.dot.async %x, %w, %zero lhs mk rhs nk : tensor<64x16xf16>, !tile.view<!K>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %f = tile.await %p : !tile.pending<tensor<64x32xf32>>
          warp.release %s after %d : !warp.slot<read, [!K]>
          scf.yield %c2 : !warp.cursor<read>
        }
      }
    }
    gpu.return
  }

  // What all steps read from one entry says nothing of the number of steps.
  // CHECK-LABEL: gpu.func @one_entry
  // CHECK-NOT: warp.ordered_barrier
  gpu.func @one_entry(%n: index) kernel {
    %k = warp.ring : !ring
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : tensor<64x32xf32>
        %x = arith.constant dense<1.0> : tensor<64x16xf16>
        %r = warp.cursor read %k : !ring
        %s, %c = warp.acquire %k[%r] : !ring, !warp.cursor<read>
        %w = tile.view %s[%c0, %c0] : !warp.slot<read, [!K]> -> !tile.view<!K>
        // expected-remark @+1 {{gets no turns: no product of it reads an entry that the loop acquires from another group}}
        scf.for %t = %g to %n step %c1 {
          %p, %d = tile.dot.async %x, %w, %zero lhs mk rhs nk : tensor<64x16xf16>, !tile.view<!K>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %f = tile.await %p : !tile.pending<tensor<64x32xf32>>
        }
        warp.release %s : !warp.slot<read, [!K]>
      }
    }
    gpu.return
  }
}
