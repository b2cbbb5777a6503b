//===- Clock.h - time of one thread block -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A timed run (Options::timed) computes as any other; beside that, every group
// has a time, and units that groups share are occupied one use after another.
// What a group computes between two synchronizations overlaps as far as the
// units allow.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_INTERP_HOPPER_CLOCK_H
#define FA3_LIB_INTERP_HOPPER_CLOCK_H

#include "../Core/Engine.h"
#include "fa3/Dialect/Hopper/Analysis/HopperResources.h"
#include <deque>

namespace fa3::interp {

class Clock {
public:
  /// Keeps what units do for `block`, if given.
  explicit Clock(BlockTimeline *timeline) : timeline(timeline) {}

  /// The group's time once all it has computed is done.
  int64_t settle(Group &group);
  /// An operation that occupies units. Others overlap with it unless it is
  /// awaited.
  void use(Group &group, const hopper::ResourceUse &use, mlir::Operation *op);
  /// A product; gives when its result can be waited for.
  int64_t issueProduct(Group &group, hopper::WgmmaOp op);
  /// A copy; gives when its bytes have landed.
  int64_t issueCopy(Group &group, int64_t bytes, mlir::Operation *op);

  /// Lets the group go on at `time` at the earliest, and others before it that
  /// are not as far.
  mlir::LogicalResult resumeAt(const Context &c, int64_t time);

private:
  int64_t occupy(hopper::Unit unit, int64_t from, int64_t cycles,
                 llvm::StringRef name);

  BlockTimeline *timeline;
  int64_t freeAt[hopper::kNumUnits] = {};
  /// When the last few wgmma instructions are done.
  std::deque<int64_t> outstanding;
};

/// Appends the time of an operation to the code being decoded.
void emitUse(Decoder &decoder, mlir::Operation *op);

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_HOPPER_CLOCK_H
