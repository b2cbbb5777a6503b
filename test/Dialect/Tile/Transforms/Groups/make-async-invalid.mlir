// RUN: fa3-opt %s -tile-make-async -split-input-file -verify-diagnostics
// RUN: not fa3-opt %S/make-async.mlir -tile-make-async=store=never -o %t.none 2>&1 | FileCheck %s --check-prefix=STORE
// RUN: not fa3-opt %S/make-async.mlir -tile-make-async=smem-budget=-1 -o %t.none 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not ls %t.none

// STORE: for the --store option: expects {{.*}}, got 'never'
// BUDGET: for the --smem-budget option: expects a number from 0 on, got -1

gpu.module @m {
  gpu.func @registers(%q: memref<?x?xf16>, %o: memref<?x?xf32>) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %x = tile.load %q[%c0, %c0] : memref<?x?xf16> -> tensor<64x32xf16>
        // expected-error @below {{expects the right operand of a product in shared memory (a view), or one value throughout; load it by the load role}}
        %d = tile.dot %x, %x, %zero lhs mk rhs nk : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
        tile.store %d, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }
}

// -----

// A ring filled in the group by hand: its writer's slot is no reader's.
!A = tensor<64x32xf16>
gpu.module @m {
  gpu.func @published(%q: memref<?x?xf16>, %o: memref<?x?xf32>) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %r = warp.ring : !warp.ring<1, [!A]>
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %x = tile.load %q[%c0, %c0] : memref<?x?xf16> -> !A
        %w = warp.cursor write %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<1, [!A]>, !warp.cursor<write>
        // expected-error @below {{is read by a product, but its slot is released where the product's completion cannot be carried}}
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
        tile.write %x, %v : !A, !tile.view<!A>
        %d = tile.dot %x, %v, %zero lhs mk rhs nk : !A, !tile.view<!A> -> tensor<64x64xf32>
        warp.publish %s : !warp.slot<write, [!A]>
        tile.store %d, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }
}

// -----

// Both slots are handed back, but one in a branch that the product is not in.
!A = tensor<64x32xf16>
gpu.module @m {
  gpu.func @branch(%o: memref<?x?xf32>, %go: i1) kernel {
    %k = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %c = warp.cursor read %k : !warp.ring<1, [!A]>
        %s, %n = warp.acquire %k[%c] : !warp.ring<1, [!A]>, !warp.cursor<read>
        // expected-error @below {{is read by a product, but its slot is released where the product's completion cannot be carried}}
        %v = tile.view %s[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %d = tile.dot %v, %v, %zero lhs mk rhs nk : !tile.view<!A>, !tile.view<!A> -> tensor<64x64xf32>
        scf.if %go {
          warp.release %s : !warp.slot<read, [!A]>
        } else {
          warp.release %s : !warp.slot<read, [!A]>
        }
        tile.store %d, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }
}

// -----

// Which slot to hand back after the product is decided at run time.
!A = tensor<64x32xf16>
gpu.module @m {
  gpu.func @either(%o: memref<?x?xf32>, %go: i1) kernel {
    %k = warp.ring : !warp.ring<2, [!A]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %c = warp.cursor read %k : !warp.ring<2, [!A]>
        %s, %n = warp.acquire %k[%c] : !warp.ring<2, [!A]>, !warp.cursor<read>
        %t, %m = warp.acquire %k[%n] : !warp.ring<2, [!A]>, !warp.cursor<read>
        %v = tile.view %s[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %w = tile.view %t[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %x = scf.if %go -> !tile.view<!A> {
          scf.yield %v : !tile.view<!A>
        } else {
          scf.yield %w : !tile.view<!A>
        }
        // expected-error @below {{expects a view that 'tile.view' makes in its group}}
        %d = tile.dot %x, %v, %zero lhs mk rhs nk : !tile.view<!A>, !tile.view<!A> -> tensor<64x64xf32>
        warp.release %s : !warp.slot<read, [!A]>
        warp.release %t : !warp.slot<read, [!A]>
        tile.store %d, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }
}
