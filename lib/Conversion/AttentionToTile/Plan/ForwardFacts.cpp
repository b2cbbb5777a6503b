//===- ForwardFacts.cpp - what a plan asks of an attention ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ForwardFacts.h"
#include "../Emit/Places.h"
#include "../Emit/ScalarRegion.h"
#include "../Forward/Kernel.h"
#include "Cost.h"

using namespace mlir;
using namespace fa3;
using attention::ForwardOp;
using attention::HostFunction;

/// What the type of k says of the number of keys.
static std::optional<int64_t> getStaticKeys(ForwardOp forward) {
  RankedTensorType type = forward.getK().getType();
  int64_t axis = forward.getSequenceAxisOf(forward.getK());
  if (type.isDynamicDim(axis))
    return std::nullopt;
  return type.getDimSize(axis);
}

static void readScales(ForwardOp forward, ForwardFacts &facts) {
  facts.is8Bit = forward.hasScales();
  for (unsigned operand : {0, 1, 2})
    facts.scaleRows[operand] = forward.getScaleRows(operand);
  facts.transposedV = forward.getTransposedV();
  facts.queryTerms = forward.getQTerms();
  facts.largestWeight = getLargestWeight(forward.getValueElementType());
  llvm::raw_string_ostream(facts.weightType) << forward.getValueElementType();
}

static LogicalResult readPlaces(ForwardOp forward, ForwardFacts &facts) {
  FailureOr<int64_t> queries =
      getConsecutiveRows(forward, attention::Sequence::query);
  FailureOr<int64_t> keys =
      getConsecutiveRows(forward, attention::Sequence::key);
  if (failed(queries) || failed(keys))
    return failure();
  facts.consecutiveQueries = *queries;
  facts.consecutiveKeys = *keys;
  return success();
}

FailureOr<ForwardFacts>
fa3::readForwardFacts(HostFunction &host,
                      const std::optional<GroupPacking> &packing,
                      tile::LoadPolicy loads) {
  ForwardOp forward = host.forward;
  ForwardFacts facts;
  facts.d = getTileWidth(forward.getHeadDim());
  facts.dv = getTileWidth(forward.getValueHeadDim());
  if (forward.getQv())
    facts.d += facts.dv;
  if (forward.hasNibbles())
    facts.demand.packedBytes = (facts.d + facts.dv) / 2;
  for (Region *region : {&forward.getScoreMod(), &forward.getMaskMod()})
    addRegionDemand(*region, loads, facts.demand);
  facts.demand.keySpan = getKeySpan(forward.getKeepMod());
  // What a span has in common is counted once for all.
  RegionDemand ofKept;
  addRegionDemand(forward.getKeepMod(), loads,
                  facts.demand.keySpan ? ofKept : facts.demand);
  if (facts.demand.keySpan) {
    facts.demand.loadedTiles += ofKept.loadedTiles;
    facts.demand.bulkTiles += ofKept.bulkTiles;
    facts.demand.bulkBytes += ofKept.bulkBytes;
  }
  facts.rows = getStaticQueries(forward);
  facts.knowsQueries = facts.rows.has_value();
  // Parts are for few queries.
  if (host.splits && !facts.rows)
    facts.rows = 1;
  if (packing) {
    facts.packsGroups = true;
    facts.rowsPerQuery = packing->rows;
    if (facts.rows)
      *facts.rows *= packing->rows;
  }
  facts.keys = getStaticKeys(forward);
  facts.band = getWidthOfBand(host);
  facts.hasLengths = forward.hasLengths();
  facts.hasMask = !forward.getMaskMod().empty();
  facts.hasAux = !forward.getAux().empty();
  if (auto sizes = forward.getSizesOfBlocks())
    facts.listed = {sizes->first, sizes->second};
  readScales(forward, facts);
  if (failed(readPlaces(forward, facts)))
    return failure();
  return facts;
}

void fa3::remarkNumbers(ForwardOp forward, const ForwardFacts &facts,
                        const ForwardPlan &plan) {
  if (!plan.tileWithoutNumbers)
    return;
  TileChoice tile = plan.tile, plain = *plan.tileWithoutNumbers;
  forward.emitRemark("takes tiles of ")
      << tile.blockM << " x " << tile.blockN << ", not " << plain.blockM
      << " x " << plain.blockN << ": mask or score code keeps "
      << facts.demand.keyNumbers << " integers of every key in registers";
}
