// RUN: fa3-opt %s -attention-differentiate=grad-aux=0 -split-input-file -verify-diagnostics

!t = tensor<1x2x?x64xf16>

func.func @aux(%q: !t) -> !t {
  // expected-error @+1 {{expects numbers of auxiliary operands, less than 0, in grad-aux, got 0}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>

func.func @qv(%q: !t) -> !t {
  // expected-error @+1 {{has no gradients that are known with 'qv'}}
  %o = attention.forward %q, %q, %q qv(%q : !t) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @previous(%q: !t, %l: tensor<1x2x?xf32>) -> !t {
  // expected-error @+1 {{has no gradients that are known with 'previous'}}
  %o = attention.forward %q, %q, %q previous(%q, %l : !t, tensor<1x2x?xf32>) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @sinks(%q: !t, %s: tensor<2xf32>) -> !t {
  // expected-error @+1 {{has no gradients that are known with sinks}}
  %o = attention.forward %q, %q, %q sinks(%s : tensor<2xf32>) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>

func.func @blocks(%q: !t, %s: tensor<1x1x?xi32>) -> !t {
  %blocks = attention.blocks [128, 128]
    by_query (%b, %h, %m, %t) {
      %c0 = arith.constant 0 : index
      %x = tensor.extract %s[%c0, %c0, %m] : tensor<1x1x?xi32>
      %n = arith.index_cast %x : i32 to index
      attention.yield %n, %t, %c0, %c0 : index, index, index, index
    }
  // expected-error @+1 {{has no gradients that are known with lists of blocks}}
  %o = attention.forward %q, %q, %q aux(%s : tensor<1x1x?xi32>) blocks %blocks : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>

func.func @pages(%q: !t, %k: tensor<?x2x64x64xf16>, %table: tensor<?x?xi32>) -> !t {
  // expected-error @+1 {{has no gradients that are known with pages, which sequences may share}}
  %o = attention.forward %q, %k, %k aux(%table : tensor<?x?xi32>) mods [#attention.paged<table = 0>]
    : (!t, tensor<?x2x64x64xf16>, tensor<?x2x64x64xf16>) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>

func.func @batches(%q: !t, %index: tensor<?xi32>) -> !t {
  // expected-error @+1 {{has no gradients that are known with numbers of batches, which sequences may share}}
  %o = attention.forward %q, %q, %q aux(%index : tensor<?xi32>) mods [#attention.used<k = 0>, #attention.batch_index<aux = 0>]
    : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>

func.func @lengths(%q: !t, %used: tensor<?xi32>) -> !t {
  // expected-error @+1 {{has no gradients of auxiliary operands that are known with lengths of sequences}}
  %o = attention.forward %q, %q, %q aux(%used : tensor<?xi32>) mods [#attention.used<k = 0>] : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>

func.func @taken(%q: !t, %s: tensor<2xf32>) -> !t {
  %o = attention.forward %q, %q, %q aux(%s : tensor<2xf32>) : (!t, !t, !t) -> !t
  return %o : !t
}
// expected-error @-4 {{attention-differentiate: expects no symbol 'taken_backward', which is that of the gradients}}
func.func private @taken_backward()

// -----

!t = tensor<1x2x?x64xf16>

func.func @computed(%q: !t, %s: tensor<2xf32>) -> !t {
  // expected-note @+1 {{this one is computed here}}
  %k = arith.addf %q, %q : !t
  // expected-error @+1 {{expects tensors that are arguments of the function whose gradients are asked for}}
  %o = attention.forward %q, %k, %q aux(%s : tensor<2xf32>) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>

// expected-error @+1 {{returns what is no result of 'attention.forward', whose gradient is not known}}
func.func @returned(%q: !t, %s: tensor<2xf32>) -> (!t, f32) {
  %x = arith.constant 1.0 : f32
  %o = attention.forward %q, %q, %q aux(%s : tensor<2xf32>) : (!t, !t, !t) -> !t
  return %o, %x : !t, f32
}

// -----

!t = tensor<1x2x?x64xf16>

// expected-error @+1 {{expects to return lse, or that nothing refers to this function: its gradients need lse}}
func.func @called(%q: !t, %s: tensor<2xf32>) -> !t {
  %o = attention.forward %q, %q, %q aux(%s : tensor<2xf32>) : (!t, !t, !t) -> !t
  return %o : !t
}
func.func @caller(%q: !t, %s: tensor<2xf32>) -> !t {
  %o = call @called(%q, %s) : (!t, tensor<2xf32>) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf8E4M3FN>

func.func @narrow(%q: !t, %x: tensor<1x1x1xf32>) -> tensor<1x2x?x64xf16> {
  // expected-error @+1 {{has no gradients that are known with operands of 'f8E4M3FN', expects f16 or bf16}}
  %o = attention.forward %q, %q, %q scales(%x, %x, %x : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
    : (!t, !t, !t) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}

// -----

!t = tensor<1x2x?x64xf16>

func.func @two(%q: !t, %s: tensor<2xf32>) -> !t {
  %o = attention.forward %q, %q, %q aux(%s : tensor<2xf32>) : (!t, !t, !t) -> !t
  // expected-error @+1 {{is a second one in its function, whose gradients are asked for}}
  %p = attention.forward %q, %q, %q aux(%s : tensor<2xf32>) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>

func.func @unused(%q: !t, %s: tensor<2xf32>) -> tensor<1x2x?xf32> {
  // expected-error @+1 {{expects o to be returned by the function whose gradients are asked for}}
  %o, %lse = attention.forward %q, %q, %q aux(%s : tensor<2xf32>) : (!t, !t, !t) -> (!t, tensor<1x2x?xf32>)
  return %lse : tensor<1x2x?xf32>
}
