//===- KernelBuilder.h - builds the body of an attention kernel -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Online softmax over key blocks, walked from the last to the first so that
// all blocks with masked elements of causal and padded problems come first.
//
// The running maximum m of a row is in units of exponents and starts from a
// finite value far below any. A masked score is -inf, so its exponent -inf - m
// is -inf and its weight 0 whatever m is: no guard against -inf - (-inf).
//
// Where score code may yield numbers of any size, m is in units of scores,
// starts from the least float, and is taken off before the product with
// log2(e): an instruction more for each score, and right up to the largest
// float.
//
// Kernel.cpp has the grid and the loop over key blocks, KernelBlocks.cpp a
// narrow one in front and the loops over lists of them, KernelStep.cpp what is
// done with one block and at the end.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_FORWARD_KERNELBUILDER_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_FORWARD_KERNELBUILDER_H

#include "../Emit/KernelMath.h"
#include "../Emit/ListedLoop.h"
#include "../Emit/ScalarRegion.h"
#include "../Emit/SequenceCode.h"
#include "Kernel.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

namespace fa3 {

/// Emits the kernel of one attention.
class KernelBuilder : KernelMath {
public:
  /// `op` is null for a kernel that merges what a caller has.
  KernelBuilder(mlir::OpBuilder &builder, attention::ForwardOp op,
                const KernelOperands &operands, TileChoice tile,
                AccumulationPolicy policy)
      : KernelMath(op ? op.getLoc() : operands.o.getLoc(), builder), op(op),
        operands(operands), rows(tile.blockM), columns(tile.blockN),
        wholeColumns(tile.blockN), policy(policy) {
    if (op && op.hasScales())
      weightExponent = getLargestWeight(op.getValueElementType()) -
                       (policy.lazy ? policy.threshold : 0);
  }

  mlir::LogicalResult build();
  /// The same for a kernel that merges parts, so many at once at most.
  void buildMerge(const AttentionResults &parts, int64_t atOnce);
  /// The same for a kernel that edits an output.
  void buildEdit(const AttentionResults &unedited);

private:
  using Expander = ScalarRegionExpander;

  /// Start value of the running maximum, finite so that differences are
  /// numbers: less than any exponent of sensible scores.
  static constexpr double kLowestMaximum = -0x1p100;
  double getLowestMaximum() const {
    return isLarge ? -std::numeric_limits<float>::max() : kLowestMaximum;
  }
  /// Partial sums per row; 8 columns apart is 2 registers a thread apart in the
  /// accumulator of wgmma, so they are summed without lane exchanges.
  static constexpr int64_t kPartialSums = 8;

  /// Carried from key block to key block: output, row maximum, row sums; with
  /// several steps between additions to the output the products since the last
  /// one; and if they are asked for, the largest scores, which the row maximum
  /// need not be: some for each row, as of its sums, of which lanes find the
  /// largest one in the end only.
  struct State {
    mlir::Value acc, maximum, sums, products, largest;

    /// Of what `list` gives.
    State with(mlir::ValueRange values) const {
      State next = {values[0], values[1], values[2], {}, {}};
      if (products)
        next.products = values[3];
      if (largest)
        next.largest = values.back();
      return next;
    }
    llvm::SmallVector<mlir::Value> list() const {
      llvm::SmallVector<mlir::Value> values = {acc, maximum, sums};
      for (mlir::Value value : {products, largest})
        if (value)
          values.push_back(value);
      return values;
    }
  };

  /// What the weights of a step refer to: the row maximum, where it has moved
  /// (lazy only), and what is added to the exponents of each row; null where
  /// the maximum is taken off the scores.
  struct Weighting {
    mlir::Value maximum, grown, shift;
  };

  /// What a score_mod region yields, as a value times a positive constant if
  /// the flags of the product allow it to be computed elsewhere. The constant
  /// is moderate: -2^100, the start of the running maximum, stays far below any
  /// score.
  static std::pair<mlir::Value, double> getYieldedFactor(mlir::Region &region);

  /// Rows of a tile that are of the same query.
  int64_t getRowsPerQuery() const {
    return operands.packing ? operands.packing->rows : 1;
  }
  mlir::IntegerAttr getFold() {
    return operands.packing ? b.getI64IntegerAttr(operands.packing->rows)
                            : mlir::IntegerAttr();
  }
  /// Where the rows of a tile start in q, without `element` in lse.
  llvm::SmallVector<mlir::Value> getPlace(mlir::Value firstQuery,
                                          mlir::Value element = {}) {
    llvm::SmallVector<mlir::Value> place =
        getRowPlace(attention::Sequence::query, head, firstQuery);
    if (operands.packing)
      place.push_back(index(0));
    if (element)
      place.push_back(element);
    return place;
  }
  /// The same in an array of parts.
  llvm::SmallVector<mlir::Value> getPartPlace(mlir::Value part,
                                              mlir::Value firstQuery,
                                              mlir::Value element = {}) {
    llvm::SmallVector<mlir::Value> place = getPlace(firstQuery, element);
    if (part)
      place.insert(place.begin(), part);
    return place;
  }
  /// Opens a grid over tiles of queries, `inner`, heads and sequences, and says
  /// which rows a tile has. Gives the first one.
  mlir::Value buildGrid(mlir::Value inner);
  /// The query, and the head, of each row of a tile of scores.
  std::pair<Expander::Entry, Expander::Entry> buildRows(mlir::Value firstQuery);

  /// Code on lengths and places.
  SequenceCode getSequences();
  /// What a region of lengths or places yields.
  llvm::SmallVector<mlir::Value> expandScalars(mlir::Region &region,
                                               mlir::ValueRange arguments);
  /// How many indices say where a row of q is.
  int64_t getRankOfRows();
  /// The lengths of the sequence at hand, and where its rows end.
  void buildLengths();
  /// Where a row of a sequence is in its arrays, without the element.
  llvm::SmallVector<mlir::Value> getRowPlace(attention::Sequence sequence,
                                             mlir::Value ofHead,
                                             mlir::Value row);

  /// Loads the keys from `firstKey` on, or their values, wherever they are.
  /// With `areClean` what lies behind the sequence reads as zero.
  mlir::Value loadKeys(mlir::Value memref, mlir::RankedTensorType type,
                       mlir::Value firstKey, bool areClean);
  /// The same of what is packed in memory.
  mlir::Value loadNibbles(mlir::Value memref, mlir::RankedTensorType type,
                          mlir::Value firstKey);
  /// Where the first key of a block is, or each of them where they are not one
  /// behind the other.
  llvm::SmallVector<mlir::Value> getKeyPlaces(mlir::Value firstKey);
  /// The place of a tile of numbers of keys: outside of the array, if the place
  /// is that of no page.
  llvm::SmallVector<mlir::Value> bringInside(mlir::Value array,
                                             mlir::ValueRange place);
  /// Scales of these keys, or of their values, as factors of the columns of
  /// scores; 0 behind the sequence.
  mlir::Value loadKeyScales(mlir::Value scales, mlir::ValueRange places,
                            mlir::Value firstKey);

  /// A scale of operand 0 (q), 1 (k) or 2 (v) for the rows of a tile: one f32,
  /// or a tile of rank 1 where every row has its own.
  mlir::FailureOr<mlir::Value> loadScale(unsigned operand, mlir::Value firstRow,
                                         int64_t rows);
  /// The rows of q, a tile for each of its terms, and those of qv.
  llvm::SmallVector<mlir::Value> loadQuery(mlir::Value firstRow);
  /// How many blocks of keys the loop has.
  mlir::Value countWholeBlocks();
  /// Whether the narrow block in front of the loop has keys, and is this
  /// part's; null if that is known.
  mlir::Value hasNarrowBlock(mlir::Value firstKey);
  /// What is left behind whole blocks, in a block of its own.
  mlir::FailureOr<State> buildNarrowBlock(mlir::ValueRange query,
                                          mlir::Value firstRow,
                                          mlir::Value blocks, State state);
  mlir::FailureOr<State> buildLoop(mlir::ValueRange query,
                                   mlir::Value firstRow);
  /// The same over the blocks of keys that are listed for the tile: those that
  /// the mask looks at, then those that are visible as a whole.
  mlir::FailureOr<State> buildListedLoop(mlir::ValueRange query,
                                         mlir::Value firstRow, State init);
  /// What is done with the keys from `firstKey` on, if a row may see one;
  /// `listed` is null without lists.
  mlir::FailureOr<State> buildBlock(mlir::ValueRange query,
                                    mlir::Value firstRow, mlir::Value firstKey,
                                    State state) {
    return buildBlock(query, firstRow, firstKey, state, ListedStep());
  }
  mlir::FailureOr<State> buildBlock(mlir::ValueRange query,
                                    mlir::Value firstRow, mlir::Value firstKey,
                                    State state, const ListedStep &listed);
  /// The products of all queries and keys, as f32, and those with values.
  mlir::Value buildScores(mlir::ValueRange query, mlir::Value key,
                          mlir::Value value);
  mlir::FailureOr<State> buildStep(mlir::ValueRange query, mlir::Value key,
                                   mlir::Value value, mlir::Value firstKey,
                                   Expander::Entry keep, Expander &expander,
                                   State state);
  /// The maximum of each row so far, of which `blockMaximum` is that of the
  /// step. `valueExponent`, if any, is the logarithm of a factor that the
  /// weights take from the scale of the values.
  Weighting buildReference(mlir::Value blockMaximum, mlir::Value exponentFactor,
                           mlir::Value valueExponent, State state);
  /// Whether the factor of scores in exponents differs from step to step.
  bool hasFactorOfStep() {
    return op.hasScales() && op.getScaleRows(1) > 1 && op.getScoreMod().empty();
  }
  /// The largest scores with those of a step, of which `parts` are the largest.
  mlir::Value addLargest(mlir::Value largest, mlir::Value parts,
                         mlir::Value exponentFactor);
  /// The largest score of each row.
  mlir::Value buildMaxLogits(mlir::Value largest);
  /// Stores the largest scores of the rows.
  void storeMaxLogits(mlir::Value maxLogits, mlir::Value firstRow);
  /// The reference of all rows; an error if their scores have no bounds that
  /// allow one, or their weights not the range of f32.
  mlir::LogicalResult chooseSharedReference();
  State accumulate(State state, mlir::Value maximum, mlir::Value grown,
                   mlir::Value weights, mlir::Value values, mlir::Value sums,
                   mlir::Value valueScale);
  /// The weights that the product with the values takes, without their common
  /// factor.
  mlir::Value dropWeights(mlir::Value weights, Expander &expander);
  State addProducts(State state);
  void buildEpilogue(State state, mlir::Value firstRow);
  /// What weights sum up to and their maximum, with other scores added: the
  /// factor of what was summed up before (none: 1), and the weight of previous
  /// results.
  struct RowSums {
    mlir::Value sum, maximum, fraction, previous;
  };
  /// One more score, which may be larger than all that the sum refers to.
  void addSink(RowSums &sums);
  /// As many more scores as previous results have summed up, of which only lse
  /// is known.
  void addPreviousSum(RowSums &sums, mlir::Value firstRow);
  /// Weights of scores in units of `maximum`.
  mlir::Value getWeights(mlir::Value scores, mlir::Value maximum);
  /// Stores columns of the output from `firstColumn` on, edited and as they
  /// are.
  void storeOutput(mlir::Value out, mlir::Value firstRow,
                   mlir::Value firstColumn);
  /// The output as the `epilogue` region edits it.
  mlir::Value editOutput(mlir::Value out, mlir::Value firstRow,
                         mlir::Value firstColumn);
  /// Rounds a tile to the elements of an array, and stores it where `place`
  /// says.
  void storeRounded(mlir::Value tile, mlir::Value array,
                    mlir::ValueRange place);
  mlir::Value buildLogarithm(mlir::Value sum, mlir::Value maximum,
                             mlir::Value empty);
  /// Parts that were summed up: weighted outputs, the largest lse, the sum of
  /// the weights.
  struct Merged {
    mlir::Value acc, maximum, sum;
  };
  /// Results of one of `count` parts. Of parts of a fixed number of keys there
  /// may be fewer: the others have no keys.
  AttentionResults loadPart(const AttentionResults &parts, mlir::Value number,
                            mlir::Value count, mlir::Value firstRow,
                            mlir::Value firstColumn);
  /// Adds parts that were loaded; `largest` are the largest scores, if they are
  /// asked for.
  void addParts(Merged &merged, mlir::Value &largest,
                llvm::MutableArrayRef<AttentionResults> parts);
  /// What adds nothing to an output, of parts of a fixed number of keys not
  /// even to the sign of zero.
  double getNoOutput() const { return operands.partKeys ? -0.0 : 0.0; }
  /// The same with one more score for each row, in natural units.
  Merged addSinks(const Merged &parts);
  /// The same with previous results, of columns from `firstColumn` on.
  Merged addPrevious(const Merged &parts, mlir::Value firstRow,
                     mlir::Value firstColumn);
  /// Previous results in memory, by the threads that use them: an output of
  /// the rows, 0 where its weight is, and the lse.
  mlir::Value loadPreviousOutput(mlir::Value weight, int64_t width,
                                 mlir::Value firstRow, mlir::Value firstColumn);
  mlir::Value loadPreviousLse(mlir::Value firstRow);
  /// What others have written, by the threads that use it.
  mlir::Value loadByThreads(mlir::RankedTensorType type, mlir::Value memref,
                            mlir::ValueRange place);
  /// An output, 0 (or -0) where its weight is: it may be anything there.
  mlir::Value dropUnweighted(mlir::Value output, mlir::Value weight,
                             double none);
  /// Stores the output and, for all columns once, lse and largest scores.
  void storeMerged(const Merged &merged, mlir::Value largest,
                   mlir::Value firstRow, mlir::Value firstColumn);
  /// The output, and whether nothing was summed up.
  std::pair<mlir::Value, mlir::Value> divideMerged(const Merged &parts);
  mlir::Value buildMergedSum(const Merged &parts, mlir::Value empty);
  /// Output and lse of one part with sinks, or previous results, with the bits
  /// that a merge of parts of which the others have no keys gives.
  std::pair<mlir::Value, mlir::Value>
  mergeOnePart(mlir::Value output, mlir::Value lse, mlir::Value firstRow);
  /// A difference of maxima, or of scores, in units of exponents.
  mlir::Value asExponent(mlir::Value difference) {
    if (!isLarge)
      return difference;
    return mul(difference, splat(difference.getType(), llvm::numbers::log2e));
  }
  /// The exponents of the weights of a step.
  mlir::Value buildExponents(mlir::Value scores, mlir::Value factor,
                             const Weighting &weighting);
  /// The sink of each row, in units of its maximum.
  mlir::Value buildSinks();

  mlir::RankedTensorType rowType() { return tensor({rows}, b.getF32Type()); }
  mlir::Value alongColumns(mlir::Value row, int64_t width) {
    return tile::BroadcastOp::create(b, tensor({rows, width}, b.getF32Type()),
                                     row, 1);
  }
  /// A factor of rows, one f32 or one for each, as a tile of rows.
  mlir::Value asRows(mlir::Value factor) {
    return llvm::isa<mlir::RankedTensorType>(factor.getType())
               ? factor
               : scalarTile(factor, rowType());
  }
  /// The same as a tile of scores.
  mlir::Value asScores(mlir::Value factor) {
    if (llvm::isa<mlir::RankedTensorType>(factor.getType()))
      return alongColumns(factor, columns);
    return scalarTile(factor, tensor({rows, columns}, b.getF32Type()));
  }
  /// The product of two factors of rows.
  mlir::Value mulFactors(mlir::Value x, mlir::Value y) {
    bool isScalar = !llvm::isa<mlir::RankedTensorType>(x.getType()) &&
                    !llvm::isa<mlir::RankedTensorType>(y.getType());
    if (isScalar)
      return mul(x, y);
    mlir::Value ofY = asRows(y), ofX = asRows(x);
    return mul(ofX, ofY);
  }
  attention::ForwardOp op;
  const KernelOperands &operands;
  int64_t rows, columns;
  /// Columns of a block that is not narrow.
  const int64_t wholeColumns;
  AccumulationPolicy policy;
  /// Whether this is a kernel that merges parts, which has no keys.
  bool merges = false;

  mlir::Value batch, head, keyHead, queryLength, keyLength;
  mlir::Value heads; ///< of queries, how many
  /// Where sequences of queries start, one behind the other; null if they do
  /// not.
  mlir::Value starts;
  /// The part of the keys, or what else is inside of the grid; null for none.
  mlir::Value part;
  /// Multiplies scores inside exp2: one f32, or one for each row.
  mlir::Value exponentScale;
  /// Multiplies raw scores in front of score code.
  mlir::Value scoreScale;
  /// Multiplies the output in the end; null for 1.
  mlir::Value outputScale;
  /// Behind the last row of the tile, or of the sequence, if rows are to end
  /// there; and where that is in o and lse.
  mlir::Value endRow, storeEnd;
  /// What all rows have in place of a maximum.
  std::optional<double> sharedReference;
  /// Whether scores may be too large for exponents with one rounding.
  bool isLarge = false;
  /// Number of the step, counted in key blocks.
  mlir::Value iteration;
  /// Whether nothing has been summed up in front of the step, so that there is
  /// nothing to rescale.
  bool isFirst = false;
  /// log2 of the factor of all weights.
  double weightExponent = 0;
};
} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_FORWARD_KERNELBUILDER_H
