// RUN: fa3-opt %s -tile-make-async=store=staged | FileCheck %s

// What bulk copies write: elements of 8 and 16 bits, rows of whole units of 16
// bytes.
// CHECK-LABEL: gpu.func @kinds
// CHECK: warp.group
// CHECK-DAG: warp.ring : <1, [tensor<64x32xf16>]>
// CHECK-DAG: warp.ring : <1, [tensor<64x32xf8E4M3FN>]>
// CHECK-NOT: warp.ring
// CHECK: tile.store.async %{{.*}}, %arg0
// CHECK: tile.store.async %{{.*}}, %arg1
// CHECK-NOT: tile.store.async
// CHECK: tile.store %{{.*}}, %arg2
// CHECK: tile.store %{{.*}}, %arg3
// CHECK: tile.store %{{.*}}, %arg4
gpu.module @m {
  gpu.func @kinds(%half: memref<?x40xf16>, %byte: memref<?x48xf8E4M3FN>,
                  %unevenHalf: memref<?x36xf16>, %unevenByte: memref<?x40xf8E4M3FN>,
                  %word: memref<?x40xf32>) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x32xf16>
        %y = arith.constant dense<1.0> : tensor<64x32xf8E4M3FN>
        %z = arith.constant dense<1.0> : tensor<64x32xf32>
        tile.store %x, %half[%c0, %c0] : tensor<64x32xf16>, memref<?x40xf16>
        tile.store %y, %byte[%c0, %c0] : tensor<64x32xf8E4M3FN>, memref<?x48xf8E4M3FN>
        tile.store %x, %unevenHalf[%c0, %c0] : tensor<64x32xf16>, memref<?x36xf16>
        tile.store %y, %unevenByte[%c0, %c0] : tensor<64x32xf8E4M3FN>, memref<?x40xf8E4M3FN>
        tile.store %z, %word[%c0, %c0] : tensor<64x32xf32>, memref<?x40xf32>
      }
    }
    gpu.return
  }
}

// A bulk copy writes all rows that the array has.
// CHECK-LABEL: gpu.func @ended
// CHECK-NOT: tile.store.async
// CHECK: tile.store %{{.*}} below
gpu.module @n {
  gpu.func @ended(%half: memref<?x40xf16>, %end: index) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x32xf16>
        tile.store %x, %half[%c0, %c0] below %end : tensor<64x32xf16>, memref<?x40xf16>
      }
    }
    gpu.return
  }
}
