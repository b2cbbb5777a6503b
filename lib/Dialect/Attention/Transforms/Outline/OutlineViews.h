//===- OutlineViews.h - orders of dimensions at a call ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Which transpositions around attention are a matter of strides. A call takes
// its operands, and gives its results, with any order of dimensions but the
// last, so that nothing is moved.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_OUTLINE_OUTLINEVIEWS_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_OUTLINE_OUTLINEVIEWS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace fa3::attention {

/// A tensor whose dimension d is dimension order[d] of `value`; an empty order
/// is that of `value`.
struct OrderedView {
  mlir::Value value;
  llvm::SmallVector<int64_t> order;
};

/// The permutation of `linalg.transpose`, or of a `linalg.generic` that does
/// nothing else, on tensors: dimension d of the result is dimension order[d] of
/// the operand.
std::optional<llvm::SmallVector<int64_t>> getTransposition(mlir::Operation *op);

/// Takes transpositions out of what computes `value`: slices, casts, and
/// expanded and collapsed shapes in between are repeated on what is not
/// transposed, with `builder`. Gives `value` back where there is nothing to
/// take, or where the last dimension would be another one; `blocker` is then
/// the operation that stays, if there is one.
OrderedView takeTranspositions(mlir::OpBuilder &builder, mlir::Value value,
                               mlir::Operation *&blocker);

/// The permutation that all users of `result` apply, but for those that ask for
/// an extent, with the last dimension in its place; none if they do anything
/// else. `blocker` is as above.
std::optional<llvm::SmallVector<int64_t>>
getTranspositionOfUsers(mlir::Value result, mlir::Operation *&blocker);

/// Erases the operations that compute `values`, and what computes their
/// operands, as far as nothing uses them and they do nothing but transpose or
/// view.
void eraseDeadViews(llvm::ArrayRef<mlir::Value> values);

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_OUTLINE_OUTLINEVIEWS_H
