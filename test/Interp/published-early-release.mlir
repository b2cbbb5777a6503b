// A bug that is reported of compilers that pipeline products: a slot is handed
// back once its product was issued, not once it has completed. The next copy
// then overwrites operands that the tensor cores are still reading; on a device
// that is rarely seen, because the copy takes long.

// One entry per slot: nothing is overwritten.
// RUN: fa3-run --cpu %s --dims m=64,n=64,k=128 --explore 100000

// RUN: not fa3-run --cpu %s --dims m=64,n=64,k=256 2>&1 | FileCheck %s
// RUN: not fa3-run --cpu %s --dims m=64,n=64,k=256 --completion eager 2>&1 | FileCheck %s
// CHECK: error: 'hopper.tma.load' writes bytes 0 to 8192 of shared memory, which an operation in flight may still read
// CHECK: note: while running block 0 of the kernel, @load
// CHECK: note: issued here, and not waited for
// CHECK-NEXT: %p = hopper.wgmma.mma

// RUN: not fa3-opt %s -hopper-check-protocol -o /dev/null 2>&1 | FileCheck %s --check-prefix=STATIC
// STATIC: error: 'hopper.tma.load' op writes to slot 0 of a buffer that @math may still read

// With the wait before the arrival all is well.
// RUN: sed 's|// wait:||' %s > %t.waits.mlir
// RUN: fa3-opt %t.waits.mlir -hopper-check-protocol -o /dev/null
// RUN: fa3-run --cpu %t.waits.mlir --dims m=64,n=64,k=256 --explore 100000

#acc = #hopper.fragment<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
!map = !hopper.tensormap<[64, 64], f16, 128>
!buffer = !hopper.buffer<2, tensor<64x64xf16>, 128>
!bar = !hopper.barrier<2, 1>
!desc = !hopper.desc<64, f16, 128, k>
!acc = vector<32xf32>
gpu.module @kernels {
  gpu.func @gemm(%a: !map, %b: !map, %c: !llvm.ptr<1>, %chunks: i32, %m: i32, %n: i32, %stride: i64) kernel {
    %sa = hopper.smem.alloc offset 0 : !buffer
    %sb = hopper.smem.alloc offset 16384 : !buffer
    %full = hopper.barrier.alloc offset 32768 : !bar
    %empty = hopper.barrier.alloc offset 32784 : !bar
    hopper.barrier.init %full, %empty : !bar, !bar
    gpu.barrier
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    warp.specialize {
      warp.group @load warps 1 at 0 (%g) {
        %r:2 = scf.for %l = %z to %chunks step %one iter_args(%slot = %z, %par = %one) -> (i32, i32) : i32 {
          %j = arith.muli %l, %c64 : i32
          hopper.barrier.wait %empty[%slot] parity %par : !bar
          hopper.barrier.expect_tx %full[%slot], 16384 : !bar
          hopper.tma.load %a[%z, %j] to %sa[%slot, %z, %z] signal %full[%slot] : !map, !buffer, !bar
          hopper.tma.load %b[%z, %j] to %sb[%slot, %z, %z] signal %full[%slot] : !map, !buffer, !bar
          %next = arith.xori %slot, %one : i32
          %parity = arith.xori %par, %slot : i32
          scf.yield %next, %parity : i32, i32
        }
      }
      warp.group @math warps 4 at 4 (%g) {
        %zero = arith.constant dense<0.0> : !acc
        %start = hopper.inflight.ready %zero : !acc -> !hopper.inflight<!acc>
        %none = hopper.group.ready
        %r:4 = scf.for %l = %z to %chunks step %one iter_args(%slot = %z, %par = %z, %acc = %start, %last = %none)
            -> (i32, i32, !hopper.inflight<!acc>, !hopper.group) : i32 {
          hopper.barrier.wait %full[%slot] parity %par : !bar
          %da = hopper.desc %sa[%slot, %z, %z] : !buffer -> !desc
          %db = hopper.desc %sb[%slot, %z, %z] : !buffer -> !desc
          hopper.wgmma.fence
          %p = hopper.wgmma.mma %da, %db acc %acc : !hopper.inflight<!acc> m 64 n 64 k 64 : !desc, !desc -> !hopper.inflight<!acc>
          %group = hopper.wgmma.commit
          // wait: hopper.wgmma.wait %group pending 0
          hopper.barrier.arrive %empty[%slot] : !bar
          %next = arith.xori %slot, %one : i32
          %parity = arith.xori %par, %slot : i32
          scf.yield %next, %parity, %p, %group : i32, i32, !hopper.inflight<!acc>, !hopper.group
        }
        %sum = hopper.wgmma.wait %r#3 inflight(%r#2 : !hopper.inflight<!acc>) pending 0
        %s = arith.constant 1 : i64
        hopper.fragment.store %sum, %c[%z, %z] strides(%stride, %s) bounds(%m, %n) of #acc : !acc
      }
    }
    gpu.return
  }
}

func.func @gemm(%a: memref<?x?xf16> {tile.name = "a", tile.dims = ["m", "k"]},
                %b: memref<?x?xf16> {tile.name = "b", tile.dims = ["n", "k"]},
                %c: memref<?x?xf32> {tile.name = "c", tile.dims = ["m", "n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %m = memref.dim %a, %c0 : memref<?x?xf16>
  %k = memref.dim %a, %c1 : memref<?x?xf16>
  %n = memref.dim %b, %c0 : memref<?x?xf16>
  %chunks = arith.ceildivsi %k, %c64 : index
  %ma = hopper.tensormap.encode %a : memref<?x?xf16> -> !map
  %mb = hopper.tensormap.encode %b : memref<?x?xf16> -> !map
  %pointer = hopper.address %c : memref<?x?xf32>
  %stride = arith.index_cast %n : index to i64
  %chunks32 = arith.index_cast %chunks : index to i32
  %m32 = arith.index_cast %m : index to i32
  %n32 = arith.index_cast %n : index to i32
  hopper.launch @kernels::@gemm blocks %c1 threads 256 smem 32800
    args(%ma, %mb, %pointer, %chunks32, %m32, %n32, %stride : !map, !map, !llvm.ptr<1>, i32, i32, i32, i64)
  return
}
