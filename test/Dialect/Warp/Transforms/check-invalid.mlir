// RUN: fa3-opt %s -split-input-file -verify-diagnostics --pass-pipeline="builtin.module(gpu.module(warp-check))"

// A bound that depends on tile data.
!ring = !warp.ring<1, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @congruence(%mask: memref<64xi1>, %n: index) kernel {
    %r = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c = warp.cursor write %r : !ring
        %s, %c1 = warp.acquire %r[%c] : !ring, !warp.cursor<write>
        warp.publish %s : !warp.slot<write, [tensor<64x64xf16>]>
      }
      warp.group @math warps 4 (%g) {
        %c = warp.cursor read %r : !ring
        %c0 = arith.constant 0 : index
        %m = tile.load %mask[%c0] : memref<64xi1> -> tensor<64xi1>
        // expected-note @below {{it depends on this value, which is not a pure function of kernel arguments, block and replica}}
        %live = tile.any_possible %m : tensor<64xi1>
        // expected-error @below {{'scf.if' op has a condition that is not the same in every group, yet encloses accesses that join them}}
        scf.if %live {
          %s, %c1 = warp.acquire %r[%c] : !ring, !warp.cursor<read>
          warp.release %s : !warp.slot<read, [tensor<64x64xf16>]>
        }
      }
    }
    gpu.return
  }
}

// -----

!ring = !warp.ring<1, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @control(%n: index) kernel {
    %r = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c = warp.cursor write %r : !ring
        %c0 = arith.constant 0 : index
        // expected-error @below {{'scf.while' op encloses an access that joins groups; only 'scf.for' and 'scf.if' may}}
        %end = scf.while (%w = %c) : (!warp.cursor<write>) -> !warp.cursor<write> {
          %more = arith.cmpi sgt, %n, %c0 : index
          scf.condition(%more) %w : !warp.cursor<write>
        } do {
        ^bb0(%w: !warp.cursor<write>):
          // expected-note @below {{the access is here}}
          %s, %c1 = warp.acquire %r[%w] : !ring, !warp.cursor<write>
          warp.publish %s : !warp.slot<write, [tensor<64x64xf16>]>
          scf.yield %c1 : !warp.cursor<write>
        }
      }
      warp.group @math warps 4 (%g) {
        %c = warp.cursor read %r : !ring
      }
    }
    gpu.return
  }
}

// -----

!ring = !warp.ring<1, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @no_writer() kernel {
    // expected-error @below {{'warp.ring' op has no writer of part 0, so reading it blocks forever}}
    %r = warp.ring : !ring
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c = warp.cursor read %r : !ring
        %s, %c1 = warp.acquire %r[%c] : !ring, !warp.cursor<read>
        warp.release %s : !warp.slot<read, [tensor<64x64xf16>]>
      }
    }
    gpu.return
  }
}

// -----

!ring = !warp.ring<1, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @no_reader() kernel {
    // expected-error @below {{'warp.ring' op has no reader, so writing it blocks once it is full}}
    %r = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c = warp.cursor write %r : !ring
        %s, %c1 = warp.acquire %r[%c] : !ring, !warp.cursor<write>
        warp.publish %s : !warp.slot<write, [tensor<64x64xf16>]>
      }
    }
    gpu.return
  }
}

// -----

!ring = !warp.ring<1, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @two_writers() kernel {
    // expected-error @below {{'warp.ring' op expects one writer of part 0, got more}}
    %r = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 replicas 2 (%g) {
        // expected-note @below {{group 'load' of 2 replicas writes here}}
        %c = warp.cursor write %r : !ring
        %s, %c1 = warp.acquire %r[%c] : !ring, !warp.cursor<write>
        warp.publish %s : !warp.slot<write, [tensor<64x64xf16>]>
      }
      warp.group @math warps 4 (%g) {
        %c = warp.cursor read %r : !ring
        %s, %c1 = warp.acquire %r[%c] : !ring, !warp.cursor<read>
        warp.release %s : !warp.slot<read, [tensor<64x64xf16>]>
      }
    }
    gpu.return
  }
}

// -----

// The hang of kernels whose pipeline has a prologue: it reads an entry even if
// there is none. With one iteration all is well, without any it hangs.
!ring = !warp.ring<2, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @prologue(%n: index) kernel {
    // expected-error @below {{is not balanced: 'math' acquires to read 1 time more than 'load' acquires to write}}
    %r = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c = warp.cursor write %r : !ring
        // expected-note @below {{when this loop does not run}}
        %end = scf.for %i = %c0 to %n step %c1 iter_args(%w = %c) -> (!warp.cursor<write>) {
          %s, %w1 = warp.acquire %r[%w] : !ring, !warp.cursor<write>
          warp.publish %s : !warp.slot<write, [tensor<64x64xf16>]>
          scf.yield %w1 : !warp.cursor<write>
        }
      }
      warp.group @math warps 4 (%g) {
        %c1 = arith.constant 1 : index
        %c = warp.cursor read %r : !ring
        %s, %w = warp.acquire %r[%c] : !ring, !warp.cursor<read>
        // expected-note @below {{when this loop does not run}}
        %end:2 = scf.for %i = %c1 to %n step %c1 iter_args(%old = %s, %w1 = %w) -> (!warp.slot<read, [tensor<64x64xf16>]>, !warp.cursor<read>) {
          %s1, %w2 = warp.acquire %r[%w1] : !ring, !warp.cursor<read>
          warp.release %old : !warp.slot<read, [tensor<64x64xf16>]>
          scf.yield %s1, %w2 : !warp.slot<read, [tensor<64x64xf16>]>, !warp.cursor<read>
        }
        warp.release %end#0 : !warp.slot<read, [tensor<64x64xf16>]>
      }
    }
    gpu.return
  }
}

// -----

// Different trip counts.
!ring = !warp.ring<2, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @rates(%n: index) kernel {
    // expected-error @below {{is not balanced: 'load' acquires to write not as often as 'math' acquires to read}}
    %r = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c80 = arith.constant 80 : index
        %blocks = arith.ceildivsi %n, %c80 : index
        %c = warp.cursor write %r : !ring
        // expected-note @below {{when this loop runs}}
        %end = scf.for %i = %c0 to %blocks step %c1 iter_args(%w = %c) -> (!warp.cursor<write>) {
          %s, %w1 = warp.acquire %r[%w] : !ring, !warp.cursor<write>
          warp.publish %s : !warp.slot<write, [tensor<64x64xf16>]>
          scf.yield %w1 : !warp.cursor<write>
        }
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c80 = arith.constant 80 : index
        %blocks = arith.floordivsi %n, %c80 : index
        %c = warp.cursor read %r : !ring
        // expected-note @below {{when this loop does not run}}
        %end = scf.for %i = %c0 to %blocks step %c1 iter_args(%w = %c) -> (!warp.cursor<read>) {
          %s, %w1 = warp.acquire %r[%w] : !ring, !warp.cursor<read>
          warp.release %s : !warp.slot<read, [tensor<64x64xf16>]>
          scf.yield %w1 : !warp.cursor<read>
        }
      }
    }
    gpu.return
  }
}

// -----

// Tiles of different groups.
!ring = !warp.ring<2, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @nests(%tiles: index, %n: index) kernel {
    %r = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c = warp.cursor write %r : !ring
        // expected-error @below {{'scf.for' op has no counterpart in group 'math'; a loop that encloses both control and accesses that join groups needs one of the same bounds}}
        %end = scf.for %t = %c0 to %tiles step %c1 iter_args(%w0 = %c) -> (!warp.cursor<write>) {
          %in = scf.for %i = %c0 to %n step %c1 iter_args(%w = %w0) -> (!warp.cursor<write>) {
            %s, %w1 = warp.acquire %r[%w] : !ring, !warp.cursor<write>
            warp.publish %s : !warp.slot<write, [tensor<64x64xf16>]>
            scf.yield %w1 : !warp.cursor<write>
          }
          scf.yield %in : !warp.cursor<write>
        }
      }
      // expected-note @below {{the other group is here}}
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c = warp.cursor read %r : !ring
        %end = scf.for %t = %c1 to %tiles step %c1 iter_args(%w0 = %c) -> (!warp.cursor<read>) {
          %in = scf.for %i = %c0 to %n step %c1 iter_args(%w = %w0) -> (!warp.cursor<read>) {
            %s, %w1 = warp.acquire %r[%w] : !ring, !warp.cursor<read>
            warp.release %s : !warp.slot<read, [tensor<64x64xf16>]>
            scf.yield %w1 : !warp.cursor<read>
          }
          scf.yield %in : !warp.cursor<read>
        }
      }
    }
    gpu.return
  }
}

// -----

// Both groups wait: one fills a twice before b, the other empties b first.
!ring = !warp.ring<1, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @order(%n: index) kernel {
    %a = warp.ring : !ring
    %b = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %ca = warp.cursor write %a : !ring
        // expected-note @below {{@load has acquired 0 entries through this cursor}}
        %cb = warp.cursor write %b : !ring
        // expected-note @below {{@load has begun 1 iteration of this loop}}
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%wa = %ca, %wb = %cb) -> (!warp.cursor<write>, !warp.cursor<write>) {
          %s0, %wa1 = warp.acquire %a[%wa] : !ring, !warp.cursor<write>
          warp.publish %s0 : !warp.slot<write, [tensor<64x64xf16>]>
          // expected-error @below {{'warp.acquire' op waits forever: no group can go on}}
          // expected-note @below {{@load waits here for @math replica 0 to release entry 0 of the ring}}
          %s1, %wa2 = warp.acquire %a[%wa1] : !ring, !warp.cursor<write>
          warp.publish %s1 : !warp.slot<write, [tensor<64x64xf16>]>
          %s2, %wb1 = warp.acquire %b[%wb] : !ring, !warp.cursor<write>
          warp.publish %s2 : !warp.slot<write, [tensor<64x64xf16>]>
          scf.yield %wa2, %wb1 : !warp.cursor<write>, !warp.cursor<write>
        }
      }
      warp.group @math warps 4 replicas 3 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        // expected-note @below {{@math replica 0 has acquired 0 entries through this cursor}}
        %ca = warp.cursor read %a : !ring
        %cb = warp.cursor read %b : !ring
        // expected-note @below {{@math replica 0 has begun 1 iteration of this loop}}
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%wa = %ca, %wb = %cb) -> (!warp.cursor<read>, !warp.cursor<read>) {
          // expected-note @below {{@math replica 0 waits here for @load to publish entry 0 of the ring}}
          %s2, %wb1 = warp.acquire %b[%wb] : !ring, !warp.cursor<read>
          warp.release %s2 : !warp.slot<read, [tensor<64x64xf16>]>
          %s0, %wa1 = warp.acquire %a[%wa] : !ring, !warp.cursor<read>
          warp.release %s0 : !warp.slot<read, [tensor<64x64xf16>]>
          %s1, %wa2 = warp.acquire %a[%wa1] : !ring, !warp.cursor<read>
          warp.release %s1 : !warp.slot<read, [tensor<64x64xf16>]>
          scf.yield %wa2, %wb1 : !warp.cursor<read>, !warp.cursor<read>
        }
      }
    }
    gpu.return
  }
}

// -----

// Two entries are held of a ring of one: the first iteration passes, the
// second hangs.
!ring = !warp.ring<1, [tensor<64x64xf16>]>
!slot = !warp.slot<read, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @depth(%n: index) kernel {
    %r = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        // expected-note @below {{@load has acquired 1 entry through this cursor}}
        %c = warp.cursor write %r : !ring
        // expected-note @below {{@load has begun 2 iterations of this loop}}
        %end = scf.for %i = %c0 to %n step %c1 iter_args(%w = %c) -> (!warp.cursor<write>) {
          // expected-error @below {{'warp.acquire' op waits forever: no group can go on}}
          // expected-note @below {{@load waits here for @math to release entry 0 of the ring}}
          %s, %w1 = warp.acquire %r[%w] : !ring, !warp.cursor<write>
          warp.publish %s : !warp.slot<write, [tensor<64x64xf16>]>
          scf.yield %w1 : !warp.cursor<write>
        }
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c = warp.cursor read %r : !ring
        %any = arith.cmpi sgt, %n, %c0 : index
        scf.if %any {
          // expected-note @below {{@math holds it since here}}
          %s, %w = warp.acquire %r[%c] : !ring, !warp.cursor<read>
          // expected-note @below {{@math has begun 1 iteration of this loop}}
          %end:2 = scf.for %i = %c1 to %n step %c1 iter_args(%old = %s, %w1 = %w) -> (!slot, !warp.cursor<read>) {
            // expected-note @below {{@math waits here for @load to publish entry 1 of the ring}}
            %s1, %w2 = warp.acquire %r[%w1] : !ring, !warp.cursor<read>
            warp.release %old : !slot
            scf.yield %s1, %w2 : !slot, !warp.cursor<read>
          }
          warp.release %end#0 : !slot
        }
      }
    }
    gpu.return
  }
}

// -----

// The slot goes back before the product that reads it is awaited: the token
// is that of the product before.
!ring = !warp.ring<2, [tensor<64x64xf16>]>
!slot = !warp.slot<read, [tensor<64x64xf16>]>
!acc = tensor<64x64xf32>
gpu.module @kernels {
  gpu.func @early(%n: index) kernel {
    %r = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c = warp.cursor write %r : !ring
        %end = scf.for %i = %c0 to %n step %c1 iter_args(%w = %c) -> (!warp.cursor<write>) {
          %s, %w1 = warp.acquire %r[%w] : !ring, !warp.cursor<write>
          warp.publish %s : !warp.slot<write, [tensor<64x64xf16>]>
          scf.yield %w1 : !warp.cursor<write>
        }
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : !acc
        %c = warp.cursor read %r : !ring
        %start = tile.pend %zero : !acc -> !tile.pending<!acc>
        %none = warp.ready
        // expected-note @below {{@math has begun 1 iteration of this loop}}
        %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%w = %c, %p = %start, %d = %none) -> (!warp.cursor<read>, !tile.pending<!acc>, !warp.done) {
          // expected-note @below {{the entry was acquired here}}
          %s, %w1 = warp.acquire %r[%w] : !ring, !warp.cursor<read>
          %v = tile.view %s[%c0, %c0] : !slot -> !tile.view<tensor<64x64xf16>>
          // expected-note @below {{this access was neither awaited nor is it covered by 'after'}}
          %p1, %d1 = tile.dot.async %v, %v, %p lhs mk rhs nk : !tile.view<tensor<64x64xf16>>, !tile.view<tensor<64x64xf16>>, !tile.pending<!acc> -> !tile.pending<!acc>
          // expected-error @below {{'warp.release' op hands over an entry that an asynchronous operation may still access}}
          warp.release %s after %d : !slot
          scf.yield %w1, %p1, %d1 : !warp.cursor<read>, !tile.pending<!acc>, !warp.done
        }
        %sum = tile.await %end#1 : !tile.pending<!acc>
      }
    }
    gpu.return
  }
}

// -----

// Cursors of two rings change places on the way round a loop.
!ring = !warp.ring<2, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @cursors(%n: index) kernel {
    %a = warp.ring : !ring
    %b = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %ca = warp.cursor write %a : !ring
        // expected-note @below {{this cursor of another ring may get here}}
        %cb = warp.cursor write %b : !ring
        // expected-note @below {{@load has begun 2 iterations of this loop}}
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%wa = %ca, %wb = %cb) -> (!warp.cursor<write>, !warp.cursor<write>) {
          // expected-error @below {{'warp.acquire' op expects a cursor of the ring it acquires from on every path}}
          %s0, %wa1 = warp.acquire %a[%wa] : !ring, !warp.cursor<write>
          warp.publish %s0 : !warp.slot<write, [tensor<64x64xf16>]>
          %s1, %wb1 = warp.acquire %b[%wb] : !ring, !warp.cursor<write>
          warp.publish %s1 : !warp.slot<write, [tensor<64x64xf16>]>
          scf.yield %wb1, %wa1 : !warp.cursor<write>, !warp.cursor<write>
        }
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %ca = warp.cursor read %a : !ring
        %cb = warp.cursor read %b : !ring
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%wa = %ca, %wb = %cb) -> (!warp.cursor<read>, !warp.cursor<read>) {
          %s0, %wa1 = warp.acquire %a[%wa] : !ring, !warp.cursor<read>
          warp.release %s0 : !warp.slot<read, [tensor<64x64xf16>]>
          %s1, %wb1 = warp.acquire %b[%wb] : !ring, !warp.cursor<read>
          warp.release %s1 : !warp.slot<read, [tensor<64x64xf16>]>
          scf.yield %wa1, %wb1 : !warp.cursor<read>, !warp.cursor<read>
        }
      }
    }
    gpu.return
  }
}

// -----

// A view outlives its slot: it was handed over in the branch.
!ring = !warp.ring<2, [tensor<64x64xf16>]>
!slot = !warp.slot<read, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @view(%n: index, %m: memref<64x64xf16>) kernel {
    %r = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c = warp.cursor write %r : !ring
        %s, %w1 = warp.acquire %r[%c] : !ring, !warp.cursor<write>
        warp.publish %s : !warp.slot<write, [tensor<64x64xf16>]>
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c = warp.cursor read %r : !ring
        %s, %w1 = warp.acquire %r[%c] : !ring, !warp.cursor<read>
        %v = tile.view %s[%c0, %c0] : !slot -> !tile.view<tensor<64x64xf16>>
        %any = arith.cmpi sgt, %n, %c0 : index
        scf.if %any {
          warp.release %s : !slot
        } else {
          // expected-note @below {{an entry of the ring was handed over here}}
          warp.release %s : !slot
        }
        // expected-error @below {{'tile.read' op accesses an entry that was handed over}}
        %x = tile.read %v : !tile.view<tensor<64x64xf16>> -> tensor<64x64xf16>
        tile.store %x, %m[%c0, %c0] : tensor<64x64xf16>, memref<64x64xf16>
      }
    }
    gpu.return
  }
}
