// RUN: fa3-opt %s -tile-to-hopper -split-input-file -verify-diagnostics | FileCheck %s

!Q = tensor<64x32xf8E4M3FN, #tile.operand_a<8>>
!L = tensor<64x8xf32, #tile.acc>

// A right operand of one value has a buffer of its own, filled before the
// groups begin; products with the same one share it, and the registers of the
// left operand pass one fence.
// CHECK-LABEL: gpu.func @shares(
// CHECK: %[[B:.*]] = hopper.smem.alloc : <1, tensor<8x32xf8E4M3FN>, 32>
// CHECK-NEXT: hopper.smem.fill %[[B]], 1.250000e-01 : f8E4M3FN
// CHECK-NOT: hopper.smem.alloc
// CHECK: gpu.barrier
// CHECK-NEXT: warp.specialize
// CHECK: %[[D:.*]] = hopper.desc %[[B]][
// CHECK: %[[P:.*]] = hopper.wgmma.fence(
// CHECK: hopper.wgmma.mma %[[P]], %[[D]]
// CHECK: %[[E:.*]] = hopper.desc %[[B]][
// CHECK: hopper.wgmma.fence{{$}}
// CHECK: hopper.wgmma.mma %[[P]], %[[E]]
gpu.module @m {
  gpu.func @shares(%o: memref<?x?xf32>) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %p = arith.constant dense<1.0> : !Q
        %zero = arith.constant dense<0.0> : !L
        %eighth = arith.constant dense<0.125> : tensor<8x32xf8E4M3FN>
        %s, %d = tile.dot.async %p, %eighth, %zero lhs mk rhs nk : !Q, tensor<8x32xf8E4M3FN>, !L -> !tile.pending<!L>
        %again = arith.constant dense<0.125> : tensor<8x32xf8E4M3FN>
        %t, %e = tile.dot.async %p, %again, %zero lhs mk rhs nk : !Q, tensor<8x32xf8E4M3FN>, !L -> !tile.pending<!L>
        %x = tile.await %s : !tile.pending<!L>
        %y = tile.await %t : !tile.pending<!L>
        tile.store %x, %o[%c0, %c0] : !L, memref<?x?xf32>
        tile.store %y, %o[%c0, %c0] : !L, memref<?x?xf32>
      }
    }
    gpu.return
  }
}

// -----

!Q = tensor<64x32xf8E4M3FN, #tile.operand_a<8>>
!L = tensor<64x8xf32, #tile.acc>

gpu.module @m {
  gpu.func @computed(%o: memref<?x?xf32>) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %p = arith.constant dense<1.0> : !Q
        %zero = arith.constant dense<0.0> : !L
        %b = arith.constant dense<0.125> : tensor<8x32xf32>
        %r = arith.truncf %b : tensor<8x32xf32> to tensor<8x32xf8E4M3FN>
        // expected-error @below {{has no wgmma: expects a right operand in shared memory, or a constant of one value}}
        %s, %d = tile.dot.async %p, %r, %zero lhs mk rhs nk : !Q, tensor<8x32xf8E4M3FN>, !L -> !tile.pending<!L>
        %x = tile.await %s : !tile.pending<!L>
        tile.store %x, %o[%c0, %c0] : !L, memref<?x?xf32>
      }
    }
    gpu.return
  }
}

// -----

!Q = tensor<64x32xf8E4M3FN, #tile.operand_a<8>>
!L = tensor<64x8xf32, #tile.acc>

gpu.module @m {
  gpu.func @outside(%o: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %p = arith.constant dense<1.0> : !Q
    %zero = arith.constant dense<0.0> : !L
    %b = arith.constant dense<0.125> : tensor<8x32xf8E4M3FN>
    // expected-error @below {{has no wgmma: expects products with constants in groups}}
    %s, %d = tile.dot.async %p, %b, %zero lhs mk rhs nk : !Q, tensor<8x32xf8E4M3FN>, !L -> !tile.pending<!L>
    %x = tile.await %s : !tile.pending<!L>
    tile.store %x, %o[%c0, %c0] : !L, memref<?x?xf32>
    gpu.return
  }
}
