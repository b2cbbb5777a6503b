//===- BackwardFacts.cpp - what a plan asks of a gradient -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "BackwardFacts.h"
#include "../Auxiliary/BackwardAux.h"
#include "../Emit/Places.h"
#include "../Emit/ScalarRegion.h"
#include "KeptValues.h"
#include "ScoreRange.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa3;
using attention::BackwardOp;
using attention::HostFunction;
using attention::Sequence;

/// Tiles that score code and its gradient keep alive or load. `spans`: queries
/// and keys for which what is the same for all of them is read once.
static BackwardDemand
readDemand(BackwardOp op, std::optional<std::pair<int64_t, int64_t>> spans,
           bool isSilent) {
  constexpr int64_t kConversion = 2;
  BackwardDemand demand;
  RegionDemand all;
  for (Region *region : {&op.getScoreMod(), &op.getScoreGradRegion()})
    addRegionDemand(*region, tile::LoadPolicy::Threads, all, spans, isSilent);
  demand.scoresUseNumbers = all.keyUses >= kConversion;
  addRegionDemand(op.getMaskMod(), tile::LoadPolicy::Threads, all, spans,
                  isSilent);
  RegionDemand ofKept;
  addRegionDemand(op.getKeepMod(), tile::LoadPolicy::Threads, ofKept, spans,
                  isSilent);
  demand.dropsWeights = !op.getKeepMod().empty();
  demand.loadedTiles =
      all.loadedTiles + all.bulkTiles + ofKept.loadedTiles + ofKept.bulkTiles;
  demand.usesNumbers = all.keyUses >= kConversion;
  demand.hasLargeScores = mayBeLarge(op.getScoreMod(), kLargeScoreOfGradients);
  demand.isMasked = !op.getMaskMod().empty();
  demand.hasScoreCode = !op.getScoreMod().empty();
  demand.readsElements = all.readsElements;
  demand.widensHalf =
      demand.loadedTiles > 0 && llvm::any_of(op.getAux(), [](Value array) {
        return cast<RankedTensorType>(array.getType()).getElementType().isF16();
      });
  Region &gradient = op.getScoreGradRegion();
  // What the derivative is made of, beside the gradient that it multiplies.
  if (!gradient.empty()) {
    Value yielded =
        cast<attention::YieldOp>(gradient.front().getTerminator()).getValue();
    demand.keptTiles = yielded != gradient.getArgument(1);
  }
  demand.sharedValues = countSharedValues(op.getScoreMod(), gradient);
  for (Region *region : {&op.getScoreMod(), &op.getMaskMod()})
    addKeptValues(*region, spans, demand);
  demand.masksAll = demand.isMasked && isSameForAll(op.getMaskMod());
  return demand;
}

static LogicalResult verifyPlaces(BackwardOp op) {
  for (auto sequence : {Sequence::query, Sequence::key}) {
    FailureOr<int64_t> rows = getConsecutiveRows(op, sequence);
    if (failed(rows))
      return failure();
    if (*rows != 0)
      return op.emitOpError("has ")
             << (sequence == Sequence::query ? "queries" : "keys")
             << " of which only " << *rows
             << " lie one behind the other, expects all";
  }
  return success();
}

FailureOr<BackwardFacts> fa3::readBackwardFacts(HostFunction &host) {
  BackwardOp op = host.backward;
  if (!op.getScoreMod().empty() && op.getScoreGradRegion().empty())
    return op.emitOpError("has score code without 'score_grad': run "
                          "attention-derive-gradient first");
  if (!op.getEpilogue().empty() && op.getEpilogueGradRegion().empty())
    return op.emitOpError("has code on the output without 'epilogue_grad': run "
                          "attention-derive-gradient first");
  if (failed(verifyPlaces(op)))
    return failure();
  BackwardFacts facts;
  facts.d = op.getHeadDim();
  facts.dv = op.getValueHeadDim();
  bool masksBlocks = op.getSizesOfBlocks() && !op.getMaskMod().empty();
  facts.demand = readDemand(op, std::nullopt, /*isSilent=*/masksBlocks);
  if (masksBlocks)
    facts.demandOfBlocks =
        readDemand(op, op.getSizesOfBlocks(), /*isSilent=*/false);
  facts.hasLengths = op.hasLengths();
  facts.hasCopies = op.hasScales();
  facts.hasPlaces = op.hasPlace(Sequence::query) || op.hasPlace(Sequence::key);
  facts.knowsHeads =
      getConstantIntValue(host.heads) && getConstantIntValue(host.keyHeads);
  // Rows of all sequences are not the length of one.
  auto getLength = [&](Sequence sequence, Value extent) {
    return op.hasPlace(sequence) ? std::nullopt : getConstantIntValue(extent);
  };
  facts.queries = getLength(Sequence::query, host.queries);
  facts.keys = getLength(Sequence::key, host.keys);
  facts.listed = op.getSizesOfBlocks();
  // Those of operands that the output is edited with come with delta.
  for (int64_t number : op.getAuxNumbers(/*ofEpilogue=*/false)) {
    FailureOr<attention::AuxPlace> place = attention::getAuxPlace(op, number);
    if (failed(place))
      return failure();
    facts.aux.push_back(getAuxProducts(*place));
  }
  return facts;
}
