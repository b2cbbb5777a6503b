// RUN: fa3-opt %s --split-input-file --verify-diagnostics --attention-expand-mods --attention-derive-blocks=block-lists=apart
// RUN: not fa3-opt --split-input-file --attention-derive-blocks=queries=100 %s 2>&1 | FileCheck %s --check-prefix=QUERIES
// RUN: not fa3-opt --attention-derive-blocks=keys=0 %s 2>&1 | FileCheck %s --check-prefix=KEYS
// RUN: not fa3-opt --attention-derive-blocks=block-lists=all %s 2>&1 | FileCheck %s --check-prefix=WORD
// QUERIES: attention-derive-blocks: expects queries to be a multiple of 64 up to 4096, got 100
// KEYS: attention-derive-blocks: expects keys to be a multiple of 16 up to 4096, got 0
// WORD: expects 'auto', 'call', 'apart' or 'never', got 'all'

!t0 = tensor<?x4x?x64xf16>
func.func @no_mask(%q: !t0, %k: !t0, %v: !t0) -> !t0 {
  // expected-error @+1 {{'attention.forward' op cannot have lists of blocks: it has no mask}}
  %o = attention.forward %q, %k, %v : (!t0, !t0, !t0) -> !t0
  return %o : !t0
}

// -----

!t1 = tensor<?x4x?x64xf16>
func.func @lengths(%q: !t1, %k: !t1, %v: !t1, %n: tensor<?xi32>) -> !t1 {
  // expected-error @+1 {{cannot have lists of blocks: its sequences have lengths or places of their own}}
  %o = attention.forward %q, %k, %v aux(%n : tensor<?xi32>) mods [#attention.used<k = 0>, #attention.causal] : (!t1, !t1, !t1) -> !t1
  return %o : !t1
}

// -----

!t2 = tensor<?x4x?x64xf16>
func.func @splits(%q: !t2, %k: !t2, %v: !t2, %n: index) -> !t2 {
  // expected-error @+1 {{cannot have lists of blocks: its keys are divided}}
  %o = attention.forward %q, %k, %v splits %n mods [#attention.causal] : (!t2, !t2, !t2) -> !t2
  return %o : !t2
}

// -----

!t3 = tensor<?x4x?x64xf16>
func.func @listed(%q: !t3, %k: !t3, %v: !t3, %c: tensor<1x1x?xi32>, %x: tensor<1x1x?x?xi32>) -> !t3 {
  // expected-error @+1 {{cannot have lists of blocks: it has lists already}}
  %o = attention.forward %q, %k, %v aux(%c, %x : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>)
    mods [#attention.causal, #attention.blocks<count = 0, index = 1, queries = 128, keys = 128>] : (!t3, !t3, !t3) -> !t3
  return %o : !t3
}

// -----

!t4 = tensor<?x4x?x64xf16>
// expected-error @+1 {{needs the name 'taken_blocks' with block-lists=apart}}
func.func @taken(%q: !t4, %k: !t4, %v: !t4) -> !t4 {
  %o = attention.forward %q, %k, %v mods [#attention.causal] : (!t4, !t4, !t4) -> !t4
  return %o : !t4
}
// expected-note @+1 {{this has it}}
func.func private @taken_blocks()

// -----

!t5 = tensor<?x4x?x64xf16>
// expected-error @+1 {{expects a function that nothing else refers to with block-lists=apart: its type changes}}
func.func @called(%q: !t5, %k: !t5, %v: !t5) -> !t5 {
  %o = attention.forward %q, %k, %v mods [#attention.causal] : (!t5, !t5, !t5) -> !t5
  return %o : !t5
}
func.func @caller(%q: !t5) -> !t5 {
  %o = call @called(%q, %q, %q) : (!t5, !t5, !t5) -> !t5
  return %o : !t5
}
