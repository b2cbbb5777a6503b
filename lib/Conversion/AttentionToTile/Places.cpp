//===- Places.cpp - rows that lie one behind the other --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A place region is code on the number of a row. Its last index has to grow by
// one from row to row, the others must stay, for as many rows as a tile has.
//===----------------------------------------------------------------------===//

#include "Places.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace fa3;
using attention::ForwardOp;

namespace {
/// How a value of a place region moves with the row, within a block of rows.
struct Motion {
  enum Kind { Fixed, Step } kind = Fixed;
  /// Of a step: row + something fixed, which is a multiple of this number; 0
  /// for the row itself.
  int64_t multiple = 0;
};

class PlaceAnalysis {
public:
  PlaceAnalysis(Region &place, attention::Sequence sequence)
      : block(place.front()), sequence(sequence) {
    motions[block.getArgument(2)] = {Motion::Step, 0};
  }
  FailureOr<int64_t> run();

private:
  std::optional<Motion> visit(Operation &op);

  Block &block;
  attention::Sequence sequence;
  llvm::DenseMap<Value, Motion> motions; ///< of what is not fixed
  int64_t rows = 0;
};
} // namespace

std::optional<Motion> PlaceAnalysis::visit(Operation &op) {
  if (llvm::none_of(op.getOperands(),
                    [&](Value value) { return motions.contains(value); }))
    return Motion();
  if (op.getNumOperands() != 2)
    return std::nullopt;
  Value lhs = op.getOperand(0), rhs = op.getOperand(1);
  if (isa<arith::AddIOp>(op) && motions.contains(rhs))
    std::swap(lhs, rhs);
  if (motions.contains(rhs))
    return std::nullopt;
  Motion motion = motions.lookup(lhs);
  APInt number;
  bool isKnown = matchPattern(rhs, m_ConstantInt(&number));
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    int64_t shift = isKnown ? number.getSExtValue() : 1;
    return Motion{Motion::Step, std::gcd(motion.multiple, shift)};
  }
  bool divides = isa<arith::DivUIOp, arith::DivSIOp>(op);
  if (!(divides || isa<arith::RemUIOp, arith::RemSIOp>(op)) || !isKnown ||
      number.getSExtValue() <= 0)
    return std::nullopt;
  int64_t block = std::gcd(motion.multiple, number.getSExtValue());
  rows = std::gcd(rows, block);
  return divides ? Motion() : Motion{Motion::Step, block};
}

FailureOr<int64_t> PlaceAnalysis::run() {
  // Keys may be anywhere; each is then a copy of its own.
  auto refuse = [&](Operation &op) -> FailureOr<int64_t> {
    if (sequence == attention::Sequence::key)
      return 1;
    return op.emitOpError("gives rows of a tile places that are not one behind "
                          "the other: expects the row, or its quotient or "
                          "remainder by a constant, plus what is the same for "
                          "all rows");
  };
  for (Operation &op : block.without_terminator()) {
    std::optional<Motion> motion = visit(op);
    if (!motion)
      return refuse(op);
    if (motion->kind == Motion::Step)
      motions[op.getResult(0)] = *motion;
  }
  Operation *yield = block.getTerminator();
  for (Value index : yield->getOperands())
    if (motions.contains(index) != (index == yield->getOperands().back()))
      return refuse(*yield);
  return rows;
}

FailureOr<int64_t> fa3::getConsecutiveRows(ForwardOp op,
                                           attention::Sequence sequence) {
  Region &place = op.getPlaceRegion(sequence);
  return place.empty() ? FailureOr<int64_t>(0)
                       : PlaceAnalysis(place, sequence).run();
}

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

std::optional<unsigned> fa3::getSequenceStarts(ForwardOp op) {
  Region &place = op.getPlaceRegion(attention::Sequence::query);
  Region &lengths = op.getLengthsRegion();
  if (place.empty() || lengths.empty())
    return std::nullopt;
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
      !isWithinNext(lengths.front().getTerminator()->getOperand(0),
                    lengths.getArgument(0), starts))
    return std::nullopt;
  return llvm::find(op.getAux(), starts) - op.getAux().begin();
}
