// 8-bit operands through the whole pipeline: relabeled weights, values that
// pass through registers on their way to K-major order, scales of every kind.
// Values are compared with the definition in f64 after every pass.

// RUN: fa3-opt %s -fa3-tile -fa3-specialize | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass %s --function=tensor_scales --dims b=1,h=2,hk=1,sq=70,sk=131 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass %s --function=head_scales --dims b=2,sq=100,sk=150,q_scale.0=2,k_scale.0=1,v_scale.0=2 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="stages=1 rescale=eager" %s --function=block_scales --dims b=1,sq=256,sk=300,q_scale.2=2,k_scale.2=3,v_scale.2=3 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass %s --function=token_scales --dims b=1,sq=65,sk=96,q_scale.2=65,k_scale.2=96 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="mode=dynamic" %s --sms=2 --function=tensor_scales --dims b=2,h=2,hk=2,sq=250,sk=64 | FileCheck %s --check-prefix=SAME

// The product of every step is added in fp32.
// RUN: fa3-run --cpu --check-each-pass=two-level-accumulation=true %s --function=tensor_scales --dims b=1,h=2,hk=1,sq=70,sk=531 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="two-level-accumulation=true two-level-steps=3" %s --function=tensor_scales --dims b=1,h=2,hk=1,sq=70,sk=531 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="two-level-accumulation=true two-level-steps=2 rescale=eager block-n=32" %s --function=head_scales --dims b=1,sq=70,sk=231,q_scale.0=1,k_scale.0=1,v_scale.0=1 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="two-level-accumulation=true rescale=eager" %s --function=head_scales --dims b=2,sq=100,sk=350,q_scale.0=2,k_scale.0=1,v_scale.0=2 | FileCheck %s --check-prefix=SAME

// Sums of weights by products, where nobody asks for their logarithm: also
// those of weights that are added up in other ways.
// RUN: fa3-opt %s -fa3-tile -fa3-specialize | FileCheck %s --check-prefix=SUMS
// RUN: fa3-run --cpu --check-each-pass %s --function=no_lse --dims b=1,h=2,hk=1,sq=70,sk=331 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="stages=1 rescale=eager mode=static" %s --sms=2 --function=no_lse --dims b=2,h=1,hk=1,sq=250,sk=131 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="two-level-accumulation=true" %s --function=no_lse --dims b=1,h=1,hk=1,sq=70,sk=531 | FileCheck %s --check-prefix=SAME

// The convert group does not care which tile it has, and ends all the same.
// RUN: fa3-opt %s -fa3-tile="mode=dynamic" -fa3-specialize -fa3-pipeline -fa3-layout -tile-to-hopper -canonicalize | FileCheck %s --check-prefix=SHARE
// SHARE: warp.group @convert
// SHARE: scf.for {{.*}} iter_args(%[[TILE:[a-z0-9]+]] =
// SHARE: %[[NEXT:.*]] = hopper.mailbox.read
// SHARE: %[[LATER:.*]] = arith.maxui %[[NEXT]], %[[TILE]] : i32
// SHARE: scf.yield %[[LATER]]

// SAME: same answer after {{[0-9]+}} passes

// CHECK-LABEL: gpu.func @tensor_scales
// CHECK: warp.group @load warps 1
// CHECK: warp.group @convert warps 2
// CHECK: %[[READ:.*]] = tile.read {{.*}} : <tensor<32x64xf8E4M3FN>>
// CHECK: %[[RELABELED:.*]] = tile.relabel %[[READ]] dim 0 bits [0, 3, 1, 2]
// CHECK: %[[T:.*]] = tile.transpose %[[RELABELED]]
// CHECK: tile.write %[[T]]
// CHECK: warp.group @math warps 4 replicas 3
// CHECK: tile.relabel {{.*}} dim 1 bits [0, 3, 1, 2] : tensor<64x128xf32>
// CHECK-NEXT: arith.truncf {{.*}} : tensor<64x128xf32> to tensor<64x128xf8E4M3FN>
func.func @tensor_scales(%q: tensor<?x?x?x64xf8E4M3FN>, %k: tensor<?x?x?x64xf8E4M3FN>, %v: tensor<?x?x?x64xf8E4M3FN>,
                         %qs: tensor<1x1x1xf32>, %ks: tensor<1x1x1xf32>, %vs: tensor<1x1x1xf32>)
    -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v scales(%qs, %ks, %vs : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
    : (tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x64xf8E4M3FN>) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}

// flash-attention's descale: per batch and key head; unequal head dims, a mask
// and score code.
func.func @head_scales(%q: tensor<?x4x?x96xf8E5M2>, %k: tensor<?x2x?x96xf8E5M2>, %v: tensor<?x2x?x32xf8E5M2>,
                       %qs: tensor<?x2x1xf32>, %ks: tensor<?x2x1xf32>, %vs: tensor<?x2x1xf32>) -> tensor<?x4x?x32xf32> {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : tensor<?x2x1xf32>, tensor<?x2x1xf32>, tensor<?x2x1xf32>)
    mods [#attention.causal, #attention.softcap<30.0>]
    : (tensor<?x4x?x96xf8E5M2>, tensor<?x2x?x96xf8E5M2>, tensor<?x2x?x32xf8E5M2>) -> tensor<?x4x?x32xf32>
  return %o : tensor<?x4x?x32xf32>
}

// FlashAttention-3's block quantization (arXiv 2407.08608, section 3.3).
func.func @block_scales(%q: tensor<?x1x?x64xf8E4M3FN>, %k: tensor<?x1x?x64xf8E4M3FN>, %v: tensor<?x1x?x64xf8E4M3FN>,
                        %qs: tensor<1x1x?xf32>, %ks: tensor<1x1x?xf32>, %vs: tensor<1x1x?xf32>)
    -> (tensor<?x1x?x64xbf16>, tensor<?x1x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v scales(%qs, %ks, %vs : tensor<1x1x?xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
    rows [128, 128, 128] mods [#attention.causal]
    : (tensor<?x1x?x64xf8E4M3FN>, tensor<?x1x?x64xf8E4M3FN>, tensor<?x1x?x64xf8E4M3FN>) -> (tensor<?x1x?x64xbf16>, tensor<?x1x?xf32>)
  return %o, %lse : tensor<?x1x?x64xbf16>, tensor<?x1x?xf32>
}

func.func @token_scales(%q: tensor<?x1x?x64xf8E4M3FN>, %k: tensor<?x1x?x64xf8E4M3FN>, %v: tensor<?x1x?x64xf8E4M3FN>,
                        %qs: tensor<1x1x?xf32>, %ks: tensor<1x1x?xf32>, %vs: tensor<1x1x1xf32>)
    -> (tensor<?x1x?x64xf16>, tensor<?x1x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v scales(%qs, %ks, %vs : tensor<1x1x?xf32>, tensor<1x1x?xf32>, tensor<1x1x1xf32>) rows [1, 1, 0]
    : (tensor<?x1x?x64xf8E4M3FN>, tensor<?x1x?x64xf8E4M3FN>, tensor<?x1x?x64xf8E4M3FN>) -> (tensor<?x1x?x64xf16>, tensor<?x1x?xf32>)
  return %o, %lse : tensor<?x1x?x64xf16>, tensor<?x1x?xf32>
}

// SUMS-LABEL: gpu.func @no_lse
// SUMS: %[[P:.*]] = arith.truncf {{.*}} to tensor<64x128xf8E4M3FN>
// SUMS: tile.dot.async %[[P]], %{{.*}} lhs mk rhs nk : tensor<64x128xf8E4M3FN>, tensor<8x128xf8E4M3FN>, tensor<64x8xf32>
func.func @no_lse(%q: tensor<?x?x?x64xf8E4M3FN>, %k: tensor<?x?x?x64xf8E4M3FN>, %v: tensor<?x?x?x64xf8E4M3FN>,
                  %qs: tensor<1x1x1xf32>, %ks: tensor<1x1x1xf32>, %vs: tensor<1x1x1xf32>) -> tensor<?x?x?x64xf16> {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) mods [#attention.causal]
    : (tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x64xf8E4M3FN>) -> tensor<?x?x?x64xf16>
  return %o : tensor<?x?x?x64xf16>
}
