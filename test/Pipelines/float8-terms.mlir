// Elements of q that are sums of two numbers: two products with the same keys,
// one behind the other, with rows of q in shared memory and in registers, known
// groups as rows, and v transposed.
// RUN: fa3-opt %s -fa3-tile -fa3-specialize -fa3-pipeline | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass %s --function=terms --dims b=1,sq=70,sk=331 --completion=random --schedule-seed=1 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="stages=3 rescale=eager" %s --function=terms --dims b=2,sq=70,sk=231 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="stages=1 mode=static" %s --sms=2 --function=terms --dims b=2,sq=150,sk=131 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="solver=modulo hold=2 mode=dynamic block-m=128 block-n=64" %s --sms=2 --function=terms --dims b=1,sq=70,sk=331 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="two-level-accumulation=true pack-gqa=false" %s --function=terms --dims b=1,sq=70,sk=331 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass %s --function=terms_transposed --dims b=2,h=2,hk=1,sq=70,sk=144 | FileCheck %s --check-prefix=SAME

// SAME: same answer after {{[0-9]+}} passes

// CHECK-LABEL: gpu.func @terms(
// CHECK: warp.group @math
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[KEYS:.*]] = tile.view
// CHECK-NEXT: %[[PART:.*]], %{{.*}} = tile.dot.async %{{.*}}, %[[KEYS]], %{{.*}} lhs mk rhs nk
// CHECK-NEXT: tile.dot.async %{{.*}}, %[[KEYS]], %[[PART]] lhs mk rhs nk
func.func @terms(%q: tensor<?x4x?x128xf8E4M3FN>, %k: tensor<?x2x?x64xf8E4M3FN>, %v: tensor<?x2x?x64xf8E4M3FN>,
                 %qs: tensor<1x1x1xf32>, %ks: tensor<1x1x1xf32>, %vs: tensor<1x1x1xf32>) -> tensor<?x4x?x64xbf16> {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) q_terms 2
    mods [#attention.causal]
    : (tensor<?x4x?x128xf8E4M3FN>, tensor<?x2x?x64xf8E4M3FN>, tensor<?x2x?x64xf8E4M3FN>) -> tensor<?x4x?x64xbf16>
  return %o : tensor<?x4x?x64xbf16>
}

func.func @terms_transposed(%q: tensor<?x?x?x192xf8E5M2>, %k: tensor<?x?x?x96xf8E5M2>, %v: tensor<?x?x64x?xf8E5M2>,
                            %qs: tensor<1x1x1xf32>, %ks: tensor<1x1x1xf32>, %vs: tensor<1x1x1xf32>) -> tensor<?x?x?x64xf16> {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) q_terms 2 transposed_v
    : (tensor<?x?x?x192xf8E5M2>, tensor<?x?x?x96xf8E5M2>, tensor<?x?x64x?xf8E5M2>) -> tensor<?x?x?x64xf16>
  return %o : tensor<?x?x?x64xf16>
}
