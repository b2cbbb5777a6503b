// RUN: fa3-opt %s -pass-pipeline='builtin.module(gpu.module(flow-check))' -split-input-file -verify-diagnostics

// Rings and views that the checker cannot follow to where they are made.
!A = tensor<64x32xf16>
gpu.module @m {
  gpu.func @argument(%r: !flow.ring<1, [!A]>) kernel {
    flow.specialize {
      flow.group @math warps 4 (%g) {
        // expected-error @below {{expects a ring that is the result of a 'flow.ring'}}
        %c = flow.cursor read %r : !flow.ring<1, [!A]>
      }
    }
    gpu.return
  }
}
// -----
!A = tensor<64x32xf16>
gpu.module @m {
  gpu.func @either(%p: memref<?x?xf16>, %o: memref<?x?xf16>, %go: i1) kernel {
    %k = flow.ring : !flow.ring<2, [!A]>
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c = flow.cursor write %k : !flow.ring<2, [!A]>
        %s, %n = flow.acquire %k[%c] : !flow.ring<2, [!A]>, !flow.cursor<write>
        flow.publish %s : !flow.slot<write, [!A]>
        %t, %m = flow.acquire %k[%n] : !flow.ring<2, [!A]>, !flow.cursor<write>
        flow.publish %t : !flow.slot<write, [!A]>
      }
      flow.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c = flow.cursor read %k : !flow.ring<2, [!A]>
        %s, %n = flow.acquire %k[%c] : !flow.ring<2, [!A]>, !flow.cursor<read>
        %t, %m = flow.acquire %k[%n] : !flow.ring<2, [!A]>, !flow.cursor<read>
        %v = tile.view %s[%c0, %c0] : !flow.slot<read, [!A]> -> !tile.view<!A>
        %w = tile.view %t[%c0, %c0] : !flow.slot<read, [!A]> -> !tile.view<!A>
        %x = scf.if %go -> !tile.view<!A> {
          scf.yield %v : !tile.view<!A>
        } else {
          scf.yield %w : !tile.view<!A>
        }
        // expected-error @below {{accesses a view whose slot cannot be followed}}
        %d = tile.read %x : !tile.view<!A> -> !A
        flow.release %s : !flow.slot<read, [!A]>
        flow.release %t : !flow.slot<read, [!A]>
        tile.store %d, %o[%c0, %c0] : !A, memref<?x?xf16>
      }
    }
    gpu.return
  }
}
