//===- ProtocolModel.h - barriers and memory of a kernel --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What the abstract machine of hopper-check-protocol works on, and the checks
// that need no execution.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLMODEL_H
#define FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLMODEL_H

#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Warp/Analysis/Explorer.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3::hopper {

/// `value` computed from constants and what `leaf` gives for other values;
/// warp::kUnknown if that is not enough.
int64_t evaluateScalar(mlir::Value value,
                       llvm::function_ref<int64_t(mlir::Value)> leaf);

/// Whether the condition of a branch holds in a replica, if that alone decides.
std::optional<bool> decideByReplica(mlir::Operation *op, warp::GroupOp group,
                                    int64_t replica);

/// Synchronization of the threads of several warps by a numbered barrier, or an
/// arrival at one that does not wait.
struct NamedBarrierUse {
  mlir::Value id;
  int64_t threads;
  bool waits;
};
std::optional<NamedBarrierUse> getNamedBarrierUse(mlir::Operation *op);

/// Whether a replica may get to `op`: no branch that it decides keeps it away.
bool mayReach(mlir::Operation *op, warp::GroupOp group, int64_t replica);

/// A replica at a named barrier.
struct NamedUse {
  mlir::Operation *op;
  mutable warp::GroupOp group; ///< operations have no const methods
  int64_t replica;
};

/// Replicas of a group that arrive or wait somewhere: all, or those that a
/// branch lets through.
struct Party {
  warp::GroupOp group;
  llvm::SmallBitVector replicas;
};
/// Replicas of groups at one side of an array of mbarriers.
class Parties {
public:
  void add(warp::GroupOp group, mlir::Operation *op);
  bool contains(warp::GroupOp group, int64_t replica) const;
  bool contains(warp::GroupOp group) const;
  /// Whether only some replicas of a group are here.
  bool isPartial() const;
  bool empty() const { return parties.empty(); }
  llvm::ArrayRef<Party> get() const { return parties; }

private:
  llvm::SmallVector<Party> parties;
};

/// An array of mbarriers.
struct BarrierArray {
  mutable BarrierAllocOp op;
  unsigned firstElement;
  Parties arriving, waiting;
  int64_t getCount() const { return op.getBarrier().getType().getCount(); }
};

class ProtocolModel {
public:
  /// Reads a kernel and makes the checks that need no execution.
  static mlir::FailureOr<ProtocolModel> build(mlir::gpu::GPUFuncOp function,
                                              warp::SpecializeOp specialize);

  mlir::gpu::GPUFuncOp function;
  warp::SpecializeOp specialize;
  std::vector<BarrierArray> barriers;
  llvm::DenseMap<mlir::Value, unsigned> barrierOf;
  unsigned numMbarriers = 0;
  /// Named barriers: id, threads; elements follow those of mbarriers.
  std::map<int64_t, int64_t> namedBarriers;
  /// A named barrier that several groups or replicas meet at otherwise than to
  /// take turns.
  bool hasMeetings = false;
  /// Waits and arrivals that take and pass turns of replicas, and the number of
  /// the turns among the channels after those of mbarriers. Erasing them
  /// removes waits, nothing else.
  llvm::DenseMap<mlir::Operation *, unsigned> turnOf;
  bool isTurn(mlir::Operation *op) const { return turnOf.contains(op); }
  bool takesTurns(warp::GroupOp group) const {
    return llvm::any_of(turnOf, [&](const auto &entry) {
      return entry.first->template getParentOfType<warp::GroupOp>() == group;
    });
  }
  /// A named barrier or a shared buffer joins replicas of one group, so all of
  /// them have to be looked at.
  bool joinsReplicas = false;

  /// The tile in loops over the tiles of a CTA, if all groups perform the same.
  llvm::SmallVector<mlir::Value> agreedTiles;

  /// Channels of the skeleton: arrivals and waits of every array.
  std::vector<warp::Channel> channels;
  std::vector<mlir::Location> objects;
  std::optional<unsigned> getChannel(mlir::Operation *op) const;

private:
  mlir::LogicalResult readBarriers();
  void addBarriers(BarrierAllocOp alloc);
  /// Who arrives at mbarriers, and who waits.
  void readParties();
  /// Initialized and filled before the groups begin: ProtocolStart.cpp.
  mlir::LogicalResult checkInitialization();
  /// What products read was written by someone.
  mlir::LogicalResult checkContents();
  mlir::LogicalResult checkArrivals();
  mlir::LogicalResult readNamedBarriers();
  void readTurns(const std::map<int64_t, llvm::SmallVector<NamedUse>> &uses);
  mlir::LogicalResult checkFragments();
  mlir::LogicalResult checkRegisters();
  mlir::LogicalResult checkSharedMemory();
  void readShares();
};

} // namespace fa3::hopper

#endif // FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLMODEL_H
