// RUN: fa3-opt %s -tile-schedule -split-input-file -verify-diagnostics
// RUN: not fa3-opt %S/schedule.mlir -tile-schedule=stages=-1 2>&1 | FileCheck %s --check-prefix=STAGES

// STAGES: for the --stages option: expects a number from 0 on, got -1

!K = tensor<32x16xf16>
gpu.module @m {
  gpu.func @two_back(%a: memref<?x?xf16>, %o: memref<?x?xf32>, %n: index) kernel {
    %rk = warp.ring : !warp.ring<1, [!K]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %none = arith.constant dense<0.0> : tensor<64x32xf32>
        %q = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
        %ik = warp.cursor read %rk : !warp.ring<1, [!K]>
        // expected-error @below {{carries a value over more than one iteration, which cannot be pipelined}}
        %r:3 = scf.for %t = %c0 to %n step %c1 iter_args(%last = %none, %before = %none, %ck = %ik)
            -> (tensor<64x32xf32>, tensor<64x32xf32>, !warp.cursor<read>) {
          %s, %nk = warp.acquire %rk[%ck] : !warp.ring<1, [!K]>, !warp.cursor<read>
          %x = tile.view %s[%c0, %c0] : !warp.slot<read, [!K]> -> !tile.view<!K>
          %d, %done = tile.dot.async %q, %x, %before lhs mk rhs nk : tensor<64x16xf16>, !tile.view<!K>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %e = tile.await %d : !tile.pending<tensor<64x32xf32>>
          warp.release %s after %done : !warp.slot<read, [!K]>
          scf.yield %e, %last, %nk : tensor<64x32xf32>, tensor<64x32xf32>, !warp.cursor<read>
        }
        tile.store %r#0, %o[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }
}
