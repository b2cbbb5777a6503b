// The fused form with additions in one order: the same values at every level, with
// more tiles of keys than one, more queries than keys, heads that share keys.

// DEFINE: %{dims} =
// DEFINE: %{tiles} = fa3-run --cpu --pass-pipeline='builtin.module(fa3-tile{backward-form=fused deterministic})' --dims %{dims}
// DEFINE: %{hopper} = fa3-run --cpu --require-fences --pass-pipeline='builtin.module(fa3-tile{backward-form=fused deterministic},fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' --dims %{dims}

// RUN: split-file %s %t
// REDEFINE: %{dims} = b=1,sq=150,sk=300
// RUN: %{tiles} %t/causal.mlir | FileCheck %s
// RUN: %{hopper} %t/causal.mlir | FileCheck %s
// REDEFINE: %{dims} = b=2,sq=150,sk=20
// RUN: %{hopper} %t/causal.mlir | FileCheck %s
// RUN: sed 's/#attention.causal/#attention.window<left = 40, right = 9>/' %t/causal.mlir > %t/window.mlir
// REDEFINE: %{dims} = b=1,sq=150,sk=300
// RUN: %{hopper} %t/window.mlir | FileCheck %s
// RUN: %{tiles} %t/wide.mlir | FileCheck %s
// RUN: %{hopper} %t/wide.mlir | FileCheck %s
// REDEFINE: %{dims} = b=1,sq=0,sk=300
// RUN: %{hopper} %t/wide.mlir | FileCheck %s --check-prefix=EMPTY
// REDEFINE: %{dims} = b=1,sq=5,sk=0
// RUN: %{hopper} %t/wide.mlir | FileCheck %s --check-prefix=EMPTY

// CHECK: dq: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// CHECK: dk: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// CHECK: dv: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// EMPTY: dq: max error 0, bound 0,
// EMPTY: dk: max error 0, bound 0,
// EMPTY: dv: max error 0, bound 0,

// All tiles of keys begin with the last queries, and are numbered from the first
// on, other heads between them.
// RUN: fa3-opt %t/causal.mlir -fa3-tile="backward-form=fused deterministic" | FileCheck %s --check-prefix=TILE
// TILE-LABEL: gpu.func @causal_delta
// TILE: tile.store %{{.*}}, %{{.*}} : tensor<64xi32>, memref<?x?x?x64xi32>
// TILE-LABEL: gpu.func @causal_grads
// TILE: %[[ID:.*]] = gpu.block_id x
// TILE: scf.for
// TILE: scf.for %[[STEP:.*]] = %{{.*}} to
// TILE: scf.if
// TILE: %[[SUMS:.*]] = tile.ordered %{{.*}} by %[[PROGRESS:.*]][%[[B:.*]], %[[H:.*]], %[[N:.*]]] at %{{.*}} : memref<?x?x?x64xf32>, memref<?x?x?x64xi32>
// TILE: tile.store %{{.*}}, %[[SUMS]][{{.*}}] add
// TILE: tile.end_ordered %[[PROGRESS]][%[[B]], %[[H]], %[[N]]]
// TILE: tile.store

// A group of its own passes positions, for what all replicas have written.
// RUN: fa3-opt %t/wide.mlir -pass-pipeline="builtin.module(fa3-tile{backward-form=fused deterministic},fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)" -o %t/wide.hopper.mlir
// RUN: FileCheck %s --check-prefix=HOPPER < %t/wide.hopper.mlir
// HOPPER-LABEL: gpu.func @wide_grads
// HOPPER: warp.group @store warps 1 at 1
// HOPPER: hopper.barrier.wait
// HOPPER-NOT: hopper.named_barrier.sync
// HOPPER: hopper.progress.pass %{{.*}} at %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}]
// HOPPER-NEXT: hopper.tma.store {{.*}} add
// HOPPER: hopper.tma.commit
// HOPPER: hopper.progress.pass %c2147483646_i32 {{.*}} end
// HOPPER: warp.group @math warps 4 replicas 2 at 4
// HOPPER-NOT: hopper.progress.pass
// HOPPER-NOT: hopper.tma.store {{.*}} add

// A tile that does not tell its end lets the next one wait for ever.
// RUN: sed '/hopper.progress.pass .* end$/d' %t/wide.hopper.mlir > %t/endless.mlir
// RUN: not fa3-run --cpu %t/endless.mlir --dims b=1,sq=150,sk=300 2>&1 | FileCheck %s --check-prefix=HANG
// HANG: error: 'hopper.progress.pass' deadlocks: waits for a tile to come to {{[0-9]+}} that is at {{[0-9]+}}, of a CTA that has not started or has ended
// HANG: note: while running block {{[0-9]+}} of the kernel, @store

// An addition that does not wait.
// RUN: sed '0,/hopper.progress.pass/{/hopper.progress.pass/d}' %t/wide.hopper.mlir > %t/early.mlir
// RUN: not fa3-run --cpu %t/early.mlir --dims b=1,sq=150,sk=300 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: error: 'hopper.tma.store' adds out of order: expects a 'hopper.progress.pass' of the group since the last 'hopper.tma.commit'

// A CTA must not go on to tiles of its number.
// RUN: not fa3-opt %t/wide.mlir -fa3-tile="backward-form=fused deterministic mode=static" 2>&1 | FileCheck %s --check-prefix=STATIC
// STATIC: error: 'tile.grid' op has tiles that wait for others: expects one CTA per tile or a dynamic grid, got a static one

//--- causal.mlir
// Groups of two heads.
func.func @causal(%q: tensor<?x4x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %o: tensor<?x4x?x64xf16>, %lse: tensor<?x4x?xf32>, %do: tensor<?x4x?x64xf16>)
    -> (tensor<?x4x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do mods [#attention.causal]
    : (tensor<?x4x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x4x?x64xf16>, tensor<?x4x?xf32>, tensor<?x4x?x64xf16>)
    -> (tensor<?x4x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>)
  return %dq, %dk, %dv : tensor<?x4x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>
}

//--- wide.mlir
func.func @wide(%q: tensor<?x1x?x128xbf16>, %k: tensor<?x1x?x128xbf16>, %v: tensor<?x1x?x128xbf16>, %o: tensor<?x1x?x128xbf16>, %lse: tensor<?x1x?xf32>, %do: tensor<?x1x?x128xbf16>)
    -> (tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>, tensor<?x1x?xf32>, tensor<?x1x?x128xbf16>)
    -> (tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>)
  return %dq, %dk, %dv : tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>
}
