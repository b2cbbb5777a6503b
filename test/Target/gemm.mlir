// A kernel written in the hopper dialect, from the passes on that dialect to
// code: the interpreter accepts it, and so does ptxas.
// DEFINE: %{lower} = hopper-pack-warpgroups,gpu.module(gpu.func(hopper-insert-waits,hopper-insert-fences,hopper-assign-registers)),hopper-allocate-smem,hopper-check-protocol
// RUN: fa3-opt %s '-pass-pipeline=builtin.module(%{lower})' -o %t.hopper.mlir
// RUN: fa3-run --cpu %t.hopper.mlir --dims m=150,n=304,k=328 --require-fences --distribution=uniform --against %S/../Inputs/gemm-reference.mlir --rtol 1e-3 --atol 1e-3
// RUN: fa3-run --cpu %t.hopper.mlir --dims m=1,n=8,k=8 --require-fences --completion=random --distribution=uniform --against %S/../Inputs/gemm-reference.mlir --rtol 1e-3 --atol 1e-3
// RUN: fa3-translate %s '--pass-pipeline=builtin.module(%{lower},fa3-hopper-to-llvm)' --mlir-to-ptx -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: FileCheck %s --check-prefix=JSON < %t.json
// RUN: %if ptxas %{ fa3-translate %s '--pass-pipeline=builtin.module(%{lower},fa3-hopper-to-llvm)' --mlir-to-ptx --ptxas-strict --no-manifest -o %t.ptx %}

// The slot of the iteration before is handed back, but not in the first one: in
// any words, and not in others.
// RUN: sed 's/cmpi ne, %%t, %%c0/cmpi slt, %%c0, %%t/' %s | fa3-opt '-pass-pipeline=builtin.module(%{lower})' -o /dev/null
// RUN: sed 's/cmpi ne, %%t, %%c0/cmpi eq, %%c0, %%t/' %s | not fa3-opt '-pass-pipeline=builtin.module(%{lower})' -o /dev/null 2>&1 | FileCheck %s --check-prefix=BALANCE
// RUN: sed 's/cmpi ne, %%t, %%c0/cmpi sge, %%t, %%c0/' %s | not fa3-opt '-pass-pipeline=builtin.module(%{lower})' -o /dev/null 2>&1 | FileCheck %s --check-prefix=BALANCE
// RUN: sed 's/%%old = %%none, %%oldslot = %%i3/%%old = %%none, %%oldslot = %%i0/; s/%%group, %%slot : /%%group, %%slot1 : /' %s | not fa3-opt '-pass-pipeline=builtin.module(%{lower})' -o /dev/null 2>&1 | FileCheck %s --check-prefix=SLOT
// BALANCE: error: is not balanced: 'load' waits
// SLOT: error: 'hopper.barrier.wait' op waits forever: no group can go on

// CHECK-LABEL: .visible .entry gemm(
// CHECK: .maxntid 384, 1, 1
// CHECK-DAG: mbarrier.init.shared
// CHECK-DAG: setmaxnreg.dec.sync.aligned.u32
// CHECK-DAG: setmaxnreg.inc.sync.aligned.u32
// CHECK-DAG: mbarrier.try_wait.parity
// CHECK-DAG: cp.async.bulk.tensor.2d.shared::{{cta|cluster}}.global
// CHECK-DAG: wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16
// CHECK-DAG: fence.proxy.async
// CHECK-DAG: bar.sync
// CHECK-DAG: cp.async.bulk.tensor.2d.global.shared::cta

// JSON: "that": "a.shape[1] == b.shape[1]"
// JSON: "grid": "ceildiv(a.shape[0], 128) * ceildiv(b.shape[0], 256)"
// JSON: "block": 384
// JSON: "flops": "a.shape[0] * a.shape[1] * b.shape[0] * 2"


// A product C = A * B^T of f16 matrices by one persistent-free CTA per 128 x 256
// tile: a loader, two replicas of 64 rows each, a ring of four K blocks.

#acc = #hopper.fragment<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
!amap = !hopper.tensormap<[128, 64], f16, 128>
!bmap = !hopper.tensormap<[256, 64], f16, 128>
!cmap = !hopper.tensormap<[64, 64], f16, 128>
!abuf = !hopper.buffer<4, tensor<128x64xf16>, 128>
!bbuf = !hopper.buffer<4, tensor<256x64xf16>, 128>
!cbuf = !hopper.buffer<1, tensor<64x64xf16>, 128>
!adesc = !hopper.desc<128, f16, 128, k>
!bdesc = !hopper.desc<256, f16, 128, k>
!full = !hopper.barrier<4, 1>
!empty = !hopper.barrier<4, 2>
!frag = !hopper.inflight<vector<128xf32>>

module {
  func.func @gemm(%a: memref<?x?xf16, strided<[?, 1]>> {tile.name = "a", tile.dims = ["m", "k"]},
                  %b: memref<?x?xf16, strided<[?, 1]>> {tile.name = "b", tile.dims = ["n", "k"]},
                  %c: memref<?x?xf16, strided<[?, 1]>> {tile.name = "c", tile.dims = ["m", "n"]}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %m = memref.dim %a, %c0 : memref<?x?xf16, strided<[?, 1]>>
    %k = memref.dim %a, %c1 : memref<?x?xf16, strided<[?, 1]>>
    %n = memref.dim %b, %c0 : memref<?x?xf16, strided<[?, 1]>>
    %kb = memref.dim %b, %c1 : memref<?x?xf16, strided<[?, 1]>>
    %same = arith.cmpi eq, %k, %kb : index
    cf.assert %same, "a and b differ in k"
    %tm = arith.ceildivui %m, %c128 : index
    %tn = arith.ceildivui %n, %c256 : index
    %blocks = arith.muli %tm, %tn : index
    %mk = arith.muli %m, %k : index
    %mkn = arith.muli %mk, %n : index
    %flops = arith.muli %mkn, %c2 : index
    %amap = hopper.tensormap.encode %a : memref<?x?xf16, strided<[?, 1]>> -> !amap
    %bmap = hopper.tensormap.encode %b : memref<?x?xf16, strided<[?, 1]>> -> !bmap
    %cmap = hopper.tensormap.encode %c : memref<?x?xf16, strided<[?, 1]>> -> !cmap
    %k32 = arith.index_cast %k : index to i32
    %tn32 = arith.index_cast %tn : index to i32
    hopper.launch @kernels::@gemm blocks %blocks threads 32 smem 0
      args(%amap, %bmap, %cmap, %k32, %tn32 : !amap, !bmap, !cmap, i32, i32) cost(%flops, %mk)
    return
  }

  gpu.module @kernels {
    gpu.func @gemm(%amap: !amap, %bmap: !bmap, %cmap: !cmap, %k: i32, %tn: i32) kernel {
      %i0 = arith.constant 0 : i32
      %i1 = arith.constant 1 : i32
      %i3 = arith.constant 3 : i32
      %i4 = arith.constant 4 : i32
      %i64 = arith.constant 64 : i32
      %i128 = arith.constant 128 : i32
      %i256 = arith.constant 256 : i32
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %bid = gpu.block_id x
      %bid32 = arith.index_cast %bid : index to i32
      %ti = arith.divui %bid32, %tn : i32
      %tj = arith.remui %bid32, %tn : i32
      %row0 = arith.muli %ti, %i128 : i32
      %col0 = arith.muli %tj, %i256 : i32
      %kt32 = arith.ceildivui %k, %i64 : i32
      %kt = arith.index_cast %kt32 : i32 to index
      %abuf = hopper.smem.alloc : !abuf
      %bbuf = hopper.smem.alloc : !bbuf
      %full = hopper.barrier.alloc : !full
      %empty = hopper.barrier.alloc : !empty
      hopper.barrier.init %full, %empty : !full, !empty
      gpu.barrier
      warp.specialize {
        warp.group @load warps 1 (%g) {
          %r:2 = scf.for %t = %c0 to %kt step %c1 iter_args(%slot = %i0, %parity = %i1) -> (i32, i32) {
            %t32 = arith.index_cast %t : index to i32
            %kc = arith.muli %t32, %i64 : i32
            hopper.barrier.wait %empty[%slot] parity %parity : !empty
            hopper.barrier.expect_tx %full[%slot], 49152 : !full
            hopper.tma.load %amap[%row0, %kc] to %abuf[%slot, %i0, %i0] signal %full[%slot] : !amap, !abuf, !full
            hopper.tma.load %bmap[%col0, %kc] to %bbuf[%slot, %i0, %i0] signal %full[%slot] : !bmap, !bbuf, !full
            %next = arith.addi %slot, %i1 : i32
            %wraps = arith.cmpi eq, %next, %i4 : i32
            %slot1 = arith.select %wraps, %i0, %next : i32
            %flip = arith.extui %wraps : i1 to i32
            %parity1 = arith.xori %parity, %flip : i32
            scf.yield %slot1, %parity1 : i32, i32
          }
        }
        warp.group @math warps 4 replicas 2 (%g) {
          %cbuf = hopper.smem.alloc : !cbuf
          %g32 = arith.index_cast %g : index to i32
          %row = arith.muli %g32, %i64 : i32
          %zero = arith.constant dense<0.0> : vector<128xf32>
          %acc0 = hopper.inflight.ready %zero : vector<128xf32> -> !frag
          %none = hopper.group.ready
          %r:5 = scf.for %t = %c0 to %kt step %c1
              iter_args(%acc = %acc0, %slot = %i0, %parity = %i0, %old = %none, %oldslot = %i3)
              -> (!frag, i32, i32, !hopper.group, i32) {
            hopper.barrier.wait %full[%slot] parity %parity : !full
            hopper.wgmma.fence
            %da = hopper.desc %abuf[%slot, %row, %i0] : !abuf -> !adesc
            %db = hopper.desc %bbuf[%slot, %i0, %i0] : !bbuf -> !bdesc
            %acc1 = hopper.wgmma.mma %da, %db acc %acc : !frag m 64 n 256 k 64 : !adesc, !bdesc -> !frag
            %group = hopper.wgmma.commit
            hopper.wgmma.wait %old
            %first = arith.cmpi ne, %t, %c0 : index
            scf.if %first {
              hopper.barrier.arrive %empty[%oldslot] : !empty
            }
            %next = arith.addi %slot, %i1 : i32
            %wraps = arith.cmpi eq, %next, %i4 : i32
            %slot1 = arith.select %wraps, %i0, %next : i32
            %flip = arith.extui %wraps : i1 to i32
            %parity1 = arith.xori %parity, %flip : i32
            scf.yield %acc1, %slot1, %parity1, %group, %slot : !frag, i32, i32, !hopper.group, i32
          }
          %c = hopper.wgmma.wait %r#3 inflight(%r#0 : !frag)
          %some = arith.cmpi ne, %kt, %c0 : index
          scf.if %some {
            hopper.barrier.arrive %empty[%r#4] : !empty
          }
          %h = arith.truncf %c : vector<128xf32> to vector<128xf16>
          %id = arith.addi %g32, %i1 : i32
          %grow = arith.addi %row0, %row : i32
          %p0 = vector.extract_strided_slice %h {offsets = [0], sizes = [32], strides = [1]} : vector<128xf16> to vector<32xf16>
          %p1 = vector.extract_strided_slice %h {offsets = [32], sizes = [32], strides = [1]} : vector<128xf16> to vector<32xf16>
          %p2 = vector.extract_strided_slice %h {offsets = [64], sizes = [32], strides = [1]} : vector<128xf16> to vector<32xf16>
          %p3 = vector.extract_strided_slice %h {offsets = [96], sizes = [32], strides = [1]} : vector<128xf16> to vector<32xf16>
          hopper.smem.store %p0 to %cbuf[%i0, %i0, %i0] of #acc : vector<32xf16>, !cbuf
          hopper.named_barrier.sync %id threads 128
          hopper.tma.store %cbuf[%i0, %i0, %i0] to %cmap[%grow, %col0] : !cbuf, !cmap
          hopper.tma.commit
          hopper.tma.wait_read pending 0
          hopper.named_barrier.sync %id threads 128
          %col1 = arith.addi %col0, %i64 : i32
          hopper.smem.store %p1 to %cbuf[%i0, %i0, %i0] of #acc : vector<32xf16>, !cbuf
          hopper.named_barrier.sync %id threads 128
          hopper.tma.store %cbuf[%i0, %i0, %i0] to %cmap[%grow, %col1] : !cbuf, !cmap
          hopper.tma.commit
          hopper.tma.wait_read pending 0
          hopper.named_barrier.sync %id threads 128
          %col2 = arith.addi %col1, %i64 : i32
          hopper.smem.store %p2 to %cbuf[%i0, %i0, %i0] of #acc : vector<32xf16>, !cbuf
          hopper.named_barrier.sync %id threads 128
          hopper.tma.store %cbuf[%i0, %i0, %i0] to %cmap[%grow, %col2] : !cbuf, !cmap
          hopper.tma.commit
          hopper.tma.wait_read pending 0
          hopper.named_barrier.sync %id threads 128
          %col3 = arith.addi %col2, %i64 : i32
          hopper.smem.store %p3 to %cbuf[%i0, %i0, %i0] of #acc : vector<32xf16>, !cbuf
          hopper.named_barrier.sync %id threads 128
          hopper.tma.store %cbuf[%i0, %i0, %i0] to %cmap[%grow, %col3] : !cbuf, !cmap
          hopper.tma.commit
          hopper.tma.wait_read pending 0
        }
      }
      gpu.return
    }
  }
}
