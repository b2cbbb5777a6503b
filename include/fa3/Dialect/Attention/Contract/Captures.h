//===- Captures.h - scalars that regions use --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Code of masks, scores, lengths and places may use scalars of the function
// that it stands in. A kernel gets them as arguments.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_ATTENTION_CONTRACT_CAPTURES_H
#define FA3_DIALECT_ATTENTION_CONTRACT_CAPTURES_H

#include "mlir/IR/IRMapping.h"

namespace fa3::attention {

/// Scalars with the host values they stand for.
using Captures = llvm::SmallVector<std::pair<mlir::Value, mlir::Value>>;

/// Scalars from outside that the regions of the operations use, each once, in
/// the order of their first use.
llvm::SmallVector<mlir::Value>
getCapturedScalars(llvm::ArrayRef<mlir::Operation *> ops);

/// The same with what `values`, of a host function, has for them.
Captures collectCaptures(llvm::ArrayRef<mlir::Operation *> ops,
                         const mlir::IRMapping &values);

} // namespace fa3::attention

#endif // FA3_DIALECT_ATTENTION_CONTRACT_CAPTURES_H
