//===- SplitCount.cpp - into how many parts keys are divided --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rule is that of Tuning/PartCount.h; here is what it is applied to.
//===----------------------------------------------------------------------===//

#include "SplitCount.h"
#include "../Emit/Places.h"
#include "fa3/Dialect/Attention/IR/SequenceStarts.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Support/IndexBuilder.h"
#include "fa3/Tuning/PartCount.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3;
using attention::HostFunction;
using attention::Sequence;

namespace {
class SplitCount : IndexBuilder {
public:
  SplitCount(ImplicitLocOpBuilder &b, HostFunction &host,
             const std::optional<GroupPacking> &packing, int64_t rows)
      : IndexBuilder(b), host(host), packing(packing), rows(rows) {}
  Value build();
  /// As many parts of so many keys as a sequence may have.
  Value buildForParts(int64_t partKeys) {
    return atLeast(blocksOf(boundKeys(), partKeys), 1);
  }

  // What chooseParts computes with.
  using Number = Value;
  using IndexBuilder::index;
  Value multiply(Value lhs, Value rhs) {
    return arith::MulIOp::create(b, lhs, rhs);
  }
  Value divide(Value lhs, Value rhs) {
    return arith::DivUIOp::create(b, lhs, rhs);
  }
  Value minimum(Value lhs, Value rhs) {
    return arith::MinSIOp::create(b, lhs, rhs);
  }
  Value maximum(Value lhs, Value rhs) {
    return arith::MaxSIOp::create(b, lhs, rhs);
  }
  Value selectIfAtLeast(Value lhs, Value rhs, Value then, Value otherwise) {
    Value isAtLeast =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sge, lhs, rhs);
    return arith::SelectOp::create(b, isAtLeast, then, otherwise);
  }
  Value atLeast(Value value, int64_t least) {
    if (least == 0 && value.getDefiningOp<memref::DimOp>())
      return value;
    return arith::MaxSIOp::create(b, value, index(least));
  }

private:
  /// Tiles of queries of all sequences and heads.
  Value countTiles();
  /// Keys that a sequence has at most, as far as the host can tell.
  Value boundKeys();
  /// Not less than a number of keys is; null if the host does not know.
  Value getBound(Value value);

  HostFunction &host;
  const std::optional<GroupPacking> &packing;
  int64_t rows;
};
} // namespace

Value SplitCount::countTiles() {
  Value queries = index(rows / (packing ? packing->rows : 1));
  Value tiles;
  if (attention::getSequenceStarts(host.forward, Sequence::query)) {
    tiles = arith::DivUIOp::create(b, host.queries, queries);
    tiles = arith::AddIOp::create(b, tiles, atLeast(host.batch, 0));
  } else {
    Value most = host.maxQ ? atLeast(host.maxQ, 0) : host.queries;
    tiles = arith::CeilDivSIOp::create(b, most, queries);
    tiles = arith::MulIOp::create(b, tiles, atLeast(host.batch, 0));
  }
  Value heads = packing ? host.keyHeads : host.heads;
  if (packing && packing->parts > 1)
    heads = arith::MulIOp::create(b, heads, index(packing->parts));
  return arith::MulIOp::create(b, tiles, heads);
}

/// Of sums, products and minima of what only grows; subtracted are numbers of
/// rows.
Value SplitCount::getBound(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return index(std::max<int64_t>(constant.getSExtValue(), 0));
  if (Value scalar = host.values.lookupOrNull(value))
    return scalar.getType().isIndex() ? atLeast(scalar, 0) : Value();
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (auto length = dyn_cast<attention::LengthOp>(op))
    return length.getSequence() == Sequence::query ? host.queries : host.keys;
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    Value source = host.values.lookupOrNull(dim.getSource());
    std::optional<int64_t> axis = dim.getConstantIndex();
    return source && axis && isa<MemRefType>(source.getType())
               ? memref::DimOp::create(b, source, *axis)
               : Value();
  }
  if (isa<arith::SubIOp, arith::IndexCastOp, arith::DivUIOp>(op)) {
    Value bound = getBound(op->getOperand(0));
    APInt divisor;
    bool divides = isa<arith::DivUIOp>(op) &&
                   matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) &&
                   divisor.isStrictlyPositive();
    return bound && divides
               ? arith::DivUIOp::create(b, bound, index(divisor.getSExtValue()))
               : bound;
  }
  if (!isa<arith::AddIOp, arith::MulIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return {};
  Value lhs = getBound(op->getOperand(0)), rhs = getBound(op->getOperand(1));
  if (isa<arith::MinSIOp>(op) && (!lhs || !rhs))
    return lhs ? lhs : rhs;
  if (!lhs || !rhs)
    return {};
  if (isa<arith::AddIOp>(op))
    return arith::AddIOp::create(b, lhs, rhs);
  if (isa<arith::MulIOp>(op))
    return arith::MulIOp::create(b, lhs, rhs);
  if (isa<arith::MinSIOp>(op))
    return arith::MinSIOp::create(b, lhs, rhs);
  return arith::MaxSIOp::create(b, lhs, rhs);
}

Value SplitCount::boundKeys() {
  Value room = host.keys;
  bool isElsewhere = host.forward.hasPlace(Sequence::key);
  if (isElsewhere) {
    // Rows of all pages, or of all sequences.
    int64_t rank = cast<MemRefType>(host.k.getType()).getRank();
    for (int64_t dim = 0; dim < rank - 3; ++dim)
      room =
          arith::MulIOp::create(b, room, memref::DimOp::create(b, host.k, dim));
  }
  if (!host.forward.hasLengths())
    return room;
  Operation *yield = host.forward.findLengths()->front().getTerminator();
  Value bound = getBound(yield->getOperand(1));
  if (!bound)
    return room;
  return isElsewhere ? bound : arith::MinSIOp::create(b, bound, room);
}

Value SplitCount::build() {
  Value sms = tile::SmCountOp::create(b);
  Value tiles = atLeast(countTiles(), 1);
  return chooseParts(*this, sms, tiles, [&] { return boundKeys(); });
}

/// Whether a number is at least 1 for certain.
static bool isPositive(Value value) {
  auto isAbove0 = [](Value number) {
    std::optional<int64_t> constant = getConstantIntValue(number);
    return constant && *constant > 0;
  };
  auto maximum = value.getDefiningOp<arith::MaxSIOp>();
  return isAbove0(value) || (maximum && (isAbove0(maximum.getLhs()) ||
                                         isAbove0(maximum.getRhs())));
}

/// What `splits` says if that is above 0, and else what fills the
/// multiprocessors, or with `partKeys` parts of so many keys.
static Value buildSplitCount(ImplicitLocOpBuilder &b, HostFunction &host,
                             const std::optional<GroupPacking> &packing,
                             int64_t rows, int64_t partKeys) {
  Value given = host.splits;
  if (isPositive(given))
    return given;
  SplitCount counter(b, host, packing, rows);
  Value chosen = partKeys ? counter.buildForParts(partKeys) : counter.build();
  if (getConstantIntValue(given))
    return chosen;
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value isGiven =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, given, zero);
  Value count = arith::SelectOp::create(b, isGiven, given, chosen);
  // The host requires that none is negative; grids, which are counted without a
  // sign, are to see it.
  return arith::MaxSIOp::create(b, count, arith::ConstantIndexOp::create(b, 1));
}

AttentionResults fa3::allocateParts(HostFunction &host,
                                    const std::optional<GroupPacking> &packing,
                                    int64_t rows, int64_t partKeys,
                                    Value *flags) {
  OpBuilder builder = host.getBuilder();
  ImplicitLocOpBuilder b(host.forward.getLoc(), builder);
  Value count = buildSplitCount(b, host, packing, rows, partKeys);
  // Behind the first dimension and then seen in front: extents of such a view
  // are read, where those of an allocation are computed again for every use.
  auto allocate = [&](StringRef name, int64_t dims, Type element) -> Value {
    auto like = cast<MemRefType>(host.o.getType());
    SmallVector<int64_t> shape;
    SmallVector<Value> extents;
    for (int64_t dim = 0; dim < dims; ++dim) {
      shape.push_back(like.getDimSize(dim));
      extents.push_back(memref::DimOp::create(b, host.o, dim));
    }
    shape.insert(shape.begin() + 1, ShapedType::kDynamic);
    extents.insert(extents.begin() + 1, count);
    auto type = RankedTensorType::get(shape, element);
    Value memory = attention::allocateWorkspace(b, type, extents, name);
    memory = memref::CastOp::create(b, attention::getStridedType(type, element),
                                    memory);
    auto order = llvm::to_vector(llvm::seq<unsigned>(0, shape.size()));
    std::swap(order[0], order[1]);
    AffineMap map = AffineMap::getPermutationMap(order, b.getContext());
    return memref::TransposeOp::create(b, memory, AffineMapAttr::get(map));
  };
  int64_t rank = cast<MemRefType>(host.o.getType()).getRank();
  AttentionResults parts = {allocate("o_parts", rank, b.getF32Type()),
                            allocate("lse_parts", rank - 1, b.getF32Type()),
                            /*plain=*/Value(), /*maxLogits=*/Value()};
  if (host.maxLogits)
    parts.maxLogits = allocate("max_logits_parts", rank - 1, b.getF32Type());
  if (flags)
    *flags = allocate("finished_parts", rank - 1, b.getI32Type());
  return parts;
}
