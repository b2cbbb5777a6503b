// Quantization through the whole pipeline, with the attention that takes it and
// alone. Values are compared with the definition after every pass: without a
// rotation bit for bit, with one up to the order of its sums.

// RUN: fa3-opt %s -attention-quantize="scales=head" -o %t.head.mlir
// RUN: fa3-run --cpu --check-each-pass %t.head.mlir --function=forward --dims b=2,h=2,hk=1,sq=70,sk=131 | FileCheck %s
// RUN: fa3-opt %s -attention-quantize="scales=tensor format=f8E5M2" -o %t.tensor.mlir
// RUN: fa3-run --cpu --check-each-pass %t.tensor.mlir --function=forward --dims b=2,h=1,hk=1,sq=64,sk=65 | FileCheck %s
// RUN: fa3-opt %s -attention-quantize="scales=block hadamard" -o %t.block.mlir
// RUN: fa3-run --cpu --check-each-pass %t.block.mlir --function=forward --dims b=1,h=2,hk=2,sq=130,sk=129 | FileCheck %s
// RUN: fa3-opt %s -attention-quantize="scales=token hadamard" -o %t.token.mlir
// RUN: fa3-run --cpu --check-each-pass %t.token.mlir --function=forward --dims b=1,h=1,hk=1,sq=65,sk=80 | FileCheck %s

// RUN: fa3-run --cpu --check-each-pass %s --function=tensor --atol=0 --rtol=0 --dims b=2,h=3,s=70 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass %s --function=head --atol=0 --rtol=0 --dims s=1100 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass %s --function=batch --atol=0 --rtol=0 --dims b=2,h=3,s=66,x_scale.0=2 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass %s --function=blocks --atol=0 --rtol=0 --dims b=2,s=200,x_scale.2=4 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass %s --function=tokens --atol=0 --rtol=0 --dims s=65,x_scale.2=65 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="mode=dynamic" %s --sms=2 --function=blocks --atol=0 --rtol=0 --dims b=2,s=200,x_scale.2=4 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="mode=static" %s --sms=3 --function=rotated --dims b=2,h=2,s=150,x_scale.0=2,x_scale.1=2,x_scale.2=2 | FileCheck %s

// Integers: with ties to even and a NaN that becomes 0; none of them is taken
// for poison.
// RUN: fa3-run --cpu --check-each-pass %s --function=integers --atol=0 --rtol=0 --dims b=2,s=200,x_scale.0=2,x_scale.2=4 | FileCheck %s
// RUN: fa3-run --cpu %s --function=integers --dims b=1,s=64,x_scale.0=1,x_scale.2=1 --fill=x=nan --print=x8 | FileCheck %s --check-prefix=INTEGER
// INTEGER: x8: 1x1x64x64xi8
// INTEGER-NOT: ]:{{.* -?[1-9]}}
// RUN: fa3-opt %s -attention-quantize="scales=block hadamard qk-format=i8" -o %t.integers.mlir
// RUN: fa3-run --cpu --check-each-pass %t.integers.mlir --function=forward --dims b=1,h=2,hk=2,sq=130,sk=129 | FileCheck %s

// Sums of two floats, bit for bit; with a q of them the error of q is that of
// its second term.
// RUN: fa3-run --cpu --check-each-pass %s --function=terms --atol=0 --rtol=0 --dims b=2,s=200,x_scale.0=2,x_scale.2=4 | FileCheck %s
// RUN: fa3-run --cpu %s --function=terms --dims b=1,s=64,x_scale.0=1,x_scale.2=1 --fill=x=nan --print=x8 | FileCheck %s --check-prefix=NAN
// NAN: x8: 1x1x64x128xf8E4M3FN
// NAN-NOT: ]:{{.* -?[0-9]}}
// RUN: fa3-opt %s -attention-quantize="scales=block hadamard q-terms=2" -o %t.terms.mlir
// RUN: fa3-run --cpu --check-each-pass %t.terms.mlir --function=forward --dims b=1,h=2,hk=2,sq=130,sk=129 | FileCheck %s
// RUN: fa3-opt %s -attention-quantize="scales=token format=f8E5M2 q-terms=2" -o %t.tokens.mlir
// RUN: fa3-run --cpu --check-each-pass="stages=1" %t.tokens.mlir --function=forward --dims b=1,h=1,hk=1,sq=65,sk=80 | FileCheck %s

// No rows, and a block of zeros: scales are finite.
// RUN: fa3-run --cpu --check-each-pass %s --function=tensor --atol=0 --rtol=0 --dims b=2,h=3,s=0 | FileCheck %s
// RUN: fa3-run --cpu %s --function=head --dims s=16 --fill=x=0 --print=x_scale --print=x8 | FileCheck %s --check-prefix=ZERO
// ZERO: x_scale
// ZERO: 5.42{{[0-9]*}}e-20
// ZERO-NOT: nan

// CHECK: same answer after {{[0-9]+}} passes
func.func @forward(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x32xf16>) -> (tensor<?x?x?x32xf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal]
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x32xf16>) -> (tensor<?x?x?x32xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x32xf16>, tensor<?x?x?xf32>
}

func.func @integers(%x: tensor<?x1x?x64xbf16>) -> (tensor<?x1x?x64xi8>, tensor<?x1x?xf32>) {
  %y, %s = attention.quantize %x rows 64 : tensor<?x1x?x64xbf16> -> tensor<?x1x?x64xi8>, tensor<?x1x?xf32>
  return %y, %s : tensor<?x1x?x64xi8>, tensor<?x1x?xf32>
}

func.func @terms(%x: tensor<?x1x?x64xbf16>) -> (tensor<?x1x?x128xf8E4M3FN>, tensor<?x1x?xf32>) {
  %y, %s = attention.quantize %x rows 64 terms 2 : tensor<?x1x?x64xbf16> -> tensor<?x1x?x128xf8E4M3FN>, tensor<?x1x?xf32>
  return %y, %s : tensor<?x1x?x128xf8E4M3FN>, tensor<?x1x?xf32>
}

func.func @tensor(%x: tensor<?x?x?x96xf16>) -> (tensor<?x?x?x96xf8E4M3FN>, tensor<1x1x1xf32>) {
  %y, %s = attention.quantize %x : tensor<?x?x?x96xf16> -> tensor<?x?x?x96xf8E4M3FN>, tensor<1x1x1xf32>
  return %y, %s : tensor<?x?x?x96xf8E4M3FN>, tensor<1x1x1xf32>
}

// More than one CTA for the maximum of a head.
func.func @head(%x: tensor<1x2x?x16xbf16>) -> (tensor<1x2x?x16xf8E5M2>, tensor<1x2x1xf32>) {
  %y, %s = attention.quantize %x : tensor<1x2x?x16xbf16> -> tensor<1x2x?x16xf8E5M2>, tensor<1x2x1xf32>
  return %y, %s : tensor<1x2x?x16xf8E5M2>, tensor<1x2x1xf32>
}

func.func @batch(%x: tensor<?x?x?x16xf32>) -> (tensor<?x?x?x16xf8E4M3FN>, tensor<?x1x1xf32>) {
  %y, %s = attention.quantize %x layout bshd : tensor<?x?x?x16xf32> -> tensor<?x?x?x16xf8E4M3FN>, tensor<?x1x1xf32>
  return %y, %s : tensor<?x?x?x16xf8E4M3FN>, tensor<?x1x1xf32>
}

// Blocks that batches share; the last one is not full.
func.func @blocks(%x: tensor<?x2x?x64xf16>) -> (tensor<?x2x?x64xf8E4M3FN>, tensor<1x2x?xf32>) {
  %y, %s = attention.quantize %x rows 64 : tensor<?x2x?x64xf16> -> tensor<?x2x?x64xf8E4M3FN>, tensor<1x2x?xf32>
  return %y, %s : tensor<?x2x?x64xf8E4M3FN>, tensor<1x2x?xf32>
}

func.func @tokens(%x: tensor<1x2x?x128xbf16>) -> (tensor<1x2x?x128xf8E4M3FN>, tensor<1x2x?xf32>) {
  %y, %s = attention.quantize %x rows 1 : tensor<1x2x?x128xbf16> -> tensor<1x2x?x128xf8E4M3FN>, tensor<1x2x?xf32>
  return %y, %s : tensor<1x2x?x128xf8E4M3FN>, tensor<1x2x?xf32>
}

// A matrix of one's own, from CTAs that have several tiles each.
func.func @rotated(%x: tensor<?x?x?x96xf16>, %r: tensor<96x96xf16>) -> (tensor<?x?x?x96xf8E4M3FN>, tensor<?x?x?xf32>) {
  %y, %s = attention.quantize %x rotate %r : tensor<96x96xf16> rows 128 : tensor<?x?x?x96xf16> -> tensor<?x?x?x96xf8E4M3FN>, tensor<?x?x?xf32>
  return %y, %s : tensor<?x?x?x96xf8E4M3FN>, tensor<?x?x?xf32>
}
