//===- BackwardPlan.h - which kernels compute gradients ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Facts of a gradient go in, a plan of its kernels comes out: no IR is looked
// at and none is made, as in ForwardPlan.h.
//===----------------------------------------------------------------------===//

#ifndef FA3_TUNING_BACKWARDPLAN_H
#define FA3_TUNING_BACKWARDPLAN_H

#include "fa3/Options/Options.h"
#include "fa3/Tuning/TileChoice.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include <optional>

namespace llvm {
class raw_ostream;
}

namespace fa3 {

/// In gradients the logarithm of a row's sum stands for the maximum, as f32,
/// whose rounding is one of the weights: at most 2^-10 of them up to this
/// score.
inline constexpr double kLargeScoreOfGradients = 0x1p14;

/// What a backward kernel computes.
struct BackwardProducts {
  /// Rows are keys, for dk or dv or both; otherwise queries, for dq.
  bool ofKeys = false;
  bool dq = false, dk = false, dv = false;
  /// Or the gradient of an auxiliary operand: of an element for each pair, or
  /// of one for each row, along which pairs are summed up, or of a table, in
  /// which pairs say what they read.
  enum Aux { None, OfPairs, OfRows, OfTable } aux = None;
  /// Besides dk and dv what a step gives to dq, which is added in memory.
  bool addsDq = false;
  /// Whether these additions are of integers, whose sum is the same in every
  /// order.
  bool countsDq = false;
  /// Besides dq what is left of the logarithms of the queries' sums of weights
  /// when they are rounded, which the kernels behind it take.
  bool sumsWeights = false;
  /// Whether it needs the gradients of the weights: dv does not.
  bool needsGradient() const { return dq || dk || aux != None; }
  /// What the kernel is called, none for an auxiliary operand.
  llvm::StringRef getName() const;
};

/// One kernel.
struct BackwardPart {
  BackwardProducts products;
  TileChoice tile; ///< rows and columns of the scores of a step
};

/// Values that code makes of a query or a key alone, and meets pairs with.
struct KeptValues {
  /// What divisions make, elements that are read, conditions, and the rest;
  /// not the query or the key itself, or sums of it.
  int64_t quotients = 0, elements = 0, conditions = 0, others = 0;
  int64_t count() const { return quotients + elements + conditions + others; }
};

/// What is alive in registers beside the products of a step, in tiles of
/// scores: values that the gradient of score code reuses, and tiles that
/// threads load.
struct BackwardDemand {
  int64_t keptTiles = 0, loadedTiles = 0;
  /// How many values of a score its derivative shares with score code.
  int64_t sharedValues = 0;
  KeptValues ofQueries, ofKeys;
  /// Numbers of pairs that no score enters and that are no sums of the query
  /// and the key; quotients of pairs by what is no constant.
  int64_t ofPairs = 0;
  /// Whether masks or score code compute with the number of a key or query, a
  /// quarter of a tile; whether score code alone does.
  bool usesNumbers = false, scoresUseNumbers = false;
  /// Whether scores may be so large that rounded logarithms of sums do not say
  /// what weights are.
  bool hasLargeScores = false;
  bool isMasked = false;
  /// Whether the mask is the same for all pairs.
  bool masksAll = false;
  /// Whether masks or score code read an element for each query or key.
  bool readsElements = false;
  bool hasScoreCode = false;
  /// Whether code drops weights.
  bool dropsWeights = false;
  /// Whether tiles that threads load are of f16, which takes an instruction
  /// more to widen than bf16.
  bool widensHalf = false;
};

/// What a plan depends on.
struct BackwardFacts {
  int64_t d = 0, dv = 0;
  BackwardDemand demand;
  /// The same of the fused form where blocks are listed: what is the same for
  /// all pairs of a block is read once there.
  std::optional<BackwardDemand> demandOfBlocks;
  /// Whether sequences have lengths of their own.
  bool hasLengths = false;
  /// Whether sequences have places in memory, as packed ones.
  bool hasPlaces = false;
  /// Whether the products that contract head dims take 8-bit copies.
  bool hasCopies = false;
  /// Whether the compiler knows how many heads there are.
  bool knowsHeads = false;
  /// Of one sequence, where the compiler knows them.
  std::optional<int64_t> queries, keys;
  /// Queries and keys of a listed block, if blocks are listed.
  std::optional<std::pair<int64_t, int64_t>> listed;
  /// Kernels of gradients of auxiliary operands, in order.
  llvm::SmallVector<BackwardProducts> aux;
};

/// Options of attention-to-tile that a plan obeys, as Options.td has them.
struct BackwardPlanOptions {
  /// Rows and columns of the scores of a step in every kernel, 0 to choose.
  int64_t blockM = 0, blockN = 0;
  options::BackwardForm form = options::BackwardForm::Auto;
  /// Whether every run has to give the same bits.
  bool deterministic = false;
  /// Whether loops will have more than one stage: tiles of the next step are
  /// alive, too.
  bool pipelined = false;
};

struct BackwardPlan {
  /// The kernels behind that of delta, in order. dk and dv share one as long as
  /// both fit into registers beside a step of 32 queries. dq comes last, or
  /// first where it sums up weights. Or one kernel of all gradients, which adds
  /// dq in memory.
  llvm::SmallVector<BackwardPart> parts;
  /// Those of auxiliary operands, as the facts name them.
  llvm::SmallVector<BackwardPart> aux;

  /// Whether the first kernel says what the rounding of logarithms of sums
  /// left, which weighs where scores may be large.
  bool hasLargeScores = false;

  bool isFused() const { return parts.front().products.addsDq; }
  /// One line for each decision.
  void print(llvm::raw_ostream &os) const;
};

/// Decides which kernels compute a gradient and how they are tiled. Fails after
/// one call of `refuse`, with a sentence whose subject is the operation: "has
/// no fused form with ...".
mlir::FailureOr<BackwardPlan>
planBackward(const BackwardFacts &facts, const BackwardPlanOptions &options,
             llvm::function_ref<void(const llvm::Twine &)> refuse);

/// Queries or keys, whichever are more, below which the split form is faster
/// than the plan for lengths that are not known; 0 where that plan is the best
/// for all lengths.
int64_t getShortestOfPlan(const BackwardFacts &facts,
                          const BackwardPlanOptions &options);

} // namespace fa3

#endif // FA3_TUNING_BACKWARDPLAN_H
