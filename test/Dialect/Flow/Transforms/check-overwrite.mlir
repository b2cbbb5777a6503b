// RUN: fa3-opt %s -pass-pipeline='builtin.module(gpu.module(flow-check))' -split-input-file -verify-diagnostics

// A slot held for reading is written again when the copy out of it is awaited.
!A = tensor<64x32xf16>
!o = memref<?x?xf16>
gpu.module @m {
  gpu.func @awaited(%o: !o) kernel {
    %r = flow.ring : !flow.ring<1, [!A]>
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c = flow.cursor write %r : !flow.ring<1, [!A]>
        %s, %n = flow.acquire %r[%c] : !flow.ring<1, [!A]>, !flow.cursor<write>
        flow.publish %s : !flow.slot<write, [!A]>
      }
      flow.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : !A
        %c = flow.cursor read %r : !flow.ring<1, [!A]>
        %s, %n = flow.acquire %r[%c] : !flow.ring<1, [!A]>, !flow.cursor<read>
        %v = tile.view %s[%c0, %c0] : !flow.slot<read, [!A]> -> !tile.view<!A>
        tile.write %x, %v : !A, !tile.view<!A>
        %d = tile.store.async %v, %o[%c0, %c0] : !tile.view<!A>, !o
        flow.wait %d
        tile.write %x, %v : !A, !tile.view<!A>
        %e = tile.store.async %v, %o[%c0, %c0] : !tile.view<!A>, !o
        flow.release %s after %e : !flow.slot<read, [!A]>
      }
    }
    gpu.return
  }
}

// -----

!A = tensor<64x32xf16>
!o = memref<?x?xf16>
gpu.module @m {
  gpu.func @in_flight(%o: !o) kernel {
    %r = flow.ring : !flow.ring<1, [!A]>
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c = flow.cursor write %r : !flow.ring<1, [!A]>
        %s, %n = flow.acquire %r[%c] : !flow.ring<1, [!A]>, !flow.cursor<write>
        flow.publish %s : !flow.slot<write, [!A]>
      }
      flow.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : !A
        %c = flow.cursor read %r : !flow.ring<1, [!A]>
        %s, %n = flow.acquire %r[%c] : !flow.ring<1, [!A]>, !flow.cursor<read>
        %v = tile.view %s[%c0, %c0] : !flow.slot<read, [!A]> -> !tile.view<!A>
        tile.write %x, %v : !A, !tile.view<!A>
        // expected-note @below {{nothing has waited for this access}}
        %d = tile.store.async %v, %o[%c0, %c0] : !tile.view<!A>, !o
        // expected-error @below {{'tile.write' op overwrites an entry that an asynchronous operation may still read}}
        tile.write %x, %v : !A, !tile.view<!A>
        %e = tile.store.async %v, %o[%c0, %c0] : !tile.view<!A>, !o
        flow.release %s after %d, %e : !flow.slot<read, [!A]>
      }
    }
    gpu.return
  }
}
