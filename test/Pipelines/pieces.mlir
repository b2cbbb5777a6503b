// A product with a matrix whose rows lie anywhere, by a list: tiles in pieces
// are not a matter of attention.
// DEFINE: %{run} = fa3-run --cpu %s --dims m=70,n=48,k=104,p0=90,blocks=12 --pages=list=wild
// RUN: %{run} --function=fours --check-each-pass | FileCheck %s
// RUN: %{run} --function=fours --check-each-pass='warp-specialize=false' --completion random | FileCheck %s
// RUN: %{run} --function=fours --check-each-pass='mode=dynamic' --sms 1 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// One copy for all pieces and blocks of columns, by all threads of the group.
// RUN: fa3-opt %s --pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline,fa3-layout,tile-to-hopper)' | FileCheck %s --check-prefix=HOPPER
// HOPPER-LABEL: gpu.func @fours
// HOPPER: warp.group @load
// HOPPER: hopper.barrier.expect_tx %[[FULL:.*]][%[[SLOT:.*]]], 12288
// HOPPER: hopper.tma.load %{{.*}} to %[[BUFFER:.*]][%[[SLOT]], %c0{{.*}}, %c0{{.*}}] signal %[[FULL]][%[[SLOT]]] pieces 12 by 2 (%[[N:.*]]) {
// HOPPER: %[[AT:.*]] = arith.addi %{{.*}}, %[[N]] : i32
// HOPPER: %[[INSIDE:.*]] = arith.minsi %[[AT]], %{{.*}} : i32
// HOPPER: hopper.scalar_load %{{.*}}[%[[INSIDE]]]
// HOPPER: hopper.yield %{{.*}}, %{{.*}} : i32, i32
// HOPPER: } : <[4, 64], f16, 128>, <{{[0-9]+}}, tensor<48x128xf16>, 128>, <{{[0-9]+}}, 1>

// 24 boxes: as many lanes of the loading warp each find and start one.
// RUN: fa3-translate --mlir-to-ptx %s --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline)' -o %t.ptx
// RUN: FileCheck %s --check-prefix=PTX --input-file %t.ptx
// PTX: .entry fours
// PTX: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%{{.*}}], 12288
// PTX: bra
// PTX: ld.global.nc.b32
// PTX: {{^[[:space:]]*}}cp.async.bulk.tensor.2d.shared::cluster.global

!a = memref<?x?xf16, strided<[?, 1]>>
!l = memref<?xi32>
func.func @fours(%a: !a {tile.name = "a", tile.dims = ["m", "k"]}, %b: !a {tile.name = "b", tile.dims = ["p0", "k"]},
                 %list: !l {tile.name = "list", tile.dims = ["blocks"]}, %c: memref<?x48xf32, strided<[?, 1]>> {tile.name = "c", tile.dims = ["m", "n"]}) {
  tile.launch @kernels::@fours args(%a, %b, %list, %c : !a, !a, !l, memref<?x48xf32, strided<[?, 1]>>)
  return
}

gpu.module @kernels {
  gpu.func @fours(%a: !a, %b: !a, %list: !l, %c: memref<?x48xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %m = memref.dim %a, %c0 : !a
    %k = memref.dim %a, %c1 : !a
    %blocks = memref.dim %list, %c0 : !l
    %last = arith.subi %blocks, %c1 : index
    %mt = arith.ceildivsi %m, %c64 : index
    %kt = arith.ceildivsi %k, %c128 : index
    tile.grid (%i) in (%mt) {
      %i0 = arith.muli %i, %c64 : index
      %zero = arith.constant dense<0.0> : tensor<64x48xf32>
      %acc = scf.for %t = %c0 to %kt step %c1 iter_args(%sum = %zero) -> (tensor<64x48xf32>) {
        %k0 = arith.muli %t, %c128 : index
        %x = tile.load %a[%i0, %k0] : !a -> tensor<64x128xf16>
        %y = tile.load %b pieces 12 (%n) {
          %at = arith.addi %t, %n : index
          %inside = arith.minsi %at, %last : index
          %number = tile.scalar_load %list[%inside] : !l
          %row = arith.index_cast %number : i32 to index
          tile.yield %row, %k0 : index, index
        } : !a -> tensor<48x128xf16>
        %next = tile.dot %x, %y, %sum lhs mk rhs nk : tensor<64x128xf16>, tensor<48x128xf16> -> tensor<64x48xf32>
        scf.yield %next : tensor<64x48xf32>
      }
      tile.store %acc, %c[%i0, %c0] : tensor<64x48xf32>, memref<?x48xf32, strided<[?, 1]>>
    }
    gpu.return
  }
}
