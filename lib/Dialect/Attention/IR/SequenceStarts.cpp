//===- SequenceStarts.cpp - sequences one behind the other ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Looks for the forms that modifications write, and what is made of them.
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Attention/IR/SequenceStarts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3::attention;

/// The tensor of which `value` is an element as an index: at `sequence` plus a
/// constant.
static Value getTensorRead(Value value, Value sequence, int64_t more) {
  auto asIndex = value.getDefiningOp<arith::IndexCastOp>();
  auto extract =
      asIndex ? asIndex.getIn().getDefiningOp<tensor::ExtractOp>() : nullptr;
  if (!extract || extract.getIndices().size() != 1)
    return {};
  Value index = extract.getIndices().front();
  if (more) {
    auto sum = index.getDefiningOp<arith::AddIOp>();
    APInt number;
    if (!sum || !matchPattern(sum.getRhs(), m_ConstantInt(&number)) ||
        number.getSExtValue() != more)
      return {};
    index = sum.getLhs();
  }
  return index == sequence ? extract.getTensor() : Value();
}

/// Whether a number is at most the distance of two elements that lie side by
/// side.
static bool isWithinNext(Value length, Value sequence, Value starts) {
  if (auto least = length.getDefiningOp<arith::MinSIOp>())
    return isWithinNext(least.getLhs(), sequence, starts) ||
           isWithinNext(least.getRhs(), sequence, starts);
  auto distance = length.getDefiningOp<arith::SubIOp>();
  return distance && getTensorRead(distance.getLhs(), sequence, 1) == starts &&
         getTensorRead(distance.getRhs(), sequence, 0) == starts;
}

std::optional<unsigned> fa3::attention::getSequenceStarts(ScoredOpInterface op,
                                                          Sequence sequence) {
  Region *placeOrNull = op.findPlace(sequence),
         *lengthsOrNull = op.findLengths();
  if (!placeOrNull || !lengthsOrNull)
    return std::nullopt;
  Region &place = *placeOrNull, &lengths = *lengthsOrNull;
  // Nothing but the head is beside the row.
  ValueRange indices = place.front().getTerminator()->getOperands();
  if (indices.size() != 2 || indices[0] != place.getArgument(1))
    return std::nullopt;
  auto row = indices[1].getDefiningOp<arith::AddIOp>();
  if (!row)
    return std::nullopt;
  Value first = row.getLhs(), query = row.getRhs();
  if (first == place.getArgument(2))
    std::swap(first, query);
  Value starts = getTensorRead(first, place.getArgument(0), 0);
  if (query != place.getArgument(2) || !starts ||
      !isWithinNext(lengths.front().getTerminator()->getOperand(
                        static_cast<unsigned>(sequence)),
                    lengths.getArgument(0), starts))
    return std::nullopt;
  return llvm::find(op.getAux(), starts) - op.getAux().begin();
}

/// Whether a value of a region is computed from `argument`.
static bool dependsOn(Value value, Value argument) {
  if (value == argument)
    return true;
  Operation *op = value.getDefiningOp();
  return op && op->getParentRegion() == argument.getParentRegion() &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return dependsOn(operand, argument);
         });
}

bool fa3::attention::mayShareKeys(ScoredOpInterface op) {
  Region *place = op.findPlace(Sequence::key);
  if (!place)
    return false;
  Value sequence = place->getArgument(0), key = place->getArgument(2);
  ValueRange indices = place->front().getTerminator()->getOperands();
  Value row = indices.back();
  auto sum = row.getDefiningOp<arith::AddIOp>();
  bool isApart = row == key;
  if (sum)
    for (auto [x, y] :
         {std::pair(sum.getLhs(), sum.getRhs()), {sum.getRhs(), sum.getLhs()}})
      isApart |= x == key && !dependsOn(y, key);
  if (!isApart)
    return true;
  return !llvm::is_contained(indices.drop_back(2), sequence) &&
         !getSequenceStarts(op, Sequence::key);
}
