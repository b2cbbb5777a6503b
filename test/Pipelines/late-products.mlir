// With late-products the product that reads what the warp groups of a fused
// gradient exchange, and what is stored of it, come an iteration later, by
// default where registers allow it.
// RUN: fa3-opt %s -fa3-tile=backward-form=fused -fa3-specialize -tile-schedule | FileCheck %s
// RUN: fa3-opt %s -fa3-tile=backward-form=fused -fa3-specialize -tile-schedule=late-products=false | FileCheck %s --check-prefix=TOGETHER --implicit-check-not='stage = 1'
// RUN: fa3-run --cpu %s --check-each-pass="backward-form=fused" | FileCheck %s --check-prefix=SAME
// SPDX-License-Identifier: Apache-2.0

// CHECK-COUNT-3: tile.dot.async {{.*}}stage = 0
// CHECK: tile.dot.async {{.*}} lhs km {{.*}}stage = 1
// CHECK: tile.store.async {{.*}} add {{.*}}stage = 1
// TOGETHER: tile.slotting
// SAME: same answer after {{[0-9]+}} passes
func.func @backward(
    %q: tensor<1x192x2x128xbf16> {tile.name = "q"},
    %k: tensor<1x192x2x128xbf16> {tile.name = "k"},
    %v: tensor<1x192x2x128xbf16> {tile.name = "v"},
    %o: tensor<1x192x2x128xbf16> {tile.name = "o"},
    %lse: tensor<1x2x192xf32> {tile.name = "lse"},
    %do: tensor<1x192x2x128xbf16> {tile.name = "do"})
    -> (tensor<1x192x2x128xbf16> {tile.name = "dq"}, tensor<1x192x2x128xbf16> {tile.name = "dk"}, tensor<1x192x2x128xbf16> {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do layout bshd
    : (tensor<1x192x2x128xbf16>, tensor<1x192x2x128xbf16>, tensor<1x192x2x128xbf16>,
       tensor<1x192x2x128xbf16>, tensor<1x2x192xf32>, tensor<1x192x2x128xbf16>)
    -> (tensor<1x192x2x128xbf16>, tensor<1x192x2x128xbf16>, tensor<1x192x2x128xbf16>)
  return %dq, %dk, %dv : tensor<1x192x2x128xbf16>, tensor<1x192x2x128xbf16>, tensor<1x192x2x128xbf16>
}
