// RUN: fa3-opt %s -tile-insert-rings -split-input-file -verify-diagnostics

!a = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  gpu.func @while(%a: !a, %y: tensor<64x32xf16>, %go: i1, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    scf.while : () -> () {
      scf.condition(%go)
    } do {
      // expected-error @below {{lies inside 'scf.while', through which rings cannot be threaded}}
      %x = tile.load %a[%c0, %c0] {tile.role = "load"} : !a -> tensor<64x32xf16>
      %r = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
      tile.store %r, %c[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
      scf.yield
    }
    gpu.return
  }
}

// -----

!a = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  gpu.func @grid(%a: !a, %y: tensor<64x32xf16>, %n: index, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    tile.grid (%i) in (%n) {
      // expected-error @below {{lies inside 'tile.grid', through which rings cannot be threaded}}
      %x = tile.load %a[%i, %c0] {tile.role = "load"} : !a -> tensor<64x32xf16>
      %r = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
      tile.store %r, %c[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}

// -----

!a = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  gpu.func @role(%a: !a, %c: !a) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @below {{has the load role, which loads left and right operands of products, or tiles for element code, only}}
    %x = tile.load %a[%c0, %c0] {tile.role = "load"} : !a -> tensor<64x32xf16>
    // expected-note @below {{it is used here}}
    tile.store %x, %c[%c0, %c0] : tensor<64x32xf16>, !a
    gpu.return
  }
}

// -----

!a = memref<?x?xf8E4M3FN, strided<[?, 1]>>
gpu.module @m {
  gpu.func @relabeled_limit(%a: !a, %q: tensor<64x32xf8E4M3FN>, %n: index, %zero: tensor<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @below {{with limit has rows that are relabeled, which no copy does}}
    %x = tile.load %a[%c0, %c0] limit %n {tile.role = "load"} : !a -> tensor<64x32xf8E4M3FN>
    %y = tile.relabel %x dim 0 bits [1, 0] {tile.role = "math"} : tensor<64x32xf8E4M3FN> -> tensor<64x32xf8E4M3FN>
    %s = tile.dot %q, %y, %zero lhs mk rhs nk {tile.role = "math"} : tensor<64x32xf8E4M3FN>, tensor<64x32xf8E4M3FN> -> tensor<64x64xf32>
    gpu.return
  }
}

// -----

!a = memref<?x?x?xf8E4M3FN, strided<[?, ?, 1]>>
gpu.module @m {
  gpu.func @relabeled_fold(%a: !a, %q: tensor<64x32xf8E4M3FN>, %zero: tensor<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @below {{with fold has rows that are relabeled, which no copy does}}
    %x = tile.load %a[%c0, %c0, %c0] fold 4 {tile.role = "load"} : !a -> tensor<64x32xf8E4M3FN>
    %y = tile.relabel %x dim 0 bits [1, 0] {tile.role = "math"} : tensor<64x32xf8E4M3FN> -> tensor<64x32xf8E4M3FN>
    %s = tile.dot %q, %y, %zero lhs mk rhs nk {tile.role = "math"} : tensor<64x32xf8E4M3FN>, tensor<64x32xf8E4M3FN> -> tensor<64x64xf32>
    gpu.return
  }
}

// -----

!a = memref<?x?xf8E4M3FN, strided<[?, 1]>>
gpu.module @m {
  gpu.func @relabeled_pieces(%a: !a, %q: tensor<64x32xf8E4M3FN>, %zero: tensor<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @below {{with pieces has rows that are relabeled, which no copy does}}
    %x = tile.load %a pieces 4 (%n) {
      tile.yield %n, %c0 : index, index
    } {tile.role = "load"} : !a -> tensor<64x32xf8E4M3FN>
    %y = tile.relabel %x dim 0 bits [1, 0] {tile.role = "math"} : tensor<64x32xf8E4M3FN> -> tensor<64x32xf8E4M3FN>
    %s = tile.dot %q, %y, %zero lhs mk rhs nk {tile.role = "math"} : tensor<64x32xf8E4M3FN>, tensor<64x32xf8E4M3FN> -> tensor<64x64xf32>
    gpu.return
  }
}
