//===- OutlineMemRefs.cpp - attention in programs on memrefs --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "OutlineMemRefs.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fa3::attention;
using bufferization::MaterializeInDestinationOp;
using bufferization::ToBufferOp;
using bufferization::ToTensorOp;

/// Attention only reads what it gets, but for caches, of which getCache takes
/// care.
static bool onlyReads(Operation *op) {
  return isa<ScoredOpInterface, tensor::DimOp>(op) || isPreparation(op);
}

Value fa3::attention::getMemory(Value tensor) {
  auto op = tensor.getDefiningOp<ToTensorOp>();
  if (!op || !isa<MemRefType>(op.getBuffer().getType()))
    return {};
  if (op.getWritable() && !llvm::all_of(tensor.getUsers(), onlyReads))
    return {};
  return op.getBuffer();
}

void fa3::attention::readTensors(Operation *op) {
  ValueRange aux;
  if (auto scored = dyn_cast<ScoredOpInterface>(op))
    aux = scored.getAux();
  else if (auto lists = dyn_cast<ListBlocksOp>(op))
    aux = lists.getAux();
  auto getTensor = [&](Value memory) -> Value {
    for (Value value : aux)
      if (auto tensor = value.getDefiningOp<ToTensorOp>();
          tensor && tensor.getBuffer() == memory)
        return value;
    return {};
  };
  if (aux.empty())
    return;
  ownDescriptions(op);
  auto readTensor = [&](Operation *inner) {
    OpBuilder b(inner);
    Value tensor, read;
    if (auto load = dyn_cast<memref::LoadOp>(inner)) {
      if ((tensor = getTensor(load.getMemRef())))
        read = tensor::ExtractOp::create(b, load.getLoc(), tensor,
                                         load.getIndices());
    } else if (auto dim = dyn_cast<memref::DimOp>(inner)) {
      if ((tensor = getTensor(dim.getSource())))
        read = tensor::DimOp::create(b, dim.getLoc(), tensor, dim.getIndex());
    }
    if (!read)
      return;
    inner->getResult(0).replaceAllUsesWith(read);
    inner->erase();
  };
  for (Region *region : listCode(op))
    region->walk(readTensor);
}

/// Whether the elements of a row are, or may be, side by side.
static bool mayBeContiguous(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  return strides.empty() || strides.back() == 1 ||
         ShapedType::isDynamic(strides.back()) || type.getShape().back() == 1;
}

static Value createCopy(ImplicitLocOpBuilder &b, Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<Value> extents;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      extents.push_back(memref::DimOp::create(b, memory, dim));
  Value copy = memref::AllocOp::create(
      b,
      MemRefType::get(type.getShape(), type.getElementType(), AffineMap(),
                      type.getMemorySpace()),
      extents, b.getI64IntegerAttr(kAllocationAlignment));
  memref::CopyOp::create(b, memory, copy);
  return copy;
}

Value fa3::attention::getContiguous(ImplicitLocOpBuilder &b, Value memory) {
  return mayBeContiguous(cast<MemRefType>(memory.getType()))
             ? memory
             : createCopy(b, memory);
}

/// Whether nothing between `op` and `write` looks at, or changes, what `write`
/// writes. Tensors may be that memory, unless it is `restrict`.
static bool isUntouched(Operation *op, Operation *write, bool isRestrict) {
  if (write->getBlock() != op->getBlock() || !op->isBeforeInBlock(write))
    return false;
  for (Operation *next = op->getNextNode(); next != write;
       next = next->getNextNode()) {
    auto other = dyn_cast<MaterializeInDestinationOp>(next);
    Operation *source = other ? other.getSource().getDefiningOp() : nullptr;
    if (isa<ToBufferOp, ToTensorOp>(next) ||
        (source && (source == op || isPreparation(source))))
      continue;
    if (!isRestrict &&
        llvm::any_of(next->getOperandTypes(), llvm::IsaPred<TensorType>))
      return false;
    bool isAttention = isa<ScoredOpInterface>(next) || isPreparation(next) ||
                       isDescription(next);
    if (!isAttention && !isMemoryEffectFree(next))
      return false;
  }
  return true;
}

Value fa3::attention::getCache(ImplicitLocOpBuilder &b, AppendOp op) {
  Value memory = getMemory(op.getCache());
  MaterializeInDestinationOp write;
  for (Operation *user : op.getResult().getUsers())
    if (auto other = dyn_cast<MaterializeInDestinationOp>(user);
        other && other.getDest() == memory)
      write = other;
  bool isOnlyUse = llvm::all_of(op.getCache().getUsers(), [&](Operation *user) {
    return user == op || isa<tensor::DimOp>(user);
  });
  if (!write || !write.getRestrict() || !isOnlyUse ||
      !isUntouched(op, write, /*isRestrict=*/true) ||
      !mayBeContiguous(cast<MemRefType>(memory.getType())))
    return createCopy(b, memory);
  write->erase();
  return memory;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Destinations::Destinations(Operation *root, ArrayRef<Value> operands,
                           DominanceInfo &dominance)
    : root(root), dominance(dominance), aliases(root) {
  for (Value value : operands)
    if (isa<MemRefType>(value.getType()))
      inputs.push_back(value);
}

/// The memory that `value` is a part of.
static Value getBase(Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>())
    value = view.getViewSource();
  return value;
}

/// `restrict` says that no other tensor is in this memory; what is a part of
/// the same array by its own words is doubted all the same.
bool Destinations::isApart(Value memory, bool isRestrict) {
  for (Value input : inputs)
    if (isRestrict ? getBase(memory) == getBase(input)
                   : !aliases.alias(memory, input).isNo())
      return false;
  for (Value other : taken)
    if (isRestrict ? memory == other : !aliases.alias(memory, other).isNo())
      return false;
  return true;
}

Value Destinations::take(Value value) {
  Operation *write = nullptr;
  for (Operation *user : value.getUsers()) {
    if (isa<tensor::DimOp>(user))
      continue;
    if (write)
      return {};
    write = user;
  }
  Value memory;
  ToBufferOp buffer;
  bool isRestrict = false;
  if (auto materialize = dyn_cast_or_null<MaterializeInDestinationOp>(write)) {
    memory = materialize.getDest();
    isRestrict = materialize.getRestrict();
  } else if ((buffer = dyn_cast_or_null<ToBufferOp>(write)) &&
             buffer->hasOneUse()) {
    auto copy = dyn_cast<memref::CopyOp>(*buffer->user_begin());
    if (copy && copy.getSource() == buffer.getResult()) {
      memory = copy.getTarget();
      write = copy;
    }
  }
  auto type = memory ? dyn_cast<MemRefType>(memory.getType()) : MemRefType();
  if (!type || !mayBeContiguous(type) ||
      !dominance.properlyDominates(memory, root) ||
      !isUntouched(root, write, isRestrict) || !isApart(memory, isRestrict))
    return {};
  taken.push_back(memory);
  write->erase();
  if (buffer)
    buffer->erase();
  return memory;
}

Value fa3::attention::createTensor(ImplicitLocOpBuilder &b, Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  return ToTensorOp::create(
      b, RankedTensorType::get(type.getShape(), type.getElementType()), memory,
      /*restrict=*/true);
}

void fa3::attention::lowerUses(Value tensor, Value memory) {
  for (OpOperand &use : llvm::make_early_inc_range(tensor.getUses())) {
    Operation *user = use.getOwner();
    OpBuilder b(user);
    Location loc = user->getLoc();
    auto castTo = [&](Type type) -> Value {
      return type == memory.getType()
                 ? memory
                 : memref::CastOp::create(b, loc, type, memory).getResult();
    };
    auto fits = [&](Type type) {
      return type == memory.getType() ||
             memref::CastOp::areCastCompatible(memory.getType(), type);
    };
    if (auto buffer = dyn_cast<ToBufferOp>(user);
        buffer && fits(buffer.getType())) {
      buffer.replaceAllUsesWith(castTo(buffer.getType()));
      buffer.erase();
    } else if (auto write = dyn_cast<MaterializeInDestinationOp>(user);
               write && use.getOperandNumber() == 0 &&
               isa<MemRefType>(write.getDest().getType())) {
      memref::CopyOp::create(b, loc, memory, write.getDest());
      write.erase();
    } else if (auto extent = dyn_cast<tensor::DimOp>(user)) {
      Value dim = memref::DimOp::create(b, loc, memory, extent.getIndex());
      extent.replaceAllUsesWith(dim);
      extent.erase();
    } else if (auto cast = dyn_cast<tensor::CastOp>(user);
               cast && isa<RankedTensorType>(cast.getType())) {
      auto type = mlir::cast<RankedTensorType>(cast.getType());
      MemRefType source = mlir::cast<MemRefType>(memory.getType());
      auto target =
          MemRefType::get(type.getShape(), type.getElementType(),
                          source.getLayout(), source.getMemorySpace());
      if (!source.getLayout().isIdentity() || !fits(target))
        continue;
      Value as = castTo(target);
      auto inner = ToTensorOp::create(b, loc, type, as, /*restrict=*/true);
      cast.replaceAllUsesWith(inner.getResult());
      cast.erase();
      lowerUses(inner, as);
    }
  }
  if (tensor.use_empty())
    tensor.getDefiningOp()->erase();
}
