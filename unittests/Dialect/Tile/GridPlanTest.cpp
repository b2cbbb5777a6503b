//===- GridPlanTest.cpp - plans of grids, without IR ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Sequential/GridPlan.h"
#include "gtest/gtest.h"

using namespace fa3::tile;

namespace {
std::string print(const GridPlan &plan) {
  std::string text;
  llvm::raw_string_ostream(text) << plan;
  return text;
}

/// Of a kernel of 16 heads in which a group loads for others.
GridFacts makeFacts() {
  GridFacts facts;
  facts.dimensions = 3;
  facts.hasLoader = facts.fitsLoop = facts.fitsLoopWithEnds = true;
  facts.sharesLoads = true;
  return facts;
}

GridOptions makeOptions(GridMode mode = GridMode::Auto,
                        GridOrder order = GridOrder::Auto) {
  GridOptions options;
  options.mode = mode;
  options.order = order;
  options.l2Bytes = 1 << 25;
  return options;
}
} // namespace

TEST(GridPlanTest, EqualTilesGoByNumber) {
  EXPECT_EQ(print(chooseGrid(makeFacts(), makeOptions())), "static, rows");
}

TEST(GridPlanTest, TilesOfDifferentWorkAreClaimedLongestFirst) {
  GridFacts facts = makeFacts();
  facts.isUniform = false;
  EXPECT_EQ(print(chooseGrid(facts, makeOptions())),
            "dynamic, longest-first, sections");
  // Nobody claims for others.
  facts.hasLoader = false;
  EXPECT_EQ(print(chooseGrid(facts, makeOptions())),
            "one CTA per tile, longest-first, sections");
}

TEST(GridPlanTest, TheLongestTilesMayBeTheFirst) {
  GridFacts facts = makeFacts();
  facts.isUniform = false;
  facts.startsLong = true;
  EXPECT_EQ(print(chooseGrid(facts, makeOptions())),
            "dynamic, longest-first from the start, sections");
  // Order of rows has no end to start from.
  EXPECT_EQ(
      print(chooseGrid(facts, makeOptions(GridMode::Auto, GridOrder::Rows))),
      "dynamic, rows");
}

TEST(GridPlanTest, SectionsNeedACacheAndSharedLoadsAndTwoIndices) {
  GridFacts facts = makeFacts();
  facts.isUniform = false;
  GridOptions options = makeOptions();
  options.l2Bytes = 0;
  EXPECT_FALSE(chooseGrid(facts, options).hasSections);
  facts.dimensions = 1;
  EXPECT_FALSE(chooseGrid(facts, makeOptions()).hasSections);
  facts.dimensions = 3;
  facts.sharesLoads = false;
  EXPECT_FALSE(chooseGrid(facts, makeOptions()).hasSections);
}

TEST(GridPlanTest, WithoutRegistersThereIsNoLoop) {
  GridFacts facts = makeFacts();
  facts.fitsLoop = false;
  EXPECT_EQ(print(chooseGrid(facts, makeOptions())), "one CTA per tile, rows");
  // Who asks for a loop gets one.
  EXPECT_EQ(print(chooseGrid(facts, makeOptions(GridMode::Static))),
            "static, rows");
  EXPECT_EQ(print(chooseGrid(facts, makeOptions(GridMode::Dynamic))),
            "dynamic, rows");
}

TEST(GridPlanTest, WithoutRegistersNobodyClaims) {
  GridFacts facts = makeFacts();
  facts.isUniform = false;
  facts.fitsClaims = false;
  EXPECT_EQ(print(chooseGrid(facts, makeOptions())),
            "static, longest-first, sections");
  EXPECT_EQ(print(chooseGrid(facts, makeOptions(GridMode::Dynamic))),
            "dynamic, longest-first, sections");
  facts.fitsLoop = false;
  EXPECT_EQ(print(chooseGrid(facts, makeOptions())),
            "one CTA per tile, longest-first, sections");
}

TEST(GridPlanTest, LongLoopsNeedNone) {
  GridFacts facts = makeFacts();
  facts.hasLongLoops = true;
  EXPECT_EQ(print(chooseGrid(facts, makeOptions())), "one CTA per tile, rows");
}

TEST(GridPlanTest, AnIndexRunsInFrontOfRowsOnly) {
  GridFacts facts = makeFacts();
  facts.front = 2;
  EXPECT_EQ(print(chooseGrid(facts, makeOptions())),
            "static, rows, index 2 in front");
  EXPECT_FALSE(
      chooseGrid(facts, makeOptions(GridMode::Auto, GridOrder::LongestFirst))
          .front);
  GridOptions options = makeOptions();
  options.l2Bytes = 0;
  EXPECT_FALSE(chooseGrid(facts, options).front);
}

TEST(GridPlanTest, RowsAreCutWhereThatEndsEarlier) {
  GridFacts facts = makeFacts();
  // 8192 rows of 16 heads: 688 tiles of 192 rows on 132 SMs.
  facts.rows = RowFacts{8192, 192, 16, true};
  GridOptions options = makeOptions();
  EXPECT_FALSE(chooseGrid(facts, options).hasEnds());
  options.mayCutRows = true;
  GridPlan plan = chooseGrid(facts, options);
  ASSERT_TRUE(plan.partition);
  EXPECT_TRUE(plan.hasEnds());
  EXPECT_LT(plan.partition->shortHeight, 192);
  // The first index serves for something else: tiles are even, the last one
  // ends with the rows.
  facts.rows->mayDiffer = false;
  plan = chooseGrid(facts, options);
  EXPECT_FALSE(plan.partition);
  EXPECT_EQ(print(plan), "static, rows, the last tile ends early");
  // Registers of a loop are then those beside tiles that end early.
  facts.fitsLoopWithEnds = false;
  EXPECT_EQ(chooseGrid(facts, options).mode, GridMode::PerTile);
  // Tiles of different work stay even, too.
  facts.rows->mayDiffer = true;
  facts.isUniform = false;
  EXPECT_FALSE(chooseGrid(facts, options).partition);
  // Rows that fill their tiles have no end.
  facts.rows = RowFacts{1920, 192, 16, false};
  EXPECT_FALSE(chooseGrid(facts, options).hasEnds());
}
