//===- KernelLowering.h - one kernel from tile to hopper --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The new kernel is built operation by operation beside the old one. A value of
// the old kernel stands for zero or more values of the new one; what rings,
// slots and views stand for is kept beside them.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_TILETOHOPPER_KERNELLOWERING_H
#define FA3_LIB_CONVERSION_TILETOHOPPER_KERNELLOWERING_H

#include "KernelArguments.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/IR/HopperExactOps.h"
#include "fa3/Dialect/Tile/Analysis/RingProtocol.h"
#include "fa3/Dialect/Tile/IR/OrderedOps.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Dialect/Tile/IR/TileExactOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"
#include <functional>

namespace fa3 {

class KernelLowering;

/// What lowers an operation, by its type. Every file adds its own.
class Lowerings {
public:
  using Function =
      std::function<mlir::LogicalResult(KernelLowering &, mlir::Operation *)>;

  template <typename Op>
  void add(mlir::LogicalResult (KernelLowering::*lower)(Op)) {
    table[mlir::TypeID::get<Op>()] = [lower](KernelLowering &kernel,
                                             mlir::Operation *op) {
      return (kernel.*lower)(llvm::cast<Op>(op));
    };
  }
  /// The same of several operations that one function lowers.
  template <typename... Ops>
  void addAll(mlir::LogicalResult (KernelLowering::*lower)(mlir::Operation *)) {
    for (mlir::TypeID type : {mlir::TypeID::get<Ops>()...})
      table[type] = [lower](KernelLowering &kernel, mlir::Operation *op) {
        return (kernel.*lower)(op);
      };
  }
  /// Null for an operation without.
  const Function *find(mlir::Operation *op) const {
    auto it = table.find(op->getName().getTypeID());
    return it == table.end() ? nullptr : &it->second;
  }

private:
  llvm::DenseMap<mlir::TypeID, Function> table;
};

class KernelLowering {
public:
  /// Lowers `source` into `target`, whose body is an empty block.
  KernelLowering(mlir::gpu::GPUFuncOp source, mlir::gpu::GPUFuncOp target);

  mlir::LogicalResult run();
  const KernelArguments &getArguments() const { return arguments; }

private:
  using Values = llvm::SmallVector<mlir::Value, 2>;

  /// What holds one field of a ring's entries.
  struct Memory {
    mlir::Value buffer;
    hopper::BufferType type;
  };
  /// What a ring became.
  struct Ring {
    llvm::SmallVector<Memory, 2> fields; ///< none of a ring of tokens
    mlir::Value full, empty;             ///< null for a private ring
    int64_t depth = 0;
    mlir::Value namedBarrier; ///< private rings: id of the replica's barrier
    int64_t threads = 0;      ///< private rings: those of the replica
    tile::RingProtocol protocol;
    bool isPrivate() const { return !full; }
  };
  /// Turns of the replicas of a group: named barriers from `firstBarrier` on.
  struct Order {
    mutable warp::GroupOp group; ///< operations have no const methods
    int64_t firstBarrier;
    mlir::Value own, next; ///< ids, in the group
  };
  /// A window of a ring's slot.
  struct View {
    const Ring *ring;
    const Memory *memory;
    mlir::Value index, row, column;
    mlir::RankedTensorType tile;
  };

  // Control flow and scalars: KernelLowering.cpp.
  static void addControl(Lowerings &lowerings);
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(mlir::Operation *op);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp loop);
  /// Lowers a loop whose carried values follow `leading` in the lowered loop;
  /// `finish` ends the body and gives what to yield for them.
  mlir::LogicalResult
  lowerLoop(mlir::scf::ForOp loop, mlir::ValueRange bounds,
            mlir::ValueRange leading,
            llvm::function_ref<void(mlir::ValueRange)> start,
            llvm::function_ref<Values(mlir::ValueRange)> finish);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp branch);
  mlir::LogicalResult lowerSpecialize(warp::SpecializeOp op);
  mlir::LogicalResult lowerGroup(warp::GroupOp group);
  mlir::LogicalResult lowerGeneric(mlir::Operation *op);
  mlir::LogicalResult lowerConstant(mlir::arith::ConstantOp op);
  mlir::LogicalResult lowerNumber(mlir::Operation *op);
  mlir::LogicalResult lowerExtent(mlir::memref::DimOp op);

  // Tiles that CTAs share out: ShareLowering.cpp.
  static void addShares(Lowerings &lowerings);
  mlir::LogicalResult prepareShares(warp::SpecializeOp op);
  mlir::LogicalResult lowerShare(mlir::scf::ForOp loop, tile::ShareOp share);
  mlir::LogicalResult lowerClaim(tile::ClaimOp op);
  mlir::LogicalResult lowerCount(tile::ShareOp op);

  // Rings: RingLowering.cpp.
  static void addRings(Lowerings &lowerings);
  mlir::LogicalResult lowerRing(warp::RingOp op);
  mlir::LogicalResult lowerTokenRing(warp::RingOp op);
  /// The memory of entries of that type; null if they have none in shared
  /// memory.
  std::optional<Memory> allocateEntries(int64_t count, mlir::Type type);
  mlir::LogicalResult allocateBarriers(warp::RingOp op, Ring &ring);
  mlir::Value getNamedBarrier(warp::GroupOp group);
  /// Lets the threads of a replica wait for each other.
  void syncReplica(mlir::Operation *op);
  mlir::LogicalResult lowerOrderedBarrier(warp::OrderedBarrierOp op);
  /// Ids of named barriers at the start of a group, and the first turn.
  void beginTurns(warp::GroupOp group);
  mlir::LogicalResult lowerTakeTurn(warp::TakeTurnOp op);
  mlir::LogicalResult lowerPassTurn(warp::PassTurnOp op);
  /// Buffers for the constant right operands of products.
  mlir::LogicalResult prepareConstants(warp::SpecializeOp op);
  mlir::LogicalResult lowerCursor(warp::CursorOp op);
  /// Emits what fills a slot of the ring: in one replica, if that does it for
  /// all of `group`.
  void emitFill(const Ring &ring, warp::GroupOp group,
                llvm::function_ref<void()> emit);
  mlir::LogicalResult lowerAcquire(warp::AcquireOp op);
  /// Writes the numbers that go with what is copied into the slot.
  mlir::LogicalResult postNumbers(warp::AcquireOp op);
  mlir::LogicalResult lowerPost(tile::PostOp op);
  mlir::LogicalResult lowerReceive(tile::ReceiveOp op);
  mlir::LogicalResult lowerPublish(warp::PublishOp op);
  mlir::LogicalResult lowerRelease(warp::ReleaseOp op);
  mlir::LogicalResult lowerWait(warp::WaitOp op);
  mlir::LogicalResult lowerReady(warp::ReadyOp op);

  // What goes through their slots: SlotLowering.cpp.
  static void addSlots(Lowerings &lowerings);
  mlir::LogicalResult lowerView(tile::ViewOp op);
  mlir::LogicalResult lowerLoadAsync(tile::LoadAsyncOp op);
  mlir::LogicalResult lowerCopies(tile::LoadAsyncOp op);
  /// Copies of a few rows each that bring the rows in another order.
  mlir::LogicalResult lowerReordered(tile::LoadAsyncOp op);
  mlir::LogicalResult lowerPieces(tile::LoadAsyncOp op);
  mlir::LogicalResult lowerWhole(tile::LoadAsyncOp op);
  // Rows that end early: LimitedCopies.cpp.
  mlir::LogicalResult lowerLimited(tile::LoadAsyncOp op);
  mlir::LogicalResult lowerCut(tile::LoadAsyncOp op);
  mlir::LogicalResult copySingleRows(tile::LoadAsyncOp op, int64_t first,
                                     int64_t count);
  mlir::LogicalResult copyGroup(tile::LoadAsyncOp op, int64_t first);
  mlir::FailureOr<Values> lowerPlace(tile::LoadAsyncOp op, mlir::Value number);
  mlir::Value getBoxMap(tile::LoadAsyncOp op, int64_t rows);
  mlir::LogicalResult lowerStoreAsync(tile::StoreAsyncOp op);
  // Additions in one order: OrderedLowering.cpp.
  static void addOrdered(Lowerings &lowerings);
  mlir::LogicalResult lowerOrdered(tile::OrderedOp op);
  /// Whether the group has written to the slot that it stores from; otherwise
  /// another one has, and handed it over.
  static bool storesOwn(tile::StoreAsyncOp op);
  /// What comes in front of a store to an ordered array.
  mlir::LogicalResult lowerOrder(tile::StoreAsyncOp op);
  mlir::LogicalResult lowerEndOrdered(tile::EndOrderedOp op);
  mlir::LogicalResult lowerProgress(mlir::Operation *op, mlir::Value progress,
                                    mlir::ValueRange number,
                                    mlir::Value position, bool isEnd);
  mlir::LogicalResult lowerWrite(tile::WriteOp op);
  mlir::LogicalResult lowerRead(tile::ReadOp op);
  mlir::LogicalResult
  forEachBox(mlir::Operation *op, const View &view, mlir::Value memref,
             mlir::ValueRange indices, std::optional<int64_t> fold,
             llvm::function_ref<void(mlir::Value map, mlir::ValueRange at,
                                     mlir::Value column)>
                 emit);
  /// Carries what is known of a slot to the value that continues it.
  void continueSlot(mlir::Value from, mlir::Value to);

  // Tile values: TileLowering.cpp.
  static void addTiles(Lowerings &lowerings);
  mlir::LogicalResult lowerDot(tile::DotAsyncOp op);
  mlir::LogicalResult verifyLhsLayout(tile::DotAsyncOp op,
                                      const tile::DotShape &shape);
  /// Makes a view of the right operand if it is a constant.
  mlir::LogicalResult placeConstant(tile::DotAsyncOp op);
  /// The descriptor of an operand in shared memory.
  mlir::Value describe(mlir::Value operand, bool isKMajor);
  mlir::Value getFencedLhs(mlir::Value lhs);
  mlir::Value getStart(mlir::Value acc);
  void fenceOperands(tile::DotAsyncOp op, mlir::Value &lhs, bool isFenced,
                     mlir::Value &start);
  /// The left operand of a product, fenced once where it is made, if a loop
  /// around the insertion point does not change it: a product of the step
  /// before may still read it. Else null.
  mlir::Value fenceInFrontOfLoop(mlir::Value lhs);
  mlir::LogicalResult lowerPend(tile::PendOp op);
  mlir::LogicalResult lowerAwait(tile::AwaitOp op);
  mlir::LogicalResult lowerReduce(tile::ReduceOp op);
  mlir::LogicalResult lowerBroadcast(tile::BroadcastOp op);
  /// A relabeled or transposed tile: the elements of `renamed`, which is the
  /// layout of the operand after that.
  mlir::LogicalResult lowerRenamed(mlir::Operation *op,
                                   std::optional<LinearLayout> renamed);
  mlir::LogicalResult lowerRelabel(tile::RelabelOp op);
  mlir::LogicalResult lowerTranspose(tile::TransposeOp op);
  mlir::LogicalResult lowerUnpack(tile::UnpackOp op);
  mlir::LogicalResult lowerSlice(mlir::tensor::ExtractSliceOp op);
  mlir::LogicalResult lowerCoord(tile::CoordOp op);
  mlir::LogicalResult lowerDivision(mlir::Operation *op);
  std::optional<mlir::LogicalResult> lowerCoordDivision(mlir::Operation *op);
  mlir::LogicalResult lowerWhere(tile::WhereOp op);

  // Tiles in global memory: GlobalLowering.cpp.
  static void addGlobal(Lowerings &lowerings);
  mlir::LogicalResult lowerLoad(tile::LoadOp op);
  mlir::LogicalResult lowerGather(tile::GatherOp op);
  mlir::LogicalResult lowerAddExact(tile::AddExactOp op);
  mlir::LogicalResult lowerLoadExact(tile::LoadExactOp op);
  mlir::LogicalResult lowerStore(tile::StoreOp op);
  mlir::LogicalResult lowerScalarLoad(tile::ScalarLoadOp op);
  mlir::LogicalResult lowerSearch(tile::SearchOp op);

  // Tiles that another kernel waits for: FlagLowering.cpp.
  struct Flag {
    mlir::Value pointer;
    Values indices;
    llvm::SmallVector<mlir::Value> strides;
  };
  mlir::FailureOr<Flag> getFlag(mlir::Operation *op, mlir::Value flags,
                                mlir::ValueRange indices);
  mlir::LogicalResult lowerClearFlag(tile::ClearFlagOp op);
  mlir::LogicalResult lowerSetFlag(tile::SetFlagOp op);
  mlir::LogicalResult lowerAwaitFlags(tile::AwaitFlagsOp op);
  /// What is known when the whole kernel is lowered.
  void finishFlags();
  static void addFlags(Lowerings &lowerings);

  // Registers that are alike: RepeatedElements.cpp. Both say whether they did.
  /// Bits of coordinates that several registers have in common.
  bool lowerCoordBits(mlir::Operation *op);
  /// An elementwise operation on integers, where operands repeat theirs.
  bool lowerRepeated(mlir::Operation *op, mlir::ValueRange operands,
                     mlir::Type resultType);

  mlir::FailureOr<LinearLayout> getLayout(mlir::Operation *op, mlir::Type type);
  hopper::FragmentAttr fragment(const LinearLayout &layout);
  mlir::Value shuffleLike(mlir::Value source, const LinearLayout &from,
                          const LinearLayout &to, int64_t dim);

  /// The types that a value of `type` becomes; fails on types without lowering.
  mlir::LogicalResult convertType(mlir::Location loc, mlir::Type type,
                                  llvm::SmallVectorImpl<mlir::Type> &types);
  const Values &getAll(mlir::Value value);
  mlir::Value get(mlir::Value value) { return getAll(value).front(); }
  Values get(mlir::ValueRange range);
  void set(mlir::Value value, mlir::ValueRange lowered) {
    values[value] = Values(lowered.begin(), lowered.end());
  }
  mlir::Value i32(int64_t value);
  mlir::Value asI32(mlir::Value index);

  mlir::gpu::GPUFuncOp source, target;
  mlir::ImplicitLocOpBuilder b;
  KernelArguments arguments;
  tile::RingProtocols protocols;
  llvm::DenseMap<mlir::Value, Values> values;
  llvm::DenseMap<mlir::Value, std::unique_ptr<Ring>> rings;
  llvm::MapVector<mlir::Value, Order> orders;
  llvm::DenseMap<mlir::Value, const Ring *> slotRing;
  llvm::DenseMap<mlir::Value, View> views;
  /// Buffers of constants, by type and value.
  llvm::DenseMap<mlir::Attribute, std::unique_ptr<Ring>> constants;
  /// The left operand of the last product, and as its fence gave it: a product
  /// with the same one takes it from there, not from a copy.
  mlir::Value lastLhs, fencedLhs;
  /// Left operands that loops do not change, as their fences gave them.
  llvm::DenseMap<mlir::Value, mlir::Value> fencedOutside;
  /// The group that claims tiles, and how it tells the others.
  struct Mailbox {
    warp::GroupOp claimer;
    mlir::Value slots, full, empty; ///< null if there are no others
  };
  Mailbox mailbox;
  /// The tile of this iteration, by induction variable.
  llvm::DenseMap<mlir::Value, mlir::Value> claimed;
  /// The flag of a tile, to be cleared in front of the groups; so bulk stores
  /// are complete when a group ends.
  std::optional<Flag> cleared;
  /// Whether the group being lowered synchronizes its replicas' threads.
  bool usesNamedBarrier = false;
  /// Named barriers given to groups so far; 0 is the CTA's.
  int64_t nextNamedBarrier = 1;
};

} // namespace fa3

#endif // FA3_LIB_CONVERSION_TILETOHOPPER_KERNELLOWERING_H
