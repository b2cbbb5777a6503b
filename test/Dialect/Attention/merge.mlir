// RUN: fa3-opt %s | fa3-opt | FileCheck %s
// RUN: fa3-opt %s -mlir-print-op-generic | fa3-opt | FileCheck %s

// Forms of attention.merge: with and without batch, in both layouts, with sinks,
// and parts of all types.

// CHECK-LABEL: func.func @forms(
// CHECK: attention.merge %{{.*}}, %{{.*}} : tensor<?x?x2x?x64xf32>, tensor<?x?x2x?xf32> -> tensor<?x2x?x64xf16>, tensor<?x2x?xf32>
// CHECK: attention.merge %{{.*}}, %{{.*}} sinks(%{{.*}} : tensor<2xf32>) layout bshd {note = "any"} : tensor<4x?x2x64xbf16>, tensor<4x2x?xf32> -> tensor<?x2x64xf32>, tensor<2x?xf32>
func.func @forms(%parts: tensor<?x?x2x?x64xf32>, %lses: tensor<?x?x2x?xf32>,
    %rows: tensor<4x?x2x64xbf16>, %sums: tensor<4x2x?xf32>, %sinks: tensor<2xf32>) {
  %0:2 = attention.merge %parts, %lses
    : tensor<?x?x2x?x64xf32>, tensor<?x?x2x?xf32> -> tensor<?x2x?x64xf16>, tensor<?x2x?xf32>
  %1:2 = attention.merge %rows, %sums sinks(%sinks : tensor<2xf32>) layout bshd {note = "any"}
    : tensor<4x?x2x64xbf16>, tensor<4x2x?xf32> -> tensor<?x2x64xf32>, tensor<2x?xf32>
  return
}
