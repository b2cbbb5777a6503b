//===- BlocksReference.h - list_blocks by definition ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_BLOCKSREFERENCE_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_BLOCKSREFERENCE_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"

namespace fa3::attention {

/// Emits the loops of an attention.list_blocks.
void buildBlocksReference(mlir::ImplicitLocOpBuilder &b, HostFunction &host,
                          const HostBlockLists &lists);

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_BLOCKSREFERENCE_H
