// RUN: fa3-opt %s -tile-shrink-bounds | FileCheck %s
// RUN: fa3-opt %s -tile-shrink-bounds -tile-check-registers -o /dev/null

gpu.module @m {
  // What a bound depends on is computed in the loop, but does not change there:
  // it moves in front of the loop, and the bound is found.
  // CHECK-LABEL: @scalars_in_the_loop
  // CHECK-SAME: %[[N:[a-z0-9]+]]: index, %[[LENGTHS:[a-z0-9]+]]: memref
  gpu.func @scalars_in_the_loop(%n: index, %lengths: memref<?xi32>, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    // CHECK: %[[LENGTH:.*]] = tile.scalar_load %[[LENGTHS]]
    // CHECK: %[[KEYS:.*]] = arith.index_cast %[[LENGTH]]
    // CHECK: %[[LAST:.*]] = arith.addi %[[KEYS]]
    // CHECK: arith.floordivsi %[[LAST]]
    // CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[N]]
    // CHECK: scf.for %{{.*}} to %[[END]] step
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
      %j0 = arith.muli %t, %c32 : index
      %j = tile.coord dim 0 offset %j0 : tensor<32xindex>
      %length = tile.scalar_load %lengths[%c0] : memref<?xi32>
      %keys = arith.index_cast %length : i32 to index
      %splat = tensor.splat %keys : tensor<32xindex>
      %keep = arith.cmpi slt, %j, %splat : tensor<32xindex>
      %live = tile.any_possible %keep : tensor<32xi1>
      %next = scf.if %live -> f32 {
        %x = arith.addf %s, %one : f32
        scf.yield %x : f32
      } else {
        scf.yield %s : f32
      }
      scf.yield %next : f32
    }
    memref.store %r, %out[%c0] : memref<?xf32>
    gpu.return
  }

  // A value that changes in the loop, and not as a multiple of its number, is
  // no bound.
  // CHECK-LABEL: @changes_in_the_loop
  // CHECK-SAME: %[[N:[a-z0-9]+]]: index
  gpu.func @changes_in_the_loop(%n: index, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    // CHECK: scf.for %{{.*}} = %{{.*}} to %[[N]] step
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
      %j0 = arith.muli %t, %c32 : index
      %j = tile.coord dim 0 offset %j0 : tensor<32xindex>
      %limit = arith.remui %t, %c3 : index
      %splat = tensor.splat %limit : tensor<32xindex>
      %keep = arith.cmpi slt, %j, %splat : tensor<32xindex>
      %live = tile.any_possible %keep : tensor<32xi1>
      %next = scf.if %live -> f32 {
        %x = arith.addf %s, %one : f32
        scf.yield %x : f32
      } else {
        scf.yield %s : f32
      }
      scf.yield %next : f32
    }
    memref.store %r, %out[%c0] : memref<?xf32>
    gpu.return
  }

  // Numbers that index arithmetic of 32 bits cannot hold, and forms that grow
  // exponentially, are not read.
  // CHECK-LABEL: @large
  // CHECK-SAME: %[[N:[a-z0-9]+]]: index
  gpu.func @large(%n: index, %i0: index, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %huge = arith.constant dense<9223372036854775807> : tensor<32xindex>
    // CHECK: scf.for %{{.*}} = %{{.*}} to %[[N]] step
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
      %j0 = arith.muli %t, %c32 : index
      %j = tile.coord dim 0 offset %j0 : tensor<32xindex>
      %past = arith.addi %j, %huge : tensor<32xindex>
      %splat = tensor.splat %i0 : tensor<32xindex>
      %b0 = arith.cmpi slt, %past, %splat : tensor<32xindex>
      %x0 = arith.addi %j, %splat : tensor<32xindex>
      %x1 = arith.addi %x0, %x0 : tensor<32xindex>
      %x2 = arith.subi %x1, %x1 : tensor<32xindex>
      %x3 = arith.addi %x2, %x2 : tensor<32xindex>
      %x4 = arith.subi %x3, %x3 : tensor<32xindex>
      %x5 = arith.addi %x4, %x4 : tensor<32xindex>
      %x6 = arith.subi %x5, %x5 : tensor<32xindex>
      %x7 = arith.addi %x6, %x6 : tensor<32xindex>
      %x8 = arith.subi %x7, %x7 : tensor<32xindex>
      %x9 = arith.addi %x8, %x8 : tensor<32xindex>
      %x10 = arith.subi %x9, %x9 : tensor<32xindex>
      %x11 = arith.addi %x10, %x10 : tensor<32xindex>
      %x12 = arith.subi %x11, %x11 : tensor<32xindex>
      %x13 = arith.addi %x12, %x12 : tensor<32xindex>
      %x14 = arith.subi %x13, %x13 : tensor<32xindex>
      %x15 = arith.addi %x14, %x14 : tensor<32xindex>
      %x16 = arith.subi %x15, %x15 : tensor<32xindex>
      %x17 = arith.addi %x16, %x16 : tensor<32xindex>
      %x18 = arith.subi %x17, %x17 : tensor<32xindex>
      %x19 = arith.addi %x18, %x18 : tensor<32xindex>
      %x20 = arith.subi %x19, %x19 : tensor<32xindex>
      %x21 = arith.addi %x20, %x20 : tensor<32xindex>
      %x22 = arith.subi %x21, %x21 : tensor<32xindex>
      %x23 = arith.addi %x22, %x22 : tensor<32xindex>
      %x24 = arith.subi %x23, %x23 : tensor<32xindex>
      %x25 = arith.addi %x24, %x24 : tensor<32xindex>
      %x26 = arith.subi %x25, %x25 : tensor<32xindex>
      %x27 = arith.addi %x26, %x26 : tensor<32xindex>
      %x28 = arith.subi %x27, %x27 : tensor<32xindex>
      %x29 = arith.addi %x28, %x28 : tensor<32xindex>
      %x30 = arith.subi %x29, %x29 : tensor<32xindex>
      %x31 = arith.addi %x30, %x30 : tensor<32xindex>
      %x32 = arith.subi %x31, %x31 : tensor<32xindex>
      %x33 = arith.addi %x32, %x32 : tensor<32xindex>
      %x34 = arith.subi %x33, %x33 : tensor<32xindex>
      %x35 = arith.addi %x34, %x34 : tensor<32xindex>
      %x36 = arith.subi %x35, %x35 : tensor<32xindex>
      %x37 = arith.addi %x36, %x36 : tensor<32xindex>
      %x38 = arith.subi %x37, %x37 : tensor<32xindex>
      %x39 = arith.addi %x38, %x38 : tensor<32xindex>
      %x40 = arith.subi %x39, %x39 : tensor<32xindex>
      %x41 = arith.addi %x40, %x40 : tensor<32xindex>
      %x42 = arith.subi %x41, %x41 : tensor<32xindex>
      %x43 = arith.addi %x42, %x42 : tensor<32xindex>
      %x44 = arith.subi %x43, %x43 : tensor<32xindex>
      %b1 = arith.cmpi slt, %x44, %splat : tensor<32xindex>
      %keep = arith.andi %b0, %b1 : tensor<32xi1>
      %live = tile.any_possible %keep : tensor<32xi1>
      %next = scf.if %live -> f32 {
        %x = arith.addf %s, %one : f32
        scf.yield %x : f32
      } else {
        scf.yield %s : f32
      }
      scf.yield %next : f32
    }
    memref.store %r, %out[%c0] : memref<?xf32>
    gpu.return
  }
}
