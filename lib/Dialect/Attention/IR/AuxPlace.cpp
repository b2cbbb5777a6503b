//===- AuxPlace.cpp - where score code reads an operand -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "fa3/Dialect/Attention/IR/AuxPlace.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa3::attention;

/// What one index of a read is; none if it is nothing of that kind.
static std::optional<AuxIndex> classify(tensor::ExtractOp read, unsigned axis) {
  Value index = read.getIndices()[axis];
  auto argument = dyn_cast<BlockArgument>(index);
  if (argument && argument.getOwner() == read->getBlock()) {
    // The score comes first.
    unsigned number = argument.getArgNumber();
    return number == 0 ? std::optional<AuxIndex>()
                       : static_cast<AuxIndex>(number - 1);
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

FailureOr<AuxPlace> fa3::attention::getAuxPlace(BackwardOp op, int64_t number) {
  AuxPlace place;
  if (op.getScoreMod().empty())
    return place;
  tensor::ExtractOp first;
  for (auto read : op.getScoreMod().getOps<tensor::ExtractOp>()) {
    if (read.getTensor() != op.getAux()[number])
      continue;
    FailureOr<AuxPlace> own = readPlace(read);
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
  return place;
}
