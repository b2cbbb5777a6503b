// RUN: fa3-opt %s -tile-join-rings | FileCheck %s
// RUN: %stages %S/../../../../Inputs/weighted-rows.mlir --reference %S/../../../../Inputs/weighted-rows-reference.mlir --run=--distribution=uniform --atol 0.5 --dims m=150,n=300 --dims m=1,n=1 --pass tile-join-rings
// RUN: fa3-opt %S/../../../../Inputs/weighted-rows.mlir -tile-map-grid -fa3-specialize | FileCheck %s --check-prefix=PROGRAM
// PROGRAM: warp.ring : <1, [tensor<64x64xbf16>, tensor<64xf32
// RUN: fa3-opt %S/../../../../Inputs/weighted-rows.mlir -tile-map-grid -fa3-specialize=join-rings=false | FileCheck %s --check-prefix=APART
// APART-NOT: tensor<64x64xbf16>, tensor<64xf32
// RUN: fa3-opt %S/../../../../Inputs/weighted-rows.mlir -fa3-lower-to-nvvm-pipeline -o /dev/null

// Where another group computes, too, all rings stay.
// RUN: sed 's/^ *warp.specialize {/&\nwarp.group @other warps 4 (%%h) {\n}/' %s | fa3-opt -tile-join-rings | FileCheck %s --check-prefix=OTHER
// OTHER-NOT: tensor<64x64xf16>, tensor<64xf32>

!a = tensor<64x64xf16>
!n = tensor<64xf32>
!w = !warp.cursor<write>
!c = !warp.cursor<read>
!wa = !warp.slot<write, [!a]>
!wn = !warp.slot<write, [!n]>
!ra = !warp.slot<read, [!a]>
!rn = !warp.slot<read, [!n]>
gpu.module @m {
  // Numbers that are copied and read beside a tile are a field of its ring: in the
  // loop, and behind it, where nothing is read. The copy that came first is made
  // beside the other.
  // CHECK-LABEL: gpu.func @joined
  // CHECK: %[[RING:.*]] = warp.ring : <1, [tensor<64x64xf16>, tensor<64xf32>]>
  // CHECK-NOT: warp.ring
  // CHECK: warp.group @load
  // CHECK: warp.cursor
  // CHECK-NOT: warp.cursor
  // CHECK: scf.for
  // CHECK: %[[S:.*]], %{{.*}} = warp.acquire %[[RING]][
  // CHECK-DAG: %[[N:.*]] = tile.view %[[S]][%{{.*}}] field 1
  // CHECK-DAG: %[[A:.*]] = tile.view %[[S]][%{{.*}}, %{{.*}}] :
  // CHECK-DAG: tile.load.async %{{.*}}, %[[A]]
  // CHECK-DAG: tile.load.async %{{.*}}, %[[N]]
  // CHECK: warp.publish %[[S]]
  // CHECK: scf.yield %{{[^,]*}} : !warp.cursor<write>
  // CHECK: warp.group @math
  // CHECK: scf.for
  // CHECK: %[[R:.*]], %{{.*}} = warp.acquire %[[RING]][
  // CHECK-NOT: warp.acquire
  // CHECK: tile.dot
  // CHECK: %[[V:.*]] = tile.view %[[R]][%{{.*}}] field 1
  // CHECK-NEXT: tile.read %[[V]]
  // CHECK: tile.dot
  // CHECK: warp.release %[[R]]
  // CHECK-NOT: warp.release
  // CHECK: scf.yield
  // CHECK: warp.acquire %[[RING]][
  // CHECK-NEXT: warp.release
  gpu.func @joined(%a: memref<?x64xf16>, %b: memref<?xf32>, %y: memref<64x64xf32>, %m: index) kernel {
    %t = warp.ring : !warp.ring<1, [!a]>
    %n = warp.ring : !warp.ring<1, [!n]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %tc = warp.cursor write %t : !warp.ring<1, [!a]>
        %nc = warp.cursor write %n : !warp.ring<1, [!n]>
        %all:2 = scf.for %i = %c0 to %m step %c1 iter_args(%t1 = %tc, %n1 = %nc) -> (!w, !w) {
          %s, %n2 = warp.acquire %n[%n1] : !warp.ring<1, [!n]>, !w
          %sv = tile.view %s[%c0] : !wn -> !tile.view<!n>
          tile.load.async %b[%i], %sv : memref<?xf32>, !tile.view<!n>
          warp.publish %s : !wn
          %u, %t2 = warp.acquire %t[%t1] : !warp.ring<1, [!a]>, !w
          %uv = tile.view %u[%c0, %c0] : !wa -> !tile.view<!a>
          tile.load.async %a[%i, %c0], %uv : memref<?x64xf16>, !tile.view<!a>
          warp.publish %u : !wa
          scf.yield %t2, %n2 : !w, !w
        }
        %e, %t3 = warp.acquire %t[%all#0] : !warp.ring<1, [!a]>, !w
        warp.publish %e : !wa
        %f, %n3 = warp.acquire %n[%all#1] : !warp.ring<1, [!n]>, !w
        warp.publish %f : !wn
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %x = arith.constant dense<1.0> : !a
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %tc = warp.cursor read %t : !warp.ring<1, [!a]>
        %nc = warp.cursor read %n : !warp.ring<1, [!n]>
        %all:3 = scf.for %i = %c0 to %m step %c1 iter_args(%acc = %zero, %t1 = %tc, %n1 = %nc) -> (tensor<64x64xf32>, !c, !c) {
          %u, %t2 = warp.acquire %t[%t1] : !warp.ring<1, [!a]>, !c
          %uv = tile.view %u[%c0, %c0] : !ra -> !tile.view<!a>
          %s = tile.dot %x, %uv, %zero lhs mk rhs nk : !a, !tile.view<!a> -> tensor<64x64xf32>
          %k, %n2 = warp.acquire %n[%n1] : !warp.ring<1, [!n]>, !c
          %kv = tile.view %k[%c0] : !rn -> !tile.view<!n>
          %r = tile.read %kv : !tile.view<!n> -> !n
          %b0 = tile.broadcast %r dim 0 : !n -> tensor<64x64xf32>
          warp.release %k : !rn
          %p = arith.mulf %s, %b0 : tensor<64x64xf32>
          %h = arith.truncf %p : tensor<64x64xf32> to !a
          %next = tile.dot %h, %uv, %acc lhs mk rhs kn : !a, !tile.view<!a> -> tensor<64x64xf32>
          warp.release %u : !ra
          scf.yield %next, %t2, %n2 : tensor<64x64xf32>, !c, !c
        }
        %e, %t3 = warp.acquire %t[%all#1] : !warp.ring<1, [!a]>, !c
        warp.release %e : !ra
        %f, %n3 = warp.acquire %n[%all#2] : !warp.ring<1, [!n]>, !c
        warp.release %f : !rn
        tile.store %all#0, %y[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
      }
    }
    gpu.return
  }

  // Of two tiles it is the one that is held longer, whichever comes first.
  // CHECK-LABEL: gpu.func @longest
  // CHECK: warp.ring : <1, [tensor<64x64xf16>]>
  // CHECK-NEXT: warp.ring : <1, [tensor<64x64xf16>, tensor<64xf32>]>
  // CHECK-NOT: warp.ring
  gpu.func @longest(%a: memref<?x64xf16>, %b: memref<?xf32>, %y: memref<64x64xf32>) kernel {
    %o = warp.ring : !warp.ring<1, [!a]>
    %t = warp.ring : !warp.ring<1, [!a]>
    %n = warp.ring : !warp.ring<1, [!n]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %oc = warp.cursor write %o : !warp.ring<1, [!a]>
        %tc = warp.cursor write %t : !warp.ring<1, [!a]>
        %nc = warp.cursor write %n : !warp.ring<1, [!n]>
        %q, %o2 = warp.acquire %o[%oc] : !warp.ring<1, [!a]>, !w
        %qv = tile.view %q[%c0, %c0] : !wa -> !tile.view<!a>
        tile.load.async %a[%c0, %c0], %qv : memref<?x64xf16>, !tile.view<!a>
        warp.publish %q : !wa
        %u, %t2 = warp.acquire %t[%tc] : !warp.ring<1, [!a]>, !w
        %uv = tile.view %u[%c0, %c0] : !wa -> !tile.view<!a>
        tile.load.async %a[%c0, %c0], %uv : memref<?x64xf16>, !tile.view<!a>
        warp.publish %u : !wa
        %s, %n2 = warp.acquire %n[%nc] : !warp.ring<1, [!n]>, !w
        %sv = tile.view %s[%c0] : !wn -> !tile.view<!n>
        tile.load.async %b[%c0], %sv : memref<?xf32>, !tile.view<!n>
        warp.publish %s : !wn
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : !a
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %oc = warp.cursor read %o : !warp.ring<1, [!a]>
        %tc = warp.cursor read %t : !warp.ring<1, [!a]>
        %nc = warp.cursor read %n : !warp.ring<1, [!n]>
        %q, %o2 = warp.acquire %o[%oc] : !warp.ring<1, [!a]>, !c
        %qv = tile.view %q[%c0, %c0] : !ra -> !tile.view<!a>
        %u, %t2 = warp.acquire %t[%tc] : !warp.ring<1, [!a]>, !c
        %uv = tile.view %u[%c0, %c0] : !ra -> !tile.view<!a>
        %k, %n2 = warp.acquire %n[%nc] : !warp.ring<1, [!n]>, !c
        %kv = tile.view %k[%c0] : !rn -> !tile.view<!n>
        %s0 = tile.dot %x, %qv, %zero lhs mk rhs nk : !a, !tile.view<!a> -> tensor<64x64xf32>
        %s = tile.dot %x, %uv, %s0 lhs mk rhs nk : !a, !tile.view<!a> -> tensor<64x64xf32>
        %r = tile.read %kv : !tile.view<!n> -> !n
        warp.release %k : !rn
        %b0 = tile.broadcast %r dim 0 : !n -> tensor<64x64xf32>
        %p = arith.mulf %s, %b0 : tensor<64x64xf32>
        %h = arith.truncf %p : tensor<64x64xf32> to !a
        %next = tile.dot %h, %qv, %zero lhs mk rhs kn : !a, !tile.view<!a> -> tensor<64x64xf32>
        warp.release %q : !ra
        %last = tile.dot %h, %uv, %next lhs mk rhs kn : !a, !tile.view<!a> -> tensor<64x64xf32>
        warp.release %u : !ra
        tile.store %last, %y[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
      }
    }
    gpu.return
  }

  // A tile that is given back before the numbers are read would be held longer.
  // CHECK-LABEL: gpu.func @behind
  // CHECK: warp.ring : <1, [tensor<64x64xf16>]>
  // CHECK-NEXT: warp.ring : <1, [tensor<64xf32>]>
  gpu.func @behind(%a: memref<?x64xf16>, %b: memref<?xf32>, %y: memref<64x64xf32>) kernel {
    %t = warp.ring : !warp.ring<1, [!a]>
    %n = warp.ring : !warp.ring<1, [!n]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %tc = warp.cursor write %t : !warp.ring<1, [!a]>
        %nc = warp.cursor write %n : !warp.ring<1, [!n]>
        %u, %t2 = warp.acquire %t[%tc] : !warp.ring<1, [!a]>, !w
        %uv = tile.view %u[%c0, %c0] : !wa -> !tile.view<!a>
        tile.load.async %a[%c0, %c0], %uv : memref<?x64xf16>, !tile.view<!a>
        warp.publish %u : !wa
        %s, %n2 = warp.acquire %n[%nc] : !warp.ring<1, [!n]>, !w
        %sv = tile.view %s[%c0] : !wn -> !tile.view<!n>
        tile.load.async %b[%c0], %sv : memref<?xf32>, !tile.view<!n>
        warp.publish %s : !wn
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : !a
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %tc = warp.cursor read %t : !warp.ring<1, [!a]>
        %nc = warp.cursor read %n : !warp.ring<1, [!n]>
        %u, %t2 = warp.acquire %t[%tc] : !warp.ring<1, [!a]>, !c
        %uv = tile.view %u[%c0, %c0] : !ra -> !tile.view<!a>
        %s = tile.dot %x, %uv, %zero lhs mk rhs nk : !a, !tile.view<!a> -> tensor<64x64xf32>
        warp.release %u : !ra
        %k, %n2 = warp.acquire %n[%nc] : !warp.ring<1, [!n]>, !c
        %kv = tile.view %k[%c0] : !rn -> !tile.view<!n>
        %r = tile.read %kv : !tile.view<!n> -> !n
        warp.release %k : !rn
        %b0 = tile.broadcast %r dim 0 : !n -> tensor<64x64xf32>
        %p = arith.mulf %s, %b0 : tensor<64x64xf32>
        tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
      }
    }
    gpu.return
  }

  // Numbers that are read before the tile would wait for it.
  // CHECK-LABEL: gpu.func @before
  // CHECK: warp.ring : <1, [tensor<64x64xf16>]>
  // CHECK-NEXT: warp.ring : <1, [tensor<64xf32>]>
  gpu.func @before(%a: memref<?x64xf16>, %b: memref<?xf32>, %y: memref<64x64xf32>) kernel {
    %t = warp.ring : !warp.ring<1, [!a]>
    %n = warp.ring : !warp.ring<1, [!n]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %tc = warp.cursor write %t : !warp.ring<1, [!a]>
        %nc = warp.cursor write %n : !warp.ring<1, [!n]>
        %s, %n2 = warp.acquire %n[%nc] : !warp.ring<1, [!n]>, !w
        %sv = tile.view %s[%c0] : !wn -> !tile.view<!n>
        tile.load.async %b[%c0], %sv : memref<?xf32>, !tile.view<!n>
        warp.publish %s : !wn
        %u, %t2 = warp.acquire %t[%tc] : !warp.ring<1, [!a]>, !w
        %uv = tile.view %u[%c0, %c0] : !wa -> !tile.view<!a>
        tile.load.async %a[%c0, %c0], %uv : memref<?x64xf16>, !tile.view<!a>
        warp.publish %u : !wa
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %tc = warp.cursor read %t : !warp.ring<1, [!a]>
        %nc = warp.cursor read %n : !warp.ring<1, [!n]>
        %u, %t2 = warp.acquire %t[%tc] : !warp.ring<1, [!a]>, !c
        %uv = tile.view %u[%c0, %c0] : !ra -> !tile.view<!a>
        %k, %n2 = warp.acquire %n[%nc] : !warp.ring<1, [!n]>, !c
        %kv = tile.view %k[%c0] : !rn -> !tile.view<!n>
        %r = tile.read %kv : !tile.view<!n> -> !n
        warp.release %k : !rn
        %b0 = tile.broadcast %r dim 0 : !n -> tensor<64x64xf32>
        %h = arith.truncf %b0 : tensor<64x64xf32> to !a
        %s = tile.dot %h, %uv, %zero lhs mk rhs nk : !a, !tile.view<!a> -> tensor<64x64xf32>
        warp.release %u : !ra
        tile.store %s, %y[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
      }
    }
    gpu.return
  }

  // Numbers that threads write, and a tile that comes once for several of them.
  // CHECK-LABEL: gpu.func @apart
  // CHECK: warp.ring : <1, [tensor<64x64xf16>]>
  // CHECK-NEXT: warp.ring : <1, [tensor<64xf32>]>
  // CHECK-NEXT: warp.ring : <1, [tensor<64xf32>]>
  gpu.func @apart(%a: memref<?x64xf16>, %b: memref<?xf32>, %y: memref<64x64xf32>, %m: index) kernel {
    %t = warp.ring : !warp.ring<1, [!a]>
    %n = warp.ring : !warp.ring<1, [!n]>
    %o = warp.ring : !warp.ring<1, [!n]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %one = arith.constant dense<1.0> : !n
        %tc = warp.cursor write %t : !warp.ring<1, [!a]>
        %nc = warp.cursor write %n : !warp.ring<1, [!n]>
        %oc = warp.cursor write %o : !warp.ring<1, [!n]>
        %u, %t2 = warp.acquire %t[%tc] : !warp.ring<1, [!a]>, !w
        %uv = tile.view %u[%c0, %c0] : !wa -> !tile.view<!a>
        tile.load.async %a[%c0, %c0], %uv : memref<?x64xf16>, !tile.view<!a>
        warp.publish %u : !wa
        %f, %o2 = warp.acquire %o[%oc] : !warp.ring<1, [!n]>, !w
        %fv = tile.view %f[%c0] : !wn -> !tile.view<!n>
        tile.write %one, %fv : !n, !tile.view<!n>
        warp.publish %f : !wn
        %all = scf.for %i = %c0 to %m step %c1 iter_args(%n1 = %nc) -> (!w) {
          %s, %n2 = warp.acquire %n[%n1] : !warp.ring<1, [!n]>, !w
          %sv = tile.view %s[%c0] : !wn -> !tile.view<!n>
          tile.load.async %b[%i], %sv : memref<?xf32>, !tile.view<!n>
          warp.publish %s : !wn
          scf.yield %n2 : !w
        }
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %x = arith.constant dense<1.0> : !a
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %tc = warp.cursor read %t : !warp.ring<1, [!a]>
        %nc = warp.cursor read %n : !warp.ring<1, [!n]>
        %oc = warp.cursor read %o : !warp.ring<1, [!n]>
        %u, %t2 = warp.acquire %t[%tc] : !warp.ring<1, [!a]>, !c
        %uv = tile.view %u[%c0, %c0] : !ra -> !tile.view<!a>
        %first = tile.dot %x, %uv, %zero lhs mk rhs nk : !a, !tile.view<!a> -> tensor<64x64xf32>
        %f, %o2 = warp.acquire %o[%oc] : !warp.ring<1, [!n]>, !c
        %fv = tile.view %f[%c0] : !rn -> !tile.view<!n>
        %fr = tile.read %fv : !tile.view<!n> -> !n
        warp.release %f : !rn
        %all:2 = scf.for %i = %c0 to %m step %c1 iter_args(%acc = %fr, %n1 = %nc) -> (!n, !c) {
          %k, %n2 = warp.acquire %n[%n1] : !warp.ring<1, [!n]>, !c
          %kv = tile.view %k[%c0] : !rn -> !tile.view<!n>
          %r = tile.read %kv : !tile.view<!n> -> !n
          warp.release %k : !rn
          %next = arith.addf %acc, %r : !n
          scf.yield %next, %n2 : !n, !c
        }
        %b0 = tile.broadcast %all#0 dim 0 : !n -> tensor<64x64xf32>
        %p = arith.mulf %first, %b0 : tensor<64x64xf32>
        %h = arith.truncf %p : tensor<64x64xf32> to !a
        %last = tile.dot %h, %uv, %zero lhs mk rhs kn : !a, !tile.view<!a> -> tensor<64x64xf32>
        warp.release %u : !ra
        tile.store %last, %y[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
      }
    }
    gpu.return
  }
}
