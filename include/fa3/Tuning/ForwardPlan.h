//===- ForwardPlan.h - how a forward is tiled -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Facts of an attention go in, a plan of its kernel comes out: no IR is looked
// at and none is made. attention-to-tile reads the facts from an operation and
// builds what the plan says; a test can write the facts down.
//===----------------------------------------------------------------------===//

#ifndef FA3_TUNING_FORWARDPLAN_H
#define FA3_TUNING_FORWARDPLAN_H

#include "fa3/Options/Options.h"
#include "fa3/Tuning/TileChoice.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include <array>
#include <optional>
#include <utility>

namespace llvm {
class raw_ostream;
}

namespace fa3 {

/// What a plan depends on. Sizes are 0 or missing where only the launch knows
/// them.
struct ForwardFacts {
  /// Columns of a tile of q and k, and of one of v: head dims in whole steps of
  /// 8. Columns of qv are counted as some of q and k.
  int64_t d = 0, dv = 0;
  RegionDemand demand;
  /// Whether the compiler knows how many queries there are; and rows that they
  /// take, of which parts of the keys need a number in any case.
  bool knowsQueries = false;
  std::optional<int64_t> rows;
  /// Rows of a tile that are of one query: those of a packed group.
  int64_t rowsPerQuery = 1;
  bool packsGroups = false;
  std::optional<int64_t> keys;
  /// Keys that a query sees at most: those of a window.
  std::optional<int64_t> band;
  /// Whether sequences have lengths of their own; there is mask code; code
  /// reads auxiliary arrays.
  bool hasLengths = false, hasMask = false, hasAux = false;
  /// Queries and keys of the blocks that lists name, if there are lists.
  std::optional<std::pair<int64_t, int64_t>> listed;
  /// How many queries, and keys, lie one behind the other in memory; 0 for all.
  int64_t consecutiveQueries = 0, consecutiveKeys = 0;

  /// Whether operands have 8 bits and scales: for how many rows of q, k and v
  /// each (0: all of a sequence), numbers whose sum is an element of q, and the
  /// logarithm of the largest weight, whose type has a name.
  bool is8Bit = false, transposedV = false;
  std::array<int64_t, 3> scaleRows = {0, 0, 0};
  int64_t queryTerms = 1;
  double largestWeight = 15;
  std::string weightType;
};

/// Options of attention-to-tile that a plan obeys, as Options.td has them.
struct ForwardPlanOptions {
  int64_t blockM = 0, blockN = 0;
  options::Rescale rescale = options::Rescale::Lazy;
  double rescaleThreshold = -1;
  options::Choice twoLevel = options::Choice::Auto;
  int64_t twoLevelSteps = 0;
  options::LastBlock lastBlock = options::LastBlock::Auto;
  int64_t lastKeys = 0;
  bool endRows = true;
};

/// How weighted values are summed.
struct AccumulationPolicy {
  /// All rows share a reference, so that nothing is rescaled and no maximum
  /// needed; scores have to have bounds.
  bool sharesReference;
  /// The accumulator is rescaled only where a row maximum has grown much.
  bool lazy;
  /// log2 of the tolerated growth of a row maximum, lazy only.
  double threshold;
  /// Products start from zero and are added in fp32, instead of being
  /// accumulated inside the product: every step, or after some steps.
  bool twoLevel;
  int64_t stepsBetween;
  /// Rows end at the next tile's first: iterations and stores say so, and tiles
  /// may have different numbers of rows.
  bool endRows;
  /// Keys of a narrower block that comes first; 0 for none. Of a known number
  /// of keys it is what is left, rounded up to what products take. Else the
  /// launch asks whether what is left fits into it, or goes with the whole
  /// blocks.
  int64_t lastKeys;
  bool asksLast;
};

struct ForwardPlan {
  TileChoice tile = {0, 0};
  /// What else bounds the keys of a block beside registers.
  KeyRoom room = {};
  /// The tile that there would be if mask and score code kept no integers of a
  /// key in registers, where that is another one.
  std::optional<TileChoice> tileWithoutNumbers;
  /// Keys of a block that lie one behind the other: a block is loaded in pieces
  /// of as many. 0 if all do.
  int64_t pieceRows = 0;
  AccumulationPolicy accumulation = {};

  /// One line for each decision.
  void print(llvm::raw_ostream &os) const;
};

/// Decides how a forward is tiled. Fails after one call of `refuse`, with a
/// sentence whose subject is the operation: "has lists of ..., expects ...".
mlir::FailureOr<ForwardPlan>
planForward(const ForwardFacts &facts, const ForwardPlanOptions &options,
            llvm::function_ref<void(const llvm::Twine &)> refuse);

} // namespace fa3

#endif // FA3_TUNING_FORWARDPLAN_H
