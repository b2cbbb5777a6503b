// RUN: fa3-run --cpu %s --print records | FileCheck %s

// Without a clock a record's time is its number in the row. Two replicas have
// rows of 4 entries: the second stops at the end of its row, the third CTA has
// no row.

// CHECK: records: 2x4xi64
// CHECK-NEXT: 4294967296 8589934593 -1 -1
// CHECK-NEXT: 12884901888 12884901889 12884901890 12884901891

func.func @host(%records: memref<2x4xi64> {tile.name = "records"}) {
  %c2 = arith.constant 2 : index
  %address = hopper.address %records : memref<2x4xi64>
  hopper.launch @m::@kernel blocks %c2 threads 32 smem 0 args(%address : !llvm.ptr<1>)
  return
}
gpu.module @m {
  gpu.func @kernel(%p: !llvm.ptr<1>) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %c9 = arith.constant 9 : i32
    %block = gpu.block_id x
    %b = arith.index_cast %block : index to i32
    %start = arith.muli %b, %c4 : i32
    %first = arith.cmpi eq, %b, %c0 : i32
    scf.if %first {
      %n = hopper.record 1 at %start in %p capacity 4
      %m = hopper.record 2 at %n in %p capacity 4
    } else {
      %end = scf.for %i = %c0 to %c9 step %c1 iter_args(%n = %start) -> (i32) : i32 {
        %m = hopper.record 3 at %n in %p capacity 4
        scf.yield %m : i32
      }
    }
    gpu.return
  }
}
