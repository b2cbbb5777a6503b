//===- Kernel.cpp - body of a tiled attention kernel ----------------------===//
//
// Online softmax over key blocks, walked from the last to the first so that
// all blocks with masked elements of causal and padded problems come first.
//
// The running maximum m of a row is in raw score units and starts from a finite
// value far below any score. A masked score is -inf, so its exponent -inf - m
// is -inf and its weight 0 whatever m is: no guard against -inf - (-inf).
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "ScalarRegion.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa3;

using Expander = ScalarRegionExpander;

static bool isFloat8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

double fa3::getLargestWeight(Type element) {
  return isa<Float8E4M3FNType>(element) ? 8 : 15;
}

/// What a score region yields, as a value times a positive constant if the
/// flags of the product allow it to be computed elsewhere. The constant is
/// moderate: -2^100, the start of the running maximum, stays far below any
/// score.
static std::pair<Value, double> getYieldedFactor(Region &region) {
  constexpr double kLeast = 0x1p-20, kMost = 0x1p20;
  Value yielded =
      cast<attention::YieldOp>(region.front().getTerminator()).getValue();
  auto product = yielded.getDefiningOp<arith::MulFOp>();
  if (!product || product->getBlock() != &region.front() ||
      !bitEnumContainsAll(product.getFastmath(), arith::FastMathFlags::reassoc))
    return {yielded, 1};
  for (auto [value, factor] : {std::pair(product.getLhs(), product.getRhs()),
                               std::pair(product.getRhs(), product.getLhs())}) {
    FloatAttr constant;
    if (matchPattern(factor, m_Constant(&constant)) &&
        constant.getValueAsDouble() >= kLeast &&
        constant.getValueAsDouble() <= kMost)
      return {value, constant.getValueAsDouble()};
  }
  return {yielded, 1};
}

namespace {
/// Start value of the running maximum, finite so that differences are numbers:
/// less than any exponent of sensible scores.
constexpr double kLowestMaximum = -0x1p100;
/// Partial sums per row; 8 columns apart is 2 registers a thread apart in the
/// accumulator of wgmma, so they are summed without lane exchanges.
constexpr int64_t kPartialSums = 8;

class KernelBuilder {
public:
  KernelBuilder(OpBuilder &builder, attention::ForwardOp op,
                const KernelOperands &operands, TileChoice tile,
                AccumulationPolicy policy)
      : b(op.getLoc(), builder), op(op), operands(operands), rows(tile.blockM),
        columns(tile.blockN), policy(policy) {
    if (isFloat8(op.getElementType()))
      weightExponent = getLargestWeight(op.getElementType()) -
                       (policy.lazy ? policy.threshold : 0);
  }

  LogicalResult build();

private:
  /// Carried from key block to key block: output, row maximum in units of
  /// exponents, row sums, and with several steps between additions to the
  /// output the products since the last one.
  struct State {
    Value acc, maximum, sums, products;

    static State get(ValueRange values) {
      return {values[0], values[1], values[2],
              values.size() > 3 ? values[3] : Value()};
    }
    SmallVector<Value> list() const {
      SmallVector<Value> values = {acc, maximum, sums};
      if (products)
        values.push_back(products);
      return values;
    }
  };

  /// Rows of a tile that are of the same query.
  int64_t getRowsPerQuery() const {
    return operands.packing ? operands.packing->rows : 1;
  }
  IntegerAttr getFold() {
    return operands.packing ? b.getI64IntegerAttr(operands.packing->rows)
                            : IntegerAttr();
  }
  /// Where the rows of a tile start in q or o, without `element` in lse.
  SmallVector<Value> getPlace(Value firstQuery, Value element = {}) {
    SmallVector<Value> place = {batch, head, firstQuery};
    if (operands.packing)
      place.push_back(index(0));
    if (element)
      place.push_back(element);
    return place;
  }
  /// The query, and the head, of each row of a tile of scores.
  std::pair<Expander::Entry, Expander::Entry> buildRows(Value firstQuery);

  /// A scale of operand 0 (q), 1 (k) or 2 (v) for the rows of a tile: one f32,
  /// or a tile of rank 1 where every row has its own.
  FailureOr<Value> loadScale(unsigned operand, Value firstRow, int64_t rows);
  FailureOr<State> buildLoop(Value query, Value firstRow);
  FailureOr<State> buildStep(Value query, Value key, Value value,
                             Value firstKey, Expander::Entry keep,
                             Expander &expander, State state);
  State accumulate(State state, Value maximum, Value grown, Value weights,
                   Value values, Value sums, Value valueScale);
  State addProducts(State state);
  void buildEpilogue(State state, Value firstRow);
  void bindIndices(Expander &expander, Region &region, unsigned first,
                   Expander::Entry head, Expander::Entry row,
                   Expander::Entry column);

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value f32(double value) {
    return arith::ConstantOp::create(
        b, b.getF32FloatAttr(static_cast<float>(value)));
  }
  Value splat(Type type, double value) {
    auto tensor = cast<RankedTensorType>(type);
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(
               tensor, b.getFloatAttr(tensor.getElementType(), value)));
  }
  RankedTensorType tensor(ArrayRef<int64_t> shape, Type element) {
    return RankedTensorType::get(shape, element);
  }
  RankedTensorType rowType() { return tensor({rows}, b.getF32Type()); }
  Value alongColumns(Value row, int64_t width) {
    return tile::BroadcastOp::create(b, tensor({rows, width}, b.getF32Type()),
                                     row, 1);
  }
  Value scalarTile(Value scalar, RankedTensorType type) {
    return tensor::SplatOp::create(b, scalar, type);
  }
  /// A factor of rows, one f32 or one for each, as a tile of rows.
  Value asRows(Value factor) {
    return isa<RankedTensorType>(factor.getType())
               ? factor
               : scalarTile(factor, rowType());
  }
  /// The same as a tile of scores.
  Value asScores(Value factor) {
    if (isa<RankedTensorType>(factor.getType()))
      return alongColumns(factor, columns);
    return scalarTile(factor, tensor({rows, columns}, b.getF32Type()));
  }
  /// The product of two factors of rows.
  Value mulFactors(Value x, Value y) {
    bool isScalar = !isa<RankedTensorType>(x.getType()) &&
                    !isa<RankedTensorType>(y.getType());
    return isScalar ? mul(x, y) : mul(asRows(x), asRows(y));
  }
  arith::FastMathFlagsAttr contract() {
    return arith::FastMathFlagsAttr::get(b.getContext(),
                                         arith::FastMathFlags::contract);
  }
  /// Of products that factors and terms of score code may be joined to.
  arith::FastMathFlagsAttr reassociate() {
    return arith::FastMathFlagsAttr::get(b.getContext(),
                                         arith::FastMathFlags::contract |
                                             arith::FastMathFlags::reassoc);
  }
  arith::FastMathFlagsAttr approximate() {
    return arith::FastMathFlagsAttr::get(b.getContext(),
                                         arith::FastMathFlags::afn |
                                             arith::FastMathFlags::contract);
  }
  Value mul(Value x, Value y) {
    return arith::MulFOp::create(b, x, y, contract());
  }
  Value sub(Value x, Value y) {
    return arith::SubFOp::create(b, x, y, contract());
  }
  Value exp2(Value x) { return math::Exp2Op::create(b, x, approximate()); }

  ImplicitLocOpBuilder b;
  attention::ForwardOp op;
  const KernelOperands &operands;
  int64_t rows, columns;
  AccumulationPolicy policy;

  Value batch, head, keyHead, queryLength, keyLength;
  /// Multiplies scores inside exp2: one f32, or one for each row.
  Value exponentScale;
  /// Multiplies raw scores in front of score code.
  Value scoreScale;
  /// Multiplies the output in the end; null for 1.
  Value outputScale;
  /// The first row of the next tile, if rows are to end there.
  Value endRow;
  /// Number of the step, counted in key blocks.
  Value iteration;
  /// log2 of the factor of all weights.
  double weightExponent = 0;
};
} // namespace

FailureOr<Value> KernelBuilder::loadScale(unsigned operand, Value firstRow,
                                          int64_t rows) {
  static constexpr StringRef names[] = {"q", "k", "v"};
  int64_t perScale = op.getScaleRows(operand);
  if (perScale > 1 && perScale % rows)
    return op.emitOpError("has a scale for every ")
           << perScale << " rows of " << names[operand]
           << ", expects a multiple of the tile's " << rows;
  if (perScale == 1 && operand == 2)
    return op.emitOpError("has a scale for every token of v, expects one for "
                          "heads or for blocks of keys");
  Value scales = operands.scales[operand];
  // Scales that several share: b * extent div batch, and so for heads.
  auto share = [&](Value number, unsigned dim, Value count) -> Value {
    auto type = cast<MemRefType>(scales.getType());
    if (type.getDimSize(dim) == 1)
      return index(0);
    Value extent = memref::DimOp::create(b, scales, dim);
    return arith::DivUIOp::create(b, arith::MulIOp::create(b, number, extent),
                                  count);
  };
  Value at[] = {share(batch, 0, memref::DimOp::create(b, operands.q, 0)),
                share(head, 1, memref::DimOp::create(b, operands.q, 1)),
                index(0)};
  if (perScale == 1) {
    at[2] = firstRow;
    return Value(
        tile::LoadOp::create(b, tensor({rows}, b.getF32Type()), scales, at));
  }
  if (perScale > 1)
    at[2] = arith::DivUIOp::create(b, firstRow, index(perScale));
  return Value(tile::ScalarLoadOp::create(b, b.getF32Type(), scales, at));
}

LogicalResult KernelBuilder::build() {
  auto dim = [&](Value memref, int64_t i) -> Value {
    return memref::DimOp::create(b, memref, i);
  };
  queryLength = dim(operands.q, 2);
  keyLength = dim(operands.k, 2);
  Value heads = dim(operands.q, 1);
  Value group = arith::DivUIOp::create(b, heads, dim(operands.k, 1));
  bool hasScoreCode = !op.getScoreRegion().empty();
  double factor =
      hasScoreCode ? getYieldedFactor(op.getScoreRegion()).second : 1;
  Value log2e = f32(llvm::numbers::log2e * factor);
  exponentScale = hasScoreCode ? log2e : mul(operands.scale, log2e);
  scoreScale = operands.scale;

  Value queries = index(rows / getRowsPerQuery());
  Value rowBlocks = arith::CeilDivSIOp::create(b, queryLength, queries);
  auto grid =
      tile::GridOp::create(b, ValueRange{rowBlocks, heads, dim(operands.q, 0)});
  b.setInsertionPointToStart(&grid.getBody().front());
  Value block = grid.getBody().getArgument(0);
  Value firstRow = arith::MulIOp::create(b, block, queries);
  if (policy.endRows)
    endRow = arith::MulIOp::create(b, arith::AddIOp::create(b, block, index(1)),
                                   queries);
  head = grid.getBody().getArgument(1);
  batch = grid.getBody().getArgument(2);
  keyHead = arith::DivUIOp::create(b, head, group);

  Value query = tile::LoadOp::create(
      b, tensor({rows, op.getHeadDim()}, op.getElementType()), operands.q,
      getPlace(firstRow, index(0)), getFold());
  if (op.hasScales()) {
    FailureOr<Value> ofQuery = loadScale(0, firstRow, rows);
    if (failed(ofQuery))
      return failure();
    Value &factor = hasScoreCode ? scoreScale : exponentScale;
    factor = mulFactors(factor, *ofQuery);
    for (unsigned operand : {1, 2}) {
      if (op.getScaleRows(operand) != 0)
        continue;
      FailureOr<Value> scale = loadScale(operand, index(0), columns);
      if (failed(scale))
        return failure();
      if (operand == 1)
        factor = mulFactors(factor, *scale);
      else
        outputScale = *scale;
    }
  }
  FailureOr<State> state = buildLoop(query, firstRow);
  if (failed(state))
    return failure();
  buildEpilogue(*state, firstRow);
  return success();
}

/// Binds the (b, h, i, j) arguments of a region, which start at `first`, and
/// the values it captures.
void KernelBuilder::bindIndices(Expander &expander, Region &region,
                                unsigned first, Expander::Entry ofHead,
                                Expander::Entry row, Expander::Entry column) {
  expander.bind(region.getArgument(first), {batch, Expander::Uniform});
  expander.bind(region.getArgument(first + 1), ofHead);
  expander.bind(region.getArgument(first + 2), row);
  expander.bind(region.getArgument(first + 3), column);
  for (auto [from, to] : operands.captures.getValueMap())
    expander.bind(from, {to, Expander::Uniform});
}

std::pair<Expander::Entry, Expander::Entry>
KernelBuilder::buildRows(Value firstQuery) {
  RankedTensorType type = tensor({rows}, b.getIndexType());
  if (!operands.packing)
    return {{tile::CoordOp::create(b, type, 0, firstQuery), Expander::Rows},
            {head, Expander::Uniform}};
  Value row = tile::CoordOp::create(b, type, 0, index(0));
  Value perQuery = scalarTile(index(operands.packing->rows), type);
  Value query = arith::AddIOp::create(b, scalarTile(firstQuery, type),
                                      arith::DivUIOp::create(b, row, perQuery));
  Value firstHead =
      arith::MulIOp::create(b, head, index(operands.packing->heads));
  Value ofRow = arith::AddIOp::create(b, scalarTile(firstHead, type),
                                      arith::RemUIOp::create(b, row, perQuery));
  return {{query, Expander::Rows}, {ofRow, Expander::Rows}};
}

FailureOr<KernelBuilder::State> KernelBuilder::buildLoop(Value query,
                                                         Value firstRow) {
  Type f32Type = b.getF32Type();
  State init{splat(tensor({rows, op.getValueHeadDim()}, f32Type), 0.0),
             splat(rowType(), kLowestMaximum),
             splat(tensor({rows, kPartialSums}, f32Type), 0.0), Value()};
  if (policy.twoLevel && policy.stepsBetween > 1)
    init.products = splat(init.acc.getType(), 0.0);
  Value blocks = arith::CeilDivSIOp::create(b, keyLength, index(columns));
  auto loop = scf::ForOp::create(b, index(0), blocks, index(1), init.list());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  State state = State::get(loop.getRegionIterArgs());
  iteration = loop.getInductionVar();

  Value last = arith::SubIOp::create(b, blocks, index(1));
  Value block = arith::SubIOp::create(b, last, loop.getInductionVar());
  Value firstKey = arith::MulIOp::create(b, block, index(columns));
  auto load = [&](Value memref, int64_t width) -> Value {
    return tile::LoadOp::create(
        b, tensor({columns, width}, op.getElementType()), memref,
        ValueRange{batch, keyHead, firstKey, index(0)});
  };
  Value key = load(operands.k, op.getHeadDim());
  int64_t width = op.getValueHeadDim();
  Value value =
      op.getTransposedV()
          ? tile::LoadOp::create(
                b, tensor({width, columns}, op.getElementType()), operands.v,
                ValueRange{batch, keyHead, index(0), firstKey})
                .getResult()
          : load(operands.v, width);

  // Which keys are visible: those of the sequence, kept by the region.
  Expander expander(b, rows, columns);
  auto [row, ofHead] = buildRows(firstRow);
  Expander::Entry column{
      tile::CoordOp::create(b, tensor({columns}, b.getIndexType()), 0,
                            firstKey),
      Expander::Columns};
  expander.bindLengths(queryLength, keyLength);
  for (auto [tensor, memref] : llvm::zip(op.getAux(), operands.aux))
    expander.bindAux(tensor, memref);
  Expander::Entry keep{
      arith::CmpIOp::create(
          b, arith::CmpIPredicate::slt, column.value,
          scalarTile(keyLength, tensor({columns}, b.getIndexType()))),
      Expander::Columns};
  if (!op.getKeepRegion().empty()) {
    bindIndices(expander, op.getKeepRegion(), 0, ofHead, row, column);
    FailureOr<Expander::Entry> kept = expander.expand(op.getKeepRegion());
    if (failed(kept))
      return failure();
    unsigned varies = keep.varies | kept->varies;
    keep = {arith::AndIOp::create(b, expander.lift(b.getLoc(), keep, varies),
                                  expander.lift(b.getLoc(), *kept, varies)),
            varies};
  }
  if (!op.getScoreRegion().empty())
    bindIndices(expander, op.getScoreRegion(), 1, ofHead, row, column);

  keep = {expander.lift(b.getLoc(), keep, Expander::Both), Expander::Both};
  Value needed = keep.value;
  if (endRow) {
    // Only where there is work: rows from the end on are stored by nobody.
    Expander::Entry inside{
        arith::CmpIOp::create(
            b, arith::CmpIPredicate::slt, row.value,
            scalarTile(endRow, tensor({rows}, b.getIndexType()))),
        Expander::Rows};
    needed = arith::AndIOp::create(
        b, needed, expander.lift(b.getLoc(), inside, Expander::Both));
  }
  Value live = tile::AnyPossibleOp::create(b, b.getI1Type(), needed);
  auto guardOp = scf::IfOp::create(b, TypeRange(ValueRange(state.list())), live,
                                   /*withElseRegion=*/true);
  scf::YieldOp::create(b, guardOp.getResults());

  b.setInsertionPointToStart(guardOp.thenBlock());
  FailureOr<State> next =
      buildStep(query, key, value, firstKey, keep, expander, state);
  if (failed(next))
    return failure();
  scf::YieldOp::create(b, next->list());
  b.setInsertionPointToStart(guardOp.elseBlock());
  scf::YieldOp::create(b, state.list());
  State result = State::get(loop.getResults());
  if (result.products) {
    b.setInsertionPointAfter(loop);
    result.acc = arith::AddFOp::create(b, result.acc, result.products);
  }
  return result;
}

FailureOr<KernelBuilder::State>
KernelBuilder::buildStep(Value query, Value key, Value value, Value firstKey,
                         Expander::Entry keep, Expander &expander,
                         State state) {
  RankedTensorType scoreType = tensor({rows, columns}, b.getF32Type());
  Value scores =
      tile::DotOp::create(b, scoreType, query, key, splat(scoreType, 0.0),
                          tile::LhsOrder::mk, tile::RhsOrder::nk);
  bool hasScoreCode = !op.getScoreRegion().empty();
  // Scales of this tile: of its keys, and the base-2 logarithm of its values'.
  Value exponentFactor = exponentScale, scoreFactor = scoreScale, valueScale,
        valueExponent;
  if (op.hasScales() && op.getScaleRows(1) != 0) {
    FailureOr<Value> scale = loadScale(1, firstKey, columns);
    if (failed(scale))
      return failure();
    Value &factor = hasScoreCode ? scoreFactor : exponentFactor;
    if (op.getScaleRows(1) == 1)
      scores = mul(scores, tile::BroadcastOp::create(b, scoreType, *scale, 0));
    else
      factor = mulFactors(factor, *scale);
  }
  if (op.hasScales() && op.getScaleRows(2) != 0) {
    FailureOr<Value> scale = loadScale(2, firstKey, columns);
    if (failed(scale))
      return failure();
    valueScale = *scale;
    valueExponent = math::Log2Op::create(b, valueScale, approximate());
  }
  if (hasScoreCode) {
    Value scaled =
        arith::MulFOp::create(b, scores, asScores(scoreFactor), reassociate());
    expander.bind(op.getScoreRegion().getArgument(0), {scaled, Expander::Both});
    if (failed(expander.expand(op.getScoreRegion())))
      return failure();
    Value edited = getYieldedFactor(op.getScoreRegion()).first;
    scores = expander.lift(b.getLoc(), expander.get(edited), Expander::Both);
  }
  scores = arith::SelectOp::create(
      b, keep.value, scores,
      splat(scoreType, -std::numeric_limits<double>::infinity()));

  // New reference maximum.
  Value blockMaximum = tile::ReduceOp::create(
      b, rowType(), tile::ReduceKind::max, scores, Value(), 1, IntegerAttr());
  if (valueExponent)
    blockMaximum = math::FmaOp::create(b, blockMaximum, asRows(exponentFactor),
                                       scalarTile(valueExponent, rowType()));
  else
    blockMaximum = mul(blockMaximum, asRows(exponentFactor));
  Value maximum, grown;
  if (policy.lazy) {
    grown = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                  sub(blockMaximum, state.maximum),
                                  splat(rowType(), policy.threshold));
    maximum = arith::SelectOp::create(b, grown, blockMaximum, state.maximum);
  } else {
    maximum = arith::MaxNumFOp::create(b, blockMaximum, state.maximum);
  }

  // Weights exp2(scale * score - maximum), times their own factor.
  Value shift = arith::NegFOp::create(b, maximum);
  if (valueExponent)
    shift = arith::AddFOp::create(
        b, shift, scalarTile(valueExponent, rowType()), contract());
  if (weightExponent != 0)
    shift = arith::AddFOp::create(b, shift, splat(rowType(), weightExponent),
                                  contract());
  Value exponents =
      math::FmaOp::create(b, scores, asScores(exponentFactor),
                          alongColumns(shift, columns), reassociate());
  Value weights = exp2(exponents);
  Value sums = tile::ReduceOp::create(b, state.sums.getType(),
                                      tile::ReduceKind::add, weights, Value(),
                                      1, b.getI64IntegerAttr(kPartialSums));
  // Before the branch around the rescaling, so that conversions can fill the
  // gaps between exponentials.
  Value converted = arith::TruncFOp::create(
      b, tensor({rows, columns}, op.getElementType()), weights);

  return accumulate(state, maximum, grown, converted, value, sums, valueScale);
}

/// Adds the products of the steps before to the output, where as many have come
/// together; the next ones start from zero.
KernelBuilder::State KernelBuilder::addProducts(State state) {
  Value rest = arith::RemUIOp::create(b, iteration, index(policy.stepsBetween));
  Value isFull =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, index(0));
  Value old[] = {state.acc, state.products};
  auto where = tile::WhereOp::create(
      b, TypeRange(ValueRange(old)),
      scalarTile(isFull, tensor({rows}, b.getI1Type())), old);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&where.getBody().emplaceBlock());
  Value sum = arith::AddFOp::create(b, state.acc, state.products);
  tile::YieldOp::create(b, ValueRange{sum, splat(state.acc.getType(), 0.0)});
  state.acc = where.getResult(0);
  state.products = where.getResult(1);
  return state;
}

/// Adds the product of a step's weights and values, and the weights' sums, to
/// what is carried, which is first referred to the new maximum.
KernelBuilder::State KernelBuilder::accumulate(State state, Value maximum,
                                               Value grown, Value weights,
                                               Value values, Value sums,
                                               Value valueScale) {
  auto sumsType = cast<RankedTensorType>(state.sums.getType());
  if (valueScale) {
    // The weights hold the scale of the values, the sums must not.
    Value inverse = arith::DivFOp::create(b, f32(1), valueScale);
    sums = mul(sums, scalarTile(inverse, sumsType));
  }
  auto multiply = [&](Value init) -> Value {
    return tile::DotOp::create(
        b, state.acc.getType(), weights, values, init, tile::LhsOrder::mk,
        op.getTransposedV() ? tile::RhsOrder::nk : tile::RhsOrder::kn);
  };
  auto factorFor = [&](Value tile) {
    Value factor = exp2(sub(state.maximum, maximum));
    return alongColumns(factor,
                        cast<RankedTensorType>(tile.getType()).getDimSize(1));
  };
  // Beside a sum the factor costs nothing, so it is not made conditional.
  auto addScaled = [&](Value tile, Value other) -> Value {
    return math::FmaOp::create(b, tile, factorFor(tile), other);
  };
  if (policy.twoLevel && !state.products) {
    Value product = multiply(splat(state.acc.getType(), 0.0));
    return State{addScaled(state.acc, product), maximum,
                 addScaled(state.sums, sums), Value()};
  }
  if (state.products)
    state = addProducts(state);
  // What the product is added to, and the output beside it, if that is another.
  SmallVector<Value> tiles = {state.products ? state.products : state.acc};
  if (state.products)
    tiles.push_back(state.acc);
  auto rescale = [&](ValueRange old) {
    return llvm::map_to_vector(
        old, [&](Value tile) { return mul(tile, factorFor(tile)); });
  };
  Value newSums;
  if (policy.lazy) {
    tiles.push_back(state.sums);
    auto where =
        tile::WhereOp::create(b, TypeRange(ValueRange(tiles)), grown, tiles);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&where.getBody().emplaceBlock());
      tile::YieldOp::create(b, rescale(tiles));
    }
    tiles.assign(where.result_begin(), where.result_end());
    newSums = arith::AddFOp::create(b, tiles.pop_back_val(), sums, contract());
  } else {
    tiles = rescale(tiles);
    newSums = addScaled(state.sums, sums);
  }
  Value product = multiply(tiles.front());
  if (!state.products)
    return State{product, maximum, newSums, Value()};
  return State{tiles.back(), maximum, newSums, product};
}

void KernelBuilder::buildEpilogue(State state, Value firstRow) {
  Value sum = tile::ReduceOp::create(b, rowType(), tile::ReduceKind::add,
                                     state.sums, Value(), 1, IntegerAttr());
  Value zero = splat(rowType(), 0.0);
  Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, zero);
  Value inverse = arith::DivFOp::create(b, splat(rowType(), 1.0), sum);
  inverse = arith::SelectOp::create(b, empty, zero, inverse);
  if (outputScale)
    inverse = mul(inverse, asRows(outputScale));
  int64_t width = op.getValueHeadDim();
  Value out = mul(state.acc, alongColumns(inverse, width));
  Type element = cast<MemRefType>(operands.o.getType()).getElementType();
  if (!element.isF32())
    out = arith::TruncFOp::create(b, tensor({rows, width}, element), out);
  tile::StoreOp::create(b, out, operands.o, getPlace(firstRow, index(0)),
                        endRow, getFold());
  if (!operands.lse)
    return;
  // Natural log of the sum of exponentials: (m + log2 sum) * ln 2.
  Value log2 = math::Log2Op::create(b, sum, approximate());
  if (weightExponent != 0)
    log2 = sub(log2, splat(rowType(), weightExponent));
  Value exponent = arith::AddFOp::create(b, state.maximum, log2, contract());
  Value lse = mul(exponent, splat(rowType(), llvm::numbers::ln2));
  lse = arith::SelectOp::create(
      b, empty, splat(rowType(), -std::numeric_limits<double>::infinity()),
      lse);
  tile::StoreOp::create(b, lse, operands.lse, getPlace(firstRow), endRow,
                        getFold());
}

LogicalResult fa3::buildKernelBody(OpBuilder &builder, attention::ForwardOp op,
                                   const KernelOperands &operands,
                                   TileChoice tile, AccumulationPolicy policy) {
  OpBuilder::InsertionGuard guard(builder);
  return KernelBuilder(builder, op, operands, tile, policy).build();
}
