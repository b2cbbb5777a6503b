// RUN: fa3-opt %s | fa3-opt | FileCheck %s
// RUN: fa3-opt %s -mlir-print-op-generic | fa3-opt | FileCheck %s

// Every form of every operation, type and attribute survives printing and
// parsing. The examples of the descriptions are among them.

// The accumulator of 64 x 80, and the statistics of its rows.
#acc = #hopper.fragment<[64, 80], reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [[1, 16, 5]]>
#rows = #hopper.fragment<[64], reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]], repeat = []>

// CHECK-DAG: #[[ACC:.*]] = #hopper.fragment<[64, 80], reg = {{\[\[}}0, 1], [8, 0], [0, 8]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}16, 0], [32, 0]], repeat = {{\[\[}}1, 16, 5]]>
// CHECK-DAG: #[[ROWS:.*]] = #hopper.fragment<[64], reg = {{\[\[}}8]], lane = {{\[\[}}0], [0], [1], [2], [4]], warp = {{\[\[}}16], [32]], repeat = []>

// CHECK: func.func private @types(
// CHECK-SAME: !hopper.barrier<2, 3>
// CHECK-SAME: !hopper.buffer<2, tensor<80x128xf16>, 128>
// CHECK-SAME: !hopper.tensormap<[1, 1, 80, 64], f16, 128>
// CHECK-SAME: !hopper.desc<80, f16, 128, k>
// CHECK-SAME: !hopper.desc<64, f8E4M3FN, 32, mn>
// CHECK-SAME: !hopper.inflight<vector<40xf32>>
// CHECK-SAME: !hopper.group
func.func private @types(
  !hopper.barrier<2, 3>, !hopper.buffer<2, tensor<80x128xf16>, 128>, !hopper.tensormap<[1, 1, 80, 64], f16, 128>,
  !hopper.desc<80, f16, 128, k>, !hopper.desc<64, f8E4M3FN, 32, mn>, !hopper.inflight<vector<40xf32>>, !hopper.group)

gpu.module @kernels {
  gpu.func @fwd(%map: !hopper.tensormap<[80, 64], f16, 128>, %n: i32) kernel {
    gpu.return
  }
  llvm.func @lowered(!llvm.ptr, i32)
}

// CHECK-LABEL: func.func @host(
// CHECK-SAME: %[[M:.*]]: memref<?x64xf16, strided<[?, 1]>>, %[[N:.*]]: index, %[[I:.*]]: i32
func.func @host(%m: memref<?x64xf16, strided<[?, 1]>>, %n: index, %i: i32) {
  // CHECK: %[[MAP:.*]] = hopper.tensormap.encode %[[M]] : memref<?x64xf16, strided<[?, 1]>> -> <[80, 64], f16, 128>
  %map = hopper.tensormap.encode %m : memref<?x64xf16, strided<[?, 1]>> -> !hopper.tensormap<[80, 64], f16, 128>
  // CHECK: hopper.address %[[M]] : memref<?x64xf16, strided<[?, 1]>>
  %p = hopper.address %m : memref<?x64xf16, strided<[?, 1]>>
  // CHECK: hopper.sm_count
  %sms = hopper.sm_count
  // CHECK: hopper.launch @kernels::@fwd blocks %[[N]] threads 512 smem 181248 args(%[[MAP]], %[[I]] : !hopper.tensormap<[80, 64], f16, 128>, i32) cost(%[[N]], %[[N]])
  hopper.launch @kernels::@fwd blocks %n threads 512 smem 181248 args(%map, %i : !hopper.tensormap<[80, 64], f16, 128>, i32) cost(%n, %n)
  // CHECK: hopper.launch @kernels::@lowered blocks %[[N]] threads 32 smem 0 args(%[[MAP]], %[[I]] : !hopper.tensormap<[80, 64], f16, 128>, i32) {note = "any"}
  hopper.launch @kernels::@lowered blocks %n threads 32 smem 0 args(%map, %i : !hopper.tensormap<[80, 64], f16, 128>, i32) {note = "any"}
  return
}

// CHECK-LABEL: func.func @barriers(
func.func @barriers(%i: i32, %p: i32) {
  // CHECK: %[[FULL:.*]] = hopper.barrier.alloc : <2, 1>
  %full = hopper.barrier.alloc : !hopper.barrier<2, 1>
  // CHECK: %[[EMPTY:.*]] = hopper.barrier.alloc offset 16 : <2, 3>
  %empty = hopper.barrier.alloc offset 16 : !hopper.barrier<2, 3>
  // CHECK: hopper.smem.alloc : <2, tensor<80x128xf16>, 128>
  %buf = hopper.smem.alloc : !hopper.buffer<2, tensor<80x128xf16>, 128>
  // CHECK: hopper.smem.alloc offset 1024 : <2, tensor<80x128xf16>, 128>
  %buf1 = hopper.smem.alloc offset 1024 : !hopper.buffer<2, tensor<80x128xf16>, 128>
  // CHECK: hopper.smem.fill %{{.*}}, 1.000000e+00 : f16 : <2, tensor<80x128xf16>, 128>
  hopper.smem.fill %buf1, 1.0 : f16 : !hopper.buffer<2, tensor<80x128xf16>, 128>
  // CHECK: hopper.barrier.init %[[FULL]], %[[EMPTY]] : !hopper.barrier<2, 1>, !hopper.barrier<2, 3>
  hopper.barrier.init %full, %empty : !hopper.barrier<2, 1>, !hopper.barrier<2, 3>
  // CHECK: hopper.barrier.wait %[[FULL]][%{{.*}}] parity %{{.*}} : <2, 1>
  hopper.barrier.wait %full[%i] parity %p : !hopper.barrier<2, 1>
  // CHECK: hopper.barrier.arrive %[[EMPTY]][%{{.*}}] : <2, 3>
  hopper.barrier.arrive %empty[%i] : !hopper.barrier<2, 3>
  // CHECK: hopper.barrier.expect_tx %[[FULL]][%{{.*}}], 20480 : <2, 1>
  hopper.barrier.expect_tx %full[%i], 20480 : !hopper.barrier<2, 1>
  // CHECK: hopper.named_barrier.sync %{{.*}} threads 128
  hopper.named_barrier.sync %i threads 128
  // CHECK: hopper.named_barrier.arrive %{{.*}} threads 256
  hopper.named_barrier.arrive %i threads 256
  // CHECK: hopper.fence.proxy_async
  hopper.fence.proxy_async
  // CHECK: hopper.fence.acq_rel
  hopper.fence.acq_rel
  // CHECK: hopper.setmaxnreg increase 240
  hopper.setmaxnreg increase 240
  // CHECK: hopper.setmaxnreg decrease 24
  hopper.setmaxnreg decrease 24
  return
}

// CHECK-LABEL: func.func @tma(
func.func @tma(%map: !hopper.tensormap<[1, 1, 80, 64], f16, 128>, %buf: !hopper.buffer<2, tensor<80x128xf16>, 128>, %full: !hopper.barrier<2, 1>,
               %b: i32, %h: i32, %i: i32, %c: i32, %s: i32, %c0: i32, %c64: i32) {
  // CHECK: hopper.tma.load %[[MAP:.*]][%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] to %[[BUF:.*]][%{{.*}}, %{{.*}}, %{{.*}}] signal %{{.*}}[%{{.*}}] : <[1, 1, 80, 64], f16, 128>, <2, tensor<80x128xf16>, 128>, <2, 1>
  hopper.tma.load %map[%b, %h, %i, %c] to %buf[%s, %c0, %c64] signal %full[%s]
    : !hopper.tensormap<[1, 1, 80, 64], f16, 128>, !hopper.buffer<2, tensor<80x128xf16>, 128>, !hopper.barrier<2, 1>
  // CHECK: hopper.tma.load %[[MAP]] to %[[BUF]][%{{.*}}, %{{.*}}, %{{.*}}] signal %{{.*}}[%{{.*}}] pieces 1 by 2 (%[[N:.*]]) {
  // CHECK-NEXT: hopper.yield %[[N]], %{{.*}}, %{{.*}}, %{{.*}} : i32, i32, i32, i32
  // CHECK-NEXT: } : <[1, 1, 80, 64], f16, 128>, <2, tensor<80x128xf16>, 128>, <2, 1>
  hopper.tma.load %map to %buf[%s, %c0, %c0] signal %full[%s] pieces 1 by 2 (%n) {
    hopper.yield %n, %h, %i, %c : i32, i32, i32, i32
  } : !hopper.tensormap<[1, 1, 80, 64], f16, 128>, !hopper.buffer<2, tensor<80x128xf16>, 128>, !hopper.barrier<2, 1>
  // CHECK: hopper.tma.store %[[BUF]][%{{.*}}, %{{.*}}, %{{.*}}] to %[[MAP]][%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] : <2, tensor<80x128xf16>, 128>, <[1, 1, 80, 64], f16, 128>
  hopper.tma.store %buf[%s, %c0, %c64] to %map[%b, %h, %i, %c] : !hopper.buffer<2, tensor<80x128xf16>, 128>, !hopper.tensormap<[1, 1, 80, 64], f16, 128>
  // CHECK: hopper.tma.commit
  hopper.tma.commit
  // CHECK: hopper.tma.wait_read pending 1
  hopper.tma.wait_read pending 1
  return
}

// CHECK-LABEL: func.func @products(
func.func @products(%q: !hopper.buffer<1, tensor<192x128xf16>, 128>, %k: !hopper.buffer<2, tensor<80x128xf16>, 128>, %i: i32,
                    %p: vector<40xf16>, %acc: vector<64xf32>) {
  // CHECK: %[[DQ:.*]] = hopper.desc %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : <1, tensor<192x128xf16>, 128> -> <192, f16, 128, k>
  %dq = hopper.desc %q[%i, %i, %i] : !hopper.buffer<1, tensor<192x128xf16>, 128> -> !hopper.desc<192, f16, 128, k>
  %dk = hopper.desc %k[%i, %i, %i] : !hopper.buffer<2, tensor<80x128xf16>, 128> -> !hopper.desc<80, f16, 128, k>
  // CHECK: -> <80, f16, 128, mn>
  %dv = hopper.desc %k[%i, %i, %i] : !hopper.buffer<2, tensor<80x128xf16>, 128> -> !hopper.desc<80, f16, 128, mn>
  // CHECK: hopper.wgmma.fence{{$}}
  hopper.wgmma.fence
  // CHECK: %[[F:.*]]:2 = hopper.wgmma.fence(%{{.*}}, %{{.*}} : vector<40xf16>, vector<64xf32>)
  %f:2 = hopper.wgmma.fence (%p, %acc : vector<40xf16>, vector<64xf32>)
  // CHECK: %[[S:.*]] = hopper.wgmma.mma %[[DQ]], %{{.*}} m 64 n 80 k 128 : !hopper.desc<192, f16, 128, k>, <80, f16, 128, k> -> <vector<40xf32>>
  %s = hopper.wgmma.mma %dq, %dk m 64 n 80 k 128
    : !hopper.desc<192, f16, 128, k>, !hopper.desc<80, f16, 128, k> -> !hopper.inflight<vector<40xf32>>
  // CHECK: %[[G0:.*]] = hopper.wgmma.commit
  %g0 = hopper.wgmma.commit
  // CHECK: %[[O:.*]] = hopper.wgmma.mma %[[F]]#0, %{{.*}} acc %[[F]]#1 : vector<64xf32> m 64 n 128 k 80 : vector<40xf16>, <80, f16, 128, mn> -> <vector<64xf32>>
  %o = hopper.wgmma.mma %f#0, %dv acc %f#1 : vector<64xf32> m 64 n 128 k 80 : vector<40xf16>, !hopper.desc<80, f16, 128, mn> -> !hopper.inflight<vector<64xf32>>
  // CHECK: hopper.wgmma.mma %[[F]]#0, %{{.*}} acc %[[O]] : !hopper.inflight<vector<64xf32>> m 64 n 128 k 80
  %o1 = hopper.wgmma.mma %f#0, %dv acc %o : !hopper.inflight<vector<64xf32>> m 64 n 128 k 80 : vector<40xf16>, !hopper.desc<80, f16, 128, mn> -> !hopper.inflight<vector<64xf32>>
  %g1 = hopper.wgmma.commit
  // CHECK: %[[SV:.*]] = hopper.wgmma.wait %[[G0]] inflight(%[[S]] : !hopper.inflight<vector<40xf32>>) pending 1
  %sv = hopper.wgmma.wait %g0 inflight(%s : !hopper.inflight<vector<40xf32>>) pending 1
  // CHECK: hopper.wgmma.wait %[[G0]], %{{.*}} inflight(%{{.*}} : !hopper.inflight<vector<64xf32>>) keep(%[[SV]] : vector<40xf32>)
  %ov:2 = hopper.wgmma.wait %g0, %g1 inflight(%o1 : !hopper.inflight<vector<64xf32>>) keep(%sv : vector<40xf32>)
  // CHECK: %[[R:.*]] = hopper.group.ready
  %r = hopper.group.ready
  // CHECK: hopper.wgmma.wait %[[R]] pending -1
  hopper.wgmma.wait %r pending -1
  // CHECK: hopper.inflight.ready %{{.*}} : vector<64xf32> -> <vector<64xf32>>
  %ready = hopper.inflight.ready %acc : vector<64xf32> -> !hopper.inflight<vector<64xf32>>
  return
}

// CHECK-LABEL: func.func @fragments(
func.func @fragments(%j0: i32, %s: vector<40xf32>, %c: vector<40xi1>, %p: !llvm.ptr<1>, %st: i64, %buf: !hopper.buffer<1, tensor<64x96xf32>, 128>) {
  // CHECK: hopper.coord dim 1 offset %{{.*}} of #[[ACC]] : vector<40xi32>
  %j = hopper.coord dim 1 offset %j0 of #acc : vector<40xi32>
  // CHECK: %[[M:.*]] = hopper.fragment.reduce max %{{.*}} dim 1 of #[[ACC]] : vector<40xf32> -> vector<2xf32>
  %m = hopper.fragment.reduce max %s dim 1 of #acc : vector<40xf32> -> vector<2xf32>
  // CHECK: hopper.fragment.reduce add %{{.*}} dim 1 modulo 8 of #[[ACC]] : vector<40xf32> -> vector<4xf32>
  %l = hopper.fragment.reduce add %s dim 1 modulo 8 of #acc : vector<40xf32> -> vector<4xf32>
  // CHECK: hopper.lane.reduce max %[[M]] over [0, 1] : vector<2xf32>
  %m1 = hopper.lane.reduce max %m over [0, 1] : vector<2xf32>
  // CHECK: %[[V:.*]] = hopper.vote.any %{{.*}} : vector<40xi1>
  %v = hopper.vote.any %c : vector<40xi1>
  // CHECK: hopper.warp_if %[[V]] else %[[S:.*]] : vector<40xf32> {
  // CHECK-NEXT: %[[X:.*]] = arith.addf
  // CHECK-NEXT: hopper.yield %[[X]] : vector<40xf32>
  // CHECK-NEXT: }
  %w = hopper.warp_if %v else %s : vector<40xf32> {
    %x = arith.addf %s, %s : vector<40xf32>
    hopper.yield %x : vector<40xf32>
  }
  // CHECK: hopper.warp_if_else %[[V]] : vector<40xf32>, vector<2xf32> {
  // CHECK-NEXT: hopper.yield %[[S]], %[[M:.*]] : vector<40xf32>, vector<2xf32>
  // CHECK-NEXT: } else {
  // CHECK-NEXT: %[[X:.*]] = arith.mulf
  // CHECK-NEXT: hopper.yield %[[X]], %[[M]] : vector<40xf32>, vector<2xf32>
  // CHECK-NEXT: }
  %w2:2 = hopper.warp_if_else %v : vector<40xf32>, vector<2xf32> {
    hopper.yield %s, %m1 : vector<40xf32>, vector<2xf32>
  } else {
    %x = arith.mulf %s, %s : vector<40xf32>
    hopper.yield %x, %m1 : vector<40xf32>, vector<2xf32>
  }
  // CHECK: %[[Y:.*]] = hopper.fragment.load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] strides(%{{.*}}, %{{.*}}, %{{.*}}) bounds(%{{.*}}, %{{.*}}) of #[[ACC]] : vector<40xf32>
  %y = hopper.fragment.load %p[%j0, %j0, %j0] strides(%st, %st, %st) bounds(%j0, %j0) of #acc : vector<40xf32>
  // CHECK: hopper.fragment.store %[[Y]], %{{.*}}[%{{.*}}, %{{.*}}] strides(%{{.*}}, %{{.*}}) bounds(%{{.*}}, %{{.*}}) of #[[ACC]] : vector<40xf32>
  hopper.fragment.store %y, %p[%j0, %j0] strides(%st, %st) bounds(%j0, %j0) of #acc : vector<40xf32>
  // CHECK: hopper.fragment.load %{{.*}}[%{{.*}}] strides(%{{.*}}) bounds(%{{.*}}) of #[[ROWS]] : vector<2xf32>
  %z = hopper.fragment.load %p[%j0] strides(%st) bounds(%j0) of #rows : vector<2xf32>
  // CHECK: hopper.scalar_load %{{.*}}[%{{.*}}] strides(%{{.*}}) : i32
  %e = hopper.scalar_load %p[%j0] strides(%st) : i32
  // CHECK: hopper.search %{{.*}} stride %{{.*}} from %{{.*}} to %{{.*}} below %{{.*}} step %{{.*}} most 64
  %found = hopper.search %p stride %st from %j0 to %j0 below %j0 step %j0 most 64
  // CHECK: hopper.gather %{{.*}}[%{{.*}}, %{{.*}} : i32, vector<4xi32>] strides(%{{.*}}, %{{.*}}) bounds(%{{.*}}, %{{.*}}) : vector<4xf16>
  %at = vector.broadcast %j0 : i32 to vector<4xi32>
  %g = hopper.gather %p[%j0, %at : i32, vector<4xi32>] strides(%st, %st) bounds(%j0, %j0) : vector<4xf16>
  // CHECK: hopper.diagonal.reduce add %[[Y]] of #[[ACC]] : vector<40xf32> -> vector<3xf32>
  %diagonals = hopper.diagonal.reduce add %y of #acc : vector<40xf32> -> vector<3xf32>
  // CHECK: hopper.add_exact %{{.*}}, %{{.*}}[%{{.*}} : i32] strides(%{{.*}}) bounds(%{{.*}}) : vector<3xf32>
  hopper.add_exact %diagonals, %p[%j0 : i32] strides(%st) bounds(%j0) : vector<3xf32>
  // CHECK: hopper.load_exact %{{.*}}[%{{.*}}] strides(%{{.*}}) bounds(%{{.*}}) of #{{.*}} : vector<2xf32>
  %total = hopper.load_exact %p[%j0] strides(%st) bounds(%j0) of #rows : vector<2xf32>
  // CHECK: hopper.progress.pass %[[J0:.*]] at %{{.*}}[%[[J0]], %[[J0]]] strides(%{{.*}}, %{{.*}})
  hopper.progress.pass %j0 at %p[%j0, %j0] strides(%st, %st)
  // CHECK: hopper.progress.pass %[[J0]] at %{{.*}}[%[[J0]], %[[J0]]] strides(%{{.*}}, %{{.*}}) end
  hopper.progress.pass %j0 at %p[%j0, %j0] strides(%st, %st) end
  // CHECK: hopper.smem.store %[[Y]] to %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] of #[[ACC]] : vector<40xf32>, <1, tensor<64x96xf32>, 128>
  hopper.smem.store %y to %buf[%j0, %j0, %j0] of #acc : vector<40xf32>, !hopper.buffer<1, tensor<64x96xf32>, 128>
  // CHECK: hopper.smem.load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] of #[[ACC]] : <1, tensor<64x96xf32>, 128> -> vector<40xf32>
  %x = hopper.smem.load %buf[%j0, %j0, %j0] of #acc : !hopper.buffer<1, tensor<64x96xf32>, 128> -> vector<40xf32>
  return
}

// Tiles that CTAs share out.
// CHECK-LABEL: func.func @shares
func.func @shares(%n: i32) {
  // CHECK: %[[COUNTER:.*]] = hopper.counter
  %counter = hopper.counter
  // CHECK: hopper.share %{{.*}}
  %share = hopper.share %n
  // CHECK: %[[BOX:.*]] = hopper.mailbox.alloc offset 8 : <2>
  %box = hopper.mailbox.alloc offset 8 : !hopper.mailbox<2>
  // CHECK: %[[NEXT:.*]] = hopper.claim %[[COUNTER]] after %{{.*}} of %{{.*}}
  %next = hopper.claim %counter after %n of %n
  // CHECK: hopper.mailbox.post %[[NEXT]], %[[BOX]][%{{.*}}] : <2>
  hopper.mailbox.post %next, %box[%n] : !hopper.mailbox<2>
  // CHECK: hopper.mailbox.read %[[BOX]][%{{.*}}] : <2>
  %read = hopper.mailbox.read %box[%n] : !hopper.mailbox<2>
  return
}

// Times of events.
// CHECK-LABEL: func.func @records
func.func @records(%p: i32, %buffer: !llvm.ptr<1>) {
  // CHECK: %[[NEXT:.*]] = hopper.record 3 at %{{.*}} in %{{.*}} capacity 1024
  %next = hopper.record 3 at %p in %buffer capacity 1024
  // CHECK: hopper.record 65535 at %[[NEXT]] in %{{.*}} capacity 2
  %last = hopper.record 65535 at %next in %buffer capacity 2
  return
}

// Tiles that another kernel waits for.
// CHECK-LABEL: func.func @flags
func.func @flags(%f: !llvm.ptr<1>, %i: i32, %s: i64) {
  // CHECK: hopper.flag.clear %[[F:.*]][%[[I:.*]], %[[I]]] strides(%[[S:.*]], %[[S]]){{$}}
  hopper.flag.clear %f[%i, %i] strides(%s, %s)
  // CHECK: hopper.flag.clear %[[F]][%[[I]]] strides(%[[S]]) start
  hopper.flag.clear %f[%i] strides(%s) start
  // CHECK: hopper.tma.wait_read pending 0 written
  hopper.tma.wait_read pending 0 written
  // CHECK: hopper.flag.set %[[F]][%[[I]]] strides(%[[S]])
  hopper.flag.set %f[%i] strides(%s)
  // CHECK: hopper.flag.await %[[F]][] strides() count %[[I]] step %[[S]]
  hopper.flag.await %f[] strides() count %i step %s
  // CHECK: hopper.flag.await %[[F]][%[[I]]] strides(%[[S]]) count %[[I]] step %[[S]] copies
  hopper.flag.await %f[%i] strides(%s) count %i step %s copies
  return
}
