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

/// Whether kernels of biases take it: batch, head, query and key, each at most
/// once, query and key last and in this order.
static bool isBias(const AuxPlace &place) {
  for (auto [axis, index] : llvm::enumerate(place.indices)) {
    ArrayRef<AuxIndex> before = ArrayRef(place.indices).take_front(axis);
    bool isBehindRows = llvm::is_contained(before, AuxIndex::Query) ||
                        llvm::is_contained(before, AuxIndex::Key);
    if (index == AuxIndex::One && !isBehindRows)
      continue;
    if (index == AuxIndex::Computed || llvm::is_contained(before, index) ||
        llvm::is_contained(before, AuxIndex::Key) ||
        (isBehindRows && index != AuxIndex::Key))
      return false;
  }
  return true;
}

static AuxPlace readPlace(tensor::ExtractOp read) {
  AuxPlace place;
  for (unsigned axis = 0, rank = read.getIndices().size(); axis < rank; ++axis)
    place.indices.push_back(classify(read, axis).value_or(AuxIndex::Computed));
  if (!isBias(place)) {
    place.indices.assign(place.indices.size(), AuxIndex::Computed);
    place.computed = llvm::to_vector_of<Value>(read.getIndices());
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
  if (x && y && isa<SequencesOp>(y.getOwner()->getParentOp()))
    return isa<ScoredOpInterface>(x.getOwner()->getParentOp()) &&
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
  Region *region = op.findPlace(Sequence::query);
  return region ? region->front().getTerminator()->getOperands().back()
                : Value();
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
    FailureOr<AuxPlace> own = ofEpilogue ? readPlaceOfEpilogue(op, read)
                                         : FailureOr<AuxPlace>(readPlace(read));
    if (failed(own))
      return failure();
    if (first &&
        (own->indices != place.indices || own->computed != place.computed)) {
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

namespace {
/// What is known of an index of a pair: one for all pairs, the number of the
/// query or key with something that is, or one for each difference of them.
enum class Dependence { Uniform, Query, Key, Difference, Pair };
} // namespace

static Dependence combine(Operation *op, ArrayRef<Dependence> operands) {
  auto areAll = [&](Dependence what) {
    return llvm::all_of(operands, [&](Dependence own) {
      return own == Dependence::Uniform || own == what;
    });
  };
  if (areAll(Dependence::Uniform))
    return Dependence::Uniform;
  if (areAll(Dependence::Difference))
    return Dependence::Difference;
  // Conversions of numbers that have room, and sums with what is uniform.
  for (Dependence row : {Dependence::Query, Dependence::Key})
    if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp, arith::AddIOp,
            arith::SubIOp>(op) &&
        areAll(row) && operands.front() == row &&
        (operands.size() == 1 || operands.back() == Dependence::Uniform))
      return row;
  bool isDifference = isa<arith::SubIOp>(op) && operands[0] != operands[1] &&
                      !llvm::is_contained(operands, Dependence::Uniform) &&
                      !llvm::is_contained(operands, Dependence::Pair) &&
                      !llvm::is_contained(operands, Dependence::Difference);
  return isDifference ? Dependence::Difference : Dependence::Pair;
}

/// What values of `score_mod` depend on, as far as it may differ: query and key
/// along a diagonal, and the sequence. Of others that is one for all pairs.
static llvm::DenseMap<Value, Dependence>
getDependences(BackwardOp op, bool alongDiagonals, bool byBatch) {
  Block &block = op.getScoreMod().front();
  auto dependsIf = [](bool differs, Dependence what) {
    return differs ? what : Dependence::Uniform;
  };
  const Dependence arguments[] = {
      Dependence::Pair, dependsIf(byBatch, Dependence::Pair),
      Dependence::Uniform, dependsIf(alongDiagonals, Dependence::Query),
      dependsIf(alongDiagonals, Dependence::Key)};
  llvm::DenseMap<Value, Dependence> known;
  for (auto [argument, what] : llvm::zip(block.getArguments(), arguments))
    known[argument] = what;
  for (Operation &inner : block.without_terminator()) {
    // Captures are scalars.
    auto operands = llvm::map_to_vector(inner.getOperands(), [&](Value value) {
      return known.lookup_or(value, Dependence::Uniform);
    });
    Dependence what = combine(&inner, operands);
    for (Value result : inner.getResults())
      known[result] = what;
  }
  return known;
}

static bool isShared(Dependence what) {
  return what == Dependence::Uniform || what == Dependence::Difference;
}

SmallVector<Value> fa3::attention::getSharedValues(BackwardOp op,
                                                   bool alongDiagonals,
                                                   bool byBatch) {
  auto known = getDependences(op, alongDiagonals, byBatch);
  SmallVector<Value> shared;
  for (Operation &inner : op.getScoreMod().front().without_terminator())
    for (Value result : inner.getResults())
      if (isShared(known.at(result)))
        shared.push_back(result);
  return shared;
}

static bool areShared(BackwardOp op, ValueRange values, bool alongDiagonals,
                      bool byBatch) {
  auto known = getDependences(op, alongDiagonals, byBatch);
  return llvm::all_of(values, [&](Value value) {
    return isShared(known.lookup_or(value, Dependence::Uniform));
  });
}

bool fa3::attention::isAlongDiagonals(BackwardOp op, const AuxPlace &place) {
  return areShared(op, place.computed, /*alongDiagonals=*/true,
                   /*byBatch=*/false);
}

bool fa3::attention::isSharedByBatch(BackwardOp op, const AuxPlace &place) {
  return areShared(op, place.computed, /*alongDiagonals=*/false,
                   /*byBatch=*/true);
}
