//===- ForwardReference.h - attention by definition -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_FORWARDREFERENCE_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_FORWARDREFERENCE_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"

namespace fa3::attention {

/// Emits the loops of one host function with attention.forward: the heads
/// numbered from the first to the last of `slice`, of which it gives the number
/// of all; or all heads, where it gives nothing.
mlir::Value
buildForwardReference(HostFunction &host, Precision precision,
                      std::optional<std::pair<mlir::Value, mlir::Value>> slice);

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_FORWARDREFERENCE_H
