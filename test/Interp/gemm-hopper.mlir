// RUN: fa3-run --cpu %s --dims m=200,n=120,k=136 --against %S/Inputs/gemm-reference.mlir --atol 1e-4 --require-fences | FileCheck %s
// RUN: fa3-run --cpu %s --dims m=200,n=120,k=136 --completion eager --sms 1 --against %S/Inputs/gemm-reference.mlir --atol 1e-4 | FileCheck %s
// RUN: fa3-run --cpu %s --dims m=200,n=120,k=136 --completion random --schedule-seed 1 --against %S/Inputs/gemm-reference.mlir --atol 1e-4 | FileCheck %s
// RUN: fa3-run --cpu %s --dims m=200,n=120,k=136 --completion random --schedule-seed 2 --against %S/Inputs/gemm-reference.mlir --atol 1e-4 | FileCheck %s

// CHECK: c: max abs
// CHECK-NOT: not written

// A persistent GEMM as Hopper runs it: TMA fills two slots per operand, two warp
// groups multiply with one product in flight, each thread stores its fragment.
#acc = #hopper.fragment<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
!b = memref<?x?xf16, strided<[?, 1]>>
!mapA = !hopper.tensormap<[128, 64], f16, 128>
!mapB = !hopper.tensormap<[64, 64], f16, 128>
!bufA = !hopper.buffer<2, tensor<128x64xf16>, 128>
!bufB = !hopper.buffer<2, tensor<64x64xf16>, 128>
!full = !hopper.barrier<2, 1>
!empty = !hopper.barrier<2, 2>
!descA = !hopper.desc<128, f16, 128, k>
!descB = !hopper.desc<64, f16, 128, mn>
!acc = vector<32xf32>
gpu.module @kernels {
  gpu.func @gemm(%a: !mapA, %b: !mapB, %c: !llvm.ptr<1>, %tiles: i32, %tn: i32, %tk: i32, %m: i32, %n: i32, %stride: i64) kernel {
    %sa = hopper.smem.alloc offset 0 : !bufA
    %sb = hopper.smem.alloc offset 32768 : !bufB
    %full = hopper.barrier.alloc offset 49152 : !full
    %empty = hopper.barrier.alloc offset 49168 : !empty
    hopper.barrier.init %full, %empty : !full, !empty
    gpu.barrier
    %block = gpu.block_id x
    %blocks = gpu.grid_dim x
    %first = arith.index_cast %block : index to i32
    %step = arith.index_cast %blocks : index to i32
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %c128 = arith.constant 128 : i32
    warp.specialize {
      warp.group @load warps 1 at 0 (%g) {
        hopper.setmaxnreg decrease 24
        %end:2 = scf.for %t = %first to %tiles step %step iter_args(%slot0 = %z, %par0 = %one) -> (i32, i32) : i32 {
          %i = arith.divui %t, %tn : i32
          %j = arith.remui %t, %tn : i32
          %i0 = arith.muli %i, %c128 : i32
          %j0 = arith.muli %j, %c64 : i32
          %w:2 = scf.for %l = %z to %tk step %one iter_args(%slot = %slot0, %par = %par0) -> (i32, i32) : i32 {
            %l0 = arith.muli %l, %c64 : i32
            hopper.barrier.wait %empty[%slot] parity %par : !empty
            hopper.barrier.expect_tx %full[%slot], 24576 : !full
            hopper.tma.load %a[%i0, %l0] to %sa[%slot, %z, %z] signal %full[%slot] : !mapA, !bufA, !full
            hopper.tma.load %b[%l0, %j0] to %sb[%slot, %z, %z] signal %full[%slot] : !mapB, !bufB, !full
            %next = arith.xori %slot, %one : i32
            %par1 = arith.xori %par, %slot : i32
            scf.yield %next, %par1 : i32, i32
          }
          scf.yield %w#0, %w#1 : i32, i32
        }
      }
      warp.group @math warps 4 replicas 2 at 4 (%g) {
        hopper.setmaxnreg increase 240
        %gi = arith.index_cast %g : index to i32
        %half = arith.muli %gi, %c64 : i32
        %end:2 = scf.for %t = %first to %tiles step %step iter_args(%slot0 = %z, %par0 = %z) -> (i32, i32) : i32 {
          %i = arith.divui %t, %tn : i32
          %j = arith.remui %t, %tn : i32
          %i1 = arith.muli %i, %c128 : i32
          %i0 = arith.addi %i1, %half : i32
          %j0 = arith.muli %j, %c64 : i32
          %zero = arith.constant dense<0.0> : !acc
          %zf = hopper.wgmma.fence (%zero : !acc)
          %start = hopper.inflight.ready %zf : !acc -> !hopper.inflight<!acc>
          %none = hopper.group.ready
          %r:5 = scf.for %l = %z to %tk step %one iter_args(%slot = %slot0, %par = %par0, %acc = %start, %grp = %none, %prev = %z)
              -> (i32, i32, !hopper.inflight<!acc>, !hopper.group, i32) : i32 {
            hopper.barrier.wait %full[%slot] parity %par : !full
            %da = hopper.desc %sa[%slot, %half, %z] : !bufA -> !descA
            %db = hopper.desc %sb[%slot, %z, %z] : !bufB -> !descB
            hopper.wgmma.fence
            %p = hopper.wgmma.mma %da, %db acc %acc : !hopper.inflight<!acc> m 64 n 64 k 64 : !descA, !descB -> !hopper.inflight<!acc>
            %grp1 = hopper.wgmma.commit
            %notFirst = arith.cmpi ne, %l, %z : i32
            scf.if %notFirst {
              hopper.wgmma.wait %grp pending 1
              hopper.barrier.arrive %empty[%prev] : !empty
            }
            %next = arith.xori %slot, %one : i32
            %par1 = arith.xori %par, %slot : i32
            scf.yield %next, %par1, %p, %grp1, %slot : i32, i32, !hopper.inflight<!acc>, !hopper.group, i32
          }
          %sum = hopper.wgmma.wait %r#3 inflight(%r#2 : !hopper.inflight<!acc>) pending 0
          hopper.barrier.arrive %empty[%r#4] : !empty
          %s1 = arith.constant 1 : i64
          hopper.fragment.store %sum, %c[%i0, %j0] strides(%stride, %s1) bounds(%m, %n) of #acc : !acc
          scf.yield %r#0, %r#1 : i32, i32
        }
      }
    }
    gpu.return
  }
}

func.func @gemm(%a: memref<?x?xf16> {tile.name = "a", tile.dims = ["m", "k"]},
                %b: !b {tile.name = "b", tile.dims = ["k", "n"]},
                %c: memref<?x?xf32> {tile.name = "c", tile.dims = ["m", "n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %m = memref.dim %a, %c0 : memref<?x?xf16>
  %k = memref.dim %a, %c1 : memref<?x?xf16>
  %n = memref.dim %b, %c1 : !b
  %tm = arith.ceildivsi %m, %c128 : index
  %tn = arith.ceildivsi %n, %c64 : index
  %tk = arith.ceildivsi %k, %c64 : index
  %tiles = arith.muli %tm, %tn : index
  %p = hopper.sm_count
  %blocks = arith.minsi %p, %tiles : index
  %ma = hopper.tensormap.encode %a : memref<?x?xf16> -> !mapA
  %mb = hopper.tensormap.encode %b : !b -> !mapB
  %pc = hopper.address %c : memref<?x?xf32>
  %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %c : memref<?x?xf32> -> memref<f32>, index, index, index, index, index
  %stride = arith.index_cast %strides#0 : index to i64
  %tiles32 = arith.index_cast %tiles : index to i32
  %tn32 = arith.index_cast %tn : index to i32
  %tk32 = arith.index_cast %tk : index to i32
  %m32 = arith.index_cast %m : index to i32
  %n32 = arith.index_cast %n : index to i32
  hopper.launch @kernels::@gemm blocks %blocks threads 384 smem 49184
    args(%ma, %mb, %pc, %tiles32, %tn32, %tk32, %m32, %n32, %stride : !mapA, !mapB, !llvm.ptr<1>, i32, i32, i32, i32, i32, i64)
  return
}
