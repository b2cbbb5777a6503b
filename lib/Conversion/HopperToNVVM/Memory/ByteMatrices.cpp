//===- ByteMatrices.cpp - 8-bit fragments by ldmatrix, stmatrix -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "ByteMatrices.h"
#include "../InlineAsm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <map>

using namespace mlir;
using namespace fa3;
using Basis = ByteMatrices::Basis;

static Basis operator+(const Basis &a, const Basis &b) {
  return {a[0] + b[0], a[1] + b[1]};
}

/// All sums of a subset of `bases`, by the bits of their number.
static SmallVector<Basis> getSums(ArrayRef<Basis> bases) {
  SmallVector<Basis> sums = {Basis{0, 0}};
  for (const Basis &basis : bases)
    for (size_t i = 0, count = sums.size(); i < count; ++i)
      sums.push_back(sums[i] + basis);
  return sums;
}

/// Whether lanes hold their words as matrices do; collects the rows.
static bool matchLanes(ArrayRef<Basis> lanes, bool transposed,
                       SmallVectorImpl<Basis> &rows) {
  if (transposed) {
    static const Basis expected[] = {{2, 0}, {4, 0}, {0, 2}, {0, 4}, {0, 8}};
    rows.assign({{1, 0}, {2, 0}, {4, 0}});
    return lanes == ArrayRef(expected);
  }
  if (lanes.size() != 5 || lanes[0] != Basis{0, 4} || lanes[1] != Basis{0, 8})
    return false;
  rows.assign(lanes.begin() + 2, lanes.end());
  return llvm::all_of(rows, [](const Basis &row) { return row[1] == 0; });
}

std::optional<ByteMatrices> fa3::planByteMatrices(const LinearLayout &layout,
                                                  bool transposed,
                                                  Value column) {
  constexpr int64_t kColumns = 16;
  constexpr unsigned kMostSteps = 2;
  ByteMatrices plan;
  if (layout.getRank() != 2 || getDivisor(column) % kColumns ||
      !matchLanes(layout.getLaneBases(), transposed, plan.rows))
    return std::nullopt;
  const Basis word[] = {{0, 1}, transposed ? Basis{1, 0} : Basis{0, 2}};
  ArrayRef<Basis> registers = layout.getRegisterBases();
  for (const Basis &basis : word)
    if (llvm::count(registers, basis) != 1)
      return std::nullopt;
  SmallVector<Basis> others =
      llvm::filter_to_vector(registers, [&](const Basis &basis) {
        return !llvm::is_contained(word, basis);
      });
  plan.warps.assign(layout.getWarpBases().begin(), layout.getWarpBases().end());
  for (const SmallVector<Basis> &bases : {others, plan.warps})
    for (const Basis &basis : bases)
      if (basis[1] % kColumns)
        return std::nullopt;

  for (const Basis &basis : ArrayRef(others).take_front(kMostSteps))
    plan.steps.push_back(basis);
  plan.instructions = getSums(ArrayRef(others).drop_front(plan.steps.size()));
  for (const LinearLayout::Repeat &repeat : layout.getRepeats()) {
    if (repeat.dim == 1 && repeat.stride % kColumns)
      return std::nullopt;
    size_t count = plan.instructions.size();
    for (int64_t i = 1; i < repeat.count; ++i)
      for (size_t j = 0; j < count; ++j) {
        Basis offset = plan.instructions[j];
        offset[repeat.dim] += i * repeat.stride;
        plan.instructions.push_back(offset);
      }
  }
  std::map<Basis, int64_t> registerOf;
  for (int64_t r = 0; r < layout.getNumRegisters(); ++r)
    registerOf[layout.getRegisterOffset(r)] = r;
  for (const Basis &instruction : plan.instructions)
    for (const Basis &matrix : getSums(plan.steps))
      for (const Basis &element : getSums(word))
        plan.order.push_back(registerOf.at(instruction + matrix + element));
  return plan;
}

/// The bits of a column that the bases set, if each has one of its own.
static std::optional<int64_t> getColumnBits(ArrayRef<Basis> warps,
                                            ArrayRef<Basis> steps) {
  int64_t bits = 0;
  for (ArrayRef<Basis> bases : {warps, steps})
    for (const Basis &basis : bases) {
      if (basis[1] == 0)
        continue;
      if (!llvm::isPowerOf2_64(basis[1]) || (bits & basis[1]))
        return std::nullopt;
      bits |= basis[1];
    }
  return bits;
}

SmallVector<std::pair<Value, int64_t>>
ByteMatrices::getAddresses(OpBuilder &builder, Location loc, SlotAddress &slot,
                           Value lane, Value warp, Value row,
                           Value column) const {
  // Rows that differ by this many have the same chunks.
  constexpr int64_t kPeriod = 8;
  IntegerBuilder ints(builder, loc);
  Value laneRow = ints.constant(0), laneColumn = laneRow;
  auto addBits = [&](Value number, ArrayRef<Basis> bases) {
    for (auto [bit, basis] : llvm::enumerate(bases)) {
      Value isSet = ints.bitAnd(ints.shiftRight(number, bit), 1);
      laneRow = ints.add(laneRow, ints.mul(isSet, basis[0]));
      laneColumn = ints.add(laneColumn, ints.mul(isSet, basis[1]));
    }
  };
  addBits(warp, warps);
  addBits(lane, rows);
  Value matrix = ints.shiftRight(lane, 3);
  if (exchange) {
    Value isOther = ints.bitAnd(ints.shiftRight(lane, exchange->row), 1);
    matrix = ints.bitXor(matrix, ints.mul(isOther, 1 << exchange->step));
  }
  addBits(matrix, steps);

  std::optional<int64_t> columnBits = getColumnBits(warps, steps);
  std::optional<int64_t> firstRow = getConstant(row),
                         firstColumn = getConstant(column);
  SmallVector<std::pair<Value, int64_t>> addresses;
  for (const Basis &offset : instructions) {
    int64_t atColumn = firstColumn.value_or(0) + offset[1];
    bool isRegular = firstRow && firstColumn && columnBits &&
                     (*firstRow + offset[0]) % kPeriod == 0 &&
                     *columnBits < slot.getBlockColumns() &&
                     (atColumn & *columnBits) == 0;
    if (isRegular) {
      Value mask = slot.getMask(laneRow);
      Value chunk = ints.bitXor(slot.getInBlock(laneColumn), mask);
      Value address = ints.add(slot.getRow(laneRow), chunk);
      addresses.push_back(
          {ints.bitXor(address, ints.constant(slot.getInBlock(atColumn))),
           slot.getRowOffset(*firstRow + offset[0]) + slot.getBlock(atColumn)});
      continue;
    }
    Value rowHere = ints.add(ints.add(row, laneRow), offset[0]);
    Value columnHere = ints.add(ints.add(column, laneColumn), offset[1]);
    Value mask = slot.getMask(rowHere);
    Value chunk = ints.bitXor(slot.getInBlock(columnHere), mask);
    Value block = slot.getBlock(columnHere);
    addresses.push_back(
        {ints.add(ints.add(slot.getRow(rowHere), chunk), block), 0});
  }
  return addresses;
}

//===----------------------------------------------------------------------===//
// Banks
//===----------------------------------------------------------------------===//

/// How many of a matrix's rows meet in the same banks, at most.
static int64_t countConflicts(ArrayRef<Basis> rows, int64_t swizzle) {
  constexpr int64_t kChunk = 16, kLine = 128;
  int64_t counts[kLine / kChunk] = {};
  for (const Basis &row : getSums(rows)) {
    int64_t address = row[0] * swizzle;
    int64_t chunk = (address / kLine) & (swizzle / kChunk - 1);
    ++counts[(address / kChunk + chunk) % (kLine / kChunk)];
  }
  return *llvm::max_element(counts);
}

/// Bytes of a word.
static constexpr int64_t kBytes = 4;

namespace {
/// Two words whose bytes are in two registers, and what prmt selects for each.
struct WordPair {
  int64_t registers[2];
  uint32_t first, second;
};
} // namespace

/// Nothing if the bytes of the words are in more registers.
static std::optional<WordPair> getWordPair(ArrayRef<int64_t> first,
                                           ArrayRef<int64_t> second) {
  WordPair pair = {{first[0] / kBytes, first[0] / kBytes}, 0, 0};
  auto select = [&](ArrayRef<int64_t> bytes, uint32_t &selector) {
    for (auto [i, byte] : llvm::enumerate(bytes)) {
      int64_t at = byte / kBytes;
      if (at != pair.registers[0] && pair.registers[0] == pair.registers[1])
        pair.registers[1] = at;
      if (!llvm::is_contained(pair.registers, at))
        return false;
      int64_t isSecond = at != pair.registers[0];
      selector |= (isSecond * kBytes + byte % kBytes) << (kBytes * i);
    }
    return true;
  };
  if (!select(first, pair.first) || !select(second, pair.second))
    return std::nullopt;
  return pair;
}

/// The bytes of word `i` of an order.
static ArrayRef<int64_t> getBytes(ArrayRef<int64_t> order, int64_t i) {
  return order.slice(i * kBytes, kBytes);
}

void ByteMatrices::avoidConflicts(int64_t swizzle) {
  int64_t least = countConflicts(rows, swizzle);
  for (unsigned step = 0; step < steps.size(); ++step) {
    int64_t words = order.size() / kBytes;
    bool isInPairs = llvm::all_of(llvm::seq(words), [&](int64_t i) {
      return (i >> step & 1) ||
             getWordPair(getBytes(order, i), getBytes(order, i + (1 << step)));
    });
    if (!isInPairs || steps[step][1] != 0)
      continue;
    for (unsigned row = 0; row < rows.size(); ++row) {
      SmallVector<Basis, 3> exchanged = rows;
      exchanged[row] = exchanged[row] + steps[step];
      int64_t conflicts = countConflicts(exchanged, swizzle);
      if (conflicts >= least)
        continue;
      least = conflicts;
      exchange = {row, step};
    }
  }
}

SmallVector<Value> ByteMatrices::getWords(OpBuilder &builder, Location loc,
                                          Value fragment, Value lane) const {
  if (!exchange)
    return unpackRegisters(
        builder, loc,
        vector::ShuffleOp::create(builder, loc, fragment, fragment, order));
  // A lane holds row lane / 4 of every matrix.
  IntegerBuilder ints(builder, loc);
  Value isOther =
      ints.isEqual(ints.bitAnd(ints.shiftRight(lane, exchange->row + 2), 1), 1);
  SmallVector<Value> registers = unpackRegisters(builder, loc, fragment);
  SmallVector<Value> words(registers.size());
  auto select = [&](const WordPair &pair, uint32_t selector, uint32_t other) {
    Value own = ints.constant(selector);
    Value bytes = arith::SelectOp::create(builder, loc, isOther,
                                          ints.constant(other), own);
    return NVVM::PermuteOp::create(
        builder, loc, builder.getI32Type(), registers[pair.registers[0]],
        registers[pair.registers[1]], bytes, NVVM::PermuteMode::DEFAULT);
  };
  for (int64_t i = 0, end = words.size(); i < end; ++i) {
    if (i >> exchange->step & 1)
      continue;
    int64_t partner = i + (1 << exchange->step);
    WordPair pair = *getWordPair(getBytes(order, i), getBytes(order, partner));
    words[i] = select(pair, pair.first, pair.second);
    words[partner] = select(pair, pair.second, pair.first);
  }
  return words;
}
