//===- UpdateReference.h - rotary and append by definition ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_UPDATEREFERENCE_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_UPDATEREFERENCE_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"

namespace fa3::attention {

/// Emits what attention.rotary and attention.append mean as loops over memrefs.
void buildUpdateReference(mlir::ImplicitLocOpBuilder &b, HostFunction &host,
                          const HostUpdate &update);

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_UPDATEREFERENCE_H
