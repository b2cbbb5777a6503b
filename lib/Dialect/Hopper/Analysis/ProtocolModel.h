//===- ProtocolModel.h - barriers and memory of a kernel --------*- C++ -*-===//
//
// What the abstract machine of hopper-check-protocol works on, and the checks
// that need no execution.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOLMODEL_H
#define FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOLMODEL_H

#include "fa3/Dialect/Flow/Analysis/Explorer.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3::hopper {

/// `value` computed from constants and what `leaf` gives for other values;
/// flow::kUnknown if that is not enough.
int64_t evaluateScalar(mlir::Value value,
                       llvm::function_ref<int64_t(mlir::Value)> leaf);

/// Synchronisation of the threads of several warps by a numbered barrier:
/// `hopper.named_barrier.sync`, and any operation named like it that only
/// arrives (`hopper.named_barrier.arrive`).
struct NamedBarrierUse {
  mlir::Value id;
  int64_t threads;
  bool waits;
};
std::optional<NamedBarrierUse> getNamedBarrierUse(mlir::Operation *op);

/// An array of mbarriers.
struct BarrierArray {
  mutable BarrierAllocOp op;
  unsigned firstElement;
  llvm::SmallVector<flow::GroupOp> arriving, waiting;
  int64_t getCount() const { return op.getBarrier().getType().getCount(); }
};

class ProtocolModel {
public:
  /// Reads a kernel and makes the checks that need no execution.
  static mlir::FailureOr<ProtocolModel> build(mlir::gpu::GPUFuncOp function,
                                              flow::SpecializeOp specialize);

  mlir::gpu::GPUFuncOp function;
  flow::SpecializeOp specialize;
  std::vector<BarrierArray> barriers;
  llvm::DenseMap<mlir::Value, unsigned> barrierOf;
  unsigned numMbarriers = 0;
  /// Named barriers: id, threads; elements follow those of mbarriers.
  std::map<int64_t, int64_t> namedBarriers;
  /// A named barrier that several groups or replicas meet at.
  bool hasMeetings = false;
  /// A named barrier or a shared buffer joins replicas of one group, so all of
  /// them have to be looked at.
  bool joinsReplicas = false;

  /// The tile in loops over the tiles of a CTA, if all groups perform the same.
  llvm::SmallVector<mlir::Value> agreedTiles;

  /// Channels of the skeleton: arrivals and waits of every array.
  std::vector<flow::Channel> channels;
  std::vector<mlir::Location> objects;
  std::optional<unsigned> getChannel(mlir::Operation *op) const;

private:
  mlir::LogicalResult readBarriers();
  mlir::LogicalResult checkInitialisation();
  mlir::LogicalResult checkArrivals();
  mlir::LogicalResult readNamedBarriers();
  mlir::LogicalResult checkFragments();
  mlir::LogicalResult checkRegisters();
  mlir::LogicalResult checkSharedMemory();
  void readShares();
};

} // namespace fa3::hopper

#endif // FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOLMODEL_H
