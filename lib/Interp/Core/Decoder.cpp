//===- Decoder.cpp - from IR to instructions ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Decoder.h"
#include "../Hopper/Clock.h"
#include "Context.h"
#include "Elementwise.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Warp/IR/Warp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

std::unique_ptr<interp::Function> Decoder::decode(Operation *op) {
  auto callee = cast<FunctionOpInterface>(op);
  function = std::make_unique<interp::Function>();
  function->op = op;
  if (callee.isExternal()) {
    op->emitError("cannot run '") << callee.getName() << "', it has no body";
    return nullptr;
  }
  findVarying(op);
  if (failed(decodeRegion(callee.getFunctionBody(), function->body)))
    return nullptr;
  return std::move(function);
}

//===----------------------------------------------------------------------===//
// Cells and instructions
//===----------------------------------------------------------------------===//

CellId Decoder::cell(Value value) {
  auto [it, isNew] = cellOf.try_emplace(value, 0);
  if (isNew)
    it->second = newCell();
  return it->second;
}

ArrayRef<CellId> Decoder::copy(ArrayRef<CellId> ids) {
  return ids.copy(function->allocator);
}

ArrayRef<CellId> Decoder::cells(ValueRange values) {
  SmallVector<CellId> ids;
  for (Value value : values)
    ids.push_back(cell(value));
  return copy(ids);
}

Instr &Decoder::emit(Operation *op, Handler handler, ArrayRef<CellId> in,
                     ArrayRef<CellId> out, const Extra *extra) {
  current->instrs.push_back({handler, op, copy(in), copy(out), extra});
  return current->instrs.back();
}

Instr &Decoder::emit(Operation *op, Handler handler, const Extra *extra) {
  return emit(op, handler, cells(op->getOperands()), cells(op->getResults()),
              extra);
}

Moves Decoder::makeMoves(ArrayRef<CellId> from, ArrayRef<CellId> to) {
  Moves moves;
  moves.from.assign(from.begin(), from.end());
  moves.to.assign(to.begin(), to.end());
  for (size_t i = 0; i < from.size(); ++i)
    for (size_t j = i + 1; j < from.size(); ++j)
      moves.overlaps |= to[i] == from[j];
  return moves;
}

LogicalResult Decoder::decodeRegion(Region &region, Code &code,
                                    std::optional<int64_t> groupThreads) {
  if (!region.hasOneBlock())
    return region.getParentOp()->emitError(
        "cannot run a region of several blocks; control flow has to be scf");
  Block &block = region.front();
  Code *outer = std::exchange(current, &code);
  int64_t outerThreads = threads;
  if (groupThreads)
    threads = *groupThreads;
  for (Value argument : block.getArguments())
    code.arguments.push_back(cell(argument));
  LogicalResult result = success();
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      for (Value operand : op.getOperands())
        code.yields.push_back(cell(operand));
      break;
    }
    if (failed(result = decodeOp(&op)))
      break;
  }
  threads = outerThreads;
  current = outer;
  return result;
}

/// Whether an operation has a meaning in kernels only.
static bool isDeviceOp(Operation *op) {
  if (isa_and_nonnull<hopper::HopperDialect>(op->getDialect()))
    return !isa<hopper::LaunchOp, hopper::SmCountOp, hopper::EncodeOp,
                hopper::AddressOp, hopper::CounterOp>(op);
  return isa_and_nonnull<warp::WarpDialect, gpu::GPUDialect>(op->getDialect());
}

LogicalResult Decoder::decodeOp(Operation *op) {
  const Registry::Entry *entry = registry.lookup(op);
  if (!entry) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (dialect == "attention")
      return op->emitError("'")
             << op->getName()
             << "' cannot be run, it has to be lowered first (for instance by "
                "attention-to-tile or attention-to-reference)";
    return op->emitError("'")
           << op->getName() << "' is not known to the interpreter";
  }
  if (!isa<gpu::GPUFuncOp>(function->op) && isDeviceOp(op))
    return op->emitError("'")
           << op->getName() << "' can be run only in a kernel";
  if (!entry->varying)
    for (Value operand : op->getOperands())
      if (isVarying(operand))
        return op->emitError("'")
               << op->getName()
               << "' needs operands that are the same in all threads, operand "
               << operand << " is not";
  for (Type type : op->getResultTypes())
    if (isa<RankedTensorType, VectorType>(type) && failed(reserve(op, type)))
      return failure();
  LogicalResult result = entry->decode(*this, op);
  if (succeeded(result) && options.timed)
    emitUse(*this, op);
  return result;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool Decoder::isBuffered(Value value) const {
  return isa<TensorType, VectorType>(value.getType()) || isVarying(value);
}

int64_t Decoder::getCount(Type type) const {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * threads;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getNumElements();
  return threads;
}

FailureOr<Format> Decoder::getFormat(Operation *op, Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isIndex())
    return options.indexFormat;
  auto tensor = dyn_cast<TensorType>(type);
  auto vector = dyn_cast<VectorType>(type);
  std::optional<Format> format = interp::getFormat(element);
  if (!format || (tensor && !tensor.hasStaticShape()) ||
      (vector && vector.isScalable())) {
    op->emitError("'") << op->getName()
                       << "' has a type the interpreter cannot hold: " << type;
    return failure();
  }
  return *format;
}

/// A block of a real kernel has 64 Ki registers and 228 KiB of shared memory;
/// what is beyond this limit comes from a wrong number in a type.
static constexpr uint64_t kMaxBlockBytes = uint64_t(1) << 30;

LogicalResult Decoder::reserve(Operation *op, Type type, uint64_t entries) {
  auto shaped = cast<ShapedType>(type);
  if (!isa<gpu::GPUFuncOp>(function->op) || !shaped.hasStaticShape())
    return success();
  uint64_t bytes = sizeof(double);
  auto times = [&](uint64_t factor) {
    bytes = llvm::SaturatingMultiply(bytes, factor);
  };
  for (int64_t extent : shaped.getShape())
    times(extent);
  times(entries);
  if (isa<VectorType>(type))
    times(threads);
  if (auto group = op->getParentOfType<warp::GroupOp>())
    times(group.getReplicas());
  reserved = llvm::SaturatingAdd(reserved, bytes);
  if (reserved <= kMaxBlockBytes)
    return success();
  return op->emitError("'")
         << op->getName() << "' brings the tiles of the kernel to " << reserved
         << " bytes per block, the limit of the interpreter is "
         << kMaxBlockBytes;
}

CellId Decoder::asBuffer(Operation *op, Value value, int64_t count) {
  if (isa<TensorType, VectorType>(value.getType()))
    return cell(value);
  if (isVarying(value) && count == threads)
    return cell(value);
  FailureOr<Format> format = getFormat(op, value.getType());
  CellId result = newCell();
  auto *extra = makeExtra<CountExtra>();
  extra->count = count;
  Instr &instr = emit(op, isVarying(value) ? repeatBuffer : splatScalar,
                      {cell(value)}, {result}, extra);
  instr.format = succeeded(format) ? *format : Format::I64;
  return result;
}

//===----------------------------------------------------------------------===//
// Scalars that differ between threads
//===----------------------------------------------------------------------===//

/// Values that hold what operand `number` of a terminator or region operation
/// becomes.
static void appendForwarded(OpOperand &use, SmallVectorImpl<Value> &result) {
  Operation *op = use.getOwner(), *parent = op->getParentOp();
  unsigned number = use.getOperandNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    unsigned control = loop.getNumControlOperands();
    if (number >= control) {
      result.push_back(loop.getRegionIterArg(number - control));
      result.push_back(loop.getResult(number - control));
    }
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    result.push_back(loop.getBeforeArguments()[number]);
  } else if (isa<scf::ConditionOp>(op)) {
    auto loop = cast<scf::WhileOp>(parent);
    if (number > 0) {
      result.push_back(loop.getAfterArguments()[number - 1]);
      result.push_back(loop.getResult(number - 1));
    }
  } else if (isa<scf::YieldOp>(op)) {
    if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      result.push_back(loop.getBeforeArguments()[number]);
      return;
    }
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      result.push_back(loop.getRegionIterArg(number));
    result.push_back(parent->getResult(number));
  } else if (isa<hopper::YieldOp>(op)) {
    result.push_back(parent->getResult(number));
  } else if (OpTrait::hasElementwiseMappableTraits(op) ||
             isa<hopper::WarpIfOp, hopper::WarpIfElseOp, arith::SelectOp>(op)) {
    for (Value value : op->getResults())
      result.push_back(value);
  }
}

void Decoder::findVarying(Operation *root) {
  if (options.threads <= 1)
    return;
  SmallVector<Value> worklist;
  auto mark = [&](Value value) {
    if (value.getType().isIntOrIndexOrFloat() && varying.insert(value).second)
      worklist.push_back(value);
  };
  root->walk([&](Operation *op) {
    if (isa<gpu::ThreadIdOp, gpu::LaneIdOp, hopper::VoteAnyOp>(op) ||
        isa_and_nonnull<vector::VectorDialect>(op->getDialect()))
      for (Value result : op->getResults())
        mark(result);
  });
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    SmallVector<Value> next;
    for (OpOperand &use : value.getUses())
      appendForwarded(use, next);
    for (Value forwarded : next)
      mark(forwarded);
  }
}
