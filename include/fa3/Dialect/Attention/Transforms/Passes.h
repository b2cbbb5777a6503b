//===- Passes.h - passes on the attention dialect ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// See Passes.td for what each pass takes and gives.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_ATTENTION_TRANSFORMS_PASSES_H
#define FA3_DIALECT_ATTENTION_TRANSFORMS_PASSES_H

#include "fa3/Options/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace fa3::attention {

class ScoredOpInterface;

/// How a reference implementation computes.
enum class Precision {
  f64, ///< as exactly as is affordable
  low, ///< intermediate tensors rounded to the element type
};

/// Turns the mods of `op` into code of its regions.
void expandMods(ScoredOpInterface op);

#define GEN_PASS_DECL
#include "fa3/Dialect/Attention/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa3/Dialect/Attention/Transforms/Passes.h.inc"

} // namespace fa3::attention

#endif // FA3_DIALECT_ATTENTION_TRANSFORMS_PASSES_H
