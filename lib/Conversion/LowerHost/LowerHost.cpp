//===- LowerHost.cpp - fa3-lower-host -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Conversion/LowerHost/LowerHost.h"
#include "CallOperands.h"
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
  /// A host function and how it is called.
  struct Callee {
    func::FuncOp function;
    EmbedOperands operands;
    /// What it was, for the sizes of its workspaces; owned.
    func::FuncOp original;
  };
  /// A call, and its stream, or null.
  struct Use {
    CallOp call;
    Value stream;
  };

  LogicalResult findCalls(ModuleOp module, SymbolTable &symbols);
  LogicalResult chooseOperands(Callee &callee, bool isReferred);
  LogicalResult lowerFunction(Callee &callee, SymbolTable &symbols,
                              bool isReferred);
  LogicalResult lowerCall(Use use, const Callee &callee);
  LogicalResult lower(ModuleOp module);
  LogicalResult verifyOptions();

  llvm::MapVector<Operation *, Callee> callees;
  SmallVector<Use> uses;
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

/// For a call in a function without a stream, of one that others give theirs.
static Value getStreamOfThread(ImplicitLocOpBuilder &b, CallOp call) {
  auto module = call->getParentOfType<ModuleOp>();
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>("fa3_host_stream");
  if (!function) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    function = LLVM::LLVMFuncOp::create(b, "fa3_host_stream",
                                        LLVM::LLVMFunctionType::get(ptr, {}));
  }
  return LLVM::CallOp::create(b, function, ValueRange()).getResult();
}

LogicalResult LowerHost::lowerCall(Use use, const Callee &callee) {
  CallOp call = use.call;
  func::FuncOp function = callee.function;
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
    operands.push_back(value);
  }
  if (callee.operands.workspace)
    operands.push_back(
        allocateWorkspaces(b, call.getLoc(), callee.original, operands));
  if (callee.operands.stream)
    operands.push_back(use.stream ? use.stream : getStreamOfThread(b, call));
  for (auto [number, value] : llvm::enumerate(operands)) {
    Type expected = function.getArgumentTypes()[number];
    if (value.getType() == expected)
      continue;
    if (!isa<MemRefType>(expected) ||
        !memref::CastOp::areCastCompatible(value.getType(), expected))
      return call.emitOpError("operand ")
             << number << " of type " << value.getType()
             << " cannot be passed as " << expected;
    value = memref::CastOp::create(b, expected, value);
  }
  func::CallOp::create(b, function, operands);
  call.erase();
  return success();
}

/// Fills `callees` with all host functions of a module, `uses` with the calls.
LogicalResult LowerHost::findCalls(ModuleOp module, SymbolTable &symbols) {
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
    FailureOr<Value> stream = findStream(call);
    if (failed(stream))
      return WalkResult::interrupt();
    callees[function].function = function;
    uses.push_back({call, *stream});
    return WalkResult::advance();
  });
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && launchesKernels(function))
      callees[function].function = function;
  return failure(found.wasInterrupted());
}

/// What a host function that launches kernels takes beside its arguments.
LogicalResult LowerHost::chooseOperands(Callee &callee, bool isReferred) {
  func::FuncOp function = callee.function;
  auto isOfCallee = [&](Use use) {
    return use.call.getCallee() == function.getName();
  };
  auto streamed = llvm::find_if(
      uses, [&](Use use) { return isOfCallee(use) && use.stream; });
  bool isOwn =
      function.isPrivate() && !isReferred && llvm::any_of(uses, isOfCallee);
  if (streamed != uses.end()) {
    if (!isOwn)
      return streamed->call.emitOpError("calls '")
             << function.getName()
             << "' on a stream: expects a private function that nothing else "
                "refers to";
    if (launch == HostLaunch::GPU)
      return streamed->call.emitOpError("is on a stream, for which "
                                        "gpu.launch_func has no place: expects "
                                        "launch=runtime");
    callee.operands.stream = true;
  }
  if (workspace != HostWorkspace::Program || !hasWorkspaces(function))
    return success();
  if (!isOwn)
    return function.emitError("has workspaces: expects a private function that "
                              "attention.call calls, with workspace=program");
  callee.operands.workspace = true;
  return verifyWorkspaces(function);
}

LogicalResult LowerHost::lowerFunction(Callee &callee, SymbolTable &symbols,
                                       bool isReferred) {
  func::FuncOp function = callee.function;
  if (launchesKernels(function)) {
    if (failed(chooseOperands(callee, isReferred)))
      return failure();
    if (callee.operands.workspace)
      callee.original = function.clone();
    EmbedOptions options = {image, memory, chip, ptxVersion};
    if (failed(launch == HostLaunch::GPU
                   ? launchKernels(function, symbols, options)
                   : embedKernels(function, symbols, options, callee.operands)))
      return failure();
    ++numEmbedded;
  }
  return isReferred ? success() : widenArguments(function);
}

LogicalResult LowerHost::lower(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::DenseSet<StringAttr> references = attention::collectReferences(module);
  callees.clear();
  uses.clear();
  LogicalResult result = findCalls(module, symbols);
  for (auto &[op, callee] : callees)
    if (succeeded(result))
      result =
          lowerFunction(callee, symbols,
                        references.contains(callee.function.getSymNameAttr()));
  for (Use use : uses)
    if (succeeded(result))
      result = lowerCall(
          use, callees[symbols.lookup<func::FuncOp>(use.call.getCallee())]);
  for (auto &[op, callee] : callees)
    if (callee.original)
      callee.original.erase();
  for (auto function : module.getOps<FunctionOpInterface>())
    for (unsigned number = 0; number < function.getNumArguments(); ++number)
      function.removeArgAttr(
          number, StringAttr::get(&getContext(), attention::kStreamAttr));
  numCalls += uses.size();
  return result;
}

LogicalResult LowerHost::verifyOptions() {
  if (launch == HostLaunch::GPU &&
      (image != HostImage::PTX || memory != HostMemory::Device))
    return getOperation().emitError(
        "expects launch=gpu with image=ptx and memory=device: gpu.launch_func "
        "runs kernels on arrays on the device");
  if (workspace == HostWorkspace::Program &&
      (image != HostImage::PTX || memory != HostMemory::Device ||
       launch != HostLaunch::Runtime))
    return getOperation().emitError(
        "expects workspace=program with image=ptx, memory=device and "
        "launch=runtime: the program's memory is on the device");
  return success();
}

void LowerHost::runOnOperation() {
  if (failed(verifyOptions()))
    return signalPassFailure();
  WalkResult result = getOperation()->walk(
      [&](ModuleOp module) { return WalkResult(lower(module)); });
  if (result.wasInterrupted())
    signalPassFailure();
}
