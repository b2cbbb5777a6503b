//===- Rounds.h - loops of a few rounds -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A loop around loops is one that all groups run in step. One of a few rounds,
// whose number only says which of its loops run how far, is no such loop: for
// counting and exploration its rounds stand one behind the other. See
// docs/Protocol.md, "Balance".
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_WARP_ANALYSIS_ROUNDS_H
#define FA3_DIALECT_WARP_ANALYSIS_ROUNDS_H

#include "mlir/IR/Operation.h"

namespace fa3::warp {

/// Whether there is a loop around loops in `op` that has at most four rounds,
/// by constants, and whose number is only compared.
bool hasRounds(mlir::Operation *op);

/// Puts a copy of the body for each round of such loops, with what its number
/// decides folded.
void writeOutRounds(mlir::Operation *op);

} // namespace fa3::warp

#endif // FA3_DIALECT_WARP_ANALYSIS_ROUNDS_H
