// RUN: fa3-opt %s -pass-pipeline='builtin.module(gpu.module(warp-check))' -split-input-file -verify-diagnostics

// Rings and views that the checker cannot follow to where they are made.
!A = tensor<64x32xf16>
gpu.module @m {
  gpu.func @argument(%r: !warp.ring<1, [!A]>) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        // expected-error @below {{expects a ring that is the result of a 'warp.ring'}}
        %c = warp.cursor read %r : !warp.ring<1, [!A]>
      }
    }
    gpu.return
  }
}
// -----
!A = tensor<64x32xf16>
gpu.module @m {
  gpu.func @either(%p: memref<?x?xf16>, %o: memref<?x?xf16>, %go: i1) kernel {
    %k = warp.ring : !warp.ring<2, [!A]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c = warp.cursor write %k : !warp.ring<2, [!A]>
        %s, %n = warp.acquire %k[%c] : !warp.ring<2, [!A]>, !warp.cursor<write>
        warp.publish %s : !warp.slot<write, [!A]>
        %t, %m = warp.acquire %k[%n] : !warp.ring<2, [!A]>, !warp.cursor<write>
        warp.publish %t : !warp.slot<write, [!A]>
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
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
        // expected-error @below {{accesses a view whose slot cannot be followed}}
        %d = tile.read %x : !tile.view<!A> -> !A
        warp.release %s : !warp.slot<read, [!A]>
        warp.release %t : !warp.slot<read, [!A]>
        tile.store %d, %o[%c0, %c0] : !A, memref<?x?xf16>
      }
    }
    gpu.return
  }
}
