// The fused form with sums of integers: the same values at every level, with more
// tiles of keys than one, more queries than keys, heads that share keys, gradients
// of lse, padded sequences.

// DEFINE: %{dims} =
// DEFINE: %{tiles} = fa3-run --cpu --pass-pipeline='builtin.module(fa3-tile{backward-form=fused deterministic})' --dims %{dims}
// DEFINE: %{hopper} = fa3-run --cpu --require-fences --pass-pipeline='builtin.module(fa3-tile{backward-form=fused deterministic},fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' --dims %{dims}

// RUN: split-file %s %t
// REDEFINE: %{dims} = b=1,sq=150,sk=300
// RUN: %{tiles} %t/causal.mlir | FileCheck %s
// RUN: %{hopper} %t/causal.mlir | FileCheck %s
// REDEFINE: %{dims} = b=2,sq=150,sk=20
// RUN: %{hopper} %t/causal.mlir | FileCheck %s
// REDEFINE: %{dims} = b=1,sq=150,sk=600
// RUN: %{tiles} %t/wide.mlir | FileCheck %s
// RUN: %{hopper} %t/wide.mlir --completion random | FileCheck %s
// REDEFINE: %{dims} = b=3,sq=131,sk=600 --lengths=used_q=65,131,0 --lengths=used_k=64,560,1
// RUN: %{tiles} %t/padded.mlir | FileCheck %s
// RUN: %{hopper} %t/padded.mlir --completion random | FileCheck %s
// RUN: sed 's/, %%dlse: tensor<?x1x?xf32>//; s/ dlse %%dlse//; s/, tensor<?x1x?xf32>)$/)/' %t/wide.mlir > %t/plain.mlir
// REDEFINE: %{dims} = b=1,sq=0,sk=300
// RUN: %{hopper} %t/plain.mlir | FileCheck %s --check-prefix=EMPTY
// REDEFINE: %{dims} = b=1,sq=5,sk=0
// RUN: %{hopper} %t/plain.mlir | FileCheck %s --check-prefix=EMPTY

// CHECK: dq: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// CHECK: dk: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// CHECK: dv: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// EMPTY: dq: max error 0, bound 0,
// EMPTY: dk: max error 0, bound 0,
// EMPTY: dv: max error 0, bound 0,

// Two kernels look at keys and values, that of delta says how many units are 1.
// RUN: fa3-opt %t/causal.mlir -fa3-tile=deterministic -o %t/tile.mlir
// RUN: FileCheck %s --check-prefix=TILE < %t/tile.mlir
// TILE-LABEL: gpu.func @causal_maxima
// TILE: scf.for
// TILE: tile.reduce max %{{.*}} init
// TILE: tile.reduce add
// TILE: arith.maxnumf
// TILE-LABEL: gpu.func @causal_reach
// TILE: tile.reduce max
// TILE-LABEL: gpu.func @causal_delta
// TILE: tile.store %{{.*}}, %{{.*}} : tensor<64x64xi32>, memref<?x?x?x64xi32>
// TILE: math.sqrt
// TILE: %[[RATE:.*]] = arith.divf
// TILE: tile.store %[[RATE]]
// TILE-LABEL: gpu.func @causal_grads
// TILE: %[[OF:.*]] = tile.load {{.*}} -> tensor<128xf32>
// TILE: %[[RATES:.*]] = tile.broadcast %{{.*}} dim 1 : tensor<128xf32> -> tensor<128x64xf32>
// TILE: %[[UNITS:.*]] = arith.mulf %{{.*}}, %[[RATES]]
// TILE: %[[WHOLE:.*]] = math.roundeven %[[UNITS]]
// TILE: %[[NUMBERS:.*]] = arith.fptosi %[[WHOLE]] : tensor<128x64xf32> to tensor<128x64xi32>
// TILE: tile.store %[[NUMBERS]], %{{.*}} add : tensor<128x64xi32>
// TILE-LABEL: gpu.func @causal_dq
// TILE: arith.sitofp

// Tiles of keys in the other order give the same bits; those of floats do not.
// DEFINE: %{turn} = sed -E '/gpu.func @.*_grads/,/gpu.func @.*_dq/ s/tile.grid \((%[^,]*), (.*) in \((%[^,]*),(.*)/tile.grid (%%turned, \2 in (\3,\4\n%%unit = arith.constant 1 : index\n%%last = arith.subi \3, %%turned : index\n\1 = arith.subi %%last, %%unit : index/'
// DEFINE: %{file} =
// DEFINE: %{same} = fa3-run --cpu %{file}.mlir --against %{file}.turned.mlir --dims b=1,sq=200,sk=700
// RUN: fa3-opt %t/causal.mlir -pass-pipeline='builtin.module(attention-expand-mods,attention-to-tile{backward-form=fused deterministic})' -o %t/integers.mlir
// RUN: %{turn} %t/integers.mlir > %t/integers.turned.mlir
// RUN: fa3-opt %t/causal.mlir -pass-pipeline='builtin.module(attention-expand-mods,attention-to-tile{backward-form=fused})' -o %t/floats.mlir
// RUN: %{turn} %t/floats.mlir > %t/floats.turned.mlir
// REDEFINE: %{file} = %t/integers
// RUN: %{same} | FileCheck %s --check-prefix=SAME
// REDEFINE: %{file} = %t/floats
// RUN: not %{same} 2>&1 | FileCheck %s --check-prefix=OTHER
// SAME: dq: max abs 0, max rel 0, rms 0
// OTHER: error: 'dq' differs in

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
func.func @wide(%q: tensor<?x1x?x128xbf16>, %k: tensor<?x1x?x128xbf16>, %v: tensor<?x1x?x128xbf16>, %o: tensor<?x1x?x128xbf16>, %lse: tensor<?x1x?xf32>, %do: tensor<?x1x?x128xbf16>, %dlse: tensor<?x1x?xf32>)
    -> (tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do dlse %dlse
    : (tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>, tensor<?x1x?xf32>, tensor<?x1x?x128xbf16>, tensor<?x1x?xf32>)
    -> (tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>)
  return %dq, %dk, %dv : tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>, tensor<?x1x?x128xbf16>
}

//--- padded.mlir
func.func @padded(%q: tensor<?x2x?x64xf16>, %k: tensor<?x1x?x64xf16>, %v: tensor<?x1x?x64xf16>, %o: tensor<?x2x?x64xf16>, %lse: tensor<?x2x?xf32>, %do: tensor<?x2x?x64xf16>,
                  %usedq: tensor<?xi32> {tile.name = "used_q"}, %usedk: tensor<?xi32> {tile.name = "used_k"})
    -> (tensor<?x2x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do aux(%usedq, %usedk : tensor<?xi32>, tensor<?xi32>)
      mods [#attention.used<q = 0, k = 1>]
    : (tensor<?x2x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?xf32>, tensor<?x2x?x64xf16>)
    -> (tensor<?x2x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>)
  return %dq, %dk, %dv : tensor<?x2x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>
}
