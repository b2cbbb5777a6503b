//===- Progress.cpp - additions in one order ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Progress.h"
#include "../Core/Engine.h"
#include "../Tile/Ordered.h"
#include "Machine.h"
#include "fa3/Dialect/Hopper/IR/ProgressOps.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

namespace {
/// Operands: the position, the pointer, indices, strides.
LogicalResult runProgressPass(Context &c, const Instr &in) {
  auto op = cast<hopper::ProgressPassOp>(in.op);
  if (failed(waitForStores(c, in, /*pending=*/0)))
    return failure();
  constexpr int64_t kBytes = sizeof(int32_t);
  const auto &pointer = c.object<PointerObject>(in.in[1]);
  size_t count = op.getIndices().size();
  SmallVector<int64_t> indices = c.integers(in.in.slice(2, count));
  SmallVector<int64_t> strides = c.integers(in.in.slice(2 + count, count));
  auto locate = [&](int64_t back) -> FailureOr<uint8_t *> {
    int64_t byte = pointer.byte, size = pointer.array.getAllocatedBytes();
    for (auto [index, stride] : llvm::zip_equal(indices, strides))
      byte += index * stride * kBytes;
    byte -= back * strides[count - 2] * kBytes;
    if (byte < 0 || byte + kBytes > size)
      return c.error(in) << "'" << in.op->getName() << "' accesses byte "
                         << byte << " of an array of " << size << " bytes";
    return pointer.array.getBase() + byte;
  };
  FailureOr<uint8_t *> own = locate(-1);
  if (failed(own))
    return failure();
  int64_t position = c.integer(in.in[0]);
  int32_t reached = readProgress(*own);
  auto [last, isNew] = getWarpGroup(c).passed.try_emplace(*own, 0);
  if (reached != last->second)
    return c.error(in) << "'hopper.progress.pass' finds its tile at " << reached
                       << ", expects " << last->second
                       << (isNew ? " at the start of the kernel"
                                 : ", which the group has passed last");
  if (failed(raiseProgress(c, in.op, *own, position)))
    return failure();
  last->second = static_cast<int32_t>(position);
  if (op.getEnd())
    return success();
  getWarpGroup(c).adding = WarpGroup::Adding::Passed;
  return checkProgress(c, in.op, locate, position + 1);
}
} // namespace

void fa3::interp::populateProgress(Registry &r) {
  r.addPlain<hopper::ProgressPassOp>(runProgressPass);
}
