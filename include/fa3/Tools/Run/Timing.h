//===- Timing.h - how long a launch takes -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TOOLS_RUN_TIMING_H
#define FA3_TOOLS_RUN_TIMING_H

#include "fa3/Tools/Run/DeviceExecutor.h"

namespace fa3::run {

enum class TimingMode {
  /// One launch at a time. The device idles before, so that its clock is at
  /// the maximum; the L2 cache is written over; the launch is queued behind a
  /// kernel that spins, so that no time of the host is measured.
  Single,
  /// Launches back to back, with what the one before left in the cache.
  Burst,
};

/// Times of a launch by events of the device.
struct Timing {
  double median, least, greatest; ///< milliseconds
  /// Clock of the multiprocessors, measured by the kernel that spins; 0 in
  /// bursts.
  double megahertz = 0;
};

/// Times `iterations` launches, after some that are not counted.
mlir::FailureOr<Timing> measure(DeviceExecutor &executor, TimingMode mode,
                                int64_t iterations);

} // namespace fa3::run

#endif // FA3_TOOLS_RUN_TIMING_H
