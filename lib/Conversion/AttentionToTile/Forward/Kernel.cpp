//===- Kernel.cpp - the grid of an attention kernel and its loop ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Emit/Places.h"
#include "../Plan/ScoreRange.h"
#include "KernelBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa3;

using Expander = ScalarRegionExpander;

double fa3::getLargestWeight(Type element) {
  return isa<Float8E4M3FNType>(element) ? 8 : 15;
}

FailureOr<Value> KernelBuilder::loadScale(unsigned operand, Value firstRow,
                                          int64_t rows) {
  static constexpr StringRef names[] = {"q", "k", "v"};
  int64_t perScale = op.getScaleRows(operand);
  // A narrow block begins where a whole one would, and so has one scale, too.
  int64_t ofTile = operand == 0 ? rows : wholeColumns;
  if (perScale > 1 && perScale % ofTile)
    return op.emitOpError("has a scale for every ")
           << perScale << " rows of " << names[operand]
           << ", expects a multiple of the tile's " << ofTile;
  if (perScale == 1 && operand == 2)
    return op.emitOpError("has a scale for every token of v, expects one for "
                          "heads or for blocks of keys");
  Value scales = operands.scales[operand];
  Value heads = memref::DimOp::create(b, operands.q, getRankOfRows() - 2);
  SmallVector<Value> at =
      getSequences().getPlaceOfScale(scales, batch, head, heads);
  at.push_back(index(0));
  if (perScale == 1) {
    at[2] = firstRow;
    return Value(
        tile::LoadOp::create(b, tensor({rows}, b.getF32Type()), scales, at));
  }
  if (perScale > 1)
    at[2] = arith::DivUIOp::create(b, firstRow, index(perScale));
  return Value(tile::ScalarLoadOp::create(b, b.getF32Type(), scales, at));
}

Value KernelBuilder::buildGrid(Value inner) {
  auto dim = [&](Value memref, int64_t i) -> Value {
    return memref::DimOp::create(b, memref, i);
  };
  int64_t queryRank = getRankOfRows();
  queryLength = dim(operands.q, queryRank - 1);
  Value extent = dim(operands.q, queryRank - 2), group;
  heads = operands.packing
              ? arith::MulIOp::create(b, extent, index(operands.packing->heads))
                    .getResult()
              : extent;
  if (op) {
    int64_t keyRank = op.getPlaceRank(attention::Sequence::key);
    keyLength = dim(operands.k, keyRank - 1);
    if (!merges && operands.packing && operands.packing->parts > 1)
      group = index(operands.packing->parts);
    if (!merges && !operands.packing) {
      std::optional<int64_t> known = op.getStaticGroup();
      group = known ? index(*known)
                    : arith::DivUIOp::create(b, extent,
                                             dim(operands.k, keyRank - 2))
                          .getResult();
    }
  }
  Value queries = index(rows / getRowsPerQuery());
  Value mostQueries = queryLength;
  if (operands.maxQ)
    mostQueries = arith::MaxSIOp::create(b, operands.maxQ, index(0));
  if (op)
    if (std::optional<unsigned> number =
            attention::getSequenceStarts(op, attention::Sequence::query))
      starts = operands.aux[*number];
  SmallVector<Value> bounds = {
      starts ? getSequences().countTiles(queryLength, queries)
             : arith::CeilDivSIOp::create(b, mostQueries, queries)};
  if (inner)
    bounds.push_back(inner);
  bounds.push_back(extent);
  bool hasBatch = op || queryRank > 2;
  if (!starts && hasBatch)
    bounds.push_back(getSequences().buildBatch());
  auto grid = tile::GridOp::create(b, bounds);
  b.setInsertionPointToStart(&grid.getBody().front());
  auto position = grid.getBody().getArguments();
  head = position[inner ? 2 : 1];
  batch = hasBatch ? Value(position.back()) : Value();
  Value block = position.front();
  if (starts)
    std::tie(batch, block) =
        getSequences().findSequence(starts, block, queries);
  Value firstRow = arith::MulIOp::create(b, block, queries);
  if (policy.endRows)
    endRow = arith::MulIOp::create(b, arith::AddIOp::create(b, block, index(1)),
                                   queries);
  if (inner)
    part = position[1];
  if (group)
    keyHead = arith::DivUIOp::create(b, head, group);
  else if (op && !merges)
    keyHead = head;
  buildLengths();
  return firstRow;
}

LogicalResult KernelBuilder::build() {
  auto dim = [&](Value memref, int64_t i) -> Value {
    return memref::DimOp::create(b, memref, i);
  };
  bool hasScoreCode = !op.getScoreMod().empty();
  // Scales of blocks of v are in the exponents, which a maximum of scores is
  // not.
  isLarge = !policy.sharesReference && op.getScaleRows(2) == 0 &&
            mayBeLarge(op.getScoreMod(), kLargeScore);
  double factor =
      hasScoreCode && !isLarge ? getYieldedFactor(op.getScoreMod()).second : 1;
  Value log2e = f32(llvm::numbers::log2e * factor);
  exponentScale = hasScoreCode ? log2e : mul(operands.scale, log2e);
  scoreScale = operands.scale;
  if (policy.sharesReference && failed(chooseSharedReference()))
    return failure();

  Value firstRow = buildGrid(operands.inParts ? dim(operands.o, 0) : Value());
  if (operands.finished)
    tile::ClearFlagOp::create(b, operands.finished,
                              getPartPlace(part, firstRow));
  SmallVector<Value> query = loadQuery(firstRow);
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
  if (operands.finished)
    tile::SetFlagOp::create(b, operands.finished, getPartPlace(part, firstRow));
  return success();
}

std::pair<Expander::Entry, Expander::Entry>
KernelBuilder::buildRows(Value firstQuery) {
  RankedTensorType type = tensor({rows}, b.getIndexType());
  if (!operands.packing)
    return {{tile::CoordOp::create(b, type, 0, firstQuery), Expander::Rows},
            {head, Expander::Uniform}};
  Value row = tile::CoordOp::create(b, type, 0, index(0));
  Value perQuery = scalarTile(index(operands.packing->rows), type);
  Value ofQuery = arith::DivUIOp::create(b, row, perQuery);
  Value query = arith::AddIOp::create(b, scalarTile(firstQuery, type), ofQuery);
  Value firstHead =
      arith::MulIOp::create(b, head, index(operands.packing->heads));
  Value ofGroup = arith::RemUIOp::create(b, row, perQuery);
  Value ofRow = arith::AddIOp::create(b, scalarTile(firstHead, type), ofGroup);
  return {{query, Expander::Rows}, {ofRow, Expander::Rows}};
}

SmallVector<Value> KernelBuilder::loadQuery(Value firstRow) {
  RankedTensorType type =
      tensor({rows, getTileWidth(op.getHeadDim())}, op.getElementType());
  SmallVector<Value> terms;
  for (uint64_t term = 0; term < op.getQTerms(); ++term)
    terms.push_back(tile::LoadOp::create(
        b, type, operands.q, getPlace(firstRow, index(term * op.getHeadDim())),
        getFold()));
  if (op.getQv())
    terms.push_back(tile::LoadOp::create(
        b,
        tensor({rows, getTileWidth(op.getValueHeadDim())}, op.getElementType()),
        operands.qv, getPlace(firstRow, index(0)), getFold()));
  return terms;
}

FailureOr<KernelBuilder::State> KernelBuilder::buildLoop(ValueRange query,
                                                         Value firstRow) {
  Type f32Type = b.getF32Type();
  int64_t width = getTileWidth(op.getValueHeadDim());
  State init{splat(tensor({rows, width}, f32Type), 0.0),
             splat(rowType(), sharedReference.value_or(getLowestMaximum())),
             splat(tensor({rows, kPartialSums}, f32Type), 0.0), Value(),
             Value()};
  if (operands.maxLogits)
    init.largest =
        splat(init.sums.getType(), -std::numeric_limits<double>::infinity());
  if (policy.twoLevel && policy.stepsBetween > 1)
    init.products = splat(init.acc.getType(), 0.0);
  if (op.getSizesOfBlocks()) {
    FailureOr<State> result = buildListedLoop(query, firstRow, init);
    if (succeeded(result) && result->products)
      result->acc = arith::AddFOp::create(b, result->acc, result->products);
    return result;
  }
  Value blocks = countWholeBlocks();
  if (policy.lastKeys) {
    FailureOr<State> next = buildNarrowBlock(query, firstRow, blocks, init);
    if (failed(next))
      return failure();
    init = *next;
  }
  // Blocks are walked from the last one of the part to its first one.
  Value count = blocks;
  if (operands.inParts) {
    Value parts = memref::DimOp::create(b, operands.o, 0);
    Value each = operands.partKeys
                     ? index(operands.partKeys / columns)
                     : arith::CeilDivSIOp::create(b, blocks, parts).getResult();
    Value first = arith::MulIOp::create(b, part, each);
    Value end = arith::AddIOp::create(b, first, each);
    if (operands.partKeys) {
      // Whatever the number of parts is, no key is left out.
      Value isLast =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, part,
                                arith::SubIOp::create(b, parts, index(1)));
      end = arith::SelectOp::create(b, isLast, blocks, end);
    }
    blocks = arith::MinSIOp::create(b, end, blocks);
    count = arith::SubIOp::create(b, blocks, first);
  }
  Value one = index(1);
  auto loop = scf::ForOp::create(b, index(0), count, one, init.list());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    iteration = loop.getInductionVar();
    if (policy.lastKeys)
      iteration = arith::AddIOp::create(b, iteration, index(1));
    Value last = arith::SubIOp::create(b, blocks, index(1));
    Value block = arith::SubIOp::create(b, last, loop.getInductionVar());
    Value firstKey = arith::MulIOp::create(b, block, index(columns));
    FailureOr<State> next = buildBlock(query, firstRow, firstKey,
                                       init.with(loop.getRegionIterArgs()));
    if (failed(next))
      return failure();
    scf::YieldOp::create(b, next->list());
  }
  State result = init.with(loop.getResults());
  if (result.products)
    result.acc = arith::AddFOp::create(b, result.acc, result.products);
  return result;
}

FailureOr<KernelBuilder::State>
KernelBuilder::buildBlock(ValueRange query, Value firstRow, Value firstKey,
                          State state, const ListedStep &listed) {
  auto load = [&](Value memref, int64_t width, Type element,
                  bool areClean) -> Value {
    if (op.hasNibbles())
      return loadNibbles(memref, tensor({columns, width}, element), firstKey);
    return loadKeys(memref, tensor({columns, width}, element), firstKey,
                    areClean);
  };
  // The scores of keys that do not count are replaced, whatever they are. But
  // values have a weight of 0, and 0 times what is no number is none.
  Value key = load(operands.k, getTileWidth(op.getHeadDim()),
                   op.getElementType(), /*areClean=*/false);
  int64_t width = getTileWidth(op.getValueHeadDim());
  Value value =
      op.getTransposedV()
          ? tile::LoadOp::create(
                b, tensor({width, columns}, op.getValueElementType()),
                operands.v, ValueRange{batch, keyHead, index(0), firstKey})
                .getResult()
          : load(operands.v, width, op.getValueElementType(),
                 /*areClean=*/true);

  // Which keys are visible: those of the sequence, kept by the region.
  Expander expander(b, rows, columns);
  auto [row, ofHead] = buildRows(firstRow);
  auto getColumn = [&](Value first) {
    return Expander::Entry{
        tile::CoordOp::create(b, tensor({columns}, b.getIndexType()), 0, first),
        Expander::Columns};
  };
  Expander::Entry column = getColumn(listed.masked ? listed.masked : firstKey);
  expander.bindLengths(queryLength, keyLength);
  for (auto [tensor, memref] : llvm::zip(op.getAux(), operands.aux))
    expander.bindAux(tensor, memref);
  Expander::Entry keep{
      arith::CmpIOp::create(
          b, arith::CmpIPredicate::slt, column.value,
          scalarTile(keyLength, tensor({columns}, b.getIndexType()))),
      Expander::Columns};
  BlockPlace at{batch, ofHead, row, column};
  if (!op.getMaskMod().empty()) {
    bindPlace(expander, op.getMaskMod(), at, operands.captures);
    keep = bothHold(b, expander, keep, expander.expand(op.getMaskMod()));
  }
  if (!op.getScoreMod().empty()) {
    if (listed.masked)
      at.key = getColumn(firstKey);
    bindPlace(expander, op.getScoreMod(), at, operands.captures);
  }

  if (!op.getKeepMod().empty()) {
    at.key = getColumn(firstKey);
    bindPlace(expander, op.getKeepMod(), at, operands.captures);
    expander.bindHeads(heads);
  }

  keep = {expander.lift(b.getLoc(), keep, Expander::Both), Expander::Both};
  if (listed.isVisible)
    keep.value = arith::OrIOp::create(
        b,
        expander.lift(b.getLoc(), {listed.isVisible, Expander::Uniform},
                      Expander::Both),
        keep.value);
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
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(guardOp.thenBlock());
  FailureOr<State> next =
      buildStep(query, key, value, firstKey, keep, expander, state);
  if (failed(next))
    return failure();
  scf::YieldOp::create(b, next->list());
  b.setInsertionPointToStart(guardOp.elseBlock());
  scf::YieldOp::create(b, state.list());
  return state.with(guardOp.getResults());
}

LogicalResult fa3::buildKernelBody(OpBuilder &builder, attention::ForwardOp op,
                                   const KernelOperands &operands,
                                   TileChoice tile, AccumulationPolicy policy) {
  OpBuilder::InsertionGuard guard(builder);
  return KernelBuilder(builder, op, operands, tile, policy).build();
}
