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

namespace {
/// Start value of the running maximum: -2^100. Times log2(e) and any sensible
/// scale it stays finite in f32.
constexpr double kLowestMaximum = -0x1p100;
/// Partial sums per row; 8 columns apart is 2 registers a thread apart in the
/// accumulator of wgmma, so they are summed without lane exchanges.
constexpr int64_t kPartialSums = 8;

class KernelBuilder {
public:
  KernelBuilder(OpBuilder &builder, attention::ForwardOp op,
                const KernelOperands &operands, TileChoice tile,
                RescalePolicy rescale)
      : b(op.getLoc(), builder), op(op), operands(operands), rows(tile.blockM),
        columns(tile.blockN), rescale(rescale) {}

  LogicalResult build();

private:
  /// Carried from key block to key block: output, row maximum, row sums.
  struct State {
    Value acc, maximum, sums;
    SmallVector<Value> list() const { return {acc, maximum, sums}; }
  };

  FailureOr<State> buildLoop(Value query, Value firstRow);
  FailureOr<State> buildStep(Value query, Value key, Value value,
                             Expander::Entry keep, Expander &expander,
                             State state);
  void buildEpilogue(State state, Value firstRow);
  void bindIndices(Expander &expander, Region &region, unsigned first,
                   Expander::Entry row, Expander::Entry column);

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
  arith::FastMathFlagsAttr contract() {
    return arith::FastMathFlagsAttr::get(b.getContext(),
                                         arith::FastMathFlags::contract);
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
  RescalePolicy rescale;

  Value batch, head, keyHead, queryLength, keyLength;
  /// Multiplies differences of raw scores inside exp2.
  Value exponentScale;
};
} // namespace

LogicalResult KernelBuilder::build() {
  auto dim = [&](Value memref, int64_t i) -> Value {
    return memref::DimOp::create(b, memref, i);
  };
  queryLength = dim(operands.q, 2);
  keyLength = dim(operands.k, 2);
  Value heads = dim(operands.q, 1);
  Value group = arith::DivUIOp::create(b, heads, dim(operands.k, 1));
  Value log2e = f32(llvm::numbers::log2e);
  exponentScale =
      op.getScoreRegion().empty() ? mul(operands.scale, log2e) : log2e;

  Value rowBlocks = arith::CeilDivSIOp::create(b, queryLength, index(rows));
  auto grid =
      tile::GridOp::create(b, ValueRange{rowBlocks, heads, dim(operands.q, 0)});
  b.setInsertionPointToStart(&grid.getBody().front());
  Value firstRow =
      arith::MulIOp::create(b, grid.getBody().getArgument(0), index(rows));
  head = grid.getBody().getArgument(1);
  batch = grid.getBody().getArgument(2);
  keyHead = arith::DivUIOp::create(b, head, group);

  Value query = tile::LoadOp::create(
      b, tensor({rows, op.getHeadDim()}, op.getElementType()), operands.q,
      ValueRange{batch, head, firstRow, index(0)});
  FailureOr<State> state = buildLoop(query, firstRow);
  if (failed(state))
    return failure();
  buildEpilogue(*state, firstRow);
  return success();
}

/// Binds the (b, h, i, j) arguments of a region, which start at `first`, and
/// the values it captures.
void KernelBuilder::bindIndices(Expander &expander, Region &region,
                                unsigned first, Expander::Entry row,
                                Expander::Entry column) {
  expander.bind(region.getArgument(first), {batch, Expander::Uniform});
  expander.bind(region.getArgument(first + 1), {head, Expander::Uniform});
  expander.bind(region.getArgument(first + 2), row);
  expander.bind(region.getArgument(first + 3), column);
  for (auto [from, to] : operands.captures.getValueMap())
    expander.bind(from, {to, Expander::Uniform});
}

FailureOr<KernelBuilder::State> KernelBuilder::buildLoop(Value query,
                                                         Value firstRow) {
  Type f32Type = b.getF32Type();
  State init{splat(tensor({rows, op.getValueHeadDim()}, f32Type), 0.0),
             splat(rowType(), kLowestMaximum),
             splat(tensor({rows, kPartialSums}, f32Type), 0.0)};
  Value blocks = arith::CeilDivSIOp::create(b, keyLength, index(columns));
  auto loop = scf::ForOp::create(b, index(0), blocks, index(1), init.list());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  State state{loop.getRegionIterArg(0), loop.getRegionIterArg(1),
              loop.getRegionIterArg(2)};

  Value last = arith::SubIOp::create(b, blocks, index(1));
  Value block = arith::SubIOp::create(b, last, loop.getInductionVar());
  Value firstKey = arith::MulIOp::create(b, block, index(columns));
  auto load = [&](Value memref, int64_t width) -> Value {
    return tile::LoadOp::create(
        b, tensor({columns, width}, op.getElementType()), memref,
        ValueRange{batch, keyHead, firstKey, index(0)});
  };
  Value key = load(operands.k, op.getHeadDim());
  Value value = load(operands.v, op.getValueHeadDim());

  // Which keys are visible: those of the sequence, kept by the region.
  Expander expander(b, rows, columns);
  Expander::Entry row{
      tile::CoordOp::create(b, tensor({rows}, b.getIndexType()), 0, firstRow),
      Expander::Rows};
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
    bindIndices(expander, op.getKeepRegion(), 0, row, column);
    FailureOr<Expander::Entry> kept = expander.expand(op.getKeepRegion());
    if (failed(kept))
      return failure();
    unsigned varies = keep.varies | kept->varies;
    keep = {arith::AndIOp::create(b, expander.lift(b.getLoc(), keep, varies),
                                  expander.lift(b.getLoc(), *kept, varies)),
            varies};
  }
  if (!op.getScoreRegion().empty())
    bindIndices(expander, op.getScoreRegion(), 1, row, column);

  keep = {expander.lift(b.getLoc(), keep, Expander::Both), Expander::Both};
  Value live = tile::AnyPossibleOp::create(b, b.getI1Type(), keep.value);
  auto guardOp = scf::IfOp::create(b, TypeRange(ValueRange(state.list())), live,
                                   /*withElseRegion=*/true);
  scf::YieldOp::create(b, guardOp.getResults());

  b.setInsertionPointToStart(guardOp.thenBlock());
  FailureOr<State> next = buildStep(query, key, value, keep, expander, state);
  if (failed(next))
    return failure();
  scf::YieldOp::create(b, next->list());
  b.setInsertionPointToStart(guardOp.elseBlock());
  scf::YieldOp::create(b, state.list());
  return State{loop.getResult(0), loop.getResult(1), loop.getResult(2)};
}

FailureOr<KernelBuilder::State> KernelBuilder::buildStep(Value query, Value key,
                                                         Value value,
                                                         Expander::Entry keep,
                                                         Expander &expander,
                                                         State state) {
  RankedTensorType scoreType = tensor({rows, columns}, b.getF32Type());
  Value scores =
      tile::DotOp::create(b, scoreType, query, key, splat(scoreType, 0.0),
                          tile::LhsOrder::mk, tile::RhsOrder::nk);
  if (!op.getScoreRegion().empty()) {
    Value scaled = mul(scores, scalarTile(operands.scale, scoreType));
    expander.bind(op.getScoreRegion().getArgument(0), {scaled, Expander::Both});
    FailureOr<Expander::Entry> edited = expander.expand(op.getScoreRegion());
    if (failed(edited))
      return failure();
    scores = expander.lift(b.getLoc(), *edited, Expander::Both);
  }
  scores = arith::SelectOp::create(
      b, keep.value, scores,
      splat(scoreType, -std::numeric_limits<double>::infinity()));

  // New reference maximum and the factor from the old one to it.
  Value scaleRow = scalarTile(exponentScale, rowType());
  Value maximum, grown;
  if (rescale.lazy) {
    Value blockMaximum = tile::ReduceOp::create(
        b, rowType(), tile::ReduceKind::max, scores, Value(), 1, IntegerAttr());
    Value growth = mul(sub(blockMaximum, state.maximum), scaleRow);
    grown = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, growth,
                                  splat(rowType(), rescale.threshold));
    maximum = arith::SelectOp::create(b, grown, blockMaximum, state.maximum);
  } else {
    maximum = tile::ReduceOp::create(b, rowType(), tile::ReduceKind::max,
                                     scores, state.maximum, 1, IntegerAttr());
  }
  Value factor = exp2(mul(sub(state.maximum, maximum), scaleRow));

  // Weights exp2(scale * score - scale * maximum).
  Value shift = arith::NegFOp::create(b, mul(maximum, scaleRow));
  Value exponents =
      math::FmaOp::create(b, scores, scalarTile(exponentScale, scoreType),
                          alongColumns(shift, columns));
  Value weights = exp2(exponents);
  Value sums = tile::ReduceOp::create(
      b, state.sums.getType(), tile::ReduceKind::add, weights,
      mul(state.sums, alongColumns(factor, kPartialSums)), 1,
      b.getI64IntegerAttr(kPartialSums));
  // Before the branch around the rescaling, so that conversions can fill the
  // gaps between exponentials.
  Value converted = arith::TruncFOp::create(
      b, tensor({rows, columns}, op.getElementType()), weights);

  int64_t width = op.getValueHeadDim();
  Value acc;
  if (rescale.lazy) {
    auto where =
        tile::WhereOp::create(b, state.acc.getType(), grown, state.acc);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&where.getBody().emplaceBlock());
    tile::YieldOp::create(b, mul(state.acc, alongColumns(factor, width)));
    acc = where.getResult();
  } else {
    acc = mul(state.acc, alongColumns(factor, width));
  }
  acc = tile::DotOp::create(b, acc.getType(), converted, value, acc,
                            tile::LhsOrder::mk, tile::RhsOrder::kn);
  return State{acc, maximum, sums};
}

void KernelBuilder::buildEpilogue(State state, Value firstRow) {
  Value sum = tile::ReduceOp::create(b, rowType(), tile::ReduceKind::add,
                                     state.sums, Value(), 1, IntegerAttr());
  Value zero = splat(rowType(), 0.0);
  Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, zero);
  Value inverse = arith::DivFOp::create(b, splat(rowType(), 1.0), sum);
  inverse = arith::SelectOp::create(b, empty, zero, inverse);
  int64_t width = op.getValueHeadDim();
  Value out =
      arith::TruncFOp::create(b, tensor({rows, width}, op.getElementType()),
                              mul(state.acc, alongColumns(inverse, width)));
  tile::StoreOp::create(b, out, operands.o,
                        ValueRange{batch, head, firstRow, index(0)});
  if (!operands.lse)
    return;
  // Natural log of the sum of exponentials: (scale * m + log2 sum) * ln 2.
  Value log2 = math::Log2Op::create(b, sum, approximate());
  Value exponent = math::FmaOp::create(
      b, state.maximum, scalarTile(exponentScale, rowType()), log2);
  Value lse = mul(exponent, splat(rowType(), llvm::numbers::ln2));
  lse = arith::SelectOp::create(
      b, empty, splat(rowType(), -std::numeric_limits<double>::infinity()),
      lse);
  tile::StoreOp::create(b, lse, operands.lse,
                        ValueRange{batch, head, firstRow});
}

LogicalResult fa3::buildKernelBody(OpBuilder &builder, attention::ForwardOp op,
                                   const KernelOperands &operands,
                                   TileChoice tile, RescalePolicy rescale) {
  OpBuilder::InsertionGuard guard(builder);
  return KernelBuilder(builder, op, operands, tile, rescale).build();
}
