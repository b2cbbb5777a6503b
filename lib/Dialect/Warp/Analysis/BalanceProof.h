//===- BalanceProof.h - two groups have as many events ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Nests that two groups have in common are compared iteration by iteration.
// Between nests, the numbers of events are sums over conditions and loops with
// straight-line bodies; every case of the conditions and of "runs at all" gives
// a difference of linear forms, which is zero or belongs to a case that cannot
// occur.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_WARP_ANALYSIS_BALANCEPROOF_H
#define FA3_LIB_DIALECT_WARP_ANALYSIS_BALANCEPROOF_H

#include "LinearSystem.h"
#include "fa3/Dialect/Warp/Analysis/Control.h"

namespace fa3::warp {

/// Two ends of an object that must have as many events.
struct Comparison {
  unsigned object, channelA, channelB;
};

/// A way through the control between two nests.
struct Decision {
  mlir::Operation *op;
  bool taken;
};

struct Unbalanced {
  unsigned comparison;
  LinearForm difference;
  llvm::SmallVector<Decision> decisions;
};

/// What is still to be counted; a list that ends in null.
struct Work {
  const ControlNode *node;
  bool isB;
  const Work *next;
};

/// Compares two groups, or two ends of objects that one group has both.
class BalanceProof {
public:
  BalanceProof(ControlSkeleton &skeleton, const GroupControl &a,
               const GroupControl &b, llvm::ArrayRef<Comparison> comparisons)
      : skeleton(skeleton), a(a), b(b), comparisons(comparisons),
        channelsA(skeleton.channels.size()),
        channelsB(skeleton.channels.size()), system(skeleton.scalars),
        differences(comparisons.size()) {
    for (const Comparison &comparison : comparisons) {
      channelsA.set(comparison.channelA);
      channelsB.set(comparison.channelB);
    }
  }

  mlir::LogicalResult run() { return compare(a.body, b.body); }

private:
  using Nodes = std::vector<ControlNode>;

  mlir::LogicalResult compare(const Nodes &nodesA, const Nodes &nodesB);
  mlir::LogicalResult compareNest(const ControlNode &nodeA,
                                  const ControlNode &nodeB);
  mlir::LogicalResult
  compareSegment(llvm::ArrayRef<const ControlNode *> nodesA,
                 llvm::ArrayRef<const ControlNode *> nodesB);
  bool isRelevant(const ControlNode &node, bool isB) const {
    return node.channels.anyCommon(isB ? channelsB : channelsA);
  }
  bool isMatch(const ControlNode &nodeA, const ControlNode &nodeB);
  mlir::LogicalResult failToMatch(const ControlNode &node,
                                  const GroupControl &other);
  mlir::LogicalResult report(const Unbalanced &unbalanced);

  /// Counts the rest of the work in every case; false once `unbalanced` is set.
  bool count(const Work *work);
  bool countLoop(const ControlNode &node, bool isB, const Work *next);
  bool countBranch(const ControlNode &node, bool isB, const Work *next);
  bool countIterations(const ControlNode &loop, bool isB,
                       const LinearForm &trips, const Work *next);
  bool countNodes(const Nodes &nodes, bool isB, const Work *next);
  /// Counts the rest in the case that form >= 0.
  bool assume(LinearForm form, mlir::Operation *op, bool taken,
              llvm::function_ref<bool()> rest);
  void add(const ControlNode &event, bool isB, const LinearForm &times);
  bool checkDifferences();

  ControlSkeleton &skeleton;
  const GroupControl &a, &b;
  llvm::ArrayRef<Comparison> comparisons;
  llvm::BitVector channelsA, channelsB;
  LinearSystem system;
  llvm::SmallVector<LinearForm> differences;
  llvm::SmallVector<Decision> decisions;
  std::optional<Unbalanced> unbalanced;
};

} // namespace fa3::warp

#endif // FA3_LIB_DIALECT_WARP_ANALYSIS_BALANCEPROOF_H
