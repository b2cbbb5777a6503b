//===- ListSchedulerTest.cpp - what the list scheduler promises -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Instances as text. The promises are about overlap (which stage, what comes
// first in a step), and that any answer is one: random instances are verified.
//===----------------------------------------------------------------------===//

#include "ReadProblem.h"
#include <random>

using namespace fa3;
using fa3::test::ProblemText;
using Kind = PipelineProblem::Kind;

/// The answer to an instance, which must have one.
static ProblemText schedule(llvm::StringRef text, int64_t stages) {
  ProblemText instance(text);
  EXPECT_EQ(scheduleByList(instance.problem, stages).value_or(""), "");
  EXPECT_EQ(instance.problem.verify().value_or(""), "");
  return instance;
}

TEST(ListScheduler, KeepsTheOrderOfIndependentOperations) {
  ProblemText p = schedule("compute a\n compute b\n compute c", 2);
  EXPECT_LT(p.position("a"), p.position("b"));
  EXPECT_LT(p.position("b"), p.position("c"));
  for (llvm::StringRef name : {"a", "b", "c"})
    EXPECT_EQ(p.stage(name), 0) << name.str();
}

/// Two products, the second on what the first gave.
static constexpr llvm::StringLiteral kChain = R"(
  compute acquire1
  compute acquire2
  issue first
  wait await
  free release1
  compute convert
  issue second
  deferred-wait release2
  acquire1 -> first
  first -> await
  await -> release1
  await -> convert
  acquire2 -> second
  convert -> second
  second -> release2
  second -> second distance 1
)";

TEST(ListScheduler, SecondProductRunsUnderTheNextFirst) {
  ProblemText p = schedule(kChain, 2);
  EXPECT_EQ(p.stage("first"), 0);
  EXPECT_EQ(p.stage("await"), 0);
  EXPECT_EQ(p.stage("convert"), 0);
  EXPECT_EQ(p.stage("second"), 1);
  EXPECT_EQ(p.stage("release2"), 1);
  // Acquired when first needed, not an iteration ahead.
  EXPECT_EQ(p.stage("acquire2"), 1);
  // Both issued before the first is awaited; then what the wait frees.
  EXPECT_LT(p.position("first"), p.position("second"));
  EXPECT_LT(p.position("second"), p.position("await"));
  EXPECT_LT(p.position("release1"), p.position("convert"));
  EXPECT_LT(p.position("convert"), p.position("release2"));
}

TEST(ListScheduler, OneStageIsTheOrderOfDependences) {
  ProblemText p = schedule(kChain, 1);
  for (const auto &op : p.problem.getOperations())
    EXPECT_EQ(op.stage, 0) << op.name;
  EXPECT_LT(p.position("await"), p.position("convert"));
  EXPECT_LT(p.position("convert"), p.position("second"));
}

TEST(ListScheduler, ReleaseOfTheOnlyProductWaitsAStage) {
  ProblemText p = schedule("compute acquire\n issue product\n"
                           "deferred-wait release\n acquire -> product\n"
                           "product -> release\n"
                           "product -> product distance 1",
                           2);
  EXPECT_EQ(p.stage("product"), 0);
  EXPECT_EQ(p.stage("release"), 1);
  EXPECT_LT(p.position("product"), p.position("release"));
}

TEST(ListScheduler, CopiesAreAStageAheadOfTheirUse) {
  // The wait for the second copy moves to its use; copies start behind the
  // products of their step, what they need right in front of them.
  ProblemText p = schedule("compute free\n copy copyK\n copy copyV\n"
                           "arrival hasK\n arrival hasV\n issue first\n"
                           "wait await\n compute weights\n issue second\n"
                           "free -> copyK\n"
                           "copyK -> hasK\n copyV -> hasV\n hasK -> first\n"
                           "first -> await\n await -> weights\n"
                           "weights -> second\n hasV -> second",
                           3);
  EXPECT_EQ(p.stage("copyK"), 0);
  EXPECT_EQ(p.stage("copyV"), 0);
  EXPECT_EQ(p.stage("hasK"), 1);
  EXPECT_EQ(p.stage("first"), 1);
  EXPECT_EQ(p.stage("second"), 2);
  EXPECT_EQ(p.stage("hasV"), 2);
  EXPECT_LT(p.position("second"), p.position("free"));
  EXPECT_EQ(p.position("free") + 1, p.position("copyK"));
  EXPECT_LT(p.position("copyV"), p.position("await"));
}

TEST(ListScheduler, OldestWaitComesFirst) {
  ProblemText p = schedule("issue a\n issue b\n wait ofB\n wait ofA\n"
                           "b -> ofB\n a -> ofA",
                           1);
  EXPECT_LT(p.position("b"), p.position("ofA"));
  EXPECT_LT(p.position("ofA"), p.position("ofB"));
}

TEST(ListScheduler, WorkThatWaitsForNothingSinksToItsUse) {
  ProblemText p = schedule("compute mask\n issue product\n wait await\n"
                           "compute other\n compute use\n product -> await\n"
                           "await -> other\n other -> use\n mask -> use",
                           2);
  EXPECT_LT(p.position("other"), p.position("mask"));
  EXPECT_EQ(p.position("mask") + 1, p.position("use"));
}

TEST(ListScheduler, SpreadsAreOfTheStageOfTheirUse) {
  // What is spread comes from behind a wait of the first stage, like `other`;
  // only the small value is carried to the second.
  std::string text(kChain);
  ProblemText p = schedule(text + "compute small\n await -> small\n"
                                  "spread wide\n small -> wide\n"
                                  "wait awaitSecond\n second -> awaitSecond\n"
                                  "compute use\n wide -> use\n"
                                  "awaitSecond -> use\n"
                                  "compute other\n await -> other\n"
                                  "other -> use\n",
                           2);
  EXPECT_EQ(p.stage("small"), 0);
  EXPECT_EQ(p.stage("other"), 0);
  EXPECT_EQ(p.stage("wide"), 1);
  EXPECT_EQ(p.stage("use"), 1);
  EXPECT_LT(p.position("awaitSecond"), p.position("wide"));
}

TEST(ListScheduler, FewerStagesWhereMoreComeTooLate) {
  // A chain of three products, whose last the next iteration's first needs: in
  // three stages that would be given two steps late.
  std::string text = "issue a\n wait ofA\n issue b\n wait ofB\n"
                     "issue c\n wait ofC\n a -> ofA\n ofA -> b\n"
                     "b -> ofB\n ofB -> c\n c -> ofC\n";
  EXPECT_EQ(schedule(text, 3).stage("c"), 2);
  EXPECT_EQ(schedule(text + "ofC -> a distance 1", 3).stage("c"), 1);
}

TEST(ListScheduler, RefusesWhatCheckRefuses) {
  ProblemText p("compute a\n compute b\n a -> b\n b -> a");
  EXPECT_EQ(scheduleByList(p.problem, 2).value_or(""), "'a' depends on itself");
}

TEST(ListScheduler, RandomInstancesHaveVerifiedAnswers) {
  std::mt19937 random(1);
  auto below = [&](unsigned n) { return unsigned(random() % n); };
  for (int round = 0; round < 2000; ++round) {
    PipelineProblem problem;
    unsigned count = 1 + below(12);
    for (unsigned i = 0; i < count; ++i)
      problem.addOperation("op" + std::to_string(i),
                           static_cast<Kind>(below(5)));
    for (unsigned i = below(3 * count); i-- > 0;) {
      unsigned a = below(count), b = below(count);
      if (below(3) == 0)
        problem.addDependence(a, b, 1);
      else if (a != b)
        problem.addDependence(std::min(a, b), std::max(a, b), 0);
    }
    // One stage in the order of the program is always an answer.
    std::optional<std::string> error = scheduleByList(problem, 1 + below(3));
    ASSERT_EQ(error.value_or(""), "") << "round " << round;
    ASSERT_EQ(problem.verify().value_or(""), "") << "round " << round;
  }
}
