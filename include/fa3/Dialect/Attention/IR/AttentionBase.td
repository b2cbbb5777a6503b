//===- AttentionBase.td - the attention dialect ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_ATTENTION_BASE
#define FA3_ATTENTION_BASE

include "mlir/IR/OpBase.td"

def Attention_Dialect : Dialect {
  let name = "attention";
  let cppNamespace = "::fa3::attention";
  let summary = "what is computed: attention on tensors";
  let description = [{
    Scaled dot-product attention as one operation on tensors, with regions of
    scalar code: `score_mod` edits a score, `mask_mod` says whether a key is visible
    to a query. Where sequences lie and which blocks are visible are values of
    `attention.sequences` and `attention.blocks`. The dialect says what is computed
    and nothing about how.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif // FA3_ATTENTION_BASE
