// Tiles that another kernel waits for, one by one: the first kernel computes
// terms of sums, the second one sums up those of its rows as soon as they are
// there. The first has several groups, and copies its results in bulk.

// DEFINE: %{run} = fa3-run --cpu %s --dims p=3,m=130,n=70
// RUN: %{run} --check-each-pass --check-ptx | FileCheck %s --check-prefix=SAME
// RUN: %{run} --check-each-pass="store=direct" --completion random --schedule-seed 3 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu %s --dims p=1,m=1,n=0 --check-each-pass --check-ptx | FileCheck %s --check-prefix=SAME
// SAME: same answer after

// One CTA per tile, which clears its flag in front of the groups and sets it
// behind them.
// RUN: fa3-opt %s -fa3-tile -fa3-specialize | FileCheck %s --check-prefix=GROUPS
// GROUPS-LABEL: gpu.func @terms
// GROUPS: %[[B:.*]] = gpu.block_id x
// GROUPS: tile.clear_flag %arg3[%[[P:.*]], %[[I:.*]]] : memref<?x?xi32>
// GROUPS-NOT: tile.clear_flag
// GROUPS: warp.specialize
// GROUPS: warp.group @load
// GROUPS: warp.group @math
// GROUPS: tile.set_flag %arg3[%[[P]], %[[I]]] : memref<?x?xi32>
// GROUPS-NEXT: gpu.return
// GROUPS-LABEL: gpu.func @sum
// GROUPS: tile.await_flags %arg2[%{{.*}}] : memref<?x?xi32>
// GROUPS: warp.specialize
// GROUPS-NOT: tile.await_flags
// GROUPS: gpu.return

// The second kernel may start when flags are cleared. Only its last block waits
// for the end of the first.
// RUN: fa3-opt %s -fa3-tile -fa3-specialize -fa3-pipeline -fa3-layout -fa3-hopper | FileCheck %s --check-prefix=HOPPER
// HOPPER-LABEL: gpu.func @terms
// HOPPER: gpu.barrier
// HOPPER-NEXT: hopper.flag.clear %[[F:.*]][%[[P:.*]], %[[I:.*]]] strides(%[[S:.*]], %[[T:.*]]) start
// HOPPER-NEXT: warp.specialize
// HOPPER: warp.group @math
// HOPPER: hopper.tma.store
// HOPPER: hopper.tma.wait_read pending 0 written
// HOPPER: gpu.barrier
// HOPPER-NEXT: hopper.flag.set %[[F]][%[[P]], %[[I]]] strides(%[[S]], %[[T]])
// HOPPER-NEXT: gpu.return
// HOPPER-LABEL: gpu.func @sum
// HOPPER-NOT: nvvm.griddepcontrol
// HOPPER: hopper.flag.await %{{.*}}[%{{.*}}] strides(%{{.*}}) count %{{.*}} step %{{.*}} copies
// HOPPER-NEXT: gpu.barrier
// HOPPER: warp.specialize
// HOPPER: gpu.grid_dim
// HOPPER: %[[LAST:.*]] = arith.cmpi eq
// HOPPER-NEXT: scf.if %[[LAST]]
// HOPPER-NEXT: nvvm.griddepcontrol wait

// RUN: fa3-translate %s '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)' --mlir-to-ptx -o - --no-manifest | FileCheck %s --check-prefix=PTX
// PTX-LABEL: .visible .entry terms(
// PTX: bar.sync
// PTX: st.relaxed.gpu.global.u32 [{{.*}}], 0;
// PTX-NEXT: fence.acq_rel.gpu;
// PTX: bar.warp.sync
// PTX-NEXT: griddepcontrol.launch_dependents;
// PTX: cp.async.bulk.wait_group 0;
// PTX: fence.proxy.async.global;
// PTX: bar.sync
// PTX: fence.acq_rel.gpu;
// PTX: st.release.gpu.global.u32 [{{.*}}], 1;
// PTX: ret;
// PTX-LABEL: .visible .entry sum(
// PTX: ld.acquire.gpu.global.b32
// PTX: fence.proxy.async.global;
// PTX: bar.sync
// PTX-NOT: ld.global.nc
// PTX: griddepcontrol.wait;
// RUN: %if ptxas %{ fa3-translate %s '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)' --mlir-to-cubin --ptxas-strict -o %t.cubin %}

!a = memref<?x?x64xbf16, strided<[?, ?, 1]>>
!b = memref<?x64xbf16, strided<[?, 1]>>
!c = memref<?x64xf32, strided<[?, 1]>>
!w = memref<?x?x64xbf16>
!f = memref<?x?xi32>

// The sum over p of A[p] x transpose(B) x B.
func.func @sums(%a: !a {tile.name = "a", tile.dims = ["p", "m", "d"]},
                %b: !b {tile.name = "b", tile.dims = ["n", "d"]},
                %c: !c {tile.name = "c", tile.dims = ["m", "d"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %p = memref.dim %a, %c0 : !a
  %m = memref.dim %a, %c1 : !a
  %tiles = arith.ceildivsi %m, %c64 : index
  %w = memref.alloc(%p, %m) {tile.name = "w"} : !w
  %f = memref.alloc(%p, %tiles) {tile.name = "f"} : !f
  tile.launch @kernels::@terms args(%a, %b, %w, %f : !a, !b, !w, !f)
  tile.launch @kernels::@sum args(%w, %c, %f : !w, !c, !f)
  return
}

gpu.module @kernels {
  gpu.func @terms(%a: !a, %b: !b, %w: !w, %f: !f) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %p = memref.dim %a, %c0 : !a
    %m = memref.dim %a, %c1 : !a
    %n = memref.dim %b, %c0 : !b
    %mt = arith.ceildivsi %m, %c64 : index
    %nt = arith.ceildivsi %n, %c64 : index
    tile.grid (%i, %part) in (%mt, %p) {
      tile.clear_flag %f[%part, %i] : !f
      %i0 = arith.muli %i, %c64 : index
      %none = arith.constant dense<0.0> : tensor<64x64xf32>
      %x = tile.load %a[%part, %i0, %c0] : !a -> tensor<64x64xbf16>
      %acc = scf.for %t = %c0 to %nt step %c1 iter_args(%sum = %none) -> (tensor<64x64xf32>) {
        %j0 = arith.muli %t, %c64 : index
        %y = tile.load %b[%j0, %c0] : !b -> tensor<64x64xbf16>
        %s = tile.dot %x, %y, %none lhs mk rhs nk : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %s16 = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
        %next = tile.dot %s16, %y, %sum lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        scf.yield %next : tensor<64x64xf32>
      }
      %term = arith.truncf %acc : tensor<64x64xf32> to tensor<64x64xbf16>
      tile.store %term, %w[%part, %i0, %c0] : tensor<64x64xbf16>, !w
      tile.set_flag %f[%part, %i] : !f
    }
    gpu.return
  }
  gpu.func @sum(%w: !w, %c: !c, %f: !f) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %p = memref.dim %w, %c0 : !w
    %m = memref.dim %w, %c1 : !w
    %mt = arith.ceildivsi %m, %c64 : index
    tile.grid (%i) in (%mt) {
      tile.await_flags %f[%i] : !f
      %i0 = arith.muli %i, %c64 : index
      %none = arith.constant dense<0.0> : tensor<64x64xf32>
      %acc = scf.for %part = %c0 to %p step %c1 iter_args(%sum = %none) -> (tensor<64x64xf32>) {
        %x = tile.load %w[%part, %i0, %c0] : !w -> tensor<64x64xbf16>
        %x32 = arith.extf %x : tensor<64x64xbf16> to tensor<64x64xf32>
        %next = arith.addf %sum, %x32 : tensor<64x64xf32>
        scf.yield %next : tensor<64x64xf32>
      }
      tile.store %acc, %c[%i0, %c0] : tensor<64x64xf32>, !c
    }
    gpu.return
  }
}
