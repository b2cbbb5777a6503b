//===- RingMachine.h - what accesses to rings do ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Rings as bounded FIFOs without data: which entries are published, held and
// released, and which asynchronous accesses to a held entry are in flight.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_WARP_TRANSFORMS_RINGMACHINE_H
#define FA3_LIB_DIALECT_WARP_TRANSFORMS_RINGMACHINE_H

#include "fa3/Dialect/Warp/Analysis/Explorer.h"
#include "llvm/ADT/MapVector.h"

namespace fa3::warp {

/// Whether exploration executes `op`.
bool isRingInstruction(mlir::Operation *op);
/// Whether exploration follows values of this type.
bool isRingValue(mlir::Type type);

class RingMachine : public Machine {
public:
  /// Adds the ends of rings that process `p`, the next one, has: `replica` of
  /// the group.
  void addProcess(GroupOp group, int64_t replica, unsigned p);

  std::unique_ptr<MachineState> start() override;
  Step execute(JointState &state, unsigned p, mlir::Operation *op) override;
  int64_t evaluate(const JointState &state, unsigned p,
                   mlir::Value value) override;
  mlir::LogicalResult end(JointState &state, unsigned p) override;
  void serialize(const JointState &state,
                 std::vector<int64_t> &key) const override;
  void explain(const JointState &state, unsigned p,
               mlir::InFlightDiagnostic &diagnostic) override;

private:
  /// A process at one side of a ring.
  struct End {
    unsigned ring, process;
    mutable CursorOp cursor;
    bool writes() const { return cursorSide == Side::write; }
    Side cursorSide;
    int64_t part;
    /// Another replica writes in its place: it waits for nobody, and nobody for
    /// it.
    bool isIdle;
  };
  /// A ring; private rings are one for each process.
  struct RingInfo {
    mutable RingOp op; ///< operations have no const methods
    llvm::SmallVector<unsigned> ends;
  };
  struct Entry;
  struct State;

  /// The entry that keeps `end` from acquiring number `number`: the end that
  /// has not published or released it.
  std::optional<unsigned> findBlocker(const State &state, unsigned end,
                                      int64_t number) const;
  std::optional<unsigned> getEnd(int64_t value) const;

  /// A replica that takes turns, and its number in the state.
  struct Member {
    unsigned process, turns;
  };
  /// The process that is `distance` behind `p` in an order.
  const Member &getMember(OrderedBarrierOp order, unsigned p,
                          int64_t distance) const;
  bool hasTurn(const State &state, OrderedBarrierOp order, unsigned p) const;

  Step take(JointState &state, unsigned p, TakeTurnOp op);
  Step pass(JointState &state, unsigned p, PassTurnOp op);
  Step acquire(JointState &state, unsigned p, AcquireOp op);
  Step hand(JointState &state, unsigned p, mlir::Operation *op,
            mlir::Value slot, mlir::ValueRange after);
  void retire(JointState &state, unsigned p, mlir::ValueRange values);
  Step access(JointState &state, unsigned p, AccessOpInterface op);

  std::vector<End> ends;
  std::vector<RingInfo> rings;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, unsigned> ringOf;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, unsigned> endOf;
  /// Replicas that take turns, in their order.
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<Member, 4>> membersOf;
  unsigned numTurns = 0;
};

} // namespace fa3::warp

#endif // FA3_LIB_DIALECT_WARP_TRANSFORMS_RINGMACHINE_H
