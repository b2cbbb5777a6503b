// Rows that are cut into full tiles and shorter ones that come last.
// RUN: fa3-opt %s "-tile-map-grid=mode=cta heights=auto sms=4" -canonicalize -cse | FileCheck %s
// RUN: fa3-opt %s "-tile-map-grid=mode=cta heights=even sms=4" -canonicalize -cse | FileCheck %s --check-prefix=EVEN
// RUN: fa3-opt %s "-tile-map-grid=mode=cta heights=auto sms=21" -canonicalize -cse | FileCheck %s --check-prefix=LAST
// RUN: fa3-opt %s "-tile-map-grid=mode=static heights=auto sms=4" | FileCheck %s --check-prefix=STATIC
// RUN: not fa3-opt %s -tile-map-grid=heights=odd -o %t.none 2>&1 | FileCheck %s --check-prefix=HEIGHTS
// RUN: not fa3-opt %s -tile-map-grid=sms=0 -o %t.none 2>&1 | FileCheck %s --check-prefix=PROCESSORS
// HEIGHTS: for the --heights option: expects 'even' or 'auto', got 'odd'
// PROCESSORS: for the --sms option: expects a number from 1 on, got 0

// 7 tiles of 192 rows for each of 3 heads, on 4 SMs: 21 tiles are 6
// rounds. 4 tiles of 192 and 4 of 128 rows for each head: 12 full ones are 3
// rounds, 12 shorter ones 3 more of 0.77.
// CHECK-LABEL: func.func @host
// CHECK: tile.launch @m::@rows blocks %c24
// EVEN-LABEL: func.func @host
// EVEN: tile.launch @m::@rows blocks %c21
// LAST-LABEL: func.func @host
// LAST: tile.launch @m::@rows blocks %c21
// STATIC-LABEL: func.func @host
// STATIC: %[[BLOCKS:.*]] = arith.minui
// STATIC: tile.launch @m::@rows blocks %[[BLOCKS]]
func.func @host(%o: memref<3x1280x64xf32>) {
  tile.launch @m::@rows args(%o : memref<3x1280x64xf32>)
  tile.launch @m::@other args(%o : memref<3x1280x64xf32>)
  return
}

gpu.module @m {
  // CHECK-LABEL: gpu.func @rows
  // CHECK: %[[ID:.*]] = gpu.block_id x
  // CHECK-DAG: %[[M0:.*]] = arith.remui %[[ID]], %c4
  // CHECK-DAG: %[[H0:.*]] = arith.divui %[[ID]], %c4
  // CHECK-DAG: %[[REST:.*]] = arith.subi %[[ID]], %c12
  // CHECK-DAG: %[[M1:.*]] = arith.remui %[[REST]], %c4
  // CHECK-DAG: %[[H1:.*]] = arith.divui %[[REST]], %c4
  // CHECK-DAG: %[[M1S:.*]] = arith.addi %[[M1]], %c4
  // CHECK-DAG: %[[FULL:.*]] = arith.cmpi ult, %[[ID]], %c12
  // CHECK-DAG: %[[M:.*]] = arith.select %[[FULL]], %[[M0]], %[[M1S]]
  // CHECK-DAG: %[[H:.*]] = arith.select %[[FULL]], %[[H0]], %[[H1]]
  // The first row: 192 m - 64 max(m - 4, 0); the end is that of m + 1.
  // CHECK-DAG: %[[EVENLY:.*]] = arith.muli %[[M]], %c192
  // CHECK-DAG: %[[OVER:.*]] = arith.subi %[[M]], %c4
  // CHECK-DAG: %[[SHORT:.*]] = arith.maxsi %[[OVER]], %c0
  // CHECK-DAG: %[[LESS:.*]] = arith.muli %[[SHORT]], %c64
  // CHECK-DAG: %[[FIRST:.*]] = arith.subi %[[EVENLY]], %[[LESS]]
  // CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %c1280
  // CHECK: tile.store %{{.*}}, %arg0[%[[H]], %[[FIRST]], %c0] below %[[END]]

  // EVEN-LABEL: gpu.func @rows
  // EVEN: %[[FIRST:.*]] = arith.muli %{{.*}}, %c192
  // EVEN: %[[END:.*]] = arith.muli %{{.*}}, %c192
  // EVEN: tile.store {{.*}}, %[[FIRST]], %{{.*}}] below %[[END]]

  // One round is enough; only the last tile ends early.
  // LAST-LABEL: gpu.func @rows
  // LAST: %[[FIRST:.*]] = arith.muli %{{.*}}, %c192
  // LAST: %[[END:.*]] = arith.muli %{{.*}}, %c192
  // LAST: %[[LAST:.*]] = arith.minsi %[[END]], %c1280
  // LAST: tile.store {{.*}}, %[[FIRST]], %{{.*}}] below %[[LAST]]

  // STATIC-LABEL: gpu.func @rows
  // STATIC: scf.for %[[ID:.*]] = %block_id_x to
  // STATIC: arith.cmpi ult, %[[ID]]
  gpu.func @rows(%o: memref<3x1280x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c7 = arith.constant 7 : index
    %c192 = arith.constant 192 : index
    %zero = arith.constant dense<0.0> : tensor<192x64xf32>
    %lhs = arith.constant dense<1.0> : tensor<192x16xf16>
    %rhs = arith.constant dense<1.0> : tensor<64x16xf16>
    %x = tile.dot %lhs, %rhs, %zero lhs mk rhs nk : tensor<192x16xf16>, tensor<64x16xf16> -> tensor<192x64xf32>
    tile.grid (%m, %h) in (%c7, %c3) {
      %first = arith.muli %m, %c192 : index
      %next = arith.addi %m, %c1 : index
      %end = arith.muli %next, %c192 : index
      tile.store %x, %o[%h, %first, %c0] below %end : tensor<192x64xf32>, memref<3x1280x64xf32>
    }
    gpu.return
  }

  // Rows of the longest array; and one store without an end keeps tiles even.
  // CHECK-LABEL: gpu.func @two
  // CHECK: arith.minsi %{{.*}}, %c1344
  // CHECK-LABEL: gpu.func @open
  // CHECK-NOT: arith.minsi
  // CHECK: gpu.return
  gpu.func @two(%o: memref<3x1280x64xf32>, %p: memref<3x1300xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c7 = arith.constant 7 : index
    %c192 = arith.constant 192 : index
    %zero = arith.constant dense<0.0> : tensor<192x64xf32>
    %lhs = arith.constant dense<1.0> : tensor<192x16xf16>
    %rhs = arith.constant dense<1.0> : tensor<64x16xf16>
    %x = tile.dot %lhs, %rhs, %zero lhs mk rhs nk : tensor<192x16xf16>, tensor<64x16xf16> -> tensor<192x64xf32>
    %y = arith.constant dense<1.0> : tensor<192xf32>
    tile.grid (%m, %h) in (%c7, %c3) {
      %first = arith.muli %m, %c192 : index
      %next = arith.addi %m, %c1 : index
      %end = arith.muli %next, %c192 : index
      tile.store %x, %o[%h, %first, %c0] below %end : tensor<192x64xf32>, memref<3x1280x64xf32>
      tile.store %y, %p[%h, %first] below %end : tensor<192xf32>, memref<3x1300xf32>
    }
    gpu.return
  }
  gpu.func @open(%o: memref<3x1280x64xf32>, %p: memref<3x1300xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c7 = arith.constant 7 : index
    %c192 = arith.constant 192 : index
    %zero = arith.constant dense<0.0> : tensor<192x64xf32>
    %lhs = arith.constant dense<1.0> : tensor<192x16xf16>
    %rhs = arith.constant dense<1.0> : tensor<64x16xf16>
    %x = tile.dot %lhs, %rhs, %zero lhs mk rhs nk : tensor<192x16xf16>, tensor<64x16xf16> -> tensor<192x64xf32>
    %y = arith.constant dense<1.0> : tensor<192xf32>
    tile.grid (%m, %h) in (%c7, %c3) {
      %first = arith.muli %m, %c192 : index
      %next = arith.addi %m, %c1 : index
      %end = arith.muli %next, %c192 : index
      tile.store %x, %o[%h, %first, %c0] below %end : tensor<192x64xf32>, memref<3x1280x64xf32>
      tile.store %y, %p[%h, %first] : tensor<192xf32>, memref<3x1300xf32>
    }
    gpu.return
  }

  // The index serves for something else, too.
  // CHECK-LABEL: gpu.func @other
  // CHECK: arith.remui %{{.*}}, %c7
  // CHECK: arith.minsi %{{.*}}, %c1280
  // CHECK: gpu.return
  gpu.func @other(%o: memref<3x1280x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c7 = arith.constant 7 : index
    %c192 = arith.constant 192 : index
    %zero = arith.constant dense<0.0> : tensor<192x64xf32>
    %lhs = arith.constant dense<1.0> : tensor<192x16xf16>
    %rhs = arith.constant dense<1.0> : tensor<64x16xf16>
    %x = tile.dot %lhs, %rhs, %zero lhs mk rhs nk : tensor<192x16xf16>, tensor<64x16xf16> -> tensor<192x64xf32>
    tile.grid (%m, %h) in (%c7, %c3) {
      %first = arith.muli %m, %c192 : index
      %next = arith.addi %m, %c1 : index
      %end = arith.muli %next, %c192 : index
      tile.store %x, %o[%m, %first, %c0] below %end : tensor<192x64xf32>, memref<3x1280x64xf32>
    }
    gpu.return
  }
}
