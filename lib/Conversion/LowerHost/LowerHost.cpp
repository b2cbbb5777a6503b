//===- LowerHost.cpp - fa3-lower-host -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Conversion/LowerHost/LowerHost.h"
#include "EmbedKernels.h"
#include "LaunchKernels.h"
#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Target/PTX/PTX.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"

namespace fa3 {
#define GEN_PASS_DEF_LOWERHOST
#include "fa3/Conversion/LowerHost/Passes.h.inc"
} // namespace fa3

using namespace mlir;
using namespace fa3;
using attention::CallOp;

namespace {
struct LowerHost : fa3::impl::LowerHostBase<LowerHost> {
  using LowerHostBase::LowerHostBase;
  void getDependentDialects(DialectRegistry &registry) const override {
    LowerHostBase::getDependentDialects(registry);
    registerPTXTranslation(registry);
  }
  void runOnOperation() override;

private:
  LogicalResult lower(ModuleOp module);
};
} // namespace

/// The type of an array that may be a part of another one.
static MemRefType getAnyStrided(MemRefType type) {
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, strides),
      type.getMemorySpace());
}

/// Gives a value, and views of it, a type with any offset and strides.
static LogicalResult widen(Value value, MemRefType type) {
  value.setType(type);
  for (Operation *user : value.getUsers()) {
    if (auto transpose = dyn_cast<memref::TransposeOp>(user)) {
      MemRefType view = getAnyStrided(transpose.getType());
      if (failed(widen(transpose.getResult(), view)))
        return failure();
    } else if (!isa<memref::LoadOp, memref::StoreOp, memref::DimOp,
                    memref::ExtractStridedMetadataOp,
                    memref::ExtractAlignedPointerAsIndexOp>(user)) {
      return user->emitError("cannot take an array that is a part of another "
                             "one: expects memref.load, memref.store, "
                             "memref.dim and memref.transpose");
    }
  }
  return success();
}

/// Lets a function take parts of arrays.
static LogicalResult widenArguments(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (auto type = dyn_cast<MemRefType>(argument.getType()))
      if (failed(widen(argument, getAnyStrided(type))))
        return failure();
  function.setType(
      FunctionType::get(function.getContext(),
                        function.getBody().front().getArgumentTypes(), {}));
  return success();
}

static LogicalResult lowerCall(CallOp call, func::FuncOp function) {
  ImplicitLocOpBuilder b(call.getLoc(), call);
  SmallVector<Value> operands;
  for (auto [number, operand] : llvm::enumerate(call->getOperands())) {
    Value value = operand;
    if (isa<RankedTensorType>(value.getType()))
      return call.emitOpError("is on tensors: expects memrefs, run "
                              "one-shot-bufferize first");
    SmallVector<int64_t> view = call.getView(number);
    if (!view.empty())
      value = memref::TransposeOp::create(
          b, value,
          AffineMapAttr::get(
              AffineMap::getPermutationMap(view, b.getContext())));
    Type expected = function.getArgumentTypes()[number];
    if (value.getType() != expected) {
      if (!isa<MemRefType>(expected) ||
          !memref::CastOp::areCastCompatible(value.getType(), expected))
        return call.emitOpError("operand ")
               << number << " of type " << value.getType()
               << " cannot be passed as " << expected;
      value = memref::CastOp::create(b, expected, value);
    }
    operands.push_back(value);
  }
  func::CallOp::create(b, function, operands);
  call.erase();
  return success();
}

LogicalResult LowerHost::lower(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::SetVector<func::FuncOp> functions;
  SmallVector<std::pair<CallOp, func::FuncOp>> calls;
  WalkResult found = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != module && op->hasTrait<OpTrait::SymbolTable>())
      return WalkResult::skip();
    auto call = dyn_cast<CallOp>(op);
    if (!call)
      return WalkResult::advance();
    auto function = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!function || function.isExternal() ||
        function.getNumArguments() != call.getNumOperands()) {
      call.emitOpError("calls '")
          << call.getCallee()
          << "', which is no host function: expects one that attention-to-tile "
             "or attention-to-reference has made";
      return WalkResult::interrupt();
    }
    functions.insert(function);
    calls.push_back({call, function});
    return WalkResult::advance();
  });
  if (found.wasInterrupted())
    return failure();
  llvm::DenseSet<StringAttr> references = attention::collectReferences(module);
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && launchesKernels(function))
      functions.insert(function);
  EmbedOptions options = {image, memory, chip, ptxVersion};
  for (func::FuncOp function : functions) {
    if (launchesKernels(function)) {
      if (failed(launch == HostLaunch::GPU
                     ? launchKernels(function, symbols, options)
                     : embedKernels(function, symbols, options)))
        return failure();
      ++numEmbedded;
    }
    if (!references.contains(function.getSymNameAttr()) &&
        failed(widenArguments(function)))
      return failure();
  }
  for (auto [call, function] : calls)
    if (failed(lowerCall(call, function)))
      return failure();
  numCalls += calls.size();
  return success();
}

void LowerHost::runOnOperation() {
  if (launch == HostLaunch::GPU &&
      (image != HostImage::PTX || memory != HostMemory::Device)) {
    getOperation().emitError("expects launch=gpu with image=ptx and "
                             "memory=device: gpu.launch_func runs kernels on "
                             "arrays on the device");
    return signalPassFailure();
  }
  WalkResult result = getOperation()->walk(
      [&](ModuleOp module) { return WalkResult(lower(module)); });
  if (result.wasInterrupted())
    signalPassFailure();
}
