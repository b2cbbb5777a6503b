//===- PipelineProblemTest.cpp - instances and answers that are wrong -----===//
// SPDX-License-Identifier: Apache-2.0
#include "ReadProblem.h"
#include "llvm/Support/raw_ostream.h"

using namespace fa3;
using fa3::test::ProblemText;

static std::string check(llvm::StringRef text) {
  return ProblemText(text).problem.check().value_or("");
}

static std::string verify(llvm::StringRef text) {
  return ProblemText(text).problem.verify().value_or("");
}

TEST(PipelineProblem, EmptyIsFine) {
  EXPECT_EQ(check(""), "");
  EXPECT_EQ(verify(""), "");
}

TEST(PipelineProblem, CheckAcceptsCyclesOverAnIteration) {
  EXPECT_EQ(check("compute a\n compute b\n a -> b\n b -> a distance 1"), "");
  EXPECT_EQ(check("compute a\n a -> a distance 1"), "");
}

TEST(PipelineProblem, CheckRefusesCyclesWithinAnIteration) {
  EXPECT_EQ(check("compute a\n compute b\n a -> b\n b -> a"),
            "'a' depends on itself");
  EXPECT_EQ(check("compute a\n compute b\n b -> b"), "'b' depends on itself");
}

TEST(PipelineProblem, CheckRefusesFarDependences) {
  EXPECT_EQ(check("compute a\n compute b\n a -> b distance 2"),
            "'b' depends on 'a' over 2 iterations, more than 1");
}

TEST(PipelineProblem, CheckRefusesUnknownOperations) {
  ProblemText text("compute a");
  text.problem.addDependence(0, 7, 0);
  EXPECT_EQ(text.problem.check().value_or(""),
            "a dependence names operation 7 of 1");
}

TEST(PipelineProblem, VerifyWantsStageAndPosition) {
  EXPECT_EQ(verify("compute a"), "'a' has no stage or position");
  ProblemText negative("compute a stage 0 position 0");
  negative.problem.setStage(0, -1);
  EXPECT_EQ(negative.problem.verify().value_or(""),
            "'a' has no stage or position");
}

TEST(PipelineProblem, VerifyWantsDistinctPositions) {
  EXPECT_EQ(verify("compute a stage 0 position 3\n"
                   "compute b stage 1 position 3"),
            "'b' and 'a' have the same position");
}

TEST(PipelineProblem, VerifyDependencesWithinAnIteration) {
  // Same stage: positions decide.
  EXPECT_EQ(verify("compute a stage 0 position 0\n"
                   "compute b stage 0 position 1\n a -> b"),
            "");
  EXPECT_NE(verify("compute a stage 0 position 1\n"
                   "compute b stage 0 position 0\n a -> b"),
            "");
  // A later stage is a later step, whatever the positions.
  EXPECT_EQ(verify("compute a stage 0 position 1\n"
                   "compute b stage 1 position 0\n a -> b"),
            "");
  EXPECT_EQ(verify("compute a stage 1 position 0\n"
                   "compute b stage 0 position 1\n a -> b"),
            "'b' (stage 0, position 1) comes before 'a' (stage 1, position "
            "0), on which it depends over 0 iterations");
}

TEST(PipelineProblem, VerifyDependencesOverAnIteration) {
  // The next iteration's b runs in the step after a, if both have one stage.
  EXPECT_EQ(verify("compute a stage 0 position 1\n"
                   "compute b stage 0 position 0\n a -> b distance 1"),
            "");
  // One stage later, a of iteration i runs in the step of b of i + 1.
  EXPECT_EQ(verify("compute a stage 1 position 0\n"
                   "compute b stage 0 position 1\n a -> b distance 1"),
            "");
  EXPECT_NE(verify("compute a stage 1 position 1\n"
                   "compute b stage 0 position 0\n a -> b distance 1"),
            "");
  EXPECT_NE(verify("compute a stage 2 position 0\n"
                   "compute b stage 0 position 1\n a -> b distance 1"),
            "");
}

TEST(PipelineProblem, Prints) {
  ProblemText text("issue a stage 0 position 1\n wait b\n a -> b distance 1");
  std::string printed;
  llvm::raw_string_ostream os(printed);
  text.problem.print(os);
  EXPECT_EQ(printed, "0: issue a stage 0 position 1\n"
                     "1: wait b\n"
                     "0 -> 1 distance 1\n");
}
