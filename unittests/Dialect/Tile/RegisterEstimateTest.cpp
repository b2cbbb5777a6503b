//===- RegisterEstimateTest.cpp - registers of groups ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Tile/Analysis/RegisterEstimate.h"
#include "fa3/InitAllDialects.h"
#include "fa3/Machine/RegisterModel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

namespace {
/// Registers besides tiles.
const int64_t kOther = getRegisterModel(kSm90a).others;

struct RegisterEstimateTest : testing::Test {
  RegisterEstimateTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// A kernel of the groups in `text`; gives the one named math.
  warp::GroupOp parse(StringRef groups) {
    std::string text =
        ("gpu.module @m { gpu.func @k(%p: memref<?x?xf32>, %l: memref<?xf32>,"
         " %n: index, %on: i1) kernel { warp.specialize {" +
         groups + "} gpu.return } }")
            .str();
    module = parseSourceString<ModuleOp>(text, &context);
    warp::GroupOp math;
    if (module)
      module->walk([&](warp::GroupOp group) {
        if (group.getSymName() == "math")
          math = group;
      });
    return math;
  }

  int64_t estimate(StringRef body, StringRef replicas = "") {
    warp::GroupOp group =
        parse(("warp.group @math warps 4 " + replicas + " (%g) {" +
               "%c0 = arith.constant 0 : index %c1 = arith.constant 1 : index "
               "%z = arith.constant dense<0.0> : tensor<64x64xf32>" +
               body + "}")
                  .str());
    if (!group) {
      ADD_FAILURE() << "does not parse";
      return -1;
    }
    return estimateRegisters(group, where);
  }

  int64_t limit(StringRef groups) {
    warp::GroupOp group = parse(groups);
    if (!group) {
      ADD_FAILURE() << "does not parse";
      return -1;
    }
    return getRegisterLimit(group);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Operation *where = nullptr;
};
} // namespace

#define LOAD(name)                                                             \
  "%" name " = tile.load %p[%c0, %c0] : memref<?x?xf32> -> tensor<64x64xf32> "
#define STORE(name)                                                            \
  "tile.store %" name ", %p[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32> "

TEST_F(RegisterEstimateTest, NothingIsTheRest) {
  EXPECT_EQ(estimate(""), kOther);
}

TEST_F(RegisterEstimateTest, TilesThatLiveTogetherAdd) {
  // 64 x 64 values over 128 threads: 32 registers each.
  EXPECT_EQ(estimate(LOAD("x") STORE("x")), kOther + 32);
  EXPECT_EQ(estimate(LOAD("x") LOAD("y") STORE("x") STORE("y")), kOther + 64);
  EXPECT_EQ(estimate(LOAD("x") STORE("x") LOAD("y") STORE("y")), kOther + 32);
}

TEST_F(RegisterEstimateTest, HalfTheBitsAreHalfTheRegisters) {
  EXPECT_EQ(estimate("%x = tile.load %p[%c0, %c0] : memref<?x?xf32> -> "
                     "tensor<64x64xf32> %h = arith.truncf %x : "
                     "tensor<64x64xf32> to tensor<64x64xf16> "
                     "%y = tile.load %p[%c0, %c0] : memref<?x?xf32> -> "
                     "tensor<64x64xf32> %w = arith.extf %h : tensor<64x64xf16> "
                     "to tensor<64x64xf32> " STORE("y") STORE("w")),
            kOther + 64);
}

TEST_F(RegisterEstimateTest, MasksAndConstantsAreFree) {
  EXPECT_EQ(
      estimate("%i = tile.coord dim 0 offset %n : tensor<64x64xindex> "
               "%j = tile.coord dim 1 offset %c0 : tensor<64x64xindex> "
               "%m = arith.cmpi sle, %j, %i : tensor<64x64xindex> " LOAD(
                   "x") "%y = arith.select %m, %x, %z : "
                        "tensor<64x64xi1>, tensor<64x64xf32> " STORE("y")),
      kOther + 32);
}

/// What element code computes of `x` between two reads of it.
#define SQUARE                                                                 \
  "%y = arith.mulf %x, %x : tensor<64x64xf32> "                                \
  "%w = arith.mulf %y, %y : tensor<64x64xf32> "
#define SUM "%r = arith.addf %x, %w : tensor<64x64xf32> "

TEST_F(RegisterEstimateTest, ElementCodeThatReadsATileTwiceKeepsIt) {
  EXPECT_EQ(estimate(LOAD("x") SQUARE SUM STORE("r")), kOther + 32);
  // The tile is needed once more: beside the result.
  EXPECT_EQ(estimate(LOAD("x") SQUARE SUM STORE("r") STORE("x")), kOther + 64);
  // What is computed in between is stored as a whole.
  EXPECT_EQ(estimate(LOAD("x") SQUARE STORE("w") SUM STORE("r")), kOther + 64);
  // It waits for a store, as element code does not.
  EXPECT_EQ(estimate(LOAD("x") SQUARE STORE("x") SUM STORE("r")), kOther + 64);
}

TEST_F(RegisterEstimateTest, TwoWaysOfElementCodeAreComputedTogether) {
  constexpr StringRef one = "%t = arith.addf %x, %x : tensor<64x64xf32> "
                            "%a = arith.mulf %t, %t : tensor<64x64xf32> ",
                      other = "%b = arith.mulf %x, %x : tensor<64x64xf32> ",
                      sum = "%r = arith.addf %a, %b : tensor<64x64xf32> ";
  StringRef load = LOAD("x");
  EXPECT_EQ(estimate((load + one + other + sum + STORE("r")).str()),
            kOther + 32);
  EXPECT_EQ(estimate((load + other + one + sum + STORE("r")).str()),
            kOther + 32);
  // One of them is stored as a whole, in front of the sum.
  EXPECT_EQ(
      estimate((load + other + STORE("b") + one + sum + STORE("r")).str()),
      kOther + 64);
  EXPECT_EQ(
      estimate((load + one + other + STORE("b") + sum + STORE("r")).str()),
      kOther + 64);
}

TEST_F(RegisterEstimateTest, WhatATileIsNotReadBesideCounts) {
  // The first tile ends where the second begins.
  EXPECT_EQ(
      estimate(LOAD("x") "%y = arith.mulf %x, %x : tensor<64x64xf32> " LOAD(
          "z1") STORE("y") STORE("z1")),
      kOther + 64);
}

TEST_F(RegisterEstimateTest, StatisticsOfRowsAreSharedByFourLanes) {
  EXPECT_EQ(estimate("%x = tile.load %l[%c0] : memref<?xf32> -> tensor<64xf32> "
                     "tile.store %x, %l[%c0] : tensor<64xf32>, memref<?xf32>"),
            kOther + 2);
}

TEST_F(RegisterEstimateTest, LoopsKeepWhatTheyCarryAndWhatComesAfter) {
  StringRef loop =
      "%r = scf.for %t = %c0 to %n step %c1 iter_args(%a = %z) -> "
      "(tensor<64x64xf32>) {" LOAD(
          "x") "%s = arith.addf %a, %x : tensor<64x64xf32> scf.yield %s : "
               "tensor<64x64xf32> } ";
  EXPECT_EQ(estimate((loop + STORE("r")).str()), kOther + 64);
  EXPECT_EQ(estimate((LOAD("y") + loop + STORE("r") STORE("y")).str()),
            kOther + 96);
}

TEST_F(RegisterEstimateTest, NamesThePlace) {
  estimate(LOAD("x") LOAD("y") STORE("x") STORE("y"));
  ASSERT_TRUE(where);
  EXPECT_EQ(where->getName().getStringRef(), "tile.load");
}

TEST_F(RegisterEstimateTest, LimitsShareTheFile) {
  // Alone a warp group gets the most that setmaxnreg should be asked for.
  EXPECT_EQ(limit("warp.group @math warps 4 (%g) {}"), 240);
  EXPECT_EQ(limit("warp.group @load warps 1 (%g) {} "
                  "warp.group @math warps 4 replicas 2 (%g) {}"),
            240);
  EXPECT_EQ(limit("warp.group @load warps 1 (%g) {} "
                  "warp.group @math warps 4 replicas 3 (%g) {}"),
            160);
  // Small groups share a warp group.
  EXPECT_EQ(limit("warp.group @load warps 1 (%g) {} "
                  "warp.group @more warps 1 (%g) {} "
                  "warp.group @math warps 4 replicas 3 (%g) {}"),
            160);
}
