// RUN: fa3-opt %s --fa3-lower-to-nvvm-pipeline=check=false -verify-diagnostics

func.func @f(%q: tensor<?x2x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) -> tensor<?x2x?x64xf16> {
  %o = attention.forward %q, %k, %v : (tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>) -> tensor<?x2x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %far = arith.constant 4294967296 : index
      // expected-error @+1 {{'arith.constant' op has no lowering to hopper: expects an index of 32 bits, got 4294967296}}
      %last = arith.addi %i, %far : index
      %keep = arith.cmpi sle, %j, %last : index
      attention.yield %keep : i1
    }
  return %o : tensor<?x2x?x64xf16>
}
