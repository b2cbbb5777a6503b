//===- Dependence.cpp - kernels that start before others end --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Hopper/Analysis/Dependence.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

static bool isWait(Operation *op) {
  auto control = dyn_cast<NVVM::GriddepcontrolOp>(op);
  return control && control.getKind() == NVVM::GridDepActionKind::wait;
}

bool fa3::hopper::touchesGlobalMemory(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        bool touches = llvm::any_of(inner->getOperandTypes(), [](Type type) {
          return isa<LLVM::LLVMPointerType, TensorMapType, BaseMemRefType>(
              type);
        });
        return touches ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool fa3::hopper::waitsForPredecessors(Operation *kernel) {
  return kernel
      ->walk([](Operation *op) {
        return isWait(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult fa3::hopper::verifyPredecessorWaits(gpu::GPUFuncOp kernel) {
  Block &entry = kernel.getBody().front();
  WalkResult places = kernel.walk([&](NVVM::GriddepcontrolOp op) {
    if (!isWait(op) || op->getBlock() == &entry)
      return WalkResult::advance();
    op.emitOpError("expects to wait in the first block of the kernel, where "
                   "all threads pass");
    return WalkResult::interrupt();
  });
  if (places.wasInterrupted())
    return failure();
  auto wait = llvm::find_if(entry, [](Operation &op) { return isWait(&op); });
  if (wait == entry.end())
    return success();
  for (Operation &op : llvm::make_range(entry.begin(), wait)) {
    if (!touchesGlobalMemory(&op))
      continue;
    InFlightDiagnostic diagnostic =
        wait->emitOpError("waits for kernels in front of this one, which has "
                          "touched global memory before");
    diagnostic.attachNote(op.getLoc()) << "'" << op.getName() << "' does";
    return failure();
  }
  return success();
}
