//===- KernelMerge.cpp - parts of the keys become one result --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every part has a normalized output and the logarithm of its sum of weights:
// the sum of the outputs, weighted by exp(lse - the largest lse), divided by
// the sum of these weights. Parts without keys have lse = -inf and weight 0.
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa3;

void KernelBuilder::buildMerge(Value parts, Value lseParts) {
  auto source = cast<MemRefType>(parts.getType());
  Value blocks = index(source.getShape().back() / columns);
  Value firstRow = buildGrid(blocks);
  Value firstColumn = arith::MulIOp::create(b, part, index(columns));
  RankedTensorType type = tensor({rows, columns}, b.getF32Type());
  Value init[] = {splat(type, 0), splat(rowType(), kLowestMaximum),
                  splat(rowType(), 0)};
  auto loop = scf::ForOp::create(
      b, index(0), memref::DimOp::create(b, parts, 0), index(1), init);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar(), acc = loop.getRegionIterArg(0),
          old = loop.getRegionIterArg(1), sum = loop.getRegionIterArg(2);
    Value lse = tile::LoadOp::create(b, rowType(), lseParts,
                                     getPartPlace(number, firstRow), getFold());
    Value exponent = mul(lse, splat(rowType(), llvm::numbers::log2e));
    Value maximum = arith::MaxNumFOp::create(b, exponent, old);
    Value factor = exp2(sub(old, maximum)),
          weight = exp2(sub(exponent, maximum));
    Value output = tile::LoadOp::create(
        b, tensor({rows, columns}, source.getElementType()), parts,
        getPartPlace(number, firstRow, firstColumn), getFold());
    if (!source.getElementType().isF32())
      output = arith::ExtFOp::create(b, type, output);
    // What a caller has in place of a part without keys may be anything.
    if (!op) {
      Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, weight,
                                         splat(rowType(), 0));
      Value isNone = tile::BroadcastOp::create(
          b, tensor({rows, columns}, b.getI1Type()), none, 1);
      output = arith::SelectOp::create(b, isNone, splat(type, 0), output);
    }
    acc = math::FmaOp::create(b, acc, alongColumns(factor, columns),
                              mul(output, alongColumns(weight, columns)));
    sum = math::FmaOp::create(b, sum, factor, weight);
    scf::YieldOp::create(b, ValueRange{acc, maximum, sum});
  }
  Value acc = loop.getResult(0), maximum = loop.getResult(1),
        sum = loop.getResult(2);
  if (operands.sinks) {
    Value sink = buildSinks();
    Value larger = arith::MaxNumFOp::create(b, maximum, sink);
    Value fraction = exp2(sub(maximum, larger));
    sum = math::FmaOp::create(b, sum, fraction, exp2(sub(sink, larger)));
    acc = mul(acc, alongColumns(fraction, columns));
    maximum = larger;
  }
  Value zero = splat(rowType(), 0.0);
  Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, zero);
  Value inverse = arith::DivFOp::create(b, splat(rowType(), 1.0), sum);
  inverse = arith::SelectOp::create(b, empty, zero, inverse);
  Value out = mul(acc, alongColumns(inverse, columns));
  Type element = cast<MemRefType>(operands.o.getType()).getElementType();
  if (!element.isF32())
    out = arith::TruncFOp::create(b, tensor({rows, columns}, element), out);
  tile::StoreOp::create(b, out, operands.o, getPlace(firstRow, firstColumn),
                        storeEnd, /*add=*/UnitAttr(), getFold());
  if (!operands.lse)
    return;
  Value log2 = math::Log2Op::create(b, sum, approximate());
  Value exponent = arith::AddFOp::create(b, maximum, log2, contract());
  Value lse = mul(exponent, splat(rowType(), llvm::numbers::ln2));
  lse = arith::SelectOp::create(
      b, empty, splat(rowType(), -std::numeric_limits<double>::infinity()),
      lse);
  // Once for all columns.
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, part, index(0));
  auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  tile::StoreOp::create(b, lse, operands.lse, getPlace(firstRow), storeEnd,
                        /*add=*/UnitAttr(), getFold());
}

LogicalResult fa3::buildMergeBody(OpBuilder &builder, attention::ForwardOp op,
                                  const KernelOperands &whole, Value parts,
                                  Value lseParts) {
  OpBuilder::InsertionGuard guard(builder);
  // Few columns, so that there are tiles for many CTAs.
  constexpr int64_t kColumns = 32, kLeast = 8;
  int64_t columns = kColumns;
  int64_t width = cast<MemRefType>(parts.getType()).getShape().back();
  while (columns > kLeast && width % columns)
    columns /= 2;
  AccumulationPolicy policy = {};
  KernelBuilder(builder, op, whole, {kReplicaRows, columns}, policy)
      .buildMerge(parts, lseParts);
  return success();
}
