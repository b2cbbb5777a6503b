//===- Explorer.h - all relative states of a few groups ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs groups side by side with their data erased and every choice of control
// taken both ways, until no new state appears. A state says where the groups
// are relative to each other, not how often they have been there, so the
// closure stands for all trip counts. Choices that contradict the balance of
// the groups (proven before) are dropped: each object has a tape on which the
// first group to get there writes "an entry" or "an iteration ends", and the
// others have to agree. See docs/Protocol.md, "Closure".
//
// What instructions do is up to a Machine.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_WARP_ANALYSIS_EXPLORER_H
#define FA3_DIALECT_WARP_ANALYSIS_EXPLORER_H

#include "fa3/Dialect/Warp/Analysis/GroupProgram.h"
#include "llvm/ADT/SmallBitVector.h"
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>

namespace fa3::warp {

/// A register without a value, or with one that is not known.
constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();

/// One replica of a group.
struct Process {
  const Program *program;
  mutable GroupOp group; ///< operations have no const methods
  unsigned replica;
  unsigned pc = 0;
  /// Iterations so far of nests with objects that are looked at.
  unsigned epoch = 0;
  bool ended = false;
  /// By object: its next item is on the tape already.
  llvm::SmallBitVector announced;
  std::vector<int64_t> registers;
  std::vector<unsigned> positions; ///< on the tape of every object
  unsigned choices = 0;            ///< position on the tape of its group
  /// Times that the choice at an instruction went on; for messages only.
  std::vector<unsigned> taken;

  const Instruction &getInstruction() const {
    return program->getInstructions()[pc];
  }
  bool hasEnded() const {
    return getInstruction().kind == Instruction::Kind::End;
  }
};

struct MachineState {
  virtual ~MachineState() = default;
  virtual std::unique_ptr<MachineState> clone() const = 0;
};

struct JointState {
  /// Agreed events of an object from number `base` on.
  struct Tape {
    unsigned base = 0;
    llvm::SmallVector<int, 4> items;
    /// Choices only: one replica was too far ahead, so nothing is known.
    bool isLost = false;
  };
  std::vector<Process> processes;
  std::vector<Tape> tapes;
  /// Choices that the replicas of a group make alike, by group.
  std::vector<Tape> choices;
  std::unique_ptr<MachineState> machine;

  JointState clone() const;
};

class Machine {
public:
  enum class Step { Done, Blocked, Failed };
  virtual ~Machine() = default;

  virtual std::unique_ptr<MachineState> start() = 0;
  /// Executes the instruction at which process `p` stands; emits an error if
  /// it fails.
  virtual Step execute(JointState &state, unsigned p, mlir::Operation *op) = 0;
  /// The value of what has no register.
  virtual int64_t evaluate(const JointState &state, unsigned p,
                           mlir::Value value) = 0;
  /// What a condition is in process `p`, if the replica alone decides it.
  virtual std::optional<bool> decide(const JointState &, unsigned,
                                     mlir::Operation *) {
    return std::nullopt;
  }
  /// Checks what process `p` leaves behind.
  virtual mlir::LogicalResult end(JointState &state, unsigned p) = 0;
  /// Drops what nothing depends on any more.
  virtual void forget(JointState &) {}
  /// Replaces a state by one that stands for all that differ from it by a
  /// symmetry of the machine.
  virtual void normalize(JointState &) {}
  /// Appends what tells states apart: registers and the machine's own state,
  /// relative to each other.
  virtual void serialize(const JointState &state,
                         std::vector<int64_t> &key) const = 0;
  /// For machines that merge states: a copy of what 'serialize' leaves out.
  virtual std::unique_ptr<MachineState> remember(const JointState &) {
    return nullptr;
  }
  /// Merges `state` and what was remembered of a state with the same key, into
  /// both, to one that allows whatever either allows. False if what was
  /// remembered does so already.
  virtual bool merge(MachineState &, JointState &) { return false; }
  /// Says in a note what process `p` waits for.
  virtual void explain(const JointState &state, unsigned p,
                       mlir::InFlightDiagnostic &diagnostic) = 0;
};

class Explorer {
public:
  static constexpr unsigned kMostStates = 50000;
  /// `channelOf` names the channel of an event, as for the skeleton.
  using ChannelOf = std::function<std::optional<unsigned>(mlir::Operation *)>;
  Explorer(const ControlSkeleton &skeleton, Machine &machine,
           ChannelOf channelOf)
      : skeleton(skeleton), machine(machine), channelOf(std::move(channelOf)) {}

  void addProcess(GroupOp group, unsigned replica, const Program &program);
  /// Gives up after `most` states.
  void limitStates(unsigned most) { mostStates = most; }

  /// Explores to closure. Fails with a located error on the first state in
  /// which all processes wait for each other or an instruction fails.
  mlir::LogicalResult run();

  /// Follows ways through the groups on which no loop runs more than
  /// `mostIterations` times, shortest first, until `found` accepts the end of
  /// one. For examples: proves nothing.
  mlir::LogicalResult search(unsigned mostIterations,
                             std::function<bool(const JointState &)> found);

  /// States at which a choice was taken; what has been merged counts again.
  unsigned getNumStates() const { return numStates; }
  /// Whether there were too many states.
  bool hasGivenUp() const { return numStates > mostStates; }
  /// The value of `value` in process `p`.
  static int64_t get(const JointState &state, unsigned p, mlir::Value value,
                     Machine &machine);
  static void set(JointState &state, unsigned p, mlir::Value value,
                  int64_t number);
  /// How far process `p` has come, as notes.
  static void explainPath(const JointState &state, unsigned p,
                          mlir::InFlightDiagnostic &diagnostic);
  static std::string getName(const Process &process);

private:
  enum class Outcome { Moved, Stuck, Choice, Dropped, Failed };
  /// Choices that one replica may be ahead of another. Rings bound how far a
  /// replica is ahead in entries, but not in choices: what one does in a loop
  /// that all make alike, another may still do in a loop before it.
  static constexpr unsigned kMostChoices = 16;

  /// Runs a process until it waits, chooses or ends.
  Outcome runProcess(JointState &state, unsigned p);
  /// Runs one instruction; nothing if the process goes on with the next.
  std::optional<Outcome> runInstruction(JointState &state, unsigned p);
  std::optional<Outcome> runEvent(JointState &state, unsigned p);
  std::optional<Outcome> runChoice(JointState &state, unsigned p);
  Outcome runEnd(JointState &state, unsigned p);
  /// Begins an iteration of a nest; false if the state is dropped.
  bool enterIteration(JointState &state, unsigned p, unsigned nest);
  void assign(JointState &state, unsigned p, const Instruction &instruction);
  Outcome runAll(JointState &state, unsigned &chooser);
  mlir::LogicalResult runState(JointState state);
  void visit(JointState state, unsigned p);
  bool agree(JointState &state, unsigned p, unsigned object, int item);
  /// Writes the next item of a tape, unless the process has done so.
  bool announce(JointState &state, unsigned p, unsigned object, int item);
  /// Writes all that comes next in any case.
  bool announceCertain(JointState &state, unsigned p);
  void findNextItems(unsigned p, const Program &program);
  mlir::LogicalResult reportDeadlock(const JointState &state);
  void forgetDead(JointState &state);
  std::string getKey(const JointState &state, unsigned p) const;

  const ControlSkeleton &skeleton;
  Machine &machine;
  ChannelOf channelOf;
  /// The choice that other replicas have made already, if any.
  std::optional<bool> getMadeChoice(const JointState &state, unsigned p) const;
  void noteChoice(JointState &state, unsigned p, bool goesOn);
  /// Lets the process at a choice take it.
  void take(JointState &state, unsigned p, bool goesOn);

  JointState initial;
  unsigned iterationLimit = 0; ///< of a search, 0 in exploration
  std::function<bool(const JointState &)> accept;
  bool accepted = false;
  /// Per process and object: the channel whose events are on the tape.
  std::vector<std::vector<std::optional<unsigned>>> counted;
  /// Per process, instruction and object: the item that comes next on the tape,
  /// if it is the same on all ways from there.
  std::vector<std::vector<llvm::SmallVector<int>>> nextItems;
  /// Per process the number of its group, and per group its processes.
  std::vector<unsigned> groupOf;
  std::vector<llvm::SmallVector<unsigned>> members;
  struct Pending;
  struct Visited {
    std::unique_ptr<MachineState> remembered;
    Pending *pending = nullptr; ///< if it is still to be gone on from
  };
  /// A state to go on from.
  struct Pending {
    JointState state;
    unsigned chooser = 0;      ///< the process that takes a choice
    Visited *origin = nullptr; ///< not in a search
  };
  mlir::LogicalResult runPending(Pending next);
  std::deque<Pending> pending;
  std::unordered_map<std::string, Visited> visited;
  unsigned numStates = 0, mostStates = kMostStates;
};

} // namespace fa3::warp

#endif // FA3_DIALECT_WARP_ANALYSIS_EXPLORER_H
