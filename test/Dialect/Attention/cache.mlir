// RUN: fa3-opt %s | fa3-opt | FileCheck %s
// RUN: fa3-opt %s -mlir-print-op-generic | fa3-opt | FileCheck %s
// RUN: fa3-opt %s -attention-expand-mods | FileCheck %s --check-prefix=EXPANDED

// Forms of attention.rotary and attention.append, and what mods of the latter
// become: a key that has no place gets an index outside of the cache.

!n = tensor<?x?x2x64xf16>
!p = tensor<?x16x2x64xf16>

// CHECK-LABEL: func.func @forms(
// CHECK: attention.rotary %{{.*}}, %{{.*}}, %{{.*}} at %{{.*}} : tensor<?x2x?x64xf16>, tensor<?x32xf32>, tensor<?xi32>
// CHECK: attention.rotary %{{.*}}, %{{.*}}, %{{.*}} at %{{.*}} interleaved layout bshd : tensor<?x?x2x64xf16>, tensor<?x8xf16>, tensor<?xi32>
// CHECK: attention.append %{{.*}}, %{{.*}} at %{{.*}} : tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?xi32>
// CHECK: attention.append %{{.*}}, %{{.*}} at %{{.*}} aux(%{{.*}} : tensor<?x?xi32>) layout bshd mods [#attention.paged<table = 0>] {note = "any"} : tensor<?x?x2x64xf16>, tensor<?x16x2x64xf16>, tensor<?xi32>
// CHECK: attention.append %{{.*}}, %{{.*}} at %{{.*}} scales(%{{.*}} : tensor<?x2x1xf32>) layout bshd : tensor<?x?x2x64xf16>, tensor<?x?x2x64xf8E5M2>, tensor<?xi32>
// CHECK: %[[S:.*]] = attention.sequences
// CHECK-NEXT: place_k (%[[B:.*]], %[[H:.*]], %[[J:.*]]) {
// CHECK: attention.yield %[[H]], %{{.*}} : index, index
// CHECK: attention.append %{{.*}}, %{{.*}} at %{{.*}} sequences %[[S]] layout bshd : tensor<?x?x2x64xf16>, tensor<?x2x64xf16>, tensor<?xi32>

// EXPANDED-LABEL: func.func @forms(
// EXPANDED: %[[S:.*]] = attention.sequences
// EXPANDED-NEXT: place_k (%[[B:.*]], %[[H:.*]], %[[J:.*]]) {
// EXPANDED: %[[PAGE:.*]] = arith.divui %[[J]], %{{.*}}
// EXPANDED: %[[PAGES:.*]] = tensor.dim
// EXPANDED: %[[EXISTS:.*]] = arith.cmpi ult, %[[PAGE]], %[[PAGES]]
// EXPANDED: %[[AT:.*]] = arith.select %[[EXISTS]], %[[PAGE]], %{{.*}}
// EXPANDED: tensor.extract %{{.*}}[%[[B]], %[[AT]]]
// EXPANDED: %[[P:.*]] = arith.select %[[EXISTS]]
// EXPANDED: %[[ROW:.*]] = arith.remui %[[J]]
// EXPANDED: attention.yield %[[P]], %[[H]], %[[ROW]] : index, index, index
// EXPANDED: attention.append {{.*}} aux({{.*}} sequences %[[S]]
func.func @forms(%x: tensor<?x2x?x64xf16>, %c: tensor<?x32xf32>, %n: !n, %half: tensor<?x8xf16>, %first: tensor<?xi32>,
    %dense: tensor<?x2x?x64xf16>, %pages: !p, %table: tensor<?x?xi32>, %rows: tensor<?x2x64xf16>,
    %of_8_bits: tensor<?x?x2x64xf8E5M2>, %scales: tensor<?x2x1xf32>) {
  %0 = attention.rotary %x, %c, %c at %first : tensor<?x2x?x64xf16>, tensor<?x32xf32>, tensor<?xi32>
  %1 = attention.rotary %n, %half, %half at %first interleaved layout bshd : !n, tensor<?x8xf16>, tensor<?xi32>
  %2 = attention.append %x, %dense at %first : tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?xi32>
  %3 = attention.append %n, %pages at %first aux(%table : tensor<?x?xi32>) layout bshd
      mods [#attention.paged<table = 0>] {note = "any"} : !n, !p, tensor<?xi32>
  %5 = attention.append %n, %of_8_bits at %first scales(%scales : tensor<?x2x1xf32>) layout bshd
    : !n, tensor<?x?x2x64xf8E5M2>, tensor<?xi32>
  %sequences = attention.sequences
    place_k (%b, %h, %j) {
      %c100 = arith.constant 100 : index
      %start = arith.muli %b, %c100 : index
      %row = arith.addi %start, %j : index
      attention.yield %h, %row : index, index
    }
  %4 = attention.append %n, %rows at %first sequences %sequences layout bshd : !n, tensor<?x2x64xf16>, tensor<?xi32>
  return
}
