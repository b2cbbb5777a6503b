//===- ForwardChoices.cpp - what a forward is built with ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ForwardChoices.h"
#include "Cost.h"
#include "Kernel.h"

using namespace mlir;
using namespace fa3;
using attention::ForwardOp;
using attention::HostFunction;

bool fa3::needsTwoLevels(HostFunction &host) {
  constexpr int64_t kManyKeys = 32768, kWidest = 128;
  ForwardOp forward = host.forward;
  RankedTensorType keys = forward.getK().getType();
  int64_t axis = forward.getSequenceAxisOf(forward.getK());
  return forward.hasScales() && !keys.isDynamicDim(axis) &&
         keys.getDimSize(axis) >= kManyKeys &&
         getWidthOfBand(host).value_or(kManyKeys) >= kManyKeys &&
         forward.getValueHeadDim() <= kWidest;
}

int64_t fa3::chooseTwoLevelSteps(ForwardOp forward) {
  constexpr int64_t kNarrow = 64, kSteps = 8;
  bool isNarrow = forward.getValueHeadDim() <= kNarrow;
  return isNarrow && forward.getMaskMod().empty() ? kSteps : 1;
}

void fa3::remarkNumbers(ForwardOp forward, RegionDemand demand,
                        std::optional<int64_t> queries, TileChoice tile) {
  int64_t numbers = demand.keyNumbers;
  demand.keyNumbers = 0;
  TileChoice plain =
      chooseTile(getTileWidth(forward.getHeadDim()),
                 getTileWidth(forward.getValueHeadDim()), demand, queries);
  if (plain.blockM == tile.blockM && plain.blockN == tile.blockN)
    return;
  forward.emitRemark("takes tiles of ")
      << tile.blockM << " x " << tile.blockN << ", not " << plain.blockM
      << " x " << plain.blockN << ": mask or score code keeps " << numbers
      << " integers of every key in registers";
}
