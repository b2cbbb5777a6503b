// RUN: fa3-opt %s -fa3-lower-host -split-input-file -verify-diagnostics

!t = tensor<1x2x?x64xf16>
func.func private @f(%q: memref<1x2x?x64xf16>, %o: memref<1x2x?x64xf16>) {
  return
}
func.func @tensors(%q: !t) -> !t {
  // expected-error @+1 {{is on tensors: expects memrefs, run one-shot-bufferize first}}
  %o = attention.call @f(%q : !t) outs(%q : !t) -> !t
  return %o : !t
}

// -----

func.func private @f(memref<1x2x?x64xf16>, memref<1x2x?x64xf16>)
func.func @declared(%q: memref<1x2x?x64xf16>, %o: memref<1x2x?x64xf16>) {
  // expected-error @+1 {{calls 'f', which is no host function: expects one that attention-to-tile or attention-to-reference has made}}
  attention.call @f(%q : memref<1x2x?x64xf16>) outs(%o : memref<1x2x?x64xf16>)
  return
}

// -----

// Attention that is still one.
!t = tensor<1x2x?x64xf16>
func.func private @f(%q: !t) -> !t {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return %o : !t
}
func.func @early(%q: memref<1x2x?x64xf16>, %o: memref<1x2x?x64xf16>) {
  // expected-error @+1 {{calls 'f', which is no host function}}
  attention.call @f(%q : memref<1x2x?x64xf16>) outs(%o : memref<1x2x?x64xf16>)
  return
}

// -----

// Kernels of tiles have no PTX.
gpu.module @kernels {
  // expected-error @+1 {{expects kernels that are lowered to LLVM (run fa3-lower-to-nvvm-pipeline, or embed them with image=ir)}}
  gpu.func @k(%a: memref<64xf16>) kernel {
    gpu.return
  }
}
func.func @tiles(%a: memref<64xf16>) {
  tile.launch @kernels::@k args(%a : memref<64xf16>)
  return
}

// -----

// An array that is used in a way which knows its strides.
func.func private @f(%q: memref<4x64xf16>, %o: memref<4x64xf16>) {
  // expected-error @+1 {{cannot take an array that is a part of another one}}
  %c = memref.collapse_shape %q [[0, 1]] : memref<4x64xf16> into memref<256xf16>
  return
}
func.func @strides(%q: memref<4x64xf16>, %o: memref<4x64xf16>) {
  attention.call @f(%q : memref<4x64xf16>) outs(%o : memref<4x64xf16>)
  return
}

// -----

// The runtime takes no f128.
gpu.module @kernels {
  gpu.func @k(%a: memref<64xf16>) kernel {
    gpu.return
  }
}
// expected-error @+1 {{argument 1 of type 'f128' is nothing that the runtime takes}}
func.func @type(%a: memref<64xf16>, %x: f128) {
  tile.launch @kernels::@k args(%a : memref<64xf16>)
  return
}
