//===- DeviceModel.h - what an sm_90 multiprocessor can do ------*- C++ -*-===//
//
// The figures behind every prediction of time: of a kernel's timeline
// (fa3/Dialect/Hopper/Analysis/Resources.h) and of tiles to choose from. All of
// one multiprocessor, in cycles of its clock.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_SCHEDULING_DEVICEMODEL_H
#define FA3_SCHEDULING_DEVICEMODEL_H

#include <cstdint>

namespace fa3::device {

/// Multiply-adds of 16-bit elements per cycle: m64n256k16 takes 128 cycles, as
/// m64n128k16 was measured to take 64 (docs/Performance.md).
constexpr int64_t kTensorMacs16 = 2048;
/// From the last cycle of a product to the wait that returns; one m64n128k16
/// was measured to take 127 cycles from its issue.
constexpr int64_t kTensorLatency = 64;
/// Issue of one wgmma, and how many may be outstanding before the next one
/// blocks (measured with n 128: 8 were issued in 112 cycles).
constexpr int64_t kTensorIssue = 14, kTensorOutstanding = 8;

/// Warp instructions per cycle of one quarter of the multiprocessor, which runs
/// one warp of every warp group: one is issued; cycles that one occupies its
/// unit (CUDA C Programming Guide, "Arithmetic Instructions").
constexpr int64_t kFmaCycles = 1, kAluCycles = 2, kSfuCycles = 8,
                  kConvertCycles = 2, kShuffleCycles = 4;
/// Until a result that lanes exchanged can be used.
constexpr int64_t kShuffleLatency = 24;

/// Lanes of a warp that share a row, and those that share a column, of an
/// accumulator.
constexpr int64_t kLanesPerRow = 4, kLanesPerColumn = 8;

/// Bytes of shared memory per cycle.
constexpr int64_t kSharedBytes = 128;
/// Bytes per cycle that a multiprocessor gets from L2 while all of them load,
/// and the time until a copy that finds the way free has landed (order of
/// magnitude; see docs/Trace.md for how it compares).
constexpr int64_t kCopyBytes = 32, kCopyLatency = 600;
/// Loads and atomics of threads.
constexpr int64_t kGlobalLatency = 600;
/// From the last arrival to the return of a wait.
constexpr int64_t kBarrierLatency = 20;

} // namespace fa3::device

#endif // FA3_SCHEDULING_DEVICEMODEL_H
