//===- RegisterModelTest.cpp - chips and constants fitted to ptxas --------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Machine/RegisterModel.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace fa3;

TEST(ChipTest, BlocksStartWithAnEqualShareOfTheFile) {
  EXPECT_EQ(kSm90a.getEntryRegisters(512), 128);
  EXPECT_EQ(kSm90a.getEntryRegisters(384), 168);
  Chip half = kSm90a;
  half.registers /= 2;
  EXPECT_EQ(half.getEntryRegisters(512), 64);
}

TEST(RegisterModelTest, EveryConstantHasOneLine) {
  const RegisterModel &model = getRegisterModel(kSm90a);
  llvm::StringSet<> names;
  int64_t bytes = 0;
  for (const FittedConstant &constant : getFittedConstants()) {
    EXPECT_TRUE(names.insert(constant.name).second) << constant.name;
    EXPECT_NE(std::strlen(constant.meaning), 0u) << constant.name;
    EXPECT_NE(std::strlen(constant.test), 0u) << constant.name;
    EXPECT_EQ(model.*constant.field, constant.value) << constant.name;
    bytes += sizeof(int64_t);
  }
  EXPECT_EQ(bytes, int64_t(sizeof(RegisterModel)));
}

TEST(RegisterModelTest, TestsOfConstantsExist) {
  llvm::StringSet<> files;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator it(FA3_TEST_DIR, error), end;
       it != end && !error; it.increment(error))
    files.insert(llvm::sys::path::filename(it->path()));
  ASSERT_FALSE(error);
  for (const FittedConstant &constant : getFittedConstants()) {
    llvm::StringRef test = constant.test;
    // Others are configurations of register_model.py.
    if (test.ends_with(".mlir"))
      EXPECT_TRUE(files.contains(test)) << constant.name << ": " << test.str();
    else
      EXPECT_TRUE(test.starts_with("d")) << constant.name << ": " << test.str();
  }
}

TEST(RegisterModelTest, MoreConsumersHaveLess) {
  const RegisterModel &model = getRegisterModel(kSm90a);
  for (int64_t consumers : {1, 2, 3}) {
    EXPECT_GE(model.getTileBudget(consumers),
              model.getTileBudget(consumers + 1));
    EXPECT_GE(model.getTile8Budget(consumers),
              model.getTile8Budget(consumers + 1));
    EXPECT_GE(model.getLoopBudget(consumers),
              model.getLoopBudget(consumers + 1));
    EXPECT_GE(model.getTermsBudget(consumers),
              model.getTermsBudget(consumers + 1));
  }
}

TEST(RegisterModelTest, BudgetsFitTheFile) {
  const RegisterModel &model = getRegisterModel(kSm90a);
  for (int64_t consumers = 1; consumers <= 4; ++consumers) {
    int64_t threads = (consumers + 1) * kSm90a.getThreadsPerWarpgroup();
    int64_t pool = kSm90a.getEntryRegisters(threads) * (consumers + 1);
    int64_t producer = model.getProducerRegisters(consumers, false, 0);
    int64_t limit =
        std::min((pool - producer) / consumers, model.mostOfConsumer);
    EXPECT_LE(model.getTileBudget(consumers), limit);
  }
}
