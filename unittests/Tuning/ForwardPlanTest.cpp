//===- ForwardPlanTest.cpp - plans by facts -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tuning/ForwardPlan.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace fa3;

namespace {
ForwardFacts makeFacts(int64_t d) {
  ForwardFacts facts;
  facts.d = facts.dv = d;
  return facts;
}

/// The plan, or what it is refused with.
struct Outcome {
  mlir::FailureOr<ForwardPlan> plan = mlir::failure();
  std::string refusal;
  int64_t refusals = 0;
};

Outcome plan(const ForwardFacts &facts,
             const ForwardPlanOptions &options = {}) {
  Outcome outcome;
  outcome.plan = planForward(facts, options, [&](const llvm::Twine &sentence) {
    outcome.refusal = sentence.str();
    ++outcome.refusals;
  });
  EXPECT_EQ(failed(outcome.plan), outcome.refusals == 1);
  EXPECT_LE(outcome.refusals, 1);
  return outcome;
}

ForwardPlan planOf(const ForwardFacts &facts,
                   const ForwardPlanOptions &options = {}) {
  Outcome outcome = plan(facts, options);
  EXPECT_EQ(outcome.refusal, "");
  return succeeded(outcome.plan) ? *outcome.plan : ForwardPlan();
}

void expectTile(const ForwardPlan &plan, int64_t rows, int64_t keys) {
  EXPECT_EQ(plan.tile.blockM, rows);
  EXPECT_EQ(plan.tile.blockN, keys);
}
} // namespace

TEST(ForwardPlan, TileIsThatOfTheChoice) {
  for (int64_t d : {64, 96, 128, 192, 256}) {
    TileChoice choice = chooseTile(d, d, RegionDemand(), std::nullopt);
    expectTile(planOf(makeFacts(d)), choice.blockM, choice.blockN);
  }
}

TEST(ForwardPlan, RoomOfABlock) {
  auto expectRoom = [](const ForwardFacts &facts, int64_t rows, int64_t step,
                       int64_t inMemory, int64_t useful) {
    ForwardPlanOptions options;
    options.blockM = rows;
    options.blockN = step;
    KeyRoom room = planOf(facts, options).room;
    EXPECT_EQ(room.step, step);
    EXPECT_EQ(room.inMemory, inMemory);
    EXPECT_EQ(room.useful, useful);
  };
  // 225 KiB without Q and two blocks of columns of the output; two stages of K
  // and V.
  ForwardFacts facts = makeFacts(256);
  expectRoom(facts, 128, 16, (230400 - 128 * (256 + 128) * 2) / 2048, 128);
  facts.demand.bulkTiles = 1;
  facts.demand.bulkBytes = 2;
  expectRoom(facts, 128, 16, (230400 - 128 * (256 + 128) * 2) / (2048 + 256),
             128);
  expectRoom(makeFacts(64), 192, 16, (230400 - 192 * 128 * 2) / 512, 112);
  expectRoom(makeFacts(64), 64, 16, (230400 - 64 * 128 * 2) / 512, 192);
  // Wide heads have one stage, and weights in memory.
  expectRoom(makeFacts(512), 64, 16,
             (230400 - 2048 - 64 * 512 * 2) / (2048 + 128), 64);
  // 8 bits: values twice, unless they are given transposed.
  facts = makeFacts(128);
  facts.is8Bit = true;
  expectRoom(facts, 192, 32, (230400 - 192 * 128) / (2 * 384), 128);
  facts.transposedV = true;
  expectRoom(facts, 192, 32, (230400 - 192 * 128) / (2 * 256), 128);
}

TEST(ForwardPlan, OptionsGiveTheTile) {
  ForwardPlanOptions options;
  options.blockM = 64;
  options.blockN = 32;
  expectTile(planOf(makeFacts(128), options), 64, 32);
}

TEST(ForwardPlan, FewRowsHaveOneGroup) {
  ForwardFacts facts = makeFacts(128);
  facts.rows = 1;
  facts.knowsQueries = true;
  EXPECT_EQ(planOf(facts).tile.blockM, kReplicaRows);
}

TEST(ForwardPlan, NoKeysNeedOneGroup) {
  ForwardFacts facts = makeFacts(128);
  facts.keys = 0;
  EXPECT_EQ(planOf(facts).tile.blockM, kReplicaRows);
  EXPECT_EQ(planOf(facts).accumulation.lastKeys, 0);
}

TEST(ForwardPlan, NumbersOfKeysAreNamed) {
  ForwardFacts facts = makeFacts(128);
  EXPECT_FALSE(planOf(facts).tileWithoutNumbers);
  facts.demand.keyNumbers = 4;
  ForwardPlan tight = planOf(facts);
  ASSERT_TRUE(tight.tileWithoutNumbers);
  EXPECT_GT(tight.tileWithoutNumbers->blockN, tight.tile.blockN);
  ForwardPlanOptions options;
  options.blockN = 32;
  EXPECT_FALSE(planOf(facts, options).tileWithoutNumbers);
}

TEST(ForwardPlan, LastBlockIsNarrow) {
  ForwardFacts facts = makeFacts(128);
  int64_t width = planOf(facts).tile.blockN;
  facts.keys = 4 * width + 16;
  EXPECT_EQ(planOf(facts).accumulation.lastKeys, 16);
  facts.keys = 4 * width + 3;
  EXPECT_EQ(planOf(facts).accumulation.lastKeys, 16);
  facts.keys = 4 * width;
  EXPECT_EQ(planOf(facts).accumulation.lastKeys, 0);
  // Too few blocks, and too little spared.
  facts.keys = 2 * width + 16;
  EXPECT_EQ(planOf(facts).accumulation.lastKeys, 0);
  facts.keys = 5 * width - 16;
  EXPECT_EQ(planOf(facts).accumulation.lastKeys, 0);
  facts.keys = 4 * width + 16;
  facts.hasMask = true;
  EXPECT_EQ(planOf(facts).accumulation.lastKeys, 0);
}

TEST(ForwardPlan, LastBlockThatIsAskedFor) {
  ForwardPlanOptions options;
  options.lastBlock = options::LastBlock::Narrow;
  ForwardFacts facts = makeFacts(128);
  facts.keys = planOf(makeFacts(128)).tile.blockN + 16;
  facts.hasMask = true;
  EXPECT_EQ(planOf(facts, options).accumulation.lastKeys, 16);
  EXPECT_FALSE(planOf(facts, options).accumulation.asksLast);
  facts.hasLengths = true;
  EXPECT_EQ(plan(facts, options).refusal,
            "has sequences with lengths of their own, expects no "
            "last-block=narrow");
  facts.listed = {128, 128};
  EXPECT_EQ(plan(facts, options).refusal,
            "has lists of blocks of keys, expects no last-block=narrow");
  facts = makeFacts(512);
  facts.keys = 1040;
  EXPECT_EQ(planOf(facts).accumulation.lastKeys, 0);
  EXPECT_EQ(plan(facts, options).refusal,
            "has values of 512 columns, expects at most 256 with "
            "last-block=narrow");
}

TEST(ForwardPlan, LastBlockOfAnUnknownNumberOfKeys) {
  ForwardFacts facts = makeFacts(128);
  EXPECT_EQ(planOf(facts).accumulation.lastKeys, 0);
  auto expectLast = [&](int64_t blockN, int64_t asked, int64_t last) {
    ForwardPlanOptions options;
    options.lastBlock = options::LastBlock::Narrow;
    options.blockN = blockN;
    options.lastKeys = asked;
    AccumulationPolicy policy = planOf(facts, options).accumulation;
    EXPECT_EQ(policy.lastKeys, last);
    EXPECT_EQ(policy.asksLast, last != 0);
  };
  // Half of a block in whole steps, or what is asked for if blocks are wider.
  expectLast(96, 0, 48);
  expectLast(112, 0, 48);
  expectLast(16, 0, 0);
  expectLast(96, 80, 80);
  expectLast(96, 96, 0);
  facts.is8Bit = true;
  expectLast(96, 0, 32);
  expectLast(96, 64, 64);
  ForwardPlanOptions options;
  options.lastKeys = 48;
  EXPECT_EQ(plan(facts, options).refusal,
            "expects last-keys to be a multiple of 32, got 48");
}

TEST(ForwardPlan, BlocksAreMadeOfTiles) {
  ForwardFacts facts = makeFacts(128);
  facts.listed = {128, 128};
  ForwardPlan whole = planOf(facts);
  EXPECT_EQ(128 % whole.tile.blockM, 0);
  EXPECT_EQ(128 % whole.tile.blockN, 0);
  ForwardPlanOptions options;
  options.blockM = 192;
  EXPECT_EQ(plan(facts, options).refusal,
            "lists blocks of 128 queries, expects block-m to divide that, got "
            "192");
  facts.rowsPerQuery = 4;
  EXPECT_EQ(plan(facts, options).refusal,
            "lists blocks of 512 rows, expects block-m to divide that, got "
            "192");
  options.blockM = 0;
  options.blockN = 48;
  EXPECT_EQ(plan(facts, options).refusal,
            "lists blocks of 128 keys, expects block-n to divide that, got 48");
  facts.listed = {128, 24};
  EXPECT_EQ(plan(facts).refusal,
            "lists blocks of 24 keys, expects a multiple of 16");
}

TEST(ForwardPlan, PiecesArePages) {
  ForwardFacts facts = makeFacts(128);
  EXPECT_EQ(planOf(facts).pieceRows, 0);
  for (int64_t page : {1, 16, 64, 256}) {
    facts.consecutiveKeys = page;
    ForwardPlan paged = planOf(facts);
    int64_t block = paged.tile.blockN;
    EXPECT_TRUE(block % page == 0 || page % block == 0) << page;
    EXPECT_EQ(paged.pieceRows, page < block ? page : 0) << page;
  }
  facts.consecutiveQueries = 16;
  EXPECT_EQ(plan(facts).refusal,
            "has queries of which only 16 lie one behind the other, expects "
            "all");
}

TEST(ForwardPlan, RowsEndWhereNothingElseEndsThem) {
  ForwardFacts facts = makeFacts(128);
  EXPECT_TRUE(planOf(facts).accumulation.endRows);
  facts.packsGroups = true;
  EXPECT_FALSE(planOf(facts).accumulation.endRows);
  facts.packsGroups = false;
  facts.hasLengths = true;
  EXPECT_FALSE(planOf(facts).accumulation.endRows);
}

TEST(ForwardPlan, SumsOf16Bits) {
  ForwardFacts facts = makeFacts(128);
  AccumulationPolicy policy = planOf(facts).accumulation;
  EXPECT_TRUE(policy.lazy);
  EXPECT_FALSE(policy.sharesReference);
  EXPECT_EQ(policy.threshold, 8);
  EXPECT_FALSE(policy.twoLevel);
  facts.keys = 1 << 20;
  EXPECT_FALSE(planOf(facts).accumulation.twoLevel);
}

TEST(ForwardPlan, SumsOf8Bits) {
  ForwardFacts facts = makeFacts(128);
  facts.is8Bit = true;
  facts.largestWeight = 8;
  facts.weightType = "f8E4M3FN";
  EXPECT_EQ(planOf(facts).accumulation.threshold, 4);
  facts.keys = 32767;
  EXPECT_FALSE(planOf(facts).accumulation.twoLevel);
  facts.keys = 32768;
  EXPECT_TRUE(planOf(facts).accumulation.twoLevel);
  EXPECT_EQ(planOf(facts).accumulation.stepsBetween, 1);
  facts.band = 1024;
  EXPECT_FALSE(planOf(facts).accumulation.twoLevel);

  ForwardPlanOptions options;
  options.rescaleThreshold = 9;
  EXPECT_EQ(plan(facts, options).refusal,
            "has weights of 'f8E4M3FN': expects a rescale-threshold of at most "
            "8.000000e+00, got 9.000000e+00");
  options = {};
  options.blockN = 48;
  EXPECT_EQ(plan(facts, options).refusal,
            "has 8-bit operands: expects block-n to be a multiple of 32, got "
            "48");
}

TEST(ForwardPlan, NarrowHeadsAddAfterEightSteps) {
  ForwardFacts facts = makeFacts(64);
  facts.is8Bit = true;
  EXPECT_EQ(planOf(facts).accumulation.stepsBetween, 8);
  facts.hasMask = true;
  EXPECT_EQ(planOf(facts).accumulation.stepsBetween, 1);
  ForwardPlanOptions options;
  options.twoLevelSteps = 3;
  EXPECT_EQ(planOf(facts, options).accumulation.stepsBetween, 3);
}

TEST(ForwardPlan, Print) {
  ForwardFacts facts = makeFacts(128);
  facts.consecutiveKeys = 16;
  ForwardPlanOptions options;
  options.blockM = 128;
  options.blockN = 80;
  std::string text;
  llvm::raw_string_ostream os(text);
  planOf(facts, options).print(os);
  EXPECT_EQ(text,
            "  tile: 128 rows x 80 keys\n"
            "  a block has steps of 16 keys, memory for 161, and gains by "
            "128 at most\n"
            "  keys are loaded in pieces of: 16\n"
            "  rescaling: where a maximum has grown by 2^8\n"
            "  rows end at the next tile's first: yes\n");
}
