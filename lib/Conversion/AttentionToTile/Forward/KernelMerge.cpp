//===- KernelMerge.cpp - parts of the keys become one result --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every part has a normalized output and the logarithm of its sum of weights:
// the sum of the outputs, weighted by exp(lse - the largest lse), divided by
// the sum of these weights. Parts without keys have lse = -inf and weight 0.
//
// Parts of a fixed number of keys are merged so that those without keys change
// no bit, and that one with keys comes out as it is: in groups of as many,
// however many parts there are, whose missing ones have no keys; and from -0
// on, the number that changes none when it is added.
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"
#include <limits>

using namespace mlir;
using namespace fa3;

KernelBuilder::Merged KernelBuilder::addSinks(const Merged &parts) {
  Value sink = buildSinks();
  Value larger = arith::MaxNumFOp::create(b, parts.maximum, sink);
  Value fraction = exp2(asExponent(sub(parts.maximum, larger)));
  Value sum = math::FmaOp::create(b, parts.sum, fraction,
                                  exp2(asExponent(sub(sink, larger))));
  auto type = cast<RankedTensorType>(parts.acc.getType());
  Value acc = mul(parts.acc, alongColumns(fraction, type.getDimSize(1)));
  return {acc, larger, sum};
}

Value KernelBuilder::loadByThreads(RankedTensorType type, Value memref,
                                   ValueRange place) {
  auto read = tile::LoadOp::create(b, type, memref, place, getFold());
  read->setAttr(tile::TileDialect::kRoleAttrName, b.getStringAttr("math"));
  return read.getResult();
}

Value KernelBuilder::dropUnweighted(Value output, Value weight, double none) {
  auto type = cast<RankedTensorType>(output.getType());
  Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, weight,
                                       splat(rowType(), 0));
  Value isNone = tile::BroadcastOp::create(
      b, tensor(type.getShape(), b.getI1Type()), isZero, 1);
  return arith::SelectOp::create(b, isNone, splat(type, none), output);
}

Value KernelBuilder::loadPreviousLse(Value firstRow) {
  return loadByThreads(rowType(), operands.previousLse, getPlace(firstRow));
}

Value KernelBuilder::loadPreviousOutput(Value weight, int64_t width,
                                        Value firstRow, Value firstColumn) {
  Type element =
      cast<MemRefType>(operands.previousO.getType()).getElementType();
  Value output =
      loadByThreads(tensor({rows, width}, element), operands.previousO,
                    getPlace(firstRow, firstColumn));
  if (!element.isF32())
    output =
        arith::ExtFOp::create(b, tensor({rows, width}, b.getF32Type()), output);
  return dropUnweighted(output, weight, 0.0);
}

KernelBuilder::Merged KernelBuilder::addPrevious(const Merged &parts,
                                                 Value firstRow,
                                                 Value firstColumn) {
  Value lse = loadPreviousLse(firstRow);
  Value larger = arith::MaxNumFOp::create(b, lse, parts.maximum);
  Value fraction = exp2(asExponent(sub(parts.maximum, larger)));
  Value weight = exp2(asExponent(sub(lse, larger)));
  Value sum = math::FmaOp::create(b, parts.sum, fraction, weight);
  int64_t width = cast<RankedTensorType>(parts.acc.getType()).getDimSize(1);
  Value own = mul(parts.acc, alongColumns(fraction, width));
  Value factor = alongColumns(weight, width);
  Value acc = math::FmaOp::create(
      b, loadPreviousOutput(weight, width, firstRow, firstColumn), factor, own);
  return {acc, larger, sum};
}

std::pair<Value, Value> KernelBuilder::divideMerged(const Merged &parts) {
  Value zero = splat(rowType(), 0.0);
  Value empty =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, parts.sum, zero);
  Value inverse = arith::DivFOp::create(b, splat(rowType(), 1.0), parts.sum);
  inverse = arith::SelectOp::create(b, empty, zero, inverse);
  auto type = cast<RankedTensorType>(parts.acc.getType());
  return {mul(parts.acc, alongColumns(inverse, type.getDimSize(1))), empty};
}

Value KernelBuilder::buildMergedSum(const Merged &parts, Value empty) {
  Value log2 = math::Log2Op::create(b, parts.sum, approximate());
  Value lse = math::FmaOp::create(b, log2, splat(rowType(), llvm::numbers::ln2),
                                  parts.maximum);
  return arith::SelectOp::create(
      b, empty, splat(rowType(), -std::numeric_limits<double>::infinity()),
      lse);
}

std::pair<Value, Value> KernelBuilder::mergeOnePart(Value output, Value lse,
                                                    Value firstRow) {
  // lse are natural logarithms.
  llvm::SaveAndRestore<bool> natural(isLarge, true);
  auto type = cast<RankedTensorType>(output.getType());
  Value maximum =
      arith::MaxNumFOp::create(b, lse, splat(rowType(), getLowestMaximum()));
  Value weight = exp2(asExponent(sub(lse, maximum)));
  output = dropUnweighted(output, weight, -0.0);
  Value nothing = splat(type, -0.0);
  Value acc = math::FmaOp::create(
      b, output, alongColumns(weight, type.getDimSize(1)), nothing);
  Merged merged{acc, maximum, weight};
  if (operands.sinks)
    merged = addSinks(merged);
  if (operands.previousO)
    merged = addPrevious(merged, firstRow, index(0));
  auto [out, empty] = divideMerged(merged);
  return {out, buildMergedSum(merged, empty)};
}

AttentionResults KernelBuilder::loadPart(const AttentionResults &parts,
                                         Value number, Value count,
                                         Value firstRow, Value firstColumn) {
  Value isThere;
  if (operands.partKeys) {
    isThere =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number, count);
    number = arith::MinSIOp::create(b, number,
                                    arith::SubIOp::create(b, count, index(1)));
  }
  auto loadOwn = [&](Value memref, RankedTensorType type, Value column) {
    return loadByThreads(type, memref, getPartPlace(number, firstRow, column));
  };
  AttentionResults own;
  own.lse = loadOwn(parts.lse, rowType(), Value());
  Type element = cast<MemRefType>(parts.o.getType()).getElementType();
  own.o = loadOwn(parts.o, tensor({rows, columns}, element), firstColumn);
  // Of the last part again where there is none: maxima do not mind.
  if (parts.maxLogits)
    own.maxLogits = loadOwn(parts.maxLogits, rowType(), Value());
  if (!isThere)
    return own;
  Value isThereForRows = scalarTile(isThere, tensor({rows}, b.getI1Type()));
  own.lse = arith::SelectOp::create(
      b, isThereForRows, own.lse,
      splat(rowType(), -std::numeric_limits<double>::infinity()));
  return own;
}

void KernelBuilder::addParts(Merged &merged, Value &largest,
                             MutableArrayRef<AttentionResults> parts) {
  RankedTensorType type = tensor({rows, columns}, b.getF32Type());
  Value old = merged.maximum;
  for (AttentionResults &own : parts) {
    if (own.o.getType() != type)
      own.o = arith::ExtFOp::create(b, type, own.o);
    merged.maximum = arith::MaxNumFOp::create(b, own.lse, merged.maximum);
    if (largest)
      largest = arith::MaxNumFOp::create(b, own.maxLogits, largest);
  }
  Value factor = exp2(asExponent(sub(old, merged.maximum)));
  merged.acc = mul(merged.acc, alongColumns(factor, columns));
  merged.sum = mul(merged.sum, factor);
  for (const AttentionResults &own : parts) {
    Value output = own.o;
    Value weight = exp2(asExponent(sub(own.lse, merged.maximum)));
    // What a caller has in place of a part without keys may be anything.
    if (!op || operands.partKeys)
      output = dropUnweighted(output, weight, getNoOutput());
    merged.acc = math::FmaOp::create(b, output, alongColumns(weight, columns),
                                     merged.acc);
    merged.sum = arith::AddFOp::create(b, merged.sum, weight, contract());
  }
}

void KernelBuilder::buildMerge(const AttentionResults &parts, int64_t most) {
  merges = true;
  auto source = cast<MemRefType>(parts.o.getType());
  Value blocks = index(source.getShape().back() / columns);
  Value firstRow = buildGrid(blocks);
  if (operands.finished)
    tile::AwaitFlagsOp::create(b, operands.finished, getPlace(firstRow));
  Value firstColumn = arith::MulIOp::create(b, part, index(columns));
  RankedTensorType type = tensor({rows, columns}, b.getF32Type());
  // Differences of lse come before they are scaled: it may be any float.
  isLarge = true;
  bool isFixed = operands.partKeys != 0;
  Value acc = splat(type, getNoOutput()),
        maximum = splat(rowType(), getLowestMaximum());
  Merged merged = {acc, maximum, splat(rowType(), 0)};
  Value largest;
  if (parts.maxLogits)
    largest = splat(rowType(), -std::numeric_limits<double>::infinity());
  auto getCarried = [&]() {
    SmallVector<Value> carried = {merged.acc, merged.maximum, merged.sum};
    if (largest)
      carried.push_back(largest);
    return carried;
  };
  auto take = [&](ValueRange carried) {
    merged = {carried[0], carried[1], carried[2]};
    if (largest)
      largest = carried[3];
  };
  // The output and lse of a part, by the threads that use them: there are few
  // rows as a rule, no work for bulk copies of whole tiles.
  Value count = memref::DimOp::create(b, parts.o, 0), first = index(0);
  // So many parts at once as registers hold, then half as many, and so on: a
  // load takes far longer than what is done with it.
  for (int64_t atOnce = most; atOnce > 0; atOnce = isFixed ? 0 : atOnce / 2) {
    Value end = count;
    if (!isFixed) {
      Value rest = arith::RemUIOp::create(b, count, index(atOnce));
      end = arith::SubIOp::create(b, count, rest);
    }
    auto loop = scf::ForOp::create(b, first, end, index(atOnce), getCarried());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    take(loop.getRegionIterArgs());
    SmallVector<AttentionResults> loaded;
    for (int64_t i = 0; i < atOnce; ++i) {
      Value number = arith::AddIOp::create(b, loop.getInductionVar(), index(i));
      loaded.push_back(loadPart(parts, number, count, firstRow, firstColumn));
    }
    addParts(merged, largest, loaded);
    scf::YieldOp::create(b, getCarried());
    take(loop.getResults());
    first = end;
  }
  if (operands.sinks)
    merged = addSinks(merged);
  if (operands.previousO)
    merged = addPrevious(merged, firstRow, firstColumn);
  storeMerged(merged, largest, firstRow, firstColumn);
}

void KernelBuilder::storeMerged(const Merged &merged, Value largest,
                                Value firstRow, Value firstColumn) {
  auto [out, empty] = divideMerged(merged);
  storeOutput(out, firstRow, firstColumn);
  if (!operands.lse && !largest)
    return;
  Value lse = operands.lse ? buildMergedSum(merged, empty) : Value();
  // Once for all columns.
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, part, index(0));
  auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  if (largest)
    storeMaxLogits(largest, firstRow);
  if (lse)
    tile::StoreOp::create(b, lse, operands.lse, getPlace(firstRow), storeEnd,
                          /*add=*/UnitAttr(), getFold());
}

LogicalResult fa3::buildMergeBody(OpBuilder &builder, attention::ForwardOp op,
                                  const KernelOperands &whole,
                                  const AttentionResults &parts,
                                  PartCount count) {
  OpBuilder::InsertionGuard guard(builder);
  // Few columns, so that there are tiles for many CTAs and many parts fit into
  // registers; more of them where each head has a tile of its own. Of a few
  // parts two at once: more registers than those take CTAs from a
  // multiprocessor, and loads of CTAs overlap as well.
  constexpr int64_t kColumns = 16, kLeast = 8, kOfFew = 32;
  constexpr int64_t kColumnsAtOnce = 128, kFixedAtOnce = 8;
  int64_t columns = count == PartCount::few ? kOfFew
                    : whole.packing         ? kLeast
                                            : kColumns;
  int64_t width = cast<MemRefType>(parts.o.getType()).getShape().back();
  while (columns > kLeast && width % columns)
    columns /= 2;
  int64_t atOnce = count == PartCount::few ? kFewAtOnce
                   : whole.partKeys        ? kFixedAtOnce
                                           : kColumnsAtOnce / columns;
  AccumulationPolicy policy = {};
  KernelBuilder(builder, op, whole, {kReplicaRows, columns}, policy)
      .buildMerge(parts, atOnce);
  return success();
}
