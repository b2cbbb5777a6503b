// RUN: fa3-opt %s -split-input-file -verify-diagnostics

// Syntax.

!t = tensor<1x2x?x64xf16>
func.func @layout(%q: !t) {
  // expected-error @+1 {{expects layout 'bhsd' or 'bshd', got 'sbhd'}}
  %o = attention.forward %q, %q, %q layout sbhd : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @types(%q: !t) {
  // expected-error @+1 {{expects 3 operand types and 1 or 2 result types, got 2 and 1}}
  %o = attention.forward %q, %q, %q : (!t, !t) -> !t
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @results(%q: !t) {
  // expected-error @+1 {{expects 3 operand types and 1 or 2 result types, got 3 and 0}}
  attention.forward %q, %q, %q : (!t, !t, !t) -> ()
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @results_with_max(%q: !t) {
  // expected-error @+1 {{expects 3 operand types and 2 or 3 result types, got 3 and 1}}
  %o = attention.forward %q, %q, %q max_logits : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @aux(%q: !t, %a: tensor<?xf32>) {
  // expected-error @+1 {{number of operands and types do not match: got 2 operands and 1 types}}
  %o = attention.forward %q, %q, %q aux(%a, %a : tensor<?xf32>) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @score_arguments(%q: !t) {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    // expected-error @+1 {{expects 5 arguments in 'score_mod', got 4}}
    score_mod (%s, %b, %h, %i) {
      attention.yield %s : f32
    }
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @keep_arguments(%q: !t) {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    // expected-error @+1 {{expects 4 arguments in 'mask_mod', got 1}}
    mask_mod (%i) {
    }
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @mods_syntax(%q: !t) {
  // expected-error @+1 {{invalid kind of attribute specified}}
  %o = attention.forward %q, %q, %q mods #attention.causal : (!t, !t, !t) -> !t
  return
}

// -----

func.func @sequence() {
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'sequence' [query, key]}}
  %0 = attention.length value
  return
}

// -----

// Types of the operands.

func.func @unranked(%q: tensor<*xf16>, %t: tensor<1x2x?x64xf16>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of any type values, but got 'tensor<*xf16>'}}
  %o = attention.forward %q, %t, %t : (tensor<*xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  return
}

// -----

// C1
!t = tensor<1x2x?x64xf16>
func.func @rank(%q: !t, %k: tensor<2x?x64xf16>) {
  // expected-error @+1 {{expects k of rank 4, got 3}}
  %o = attention.forward %q, %k, %q : (!t, tensor<2x?x64xf16>, !t) -> !t
  return
}

// -----

// C1
!t = tensor<1x2x?x64xf16>
func.func @rank_o(%q: !t) {
  // expected-error @+1 {{expects o of rank 4, got 1}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> tensor<8xf16>
  return
}

// -----

// C1
!t = tensor<1x2x?x64xf16>
func.func @rank_lse(%q: !t) {
  // expected-error @+1 {{expects lse of rank 3, got 4}}
  %o:2 = attention.forward %q, %q, %q : (!t, !t, !t) -> (!t, tensor<1x2x?x1xf32>)
  return
}

// -----

// C1
!t = tensor<1x2x?x64xf16>
func.func @rank_max_logits(%q: !t) {
  // expected-error @+1 {{expects max_logits of rank 3, got 4}}
  %o:2 = attention.forward %q, %q, %q max_logits : (!t, !t, !t) -> (!t, tensor<1x2x?x1xf32>)
  return
}

// -----

// C2
!t = tensor<1x2x?x64xf32>
func.func @element(%q: !t) {
  // expected-error @+1 {{expects elements of f16, bf16, f8E4M3FN, f8E5M2 or i8, got 'f32'}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return
}

// -----

// C2
!t = tensor<1x2x?x64xf16>
!u = tensor<1x2x?x64xbf16>
func.func @mixed(%q: !t, %v: !u) {
  // expected-error @+1 {{expects v to have the element type of q ('f16'), got 'bf16'}}
  %o = attention.forward %q, %q, %v : (!t, !t, !u) -> !t
  return
}

// -----

// C2
!t = tensor<1x2x?x64xf16>
func.func @lse_element(%q: !t) {
  // expected-error @+1 {{expects lse of f32, got 'f16'}}
  %o:2 = attention.forward %q, %q, %q : (!t, !t, !t) -> (!t, tensor<1x2x?xf16>)
  return
}

// -----

// C2
!t = tensor<1x2x?x64xf16>
func.func @max_logits_element(%q: !t) {
  // expected-error @+1 {{expects max_logits of f32, got 'f16'}}
  %o:3 = attention.forward %q, %q, %q max_logits : (!t, !t, !t) -> (!t, tensor<1x2x?xf32>, tensor<1x2x?xf16>)
  return
}

// -----

// C3
!t = tensor<1x2x?x?xf16>
func.func @dynamic_head_dim(%q: !t) {
  // expected-error @+1 {{expects a static head dim, that of q is dynamic}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return
}

// -----

// C3
!t = tensor<1x2x?x64xf16>
!u = tensor<1x2x?x520xf16>
func.func @value_head_dim(%q: !t, %v: !u) {
  // expected-error @+1 {{expects a head dim from 1 to 512, that of v is 520}}
  %o = attention.forward %q, %q, %v : (!t, !t, !u) -> !u
  return
}

// -----

// C3
!t = tensor<1x2x?x0xf16>
func.func @no_head_dim(%q: !t) {
  // expected-error @+1 {{expects a head dim from 1 to 576, that of q is 0}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return
}

// -----

// C3
!t = tensor<1x2x?x64xf16>
!u = tensor<1x2x?x32xf16>
func.func @q_k(%q: !t, %k: !u) {
  // expected-error @+1 {{expects q and k to agree in head dim, got 64 and 32}}
  %o = attention.forward %q, %k, %q : (!t, !u, !t) -> !t
  return
}

// -----

// C3
!t = tensor<1x2x?x64xf16>
!u = tensor<1x2x?x32xf16>
func.func @v_o(%q: !t, %v: !u) {
  // expected-error @+1 {{expects v and o to agree in head dim, got 32 and 64}}
  %o = attention.forward %q, %q, %v : (!t, !t, !u) -> !t
  return
}

// -----

// C4
!t = tensor<1x2x?x64xf16>
!u = tensor<3x2x?x64xf16>
func.func @batch(%q: !t, %k: !u) {
  // expected-error @+1 {{expects k to have the batch extent of q (1), got 3}}
  %o = attention.forward %q, %k, %q : (!t, !u, !t) -> !t
  return
}

// -----

// C5
!t = tensor<1x4x?x64xf16>
!u = tensor<1x2x?x64xf16>
!w = tensor<1x1x?x64xf16>
func.func @key_heads(%q: !t, %k: !u, %v: !w) {
  // expected-error @+1 {{expects k and v to agree in heads, got 2 and 1}}
  %o = attention.forward %q, %k, %v : (!t, !u, !w) -> !t
  return
}

// -----

// C5: in bshd the second dimension is the length.
!t = tensor<1x4x2x64xf16>
!u = tensor<1x2x2x64xf16>
!w = tensor<1x1x2x64xf16>
func.func @keys(%q: !t, %k: !u, %v: !w) {
  // expected-error @+1 {{expects k and v to agree in length, got 2 and 1}}
  %o = attention.forward %q, %k, %v layout bshd : (!t, !u, !w) -> !t
  return
}

// -----

// C5
!t = tensor<1x2x8x64xf16>
!u = tensor<1x4x8x64xf16>
func.func @heads(%q: !t) {
  // expected-error @+1 {{expects q and o to agree in heads, got 2 and 4}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !u
  return
}

// -----

// C5
!t = tensor<1x2x8x64xf16>
!u = tensor<1x2x9x64xf16>
func.func @queries(%q: !t) {
  // expected-error @+1 {{expects q and o to agree in length, got 8 and 9}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !u
  return
}

// -----

// C5: lse is (batch, head, query) in every layout.
!t = tensor<1x2x8x64xf16>
func.func @lse(%q: !t) {
  // expected-error @+1 {{expects extent 8 in dimension 1 of lse, got 2}}
  %o:2 = attention.forward %q, %q, %q layout bshd : (!t, !t, !t) -> (!t, tensor<1x2x8xf32>)
  return
}

// -----

// C5
!t = tensor<1x2x8x64xf16>
func.func @max_logits(%q: !t) {
  // expected-error @+1 {{expects extent 8 in dimension 1 of max_logits, got 2}}
  %o:2 = attention.forward %q, %q, %q layout bshd max_logits : (!t, !t, !t) -> (!t, tensor<1x2x8xf32>)
  return
}

// -----

// C6
!t = tensor<1x4x?x64xf16>
!u = tensor<1x3x?x64xf16>
func.func @groups(%q: !t, %k: !u) {
  // expected-error @+1 {{expects the key heads (3) to divide the query heads (4)}}
  %o = attention.forward %q, %k, %k : (!t, !u, !u) -> !t
  return
}

// -----

// C6
!t = tensor<1x4x?x64xf16>
!u = tensor<1x0x?x64xf16>
func.func @no_groups(%q: !t, %k: !u) {
  // expected-error @+1 {{expects the key heads (0) to divide the query heads (4)}}
  %o = attention.forward %q, %k, %k : (!t, !u, !u) -> !t
  return
}

// -----

// C26
!t = tensor<1x?x?x64xf16>
func.func @group_of_none(%q: !t) {
  // expected-error @+1 {{expects a group of at least 1 head, got 0}}
  %o = attention.forward %q, %q, %q group 0 : (!t, !t, !t) -> !t
  return
}

// -----

// C26
!t = tensor<1x6x?x64xf16>
!u = tensor<1x?x?x64xf16>
func.func @group_of_heads(%q: !t, %k: !u) {
  // expected-error @+1 {{expects groups of 4 query heads, one for every key head, got 6 heads and any number of key heads}}
  %o = attention.forward %q, %k, %k group 4 : (!t, !u, !u) -> !t
  return
}

// -----

// C26
!t = tensor<1x8x?x64xf16>
!u = tensor<1x4x?x64xf16>
func.func @group_of_key_heads(%q: !t, %k: !u) {
  // expected-error @+1 {{expects groups of 4 query heads, one for every key head, got 8 heads and 4 key heads}}
  %o = attention.forward %q, %k, %k group 4 : (!t, !u, !u) -> !t
  return
}

// -----

// backward C30
!t = tensor<1x?x?x64xf16>
!l = tensor<1x?x?xf32>
func.func @group_of_no_gradients(%q: !t, %l: !l) {
  // expected-error @+1 {{expects a group of at least 1 head, got 0}}
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q group 0 : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return
}

// -----

// backward C30
!t = tensor<1x8x?x64xf16>
!u = tensor<1x4x?x64xf16>
!l = tensor<1x8x?xf32>
func.func @group_of_gradients(%q: !t, %k: !u, %l: !l) {
  // expected-error @+1 {{expects groups of 4 query heads, one for every key head, got 8 heads and 4 key heads}}
  %0:3 = attention.backward %q, %k, %k, %q, %l, %q group 4 : (!t, !u, !u, !t, !l, !t) -> (!t, !u, !u)
  return
}

// -----

// C2
!t = tensor<1x2x?x64xf16>
func.func @o_of_another_type(%q: !t) {
  // expected-error @+1 {{expects o to have the element type of q ('f16') or f32, got 'bf16'}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> tensor<1x2x?x64xbf16>
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @previous_of_one(%q: !t) {
  // expected-error @+1 {{expects o and lse in 'previous', got 1 operands}}
  %o = attention.forward %q, %q, %q previous(%q : !t) : (!t, !t, !t) -> !t
  return
}

// -----

// C32
!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
func.func @previous_type(%q: !t, %o: tensor<1x2x?x64xf8E4M3FN>, %l: !l) {
  // expected-error @+1 {{expects previous o of f16, bf16 or f32, got 'f8E4M3FN'}}
  %0 = attention.forward %q, %q, %q previous(%o, %l : tensor<1x2x?x64xf8E4M3FN>, !l) : (!t, !t, !t) -> !t
  return
}

// -----

// C32
!t = tensor<1x2x8x64xf16>
!l = tensor<1x2x8xf32>
func.func @previous_shape(%q: !t, %o: tensor<1x2x9x64xf32>, %l: !l) {
  // expected-error @+1 {{expects previous o to have the shape of o ('tensor<1x2x8x64xf16>'), got 'tensor<1x2x9x64xf32>'}}
  %0 = attention.forward %q, %q, %q previous(%o, %l : tensor<1x2x9x64xf32>, !l) : (!t, !t, !t) -> !t
  return
}

// -----

// C32
!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf16>
func.func @previous_lse(%q: !t, %l: !l) {
  // expected-error @+1 {{expects previous lse of f32, a number for each query of o ('tensor<1x2x?x64xf16>'), got 'tensor<1x2x?xf16>'}}
  %0 = attention.forward %q, %q, %q previous(%q, %l : !t, !l) : (!t, !t, !t) -> !t
  return
}

// -----

// C32
!t = tensor<1x9x2x64xf16>
!l = tensor<1x9x2xf32>
func.func @previous_rows(%q: !t, %l: !l) {
  // expected-error @+1 {{expects previous lse of f32, a number for each query of o ('tensor<1x9x2x64xf16>'), got 'tensor<1x9x2xf32>'}}
  %0 = attention.forward %q, %q, %q previous(%q, %l : !t, !l) layout bshd : (!t, !t, !t) -> !t
  return
}

// -----

// C7
!t = tensor<1x2x?x64xf16>
func.func @score_types(%q: !t) {
  // expected-error @+1 {{expects 'score_mod' to take ('f32', 'index', 'index', 'index', 'index'), got ('f16', 'index')}}
  %o = "attention.forward"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0>}> ({
  ^bb0(%s: f16, %b: index):
    "attention.yield"(%s) : (f16) -> ()
  }, {
  }, {
  }, {
  }) : (!t, !t, !t) -> !t
  return
}

// -----

// C7
!t = tensor<1x2x?x64xf16>
func.func @score_yield(%q: !t) {
  // expected-error @+1 {{expects 'score_mod' to yield 'f32'}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      attention.yield %i : index
    }
  return
}

// -----

// C7
!t = tensor<1x2x?x64xf16>
func.func @score_terminator(%q: !t) {
  // expected-error @+1 {{expects 'score_mod' to yield 'f32'}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      llvm.unreachable
    }
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @score_blocks(%q: !t) {
  // expected-error @+1 {{expects region #0 to have 0 or 1 blocks}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      cf.br ^next
    ^next:
      attention.yield %s : f32
    }
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @empty(%q: !t) {
  // expected-error @+1 {{expects a non-empty block}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
    }
  return
}

// -----

// C8
!t = tensor<1x2x?x64xf16>
func.func @keep_types(%q: !t) {
  // expected-error @+1 {{expects 'mask_mod' to take ('index', 'index', 'index', 'index'), got ('i1')}}
  %o = "attention.forward"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0>}> ({
  }, {
  ^bb0(%s: i1):
    "attention.yield"(%s) : (i1) -> ()
  }, {
  }, {
  }) : (!t, !t, !t) -> !t
  return
}

// -----

// C8
!t = tensor<1x2x?x64xf16>
func.func @keep_yield(%q: !t) {
  // expected-error @+1 {{expects 'mask_mod' to yield 'i1'}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    mask_mod (%b, %h, %i, %j) {
      attention.yield %i : index
    }
  return
}

// -----

// C9
!t = tensor<1x2x?x64xf16>
func.func @effects(%q: !t, %m: memref<f32>) {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      // expected-error @+1 {{in 'score_mod' reads memory that is not an auxiliary operand}}
      %x = memref.load %m[] : memref<f32>
      attention.yield %x : f32
    }
  return
}

// -----

// C9
!t = tensor<1x2x?x64xf16>
func.func @nested(%q: !t, %c: i1) {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      // expected-error @+1 {{'scf.if' op is not allowed in 'score_mod', which holds pure elementwise scalar operations}}
      %x = scf.if %c -> f32 {
        scf.yield %s : f32
      } else {
        scf.yield %s : f32
      }
      attention.yield %x : f32
    }
  return
}

// -----

// C9
!t = tensor<1x2x?x64xf16>
func.func @tensor_result(%q: !t) {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    mask_mod (%b, %h, %i, %j) {
      // expected-error @+1 {{'arith.constant' op is not allowed in 'mask_mod': its result type 'tensor<4xf32>' is no scalar}}
      %x = arith.constant dense<1.0> : tensor<4xf32>
      %t = arith.constant true
      attention.yield %t : i1
    }
  return
}

// -----

// C9
!t = tensor<1x2x?x64xf16>
func.func @other_tensor(%q: !t, %x: tensor<?xf32>) {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      // expected-error @+1 {{'tensor.extract' op in 'score_mod' reads a tensor that is not an auxiliary operand}}
      %e = tensor.extract %x[%h] : tensor<?xf32>
      attention.yield %e : f32
    }
  return
}

// -----

// C10
!t = tensor<1x2x?x64xf16>
func.func @capture(%q: !t, %x: vector<4xf32>) {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    mask_mod (%b, %h, %i, %j) {
      // expected-error @+1 {{'arith.addf' op in 'mask_mod' captures a value of type 'vector<4xf32>'; only scalars and auxiliary operands may be captured}}
      %e = arith.addf %x, %x : vector<4xf32>
      %t = arith.constant true
      attention.yield %t : i1
    }
  return
}

// -----

// C11
!t = tensor<1x2x?x64xf16>
func.func @mods(%q: !t) {
  // expected-error @+1 {{expects mods of the attention dialect, got "causal"}}
  %o = attention.forward %q, %q, %q mods ["causal"] : (!t, !t, !t) -> !t
  return
}

// -----

// C11, alibi C1
!t = tensor<1x2x?x64xf16>
func.func @no_aux(%q: !t) {
  // expected-error @+1 {{#attention.alibi reads auxiliary operand 0 of 0}}
  %o = attention.forward %q, %q, %q mods [#attention.alibi<aux = 0>] : (!t, !t, !t) -> !t
  return
}

// -----

// C11, bias C1
!t = tensor<1x2x?x64xf16>
func.func @negative_aux(%q: !t, %a: tensor<?xf32>) {
  // expected-error @+1 {{#attention.bias reads auxiliary operand -1 of 1}}
  %o = attention.forward %q, %q, %q aux(%a : tensor<?xf32>) mods [#attention.bias<aux = -1>] : (!t, !t, !t) -> !t
  return
}

// -----

// alibi C1
!t = tensor<1x2x?x64xf16>
func.func @alibi_rank(%q: !t, %a: tensor<2x1xf32>) {
  // expected-error @+1 {{#attention.alibi expects auxiliary operand 0 of rank 1, got 'tensor<2x1xf32>'}}
  %o = attention.forward %q, %q, %q aux(%a : tensor<2x1xf32>) mods [#attention.alibi<aux = 0>] : (!t, !t, !t) -> !t
  return
}

// -----

// alibi C1
!t = tensor<1x2x?x64xf16>
func.func @alibi_element(%q: !t, %a: tensor<?xf16>) {
  // expected-error @+1 {{#attention.alibi expects slopes of f32, got 'f16'}}
  %o = attention.forward %q, %q, %q aux(%a : tensor<?xf16>) mods [#attention.alibi<aux = 0>] : (!t, !t, !t) -> !t
  return
}

// -----

// alibi C2
!t = tensor<1x2x?x64xf16>
func.func @alibi_extent(%q: !t, %a: tensor<3xf32>) {
  // expected-error @+1 {{#attention.alibi expects as many entries in dimension 0 as query heads (2), got 'tensor<3xf32>'}}
  %o = attention.forward %q, %q, %q aux(%a : tensor<3xf32>) mods [#attention.alibi<aux = 0>] : (!t, !t, !t) -> !t
  return
}

// -----

// bias C1
!t = tensor<1x2x?x64xf16>
func.func @bias_rank(%q: !t, %a: tensor<?x?xf16>) {
  // expected-error @+1 {{#attention.bias expects auxiliary operand 0 of rank 4, got 'tensor<?x?xf16>'}}
  %o = attention.forward %q, %q, %q aux(%a : tensor<?x?xf16>) mods [#attention.bias<aux = 0>] : (!t, !t, !t) -> !t
  return
}

// -----

// bias C1
!t = tensor<1x2x?x64xf16>
func.func @bias_element(%q: !t, %a: tensor<?x?x?x?xi8>) {
  // expected-error @+1 {{#attention.bias expects elements of f16, bf16 or f32, got 'i8'}}
  %o = attention.forward %q, %q, %q aux(%a : tensor<?x?x?x?xi8>) mods [#attention.bias<aux = 0>] : (!t, !t, !t) -> !t
  return
}

// -----

// bias C2
!t = tensor<1x9x2x64xf16>
func.func @bias_extent(%q: !t, %a: tensor<1x1x9x2xf16>) {
  // expected-error @+1 {{#attention.bias expects as many entries in dimension 3 as keys (9), got 'tensor<1x1x9x2xf16>'}}
  %o = attention.forward %q, %q, %q aux(%a : tensor<1x1x9x2xf16>) layout bshd mods [#attention.bias<aux = 0>] : (!t, !t, !t) -> !t
  return
}

// -----

// C12
!t = tensor<1x2x?x64xf16>
func.func @scale(%q: !t) {
  %s = arith.constant -1.0 : f32
  // expected-error @+1 {{expects a positive scale of at most 2^16, got -1.000000e+00}}
  %o = attention.forward %q, %q, %q scale %s : (!t, !t, !t) -> !t
  return
}

// -----

// C12
!t = tensor<1x2x?x64xf16>
func.func @zero_scale(%q: !t) {
  %s = arith.constant 0.0 : f32
  // expected-error @+1 {{expects a positive scale of at most 2^16, got 0.000000e+00}}
  %o = attention.forward %q, %q, %q scale %s : (!t, !t, !t) -> !t
  return
}

// -----

// C12
!t = tensor<1x2x?x64xf16>
func.func @large_scale(%q: !t) {
  %s = arith.constant 65537.0 : f32
  // expected-error @+1 {{expects a positive scale of at most 2^16, got 6.553700e+04}}
  %o = attention.forward %q, %q, %q scale %s : (!t, !t, !t) -> !t
  return
}

// -----

// C12
!t = tensor<1x2x?x64xf16>
func.func @infinite_scale(%q: !t) {
  %s = arith.constant 0x7F800000 : f32
  // expected-error @+1 {{expects a positive scale of at most 2^16, got}}
  %o = attention.forward %q, %q, %q scale %s : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @scale_type(%q: !t, %s: f64) { // expected-note {{prior use here}}
  // expected-error @+1 {{use of value '%s' expects different type than prior uses: 'f32' vs 'f64'}}
  %o = attention.forward %q, %q, %q scale %s : (!t, !t, !t) -> !t
  return
}

// -----

// attention.length C1
func.func @length() {
  // expected-error @+1 {{expects to lie in a region of 'attention.forward'}}
  %0 = attention.length key
  return
}

// -----

func.func @yield(%x: f32) {
  // expected-error @+1 {{'attention.yield' op expects parent op to be one of 'attention.forward, attention.backward, attention.sequences, attention.blocks, attention.list_blocks'}}
  attention.yield %x : f32
}

// -----

// Attributes.

// expected-error @+1 {{#attention.window expects left between 0 and 1073741824, got -1; without it that end is unbounded}}
func.func private @left() attributes {a = #attention.window<left = -1>}

// -----

// expected-error @+1 {{#attention.window expects right between 0 and 1073741824, got -7}}
func.func private @right() attributes {a = #attention.window<left = 1, right = -7>}

// -----

// expected-error @+1 {{expected '<'}}
func.func private @window() attributes {a = #attention.window}

// -----

// expected-error @+1 {{duplicate or unknown struct parameter name: center}}
func.func private @window_key() attributes {a = #attention.window<center = 1>}

// -----

// expected-error @+1 {{expected '>'}}
func.func private @window_value() attributes {a = #attention.window<left = "x">}

// -----

// expected-error @+1 {{#attention.prefix expects a length between 0 and 1073741824, got -3}}
func.func private @prefix() attributes {a = #attention.prefix<-3>}

// -----

// expected-error @+2 {{expected integer value}}
// expected-error @+1 {{failed to parse Attention_PrefixAttr parameter 'length'}}
func.func private @prefix_value() attributes {a = #attention.prefix<>}

// -----

// expected-error @+1 {{#attention.softcap expects a positive cap in the range of f32, got 0.000000e+00}}
func.func private @softcap() attributes {a = #attention.softcap<0.0>}

// -----

// expected-error @+1 {{#attention.softcap expects a positive cap in the range of f32, got -2.000000e+00}}
func.func private @softcap_negative() attributes {a = #attention.softcap<-2.0>}

// -----

// expected-error @+1 {{#attention.softcap expects a positive cap in the range of f32, got 9.9999999999999994E+38 : f64}}
func.func private @softcap_large() attributes {a = #attention.softcap<1.0e39>}

// -----

// expected-error @+1 {{#attention.softcap expects a positive cap in the range of f32, got 9.9999999999999992E-40 : f64}}
func.func private @softcap_small() attributes {a = #attention.softcap<1.0e-39>}

// -----

// expected-error @+2 {{invalid kind of attribute specified}}
// expected-error @+1 {{failed to parse Attention_SoftcapAttr parameter 'cap'}}
func.func private @softcap_int() attributes {a = #attention.softcap<50>}

// -----

// expected-error @+2 {{expected valid keyword}}
// expected-error @+1 {{expected a parameter name in struct}}
func.func private @alibi() attributes {a = #attention.alibi<>}

// -----

// expected-error @+1 {{expected '>'}}
func.func private @bias() attributes {a = #attention.bias<aux = 0, aux = 1>}

// -----

// expected-error @+1 {{unknown attribute `sliding` in dialect `attention`}}
func.func private @unknown() attributes {a = #attention.sliding}

// -----

// C2: the type of o with 8-bit operands.
func.func @float8_output(%x: tensor<1x1x8x16xf8E4M3FN>, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{expects o of f16, bf16 or f32, got 'f8E4M3FN'}}
  %o = attention.forward %x, %x, %x scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
    : (tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>) -> tensor<1x1x8x16xf8E4M3FN>
  return
}

// -----

// C2: mixed 8-bit formats.
func.func @float8_mixed(%x: tensor<1x1x8x16xf8E4M3FN>, %y: tensor<1x1x8x16xf8E5M2>, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{expects v to have the element type of q ('f8E4M3FN'), got 'f8E5M2'}}
  %o = attention.forward %x, %x, %y scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
    : (tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E5M2>) -> tensor<1x1x8x16xf16>
  return
}

// -----

// C2: q and k are of one type.
func.func @integer_key(%x: tensor<1x1x8x16xi8>, %y: tensor<1x1x8x16xf8E4M3FN>, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{expects k to have the element type of q ('i8'), got 'f8E4M3FN'}}
  %o = attention.forward %x, %y, %y scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
    : (tensor<1x1x8x16xi8>, tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>) -> tensor<1x1x8x16xf16>
  return
}

// -----

// C2: v beside integers.
func.func @integer_value(%x: tensor<1x1x8x16xi8>, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{expects v of f8E4M3FN or f8E5M2 with q of i8, got 'i8'}}
  %o = attention.forward %x, %x, %x scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
    : (tensor<1x1x8x16xi8>, tensor<1x1x8x16xi8>, tensor<1x1x8x16xi8>) -> tensor<1x1x8x16xf16>
  return
}

// -----

// C3: head dims of 8-bit operands.
func.func @float8_dim(%x: tensor<1x1x8x24xf8E4M3FN>, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{expects a head dim that is a multiple of 16 up to 256, that of q is 24}}
  %o = attention.forward %x, %x, %x scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
    : (tensor<1x1x8x24xf8E4M3FN>, tensor<1x1x8x24xf8E4M3FN>, tensor<1x1x8x24xf8E4M3FN>) -> tensor<1x1x8x24xf16>
  return
}

// -----

// C13: missing scales.
func.func @scales_missing(%x: tensor<1x1x8x16xf8E5M2>) {
  // expected-error @+1 {{expects scales of q, k and v with 8-bit operands, got 0}}
  %o = attention.forward %x, %x, %x
    : (tensor<1x1x8x16xf8E5M2>, tensor<1x1x8x16xf8E5M2>, tensor<1x1x8x16xf8E5M2>) -> tensor<1x1x8x16xf16>
  return
}

// -----

// C13: scales of 16-bit operands.
func.func @scales_many(%x: tensor<1x1x8x16xf16>, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{expects scales with 8-bit operands only, got 3}}
  %o = attention.forward %x, %x, %x scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
    : (tensor<1x1x8x16xf16>, tensor<1x1x8x16xf16>, tensor<1x1x8x16xf16>) -> tensor<1x1x8x16xf16>
  return
}

// -----

// C13: type of scales.
func.func @scales_type(%x: tensor<1x1x8x16xf8E4M3FN>, %s: tensor<1x1xf32>) {
  // expected-error @+1 {{expects scales of rank 3 and f32, got 'tensor<1x1xf32>'}}
  %o = attention.forward %x, %x, %x scales(%s, %s, %s : tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
    : (tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>) -> tensor<1x1x8x16xf16>
  return
}

// -----

// C13: one scale for the sequence.
func.func @scales_extent(%x: tensor<1x1x8x16xf8E4M3FN>, %s: tensor<1x1x2xf32>) {
  // expected-error @+1 {{expects a last extent of 1 of a scale for all rows, got 'tensor<1x1x2xf32>'}}
  %o = attention.forward %x, %x, %x scales(%s, %s, %s : tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
    : (tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>) -> tensor<1x1x8x16xf16>
  return
}

// -----

// C14
func.func @scale_rows(%x: tensor<1x1x8x16xf8E4M3FN>, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{expects three 'rows', got 2}}
  %o = attention.forward %x, %x, %x scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) rows [0, 0]
    : (tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>) -> tensor<1x1x8x16xf16>
  return
}

// -----

// C14
func.func @scale_rows_negative(%x: tensor<1x1x8x16xf8E4M3FN>, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{expects 'rows' of at least 0, got -1}}
  %o = attention.forward %x, %x, %x scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) rows [0, -1, 0]
    : (tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>) -> tensor<1x1x8x16xf16>
  return
}

// -----

// C3: columns of q.
func.func @terms_columns(%x: tensor<1x1x8x16xf8E4M3FN>, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{expects q to have 32 columns, 2 for each element of k, got 16}}
  %o = attention.forward %x, %x, %x scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) q_terms 2
    : (tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>) -> tensor<1x1x8x16xf16>
  return
}

// -----

// C3: the head dim beside several terms.
func.func @terms_dim(%x: tensor<1x1x8x24xf8E4M3FN>, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{expects a head dim that is a multiple of 16 up to 256, that of k is 24}}
  %o = attention.forward %x, %x, %x scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) q_terms 2
    : (tensor<1x1x8x24xf8E4M3FN>, tensor<1x1x8x24xf8E4M3FN>, tensor<1x1x8x24xf8E4M3FN>) -> tensor<1x1x8x24xf16>
  return
}

// -----

// C15: too many.
func.func @terms(%x: tensor<1x1x8x16xf8E4M3FN>, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{expects 'q_terms' of 1 or 2 with elements of 'f8E4M3FN', got 3}}
  %o = attention.forward %x, %x, %x scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) q_terms 3
    : (tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>) -> tensor<1x1x8x16xf16>
  return
}

// -----

// C15: none.
func.func @terms(%x: tensor<1x1x8x16xf8E4M3FN>, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{expects 'q_terms' of 1 or 2 with elements of 'f8E4M3FN', got 0}}
  %o = attention.forward %x, %x, %x scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) q_terms 0
    : (tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>, tensor<1x1x8x16xf8E4M3FN>) -> tensor<1x1x8x16xf16>
  return
}

// -----

// C15: of integers.
func.func @terms(%x: tensor<1x1x8x16xi8>, %v: tensor<1x1x8x16xf8E4M3FN>, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{expects 'q_terms' of 1 with elements of 'i8', got 2}}
  %o = attention.forward %x, %x, %v scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) q_terms 2
    : (tensor<1x1x8x16xi8>, tensor<1x1x8x16xi8>, tensor<1x1x8x16xf8E4M3FN>) -> tensor<1x1x8x16xf16>
  return
}

// -----

// C15: of 16 bits.
func.func @terms(%x: tensor<1x1x8x16xf16>) {
  // expected-error @+1 {{expects 'q_terms' of 1 with elements of 'f16', got 2}}
  %o = attention.forward %x, %x, %x q_terms 2
    : (tensor<1x1x8x16xf16>, tensor<1x1x8x16xf16>, tensor<1x1x8x16xf16>) -> tensor<1x1x8x16xf16>
  return
}

// -----

// attention.quantize C2: columns of several terms.
func.func @quantize(%x: tensor<2x4x100x64xf16>) {
  // expected-error @+1 {{expects values of the shape of the source, 'tensor<2x4x100x64xf16>', with 2 columns for each element, got 'tensor<2x4x100x64xf8E4M3FN>'}}
  %a:2 = attention.quantize %x terms 2 : tensor<2x4x100x64xf16> -> tensor<2x4x100x64xf8E4M3FN>, tensor<1x1x1xf32>
  return
}

// -----

// attention.quantize C6: too many.
func.func @quantize(%x: tensor<2x4x100x64xf16>) {
  // expected-error @+1 {{expects 'terms' of 1 or 2 with values of 'f8E5M2', got 3}}
  %a:2 = attention.quantize %x terms 3 : tensor<2x4x100x64xf16> -> tensor<2x4x100x192xf8E5M2>, tensor<1x1x1xf32>
  return
}

// -----

// attention.quantize C6: of integers.
func.func @quantize(%x: tensor<2x4x100x64xf16>) {
  // expected-error @+1 {{expects 'terms' of 1 with values of 'i8', got 2}}
  %a:2 = attention.quantize %x terms 2 : tensor<2x4x100x64xf16> -> tensor<2x4x100x128xi8>, tensor<1x1x1xf32>
  return
}

// -----

// attention.quantize C1: rank.
func.func @quantize(%x: tensor<4x100x64xf16>) {
  // expected-error @+1 {{expects a source of rank 4, got 3}}
  %a:2 = attention.quantize %x : tensor<4x100x64xf16> -> tensor<4x100x64xf8E4M3FN>, tensor<1x1x1xf32>
  return
}

// -----

// attention.quantize C1: element type.
func.func @quantize(%x: tensor<2x4x100x64xf64>) {
  // expected-error @+1 {{expects a source of f16, bf16 or f32, got 'f64'}}
  %a:2 = attention.quantize %x : tensor<2x4x100x64xf64> -> tensor<2x4x100x64xf8E4M3FN>, tensor<1x1x1xf32>
  return
}

// -----

// attention.quantize C1: head dim.
func.func @quantize(%x: tensor<2x4x100x40xf16>) {
  // expected-error @+1 {{expects a static head dim that is a multiple of 16 up to 256, got 'tensor<2x4x100x40xf16>'}}
  %a:2 = attention.quantize %x : tensor<2x4x100x40xf16> -> tensor<2x4x100x40xf8E4M3FN>, tensor<1x1x1xf32>
  return
}

// -----

// attention.quantize C2: element type.
func.func @quantize(%x: tensor<2x4x100x64xf16>) {
  // expected-error @+1 {{expects values of f8E4M3FN, f8E5M2 or i8, got 'f8E4M3FNUZ'}}
  %a:2 = attention.quantize %x : tensor<2x4x100x64xf16> -> tensor<2x4x100x64xf8E4M3FNUZ>, tensor<1x1x1xf32>
  return
}

// -----

// attention.quantize C2: shape.
func.func @quantize(%x: tensor<2x4x100x64xf16>) {
  // expected-error @+1 {{expects values of the shape of the source, 'tensor<2x4x100x64xf16>', got 'tensor<2x4x?x64xf8E4M3FN>'}}
  %a:2 = attention.quantize %x : tensor<2x4x100x64xf16> -> tensor<2x4x?x64xf8E4M3FN>, tensor<1x1x1xf32>
  return
}

// -----

// attention.quantize C3: type of the scales.
func.func @quantize(%x: tensor<2x4x100x64xf16>) {
  // expected-error @+1 {{expects scales of rank 3 and f32, got 'tensor<1x1x1xf16>'}}
  %a:2 = attention.quantize %x : tensor<2x4x100x64xf16> -> tensor<2x4x100x64xf8E4M3FN>, tensor<1x1x1xf16>
  return
}

// -----

// attention.quantize C3: batch.
func.func @quantize(%x: tensor<2x4x100x64xf16>) {
  // expected-error @+1 {{expects extent 0 of the scales to be 1 or that of the batch (2), got 3}}
  %a:2 = attention.quantize %x : tensor<2x4x100x64xf16> -> tensor<2x4x100x64xf8E4M3FN>, tensor<3x4x1xf32>
  return
}

// -----

// attention.quantize C3: heads, in another layout.
func.func @quantize(%x: tensor<2x4x100x64xf16>) {
  // expected-error @+1 {{expects extent 1 of the scales to be 1 or that of the heads (100), got 4}}
  %a:2 = attention.quantize %x layout bshd : tensor<2x4x100x64xf16> -> tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x1xf32>
  return
}

// -----

// attention.quantize C3: one scale for the sequence.
func.func @quantize(%x: tensor<2x4x100x64xf16>) {
  // expected-error @+1 {{expects a last extent of the scales of 1 with 'rows' 0, got 'tensor<2x4x2xf32>'}}
  %a:2 = attention.quantize %x : tensor<2x4x100x64xf16> -> tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x2xf32>
  return
}

// -----

// attention.quantize C3: blocks.
func.func @quantize(%x: tensor<2x4x100x64xf16>) {
  // expected-error @+1 {{expects a last extent of the scales of 2 with 'rows' 64, got 'tensor<2x4x1xf32>'}}
  %a:2 = attention.quantize %x rows 64 : tensor<2x4x100x64xf16> -> tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x1xf32>
  return
}

// -----

// attention.quantize C4.
func.func @quantize(%x: tensor<2x4x100x64xf16>) {
  // expected-error @+1 {{expects 'rows' of at least 0, got -1}}
  %a:2 = attention.quantize %x rows -1 : tensor<2x4x100x64xf16> -> tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x1xf32>
  return
}

// -----

// attention.quantize C5: matrix.
func.func @quantize(%x: tensor<2x4x100x64xf16>, %r: tensor<64x64xbf16>) {
  // expected-error @+1 {{expects a matrix of 64x64 elements of the source's type, f16 or bf16, got 'tensor<64x64xbf16>' for a source of 'f16'}}
  %a:2 = attention.quantize %x rotate %r : tensor<64x64xbf16> : tensor<2x4x100x64xf16> -> tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x1xf32>
  return
}

// -----

// attention.quantize C5: signs.
func.func @quantize(%x: tensor<2x4x100x64xf16>, %r: tensor<32xf16>) {
  // expected-error @+1 {{expects 64 signs that are floats, and a source of f16 or bf16, got 'tensor<32xf16>' for a source of 'f16'}}
  %a:2 = attention.quantize %x rotate %r : tensor<32xf16> : tensor<2x4x100x64xf16> -> tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x1xf32>
  return
}

// -----

// attention.quantize C5: order of the matrix.
func.func @quantize(%x: tensor<1x1x8x112xf16>, %r: tensor<112xf16>) {
  // expected-error @+1 {{expects a head dim of 1, 12 or 20 times a power of two for a Hadamard matrix, got 112}}
  %a:2 = attention.quantize %x rotate %r : tensor<112xf16> : tensor<1x1x8x112xf16> -> tensor<1x1x8x112xf8E4M3FN>, tensor<1x1x1xf32>
  return
}

// -----

// C3, of v transposed
func.func @transposed_head_dim(%q: tensor<2x8x16x64xf16>, %v: tensor<2x8x64x?xf16>) {
  // expected-error @+1 {{expects v and o to agree in head dim, got 64 and 32}}
  %o = attention.forward %q, %q, %v transposed_v
    : (tensor<2x8x16x64xf16>, tensor<2x8x16x64xf16>, tensor<2x8x64x?xf16>) -> tensor<2x8x16x32xf16>
  return
}

// -----

// C5, of v transposed
func.func @transposed_length(%q: tensor<2x8x16x64xf16>, %v: tensor<2x8x64x24xf16>) {
  // expected-error @+1 {{expects k and v to agree in length, got 16 and 24}}
  %o = attention.forward %q, %q, %v transposed_v
    : (tensor<2x8x16x64xf16>, tensor<2x8x16x64xf16>, tensor<2x8x64x24xf16>) -> tensor<2x8x16x64xf16>
  return
}

// -----

// C1, with a place
!p = tensor<4x?x64xf16>
!t = tensor<?x4x?x64xf16>
func.func @place_rank(%q: !t, %cu: tensor<?xi32>) {
  // expected-error @+1 {{expects q of rank 3, got 4}}
  %o = attention.forward %q, %q, %q aux(%cu : tensor<?xi32>) mods [#attention.packed<q = 0>] : (!t, !t, !t) -> !t
  return
}

// -----

// C1, lse with a place
!p = tensor<4x?x64xf16>
!t = tensor<?x4x?x64xf16>
func.func @place_lse_rank(%q: !p, %k: !t, %cu: tensor<?xi32>) {
  // expected-error @+1 {{expects lse of rank 2, got 3}}
  %o:2 = attention.forward %q, %k, %k aux(%cu : tensor<?xi32>) mods [#attention.packed<q = 0>] : (!p, !t, !t) -> (!p, tensor<?x4x?xf32>)
  return
}

// -----

// C18
!p = tensor<4x?x64xf16>
!t = tensor<?x4x?x64xf16>
func.func @place_without_lengths(%q: !t, %index: tensor<?xi32>) {
  %sequences = attention.sequences
    place_q (%b, %h, %i) {
      attention.yield %b, %h, %i : index, index, index
    }
  // expected-error @+1 {{expects 'lengths' beside 'place_q'}}
  %o = attention.forward %q, %q, %q sequences %sequences : (!t, !t, !t) -> !t
  return
}

// -----

// C18, scales of rows
!q = tensor<?x4x64xf8E4M3FN>
!s = tensor<1x1x?xf32>
!one = tensor<1x1x1xf32>
func.func @place_rows(%q: !q, %cu: tensor<?xi32>, %s: !s, %one: !one) {
  // expected-error @+1 {{expects scales for whole sequences beside 'place_q', got one for every 64 rows of k}}
  %o = attention.forward %q, %q, %q aux(%cu : tensor<?xi32>) scales(%one, %s, %one : !one, !s, !one) rows [0, 64, 0]
    layout bshd mods [#attention.packed<q = 0, k = 0>] : (!q, !q, !q) -> tensor<?x4x64xf16>
  return
}

// -----

// C18, scales of tokens
!q = tensor<?x4x?x64xf8E4M3FN>
!s = tensor<1x1x?xf32>
!one = tensor<1x1x1xf32>
func.func @place_tokens(%q: !q, %pad: tensor<?xi32>, %s: !s, %one: !one) {
  // expected-error @+1 {{expects scales for whole sequences beside 'place_k', got one for every row of q}}
  %o = attention.forward %q, %q, %q aux(%pad : tensor<?xi32>) scales(%s, %one, %one : !s, !one, !one) rows [1, 0, 0]
    mods [#attention.leftpad<aux = 0>] : (!q, !q, !q) -> tensor<?x4x?x64xf16>
  return
}

// -----

// C18, v transposed
!p = tensor<4x?x64xf16>
!t = tensor<?x4x?x64xf16>
func.func @place_transposed(%q: tensor<?x4x64x64xf16>, %pad: tensor<?xi32>) {
  // expected-error @+1 {{expects no transposed_v beside 'place_k'}}
  %o = attention.forward %q, %q, %q aux(%pad : tensor<?xi32>) transposed_v mods [#attention.leftpad<aux = 0>]
    : (tensor<?x4x64x64xf16>, tensor<?x4x64x64xf16>, tensor<?x4x64x64xf16>) -> tensor<?x4x64x64xf16>
  return
}

// -----

// C19
!p = tensor<4x?x64xf16>
!t = tensor<?x4x?x64xf16>
func.func @sinks_type(%q: !t, %s: tensor<4xf16>) {
  // expected-error @+1 {{expects sinks of rank 1 and f32, got 'tensor<4xf16>'}}
  %o = attention.forward %q, %q, %q sinks(%s : tensor<4xf16>) : (!t, !t, !t) -> !t
  return
}

// -----

// C19, extent
!p = tensor<4x?x64xf16>
!t = tensor<?x4x?x64xf16>
func.func @sinks_extent(%q: !t, %s: tensor<5xf32>) {
  // expected-error @+1 {{expects a sink for every query head (4), got 5}}
  %o = attention.forward %q, %q, %q sinks(%s : tensor<5xf32>) : (!t, !t, !t) -> !t
  return
}

// -----

// C20
!p = tensor<4x?x64xf16>
!t = tensor<?x4x?x64xf16>
func.func @splits(%q: !t) {
  %less = arith.constant -1 : index
  // expected-error @+1 {{expects splits of at least 0, got -1}}
  %o = attention.forward %q, %q, %q splits %less : (!t, !t, !t) -> !t
  return
}

// -----

// C25
!t = tensor<?x4x?x64xf16>
func.func @blocks_twice(%q: !t, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>) {
  %blocks = attention.blocks [128, 64]
    by_query (%b, %h, %m, %t) {
      %c0 = arith.constant 0 : index
      attention.yield %c0, %c0, %c0, %c0 : index, index, index, index
    }
  // expected-error @+1 {{expects lists of blocks once, got them 2 times}}
  %o = attention.forward %q, %q, %q aux(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>) blocks %blocks mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 64>] : (!t, !t, !t) -> !t
  return
}

// -----

// C25
!t = tensor<?x4x?x64xf16>
func.func @blocks_splits(%q: !t, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>) {
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{expects no splits beside lists of blocks}}
  %o = attention.forward %q, %q, %q aux(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>) splits %c1 mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 64>] : (!t, !t, !t) -> !t
  return
}

// -----

// #attention.blocks C1
!t = tensor<?x4x?x64xf16>
func.func @blocks_count(%q: !t, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>) {
  // expected-error @+1 {{#attention.blocks expects auxiliary operand 1 of rank 3, got 'tensor<1x1x?x?xi32>'}}
  %o = attention.forward %q, %q, %q aux(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>) mods [#attention.blocks<count = 1, index = 1, queries = 128, keys = 64>] : (!t, !t, !t) -> !t
  return
}

// -----

// #attention.blocks C1, extents
!t = tensor<?x4x?x64xf16>
func.func @blocks_extents(%q: !t, %count: tensor<2x1x?xi32>, %index: tensor<1x1x?x?xi32>) {
  // expected-error @+1 {{#attention.blocks expects as many entries in dimension 0 as its indices (1), got 'tensor<2x1x?xi32>'}}
  %o = attention.forward %q, %q, %q aux(%count, %index : tensor<2x1x?xi32>, tensor<1x1x?x?xi32>) mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 64>] : (!t, !t, !t) -> !t
  return
}

// -----

// #attention.blocks C2
!t = tensor<?x4x?x64xf16>
func.func @blocks_full(%q: !t, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>) {
  // expected-error @+1 {{#attention.blocks expects full_count and full_index together}}
  %o = attention.forward %q, %q, %q aux(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>) mods [#attention.blocks<count = 0, index = 1, full_count = 0, queries = 128, keys = 64>] : (!t, !t, !t) -> !t
  return
}

// -----

// #attention.used C1
!p = tensor<4x?x64xf16>
!t = tensor<?x4x?x64xf16>
func.func @used_none(%q: !t) {
  // expected-error @+1 {{#attention.used expects q or k, got neither}}
  %o = attention.forward %q, %q, %q mods [#attention.used<>] : (!t, !t, !t) -> !t
  return
}

// -----

// #attention.packed C1
!p = tensor<4x?x64xf16>
!t = tensor<?x4x?x64xf16>
func.func @packed_none(%q: !t) {
  // expected-error @+1 {{#attention.packed expects q or k, got neither}}
  %o = attention.forward %q, %q, %q mods [#attention.packed<>] : (!t, !t, !t) -> !t
  return
}

// -----

// #attention.used C1, elements
!p = tensor<4x?x64xf16>
!t = tensor<?x4x?x64xf16>
func.func @used_elements(%q: !t, %u: tensor<?xi64>) {
  // expected-error @+1 {{#attention.used expects elements of i32, got 'i64'}}
  %o = attention.forward %q, %q, %q aux(%u : tensor<?xi64>) mods [#attention.used<k = 0>] : (!t, !t, !t) -> !t
  return
}

// -----

// #attention.batch_index C1
!p = tensor<4x?x64xf16>
!t = tensor<?x4x?x64xf16>
func.func @batch_index_rank(%q: !t, %u: tensor<?x?xi32>, %n: tensor<?xi32>) {
  // expected-error @+1 {{#attention.batch_index expects auxiliary operand 0 of rank 1, got 'tensor<?x?xi32>'}}
  %o = attention.forward %q, %q, %q aux(%u, %n : tensor<?x?xi32>, tensor<?xi32>) mods [#attention.batch_index<aux = 0>, #attention.used<k = 1>] : (!t, !t, !t) -> !t
  return
}

// -----

// #attention.leftpad C1
!p = tensor<4x?x64xf16>
!t = tensor<?x4x?x64xf16>
func.func @leftpad_number(%q: !t, %u: tensor<?xi32>) {
  // expected-error @+1 {{#attention.leftpad reads auxiliary operand 1 of 1}}
  %o = attention.forward %q, %q, %q aux(%u : tensor<?xi32>) mods [#attention.leftpad<aux = 1>] : (!t, !t, !t) -> !t
  return
}

// -----

// #attention.paged C1
!p = tensor<4x?x64xf16>
!t = tensor<?x4x?x64xf16>
func.func @paged_rank(%q: !t, %u: tensor<?xi32>) {
  // expected-error @+1 {{#attention.paged expects auxiliary operand 0 of rank 2, got 'tensor<?xi32>'}}
  %o = attention.forward %q, %q, %q aux(%u : tensor<?xi32>) mods [#attention.paged<table = 0>] : (!t, !t, !t) -> !t
  return
}

// -----

// #attention.paged C2
!p = tensor<4x?x64xf16>
!t = tensor<?x4x?x64xf16>
func.func @paged_dynamic(%q: !t, %u: tensor<?x?xi32>) {
  // expected-error @+1 {{#attention.paged expects a static number of rows in a page, got 'tensor<?x4x?x64xf16>'}}
  %o = attention.forward %q, %q, %q aux(%u : tensor<?x?xi32>) mods [#attention.paged<table = 0>] : (!t, !t, !t) -> !t
  return
}

// -----

// backward syntax
func.func @backward_operands(%q: tensor<2x8x?x64xf16>, %k: tensor<2x8x?x64xf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x64xf16>) {
  // expected-error @+1 {{expects q, k, v, o, lse and do, got 5 operands}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward syntax
func.func @backward_types(%q: tensor<2x8x?x64xf16>, %k: tensor<2x8x?x64xf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x64xf16>) {
  // expected-error @+2 {{expects 6 operand types and 3 result types, got 5 and 3}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C1
func.func @backward_rank(%q: tensor<2x8x?x64xf16>, %k: tensor<2x8x?x64xf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x64xf16>) {
  // expected-error @+1 {{expects o of rank 4, got 3}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C2
func.func @backward_element(%q: tensor<2x8x?x64xf32>, %k: tensor<2x8x?x64xf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x64xf16>) {
  // expected-error @+1 {{expects elements of f16 or bf16, got 'f32'}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x64xf32>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf32>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C2
func.func @backward_mixed(%q: tensor<2x8x?x64xf16>, %k: tensor<2x8x?x64xbf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x64xf16>) {
  // expected-error @+1 {{expects k to have the element type of q ('f16'), got 'bf16'}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xbf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xbf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C1, C2
func.func @backward_lse(%q: tensor<2x8x?x64xf16>, %k: tensor<2x8x?x64xf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf16>, %do: tensor<2x8x?x64xf16>) {
  // expected-error @+1 {{expects lse of rank 3 and f32, got 'tensor<2x8x?xf16>'}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf16>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C3
func.func @backward_dynamic_dim(%q: tensor<2x8x?x?xf16>, %k: tensor<2x8x?x64xf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x64xf16>) {
  // expected-error @+1 {{expects a static head dim, that of q is dynamic}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x?xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x?xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C3
func.func @backward_head_dim(%q: tensor<2x8x?x60xf16>, %k: tensor<2x8x?x64xf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x64xf16>) {
  // expected-error @+1 {{expects a head dim that is a multiple of 8 up to 576, that of q is 60}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x60xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x60xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C3
func.func @backward_value_head_dim(%q: tensor<2x8x?x64xf16>, %k: tensor<2x8x?x64xf16>, %v: tensor<2x8x?x520xf16>, %o: tensor<2x8x?x520xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x520xf16>) {
  // expected-error @+1 {{expects a head dim that is a multiple of 8 up to 512, that of v is 520}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x520xf16>, tensor<2x8x?x520xf16>, tensor<2x8x?xf32>, tensor<2x8x?x520xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x520xf16>)
  return
}

// -----

// backward C3
func.func @backward_head_dims(%q: tensor<2x8x?x64xf16>, %k: tensor<2x8x?x32xf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x64xf16>) {
  // expected-error @+1 {{expects q and k to agree in head dim, got 64 and 32}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x32xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x32xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C3
func.func @backward_do_dim(%q: tensor<2x8x?x64xf16>, %k: tensor<2x8x?x64xf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x32xf16>) {
  // expected-error @+1 {{expects v and do to agree in head dim, got 64 and 32}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x32xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C4
func.func @backward_batch(%q: tensor<2x8x?x64xf16>, %k: tensor<2x8x?x64xf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<3x8x?x64xf16>) {
  // expected-error @+1 {{expects q and do to agree in batch, got 2 and 3}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<3x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C5
func.func @backward_heads(%q: tensor<2x8x?x64xf16>, %k: tensor<2x8x?x64xf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x4x?xf32>, %do: tensor<2x8x?x64xf16>) {
  // expected-error @+1 {{expects q and lse to agree in heads, got 8 and 4}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x4x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C5
func.func @backward_length(%q: tensor<2x8x?x64xf16>, %k: tensor<2x8x8x64xf16>, %v: tensor<2x8x9x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x64xf16>) {
  // expected-error @+1 {{expects k and v to agree in length, got 8 and 9}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x64xf16>, tensor<2x8x8x64xf16>, tensor<2x8x9x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x8x64xf16>, tensor<2x8x9x64xf16>)
  return
}

// -----

// backward C6
func.func @backward_groups(%q: tensor<2x8x?x64xf16>, %k: tensor<2x3x?x64xf16>, %v: tensor<2x3x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x64xf16>) {
  // expected-error @+1 {{expects the key heads (3) to divide the query heads (8)}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x64xf16>, tensor<2x3x?x64xf16>, tensor<2x3x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x3x?x64xf16>, tensor<2x3x?x64xf16>)
  return
}

// -----

// backward C13
func.func @backward_dk(%q: tensor<2x8x?x64xf16>, %k: tensor<2x8x?x64xf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x64xf16>) {
  // expected-error @+1 {{expects dk to have the type of k ('tensor<2x8x?x64xf16>'), got 'tensor<2x8x?x64xf32>'}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf32>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C12
func.func @backward_scale(%q: tensor<2x8x?x64xf16>, %k: tensor<2x8x?x64xf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x64xf16>) {
  %scale = arith.constant 1025.0 : f32
  // expected-error @+1 {{expects a positive scale of at most 2^10, got 1.025000e+03}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do scale %scale
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C14
func.func @backward_score_grad(%q: tensor<2x8x?x64xf16>, %k: tensor<2x8x?x64xf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x64xf16>) {
  // expected-error @+1 {{expects no 'score_grad' without 'score_mod'}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
    score_grad (%s, %g0, %b, %h, %i, %j) {
      attention.yield %g0 : f32
    }
  return
}

// -----

// backward C7
func.func @backward_score_yield(%q: tensor<2x8x?x64xf16>, %k: tensor<2x8x?x64xf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x64xf16>) {
  // expected-error @+1 {{expects 'score_grad' to yield 'f32'}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
    score_mod (%s, %b, %h, %i, %j) {
      attention.yield %s : f32
    }
    score_grad (%s, %g0, %b, %h, %i, %j) {
      attention.yield %i : index
    }
  return
}

// -----

// backward C15
func.func @backward_math(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>) {
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
    score_mod (%s, %b, %h, %i, %j) {
      // expected-error @+1 {{'math.log10' op is not allowed in 'score_mod', which may have of math: absf}}
      %x = math.log10 %s : f32
      attention.yield %x : f32
    }
  return
}

// -----

// backward C16
func.func @grad_aux_number(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %a: tensor<8xf32>) {
  // expected-error @+1 {{expects numbers of auxiliary operands, less than 1, in 'grad_aux', got 1}}
  %g:4 = attention.backward %q, %q, %q, %q, %lse, %q aux(%a : tensor<8xf32>) grad_aux [1] mods [#attention.alibi<aux = 0>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<8xf32>)
  return
}

// -----

// backward C16
func.func @grad_aux_twice(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %a: tensor<8xf32>) {
  // expected-error @+1 {{has number 0 in 'grad_aux' twice}}
  %g:5 = attention.backward %q, %q, %q, %q, %lse, %q aux(%a : tensor<8xf32>) grad_aux [0, 0] mods [#attention.alibi<aux = 0>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

// backward C16
func.func @grad_aux_results(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %a: tensor<8xf32>) {
  // expected-error @+1 {{expects a result for every number of 'grad_aux', 1, got 0}}
  %g:3 = "attention.backward"(%q, %q, %q, %q, %lse, %q, %a) <{gradAux = array<i64: 0>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0>}> ({}, {}, {}, {}, {}, {})
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>, tensor<8xf32>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C16
func.func @grad_aux_integers(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %a: tensor<2x8xi32>) {
  // expected-error @+1 {{expects an auxiliary operand with a gradient to have rank 1 or more and f16, bf16 or f32, operand 0 is 'tensor<2x8xi32>'}}
  %g:4 = attention.backward %q, %q, %q, %q, %lse, %q aux(%a : tensor<2x8xi32>) grad_aux [0] mods [#attention.softcap<2.0>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8xi32>)
  return
}

// -----

// backward C16
func.func @grad_aux_type(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %a: tensor<8xf32>) {
  // expected-error @+1 {{expects the gradient of auxiliary operand 0 to have its type ('tensor<8xf32>'), got 'tensor<8xf16>'}}
  %g:4 = attention.backward %q, %q, %q, %q, %lse, %q aux(%a : tensor<8xf32>) grad_aux [0] mods [#attention.alibi<aux = 0>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<8xf16>)
  return
}

// -----

// backward C17
func.func @grad_aux_unread(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %a: tensor<8xf32>) {
  // expected-error @+1 {{expects 'score_mod' to read auxiliary operand 0, whose gradient is asked for}}
  %g:4 = attention.backward %q, %q, %q, %q, %lse, %q aux(%a : tensor<8xf32>) grad_aux [0]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<8xf32>)
  return
}

// -----

// backward C17
func.func @grad_aux_places(%q: tensor<2x8x8x64xf16>, %lse: tensor<2x8x8xf32>, %a: tensor<8xf32>) {
  %g:4 = attention.backward %q, %q, %q, %q, %lse, %q aux(%a : tensor<8xf32>) grad_aux [0]
    : (tensor<2x8x8x64xf16>, tensor<2x8x8x64xf16>, tensor<2x8x8x64xf16>, tensor<2x8x8x64xf16>, tensor<2x8x8xf32>, tensor<2x8x8x64xf16>)
    -> (tensor<2x8x8x64xf16>, tensor<2x8x8x64xf16>, tensor<2x8x8x64xf16>, tensor<8xf32>)
    score_mod (%s, %b, %h, %i, %j) {
      // expected-note @+1 {{the first one is here}}
      %x = tensor.extract %a[%h] : tensor<8xf32>
      // expected-error @+1 {{reads an operand whose gradient is asked for at a second place}}
      %z = tensor.extract %a[%j] : tensor<8xf32>
      %y = arith.addf %z, %x : f32
      attention.yield %y : f32
    }
  return
}

// -----

// backward C17, tables
func.func @grad_aux_tables(%q: tensor<2x8x8x64xf16>, %lse: tensor<2x8x8xf32>, %a: tensor<15xf32>) {
  %g:4 = attention.backward %q, %q, %q, %q, %lse, %q aux(%a : tensor<15xf32>) grad_aux [0]
    : (tensor<2x8x8x64xf16>, tensor<2x8x8x64xf16>, tensor<2x8x8x64xf16>, tensor<2x8x8x64xf16>, tensor<2x8x8xf32>, tensor<2x8x8x64xf16>)
    -> (tensor<2x8x8x64xf16>, tensor<2x8x8x64xf16>, tensor<2x8x8x64xf16>, tensor<15xf32>)
    score_mod (%s, %b, %h, %i, %j) {
      %m = arith.subi %i, %j : index
      %n = arith.addi %i, %j : index
      // expected-note @+1 {{the first one is here}}
      %x = tensor.extract %a[%m] : tensor<15xf32>
      // expected-error @+1 {{reads an operand whose gradient is asked for at a second place}}
      %z = tensor.extract %a[%n] : tensor<15xf32>
      %y = arith.addf %z, %x : f32
      attention.yield %y : f32
    }
  return
}

// -----

// backward C7
func.func @grad_aux_yield(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %a: tensor<8xf32>) {
  // expected-error @+1 {{expects 'score_grad' to yield 'f32', 'f32'}}
  %g:4 = attention.backward %q, %q, %q, %q, %lse, %q aux(%a : tensor<8xf32>) grad_aux [0]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<8xf32>)
    score_mod (%s, %b, %h, %i, %j) {
      %x = tensor.extract %a[%h] : tensor<8xf32>
      %y = arith.addf %s, %x : f32
      attention.yield %y : f32
    }
    score_grad (%s, %d, %b, %h, %i, %j) {
      attention.yield %d : f32
    }
  return
}

// -----

// backward C11
func.func @backward_aux(%q: tensor<2x8x?x64xf16>, %k: tensor<2x8x?x64xf16>, %v: tensor<2x8x?x64xf16>, %o: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %do: tensor<2x8x?x64xf16>) {
  // expected-error @+1 {{#attention.bias reads auxiliary operand 0 of 0}}
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do mods [#attention.bias<aux = 0>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C11, keys that sequences may share
func.func @backward_paged(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %table: tensor<?x?xi32>) {
  // expected-error @+1 {{#attention.paged is a modification of 'attention.forward' only}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%table : tensor<?x?xi32>) mods [#attention.paged<table = 0>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C11, keys that sequences may share
func.func @backward_batch_index(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %index: tensor<?xi32>) {
  // expected-error @+1 {{#attention.batch_index is a modification of 'attention.forward' only}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%index : tensor<?xi32>) mods [#attention.batch_index<aux = 0>, #attention.used<k = 0>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C25, one direction
func.func @backward_lists_by_queries(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>) {
  // expected-error @+1 {{expects lists of blocks by queries and by keys, got only those by queries}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>) mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 64>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C25, the other direction
func.func @backward_lists_by_keys(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>) {
  // expected-error @+1 {{expects lists of blocks by queries and by keys, got only those by keys}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>) mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 64, by = key>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C25, twice
func.func @backward_lists_twice(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>) {
  // expected-error @+1 {{expects lists of blocks once, got them 2 times}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>) mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 64>, #attention.blocks<count = 0, index = 1, queries = 128, keys = 64, by = key>, #attention.blocks<count = 0, index = 1, queries = 128, keys = 64, by = key>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C25, sizes
func.func @backward_lists_sizes(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>) {
  // expected-error @+1 {{expects lists by queries and by keys to have blocks of one size, got 128 x 64 and 128 x 128}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>) mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 64>, #attention.blocks<count = 0, index = 1, queries = 128, keys = 128, by = key>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C26, lengths
func.func @backward_lists_lengths(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>, %used: tensor<?xi32>) {
  // expected-error @+1 {{expects no lengths of sequences beside lists of blocks}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%count, %index, %used : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<?xi32>) mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 64>, #attention.blocks<count = 0, index = 1, queries = 128, keys = 64, by = key>, #attention.used<k = 2>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C26, max_q
func.func @backward_lists_max_q(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>, %n: index) {
  %sequences = attention.sequences max_q %n
  // expected-error @+1 {{expects no 'max_q' beside lists of blocks}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>) sequences %sequences mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 64>, #attention.blocks<count = 0, index = 1, queries = 128, keys = 64, by = key>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C26, grad_aux
func.func @backward_lists_grad_aux(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>, %slopes: tensor<8xf32>) {
  // expected-error @+1 {{expects no 'grad_aux' beside lists of blocks}}
  %g:4 = attention.backward %q, %q, %q, %q, %lse, %q aux(%count, %index, %slopes : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<8xf32>) grad_aux [2] mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 64>, #attention.blocks<count = 0, index = 1, queries = 128, keys = 64, by = key>, #attention.alibi<aux = 2>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<8xf32>)
  return
}

// -----

// forward C25, lists by keys
func.func @forward_lists_by_keys(%q: tensor<2x8x?x64xf16>, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>) {
  // expected-error @+1 {{expects lists of blocks by queries, got 1 by keys, which are for gradients}}
  %o = attention.forward %q, %q, %q aux(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>) mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 64>, #attention.blocks<count = 0, index = 1, queries = 128, keys = 64, by = key>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>) -> tensor<2x8x?x64xf16>
  return
}

// -----

// backward C11
func.func @backward_used(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %used: tensor<2xf32>) {
  // expected-error @+1 {{#attention.used expects elements of i32, got 'f32'}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%used : tensor<2xf32>) mods [#attention.used<k = 0>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C1, of packed rows
func.func @backward_packed_rank(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %cu: tensor<?xi32>) {
  // expected-error @+1 {{expects q of rank 3, got 4}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%cu : tensor<?xi32>) mods [#attention.packed<q = 0, k = 0>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C1, of packed rows
func.func @backward_packed_lse(%q: tensor<?x8x64xf16>, %lse: tensor<2x8x?xf32>, %cu: tensor<?xi32>) {
  // expected-error @+1 {{expects lse of rank 2 and f32, got 'tensor<2x8x?xf32>'}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%cu : tensor<?xi32>) layout bshd mods [#attention.packed<q = 0, k = 0>]
    : (tensor<?x8x64xf16>, tensor<?x8x64xf16>, tensor<?x8x64xf16>, tensor<?x8x64xf16>, tensor<2x8x?xf32>, tensor<?x8x64xf16>)
    -> (tensor<?x8x64xf16>, tensor<?x8x64xf16>, tensor<?x8x64xf16>)
  return
}

// -----

// backward C5, of packed rows
func.func @backward_packed_heads(%q: tensor<?x8x64xf16>, %lse: tensor<4x?xf32>, %cu: tensor<?xi32>) {
  // expected-error @+1 {{expects q and lse to agree in heads, got 8 and 4}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%cu : tensor<?xi32>) layout bshd mods [#attention.packed<q = 0, k = 0>]
    : (tensor<?x8x64xf16>, tensor<?x8x64xf16>, tensor<?x8x64xf16>, tensor<?x8x64xf16>, tensor<4x?xf32>, tensor<?x8x64xf16>)
    -> (tensor<?x8x64xf16>, tensor<?x8x64xf16>, tensor<?x8x64xf16>)
  return
}

// -----

// backward C20
func.func @backward_place_alone(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>) {
  %sequences = attention.sequences
    place_k (%b, %h, %i) {
      attention.yield %b, %h, %i : index, index, index
    }
  // expected-error @+1 {{expects 'lengths' beside 'place_k'}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q sequences %sequences 
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>)
  return
}

// -----

// backward C21
func.func @backward_lengths_aux(%q: tensor<2x8x?x64xf16>, %lse: tensor<2x8x?xf32>, %used: tensor<2xi32>, %a: tensor<8xf32>) {
  // expected-error @+1 {{expects no 'grad_aux' beside 'lengths'}}
  %g:4 = attention.backward %q, %q, %q, %q, %lse, %q aux(%used, %a : tensor<2xi32>, tensor<8xf32>) grad_aux [1]
    mods [#attention.used<k = 0>, #attention.alibi<aux = 1>]
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<8xf32>)
  return
}

// -----

// C21
func.func @extent(%q: tensor<1x1x1073741825x64xf16>) {
  // expected-error @+1 {{expects extents of at most 1073741824, those of operand 0 are 'tensor<1x1x1073741825x64xf16>'}}
  %o = attention.forward %q, %q, %q
    : (tensor<1x1x1073741825x64xf16>, tensor<1x1x1073741825x64xf16>, tensor<1x1x1073741825x64xf16>) -> tensor<1x1x1073741825x64xf16>
  return
}

// -----

// C21, the greatest integer
func.func @extent_keys(%q: tensor<1x1x?x64xf16>, %k: tensor<1x1x9223372036854775807x64xf16>) {
  // expected-error @+1 {{expects extents of at most 1073741824, those of operand 1 are 'tensor<1x1x9223372036854775807x64xf16>'}}
  %o = attention.forward %q, %k, %k
    : (tensor<1x1x?x64xf16>, tensor<1x1x9223372036854775807x64xf16>, tensor<1x1x9223372036854775807x64xf16>) -> tensor<1x1x?x64xf16>
  return
}

// -----

// C21, of an auxiliary operand
func.func @extent_aux(%q: tensor<1x1x?x64xf16>, %a: tensor<2147483648xf32>) {
  // expected-error @+1 {{expects extents of at most 1073741824, those of operand 3 are 'tensor<2147483648xf32>'}}
  %o = attention.forward %q, %q, %q aux(%a : tensor<2147483648xf32>)
    : (tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>) -> tensor<1x1x?x64xf16>
  return
}

// -----

// C21, blocks in all
func.func @blocks(%q: tensor<1024x1024x65537x64xf16>) {
  // expected-error @+1 {{expects at most 1073741824 blocks of 64 queries in all batches and heads, got q of 'tensor<1024x1024x65537x64xf16>'}}
  %o = attention.forward %q, %q, %q
    : (tensor<1024x1024x65537x64xf16>, tensor<1024x1024x65537x64xf16>, tensor<1024x1024x65537x64xf16>) -> tensor<1024x1024x65537x64xf16>
  return
}

// -----

// attention.quantize C7
func.func @quantize(%x: tensor<2x4x1073741825x64xf16>) {
  // expected-error @+1 {{expects extents of at most 1073741824, those of operand 0 are 'tensor<2x4x1073741825x64xf16>'}}
  %a:2 = attention.quantize %x : tensor<2x4x1073741825x64xf16> -> tensor<2x4x1073741825x64xf8E4M3FN>, tensor<2x4x1xf32>
  return
}

// -----

// C11, number
func.func @mods(%q: tensor<1x1x?x64xf16>) {
  // expected-error @+1 {{expects at most 64 mods, got 65}}
  %o = attention.forward %q, %q, %q mods [#attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal, #attention.causal]
    : (tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>) -> tensor<1x1x?x64xf16>
  return
}

// -----

// C22, of what math has
func.func @math(%q: tensor<1x1x?x64xf16>) {
  %o = attention.forward %q, %q, %q
    : (tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>) -> tensor<1x1x?x64xf16>
    score_mod (%s, %b, %h, %i, %j) {
      // expected-error @+1 {{'math.log10' op is not allowed in 'score_mod', which may have of math: absf, absi, acos, acosh, asin, asinh, atan, atan2, atanh, cbrt, ceil, copysign, cos, cosh, ctlz, ctpop, erf, exp, exp2, expm1, floor, fma, log, log1p, log2, powf, round, roundeven, rsqrt, sin, sinh, sqrt, tan, tanh, trunc}}
      %x = math.log10 %s : f32
      attention.yield %x : f32
    }
  return
}

// -----

// C22, wide floats
func.func @wide(%q: tensor<1x1x?x64xf16>) {
  %o = attention.forward %q, %q, %q
    : (tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>) -> tensor<1x1x?x64xf16>
    score_mod (%s, %b, %h, %i, %j) {
      %w = arith.extf %s : f32 to f64
      // expected-error @+1 {{'math.erf' op in 'score_mod' expects floats of at most 32 bits, got 'f64'}}
      %x = math.erf %w : f64
      %y = arith.truncf %x : f64 to f32
      attention.yield %y : f32
    }
  return
}

// -----

// C12, a number
func.func @scale(%q: tensor<1x1x?x64xf16>) {
  // expected-error @+1 {{expects a positive scale of at most 2^16, got -5.000000e-01}}
  %o = attention.forward %q, %q, %q scale -0.5
    : (tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>) -> tensor<1x1x?x64xf16>
  return
}

// -----

// C23
func.func @two_scales(%q: tensor<1x1x?x64xf16>, %s: f32) {
  // expected-error @+1 {{expects one scale, got a value and a number}}
  %o = "attention.forward"(%q, %q, %q, %s) <{literalScale = 0.5 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0>}> ({}, {}, {}, {})
    : (tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>, f32) -> tensor<1x1x?x64xf16>
  return
}

// -----

// expected-error @+1 {{#attention.chunk expects a size between 1 and 1073741824, got 0}}
func.func private @chunk() attributes {a = #attention.chunk<0>}

// -----

// expected-error @+1 {{#attention.dilation expects a step between 1 and 1073741824, got -2}}
func.func private @dilation() attributes {a = #attention.dilation<-2>}

// -----

// #attention.document C1
func.func @document(%q: tensor<1x1x?x64xf16>, %a: tensor<1x?xf32>) {
  // expected-error @+1 {{#attention.document expects integers, got 'f32'}}
  %o = attention.forward %q, %q, %q aux(%a : tensor<1x?xf32>) mods [#attention.document<aux = 0>]
    : (tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>) -> tensor<1x1x?x64xf16>
  return
}

// -----

// #attention.document C2
func.func @document_keys(%q: tensor<1x1x64x64xf16>, %a: tensor<1x63xi32>) {
  // expected-error @+1 {{#attention.document expects as many entries in dimension 1 as keys (64), got 'tensor<1x63xi32>'}}
  %o = attention.forward %q, %q, %q aux(%a : tensor<1x63xi32>) mods [#attention.document<aux = 0>]
    : (tensor<1x1x64x64xf16>, tensor<1x1x64x64xf16>, tensor<1x1x64x64xf16>) -> tensor<1x1x64x64xf16>
  return
}

// -----

// #attention.key_lengths C1
func.func @lengths(%q: tensor<1x1x?x64xf16>, %a: tensor<1x1xi32>) {
  // expected-error @+1 {{#attention.key_lengths expects auxiliary operand 0 of rank 1, got 'tensor<1x1xi32>'}}
  %o = attention.forward %q, %q, %q aux(%a : tensor<1x1xi32>) mods [#attention.key_lengths<aux = 0>]
    : (tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>) -> tensor<1x1x?x64xf16>
  return
}

// -----

// #attention.key_lengths C2
func.func @lengths_batch(%q: tensor<1x1x?x64xf16>, %a: tensor<2xi32>) {
  // expected-error @+1 {{#attention.key_lengths expects as many entries in dimension 0 as batches (1), got 'tensor<2xi32>'}}
  %o = attention.forward %q, %q, %q aux(%a : tensor<2xi32>) mods [#attention.key_lengths<aux = 0>]
    : (tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>) -> tensor<1x1x?x64xf16>
  return
}

// -----

// #attention.mask C1
func.func @mask(%q: tensor<1x1x?x64xf16>, %a: tensor<1x1x?x?xf16>) {
  // expected-error @+1 {{#attention.mask expects integers, got 'f16'}}
  %o = attention.forward %q, %q, %q aux(%a : tensor<1x1x?x?xf16>) mods [#attention.mask<aux = 0>]
    : (tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>) -> tensor<1x1x?x64xf16>
  return
}

// -----

// #attention.mask C2
func.func @mask_heads(%q: tensor<1x1x?x64xf16>, %a: tensor<1x2x?x?xi1>) {
  // expected-error @+1 {{#attention.mask expects as many entries in dimension 1 as query heads (1), got 'tensor<1x2x?x?xi1>'}}
  %o = attention.forward %q, %q, %q aux(%a : tensor<1x2x?x?xi1>) mods [#attention.mask<aux = 0>]
    : (tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>) -> tensor<1x1x?x64xf16>
  return
}

// -----

// C27
!t = tensor<1x2x?x64xf16>
func.func @keep_type(%q: !t) {
  // expected-error @+1 {{expects 'keep_mod' to yield 'i1'}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    keep_mod (%b, %h, %i, %j) {
      attention.yield %j : index
    }
  return
}

// -----

// C28
!t = tensor<1x2x?x64xf16>
func.func @kept_scale_of_none(%q: !t) {
  // expected-error @+1 {{expects 'keep_mod' beside 'kept_scale'}}
  %o = attention.forward %q, %q, %q kept_scale 2.0 : (!t, !t, !t) -> !t
  return
}

// -----

// C28
!t = tensor<1x2x?x64xf16>
func.func @kept_scale(%q: !t) {
  // expected-error @+1 {{expects a positive 'kept_scale' that is a normal number of f32, got 0.000000e+00}}
  %o = attention.forward %q, %q, %q kept_scale 0.0 : (!t, !t, !t) -> !t
    keep_mod (%b, %h, %i, %j) {
      %keep = arith.cmpi ne, %i, %j : index
      attention.yield %keep : i1
    }
  return
}

// -----

// backward C22
!t = tensor<1x2x?x64xf16>
func.func @backward_keep_type(%q: !t, %lse: tensor<1x2x?xf32>) {
  // expected-error @+1 {{expects 'keep_mod' to yield 'i1'}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q : (!t, !t, !t, !t, tensor<1x2x?xf32>, !t) -> (!t, !t, !t)
    keep_mod (%b, %h, %i, %j) {
      attention.yield %j : index
    }
  return
}

// -----

// backward C23
!t = tensor<1x2x?x64xf16>
func.func @backward_kept_scale(%q: !t, %lse: tensor<1x2x?xf32>) {
  // expected-error @+1 {{expects 'keep_mod' beside 'kept_scale'}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q kept_scale 2.0 : (!t, !t, !t, !t, tensor<1x2x?xf32>, !t) -> (!t, !t, !t)
  return
}

// -----

// attention.heads C1
!t = tensor<1x2x?x64xf16>
func.func @heads_of_mask(%q: !t) {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    mask_mod (%b, %h, %i, %j) {
      // expected-error @+1 {{expects to lie in 'keep_mod' of 'attention.forward' or 'attention.backward'}}
      %heads = attention.heads
      %keep = arith.cmpi ult, %i, %heads : index
      attention.yield %keep : i1
    }
  return
}

// -----

// C9
!t = tensor<1x2x?x64xf16>
func.func @two_results(%q: !t) {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    mask_mod (%b, %h, %i, %j) {
      // expected-error @+1 {{is not allowed in 'mask_mod', whose operations have one result}}
      %low, %high = arith.mului_extended %i, %j : index
      %keep = arith.cmpi eq, %low, %high : index
      attention.yield %keep : i1
    }
  return
}

// -----

// dropout C1
// expected-error @+1 {{#attention.dropout expects p from 0 to less than 1, got 1.000000e+00}}
func.func private @dropout() attributes {a = #attention.dropout<p = 1.0, aux = 0>}

// -----

// dropout C1: 1 in f32
// expected-error @+1 {{#attention.dropout expects p from 0 to less than 1}}
func.func private @dropout() attributes {a = #attention.dropout<p = 0.99999999999, aux = 0>}

// -----

// dropout C1
// expected-error @+1 {{#attention.dropout expects p from 0 to less than 1}}
func.func private @dropout() attributes {a = #attention.dropout<p = -0.1, aux = 0>}

// -----

// dropout C2
!t = tensor<1x2x?x64xf16>
func.func @dropout_state(%q: !t, %a: tensor<2xi32>) {
  // expected-error @+1 {{#attention.dropout expects seed and offset of i64, got 'i32'}}
  %o = attention.forward %q, %q, %q aux(%a : tensor<2xi32>) mods [#attention.dropout<p = 0.1, aux = 0>] : (!t, !t, !t) -> !t
  return
}

// -----

// dropout C3
!t = tensor<1x2x?x64xf16>
func.func @dropout_entries(%q: !t, %a: tensor<3xi64>) {
  // expected-error @+1 {{#attention.dropout expects as many entries in dimension 0 as seed and offset (2), got 'tensor<3xi64>'}}
  %o = attention.forward %q, %q, %q aux(%a : tensor<3xi64>) mods [#attention.dropout<p = 0.1, aux = 0>] : (!t, !t, !t) -> !t
  return
}

// -----

// C29
!t = tensor<1x2x?x64xf16>
func.func @qv_transposed(%q: !t, %v: tensor<1x2x64x?xf16>) {
  // expected-error @+1 {{expects no transposed_v beside 'qv'}}
  %o = attention.forward %q, %q, %v qv(%q : !t) transposed_v : (!t, !t, tensor<1x2x64x?xf16>) -> !t
  return
}

// -----

// C29
!f = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x2x1xf32>
func.func @qv_8_bit(%q: !f, %s: !s) {
  // expected-error @+1 {{expects elements of f16 or bf16 beside 'qv', got 'f8E4M3FN'}}
  %o = attention.forward %q, %q, %q qv(%q : !f) scales(%s, %s, %s : !s, !s, !s) : (!f, !f, !f) -> tensor<1x2x?x64xf16>
  return
}

// -----

// C29
!t = tensor<1x2x?x64xf16>
func.func @qv_type(%q: !t, %x: tensor<1x2x?x64xbf16>) {
  // expected-error @+1 {{expects qv to have the element type of q ('f16'), got 'bf16'}}
  %o = attention.forward %q, %q, %q qv(%x : tensor<1x2x?x64xbf16>) : (!t, !t, !t) -> !t
  return
}

// -----

// C29
!t = tensor<1x2x?x64xf16>
func.func @qv_rank(%q: !t, %x: tensor<2x?x64xf16>) {
  // expected-error @+1 {{expects qv of rank 4, got 3}}
  %o = attention.forward %q, %q, %q qv(%x : tensor<2x?x64xf16>) : (!t, !t, !t) -> !t
  return
}

// -----

// C29
!t = tensor<1x2x?x64xf16>
func.func @qv_heads(%q: !t, %x: tensor<1x4x?x64xf16>) {
  // expected-error @+1 {{expects extent 2 in dimension 1 of qv, got 4}}
  %o = attention.forward %q, %q, %q qv(%x : tensor<1x4x?x64xf16>) : (!t, !t, !t) -> !t
  return
}

// -----

// C29
!t = tensor<1x2x?x64xf16>
func.func @qv_dim(%q: !t, %x: tensor<1x2x?x?xf16>) {
  // expected-error @+1 {{expects extent 64 in dimension 3 of qv, got a dynamic one}}
  %o = attention.forward %q, %q, %q qv(%x : tensor<1x2x?x?xf16>) : (!t, !t, !t) -> !t
  return
}

// -----

// C29
!t = tensor<1x2x?x128xf16>
!v = tensor<1x2x?x512xf16>
func.func @qv_columns(%q: !t, %v: !v) {
  // expected-error @+1 {{expects at most 576 columns of q and qv together, got 640}}
  %o = attention.forward %q, %q, %v qv(%v : !v) : (!t, !t, !v) -> !v
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @two_qv(%q: !t) {
  // expected-error @+1 {{expects one 'qv', got 2}}
  %o = attention.forward %q, %q, %q qv(%q, %q : !t, !t) : (!t, !t, !t) -> !t
  return
}

// -----

// C33: a scale for each of k and v.
!q = tensor<1x1x8x64xbf16>
!k = tensor<1x1x8x32xi8>
!s = tensor<1x1x8xf32>
func.func @nibbles_count(%q: !q, %k: !k, %s: !s) {
  // expected-error @+1 {{expects scales of k and v in 'nibbles', got 1 operands}}
  %o = attention.forward %q, %k, %k nibbles(%s : !s) : (!q, !k, !k) -> !q
  return
}

// -----

// C33: other scales.
!q = tensor<1x1x8x64xbf16>
!k = tensor<1x1x8x32xi8>
!s = tensor<1x1x8xf32>
func.func @nibbles_scales(%q: !q, %k: !k, %s: !s, %t: tensor<1x1x1xf32>) {
  // expected-error @+1 {{expects no scales beside 'nibbles'}}
  %o = attention.forward %q, %k, %k scales(%t, %t, %t : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) nibbles(%s, %s : !s, !s) : (!q, !k, !k) -> !q
  return
}

// -----

// C33: qv.
!q = tensor<1x1x8x64xbf16>
!k = tensor<1x1x8x32xi8>
!s = tensor<1x1x8xf32>
func.func @nibbles_qv(%q: !q, %k: !k, %s: !s) {
  // expected-error @+1 {{expects no qv beside 'nibbles'}}
  %o = attention.forward %q, %k, %k qv(%q : !q) nibbles(%s, %s : !s, !s) : (!q, !k, !k) -> !q
  return
}

// -----

// C33: a transposed v.
!q = tensor<1x1x8x64xbf16>
!k = tensor<1x1x8x32xi8>
!s = tensor<1x1x8xf32>
func.func @nibbles_transposed(%q: !q, %k: !k, %s: !s) {
  // expected-error @+1 {{expects no transposed_v beside 'nibbles'}}
  %o = attention.forward %q, %k, %k nibbles(%s, %s : !s, !s) transposed_v : (!q, !k, !k) -> !q
  return
}

// -----

// C33: queries of 8 bits.
!q = tensor<1x1x8x64xbf16>
!k = tensor<1x1x8x32xi8>
!s = tensor<1x1x8xf32>
func.func @nibbles_queries(%q: tensor<1x1x8x64xf8E4M3FN>, %k: !k, %s: !s) {
  // expected-error @+1 {{expects q of f16 or bf16 beside 'nibbles', got 'f8E4M3FN'}}
  %o = attention.forward %q, %k, %k nibbles(%s, %s : !s, !s) : (tensor<1x1x8x64xf8E4M3FN>, !k, !k) -> !q
  return
}

// -----

// C33: elements of v.
!q = tensor<1x1x8x64xbf16>
!k = tensor<1x1x8x32xi8>
!s = tensor<1x1x8xf32>
func.func @nibbles_values(%q: !q, %k: !k, %s: !s) {
  // expected-error @+1 {{expects v of i8 beside 'nibbles', got 'bf16'}}
  %o = attention.forward %q, %k, %q nibbles(%s, %s : !s, !s) : (!q, !k, !q) -> !q
  return
}

// -----

// C33: a head dim that is no multiple of 32.
!q = tensor<1x1x8x64xbf16>
!k = tensor<1x1x8x32xi8>
!s = tensor<1x1x8xf32>
func.func @nibbles_dim(%q: tensor<1x1x8x48xbf16>, %k: tensor<1x1x8x24xi8>, %s: !s) {
  // expected-error @+1 {{expects half a multiple of 32 up to 256 as the last extent of k beside 'nibbles', got 'tensor<1x1x8x24xi8>'}}
  %o = attention.forward %q, %k, %k nibbles(%s, %s : !s, !s) : (tensor<1x1x8x48xbf16>, tensor<1x1x8x24xi8>, tensor<1x1x8x24xi8>) -> tensor<1x1x8x48xbf16>
  return
}

// -----

// C33: a scale for more than a row.
!q = tensor<1x1x8x64xbf16>
!k = tensor<1x1x8x32xi8>
!s = tensor<1x1x8xf32>
func.func @nibbles_scale(%q: !q, %k: !k, %s: tensor<1x1x1xf32>) {
  // expected-error @+1 {{expects scales of f32, a number for each row of k ('tensor<1x1x8x32xi8>'), got 'tensor<1x1x1xf32>'}}
  %o = attention.forward %q, %k, %k nibbles(%s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>) : (!q, !k, !k) -> !q
  return
}

// -----

// C33 and C3: columns of q.
!q = tensor<1x1x8x64xbf16>
!k = tensor<1x1x8x32xi8>
!s = tensor<1x1x8xf32>
func.func @nibbles_head_dims(%q: tensor<1x1x8x32xbf16>, %k: !k, %s: !s) {
  // expected-error @+1 {{expects q and k to agree in head dim, got 32 and 64}}
  %o = attention.forward %q, %k, %k nibbles(%s, %s : !s, !s) : (tensor<1x1x8x32xbf16>, !k, !k) -> !q
  return
}
