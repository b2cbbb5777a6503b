//===- ResolveTest.cpp - options that follow from others ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What options decide of those that are left open; what is given stays.
//===----------------------------------------------------------------------===//

#include "fa3/Pipelines/Pipelines.h"
#include "gtest/gtest.h"

using namespace fa3;

TEST(ResolveTest, LastBlock) {
  PipelineOptions options;
  options.lastBlock = options::LastBlock::Auto;
  options.pingPong = options::Switch::Off;
  options.resolve();
  EXPECT_EQ(options.lastBlock.getValue(), options::LastBlock::Auto);
  options.pingPong = options::Switch::On;
  options.resolve();
  EXPECT_EQ(options.lastBlock.getValue(), options::LastBlock::Whole);
  options.lastBlock = options::LastBlock::Narrow;
  options.resolve();
  EXPECT_EQ(options.lastBlock.getValue(), options::LastBlock::Narrow);
}

TEST(ResolveTest, BackwardForm) {
  auto resolve = [](int64_t stages, bool warpSpecialize, int64_t replicas,
                    options::BackwardForm form) {
    PipelineOptions options;
    options.stages = stages;
    options.warpSpecialize = warpSpecialize;
    options.replicas = replicas;
    options.backwardForm = form;
    options.resolve();
    return options.backwardForm.getValue();
  };
  using options::BackwardForm;
  EXPECT_EQ(resolve(1, true, 0, BackwardForm::Auto), BackwardForm::Auto);
  EXPECT_EQ(resolve(2, true, 0, BackwardForm::Auto), BackwardForm::Split);
  EXPECT_EQ(resolve(1, false, 0, BackwardForm::Auto), BackwardForm::Split);
  EXPECT_EQ(resolve(1, true, 2, BackwardForm::Auto), BackwardForm::Split);
  EXPECT_EQ(resolve(2, true, 0, BackwardForm::Fused), BackwardForm::Fused);
}

TEST(ResolveTest, Heights) {
  PipelineOptions options;
  options.replicas = 0;
  options.heights = options::Heights::Auto;
  options.resolve();
  EXPECT_TRUE(options.endRows);
  EXPECT_EQ(options.heights.getValue(), options::Heights::Auto);
  options.replicas = 2;
  options.resolve();
  EXPECT_FALSE(options.endRows);
  EXPECT_EQ(options.heights.getValue(), options::Heights::Even);
}

TEST(ResolveTest, Mode) {
  PipelineOptions options;
  options.mode = options::Mode::Auto;
  options.warpSpecialize = true;
  options.resolve();
  EXPECT_EQ(options.mode.getValue(), options::Mode::Auto);
  options.warpSpecialize = false;
  options.resolve();
  EXPECT_EQ(options.mode.getValue(), options::Mode::Cta);
}

TEST(ResolveTest, ScaleOperands) {
  auto resolve = [](bool shortenTanh, options::Rescale rescale,
                    options::ScaleOperands given) {
    PipelineOptions options;
    options.shortenTanh = shortenTanh;
    options.rescale = rescale;
    options.scaleOperands = given;
    options.resolve();
    return options.scaleOperands.getValue();
  };
  using options::Rescale;
  using options::ScaleOperands;
  EXPECT_EQ(resolve(true, Rescale::Lazy, ScaleOperands::Auto),
            ScaleOperands::Auto);
  EXPECT_EQ(resolve(false, Rescale::Lazy, ScaleOperands::Auto),
            ScaleOperands::Never);
  EXPECT_EQ(resolve(true, Rescale::Eager, ScaleOperands::Auto),
            ScaleOperands::Never);
  EXPECT_EQ(resolve(false, Rescale::Eager, ScaleOperands::Always),
            ScaleOperands::Always);
}
