//===- SharedMemoryTest.cpp - swizzles and states -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Hopper/SharedMemory.h"
#include "gtest/gtest.h"
#include <set>

using namespace fa3::interp;

TEST(SharedMemory, SwizzlesPermuteChunksOfARow) {
  for (int64_t width : {32, 64, 128}) {
    // The pattern repeats after 8 rows; within a row chunks stay in the row.
    for (int64_t row = 0; row < 16; ++row) {
      std::set<int64_t> seen;
      for (int64_t chunk = 0; chunk < width; chunk += 16) {
        int64_t linear = row * width + chunk;
        int64_t address = SharedMemory::swizzle(linear, width);
        EXPECT_EQ(address / width, row);
        EXPECT_EQ(address % 16, 0);
        seen.insert(address);
        EXPECT_EQ(SharedMemory::swizzle(linear + 8 * width, width),
                  address + 8 * width);
        // Its own inverse.
        EXPECT_EQ(SharedMemory::swizzle(address, width), linear);
      }
      EXPECT_EQ(static_cast<int64_t>(seen.size()), width / 16);
    }
  }
}

TEST(SharedMemory, Swizzle128XorsTheRow) {
  // Row 3, chunk 5: chunk 5 ^ 3.
  EXPECT_EQ(SharedMemory::swizzle(3 * 128 + 5 * 16, 128), 3 * 128 + 6 * 16);
  // 64 bytes: pairs of rows share a pattern; 32 bytes: groups of four.
  EXPECT_EQ(SharedMemory::swizzle(2 * 64 + 16, 64), 2 * 64);
  EXPECT_EQ(SharedMemory::swizzle(3 * 64 + 32, 64), 3 * 64 + 48);
  EXPECT_EQ(SharedMemory::swizzle(3 * 32, 32), 3 * 32);
  EXPECT_EQ(SharedMemory::swizzle(4 * 32, 32), 4 * 32 + 16);
}

TEST(SharedMemory, StatesChangeByRange) {
  SharedMemory memory(64);
  EXPECT_EQ(memory.stateOf(0), SharedMemory::Empty);
  memory.mark({16, 32}, SharedMemory::Landing);
  memory.mark({32, 48}, SharedMemory::Unfenced);
  EXPECT_TRUE(memory.contains({0, 17}, SharedMemory::Landing));
  EXPECT_FALSE(memory.contains({0, 16}, SharedMemory::Landing));
  memory.change({0, 64}, SharedMemory::Unfenced, SharedMemory::Ready);
  EXPECT_EQ(memory.stateOf(40), SharedMemory::Ready);
  EXPECT_EQ(memory.stateOf(20), SharedMemory::Landing);
  EXPECT_EQ(memory.stateOf(50), SharedMemory::Empty);
}
