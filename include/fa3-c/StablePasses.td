//===- StablePasses.td - passes of the C interface ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The passes whose names are stable (docs/Embedding.md).
//===----------------------------------------------------------------------===//
#ifndef FA3_C_STABLEPASSES
#define FA3_C_STABLEPASSES

include "fa3/Conversion/AttentionToTile/Passes.td"
include "fa3/Conversion/ConvertToAttention/Passes.td"
include "fa3/Conversion/LowerHost/Passes.td"
include "fa3/Dialect/Attention/Transforms/Passes.td"

#endif // FA3_C_STABLEPASSES
