// RUN: fa3-opt %s -tile-assign-layouts -split-input-file -verify-diagnostics

// A statistic of rows, broadcast along columns too: it would have to move
// between the lanes of a row and those of a column.
gpu.module @m {
  gpu.func @transposed(%p: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %p[%c0, %c0] : memref<?x?xf32> -> tensor<64x64xf32>
    // expected-error @below {{tile of type 'tensor<64xf32>' would need two layouts, #tile.slice<}}
    %m = tile.reduce max %x dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %columns = tile.broadcast %m dim 0 : tensor<64xf32> -> tensor<64x64xf32>
    %d = arith.subf %x, %columns : tensor<64x64xf32>
    tile.store %d, %p[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }
}

// -----

// An accumulator has 64 rows per warp group.
gpu.module @m {
  gpu.func @few_rows(%p: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @below {{rows}}
    %x = tile.load %p[%c0, %c0] : memref<?x?xf32> -> tensor<40x64xf32>
    tile.store %x, %p[%c0, %c0] : tensor<40x64xf32>, memref<?x?xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_splat(%p: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @below {{has no layout: it is no splat}}
    %some = arith.constant dense<"0xAAAAAAAAAAAAAAAA"> : tensor<64xi1>
    %m = tile.load %p[%c0] : memref<?xf32> -> tensor<64xf32>
    %w = arith.select %some, %m, %m : tensor<64xi1>, tensor<64xf32>
    tile.store %w, %p[%c0] : tensor<64xf32>, memref<?xf32>
    gpu.return
  }
}
