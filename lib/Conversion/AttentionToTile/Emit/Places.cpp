//===- Places.cpp - rows that lie one behind the other --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A place region is code on the number of a row. Its last index has to grow by
// one from row to row, the others must stay, for as many rows as a tile has.
//===----------------------------------------------------------------------===//

#include "Places.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace fa3;
using attention::ScoredOpInterface;

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

FailureOr<int64_t> fa3::getConsecutiveRows(ScoredOpInterface op,
                                           attention::Sequence sequence) {
  Region *place = op.findPlace(sequence);
  return place ? PlaceAnalysis(*place, sequence).run() : FailureOr<int64_t>(0);
}
