//===- AuxPlace.cpp - where score code reads an operand -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "fa3/Dialect/Attention/IR/AuxPlace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa3::attention;

/// What one index of a read is; none if it is nothing of that kind.
static std::optional<AuxIndex> classify(tensor::ExtractOp read, unsigned axis) {
  Value index = read.getIndices()[axis];
  auto argument = dyn_cast<BlockArgument>(index);
  if (argument && argument.getOwner() == read->getBlock()) {
    // The score, or the output, comes first.
    unsigned number = argument.getArgNumber();
    if (number == 0)
      return std::nullopt;
    auto which = static_cast<AuxIndex>(number - 1);
    bool isColumn =
        which == AuxIndex::Key && isOfEpilogue(read->getParentRegion());
    return isColumn ? AuxIndex::Column : which;
  }
  auto type = cast<RankedTensorType>(read.getTensor().getType());
  if (isConstantIntValue(index, 0) && type.getDimSize(axis) == 1)
    return AuxIndex::One;
  return std::nullopt;
}

static FailureOr<AuxPlace> readPlace(tensor::ExtractOp read) {
  AuxPlace place;
  for (unsigned axis = 0, rank = read.getIndices().size(); axis < rank;
       ++axis) {
    std::optional<AuxIndex> index = classify(read, axis);
    if (!index || (*index != AuxIndex::One && place.has(*index)))
      return read.emitOpError("reads an operand whose gradient is asked for: "
                              "expects each index to be batch, head, query or "
                              "key, once, or 0 along an extent of 1, not so "
                              "index ")
             << axis;
    if (place.has(AuxIndex::Key) ||
        (place.has(AuxIndex::Query) && *index != AuxIndex::Key))
      return read.emitOpError("reads an operand whose gradient is asked for: "
                              "expects query and key as its last indices, in "
                              "this order");
    place.indices.push_back(*index);
  }
  return place;
}

/// Whether two values of regions are the same number for the same batch, head
/// and query, which are the last arguments of `place_q` and come behind the
/// output in `epilogue`.
static bool isSame(Value ofEpilogue, Value ofPlace, unsigned depth = 8) {
  if (depth == 0)
    return false;
  auto x = dyn_cast<BlockArgument>(ofEpilogue),
       y = dyn_cast<BlockArgument>(ofPlace);
  if (x && y && isa<ScoredOpInterface>(y.getOwner()->getParentOp()))
    return x.getOwner()->getParentOp() == y.getOwner()->getParentOp() &&
           x.getArgNumber() == y.getArgNumber() + 1;
  Operation *first = ofEpilogue.getDefiningOp(),
            *second = ofPlace.getDefiningOp();
  if (ofEpilogue == ofPlace)
    return true;
  if (!first || !second || first->getName() != second->getName() ||
      first->getAttrDictionary() != second->getAttrDictionary() ||
      first->getNumOperands() != second->getNumOperands() ||
      first->getResultTypes() != second->getResultTypes())
    return false;
  auto areSame = [&](bool swapped) {
    for (unsigned i = 0, count = first->getNumOperands(); i < count; ++i)
      if (!isSame(first->getOperand(i),
                  second->getOperand(swapped ? count - 1 - i : i), depth - 1))
        return false;
    return true;
  };
  return areSame(false) ||
         (isa<arith::AddIOp, arith::MulIOp>(first) && areSame(true));
}

/// What `place_q` yields last, the row; null without it.
static Value getRowOfPlace(BackwardOp op) {
  Region &region = op.getPlaceQRegion();
  return region.empty() ? Value()
                        : region.front().getTerminator()->getOperands().back();
}

/// The place at which `epilogue` reads an operand: each element belongs to one
/// query of one head, and is where o has its row.
static FailureOr<AuxPlace> readPlaceOfEpilogue(BackwardOp op,
                                               tensor::ExtractOp read) {
  AuxPlace place;
  Value row = getRowOfPlace(op);
  bool hasBatch = op.getPlaceRank(Sequence::query) == 3;
  place.isOfEpilogue = true;
  for (unsigned axis = 0, rank = read.getIndices().size(); axis < rank;
       ++axis) {
    std::optional<AuxIndex> index = classify(read, axis);
    if (row)
      index = isSame(read.getIndices()[axis], row) ? AuxIndex::Query
              : index == AuxIndex::Query           ? std::nullopt
                                                   : index;
    if (!index || place.has(*index) || place.has(AuxIndex::Column) ||
        (*index == AuxIndex::Batch && !hasBatch))
      return read.emitOpError("reads an operand whose gradient is asked for: "
                              "expects batch, head and query, and behind them "
                              "perhaps the column, each once, not so index ")
             << axis;
    place.indices.push_back(*index);
  }
  for (AuxIndex index : {AuxIndex::Batch, AuxIndex::Head, AuxIndex::Query})
    if (!place.has(index) && (index != AuxIndex::Batch || hasBatch))
      return read.emitOpError("reads an operand whose gradient is asked for: "
                              "expects an element for every batch, head and "
                              "query, got less");
  return place;
}

FailureOr<AuxPlace> fa3::attention::getAuxPlace(BackwardOp op, int64_t number) {
  AuxPlace place;
  bool ofEpilogue = isReadByEpilogue(op, number);
  Region &region = ofEpilogue ? op.getEpilogue() : op.getScoreMod();
  // Places of mods are not yet known.
  if (region.empty() ||
      (ofEpilogue && op.hasPlace(Sequence::query) && op.getModsAttr()))
    return place;
  tensor::ExtractOp first;
  for (auto read : region.getOps<tensor::ExtractOp>()) {
    if (read.getTensor() != op.getAux()[number])
      continue;
    FailureOr<AuxPlace> own =
        ofEpilogue ? readPlaceOfEpilogue(op, read) : readPlace(read);
    if (failed(own))
      return failure();
    if (first && own->indices != place.indices) {
      InFlightDiagnostic diagnostic =
          read.emitOpError("reads an operand whose gradient is asked for at a "
                           "second place");
      diagnostic.attachNote(first.getLoc()) << "the first one is here";
      return diagnostic;
    }
    if (!first)
      first = read;
    place = *own;
  }
  if (ofEpilogue && !op.getScoreMod().empty())
    for (auto read : op.getScoreMod().getOps<tensor::ExtractOp>())
      if (read.getTensor() == op.getAux()[number]) {
        InFlightDiagnostic diagnostic = read.emitOpError(
            "reads an operand whose gradient is asked for, and "
            "so does 'epilogue'");
        diagnostic.attachNote(first.getLoc()) << "it reads it here";
        return diagnostic;
      }
  return place;
}
