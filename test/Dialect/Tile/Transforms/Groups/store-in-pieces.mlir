// RUN: fa3-opt %s -split-input-file -tile-make-async=smem-budget=20000 | FileCheck %s
// RUN: fa3-opt %s -split-input-file -tile-make-async=smem-budget=30000 | FileCheck %s --check-prefix=WHOLE
// RUN: fa3-opt %s -split-input-file -tile-make-async=smem-budget=16000 | FileCheck %s --check-prefix=DIRECT
// RUN: %stages %S/Inputs/wide.mlir --pass tile-make-async --dims b=1,h=1,hk=1,sq=150,sk=70 --run=--completion=random --run=--schedule-seed=1
// RUN: %stages %S/Inputs/wide.mlir --pass hopper-allocate-smem --options mode=static --dims b=2,h=1,hk=1,sq=150,sk=70 --run=--require-fences

// 24576 bytes do not fit, two blocks of 64 columns do: one is written under the
// copy of the other.
!T = tensor<64x192xf16>
!o = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  // CHECK-LABEL: gpu.func @pieces
  // CHECK: warp.group
  // CHECK: %[[R:.*]] = warp.ring : <2, [tensor<64x64xf16>]>
  // CHECK: %[[W:.*]] = warp.cursor write %[[R]]
  // CHECK: %[[A:.*]] = warp.cursor read %[[R]]
  // CHECK: %[[P0:.*]] = tensor.extract_slice %[[T:[a-z0-9_]*]][0, 0] [64, 64] [1, 1]
  // CHECK: %[[S0:.*]], %[[W1:.*]] = warp.acquire %[[R]][%[[W]]]
  // CHECK: tile.write %[[P0]], %{{.*}}
  // CHECK: warp.publish %[[S0]]
  // CHECK: %[[H0:.*]], %[[A1:.*]] = warp.acquire %[[R]][%[[A]]]
  // CHECK: %[[D0:.*]] = tile.store.async %{{.*}}, %arg0[%c0, %c0]
  // CHECK: warp.release %[[H0]] after %[[D0]]
  // CHECK: %[[P1:.*]] = tensor.extract_slice %[[T]][0, 64] [64, 64] [1, 1]
  // CHECK: %[[C64:.*]] = arith.addi %c0, %{{.*}}
  // CHECK: warp.acquire %[[R]][%[[W1]]]
  // CHECK: warp.acquire %[[R]][%[[A1]]]
  // CHECK: tile.store.async %{{.*}}, %arg0[%c0, %[[C64]]]
  // CHECK: tensor.extract_slice %[[T]][0, 128] [64, 64] [1, 1]
  // CHECK: tile.store.async
  // CHECK-NOT: tile.store
  // WHOLE-LABEL: gpu.func @pieces
  // WHOLE: warp.ring : <1, [tensor<64x192xf16>]>
  // WHOLE-NOT: tensor.extract_slice
  // DIRECT-LABEL: gpu.func @pieces
  // DIRECT-NOT: tile.store.async
  // DIRECT: tile.store %
  gpu.func @pieces(%o: !o) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %t = arith.constant dense<1.0> : !T
        tile.store %t, %o[%c0, %c0] : !T, !o
      }
    }
    gpu.return
  }
}
