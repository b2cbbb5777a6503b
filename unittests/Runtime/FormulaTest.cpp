//===- FormulaTest.cpp - formulas of manifests ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "TestSupport.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace fa3test;

namespace {

/// The value of a formula for the default arguments: q is 2 x 3 x 300 x 128,
/// keys 170, window 8, 132 SMs.
int64_t value(const std::string &formula) {
  Program program;
  EXPECT_EQ(program.parse(withFlops(formula)), FA3_OK) << program.message();
  int64_t result = 0;
  EXPECT_EQ(program.flops(arguments(), result), FA3_OK) << program.message();
  return result;
}

std::string compileError(const std::string &formula) {
  Program program;
  EXPECT_EQ(program.parse(withFlops(formula)), FA3_ERROR_MANIFEST) << formula;
  return program.message();
}

std::string evaluationError(const std::string &formula) {
  Program program;
  EXPECT_EQ(program.parse(withFlops(formula)), FA3_OK) << program.message();
  int64_t result = 0;
  EXPECT_EQ(program.flops(arguments(), result), FA3_ERROR_ARGUMENT) << formula;
  return program.message();
}

TEST(FormulaTest, Operands) {
  EXPECT_EQ(value("42"), 42);
  EXPECT_EQ(value("q.shape[2]"), 300);
  EXPECT_EQ(value("q . shape [ 1 ]"), 3);
  EXPECT_EQ(value("q.stride[1]"), 300 * 128);
  EXPECT_EQ(value("window"), 8);
  EXPECT_EQ(value("device.sms"), 132);
  EXPECT_EQ(value("9223372036854775807"), INT64_MAX);
}

TEST(FormulaTest, PrecedenceAndAssociativity) {
  EXPECT_EQ(value("1 + 2 * 3"), 7);
  EXPECT_EQ(value("(1 + 2) * 3"), 9);
  EXPECT_EQ(value("10 - 4 - 3"), 3);
  EXPECT_EQ(value("100 / 10 / 2"), 5);
  EXPECT_EQ(value("100 / 10 * 2"), 20);
  EXPECT_EQ(value("17 % 10 % 4"), 3);
  EXPECT_EQ(value("-2 * -3"), 6);
  EXPECT_EQ(value("- -5"), 5);
  EXPECT_EQ(value("2 - -3"), 5);
  EXPECT_EQ(value("1 + 1 == 2"), 1);
  EXPECT_EQ(value("1 == 1 && 2 < 1 || 1 < 2"), 1);
  EXPECT_EQ(value("1 || 0 && 0"), 1);
  EXPECT_EQ(value("(1 || 0) && 0"), 0);
}

TEST(FormulaTest, DivisionFloors) {
  EXPECT_EQ(value("7 / 2"), 3);
  EXPECT_EQ(value("-7 / 2"), -4);
  EXPECT_EQ(value("7 / -2"), -4);
  EXPECT_EQ(value("-7 / -2"), 3);
  EXPECT_EQ(value("-7 % 2"), 1);
  EXPECT_EQ(value("7 % -2"), -1);
  EXPECT_EQ(value("-6 / 2"), -3);
  EXPECT_EQ(value("-6 % 2"), 0);
}

TEST(FormulaTest, Calls) {
  EXPECT_EQ(value("ceildiv(7, 2)"), 4);
  EXPECT_EQ(value("ceildiv(-7, 2)"), -3);
  EXPECT_EQ(value("ceildiv(6, 2)"), 3);
  EXPECT_EQ(value("ceildiv(0, 192)"), 0);
  EXPECT_EQ(value("min(3, 4)"), 3);
  EXPECT_EQ(value("max(3, min(9, 4))"), 4);
}

TEST(FormulaTest, Comparisons) {
  EXPECT_EQ(value("3 < 4"), 1);
  EXPECT_EQ(value("4 <= 3"), 0);
  EXPECT_EQ(value("4 > 3"), 1);
  EXPECT_EQ(value("3 >= 4"), 0);
  EXPECT_EQ(value("3 == 4"), 0);
  EXPECT_EQ(value("3 != 4"), 1);
  // Any value but 0 is true; the result is 0 or 1.
  EXPECT_EQ(value("7 && 3"), 1);
  EXPECT_EQ(value("0 || 5"), 1);
  EXPECT_EQ(value("5 || 0"), 1);
  EXPECT_EQ(value("0 || 0"), 0);
}

TEST(FormulaTest, ComparisonsOfReals) {
  // The scale is 0.125.
  EXPECT_EQ(value("scale > 0"), 1);
  EXPECT_EQ(value("0.0 < scale"), 1);
  EXPECT_EQ(value("scale <= 0.125 && scale >= 0.125"), 1);
  EXPECT_EQ(value("scale < 0.125"), 0);
  EXPECT_EQ(value("scale != -0.125"), 1);
  EXPECT_EQ(value("scale == scale"), 1);
  EXPECT_EQ(value("(scale > 2) + 5"), 5);
  EXPECT_EQ(value("window > 0 && scale < 9007199254740992"), 1);
  for (const char *formula :
       {"scale", "scale + 1", "scale * 2 > 0", "scale > window", "-scale < 0",
        "scale > 0.5.5", "scale > .5", "scale > 1.5 + 1", "scale > 1e3",
        "1.5 < 2", "scale > 9007199254740993", "scale > 0 > 0", "min(scale, 1)",
        "scale > 0.12345678901234567890123"})
    compileError(formula);
}

TEST(FormulaTest, RealsAreWhatTheKernelGets) {
  Program program;
  ASSERT_EQ(program.parse(withFlops("scale > 0")), FA3_OK);
  std::vector<fa3_arg> args = arguments();
  int64_t result = 7;
  args[Scale].value.real = 1e-60; // 0 in f32
  ASSERT_EQ(program.flops(args, result), FA3_OK);
  EXPECT_EQ(result, 0);
  args[Scale].value.real = std::nan("");
  ASSERT_EQ(program.flops(args, result), FA3_OK);
  EXPECT_EQ(result, 0);
}

TEST(FormulaTest, LogicStopsAtTheFirstDecision) {
  EXPECT_EQ(value("0 && 1 / 0"), 0);
  EXPECT_EQ(value("1 || 1 / 0"), 1);
  EXPECT_EQ(value("0 && 1 / 0 || 1"), 1);
  EXPECT_EQ(value("1 && 0 && 1 / 0"), 0);
}

TEST(FormulaTest, EvaluationErrors) {
  EXPECT_EQ(evaluationError("1 / (window - 8)"),
            "division by zero in flops: '1 / (window - 8)'");
  EXPECT_NE(evaluationError("ceildiv(1, 0)").find("division by zero"),
            std::string::npos);
  EXPECT_NE(evaluationError("1 % 0").find("division by zero"),
            std::string::npos);
  for (const char *formula :
       {"9223372036854775807 + 1", "-9223372036854775807 - 2",
        "9223372036854775807 * 2", "(-9223372036854775807 - 1) / -1",
        "(-9223372036854775807 - 1) % -1", "-(-9223372036854775807 - 1)",
        "ceildiv(-9223372036854775807 - 1, -1)"})
    EXPECT_NE(evaluationError(formula).find("overflow of 64 bits"),
              std::string::npos)
        << formula;
}

TEST(FormulaTest, CompileErrors) {
  EXPECT_EQ(compileError("1 +"),
            "manifest field 'flops': unexpected end at column 4 of '1 +'");
  EXPECT_EQ(compileError("2 * x"), "manifest field 'flops': no argument of "
                                   "this name at column 5 of '2 * x'");
  EXPECT_NE(compileError("q.shape[4]").find("beyond the rank"),
            std::string::npos);
  EXPECT_NE(compileError("scale").find("may only be compared"),
            std::string::npos);
  EXPECT_NE(compileError("1 < 2 < 3").find("do not chain"), std::string::npos);
  EXPECT_NE(compileError("9223372036854775808").find("beyond 64 bits"),
            std::string::npos);
  for (const char *formula : {"",
                              " ",
                              "()",
                              "(1",
                              "1)",
                              "1 2",
                              "q",
                              "q.",
                              "q.shape",
                              "q.shape[",
                              "q.shape[0",
                              "q.shape[-1]",
                              "q.rank[0]",
                              "window.shape[0]",
                              "device",
                              "device.warps",
                              "ceildiv(1)",
                              "ceildiv(1, 2, 3)",
                              "ceildiv 1",
                              "min",
                              "1 = 2",
                              "1 & 2",
                              "1 | 2",
                              "!1",
                              "1.5",
                              "12ab",
                              "~1",
                              "1 << 2",
                              "q.shape[window]",
                              "foo(1)"})
    compileError(formula);
}

TEST(FormulaTest, BoundsDepth) {
  auto nested = [](int depth) {
    return std::string(depth, '(') + "1" + std::string(depth, ')');
  };
  EXPECT_EQ(value(nested(150)), 1);
  EXPECT_NE(compileError(nested(250)).find("too deeply"), std::string::npos);
  compileError(std::string(100000, '('));
  // Operands that wait for their operator are bounded as well.
  auto waiting = [](int depth) {
    std::string text = "1";
    for (int i = 0; i < depth; ++i)
      text = "1 + (" + text + ")";
    return text;
  };
  EXPECT_EQ(value(waiting(100)), 101);
  EXPECT_NE(compileError(waiting(150)).find("too deeply"), std::string::npos);
  // A chain of operators needs no depth.
  std::string chain = "1";
  for (int i = 0; i < 5000; ++i)
    chain += " + 1";
  EXPECT_EQ(value(chain), 5001);
}

} // namespace
