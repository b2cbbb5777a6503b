//===- ProtocolMachine.h - barriers, TMA and wgmma without data -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The abstract machine that hopper-check-protocol explores. It executes
// operations in one order, and checks in every step that any other order which
// the hardware may take would have led to the same: see docs/Protocol.md.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLMACHINE_H
#define FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLMACHINE_H

#include "Knowledge.h"
#include "ProtocolModel.h"
#include "ProtocolRotation.h"
#include "ProtocolScope.h"
#include "ProtocolTrace.h"

namespace fa3::hopper {

/// How many waits of a group for an array are for phases before the first.
using ArrayLags =
    llvm::DenseMap<std::pair<unsigned, mlir::Operation *>, int64_t>;

int64_t getCopiedBytes(TmaLoadOp load);

class ProtocolMachine : public warp::Machine {
public:
  ProtocolMachine(const ProtocolModel &model, ProtocolScope scope)
      : model(model), scope(std::move(scope)) {}

  /// Which operations and values of the kernel matter.
  void prepare();
  bool isInstruction(mlir::Operation *op) const;
  bool isTracked(mlir::Value value) const;
  /// Keeps what was executed, and what it waited for.
  void enableTraces() { traces = true; }
  static const ProtocolTrace &getTrace(const warp::JointState &state);
  /// Of the arrays of the part, once it is explored.
  const ArrayLags &getLags() const { return lags; }
  /// Announces process `p`, the next one.
  mlir::LogicalResult addProcess(warp::GroupOp group, unsigned replica);

  /// Lets slots of the rings of a part stand for each other where the programs
  /// of the processes do not tell them apart. Behind the last process.
  void findRotations(llvm::ArrayRef<warp::Program> programs);

  std::unique_ptr<warp::MachineState> start() override;
  Step execute(warp::JointState &state, unsigned p,
               mlir::Operation *op) override;
  int64_t evaluate(const warp::JointState &state, unsigned p,
                   mlir::Value value) override;
  std::optional<bool> decide(const warp::JointState &state, unsigned p,
                             mlir::Operation *op) override;
  mlir::LogicalResult end(warp::JointState &state, unsigned p) override;
  void forget(warp::JointState &state) override;
  void normalize(warp::JointState &state) override;
  void serialize(const warp::JointState &state,
                 std::vector<int64_t> &key) const override;
  std::unique_ptr<warp::MachineState>
  remember(const warp::JointState &state) override;
  bool merge(warp::MachineState &remembered, warp::JointState &state) override;
  void explain(const warp::JointState &state, unsigned p,
               mlir::InFlightDiagnostic &diagnostic) override;

private:
  /// A mbarrier or a named barrier.
  struct Element {
    int64_t arrivals = 0;
    int64_t bytes = 0;                  ///< expected and not yet copied
    unsigned parity = 0;                ///< completed phases modulo 2
    unsigned phases = 0;                ///< completed phases, at most 2
    uint64_t waiting = 0, released = 0; ///< processes at a named barrier
  };
  /// The next phase a process waits for: not decided before its first wait,
  /// the last completed one, or the open one.
  enum Next : int8_t { kUndecided, kLast, kOpen };
  struct ProcessInfo {
    mutable warp::GroupOp group;
    unsigned replica;
    bool isOneWarp;
  };
  struct ProcessState {
    /// Products: number of the open group, and of the last that has retired.
    int64_t openMatrix = 1, retiredMatrix = 0;
    int64_t openCopy = 1, retiredCopy = 0;
    bool fenced = false;
    bool hasProducts = false, hasCopies = false; ///< in the open group
  };
  /// Where a process is in an array that it uses slot by slot.
  struct Turn {
    unsigned waits = 0, arrivals = 0; ///< the slots that are next
    int64_t bytes = 0;                ///< of its last arrival, not yet copied
  };
  struct State;

  // ProtocolMachine.cpp: knowledge and barriers.
  Step perform(warp::JointState &state, unsigned p, mlir::Operation *op);
  Step wait(warp::JointState &state, unsigned p, BarrierWaitOp op);
  /// The phase that a wait for `parity` is for; fails if it cannot be told, or
  /// is not the next one.
  mlir::FailureOr<Next> findPhase(warp::JointState &state, unsigned p,
                                  BarrierWaitOp op, unsigned element,
                                  int64_t parity);
  /// Takes over what the phase that was waited for makes known.
  void learnPhase(State &state, unsigned p, BarrierWaitOp op, unsigned element);
  Step arrive(warp::JointState &state, unsigned p, mlir::Operation *op,
              BarrierAllocOp barrier, mlir::Value index, int64_t bytes);
  Step meet(warp::JointState &state, unsigned p, mlir::Operation *op,
            const NamedBarrierUse &use);
  std::optional<unsigned> getElement(warp::JointState &state, unsigned p,
                                     mlir::Operation *op,
                                     BarrierAllocOp barrier, mlir::Value index);
  mlir::LogicalResult checkPhaseKnown(warp::JointState &state, unsigned p,
                                      mlir::Operation *op, unsigned element,
                                      unsigned member);
  mlir::LogicalResult completeIfDone(warp::JointState &state, unsigned p,
                                     mlir::Operation *op, unsigned element);
  void fenceProxies(State &state, unsigned p);
  void fenceReads(State &state, unsigned p);
  /// Parts: arrays are used slot by slot, copies follow their arrival.
  mlir::LogicalResult takeTurn(warp::JointState &state, unsigned p,
                               mlir::Operation *op, unsigned element,
                               bool arrives, int64_t bytes);
  mlir::LogicalResult takeLag(warp::JointState &state, unsigned p,
                              BarrierWaitOp op, unsigned element, int64_t lag);

  // ProtocolAccess.cpp: shared memory, copies and products.
  Step load(warp::JointState &state, unsigned p, TmaLoadOp op);
  Step store(warp::JointState &state, unsigned p, TmaStoreOp op);
  Step waitForCopies(State &state, unsigned p, int64_t pending);
  Step touch(warp::JointState &state, unsigned p, mlir::Operation *op);
  Step multiply(warp::JointState &state, unsigned p, WgmmaOp op);
  /// A product reads `operand`, with `extent` rows or columns beside the
  /// contracted dimension.
  mlir::LogicalResult readMatrix(warp::JointState &state, unsigned p,
                                 WgmmaOp op, mlir::Value operand,
                                 int64_t extent);
  /// Keeps registers for the open group of products.
  void holdFragment(State &state, unsigned p, mlir::Value fragment, WgmmaOp op);
  Step commit(warp::JointState &state, unsigned p, WgmmaCommitOp op);
  Step waitForProducts(warp::JointState &state, unsigned p, WgmmaWaitOp op);
  std::optional<SmemRegion> getRegion(warp::JointState &state, unsigned p,
                                      mlir::Operation *op, AllocOp buffer,
                                      mlir::Value slot, mlir::Value row,
                                      mlir::Value column, int64_t rows,
                                      int64_t columns, BufferType window);
  /// Checks that all conflicting accesses are in the past of `member`.
  mlir::LogicalResult checkOrdered(warp::JointState &state, unsigned p,
                                   mlir::Operation *op, FactKind kind,
                                   const SmemRegion &region, unsigned member);
  std::optional<SmemRegion> getMailSlot(warp::JointState &state, unsigned p,
                                        mlir::Operation *op,
                                        mlir::Value mailbox, mlir::Value slot);
  bool overlap(const SmemRegion &a, const SmemRegion &b) const;
  mlir::LogicalResult checkRegisters(warp::JointState &state, unsigned p,
                                     mlir::Operation *op);

  /// Follows integers backwards from those that decide, through arithmetic and
  /// control.
  void trackSources(llvm::SmallVector<mlir::Value> work);
  /// Products and groups of them, whatever carries them.
  void trackProducts();
  void findFragments();
  void findUsers();
  /// Parts: what happened before a kernel starts is the phase before the
  /// first, which everybody knows of.
  void beginInPhases(State &state);
  std::optional<Next> getFirstPhase(unsigned p, unsigned array) const;
  void rotate(State &state, int64_t slots) const;
  /// The fact of which less is known than of either.
  Fact getLesser(const Fact &a, const Fact &b) const;
  /// Whether whoever may conflict with an event, or acts on its barrier, has it
  /// in their past: then nothing depends on it any more.
  bool isSettled(const Fact &fact) const;
  Fact &getFact(State &state, FactKind kind, unsigned p, unsigned element,
                const SmemRegion &region = {});
  static State &get(warp::JointState &state);
  int64_t read(const warp::JointState &state, unsigned p, mlir::Value value);

  unsigned all(unsigned p) const { return 2 * p; }
  unsigned elected(unsigned p) const { return 2 * p + 1; }
  unsigned open(unsigned element) const {
    return 2 * (processes.size() + element);
  }
  unsigned completed(unsigned element) const { return open(element) + 1; }
  unsigned getNumElements() const {
    return model.numMbarriers + model.namedBarriers.size();
  }
  const BarrierArray &getArray(unsigned element) const;
  std::string describe(unsigned element) const;
  /// Arrivals that complete a phase, of the processes that are explored.
  int64_t getRequired(unsigned element) const;
  bool arrives(unsigned p, unsigned element) const;
  bool waits(unsigned p, unsigned element) const;

  /// Whether the exploration looks at a barrier.
  bool isInScope(unsigned element) const;
  Turn &getTurn(State &state, unsigned p, unsigned element);

  const ProtocolModel &model;
  ProtocolScope scope;
  ArrayLags lags;
  /// Parts: by program.
  std::map<const warp::Program *, ProtocolRotation> rotations;
  int64_t rotatedDepth = 0; ///< of the rings, 0 if slots are not alike
  llvm::SmallVector<unsigned> arrayOf; ///< number of the array of an mbarrier
  bool traces = false;
  std::vector<ProcessInfo> processes;
  /// Shared memory: one entry for every allocation and process that has it.
  struct BufferInfo {
    mutable mlir::Operation *op;
    int64_t slots, slotBytes;
    int64_t begin, end; ///< -1 if no offset is set
  };
  std::vector<BufferInfo> buffers;
  std::map<std::pair<mlir::Operation *, unsigned>, unsigned> bufferOf;
  bool buffersOverlap = false;
  /// Processes that access a buffer or what overlaps it, as sets.
  struct Users {
    uint64_t all = 0, writers = 0, async = 0;
  };
  std::vector<Users> usersOf;
  llvm::DenseSet<mlir::Value> tracked;
  /// Registers that products read: fragments and what fences made of them.
  llvm::DenseMap<mlir::Value, unsigned> fragmentOf;
  unsigned numFragments = 0;
};

struct ProtocolMachine::State : warp::MachineState {
  std::vector<Element> elements;
  std::vector<ProcessState> processes;
  /// By element and process.
  std::vector<Next> next;
  /// By process and fragment: the last product that reads it, and where.
  std::vector<std::pair<int64_t, mlir::Operation *>> fragments;
  std::vector<Fact> facts; ///< sorted by key
  std::vector<Turn> turns; ///< of a part, by array and process
  std::optional<ProtocolTrace> trace;

  std::unique_ptr<warp::MachineState> clone() const override {
    return std::make_unique<State>(*this);
  }
};

inline ProtocolMachine::State &ProtocolMachine::get(warp::JointState &state) {
  return static_cast<State &>(*state.machine);
}

inline const ProtocolTrace &
ProtocolMachine::getTrace(const warp::JointState &state) {
  return *static_cast<const State &>(*state.machine).trace;
}

} // namespace fa3::hopper

#endif // FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLMACHINE_H
