//===- RowOrder.cpp - rows that bulk copies bring in an order -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Places in shared memory follow the box, innermost dimension first, so a box
// can walk a run of place bits that are consecutive row bits. The first runs
// become dimensions of the box, one copy is made for every value of the rest.
//===----------------------------------------------------------------------===//

#include "RowOrder.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <functional>
#include <numeric>

using namespace mlir;
using namespace fa3;

static int64_t product(ArrayRef<int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t(1),
                         std::multiplies<int64_t>());
}

int64_t RowOrder::getBlockRows() const { return product(split); }

int64_t RowOrder::getBoxRows() const { return product(box); }

SmallVector<int64_t, 2> RowOrder::getInner(int64_t row) const {
  SmallVector<int64_t, 2> coordinates(split.size());
  for (int64_t i = split.size() - 1; i >= 0; --i) {
    coordinates[i] = row % split[i];
    row /= split[i];
  }
  return coordinates;
}

namespace {
/// Place bits that are the row bits from `first` on.
struct Run {
  int64_t first, extent;
};
} // namespace

/// The runs from the lowest place bit on; above the permuted bits places are
/// rows.
static SmallVector<Run> getRuns(ArrayRef<int64_t> bits, int64_t rows) {
  SmallVector<Run> runs;
  int64_t next = -1;
  for (int64_t bit : bits) {
    if (bit == next)
      runs.back().extent *= 2;
    else
      runs.push_back({bit, 2});
    next = bit + 1;
  }
  int64_t count = static_cast<int64_t>(bits.size());
  int64_t rest = rows >> count;
  if (rest > 1 && next == count)
    runs.back().extent *= rest;
  else if (rest > 1)
    runs.push_back({count, rest});
  return runs;
}

std::optional<RowOrder> fa3::planRowOrder(ArrayRef<int64_t> bits, int64_t rows,
                                          int64_t dims) {
  constexpr int64_t kSwizzledRows = 8;
  // Each run begins a dimension, as does row bit 0 for what is fixed below.
  SmallVector<Run> walked;
  for (const Run &run : getRuns(bits, rows)) {
    int64_t first = walked.empty() ? run.first : walked.front().first;
    int64_t needed = static_cast<int64_t>(walked.size()) + 1 + (first != 0);
    if (needed > dims || (!walked.empty() && run.first < walked.back().first))
      break;
    walked.push_back(run);
  }
  if (walked.empty())
    return std::nullopt;
  if (walked.front().first != 0)
    walked.insert(walked.begin(), {0, 1});
  RowOrder order;
  for (size_t i = walked.size(); i-- > 0;) {
    order.box.push_back(walked[i].extent);
    if (i + 1 < walked.size())
      order.split.push_back(int64_t(1)
                            << (walked[i + 1].first - walked[i].first));
  }
  int64_t boxRows = order.getBoxRows();
  if (boxRows % kSwizzledRows)
    return std::nullopt;
  for (int64_t place = 0; place < rows; place += boxRows) {
    int64_t row = place >> bits.size() << bits.size();
    for (auto [i, bit] : llvm::enumerate(bits))
      row |= ((place >> i) & 1) << bit;
    order.firstRows.push_back(row);
  }
  return order;
}
