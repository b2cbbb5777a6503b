// A left operand that is computed of a loaded tile, once for all steps of a
// loop: the tile is replaced in shared memory, each warp group its own rows.
// DEFINE: %{run} = fa3-run --cpu %s --completion=random --schedule-seed=4
// RUN: %{run} --check-each-pass --dims m=200,n=300 | FileCheck %s --check-prefix=SAME
// RUN: %{run} --check-each-pass="mode=static store=in-place max-depth=1" --dims m=300,n=300 --sms 1 | FileCheck %s --check-prefix=SAME
// RUN: %{run} --check-each-pass="hold=2 stages=1" --dims m=130,n=200 | FileCheck %s --check-prefix=SAME
// RUN: %{run} --check-each-pass="hold=6 mode=static" --dims m=300,n=200 --sms 1 | FileCheck %s --check-prefix=SAME
// SAME: same answer after

// RUN: fa3-opt %s --pass-pipeline="builtin.module(fa3-tile,tile-assign-roles,tile-insert-rings)" | FileCheck %s --check-prefix=RINGS
// RINGS: %[[HELD:.*]], %{{.*}} = warp.acquire %{{.*}} {tile.role = "math"} : <1, [tensor<128x96xf16>]>
// RINGS: %[[VIEW:.*]] = tile.view %[[HELD]]
// RINGS: %[[LOADED:.*]] = tile.read %[[VIEW]] {tile.role = "math"}
// RINGS: %[[SMALL:.*]] = arith.mulf %[[LOADED]], %{{.*}} : tensor<128x96xf16>
// RINGS: %[[SUM:.*]] = math.fma %[[LOADED]], %{{.*}}, %[[SMALL]] : tensor<128x96xf16>
// RINGS: tile.write %[[SUM]], %[[VIEW]] {tile.role = "math"}
// RINGS: scf.for
// RINGS: tile.dot %[[VIEW]], %{{.*}} lhs mk rhs nk
// RINGS: warp.release %[[HELD]]

// Windows of 64 rows; what is held in registers is read behind the write, and
// before the tile that is stored takes the same place.
// RUN: fa3-opt %s --pass-pipeline="builtin.module(fa3-tile,fa3-specialize{store=in-place},fa3-pipeline{hold=2})" | FileCheck %s --check-prefix=HOLD
// HOLD: warp.group @math
// HOLD: %[[ALL:.*]] = tile.view %[[Q:.*]][%[[ROW:.*]], %c0{{.*}} -> <tensor<64x96xf16>>
// HOLD: tile.read %[[ALL]]
// HOLD: tile.write %{{.*}}, %[[ALL]]
// HOLD: %[[HEAD:.*]] = tile.view %[[Q]][%[[ROW]], %c0{{.*}} -> <tensor<64x32xf16>>
// HOLD: %[[HELD:.*]] = tile.read %[[HEAD]]
// HOLD: %[[TAIL:.*]] = tile.view %[[Q]]
// HOLD: tile.dot.async %[[HELD]]
// HOLD: tile.dot.async %[[TAIL]]
// HOLD: tile.write

// The warps of a group meet behind the write; the fence in front of it is for
// the products.
// RUN: fa3-opt %s --pass-pipeline="builtin.module(fa3-tile,fa3-specialize,fa3-pipeline{hold=0},fa3-layout,fa3-hopper)" -o %t.mlir
// RUN: FileCheck %s --check-prefix=HOPPER < %t.mlir
// HOPPER: warp.group @math
// HOPPER: hopper.smem.load
// HOPPER: hopper.named_barrier.sync
// HOPPER: hopper.smem.store
// HOPPER-NEXT: hopper.fence.proxy_async
// HOPPER-NEXT: hopper.named_barrier.sync
// HOPPER: hopper.wgmma.mma

// Without that barrier, and without that fence.
// RUN: awk '/fence.proxy_async/ && !n++ {print; getline; next} 1' %t.mlir > %t.alone.mlir
// RUN: not fa3-opt %t.alone.mlir -hopper-check-protocol 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: error: 'hopper.wgmma.mma' op reads slot 0 of a buffer that @math replica 0 may still write to
// RUN: awk '!(/fence.proxy_async/ && !n++)' %t.mlir > %t.unfenced.mlir
// RUN: not fa3-run --cpu --require-fences %t.unfenced.mlir --dims m=200,n=300 2>&1 | FileCheck %s --check-prefix=UNFENCED
// UNFENCED: error: reads byte {{[0-9]+}} of shared memory, which threads have written without 'hopper.fence.proxy_async' since

!a = memref<?x96xf16, strided<[?, 1]>>
!v = memref<?x64xf16, strided<[?, 1]>>
func.func @f(%a: !a {tile.name = "a", tile.dims = ["m", "d"]},
             %b: !a {tile.name = "b", tile.dims = ["n", "d"]},
             %v: !v {tile.name = "v", tile.dims = ["n", "e"]},
             %c: !v {tile.name = "c", tile.dims = ["m", "e"]}) {
  tile.launch @kernels::@f args(%a, %b, %v, %c : !a, !a, !v, !v)
  return
}

gpu.module @kernels {
  gpu.func @f(%a: !a, %b: !a, %v: !v, %c: !v) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bm = arith.constant 128 : index
    %bn = arith.constant 48 : index
    %m = memref.dim %a, %c0 : !a
    %n = memref.dim %b, %c0 : !a
    %mt = arith.ceildivsi %m, %bm : index
    %nt = arith.ceildivsi %n, %bn : index
    tile.grid (%i) in (%mt) {
      %i0 = arith.muli %i, %bm : index
      %zero = arith.constant dense<0.0> : tensor<128x48xf32>
      %none = arith.constant dense<0.0> : tensor<128x64xf32>
      %third = arith.constant dense<0.333> : tensor<128x96xf16>
      %little = arith.constant dense<0.0005> : tensor<128x96xf16>
      %loaded = tile.load %a[%i0, %c0] : !a -> tensor<128x96xf16>
      %small = arith.mulf %loaded, %little : tensor<128x96xf16>
      %x = math.fma %loaded, %third, %small : tensor<128x96xf16>
      %acc = scf.for %t = %c0 to %nt step %c1 iter_args(%sum = %none) -> (tensor<128x64xf32>) {
        %j0 = arith.muli %t, %bn : index
        %y = tile.load %b[%j0, %c0] : !a -> tensor<48x96xf16>
        %z = tile.load %v[%j0, %c0] : !v -> tensor<48x64xf16>
        %s = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<128x96xf16>, tensor<48x96xf16> -> tensor<128x48xf32>
        %p = arith.truncf %s : tensor<128x48xf32> to tensor<128x48xf16>
        %next = tile.dot %p, %z, %sum lhs mk rhs kn : tensor<128x48xf16>, tensor<48x64xf16> -> tensor<128x64xf32>
        scf.yield %next : tensor<128x64xf32>
      }
      %out = arith.truncf %acc : tensor<128x64xf32> to tensor<128x64xf16>
      tile.store %out, %c[%i0, %c0] : tensor<128x64xf16>, !v
    }
    gpu.return
  }
}
