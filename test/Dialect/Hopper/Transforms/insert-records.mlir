// RUN: fa3-opt %s --hopper-insert-records=capacity=64 --split-input-file --verify-diagnostics | FileCheck %s

// A loop and a branch carry the position; every replica has a row of its own.

// CHECK: func.func @host(%{{.*}}: index, %{{.*}}: memref<?x?xf16, strided<[?, 1]>> {tile.name = "k"}, %[[RECORDS:.*]]: memref<1x3x64xi64>
// CHECK-SAME: hopper.records = {events = [{kind = "role", name = "load", phase = "begin"}
// CHECK-SAME: {barrier = 0 : i64, kind = "wait", name = "space for k", phase = "begin"}
// CHECK-SAME: {barrier = 1 : i64, bytes = 16384 : i64, kind = "copy", name = "k", phase = "instant"}
// CHECK-SAME: {barrier = 1 : i64, kind = "wait", name = "k", phase = "end"}
// CHECK-SAME: {barrier = 0 : i64, kind = "arrive", name = "space for k", phase = "instant"}
// CHECK-SAME: groups = ["load", "math 0", "math 1"]
// CHECK-SAME: tile.name = "records"
func.func @host(%n: index, %k: memref<?x?xf16, strided<[?, 1]>> {tile.name = "k"}) {
  %map = hopper.tensormap.encode %k : memref<?x?xf16, strided<[?, 1]>> -> <[128, 64], f16, 128>
  // CHECK: %[[ADDRESS:.*]] = hopper.address %[[RECORDS]]
  // CHECK: hopper.launch @m::@kernel {{.*}} args(%{{.*}}, %[[ADDRESS]] : {{.*}}, !llvm.ptr<1>)
  hopper.launch @m::@kernel blocks %n threads 384 smem 16400 args(%map : !hopper.tensormap<[128, 64], f16, 128>)
  return
}
gpu.module @m {
  // CHECK: gpu.func @kernel(%{{.*}}: !hopper.tensormap<[128, 64], f16, 128>, %[[P:.*]]: !llvm.ptr<1>)
  gpu.func @kernel(%map: !hopper.tensormap<[128, 64], f16, 128>) kernel {
    %buffer = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<128x64xf16>, 128>
    %empty = hopper.barrier.alloc offset 16384 : !hopper.barrier<1, 2>
    %full = hopper.barrier.alloc offset 16392 : !hopper.barrier<1, 1>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %true = arith.constant true
    warp.specialize {
      // CHECK: warp.group @load
      warp.group @load warps 1 at 0 (%g) {
        // CHECK-NEXT: hopper.setmaxnreg decrease 24
        hopper.setmaxnreg decrease 24
        // CHECK: %[[BLOCK:.*]] = arith.index_cast %{{.*}} : index to i32
        // CHECK: %[[HAS:.*]] = arith.cmpi slt, %[[BLOCK]], %{{.*}}
        // CHECK: %[[START:.*]] = arith.select %[[HAS]]
        // CHECK: %[[BEGUN:.*]] = hopper.record 0 at %[[START]] in %[[P]] capacity 64
        // CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[IN:.*]] = %[[BEGUN]]) -> (i32, i32)
        %end = scf.for %i = %c0 to %c8 step %c1 iter_args(%parity = %c1) -> (i32) : i32 {
          // CHECK: %[[W0:.*]] = hopper.record 1 at %[[IN]]
          // CHECK-NEXT: hopper.barrier.wait
          hopper.barrier.wait %empty[%c0] parity %parity : !hopper.barrier<1, 2>
          // CHECK-NEXT: %[[W1:.*]] = hopper.record 2 at %[[W0]]
          // CHECK-NEXT: %[[C:.*]] = hopper.record 3 at %[[W1]]
          // CHECK-NEXT: hopper.barrier.expect_tx
          hopper.barrier.expect_tx %full[%c0], 16384 : !hopper.barrier<1, 1>
          hopper.tma.load %map[%c0, %c0] to %buffer[%c0, %c0, %c0] signal %full[%c0]
            : !hopper.tensormap<[128, 64], f16, 128>, !hopper.buffer<1, tensor<128x64xf16>, 128>, !hopper.barrier<1, 1>
          %next = arith.xori %parity, %c1 : i32
          // CHECK: scf.yield %{{.*}}, %[[C]]
          scf.yield %next : i32
        }
        // CHECK: hopper.record 4 at %[[LOOP]]#1
      }
      // CHECK: warp.group @math {{.*}}(%[[G:.*]])
      warp.group @math warps 4 replicas 2 at 4 (%g) {
        // CHECK: arith.index_cast %[[G]] : index to i32
        // CHECK: %[[ROLE:.*]] = hopper.record 5
        // CHECK: %[[IF:.*]] = scf.if %{{.*}} -> (i32) {
        scf.if %true {
          // CHECK: hopper.record 6 at %[[ROLE]]
          hopper.barrier.wait %full[%c0] parity %c0 : !hopper.barrier<1, 1>
          // CHECK: hopper.record 8
          // CHECK-NEXT: hopper.barrier.arrive
          hopper.barrier.arrive %empty[%c0] : !hopper.barrier<1, 2>
          // CHECK: scf.yield %{{.*}} : i32
        // CHECK: } else {
        // CHECK-NEXT: scf.yield %[[ROLE]] : i32
        }
        // CHECK: hopper.record 9 at %[[IF]]
      }
    }
    gpu.return
  }
}

// -----

// Products up to a commit are one issue, from the fence in front of them.
func.func @host(%n: index) {
  hopper.launch @m::@kernel blocks %n threads 128 smem 32768 args()
  return
}
gpu.module @m {
  gpu.func @kernel() kernel {
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
        %c0 = arith.constant 0 : i32
        %buffer = hopper.smem.alloc offset 0 : !hopper.buffer<2, tensor<64x64xf16>, 128>
        %d = hopper.desc %buffer[%c0, %c0, %c0] : !hopper.buffer<2, tensor<64x64xf16>, 128> -> <64, f16, 128, k>
        // CHECK: hopper.record 1
        // CHECK-NEXT: hopper.wgmma.fence
        hopper.wgmma.fence
        // CHECK-NEXT: hopper.wgmma.mma
        %s = hopper.wgmma.mma %d, %d m 64 n 64 k 64 : !hopper.desc<64, f16, 128, k>, !hopper.desc<64, f16, 128, k> -> !hopper.inflight<vector<32xf32>>
        // CHECK-NEXT: hopper.wgmma.commit
        %g0 = hopper.wgmma.commit
        // CHECK-NEXT: hopper.record 2
        // CHECK-NEXT: hopper.record 3
        // CHECK-NEXT: hopper.wgmma.wait
        %v = hopper.wgmma.wait %g0 inflight(%s : !hopper.inflight<vector<32xf32>>) pending 0
        // CHECK-NEXT: hopper.record 4
        // Nothing is executed here, so nothing is recorded.
        // CHECK-NEXT: hopper.wgmma.wait
        hopper.wgmma.wait %g0 pending -1
        // CHECK-NEXT: hopper.record 5
      }
    }
    gpu.return
  }
}

// -----

func.func @host(%n: index) {
  hopper.launch @m::@kernel blocks %n threads 128 smem 0 args()
  return
}
gpu.module @m {
  // expected-remark @+1 {{has no groups, nothing is recorded}}
  gpu.func @kernel() kernel {
    gpu.return
  }
}
