//===- BackwardReferenceAux.cpp - gradients of auxiliary operands ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "BackwardReferenceBuilder.h"
#include <functional>

using namespace mlir;
using namespace fa3::attention;

SmallVector<Value> BackwardReference::getAuxIndices(const AuxPlace &place,
                                                    Value batch, Value h,
                                                    Value i, Value j) {
  Value values[] = {batch, h, i, j, zero, j};
  return llvm::map_to_vector(place.indices, [&](AuxIndex index) {
    return values[static_cast<unsigned>(index)];
  });
}

void BackwardReference::addToAux(ArrayRef<Value> gradients, Value batch,
                                 Value h, Value i, Value j) {
  if (ofGroups) {
    batch = zero;
    h = arith::SubIOp::create(b, h, firstHead);
  }
  for (auto [sum, gradient] : llvm::zip_equal(aux, gradients)) {
    if (sum.place.isTable()) {
      addToTable(sum, gradient, {batch, h, i, j});
      continue;
    }
    SmallVector<Value> at = getAuxIndices(sum.place, batch, h, i, j);
    Value before = memref::LoadOp::create(b, sum.sums, at);
    memref::StoreOp::create(b, add(before, gradient), sum.sums, at);
  }
}

/// A table is shared by all groups, so that numbers are those of the operation.
void BackwardReference::addToTable(const AuxSum &sum, Value gradient,
                                   ArrayRef<Value> place) {
  SmallVector<Value> arguments = {
      arith::ConstantOp::create(b, b.getF32FloatAttr(0))};
  llvm::append_range(arguments, place);
  SmallVector<Value> at = inlineIndices(b, host, op.getScoreMod(), arguments,
                                        lengths, sum.place.computed);
  auto branch =
      scf::IfOp::create(b, TypeRange(), buildIsInside(b, sum.sums, at),
                        /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value before = memref::LoadOp::create(b, sum.sums, at);
  memref::StoreOp::create(b, add(before, gradient), sum.sums, at);
}

void BackwardReference::allocateAux() {
  for (AuxSum &sum : edits)
    sum.sums = memref::AllocOp::create(b, MemRefType::get({1}, compute));
  for (AuxSum &sum : aux) {
    SmallVector<Value> extents;
    if (sum.place.isTable())
      for (auto axis : llvm::seq<int64_t>(0, sum.place.indices.size()))
        extents.push_back(memref::DimOp::create(b, sum.target, axis));
    else
      extents =
          getAuxIndices(sum.place, ofGroups ? one : host.batch,
                        ofGroups ? group : host.heads, host.queries, host.keys);
    for (auto [extent, index] : llvm::zip_equal(extents, sum.place.indices))
      if (index == AuxIndex::One)
        extent = one;
    SmallVector<int64_t> shape(extents.size(), ShapedType::kDynamic);
    sum.sums =
        memref::AllocOp::create(b, MemRefType::get(shape, compute), extents);
  }
}

void BackwardReference::loopOver(const AuxSum &sum,
                                 function_ref<void(ValueRange)> body) {
  SmallVector<Value> at;
  std::function<void()> nest = [&]() {
    if (at.size() == sum.place.indices.size())
      return body(at);
    Value extent = memref::DimOp::create(b, sum.sums, at.size());
    loop(zero, extent, [&](Value index) {
      at.push_back(index);
      nest();
      at.pop_back();
    });
  };
  nest();
}

void BackwardReference::clearAux() {
  for (const AuxSum &sum : aux)
    loopOver(sum, [&](ValueRange at) {
      memref::StoreOp::create(b, number(0), sum.sums, at);
    });
}

void BackwardReference::storeAux(Value batch, Value first) {
  for (const AuxSum &sum : aux)
    loopOver(sum, [&](ValueRange at) {
      SmallVector<Value> to(at);
      for (auto [index, which] : llvm::zip_equal(to, sum.place.indices)) {
        if (ofGroups && which == AuxIndex::Batch)
          index = batch;
        if (ofGroups && which == AuxIndex::Head)
          index = arith::AddIOp::create(b, first, index);
      }
      Type element = cast<MemRefType>(sum.target.getType()).getElementType();
      Value value =
          convert(memref::LoadOp::create(b, sum.sums, at), b.getF32Type());
      memref::StoreOp::create(b, convert(value, element), sum.target, to);
    });
}
