//===- QuadStores.cpp - 16 bytes a thread of a 16-bit fragment ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "QuadStores.h"
#include "../Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <map>

using namespace mlir;
using namespace fa3;

SmallVector<Quad> fa3::findQuads(const LinearLayout &layout) {
  unsigned last = layout.getRank() - 1;
  auto column = [&](int64_t offset) {
    LinearLayout::Basis basis(layout.getRank(), 0);
    basis[last] = offset;
    return basis;
  };
  auto lanes = layout.getLaneBases();
  if (lanes.size() < 2 || lanes[0] != column(2) || lanes[1] != column(4))
    return {};
  std::map<LinearLayout::Basis, int64_t> registerAt;
  for (int64_t r = 0; r < layout.getNumRegisters(); ++r)
    registerAt[layout.getRegisterOffset(r)] = r;
  auto find = [&](LinearLayout::Basis offset, int64_t columns) {
    offset[last] += columns;
    auto it = registerAt.find(offset);
    return it == registerAt.end() ? int64_t(-1) : it->second;
  };
  SmallVector<Quad> quads;
  for (auto &[offset, first] : registerAt) {
    if (offset[last] % 32)
      continue;
    Quad &quad = quads.emplace_back();
    for (int64_t word = 0; word < 4; ++word) {
      quad[word] = find(offset, 8 * word);
      if (quad[word] < 0 || find(offset, 8 * word + 1) != quad[word] + 1)
        return {};
    }
  }
  if (static_cast<int64_t>(quads.size()) * 8 != layout.getNumRegisters())
    return {};
  return quads;
}

std::array<Value, 4> fa3::exchangeQuad(OpBuilder &builder, Location loc,
                                       Value lane, std::array<Value, 4> words) {
  IntegerBuilder ints(builder, loc);
  auto isOdd = [&](int64_t bit) -> Value {
    Value none = ints.constant(0);
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                 ints.bitAnd(lane, int64_t(1) << bit), none);
  };
  auto select = [&](Value condition, Value x, Value y) -> Value {
    return arith::SelectOp::create(builder, loc, condition, x, y);
  };
  // Bit by bit of the lane: what the other one of a pair is to have is sent,
  // and what comes takes its place.
  auto exchange = [&](int64_t bit, Value odd, unsigned even, unsigned other) {
    Value sent = select(odd, words[even], words[other]);
    Value clamp = ints.constant(31);
    Value distance = ints.constant(int64_t(1) << bit);
    Value got = NVVM::ShflOp::create(builder, loc, builder.getI32Type(),
                                     ints.constant(-1), sent, distance, clamp,
                                     NVVM::ShflKind::bfly, UnitAttr());
    words[even] = select(odd, got, words[even]);
    words[other] = select(odd, words[other], got);
  };
  Value odd = isOdd(0), upper = isOdd(1);
  exchange(0, odd, 0, 1);
  exchange(0, odd, 2, 3);
  exchange(1, upper, 0, 2);
  exchange(1, upper, 1, 3);
  return words;
}
