// RUN: split-file %s %t
// RUN: fa3-opt %t/mods.mlir -attention-expand-mods -o %t/expanded.mlir
// RUN: fa3-opt %t/hand.mlir -o %t/written.mlir
// RUN: diff %t/expanded.mlir %t/written.mlir
// RUN: fa3-opt %t/hand.mlir -attention-expand-mods | diff - %t/written.mlir

// Every one-line form must give exactly the code of the hand-written form, and
// the pass leaves code without mods alone.

//--- mods.mlir
func.func @causal(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k mods [#attention.causal]
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}
func.func @window(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k mods [#attention.window<left = 7, right = 3>]
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}
func.func @window_left(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k mods [#attention.window<left = 7>]
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}
func.func @prefix(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k mods [#attention.prefix<5>]
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}
func.func @softcap(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k mods [#attention.softcap<32.0>]
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}
func.func @alibi(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>, %slopes: tensor<2xf32>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k aux(%slopes : tensor<2xf32>) mods [#attention.alibi<aux = 0>]
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}
func.func @bias(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>, %slopes: tensor<2xf32>, %bias: tensor<1x2x1x?xbf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k aux(%slopes, %bias : tensor<2xf32>, tensor<1x2x1x?xbf16>) mods [#attention.bias<aux = 1>]
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}
// Mods in order, then the region; all conditions hold. A mod that says nothing
// about a region leaves it out.
func.func @all(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>, %slopes: tensor<2xf32>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k aux(%slopes : tensor<2xf32>)
    mods [#attention.softcap<32.0>, #attention.causal, #attention.alibi<aux = 0>, #attention.window<left = 7>, #attention.window<>]
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    score_mod (%s, %b, %h, %i, %j) {
      %two = arith.addf %s, %s : f32
      attention.yield %two : f32
    }
    mask_mod (%b, %h, %i, %j) {
      %first = arith.constant 1 : index
      %keep = arith.cmpi sge, %j, %first : index
      attention.yield %keep : i1
    }
  return %o : tensor<1x2x?x64xf16>
}
func.func @causal_top_left(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k mods [#attention.causal<align = top_left>]
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}
func.func @window_top_left(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k mods [#attention.window<right = 3, align = top_left>]
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}
func.func @chunk(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k mods [#attention.chunk<5>]
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}
func.func @dilation(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k mods [#attention.dilation<3>]
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}
func.func @document(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>, %a: tensor<?x?xi32>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k aux(%a : tensor<?x?xi32>) mods [#attention.document<aux = 0>]
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}
func.func @key_lengths(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>, %a: tensor<?xi64>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k aux(%a : tensor<?xi64>) mods [#attention.key_lengths<aux = 0>]
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}
func.func @mask(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>, %a: tensor<1x?x?x?xi1>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k aux(%a : tensor<1x?x?x?xi1>) mods [#attention.mask<aux = 0>]
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}
func.func @mask_bytes(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>, %a: tensor<?x?x?x?xi8>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k aux(%a : tensor<?x?x?x?xi8>) mods [#attention.mask<aux = 0>]
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}

//--- hand.mlir
func.func @causal(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %sk = attention.length key
      %sq = attention.length query
      %offset = arith.subi %sk, %sq : index
      %last = arith.addi %i, %offset : index
      %keep = arith.cmpi sle, %j, %last : index
      attention.yield %keep : i1
    }
  return %o : tensor<1x2x?x64xf16>
}
func.func @window(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %sk = attention.length key
      %sq = attention.length query
      %offset = arith.subi %sk, %sq : index
      %aligned = arith.addi %i, %offset : index
      %right = arith.constant 3 : index
      %last = arith.addi %aligned, %right : index
      %not_after = arith.cmpi sle, %j, %last : index
      %left = arith.constant 7 : index
      %first = arith.subi %aligned, %left : index
      %not_before = arith.cmpi sle, %first, %j : index
      %keep = arith.andi %not_after, %not_before : i1
      attention.yield %keep : i1
    }
  return %o : tensor<1x2x?x64xf16>
}
func.func @window_left(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %sk = attention.length key
      %sq = attention.length query
      %offset = arith.subi %sk, %sq : index
      %aligned = arith.addi %i, %offset : index
      %left = arith.constant 7 : index
      %first = arith.subi %aligned, %left : index
      %keep = arith.cmpi sle, %first, %j : index
      attention.yield %keep : i1
    }
  return %o : tensor<1x2x?x64xf16>
}
func.func @prefix(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %length = arith.constant 5 : index
      %in_prefix = arith.cmpi slt, %j, %length : index
      %sk = attention.length key
      %sq = attention.length query
      %offset = arith.subi %sk, %sq : index
      %last = arith.addi %i, %offset : index
      %causal = arith.cmpi sle, %j, %last : index
      %keep = arith.ori %in_prefix, %causal : i1
      attention.yield %keep : i1
    }
  return %o : tensor<1x2x?x64xf16>
}
func.func @softcap(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    score_mod (%s, %b, %h, %i, %j) {
      %inverse = arith.constant 0.03125 : f32
      %ratio = arith.mulf %s, %inverse fastmath<reassoc,contract> : f32
      %tanh = math.tanh %ratio : f32
      %cap = arith.constant 32.0 : f32
      %capped = arith.mulf %tanh, %cap fastmath<reassoc,contract> : f32
      attention.yield %capped : f32
    }
  return %o : tensor<1x2x?x64xf16>
}
func.func @alibi(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>, %slopes: tensor<2xf32>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k aux(%slopes : tensor<2xf32>)
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    score_mod (%s, %b, %h, %i, %j) {
      %slope = tensor.extract %slopes[%h] : tensor<2xf32>
      %sk = attention.length key
      %sq = attention.length query
      %offset = arith.subi %sk, %sq : index
      %aligned = arith.addi %i, %offset : index
      %distance = arith.subi %j, %aligned : index
      %int = arith.index_cast %distance : index to i32
      %float = arith.sitofp %int : i32 to f32
      %far = math.absf %float : f32
      %penalty = arith.mulf %slope, %far fastmath<reassoc,contract> : f32
      %score = arith.subf %s, %penalty fastmath<reassoc,contract> : f32
      attention.yield %score : f32
    }
  return %o : tensor<1x2x?x64xf16>
}
func.func @bias(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>, %slopes: tensor<2xf32>, %bias: tensor<1x2x1x?xbf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k aux(%slopes, %bias : tensor<2xf32>, tensor<1x2x1x?xbf16>)
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    score_mod (%s, %b, %h, %i, %j) {
      %b0 = arith.constant 0 : index
      %i0 = arith.constant 0 : index
      %element = tensor.extract %bias[%b0, %h, %i0, %j] : tensor<1x2x1x?xbf16>
      %wide = arith.extf %element : bf16 to f32
      %score = arith.addf %s, %wide fastmath<reassoc,contract> : f32
      attention.yield %score : f32
    }
  return %o : tensor<1x2x?x64xf16>
}
func.func @all(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>, %slopes: tensor<2xf32>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k aux(%slopes : tensor<2xf32>)
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    score_mod (%s, %b, %h, %i, %j) {
      %inverse = arith.constant 0.03125 : f32
      %ratio = arith.mulf %s, %inverse fastmath<reassoc,contract> : f32
      %tanh = math.tanh %ratio : f32
      %cap = arith.constant 32.0 : f32
      %capped = arith.mulf %tanh, %cap fastmath<reassoc,contract> : f32
      %slope = tensor.extract %slopes[%h] : tensor<2xf32>
      %sk = attention.length key
      %sq = attention.length query
      %offset = arith.subi %sk, %sq : index
      %aligned = arith.addi %i, %offset : index
      %distance = arith.subi %j, %aligned : index
      %int = arith.index_cast %distance : index to i32
      %float = arith.sitofp %int : i32 to f32
      %far = math.absf %float : f32
      %penalty = arith.mulf %slope, %far fastmath<reassoc,contract> : f32
      %biased = arith.subf %capped, %penalty fastmath<reassoc,contract> : f32
      %two = arith.addf %biased, %biased : f32
      attention.yield %two : f32
    }
    mask_mod (%b, %h, %i, %j) {
      %sk = attention.length key
      %sq = attention.length query
      %offset = arith.subi %sk, %sq : index
      %last = arith.addi %i, %offset : index
      %causal = arith.cmpi sle, %j, %last : index
      %sk1 = attention.length key
      %sq1 = attention.length query
      %offset1 = arith.subi %sk1, %sq1 : index
      %aligned = arith.addi %i, %offset1 : index
      %left = arith.constant 7 : index
      %begin = arith.subi %aligned, %left : index
      %near = arith.cmpi sle, %begin, %j : index
      %mods = arith.andi %causal, %near : i1
      %first = arith.constant 1 : index
      %own = arith.cmpi sge, %j, %first : index
      %keep = arith.andi %mods, %own : i1
      attention.yield %keep : i1
    }
  return %o : tensor<1x2x?x64xf16>
}
func.func @causal_top_left(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.cmpi sle, %j, %i : index
      attention.yield %keep : i1
    }
  return %o : tensor<1x2x?x64xf16>
}
func.func @window_top_left(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %c3 = arith.constant 3 : index
      %last = arith.addi %i, %c3 : index
      %keep = arith.cmpi sle, %j, %last : index
      attention.yield %keep : i1
    }
  return %o : tensor<1x2x?x64xf16>
}
func.func @chunk(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %c5 = arith.constant 5 : index
      %sk = attention.length key
      %sq = attention.length query
      %off = arith.subi %sk, %sq : index
      %p = arith.addi %i, %off : index
      %x = arith.floordivsi %p, %c5 : index
      %y = arith.floordivsi %j, %c5 : index
      %keep = arith.cmpi eq, %x, %y : index
      attention.yield %keep : i1
    }
  return %o : tensor<1x2x?x64xf16>
}
func.func @dilation(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %sk = attention.length key
      %sq = attention.length query
      %off = arith.subi %sk, %sq : index
      %p = arith.addi %i, %off : index
      %d = arith.subi %p, %j : index
      %c3 = arith.constant 3 : index
      %r = arith.remsi %d, %c3 : index
      %c0 = arith.constant 0 : index
      %keep = arith.cmpi eq, %r, %c0 : index
      attention.yield %keep : i1
    }
  return %o : tensor<1x2x?x64xf16>
}
func.func @document(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>, %a: tensor<?x?xi32>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k aux(%a : tensor<?x?xi32>)
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %sk = attention.length key
      %sq = attention.length query
      %off = arith.subi %sk, %sq : index
      %p = arith.addi %i, %off : index
      %x = tensor.extract %a[%b, %p] : tensor<?x?xi32>
      %y = tensor.extract %a[%b, %j] : tensor<?x?xi32>
      %keep = arith.cmpi eq, %x, %y : i32
      attention.yield %keep : i1
    }
  return %o : tensor<1x2x?x64xf16>
}
func.func @key_lengths(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>, %a: tensor<?xi64>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k aux(%a : tensor<?xi64>)
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %n = tensor.extract %a[%b] : tensor<?xi64>
      %m = arith.index_cast %n : i64 to index
      %keep = arith.cmpi slt, %j, %m : index
      attention.yield %keep : i1
    }
  return %o : tensor<1x2x?x64xf16>
}
func.func @mask(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>, %a: tensor<1x?x?x?xi1>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k aux(%a : tensor<1x?x?x?xi1>)
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %c0 = arith.constant 0 : index
      %keep = tensor.extract %a[%c0, %h, %i, %j] : tensor<1x?x?x?xi1>
      attention.yield %keep : i1
    }
  return %o : tensor<1x2x?x64xf16>
}
func.func @mask_bytes(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>, %a: tensor<?x?x?x?xi8>) -> tensor<1x2x?x64xf16> {
  %o = attention.forward %q, %k, %k aux(%a : tensor<?x?x?x?xi8>)
    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %x = tensor.extract %a[%b, %h, %i, %j] : tensor<?x?x?x?xi8>
      %c0_i8 = arith.constant 0 : i8
      %keep = arith.cmpi ne, %x, %c0_i8 : i8
      attention.yield %keep : i1
    }
  return %o : tensor<1x2x?x64xf16>
}
