//===- FifoTest.cpp - state of a ring -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Interp/Fifo.h"
#include "gtest/gtest.h"

using namespace fa3::interp;
using Numbers = llvm::SmallVector<unsigned>;

TEST(Fifo, WriterIsAheadByTheDepth) {
  Fifo fifo(/*depth=*/2, /*parts=*/1, /*readers=*/1, /*initial=*/0);
  for (int64_t position : {0, 1}) {
    EXPECT_TRUE(fifo.canWrite(position));
    EXPECT_FALSE(fifo.canRead(position));
    EXPECT_TRUE(fifo.open(position));
    EXPECT_TRUE(fifo.publish(position, 0));
    EXPECT_TRUE(fifo.canRead(position));
  }
  EXPECT_FALSE(fifo.canWrite(2));
  EXPECT_EQ(fifo.getReadersHolding(0), Numbers({0}));
  EXPECT_TRUE(fifo.release(0, 0));
  EXPECT_TRUE(fifo.canWrite(2));
  EXPECT_TRUE(fifo.open(2));
  // The reader's next entry is still there; the one after is not published.
  EXPECT_TRUE(fifo.canRead(1));
  EXPECT_FALSE(fifo.canRead(2));
  EXPECT_FALSE(fifo.canWrite(3));
}

TEST(Fifo, EveryReaderSeesAndReleasesEveryEntry) {
  Fifo fifo(1, 1, 3, 0);
  fifo.open(0);
  fifo.publish(0, 0);
  EXPECT_TRUE(fifo.release(0, 2));
  EXPECT_TRUE(fifo.release(0, 0));
  EXPECT_FALSE(fifo.canWrite(1));
  EXPECT_EQ(fifo.getReadersHolding(0), Numbers({1}));
  EXPECT_EQ(fifo.getNumUnread(), 1);
  EXPECT_TRUE(fifo.release(0, 1));
  EXPECT_TRUE(fifo.canWrite(1));
  EXPECT_EQ(fifo.getNumUnread(), 0);
}

TEST(Fifo, AnEntryIsReadableWhenAllPartsAre) {
  Fifo fifo(1, 2, 1, 0);
  EXPECT_TRUE(fifo.open(0));
  EXPECT_TRUE(fifo.publish(0, 1));
  // The second writer opens the same entry.
  EXPECT_TRUE(fifo.canWrite(0));
  EXPECT_FALSE(fifo.open(0));
  EXPECT_FALSE(fifo.canRead(0));
  EXPECT_EQ(fifo.getPartsMissing(0), Numbers({0}));
  EXPECT_TRUE(fifo.publish(0, 0));
  EXPECT_TRUE(fifo.canRead(0));
}

TEST(Fifo, InitialEntriesAreReadable) {
  Fifo fifo(2, 1, 1, 1);
  EXPECT_EQ(fifo.getFirstWritten(), 1);
  EXPECT_TRUE(fifo.canRead(0));
  EXPECT_FALSE(fifo.canRead(1));
  EXPECT_TRUE(fifo.canWrite(1));
  EXPECT_FALSE(fifo.canWrite(2));
  EXPECT_TRUE(fifo.release(0, 0));
  EXPECT_TRUE(fifo.canWrite(2));
}

TEST(Fifo, RepeatedHandOversAreNoticed) {
  Fifo fifo(1, 1, 1, 0);
  fifo.open(0);
  EXPECT_TRUE(fifo.publish(0, 0));
  EXPECT_FALSE(fifo.publish(0, 0));
  EXPECT_TRUE(fifo.release(0, 0));
  EXPECT_FALSE(fifo.release(0, 0));
  EXPECT_FALSE(fifo.publish(1, 0));
}
