//===- Matrices.cpp - ldmatrix, stmatrix, movmatrix -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Of section 9.7.14, "Warp-Level Matrix Instructions", matrices of 8 x 8
// elements of 16 bits. Lane 8 i + r has the address of row r of matrix i; a
// register holds elements 2 (lane % 4) and the next of row lane / 4, or of that
// column if transposed.
//===----------------------------------------------------------------------===//

#include "Lanes.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;
using llvm::Twine;

namespace {

/// Row and column of element `half` of a lane's register.
std::pair<unsigned, unsigned> getPlace(unsigned lane, unsigned half,
                                       bool transposed) {
  unsigned row = lane / 4, column = 2 * (lane % 4) + half;
  return transposed ? std::pair(column, row) : std::pair(row, column);
}

/// The rows of a matrix in shared memory; false after an error.
bool findRows(Warp &w, const Instr &in, const Operand &base, unsigned matrix,
              bool writes, uint8_t *rows[8]) {
  for (unsigned row = 0; row < 8; ++row) {
    uint64_t address = getBits(w, base, 8 * matrix + row) + in.imm[0];
    if (address >= kSharedWindow)
      address -= kSharedWindow;
    if (address % 16) {
      w.fail(in, "has a row at address " + Twine(address) +
                     ", which is no multiple of 16");
      return false;
    }
    int64_t place = int64_t(address) - kSharedStart;
    if (!touch(w, in, place, 16, w.access(in.line), writes, /*async=*/false))
      return false;
    rows[row] = w.block.shared.memory.at(place);
  }
  return true;
}

/// Section 9.7.14.5.15. imm: offset, whether transposed.
Step runLoadMatrix(Warp &w, const Instr &in, uint32_t) {
  // A result may be the address.
  llvm::SmallVector<std::array<uint32_t, kLanes>, 4> values(in.results);
  for (unsigned matrix = 0; matrix < in.results; ++matrix) {
    uint8_t *rows[8];
    if (!findRows(w, in, in.in(0), matrix, /*writes=*/false, rows))
      return Step::Fail;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      uint16_t halves[2];
      for (unsigned half = 0; half < 2; ++half) {
        auto [row, column] = getPlace(lane, half, in.imm[1]);
        std::memcpy(&halves[half], rows[row] + 2 * column, 2);
      }
      values[matrix][lane] = halves[0] | uint32_t(halves[1]) << 16;
    }
  }
  for (unsigned matrix = 0; matrix < in.results; ++matrix)
    w.b32[in.out(matrix).slot] = values[matrix];
  return Step::Next;
}

/// Section 9.7.14.5.16.
Step runStoreMatrix(Warp &w, const Instr &in, uint32_t) {
  for (unsigned matrix = 0; matrix + 1 < in.numIn(); ++matrix) {
    uint8_t *rows[8];
    if (!findRows(w, in, in.in(0), matrix, /*writes=*/true, rows))
      return Step::Fail;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned half = 0; half < 2; ++half) {
        auto [row, column] = getPlace(lane, half, in.imm[1]);
        uint16_t value =
            get<uint32_t>(w, in.in(matrix + 1), lane) >> (16 * half);
        std::memcpy(rows[row] + 2 * column, &value, 2);
      }
  }
  return Step::Next;
}

template <bool loads>
bool decodeMatrix(Decoder &d) {
  bool ok = d.take("sync") && d.take("aligned") && d.take("m8n8");
  int size = d.takeOneOf({"x1", "x2", "x4"});
  d.instr.imm[1] = d.take("trans");
  ok &=
      d.takeOneOf({"shared", "shared::cta"}) >= 0 && d.takeType() == Type::B16;
  if (!ok || size < 0)
    return d.fail("has a form that the executor does not know");
  d.runTogether(loads ? runLoadMatrix : runStoreMatrix);
  int64_t transposed = d.instr.imm[1];
  if (!d.finish(2) || d.elements(loads ? 0 : 1).size() != size_t(1) << size)
    return d.fail("expects as many registers as matrices");
  if (loads)
    for (const Arg &arg : d.elements(0))
      if (!d.result(arg, Type::B32))
        return false;
  if (!d.address(loads ? 1 : 0))
    return false;
  if (!loads)
    for (const Arg &arg : d.elements(1))
      if (!d.operand(arg, Type::B32))
        return false;
  d.instr.imm[1] = transposed;
  return true;
}

/// Section 9.7.14.5.17.
Step runMoveMatrix(Warp &w, const Instr &in, uint32_t) {
  std::array<uint32_t, kLanes> from = w.b32[in.in(0).slot];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    uint32_t value = 0;
    for (unsigned half = 0; half < 2; ++half) {
      auto [row, column] = getPlace(lane, half, /*transposed=*/true);
      uint32_t pair = from[4 * row + column / 2];
      value |= (pair >> (16 * (column % 2)) & 0xffff) << (16 * half);
    }
    w.b32[in.out().slot][lane] = value;
  }
  return Step::Next;
}

bool decodeMoveMatrix(Decoder &d) {
  d.runTogether(runMoveMatrix);
  if (!d.take("sync") || !d.take("aligned") || !d.take("m8n8") ||
      !d.take("trans") || d.takeType() != Type::B16)
    return d.fail("has a form that the executor does not know");
  return d.finish(2) && d.result(0, Type::B32) && d.operand(1, Type::B32);
}

} // namespace

void fa3::interp::ptx::addMatrices(Table &table) {
  table["ldmatrix"] = decodeMatrix<true>;
  table["stmatrix"] = decodeMatrix<false>;
  table["movmatrix"] = decodeMoveMatrix;
}
