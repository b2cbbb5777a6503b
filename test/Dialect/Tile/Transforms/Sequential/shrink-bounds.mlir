// RUN: fa3-opt %s -tile-shrink-bounds | FileCheck %s
// RUN: %stages-window --pass tile-shrink-bounds

!s = tensor<64x32xindex>
!p = tensor<64x32xi1>
gpu.module @m {
  // Columns up to the row plus an offset: the end of the range is cut off where
  // even the last row sees nothing. The guard stays.
  // CHECK-LABEL: @below_diagonal
  // CHECK-SAME: %[[N:[a-z0-9]+]]: index, %[[I0:[a-z0-9]+]]: index
  gpu.func @below_diagonal(%n: index, %i0: index, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %i = tile.coord dim 0 offset %i0 : !s
    // CHECK: %[[C0:.*]] = arith.constant 0 : index
    // CHECK: %[[C63:.*]] = arith.constant 63 : index
    // CHECK: %[[LAST:.*]] = arith.addi %[[I0]], %[[C63]]
    // CHECK: %[[BLOCK:.*]] = arith.floordivsi %[[LAST]], %{{.*}}
    // CHECK: %[[PAST:.*]] = arith.addi %[[BLOCK]], %{{.*}}
    // CHECK: %[[ATLEAST:.*]] = arith.maxsi %[[PAST]], %[[C0]]
    // CHECK: %[[END:.*]] = arith.minsi %[[ATLEAST]], %[[N]]
    // CHECK: scf.for %{{.*}} = %[[C0]] to %[[END]] step
    // CHECK: %[[LIVE:.*]] = tile.any_possible
    // CHECK: scf.if %[[LIVE]]
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
      %j0 = arith.muli %t, %c32 : index
      %j = tile.coord dim 1 offset %j0 : !s
      %keep = arith.cmpi sle, %j, %i : !s
      %live = tile.any_possible %keep : !p
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

  // Both ends at once, and through a conjunction.
  // CHECK-LABEL: @window
  gpu.func @window(%n: index, %i0: index, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %left = arith.constant dense<40> : !s
    // CHECK: %[[SEEN:.*]] = arith.ceildivsi
    // CHECK: arith.maxsi %[[SEEN]]
    // CHECK: %[[FROM:.*]] = arith.minsi
    // CHECK: arith.floordivsi
    // CHECK: arith.maxsi
    // CHECK: %[[TO:.*]] = arith.minsi
    // CHECK: scf.for %{{.*}} = %[[FROM]] to %[[TO]] step
    %i = tile.coord dim 0 offset %i0 : !s
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
      %j0 = arith.muli %t, %c32 : index
      %j = tile.coord dim 1 offset %j0 : !s
      %far = arith.addi %j, %left : !s
      %above = arith.cmpi sge, %far, %i : !s
      %below = arith.cmpi sle, %j, %i : !s
      %keep = arith.andi %above, %below : !p
      %live = tile.any_possible %keep : !p
      %next = scf.if %live -> f32 {
        %x = arith.addf %s, %s : f32
        scf.yield %x : f32
      } else {
        scf.yield %s : f32
      }
      scf.yield %next : f32
    }
    memref.store %r, %out[%c0] : memref<?xf32>
    gpu.return
  }

  // The mask is false everywhere: nothing is left of the range.
  // CHECK-LABEL: @never
  // CHECK-SAME: %[[N:[a-z0-9]+]]: index
  // CHECK: %[[FROM:.*]] = arith.minsi %{{.*}}, %[[N]]
  // CHECK: %[[TO:.*]] = arith.minsi %c0{{.*}}, %[[N]]
  // CHECK: scf.for %{{.*}} = %[[FROM]] to %[[TO]] step
  gpu.func @never(%n: index, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %false = arith.constant dense<false> : !p
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
      %live = tile.any_possible %false : !p
      %next = scf.if %live -> f32 {
        %x = arith.addf %s, %s : f32
        scf.yield %x : f32
      } else {
        scf.yield %s : f32
      }
      scf.yield %next : f32
    }
    memref.store %r, %out[%c0] : memref<?xf32>
    gpu.return
  }

  // Possible up to the given bound or farther in a disjunction: the greater.
  // CHECK-LABEL: @either
  gpu.func @either(%n: index, %i0: index, %p: index, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %i = tile.coord dim 0 offset %i0 : !s
    %prefix = tensor.splat %p : !s
    // CHECK: arith.floordivsi
    // CHECK: %[[A:.*]] = arith.addi
    // CHECK: arith.floordivsi
    // CHECK: %[[B:.*]] = arith.addi
    // CHECK: arith.maxsi %[[B]], %[[A]]
    // CHECK: scf.for
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
      %j0 = arith.muli %t, %c32 : index
      %j = tile.coord dim 1 offset %j0 : !s
      %a = arith.cmpi sle, %j, %i : !s
      %b = arith.cmpi slt, %j, %prefix : !s
      %keep = arith.ori %a, %b : !p
      %live = tile.any_possible %keep : !p
      %next = scf.if %live -> f32 {
        %x = arith.addf %s, %s : f32
        scf.yield %x : f32
      } else {
        scf.yield %s : f32
      }
      scf.yield %next : f32
    }
    memref.store %r, %out[%c0] : memref<?xf32>
    gpu.return
  }

  // Padding says nothing new where the loop ends with the data, and a loop
  // whose iterations do something without the guard keeps its range.
  // CHECK-LABEL: @keeps
  // CHECK-SAME: %[[N:[a-z0-9]+]]: index
  gpu.func @keeps(%n: index, %i0: index, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %i = tile.coord dim 0 offset %i0 : !s
    %steps = arith.ceildivsi %n, %c32 : index
    %end = tensor.splat %n : !s
    // CHECK: %[[STEPS:.*]] = arith.ceildivsi
    // CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[STEPS]] step
    %r = scf.for %t = %c0 to %steps step %c1 iter_args(%s = %zero) -> f32 {
      %j0 = arith.muli %t, %c32 : index
      %j = tile.coord dim 1 offset %j0 : !s
      %keep = arith.cmpi slt, %j, %end : !s
      %live = tile.any_possible %keep : !p
      %next = scf.if %live -> f32 {
        %x = arith.addf %s, %s : f32
        scf.yield %x : f32
      } else {
        scf.yield %s : f32
      }
      scf.yield %next : f32
    }
    memref.store %r, %out[%c0] : memref<?xf32>
    // CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[N]] step
    %r2 = scf.for %t = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
      %j0 = arith.muli %t, %c32 : index
      %j = tile.coord dim 1 offset %j0 : !s
      %keep = arith.cmpi sle, %j, %i : !s
      %live = tile.any_possible %keep : !p
      %next = scf.if %live -> f32 {
        %x = arith.addf %s, %s : f32
        scf.yield %x : f32
      } else {
        scf.yield %zero : f32
      }
      scf.yield %next : f32
    }
    memref.store %r2, %out[%c1] : memref<?xf32>
    // CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[N]] step
    scf.for %t = %c0 to %n step %c1 {
      memref.store %zero, %out[%t] : memref<?xf32>
      %j = tile.coord dim 1 offset %t : !s
      %keep = arith.cmpi sle, %j, %i : !s
      %live = tile.any_possible %keep : !p
      scf.if %live {
        memref.store %r, %out[%t] : memref<?xf32>
      }
    }
    gpu.return
  }

  // The end is an element of an array that does not depend on the iteration:
  // it is loaded in front of the loop. One that does gives no bound.
  // CHECK-LABEL: gpu.func @length
  // CHECK: %[[L:.*]] = tile.scalar_load
  // CHECK: %[[N:.*]] = arith.index_cast %[[L]]
  // CHECK: %[[LAST:.*]] = arith.addi %[[N]], %c-1
  // CHECK: arith.floordivsi %[[LAST]]
  // CHECK: arith.maxsi
  // CHECK: %[[END:.*]] = arith.minsi
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[END]] step
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %arg0 step
  gpu.func @length(%n: index, %b: index, %lengths: memref<?xi32>, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
      %j0 = arith.muli %t, %c32 : index
      %j = tile.coord dim 1 offset %j0 : !s
      %l = tile.scalar_load %lengths[%b] : memref<?xi32>
      %m = arith.index_cast %l : i32 to index
      %end = tensor.splat %m : !s
      %keep = arith.cmpi slt, %j, %end : !s
      %live = tile.any_possible %keep : !p
      %next = scf.if %live -> f32 {
        %x = arith.addf %s, %s : f32
        scf.yield %x : f32
      } else {
        scf.yield %s : f32
      }
      scf.yield %next : f32
    }
    memref.store %r, %out[%c0] : memref<?xf32>
    %r2 = scf.for %t = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
      %j0 = arith.muli %t, %c32 : index
      %j = tile.coord dim 1 offset %j0 : !s
      %l = tile.scalar_load %lengths[%t] : memref<?xi32>
      %m = arith.index_cast %l : i32 to index
      %end = tensor.splat %m : !s
      %keep = arith.cmpi slt, %j, %end : !s
      %live = tile.any_possible %keep : !p
      %next = scf.if %live -> f32 {
        %x = arith.addf %s, %s : f32
        scf.yield %x : f32
      } else {
        scf.yield %s : f32
      }
      scf.yield %next : f32
    }
    memref.store %r2, %out[%c1] : memref<?xf32>
    gpu.return
  }

  // Chunks of 8192: rows and columns are quotients, of which those of the rows
  // are known in front of the loop.
  // CHECK-LABEL: @chunk
  // CHECK-SAME: %[[N:[a-z0-9]+]]: index, %[[I0:[a-z0-9]+]]: index
  // CHECK: %[[LEAST:.*]] = arith.floordivsi %[[I0]], %{{.*}}
  // CHECK: %[[LAST:.*]] = arith.addi %[[I0]], %{{.*}}
  // CHECK: %[[GREATEST:.*]] = arith.floordivsi %[[LAST]], %{{.*}}
  // CHECK: arith.muli %[[LEAST]], %c8192
  // CHECK: %[[FROM:.*]] = arith.minsi
  // CHECK: arith.muli %[[GREATEST]], %c8192
  // CHECK: %[[TO:.*]] = arith.minsi
  // CHECK: scf.for %{{.*}} = %[[FROM]] to %[[TO]] step
  gpu.func @chunk(%n: index, %i0: index, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %size = arith.constant dense<8192> : !s
    %i = tile.coord dim 0 offset %i0 : !s
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
      %j0 = arith.muli %t, %c32 : index
      %j = tile.coord dim 1 offset %j0 : !s
      %row = arith.floordivsi %i, %size : !s
      %column = arith.floordivsi %j, %size : !s
      %keep = arith.cmpi eq, %row, %column : !s
      %live = tile.any_possible %keep : !p
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

  // Pixels of lines of 32, at most 3 lines away; the columns within a line say
  // nothing, nor does a number that the launch divides by.
  // CHECK-LABEL: @pixels
  // CHECK: arith.floordivsi
  // CHECK: %[[FROM:.*]] = arith.minsi
  // CHECK: %[[TO:.*]] = arith.minsi
  // CHECK: scf.for %{{.*}} = %[[FROM]] to %[[TO]] step
  // CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step
  gpu.func @pixels(%n: index, %i0: index, %width: index, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %line = arith.constant dense<32> : !s
    %reach = arith.constant dense<3> : !s
    %lines = tensor.splat %width : !s
    %i = tile.coord dim 0 offset %i0 : !s
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
      %j0 = arith.muli %t, %c32 : index
      %j = tile.coord dim 1 offset %j0 : !s
      %qy = arith.floordivsi %i, %line : !s
      %qx = arith.remsi %i, %line : !s
      %ky = arith.floordivsi %j, %line : !s
      %kx = arith.remsi %j, %line : !s
      %dy = arith.subi %qy, %ky : !s
      %dx = arith.subi %qx, %kx : !s
      %ay = math.absi %dy : !s
      %ax = math.absi %dx : !s
      %far = arith.maxsi %ay, %ax : !s
      %keep = arith.cmpi sle, %far, %reach : !s
      %live = tile.any_possible %keep : !p
      %next = scf.if %live -> f32 {
        %x = arith.addf %s, %one : f32
        scf.yield %x : f32
      } else {
        scf.yield %s : f32
      }
      scf.yield %next : f32
    }
    memref.store %r, %out[%c0] : memref<?xf32>
    %r2 = scf.for %t = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
      %j0 = arith.muli %t, %c32 : index
      %j = tile.coord dim 1 offset %j0 : !s
      %qy = arith.floordivsi %i, %lines : !s
      %ky = arith.floordivsi %j, %lines : !s
      %keep = arith.cmpi eq, %qy, %ky : !s
      %live = tile.any_possible %keep : !p
      %next = scf.if %live -> f32 {
        %x = arith.addf %s, %one : f32
        scf.yield %x : f32
      } else {
        scf.yield %s : f32
      }
      scf.yield %next : f32
    }
    memref.store %r2, %out[%c1] : memref<?xf32>
    gpu.return
  }

  // No attention: rows of a triangular matrix product.
  // CHECK-LABEL: @triangular_gemm
  gpu.func @triangular_gemm(%a: memref<?x?xf16>, %i0: index, %n: index, %c: memref<?x?xf16>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %i = tile.coord dim 0 offset %i0 : !s
    // CHECK: arith.floordivsi
    // CHECK: scf.for
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%sum = %zero) -> tensor<64x64xf32> {
      %j0 = arith.muli %t, %c32 : index
      %j = tile.coord dim 1 offset %j0 : !s
      %keep = arith.cmpi sle, %j, %i : !s
      %live = tile.any_possible %keep : !p
      %next = scf.if %live -> tensor<64x64xf32> {
        %x = tile.load %a[%i0, %j0] : memref<?x?xf16> -> tensor<64x32xf16>
        %y = tile.load %a[%c0, %j0] : memref<?x?xf16> -> tensor<64x32xf16>
        %d = tile.dot %x, %y, %sum lhs mk rhs nk : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
        scf.yield %d : tensor<64x64xf32>
      } else {
        scf.yield %sum : tensor<64x64xf32>
      }
      scf.yield %next : tensor<64x64xf32>
    }
    %out = arith.truncf %r : tensor<64x64xf32> to tensor<64x64xf16>
    tile.store %out, %c[%i0, %c0] : tensor<64x64xf16>, memref<?x?xf16>
    gpu.return
  }
}
