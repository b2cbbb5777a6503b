// RUN: fa3-opt %s -tile-to-hopper -split-input-file | FileCheck %s
// Sums of rows are added in another order.
// RUN: %stages-window --pass tile-to-hopper --step 1e-5 --run=--completion=random --run=--schedule-seed=3
// RUN: %stages-chain --pass tile-to-hopper
// RUN: %stages-gemm --pass tile-to-hopper
// RUN: %stages-gemm --pass tile-to-hopper --options 'max-depth=3 store=direct mode=static'

!A = tensor<64x64xf16, #tile.smem<128>>
!a = memref<?x?xf16, strided<[?, 1]>>

// The launch gets what the kernel takes: maps, addresses, extents, strides.
// CHECK-LABEL: func.func @host(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x?xf16, strided<[?, 1]>>, %[[C:[a-z0-9]+]]: memref<?x?xf32>, %[[N:[a-z0-9]+]]: index)
// CHECK: %[[MAP:.*]] = hopper.tensormap.encode %[[A]] : {{.*}} -> <[64, 64], f16, 128>
// CHECK: hopper.address %[[C]]
// CHECK: hopper.launch @m::@ring blocks %[[N]] threads {{[0-9]+}} smem 0 args({{.*}}%[[MAP]]{{.*}} cost(%[[N]], %[[N]])
func.func @host(%a: !a, %c: memref<?x?xf32>, %n: index) {
  tile.launch @m::@ring blocks %n args(%a, %c, %n : !a, memref<?x?xf32>, index) cost(%n, %n)
  return
}

gpu.module @m {
  // A ring: a buffer and two barriers. The writer waits for the empty slot with
  // the inverse parity and announces the bytes; the readers, two replicas, wait
  // for the full slot and arrive when the product has retired. Slot and parity
  // of a ring of two change by exclusive or.
  // CHECK-LABEL: gpu.func @ring(
  // CHECK-SAME: !hopper.tensormap<[64, 64], f16, 128>
  // CHECK: %[[BUF:.*]] = hopper.smem.alloc : <2, tensor<64x64xf16>, 128>
  // CHECK: %[[FULL:.*]] = hopper.barrier.alloc : <2, 1>
  // CHECK: %[[EMPTY:.*]] = hopper.barrier.alloc : <2, 2>
  // CHECK: hopper.barrier.init %[[FULL]], %[[EMPTY]]
  // CHECK-NEXT: gpu.barrier
  // CHECK: warp.group @load
  // CHECK: scf.for {{.*}} iter_args(%[[I:.*]] = %c0_i32{{[_0-9]*}}, %[[P:.*]] = %c1_i32{{[_0-9]*}}) -> (i32, i32) : i32
  // CHECK: hopper.barrier.wait %[[EMPTY]][%[[I]]] parity %[[P]]
  // CHECK: hopper.barrier.expect_tx %[[FULL]][%[[I]]], 8192
  // CHECK: %[[NI:.*]] = arith.xori %[[I]], %{{.*}}
  // CHECK: %[[NP:.*]] = arith.xori %[[P]], %[[I]]
  // CHECK: hopper.tma.load %{{.*}} to %[[BUF]][%[[I]], {{.*}}] signal %[[FULL]][%[[I]]]
  // CHECK: scf.yield %[[NI]], %[[NP]]
  // CHECK: warp.group @math warps 4 replicas 2
  // CHECK: hopper.inflight.ready
  // CHECK: hopper.group.ready
  // CHECK: scf.for {{.*}} iter_args(%[[ACC:[a-z0-9]+]] = {{.*}}) -> (!hopper.inflight<vector<32xf32>>, !hopper.group, i32, i32)
  // CHECK: hopper.barrier.wait %[[FULL]][%[[J:.*]]] parity
  // CHECK: %[[D:.*]] = hopper.desc %[[BUF]][%[[J]],
  // CHECK: hopper.wgmma.fence
  // CHECK: %[[R:.*]] = hopper.wgmma.mma {{.*}} acc %[[ACC]] : {{.*}} m 64 n 64 k 64
  // CHECK: %[[G:.*]] = hopper.wgmma.commit
  // CHECK: hopper.wgmma.wait %[[G]]
  // CHECK-NEXT: hopper.barrier.arrive %[[EMPTY]][%[[J]]]
  // CHECK: scf.yield %[[R]], %[[G]]
  // CHECK: hopper.wgmma.wait %{{.*}} inflight(%{{.*}}
  // CHECK: hopper.fragment.store
  gpu.func @ring(%a: !a, %c: memref<?x?xf32>, %n: index) kernel {
    %r = warp.ring : !warp.ring<2, [!A]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = warp.cursor write %r : !warp.ring<2, [!A]>
        scf.for %t = %c0 to %n step %c1 iter_args(%cw = %w) -> (!warp.cursor<write>) {
          %s, %next = warp.acquire %r[%cw] : !warp.ring<2, [!A]>, !warp.cursor<write>
          %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
          tile.load.async %a[%t, %c0], %v : !a, !tile.view<!A>
          warp.publish %s : !warp.slot<write, [!A]>
          scf.yield %next : !warp.cursor<write>
        }
      }
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32, #tile.acc>
        %init = tile.pend %zero : tensor<64x64xf32, #tile.acc> -> !tile.pending<tensor<64x64xf32, #tile.acc>>
        %q = warp.cursor read %r : !warp.ring<2, [!A]>
        %o:2 = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %init, %cq = %q) -> (!tile.pending<tensor<64x64xf32, #tile.acc>>, !warp.cursor<read>) {
          %s, %next = warp.acquire %r[%cq] : !warp.ring<2, [!A]>, !warp.cursor<read>
          %x = tile.view %s[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
          %d, %done = tile.dot.async %x, %x, %acc lhs mk rhs nk : !tile.view<!A>, !tile.view<!A>, !tile.pending<tensor<64x64xf32, #tile.acc>> -> !tile.pending<tensor<64x64xf32, #tile.acc>>
          warp.release %s after %done : !warp.slot<read, [!A]>
          scf.yield %d, %next : !tile.pending<tensor<64x64xf32, #tile.acc>>, !warp.cursor<read>
        }
        %e = tile.await %o#0 : !tile.pending<tensor<64x64xf32, #tile.acc>>
        tile.store %e, %c[%c0, %c0] : tensor<64x64xf32, #tile.acc>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // Depth 1 flips the parity each time; depth 3 counts and wraps around.
  // CHECK-LABEL: gpu.func @depths(
  // CHECK: hopper.barrier.expect_tx {{.*}}, 8192 : <1, 1>
  // CHECK-NEXT: %{{.*}} = arith.constant 1 : i32
  // CHECK-NEXT: arith.xori
  // CHECK: hopper.barrier.expect_tx {{.*}}, 8192 : <3, 1>
  // CHECK: %[[S:.*]] = arith.addi
  // CHECK: %[[WRAPS:.*]] = arith.cmpi eq, %[[S]]
  // CHECK: arith.select %[[WRAPS]]
  // CHECK: %[[FLIP:.*]] = arith.extui %[[WRAPS]]
  // CHECK: arith.xori %{{.*}}, %[[FLIP]]
  gpu.func @depths(%a: !a) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    %r3 = warp.ring : !warp.ring<3, [!A]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %w = warp.cursor write %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<1, [!A]>, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
        tile.load.async %a[%c0, %c0], %v : !a, !tile.view<!A>
        warp.publish %s : !warp.slot<write, [!A]>
        %w3 = warp.cursor write %r3 : !warp.ring<3, [!A]>
        %s3, %next3 = warp.acquire %r3[%w3] : !warp.ring<3, [!A]>, !warp.cursor<write>
        %v3 = tile.view %s3[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
        tile.load.async %a[%c0, %c0], %v3 : !a, !tile.view<!A>
        warp.publish %s3 : !warp.slot<write, [!A]>
      }
      warp.group @math warps 4 (%g) {
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
        %q3 = warp.cursor read %r3 : !warp.ring<3, [!A]>
      }
    }
    gpu.return
  }

  // Threads copy elements of a slot into registers: all have done so before the
  // elected thread hands the slot back, product or not.
  // CHECK-LABEL: gpu.func @reads(
  // CHECK: warp.group @math
  // CHECK: hopper.smem.load
  // CHECK: hopper.wgmma.wait
  // CHECK: hopper.named_barrier.sync %{{.*}} threads 128
  // CHECK-NEXT: hopper.barrier.arrive
  // CHECK: hopper.fragment.store
  gpu.func @reads(%a: !a, %c: memref<?x?xf32>, %o: memref<?x?xf16>) kernel {
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
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%q] : !warp.ring<1, [!A]>, !warp.cursor<read>
        %x = tile.view %s[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %d, %done = tile.dot.async %x, %x, %zero lhs mk rhs nk : !tile.view<!A>, !tile.view<!A>, tensor<64x64xf32, #tile.acc> -> !tile.pending<tensor<64x64xf32, #tile.acc>>
        %e = tile.read %x : !tile.view<!A> -> tensor<64x64xf16, #tile.acc>
        warp.release %s after %done : !warp.slot<read, [!A]>
        %f = tile.await %d : !tile.pending<tensor<64x64xf32, #tile.acc>>
        tile.store %e, %o[%c0, %c0] : tensor<64x64xf16, #tile.acc>, memref<?x?xf16>
        tile.store %f, %c[%c0, %c0] : tensor<64x64xf32, #tile.acc>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // The barrier is for the threads that the replica has.
  // CHECK-LABEL: gpu.func @pairs(
  // CHECK: hopper.named_barrier.sync %{{.*}} threads 64
  // CHECK-NEXT: hopper.barrier.arrive
  // CHECK: hopper.named_barrier.sync %{{.*}} threads 256
  // CHECK-NEXT: hopper.barrier.arrive
  gpu.func @pairs(%a: !a) kernel {
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
      warp.group @two warps 2 (%g) {
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%q] : !warp.ring<1, [!A]>, !warp.cursor<read>
        warp.release %s : !warp.slot<read, [!A]>
      }
      warp.group @eight warps 8 (%g) {
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%q] : !warp.ring<1, [!A]>, !warp.cursor<read>
        warp.release %s : !warp.slot<read, [!A]>
      }
    }
    gpu.return
  }

  // Who has read two slots meets once to give both back, and again for what it
  // reads behind that.
  // CHECK-LABEL: gpu.func @readers(
  // CHECK: warp.group @math
  // CHECK-COUNT-2: hopper.smem.load
  // CHECK: hopper.named_barrier.sync %{{.*}} threads 128
  // CHECK-NEXT: hopper.barrier.arrive
  // CHECK-NEXT: hopper.barrier.arrive
  // CHECK: hopper.smem.load
  // CHECK: hopper.named_barrier.sync %{{.*}} threads 128
  // CHECK-NEXT: hopper.barrier.arrive
  gpu.func @readers(%a: !a) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    %t = warp.ring : !warp.ring<1, [!A]>
    %u = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %w1 = warp.cursor write %r : !warp.ring<1, [!A]>
        %s1, %n1 = warp.acquire %r[%w1] : !warp.ring<1, [!A]>, !warp.cursor<write>
        %v1 = tile.view %s1[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
        tile.load.async %a[%c0, %c0], %v1 : !a, !tile.view<!A>
        warp.publish %s1 : !warp.slot<write, [!A]>
        %w2 = warp.cursor write %t : !warp.ring<1, [!A]>
        %s2, %n2 = warp.acquire %t[%w2] : !warp.ring<1, [!A]>, !warp.cursor<write>
        %v2 = tile.view %s2[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
        tile.load.async %a[%c0, %c0], %v2 : !a, !tile.view<!A>
        warp.publish %s2 : !warp.slot<write, [!A]>
        %w3 = warp.cursor write %u : !warp.ring<1, [!A]>
        %s3, %n3 = warp.acquire %u[%w3] : !warp.ring<1, [!A]>, !warp.cursor<write>
        %v3 = tile.view %s3[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
        tile.load.async %a[%c0, %c0], %v3 : !a, !tile.view<!A>
        warp.publish %s3 : !warp.slot<write, [!A]>
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %q1 = warp.cursor read %r : !warp.ring<1, [!A]>
        %q2 = warp.cursor read %t : !warp.ring<1, [!A]>
        %q3 = warp.cursor read %u : !warp.ring<1, [!A]>
        %s1, %n1 = warp.acquire %r[%q1] : !warp.ring<1, [!A]>, !warp.cursor<read>
        %s2, %n2 = warp.acquire %t[%q2] : !warp.ring<1, [!A]>, !warp.cursor<read>
        %s3, %n3 = warp.acquire %u[%q3] : !warp.ring<1, [!A]>, !warp.cursor<read>
        %v1 = tile.view %s1[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %v2 = tile.view %s2[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %v3 = tile.view %s3[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %x1 = tile.read %v1 : !tile.view<!A> -> tensor<64x64xf16, #tile.acc>
        %x2 = tile.read %v2 : !tile.view<!A> -> tensor<64x64xf16, #tile.acc>
        warp.release %s1 : !warp.slot<read, [!A]>
        warp.release %s2 : !warp.slot<read, [!A]>
        %x3 = tile.read %v3 : !tile.view<!A> -> tensor<64x64xf16, #tile.acc>
        warp.release %s3 : !warp.slot<read, [!A]>
      }
    }
    gpu.return
  }

  // A ring of the replica's own: named barriers, one number per replica, and
  // the wait for the store that last read the slot.
  // CHECK-LABEL: gpu.func @staging(
  // CHECK-NOT: hopper.barrier.alloc
  // CHECK: warp.group @math warps 4 replicas 2 (%[[G:.*]])
  // CHECK: %[[GI:.*]] = arith.index_cast %[[G]]
  // CHECK: hopper.smem.alloc : <1, tensor<64x64xf16>, 128>
  // CHECK: %[[ID:.*]] = arith.addi %[[GI]]
  // CHECK: hopper.tma.wait_read pending 0
  // CHECK-NEXT: hopper.named_barrier.sync %[[ID]] threads 128
  // CHECK: hopper.smem.store
  // CHECK: hopper.named_barrier.sync %[[ID]] threads 128
  // CHECK: hopper.tma.store
  // CHECK-NEXT: hopper.tma.commit
  // CHECK: hopper.tma.wait_read pending 0
  gpu.func @staging(%a: !a) kernel {
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x64xf16, #tile.acc>
        %r = warp.ring : !warp.ring<1, [!A]>
        %w = warp.cursor write %r : !warp.ring<1, [!A]>
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<1, [!A]>, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!A]> -> !tile.view<!A>
        tile.write %x, %v : tensor<64x64xf16, #tile.acc>, !tile.view<!A>
        warp.publish %s : !warp.slot<write, [!A]>
        %h, %after = warp.acquire %r[%q] : !warp.ring<1, [!A]>, !warp.cursor<read>
        %u = tile.view %h[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %d = tile.store.async %u, %a[%c0, %c0] : !tile.view<!A>, !a
        warp.release %h after %d : !warp.slot<read, [!A]>
      }
    }
    gpu.return
  }

  // Tiles are the registers of one thread: 64 x 32 are 16 registers of each of
  // 128 threads, a statistic of rows two. Indices have 32 bits.
  // CHECK-LABEL: gpu.func @elementwise(
  // CHECK: %[[X:.*]] = hopper.fragment.load {{.*}} vector<16xf32>
  // CHECK: arith.cmpi sle, {{.*}} : vector<16xi32>
  // CHECK: arith.select {{.*}} : vector<16xi1>, vector<16xf32>
  // CHECK: hopper.fragment.reduce max {{.*}} : vector<16xf32> -> vector<2xf32>
  // CHECK: hopper.lane.reduce max {{.*}} over [0, 1] : vector<2xf32>
  // CHECK: vector.shuffle {{.*}} : vector<2xf32>, vector<2xf32>
  // CHECK: arith.truncf {{.*}} : vector<16xf32> to vector<16xf16>
  gpu.func @elementwise(%p: memref<?x?xf32>, %o: memref<?x?xf16>, %i0: index) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %x = tile.load %p[%i0, %c0] : memref<?x?xf32> -> tensor<64x32xf32, #tile.acc>
        %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.acc>
        %i = tile.coord dim 0 offset %i0 : tensor<64x32xindex, #tile.acc>
        %j = tile.coord dim 1 offset %c0 : tensor<64x32xindex, #tile.acc>
        %keep = arith.cmpi sle, %j, %i : tensor<64x32xindex, #tile.acc>
        %y = arith.select %keep, %x, %zero : tensor<64x32xi1, #tile.acc>, tensor<64x32xf32, #tile.acc>
        %m = tile.reduce max %y dim 1 : tensor<64x32xf32, #tile.acc> -> tensor<64xf32, #tile.slice<1, #tile.acc>>
        %w = tile.broadcast %m dim 1 : tensor<64xf32, #tile.slice<1, #tile.acc>> -> tensor<64x32xf32, #tile.acc>
        %h = arith.truncf %w : tensor<64x32xf32, #tile.acc> to tensor<64x32xf16, #tile.acc>
        tile.store %h, %o[%i0, %c0] : tensor<64x32xf16, #tile.acc>, memref<?x?xf16>
      }
    }
    gpu.return
  }
}

// -----

// Padding: 72 columns of 16 bits are two blocks of 128 bytes. The product runs
// over 80, what is beyond 72 is zero on both sides.
!P = tensor<64x72xf16, #tile.smem<128>>
!a = memref<?x72xf16, strided<[?, 1]>>
gpu.module @m {
  // CHECK-LABEL: gpu.func @padded(
  // CHECK: hopper.smem.alloc : <1, tensor<64x128xf16>, 128>
  // CHECK: hopper.barrier.expect_tx {{.*}}, 16384
  // CHECK-COUNT-2: hopper.tma.load
  // CHECK: hopper.wgmma.mma {{.*}} m 64 n 64 k 80
  gpu.func @padded(%a: !a, %c: memref<?x?xf32>) kernel {
    %r = warp.ring : !warp.ring<1, [!P]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %w = warp.cursor write %r : !warp.ring<1, [!P]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<1, [!P]>, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!P]> -> !tile.view<!P>
        tile.load.async %a[%c0, %c0], %v : !a, !tile.view<!P>
        warp.publish %s : !warp.slot<write, [!P]>
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32, #tile.acc>
        %q = warp.cursor read %r : !warp.ring<1, [!P]>
        %s, %next = warp.acquire %r[%q] : !warp.ring<1, [!P]>, !warp.cursor<read>
        %x = tile.view %s[%c0, %c0] : !warp.slot<read, [!P]> -> !tile.view<!P>
        %d, %done = tile.dot.async %x, %x, %zero lhs mk rhs nk : !tile.view<!P>, !tile.view<!P>, tensor<64x64xf32, #tile.acc> -> !tile.pending<tensor<64x64xf32, #tile.acc>>
        %e = tile.await %d : !tile.pending<tensor<64x64xf32, #tile.acc>>
        warp.release %s after %done : !warp.slot<read, [!P]>
        tile.store %e, %c[%c0, %c0] : tensor<64x64xf32, #tile.acc>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // Rows of two dimensions of the array: boxes have both, and fragments of
  // threads do.
  // CHECK-LABEL: gpu.func @fold(
  // CHECK: hopper.tma.load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] {{.*}} : <[1, 16, 4, 64], f16, 128>
  // Quotients and remainders of coordinates are coordinates of those two; other
  // divisions are what they are.
  // CHECK: %[[FIRST:.*]] = arith.divui %{{.*}}, %c4_i32 : i32
  // CHECK: hopper.coord dim 0 offset %[[FIRST]] of #fragment_16_4 : vector<2xi32>
  // CHECK: hopper.coord dim 1 offset %c0_i32{{.*}} of #fragment_16_4 : vector<2xi32>
  // CHECK: arith.divui %{{.*}}, %{{.*}} : vector<2xi32>
  // CHECK: hopper.fragment.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] strides{{.*}} bounds(%{{.*}}, %{{.*}}, %{{.*}}) of #[[FOLDED:fragment_16_4_64]]
  // CHECK: hopper.fragment.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] strides{{.*}} bounds(%{{.*}}, %{{.*}}) of #fragment_16_4
  gpu.func @fold(%a: memref<?x?x4x64xf16, strided<[?, ?, ?, 1]>>, %c: memref<?x?x4x64xf32>, %l: memref<?x4xf32>) kernel {
    %r = warp.ring : !warp.ring<1, [tensor<64x64xf16, #tile.smem<128>>]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %w = warp.cursor write %r : !warp.ring<1, [tensor<64x64xf16, #tile.smem<128>>]>
        %s, %next = warp.acquire %r[%w] : !warp.ring<1, [tensor<64x64xf16, #tile.smem<128>>]>, !warp.cursor<write>
        %v = tile.view %s[%c0, %c0] : !warp.slot<write, [tensor<64x64xf16, #tile.smem<128>>]> -> !tile.view<tensor<64x64xf16, #tile.smem<128>>>
        tile.load.async %a[%c0, %c0, %c0, %c0], %v fold 4 : memref<?x?x4x64xf16, strided<[?, ?, ?, 1]>>, !tile.view<tensor<64x64xf16, #tile.smem<128>>>
        warp.publish %s : !warp.slot<write, [tensor<64x64xf16, #tile.smem<128>>]>
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %q = warp.cursor read %r : !warp.ring<1, [tensor<64x64xf16, #tile.smem<128>>]>
        %s, %next = warp.acquire %r[%q] : !warp.ring<1, [tensor<64x64xf16, #tile.smem<128>>]>, !warp.cursor<read>
        warp.release %s : !warp.slot<read, [tensor<64x64xf16, #tile.smem<128>>]>
        %x = arith.constant dense<1.0> : tensor<64x64xf32, #tile.acc>
        %c64 = arith.constant 64 : index
        %first = arith.muli %g, %c64 : index
        %row = tile.coord dim 0 offset %first : tensor<64xindex, #tile.slice<1, #tile.acc>>
        %four = arith.constant dense<4> : tensor<64xindex, #tile.slice<1, #tile.acc>>
        %three = arith.constant dense<3> : tensor<64xindex, #tile.slice<1, #tile.acc>>
        %outer = arith.divui %row, %four : tensor<64xindex, #tile.slice<1, #tile.acc>>
        %inner = arith.remui %row, %four : tensor<64xindex, #tile.slice<1, #tile.acc>>
        %third = arith.divui %row, %three : tensor<64xindex, #tile.slice<1, #tile.acc>>
        %y = arith.constant dense<1.0> : tensor<64xf32, #tile.slice<1, #tile.acc>>
        tile.store %x, %c[%c0, %c0, %c0, %c0] fold 4 : tensor<64x64xf32, #tile.acc>, memref<?x?x4x64xf32>
        tile.store %y, %l[%c0, %c0] fold 4 : tensor<64xf32, #tile.slice<1, #tile.acc>>, memref<?x4xf32>
      }
    }
    gpu.return
  }
}
