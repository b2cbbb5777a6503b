// RUN: fa3-opt %s -split-input-file -verify-diagnostics --pass-pipeline="builtin.module(gpu.module(flow-check))"

// A bound that depends on tile data.
!ring = !flow.ring<1, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @congruence(%mask: memref<64xi1>, %n: index) kernel {
    %r = flow.ring : !ring
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c = flow.cursor write %r : !ring
        %s, %c1 = flow.acquire %r[%c] : !ring, !flow.cursor<write>
        flow.publish %s : !flow.slot<write, [tensor<64x64xf16>]>
      }
      flow.group @math warps 4 (%g) {
        %c = flow.cursor read %r : !ring
        %c0 = arith.constant 0 : index
        %m = tile.load %mask[%c0] : memref<64xi1> -> tensor<64xi1>
        // expected-note @below {{it depends on this value, which is not a pure function of kernel arguments, block and replica}}
        %live = tile.any_possible %m : tensor<64xi1>
        // expected-error @below {{'scf.if' op has a condition that is not the same in every group, yet encloses accesses that join them}}
        scf.if %live {
          %s, %c1 = flow.acquire %r[%c] : !ring, !flow.cursor<read>
          flow.release %s : !flow.slot<read, [tensor<64x64xf16>]>
        }
      }
    }
    gpu.return
  }
}

// -----

!ring = !flow.ring<1, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @control(%n: index) kernel {
    %r = flow.ring : !ring
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c = flow.cursor write %r : !ring
        %c0 = arith.constant 0 : index
        // expected-error @below {{'scf.while' op encloses an access that joins groups; only 'scf.for' and 'scf.if' may}}
        %end = scf.while (%w = %c) : (!flow.cursor<write>) -> !flow.cursor<write> {
          %more = arith.cmpi sgt, %n, %c0 : index
          scf.condition(%more) %w : !flow.cursor<write>
        } do {
        ^bb0(%w: !flow.cursor<write>):
          // expected-note @below {{the access is here}}
          %s, %c1 = flow.acquire %r[%w] : !ring, !flow.cursor<write>
          flow.publish %s : !flow.slot<write, [tensor<64x64xf16>]>
          scf.yield %c1 : !flow.cursor<write>
        }
      }
      flow.group @math warps 4 (%g) {
        %c = flow.cursor read %r : !ring
      }
    }
    gpu.return
  }
}

// -----

!ring = !flow.ring<1, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @no_writer() kernel {
    // expected-error @below {{'flow.ring' op has no writer of part 0, so reading it blocks forever}}
    %r = flow.ring : !ring
    flow.specialize {
      flow.group @math warps 4 (%g) {
        %c = flow.cursor read %r : !ring
        %s, %c1 = flow.acquire %r[%c] : !ring, !flow.cursor<read>
        flow.release %s : !flow.slot<read, [tensor<64x64xf16>]>
      }
    }
    gpu.return
  }
}

// -----

!ring = !flow.ring<1, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @no_reader() kernel {
    // expected-error @below {{'flow.ring' op has no reader, so writing it blocks once it is full}}
    %r = flow.ring : !ring
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c = flow.cursor write %r : !ring
        %s, %c1 = flow.acquire %r[%c] : !ring, !flow.cursor<write>
        flow.publish %s : !flow.slot<write, [tensor<64x64xf16>]>
      }
    }
    gpu.return
  }
}

// -----

!ring = !flow.ring<1, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @two_writers() kernel {
    // expected-error @below {{'flow.ring' op expects one writer of part 0, got more}}
    %r = flow.ring : !ring
    flow.specialize {
      flow.group @load warps 1 replicas 2 (%g) {
        // expected-note @below {{group 'load' of 2 replicas writes here}}
        %c = flow.cursor write %r : !ring
        %s, %c1 = flow.acquire %r[%c] : !ring, !flow.cursor<write>
        flow.publish %s : !flow.slot<write, [tensor<64x64xf16>]>
      }
      flow.group @math warps 4 (%g) {
        %c = flow.cursor read %r : !ring
        %s, %c1 = flow.acquire %r[%c] : !ring, !flow.cursor<read>
        flow.release %s : !flow.slot<read, [tensor<64x64xf16>]>
      }
    }
    gpu.return
  }
}

// -----

// The hang of kernels whose pipeline has a prologue: it reads an entry even if
// there is none. With one iteration all is well, without any it hangs.
!ring = !flow.ring<2, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @prologue(%n: index) kernel {
    // expected-error @below {{is not balanced: 'math' acquires to read 1 time more than 'load' acquires to write}}
    %r = flow.ring : !ring
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c = flow.cursor write %r : !ring
        // expected-note @below {{when this loop does not run}}
        %end = scf.for %i = %c0 to %n step %c1 iter_args(%w = %c) -> (!flow.cursor<write>) {
          %s, %w1 = flow.acquire %r[%w] : !ring, !flow.cursor<write>
          flow.publish %s : !flow.slot<write, [tensor<64x64xf16>]>
          scf.yield %w1 : !flow.cursor<write>
        }
      }
      flow.group @math warps 4 (%g) {
        %c1 = arith.constant 1 : index
        %c = flow.cursor read %r : !ring
        %s, %w = flow.acquire %r[%c] : !ring, !flow.cursor<read>
        // expected-note @below {{when this loop does not run}}
        %end:2 = scf.for %i = %c1 to %n step %c1 iter_args(%old = %s, %w1 = %w) -> (!flow.slot<read, [tensor<64x64xf16>]>, !flow.cursor<read>) {
          %s1, %w2 = flow.acquire %r[%w1] : !ring, !flow.cursor<read>
          flow.release %old : !flow.slot<read, [tensor<64x64xf16>]>
          scf.yield %s1, %w2 : !flow.slot<read, [tensor<64x64xf16>]>, !flow.cursor<read>
        }
        flow.release %end#0 : !flow.slot<read, [tensor<64x64xf16>]>
      }
    }
    gpu.return
  }
}

// -----

// Different trip counts.
!ring = !flow.ring<2, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @rates(%n: index) kernel {
    // expected-error @below {{is not balanced: 'load' acquires to write not as often as 'math' acquires to read}}
    %r = flow.ring : !ring
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c80 = arith.constant 80 : index
        %blocks = arith.ceildivsi %n, %c80 : index
        %c = flow.cursor write %r : !ring
        // expected-note @below {{when this loop runs}}
        %end = scf.for %i = %c0 to %blocks step %c1 iter_args(%w = %c) -> (!flow.cursor<write>) {
          %s, %w1 = flow.acquire %r[%w] : !ring, !flow.cursor<write>
          flow.publish %s : !flow.slot<write, [tensor<64x64xf16>]>
          scf.yield %w1 : !flow.cursor<write>
        }
      }
      flow.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c80 = arith.constant 80 : index
        %blocks = arith.floordivsi %n, %c80 : index
        %c = flow.cursor read %r : !ring
        // expected-note @below {{when this loop does not run}}
        %end = scf.for %i = %c0 to %blocks step %c1 iter_args(%w = %c) -> (!flow.cursor<read>) {
          %s, %w1 = flow.acquire %r[%w] : !ring, !flow.cursor<read>
          flow.release %s : !flow.slot<read, [tensor<64x64xf16>]>
          scf.yield %w1 : !flow.cursor<read>
        }
      }
    }
    gpu.return
  }
}

// -----

// Tiles of different groups.
!ring = !flow.ring<2, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @nests(%tiles: index, %n: index) kernel {
    %r = flow.ring : !ring
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c = flow.cursor write %r : !ring
        // expected-error @below {{'scf.for' op has no counterpart in group 'math'; a loop that encloses both control and accesses that join groups needs one of the same bounds}}
        %end = scf.for %t = %c0 to %tiles step %c1 iter_args(%w0 = %c) -> (!flow.cursor<write>) {
          %in = scf.for %i = %c0 to %n step %c1 iter_args(%w = %w0) -> (!flow.cursor<write>) {
            %s, %w1 = flow.acquire %r[%w] : !ring, !flow.cursor<write>
            flow.publish %s : !flow.slot<write, [tensor<64x64xf16>]>
            scf.yield %w1 : !flow.cursor<write>
          }
          scf.yield %in : !flow.cursor<write>
        }
      }
      // expected-note @below {{the other group is here}}
      flow.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c = flow.cursor read %r : !ring
        %end = scf.for %t = %c1 to %tiles step %c1 iter_args(%w0 = %c) -> (!flow.cursor<read>) {
          %in = scf.for %i = %c0 to %n step %c1 iter_args(%w = %w0) -> (!flow.cursor<read>) {
            %s, %w1 = flow.acquire %r[%w] : !ring, !flow.cursor<read>
            flow.release %s : !flow.slot<read, [tensor<64x64xf16>]>
            scf.yield %w1 : !flow.cursor<read>
          }
          scf.yield %in : !flow.cursor<read>
        }
      }
    }
    gpu.return
  }
}

// -----

// Both groups wait: one fills a twice before b, the other empties b first.
!ring = !flow.ring<1, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @order(%n: index) kernel {
    %a = flow.ring : !ring
    %b = flow.ring : !ring
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %ca = flow.cursor write %a : !ring
        // expected-note @below {{@load has acquired 0 entries through this cursor}}
        %cb = flow.cursor write %b : !ring
        // expected-note @below {{@load has begun 1 iteration of this loop}}
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%wa = %ca, %wb = %cb) -> (!flow.cursor<write>, !flow.cursor<write>) {
          %s0, %wa1 = flow.acquire %a[%wa] : !ring, !flow.cursor<write>
          flow.publish %s0 : !flow.slot<write, [tensor<64x64xf16>]>
          // expected-error @below {{'flow.acquire' op waits forever: no group can go on}}
          // expected-note @below {{@load waits here for @math replica 0 to release entry 0 of the ring}}
          %s1, %wa2 = flow.acquire %a[%wa1] : !ring, !flow.cursor<write>
          flow.publish %s1 : !flow.slot<write, [tensor<64x64xf16>]>
          %s2, %wb1 = flow.acquire %b[%wb] : !ring, !flow.cursor<write>
          flow.publish %s2 : !flow.slot<write, [tensor<64x64xf16>]>
          scf.yield %wa2, %wb1 : !flow.cursor<write>, !flow.cursor<write>
        }
      }
      flow.group @math warps 4 replicas 3 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        // expected-note @below {{@math replica 0 has acquired 0 entries through this cursor}}
        %ca = flow.cursor read %a : !ring
        %cb = flow.cursor read %b : !ring
        // expected-note @below {{@math replica 0 has begun 1 iteration of this loop}}
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%wa = %ca, %wb = %cb) -> (!flow.cursor<read>, !flow.cursor<read>) {
          // expected-note @below {{@math replica 0 waits here for @load to publish entry 0 of the ring}}
          %s2, %wb1 = flow.acquire %b[%wb] : !ring, !flow.cursor<read>
          flow.release %s2 : !flow.slot<read, [tensor<64x64xf16>]>
          %s0, %wa1 = flow.acquire %a[%wa] : !ring, !flow.cursor<read>
          flow.release %s0 : !flow.slot<read, [tensor<64x64xf16>]>
          %s1, %wa2 = flow.acquire %a[%wa1] : !ring, !flow.cursor<read>
          flow.release %s1 : !flow.slot<read, [tensor<64x64xf16>]>
          scf.yield %wa2, %wb1 : !flow.cursor<read>, !flow.cursor<read>
        }
      }
    }
    gpu.return
  }
}

// -----

// Two entries are held of a ring of one: the first iteration passes, the
// second hangs.
!ring = !flow.ring<1, [tensor<64x64xf16>]>
!slot = !flow.slot<read, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @depth(%n: index) kernel {
    %r = flow.ring : !ring
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        // expected-note @below {{@load has acquired 1 entry through this cursor}}
        %c = flow.cursor write %r : !ring
        // expected-note @below {{@load has begun 2 iterations of this loop}}
        %end = scf.for %i = %c0 to %n step %c1 iter_args(%w = %c) -> (!flow.cursor<write>) {
          // expected-error @below {{'flow.acquire' op waits forever: no group can go on}}
          // expected-note @below {{@load waits here for @math to release entry 0 of the ring}}
          %s, %w1 = flow.acquire %r[%w] : !ring, !flow.cursor<write>
          flow.publish %s : !flow.slot<write, [tensor<64x64xf16>]>
          scf.yield %w1 : !flow.cursor<write>
        }
      }
      flow.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c = flow.cursor read %r : !ring
        %any = arith.cmpi sgt, %n, %c0 : index
        scf.if %any {
          // expected-note @below {{@math holds it since here}}
          %s, %w = flow.acquire %r[%c] : !ring, !flow.cursor<read>
          // expected-note @below {{@math has begun 1 iteration of this loop}}
          %end:2 = scf.for %i = %c1 to %n step %c1 iter_args(%old = %s, %w1 = %w) -> (!slot, !flow.cursor<read>) {
            // expected-note @below {{@math waits here for @load to publish entry 1 of the ring}}
            %s1, %w2 = flow.acquire %r[%w1] : !ring, !flow.cursor<read>
            flow.release %old : !slot
            scf.yield %s1, %w2 : !slot, !flow.cursor<read>
          }
          flow.release %end#0 : !slot
        }
      }
    }
    gpu.return
  }
}

// -----

// The slot goes back before the product that reads it is awaited: the token
// is that of the product before.
!ring = !flow.ring<2, [tensor<64x64xf16>]>
!slot = !flow.slot<read, [tensor<64x64xf16>]>
!acc = tensor<64x64xf32>
gpu.module @kernels {
  gpu.func @early(%n: index) kernel {
    %r = flow.ring : !ring
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c = flow.cursor write %r : !ring
        %end = scf.for %i = %c0 to %n step %c1 iter_args(%w = %c) -> (!flow.cursor<write>) {
          %s, %w1 = flow.acquire %r[%w] : !ring, !flow.cursor<write>
          flow.publish %s : !flow.slot<write, [tensor<64x64xf16>]>
          scf.yield %w1 : !flow.cursor<write>
        }
      }
      flow.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : !acc
        %c = flow.cursor read %r : !ring
        %start = tile.pend %zero : !acc -> !tile.pending<!acc>
        %none = flow.ready
        // expected-note @below {{@math has begun 1 iteration of this loop}}
        %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%w = %c, %p = %start, %d = %none) -> (!flow.cursor<read>, !tile.pending<!acc>, !flow.done) {
          // expected-note @below {{the entry was acquired here}}
          %s, %w1 = flow.acquire %r[%w] : !ring, !flow.cursor<read>
          %v = tile.view %s[%c0, %c0] : !slot -> !tile.view<tensor<64x64xf16>>
          // expected-note @below {{this access was neither awaited nor is it covered by 'after'}}
          %p1, %d1 = tile.dot.async %v, %v, %p lhs mk rhs nk : !tile.view<tensor<64x64xf16>>, !tile.view<tensor<64x64xf16>>, !tile.pending<!acc> -> !tile.pending<!acc>
          // expected-error @below {{'flow.release' op hands over an entry that an asynchronous operation may still access}}
          flow.release %s after %d : !slot
          scf.yield %w1, %p1, %d1 : !flow.cursor<read>, !tile.pending<!acc>, !flow.done
        }
        %sum = tile.await %end#1 : !tile.pending<!acc>
      }
    }
    gpu.return
  }
}

// -----

// Cursors of two rings change places on the way round a loop.
!ring = !flow.ring<2, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @cursors(%n: index) kernel {
    %a = flow.ring : !ring
    %b = flow.ring : !ring
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %ca = flow.cursor write %a : !ring
        // expected-note @below {{this cursor of another ring may get here}}
        %cb = flow.cursor write %b : !ring
        // expected-note @below {{@load has begun 2 iterations of this loop}}
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%wa = %ca, %wb = %cb) -> (!flow.cursor<write>, !flow.cursor<write>) {
          // expected-error @below {{'flow.acquire' op expects a cursor of the ring it acquires from on every path}}
          %s0, %wa1 = flow.acquire %a[%wa] : !ring, !flow.cursor<write>
          flow.publish %s0 : !flow.slot<write, [tensor<64x64xf16>]>
          %s1, %wb1 = flow.acquire %b[%wb] : !ring, !flow.cursor<write>
          flow.publish %s1 : !flow.slot<write, [tensor<64x64xf16>]>
          scf.yield %wb1, %wa1 : !flow.cursor<write>, !flow.cursor<write>
        }
      }
      flow.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %ca = flow.cursor read %a : !ring
        %cb = flow.cursor read %b : !ring
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%wa = %ca, %wb = %cb) -> (!flow.cursor<read>, !flow.cursor<read>) {
          %s0, %wa1 = flow.acquire %a[%wa] : !ring, !flow.cursor<read>
          flow.release %s0 : !flow.slot<read, [tensor<64x64xf16>]>
          %s1, %wb1 = flow.acquire %b[%wb] : !ring, !flow.cursor<read>
          flow.release %s1 : !flow.slot<read, [tensor<64x64xf16>]>
          scf.yield %wa1, %wb1 : !flow.cursor<read>, !flow.cursor<read>
        }
      }
    }
    gpu.return
  }
}

// -----

// A view outlives its slot: it was handed over in the branch.
!ring = !flow.ring<2, [tensor<64x64xf16>]>
!slot = !flow.slot<read, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @view(%n: index, %m: memref<64x64xf16>) kernel {
    %r = flow.ring : !ring
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c = flow.cursor write %r : !ring
        %s, %w1 = flow.acquire %r[%c] : !ring, !flow.cursor<write>
        flow.publish %s : !flow.slot<write, [tensor<64x64xf16>]>
      }
      flow.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c = flow.cursor read %r : !ring
        %s, %w1 = flow.acquire %r[%c] : !ring, !flow.cursor<read>
        %v = tile.view %s[%c0, %c0] : !slot -> !tile.view<tensor<64x64xf16>>
        %any = arith.cmpi sgt, %n, %c0 : index
        scf.if %any {
          flow.release %s : !slot
        } else {
          // expected-note @below {{an entry of the ring was handed over here}}
          flow.release %s : !slot
        }
        // expected-error @below {{'tile.read' op accesses an entry that was handed over}}
        %x = tile.read %v : !tile.view<tensor<64x64xf16>> -> tensor<64x64xf16>
        tile.store %x, %m[%c0, %c0] : tensor<64x64xf16>, memref<64x64xf16>
      }
    }
    gpu.return
  }
}
