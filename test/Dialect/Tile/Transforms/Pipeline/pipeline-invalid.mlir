// RUN: fa3-opt %s -tile-pipeline -split-input-file -verify-diagnostics

// An operation comes a stage before what it depends on.
gpu.module @m {
  gpu.func @backwards(%a: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{the pipeline expander refused the schedule of this loop}}
    scf.for %t = %c0 to %n step %c1 {
      %x = memref.load %a[%t] {tile.slotting = #tile.slotting<stage = 1, order = 0>} : memref<?xf32>
      // expected-error @below {{operation scheduled before its operands}}
      memref.store %x, %a[%t] {tile.slotting = #tile.slotting<stage = 0, order = 1>} : memref<?xf32>
    }
    gpu.return
  }
}

// -----

// A schedule from which an edit took a place.
gpu.module @m {
  gpu.func @incomplete(%a: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-note @below {{the loop}}
    scf.for %t = %c0 to %n step %c1 {
      // expected-error @below {{'memref.load' op has no 'tile.slotting', which others of its loop have}}
      %x = memref.load %a[%t] : memref<?xf32>
      memref.store %x, %a[%t] {tile.slotting = #tile.slotting<stage = 1, order = 1>} : memref<?xf32>
    }
    gpu.return
  }
}
