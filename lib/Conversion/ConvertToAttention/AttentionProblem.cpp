//===- AttentionProblem.cpp - an attention of another project -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttentionProblem.h"
#include "Foreign.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace fa3::convert;

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kCategory = "convert-to-attention";

/// Through the remark engine if that takes it, otherwise as a diagnostic.
static void report(Location loc, remark::detail::InFlightRemark remark,
                   StringRef text) {
  if (remark)
    remark << text;
  else
    emitRemark(loc) << text;
}

LogicalResult fa3::convert::refuse(Operation *op, const Twine &reason) {
  std::string text =
      ("'" + getName(op) + "' is left as it is: " + reason).str();
  report(
      op->getLoc(),
      remark::missed(op->getLoc(),
                     remark::RemarkOpts::name("LeftAlone").category(kCategory)),
      text);
  return failure();
}

void fa3::convert::remarkConverted(Location loc, const Twine &what) {
  std::string text = what.str();
  report(loc,
         remark::passed(
             loc, remark::RemarkOpts::name("Converted").category(kCategory)),
         text);
}

void Recorder::takeBack() {
  // What is inside of another operation goes with it.
  llvm::SmallPtrSet<Operation *, 16> all(made.begin(), made.end());
  llvm::erase_if(made, [&](Operation *op) {
    return op->getParentOp() && all.contains(op->getParentOp());
  });
  for (Operation *op : llvm::reverse(made))
    if (op->use_empty())
      op->erase();
  made.clear();
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

State fa3::convert::makeState(Labels &labels, Value value) {
  return {value, labels.create(getTensorType(value).getShape())};
}

FailureOr<State> fa3::convert::makeState(Labels &labels, Value value,
                                         Dims dims) {
  RankedTensorType type = getTensorType(value);
  if (!type || type.getRank() != static_cast<int64_t>(dims.size()))
    return failure();
  for (auto [group, extent] : llvm::zip(dims, type.getShape())) {
    if (group.size() == 1 && failed(labels.meet(group[0], extent)))
      return failure();
    int64_t product = labels.getExtent(group);
    if (!ShapedType::isDynamic(extent) && !ShapedType::isDynamic(product) &&
        extent != product)
      return failure();
  }
  return State{value, std::move(dims)};
}

FailureOr<State> fa3::convert::makeState(Labels &labels, Value value,
                                         ArrayRef<Label> dims) {
  Dims groups;
  for (Label label : dims)
    groups.push_back({label});
  return makeState(labels, value, std::move(groups));
}

Attribute fa3::convert::getCausal(MLIRContext *context, int64_t queries,
                                  int64_t keys) {
  using namespace fa3::attention;
  bool isSquare = queries == keys && !ShapedType::isDynamic(queries);
  return CausalAttr::get(context, isSquare ? Alignment::bottom_right
                                           : Alignment::top_left);
}
