//===- AttentionProblem.h - an attention of another project -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_CONVERTTOATTENTION_ATTENTIONPROBLEM_H
#define FA3_LIB_CONVERSION_CONVERTTOATTENTION_ATTENTIONPROBLEM_H

#include "Labels.h"
#include "PointBuilder.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <functional>

namespace fa3::convert {

/// A tensor that is added to the scores, or whose elements say (nonzero) that a
/// key is visible.
struct Mask {
  State state;
  bool isCondition;
  Choice choice = {};
  /// The type in which the program has the sum, if that is known: the least
  /// number of f16 is small enough that a score would change it otherwise.
  mlir::Type sumType = {};
};

/// What an attempt has made, so that it can be taken back.
struct Recorder : mlir::OpBuilder::Listener {
  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint) override {
    made.push_back(op);
  }
  /// Erases it all, but what is used.
  void takeBack();
  llvm::SmallVector<mlir::Operation *> made;
};

/// What a converter has found out about an operation.
struct AttentionProblem {
  AttentionProblem(mlir::Operation *op, mlir::FloatType castType)
      : op(op), castType(castType) {}

  mlir::Operation *op;
  /// What q, k and v of f32 become, or none.
  mlir::FloatType castType;
  Labels labels;
  State q, k, v;
  /// A result of `op` or of what follows it; `lse` has no value if nobody uses
  /// it.
  State o, lse;
  /// Factor of the scores: a number, a scalar, or neither for 1/sqrt(head dim).
  std::optional<double> scale;
  mlir::Value scaleValue;
  /// How many keys each sequence of the batch has, a tensor of i32, if that is
  /// not the extent of k; and a score for each query head, a tensor of f32,
  /// whose weight has no value.
  mlir::Value keyLengths, sinks;
  /// In front of all code below; without auxiliary operands.
  llvm::SmallVector<mlir::Attribute> mods;
  /// Edit scores, in order, in front of the masks.
  llvm::SmallVector<std::function<mlir::Value(PointBuilder &, mlir::Value)>>
      scores;
  /// From the outside to the inside of the code.
  llvm::SmallVector<Mask, 1> masks;
  /// Further conditions.
  llvm::SmallVector<std::function<mlir::Value(PointBuilder &)>> conditions;
};

/// Says in a remark why an operation stays as it is. Fails.
llvm::LogicalResult refuse(mlir::Operation *op, const llvm::Twine &reason);

/// Says in a remark what became of an operation of several.
void remarkConverted(mlir::Location loc, const llvm::Twine &what);

/// A state whose dimensions have labels of their own.
State makeState(Labels &labels, mlir::Value value);
/// A state with one given label for each dimension; fails if the rank or an
/// extent is another one.
llvm::FailureOr<State> makeState(Labels &labels, mlir::Value value,
                                 llvm::ArrayRef<Label> dims);
/// The same for dimensions that are products of labels.
llvm::FailureOr<State> makeState(Labels &labels, mlir::Value value, Dims dims);

/// Expands and collapses dimensions of a builtin tensor; both lists have the
/// same labels in the same order, besides those of one element, which may be
/// anywhere. Null if the extents that it takes are not known.
mlir::Value reshape(mlir::OpBuilder &b, mlir::Location loc, Labels &labels,
                    mlir::Value value, const Dims &from, const Dims &to);

/// The order of dimensions in which a reshape makes `to` of them; nothing if
/// there is none.
std::optional<llvm::SmallVector<int64_t>>
findOrder(const Labels &labels, const Dims &from, const Dims &to);
/// A builtin tensor with its dimensions in this order.
mlir::Value transpose(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                      llvm::ArrayRef<int64_t> order);

/// Writes the regions of `forward`, and its auxiliary operands. Notes in
/// `reason` why that is not possible.
void buildRegions(attention::ForwardOp forward, AttentionProblem &problem,
                  const Roles &roles, std::string &reason);

/// Puts attention.forward in the place of `problem.op`, or says in a remark why
/// not. What has become dead is erased, `problem.op` too.
llvm::LogicalResult assemble(AttentionProblem &problem);

/// Reads operands 0 to 2 and result 0, (batch.., heads, rows, elements), with
/// fewer heads in k and v if `grouped`.
llvm::LogicalResult readLikeTorch(AttentionProblem &problem, bool grouped);
/// What readLikeTorch calls the dimensions of the scores.
Dims getScoreDims(const AttentionProblem &problem);
/// Adds a mask whose dimensions are the last ones of `scores`, or 1.
llvm::LogicalResult readBroadcastMask(AttentionProblem &problem,
                                      mlir::Value mask, const Dims &scores);

/// The mod of a causal mask by the first query and key, or, where lengths are
/// known to be equal, the one that is usual.
mlir::Attribute getCausal(mlir::MLIRContext *context, int64_t queries,
                          int64_t keys);

//===----------------------------------------------------------------------===//
// One for each project
//===----------------------------------------------------------------------===//

llvm::LogicalResult convertIree(mlir::Operation *op, mlir::FloatType castType);
llvm::LogicalResult refuseOnline(mlir::Operation *op);
llvm::LogicalResult convertTMTensor(mlir::Operation *op,
                                    mlir::FloatType castType);
llvm::LogicalResult convertTorch(mlir::Operation *op, mlir::FloatType castType);
/// One of the kernels that torch takes for scaled_dot_product_attention, or the
/// gradient of one, as autograd's programs have them.
bool isTorchKernel(mlir::Operation *op);
llvm::LogicalResult refuseTorchKernel(mlir::Operation *op);
/// Adds the functions of score and mask to `functions`.
llvm::LogicalResult
convertFlex(mlir::Operation *op, mlir::FloatType castType,
            llvm::SmallVectorImpl<mlir::Operation *> &functions);
/// Names of these operations are used for other things, too.
bool isCudnnAttention(mlir::Operation *op);
llvm::LogicalResult convertCudnn(mlir::Operation *op, mlir::FloatType castType);
bool isOnnxAttention(mlir::Operation *op);
llvm::LogicalResult convertOnnx(mlir::Operation *op, mlir::FloatType castType);

/// What became of softmax between two contractions.
enum class Raised { none, converted, refused };
/// `op` may be the second contraction of an attention that is written out. Adds
/// a softmax that is refused to `seen`.
Raised raise(mlir::Operation *op, mlir::FloatType castType,
             llvm::SmallPtrSetImpl<mlir::Operation *> &seen);
/// Says why a softmax by name that is left is none of an attention, if there
/// are contractions in front of it and behind it.
Raised refuseSoftmax(mlir::Operation *op);

/// Puts the code of private functions that only compute in the place of their
/// calls, and adds these functions to `helpers`; whether there were any.
bool inlineHelpers(mlir::Operation *function,
                   llvm::SmallVectorImpl<mlir::Operation *> &helpers);

/// Functions take and give builtin tensors for those of torch.
void convertSignatures(mlir::Operation *function);

} // namespace fa3::convert

#endif // FA3_LIB_CONVERSION_CONVERTTOATTENTION_ATTENTIONPROBLEM_H
