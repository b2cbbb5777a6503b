//===- Ordered.cpp - additions in one order -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// CTAs run one after the other, so that everything a tile may wait for is over
// when it runs: what it would wait for longer never comes.
//===----------------------------------------------------------------------===//

#include "Ordered.h"
#include "../Core/Engine.h"
#include "fa3/Dialect/Tile/IR/OrderedOps.h"
#include <cstring>

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

LogicalResult fa3::interp::checkProgress(const Context &c, Operation *op,
                                         ProgressPlace locate, int64_t least) {
  int32_t there = tile::kEndOfOrdered;
  for (int64_t back = 0; there == tile::kEndOfOrdered; ++back) {
    FailureOr<uint8_t *> place = locate(back);
    if (failed(place))
      return failure();
    there = readProgress(*place);
  }
  if (there >= least)
    return success();
  return c.error(op) << "'" << op->getName()
                     << "' deadlocks: waits for a tile to come to " << least
                     << " that is at " << there
                     << ", of a CTA that has not started or has ended";
}

int32_t fa3::interp::readProgress(const uint8_t *place) {
  int32_t value;
  std::memcpy(&value, place, sizeof(value));
  return value;
}

LogicalResult fa3::interp::raiseProgress(const Context &c, Operation *op,
                                         uint8_t *place, int64_t position) {
  int32_t before = readProgress(place);
  if (position < before || position > tile::kEndOfOrdered)
    return c.error(op) << "'" << op->getName() << "' comes to " << position
                       << " after " << before;
  auto value = static_cast<int32_t>(position);
  std::memcpy(place, &value, sizeof(value));
  return success();
}

namespace {
/// Says that this tile is at `position`. `before` are the indices of the one in
/// front.
LogicalResult tellPosition(Context &c, const Instr &in, const Array &progress,
                           ArrayRef<int64_t> before, int64_t position) {
  SmallVector<int64_t> own(before);
  ++own[own.size() - 2];
  for (ArrayRef<int64_t> indices : {before, ArrayRef<int64_t>(own)})
    for (auto [dim, index] : llvm::enumerate(indices))
      if (index < 0 || index >= progress.getShape()[dim])
        return c.error(in) << "'" << in.op->getName() << "' accesses index "
                           << index << " of dimension " << dim << ", which has "
                           << progress.getShape()[dim];
  return raiseProgress(c, in.op, progress.at(own), position);
}

SmallVector<int64_t> getPlaceBefore(Context &c, ArrayRef<CellId> number) {
  SmallVector<int64_t> at = c.integers(number);
  at.push_back(c.group ? c.group->replica : 0);
  return at;
}

/// Operands: the array, the progress, the number, the position.
LogicalResult runOrdered(Context &c, const Instr &in) {
  int64_t position = c.integer(in.in.back());
  const Array &progress = c.array(in.in[1]);
  SmallVector<int64_t> at = getPlaceBefore(c, in.in.drop_front(2).drop_back());
  if (failed(tellPosition(c, in, progress, at, position)))
    return failure();
  auto locate = [&](int64_t back) -> FailureOr<uint8_t *> {
    SmallVector<int64_t> place = at;
    int64_t &number = place[place.size() - 2];
    number -= back;
    if (number < 0)
      return c.error(in) << "'" << in.op->getName()
                         << "' finds no tile that has not ended";
    return progress.at(place);
  };
  if (failed(checkProgress(c, in.op, locate, position + 1)))
    return failure();
  c.cells[in.out[0]].object = c.cells[in.in[0]].object;
  return success();
}

LogicalResult runEndOrdered(Context &c, const Instr &in) {
  return tellPosition(c, in, c.array(in.in[0]),
                      getPlaceBefore(c, in.in.drop_front()),
                      tile::kEndOfOrdered);
}
} // namespace

void fa3::interp::populateOrdered(Registry &r) {
  r.addPlain<tile::OrderedOp>(runOrdered);
  r.addPlain<tile::EndOrderedOp>(runEndOrdered);
}
