//===- BackwardTiles.h - tiles of backward kernels --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Which kernels the gradients of k and v are computed by, and their block
// sizes. Plain numbers: no IR is built.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARDTILES_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARDTILES_H

#include "ScalarRegion.h"
#include "fa3/Tuning/TileChoice.h"

namespace fa3 {

/// What a backward kernel computes.
struct BackwardProducts {
  /// Rows are keys, for dk or dv or both; otherwise queries, for dq.
  bool ofKeys = false;
  bool dq = false, dk = false, dv = false;
  /// Or the gradient of an auxiliary operand: of an element for each pair, or
  /// of one for each row, along which pairs are summed up.
  enum Aux { None, OfPairs, OfRows } aux = None;
  /// Besides dk and dv what a step gives to dq, which is added in memory.
  bool addsDq = false;
  /// Besides dq what is left of the logarithms of the queries' sums of weights
  /// when they are rounded, which the kernels behind it take.
  bool sumsWeights = false;
  /// Whether it needs the gradients of the weights: dv does not.
  bool needsGradient() const { return dq || dk || aux != None; }
};

/// One kernel.
struct BackwardPart {
  BackwardProducts products;
  TileChoice tile; ///< rows and columns of the scores of a step
};

/// What is alive in registers beside the products of a step, in tiles of
/// scores: values that the gradient of score code reuses, and tiles that
/// threads load.
struct BackwardDemand {
  int64_t keptTiles = 0, loadedTiles = 0;
  /// Whether masks or score code compute with the number of a key or query, a
  /// quarter of a tile; whether score code alone does.
  bool usesNumbers = false, scoresUseNumbers = false;
  /// Whether loops are pipelined: tiles of the next step are alive, too.
  bool pipelined = false;
  /// Registers that numbers of sequences take: where rows start and end.
  int64_t sequenceRegisters = 0;
  /// Whether scores may be so large that rounded logarithms of sums do not say
  /// what weights are.
  bool hasLargeScores = false;
  bool isMasked = false;
  /// Whether code drops weights.
  bool dropsWeights = false;
  /// Whether tiles that threads load are of f16, which takes an instruction
  /// more to widen than bf16.
  bool widensHalf = false;
};

/// The block sizes of a kernel.
TileChoice chooseBackwardTile(const BackwardProducts &products, int64_t d,
                              int64_t dv, const BackwardDemand &demand);

/// The kernels behind that of delta, in order. dk and dv share one as long as
/// both fit into registers beside a step of 32 queries. dq comes last, or first
/// where it sums up weights.
llvm::SmallVector<BackwardPart> planBackward(int64_t d, int64_t dv,
                                             const BackwardDemand &demand);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARDTILES_H
