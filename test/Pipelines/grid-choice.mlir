// Which grid is chosen by itself: CTAs that claim tiles where tiles differ, a
// fixed loop over them where they do not, if registers are left for its state.
// RUN: fa3-opt %s -fa3-tile | FileCheck %s
// RUN: fa3-opt %s -fa3-tile="block-m=128 block-n=128" | FileCheck %s --check-prefix=LARGE

// CHECK-LABEL: gpu.func @causal_256
// CHECK: tile.share
// CHECK: tile.claim
// LARGE-LABEL: gpu.func @causal_256
// LARGE-NOT: tile.share
func.func @causal_256(%q: tensor<?x?x?x256xf16>, %k: tensor<?x?x?x256xf16>, %v: tensor<?x?x?x256xf16>) -> tensor<?x?x?x256xf16> {
  %o = attention.forward %q, %k, %v mods [#attention.causal] : (tensor<?x?x?x256xf16>, tensor<?x?x?x256xf16>, tensor<?x?x?x256xf16>) -> tensor<?x?x?x256xf16>
  return %o : tensor<?x?x?x256xf16>
}

// CHECK-LABEL: gpu.func @full_256
// CHECK-NOT: tile.share
// CHECK: gpu.grid_dim
// LARGE-LABEL: gpu.func @full_256
// LARGE-NOT: gpu.grid_dim
func.func @full_256(%q: tensor<?x?x?x256xf16>, %k: tensor<?x?x?x256xf16>, %v: tensor<?x?x?x256xf16>) -> tensor<?x?x?x256xf16> {
  %o = attention.forward %q, %k, %v : (tensor<?x?x?x256xf16>, tensor<?x?x?x256xf16>, tensor<?x?x?x256xf16>) -> tensor<?x?x?x256xf16>
  return %o : tensor<?x?x?x256xf16>
}
