//===- Control.h - control around the events of groups ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What is left of a group when only its events (accesses to rings, mbarriers,
// named barriers) and the control around them are kept; and the proof that all
// groups have as many of them. See docs/Protocol.md, "Balance".
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_WARP_ANALYSIS_CONTROL_H
#define FA3_DIALECT_WARP_ANALYSIS_CONTROL_H

#include "fa3/Dialect/Warp/Analysis/Scalars.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace fa3::warp {

/// Whether a loop of the group holds another one: the state of both is live.
bool hasNestedLoops(GroupOp group);

/// One end of an object that joins groups: the writers of a ring, those who
/// wait for an mbarrier. Every group has the same number of events on each end
/// of an object that it touches.
struct Channel {
  unsigned object;  ///< channels of one object are compared
  std::string what; ///< of an event, for messages: "acquires to read"
  /// Replicas of one group wait for each other in these events, so that each
  /// has as many of them.
  bool joinsReplicas = false;
  /// One replica has these events for all of its group. Control around those of
  /// the object is the same in all replicas.
  bool isLed = false;
  /// Replicas of one group have as many of these events as each other, beside
  /// what the object's other channels ask for.
  bool isEqualInReplicas = false;
};

/// An event, or control that encloses events.
struct ControlNode {
  enum class Kind { Event, Loop, Branch } kind;
  mlir::Operation *op;
  unsigned channel = 0; ///< of an event
  /// Body of a loop or the arms of a branch.
  std::vector<ControlNode> body, otherwise;
  /// Loops that enclose control, and what encloses such loops: compared with
  /// the same control of another group, iteration by iteration.
  bool isNest = false;
  llvm::BitVector channels; ///< of the events inside
};

struct GroupControl {
  mutable GroupOp group; ///< operations have no const methods
  std::vector<ControlNode> body;
  llvm::BitVector channels;
};

class ControlSkeleton {
public:
  using Classify =
      llvm::function_ref<std::optional<unsigned>(mlir::Operation *)>;

  ControlSkeleton(SpecializeOp specialize, std::vector<Channel> channels,
                  std::vector<mlir::Location> objects)
      : specialize(specialize), scalars(specialize),
        channels(std::move(channels)), objects(std::move(objects)) {}

  /// Takes a value that a loop carries as the same in all groups, given the
  /// same first value and iteration.
  void agree(mlir::Value carried) { scalars.agree(carried); }

  /// Reads the groups. Fails on control that is not structured, and where a
  /// bound or condition around an event is not a pure function of what all
  /// groups share.
  mlir::LogicalResult build(Classify classify);

  /// Proves that the channels of every object have as many events, per
  /// iteration of the nests that the groups have in common.
  mlir::LogicalResult checkBalance();

  llvm::ArrayRef<GroupControl> getGroups() const { return groups; }
  const std::vector<Channel> &getChannels() const { return channels; }
  /// Number of the nest that a loop of a group takes part in; loops of several
  /// groups share it if they run in step.
  std::optional<unsigned> getNest(mlir::Operation *loop) const;
  /// Objects that all groups touch equally often in every iteration of a nest.
  const llvm::BitVector &getNestObjects(unsigned nest) const {
    return nestObjects[nest];
  }
  /// Whether all replicas of a group make this choice alike.
  bool isUniform(mlir::Operation *control) const {
    return uniform.contains(control);
  }
  /// Whether `event` is under a condition that the replica alone decides. Such
  /// a condition is no control: the elected thread's events stand for the
  /// group's.
  bool isLed(mlir::Operation *event) const { return led.contains(event); }
  unsigned getNumObjects() const { return objects.size(); }

private:
  friend class BalanceProof;
  mlir::LogicalResult buildBlock(mlir::Block &block, Classify classify,
                                 std::vector<ControlNode> &nodes);
  /// `isUniform`: all control around `node` is.
  mlir::LogicalResult checkCongruence(const ControlNode &node, bool isUniform);
  void joinNests(const ControlNode &a, const ControlNode &b);
  /// The events of a branch that only the elected thread takes; none if it is
  /// not one.
  std::optional<std::vector<ControlNode>> getLedEvents(const ControlNode &node);
  /// Fails where replicas may differ in what one of them does for all.
  mlir::LogicalResult checkLed(const GroupControl &group);
  /// Proves that all replicas of a group have as many events on a channel.
  mlir::LogicalResult checkReplicas(const GroupControl &group, unsigned channel,
                                    llvm::ArrayRef<unsigned> others);

  /// Proves that the ends of every object are balanced. Counts in `others` the
  /// comparisons of each object, and notes the channels that join two groups.
  mlir::LogicalResult compareGroups(llvm::SmallVectorImpl<unsigned> &others,
                                    llvm::SmallBitVector &joinsGroups);
  /// Proves that replicas are balanced on channels that ask for it.
  mlir::LogicalResult compareReplicas(llvm::SmallVectorImpl<unsigned> &others,
                                      const llvm::SmallBitVector &joinsGroups);

  SpecializeOp specialize;
  ScalarAnalysis scalars;
  std::vector<Channel> channels;
  std::vector<mlir::Location> objects;
  std::vector<GroupControl> groups;
  llvm::DenseMap<mlir::Operation *, unsigned> nests;
  llvm::DenseSet<mlir::Operation *> uniform, led;
  unsigned numNests = 0;
  /// Comparisons made inside nests: the first group's loop and the object.
  std::vector<std::pair<mlir::Operation *, unsigned>> compared;
  std::vector<llvm::BitVector> nestObjects;
};

} // namespace fa3::warp

#endif // FA3_DIALECT_WARP_ANALYSIS_CONTROL_H
