// A wrong number in a type is an error of the kernel, not memory that is asked
// for until there is none.
// RUN: split-file %s %t
// RUN: not fa3-run --cpu %t/tile.mlir 2>&1 | FileCheck %s --check-prefix=TILE
// RUN: not fa3-run --cpu %t/ring.mlir 2>&1 | FileCheck %s --check-prefix=RING
// RUN: not fa3-run --cpu %t/shared.mlir 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: not fa3-run --cpu %t/coord.mlir 2>&1 | FileCheck %s --check-prefix=COORD

// COORD: coord.mlir:8:{{.*}} error: 'tile.coord' expects an offset of at least 0, got -2
//--- coord.mlir
gpu.module @m {
  gpu.func @k(%out: memref<8xi32>) kernel {
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    tile.grid (%i) in (%c1) {
      %first = arith.subi %i, %c3 : index
      %more = arith.addi %first, %c1 : index
      %x = tile.coord dim 0 offset %more : tensor<8xindex>
      %y = arith.index_cast %x : tensor<8xindex> to tensor<8xi32>
      tile.store %y, %out[%i] : tensor<8xi32>, memref<8xi32>
    }
    gpu.return
  }
}
func.func @run(%out: memref<8xi32> {tile.name = "out"}) {
  tile.launch @m::@k args(%out : memref<8xi32>)
  return
}

// TILE: tile.mlir:3:{{.*}} error: 'arith.constant' brings the tiles of the kernel to 1099511627776 bytes per block, the limit of the interpreter is 1073741824
//--- tile.mlir
gpu.module @m {
  gpu.func @k() kernel {
    %0 = arith.constant dense<1.0> : tensor<1048576x131072xf16>
    gpu.return
  }
}
func.func @run() {
  tile.launch @m::@k args()
  return
}

// RING: ring.mlir:3:{{.*}} error: 'warp.ring' brings the tiles of the kernel to 8388608000 bytes per block
//--- ring.mlir
gpu.module @m {
  gpu.func @k() kernel {
    %ring = warp.ring : !warp.ring<8000, [tensor<1024x128xf16>]>
    gpu.return
  }
}
func.func @run() {
  tile.launch @m::@k args()
  return
}

// SHARED: shared.mlir:5:{{.*}} error: brings the shared memory of the kernel from 1024 bytes over the interpreter's limit of 67108864
//--- shared.mlir
!in = !hopper.buffer<9000, tensor<64x64xf16>, 128>
gpu.module @m {
  gpu.func @k() kernel {
    // Larger than any SM.
    %0 = hopper.smem.alloc : !in
    gpu.return
  }
}
func.func @run() {
  %blocks = arith.constant 1 : index
  hopper.launch @m::@k blocks %blocks threads 128 smem 1024 args()
  return
}
