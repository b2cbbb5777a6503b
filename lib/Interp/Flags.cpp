//===- Flags.cpp - tiles that another kernel waits for --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Launches run one after the other, so that everything a kernel may wait for is
// over when it runs: what it would wait for longer never comes.
//===----------------------------------------------------------------------===//

#include "Core/Engine.h"
#include "Hopper/Machine.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include <cstring>

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

namespace {
constexpr int64_t kBytes = sizeof(int32_t);

int32_t readFlag(const uint8_t *flag) {
  int32_t value;
  std::memcpy(&value, flag, kBytes);
  return value;
}

void writeFlag(uint8_t *flag, int32_t value) {
  std::memcpy(flag, &value, kBytes);
}

/// One that this tile has not cleared, or set before.
LogicalResult setFlag(const Context &c, const Instr &in, uint8_t *flag) {
  if (int32_t value = readFlag(flag))
    return c.error(in) << "'" << in.op->getName()
                       << "' expects a flag that is cleared, got " << value;
  writeFlag(flag, 1);
  return success();
}

LogicalResult checkFlag(const Context &c, const Instr &in, const uint8_t *flag,
                        int64_t number) {
  int32_t value = readFlag(flag);
  if (value == 1)
    return success();
  return c.error(in) << "'" << in.op->getName()
                     << "' waits forever: nobody sets flag " << number
                     << ", which is " << value;
}

//===----------------------------------------------------------------------===//
// tile
//===----------------------------------------------------------------------===//

FailureOr<uint8_t *> locate(const Context &c, const Instr &in,
                            ArrayRef<int64_t> indices) {
  const Array &array = c.array(in.in[0]);
  for (auto [i, index] : llvm::enumerate(indices))
    if (index < 0 || index >= array.getShape()[i])
      return c.error(in) << "'" << in.op->getName() << "' accesses index "
                         << index << " of dimension " << i << ", which has "
                         << array.getShape()[i];
  return array.at(indices);
}

LogicalResult runTileClear(Context &c, const Instr &in) {
  auto flag = locate(c, in, c.integers(in.in.drop_front()));
  if (failed(flag))
    return failure();
  writeFlag(*flag, 0);
  return success();
}

LogicalResult runTileSet(Context &c, const Instr &in) {
  auto flag = locate(c, in, c.integers(in.in.drop_front()));
  return failed(flag) ? failure() : setFlag(c, in, *flag);
}

LogicalResult runTileAwait(Context &c, const Instr &in) {
  SmallVector<int64_t> indices = c.integers(in.in.drop_front());
  indices.insert(indices.begin(), 0);
  int64_t count = c.array(in.in[0]).getShape()[0];
  for (int64_t &i = indices.front(); i < count; ++i) {
    auto flag = locate(c, in, indices);
    if (failed(flag) || failed(checkFlag(c, in, *flag, i)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// hopper
//===----------------------------------------------------------------------===//

/// Operands: the pointer, indices, strides.
FailureOr<uint8_t *> locate(const Context &c, const Instr &in, size_t count,
                            int64_t further = 0) {
  const auto &pointer = c.object<PointerObject>(in.in[0]);
  int64_t byte = pointer.byte + further * kBytes;
  for (size_t i = 0; i < count; ++i)
    byte += c.integer(in.in[1 + i]) * c.integer(in.in[1 + count + i]) * kBytes;
  int64_t size = pointer.array.getAllocatedBytes();
  if (byte < 0 || byte + kBytes > size)
    return c.error(in) << "'" << in.op->getName() << "' accesses byte " << byte
                       << " of an array of " << size << " bytes";
  return pointer.array.getBase() + byte;
}

LogicalResult runClear(Context &c, const Instr &in) {
  auto op = cast<hopper::FlagClearOp>(in.op);
  auto flag = locate(c, in, op.getIndices().size());
  if (failed(flag))
    return failure();
  writeFlag(*flag, 0);
  return success();
}

LogicalResult runSet(Context &c, const Instr &in) {
  auto op = cast<hopper::FlagSetOp>(in.op);
  auto flag = locate(c, in, op.getIndices().size());
  return failed(flag) ? failure() : setFlag(c, in, *flag);
}

LogicalResult runAwait(Context &c, const Instr &in) {
  size_t indices = cast<hopper::FlagAwaitOp>(in.op).getIndices().size();
  int64_t count = c.integer(in.in[1 + 2 * indices]);
  int64_t step = c.integer(in.in[2 + 2 * indices]);
  for (int64_t i = 0; i < count; ++i) {
    auto flag = locate(c, in, indices, i * step);
    if (failed(flag) || failed(checkFlag(c, in, *flag, i)))
      return failure();
  }
  return success();
}
} // namespace

void fa3::interp::populateFlags(Registry &r) {
  r.addPlain<tile::ClearFlagOp>(runTileClear);
  r.addPlain<tile::SetFlagOp>(runTileSet);
  r.addPlain<tile::AwaitFlagsOp>(runTileAwait);
  r.addPlain<hopper::FlagClearOp>(runClear);
  r.addPlain<hopper::FlagSetOp>(runSet);
  r.addPlain<hopper::FlagAwaitOp>(runAwait);
}
