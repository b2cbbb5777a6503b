// Every kernel is proven by both checks, whatever the options: a run fails if
// one of them raises an alarm.
// RUN: fa3-opt %s -fa3-tile -fa3-specialize -fa3-pipeline -fa3-layout -fa3-hopper -o /dev/null
// RUN: fa3-opt %s -fa3-tile='mode=static' -fa3-specialize='mode=static' -fa3-pipeline='mode=static' -fa3-layout='mode=static' -fa3-hopper='mode=static' -o /dev/null
// RUN: fa3-opt %s -fa3-tile='mode=cta' -fa3-specialize='mode=cta' -fa3-pipeline='mode=cta' -fa3-layout='mode=cta' -fa3-hopper='mode=cta' -o /dev/null
// RUN: fa3-opt %s -fa3-tile='stages=1' -fa3-specialize='stages=1' -fa3-pipeline='stages=1' -fa3-layout='stages=1' -fa3-hopper='stages=1' -o /dev/null
// RUN: fa3-opt %s -fa3-tile='mode=static rescale=eager store=staged stages=1 max-depth=1' -fa3-specialize='mode=static rescale=eager store=staged stages=1 max-depth=1' -fa3-pipeline='mode=static rescale=eager store=staged stages=1 max-depth=1' -fa3-layout='mode=static rescale=eager store=staged stages=1 max-depth=1' -fa3-hopper='mode=static rescale=eager store=staged stages=1 max-depth=1' -o /dev/null
// RUN: fa3-opt %s -fa3-tile='mode=static block-m=128 block-n=64 replicas=2 max-depth=3' -fa3-specialize='mode=static block-m=128 block-n=64 replicas=2 max-depth=3' -fa3-pipeline='mode=static block-m=128 block-n=64 replicas=2 max-depth=3' -fa3-layout='mode=static block-m=128 block-n=64 replicas=2 max-depth=3' -fa3-hopper='mode=static block-m=128 block-n=64 replicas=2 max-depth=3' -o /dev/null
// RUN: fa3-opt %fa3_src/examples/gemm.mlir -fa3-lower-to-nvvm-pipeline=mode=static -o /dev/null
// RUN: fa3-opt %fa3_src/examples/chain.mlir -fa3-lower-to-nvvm-pipeline=mode=static -o /dev/null
// RUN: fa3-opt %fa3_src/examples/alibi_bias.mlir -fa3-lower-to-nvvm-pipeline=mode=static -o /dev/null
// RUN: fa3-opt %fa3_src/examples/softcap_window.mlir -fa3-lower-to-nvvm-pipeline=mode=cta -o /dev/null
// RUN: fa3-opt %fa3_src/examples/prefix_lm.mlir -fa3-lower-to-nvvm-pipeline=mode=static -o /dev/null
// RUN: fa3-opt %fa3_src/examples/causal_gqa.mlir -fa3-lower-to-nvvm-pipeline=mode=static -o /dev/null
// RUN: fa3-opt %fa3_src/examples/causal_gqa.mlir -fa3-lower-to-nvvm-pipeline=mode=cta -o /dev/null

func.func @full_64(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}

func.func @causal_64(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal] : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}

func.func @window_128(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.window<left = 255, right = 0>] : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

func.func @both_128(%q: tensor<?x?x?x128xf16>, %k: tensor<?x?x?x128xf16>, %v: tensor<?x?x?x128xf16>) -> (tensor<?x?x?x128xf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.window<left = 64, right = 64>] : (tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>) -> (tensor<?x?x?x128xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xf16>, tensor<?x?x?xf32>
}

func.func @causal_gqa_128(%q: tensor<?x32x?x128xbf16>, %k: tensor<?x8x?x128xbf16>, %v: tensor<?x8x?x128xbf16>) -> (tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal] : (tensor<?x32x?x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>) -> (tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>)
  return %o, %lse : tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>
}

func.func @full_256(%q: tensor<?x?x?x256xbf16>, %k: tensor<?x?x?x256xbf16>, %v: tensor<?x?x?x256xbf16>) -> (tensor<?x?x?x256xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v : (tensor<?x?x?x256xbf16>, tensor<?x?x?x256xbf16>, tensor<?x?x?x256xbf16>) -> (tensor<?x?x?x256xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x256xbf16>, tensor<?x?x?xf32>
}

func.func @both_256(%q: tensor<?x?x?x256xf16>, %k: tensor<?x?x?x256xf16>, %v: tensor<?x?x?x256xf16>) -> (tensor<?x?x?x256xf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.window<left = 64, right = 64>] : (tensor<?x?x?x256xf16>, tensor<?x?x?x256xf16>, tensor<?x?x?x256xf16>) -> (tensor<?x?x?x256xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x256xf16>, tensor<?x?x?xf32>
}

func.func @prefix_128(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.prefix<100>] : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

func.func @values(%q: tensor<?x?x?x192xbf16>, %k: tensor<?x?x?x192xbf16>, %v: tensor<?x?x?x128xbf16>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal] : (tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

func.func @small(%q: tensor<?x?x?x32xf16>, %k: tensor<?x?x?x32xf16>, %v: tensor<?x?x?x32xf16>) -> (tensor<?x?x?x32xf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal] : (tensor<?x?x?x32xf16>, tensor<?x?x?x32xf16>, tensor<?x?x?x32xf16>) -> (tensor<?x?x?x32xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x32xf16>, tensor<?x?x?xf32>
}

func.func @softcap_96(%q: tensor<?x?x?x96xbf16>, %k: tensor<?x?x?x96xbf16>, %v: tensor<?x?x?x96xbf16>) -> (tensor<?x?x?x96xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.softcap<30.0>] : (tensor<?x?x?x96xbf16>, tensor<?x?x?x96xbf16>, tensor<?x?x?x96xbf16>) -> (tensor<?x?x?x96xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x96xbf16>, tensor<?x?x?xf32>
}

func.func @causal_softcap_80(%q: tensor<?x?x?x80xbf16>, %k: tensor<?x?x?x80xbf16>, %v: tensor<?x?x?x80xbf16>) -> (tensor<?x?x?x80xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.softcap<30.0>, #attention.causal] : (tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>) -> (tensor<?x?x?x80xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x80xbf16>, tensor<?x?x?xf32>
}

func.func @alibi_64(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %s: tensor<?xf32>) -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v aux(%s : tensor<?xf32>) mods [#attention.alibi<aux = 0>] : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}

func.func @bias_112(%q: tensor<?x?x?x112xbf16>, %k: tensor<?x?x?x112xbf16>, %v: tensor<?x?x?x112xbf16>, %s: tensor<?x?x?x?xbf16>) -> (tensor<?x?x?x112xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v aux(%s : tensor<?x?x?x?xbf16>) mods [#attention.bias<aux = 0>] : (tensor<?x?x?x112xbf16>, tensor<?x?x?x112xbf16>, tensor<?x?x?x112xbf16>) -> (tensor<?x?x?x112xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x112xbf16>, tensor<?x?x?xf32>
}
