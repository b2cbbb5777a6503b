//===- LinearLayout.cpp - where the elements of a tile live ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Layout/LinearLayout.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace fa3;
using llvm::ArrayRef;
using llvm::SmallVector;

using Basis = LinearLayout::Basis;

LinearLayout::LinearLayout(ArrayRef<int64_t> shape, ArrayRef<Basis> reg,
                           ArrayRef<Basis> lane, ArrayRef<Basis> warp,
                           ArrayRef<Repeat> repeats)
    : shape(shape), reg(reg), lane(lane), warp(warp), repeats(repeats) {}

/// Appends register bits for 1, 2, 4, .. `extent` elements along `dim`, the
/// power-of-two part as bits, the odd part as a repeat.
static void appendExtent(unsigned dim, int64_t stride, int64_t extent,
                         SmallVector<Basis> &reg,
                         SmallVector<LinearLayout::Repeat> &repeats) {
  while (extent % 2 == 0) {
    Basis basis(2, 0);
    basis[dim] = stride;
    reg.push_back(basis);
    stride *= 2;
    extent /= 2;
  }
  if (extent > 1)
    repeats.push_back({dim, stride, extent});
}

std::optional<LinearLayout> LinearLayout::accumulator(int64_t rows,
                                                      int64_t columns) {
  if (rows <= 0 || rows % 64 || !llvm::isPowerOf2_64(rows / 64) ||
      columns <= 0 || columns % 8)
    return std::nullopt;
  SmallVector<Basis> reg = {{0, 1}, {8, 0}};
  SmallVector<Basis> lane = {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}};
  SmallVector<Basis> warp = {{16, 0}, {32, 0}};
  SmallVector<Repeat> repeats;
  appendExtent(1, 8, columns / 8, reg, repeats);
  appendExtent(0, 64, rows / 64, reg, repeats);
  return LinearLayout({rows, columns}, reg, lane, warp, repeats);
}

std::optional<LinearLayout>
LinearLayout::operandA(int64_t rows, int64_t columns, unsigned bits) {
  // 16-bit: the fragment of two neighboring 8-column blocks is the
  // accumulator's. 8-bit: four neighboring columns a lane, then 16 further.
  if (bits == 16)
    return columns % 16 ? std::nullopt : accumulator(rows, columns);
  if (bits != 8 || rows <= 0 || rows % 64 || !llvm::isPowerOf2_64(rows / 64) ||
      columns <= 0 || columns % 32)
    return std::nullopt;
  SmallVector<Basis> reg = {{0, 1}, {0, 2}, {8, 0}, {0, 16}};
  SmallVector<Basis> lane = {{0, 4}, {0, 8}, {1, 0}, {2, 0}, {4, 0}};
  SmallVector<Basis> warp = {{16, 0}, {32, 0}};
  SmallVector<Repeat> repeats;
  appendExtent(1, 32, columns / 32, reg, repeats);
  appendExtent(0, 64, rows / 64, reg, repeats);
  return LinearLayout({rows, columns}, reg, lane, warp, repeats);
}

std::optional<LinearLayout> LinearLayout::transposing(int64_t rows,
                                                      int64_t columns) {
  if (rows <= 0 || rows % 32 || columns <= 0 || columns % 16)
    return std::nullopt;
  SmallVector<Basis> reg = {{0, 1}, {1, 0}, {8, 0}};
  SmallVector<Basis> lane = {{2, 0}, {4, 0}, {0, 2}, {0, 4}, {0, 8}};
  SmallVector<Basis> warp = {{16, 0}};
  SmallVector<Repeat> repeats;
  appendExtent(1, 16, columns / 16, reg, repeats);
  appendExtent(0, 32, rows / 32, reg, repeats);
  return LinearLayout({rows, columns}, reg, lane, warp, repeats);
}

std::optional<LinearLayout>
LinearLayout::relabeled(unsigned dim, ArrayRef<int64_t> bits) const {
  int64_t period = int64_t(1) << bits.size();
  LinearLayout result = *this;
  auto relabel = [&](int64_t &coordinate) {
    int64_t renamed = coordinate / period * period;
    for (auto [i, bit] : llvm::enumerate(bits))
      renamed += ((coordinate >> bit) & 1) << i;
    coordinate = renamed;
  };
  for (auto *bases : {&result.reg, &result.lane, &result.warp})
    for (Basis &basis : *bases)
      relabel(basis[dim]);
  for (const Repeat &repeat : repeats)
    if (repeat.dim == dim && repeat.stride % period)
      return std::nullopt;
  return result;
}

LinearLayout LinearLayout::transposed() const {
  assert(getRank() == 2 && "only matrices can be transposed");
  LinearLayout result = *this;
  std::swap(result.shape[0], result.shape[1]);
  for (auto *bases : {&result.reg, &result.lane, &result.warp})
    for (Basis &basis : *bases)
      std::swap(basis[0], basis[1]);
  for (Repeat &repeat : result.repeats)
    repeat.dim = 1 - repeat.dim;
  return result;
}

LinearLayout LinearLayout::folded(int64_t inner) const {
  assert(llvm::isPowerOf2_64(inner) && shape[0] % inner == 0);
  LinearLayout result = *this;
  // The bits of a coordinate do not carry, so each goes to one dimension.
  auto fold = [&](auto &sizes) {
    int64_t whole = sizes.front();
    sizes.front() = whole % inner;
    sizes.insert(sizes.begin(), whole / inner);
  };
  fold(result.shape);
  result.shape[1] = inner;
  for (auto *bases : {&result.reg, &result.lane, &result.warp})
    for (Basis &basis : *bases)
      fold(basis);
  for (Repeat &repeat : result.repeats) {
    if (repeat.dim != 0) {
      ++repeat.dim;
      continue;
    }
    // It counts the odd factor of the extent, which inner has no part in.
    assert(repeat.stride % inner == 0);
    repeat.stride /= inner;
  }
  return result;
}

std::optional<SmallVector<int64_t>>
LinearLayout::getRegistersIn(const LinearLayout &from) const {
  if (shape != from.shape || lane != from.lane || warp != from.warp ||
      getNumRegisters() != from.getNumRegisters())
    return std::nullopt;
  std::map<Basis, int64_t> registerOf;
  for (int64_t r = 0; r < from.getNumRegisters(); ++r)
    registerOf[from.getRegisterOffset(r)] = r;
  SmallVector<int64_t> registers;
  for (int64_t r = 0; r < getNumRegisters(); ++r) {
    auto it = registerOf.find(getRegisterOffset(r));
    if (it == registerOf.end())
      return std::nullopt;
    registers.push_back(it->second);
  }
  return registers;
}

LinearLayout LinearLayout::slice(unsigned dim) const {
  auto drop = [&](const Basis &basis) {
    Basis result;
    for (auto [i, value] : llvm::enumerate(basis))
      if (i != dim)
        result.push_back(value);
    return result;
  };
  auto isZero = [](const Basis &basis) {
    return llvm::all_of(basis, [](int64_t v) { return v == 0; });
  };
  SmallVector<Basis> newReg, newLane, newWarp;
  for (const Basis &basis : reg) {
    Basis rest = drop(basis);
    if (!isZero(rest))
      newReg.push_back(rest);
  }
  for (const Basis &basis : lane)
    newLane.push_back(drop(basis));
  for (const Basis &basis : warp)
    newWarp.push_back(drop(basis));
  SmallVector<Repeat> newRepeats;
  for (const Repeat &repeat : repeats)
    if (repeat.dim != dim)
      newRepeats.push_back({repeat.dim > dim ? repeat.dim - 1 : repeat.dim,
                            repeat.stride, repeat.count});
  Basis newShape = drop(Basis(shape.begin(), shape.end()));
  return LinearLayout(newShape, newReg, newLane, newWarp, newRepeats);
}

int64_t LinearLayout::getNumRegisters() const {
  int64_t count = int64_t(1) << reg.size();
  for (const Repeat &repeat : repeats)
    count *= repeat.count;
  return count;
}

static void addBits(ArrayRef<Basis> bases, uint64_t index, Basis &sum) {
  for (auto [bit, basis] : llvm::enumerate(bases))
    if ((index >> bit) & 1)
      for (auto [i, value] : llvm::enumerate(basis))
        sum[i] += value;
}

Basis LinearLayout::getRegisterOffset(int64_t r) const {
  Basis sum(shape.size(), 0);
  addBits(reg, r & ((int64_t(1) << reg.size()) - 1), sum);
  r >>= reg.size();
  for (const Repeat &repeat : repeats) {
    sum[repeat.dim] += (r % repeat.count) * repeat.stride;
    r /= repeat.count;
  }
  return sum;
}

Basis LinearLayout::getThreadOffset(unsigned laneId, unsigned warpId) const {
  Basis sum(shape.size(), 0);
  addBits(lane, laneId, sum);
  addBits(warp, warpId, sum);
  return sum;
}

SmallVector<unsigned> LinearLayout::getLaneBitsAlong(unsigned dim) const {
  SmallVector<unsigned> bits;
  for (auto [bit, basis] : llvm::enumerate(lane))
    if (basis[dim])
      bits.push_back(bit);
  return bits;
}

bool LinearLayout::crossesWarpsAlong(unsigned dim) const {
  return llvm::any_of(warp, [&](const Basis &b) { return b[dim] != 0; });
}

bool LinearLayout::operator==(const LinearLayout &o) const {
  return shape == o.shape && reg == o.reg && lane == o.lane && warp == o.warp &&
         repeats == o.repeats;
}

void LinearLayout::print(llvm::raw_ostream &os) const {
  auto list = [&](llvm::StringRef name, ArrayRef<Basis> bases) {
    os << name << " = [";
    llvm::interleaveComma(bases, os, [&](const Basis &basis) {
      os << '[';
      llvm::interleaveComma(basis, os);
      os << ']';
    });
    os << ']';
  };
  llvm::interleave(shape, os, "x");
  os << ": ";
  list("reg", reg);
  list(", lane", lane);
  list(", warp", warp);
  for (const Repeat &repeat : repeats)
    os << ", repeat " << repeat.count << " along " << repeat.dim << " by "
       << repeat.stride;
}

std::string LinearLayout::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  return text;
}
