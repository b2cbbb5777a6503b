// The fused form: dk and dv in registers, dq added in memory, gradients of
// weights exchanged by two warp groups. Compared with the formula in f64.

// DEFINE: %{dims} =
// DEFINE: %{tiles} = fa3-run --cpu --pass-pipeline='builtin.module(fa3-tile{backward-form=fused})' --dims %{dims}
// DEFINE: %{hopper} = fa3-run --cpu --require-fences --pass-pipeline='builtin.module(fa3-tile{backward-form=fused},fa3-specialize,fa3-pipeline{stages=1},fa3-layout,fa3-hopper)' --dims %{dims}

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

//--- long.mlir
!t = tensor<?x1x?x256xbf16>
func.func @long(%q: !t, %k: !t, %v: !t, %o: !t, %lse: tensor<?x1x?xf32>, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    : (!t, !t, !t, !t, tensor<?x1x?xf32>, !t) -> (!t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}
