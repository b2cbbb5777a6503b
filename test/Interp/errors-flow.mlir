// What the warp and tile dialects forbid is an error at run time, where the
// verifiers cannot see it.
// RUN: split-file %s %t
// RUN: not fa3-run --cpu %t/deadlock.mlir 2>&1 | FileCheck %s --check-prefix=DEADLOCK
// RUN: not fa3-run --cpu %t/deadlock.mlir --schedule-seed 5 2>&1 | FileCheck %s --check-prefix=DEADLOCK
// RUN: not fa3-run --cpu %t/early.mlir --completion eager 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: not fa3-run --cpu %t/early.mlir --completion latest 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: not fa3-run --cpu %t/unfilled.mlir 2>&1 | FileCheck %s --check-prefix=UNFILLED
// RUN: not fa3-run --cpu %t/window.mlir 2>&1 | FileCheck %s --check-prefix=WINDOW
// RUN: not fa3-run --cpu %t/held.mlir 2>&1 | FileCheck %s --check-prefix=HELD
// RUN: not fa3-run --cpu %t/inplace.mlir 2>&1 | FileCheck %s --check-prefix=INPLACE
// RUN: not fa3-run --cpu %t/leftover.mlir 2>&1 | FileCheck %s --check-prefix=LEFTOVER
// RUN: not fa3-run --cpu %t/fork.mlir 2>&1 | FileCheck %s --check-prefix=FORK
// RUN: not fa3-run --cpu %t/parts.mlir 2>&1 | FileCheck %s --check-prefix=PARTS

// The reader wants two entries of a ring of one.
// DEADLOCK: deadlock.mlir:[[#]]:{{.*}} error: deadlock: all groups wait for each other
// DEADLOCK-DAG: deadlock.mlir:12:{{.*}} note: @write waits here: to write entry 1 of the ring of {{.*}}deadlock.mlir:3, entry 0 is not released by @read
// DEADLOCK-DAG: deadlock.mlir:18:{{.*}} note: @read waits here: to read entry 1 of the ring of {{.*}}deadlock.mlir:3, not published by @write
//--- deadlock.mlir
gpu.module @m {
  gpu.func @k() kernel {
    %ring = warp.ring : !warp.ring<1, [tensor<8x8xf16>]>
    warp.specialize {
      warp.group @write warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<8x8xf16>
        %c = warp.cursor write %ring : !warp.ring<1, [tensor<8x8xf16>]>
        %s0, %n0 = warp.acquire %ring[%c] : !warp.ring<1, [tensor<8x8xf16>]>, !warp.cursor<write>
        %v = tile.view %s0[%c0, %c0] : !warp.slot<write, [tensor<8x8xf16>]> -> !tile.view<tensor<8x8xf16>>
        warp.publish %s0 : !warp.slot<write, [tensor<8x8xf16>]>
        %s1, %n1 = warp.acquire %ring[%n0] : !warp.ring<1, [tensor<8x8xf16>]>, !warp.cursor<write>
        warp.publish %s1 : !warp.slot<write, [tensor<8x8xf16>]>
      }
      warp.group @read warps 4 (%g) {
        %c = warp.cursor read %ring : !warp.ring<1, [tensor<8x8xf16>]>
        %s0, %n0 = warp.acquire %ring[%c] : !warp.ring<1, [tensor<8x8xf16>]>, !warp.cursor<read>
        %s1, %n1 = warp.acquire %ring[%n0] : !warp.ring<1, [tensor<8x8xf16>]>, !warp.cursor<read>
        warp.release %s0 : !warp.slot<read, [tensor<8x8xf16>]>
        warp.release %s1 : !warp.slot<read, [tensor<8x8xf16>]>
      }
    }
    gpu.return
  }
}
func.func @f() {
  tile.launch @m::@k args()
  return
}

// The release is in another block than the product, where the verifier does not
// look.
// EARLY: early.mlir:[[#]]:{{.*}} error: 'warp.release' of entry 0 while an operation in flight may still read it
// EARLY: warp.release %s : !warp.slot
// EARLY: note: while running block 0 of the kernel, @read replica 0
// EARLY: early.mlir:[[#]]:{{.*}} note: issued here, and not waited for
//--- early.mlir
!ring = !warp.ring<1, [tensor<64x16xf16>]>
gpu.module @m {
  gpu.func @k() kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @write warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x16xf16>
        %c = warp.cursor write %ring : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [tensor<64x16xf16>]> -> !tile.view<tensor<64x16xf16>>
        tile.write %x, %v : tensor<64x16xf16>, !tile.view<tensor<64x16xf16>>
        warp.publish %s : !warp.slot<write, [tensor<64x16xf16>]>
      }
      warp.group @read warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %c = warp.cursor read %ring : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<read>
        %v = tile.view %s[%c0, %c0] : !warp.slot<read, [tensor<64x16xf16>]> -> !tile.view<tensor<64x16xf16>>
        %p, %d = tile.dot.async %v, %v, %zero lhs mk rhs nk : !tile.view<tensor<64x16xf16>>, !tile.view<tensor<64x16xf16>>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
        %true = arith.constant true
        scf.if %true {
          warp.release %s : !warp.slot<read, [tensor<64x16xf16>]>
        } else {
          warp.release %s after %d : !warp.slot<read, [tensor<64x16xf16>]>
        }
        %r = tile.await %p : !tile.pending<tensor<64x64xf32>>
      }
    }
    gpu.return
  }
}
func.func @f() {
  tile.launch @m::@k args()
  return
}

// UNFILLED: error: 'tile.read' reads element (0, 8) of entry 0, which was never filled
//--- unfilled.mlir
!ring = !warp.ring<1, [tensor<64x16xf16>]>
gpu.module @m {
  gpu.func @k() kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @write warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x8xf16>
        %c = warp.cursor write %ring : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [tensor<64x16xf16>]> -> !tile.view<tensor<64x8xf16>>
        tile.write %x, %v : tensor<64x8xf16>, !tile.view<tensor<64x8xf16>>
        warp.publish %s : !warp.slot<write, [tensor<64x16xf16>]>
      }
      warp.group @read warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c = warp.cursor read %ring : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<read>
        %v = tile.view %s[%c0, %c0] : !warp.slot<read, [tensor<64x16xf16>]> -> !tile.view<tensor<64x16xf16>>
        %x = tile.read %v : !tile.view<tensor<64x16xf16>> -> tensor<64x16xf16>
        warp.release %s : !warp.slot<read, [tensor<64x16xf16>]>
      }
    }
    gpu.return
  }
}
func.func @f() {
  tile.launch @m::@k args()
  return
}

// WINDOW: error: 'tile.view' of 32x16 elements at (40, 0) reaches out of the entry of 64x16
//--- window.mlir
!ring = !warp.ring<1, [tensor<64x16xf16>]>
gpu.module @m {
  gpu.func @k() kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @write warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x16xf16>
        %c = warp.cursor write %ring : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [tensor<64x16xf16>]> -> !tile.view<tensor<64x16xf16>>
        tile.write %x, %v : tensor<64x16xf16>, !tile.view<tensor<64x16xf16>>
        warp.publish %s : !warp.slot<write, [tensor<64x16xf16>]>
      }
      warp.group @read warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c = warp.cursor read %ring : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<read>
        %c40 = arith.constant 40 : index
        %v = tile.view %s[%c40, %c0] : !warp.slot<read, [tensor<64x16xf16>]> -> !tile.view<tensor<32x16xf16>>
        %x = tile.read %v : !tile.view<tensor<32x16xf16>> -> tensor<32x16xf16>
        warp.release %s : !warp.slot<read, [tensor<64x16xf16>]>
      }
    }
    gpu.return
  }
}
func.func @f() {
  tile.launch @m::@k args()
  return
}

// HELD: error: 'tile.read' uses a view of entry 0, which is no longer held
//--- held.mlir
!ring = !warp.ring<1, [tensor<64x16xf16>]>
gpu.module @m {
  gpu.func @k() kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @write warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x16xf16>
        %c = warp.cursor write %ring : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [tensor<64x16xf16>]> -> !tile.view<tensor<64x16xf16>>
        tile.write %x, %v : tensor<64x16xf16>, !tile.view<tensor<64x16xf16>>
        warp.publish %s : !warp.slot<write, [tensor<64x16xf16>]>
      }
      warp.group @read warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c = warp.cursor read %ring : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<read>
        %v = tile.view %s[%c0, %c0] : !warp.slot<read, [tensor<64x16xf16>]> -> !tile.view<tensor<64x16xf16>>
        %true = arith.constant true
        scf.if %true {
          warp.release %s : !warp.slot<read, [tensor<64x16xf16>]>
        } else {
          warp.release %s : !warp.slot<read, [tensor<64x16xf16>]>
        }
        %x = tile.read %v : !tile.view<tensor<64x16xf16>> -> tensor<64x16xf16>
      }
    }
    gpu.return
  }
}
func.func @f() {
  tile.launch @m::@k args()
  return
}

// INPLACE: error: 'tile.read' reads element (0, 0) of entry 0, which another replica has overwritten
// INPLACE: note: while running block 0 of the kernel, @read replica 1
//--- inplace.mlir
!ring = !warp.ring<1, [tensor<64x16xf16>]>
gpu.module @m {
  gpu.func @k() kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @write warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x16xf16>
        %c = warp.cursor write %ring : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [tensor<64x16xf16>]> -> !tile.view<tensor<64x16xf16>>
        tile.write %x, %v : tensor<64x16xf16>, !tile.view<tensor<64x16xf16>>
        warp.publish %s : !warp.slot<write, [tensor<64x16xf16>]>
      }
      warp.group @read warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c = warp.cursor read %ring : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<read>
        %v = tile.view %s[%c0, %c0] : !warp.slot<read, [tensor<64x16xf16>]> -> !tile.view<tensor<64x16xf16>>
        %x = tile.read %v : !tile.view<tensor<64x16xf16>> -> tensor<64x16xf16>
        tile.write %x, %v : tensor<64x16xf16>, !tile.view<tensor<64x16xf16>>
        warp.release %s : !warp.slot<read, [tensor<64x16xf16>]>
      }
    }
    gpu.return
  }
}
func.func @f() {
  tile.launch @m::@k args()
  return
}

// LEFTOVER: leftover.mlir:4:{{.*}} error: holds 1 published entries that are not released when the groups end
//--- leftover.mlir
!ring = !warp.ring<1, [tensor<64x16xf16>]>
gpu.module @m {
  gpu.func @k() kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @write warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x16xf16>
        %c = warp.cursor write %ring : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [tensor<64x16xf16>]> -> !tile.view<tensor<64x16xf16>>
        tile.write %x, %v : tensor<64x16xf16>, !tile.view<tensor<64x16xf16>>
        warp.publish %s : !warp.slot<write, [tensor<64x16xf16>]>
      }
      warp.group @read warps 4 (%g) {
        %c = warp.cursor read %ring : !ring
      }
    }
    gpu.return
  }
}
func.func @f() {
  tile.launch @m::@k args()
  return
}

// FORK: error: 'warp.cursor' op is the second cursor of its group on this side of the ring
//--- fork.mlir
!ring = !warp.ring<1, [tensor<64x16xf16>]>
gpu.module @m {
  gpu.func @k() kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @write warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x16xf16>
        %c = warp.cursor write %ring : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [tensor<64x16xf16>]> -> !tile.view<tensor<64x16xf16>>
        tile.write %x, %v : tensor<64x16xf16>, !tile.view<tensor<64x16xf16>>
        warp.publish %s : !warp.slot<write, [tensor<64x16xf16>]>
      }
      warp.group @read warps 4 (%g) {
        %c = warp.cursor read %ring : !ring
        %d = warp.cursor read %ring : !ring
      }
    }
    gpu.return
  }
}
func.func @f() {
  tile.launch @m::@k args()
  return
}

// PARTS: error: 'tile.write' of part 1 writes what part 0 has written
//--- parts.mlir
!ring = !warp.ring<1, [tensor<64x16xf16>], parts = 2>
gpu.module @m {
  gpu.func @k() kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @write0 warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x16xf16>
        %c = warp.cursor write %ring part 0 : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [tensor<64x16xf16>]> -> !tile.view<tensor<64x16xf16>>
        tile.write %x, %v : tensor<64x16xf16>, !tile.view<tensor<64x16xf16>>
        warp.publish %s : !warp.slot<write, [tensor<64x16xf16>]>
      }
      warp.group @write1 warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x16xf16>
        %c = warp.cursor write %ring part 1 : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [tensor<64x16xf16>]> -> !tile.view<tensor<64x16xf16>>
        tile.write %x, %v : tensor<64x16xf16>, !tile.view<tensor<64x16xf16>>
        warp.publish %s : !warp.slot<write, [tensor<64x16xf16>]>
      }
      warp.group @read warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c = warp.cursor read %ring : !ring
        %s, %n = warp.acquire %ring[%c] : !ring, !warp.cursor<read>
        warp.release %s : !warp.slot<read, [tensor<64x16xf16>]>
      }
    }
    gpu.return
  }
}
func.func @f() {
  tile.launch @m::@k args()
  return
}
