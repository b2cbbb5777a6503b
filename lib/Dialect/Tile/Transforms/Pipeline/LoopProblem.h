//===- LoopProblem.h - a loop as a scheduling problem -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_PIPELINE_LOOPPROBLEM_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_PIPELINE_LOOPPROBLEM_H

#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Dialect/Warp/IR/Warp.h"
#include "fa3/Scheduling/PipelineProblem.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace fa3::tile {

/// What a schedule may spend registers on.
struct LoopOrder {
  /// Products that read what replicas exchange, and what is stored of them, one
  /// iteration late.
  bool late = false;
  /// Numbers of columns read in front of products that keep shared memory busy.
  bool readsEarly = false;
  /// Products whose operands no later product reads first.
  bool refills = false;
};

/// The problem of one loop, and the operations behind its numbers.
class LoopProblem {
public:
  explicit LoopProblem(mlir::scf::ForOp loop, LoopOrder order = {})
      : loop(loop), order(order) {}

  /// Fills the instance. Fails with an error on what cannot be scheduled.
  mlir::LogicalResult build();
  PipelineProblem &get() { return problem; }
  /// Whether the loop waits for copies that it makes itself.
  bool hasOwnCopies() const;
  /// Whether products of the loop read what its threads exchange.
  bool hasMeetings() const;
  /// The first of those behind a number.
  mlir::Operation *getOperation(unsigned i) const {
    return operations[i].front();
  }
  /// Writes the answer to the operations, as `tile.slotting`.
  void annotate();

private:
  /// Gives every operation a number. Products that add to each other have one:
  /// a schedule may not tear them apart.
  void number();
  mlir::LogicalResult addDependences(mlir::Operation *op);
  mlir::LogicalResult addDataDependences(mlir::Operation *op);
  void addSlotDependences(ViewOp view);
  void addMeetingDependences(ReadOp read);
  void addConversionDependences(mlir::arith::TruncFOp convert);
  void addReleaseDependences(warp::ReleaseOp release);
  void addArrivalDependences(warp::AcquireOp acquire);
  void addMeetingOrders(warp::AcquireOp acquire);
  void addFillDependences(warp::AcquireOp acquire);
  void addRegisterHazard(DotAsyncOp dot);
  void addRefillOrders();
  void addTimes();
  bool needs(unsigned user, unsigned other) const;
  void depend(mlir::Operation *from, mlir::Operation *to, unsigned distance);
  void placeBehind(mlir::Operation *from, mlir::Operation *to);
  PipelineProblem::Kind classify(mlir::Operation *op) const;

  mlir::scf::ForOp loop;
  LoopOrder order;
  PipelineProblem problem;
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *, 1>> operations;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
};

/// Whether some order other than the default would make a difference.
bool canBeLate(mlir::scf::ForOp loop);
bool canReadEarly(mlir::scf::ForOp loop);

/// Computes scalars of a scheduled loop a stage earlier where that carries
/// fewer values from iteration to iteration.
void carryFewerScalars(mlir::scf::ForOp loop);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_PIPELINE_LOOPPROBLEM_H
