// RUN: fa3-opt %s | fa3-opt | FileCheck %s
// RUN: fa3-opt %s -mlir-print-op-generic | fa3-opt | FileCheck %s

// Every form of every operation, type and attribute survives printing and
// parsing. The examples of the descriptions are among them.

// CHECK: func.func private @types(
// CHECK-SAME: !tile.view<tensor<64x128xf16>>
// CHECK-SAME: !tile.view<tensor<8x64xf16, #tile.smem<128>>>
// CHECK-SAME: !tile.view<tensor<64xindex>>
// CHECK-SAME: !tile.pending<tensor<64x80xf32>>
// CHECK-SAME: !tile.pending<tensor<64x80xf32, #tile.acc>>
// CHECK-SAME: tensor<64x80xf32, #tile.acc>
// CHECK-SAME: tensor<64xf32, #tile.slice<1, #tile.acc>>
// CHECK-SAME: tensor<80xf32, #tile.slice<0, #tile.acc>>
// CHECK-SAME: tensor<80x128xf16, #tile.smem<128>>
// CHECK-SAME: tensor<16x24xi8, #tile.smem<32>>
func.func private @types(
  !tile.view<tensor<64x128xf16>>, !tile.view<tensor<8x64xf16, #tile.smem<128>>>, !tile.view<tensor<64xindex>>,
  !tile.pending<tensor<64x80xf32>>, !tile.pending<tensor<64x80xf32, #tile.acc>>,
  tensor<64x80xf32, #tile.acc>, tensor<64xf32, #tile.slice<1, #tile.acc>>, tensor<80xf32, #tile.slice<0, #tile.acc>>,
  tensor<80x128xf16, #tile.smem<128>>, tensor<16x24xi8, #tile.smem<32>>)

// Advisory attributes, and the names of the launch contract.
// CHECK: func.func @attributes(%{{.*}}: memref<?x8xf16> {tile.dims = ["rows", "d"], tile.name = "x"})
// CHECK: arith.constant {tile.role = "load"}
// CHECK: arith.constant {tile.role = "math", tile.slotting = #tile.slotting<stage = 1, order = -2>}
func.func @attributes(%x: memref<?x8xf16> {tile.name = "x", tile.dims = ["rows", "d"]}) {
  %0 = arith.constant {tile.role = "load"} 1 : i32
  %1 = arith.constant {tile.role = "math", tile.slotting = #tile.slotting<stage = 1, order = -2>} 2 : i32
  return
}

// CHECK-LABEL: gpu.module @kernels
gpu.module @kernels {
  // CHECK: gpu.func @fwd(%[[Q:.*]]: memref<?x64xf16>, %[[N:.*]]: index) kernel
  gpu.func @fwd(%q: memref<?x64xf16>, %n: index) kernel {
    // CHECK: tile.grid (%{{.*}}, %[[H:.*]]) in (%[[N]], %[[N]]) {
    // CHECK-NOT: tile.yield
    // CHECK: }
    tile.grid (%m, %h) in (%n, %n) {
      %x = arith.addi %m, %h : index
    }
    // CHECK: tile.grid (%{{.*}}) in (%[[N]]) {
    // CHECK: } {note = "any"}
    tile.grid (%m) in (%n) {
      tile.yield
    } {note = "any"}
    gpu.return
  }
  // CHECK: gpu.func @none() kernel
  gpu.func @none() kernel {
    gpu.return
  }
}

// CHECK-LABEL: func.func @launch(
// CHECK-SAME: %[[Q:.*]]: memref<?x64xf16>, %[[N:.*]]: index
// CHECK: tile.launch @kernels::@fwd args(%[[Q]], %[[N]] : memref<?x64xf16>, index)
// CHECK: tile.launch @kernels::@fwd blocks %[[N]] args(%[[Q]], %[[N]] : memref<?x64xf16>, index) cost(%[[N]], %[[N]]) {note = "any"}
// CHECK: tile.launch @kernels::@none args()
// CHECK: tile.sm_count
func.func @launch(%q: memref<?x64xf16>, %n: index) {
  tile.launch @kernels::@fwd args(%q, %n : memref<?x64xf16>, index)
  tile.launch @kernels::@fwd blocks %n args(%q, %n : memref<?x64xf16>, index) cost(%n, %n) {note = "any"}
  tile.launch @kernels::@none args()
  %p = tile.sm_count
  return
}

// CHECK-LABEL: func.func @memory(
// CHECK-SAME: %[[K:.*]]: memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>>, %[[T:.*]]: memref<?xi32>, %[[I:.*]]: index
func.func @memory(%K: memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>>, %table: memref<?xi32>, %i: index) {
  // CHECK: %[[X:.*]] = tile.load %[[K]][%[[I]], %[[I]], %[[I]], %[[I]]] : memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>> -> tensor<80x128xf16>
  %k = tile.load %K[%i, %i, %i, %i] : memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>> -> tensor<80x128xf16>
  // CHECK: tile.load %[[K]][{{.*}}] : memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>> -> tensor<128xf16>
  %row = tile.load %K[%i, %i, %i, %i] : memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>> -> tensor<128xf16>
  // CHECK: tile.scalar_load %[[T]][%[[I]]] : memref<?xi32>
  %s = tile.scalar_load %table[%i] : memref<?xi32>
  // CHECK: tile.search %[[T]] from %[[I]] to %[[I]] below %[[I]] step %[[I]] most 64 : memref<?xi32>
  %f = tile.search %table from %i to %i below %i step %i most 64 : memref<?xi32>
  // CHECK: %[[AT:.*]] = tensor.splat
  // CHECK: tile.gather %[[T]][%[[AT]] : tensor<64xindex>] : memref<?xi32> -> tensor<64xi32>
  %at = tensor.splat %i : tensor<64xindex>
  %g = tile.gather %table[%at : tensor<64xindex>] : memref<?xi32> -> tensor<64xi32>
  // CHECK: tile.add_exact %{{.*}}, %{{.*}}[%[[I]], %{{.*}} : index, tensor<64x64xindex>] : tensor<64x64xf32>, memref<?x?x32xi64>
  %terms = arith.constant dense<1.0> : tensor<64x64xf32>
  %places = tensor.splat %i : tensor<64x64xindex>
  %sums = memref.alloc(%i, %i) : memref<?x?x32xi64>
  tile.add_exact %terms, %sums[%i, %places : index, tensor<64x64xindex>] : tensor<64x64xf32>, memref<?x?x32xi64>
  // CHECK: tile.add_exact %{{.*}}, %{{.*}}[%[[I]], %{{.*}} : index, tensor<64x64xindex>] diagonal : tensor<64x64xf32>, memref<?x?x32xi64>
  tile.add_exact %terms, %sums[%i, %places : index, tensor<64x64xindex>] diagonal : tensor<64x64xf32>, memref<?x?x32xi64>
  // CHECK: tile.load_exact %{{.*}}[%[[I]], %[[I]]] : memref<?x?x32xi64> -> tensor<64xf32>
  %total = tile.load_exact %sums[%i, %i] : memref<?x?x32xi64> -> tensor<64xf32>
  // CHECK: %[[ORDERED:.*]] = tile.ordered %[[ADDED:.*]] by %[[PROGRESS:.*]][%[[I]], %[[I]]] at %[[I]] : memref<?x64xf32>, memref<?x?x2xi32>
  // CHECK: tile.store %{{.*}}, %[[ORDERED]][%[[I]], %[[I]]] add : tensor<64x64xf32>, memref<?x64xf32>
  // CHECK: tile.end_ordered %[[PROGRESS]][%[[I]], %[[I]]] : memref<?x?x2xi32>
  %added = memref.alloc(%i) : memref<?x64xf32>
  %progress = memref.alloc(%i, %i) : memref<?x?x2xi32>
  %ordered = tile.ordered %added by %progress[%i, %i] at %i : memref<?x64xf32>, memref<?x?x2xi32>
  tile.store %terms, %ordered[%i, %i] add : tensor<64x64xf32>, memref<?x64xf32>
  tile.end_ordered %progress[%i, %i] : memref<?x?x2xi32>
  // CHECK: tile.store %{{.*}}, %{{.*}}[%[[I]], %[[I]]] add : tensor<64x64xi32>, memref<?x64xi32>
  %counted = memref.alloc(%i) : memref<?x64xi32>
  %numbers = arith.fptosi %terms : tensor<64x64xf32> to tensor<64x64xi32>
  tile.store %numbers, %counted[%i, %i] add : tensor<64x64xi32>, memref<?x64xi32>
  // CHECK: tile.load %[[K]] pieces 2 (%[[N:.*]]) {
  // CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[I]], %[[N]] : index
  // CHECK-NEXT: tile.yield %[[NEXT]], %[[I]], %[[N]], %[[I]] : index, index, index, index
  // CHECK-NEXT: } : memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>> -> tensor<64x128xf16>
  %pieces = tile.load %K pieces 2 (%n) {
    %next = arith.addi %i, %n : index
    tile.yield %next, %i, %n, %i : index, index, index, index
  } : memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>> -> tensor<64x128xf16>
  // CHECK: tile.load %[[K]][%[[I]], %[[I]], %[[I]], %[[I]]] limit %[[I]] : memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>> -> tensor<80x128xf16>
  %limited = tile.load %K[%i, %i, %i, %i] limit %i : memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>> -> tensor<80x128xf16>
  // CHECK: tile.load %[[K]] limit %[[I]] pieces 2 (
  %limited_pieces = tile.load %K limit %i pieces 2 (%n) {
    tile.yield %i, %i, %n, %i : index, index, index, index
  } : memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>> -> tensor<64x128xf16>
  // CHECK: %[[F:.*]] = tile.load %[[K]][%[[I]], %[[I]], %[[I]], %[[I]]] fold 4 : memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>> -> tensor<64x128xf16>
  %folded = tile.load %K[%i, %i, %i, %i] fold 4 : memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>> -> tensor<64x128xf16>
  // CHECK: tile.store %[[F]], %[[K]][%[[I]], %[[I]], %[[I]], %[[I]]] fold 4 : tensor<64x128xf16>, memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>>
  tile.store %folded, %K[%i, %i, %i, %i] fold 4 : tensor<64x128xf16>, memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>>
  // CHECK: tile.store %[[F]], %[[K]][%[[I]], %[[I]], %[[I]], %[[I]]] below %[[I]] fold 4 : tensor<64x128xf16>, memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>>
  tile.store %folded, %K[%i, %i, %i, %i] below %i fold 4 : tensor<64x128xf16>, memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>>
  // CHECK: tile.store %{{.*}}, %{{.*}}[%[[I]], %[[I]]] add : tensor<8x8xf32>, memref<?x?xf32>
  %partial = arith.constant dense<1.0> : tensor<8x8xf32>
  %totals = memref.alloc(%i, %i) : memref<?x?xf32>
  tile.store %partial, %totals[%i, %i] add : tensor<8x8xf32>, memref<?x?xf32>
  // CHECK: tile.store %[[X]], %[[K]][%[[I]], %[[I]], %[[I]], %[[I]]] : tensor<80x128xf16>, memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>>
  tile.store %k, %K[%i, %i, %i, %i] : tensor<80x128xf16>, memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>>
  return
}

// CHECK-LABEL: func.func @values(
func.func @values(%q: tensor<64x128xf16>, %k: tensor<80x128xf16>, %qt: tensor<128x64xf16>, %kt: tensor<128x80xf16>,
                  %zero: tensor<64x80xf32>, %m0: tensor<64xf32>, %j0: index, %grow: tensor<64xi1>, %o: tensor<64x128xf32>, %x: tensor<64xf32>) {
  // CHECK: %[[S:.*]] = tile.dot %{{.*}}, %{{.*}}, %{{.*}} lhs mk rhs nk : tensor<64x128xf16>, tensor<80x128xf16> -> tensor<64x80xf32>
  %s = tile.dot %q, %k, %zero lhs mk rhs nk : tensor<64x128xf16>, tensor<80x128xf16> -> tensor<64x80xf32>
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} lhs km rhs kn : tensor<128x64xf16>, tensor<128x80xf16> -> tensor<64x80xf32>
  %s1 = tile.dot %qt, %kt, %s lhs km rhs kn : tensor<128x64xf16>, tensor<128x80xf16> -> tensor<64x80xf32>
  // CHECK: tile.reduce max %[[S]] init %{{.*}} dim 1 : tensor<64x80xf32>, tensor<64xf32> -> tensor<64xf32>
  %m = tile.reduce max %s init %m0 dim 1 : tensor<64x80xf32>, tensor<64xf32> -> tensor<64xf32>
  // CHECK: tile.reduce add %[[S]] dim 1 modulo 8 : tensor<64x80xf32> -> tensor<64x8xf32>
  %l = tile.reduce add %s dim 1 modulo 8 : tensor<64x80xf32> -> tensor<64x8xf32>
  // CHECK: tile.reduce add %[[S]] dim 0 : tensor<64x80xf32> -> tensor<80xf32>
  %c = tile.reduce add %s dim 0 : tensor<64x80xf32> -> tensor<80xf32>
  // CHECK: tile.broadcast %{{.*}} dim 1 : tensor<64xf32> -> tensor<64x80xf32>
  %b = tile.broadcast %m dim 1 : tensor<64xf32> -> tensor<64x80xf32>
  // CHECK: tile.broadcast %{{.*}} dim 0 : tensor<80xf32> -> tensor<64x80xf32>
  %b0 = tile.broadcast %c dim 0 : tensor<80xf32> -> tensor<64x80xf32>
  // CHECK: tile.coord dim 1 offset %{{.*}} : tensor<64x80xindex>
  %j = tile.coord dim 1 offset %j0 : tensor<64x80xindex>
  // CHECK: tile.where %{{.*}} else %[[O:.*]] : tensor<64xi1>, tensor<64x128xf32> {
  // CHECK-NEXT: %[[B:.*]] = tile.broadcast
  // CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[O]], %[[B]]
  // CHECK-NEXT: tile.yield %[[Y]] : tensor<64x128xf32>
  // CHECK-NEXT: }
  %o1 = tile.where %grow else %o : tensor<64xi1>, tensor<64x128xf32> {
    %c1 = tile.broadcast %x dim 1 : tensor<64xf32> -> tensor<64x128xf32>
    %y = arith.mulf %o, %c1 : tensor<64x128xf32>
    tile.yield %y : tensor<64x128xf32>
  }
  // CHECK: %{{.*}}:2 = tile.where %{{.*}} else %{{.*}}, %{{.*}} : tensor<64xi1>, tensor<64x128xf32>, tensor<64xf32> {
  %o2:2 = tile.where %grow else %o, %x : tensor<64xi1>, tensor<64x128xf32>, tensor<64xf32> {
    %z = arith.negf %x : tensor<64xf32>
    tile.yield %o1, %z : tensor<64x128xf32>, tensor<64xf32>
  }
  %jmax = arith.constant dense<3> : tensor<64x80xindex>
  %keep = arith.cmpi sle, %j, %jmax : tensor<64x80xindex>
  // CHECK: tile.any_possible %{{.*}} : tensor<64x80xi1>
  %live = tile.any_possible %keep : tensor<64x80xi1>
  return
}

// CHECK-LABEL: func.func @slots(
func.func @slots(%slot: !warp.slot<read, [tensor<192x128xf16>]>, %write: !warp.slot<write, [i32, tensor<80x128xf16>]>,
                 %numbers: !warp.slot<read, [tensor<80x128xf16>, tensor<1xi32>]>, %K: memref<?x128xf16>, %G: memref<?x4x128xf16>, %i: index, %zero: tensor<64x80xf32>, %p: tensor<64x80xf16>, %vs: !tile.view<tensor<80x128xf16>>) {
  // CHECK: %[[V:.*]] = tile.view %{{.*}}[%{{.*}}, %{{.*}}] : <read, [tensor<192x128xf16>]> -> <tensor<64x128xf16>>
  %v = tile.view %slot[%i, %i] : !warp.slot<read, [tensor<192x128xf16>]> -> !tile.view<tensor<64x128xf16>>
  // CHECK: %[[W:.*]] = tile.view %{{.*}}[%{{.*}}, %{{.*}}] field 1 : <write, [i32, tensor<80x128xf16>]> -> <tensor<80x128xf16>>
  %w = tile.view %write[%i, %i] field 1 : !warp.slot<write, [i32, tensor<80x128xf16>]> -> !tile.view<tensor<80x128xf16>>
  // CHECK: %[[N:.*]] = tile.view %{{.*}}[%{{.*}}] field 1 : <read, [tensor<80x128xf16>, tensor<1xi32>]> -> <tensor<1xi32>>
  %number = tile.view %numbers[%i] field 1 : !warp.slot<read, [tensor<80x128xf16>, tensor<1xi32>]> -> !tile.view<tensor<1xi32>>
  // CHECK: %[[R:.*]] = tile.receive %[[N]] : <tensor<1xi32>>
  %received = tile.receive %number : !tile.view<tensor<1xi32>>
  // CHECK: tile.post %[[R]], %[[N]] : <tensor<1xi32>>
  tile.post %received, %number : !tile.view<tensor<1xi32>>
  // CHECK: %[[X:.*]] = tile.read %[[V]] : <tensor<64x128xf16>> -> tensor<64x128xf16>
  %x = tile.read %v : !tile.view<tensor<64x128xf16>> -> tensor<64x128xf16>
  // CHECK: tile.write %[[X]], %[[V]] : tensor<64x128xf16>, <tensor<64x128xf16>>
  tile.write %x, %v : tensor<64x128xf16>, !tile.view<tensor<64x128xf16>>
  // CHECK: tile.load.async %{{.*}}[%{{.*}}, %{{.*}}], %[[W]] : memref<?x128xf16>, <tensor<80x128xf16>>
  tile.load.async %K[%i, %i], %w : memref<?x128xf16>, !tile.view<tensor<80x128xf16>>
  // CHECK: tile.load.async %{{.*}}, %[[W]] pieces 5 (%[[N:.*]]) {
  // CHECK-NEXT: tile.yield %[[N]], %{{.*}} : index, index
  // CHECK-NEXT: } : memref<?x128xf16>, <tensor<80x128xf16>>
  tile.load.async %K, %w pieces 5 (%n) {
    tile.yield %n, %i : index, index
  } : memref<?x128xf16>, !tile.view<tensor<80x128xf16>>
  // CHECK: tile.load.async %{{.*}}[%{{.*}}, %{{.*}}], %[[W]] limit %{{.*}} : memref<?x128xf16>, <tensor<80x128xf16>>
  tile.load.async %K[%i, %i], %w limit %i : memref<?x128xf16>, !tile.view<tensor<80x128xf16>>
  // CHECK: tile.load.async %{{.*}}, %[[W]] limit %{{.*}} pieces 5 (
  tile.load.async %K, %w limit %i pieces 5 (%n) {
    tile.yield %n, %i : index, index
  } : memref<?x128xf16>, !tile.view<tensor<80x128xf16>>
  // CHECK: tile.load.async %{{.*}}[%{{.*}}, %{{.*}}], %[[W]] rows [0, 3, 1, 2] : memref<?x128xf16>, <tensor<80x128xf16>>
  tile.load.async %K[%i, %i], %w rows [0, 3, 1, 2] : memref<?x128xf16>, !tile.view<tensor<80x128xf16>>
  // CHECK: tile.load.async %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}], %[[W]] fold 4 : memref<?x4x128xf16>, <tensor<80x128xf16>>
  tile.load.async %G[%i, %i, %i], %w fold 4 : memref<?x4x128xf16>, !tile.view<tensor<80x128xf16>>
  // CHECK: tile.store.async %[[V]], %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] fold 4 : <tensor<64x128xf16>>, memref<?x4x128xf16>
  %folded = tile.store.async %v, %G[%i, %i, %i] fold 4 : !tile.view<tensor<64x128xf16>>, memref<?x4x128xf16>
  // CHECK: %{{.*}} = tile.store.async %[[V]], %{{.*}}[%{{.*}}, %{{.*}}] : <tensor<64x128xf16>>, memref<?x128xf16>
  %d0 = tile.store.async %v, %K[%i, %i] : !tile.view<tensor<64x128xf16>>, memref<?x128xf16>
  // CHECK: tile.store.async %[[V]], %{{.*}}[%{{.*}}, %{{.*}}] : <tensor<64x128xf16>>, memref<?x128xf16>
  %d1 = tile.store.async %v, %K[%i, %i] : !tile.view<tensor<64x128xf16>>, memref<?x128xf16>
  // CHECK: %[[S:.*]], %{{.*}} = tile.dot.async %[[V]], %[[W]], %{{.*}} lhs mk rhs nk : !tile.view<tensor<64x128xf16>>, !tile.view<tensor<80x128xf16>>, tensor<64x80xf32> -> <tensor<64x80xf32>>
  %s, %d2 = tile.dot.async %v, %w, %zero lhs mk rhs nk
    : !tile.view<tensor<64x128xf16>>, !tile.view<tensor<80x128xf16>>, tensor<64x80xf32> -> !tile.pending<tensor<64x80xf32>>
  // CHECK: %[[Z:.*]] = tile.pend %{{.*}} : tensor<64x128xf32> -> <tensor<64x128xf32>>
  %z = arith.constant dense<0.0> : tensor<64x128xf32>
  %pend = tile.pend %z : tensor<64x128xf32> -> !tile.pending<tensor<64x128xf32>>
  // CHECK: %[[O:.*]], %{{.*}} = tile.dot.async %{{.*}}, %{{.*}}, %[[Z]] lhs mk rhs kn : tensor<64x80xf16>, !tile.view<tensor<80x128xf16>>, !tile.pending<tensor<64x128xf32>> -> <tensor<64x128xf32>>
  %o, %d3 = tile.dot.async %p, %vs, %pend lhs mk rhs kn
    : tensor<64x80xf16>, !tile.view<tensor<80x128xf16>>, !tile.pending<tensor<64x128xf32>> -> !tile.pending<tensor<64x128xf32>>
  // CHECK: %[[R:.*]] = tile.await %[[S]] : <tensor<64x80xf32>>
  %rs = tile.await %s : !tile.pending<tensor<64x80xf32>>
  // CHECK: %{{.*}}, %{{.*}}:2 = tile.await %[[O]] keep %[[R]], %{{.*}} : tensor<64x80xf32>, tensor<64x80xf16> : <tensor<64x128xf32>>
  %ro, %kept:2 = tile.await %o keep %rs, %p : tensor<64x80xf32>, tensor<64x80xf16> : !tile.pending<tensor<64x128xf32>>
  return
}

// CHECK-LABEL: func.func @shares(
// CHECK-SAME: %[[I:.*]]: index, %[[N:.*]]: index
// CHECK: tile.share %[[N]]
// CHECK: tile.claim %[[I]] of %[[N]]
func.func @shares(%i: index, %n: index) {
  %s = tile.share %n
  %t = tile.claim %i of %n
  return
}

// CHECK-LABEL: func.func @renamed(
func.func @renamed(%x: tensor<32x16xf8E4M3FN>) {
  // CHECK: %[[R:.*]] = tile.relabel %{{.*}} dim 0 bits [0, 3, 1, 2] : tensor<32x16xf8E4M3FN> -> tensor<32x16xf8E4M3FN>
  %r = tile.relabel %x dim 0 bits [0, 3, 1, 2] : tensor<32x16xf8E4M3FN> -> tensor<32x16xf8E4M3FN>
  // CHECK: tile.transpose %[[R]] : tensor<32x16xf8E4M3FN> -> tensor<16x32xf8E4M3FN>
  %t = tile.transpose %r : tensor<32x16xf8E4M3FN> -> tensor<16x32xf8E4M3FN>
  return
}

// CHECK-LABEL: func.func @unpack(
func.func @unpack(%x: tensor<32x16xi8>) {
  // CHECK: tile.unpack %{{.*}} : tensor<32x16xi8> -> tensor<32x32xbf16>
  %r = tile.unpack %x : tensor<32x16xi8> -> tensor<32x32xbf16>
  return
}

// CHECK-LABEL: func.func @layouts(
// CHECK-SAME: tensor<64x32xf8E4M3FN, #tile.operand_a<8>>
// CHECK-SAME: tensor<64x32xf32, #tile.operand_a<8>>
// CHECK-SAME: tensor<32x16xf8E5M2, #tile.transposing>
// CHECK-SAME: tensor<16x32xf8E5M2, #tile.transposed<#tile.relabeled<0, [0, 3, 1, 2], #tile.transposing>>>
func.func @layouts(%a: tensor<64x32xf8E4M3FN, #tile.operand_a<8>>, %b: tensor<64x32xf32, #tile.operand_a<8>>,
                   %c: tensor<32x16xf8E5M2, #tile.transposing>,
                   %d: tensor<16x32xf8E5M2, #tile.transposed<#tile.relabeled<0, [0, 3, 1, 2], #tile.transposing>>>) {
  return
}

// CHECK-LABEL: func.func @adds
// CHECK: tile.store.async %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] add : <tensor<64x32xf32>>, memref<?x32xf32>
func.func @adds(%v: !tile.view<tensor<64x32xf32>>, %a: memref<?x32xf32>, %i: index) {
  %d = tile.store.async %v, %a[%i, %i] add : !tile.view<tensor<64x32xf32>>, memref<?x32xf32>
  return
}

// CHECK-LABEL: func.func @flags
func.func @flags(%f: memref<?x?xi32>, %p: index, %i: index) {
  // CHECK: tile.clear_flag %{{.*}}[%[[P:.*]], %[[I:.*]]] : memref<?x?xi32>
  tile.clear_flag %f[%p, %i] : memref<?x?xi32>
  // CHECK-NEXT: tile.set_flag %{{.*}}[%[[P]], %[[I]]] : memref<?x?xi32>
  tile.set_flag %f[%p, %i] : memref<?x?xi32>
  // CHECK-NEXT: tile.await_flags %{{.*}}[%[[I]]] : memref<?x?xi32>
  tile.await_flags %f[%i] : memref<?x?xi32>
  return
}
