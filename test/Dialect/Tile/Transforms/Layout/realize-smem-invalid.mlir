// RUN: fa3-opt %s -tile-realize-smem -split-input-file -verify-diagnostics

gpu.module @m {
  gpu.func @rows() kernel {
    // expected-error @below {{a ring of 'tensor<60x64xf16>' has no layout in shared memory: expects rank 1, or rows that are a multiple of 8}}
    %r = warp.ring : !warp.ring<1, [tensor<60x64xf16>]>
    gpu.return
  }
}

// -----

!A = tensor<64x64xf16>
gpu.module @m {
  gpu.func @columns(%a: memref<?x?xf16, strided<[1, ?]>>) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %w = warp.cursor write %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<1, [!A]>, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
        // expected-error @below {{expects an array of rank up to 5 whose last dimension is contiguous, got 'memref<?x?xf16, strided<[1, ?]>>'}}
        tile.load.async %a[%c0, %c0], %v : memref<?x?xf16, strided<[1, ?]>>, !tile.view<!A>
        warp.publish %s : !warp.slot<write, [!A]>
      }
    }
    gpu.return
  }
}

// -----

!A = tensor<64x64xf16>
!m = memref<1x1x1x1x?x?xf16>
gpu.module @m {
  gpu.func @store(%p: memref<?x?xf16>, %o: !m) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %r = warp.ring : !warp.ring<1, [!A]>
        %c0 = arith.constant 0 : index
        %w = warp.cursor write %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<1, [!A]>, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
        %x = tile.load %p[%c0, %c0] : memref<?x?xf16> -> !A
        tile.write %x, %v : !A, !tile.view<!A>
        warp.publish %s : !warp.slot<write, [!A]>
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
        %h, %after = warp.acquire %r[%q] : !warp.ring<1, [!A]>, !warp.cursor<read>
        %u = tile.view %h[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        // expected-error @below {{expects an array of rank up to 5 whose last dimension is contiguous}}
        %d = tile.store.async %u, %o[%c0, %c0, %c0, %c0, %c0, %c0] : !tile.view<!A>, !m
        warp.release %h after %d : !warp.slot<read, [!A]>
      }
    }
    gpu.return
  }
}
