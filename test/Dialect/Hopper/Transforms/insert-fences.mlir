// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-insert-fences)))' --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-insert-fences,hopper-insert-fences)))' --split-input-file --verify-diagnostics | FileCheck %s
// RUN: %stages-window --pass hopper-insert-fences --run=--completion=random --run=--schedule-seed=2 --after=--require-fences

#acc = #hopper.fragment<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
!buf = !hopper.buffer<1, tensor<64x64xf16>, 128>
!map = !hopper.tensormap<[64, 64], f16, 128>
!desc = !hopper.desc<64, f16, 128, k>
!frag = !hopper.inflight<vector<32xf32>>

gpu.module @m {
  // Staging of a store: one fence before the barrier that lets the elected thread go.
  // CHECK-LABEL: @staging
  gpu.func @staging(%x: vector<32xf16>, %map: !map, %i: i32) kernel {
    %b = hopper.smem.alloc : !buf
    // CHECK: hopper.smem.store
    // CHECK-NEXT: hopper.smem.store
    // CHECK-NEXT: hopper.fence.proxy_async
    // CHECK-NEXT: hopper.named_barrier.sync
    // CHECK-NEXT: hopper.tma.store
    // CHECK-NOT: fence
    hopper.smem.store %x to %b[%i, %i, %i] of #acc : vector<32xf16>, !buf
    hopper.smem.store %x to %b[%i, %i, %i] of #acc : vector<32xf16>, !buf
    hopper.named_barrier.sync %i threads 128
    hopper.tma.store %b[%i, %i, %i] to %map[%i, %i] : !buf, !map
    hopper.named_barrier.sync %i threads 128
    gpu.return
  }

  // Threads that read what threads wrote: no fence.
  // CHECK-LABEL: @generic_only
  gpu.func @generic_only(%x: vector<32xf16>, %i: i32) kernel {
    // CHECK-NOT: fence
    %b = hopper.smem.alloc : !buf
    hopper.smem.store %x to %b[%i, %i, %i] of #acc : vector<32xf16>, !buf
    hopper.named_barrier.sync %i threads 128
    %y = hopper.smem.load %b[%i, %i, %i] of #acc : !buf -> vector<32xf16>
    gpu.return
  }

  // A product reads its operand without a barrier between.
  // CHECK-LABEL: @product
  gpu.func @product(%x: vector<32xf16>, %i: i32) kernel {
    %b = hopper.smem.alloc : !buf
    %d = hopper.desc %b[%i, %i, %i] : !buf -> !desc
    // CHECK: hopper.smem.store
    // CHECK: hopper.fence.proxy_async
    // CHECK-NEXT: hopper.wgmma.mma
    hopper.smem.store %x to %b[%i, %i, %i] of #acc : vector<32xf16>, !buf
    %y = hopper.wgmma.mma %d, %d m 64 n 64 k 64 : !desc, !desc -> !frag
    gpu.return
  }

  // A tile that threads read and another group refills: a fence of reads. The
  // release of a tile that only products read needs none.
  // CHECK-LABEL: @refill
  gpu.func @refill(%map: !map, %i: i32, %n: index) kernel {
    %b = hopper.smem.alloc : !buf
    %k = hopper.smem.alloc : !buf
    %full = hopper.barrier.alloc : !hopper.barrier<1, 1>
    %empty = hopper.barrier.alloc : !hopper.barrier<1, 1>
    %kempty = hopper.barrier.alloc : !hopper.barrier<1, 1>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    warp.specialize {
      // CHECK: warp.group @load
      // CHECK-NOT: fence
      warp.group @load warps 1 (%g) {
        scf.for %j = %c0 to %n step %c1 {
          hopper.barrier.wait %empty[%i] parity %i : !hopper.barrier<1, 1>
          hopper.barrier.expect_tx %full[%i], 8192 : !hopper.barrier<1, 1>
          hopper.tma.load %map[%i, %i] to %b[%i, %i, %i] signal %full[%i] : !map, !buf, !hopper.barrier<1, 1>
          hopper.tma.load %map[%i, %i] to %k[%i, %i, %i] signal %full[%i] : !map, !buf, !hopper.barrier<1, 1>
        }
      }
      // CHECK: warp.group @math
      warp.group @math warps 4 (%g) {
        scf.for %j = %c0 to %n step %c1 {
          %d = hopper.desc %k[%i, %i, %i] : !buf -> !desc
          %y = hopper.wgmma.mma %d, %d m 64 n 64 k 64 : !desc, !desc -> !frag
          // CHECK: hopper.wgmma.wait
          // CHECK-NEXT: hopper.barrier.arrive
          %gr = hopper.wgmma.commit
          %v = hopper.wgmma.wait %gr inflight(%y : !frag)
          hopper.barrier.arrive %kempty[%i] : !hopper.barrier<1, 1>
          // CHECK: hopper.smem.load
          // CHECK-NEXT: hopper.fence.acq_rel
          // CHECK-NEXT: hopper.barrier.arrive
          %x = hopper.smem.load %b[%i, %i, %i] of #acc : !buf -> vector<32xf16>
          hopper.barrier.arrive %empty[%i] : !hopper.barrier<1, 1>
        }
      }
    }
    gpu.return
  }

  // Threads have read one buffer and written another: one fence for both.
  // CHECK-LABEL: @read_and_written
  gpu.func @read_and_written(%map: !map, %i: i32) kernel {
    %b = hopper.smem.alloc : !buf
    %c = hopper.smem.alloc : !buf
    %full = hopper.barrier.alloc : !hopper.barrier<1, 1>
    hopper.tma.load %map[%i, %i] to %b[%i, %i, %i] signal %full[%i] : !map, !buf, !hopper.barrier<1, 1>
    // CHECK: hopper.smem.store
    // CHECK-NEXT: hopper.fence.proxy_async
    // CHECK-NEXT: hopper.named_barrier.sync
    %x = hopper.smem.load %b[%i, %i, %i] of #acc : !buf -> vector<32xf16>
    hopper.smem.store %x to %c[%i, %i, %i] of #acc : vector<32xf16>, !buf
    hopper.named_barrier.sync %i threads 128
    hopper.tma.store %c[%i, %i, %i] to %map[%i, %i] : !buf, !map
    // Nobody else goes on, and a store only reads: nothing to wait for.
    // CHECK: hopper.smem.load
    // CHECK-NEXT: hopper.tma.store
    // CHECK-NOT: fence
    // CHECK: gpu.return
    %y = hopper.smem.load %b[%i, %i, %i] of #acc : !buf -> vector<32xf16>
    hopper.tma.store %b[%i, %i, %i] to %map[%i, %i] : !buf, !map
    gpu.return
  }

  // Threads meet to hand back what they read, then to hand on what they wrote:
  // each fence is in front of its own meeting.
  // CHECK-LABEL: @transpose
  gpu.func @transpose(%map: !map, %i: i32) kernel {
    %b = hopper.smem.alloc : !buf
    %c = hopper.smem.alloc : !buf
    %full = hopper.barrier.alloc : !hopper.barrier<1, 1>
    %empty = hopper.barrier.alloc : !hopper.barrier<1, 1>
    %written = hopper.barrier.alloc : !hopper.barrier<1, 1>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        hopper.barrier.wait %empty[%i] parity %i : !hopper.barrier<1, 1>
        hopper.tma.load %map[%i, %i] to %b[%i, %i, %i] signal %full[%i] : !map, !buf, !hopper.barrier<1, 1>
      }
      // CHECK: warp.group @convert
      // CHECK: hopper.smem.store
      // CHECK-NEXT: hopper.fence.acq_rel
      // CHECK-NEXT: hopper.named_barrier.sync
      // CHECK-NEXT: hopper.barrier.arrive
      // CHECK-NEXT: hopper.fence.proxy_async
      // CHECK-NEXT: hopper.named_barrier.sync
      // CHECK-NEXT: hopper.barrier.arrive
      warp.group @convert warps 4 (%g) {
        %x = hopper.smem.load %b[%i, %i, %i] of #acc : !buf -> vector<32xf16>
        hopper.smem.store %x to %c[%i, %i, %i] of #acc : vector<32xf16>, !buf
        hopper.named_barrier.sync %i threads 128
        hopper.barrier.arrive %empty[%i] : !hopper.barrier<1, 1>
        hopper.named_barrier.sync %i threads 128
        hopper.barrier.arrive %written[%i] : !hopper.barrier<1, 1>
      }
      warp.group @math warps 4 (%g) {
        hopper.barrier.wait %written[%i] parity %i : !hopper.barrier<1, 1>
        %d = hopper.desc %c[%i, %i, %i] : !buf -> !desc
        %y = hopper.wgmma.mma %d, %d m 64 n 64 k 64 : !desc, !desc -> !frag
      }
    }
    gpu.return
  }

  // Nobody who uses the buffer waits for this group: the arrival may reach them
  // through another one. Threads of another group meet with these.
  // CHECK-LABEL: @roundabout
  gpu.func @roundabout(%x: vector<32xf16>, %i: i32) kernel {
    %b = hopper.smem.alloc : !buf
    %c = hopper.smem.alloc : !buf
    %first = hopper.barrier.alloc : !hopper.barrier<1, 1>
    %second = hopper.barrier.alloc : !hopper.barrier<1, 1>
    warp.specialize {
      // CHECK: warp.group @write
      // CHECK: hopper.smem.store
      // CHECK-NEXT: hopper.fence.proxy_async
      // CHECK-NEXT: hopper.named_barrier.sync %{{.*}} threads 128
      // CHECK-NEXT: hopper.barrier.arrive
      // CHECK: hopper.smem.store
      // CHECK-NEXT: hopper.fence.proxy_async
      // CHECK-NEXT: hopper.named_barrier.sync %{{.*}} threads 256
      warp.group @write warps 4 (%g) {
        hopper.smem.store %x to %b[%i, %i, %i] of #acc : vector<32xf16>, !buf
        hopper.named_barrier.sync %i threads 128
        hopper.barrier.arrive %first[%i] : !hopper.barrier<1, 1>
        hopper.smem.store %x to %c[%i, %i, %i] of #acc : vector<32xf16>, !buf
        hopper.named_barrier.sync %i threads 256
      }
      warp.group @pass warps 1 (%g) {
        hopper.barrier.wait %first[%i] parity %i : !hopper.barrier<1, 1>
        hopper.barrier.arrive %second[%i] : !hopper.barrier<1, 1>
      }
      warp.group @math warps 4 (%g) {
        hopper.barrier.wait %second[%i] parity %i : !hopper.barrier<1, 1>
        %d = hopper.desc %b[%i, %i, %i] : !buf -> !desc
        %e = hopper.desc %c[%i, %i, %i] : !buf -> !desc
        hopper.named_barrier.sync %i threads 256
        %y = hopper.wgmma.mma %d, %e m 64 n 64 k 64 : !desc, !desc -> !frag
      }
    }
    gpu.return
  }

  // Written at the end of an iteration, published at the start of the next.
  // CHECK-LABEL: @around_the_loop
  gpu.func @around_the_loop(%x: vector<32xf16>, %map: !map, %i: i32, %n: index) kernel {
    %b = hopper.smem.alloc : !buf
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: scf.for
    // CHECK-NEXT: hopper.fence.proxy_async
    // CHECK-NEXT: hopper.named_barrier.sync
    scf.for %j = %c0 to %n step %c1 {
      hopper.named_barrier.sync %i threads 128
      hopper.tma.store %b[%i, %i, %i] to %map[%i, %i] : !buf, !map
      hopper.tma.commit
      hopper.tma.wait_read pending 0
      hopper.smem.store %x to %b[%i, %i, %i] of #acc : vector<32xf16>, !buf
    }
    // CHECK: hopper.fence.proxy_async
    // CHECK-NEXT: hopper.tma.store
    hopper.tma.store %b[%i, %i, %i] to %map[%i, %i] : !buf, !map
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @unknown_buffer(%b: !hopper.buffer<1, tensor<64x64xf16>, 128>, %i: i32) kernel {
    // expected-error@+1 {{expects a buffer that is the result of a 'hopper.smem.alloc'}}
    %d = hopper.desc %b[%i, %i, %i] : !hopper.buffer<1, tensor<64x64xf16>, 128> -> !hopper.desc<64, f16, 128, k>
    gpu.return
  }
}
