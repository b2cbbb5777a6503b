//===- BackwardPlanTest.cpp - plans of gradients by facts -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tuning/BackwardPlan.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace fa3;

namespace {
BackwardFacts makeBackwardFacts(int64_t d) {
  BackwardFacts facts;
  facts.d = facts.dv = d;
  return facts;
}

/// The plan, or what it is refused with.
struct BackwardOutcome {
  mlir::FailureOr<BackwardPlan> plan = mlir::failure();
  std::string refusal;
};

BackwardOutcome plan(const BackwardFacts &facts,
                     const BackwardPlanOptions &options = {}) {
  BackwardOutcome outcome;
  int64_t refusals = 0;
  outcome.plan = planBackward(facts, options, [&](const llvm::Twine &sentence) {
    outcome.refusal = sentence.str();
    ++refusals;
  });
  EXPECT_EQ(refusals, failed(outcome.plan) ? 1 : 0);
  return outcome;
}

BackwardPlan planOf(const BackwardFacts &facts,
                    const BackwardPlanOptions &options = {}) {
  BackwardOutcome outcome = plan(facts, options);
  EXPECT_EQ(outcome.refusal, "");
  BackwardPlan none;
  none.parts.emplace_back();
  return succeeded(outcome.plan) ? *outcome.plan : none;
}

BackwardPlanOptions makeOptions(options::BackwardForm form) {
  BackwardPlanOptions options;
  options.form = form;
  return options;
}

const BackwardPlanOptions split = makeOptions(options::BackwardForm::Split),
                          fused = makeOptions(options::BackwardForm::Fused);

/// The names of the kernels in order.
std::string namesOf(const BackwardPlan &plan) {
  std::string names;
  for (const BackwardPart &part : plan.parts)
    names += (names.empty() ? "" : " ") + part.products.getName().str();
  return names;
}
} // namespace

TEST(BackwardPlan, ShortHeadsShareAKernel) {
  EXPECT_EQ(namesOf(planOf(makeBackwardFacts(64), split)), "dkdv dq");
  EXPECT_EQ(namesOf(planOf(makeBackwardFacts(128), split)), "dkdv dq");
  EXPECT_EQ(namesOf(planOf(makeBackwardFacts(256), split)), "dv dk dq");
}

TEST(BackwardPlan, TilesHaveTwoGroupsAndWholeSteps) {
  for (int64_t d = 8; d <= 256; d += 8) {
    for (const BackwardPart &part : planOf(makeBackwardFacts(d), split).parts) {
      EXPECT_EQ(part.tile.blockM, 128);
      EXPECT_GE(part.tile.blockN, 16);
      EXPECT_LE(part.tile.blockN, 96);
      EXPECT_EQ(part.tile.blockN % 16, 0);
    }
  }
}

TEST(BackwardPlan, WideHeadsHaveTilesOf64Rows) {
  struct Wide {
    int64_t d, dv;
    std::string columns;
  };
  const Wide all[] = {{512, 512, "64 32 32"},
                      {576, 512, "64 32 32"},
                      {320, 320, "64 64 64"},
                      {64, 512, "64 64 64"},
                      {264, 8, "64 64 64"}};
  for (const Wide &wide : all) {
    BackwardFacts facts;
    facts.d = wide.d;
    facts.dv = wide.dv;
    facts.aux = {{}};
    facts.aux.front().aux = BackwardProducts::OfPairs;
    BackwardPlan made = planOf(facts);
    EXPECT_EQ(namesOf(made), "dv dk dq");
    std::string columns;
    for (const BackwardPart &part : made.parts) {
      EXPECT_EQ(part.tile.blockM, 64);
      columns +=
          (columns.empty() ? "" : " ") + std::to_string(part.tile.blockN);
    }
    EXPECT_EQ(columns, wide.columns) << wide.d << " " << wide.dv;
    EXPECT_EQ(made.aux.front().tile.blockM, 64);
    facts.demand.keptTiles = 2;
    // Where q has few columns, dq's steps have room.
    if (wide.d > 64) {
      EXPECT_LT(planOf(facts).parts.back().tile.blockN, 64)
          << wide.d << " " << wide.dv;
    }
    EXPECT_EQ(plan(facts, fused).refusal.substr(0, 17), "has no fused form");
  }
}

TEST(BackwardPlan, DemandNarrowsSteps) {
  BackwardFacts plain = makeBackwardFacts(128), loads = plain, keeps = plain;
  loads.demand.loadedTiles = 1;
  keeps.demand.keptTiles = 1;
  BackwardPlanOptions pipelined = split;
  pipelined.pipelined = true;
  auto widthOfDq = [](const BackwardPlan &plan) {
    return plan.parts.back().tile.blockN;
  };
  int64_t width = widthOfDq(planOf(plain, split));
  EXPECT_LT(widthOfDq(planOf(loads, split)), width);
  EXPECT_LT(widthOfDq(planOf(keeps, split)), width);
  EXPECT_LE(widthOfDq(planOf(plain, pipelined)), width);
}

TEST(BackwardPlan, ListedBlocks) {
  for (int64_t d : {64, 128}) {
    BackwardFacts facts = makeBackwardFacts(d);
    facts.listed = {128, 128};
    EXPECT_EQ(namesOf(planOf(facts)), "grads") << d;
    facts.demand.isMasked = true;
    EXPECT_EQ(namesOf(planOf(facts)), "grads") << d;
    // A table that is read pair by pair, but once for a block.
    BackwardDemand ofBlocks = facts.demand;
    facts.demand.loadedTiles = 2;
    facts.demandOfBlocks = ofBlocks;
    EXPECT_EQ(namesOf(planOf(facts)), "grads") << d;
    facts.demandOfBlocks->readsElements = true;
    EXPECT_EQ(namesOf(planOf(facts)), "dkdv dq") << d;
    facts.demandOfBlocks = ofBlocks;
    facts.demand.hasScoreCode = true;
    EXPECT_EQ(namesOf(planOf(facts)), "dkdv dq") << d;
    EXPECT_EQ(namesOf(planOf(facts, fused)), "grads") << d;
    // Keys of a tile are those of a block.
    facts.demand.hasScoreCode = false;
    facts.listed = {64, 64};
    EXPECT_EQ(namesOf(planOf(facts)), "dkdv dq") << d;
  }
}

TEST(BackwardPlan, CodeNarrowsSteps) {
  BackwardFacts plain = makeBackwardFacts(96);
  auto narrows = [&](llvm::function_ref<void(BackwardDemand &)> edit,
                     int64_t part) {
    BackwardFacts facts = plain;
    edit(facts.demand);
    return planOf(facts, split).parts[part].tile.blockN <
           planOf(plain, split).parts[part].tile.blockN;
  };
  // Queries are columns of the first kernel, keys of the second.
  EXPECT_TRUE(narrows([](auto &demand) { demand.ofQueries.quotients = 1; }, 0));
  EXPECT_TRUE(narrows([](auto &demand) { demand.ofQueries.elements = 1; }, 0));
  EXPECT_TRUE(narrows([](auto &demand) { demand.ofPairs = 1; }, 0));
  EXPECT_FALSE(narrows([](auto &demand) { demand.ofKeys.others = 1; }, 0));
  EXPECT_FALSE(narrows([](auto &demand) { demand.ofKeys.quotients = 2; }, 1));
  EXPECT_TRUE(narrows([](auto &demand) { demand.ofKeys.quotients = 3; }, 1));
  // A coordinate as a number, or where an element is, is one of them.
  plain.demand.usesNumbers = true;
  EXPECT_FALSE(
      narrows([](auto &demand) { demand.ofQueries.quotients = 1; }, 0));
  EXPECT_TRUE(narrows([](auto &demand) { demand.ofQueries.quotients = 2; }, 0));
}

TEST(BackwardPlan, DerivativesBesideMasksNarrowSteps) {
  BackwardFacts facts = makeBackwardFacts(64);
  facts.demand.keptTiles = 1;
  auto width = [&] { return planOf(facts, split).parts[0].tile.blockN; };
  int64_t alone = width();
  facts.demand.sharedValues = 3;
  EXPECT_EQ(width(), alone);
  facts.demand.isMasked = true;
  EXPECT_LT(width(), alone);
  facts.demand.sharedValues = 1;
  EXPECT_EQ(width(), alone);
  facts.demand.ofKeys.conditions = 1;
  EXPECT_LT(width(), alone);
}

TEST(BackwardPlan, FusedHasNoRoomForCodeOfColumns) {
  for (int64_t d : {64, 128}) {
    BackwardFacts facts = makeBackwardFacts(d);
    facts.demand.isMasked = true;
    facts.demand.ofQueries.conditions = facts.demand.ofKeys.quotients = 1;
    EXPECT_TRUE(planOf(facts).isFused());
    for (int64_t KeptValues::*kept :
         {&KeptValues::quotients, &KeptValues::elements}) {
      BackwardFacts other = facts;
      other.demand.ofQueries.*kept = 1;
      EXPECT_FALSE(planOf(other).isFused());
      EXPECT_TRUE(planOf(other, fused).isFused());
    }
    facts.demand.masksAll = true;
    EXPECT_FALSE(planOf(facts).isFused());
  }
}

TEST(BackwardPlan, UnknownLengthsAreLong) {
  BackwardFacts facts = makeBackwardFacts(64);
  EXPECT_TRUE(planOf(facts).isFused());
  EXPECT_EQ(namesOf(planOf(facts)), "grads");
  facts.queries = facts.keys = 512;
  EXPECT_FALSE(planOf(facts).isFused());
  facts.keys = 1024;
  EXPECT_TRUE(planOf(facts).isFused());
  facts.demand.isMasked = true;
  EXPECT_FALSE(planOf(facts).isFused());
  facts.keys = 4096;
  EXPECT_TRUE(planOf(facts).isFused());
}

TEST(BackwardPlan, MaskedHeadsOf128AreFusedUnlessTheyAreShort) {
  BackwardFacts facts = makeBackwardFacts(128);
  EXPECT_TRUE(planOf(facts).isFused());
  facts.demand.isMasked = true;
  EXPECT_TRUE(planOf(facts).isFused());
  facts.hasPlaces = facts.hasLengths = true;
  EXPECT_FALSE(planOf(facts).isFused());
  facts.knowsHeads = true;
  EXPECT_TRUE(planOf(facts).isFused());
  facts.hasPlaces = facts.hasLengths = facts.knowsHeads = false;
  facts.queries = facts.keys = 2048;
  EXPECT_TRUE(planOf(facts).isFused());
  facts.queries = facts.keys = 1536;
  EXPECT_FALSE(planOf(facts).isFused());
  facts.demand.isMasked = false;
  EXPECT_TRUE(planOf(facts).isFused());
}

TEST(BackwardPlan, WhatSpeaksAgainstTheFusedForm) {
  BackwardFacts facts = makeBackwardFacts(64);
  BackwardPlanOptions options;
  options.blockN = 64;
  EXPECT_FALSE(planOf(facts, options).isFused());
  EXPECT_FALSE(planOf(makeBackwardFacts(256)).isFused());
  BackwardFacts window = facts;
  window.demand.isMasked = window.demand.usesNumbers = true;
  EXPECT_FALSE(planOf(window).isFused());
  EXPECT_TRUE(planOf(window, fused).isFused());
  BackwardFacts large = facts;
  large.demand.hasLargeScores = true;
  EXPECT_FALSE(planOf(large).isFused());
}

TEST(BackwardPlan, LengthsTakeRegistersUnlessTheFormIsAskedFor) {
  // Of some head dims the registers of sequences decide.
  int64_t decided = 0;
  for (int64_t d = 8; d <= 256; d += 8) {
    BackwardFacts facts = makeBackwardFacts(d);
    facts.hasLengths = true;
    BackwardOutcome asked = plan(facts, fused);
    bool isFused = planOf(facts).isFused();
    EXPECT_TRUE(!isFused || succeeded(asked.plan));
    decided += !isFused && succeeded(asked.plan);
    facts.knowsHeads = true;
    EXPECT_EQ(planOf(facts).isFused(), succeeded(asked.plan)) << d;
  }
  EXPECT_GT(decided, 0);
}

TEST(BackwardPlan, LargeScoresSumWeightsFirst) {
  BackwardFacts facts = makeBackwardFacts(64);
  facts.demand.hasLargeScores = true;
  BackwardPlan large = planOf(facts);
  EXPECT_EQ(namesOf(large), "dq dkdv");
  EXPECT_TRUE(large.hasLargeScores);
  EXPECT_TRUE(large.parts.front().products.sumsWeights);
  EXPECT_FALSE(large.parts.back().products.sumsWeights);
}

TEST(BackwardPlan, CountsWhereSumsAreBounded) {
  BackwardFacts facts = makeBackwardFacts(64);
  BackwardPlanOptions options = fused;
  auto productsOf = [&](const BackwardPlanOptions &options) {
    return planOf(facts, options).parts.front().products;
  };
  EXPECT_FALSE(productsOf(options).countsDq);
  options.deterministic = true;
  EXPECT_TRUE(productsOf(options).countsDq);
  options.form = options::BackwardForm::Auto;
  EXPECT_TRUE(productsOf(options).countsDq);
  facts.listed = {128, 128};
  EXPECT_FALSE(productsOf(options).addsDq);
  facts.listed.reset();
  // What score code makes of a gradient may be anything.
  facts.demand.hasScoreCode = true;
  EXPECT_FALSE(productsOf(options).addsDq);
  facts.demand.hasScoreCode = false;
  facts.hasPlaces = true;
  EXPECT_FALSE(productsOf(options).addsDq);
}

TEST(BackwardPlan, RefusesWithOneSentence) {
  BackwardFacts facts = makeBackwardFacts(64);
  BackwardPlanOptions options = fused;
  options.deterministic = true;
  constexpr char kAnyOrder[] =
      "in the fused form adds floats of dq in memory in any order where there "
      "is score code, dropout, 8-bit copies or sequences with places of their "
      "own, expects backward-form=split or auto with 'deterministic'";
  facts.hasPlaces = true;
  EXPECT_EQ(plan(facts, options).refusal, kAnyOrder);
  facts.hasPlaces = false;
  facts.demand.hasScoreCode = true;
  EXPECT_EQ(plan(facts, options).refusal, kAnyOrder);
  facts.demand.hasScoreCode = false;
  facts.listed = std::nullopt;
  options = fused;
  options.blockN = 96;
  EXPECT_EQ(plan(facts, options).refusal,
            "in the fused form expects block-n to be a multiple of 64, got 96");
  EXPECT_EQ(plan(makeBackwardFacts(256), fused).refusal,
            "has no fused form with head dims 256 and 256 and its mask or "
            "score code: sums, scores and what they need do not fit into "
            "registers, or dq cannot be divided");
  facts.demand.hasLargeScores = true;
  EXPECT_EQ(plan(facts, fused).refusal,
            "has no fused form with score code that may yield more than "
            "1.638400e+04: sums of weights come from another kernel");
}

TEST(BackwardPlan, OptionsGiveTilesOfAllKernels) {
  BackwardFacts facts = makeBackwardFacts(128);
  facts.aux.emplace_back();
  facts.aux.back().aux = BackwardProducts::OfRows;
  BackwardPlanOptions options = split;
  options.blockM = 64;
  options.blockN = 32;
  BackwardPlan small = planOf(facts, options);
  ASSERT_EQ(small.aux.size(), 1u);
  small.parts.append(small.aux);
  for (const BackwardPart &part : small.parts) {
    EXPECT_EQ(part.tile.blockM, 64);
    EXPECT_EQ(part.tile.blockN, 32);
  }
}

static std::string print(const BackwardPlan &plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  plan.print(os);
  return text;
}

TEST(BackwardPlan, PrintsEveryDecision) {
  BackwardFacts facts = makeBackwardFacts(64);
  facts.aux.resize(3);
  facts.aux[0].aux = BackwardProducts::OfPairs;
  facts.aux[1].aux = BackwardProducts::OfRows;
  facts.aux[1].ofKeys = true;
  facts.aux[2].aux = BackwardProducts::OfTable;
  BackwardPlanOptions options = split;
  options.blockN = 32;
  EXPECT_EQ(print(planOf(facts, options)),
            "  form: split, nothing is added in memory\n"
            "  tile of dkdv: 128 keys x 32 queries\n"
            "  tile of dq: 128 queries x 32 keys\n"
            "  tile of an auxiliary operand's gradient, pair by pair: 128 "
            "queries x 32 keys\n"
            "  tile of an auxiliary operand's gradient, row by row: 128 keys x "
            "32 queries\n"
            "  tile of an auxiliary operand's gradient, a table: 128 queries x "
            "32 keys\n");
  options = fused;
  options.blockN = 64;
  EXPECT_EQ(print(planOf(makeBackwardFacts(64), options)),
            "  form: fused, dq is added in memory\n"
            "  tile of grads: 128 keys x 64 queries\n");
  options.deterministic = true;
  EXPECT_EQ(print(planOf(makeBackwardFacts(64), options)),
            "  form: fused, dq is added in memory as integers\n"
            "  tile of grads: 128 keys x 64 queries\n");
  facts = makeBackwardFacts(64);
  facts.demand.hasLargeScores = true;
  options = {};
  options.blockN = 32;
  EXPECT_EQ(print(planOf(facts, options)),
            "  form: split, nothing is added in memory\n"
            "  tile of dq: 128 queries x 32 keys\n"
            "  tile of dkdv: 128 keys x 32 queries\n"
            "  scores may be large: dq comes first and sums weights\n");
}

TEST(BackwardPlan, CopiesOf8BitsAreSplitWithNarrowStepsOfKeys) {
  BackwardFacts facts = makeBackwardFacts(96);
  facts.hasCopies = true;
  EXPECT_EQ(print(planOf(facts)), "  form: split, nothing is added in memory\n"
                                  "  tile of dkdv: 128 keys x 64 queries\n"
                                  "  tile of dq: 128 queries x 96 keys\n");
  facts = makeBackwardFacts(64);
  facts.hasCopies = true;
  EXPECT_EQ(print(planOf(facts)), "  form: split, nothing is added in memory\n"
                                  "  tile of dkdv: 128 keys x 96 queries\n"
                                  "  tile of dq: 128 queries x 96 keys\n");
}

/// Below it the plan of known lengths is the split form, from there on that of
/// unknown ones.
TEST(BackwardPlan, PlansOfAnyLengthSayFromWhereOnTheyAreFaster) {
  for (int64_t d : {32, 64, 96, 128, 192, 256}) {
    for (bool isMasked : {false, true}) {
      BackwardFacts facts = makeBackwardFacts(d);
      facts.demand.isMasked = isMasked;
      BackwardPlan ofAny = planOf(facts);
      int64_t shortest = getShortestOfPlan(facts, {});
      EXPECT_EQ(shortest != 0, ofAny.isFused()) << d;
      for (int64_t less : {0, 1}) {
        facts.queries = facts.keys = std::max<int64_t>(shortest, 2) - less;
        EXPECT_EQ(planOf(facts).isFused(), ofAny.isFused() && !less)
            << d << " " << *facts.keys;
      }
    }
  }
}

/// tile-schedule has no order for their steps, however few columns dv has.
TEST(BackwardPlan, WiderHeadsHaveNoFusedForm) {
  BackwardFacts facts = makeBackwardFacts(256);
  for (int64_t dv : {8, 16, 32}) {
    facts.dv = dv;
    EXPECT_FALSE(planOf(facts).isFused()) << dv;
    EXPECT_EQ(plan(facts, fused).refusal.substr(0, 17), "has no fused form");
  }
}
