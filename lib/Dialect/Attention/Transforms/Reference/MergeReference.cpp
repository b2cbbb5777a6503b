//===- MergeReference.cpp - attention.merge by definition -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Row after row: the largest lse, the sum of weights, and the weighted sum of
// every element, all in f64.
//
//===----------------------------------------------------------------------===//

#include "MergeReference.h"
#include "ReferenceLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace fa3::attention;

namespace {
class MergeBuilder : ReferenceLoops {
public:
  explicit MergeBuilder(HostFunction &host)
      : ReferenceLoops(host.merge->op.getLoc(), host.getBuilder()),
        merge(*host.merge), none(number(0)),
        lowest(number(-std::numeric_limits<double>::infinity())),
        count(dim(merge.parts, 0)) {}

  /// Rows whose first indices are `at`.
  void build(SmallVector<Value> at = {});

private:
  Value number(double value) {
    return arith::ConstantOp::create(b, b.getF64FloatAttr(value));
  }
  /// What `next` makes of `init` and all parts.
  Value reduce(Value init, function_ref<Value(Value, Value)> next) {
    return ReferenceLoops::reduce(count, init, next);
  }
  Value load(Value memref, ValueRange at);
  void store(Value value, Value memref, ValueRange at);
  Value isNone(Value lse) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, lse, lowest);
  }
  Value getWeight(Value lse, Value largest);
  void buildRow(ArrayRef<Value> at);

  const HostMerge &merge;
  Value none, lowest, count;
};
} // namespace

static SmallVector<Value> inPart(Value part, ArrayRef<Value> at) {
  SmallVector<Value> place = {part};
  place.append(at.begin(), at.end());
  return place;
}

Value MergeBuilder::load(Value memref, ValueRange at) {
  Value value = memref::LoadOp::create(b, memref, at);
  return arith::ExtFOp::create(b, b.getF64Type(), value);
}

/// Once through f32, as results of attention are.
void MergeBuilder::store(Value value, Value memref, ValueRange at) {
  value = arith::TruncFOp::create(b, b.getF32Type(), value);
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  if (!element.isF32())
    value = arith::TruncFOp::create(b, element, value);
  memref::StoreOp::create(b, value, memref, at);
}

Value MergeBuilder::getWeight(Value lse, Value largest) {
  Value weight = math::ExpOp::create(b, arith::SubFOp::create(b, lse, largest));
  return arith::SelectOp::create(b, isNone(lse), none, weight);
}

void MergeBuilder::buildRow(ArrayRef<Value> at) {
  auto loadLse = [&](Value part) {
    return load(merge.lseParts, inPart(part, at));
  };
  Value sink;
  if (merge.sinks)
    sink = load(merge.sinks, at[at.size() - 2]);
  Value largest =
      reduce(sink ? sink : lowest, [&](Value part, Value old) -> Value {
        return arith::MaxNumFOp::create(b, loadLse(part), old);
      });
  Value sum = reduce(sink ? getWeight(sink, largest) : none,
                     [&](Value part, Value old) -> Value {
                       return arith::AddFOp::create(
                           b, old, getWeight(loadLse(part), largest));
                     });
  Value isEmpty =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, none);
  loop(index(cast<MemRefType>(merge.o.getType()).getShape().back()),
       [&](Value column) {
         SmallVector<Value> place(at);
         place.push_back(column);
         Value weighted = reduce(none, [&](Value part, Value old) -> Value {
           Value lse = loadLse(part);
           Value product =
               arith::MulFOp::create(b, getWeight(lse, largest),
                                     load(merge.parts, inPart(part, place)));
           product = arith::SelectOp::create(b, isNone(lse), none, product);
           return arith::AddFOp::create(b, old, product);
         });
         Value mean = arith::DivFOp::create(b, weighted, sum);
         store(arith::SelectOp::create(b, isEmpty, none, mean), merge.o, place);
       });
  if (!merge.lse)
    return;
  Value lse = arith::AddFOp::create(b, largest, math::LogOp::create(b, sum));
  store(arith::SelectOp::create(b, isEmpty, lowest, lse), merge.lse, at);
}

void MergeBuilder::build(SmallVector<Value> at) {
  int64_t rank = cast<MemRefType>(merge.o.getType()).getRank() - 1;
  if (static_cast<int64_t>(at.size()) == rank)
    return buildRow(at);
  loop(dim(merge.o, at.size()), [&](Value index) {
    SmallVector<Value> more(at);
    more.push_back(index);
    build(more);
  });
}

void fa3::attention::buildMergeReference(HostFunction &host) {
  MergeBuilder(host).build();
}
