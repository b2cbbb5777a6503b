// Numbers of columns come through a ring of rank 1, by bulk copies: the terms w
// of C = (A x B^T + w) x V, one for each row of B. Whoever wrote the load knows
// that its rows fill whole units, and said so by its role.

// RUN: fa3-opt %s -tile-map-grid -tile-assign-roles -tile-insert-rings | FileCheck %s --check-prefix=RINGS
// RINGS: %[[W:.*]] = warp.ring : <1, [tensor<48xf32, #tile.smem<128>>]>
// RINGS: warp.acquire %[[W]]{{.*}} <write>
// RINGS: tile.load.async %arg2[%{{.*}}], %{{.*}} : memref<?xf32>, <tensor<48xf32, #tile.smem<128>>>
// RINGS: warp.acquire %[[W]]{{.*}} <read>
// RINGS: %[[N:.*]] = tile.read %{{.*}} -> tensor<48xf32>
// RINGS-NEXT: tile.broadcast %[[N]] dim 0
// RINGS: warp.release

// RUN: fa3-opt %s -tile-map-grid -tile-assign-roles=loads=threads | FileCheck %s --check-prefix=THREADS
// THREADS: tile.load %arg2{{.*}} {tile.role = "math"} : memref<?xf32> -> tensor<48xf32>

// An entry is the first of eight rows, and two boxes of 32 numbers bring it.
// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline=stages=1 -o /dev/null
// RUN: fa3-opt %s -tile-map-grid -fa3-specialize -fa3-pipeline -fa3-layout -tile-to-hopper | FileCheck %s --check-prefix=HOPPER
// HOPPER: !hopper.tensormap<[32], f32, 128>
// HOPPER: %[[R:.*]] = hopper.smem.alloc : <{{[0-9]}}, tensor<8x64xf32>, 128>
// HOPPER: hopper.barrier.expect_tx {{.*}}, 256
// HOPPER: hopper.tma.load {{.*}}%[[R]]
// HOPPER: hopper.tma.load {{.*}}%[[R]]
// HOPPER: hopper.smem.load %[[R]]

// Right after the passes on tiles and by the instructions, a last block of w
// that is not full included.

// RUN: fa3-run --cpu --check-each-pass=max-depth=2 %s --dims m=70,n=100
// RUN: fa3-run --cpu --check-each-pass=stages=1 %s --dims m=70,n=48

!ab = memref<?x64xbf16, strided<[?, 1]>>
!w = memref<?xf32>

func.func @terms(%a: !ab {tile.name = "a", tile.dims = ["m", "d"]},
                 %b: !ab {tile.name = "b", tile.dims = ["n", "d"]},
                 %w: !w {tile.name = "w", tile.dims = ["n"]},
                 %v: !ab {tile.name = "v", tile.dims = ["n", "e"]},
                 %c: !ab {tile.name = "c", tile.dims = ["m", "e"]}) {
  tile.launch @kernels::@terms args(%a, %b, %w, %v, %c : !ab, !ab, !w, !ab, !ab)
  return
}

gpu.module @kernels {
  gpu.func @terms(%a: !ab, %b: !ab, %w: !w, %v: !ab, %c: !ab) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bm = arith.constant 128 : index
    %bn = arith.constant 48 : index
    %m = memref.dim %a, %c0 : !ab
    %n = memref.dim %b, %c0 : !ab
    %mt = arith.ceildivsi %m, %bm : index
    %nt = arith.ceildivsi %n, %bn : index
    tile.grid (%i) in (%mt) {
      %i0 = arith.muli %i, %bm : index
      %zero = arith.constant dense<0.0> : tensor<128x48xf32>
      %none = arith.constant dense<0.0> : tensor<128x64xf32>
      %x = tile.load %a[%i0, %c0] : !ab -> tensor<128x64xbf16>
      %acc = scf.for %t = %c0 to %nt step %c1 iter_args(%sum = %none) -> (tensor<128x64xf32>) {
        %j0 = arith.muli %t, %bn : index
        %y = tile.load %b[%j0, %c0] : !ab -> tensor<48x64xbf16>
        %z = tile.load %v[%j0, %c0] : !ab -> tensor<48x64xbf16>
        %l = tile.load %w[%j0] {tile.role = "load"} : !w -> tensor<48xf32>
        %s = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<128x64xbf16>, tensor<48x64xbf16> -> tensor<128x48xf32>
        %k = tile.broadcast %l dim 0 : tensor<48xf32> -> tensor<128x48xf32>
        %q = arith.addf %s, %k : tensor<128x48xf32>
        %p = arith.truncf %q : tensor<128x48xf32> to tensor<128x48xbf16>
        %next = tile.dot %p, %z, %sum lhs mk rhs kn : tensor<128x48xbf16>, tensor<48x64xbf16> -> tensor<128x64xf32>
        scf.yield %next : tensor<128x64xf32>
      }
      %out = arith.truncf %acc : tensor<128x64xf32> to tensor<128x64xbf16>
      tile.store %out, %c[%i0, %c0] : tensor<128x64xbf16>, !ab
    }
    gpu.return
  }
}
