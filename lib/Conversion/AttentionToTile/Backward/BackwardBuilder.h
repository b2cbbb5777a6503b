//===- BackwardBuilder.h - body of one backward kernel ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The class that emits it. BackwardBody.cpp has rows in memory, loops and the
// grid, BackwardLists.cpp loops over lists of blocks, BackwardStep.cpp one
// block of scores, BackwardAuxStep.cpp and BackwardTableStep.cpp what gradients
// of auxiliary operands need.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDBUILDER_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDBUILDER_H

#include "../Emit/KernelMath.h"
#include "../Emit/ListedLoop.h"
#include "../Emit/ScalarRegion.h"
#include "BackwardStep.h"

namespace fa3 {

/// Emits the body of one kernel.
class BackwardBuilder : KernelMath {
public:
  BackwardBuilder(mlir::OpBuilder &builder, attention::BackwardOp op,
                  const BackwardOperands &operands, const BackwardPart &part)
      : KernelMath(op.getLoc(), builder), op(op), operands(operands),
        products(part.products), rows(part.tile.blockM),
        columns(part.tile.blockN),
        sequences(b, op, operands, operands.captures), scale(operands.scale) {}

  void build();

private:
  using Value = mlir::Value;
  using Sequence = attention::Sequence;
  using Expander = ScalarRegionExpander;

  /// The sums that a kernel carries: those of dq or dk, and those of dv, or
  /// those of an auxiliary operand, and beside dq the weights of the rows, in
  /// parts; null where there are none.
  struct Sums {
    Value ofGradients, ofWeights, ofAux, ofRows;
    llvm::SmallVector<Value> list() const {
      llvm::SmallVector<Value> values;
      for (Value value : {ofGradients, ofWeights, ofAux, ofRows})
        if (value)
          values.push_back(value);
      return values;
    }
  };
  /// What stays while the loop runs, or comes with a step: rows of q or k and
  /// of do or v, and for queries their statistics.
  struct Rows {
    Value first; ///< number of the first row
    /// What products of scores and of gradients of weights take, of q or k and
    /// of do or v, in 8 bits where there are copies.
    Value forScores, forGradients;
    /// Rows of q or k, and of do, that are summed up, each with its weight;
    /// null where no sum needs them. Without copies they are the same.
    Value elements, values;
    Value shift, delta, rest, dqRate;
  };
  /// Parts of the sum of a row, as in the forward.
  static constexpr int64_t kPartialSums = 8;

  Sums makeSums(mlir::ValueRange values) const {
    Sums sums;
    if (values.empty())
      return sums;
    if (products.aux != BackwardProducts::None)
      sums.ofAux = values.front();
    else if (products.needsGradient())
      sums.ofGradients = values.front();
    if (products.dv || products.sumsWeights)
      (products.dv ? sums.ofWeights : sums.ofRows) = values.back();
    return sums;
  }
  Sums makeZeros();
  /// Rows of an array of the sequence, and statistics of queries.
  /// With `areSummed` they are summed up over, each with its weight: behind a
  /// sequence that is 0, and what lies there has to be a number, so 0 as well.
  Value load(Value memref, Sequence sequence, Value first, int64_t count,
             bool areSummed);
  Value loadStatistic(Value memref, Value first, int64_t count);
  Rows loadQueries(Value first, int64_t count, bool areSummed);
  Rows loadKeys(Value first, int64_t count, bool areSummed);
  void store(Value sum, Value target, Value first, Value factor);

  /// The product of the scales of two 8-bit copies, of the head at hand; null
  /// without any.
  Value loadUnit(unsigned ofQueries, unsigned ofKeys);
  /// Reads what scores and gradients of weights are in units of.
  void readUnits();

  /// From `first` on, or from 0.
  Sums loop(Value end, Sums init, llvm::function_ref<Sums(Value, Sums)>,
            Value first = {});
  /// The steps of one head.
  Sums buildColumns(const Rows &own, Sums sums);
  /// The same over the blocks that are listed for the tile.
  Sums buildListed(const Rows &own, Sums sums);
  void buildOfQueries(Value first);
  void buildOfKeys(Value first);

  /// Which pairs of a block count, which of those of a block that is visible as
  /// a whole, and which are work; none for all.
  struct Pairs {
    std::optional<Expander::Entry> keep, always, work;
  };
  Expander::Entry isInside(Expander::Entry entry, Sequence sequence);
  /// Numbers of rows or columns.
  Value numbers(Value first, int64_t count) {
    return tile::CoordOp::create(b, tensor({count}, b.getIndexType()), 0,
                                 first);
  }
  /// Binds what regions ask for beside the place of a pair, and gives it.
  BlockPlace bindArrays(Expander &expander, Value firstRow, Value firstColumn);
  /// Binds what score and mask code ask of a block.
  Pairs bindBlock(Expander &expander, const Rows &own, const ListedStep &step);
  Sums buildBlock(const Rows &own, Value firstColumn, Sums sums) {
    return buildBlock(
        own, {Value(), firstColumn, firstColumn, Value(), Value()}, sums);
  }
  /// The same of a step of lists.
  Sums buildBlock(const Rows &own, const ListedStep &step, Sums sums);
  Sums buildStep(const Rows &own, const Rows &other, Value keep,
                 Expander &expander, Sums sums);
  /// The products of the rows of two tiles.
  Value dot(Value lhs, Value rhs);
  /// A statistic of the queries as a tile of scores.
  Value along(Value statistic);
  /// A score less the logarithm of its row's sum, in units of exponents.
  Value buildExponents(Value scores, Value factor, const Rows &queries);
  /// Binds the scores that the gradient of score code is of, too.
  Value buildWeights(Value scores, Value keep, const Rows &queries,
                     Expander &expander);
  /// Gradients of scores from those of weights. `isKept` says which weights are
  /// not dropped, null for all.
  Value derive(Value weights, Value gradients, Value keep, Value isKept,
               const Rows &queries, Expander &expander);
  Value narrow(Value wide);
  /// Adds the product of a tile of scores and the rows that it weighs.
  Value addProduct(Value weights, Value rows, Value sum);
  /// Adds what a step gives to dq, in memory.
  void addToQueries(Value part, const Rows &queries);
  /// What the rounding of lse left of exponents, of sums of weights: stored,
  /// and dq with it.
  void storeNormalized(const Sums &sums, const Rows &own);

  /// Adds what a block of pairs gives the elements of an auxiliary operand.
  Value addToAux(Expander &expander, Value keep, Value sum);
  /// What a block of pairs adds to an auxiliary operand, pair by pair.
  Value buildAuxTerms(Expander &expander, Value keep);
  /// Adds terms to the sums of a table, to those of a number.
  void addToTable(Expander &expander, Value terms, Value number);
  void buildAuxOfTable(Value first);
  /// Whether several blocks of pairs read the same elements of a table, and are
  /// summed up one after the other.
  bool walksOverBlocks();
  bool walksAlongDiagonals();
  /// Blocks of a sequence that a CTA sums up: the first query and key, and how
  /// many along the diagonal.
  struct Walk {
    Value query, key, count;
  };
  /// Sequences that a walk sums up.
  int64_t getSequencesOfWalk();
  Value countWalks();
  Walk getWalk(Value number);
  void buildAuxOfWalks();
  void buildAuxOfPairs();
  void buildAuxOfRows(Value first);
  void storeAux(Value sum, Value firstQuery, Value firstKey);

  Value getHead(Sequence sequence) const {
    return sequence == Sequence::query ? head : keyHead;
  }

  /// Whether loops over lists are divided where the second one begins, and read
  /// one list each: fused kernels with a mask, which have few registers.
  bool dividesLists();
  /// Whether columns beyond the end have to be masked.
  bool needsColumns();
  /// Whether the last block of a sequence may have rows that are not there.
  bool mayBeCut(Sequence sequence, int64_t size);
  bool endsEarly() { return SequenceCode::endsEarly(op); }
  bool hasScoreCode() { return !op.getScoreMod().empty(); }
  float getFactorOfKept() {
    return llvm::cast<attention::ScoredOpInterface>(op.getOperation())
        .getFactorOfKept();
  }

  attention::BackwardOp op;
  const BackwardOperands &operands;
  BackwardProducts products;
  int64_t rows, columns;
  /// What is known of the sequence at hand.
  SequenceCode sequences;
  Value head, keyHead;
  /// Results of score code that are the same in all blocks of a walk.
  llvm::SmallVector<std::pair<Value, Expander::Entry>> shared;
  Value group; ///< heads that share a key head
  /// The factor of scores, and that of gradients of weights, null for 1.
  Value scale, unitOfGradients;
  Value heads; ///< of queries, how many
};

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDBUILDER_H
