// RUN: fa3-opt %s -tile-insert-rings | FileCheck %s
// RUN: %stages-chain --pass tile-insert-rings
// RUN: %stages-window --pass tile-insert-rings

!a = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  // One stream: the entry is filled, then held until after its last use.
  // CHECK-LABEL: gpu.func @straight
  // CHECK: %[[RING:.*]] = warp.ring : <1, [tensor<64x32xf16>]>
  // CHECK: %[[W:.*]] = warp.cursor write %[[RING]] {tile.role = "load"}
  // CHECK: %[[R:.*]] = warp.cursor read %[[RING]] {tile.role = "math"}
  // CHECK: %[[SLOT:.*]], %{{.*}} = warp.acquire %[[RING]][%[[W]]] {tile.role = "load"}
  // CHECK: %[[TO:.*]] = tile.view %[[SLOT]]
  // CHECK: tile.load.async %arg0[%{{.*}}], %[[TO]] {tile.role = "load"}
  // CHECK: warp.publish %[[SLOT]] {tile.role = "load"}
  // CHECK: %[[HELD:.*]], %{{.*}} = warp.acquire %[[RING]][%[[R]]] {tile.role = "math"}
  // CHECK: %[[FROM:.*]] = tile.view %[[HELD]]
  // CHECK: tile.dot %[[FROM]]
  // CHECK: tile.dot %[[FROM]]
  // CHECK-NEXT: warp.release %[[HELD]] {tile.role = "math"}
  gpu.func @straight(%a: !a, %y: tensor<64x32xf16>, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %x = tile.load %a[%c0, %c0] {tile.role = "load"} : !a -> tensor<64x32xf16>
    %r = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
    %r2 = tile.dot %x, %y, %r lhs mk rhs nk : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
    tile.store %r2, %c[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }

  // A copy may start with any row of 128 bytes: pieces of fewer bytes lie in rows
  // that are as wide, others in rows of 64.
  // CHECK-LABEL: gpu.func @pieces
  // CHECK-DAG: warp.ring : <1, [tensor<64x96xf16, #tile.smem<128>>]>
  // CHECK-DAG: warp.ring : <1, [tensor<64x96xf16>]>
  gpu.func @pieces(%a: !a, %y: tensor<64x96xf16>, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %x = tile.load %a pieces 64 (%n) {
      tile.yield %n, %c0 : index, index
    } {tile.role = "load"} : !a -> tensor<64x96xf16>
    %r = tile.dot %y, %x, %zero lhs mk rhs nk : tensor<64x96xf16>, tensor<64x96xf16> -> tensor<64x64xf32>
    %two = tile.load %a pieces 32 (%n) {
      tile.yield %n, %c0 : index, index
    } {tile.role = "load"} : !a -> tensor<64x96xf16>
    %r2 = tile.dot %y, %two, %r lhs mk rhs nk : tensor<64x96xf16>, tensor<64x96xf16> -> tensor<64x64xf32>
    tile.store %r2, %c[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }

  // Cursors go through a branch in a loop; without the load they stay.
  // CHECK-LABEL: gpu.func @nested
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[W:.*]] = %{{.*}}, %[[R:.*]] = %{{.*}}) -> (tensor<64x64xf32>, !warp.cursor<write>, !warp.cursor<read>) {
  // CHECK: %[[IF:.*]]:3 = scf.if
  // CHECK: %{{.*}}, %[[W1:.*]] = warp.acquire %{{.*}}[%[[W]]]
  // CHECK: %{{.*}}, %[[R1:.*]] = warp.acquire %{{.*}}[%[[R]]]
  // CHECK: scf.yield %{{.*}}, %[[W1]], %[[R1]]
  // CHECK: } else {
  // CHECK: scf.yield %{{.*}}, %[[W]], %[[R]]
  // CHECK: scf.yield %[[IF]]#0, %[[IF]]#1, %[[IF]]#2
  gpu.func @nested(%a: !a, %y: tensor<64x32xf16>, %n: index, %live: i1, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %sum = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32> {
      %next = scf.if %live -> tensor<64x64xf32> {
        %x = tile.load %a[%t, %c0] {tile.role = "load"} : !a -> tensor<64x32xf16>
        %r = tile.dot %x, %y, %acc lhs mk rhs nk : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
        scf.yield %r : tensor<64x64xf32>
      } else {
        scf.yield %acc : tensor<64x64xf32>
      }
      scf.yield %next : tensor<64x64xf32>
    }
    tile.store %sum, %c[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }

  // Fewer rows in front of a loop go through the ring of those in it, and hand
  // their cursors on.
  // CHECK-LABEL: gpu.func @narrow_before
  // CHECK: %[[RING:.*]] = warp.ring : <1, [tensor<64x32xf16>]>
  // CHECK-NOT: warp.ring
  // CHECK: %[[W:.*]] = warp.cursor write %[[RING]]
  // CHECK: %[[R:.*]] = warp.cursor read %[[RING]]
  // CHECK: %[[S:.*]], %[[W1:.*]] = warp.acquire %[[RING]][%[[W]]]
  // CHECK: tile.view %[[S]]{{.*}} -> <tensor<16x32xf16>>
  // CHECK: %{{.*}}, %[[R1:.*]] = warp.acquire %[[RING]][%[[R]]]
  // CHECK: tile.dot
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[W2:.*]] = %[[W1]], %[[R2:.*]] = %[[R1]])
  // CHECK: %[[T:.*]], %[[W3:.*]] = warp.acquire %[[RING]][%[[W2]]]
  // CHECK: tile.view %[[T]]{{.*}} -> <tensor<64x32xf16>>
  // CHECK: %{{.*}}, %[[R3:.*]] = warp.acquire %[[RING]][%[[R2]]]
  // CHECK: scf.yield %{{.*}}, %[[W3]], %[[R3]]
  gpu.func @narrow_before(%a: !a, %p: tensor<64x16xf16>, %q: tensor<64x64xf16>, %n: index, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %x = tile.load %a[%c0, %c0] {tile.role = "load"} : !a -> tensor<16x32xf16>
    %first = tile.dot %p, %x, %zero lhs mk rhs kn : tensor<64x16xf16>, tensor<16x32xf16> -> tensor<64x32xf32>
    %sum = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %first) -> tensor<64x32xf32> {
      %block = arith.muli %t, %c64 : index
      %row = arith.addi %block, %c16 : index
      %y = tile.load %a[%row, %c0] {tile.role = "load"} : !a -> tensor<64x32xf16>
      %next = tile.dot %q, %y, %acc lhs mk rhs kn : tensor<64x64xf16>, tensor<64x32xf16> -> tensor<64x32xf32>
      scf.yield %next : tensor<64x32xf32>
    }
    tile.store %sum, %c[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
    gpu.return
  }

  // In a branch, too: the loop begins where the branch ends, whichever way it
  // went.
  // CHECK-LABEL: gpu.func @narrow_in_branch
  // CHECK: %[[RING:.*]] = warp.ring : <1, [tensor<64x32xf16>]>
  // CHECK-NOT: warp.ring
  // CHECK: %[[W:.*]] = warp.cursor write %[[RING]]
  // CHECK: %[[R:.*]] = warp.cursor read %[[RING]]
  // CHECK: %[[IF:.*]]:3 = scf.if
  // CHECK: %[[S:.*]], %[[W1:.*]] = warp.acquire %[[RING]][%[[W]]]
  // CHECK: %{{.*}}, %[[R1:.*]] = warp.acquire %[[RING]][%[[R]]]
  // CHECK: scf.yield %{{.*}}, %[[W1]], %[[R1]]
  // CHECK: scf.yield %{{.*}}, %[[W]], %[[R]]
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[IF]]#0, %[[W2:.*]] = %[[IF]]#1, %[[R2:.*]] = %[[IF]]#2)
  // CHECK: warp.acquire %[[RING]][%[[W2]]]
  // CHECK: warp.acquire %[[RING]][%[[R2]]]
  gpu.func @narrow_in_branch(%a: !a, %p: tensor<64x16xf16>, %q: tensor<64x64xf16>, %n: index, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %end = arith.muli %n, %c64 : index
    %rows = memref.dim %a, %c0 : !a
    %more = arith.cmpi slt, %end, %rows : index
    %first = scf.if %more -> tensor<64x32xf32> {
      %x = tile.load %a[%end, %c0] {tile.role = "load"} : !a -> tensor<16x32xf16>
      %d = tile.dot %p, %x, %zero lhs mk rhs kn : tensor<64x16xf16>, tensor<16x32xf16> -> tensor<64x32xf32>
      scf.yield %d : tensor<64x32xf32>
    } else {
      scf.yield %zero : tensor<64x32xf32>
    }
    %sum = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %first) -> tensor<64x32xf32> {
      %row = arith.muli %t, %c64 : index
      %y = tile.load %a[%row, %c0] {tile.role = "load"} : !a -> tensor<64x32xf16>
      %next = tile.dot %q, %y, %acc lhs mk rhs kn : tensor<64x64xf16>, tensor<64x32xf16> -> tensor<64x32xf32>
      scf.yield %next : tensor<64x32xf32>
    }
    tile.store %sum, %c[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
    gpu.return
  }

  // A loop of its own in front has a ring of its own.
  // CHECK-LABEL: gpu.func @narrow_in_loop
  // CHECK-COUNT-2: warp.ring :
  gpu.func @narrow_in_loop(%a: !a, %p: tensor<64x16xf16>, %q: tensor<64x64xf16>, %n: index, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %first = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x32xf32> {
      %x = tile.load %a[%t, %c0] {tile.role = "load"} : !a -> tensor<16x32xf16>
      %d = tile.dot %p, %x, %acc lhs mk rhs kn : tensor<64x16xf16>, tensor<16x32xf16> -> tensor<64x32xf32>
      scf.yield %d : tensor<64x32xf32>
    }
    %sum = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %first) -> tensor<64x32xf32> {
      %y = tile.load %a[%t, %c0] {tile.role = "load"} : !a -> tensor<64x32xf16>
      %next = tile.dot %q, %y, %acc lhs mk rhs kn : tensor<64x64xf16>, tensor<64x32xf16> -> tensor<64x32xf32>
      scf.yield %next : tensor<64x32xf32>
    }
    tile.store %sum, %c[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
    gpu.return
  }

  // Pairs share: the first two of three nested loads one ring, the last has its
  // own.
  // CHECK-LABEL: gpu.func @three_nested
  // CHECK-COUNT-2: warp.ring :
  // CHECK-NOT: warp.ring :
  // CHECK-COUNT-3: tile.load.async
  // CHECK-NOT: tile.load %
  gpu.func @three_nested(%a: !a, %p: tensor<64x16xf16>, %q: tensor<64x32xf16>, %r: tensor<64x64xf16>, %n: index, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %x = tile.load %a[%c0, %c0] {tile.role = "load"} : !a -> tensor<16x32xf16>
    %first = tile.dot %p, %x, %zero lhs mk rhs kn : tensor<64x16xf16>, tensor<16x32xf16> -> tensor<64x32xf32>
    %sum = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %first) -> tensor<64x32xf32> {
      %y = tile.load %a[%t, %c0] {tile.role = "load"} : !a -> tensor<32x32xf16>
      %second = tile.dot %q, %y, %acc lhs mk rhs kn : tensor<64x32xf16>, tensor<32x32xf16> -> tensor<64x32xf32>
      %inner = scf.for %u = %c0 to %n step %c1 iter_args(%more = %second) -> tensor<64x32xf32> {
        %z = tile.load %a[%u, %c0] {tile.role = "load"} : !a -> tensor<64x32xf16>
        %third = tile.dot %r, %z, %more lhs mk rhs kn : tensor<64x64xf16>, tensor<64x32xf16> -> tensor<64x32xf32>
        scf.yield %third : tensor<64x32xf32>
      }
      scf.yield %inner : tensor<64x32xf32>
    }
    tile.store %sum, %c[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
    gpu.return
  }

  // Loaded in front of a loop and used in it: held until the loop has ended.
  // CHECK-LABEL: gpu.func @used_in_loop
  // CHECK: %[[HELD:.*]], %{{.*}} = warp.acquire {{.*}} {tile.role = "math"}
  // CHECK: scf.for
  // CHECK-NOT: warp.release
  // CHECK: }
  // CHECK-NEXT: warp.release %[[HELD]]
  gpu.func @used_in_loop(%a: !a, %y: tensor<64x32xf16>, %n: index, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %x = tile.load %a[%c0, %c0] {tile.role = "load"} : !a -> tensor<64x32xf16>
    %sum = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32> {
      %r = tile.dot %x, %y, %acc lhs mk rhs nk : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
      scf.yield %r : tensor<64x64xf32>
    }
    tile.store %sum, %c[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }

  // What the math role loads needs no ring.
  // CHECK-LABEL: gpu.func @math
  // CHECK-NOT: warp.ring
  // CHECK: tile.load
  gpu.func @math(%a: memref<?x?xf32>, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %a[%c0, %c0] {tile.role = "math"} : memref<?x?xf32> -> tensor<64x64xf32>
    tile.store %x, %c[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }

  // Element code reads right in front of its use, from an entry without padding
  // (80 columns of 2 bytes are five blocks of 32), which is held until then.
  // CHECK-LABEL: gpu.func @elements
  // CHECK: warp.ring : <1, [tensor<64x80xf16, #tile.smem<32>>]>
  // CHECK: scf.for
  // CHECK: warp.publish
  // CHECK: %[[HELD:.*]], %{{.*}} = warp.acquire {{.*}} {tile.role = "math"}
  // CHECK: %[[VIEW:.*]] = tile.view %[[HELD]]
  // CHECK: scf.if
  // CHECK: arith.addf
  // CHECK-NEXT: %[[X:.*]] = tile.read %[[VIEW]] {tile.role = "math"}
  // CHECK-NEXT: arith.mulf %{{.*}}, %[[X]]
  // CHECK: scf.yield
  // CHECK: warp.release %[[HELD]]
  gpu.func @elements(%a: !a, %live: i1, %n: index, %c: memref<?x?xf16>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<64x80xf16>
    %sum = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x80xf16> {
      %x = tile.load %a[%c0, %t] {tile.role = "load"} : !a -> tensor<64x80xf16>
      %next = scf.if %live -> tensor<64x80xf16> {
        %two = arith.addf %acc, %acc : tensor<64x80xf16>
        %r = arith.mulf %two, %x : tensor<64x80xf16>
        scf.yield %r : tensor<64x80xf16>
      } else {
        scf.yield %acc : tensor<64x80xf16>
      }
      scf.yield %next : tensor<64x80xf16>
    }
    tile.store %sum, %c[%c0, %c0] : tensor<64x80xf16>, memref<?x?xf16>
    gpu.return
  }
}
