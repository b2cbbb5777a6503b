// The fused form: dk and dv in registers, dq added in memory, gradients of
// weights exchanged by two warp groups. Compared with the formula in f64.

// DEFINE: %{dims} =
// DEFINE: %{tiles} = fa3-run --cpu --pass-pipeline='builtin.module(fa3-tile{backward-form=fused})' --dims %{dims}
// DEFINE: %{hopper} = fa3-run --cpu --require-fences --pass-pipeline='builtin.module(fa3-tile{backward-form=fused},fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' --dims %{dims}

// RUN: split-file %s %t
// REDEFINE: %{dims} = b=1,sq=150,sk=170
// RUN: %{tiles} %t/causal.mlir | FileCheck %s
// RUN: %{hopper} %t/causal.mlir | FileCheck %s

// More queries than keys: some see none, and their gradients are 0.
// REDEFINE: %{dims} = b=1,sq=150,sk=20
// RUN: %{hopper} %t/causal.mlir | FileCheck %s

// No keys at all, no queries at all.
// REDEFINE: %{dims} = b=1,sq=5,sk=0
// RUN: %{hopper} %t/causal.mlir | FileCheck %s --check-prefix=EMPTY
// REDEFINE: %{dims} = b=1,sq=0,sk=5
// RUN: %{hopper} %t/causal.mlir | FileCheck %s --check-prefix=EMPTY

// A window, whose numbers of pairs only the mask takes.
// RUN: sed 's/#attention.causal/#attention.window<left = 40, right = 9>/' %t/causal.mlir > %t/window.mlir
// REDEFINE: %{dims} = b=1,sq=150,sk=170
// RUN: %{hopper} %t/window.mlir | FileCheck %s
// RUN: fa3-opt -fa3-tile %t/window.mlir | FileCheck %s --check-prefix=SPLIT

// Columns of dq are divided.
// REDEFINE: %{dims} = b=1,sq=70,sk=130
// RUN: %{tiles} %t/wide.mlir | FileCheck %s
// RUN: %{hopper} %t/wide.mlir | FileCheck %s

// CHECK: dq: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// CHECK: dk: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// CHECK: dv: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}

// EMPTY: dq: max error 0, bound 0,
// EMPTY: dk: max error 0, bound 0,
// EMPTY: dv: max error 0, bound 0,

// RUN: not fa3-opt %t/long.mlir -fa3-tile=backward-form=fused 2>&1 | FileCheck %s --check-prefix=LONG
// LONG: error: 'attention.backward' op has no fused form with head dims 256 and 256
// RUN: not fa3-opt %t/wide.mlir "-fa3-tile=backward-form=fused block-n=32" 2>&1 | FileCheck %s --check-prefix=NARROW
// NARROW: error: 'attention.backward' op in the fused form expects block-n to be a multiple of 64, got 32

// The form that `auto` takes: with wide steps, or no mask, or many steps; never
// with few steps, or where sizes of tiles are given. Where every run has to give
// the same bits, more steps are few.
// RUN: fa3-opt -fa3-tile %t/causal.mlir | FileCheck %s --check-prefix=FUSED
// RUN: fa3-opt -fa3-tile %t/wide.mlir | FileCheck %s --check-prefix=FUSED
// RUN: fa3-opt -fa3-tile %t/wide-causal.mlir | FileCheck %s --check-prefix=FUSED
// RUN: fa3-opt -fa3-tile %t/short.mlir | FileCheck %s --check-prefix=SPLIT
// RUN: sed 's/x512x/x2048x/g' %t/short.mlir | fa3-opt -fa3-tile | FileCheck %s --check-prefix=FUSED
// RUN: sed 's/?x1x?x/1x1x1536x/g' %t/wide-causal.mlir | fa3-opt -fa3-tile | FileCheck %s --check-prefix=SPLIT
// RUN: sed 's/?x1x?x/1x1x2048x/g' %t/wide-causal.mlir | fa3-opt -fa3-tile | FileCheck %s --check-prefix=FUSED
// RUN: sed 's/?x1x?x/1x1x768x/g' %t/wide.mlir | fa3-opt -fa3-tile | FileCheck %s --check-prefix=SPLIT
// RUN: sed 's/?x1x?x/1x1x1024x/g' %t/wide.mlir | fa3-opt -fa3-tile | FileCheck %s --check-prefix=FUSED
// RUN: fa3-opt -fa3-tile %t/long.mlir | FileCheck %s --check-prefix=APART
// RUN: fa3-opt -fa3-tile=deterministic %t/causal.mlir | FileCheck %s --check-prefixes=COUNTED,FUSED
// RUN: fa3-opt -fa3-tile=deterministic %t/wide.mlir | FileCheck %s --check-prefixes=COUNTED,FUSED
// RUN: sed 's/?x1x?x/1x1x4096x/g' %t/wide-causal.mlir | fa3-opt -fa3-tile=deterministic | FileCheck %s --check-prefixes=COUNTED,FUSED
// RUN: sed 's/?x1x?x/1x1x2048x/g' %t/wide-causal.mlir | fa3-opt -fa3-tile=deterministic | FileCheck %s --check-prefix=SPLIT
// RUN: fa3-opt -fa3-tile=block-n=64 %t/wide.mlir | FileCheck %s --check-prefix=SPLIT
// RUN: fa3-opt -fa3-tile=stages=2 %t/wide.mlir | FileCheck %s --check-prefix=SPLIT
// RUN: fa3-opt -fa3-tile=warp-specialize=false %t/wide.mlir | FileCheck %s --check-prefix=SPLIT
// COUNTED: gpu.func @{{.*}}_maxima
// COUNTED: gpu.func @{{.*}}_reach
// FUSED: gpu.func @{{.*}}_delta
// FUSED: gpu.func @{{.*}}_grads
// FUSED: gpu.func @{{.*}}_dq
// SPLIT: gpu.func @{{.*}}_delta
// SPLIT: gpu.func @{{.*}}_dkdv
// SPLIT: gpu.func @{{.*}}_dq
// APART: gpu.func @{{.*}}_dv

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
!t = tensor<?x1x?x128xbf16>
func.func @wide(%q: !t, %k: !t, %v: !t, %o: !t, %lse: tensor<?x1x?xf32>, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    : (!t, !t, !t, !t, tensor<?x1x?xf32>, !t) -> (!t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}

//--- wide-causal.mlir
!t = tensor<?x1x?x128xbf16>
func.func @wide(%q: !t, %k: !t, %v: !t, %o: !t, %lse: tensor<?x1x?xf32>, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do mods [#attention.causal]
    : (!t, !t, !t, !t, tensor<?x1x?xf32>, !t) -> (!t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}

//--- short.mlir
!t = tensor<?x1x512x64xbf16>
func.func @short(%q: !t, %k: !t, %v: !t, %o: !t, %lse: tensor<?x1x512xf32>, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do mods [#attention.causal]
    : (!t, !t, !t, !t, tensor<?x1x512xf32>, !t) -> (!t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}

//--- long.mlir
!t = tensor<?x1x?x256xbf16>
func.func @long(%q: !t, %k: !t, %v: !t, %o: !t, %lse: tensor<?x1x?xf32>, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    : (!t, !t, !t, !t, tensor<?x1x?xf32>, !t) -> (!t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}
