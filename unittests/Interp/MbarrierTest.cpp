//===- MbarrierTest.cpp - model of an mbarrier object ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Interp/Mbarrier.h"
#include "gtest/gtest.h"

using namespace fa3::interp;

TEST(Mbarrier, AFreshBarrierHasCompletedParityOne) {
  Mbarrier barrier(1);
  EXPECT_TRUE(barrier.hasCompleted(1));
  EXPECT_FALSE(barrier.hasCompleted(0));
}

TEST(Mbarrier, PhasesCompleteByArrivals) {
  Mbarrier barrier(2);
  EXPECT_TRUE(barrier.arrive());
  EXPECT_FALSE(barrier.hasCompleted(0));
  EXPECT_TRUE(barrier.arrive());
  EXPECT_TRUE(barrier.hasCompleted(0));
  EXPECT_FALSE(barrier.hasCompleted(1));
  EXPECT_EQ(barrier.getPhase(), 1);
  EXPECT_EQ(barrier.getPendingArrivals(), 2);
}

TEST(Mbarrier, BytesHoldThePhaseBack) {
  Mbarrier barrier(1);
  EXPECT_TRUE(barrier.expect(96));
  EXPECT_TRUE(barrier.arrive());
  EXPECT_FALSE(barrier.hasCompleted(0));
  EXPECT_TRUE(barrier.complete(32));
  EXPECT_FALSE(barrier.hasCompleted(0));
  EXPECT_TRUE(barrier.complete(64));
  EXPECT_TRUE(barrier.hasCompleted(0));
}

TEST(Mbarrier, BytesMayLandBeforeTheyAreExpected) {
  Mbarrier barrier(1);
  EXPECT_TRUE(barrier.complete(64));
  EXPECT_FALSE(barrier.hasCompleted(0));
  EXPECT_EQ(barrier.getPendingBytes(), -64);
  EXPECT_TRUE(barrier.expect(64));
  EXPECT_TRUE(barrier.arrive());
  EXPECT_TRUE(barrier.hasCompleted(0));
}

TEST(Mbarrier, SurplusIsNoticed) {
  Mbarrier barrier(1);
  EXPECT_TRUE(barrier.expect(64));
  EXPECT_TRUE(barrier.arrive());
  EXPECT_FALSE(barrier.arrive());
  EXPECT_FALSE(barrier.complete(65));
  EXPECT_TRUE(barrier.complete(64));
  EXPECT_FALSE(barrier.expect(Mbarrier::kMaxBytes + 1));
}
