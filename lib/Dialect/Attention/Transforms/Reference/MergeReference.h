//===- MergeReference.h - attention.merge by definition ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_MERGEREFERENCE_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_MERGEREFERENCE_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"

namespace fa3::attention {

/// Emits what the attention.merge of a host function means as loops over
/// memrefs, in f64.
void buildMergeReference(HostFunction &host);

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_MERGEREFERENCE_H
