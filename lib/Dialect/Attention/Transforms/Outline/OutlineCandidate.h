//===- OutlineCandidate.h - one attention to be outlined --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The function that attention-outline makes of one attention, and the call that
// takes its place.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_OUTLINE_OUTLINECANDIDATE_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_OUTLINE_OUTLINECANDIDATE_H

#include "OutlineViews.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Remarks.h"

namespace fa3::attention {

/// A remark of the pass about `op`.
mlir::remark::RemarkOpts getOutlineRemark(llvm::StringRef name,
                                          mlir::Operation *op);

/// An order of dimensions as remarks have it: [0, 2, 1, 3].
std::string toText(llvm::ArrayRef<int64_t> order);

/// Quantizations and rotations beside the attention `root` that work for nobody
/// else.
llvm::SmallVector<mlir::Operation *> findOwnPreparations(mlir::Operation *root);

/// The function that one attention would have, and the call of it.
class Candidate {
public:
  explicit Candidate(mlir::Operation *root);

  /// Writes the function.
  mlir::LogicalResult build();
  /// Puts a call in front of the attention, and erases that.
  void replace(llvm::StringRef callee, mlir::DominanceInfo &dominance);

  mlir::OwningOpRef<mlir::func::FuncOp> takeFunction() {
    return std::move(function);
  }
  mlir::func::FuncOp getFunction() { return *function; }
  /// Preparations that the function has taken.
  llvm::ArrayRef<mlir::Operation *> getPreparations() const {
    return preparations;
  }

private:
  mlir::LogicalResult addTensor(mlir::Operation *copy, mlir::OpOperand &operand,
                                bool mayTranspose);
  mlir::LogicalResult addScalar(mlir::Value value);
  mlir::LogicalResult addOperation(mlir::Operation *op);
  mlir::LogicalResult addCaptures();
  mlir::Value addArgument(mlir::Value value, OrderedView view);

  mlir::OpFoldResult getExtent(mlir::Value value, int64_t dim);
  mlir::OpFoldResult getResultExtent(mlir::OpResult result, int64_t dim);
  /// The order in which all users of a result see its dimensions, empty for its
  /// own.
  llvm::SmallVector<int64_t> findOrder(mlir::OpResult result);
  /// The shape of a result in this order, and its extents that are not static.
  llvm::SmallVector<int64_t> getShape(mlir::OpResult result,
                                      llvm::ArrayRef<int64_t> order,
                                      llvm::SmallVector<mlir::Value> &extents);
  /// What a result is written to, on tensors.
  mlir::Value createInit(mlir::OpResult result, llvm::ArrayRef<int64_t> order,
                         mlir::DominanceInfo &dominance);
  void replaceTransposed(mlir::OpResult result, mlir::Value value,
                         llvm::ArrayRef<int64_t> view);
  void replaceOnTensors(llvm::StringRef callee,
                        llvm::ArrayRef<llvm::SmallVector<int64_t>> orders,
                        mlir::DominanceInfo &dominance);
  void replaceOnMemRefs(llvm::StringRef callee,
                        llvm::ArrayRef<llvm::SmallVector<int64_t>> orders,
                        mlir::DominanceInfo &dominance);
  bool isOnMemRefs();

  mlir::Operation *root;
  mlir::ImplicitLocOpBuilder b;
  mlir::OwningOpRef<mlir::func::FuncOp> function;
  mlir::OpBuilder inside;
  llvm::SmallVector<mlir::Operation *> preparations;
  mlir::IRMapping mapping;
  llvm::SmallVector<mlir::Value> inputs, originals;
  llvm::SmallVector<llvm::SmallVector<int64_t>> views;
  llvm::SmallDenseMap<mlir::Value, OrderedView> seen;
  llvm::SmallVector<mlir::OpResult> results;
};

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_OUTLINE_OUTLINECANDIDATE_H
