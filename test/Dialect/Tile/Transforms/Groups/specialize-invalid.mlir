// RUN: fa3-opt %s -tile-specialize -split-input-file -verify-diagnostics
// RUN: not fa3-opt %S/specialize.mlir -tile-specialize=replicas=-1 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not fa3-opt %S/specialize.mlir -tile-specialize=replicas=3 2>&1 | FileCheck %s --check-prefix=THREE

// COUNT: for the --replicas option: expects a number from 0 on, got -1
// THREE: specialize.mlir:{{[0-9]+}}:{{[0-9]+}}: error: expects the replicas of the group (3) to divide the rows of a tile (128)

gpu.module @m {
  // expected-error @below {{expects a kernel without 'tile.grid' and 'warp.specialize'}}
  gpu.func @grid(%n: index) kernel {
    tile.grid (%i) in (%n) {
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{expects a kernel without 'tile.grid' and 'warp.specialize'}}
  gpu.func @again() kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @odd_rows(%a: memref<?x?xf16>, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<96x64xf32>
    %x = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<96x16xf16>
    %y = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
    // expected-error @below {{expects rows that are a multiple of 64, got 96}}
    %s = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<96x16xf16>, tensor<64x16xf16> -> tensor<96x64xf32>
    tile.store %s, %c[%c0, %c0] : tensor<96x64xf32>, memref<?x?xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @different_rows(%a: memref<?x?xf16>, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x24xf32>
    %zero2 = arith.constant dense<0.0> : tensor<128x64xf32>
    %x = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
    %y = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<128x16xf16>
    %z = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<24x16xf16>
    // expected-error @below {{cannot be divided among 2 replicas: expects rows that are a multiple of 128, or columns that are one of 16, got 'tensor<64x24xf32>'}}
    %s = tile.dot %x, %z, %zero lhs mk rhs nk : tensor<64x16xf16>, tensor<24x16xf16> -> tensor<64x24xf32>
    %r = tile.dot %y, %x, %zero2 lhs mk rhs nk : tensor<128x16xf16>, tensor<64x16xf16> -> tensor<128x64xf32>
    tile.store %s, %c[%c0, %c0] : tensor<64x24xf32>, memref<?x?xf32>
    tile.store %r, %c[%c0, %c0] : tensor<128x64xf32>, memref<?x?xf32>
    gpu.return
  }
}

// -----

// The result of one product is the right operand of the next: the replicas
// would have to exchange rows.
gpu.module @m {
  gpu.func @right_operand(%a: memref<?x?xf16>, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %x = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<128x16xf16>
    %z = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<128x128xf16>
    %s = tile.dot %x, %x, %zero lhs mk rhs nk : tensor<128x16xf16>, tensor<128x16xf16> -> tensor<128x128xf32>
    %p = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xf16>
    // expected-error @below {{would be divided along a dimension other than the rows of its result}}
    %r = tile.dot %z, %p, %zero lhs mk rhs nk : tensor<128x128xf16>, tensor<128x128xf16> -> tensor<128x128xf32>
    tile.store %r, %c[%c0, %c0] : tensor<128x128xf32>, memref<?x?xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @column_sum(%a: memref<?x?xf16>, %c: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %x = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<128x16xf16>
    %y = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
    %s = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<128x16xf16>, tensor<64x16xf16> -> tensor<128x64xf32>
    // expected-error @below {{sums over the dimension that is divided among replicas}}
    %sum = tile.reduce add %s dim 0 : tensor<128x64xf32> -> tensor<64xf32>
    tile.store %sum, %c[%c0] : tensor<64xf32>, memref<?xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_splat(%a: memref<?x?xf16>, %c: memref<?x?xf16>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %x = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<128x16xf16>
    %y = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
    %s = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<128x16xf16>, tensor<64x16xf16> -> tensor<128x64xf32>
    %m = tile.reduce max %s dim 1 : tensor<128x64xf32> -> tensor<128xf32>
    // expected-error @below {{cannot be divided among replicas: it is no splat}}
    %some = arith.constant dense<"0xAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"> : tensor<128xi1>
    %w = arith.select %some, %m, %m : tensor<128xi1>, tensor<128xf32>
    %wide = tile.broadcast %w dim 1 : tensor<128xf32> -> tensor<128x64xf32>
    %o = arith.truncf %wide : tensor<128x64xf32> to tensor<128x64xf16>
    tile.store %o, %c[%c0, %c0] : tensor<128x64xf16>, memref<?x?xf16>
    gpu.return
  }
}

// -----

// A tile and its transpose, by way of a row statistic broadcast to columns.
gpu.module @m {
  gpu.func @two_ways(%a: memref<?x?xf16>, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %x = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<128x16xf16>
    // expected-error @below {{tile would be divided among replicas along dimensions 0 and 1}}
    %s = tile.dot %x, %x, %zero lhs mk rhs nk : tensor<128x16xf16>, tensor<128x16xf16> -> tensor<128x128xf32>
    %m = tile.reduce max %s dim 1 : tensor<128x128xf32> -> tensor<128xf32>
    %columns = tile.broadcast %m dim 0 : tensor<128xf32> -> tensor<128x128xf32>
    %d = arith.subf %s, %columns : tensor<128x128xf32>
    tile.store %d, %c[%c0, %c0] : tensor<128x128xf32>, memref<?x?xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @unknown(%a: memref<?x?xf16>, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %x = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<128x16xf16>
    %y = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
    %s = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<128x16xf16>, tensor<64x16xf16> -> tensor<128x64xf32>
    // expected-error @below {{cannot be divided among the replicas of a group}}
    %e = tensor.extract %s[%c0, %c0] : tensor<128x64xf32>
    memref.store %e, %c[%c0, %c0] : memref<?x?xf32>
    gpu.return
  }
}

// -----

// A replica has 64 rows.
gpu.module @m {
  gpu.func @fold(%a: memref<?x?xf16>, %c: memref<?x?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %x = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<128x16xf16>
    %y = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
    %s = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<128x16xf16>, tensor<64x16xf16> -> tensor<128x64xf32>
    // expected-error @below {{expects fold (128) to divide the rows of a replica (64)}}
    tile.store %s, %c[%c0, %c0, %c0] fold 128 : tensor<128x64xf32>, memref<?x?x?xf32>
    gpu.return
  }
}

// -----

// A replica has some of the pieces.
gpu.module @m {
  gpu.func @pieces(%a: memref<?x?xf16>, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    // expected-error @below {{in pieces has rows that are divided among replicas, expects a whole tile for each}}
    %x = tile.load %a pieces 4 (%n) {
      tile.yield %n, %c0 : index, index
    } : memref<?x?xf16> -> tensor<128x16xf16>
    %y = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
    %s = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<128x16xf16>, tensor<64x16xf16> -> tensor<128x64xf32>
    tile.store %s, %c[%c0, %c0] : tensor<128x64xf32>, memref<?x?xf32>
    gpu.return
  }
}

// -----

// Control flow that a slice cannot take apart: a copy in every group would
// store twice. Without effects it is repeated like any computation.
gpu.module @m {
  gpu.func @while(%c: memref<?xindex>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %log = scf.while (%i = %n) : (index) -> index {
      %go = arith.cmpi ugt, %i, %c1 : index
      scf.condition(%go) %i : index
    } do {
    ^bb0(%i: index):
      %half = arith.shrui %i, %c1 : index
      scf.yield %half : index
    }
    // expected-error @below {{cannot be divided among groups: expects operations with effects in 'scf.for' and 'scf.if' only}}
    scf.while (%i = %log) : (index) -> () {
      %go = arith.cmpi ult, %i, %n : index
      scf.condition(%go)
    } do {
      memref.store %n, %c[%c0] : memref<?xindex>
      %next = arith.addi %log, %c1 : index
      scf.yield %next : index
    }
    gpu.return
  }
}

// -----

// Flags are for all groups of a CTA, so for one tile.
gpu.module @m {
  gpu.func @flags(%f: memref<?xi32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @+1 {{is for all groups: expects to stand outside of control flow, in a kernel with one CTA per tile}}
      tile.clear_flag %f[%i] : memref<?xi32>
    }
    gpu.return
  }
}
