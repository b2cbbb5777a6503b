// RUN: fa3-opt %s -tile-map-grid -split-input-file -verify-diagnostics
// RUN: not fa3-opt %s -tile-map-grid=mode=cluster -o %t.none 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not fa3-opt %s -tile-map-grid=order=columns -o %t.none 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not fa3-opt %s -tile-map-grid=l2-bytes=-1 -o %t.none 2>&1 | FileCheck %s --check-prefix=CACHE
// RUN: not fa3-opt %s -tile-map-grid=section-rounds=-1 -o %t.none 2>&1 | FileCheck %s --check-prefix=SECTIONS
// RUN: not fa3-opt %s -tile-map-grid=loads=all -o %t.none 2>&1 | FileCheck %s --check-prefix=LOADS
// RUN: not fa3-opt %s -tile-map-grid=order=pairs -o %t.none 2>&1 | FileCheck %s --check-prefix=PAIRS
// RUN: not ls %t.none

// MODE: for the --mode option: expects {{.*}}, got 'cluster'
// PAIRS: for the --order option: expects 'auto', 'rows', 'longest-first' or 'list', got 'pairs'
// ORDER: for the --order option: expects {{.*}}, got 'columns'
// CACHE: for the --l2-bytes option: expects a number from 0 on, got -1
// SECTIONS: for the --section-rounds option: expects a number from 0 to 1048576, got -1
// LOADS: for the --loads option: expects {{.*}}, got 'all'

func.func @host(%n: memref<1xindex>) {
  tile.launch @m::@loaded args(%n : memref<1xindex>)
  return
}
gpu.module @m {
  gpu.func @loaded(%n: memref<1xindex>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @below {{is part of a grid bound, which must be index arithmetic on kernel arguments}}
    %k = memref.load %n[%c0] : memref<1xindex>
    tile.grid (%i) in (%k) {
    }
    gpu.return
  }
}

// -----

gpu.module @m2 {
  // expected-error @below {{expects one 'tile.grid' in a kernel}}
  gpu.func @two(%n: index) kernel {
    tile.grid (%i) in (%n) {
    }
    tile.grid (%i) in (%n) {
    }
    gpu.return
  }
}

// -----

gpu.module @m3 {
  gpu.func @line(%n: index) kernel {
    tile.grid (%i) in (%n) {
    }
    gpu.return
  }
}

// -----

gpu.module @m4 {
  gpu.func @loads(%m: index, %n: index, %a: memref<?x?x64xf16>) kernel {
    %c0 = arith.constant 0 : index
    tile.grid (%i, %j) in (%m, %n) {
      %x = tile.load %a[%j, %i, %c0] : memref<?x?x64xf16> -> tensor<64x64xf16>
      %y = arith.negf %x : tensor<64x64xf16>
      tile.store %y, %a[%j, %i, %c0] : tensor<64x64xf16>, memref<?x?x64xf16>
    }
    gpu.return
  }
}

// -----

// CTAs start in the order of the first index.
gpu.module @m5 {
  gpu.func @ordered(%m: index, %n: index, %a: memref<?x64xf32>, %p: memref<?x2xi32>) kernel {
    %c0 = arith.constant 0 : index
    tile.grid (%i, %j) in (%m, %n) {
      %x = arith.constant dense<1.0> : tensor<64x64xf32>
      // expected-error @below {{expects the first index of the grid as the number of a tile, the last index of its progress}}
      %t = tile.ordered %a by %p[%j] at %c0 : memref<?x64xf32>, memref<?x2xi32>
      tile.store %x, %t[%i, %c0] add : tensor<64x64xf32>, memref<?x64xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m6 {
  gpu.func @ended(%m: index, %n: index, %p: memref<?x2xi32>) kernel {
    tile.grid (%i, %j) in (%m, %n) {
      // expected-error @below {{expects the first index of the grid as the number of a tile, the last index of its progress}}
      tile.end_ordered %p[%j] : memref<?x2xi32>
    }
    gpu.return
  }
}
