// RUN: fa3-opt %s -tile-to-hopper -split-input-file -verify-diagnostics

func.func @host(%n: index) {
  // expected-error @below {{expects 'blocks'; run tile-map-grid first}}
  tile.launch @m::@k args(%n : index)
  return
}
gpu.module @m {
  gpu.func @k(%n: index) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_layout(%p: memref<?x?xf32>) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        // expected-error @below {{has no lowering to hopper: 'tensor<64x32xf32>' has no register layout}}
        %x = tile.load %p[%c0, %c0] : memref<?x?xf32> -> tensor<64x32xf32>
        tile.store %x, %p[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @wide_index(%p: memref<?xi32>) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        // expected-error @below {{expects an index of 32 bits, got 4294967296}}
        %far = arith.constant 4294967296 : index
        %x = tile.scalar_load %p[%far] : memref<?xi32>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @wide_tile() kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        // expected-error @below {{expects an index of 32 bits, got -2147483649}}
        %far = arith.constant dense<-2147483649> : tensor<64x32xindex, #tile.acc>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_storage() kernel {
    // expected-error @below {{has no lowering to hopper: expects a ring of tensors with #tile.smem encodings and no initial entries}}
    %r = warp.ring : !warp.ring<1, [tensor<64x64xf16>]>
    gpu.return
  }
}

// -----

!A = tensor<64x64xf16, #tile.smem<128>>
gpu.module @m {
  gpu.func @no_reader(%a: memref<?x?xf16, strided<[?, 1]>>) kernel {
    // expected-error @below {{has no reader}}
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %w = warp.cursor write %r : !warp.ring<1, [!A]>
      }
    }
    gpu.return
  }
}

// -----

!A = tensor<64x64xf16, #tile.smem<128>>
gpu.module @m {
  gpu.func @private_copies(%a: memref<?x?xf16, strided<[?, 1]>>) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        // expected-error @below {{a ring inside a group is expected to be filled by 'tile.write'}}
        %r = warp.ring : !warp.ring<1, [!A]>
        %c0 = arith.constant 0 : index
        %w = warp.cursor write %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<1, [!A]>, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
        tile.load.async %a[%c0, %c0], %v : memref<?x?xf16, strided<[?, 1]>>, !tile.view<!A>
        warp.publish %s : !warp.slot<write, [!A]>
      }
    }
    gpu.return
  }
}

// -----

!A = tensor<64x64xf16, #tile.smem<128>>
gpu.module @m {
  gpu.func @mixed_fills(%a: memref<?x?xf16, strided<[?, 1]>>) kernel {
    // expected-error @below {{a ring between groups is expected to be filled by 'tile.load.async', or by 'tile.write'}}
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x64xf16, #tile.acc>
        %w = warp.cursor write %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<1, [!A]>, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
        tile.load.async %a[%c0, %c0], %v : memref<?x?xf16, strided<[?, 1]>>, !tile.view<!A>
        tile.write %x, %v : tensor<64x64xf16, #tile.acc>, !tile.view<!A>
        warp.publish %s : !warp.slot<write, [!A]>
      }
    }
    gpu.return
  }
}

// -----

!A = tensor<264x64xf16, #tile.smem<128>>
!a = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  gpu.func @tall(%a: !a) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %w = warp.cursor write %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<1, [!A]>, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
        // expected-error @below {{copies 264 rows at once, the limit of a bulk copy is 256}}
        tile.load.async %a[%c0, %c0], %v : !a, !tile.view<!A>
        warp.publish %s : !warp.slot<write, [!A]>
      }
      warp.group @math warps 4 (%g) {
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
      }
    }
    gpu.return
  }
}

// -----

!A = tensor<64x16xf16, #tile.smem<32>>
!a = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  gpu.func @narrow_pieces(%a: !a) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %w = warp.cursor write %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<1, [!A]>, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
        // expected-error @below {{has no lowering to hopper: expects pieces of a multiple of 4 rows, got 2}}
        tile.load.async %a, %v pieces 32 (%n) {
          tile.yield %n, %c0 : index, index
        } : !a, !tile.view<!A>
        warp.publish %s : !warp.slot<write, [!A]>
      }
      warp.group @math warps 4 (%g) {
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
      }
    }
    gpu.return
  }
}

// -----

!A = tensor<64x32xf16, #tile.smem<64>>
!a = memref<?x32xf16, strided<[?, 1]>>
gpu.module @m {
  gpu.func @narrow_limit(%a: !a, %n: index) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %w = warp.cursor write %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<1, [!A]>, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
        // expected-error @below {{has no lowering to hopper: expects a limit of rows of 128 bytes in shared memory, got 64}}
        tile.load.async %a[%c0, %c0], %v limit %n : !a, !tile.view<!A>
        warp.publish %s : !warp.slot<write, [!A]>
      }
      warp.group @math warps 4 (%g) {
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
      }
    }
    gpu.return
  }
}

// -----

!a = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  gpu.func @pieces_by_threads(%a: !a, %c: !a) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        // expected-error @below {{has no lowering to hopper: expects what is loaded in pieces to be an operand of products, in an array that bulk copies take}}
        %x = tile.load %a pieces 2 (%n) {
          tile.yield %n, %c0 : index, index
        } : !a -> tensor<64x64xf16, #tile.acc>
        tile.store %x, %c[%c0, %c0] : tensor<64x64xf16, #tile.acc>, !a
      }
    }
    gpu.return
  }
}

// -----

// 72 values of K in registers: the instruction takes 16 at a time.
!V = tensor<72x64xf16, #tile.smem<128>>
!a = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  gpu.func @odd_k(%a: !a, %c: memref<?x?xf32>) kernel {
    %r = warp.ring : !warp.ring<1, [!V]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %w = warp.cursor write %r : !warp.ring<1, [!V]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<1, [!V]>, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!V]> -> !tile.view<!V>
        tile.load.async %a[%c0, %c0], %v : !a, !tile.view<!V>
        warp.publish %s : !warp.slot<write, [!V]>
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32, #tile.acc>
        %p = arith.constant dense<1.0> : tensor<64x72xf16, #tile.acc>
        %q = warp.cursor read %r : !warp.ring<1, [!V]>
        %s, %next = warp.acquire %r[%q] : !warp.ring<1, [!V]>, !warp.cursor<read>
        %y = tile.view %s[%c0, %c0] : !warp.slot<read, [!V]> -> !tile.view<!V>
        // expected-error @below {{has no wgmma: expects m a multiple of 64, n a multiple of 8 up to 256, and k a multiple of 16 unless it runs along the columns of both operands, got 64, 64 and 72}}
        %d, %done = tile.dot.async %p, %y, %zero lhs mk rhs kn : tensor<64x72xf16, #tile.acc>, !tile.view<!V>, tensor<64x64xf32, #tile.acc> -> !tile.pending<tensor<64x64xf32, #tile.acc>>
        %e = tile.await %d : !tile.pending<tensor<64x64xf32, #tile.acc>>
        warp.release %s after %done : !warp.slot<read, [!V]>
        tile.store %e, %c[%c0, %c0] : tensor<64x64xf32, #tile.acc>, memref<?x?xf32>
      }
    }
    gpu.return
  }
}

// -----

// 40 columns of sums of integers, above 32 the instruction has multiples of 16.
!K = tensor<40x64xi8, #tile.smem<64>>
!a = memref<?x?xi8, strided<[?, 1]>>
gpu.module @m {
  gpu.func @odd_n(%a: !a, %c: memref<?x?xi32>) kernel {
    %r = warp.ring : !warp.ring<1, [!K]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %w = warp.cursor write %r : !warp.ring<1, [!K]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<1, [!K]>, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!K]> -> !tile.view<!K>
        tile.load.async %a[%c0, %c0], %v : !a, !tile.view<!K>
        warp.publish %s : !warp.slot<write, [!K]>
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0> : tensor<64x40xi32, #tile.acc>
        %p = arith.constant dense<1> : tensor<64x64xi8, #tile.operand_a<8>>
        %q = warp.cursor read %r : !warp.ring<1, [!K]>
        %s, %next = warp.acquire %r[%q] : !warp.ring<1, [!K]>, !warp.cursor<read>
        %y = tile.view %s[%c0, %c0] : !warp.slot<read, [!K]> -> !tile.view<!K>
        // expected-error @below {{has no wgmma: expects m a multiple of 64, n a multiple of 16 up to 256, and k a multiple of 32 unless it runs along the columns of both operands, got 64, 40 and 64}}
        %d, %done = tile.dot.async %p, %y, %zero lhs mk rhs nk : tensor<64x64xi8, #tile.operand_a<8>>, !tile.view<!K>, tensor<64x40xi32, #tile.acc> -> !tile.pending<tensor<64x40xi32, #tile.acc>>
        %e = tile.await %d : !tile.pending<tensor<64x40xi32, #tile.acc>>
        warp.release %s after %done : !warp.slot<read, [!K]>
        tile.store %e, %c[%c0, %c0] : tensor<64x40xi32, #tile.acc>, memref<?x?xi32>
      }
    }
    gpu.return
  }
}

// -----

// A column sum needs what other warps hold.
gpu.module @m {
  gpu.func @columns(%p: memref<?x?xf32>, %l: memref<?xf32>) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %x = tile.load %p[%c0, %c0] : memref<?x?xf32> -> tensor<64x32xf32, #tile.acc>
        // expected-error @below {{has no lowering to hopper: the dimension is spread over warps}}
        %m = tile.reduce max %x dim 0 : tensor<64x32xf32, #tile.acc> -> tensor<32xf32, #tile.slice<0, #tile.acc>>
        tile.store %m, %l[%c0] : tensor<32xf32, #tile.slice<0, #tile.acc>>, memref<?xf32>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @view(%p: memref<?x?xf32>, %n: index) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        // expected-error @below {{has no lowering to hopper}}
        %t = memref.transpose %p (i, j) -> (j, i) : memref<?x?xf32> to memref<?x?xf32, strided<[1, ?]>>
        %x = tile.load %t[%c0, %c0] : memref<?x?xf32, strided<[1, ?]>> -> tensor<64x32xf32, #tile.acc>
        tile.store %x, %p[%c0, %c0] : tensor<64x32xf32, #tile.acc>, memref<?x?xf32>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @dynamic_dim(%p: memref<?x?xf32>, %n: index, %o: memref<?xi32>) kernel {
    // expected-error @below {{has no lowering to hopper: expects a constant dimension of a kernel argument}}
    %d = memref.dim %p, %n : memref<?x?xf32>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %x = tile.scalar_load %o[%d] : memref<?xi32>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @while(%go: i1) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        // expected-error @below {{'scf.while' op has no lowering to hopper}}
        scf.while : () -> () {
          scf.condition(%go)
        } do {
          scf.yield
        }
      }
    }
    gpu.return
  }
}

// -----

!A = tensor<64x64xf16, #tile.smem<128>>
!a = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  gpu.func @named_barriers(%a: !a) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %w = warp.cursor write %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<1, [!A]>, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
        tile.load.async %a[%c0, %c0], %v : !a, !tile.view<!A>
        warp.publish %s : !warp.slot<write, [!A]>
      }
      warp.group @most warps 2 replicas 15 (%g) {
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%q] : !warp.ring<1, [!A]>, !warp.cursor<read>
        warp.release %s : !warp.slot<read, [!A]>
      }
      // expected-error @below {{has no lowering to hopper: the replicas of the kernel's groups need 16 named barriers, a block has 15 beside its own}}
      warp.group @more warps 2 (%g) {
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%q] : !warp.ring<1, [!A]>, !warp.cursor<read>
        warp.release %s : !warp.slot<read, [!A]>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_splat(%l: memref<?xf32>) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %x = tile.load %l[%c0] : memref<?xf32> -> tensor<64xf32, #tile.slice<1, #tile.acc>>
        // expected-error @below {{has no lowering to hopper: it is no splat}}
        %some = arith.constant dense<"0xAAAAAAAAAAAAAAAA"> : tensor<64xi1, #tile.slice<1, #tile.acc>>
        %y = arith.select %some, %x, %x : tensor<64xi1, #tile.slice<1, #tile.acc>>, tensor<64xf32, #tile.slice<1, #tile.acc>>
        tile.store %y, %l[%c0] : tensor<64xf32, #tile.slice<1, #tile.acc>>, memref<?xf32>
      }
    }
    gpu.return
  }
}

// -----

// Rows and columns of a left operand in registers change places: other threads
// would hold them.
!A = tensor<64x64xf16, #tile.smem<128>>
!a = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  gpu.func @order(%a: !a, %c: memref<?x?xf32>) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %w = warp.cursor write %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<1, [!A]>, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
        tile.load.async %a[%c0, %c0], %v : !a, !tile.view<!A>
        warp.publish %s : !warp.slot<write, [!A]>
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32, #tile.acc>
        %p = arith.constant dense<1.0> : tensor<64x64xf16, #tile.acc>
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%q] : !warp.ring<1, [!A]>, !warp.cursor<read>
        %y = tile.view %s[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        // expected-error @below {{has no wgmma: the layout of lhs in registers is not that of the A operand, and no conversion exists}}
        %d, %done = tile.dot.async %p, %y, %zero lhs km rhs nk : tensor<64x64xf16, #tile.acc>, !tile.view<!A>, tensor<64x64xf32, #tile.acc> -> !tile.pending<tensor<64x64xf32, #tile.acc>>
        %e = tile.await %d : !tile.pending<tensor<64x64xf32, #tile.acc>>
        warp.release %s after %done : !warp.slot<read, [!A]>
        tile.store %e, %c[%c0, %c0] : tensor<64x64xf32, #tile.acc>, memref<?x?xf32>
      }
    }
    gpu.return
  }
}

// -----

// Tiles that CTAs share out: one loop to each group, over all of them.
gpu.module @m {
  gpu.func @claimer(%n: index) kernel {
    warp.specialize {
      // expected-error @below {{has no lowering to hopper: expects a group of one warp and one replica that claims tiles for all}}
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %share = tile.share %n
        scf.for %i = %c0 to %share step %c1 {
          %t = tile.claim %i of %n
        }
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @twice(%n: index) kernel {
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %share = tile.share %n
        scf.for %i = %c0 to %share step %c1 {
          %t = tile.claim %i of %n
        }
      }
    }
    // expected-error @below {{has no lowering to hopper: a kernel shares out tiles once}}
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %share = tile.share %n
        scf.for %i = %c0 to %share step %c1 {
          %t = tile.claim %i of %n
        }
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @inner(%n: index) kernel {
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %share = tile.share %n
        scf.for %j = %c0 to %n step %c1 {
          // expected-error @below {{has no lowering to hopper: a loop over the tiles of a CTA is expected to be outermost in its group}}
          scf.for %i = %c0 to %share step %c1 {
            %t = tile.claim %i of %n
          }
        }
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @start(%n: index) kernel {
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c1 = arith.constant 1 : index
        %share = tile.share %n
        // expected-error @below {{has no lowering to hopper: a loop over the tiles of a CTA is expected to start at 0, with step 1}}
        scf.for %i = %c1 to %share step %c1 {
          %t = tile.claim %i of %n
        }
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @number(%n: index) kernel {
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %share = tile.share %n
        scf.for %i = %c0 to %share step %c1 {
          %t = tile.claim %i of %n
          // expected-error @below {{has no lowering to hopper: the number of a tile within its CTA is used by 'tile.claim' only}}
          %twice = arith.addi %i, %i : index
        }
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @elsewhere(%n: index) kernel {
    warp.specialize {
      warp.group @load warps 1 (%g) {
        // expected-error @below {{has no lowering to hopper: expects the number of a loop up to 'tile.share'}}
        %t = tile.claim %n of %n
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @argument(%k: !tile.view<tensor<64x16xf16>>, %o: memref<?x?xf16>) kernel {
    %c0 = arith.constant 0 : index
    warp.specialize {
      warp.group @math warps 4 (%g) {
        // expected-error @below {{has no lowering to hopper: expects views that are results of 'tile.view'}}
        %x = tile.read %k : !tile.view<tensor<64x16xf16>> -> tensor<64x16xf16, #tile.acc>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @half_of_the_turns() kernel {
    // expected-error @below {{has no lowering to hopper: expects a ring of tokens between groups, with one part and all or none of its entries initial, got '!warp.ring<2, [!warp.token], initial = 1>'}}
    %r = warp.ring : !warp.ring<2, [!warp.token], initial = 1>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @written_scalars(%p: memref<?xf32>) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        // expected-note @below {{one is read here}}
        %x = tile.scalar_load %p[%c0] : memref<?xf32>
        %y = tensor.splat %x : tensor<64xf32, #tile.slice<1, #tile.acc>>
        // expected-error @below {{'tile.store' op writes an array of which the launch reads scalars, which are to be the same in all groups}}
        tile.store %y, %p[%c0] : tensor<64xf32, #tile.slice<1, #tile.acc>>, memref<?xf32>
      }
    }
    gpu.return
  }
}
