// RUN: fa3-run --cpu %s --dims m=150 --against %S/Inputs/fragments-reference.mlir --atol 1e-3 --rtol 1e-6 --require-fences | FileCheck %s
// RUN: fa3-run --cpu %s --dims m=150 --completion eager --against %S/Inputs/fragments-reference.mlir --atol 1e-3 --rtol 1e-6 | FileCheck %s
// RUN: fa3-run --cpu %s --dims m=64 --completion random --schedule-seed 1 --distribution outlier --against %S/Inputs/fragments-reference.mlir --atol 4e-2 --rtol 1e-2 | FileCheck %s

// CHECK: o: max abs
// CHECK-NOT: not written
// CHECK: l: max abs
// CHECK-NOT: not written

// The staging buffer is read by TMA stores that were not waited for, written
// without a fence, stored by lanes that have not finished the reduction.
// RUN: sed 's/hopper.tma.wait_read pending 0//' %s > %t.wait.mlir
// RUN: not fa3-run --cpu %t.wait.mlir --dims m=150 2>&1 | FileCheck %s --check-prefix=WAIT
// WAIT: error: is not waited for before its group ends
// WAIT-NEXT: hopper.tma.store
// RUN: sed 's/hopper.fence.proxy_async//' %s > %t.fence.mlir
// RUN: fa3-run --cpu %t.fence.mlir --dims m=150
// RUN: not fa3-run --cpu %t.fence.mlir --dims m=150 --require-fences 2>&1 | FileCheck %s --check-prefix=FENCE
// FENCE: error: reads byte {{[0-9]+}} of shared memory, which threads have written without 'hopper.fence.proxy_async' since
// RUN: sed 's/lane.reduce add %%lp over \[0, 1\]/lane.reduce add %%lp over [0]/' %s > %t.lanes.mlir
// RUN: not fa3-run --cpu %t.lanes.mlir --dims m=150 2>&1 | FileCheck %s --check-prefix=LANES
// LANES: error: 'hopper.fragment.store' of an element on which threads 0 and 2 differ
// RUN: sed 's/hopper.barrier.wait %%full\[%%z\] parity %%z : !full//' %s > %t.landing.mlir
// RUN: not fa3-run --cpu %t.landing.mlir --dims m=150 2>&1 | FileCheck %s --check-prefix=LANDING
// LANDING: error: 'hopper.smem.load' may read bytes 0 to 8192 of shared memory while a TMA load writes there
// RUN: sed 's/hopper.smem.store .*//' %s > %t.empty.mlir
// RUN: not fa3-run --cpu %t.empty.mlir --dims m=150 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: reads byte 16384 of shared memory, which was never written
// Only the elected thread has waited for the stores; the others know after a barrier.
// RUN: sed '/^ /s/hopper.tma.wait_read pending 0/hopper.tma.wait_read pending 0\nhopper.smem.store %%o16 to %%so[%%z, %%z, %%z] of #f : vector<32xf16>, !out/' %s > %t.again.mlir
// RUN: not fa3-run --cpu %t.again.mlir --dims m=150 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: error: 'hopper.smem.store' writes bytes {{.*}} of shared memory, which was read by an operation that only the elected thread has waited for
// RUN: sed 's/^hopper.smem.store/hopper.named_barrier.sync %%id threads 128\nhopper.smem.store/' %t.again.mlir > %t.met.mlir
// RUN: fa3-run --cpu %t.met.mlir --dims m=150

#f = #hopper.fragment<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
#r = #hopper.fragment<[64], reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]], repeat = []>
!in = !hopper.buffer<1, tensor<64x64xf16>, 128>
!out = !hopper.buffer<1, tensor<64x64xf16>, 64>
!mapIn = !hopper.tensormap<[64, 64], f16, 128>
!mapOut = !hopper.tensormap<[64, 32], f16, 64>
!full = !hopper.barrier<1, 1>
gpu.module @kernels {
  // One warp group does everything; without warp.specialize.
  gpu.func @rows(%x: !mapIn, %v: !mapIn, %o: !mapOut, %l: !llvm.ptr<1>, %m: i32) kernel {
    %sx = hopper.smem.alloc offset 0 : !in
    %sv = hopper.smem.alloc offset 8192 : !in
    %so = hopper.smem.alloc offset 16384 : !out
    %full = hopper.barrier.alloc offset 24576 : !full
    hopper.barrier.init %full : !full
    gpu.barrier
    %block = gpu.block_id x
    %b = arith.index_cast %block : index to i32
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %c64 = arith.constant 64 : i32
    %i0 = arith.muli %b, %c64 : i32
    hopper.barrier.expect_tx %full[%z], 16384 : !full
    hopper.tma.load %x[%i0, %z] to %sx[%z, %z, %z] signal %full[%z] : !mapIn, !in, !full
    hopper.tma.load %v[%z, %z] to %sv[%z, %z, %z] signal %full[%z] : !mapIn, !in, !full
    hopper.barrier.wait %full[%z] parity %z : !full
    %x16 = hopper.smem.load %sx[%z, %z, %z] of #f : !in -> vector<32xf16>
    %x32 = arith.extf %x16 : vector<32xf16> to vector<32xf32>
    %mp = hopper.fragment.reduce max %x32 dim 1 of #f : vector<32xf32> -> vector<2xf32>
    %mx = hopper.lane.reduce max %mp over [0, 1] : vector<2xf32>
    // A value per row as one per element: registers 0, 1 are of row 0, then 2, 3
    // of row 8.
    %mb = vector.shuffle %mx, %mx [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1] : vector<2xf32>, vector<2xf32>
    %d = arith.subf %x32, %mb : vector<32xf32>
    %p = math.exp2 %d : vector<32xf32>
    // Warps double where some row of theirs has a positive maximum.
    %zero = arith.constant dense<0.0> : vector<32xf32>
    %grow = arith.cmpf ogt, %mb, %zero : vector<32xf32>
    %some = hopper.vote.any %grow : vector<32xi1>
    %p1 = hopper.warp_if %some else %p : vector<32xf32> {
      %two = arith.constant dense<2.0> : vector<32xf32>
      %dbl = arith.mulf %p, %two : vector<32xf32>
      %sel = arith.select %grow, %dbl, %p : vector<32xi1>, vector<32xf32>
      hopper.yield %sel : vector<32xf32>
    }
    // Row sums by way of two partial sums per row and thread.
    %l8 = hopper.fragment.reduce add %p1 dim 1 modulo 8 of #f : vector<32xf32> -> vector<4xf32>
    %la = vector.shuffle %l8, %l8 [0, 2] : vector<4xf32>, vector<4xf32>
    %e:4 = vector.to_elements %l8 : vector<4xf32>
    %lb = vector.from_elements %e#1, %e#3 : vector<2xf32>
    %lp = arith.addf %la, %lb : vector<2xf32>
    %ls = hopper.lane.reduce add %lp over [0, 1] : vector<2xf32>
    %s1 = arith.constant 1 : i64
    hopper.fragment.store %ls, %l[%i0] strides(%s1) bounds(%m) of #r : vector<2xf32>
    // The fragment is the A operand of the product as it is.
    %p16 = arith.truncf %p1 : vector<32xf32> to vector<32xf16>
    %a = hopper.wgmma.fence (%p16 : vector<32xf16>)
    %dv = hopper.desc %sv[%z, %z, %z] : !in -> !hopper.desc<64, f16, 128, mn>
    %of = hopper.wgmma.mma %a, %dv m 64 n 64 k 64 : vector<32xf16>, !hopper.desc<64, f16, 128, mn> -> !hopper.inflight<vector<32xf32>>
    %g = hopper.wgmma.commit
    %o32 = hopper.wgmma.wait %g inflight(%of : !hopper.inflight<vector<32xf32>>) pending 0
    %o16 = arith.truncf %o32 : vector<32xf32> to vector<32xf16>
    hopper.smem.store %o16 to %so[%z, %z, %z] of #f : vector<32xf16>, !out
    hopper.fence.proxy_async
    %id = arith.constant 1 : i32
    hopper.named_barrier.sync %id threads 128
    hopper.tma.store %so[%z, %z, %z] to %o[%i0, %z] : !out, !mapOut
    hopper.tma.store %so[%z, %z, %c32] to %o[%i0, %c32] : !out, !mapOut
    hopper.tma.commit
    hopper.tma.wait_read pending 0
    gpu.return
  }
}

func.func @rows(%x: memref<?x64xf16> {tile.name = "x", tile.dims = ["m", "n"]},
                %v: memref<64x64xf16> {tile.name = "v", tile.dims = ["n", "d"]},
                %o: memref<?x64xf16> {tile.name = "o", tile.dims = ["m", "d"]},
                %l: memref<?xf32> {tile.name = "l", tile.dims = ["m"]}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %m = memref.dim %x, %c0 : memref<?x64xf16>
  %blocks = arith.ceildivsi %m, %c64 : index
  %mx = hopper.tensormap.encode %x : memref<?x64xf16> -> !mapIn
  %mv = hopper.tensormap.encode %v : memref<64x64xf16> -> !mapIn
  %mo = hopper.tensormap.encode %o : memref<?x64xf16> -> !mapOut
  %pl = hopper.address %l : memref<?xf32>
  %m32 = arith.index_cast %m : index to i32
  hopper.launch @kernels::@rows blocks %blocks threads 128 smem 24584
    args(%mx, %mv, %mo, %pl, %m32 : !mapIn, !mapIn, !mapOut, !llvm.ptr<1>, i32)
  return
}
