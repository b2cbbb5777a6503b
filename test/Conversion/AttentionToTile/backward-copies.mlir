// Which products take 8-bit copies, what each kernel loads, and where scales
// go. What is computed is tested in test/Pipelines/backward-float8.mlir.
//
// RUN: fa3-opt %s -attention-to-tile="backward-form=split" -canonicalize -cse | FileCheck %s
// RUN: fa3-opt %s -attention-to-tile="backward-form=fused" -canonicalize -cse | FileCheck %s --check-prefix=FUSED
// RUN: fa3-opt %s -attention-to-tile -canonicalize -cse | FileCheck %s

// Keys and values that stay in 8 bits alone; q and do of a step in both types.
// CHECK-LABEL: gpu.func @copies_dkdv
// CHECK: tile.load {{.*}} -> tensor<128x64xf8E4M3FN>
// CHECK: tile.load {{.*}} -> tensor<128x64xf8E4M3FN>
// CHECK: %[[QS:.*]] = tile.scalar_load
// CHECK: %[[KS:.*]] = tile.scalar_load
// CHECK: %[[UNIT:.*]] = arith.mulf %[[QS]], %[[KS]]
// CHECK: arith.mulf %[[UNIT]],
// CHECK: %[[DOS:.*]] = tile.scalar_load
// CHECK: %[[VS:.*]] = tile.scalar_load
// CHECK: %[[OF_WEIGHTS:.*]] = arith.mulf %[[DOS]], %[[VS]]
// CHECK: scf.for
// CHECK-NEXT: arith.muli
// CHECK-NEXT: tile.load {{.*}} -> tensor<[[N:[0-9]+]]x64xf8E4M3FN>
// CHECK-NEXT: tile.load {{.*}} -> tensor<[[N]]x64xf8E4M3FN>
// CHECK-NEXT: tile.load {{.*}} -> tensor<[[N]]x64xbf16>
// CHECK-NEXT: tile.load {{.*}} -> tensor<[[N]]x64xbf16>
// CHECK-COUNT-2: tile.dot {{.*}} : tensor<128x64xf8E4M3FN>, tensor<[[N]]x64xf8E4M3FN>
// CHECK: %[[FACTOR:.*]] = tensor.splat %[[OF_WEIGHTS]]
// CHECK: math.fma %{{.*}}, %[[FACTOR]], %{{.*}}
// CHECK-COUNT-2: tile.dot {{.*}} : tensor<128x[[N]]xbf16>, tensor<[[N]]x64xbf16>

// Queries that stay in 8 bits alone; keys of a step in both, values in 8 bits.
// CHECK-LABEL: gpu.func @copies_dq
// CHECK-COUNT-2: tile.load {{.*}} -> tensor<128x64xf8E4M3FN>
// CHECK: scf.for
// CHECK: tile.load {{.*}} -> tensor<[[N:[0-9]+]]x64xf8E4M3FN>
// CHECK-NEXT: tile.load {{.*}} -> tensor<[[N]]x64xf8E4M3FN>
// CHECK-NEXT: tile.load {{.*}} -> tensor<[[N]]x64xbf16>
// CHECK-NOT: tile.load
// CHECK-COUNT-2: tile.dot {{.*}} : tensor<128x64xf8E4M3FN>, tensor<[[N]]x64xf8E4M3FN>
// CHECK: tile.dot {{.*}} : tensor<128x[[N]]xbf16>, tensor<[[N]]x64xbf16>

// Keys in both.
// FUSED-LABEL: gpu.func @copies_grads
// FUSED-COUNT-2: tile.load {{.*}} -> tensor<128x64xf8E4M3FN>
// FUSED: tile.load {{.*}} -> tensor<128x64xbf16>
// FUSED: scf.for
// FUSED-COUNT-2: tile.dot {{.*}} : tensor<128x64xf8E4M3FN>
// FUSED-COUNT-3: tile.dot {{.*}}xbf16>, tensor<{{[0-9]+}}x64xbf16>
!t = tensor<?x1x?x64xbf16>
!e = tensor<?x1x?x64xf8E4M3FN>
!l = tensor<?x1x?xf32>
!s = tensor<1x1x1xf32>
func.func @copies(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %q8: !e, %k8: !e, %v8: !e, %do8: !e,
                  %qs: !s, %ks: !s, %vs: !s, %dos: !s) -> (!t, !t, !t) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    quantized(%q8, %k8, %v8, %do8 : !e, !e, !e, !e) scales(%qs, %ks, %vs, %dos : !s, !s, !s, !s)
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}
