//===- CostModelTest.cpp - predictions and points -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tuning/CostModel.h"
#include "fa3/Tuning/Table.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"

using namespace fa3::tuning;

namespace {
Problem makeProblem(int64_t d, Mask mask, int64_t length) {
  Problem problem;
  problem.d = problem.dv = d;
  problem.mask = mask;
  problem.queries = problem.keys = length;
  problem.heads = 16384 / length * (2048 / d);
  return problem;
}

Problem makeFloat8Problem(int64_t d, Mask mask, int64_t length) {
  Problem problem = makeProblem(d, mask, length);
  problem.bits = 8;
  return problem;
}

struct Measurement {
  int64_t d;
  Mask mask;
  int64_t length;
  double tflops;
};

/// Predicted and measured cycles differ by at most 8 %.
void expectNear(const Problem &problem, double tflops, double mhz) {
  double flops = 4.0 * 16384 * problem.keys * 2048 *
                 (problem.mask == Mask::Causal ? 0.5 : 1);
  double measured = flops / (tflops * 1e12) * mhz * 1e6;
  double predicted = predict(problem, getDefaultTile(problem)).cycles;
  EXPECT_NEAR(predicted / measured, 1, 0.08)
      << problem.d << ' ' << getName(problem.mask, problem.score) << ' '
      << problem.keys;
}

Point makeTile(int64_t blockM, int64_t blockN) {
  Point point;
  point.blockM = blockM;
  point.blockN = blockN;
  return point;
}
} // namespace

TEST(CostModelTest, namesOfMasksAndScoreCode) {
  EXPECT_EQ(getName(Mask::Causal), "causal");
  EXPECT_EQ(getName(Mask::Window, Score::Bias), "window-bias");
  EXPECT_EQ(parseMask("full-softcap"), std::pair(Mask::Full, Score::Softcap));
  EXPECT_EQ(parseMask("causal"), std::pair(Mask::Causal, Score::Plain));
  EXPECT_FALSE(parseMask("causal-"));
  EXPECT_FALSE(parseMask("alibi"));
}

TEST(CostModelTest, steps) {
  // 256 heads of 2 tiles, 4 steps each.
  Prediction full =
      predict(makeProblem(128, Mask::Full, 1024), makeTile(512, 256));
  EXPECT_EQ(full.tiles, 512);
  EXPECT_EQ(full.steps, 512 * 4);
  // Causal, the first tile sees half of the keys.
  Prediction causal =
      predict(makeProblem(128, Mask::Causal, 1024), makeTile(512, 256));
  EXPECT_EQ(causal.steps, 256 * (2 + 4));
  // The last 128 keys: a tile of 512 rows sees those of up to three blocks.
  Problem window = makeProblem(128, Mask::Window, 1024);
  window.window = 128;
  EXPECT_EQ(predict(window, makeTile(512, 256)).steps, 256 * (2 + 3));
}

TEST(CostModelTest, unitsOfAStep) {
  Prediction p = predict(makeProblem(128, Mask::Full, 4096), makeTile(192, 80));
  EXPECT_EQ(p.tensor, 1920);
  EXPECT_EQ(p.exponentials, 960);
  EXPECT_EQ(p.issue, 972);
  EXPECT_GT(p.step, p.tensor + p.exposed);
  EXPECT_LT(p.step, p.tensor + p.exponentials + p.issue + p.exposed);
}

TEST(CostModelTest, unitsOfAStepOf8Bits) {
  Prediction p =
      predict(makeFloat8Problem(256, Mask::Full, 4096), makeTile(128, 96));
  EXPECT_EQ(p.tensor, 1536);
  EXPECT_EQ(p.exponentials, 768);
  // 1024 for products, 384 for copies, 384 to transpose V.
  EXPECT_EQ(p.shared, 1792);
  EXPECT_GT(p.step, p.shared + p.exposed);
  // Given transposed: 1024 and 384, and twelve copies of eight rows of K.
  Problem problem = makeFloat8Problem(256, Mask::Full, 4096);
  problem.transposedV = true;
  EXPECT_EQ(predict(problem, makeTile(128, 96)).shared, 1408 + 12 * 35);
}

TEST(CostModelTest, wholeRounds) {
  // 133 tiles take two rounds on 132 SMs.
  Problem problem = makeProblem(128, Mask::Full, 128);
  problem.heads = 132;
  Point tile = makeTile(128, 128);
  double one = predict(problem, tile).cycles;
  problem.heads = 133;
  EXPECT_EQ(predict(problem, tile).cycles, 2 * one);
}

TEST(CostModelTest, measurements) {
  // Kernels of docs/Performance.md at 1967 MHz.
  const Measurement cells[] = {
      {64, Mask::Full, 1024, 477},   {64, Mask::Causal, 16384, 561},
      {128, Mask::Full, 16384, 762}, {128, Mask::Causal, 2048, 594},
      {256, Mask::Full, 4096, 776},  {256, Mask::Causal, 8192, 776},
  };
  for (const Measurement &cell : cells)
    expectNear(makeProblem(cell.d, cell.mask, cell.length), cell.tflops, 1967);
}

TEST(CostModelTest, measurementsOf8Bits) {
  const Measurement cells[] = {
      {64, Mask::Full, 2048, 652},    {64, Mask::Full, 16384, 717},
      {128, Mask::Full, 2048, 935},   {128, Mask::Full, 16384, 1063},
      {128, Mask::Causal, 4096, 908}, {256, Mask::Full, 16384, 1281},
  };
  for (const Measurement &cell : cells)
    expectNear(makeFloat8Problem(cell.d, cell.mask, cell.length), cell.tflops,
               1976);
}

TEST(CostModelTest, measurementsOfTransposedValues) {
  const Measurement cells[] = {
      {128, Mask::Full, 2048, 934},
      {128, Mask::Full, 16384, 1020},
      {128, Mask::Causal, 4096, 904},
  };
  for (const Measurement &cell : cells) {
    Problem problem = makeFloat8Problem(cell.d, cell.mask, cell.length);
    problem.transposedV = true;
    expectNear(problem, cell.tflops, 1976);
  }
}

TEST(CostModelTest, obstacles) {
  Problem problem = makeProblem(128, Mask::Full, 4096);
  EXPECT_FALSE(getObstacle(problem, makeTile(192, 80)));
  EXPECT_EQ(getObstacle(problem, makeTile(192, 96)),
            "tiles of 192 rows have registers and shared memory for at most "
            "80 keys");
  Problem narrow = makeFloat8Problem(128, Mask::Full, 4096);
  EXPECT_FALSE(getObstacle(narrow, makeTile(192, 96)));
  EXPECT_EQ(getObstacle(narrow, makeTile(192, 128)),
            "tiles of 192 rows have registers and shared memory for at most "
            "96 keys");
  EXPECT_EQ(getObstacle(narrow, makeTile(256, 32)),
            "tiles of 256 rows have registers and shared memory for at most "
            "0 keys");
}

TEST(CostModelTest, points) {
  for (auto [d, bits] :
       {std::pair(64, 16), {128, 16}, {256, 16}, {64, 8}, {128, 8}, {256, 8}})
    for (Mask mask : {Mask::Full, Mask::Causal, Mask::Window}) {
      Problem problem = makeProblem(d, mask, 2048);
      problem.bits = bits;
      std::vector<Candidate> points = getPointsToMeasure(problem, 10);
      ASSERT_EQ(points.size(), 10u);
      EXPECT_EQ(points.front().point.getOptions(),
                getDefaultTile(problem).getOptions());
      llvm::StringSet<> seen;
      for (const Candidate &candidate : points) {
        EXPECT_TRUE(seen.insert(candidate.point.getOptions()).second);
        EXPECT_FALSE(getObstacle(problem, candidate.point));
      }
      std::vector<Candidate> tiles = rankTiles(problem);
      for (size_t i = 1; i < tiles.size(); ++i)
        EXPECT_LE(tiles[i - 1].prediction.cycles, tiles[i].prediction.cycles);
    }
}

TEST(CostModelTest, options) {
  Point point = makeTile(128, 96);
  EXPECT_EQ(Point().getOptions(), "");
  point.rescale = "eager";
  point.stages = 1;
  point.llvmPasses = "none";
  EXPECT_EQ(point.getOptions(),
            "block-m=128 block-n=96 rescale=eager stages=1 llvm-passes=none");
}

TEST(CostModelTest, lengthClasses) {
  EXPECT_EQ(getLengthClass(1), 1);
  EXPECT_EQ(getLengthClass(4096), 4096);
  EXPECT_EQ(getLengthClass(5700), 4096);
  EXPECT_EQ(getLengthClass(5900), 8192);
}
