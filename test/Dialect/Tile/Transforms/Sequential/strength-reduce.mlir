// RUN: fa3-opt %s -tile-strength-reduce | FileCheck %s
// RUN: %stages %fa3_src/examples/alibi_bias.mlir --pass tile-strength-reduce --dims b=1,h=2,hk=1,sq=40,sk=70 --run=--scalar=strength=0.5

gpu.module @m {
  // Rows and columns are converted apart; with known extents the sum is exact.
  // CHECK-LABEL: gpu.func @exact
  // CHECK: tile.grid (%[[M:.*]], %{{.*}}) in
  // CHECK: %[[SUM:.*]] = arith.subi %{{.*}}, %{{.*}} : tensor<64xindex>
  // CHECK: %[[INT:.*]] = arith.index_cast %[[SUM]] : tensor<64xindex> to tensor<64xi32>
  // CHECK: %[[ROW:.*]] = arith.sitofp %[[INT]] : tensor<64xi32> to tensor<64xf32>
  // CHECK: %[[ROWS:.*]] = tile.broadcast %[[ROW]] dim 1
  // CHECK: %[[COLUMN:.*]] = arith.sitofp %{{.*}} : tensor<32xi32> to tensor<32xf32>
  // CHECK: %[[COLUMNS:.*]] = tile.broadcast %[[COLUMN]] dim 0
  // CHECK: %[[D:.*]] = arith.addf %[[ROWS]], %[[COLUMNS]] fastmath<reassoc>
  // CHECK: math.absf %[[D]]
  gpu.func @exact(%c: memref<?x?xf32>) kernel {
    %c64 = arith.constant 64 : index
    %c32 = arith.constant 32 : index
    %c100 = arith.constant 100 : index
    tile.grid (%m, %n) in (%c100, %c100) {
      %i0 = arith.muli %m, %c64 : index
      %j0 = arith.muli %n, %c32 : index
      %i = tile.coord dim 0 offset %i0 : tensor<64x32xindex>
      %j = tile.coord dim 1 offset %j0 : tensor<64x32xindex>
      %d = arith.subi %j, %i : tensor<64x32xindex>
      %int = arith.index_cast %d : tensor<64x32xindex> to tensor<64x32xi32>
      %number = arith.sitofp %int : tensor<64x32xi32> to tensor<64x32xf32>
      %far = math.absf %number : tensor<64x32xf32>
      tile.store %far, %c[%i0, %j0] : tensor<64x32xf32>, memref<?x?xf32>
    }
    gpu.return
  }

  // Nothing is known about the size, and who uses it allows no other order.
  // CHECK-LABEL: gpu.func @unknown
  // CHECK: arith.sitofp %{{.*}} : tensor<64x32xi32> to tensor<64x32xf32>
  // CHECK: gpu.return
  gpu.func @unknown(%c: memref<?x?xf32>, %j0: index, %slope: f32) kernel {
    %j = tile.coord dim 1 offset %j0 : tensor<64x32xindex>
    %int = arith.index_cast %j : tensor<64x32xindex> to tensor<64x32xi32>
    %number = arith.sitofp %int : tensor<64x32xi32> to tensor<64x32xf32>
    %slopes = tensor.splat %slope : tensor<64x32xf32>
    %r = arith.mulf %number, %slopes fastmath<contract> : tensor<64x32xf32>
    tile.store %r, %c[%j0, %j0] : tensor<64x32xf32>, memref<?x?xf32>
    gpu.return
  }

  // Users that may be reassociated.
  // CHECK-LABEL: gpu.func @flagged
  // CHECK-NOT: arith.sitofp {{.*}} : tensor<64x32xi32>
  // CHECK: arith.subf %{{.*}}, %{{.*}} fastmath<reassoc> : tensor<64x32xf32>
  gpu.func @flagged(%c: memref<?x?xf32>, %j0: index, %slope: f32) kernel {
    %j = tile.coord dim 1 offset %j0 : tensor<64x32xindex>
    %i = tile.coord dim 0 offset %j0 : tensor<64x32xindex>
    %d = arith.subi %i, %j : tensor<64x32xindex>
    %int = arith.index_cast %d : tensor<64x32xindex> to tensor<64x32xi32>
    %number = arith.sitofp %int : tensor<64x32xi32> to tensor<64x32xf32>
    %far = math.absf %number : tensor<64x32xf32>
    %slopes = tensor.splat %slope : tensor<64x32xf32>
    %r = arith.mulf %far, %slopes fastmath<reassoc> : tensor<64x32xf32>
    tile.store %r, %c[%j0, %j0] : tensor<64x32xf32>, memref<?x?xf32>
    gpu.return
  }

  // The select takes |j - i| where j <= i only: there it is -(j - i). What is
  // used without the mask, or under one that says less, keeps its sign.
  // CHECK-LABEL: gpu.func @sign
  // CHECK: arith.negf
  // CHECK-NOT: arith.negf
  // CHECK: math.absf
  // CHECK: math.absf
  // CHECK-NOT: math.absf
  // CHECK: gpu.return
  gpu.func @sign(%c: memref<?x?xf32>, %i0: index, %j0: index, %s: tensor<64x32xf32>) kernel {
    %low = arith.constant dense<0xFF800000> : tensor<64x32xf32>
    %one = arith.constant dense<1> : tensor<64x32xindex>
    %j = tile.coord dim 1 offset %j0 : tensor<64x32xindex>
    %i = tile.coord dim 0 offset %i0 : tensor<64x32xindex>
    %next = arith.addi %i, %one : tensor<64x32xindex>
    %d = arith.subi %j, %i : tensor<64x32xindex>
    %int = arith.index_cast %d : tensor<64x32xindex> to tensor<64x32xi32>
    %number = arith.sitofp %int : tensor<64x32xi32> to tensor<64x32xf32>
    %keep = arith.cmpi sle, %j, %i : tensor<64x32xindex>
    %more = arith.cmpi sle, %j, %next : tensor<64x32xindex>
    %far = math.absf %number : tensor<64x32xf32>
    %s1 = arith.subf %s, %far : tensor<64x32xf32>
    %r = arith.select %keep, %s1, %low : tensor<64x32xi1>, tensor<64x32xf32>
    tile.store %r, %c[%i0, %j0] : tensor<64x32xf32>, memref<?x?xf32>
    %far2 = math.absf %number : tensor<64x32xf32>
    %s2 = arith.mulf %s, %far2 : tensor<64x32xf32>
    %r2 = arith.select %more, %s2, %low : tensor<64x32xi1>, tensor<64x32xf32>
    tile.store %r2, %c[%i0, %j0] : tensor<64x32xf32>, memref<?x?xf32>
    %far3 = math.absf %number : tensor<64x32xf32>
    tile.store %far3, %c[%i0, %j0] : tensor<64x32xf32>, memref<?x?xf32>
    gpu.return
  }

  // One multiplication by the product of the factors, if both allow it.
  // CHECK-LABEL: gpu.func @factors
  // CHECK: %[[AB:.*]] = arith.mulf %{{.*}}, %arg1 fastmath<reassoc> : f32
  // CHECK: %[[SPLAT:.*]] = tensor.splat %[[AB]]
  // CHECK: %[[X:.*]] = arith.mulf %arg2, %[[SPLAT]] fastmath<reassoc,contract>
  // CHECK: tile.store %[[X]]
  // CHECK: %[[Y:.*]] = arith.mulf %arg2, %{{.*}} : tensor<64x32xf32>
  // CHECK: arith.mulf %[[Y]]
  gpu.func @factors(%c: memref<?x?xf32>, %b: f32, %s: tensor<64x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %a = arith.constant dense<0.5> : tensor<64x32xf32>
    %bs = tensor.splat %b : tensor<64x32xf32>
    %x = arith.mulf %s, %a fastmath<reassoc> : tensor<64x32xf32>
    %r = arith.mulf %x, %bs fastmath<reassoc,contract> : tensor<64x32xf32>
    tile.store %r, %c[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
    %y = arith.mulf %s, %a : tensor<64x32xf32>
    %r2 = arith.mulf %y, %bs fastmath<reassoc> : tensor<64x32xf32>
    tile.store %r2, %c[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
    gpu.return
  }

  // A number per row is added to the maximum and to the addend of the product,
  // not to elements; what is left is a product per column.
  // CHECK-LABEL: gpu.func @row_term
  // CHECK-SAME: %[[S:.*]]: tensor<64x32xf32>, %[[KEEP:.*]]: tensor<64x32xi1>, %[[R:.*]]: tensor<64xf32>, %[[C:.*]]: tensor<32xf32>, %[[SLOPE:.*]]: f32, %[[M:.*]]: tensor<64xf32>
  // CHECK: %[[SLOPES:.*]] = tensor.splat %[[SLOPE]] : tensor<32xf32>
  // CHECK: %[[LINE:.*]] = arith.mulf %[[C]], %[[SLOPES]] fastmath<reassoc> : tensor<32xf32>
  // CHECK: %[[COLUMNS:.*]] = tile.broadcast %[[LINE]] dim 0
  // CHECK: %[[ROWS:.*]] = arith.mulf %[[R]], %{{.*}} fastmath<reassoc> : tensor<64xf32>
  // CHECK: %[[REST:.*]] = arith.subf %[[S]], %[[COLUMNS]] fastmath<reassoc>
  // CHECK: %[[LESS:.*]] = arith.negf %[[ROWS]] : tensor<64xf32>
  // CHECK: %[[MASKED:.*]] = arith.select %[[KEEP]], %[[REST]], %{{.*}}
  // CHECK-DAG: %[[MAX:.*]] = tile.reduce max %[[MASKED]] dim 1
  // CHECK-DAG: arith.addf %[[MAX]], %[[LESS]] : tensor<64xf32>
  // CHECK-DAG: %[[ADDEND:.*]] = math.fma %[[LESS]], %{{.*}}, %[[M]] fastmath<reassoc> : tensor<64xf32>
  // CHECK-DAG: %[[ADDENDS:.*]] = tile.broadcast %[[ADDEND]] dim 1
  // CHECK: math.fma %[[MASKED]], %{{.*}}, %[[ADDENDS]] fastmath<reassoc> : tensor<64x32xf32>
  gpu.func @row_term(%s: tensor<64x32xf32>, %keep: tensor<64x32xi1>, %r: tensor<64xf32>, %c: tensor<32xf32>, %slope: f32, %m: tensor<64xf32>, %maxima: memref<?xf32>, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %low = arith.constant dense<0xFF800000> : tensor<64x32xf32>
    %scale = arith.constant dense<1.5> : tensor<64x32xf32>
    %slopes = tensor.splat %slope : tensor<64x32xf32>
    %rows = tile.broadcast %r dim 1 : tensor<64xf32> -> tensor<64x32xf32>
    %columns = tile.broadcast %c dim 0 : tensor<32xf32> -> tensor<64x32xf32>
    %shifts = tile.broadcast %m dim 1 : tensor<64xf32> -> tensor<64x32xf32>
    %far = arith.addf %rows, %columns fastmath<reassoc> : tensor<64x32xf32>
    %penalty = arith.mulf %far, %slopes fastmath<reassoc> : tensor<64x32xf32>
    %less = arith.subf %s, %penalty fastmath<reassoc> : tensor<64x32xf32>
    %masked = arith.select %keep, %less, %low : tensor<64x32xi1>, tensor<64x32xf32>
    %max = tile.reduce max %masked dim 1 : tensor<64x32xf32> -> tensor<64xf32>
    %e = math.fma %masked, %scale, %shifts fastmath<reassoc> : tensor<64x32xf32>
    tile.store %max, %maxima[%c0] : tensor<64xf32>, memref<?xf32>
    tile.store %e, %out[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
    gpu.return
  }

  // One use that needs the sum, or one without the flag: it stays.
  // CHECK-LABEL: gpu.func @row_term_stays
  // CHECK-COUNT-2: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc> : tensor<64x32xf32>
  gpu.func @row_term_stays(%s: tensor<64x32xf32>, %r: tensor<64xf32>, %maxima: memref<?xf32>, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %scale = arith.constant dense<1.5> : tensor<64x32xf32>
    %rows = tile.broadcast %r dim 1 : tensor<64xf32> -> tensor<64x32xf32>
    %sum = arith.addf %s, %rows fastmath<reassoc> : tensor<64x32xf32>
    %max = tile.reduce max %sum dim 1 : tensor<64x32xf32> -> tensor<64xf32>
    tile.store %max, %maxima[%c0] : tensor<64xf32>, memref<?xf32>
    tile.store %sum, %out[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
    %other = arith.addf %rows, %s fastmath<reassoc> : tensor<64x32xf32>
    %e = math.fma %other, %scale, %rows : tensor<64x32xf32>
    tile.store %e, %out[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
    gpu.return
  }

  // |i - j| <= 7 is a comparison from either side; so is a maximum on the right.
  // CHECK-LABEL: gpu.func @comparisons
  // CHECK-NOT: math.absi
  // CHECK: %[[D:.*]] = arith.subi
  // CHECK: %[[ABOVE:.*]] = arith.cmpi sle, %[[D]], %[[REACH:.*]] : tensor<64x32xindex>
  // CHECK: %[[MINUS:.*]] = arith.constant dense<-7>
  // CHECK: %[[BELOW:.*]] = arith.cmpi sge, %[[D]], %[[MINUS]]
  // CHECK: %[[NEAR:.*]] = arith.andi %[[ABOVE]], %[[BELOW]]
  // CHECK-NOT: arith.maxsi
  // CHECK: arith.cmpi sgt, %[[I:.*]], %[[REACH]]
  // CHECK: arith.cmpi sgt, %[[J:.*]], %[[REACH]]
  // CHECK: arith.ori
  gpu.func @comparisons(%s: tensor<64x32xf32>, %i0: index, %j0: index, %out: memref<?x?xf32>) kernel {
    %reach = arith.constant dense<7> : tensor<64x32xindex>
    %i = tile.coord dim 0 offset %i0 : tensor<64x32xindex>
    %j = tile.coord dim 1 offset %j0 : tensor<64x32xindex>
    %d = arith.subi %i, %j : tensor<64x32xindex>
    %a = math.absi %d : tensor<64x32xindex>
    %near = arith.cmpi sle, %a, %reach : tensor<64x32xindex>
    %m = arith.maxsi %i, %j : tensor<64x32xindex>
    %behind = arith.cmpi slt, %reach, %m : tensor<64x32xindex>
    %keep = arith.andi %near, %behind : tensor<64x32xi1>
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %r = arith.select %keep, %s, %zero : tensor<64x32xi1>, tensor<64x32xf32>
    tile.store %r, %out[%i0, %j0] : tensor<64x32xf32>, memref<?x?xf32>
    gpu.return
  }

  // Another use computes the maximum anyway; equality is not apart.
  // CHECK-LABEL: gpu.func @comparisons_stay
  // CHECK: arith.maxsi
  // CHECK-COUNT-1: arith.cmpi sle
  // CHECK: math.absi
  // CHECK: arith.cmpi eq
  gpu.func @comparisons_stay(%s: tensor<64x32xf32>, %i0: index, %out: memref<?x?xf32>) kernel {
    %reach = arith.constant dense<7> : tensor<64x32xindex>
    %i = tile.coord dim 0 offset %i0 : tensor<64x32xindex>
    %j = tile.coord dim 1 offset %i0 : tensor<64x32xindex>
    %m = arith.maxsi %i, %j : tensor<64x32xindex>
    %near = arith.cmpi sle, %m, %reach : tensor<64x32xindex>
    %int = arith.index_cast %m : tensor<64x32xindex> to tensor<64x32xi32>
    %number = arith.sitofp %int : tensor<64x32xi32> to tensor<64x32xf32>
    %d = arith.subi %i, %j : tensor<64x32xindex>
    %a = math.absi %d : tensor<64x32xindex>
    %exact = arith.cmpi eq, %a, %reach : tensor<64x32xindex>
    %keep = arith.andi %near, %exact : tensor<64x32xi1>
    %r = arith.select %keep, %s, %number : tensor<64x32xi1>, tensor<64x32xf32>
    tile.store %r, %out[%i0, %i0] : tensor<64x32xf32>, memref<?x?xf32>
    gpu.return
  }
}
