//===- LaunchKernels.cpp - kernels launched by the gpu dialect ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "LaunchKernels.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fa3;

/// Words for an array of the host function.
static std::string describe(Value array) {
  while (auto view = array.getDefiningOp<ViewLikeOpInterface>())
    array = view.getViewSource();
  auto argument = dyn_cast<BlockArgument>(array);
  if (!argument)
    return "a workspace";
  std::string text = "argument " + std::to_string(argument.getArgNumber());
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (auto name = function ? function.getArgAttrOfType<StringAttr>(
                                 argument.getArgNumber(), "tile.name")
                           : StringAttr())
    text += " ('" + name.str() + "')";
  return text;
}

static LogicalResult refuse(Operation *op, const Twine &what) {
  Operation *launch = nullptr;
  for (Operation *user : op->getUsers())
    if (!launch && isa<hopper::LaunchOp>(user))
      launch = user;
  InFlightDiagnostic diagnostic =
      op->emitError() << what
                      << ", for which gpu.launch_func has no place: expects "
                         "launch=runtime";
  if (launch)
    diagnostic.attachNote(launch->getLoc())
        << "this launches '" << cast<hopper::LaunchOp>(launch).getKernel()
        << "'";
  return diagnostic;
}

static LogicalResult verifyLaunches(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError("expects straight-line code around launches");
  WalkResult found = function.walk([](Operation *op) {
    LogicalResult fits = success();
    if (auto map = dyn_cast<hopper::EncodeOp>(op))
      fits = refuse(op, "makes a tensor map of " + describe(map.getSource()));
    else if (isa<hopper::CounterOp>(op))
      fits = refuse(op, "lends a counter to a kernel");
    else if (isa<hopper::SmCountOp>(op))
      fits = refuse(op, "asks for the number of multiprocessors (mode=cta "
                        "with splits of at least 1 does not)");
    else if (isa<memref::AllocOp>(op) && !isa<func::FuncOp>(op->getParentOp()))
      fits = op->emitError("allocates a workspace under a condition: expects "
                           "it directly in the host function");
    else if (isa<tile::LaunchOp>(op))
      fits = op->emitError("expects kernels that are lowered to LLVM (run "
                           "fa3-lower-to-nvvm-pipeline)");
    return WalkResult(fits);
  });
  return failure(found.wasInterrupted());
}

namespace {
class Launcher {
public:
  Launcher(func::FuncOp function, gpu::GPUModuleOp kernels)
      : kernels(kernels), b(function.getLoc(), function),
        token(gpu::AsyncTokenType::get(function.getContext())),
        function(function) {}
  void run();

private:
  void addChecks();
  void allocate(memref::AllocOp op);
  void launch(hopper::LaunchOp op);
  Value getAddress(Value array, Type type);

  gpu::GPUModuleOp kernels;
  ImplicitLocOpBuilder b;
  Type token;
  func::FuncOp function;
  SmallVector<Value> workspaces;
};
} // namespace

/// Arguments get types with any strides (LowerHost.cpp); kernels know those
/// that are static now.
void Launcher::addChecks() {
  Block &body = function.getBody().front();
  b.setInsertionPointToStart(&body);
  for (BlockArgument argument : body.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!type || failed(type.getStridesAndOffset(strides, offset)) ||
        llvm::all_of(strides, ShapedType::isDynamic))
      continue;
    b.setLoc(argument.getLoc());
    auto metadata = memref::ExtractStridedMetadataOp::create(b, argument);
    for (auto [dim, stride] : llvm::enumerate(strides)) {
      if (ShapedType::isDynamic(stride) || type.getDimSize(dim) == 1)
        continue;
      Value expected = arith::ConstantIndexOp::create(b, stride);
      Value same = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                         metadata.getStrides()[dim], expected);
      // Nobody takes the stride of at most one element.
      if (type.isDynamicDim(dim)) {
        Value one = arith::ConstantIndexOp::create(b, 1);
        Value isShort = arith::CmpIOp::create(b, arith::CmpIPredicate::sle,
                                              metadata.getSizes()[dim], one);
        same = arith::OrIOp::create(b, isShort, same);
      }
      std::string message = describe(argument) + " has another stride in " +
                            "dimension " + std::to_string(dim) + " than " +
                            std::to_string(stride);
      cf::AssertOp::create(b, same, message);
    }
  }
}

/// Memory is allocated on a stream.
void Launcher::allocate(memref::AllocOp op) {
  b.setInsertionPoint(op);
  b.setLoc(op.getLoc());
  Value start = gpu::WaitOp::create(b, token, ValueRange()).getAsyncToken();
  auto alloc = gpu::AllocOp::create(b, op.getType(), token, start,
                                    op.getDynamicSizes(), ValueRange());
  gpu::WaitOp::create(b, Type(), alloc.getAsyncToken());
  workspaces.push_back(alloc.getMemref());
  op.replaceAllUsesWith(alloc.getMemref());
  op.erase();
}

/// Of its first element.
Value Launcher::getAddress(Value array, Type type) {
  auto memref = cast<MemRefType>(array.getType());
  auto toI64 = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, b.getI64Type(), value);
  };
  auto metadata = memref::ExtractStridedMetadataOp::create(b, array);
  Value start = toI64(memref::ExtractAlignedPointerAsIndexOp::create(
      b, b.getIndexType(), array));
  int64_t bytes =
      llvm::divideCeil(memref.getElementType().getIntOrFloatBitWidth(), 8);
  Value size = arith::ConstantOp::create(b, b.getI64IntegerAttr(bytes));
  Value offset = arith::MulIOp::create(b, toI64(metadata.getOffset()), size);
  Value address = arith::AddIOp::create(b, start, offset);
  return LLVM::IntToPtrOp::create(b, type, address);
}

/// Without a block there is nothing to launch, which the driver calls an error.
void Launcher::launch(hopper::LaunchOp op) {
  b.setInsertionPoint(op);
  b.setLoc(op.getLoc());
  auto kernel =
      kernels.lookupSymbol<LLVM::LLVMFuncOp>(op.getKernel().getLeafReference());
  SmallVector<Value> operands;
  for (auto [operand, type] :
       llvm::zip(op.getKernelArgs(), kernel.getArgumentTypes())) {
    auto address = operand.getDefiningOp<hopper::AddressOp>();
    operands.push_back(address ? getAddress(address.getSource(), type)
                               : operand);
  }
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value threads = arith::ConstantIndexOp::create(b, op.getThreads());
  Value shared;
  if (op.getSmem() > 0)
    shared = arith::ConstantOp::create(
        b, b.getI32IntegerAttr(static_cast<int32_t>(op.getSmem())));
  if (!getConstantIntValue(op.getBlocks())) {
    Value zero = arith::ConstantIndexOp::create(b, 0);
    Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt,
                                       op.getBlocks(), zero);
    auto branch = scf::IfOp::create(b, some, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  gpu::LaunchFuncOp::create(
      b, op.getKernel(), gpu::KernelDim3{op.getBlocks(), one, one},
      gpu::KernelDim3{threads, one, one}, shared, operands);
  op.erase();
}

void Launcher::run() {
  addChecks();
  Block &body = function.getBody().front();
  // Launches may depend on a condition, workspaces do not.
  for (auto op : llvm::make_early_inc_range(body.getOps<memref::AllocOp>()))
    allocate(op);
  function.walk([&](hopper::LaunchOp op) { launch(op); });
  function.walk([](hopper::AddressOp op) {
    if (op.use_empty())
      op.erase();
  });
  b.setInsertionPoint(body.getTerminator());
  b.setLoc(function.getLoc());
  if (workspaces.empty())
    return;
  Value last = gpu::WaitOp::create(b, token, ValueRange()).getAsyncToken();
  for (Value workspace : workspaces)
    last = gpu::DeallocOp::create(b, token, last, workspace).getAsyncToken();
  gpu::WaitOp::create(b, Type(), last);
}

LogicalResult fa3::launchKernels(func::FuncOp function, SymbolTable &symbols,
                                 const EmbedOptions &options) {
  FailureOr<SmallVector<gpu::GPUModuleOp>> kernels =
      findKernels(function, symbols);
  if (failed(kernels) || failed(verifyLaunches(function)))
    return failure();
  FailureOr<std::string> ptx = emitKernels(function, *kernels, options);
  if (failed(ptx))
    return failure();
  gpu::GPUModuleOp module = kernels->front();
  Launcher(function, module).run();

  OpBuilder b(module);
  MLIRContext *context = b.getContext();
  // The driver reads text that ends with a zero.
  ptx->push_back('\0');
  auto target = NVVM::NVVMTargetAttr::get(
      context, /*optLevel=*/2, "nvptx64-nvidia-cuda", options.chip,
      "+ptx" + std::to_string(options.ptxVersion));
  Attribute object = gpu::ObjectAttr::get(
      context, target, gpu::CompilationTarget::Assembly, b.getStringAttr(*ptx),
      DictionaryAttr(), gpu::KernelTableAttr());
  auto binary = gpu::BinaryOp::create(b, module.getLoc(), module.getName(),
                                      /*offloadingHandler=*/Attribute(),
                                      ArrayRef<Attribute>(object));
  symbols.erase(module);
  symbols.insert(binary);
  function->getParentOp()->setAttr(
      gpu::GPUDialect::getContainerModuleAttrName(), UnitAttr::get(context));
  return success();
}
