// RUN: fa3-opt %s -pass-pipeline='builtin.module(gpu.module(warp-check))' -split-input-file -verify-diagnostics

// A slot held for reading is written again when the copy out of it is awaited.
!A = tensor<64x32xf16>
!o = memref<?x?xf16>
gpu.module @m {
  gpu.func @awaited(%o: !o) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c = warp.cursor write %r : !warp.ring<1, [!A]>
        %s, %n = warp.acquire %r[%c] : !warp.ring<1, [!A]>, !warp.cursor<write>
        warp.publish %s : !warp.slot<write, [!A]>
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : !A
        %c = warp.cursor read %r : !warp.ring<1, [!A]>
        %s, %n = warp.acquire %r[%c] : !warp.ring<1, [!A]>, !warp.cursor<read>
        %v = tile.view %s[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        tile.write %x, %v : !A, !tile.view<!A>
        %d = tile.store.async %v, %o[%c0, %c0] : !tile.view<!A>, !o
        warp.wait %d
        tile.write %x, %v : !A, !tile.view<!A>
        %e = tile.store.async %v, %o[%c0, %c0] : !tile.view<!A>, !o
        warp.release %s after %e : !warp.slot<read, [!A]>
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
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c = warp.cursor write %r : !warp.ring<1, [!A]>
        %s, %n = warp.acquire %r[%c] : !warp.ring<1, [!A]>, !warp.cursor<write>
        warp.publish %s : !warp.slot<write, [!A]>
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : !A
        %c = warp.cursor read %r : !warp.ring<1, [!A]>
        %s, %n = warp.acquire %r[%c] : !warp.ring<1, [!A]>, !warp.cursor<read>
        %v = tile.view %s[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        tile.write %x, %v : !A, !tile.view<!A>
        // expected-note @below {{nothing has waited for this access}}
        %d = tile.store.async %v, %o[%c0, %c0] : !tile.view<!A>, !o
        // expected-error @below {{'tile.write' op overwrites an entry that an asynchronous operation may still read}}
        tile.write %x, %v : !A, !tile.view<!A>
        %e = tile.store.async %v, %o[%c0, %c0] : !tile.view<!A>, !o
        warp.release %s after %d, %e : !warp.slot<read, [!A]>
      }
    }
    gpu.return
  }
}
