//===- KernelInfo.h - threads of a kernel during its lowering ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What the patterns need to know about the place of an operation: thread
// numbers within its group, who leads, where fragments start. The values are
// computed once at the start of the group, before the conversion.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_HOPPERTONVVM_KERNELINFO_H
#define FA3_LIB_CONVERSION_HOPPERTONVVM_KERNELINFO_H

#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Options/Options.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"

namespace fa3 {

struct LoweringOptions {
  int64_t reductionChains = 2;
};

/// The threads that run a group's body, or the whole block outside of groups.
/// Numbers are i32 and count within the replica.
struct GroupInfo {
  mlir::Value thread, lane, warp;
  /// Number of the replica (index); null outside of groups.
  mlir::Value replica;
  /// Whether this thread is the elected thread (i1).
  mlir::Value elected;
  /// The body is run by the elected threads only.
  bool singleThreaded = false;
  /// Registers per thread asked for at the start of the group.
  std::optional<int64_t> registers;
  bool increasesRegisters = false;

  /// Predicate of the elected thread's instructions, null where only it runs.
  mlir::Value getPredicate() const {
    return singleThreaded ? mlir::Value() : elected;
  }
};

/// What the descriptors of a buffer are counted from.
struct DescriptorBase {
  /// The whole descriptor (i64), or its low half (i32).
  mlir::Value start;
  /// The high half, in its place, where `start` is the low one.
  std::optional<int64_t> high;
};

class KernelInfo {
public:
  explicit KernelInfo(const LoweringOptions &options) : options(options) {}

  /// Computes the values of all groups of the kernel; `smem` is the symbol of
  /// dynamic shared memory.
  mlir::LogicalResult prepare(mlir::gpu::GPUFuncOp function,
                              mlir::StringRef smem);

  const LoweringOptions &getOptions() const { return options; }
  const GroupInfo &get(warp::GroupOp group) const {
    return groups.find(group)->second;
  }
  const GroupInfo &getOf(mlir::Operation *op) const;

  /// Start of dynamic shared memory (i32) and number of the warp in the block,
  /// which ptxas knows to be the same in all lanes.
  mlir::Value getSharedMemory() const { return sharedMemory; }
  mlir::Value getBlockWarp() const { return block.warp; }
  int64_t getNumWarps() const { return numWarps; }
  /// Whether the kernel may start before those in front of it have ended, so
  /// that memory changes while it runs.
  bool waits() const { return waitsForOthers; }
  /// Whether a loop forms all of its descriptors anew in each step, and they
  /// are of many buffers: what threads compute addresses from is kept small.
  bool savesRegisters() const { return isTight; }

  /// Coordinate along `dim` of a thread's first register.
  mlir::Value getThreadOffset(mlir::Operation *op,
                              hopper::FragmentAttr fragment,
                              unsigned dim) const;
  /// Whether this thread holds its elements on behalf of all that have the same
  /// ones; null if nothing is replicated.
  mlir::Value getOwner(mlir::Operation *op,
                       hopper::FragmentAttr fragment) const;
  /// Of the first slot of the op's buffer; null if not hoisted.
  DescriptorBase getDescriptorBase(hopper::DescOp op) const;
  /// What the descriptors of a product's operands that stay while its loop runs
  /// shall be formed from in every iteration: one that changes, of the product
  /// or of an earlier one of the same block. Null for operands that change, and
  /// where all that stay in the loop have room outside of it.
  struct Pins {
    mlir::Value lhs, rhs;
  };
  Pins getPins(hopper::WgmmaOp op) const { return pins.lookup(op); }

  /// Columns of the products that a product adds to and is added to in flight,
  /// its own among them.
  int64_t getChainColumns(hopper::WgmmaOp op) const {
    return columns.lookup(roots.lookup(op));
  }

private:
  struct FragmentInfo {
    llvm::SmallVector<mlir::Value, 2> offsets;
    mlir::Value owner;
  };

  void prepareGroup(mlir::OpBuilder &builder, warp::GroupOp group);
  mlir::LogicalResult prepareRegisters(warp::GroupOp group);
  mlir::LogicalResult prepareFragments(mlir::gpu::GPUFuncOp function);
  void prepareDescriptors(mlir::gpu::GPUFuncOp function);
  mlir::Value getAddressOf(mlir::OpBuilder &builder, hopper::AllocOp alloc,
                           uint64_t bits);
  mlir::Value getStartOf(mlir::OpBuilder &builder, hopper::AllocOp alloc,
                         int64_t low);
  void findChains(mlir::gpu::GPUFuncOp function);
  void findPins(mlir::gpu::GPUFuncOp function);

  LoweringOptions options;
  GroupInfo block;
  mlir::Value sharedMemory;
  int64_t numWarps = 0;
  bool waitsForOthers = false;
  bool formsAnew = false, isTight = false;
  llvm::DenseMap<mlir::Operation *, GroupInfo> groups;
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::Attribute>, FragmentInfo>
      fragments;
  llvm::DenseMap<mlir::Operation *, DescriptorBase> descriptors;
  llvm::DenseMap<mlir::Operation *, Pins> pins;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> roots;
  llvm::DenseMap<mlir::Operation *, int64_t> columns;
};

/// Descriptors that do not change in a loop are hoisted out of it, 64 bits for
/// every step of a product and each operand. More than these do not fit the 63
/// uniform registers beside others: ptxas then moves them to vector registers
/// and back, or spills.
constexpr int64_t kMostHoisted = 8;
/// Where a loop forms its descriptors anew in each step, it keeps what they are
/// counted from: the addresses of so many buffers, or else where shared memory
/// starts, which all have in common.
constexpr size_t kMostBases = 4;

/// Constant high half and strides of a descriptor: all but the address.
uint64_t getDescriptorTemplate(hopper::DescType type);

/// Arithmetic on i32 that folds constants as it goes.
class IntegerBuilder {
public:
  IntegerBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b) { return add(a, constant(b)); }
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value div(mlir::Value a, int64_t b);
  mlir::Value rem(mlir::Value a, int64_t b);
  mlir::Value bitAnd(mlir::Value a, int64_t b);
  mlir::Value bitXor(mlir::Value a, mlir::Value b);
  /// a >> b (unsigned), a << b.
  mlir::Value shiftRight(mlir::Value a, int64_t b);
  mlir::Value isEqual(mlir::Value a, int64_t b);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// Sum of the offsets along `dim` that the set bits of `index` add. Runs of
/// bits whose offsets double are taken together.
mlir::Value sumBits(IntegerBuilder &ints, mlir::Value index,
                    llvm::ArrayRef<LinearLayout::Basis> bases, unsigned dim);

/// The constant behind an integer value, if it is one.
std::optional<int64_t> getConstant(mlir::Value value);
/// A number (up to 2^16) that divides an integer value whatever it is computed
/// from.
int64_t getDivisor(mlir::Value value);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_HOPPERTONVVM_KERNELINFO_H
