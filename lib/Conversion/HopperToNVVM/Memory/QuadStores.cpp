//===- QuadStores.cpp - 16 bytes a thread of a fragment -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "QuadStores.h"
#include "../Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <map>

using namespace mlir;
using namespace fa3;

static LinearLayout::Basis getColumn(const LinearLayout &layout,
                                     int64_t number) {
  LinearLayout::Basis basis(layout.getRank(), 0);
  basis.back() = number;
  return basis;
}

/// Registers by fours: those `offsets` columns behind every one whose column is
/// a multiple of `columns`. None if one is missing or the registers are more.
static SmallVector<Quad> findFours(const LinearLayout &layout, int64_t columns,
                                   ArrayRef<int64_t> offsets, int64_t each) {
  auto lanes = layout.getLaneBases();
  if (lanes.size() < 2 || lanes[0] != getColumn(layout, 2) ||
      lanes[1] != getColumn(layout, 4))
    return {};
  std::map<LinearLayout::Basis, int64_t> registerAt;
  for (int64_t r = 0; r < layout.getNumRegisters(); ++r)
    registerAt[layout.getRegisterOffset(r)] = r;
  auto find = [&](LinearLayout::Basis offset, int64_t columns) {
    offset.back() += columns;
    auto it = registerAt.find(offset);
    return it == registerAt.end() ? int64_t(-1) : it->second;
  };
  SmallVector<Quad> quads;
  for (auto &[offset, first] : registerAt) {
    if (offset.back() % columns)
      continue;
    Quad &quad = quads.emplace_back();
    for (auto [number, more] : llvm::zip_equal(quad, offsets)) {
      number = find(offset, more);
      if (number < 0 || (each == 2 && find(offset, more + 1) != number + 1))
        return {};
    }
  }
  if (static_cast<int64_t>(quads.size()) * 4 * each != layout.getNumRegisters())
    return {};
  return quads;
}

SmallVector<Quad> fa3::findQuads(const LinearLayout &layout) {
  return findFours(layout, 32, {0, 8, 16, 24}, /*each=*/2);
}

SmallVector<Quad> fa3::findWordQuads(const LinearLayout &layout) {
  return findFours(layout, 16, {0, 1, 8, 9}, /*each=*/1);
}

namespace {
/// Exchanges words between two lanes whose numbers differ in one bit.
class Exchange {
public:
  Exchange(OpBuilder &builder, Location loc, Value lane, int64_t bit)
      : builder(builder), loc(loc), ints(builder, loc),
        mask(ints.constant(int64_t(1) << bit)) {
    Value none = ints.constant(0);
    odd = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                ints.bitAnd(lane, int64_t(1) << bit), none);
  }
  /// What the other lane is to have is sent, and what comes takes its place.
  void operator()(Value &even, Value &other) {
    Value sent = select(even, other);
    Value clamp = ints.constant(31);
    Value got = NVVM::ShflOp::create(builder, loc, builder.getI32Type(),
                                     ints.constant(-1), sent, mask, clamp,
                                     NVVM::ShflKind::bfly, UnitAttr());
    even = select(got, even);
    other = select(other, got);
  }

private:
  Value select(Value x, Value y) {
    return arith::SelectOp::create(builder, loc, odd, x, y);
  }
  OpBuilder &builder;
  Location loc;
  IntegerBuilder ints;
  Value mask, odd;
};
} // namespace

std::array<Value, 4> fa3::exchangeQuad(OpBuilder &builder, Location loc,
                                       Value lane, std::array<Value, 4> words) {
  Exchange odd(builder, loc, lane, 0), upper(builder, loc, lane, 1);
  odd(words[0], words[1]);
  odd(words[2], words[3]);
  upper(words[0], words[2]);
  upper(words[1], words[3]);
  return words;
}

std::array<Value, 4> fa3::exchangePair(OpBuilder &builder, Location loc,
                                       Value lane, std::array<Value, 4> words) {
  Exchange odd(builder, loc, lane, 0);
  odd(words[0], words[2]);
  odd(words[1], words[3]);
  return words;
}
