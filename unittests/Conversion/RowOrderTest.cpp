//===- RowOrderTest.cpp - boxes against the order that they are for -------===//
// SPDX-License-Identifier: Apache-2.0
#include "RowOrder.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <numeric>

using namespace fa3;

namespace {
using Rows = std::vector<int64_t>;

/// The row that comes to each place: bit i of the place is bit bits[i] of it.
Rows getWanted(llvm::ArrayRef<int64_t> bits, int64_t rows) {
  Rows wanted;
  for (int64_t place = 0; place < rows; ++place) {
    int64_t row = place >> bits.size() << bits.size();
    for (auto [i, bit] : llvm::enumerate(bits))
      row |= ((place >> i) & 1) << bit;
    wanted.push_back(row);
  }
  return wanted;
}

/// The rows that the copies bring, in the order of their places: a box walks
/// blocks and the dimensions of the split, the innermost one fastest.
Rows getBrought(const RowOrder &order) {
  // Rows from one element of a dimension to the next.
  Rows strides = {order.getBlockRows()};
  int64_t stride = order.getBlockRows();
  for (int64_t extent : order.split)
    strides.push_back(stride /= extent);
  Rows brought;
  for (int64_t first : order.firstRows) {
    Rows at = {first / order.getBlockRows()};
    for (int64_t inner : order.getInner(first))
      at.push_back(inner);
    for (int64_t number = 0; number < order.getBoxRows(); ++number) {
      int64_t rest = number, row = 0;
      for (size_t dim = order.box.size(); dim-- > 0;) {
        row += (at[dim] + rest % order.box[dim]) * strides[dim];
        rest /= order.box[dim];
      }
      brought.push_back(row);
    }
  }
  return brought;
}

TEST(RowOrderTest, NeighborsNeedNoSplit) {
  std::optional<RowOrder> order = planRowOrder({0, 1, 2}, 96, 2);
  ASSERT_TRUE(order);
  EXPECT_TRUE(order->split.empty());
  EXPECT_EQ(order->getBlockRows(), 1);
  EXPECT_EQ(order->firstRows.size(), 1u);
}

TEST(RowOrderTest, TheOrderOfEightBitOperands) {
  // K's, see tile-relabel-contractions: pairs of rows from four neighbors.
  llvm::SmallVector<int64_t> bits = {0, 2, 3, 1};
  std::optional<RowOrder> order = planRowOrder(bits, 96, 2);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->getBlockRows(), 4);
  EXPECT_EQ(order->getBoxRows(), 8);
  EXPECT_EQ(getBrought(*order), getWanted(bits, 96));
}

TEST(RowOrderTest, AllPermutations) {
  unsigned planned = 0;
  for (int64_t count : {3, 4, 5})
    for (int64_t dims : {1, 2, 3, 4})
      for (int64_t rows : {32, 64, 96}) {
        llvm::SmallVector<int64_t> bits(count);
        std::iota(bits.begin(), bits.end(), 0);
        do {
          std::optional<RowOrder> order = planRowOrder(bits, rows, dims);
          if (!order)
            continue;
          ++planned;
          ASSERT_LE(order->box.size(), static_cast<size_t>(dims));
          ASSERT_EQ(order->box.size(), order->split.size() + 1);
          ASSERT_EQ(order->getBoxRows() % 8, 0);
          ASSERT_EQ(getBrought(*order), getWanted(bits, rows))
              << ::testing::PrintToString(Rows(bits.begin(), bits.end()))
              << ", " << rows << " rows, " << dims << " dimensions";
        } while (std::next_permutation(bits.begin(), bits.end()));
      }
  EXPECT_GT(planned, 100u);
}
} // namespace
