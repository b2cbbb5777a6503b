//===- KernelInfo.cpp - threads of a kernel during its lowering -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "KernelInfo.h"
#include "Patterns.h"
#include "fa3/Dialect/Hopper/Analysis/Dependence.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include <numeric>

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

//===----------------------------------------------------------------------===//
// IntegerBuilder
//===----------------------------------------------------------------------===//

std::optional<int64_t> fa3::getConstant(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

static int64_t getDivisor(Value value, unsigned depth) {
  constexpr int64_t kMost = int64_t(1) << 16;
  constexpr unsigned kMaxDepth = 8;
  if (std::optional<int64_t> constant = getConstant(value))
    return std::gcd(*constant, kMost);
  Operation *op = value.getDefiningOp();
  if (!op || depth > kMaxDepth)
    return 1;
  auto of = [&](unsigned i) {
    return getDivisor(op->getOperand(i), depth + 1);
  };
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return std::gcd(of(0), of(1));
  if (isa<arith::MulIOp>(op))
    return std::gcd(of(0) * of(1), kMost);
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(
          op))
    return of(0);
  return 1;
}

int64_t fa3::getDivisor(Value value) { return ::getDivisor(value, 0); }

Value IntegerBuilder::constant(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(value));
}
Value IntegerBuilder::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}
Value IntegerBuilder::mul(Value a, int64_t b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, constant(b));
}
Value IntegerBuilder::div(Value a, int64_t b) {
  return builder.createOrFold<arith::DivUIOp>(loc, a, constant(b));
}
Value IntegerBuilder::rem(Value a, int64_t b) {
  return builder.createOrFold<arith::RemUIOp>(loc, a, constant(b));
}
Value IntegerBuilder::bitAnd(Value a, int64_t b) {
  return builder.createOrFold<arith::AndIOp>(loc, a, constant(b));
}
Value IntegerBuilder::bitXor(Value a, Value b) {
  return builder.createOrFold<arith::XOrIOp>(loc, a, b);
}
Value IntegerBuilder::shiftRight(Value a, int64_t b) {
  return builder.createOrFold<arith::ShRUIOp>(loc, a, constant(b));
}
Value IntegerBuilder::isEqual(Value a, int64_t b) {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, a,
                                             constant(b));
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Whether one thread can do all that the group does: waiting on mbarriers,
/// elected thread's instructions, scalars and control flow. Pieces of copies
/// are found by as many threads as there are.
static bool canRunInOneThread(warp::GroupOp group) {
  WalkResult result = group.walk([](Operation *op) {
    bool isCollective = isa<WgmmaOp, WgmmaFenceOp, WgmmaCommitOp, WgmmaWaitOp,
                            NamedBarrierSyncOp, NamedBarrierArriveOp, VoteAnyOp,
                            SearchOp, LaneReduceOp, SetMaxRegistersOp,
                            gpu::BarrierOp, gpu::ThreadIdOp, gpu::LaneIdOp>(op);
    auto copy = dyn_cast<TmaLoadOp>(op);
    isCollective |= copy && copy.getPieces();
    auto isFragment = [](Type type) {
      return isa<VectorType, InflightType>(type);
    };
    return isCollective || llvm::any_of(op->getResultTypes(), isFragment) ||
                   llvm::any_of(op->getOperandTypes(), isFragment)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return !result.wasInterrupted();
}

LogicalResult KernelInfo::prepareRegisters(warp::GroupOp group) {
  GroupInfo &info = groups[group];
  // Idle warps of the warp group take part, so the first one, which opens the
  // group, moves to the branch of the warp group (see lowerSpecialize).
  for (Operation &op : *group.getBodyBlock()) {
    if (auto registers = dyn_cast<SetMaxRegistersOp>(op)) {
      info.registers = registers.getRegisters();
      info.increasesRegisters = registers.getIncrease();
      registers.erase();
      break;
    }
    if (!isMemoryEffectFree(&op))
      break;
  }
  WalkResult result = group.walk([&](SetMaxRegistersOp op) {
    if (group.getWarps() % 4 == 0)
      return WalkResult::advance();
    op.emitOpError("expects to open its group, which shares a warp group");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

void KernelInfo::prepareGroup(OpBuilder &builder, warp::GroupOp group) {
  Location loc = group.getLoc();
  builder.setInsertionPointToStart(group.getBodyBlock());
  IntegerBuilder ints(builder, loc);
  int64_t first = *group.getFirstWarp(), warps = group.getWarps();
  GroupInfo &info = groups[group];
  info.lane = block.lane;
  info.warp = ints.rem(ints.add(block.warp, -first), warps);
  info.thread = ints.rem(ints.add(block.thread, -first * kSm90a.threadsPerWarp),
                         warps * kSm90a.threadsPerWarp);
  info.elected = ints.isEqual(info.thread, 0);
  info.replica = group.getReplica();
  info.singleThreaded = canRunInOneThread(group);
}

LogicalResult KernelInfo::prepare(gpu::GPUFuncOp function, StringRef smem) {
  std::optional<ArrayRef<int32_t>> size = function.getKnownBlockSize();
  if (!size || size->size() != 3 || (*size)[1] != 1 || (*size)[2] != 1)
    return function.emitOpError("expects a one-dimensional 'known_block_size' "
                                "(see hopper-pack-warpgroups)");
  numWarps = llvm::divideCeil((*size)[0], kSm90a.threadsPerWarp);
  waitsForOthers = waitsForPredecessors(function) ||
                   !function.getBody().front().getOps<FlagAwaitOp>().empty();
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("expects structured control flow, got ")
           << function.getBody().getBlocks().size() << " blocks";

  Location loc = function.getLoc();
  auto builder = OpBuilder::atBlockBegin(&function.getBody().front());
  IntegerBuilder ints(builder, loc);
  Type i32 = builder.getI32Type();
  block.thread = NVVM::ThreadIdXOp::create(builder, loc, i32);
  block.lane = ints.bitAnd(block.thread, 31);
  // From lane 0, so that ptxas sees that branches on it do not diverge.
  Value clamp = ints.constant(31);
  Value first = ints.constant(0);
  Value warp = ints.shiftRight(block.thread, 5);
  block.warp =
      NVVM::ShflOp::create(builder, loc, i32, ints.constant(-1), warp, first,
                           clamp, NVVM::ShflKind::idx, UnitAttr());
  block.elected = ints.isEqual(block.thread, 0);
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), 3);
  Value start = LLVM::AddressOfOp::create(builder, loc, pointer, smem);
  sharedMemory = LLVM::PtrToIntOp::create(builder, loc, i32, start);
  // Where shared memory starts takes less than 31 bits.
  renewHeldOperands(function, ints.shiftRight(sharedMemory, 31));

  SmallVector<warp::GroupOp> order;
  function.walk([&](warp::GroupOp group) { order.push_back(group); });
  for (warp::GroupOp group : order) {
    if (!group.getFirstWarp())
      return group.emitOpError("expects a place (see hopper-pack-warpgroups)");
    int64_t end =
        *group.getFirstWarp() + group.getWarps() * group.getReplicas();
    if (end > numWarps)
      return group.emitOpError("ends at warp ")
             << end << ", the block has " << numWarps;
    if (failed(prepareRegisters(group)))
      return failure();
    prepareGroup(builder, group);
  }
  findChains(function);
  findPins(function);
  prepareDescriptors(function);
  return prepareFragments(function);
}

const GroupInfo &KernelInfo::getOf(Operation *op) const {
  auto group = op->getParentOfType<warp::GroupOp>();
  return group ? get(group) : block;
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

Value fa3::sumBits(IntegerBuilder &ints, Value index,
                   ArrayRef<LinearLayout::Basis> bases, unsigned dim) {
  Value sum = ints.constant(0);
  for (size_t bit = 0; bit < bases.size();) {
    int64_t offset = bases[bit][dim];
    size_t end = bit + 1;
    while (end < bases.size() && offset != 0 &&
           bases[end][dim] == offset << (end - bit))
      ++end;
    if (offset != 0) {
      int64_t mask = (int64_t(1) << (end - bit)) - 1;
      Value part = ints.bitAnd(ints.shiftRight(index, bit), mask);
      sum = ints.add(ints.mul(part, offset), sum);
    }
    bit = end;
  }
  return sum;
}

/// Bits of an index over which the elements are replicated.
static int64_t getReplicatedBits(ArrayRef<LinearLayout::Basis> bases) {
  int64_t mask = 0;
  for (auto [bit, basis] : llvm::enumerate(bases))
    if (llvm::all_of(basis, [](int64_t v) { return v == 0; }))
      mask |= int64_t(1) << bit;
  return mask;
}

LogicalResult KernelInfo::prepareFragments(gpu::GPUFuncOp function) {
  WalkResult result = function.walk([&](Operation *op) {
    auto fragment = op->getAttrOfType<FragmentAttr>("fragment");
    if (!fragment)
      return WalkResult::advance();
    const LinearLayout &layout = fragment.getLayout();
    auto group = op->getParentOfType<warp::GroupOp>();
    int64_t warps = group ? group.getWarps() : numWarps;
    if (layout.getNumWarps() != warps) {
      op->emitOpError("expects a fragment over the ")
          << warps << " warps that run it, got one over "
          << layout.getNumWarps();
      return WalkResult::interrupt();
    }
    auto [it, isNew] = fragments.try_emplace({group, fragment});
    if (!isNew)
      return WalkResult::advance();
    const GroupInfo &info = getOf(op);
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfterValue(info.elected);
    IntegerBuilder ints(builder, op->getLoc());
    for (unsigned dim = 0; dim < layout.getRank(); ++dim) {
      Value ofWarp = sumBits(ints, info.warp, layout.getWarpBases(), dim);
      Value ofLane = sumBits(ints, info.lane, layout.getLaneBases(), dim);
      it->second.offsets.push_back(ints.add(ofLane, ofWarp));
    }
    for (auto [index, bases] : {std::pair(info.lane, layout.getLaneBases()),
                                std::pair(info.warp, layout.getWarpBases())}) {
      int64_t mask = getReplicatedBits(bases);
      if (mask == 0)
        continue;
      Value isOwner = ints.isEqual(ints.bitAnd(index, mask), 0);
      it->second.owner = it->second.owner
                             ? arith::AndIOp::create(builder, op->getLoc(),
                                                     it->second.owner, isOwner)
                             : isOwner;
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

Value KernelInfo::getThreadOffset(Operation *op, FragmentAttr fragment,
                                  unsigned dim) const {
  auto group = op->getParentOfType<warp::GroupOp>();
  return fragments.find({group, fragment})->second.offsets[dim];
}

Value KernelInfo::getOwner(Operation *op, FragmentAttr fragment) const {
  auto group = op->getParentOfType<warp::GroupOp>();
  return fragments.find({group, fragment})->second.owner;
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

/// Matrix descriptor (PTX ISA, "Matrix-descriptor Format"): bits 0-13 start
/// address, 16-29 leading and 32-45 stride byte offset, all in units of 16
/// bytes, 62-63 swizzle mode.
uint64_t fa3::getDescriptorTemplate(DescType type) {
  uint64_t swizzle = type.getSwizzle();
  uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
  // Eight rows further on, under either major.
  uint64_t stride = 8 * swizzle;
  // One block of columns further on. Where K is contiguous a step along it
  // stays within a block and the field is not read.
  uint64_t leading =
      type.getMajor() == Major::mn ? type.getRows() * swizzle : 16;
  return mode << 62 | (stride >> 4) << 32 | (leading >> 4) << 16;
}

/// All but the address of a descriptor, by halves.
static int64_t getHigh(uint64_t descriptor) { return descriptor >> 32 << 32; }
static int64_t getLow(uint64_t descriptor) {
  return descriptor & std::numeric_limits<uint32_t>::max();
}

void KernelInfo::prepareDescriptors(gpu::GPUFuncOp function) {
  llvm::MapVector<std::pair<Operation *, Type>, SmallVector<DescOp>> users;
  function.walk([&](DescOp op) {
    if (auto alloc = op.getBuffer().getDefiningOp<AllocOp>())
      users[{alloc, op.getDesc().getType()}].push_back(op);
  });
  isTight = formsAnew && users.size() > kMostBases;
  for (auto &[key, ops] : users) {
    auto alloc = cast<AllocOp>(key.first);
    OpBuilder builder(function.getContext());
    builder.setInsertionPointAfter(alloc);
    uint64_t bits = getDescriptorTemplate(cast<DescType>(key.second));
    DescriptorBase base;
    if (isTight && alloc.getOffset())
      base = {getStartOf(builder, alloc, getLow(bits)), getHigh(bits)};
    else
      base = {getAddressOf(builder, alloc, bits), std::nullopt};
    for (DescOp op : ops)
      descriptors[op] = base;
  }
}

/// The descriptor of a buffer as one number.
Value KernelInfo::getAddressOf(OpBuilder &builder, AllocOp alloc,
                               uint64_t bits) {
  Location loc = alloc.getLoc();
  // The conversion of the allocation makes the cast vanish.
  Value address = UnrealizedConversionCastOp::create(
                      builder, loc, builder.getI32Type(), alloc.getBuffer())
                      .getResult(0);
  Value field = IntegerBuilder(builder, loc).shiftRight(address, 4);
  Value wide =
      arith::ExtUIOp::create(builder, loc, builder.getI64Type(), field);
  Value constant =
      arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(bits));
  return arith::OrIOp::create(builder, loc, wide, constant);
}

/// The low half of the descriptor of a buffer, as a constant more than where
/// shared memory starts.
Value KernelInfo::getStartOf(OpBuilder &builder, AllocOp alloc, int64_t low) {
  Location loc = alloc.getLoc();
  IntegerBuilder ints(builder, loc);
  Value start = ints.add(ints.shiftRight(sharedMemory, 4),
                         low + int64_t(*alloc.getOffset() >> 4));
  auto group = alloc->getParentOfType<warp::GroupOp>();
  if (!group || group.getReplicas() == 1)
    return start;
  Value replica = arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                             getOf(alloc).replica);
  return ints.add(start, ints.mul(replica, alloc.getReplicaBytes() >> 4));
}

/// Whether a value is the same in every iteration of the loop.
static bool staysIn(scf::ForOp loop, Value value) {
  if (loop.isDefinedOutsideOfLoop(value))
    return true;
  Operation *op = value.getDefiningOp();
  return op && op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return staysIn(loop, operand); });
}

/// Descriptors of an operand: one for each step, and each 64 rows on the left.
static int64_t countDescriptors(WgmmaOp product, bool isLeft) {
  DescType type = product.getRhs().getType();
  int64_t bits = type.getElementType().getIntOrFloatBitWidth();
  int64_t steps = product.getK() * bits / (kSm90a.productBytes * 8);
  return steps * (isLeft ? product.getM() / kSm90a.productRows : 1);
}

/// Whether steps that were peeled off a loop, in front of it or behind it, have
/// a descriptor of the same window.
static bool isUsedOutside(scf::ForOp loop, Value descriptor) {
  auto desc = descriptor.getDefiningOp<DescOp>();
  if (!desc)
    return false;
  return llvm::any_of(desc.getBuffer().getUsers(), [&](Operation *user) {
    auto around = user->getParentOfType<scf::ForOp>();
    return isa<DescOp>(user) && (!around || around->isProperAncestor(loop)) &&
           user->getParentOfType<warp::GroupOp>() ==
               loop->getParentOfType<warp::GroupOp>();
  });
}

void KernelInfo::findChains(gpu::GPUFuncOp function) {
  function.walk([&](WgmmaOp product) {
    auto before = product.getAcc() ? product.getAcc().getDefiningOp<WgmmaOp>()
                                   : WgmmaOp();
    Operation *root = before ? roots.lookup(before) : product.getOperation();
    roots[product] = root;
    columns[root] += product.getK();
  });
}

void KernelInfo::findPins(gpu::GPUFuncOp function) {
  function.walk([&](scf::ForOp loop) {
    auto products = loop.getBody()->getOps<WgmmaOp>();
    auto isDescriptor = [](Value operand) {
      return isa<DescType>(operand.getType());
    };
    // Products that read the same window share its descriptors. What products
    // outside of the loop read as well lives on beside what the loop needs.
    llvm::SmallDenseSet<Value> staying;
    int64_t count = 0;
    bool isShared = false;
    for (WgmmaOp product : products)
      for (Value operand : {Value(product.getLhs()), Value(product.getRhs())})
        if (isDescriptor(operand) && staysIn(loop, operand) &&
            staying.insert(operand).second) {
          count += countDescriptors(product, operand == product.getLhs());
          isShared |= isUsedOutside(loop, operand);
        }
    bool pinsAll = count > kMostHoisted && isShared;
    formsAnew |= pinsAll;
    Value last;
    for (WgmmaOp product : products) {
      Value lhs = product.getLhs(), rhs = product.getRhs();
      for (Value operand : {lhs, rhs})
        if (isDescriptor(operand) && !staysIn(loop, operand))
          last = operand;
      if (!last)
        continue;
      bool lhsStays = isDescriptor(lhs) && staysIn(loop, lhs);
      bool rhsStays = staysIn(loop, rhs);
      bool isMany = lhsStays && rhsStays &&
                    countDescriptors(product, /*isLeft=*/true) +
                            countDescriptors(product, /*isLeft=*/false) >
                        kMostHoisted;
      if (lhsStays && (pinsAll || isMany))
        pins[product].lhs = last;
      if (rhsStays && (pinsAll || isMany))
        pins[product].rhs = last;
    }
  });
}

DescriptorBase KernelInfo::getDescriptorBase(DescOp op) const {
  return descriptors.lookup(op);
}
