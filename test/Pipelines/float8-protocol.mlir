// Protocols of 8-bit kernels that were refused although they are right.

// The convert group loops over as many tiles as others without use for their
// numbers; bounds of the others depend on them.
// RUN: fa3-opt %s --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline{mode=dynamic})' -o /dev/null

// A ring of one slot that threads write: its positions are constants.
// RUN: fa3-opt %s --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline{mode=dynamic max-depth=1})' -o /dev/null

// Replicas are in different loops, one of them in a loop that all make alike.
// RUN: fa3-opt %s --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline{block-m=128 block-n=64 stages=2 max-depth=3})' -o /dev/null

!operand = tensor<?x?x?x64xf8E4M3FN>
!result = tensor<?x?x?x64xbf16>
!scale = tensor<?x?x1xf32>

func.func @all_but_a_diagonal(%q: !operand, %k: !operand, %v: !operand, %qs: !scale, %ks: !scale, %vs: !scale) -> !result {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !scale, !scale, !scale) : (!operand, !operand, !operand) -> !result
    mask_mod (%b, %h, %i, %j) {
      %sum = arith.addi %i, %j : index
      %twice = arith.addi %sum, %h : index
      %c57 = arith.constant 57 : index
      %keep = arith.cmpi ne, %twice, %c57 : index
      attention.yield %keep : i1
    }
  return %o : !result
}

func.func @nothing_on_either_side(%q: !operand, %k: !operand, %v: !operand, %qs: !scale, %ks: !scale, %vs: !scale) -> !result {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !scale, !scale, !scale) mods [#attention.causal] : (!operand, !operand, !operand) -> !result
    mask_mod (%b, %h, %i, %j) {
      %c7 = arith.constant 7 : index
      %c27 = arith.constant 27 : index
      %shift = arith.muli %b, %c7 : index
      %rows = arith.addi %i, %i : index
      %columns = arith.addi %j, %j : index
      %ahead = arith.subi %rows, %columns : index
      %more = arith.addi %ahead, %c27 : index
      %sum = arith.addi %more, %shift : index
      %c0 = arith.constant 0 : index
      %keep = arith.cmpi slt, %sum, %c0 : index
      attention.yield %keep : i1
    }
  return %o : !result
}

func.func @few_keys_and_no_diagonal(%q: !operand, %k: !operand, %v: !operand, %qs: !scale, %ks: !scale, %vs: !scale) -> !result {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !scale, !scale, !scale) : (!operand, !operand, !operand) -> !result
    mask_mod (%b, %h, %i, %j) {
      %c86 = arith.constant 86 : index
      %isLate = arith.cmpi sge, %j, %c86 : index
      %isOff = arith.cmpi ne, %i, %j : index
      %keep = arith.andi %isLate, %isOff : i1
      attention.yield %keep : i1
    }
  return %o : !result
}
