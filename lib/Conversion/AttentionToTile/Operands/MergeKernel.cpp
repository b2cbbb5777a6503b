//===- MergeKernel.cpp - kernel of attention.merge ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The kernel that merges the parts of a forward with splits (KernelMerge.cpp),
// on the arrays of a caller.
//
//===----------------------------------------------------------------------===//

#include "MergeKernel.h"
#include "../Emit/LaunchArguments.h"
#include "../Forward/Kernel.h"

using namespace mlir;
using namespace fa3;
using attention::HostFunction;
using attention::HostMerge;

/// Heads that are rows of a tile, so that few rows of many heads are few tiles:
/// a power of two that divides the heads. With sinks few, for which a tile
/// looks one by one.
static std::optional<GroupPacking> packHeads(const HostMerge &merge) {
  constexpr int64_t kMostWithSinks = 8;
  auto type = cast<MemRefType>(merge.o.getType());
  int64_t heads = type.getDimSize(type.getRank() - 3);
  if (ShapedType::isDynamic(heads) || heads == 0)
    return std::nullopt;
  int64_t most = merge.sinks ? kMostWithSinks : kReplicaRows, packed = 1;
  while (2 * packed <= most && heads % (2 * packed) == 0)
    packed *= 2;
  if (packed == 1)
    return std::nullopt;
  return GroupPacking{heads / packed, packed, packed};
}

FailureOr<int64_t> fa3::buildMergeKernel(HostFunction &host,
                                         gpu::GPUModuleOp module) {
  if (!host.merge)
    return 0;
  const HostMerge &merge = *host.merge;
  OpBuilder onHost = host.getBuilder();
  Location loc = host.merge->op.getLoc();
  ImplicitLocOpBuilder b(loc, onHost);
  KernelOperands operands;
  operands.packing = packHeads(merge);
  unsigned head = cast<MemRefType>(merge.o.getType()).getRank() - 3;
  auto view = [&](Value array, unsigned axis) {
    return operands.packing ? viewGroups(b, array, axis, *operands.packing)
                            : array;
  };
  Value parts = view(merge.parts, head + 1),
        lseParts = view(merge.lseParts, head + 1), o = view(merge.o, head),
        lse = view(merge.lse, head);

  LaunchArguments arguments;
  for (Value value : {o, lse, merge.sinks, parts, lseParts})
    arguments.add(value);
  gpu::GPUFuncOp kernel =
      createKernel(module, loc, host.function.getName(), arguments.getTypes());
  OpBuilder builder(kernel.getBody().front().getTerminator());
  auto inKernel = [&](Value value) {
    return arguments.lookup(builder, kernel, value);
  };
  operands.o = operands.q = inKernel(o);
  operands.lse = inKernel(lse);
  operands.sinks = inKernel(merge.sinks);
  if (failed(buildMergeBody(builder, attention::ForwardOp(), operands,
                            {inKernel(parts), inKernel(lseParts),
                             /*plain=*/Value(), /*maxLogits=*/Value()})))
    return failure();
  launchKernel(onHost, loc, module, kernel, arguments.get());
  return 1;
}
