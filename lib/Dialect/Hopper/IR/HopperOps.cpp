//===- HopperOps.cpp - operations of hopper -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Warp/IR/CopyPlaces.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

static ParseResult parsePlaces(OpAsmParser &parser,
                               warp::PlaceRegions &places) {
  return warp::parsePlaces(parser, places, parser.getBuilder().getI32Type());
}

static void printPlaces(OpAsmPrinter &printer, Operation *,
                        RegionRange places) {
  warp::printPlaces(printer, places);
}

#define GET_OP_CLASSES
#include "fa3/Dialect/Hopper/IR/HopperOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Host
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verify() {
  int64_t threads = getThreads(), smem = getSmem();
  if (threads <= 0 || threads % kSm90a.threadsPerWarp ||
      threads > kSm90a.maxThreadsPerBlock)
    return emitOpError("expects threads that are a multiple of 32 up to ")
           << kSm90a.maxThreadsPerBlock << ", got " << threads;
  if (smem < 0 || smem > kSm90a.maxSharedMemoryBytes)
    return emitOpError("expects at most ")
           << kSm90a.maxSharedMemoryBytes << " bytes of shared memory, got "
           << smem;
  if (!getCost().empty() && getCost().size() != 2)
    return emitOpError("expects 'cost' to have 2 values (operations, bytes), "
                       "got ")
           << getCost().size();
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *kernel = symbols.lookupNearestSymbolFrom(*this, getKernelAttr());
  auto function = dyn_cast_or_null<gpu::GPUFuncOp>(kernel);
  if (function && function.isKernel()) {
    if (llvm::equal(function.getArgumentTypes(), getKernelArgs().getTypes()))
      return success();
    InFlightDiagnostic diagnostic =
        emitOpError("expects operands of the kernel's argument types");
    diagnostic.attachNote(kernel->getLoc())
        << "the kernel takes " << function.getFunctionType();
    return diagnostic;
  }
  if (auto function = dyn_cast_or_null<LLVM::LLVMFuncOp>(kernel)) {
    if (function.getNumArguments() != getKernelArgs().size())
      return emitOpError("expects ")
             << function.getNumArguments() << " operands, got "
             << getKernelArgs().size();
    return success();
  }
  return emitOpError("expects ") << getKernelAttr() << " to name a kernel";
}

LogicalResult EncodeOp::verify() {
  auto memref = cast<MemRefType>(getSource().getType());
  TensorMapType map = getResult().getType();
  if (static_cast<int64_t>(map.getBox().size()) != memref.getRank())
    return emitOpError("expects a box of the memref's rank (")
           << memref.getRank() << "), got " << map.getBox().size();
  if (map.getElementType() != memref.getElementType())
    return emitOpError("expects the element type of the memref (")
           << memref.getElementType() << "), got " << map.getElementType();
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(memref.getStridesAndOffset(strides, offset)) ||
      strides.back() != 1)
    return emitOpError("expects a memref with innermost stride 1, got ")
           << memref;
  return success();
}

//===----------------------------------------------------------------------===//
// Shared memory and barriers
//===----------------------------------------------------------------------===//

template <typename Effects>
static void addAllocEffect(OpResult result, Effects &effects) {
  effects.emplace_back(MemoryEffects::Allocate::get(), result,
                       SideEffects::DefaultResource::get());
}

void AllocOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addAllocEffect(llvm::cast<OpResult>(getBuffer()), effects);
}

void BarrierAllocOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addAllocEffect(llvm::cast<OpResult>(getBarrier()), effects);
}

void MailboxAllocOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addAllocEffect(llvm::cast<OpResult>(getMailbox()), effects);
}

/// Offsets in dynamic shared memory are aligned and inside it.
static LogicalResult verifyOffset(Operation *op, std::optional<int64_t> offset,
                                  int64_t bytes, int64_t alignment) {
  if (!offset)
    return success();
  if (*offset < 0 || *offset % alignment)
    return op->emitOpError("expects an offset that is a multiple of ")
           << alignment << ", got " << *offset;
  if (*offset > kSm90a.maxSharedMemoryBytes - bytes)
    return op->emitOpError("expects ")
           << bytes << " bytes at offset " << *offset << " to end within the "
           << kSm90a.maxSharedMemoryBytes << " bytes of shared memory";
  return success();
}

LogicalResult AllocOp::verify() {
  BufferType type = getBuffer().getType();
  return verifyOffset(*this, getOffset(), type.getSlots() * type.getSlotBytes(),
                      1024);
}

LogicalResult SmemFillOp::verify() {
  Type element = getBuffer().getType().getTile().getElementType();
  if (!isa<FloatAttr>(getValue()) || getValue().getType() != element)
    return emitOpError("expects a floating-point value of the buffer's "
                       "elements, ")
           << element << ", got " << getValue().getType();
  return success();
}

LogicalResult BarrierAllocOp::verify() {
  return verifyOffset(*this, getOffset(), getBarrier().getType().getCount() * 8,
                      8);
}

LogicalResult MailboxAllocOp::verify() {
  return verifyOffset(*this, getOffset(),
                      getMailbox().getType().getSlots() * kSlotBytes,
                      kAlignment);
}

LogicalResult RecordOp::verify() {
  int64_t event = getEvent(), capacity = getCapacity();
  if (event < 0 || event > kMaxEvent)
    return emitOpError("expects an event between 0 and ")
           << kMaxEvent << ", got " << event;
  if (capacity < 2 || capacity > kMaxCapacity || !llvm::isPowerOf2_64(capacity))
    return emitOpError("expects a capacity that is a power of two between 2 "
                       "and ")
           << kMaxCapacity << ", got " << capacity;
  return success();
}

LogicalResult ClaimOp::verify() {
  auto group = (*this)->getParentOfType<warp::GroupOp>();
  if (group && (group.getWarps() != 1 || group.getReplicas() != 1))
    return emitOpError("expects a group of one warp and one replica, got ")
           << group.getWarps() << " and " << group.getReplicas();
  return success();
}

LogicalResult BarrierExpectTxOp::verify() {
  int64_t bytes = getBytes();
  if (bytes < 1 || bytes > kSm90a.maxBarrierCount)
    return emitOpError("expects between 1 and ")
           << kSm90a.maxBarrierCount << " bytes, got " << bytes;
  return success();
}

static LogicalResult verifyThreads(Operation *op, int64_t threads) {
  if (threads <= 0 || threads % kSm90a.threadsPerWarp ||
      threads > kSm90a.maxThreadsPerBlock)
    return op->emitOpError("expects threads that are a positive multiple of 32 "
                           "up to ")
           << kSm90a.maxThreadsPerBlock << ", got " << threads;
  return success();
}

LogicalResult NamedBarrierSyncOp::verify() {
  return verifyThreads(*this, getThreads());
}

LogicalResult NamedBarrierArriveOp::verify() {
  return verifyThreads(*this, getThreads());
}

LogicalResult SetMaxRegistersOp::verify() {
  int64_t registers = getRegisters();
  if (registers < 24 || registers > 256 || registers % 8)
    return emitOpError("expects a multiple of 8 between 24 and 256, got ")
           << registers;
  return success();
}

//===----------------------------------------------------------------------===//
// TMA
//===----------------------------------------------------------------------===//

template <typename TmaOp>
static LogicalResult verifyTma(TmaOp op, bool hasCoordinates = true) {
  TensorMapType map = op.getMap().getType();
  BufferType buffer = op.getWindowType();
  if (hasCoordinates && op.getCoordinates().size() != map.getBox().size())
    return op.emitOpError("expects one coordinate per dimension of the box (")
           << map.getBox().size() << "), got " << op.getCoordinates().size();
  if (map.getElementType() != buffer.getTile().getElementType() ||
      map.getSwizzle() != buffer.getSwizzle() ||
      map.getBox().back() != buffer.getBlockColumns())
    return op.emitOpError("expects a box one block wide (")
           << buffer.getBlockColumns() << " columns of "
           << buffer.getTile().getElementType() << ", swizzle "
           << buffer.getSwizzle() << "), got " << map;
  return success();
}

LogicalResult TmaLoadOp::verify() {
  if (failed(verifyTma(*this, /*hasCoordinates=*/!getPieces())))
    return failure();
  BufferType buffer = getBuffer().getType();
  if (getPieces().has_value() != getBlocks().has_value())
    return emitOpError("expects the blocks of pieces, and no others");
  if (getNumBlocks() < 1 || getRows() > buffer.getRows() ||
      getColumns() > buffer.getColumns())
    return emitOpError("expects pieces that fit into a slot of ")
           << buffer.getRows() << "x" << buffer.getColumns() << ", got "
           << getRows() << "x" << getColumns();
  return success();
}

LogicalResult TmaLoadOp::verifyRegions() {
  return warp::verifyPlaces(
      *this, getPlaces(), getPieces(), getCoordinates().size(),
      getMap().getType().getBox().size(), IntegerType::get(getContext(), 32));
}

LogicalResult TmaStoreOp::verify() {
  Type element = getMap().getType().getElementType();
  if (getAdd() && !element.isF32() && !element.isInteger(32))
    return emitOpError("expects a map of f32 or i32 with 'add', got ")
           << getMap().getType();
  return verifyTma(*this);
}

LogicalResult TmaWaitReadOp::verify() {
  int64_t pending = getPending();
  if (pending < 0)
    return emitOpError("expects at least 0 pending groups, got ") << pending;
  return success();
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

LogicalResult DescOp::verify() {
  BufferType buffer = getBuffer().getType();
  DescType desc = getDesc().getType();
  if (desc.getRows() != buffer.getRows() ||
      desc.getElementType() != buffer.getTile().getElementType() ||
      desc.getSwizzle() != buffer.getSwizzle())
    return emitOpError("expects a descriptor of ")
           << buffer.getRows() << " rows of "
           << buffer.getTile().getElementType() << ", swizzle "
           << buffer.getSwizzle() << ", got " << desc;
  return success();
}

LogicalResult WgmmaFenceOp::inferReturnTypes(MLIRContext *,
                                             std::optional<Location>,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  llvm::append_range(types, TypeRange(adaptor.getValues()));
  return success();
}

LogicalResult WgmmaOp::verify() {
  int64_t m = getM(), n = getN(), k = getK();
  Type element = getRhs().getType().getElementType();
  int64_t kStep = 256 / element.getIntOrFloatBitWidth();
  if (m <= 0 || m % 64 || m > 256 || n <= 0 || n % 8 || n > 256 || k <= 0 ||
      k % kStep || k > 1024)
    return emitOpError("expects m a multiple of 64 up to 256, n a multiple of "
                       "8 up to 256 and k a multiple of ")
           << kStep << " up to 1024, got " << m << ", " << n << " and " << k;
  bool isInteger = element.isInteger(8);
  if (isInteger && n > 32 && n % 16)
    return emitOpError("of i8 expects n up to 32 or a multiple of 16, got ")
           << n;
  Builder builder(getContext());
  Type sum = isInteger ? Type(builder.getI32Type()) : builder.getF32Type();
  auto expected = VectorType::get(m * n / 128, sum);
  if (getResult().getType().getFragment() != expected)
    return emitOpError("expects a result of ")
           << expected << ", got " << getResult().getType();
  if (getAcc()) {
    Type acc = getAcc().getType();
    if (auto inflight = dyn_cast<InflightType>(acc))
      acc = inflight.getFragment();
    if (acc != expected)
      return emitOpError("expects an accumulator of ")
             << expected << ", got " << acc;
  }
  if (auto desc = dyn_cast<DescType>(getLhs().getType())) {
    if (desc.getElementType() != element)
      return emitOpError("expects lhs and rhs of one element type, got ")
             << desc.getElementType() << " and " << element;
    return success();
  }
  auto fragment = cast<VectorType>(getLhs().getType());
  if (fragment != VectorType::get(m * k / 128, element) ||
      element.getIntOrFloatBitWidth() > 16)
    return emitOpError("expects a fragment lhs of ")
           << m * k / 128
           << " elements of the type of rhs of 8 or 16 bits, got " << fragment;
  return success();
}

LogicalResult InflightReadyOp::verify() {
  if (getResult().getType().getFragment() != getValue().getType())
    return emitOpError("expects a result in flight of ")
           << getValue().getType() << ", got " << getResult().getType();
  return success();
}

LogicalResult WgmmaWaitOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> loc,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  for (Value inflight : adaptor.getInflight()) {
    auto type = dyn_cast<InflightType>(inflight.getType());
    if (!type)
      return emitOptionalError(loc, "expects fragments in flight, got ",
                               inflight.getType());
    types.push_back(type.getFragment());
  }
  llvm::append_range(types, TypeRange(adaptor.getKeep()));
  return success();
}

LogicalResult WgmmaWaitOp::verify() {
  if (std::optional<int64_t> pending = getPending())
    if (*pending < -1)
      return emitOpError("expects at least -1 pending groups, got ")
             << *pending;
  return success();
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

static LogicalResult verifyRegisters(Operation *op, StringRef what, Type type,
                                     int64_t registers) {
  auto vector = cast<VectorType>(type);
  if (vector.getRank() != 1 || vector.getNumElements() != registers)
    return op->emitOpError("expects ")
           << what << " of " << registers << " elements, got " << vector;
  return success();
}

static LogicalResult verifyDim(Operation *op, int64_t dim,
                               const LinearLayout &layout) {
  if (dim < 0 || dim >= layout.getRank())
    return op->emitOpError("expects dim (")
           << dim << ") less than the rank of the fragment's tile ("
           << layout.getRank() << ")";
  return success();
}

LogicalResult CoordOp::verify() {
  const LinearLayout &layout = getFragment().getLayout();
  if (failed(verifyDim(*this, getDim(), layout)))
    return failure();
  if (!cast<VectorType>(getResult().getType()).getElementType().isInteger(32))
    return emitOpError("expects a result of i32, got ")
           << getResult().getType();
  return verifyRegisters(*this, "a result", getResult().getType(),
                         layout.getNumRegisters());
}

/// Registers that stay apart when coordinates along `dim` are taken modulo
/// `modulo`.
static int64_t countModulo(const LinearLayout &layout, int64_t dim,
                           int64_t modulo) {
  llvm::DenseSet<std::pair<int64_t, int64_t>> kept;
  for (int64_t r = 0, e = layout.getNumRegisters(); r < e; ++r) {
    LinearLayout::Basis offset = layout.getRegisterOffset(r);
    offset[dim] %= modulo;
    kept.insert({offset[0], offset.size() > 1 ? offset[1] : 0});
  }
  return kept.size();
}

LogicalResult FragmentReduceOp::verify() {
  const LinearLayout &layout = getFragment().getLayout();
  int64_t dim = getDim();
  if (failed(verifyDim(*this, dim, layout)) ||
      failed(verifyRegisters(*this, "an operand", getSource().getType(),
                             layout.getNumRegisters())))
    return failure();
  Type operand = cast<VectorType>(getSource().getType()).getElementType();
  Type result = cast<VectorType>(getResult().getType()).getElementType();
  if (operand != result)
    return emitOpError("expects operand and result of one element type, got ")
           << operand << " and " << result;
  int64_t registers = layout.slice(dim).getNumRegisters();
  if (std::optional<int64_t> modulo = getModulo()) {
    int64_t extent = layout.getShape()[dim];
    if (*modulo < 1 || extent % *modulo)
      return emitOpError("expects modulo (")
             << *modulo << ") to divide the extent (" << extent << ")";
    registers = countModulo(layout, dim, *modulo);
  }
  return verifyRegisters(*this, "a result", getResult().getType(), registers);
}

LogicalResult LaneReduceOp::verify() {
  for (int64_t bit : getLaneBits())
    if (bit < 0 || bit > 4)
      return emitOpError("expects lane bits between 0 and 4, got ") << bit;
  return success();
}

LogicalResult VoteAnyOp::verify() {
  if (!cast<VectorType>(getSource().getType()).getElementType().isInteger(1))
    return emitOpError("expects a vector of i1, got ") << getSource().getType();
  return success();
}

/// C1 and C2 of branches that warps take.
static LogicalResult verifyWarpRegion(Operation *branch, Region &region) {
  Block &block = region.front();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperandTypes() != branch->getResultTypes())
    return branch->emitOpError(
               "expects the region to yield values of the types of the "
               "results (")
           << branch->getResultTypes() << ")";
  for (Operation &op : block.without_terminator())
    if (!isMemoryEffectFree(&op) && !isa<LaneReduceOp>(op))
      return op.emitOpError("is not allowed in '")
             << branch->getName()
             << "', which holds arithmetic of threads and lanes only";
  return success();
}

LogicalResult WarpIfOp::verifyRegions() {
  return verifyWarpRegion(*this, getBody());
}

LogicalResult WarpIfElseOp::verifyRegions() {
  return failure(failed(verifyWarpRegion(*this, getThenBody())) ||
                 failed(verifyWarpRegion(*this, getElseBody())));
}

/// C1 and C2 of accesses to global memory.
template <typename AccessOp>
static LogicalResult verifyAccess(AccessOp op, Type value) {
  const LinearLayout &layout = op.getFragment().getLayout();
  if (op.getStrides().size() != op.getIndices().size())
    return op.emitOpError("expects as many strides as indices (")
           << op.getIndices().size() << "), got " << op.getStrides().size();
  if (op.getBounds().size() != layout.getRank() ||
      op.getIndices().size() < layout.getRank())
    return op.emitOpError("expects one bound per dimension of the tile (")
           << layout.getRank() << ") and at least as many indices, got "
           << op.getBounds().size() << " and " << op.getIndices().size();
  return verifyRegisters(op, "a value", value, layout.getNumRegisters());
}

LogicalResult FragmentLoadOp::verify() {
  return verifyAccess(*this, getResult().getType());
}
LogicalResult FragmentStoreOp::verify() {
  Type element = cast<VectorType>(getValue().getType()).getElementType();
  if (getAdd() && !element.isF32() && !element.isInteger(32))
    return emitOpError("expects elements of f32 or i32 with 'add', got ")
           << element;
  return verifyAccess(*this, getValue().getType());
}
LogicalResult GatherOp::verify() {
  if (getStrides().size() != getIndices().size() ||
      getBounds().size() != getIndices().size())
    return emitOpError("expects as many strides and bounds as indices (")
           << getIndices().size() << "), got " << getStrides().size() << " and "
           << getBounds().size();
  int64_t count = cast<VectorType>(getResult().getType()).getNumElements();
  for (Type type : getIndices().getTypes()) {
    auto vector = dyn_cast<VectorType>(type);
    if (vector && (!vector.getElementType().isInteger(32) ||
                   vector.getNumElements() != count))
      return emitOpError("expects vectors of ")
             << count << " i32 as indices, got " << type;
  }
  return success();
}
LogicalResult ScalarLoadOp::verify() {
  if (getStrides().size() != getIndices().size())
    return emitOpError("expects as many strides as indices (")
           << getIndices().size() << "), got " << getStrides().size();
  return success();
}

/// Slots have rows and columns.
template <typename AccessOp>
static LogicalResult verifyRank(AccessOp op) {
  unsigned rank = op.getFragment().getLayout().getRank();
  if (rank > 2)
    return op.emitOpError("expects a fragment of rank 1 or 2, got ") << rank;
  return success();
}

LogicalResult SmemStoreOp::verify() {
  if (failed(verifyRank(*this)))
    return failure();
  Type element = cast<VectorType>(getValue().getType()).getElementType();
  if (!element.isIntOrFloat() ||
      !llvm::is_contained({8u, 16u, 32u}, element.getIntOrFloatBitWidth()))
    return emitOpError("expects elements of 8, 16 or 32 bits, got ")
           << getValue().getType();
  return verifyRegisters(*this, "a value", getValue().getType(),
                         getFragment().getLayout().getNumRegisters());
}
LogicalResult SmemLoadOp::verify() {
  if (failed(verifyRank(*this)))
    return failure();
  Type element = getBuffer().getType().getTile().getElementType();
  if (cast<VectorType>(getResult().getType()).getElementType() != element)
    return emitOpError("expects elements of the buffer's type (")
           << element << "), got " << getResult().getType();
  return verifyRegisters(*this, "a value", getResult().getType(),
                         getFragment().getLayout().getNumRegisters());
}
