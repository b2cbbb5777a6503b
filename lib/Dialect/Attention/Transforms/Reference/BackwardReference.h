//===- BackwardReference.h - gradients by definition ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_BACKWARDREFERENCE_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_BACKWARDREFERENCE_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"

namespace fa3::attention {

/// Emits the loops of one host function with attention.backward: the groups of
/// heads numbered from the first to the last of `slice`, or all. Gives the
/// number of all; null, with an error, if score code has no derivative.
mlir::Value buildBackwardReference(
    HostFunction &host, Precision precision,
    std::optional<std::pair<mlir::Value, mlir::Value>> slice);

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_BACKWARDREFERENCE_H
