// A bug that is reported of compilers that pipeline loops: the part before the
// loop takes two entries ahead without asking whether there are two. With one
// iteration the kernel hangs; with more it is right.

// RUN: fa3-run --cpu %s --dims rows=64,columns=128 --explore 100000
// RUN: fa3-run --cpu %s --dims rows=64,columns=448 --explore 100000
// RUN: not fa3-run --cpu %s --dims rows=64,columns=64 2>&1 | FileCheck %s
// CHECK: error: deadlock: the only group left waits forever
// CHECK: note: @copy waits here: for phase 0 of mbarrier 1 at byte 16392, 1 arrivals and 0 bytes are missing

// Found for all sizes without running.
// RUN: not fa3-opt %s -hopper-check-protocol -o /dev/null 2>&1 | FileCheck %s --check-prefix=STATIC
// STATIC: error: is not balanced: 'copy' waits 2 times more than 'load' arrives

#tile = #hopper.fragment<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
!map = !hopper.tensormap<[64, 64], f16, 128>
!buffer = !hopper.buffer<2, tensor<64x64xf16>, 128>
!bar = !hopper.barrier<2, 1>
!array = memref<?x?xf16>
!v = vector<32xf16>
gpu.module @kernels {
  gpu.func @copy(%x: !map, %y: !llvm.ptr<1>, %chunks: i32, %rows: i32, %columns: i32, %stride: i64) kernel {
    %buffer = hopper.smem.alloc offset 0 : !buffer
    %full = hopper.barrier.alloc offset 16384 : !bar
    %empty = hopper.barrier.alloc offset 16400 : !bar
    hopper.barrier.init %full, %empty : !bar, !bar
    gpu.barrier
    %block = gpu.block_id x
    %tile = arith.index_cast %block : index to i32
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %c64 = arith.constant 64 : i32
    %i = arith.muli %tile, %c64 : i32
    warp.specialize {
      warp.group @load warps 1 at 0 (%g) {
        %r:2 = scf.for %l = %z to %chunks step %one iter_args(%slot = %z, %par = %one) -> (i32, i32) : i32 {
          %j = arith.muli %l, %c64 : i32
          hopper.barrier.wait %empty[%slot] parity %par : !bar
          hopper.barrier.expect_tx %full[%slot], 8192 : !bar
          hopper.tma.load %x[%i, %j] to %buffer[%slot, %z, %z] signal %full[%slot] : !map, !buffer, !bar
          %next = arith.xori %slot, %one : i32
          %parity = arith.xori %par, %slot : i32
          scf.yield %next, %parity : i32, i32
        }
      }
      warp.group @copy warps 4 at 4 (%g) {
        %s = arith.constant 1 : i64
        hopper.barrier.wait %full[%z] parity %z : !bar
        %v0 = hopper.smem.load %buffer[%z, %z, %z] of #tile : !buffer -> !v
        hopper.named_barrier.sync %one threads 128
        hopper.barrier.arrive %empty[%z] : !bar
        // Nobody asked whether there is a second chunk.
        hopper.barrier.wait %full[%one] parity %z : !bar
        %v1 = hopper.smem.load %buffer[%one, %z, %z] of #tile : !buffer -> !v
        hopper.named_barrier.sync %one threads 128
        hopper.barrier.arrive %empty[%one] : !bar
        %r:4 = scf.for %l = %two to %chunks step %one iter_args(%slot = %z, %par = %one, %a = %v0, %b = %v1) -> (i32, i32, !v, !v) : i32 {
          hopper.barrier.wait %full[%slot] parity %par : !bar
          %v = hopper.smem.load %buffer[%slot, %z, %z] of #tile : !buffer -> !v
          hopper.named_barrier.sync %one threads 128
          hopper.barrier.arrive %empty[%slot] : !bar
          %past = arith.subi %l, %two : i32
          %j = arith.muli %past, %c64 : i32
          hopper.fragment.store %a, %y[%i, %j] strides(%stride, %s) bounds(%rows, %columns) of #tile : !v
          %next = arith.xori %slot, %one : i32
          %parity = arith.xori %par, %slot : i32
          scf.yield %next, %parity, %b, %v : i32, i32, !v, !v
        }
        %last = arith.subi %chunks, %one : i32
        %j1 = arith.muli %last, %c64 : i32
        %j0 = arith.subi %j1, %c64 : i32
        hopper.fragment.store %r#2, %y[%i, %j0] strides(%stride, %s) bounds(%rows, %columns) of #tile : !v
        hopper.fragment.store %r#3, %y[%i, %j1] strides(%stride, %s) bounds(%rows, %columns) of #tile : !v
      }
    }
    gpu.return
  }
}

func.func @copy(%x: !array {tile.name = "x", tile.dims = ["rows", "columns"]},
                %y: !array {tile.name = "y", tile.dims = ["rows", "columns"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %rows = memref.dim %x, %c0 : !array
  %columns = memref.dim %x, %c1 : !array
  %tiles = arith.ceildivsi %rows, %c64 : index
  %chunks = arith.ceildivsi %columns, %c64 : index
  %map = hopper.tensormap.encode %x : !array -> !map
  %pointer = hopper.address %y : !array
  %stride = arith.index_cast %columns : index to i64
  %chunks32 = arith.index_cast %chunks : index to i32
  %rows32 = arith.index_cast %rows : index to i32
  %columns32 = arith.index_cast %columns : index to i32
  hopper.launch @kernels::@copy blocks %tiles threads 256 smem 16416
    args(%map, %pointer, %chunks32, %rows32, %columns32, %stride : !map, !llvm.ptr<1>, i32, i32, i32, i64)
  return
}
