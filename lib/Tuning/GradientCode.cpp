//===- GradientCode.cpp - registers of code in gradients ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tiles count what every gradient keeps. Code of a mask or a score keeps more:
// what it makes of a column stays for all rows of a step, and numbers that no
// score enters come before the products.
//===----------------------------------------------------------------------===//

#include "GradientCode.h"
#include "fa3/Machine/RegisterModel.h"
#include <algorithm>

using namespace fa3;

static const RegisterModel &getModel() { return getRegisterModel(kSm90a); }

/// Columns of a head from which it is not short, and of a block of shared
/// memory.
static constexpr int64_t kShortHead = 128, kBlock = 64;

static int64_t getLongest(const BackwardFacts &facts) {
  return std::max(facts.d, facts.dv);
}

static bool isShort(const BackwardFacts &facts) {
  return getLongest(facts) < kShortHead;
}

/// Whether the last block of shared memory has less columns than others.
static bool isUneven(const BackwardFacts &facts) {
  return facts.d % kBlock || facts.dv % kBlock;
}

static bool knowsLengths(const BackwardFacts &facts) {
  return facts.queries && facts.keys;
}

/// Whether a mask hides a derivative. Beside two tiles that threads load, what
/// is counted for them is enough.
static bool hidesDerivative(const BackwardDemand &demand) {
  return demand.keptTiles && demand.isMasked && demand.loadedTiles < 2;
}

/// Whether such a mask keeps something, too.
static bool keepsBesideMask(const BackwardDemand &demand) {
  return hidesDerivative(demand) &&
         demand.ofQueries.count() + demand.ofKeys.count() > 0;
}

static bool sharesMany(const BackwardDemand &demand) {
  return hidesDerivative(demand) &&
         demand.sharedValues >= getModel().manyShared;
}

/// Of a derivative where queries are columns.
static int64_t countQuartersOfDerivative(const BackwardDemand &demand) {
  const RegisterModel &model = getModel();
  if (sharesMany(demand))
    return model.sharedQuarters;
  return keepsBesideMask(demand) ? model.besideQuarters : 0;
}

/// Of all code there, beside the sums of both gradients.
static int64_t countQuartersOfKeys(const BackwardFacts &facts) {
  const RegisterModel &model = getModel();
  const BackwardDemand &demand = facts.demand;
  // A coordinate as a number is counted already, and so is where an element is
  // that is read for each pair.
  int64_t columns = demand.ofQueries.quotients + demand.ofQueries.elements -
                    demand.usesNumbers - (demand.loadedTiles >= 2);
  int64_t quarters = std::max<int64_t>(columns, 0) * model.columnQuarters;
  if (demand.ofPairs && isShort(facts))
    quarters += model.pairQuarters;
  return quarters + countQuartersOfDerivative(demand);
}

static int64_t countRegistersOfKeys(const BackwardFacts &facts) {
  const RegisterModel &model = getModel();
  const BackwardDemand &demand = facts.demand;
  int64_t registers = 0;
  // What lies outside is not read, and rows end at the next tile's first.
  if (demand.loadedTiles == 1 && knowsLengths(facts))
    registers +=
        (isShort(facts) ? model.guardedLoads : model.guardedLoadsOfLong) +
        2 * demand.ofQueries.conditions;
  if (demand.hasLargeScores && demand.loadedTiles == 2)
    registers += model.loadsBesideLarge;
  if (demand.hasLargeScores && demand.ofKeys.elements)
    registers += model.rowElements;
  if (!isUneven(facts))
    return registers;
  if (demand.ofKeys.quotients + demand.ofKeys.conditions >= 2)
    registers += model.unevenRows;
  if (demand.sharedValues >= 2 && !knowsLengths(facts))
    registers += model.unevenShared;
  return registers;
}

/// Where keys are columns. The sums of one gradient leave some room.
static int64_t countQuartersOfQueries(const BackwardDemand &demand) {
  const RegisterModel &model = getModel();
  int64_t quarters = 0;
  if (demand.ofKeys.quotients + demand.ofKeys.others >= model.manyKeyQuotients)
    quarters += model.keyQuarters;
  if (sharesMany(demand))
    quarters += model.sharedQuarters;
  else if (demand.sharedValues >= 2 && keepsBesideMask(demand))
    quarters += model.besideQuarters;
  return quarters;
}

CodeNeeds fa3::countCode(const BackwardFacts &facts,
                         const BackwardProducts &products) {
  // Kernels of auxiliary operands have narrow steps, and that of dv alone no
  // derivative.
  if (products.aux != BackwardProducts::None)
    return {};
  if (!products.ofKeys)
    return {countQuartersOfQueries(facts.demand), 0};
  if (products.dk && products.dv)
    return {countQuartersOfKeys(facts), countRegistersOfKeys(facts)};
  return {products.dk ? countQuartersOfDerivative(facts.demand) : 0, 0};
}

int64_t fa3::countQuartersOfFused(const BackwardDemand &demand) {
  // One column keeps as much as a tile: what is left fits nowhere else.
  constexpr int64_t kOfTile = 2;
  bool keeps = demand.ofQueries.quotients || demand.ofQueries.elements ||
               demand.ofPairs || demand.masksAll;
  return keeps ? kOfTile : 0;
}
