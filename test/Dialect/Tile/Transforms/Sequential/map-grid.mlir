// RUN: fa3-opt %s "-tile-map-grid=mode=cta order=rows" | FileCheck %s --check-prefixes=CHECK,ROWS
// RUN: fa3-opt %s "-tile-map-grid=mode=cta order=longest-first" | FileCheck %s --check-prefixes=CHECK,LONG
// RUN: fa3-opt %s "-tile-map-grid=mode=cta order=auto" | FileCheck %s --check-prefix=AUTO
// RUN: fa3-opt %s '-tile-map-grid=mode=static order=rows' | FileCheck %s --check-prefix=STATIC
// RUN: fa3-opt %s '-tile-map-grid=mode=dynamic order=rows' | FileCheck %s --check-prefix=DYNAMIC
// RUN: %stages-window --pass tile-map-grid
// RUN: %stages-gemm --pass tile-map-grid
// RUN: %stages-window --pass tile-map-grid --options 'mode=static block-m=64 block-n=32'

// The number of blocks is computed in front of the launch, from its operands.
// CHECK-LABEL: func.func @host
// CHECK-SAME: %[[A:.*]]: memref<?x64xf16>, %[[H:.*]]: index
// CHECK: %[[M:.*]] = memref.dim %[[A]]
// CHECK: %[[TILES:.*]] = arith.ceildivsi %[[M]]
// CHECK: %[[BLOCKS:.*]] = arith.muli %[[TILES]], %[[H]]
// CHECK: tile.launch @kernels::@rows blocks %[[BLOCKS]] args(%[[A]], %[[H]] :

// STATIC-LABEL: func.func @host
// STATIC: %[[TILES:.*]] = arith.muli
// STATIC: %[[ALL:.*]] = tile.sm_count
// STATIC: %[[BLOCKS:.*]] = arith.minui %[[TILES]], %[[ALL]]
// STATIC: tile.launch @kernels::@rows blocks %[[BLOCKS]]
func.func @host(%a: memref<?x64xf16>, %h: index) {
  tile.launch @kernels::@rows args(%a, %h : memref<?x64xf16>, index)
  return
}

// Each launch of a kernel gets its own count.
// CHECK-LABEL: func.func @twice
// CHECK: tile.launch @kernels::@rows blocks
// CHECK: tile.launch @kernels::@rows blocks
func.func @twice(%a: memref<?x64xf16>, %h: index) {
  tile.launch @kernels::@rows args(%a, %h : memref<?x64xf16>, index)
  tile.launch @kernels::@rows args(%a, %h : memref<?x64xf16>, index)
  return
}

gpu.module @kernels {
  // ROWS-LABEL: gpu.func @rows
  // ROWS-NOT: tile.grid
  // ROWS: %[[TILES:.*]] = arith.ceildivsi
  // ROWS: %[[ID:.*]] = gpu.block_id x
  // ROWS: %[[I:.*]] = arith.remui %[[ID]], %[[TILES]]
  // ROWS: %[[H:.*]] = arith.divui %[[ID]], %[[TILES]]
  // ROWS: memref.store %{{.*}}, %{{.*}}[%[[I]], %[[H]]]

  // LONG-LABEL: gpu.func @rows
  // LONG-SAME: %[[HEADS:[a-z0-9]+]]: index
  // LONG: %[[TILES:.*]] = arith.ceildivsi
  // LONG: %[[ID:.*]] = gpu.block_id x
  // LONG: %[[H:.*]] = arith.remui %[[ID]], %[[HEADS]]
  // LONG: %[[SLOW:.*]] = arith.divui %[[ID]], %[[HEADS]]
  // LONG: %[[LAST:.*]] = arith.subi %[[TILES]]
  // LONG: %[[I:.*]] = arith.subi %[[LAST]], %[[SLOW]]
  // LONG: memref.store %{{.*}}, %{{.*}}[%[[I]], %[[H]]]

  // Nobody loads tiles here, and nobody claims them.
  // DYNAMIC-LABEL: gpu.func @rows
  // DYNAMIC-NOT: tile.claim
  // DYNAMIC: memref.store

  // STATIC-LABEL: gpu.func @rows
  // STATIC: %[[FIRST:.*]] = gpu.block_id x
  // STATIC: %[[COUNT:.*]] = arith.muli
  // STATIC: %[[STEP:.*]] = gpu.grid_dim x
  // STATIC: scf.for %[[ID:.*]] = %[[FIRST]] to %[[COUNT]] step %[[STEP]] {
  // STATIC: arith.remui %[[ID]]
  // STATIC: memref.store
  // STATIC: }
  gpu.func @rows(%a: memref<?x64xf16>, %h: index) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0.0 : f16
    %m = memref.dim %a, %c0 : memref<?x64xf16>
    %tiles = arith.ceildivsi %m, %c16 : index
    tile.grid (%i, %j) in (%tiles, %h) {
      memref.store %zero, %a[%i, %j] : memref<?x64xf16>
    }
    gpu.return
  }

  // Which tiles a CTA gets is found out while it runs, by those who load them.
  // DYNAMIC-LABEL: gpu.func @loads
  // DYNAMIC: %[[COUNT:.*]] = arith.muli
  // DYNAMIC: %[[SHARE:.*]] = tile.share %[[COUNT]]
  // DYNAMIC: scf.for %[[NUMBER:.*]] = %c0{{.*}} to %[[SHARE]] step %c1
  // DYNAMIC: %[[ID:.*]] = tile.claim %[[NUMBER]] of %[[COUNT]]
  // DYNAMIC: arith.remui %[[ID]]
  // DYNAMIC: arith.divui %[[ID]]
  // DYNAMIC: tile.load
  gpu.func @loads(%m: index, %h: index, %a: memref<?x?x64xf16>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    tile.grid (%i, %j) in (%m, %h) {
      %row = arith.muli %i, %c64 : index
      %x = tile.load %a[%j, %row, %c0] : memref<?x?x64xf16> -> tensor<64x64xf16>
      %y = arith.negf %x : tensor<64x64xf16>
      tile.store %y, %a[%j, %row, %c0] : tensor<64x64xf16>, memref<?x?x64xf16>
    }
    gpu.return
  }

  // Work that grows with the first index starts with the longest tiles.
  // AUTO-LABEL: gpu.func @growing
  // AUTO: %[[ID:.*]] = gpu.block_id x
  // AUTO: arith.remui %[[ID]], %arg1
  // AUTO: %[[LAST:.*]] = arith.subi %arg0
  // AUTO: arith.subi %[[LAST]]
  gpu.func @growing(%m: index, %h: index, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    tile.grid (%i, %j) in (%m, %h) {
      %end = arith.addi %i, %c1 : index
      scf.for %t = %c0 to %end step %c1 {
        memref.store %zero, %out[%t] : memref<?xf32>
      }
    }
    gpu.return
  }

  // Work that falls with it starts with the first ones, which are the longest.
  // AUTO-LABEL: gpu.func @falling
  // AUTO: %[[ID:.*]] = gpu.block_id x
  // AUTO: arith.remui %[[ID]], %arg1
  // AUTO: %[[FIRST:.*]] = arith.divui %[[ID]], %arg1
  // AUTO-NOT: arith.subi
  // AUTO: %[[ROW:.*]] = arith.muli %[[FIRST]], %c128
  // AUTO: scf.for
  gpu.func @falling(%m: index, %h: index, %n: index, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    tile.grid (%i, %j) in (%m, %h) {
      %row = arith.muli %i, %c128 : index
      %first = arith.floordivsi %row, %c64 : index
      %start = arith.maxsi %first, %c0 : index
      scf.for %t = %start to %n step %c1 {
        memref.store %zero, %out[%t] : memref<?xf32>
      }
    }
    gpu.return
  }

  // So it does where another loop is around it, as long as a quotient that
  // nobody may move: of what never changes.
  // AUTO-LABEL: gpu.func @falling_within
  // AUTO: %[[ID:.*]] = gpu.block_id x
  // AUTO: arith.remui %[[ID]], %arg1
  // AUTO: %[[FIRST:.*]] = arith.divui %[[ID]], %arg1
  // AUTO-NOT: arith.subi
  // AUTO: scf.for
  gpu.func @falling_within(%m: index, %h: index, %n: index, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %group = arith.divui %n, %h : index
    tile.grid (%i, %j) in (%m, %h) {
      scf.for %u = %c0 to %group step %c1 {
        scf.for %t = %i to %n step %c1 {
          memref.store %zero, %out[%t] : memref<?xf32>
        }
      }
    }
    gpu.return
  }

  // So it does within each of several sequences that lie one behind the other:
  // the last tile of all is one of the shortest.
  // AUTO-LABEL: gpu.func @falling_in_sequences
  // AUTO: %[[ID:.*]] = gpu.block_id x
  // AUTO: arith.remui %[[ID]], %arg1
  // AUTO: %[[FIRST:.*]] = arith.divui %[[ID]], %arg1
  // AUTO-NOT: arith.subi %{{.*}}, %[[FIRST]]
  // AUTO: %[[LEAST:.*]] = arith.muli %[[FIRST]], %c64
  // AUTO: tile.search %arg3 from %c1 to %arg2 below %[[LEAST]]
  gpu.func @falling_in_sequences(%m: index, %h: index, %n: index, %starts: memref<?xi32>, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    tile.grid (%i, %j) in (%m, %h) {
      %least = arith.muli %i, %c64 : index
      %sequence = tile.search %starts from %c1 to %n below %least step %c64 most 4095 : memref<?xi32>
      %start32 = tile.scalar_load %starts[%sequence] : memref<?xi32>
      %start = arith.index_cast %start32 : i32 to index
      %end = arith.addi %start, %n : index
      %first = arith.subi %i, %start : index
      scf.for %t = %first to %end step %c1 {
        memref.store %zero, %out[%t] : memref<?xf32>
      }
    }
    gpu.return
  }

  // What moves at both ends does not say where it is longest: backwards.
  // AUTO-LABEL: gpu.func @moving
  // AUTO: %[[LAST:.*]] = arith.subi %arg0
  // AUTO: arith.subi %[[LAST]]
  gpu.func @moving(%m: index, %h: index, %n: index, %out: memref<?xf32>) kernel {
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    tile.grid (%i, %j) in (%m, %h) {
      %last = arith.addi %i, %n : index
      %end = arith.minsi %last, %m : index
      scf.for %t = %i to %end step %c1 {
        memref.store %zero, %out[%t] : memref<?xf32>
      }
    }
    gpu.return
  }

  // Equal work runs in the order of rows; one index needs no decoding.
  // AUTO-LABEL: gpu.func @equal
  // AUTO-NOT: arith.subi
  // AUTO: gpu.return
  gpu.func @equal(%m: index, %n: index, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    tile.grid (%i) in (%m) {
      scf.for %t = %c0 to %n step %c1 {
        memref.store %zero, %out[%i] : memref<?xf32>
      }
    }
    gpu.return
  }

  // ROWS-LABEL: gpu.func @no_grid
  // ROWS-NEXT: gpu.return
  gpu.func @no_grid() kernel {
    gpu.return
  }
}
