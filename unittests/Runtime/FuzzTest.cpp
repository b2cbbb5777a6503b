//===- FuzzTest.cpp - damaged manifests and arguments ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Whatever a manifest or an argument holds, the answer is a value. The seeds
// are fixed; run under address and undefined-behavior sanitizers these tests
// search for memory errors.
//===----------------------------------------------------------------------===//

#include "TestSupport.h"
#include "gtest/gtest.h"

#include <cstring>
#include <random>

using namespace fa3test;

namespace {

/// Parses a text in memory of exactly its size and, if it is a manifest, tries
/// everything that works without a driver. Returns whether it is one.
bool exercise(const std::string &text, const std::vector<fa3_arg> &args) {
  std::vector<char> exact(text.begin(), text.end());
  exact.reserve(1);
  fa3_program *program = nullptr;
  fa3_status status;
  fa3_code code =
      fa3_program_parse(exact.data(), exact.size(), 132, &program, &status);
  EXPECT_EQ(code, status.code);
  if (code != FA3_OK) {
    EXPECT_EQ(code, FA3_ERROR_MANIFEST);
    EXPECT_EQ(program, nullptr);
    EXPECT_NE(status.message[0], '\0');
    EXPECT_NE(std::memchr(status.message, 0, sizeof(status.message)), nullptr);
    return false;
  }
  int64_t value;
  fa3_validate(program, args.data(), args.size(), &status);
  fa3_evaluate(program, FA3_FLOPS, args.data(), args.size(), &value, &status);
  fa3_evaluate(program, FA3_BYTES, args.data(), args.size(), &value, &status);
  fa3_evaluate_grid(program, 0, args.data(), args.size(), &value, &status);
  fa3_workspace_size(program, args.data(), args.size(), &value, &status);
  EXPECT_EQ(fa3_program_destroy(program, &status), FA3_OK);
  return true;
}

TEST(FuzzTest, TruncatedManifests) {
  const std::string text = withWorkspaces();
  const std::vector<fa3_arg> args = arguments();
  for (size_t size = 0; size < text.size(); ++size)
    ASSERT_FALSE(exercise(text.substr(0, size), args)) << size;
  EXPECT_TRUE(exercise(text, args));
}

TEST(FuzzTest, MutatedBytes) {
  const std::string text = withWorkspaces();
  const std::vector<fa3_arg> args = arguments();
  std::mt19937 random(1);
  int accepted = 0;
  for (int round = 0; round < 8000; ++round) {
    std::string mutant = text;
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
      size_t at = random() % mutant.size();
      switch (random() % 4) {
      case 0:
        mutant[at] = static_cast<char>(random());
        break;
      case 1:
        mutant[at] = "0123456789[]{}\",:.+-*/%()<>=&|qksd"[random() % 34];
        break;
      case 2:
        mutant.erase(at, 1 + random() % 20);
        break;
      default:
        mutant.insert(at, mutant, random() % mutant.size(), random() % 40);
      }
    }
    accepted += exercise(mutant, args);
  }
  EXPECT_GT(accepted, 10);
}

TEST(FuzzTest, MutatedTokens) {
  // Replaces values by others, so that most mutants are JSON and errors are
  // found deeper.
  const std::string text = manifest();
  const std::vector<fa3_arg> args = arguments();
  const char *const values[] = {"null",
                                "true",
                                "0",
                                "-1",
                                "9223372036854775807",
                                "1e9",
                                "\"\"",
                                "[]",
                                "{}",
                                "\"q\"",
                                "\"f32\"",
                                "\"q.shape[3]\"",
                                "\"1/0\"",
                                "\"k.stride[0]\"",
                                "[[[[]]]]",
                                "128",
                                "\"tensor\"",
                                "\"scalar\"",
                                "\"9223372036854775807*2\"",
                                "\"window\""};
  std::mt19937 random(2);
  int accepted = 0;
  for (int round = 0; round < 8000; ++round) {
    std::string mutant = text;
    for (unsigned edits = 1 + random() % 2; edits > 0; --edits) {
      // A string or a number starting somewhere.
      size_t at =
          mutant.find_first_of("\"0123456789", random() % mutant.size());
      if (at == std::string::npos)
        continue;
      size_t end = mutant[at] == '"'
                       ? mutant.find('"', at + 1)
                       : mutant.find_first_not_of("0123456789", at) - 1;
      if (end == std::string::npos)
        continue;
      mutant.replace(at, end + 1 - at,
                     values[random() % (sizeof(values) / sizeof(values[0]))]);
    }
    accepted += exercise(mutant, args);
  }
  EXPECT_GT(accepted, 100);
}

TEST(FuzzTest, MutatedFormulas) {
  const char *const tokens[] = {
      "1",         "0",      "-",      "+",        "*",  "/",
      "%",         "(",      ")",      "<",        "==", "&&",
      "||",        "min(",   "max(",   "ceildiv(", ",",  "q",
      ".",         "[0]",    ".shape", ".stride",  "k",  "window",
      "scale",     "scale<", "0.5",    "!=",       ">=", "9223372036854775807",
      "device.sms"};
  const std::vector<fa3_arg> args = arguments();
  std::mt19937 random(3);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string formula;
    for (unsigned length = 1 + random() % 8; length > 0; --length)
      formula += tokens[random() % (sizeof(tokens) / sizeof(tokens[0]))];
    accepted += exercise(withFlops(formula), args);
  }
  EXPECT_GT(accepted, 300);
}

TEST(FuzzTest, RandomArguments) {
  const int64_t values[] = {0,         1,         2,         128,       -1,
                            INT64_MAX, INT64_MIN, 1ll << 31, 1ll << 32, 170,
                            1ll << 40, 300,       1ll << 62, 16};
  Program program;
  ASSERT_EQ(program.parse(manifest()), FA3_OK);
  std::mt19937 random(4);
  auto any = [&] { return values[random() % (sizeof(values) / 8)]; };
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<fa3_arg> args = arguments();
    for (unsigned edits = 1 + random() % 3; edits > 0; --edits) {
      fa3_arg &arg = args[random() % args.size()];
      switch (random() % 6) {
      case 0:
        arg.rank = static_cast<int32_t>(any());
        break;
      case 1:
        arg.type = static_cast<fa3_type>(random() % 11);
        break;
      case 2:
        arg.value.integer = any();
        break;
      case 3:
        arg.shape[random() % 4] = any();
        break;
      default:
        arg.stride[random() % 4] = any();
      }
    }
    fa3_code code = program.validate(args);
    EXPECT_EQ(code, program.status.code);
    accepted += code == FA3_OK;
    int64_t value;
    program.flops(args, value);
  }
  EXPECT_GT(accepted, 100);
}

} // namespace
