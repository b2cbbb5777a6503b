//===- Resolve.cpp - options that follow from others ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Pipelines/Pipelines.h"

using namespace fa3;

void PipelineOptions::resolve() {
  // A narrow block has no turn of its own.
  if (lastBlock == options::LastBlock::Auto && pingPong == options::Switch::On)
    lastBlock = options::LastBlock::Whole;
  // Warp groups exchange what dq is made of in loops of one stage.
  if (backwardForm == options::BackwardForm::Auto &&
      (stages > 1 || !warpSpecialize || replicas != 0))
    backwardForm = options::BackwardForm::Split;
  // Tiles of other heights are made of whole replicas of 64 rows.
  if (replicas != 0)
    heights = options::Heights::Even;
  endRows = heights != options::Heights::Even;
  // It is the group for copies that claims tiles.
  if (mode == options::Mode::Auto && !warpSpecialize)
    mode = options::Mode::Cta;
  // Scaled operands are of use to hopper-shorten-functions, which needs the
  // votes of lazy rescaling.
  bool isOfUse = shortenTanh && rescale == options::Rescale::Lazy;
  if (scaleOperands == options::ScaleOperands::Auto && !isOfUse)
    scaleOperands = options::ScaleOperands::Never;
}
