// Operations on tiles that the other tests do not use.
// RUN: fa3-run --cpu %s --fill x=1 --print out --print sum | FileCheck %s
// RUN: fa3-run --cpu %s --fill x=1 --completion eager --schedule-seed 1 --print out --print sum | FileCheck %s

// The rows of `out`: x^T x + 8 in f16, maxima that a NaN does not win, column
// numbers masked by where, sums of columns modulo 2, stores with an end. `sum` is
// added to twice.
// CHECK: out: 5x4xf16
// CHECK-NEXT: [0]: 16 16 16 16
// CHECK-NEXT: [1]: 3 1 3 3
// CHECK-NEXT: [2]: 10 11 -1 -1
// CHECK-NEXT: [3]: 2 4 2 9
// CHECK-NEXT: [4]: not-written not-written 16 not-written
// CHECK: sum: 1x4xf32
// CHECK-NEXT: [0]: 2 2 2 2

!ring = !warp.ring<1, [tensor<2x4xf32>], parts = 2>
gpu.module @m {
  gpu.func @k(%x: memref<8x4xf16>, %out: memref<5x4xf16>, %sum: memref<1x4xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c10 = arith.constant 10 : index
    %xt = tile.load %x[%c0, %c0] : memref<8x4xf16> -> tensor<8x4xf16>
    %eight = arith.constant dense<8.0> : tensor<4x4xf16>
    %p = tile.dot %xt, %xt, %eight lhs km rhs kn : tensor<8x4xf16>, tensor<8x4xf16> -> tensor<4x4xf16>
    %p0 = tile.reduce max %p dim 0 : tensor<4x4xf16> -> tensor<4xf16>
    tile.store %p0, %out[%c0, %c0] : tensor<4xf16>, memref<5x4xf16>

    %nan = arith.constant dense<[[0x7E00, 1.0, 2.0, 3.0], [3.0, 0x7E00, 3.0, 0x7E00]]> : tensor<2x4xf16>
    %top = tile.reduce max %nan dim 0 : tensor<2x4xf16> -> tensor<4xf16>
    tile.store %top, %out[%c1, %c0] : tensor<4xf16>, memref<5x4xf16>

    %col = tile.coord dim 1 offset %c10 : tensor<1x4xindex>
    %lim = arith.constant dense<12> : tensor<1x4xindex>
    %in = arith.cmpi slt, %col, %lim : tensor<1x4xindex>
    %neg = arith.constant dense<-1.0> : tensor<1x4xf16>
    %col32 = arith.index_cast %col : tensor<1x4xindex> to tensor<1x4xi32>
    %num = arith.sitofp %col32 : tensor<1x4xi32> to tensor<1x4xf16>
    %w = tile.where %in else %neg : tensor<1x4xi1>, tensor<1x4xf16> {
      %one = arith.constant dense<1.0> : tensor<1x4xf16>
      %m = arith.mulf %num, %one : tensor<1x4xf16>
      tile.yield %m : tensor<1x4xf16>
    }
    tile.store %w, %out[%c2, %c0] : tensor<1x4xf16>, memref<5x4xf16>

    %row = arith.constant dense<[[1.0, 1.0, 1.0, 3.0]]> : tensor<1x4xf16>
    %two = tile.reduce add %row dim 1 modulo 2 : tensor<1x4xf16> -> tensor<1x2xf16>
    tile.store %two, %out[%c3, %c0] : tensor<1x2xf16>, memref<5x4xf16>
    tile.store %two, %out[%c3, %c2] : tensor<1x2xf16>, memref<5x4xf16>
    // What is not below an end is dropped: rows of a tile of rank 2, columns of
    // one of rank 1.
    %many = arith.constant dense<9.0> : tensor<3x1xf16>
    tile.store %many, %out[%c3, %c3] below %c4 : tensor<3x1xf16>, memref<5x4xf16>
    tile.store %many, %out[%c3, %c3] below %c2 : tensor<3x1xf16>, memref<5x4xf16>
    tile.store %p0, %out[%c4, %c2] below %c3 : tensor<4xf16>, memref<5x4xf16>
    // Columns and rows outside are dropped.
    %out1 = arith.constant 4 : index
    tile.store %row, %out[%out1, %c4] : tensor<1x4xf16>, memref<5x4xf16>

    // Two groups fill a row each of every entry; a third adds both to memory.
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @upper warps 1 (%g) {
        %one = arith.constant dense<1.0> : tensor<1x4xf32>
        %c = warp.cursor write %ring part 0 : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [tensor<2x4xf32>]> -> !tile.view<tensor<1x4xf32>>
        tile.write %one, %v : tensor<1x4xf32>, !tile.view<tensor<1x4xf32>>
        warp.publish %s : !warp.slot<write, [tensor<2x4xf32>]>
      }
      warp.group @lower warps 1 (%g) {
        %one = arith.constant dense<1.0> : tensor<1x4xf32>
        %c = warp.cursor write %ring part 1 : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<write>
        %v = tile.view %s[%c1, %c0] : !warp.slot<write, [tensor<2x4xf32>]> -> !tile.view<tensor<1x4xf32>>
        tile.write %one, %v : tensor<1x4xf32>, !tile.view<tensor<1x4xf32>>
        warp.publish %s : !warp.slot<write, [tensor<2x4xf32>]>
      }
      warp.group @store warps 1 (%g) {
        %zero = arith.constant dense<0.0> : tensor<4xf32>
        tile.store %zero, %sum[%c0, %c0] : tensor<4xf32>, memref<1x4xf32>
        %c = warp.cursor read %ring : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<read>
        %v = tile.view %s[%c0, %c0] : !warp.slot<read, [tensor<2x4xf32>]> -> !tile.view<tensor<1x4xf32>>
        %w1 = tile.view %s[%c1, %c0] : !warp.slot<read, [tensor<2x4xf32>]> -> !tile.view<tensor<1x4xf32>>
        %d1 = tile.store.async %v, %sum[%c0, %c0] add : !tile.view<tensor<1x4xf32>>, memref<1x4xf32>
        %d2 = tile.store.async %w1, %sum[%c0, %c0] add : !tile.view<tensor<1x4xf32>>, memref<1x4xf32>
        warp.release %s after %d1, %d2 : !warp.slot<read, [tensor<2x4xf32>]>
      }
    }
    gpu.return
  }
}
func.func @f(%x: memref<8x4xf16> {tile.name = "x"}, %out: memref<5x4xf16> {tile.name = "out"}, %sum: memref<1x4xf32> {tile.name = "sum"}) {
  tile.launch @m::@k args(%x, %out, %sum : memref<8x4xf16>, memref<5x4xf16>, memref<1x4xf32>)
  return
}
