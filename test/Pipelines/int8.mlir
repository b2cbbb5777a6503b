// Queries and keys as integers, weights and values as 8-bit floats, through the
// whole pipeline. Values are compared with the definition in f64 after every
// pass.

// RUN: fa3-opt %s -fa3-tile | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass %s --function=tensor_scales --dims b=1,h=2,hk=1,sq=70,sk=131 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="mode=dynamic hold=1" %s --sms=2 --function=tensor_scales --dims b=2,h=2,hk=2,sq=250,sk=64 --completion random | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="stages=3" %s --function=tensor_scales --dims b=1,h=2,hk=2,sq=130,sk=400 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="stages=1 rescale=eager" %s --function=block_scales --dims b=1,sq=256,sk=300,q_scale.2=2,k_scale.2=3,v_scale.2=3 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="two-level-accumulation=true" %s --function=token_scales --dims b=1,sq=65,sk=96,q_scale.2=65,k_scale.2=96 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass %s --function=transposed --dims b=1,sq=70,sk=144 | FileCheck %s --check-prefix=SAME

// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline | FileCheck %s --check-prefix=PTX

// SAME: same answer after {{[0-9]+}} passes

// CHECK-LABEL: gpu.func @tensor_scales
// CHECK: %[[ZERO:.*]] = arith.constant dense<0> : tensor<[[M:[0-9]+]]x[[N:[0-9]+]]xi32>
// CHECK: %[[S:.*]] = tile.dot {{.*}}, {{.*}}, %[[ZERO]] lhs mk rhs nk : {{.*}}xi8>, {{.*}}xi8> -> tensor<[[M]]x[[N]]xi32>
// CHECK-NEXT: arith.sitofp %[[S]] : tensor<[[M]]x[[N]]xi32> to tensor<[[M]]x[[N]]xf32>
// CHECK: arith.truncf {{.*}} to tensor<[[M]]x[[N]]xf8E4M3FN>
// CHECK: tile.dot {{.*}}f8E4M3FN>, {{.*}}f8E4M3FN> -> {{.*}}xf32>
// PTX-LABEL: llvm.func @tensor_scales
// PTX: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k32.s32.s8.s8
// PTX: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k32.f32.e4m3.e4m3
func.func @tensor_scales(%q: tensor<?x?x?x64xi8>, %k: tensor<?x?x?x64xi8>, %v: tensor<?x?x?x64xf8E4M3FN>,
                         %qs: tensor<1x1x1xf32>, %ks: tensor<1x1x1xf32>, %vs: tensor<1x1x1xf32>)
    -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v scales(%qs, %ks, %vs : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
    : (tensor<?x?x?x64xi8>, tensor<?x?x?x64xi8>, tensor<?x?x?x64xf8E4M3FN>) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}

func.func @block_scales(%q: tensor<?x1x?x96xi8>, %k: tensor<?x1x?x96xi8>, %v: tensor<?x1x?x32xf8E5M2>,
                        %qs: tensor<1x1x?xf32>, %ks: tensor<1x1x?xf32>, %vs: tensor<1x1x?xf32>)
    -> (tensor<?x1x?x32xbf16>, tensor<?x1x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v scales(%qs, %ks, %vs : tensor<1x1x?xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
    rows [128, 128, 128] mods [#attention.causal, #attention.softcap<30.0>]
    : (tensor<?x1x?x96xi8>, tensor<?x1x?x96xi8>, tensor<?x1x?x32xf8E5M2>) -> (tensor<?x1x?x32xbf16>, tensor<?x1x?xf32>)
  return %o, %lse : tensor<?x1x?x32xbf16>, tensor<?x1x?xf32>
}

// Head dims that are no multiple of what one instruction takes.
func.func @token_scales(%q: tensor<?x1x?x80xi8>, %k: tensor<?x1x?x80xi8>, %v: tensor<?x1x?x48xf8E4M3FN>,
                        %qs: tensor<1x1x?xf32>, %ks: tensor<1x1x?xf32>, %vs: tensor<1x1x1xf32>) -> tensor<?x1x?x48xf32> {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : tensor<1x1x?xf32>, tensor<1x1x?xf32>, tensor<1x1x1xf32>)
    rows [1, 1, 0]
    : (tensor<?x1x?x80xi8>, tensor<?x1x?x80xi8>, tensor<?x1x?x48xf8E4M3FN>) -> tensor<?x1x?x48xf32>
  return %o : tensor<?x1x?x48xf32>
}

func.func @transposed(%q: tensor<?x1x?x64xi8>, %k: tensor<?x1x?x64xi8>, %v: tensor<?x1x64x?xf8E4M3FN>,
                      %qs: tensor<1x1x1xf32>, %ks: tensor<1x1x1xf32>, %vs: tensor<1x1x1xf32>) -> tensor<?x1x?x64xf16> {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
    transposed_v mods [#attention.causal]
    : (tensor<?x1x?x64xi8>, tensor<?x1x?x64xi8>, tensor<?x1x64x?xf8E4M3FN>) -> tensor<?x1x?x64xf16>
  return %o : tensor<?x1x?x64xf16>
}
