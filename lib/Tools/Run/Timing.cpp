//===- Timing.cpp - how long a launch takes -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tools/Run/Timing.h"
#include "Fail.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <thread>

using namespace mlir;
using namespace fa3;
using namespace fa3::run;

/// Idle time before a single launch; enough for the clock to recover.
static constexpr std::chrono::milliseconds kGap(12);
/// Spinning that hides a launch, about 1.5 ms.
static constexpr int64_t kSpinCycles = 3000000;
/// More than the L2 cache of any device with compute capability 9.0.
static constexpr int64_t kFlushBytes = int64_t(256) << 20;

//===----------------------------------------------------------------------===//
// A kernel that spins
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kSpinPTX = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry spin(.param .u64 cycles)
{
  .reg .pred %more;
  .reg .b64 %limit, %start, %now, %passed;
  ld.param.u64 %limit, [cycles];
  mov.u64 %start, %clock64;
again:
  mov.u64 %now, %clock64;
  sub.s64 %passed, %now, %start;
  setp.lt.u64 %more, %passed, %limit;
  @%more bra again;
  ret;
}
)";

static constexpr llvm::StringLiteral kSpinManifest = R"({
  "schema": 1, "producer": "fa3-run", "function": "spin", "chip": "sm_90",
  "ptx_isa": "8.0", "requires": [], "workspaces": [],
  "args": [{"name": "cycles", "kind": "scalar", "type": "i64"}],
  "launches": [{"kernel": "spin", "grid": "1", "block": 1, "smem": 0,
                "args": [{"kind": "i64", "value": "cycles"}]}],
  "ptx_hash": "HASH"
})";

namespace {
class Spin {
public:
  Spin() = default;
  Spin(const Spin &) = delete;
  Spin &operator=(const Spin &) = delete;
  ~Spin() {
    fa3_status status;
    if (program)
      fa3_program_destroy(program, &status);
  }

  LogicalResult load() {
    uint64_t hash = fa3_hash(kSpinPTX.data(), kSpinPTX.size());
    auto [head, tail] = StringRef(kSpinManifest).split("HASH");
    std::string manifest = llvm::formatv("{0}{1:x-16}{2}", head, hash, tail);
    fa3_status status;
    return check(fa3_program_load(manifest.data(), manifest.size(),
                                  kSpinPTX.data(), kSpinPTX.size(),
                                  FA3_IMAGE_PTX, &program, &status),
                 status);
  }
  LogicalResult launch() {
    fa3_status status;
    fa3_arg cycles = fa3_scalar_integer(FA3_I64, kSpinCycles);
    return check(fa3_launch(program, &cycles, 1, nullptr, &status), status);
  }

private:
  fa3_program *program = nullptr;
};

class Event {
public:
  Event() = default;
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;
  ~Event() {
    fa3_status status;
    if (handle)
      fa3_device_event_destroy(handle, &status);
  }

  LogicalResult create() {
    fa3_status status;
    return check(fa3_device_event_create(&handle, &status), status);
  }
  LogicalResult record() {
    fa3_status status;
    return check(fa3_device_event_record(handle, nullptr, &status), status);
  }
  FailureOr<double> getMillisecondsTo(const Event &end) const {
    fa3_status status;
    float result;
    if (failed(check(
            fa3_device_event_elapsed(handle, end.handle, &result, &status),
            status)))
      return failure();
    return result;
  }

private:
  void *handle = nullptr;
};
} // namespace

static LogicalResult synchronize() {
  fa3_status status;
  return check(fa3_device_synchronize(&status), status);
}

//===----------------------------------------------------------------------===//
// Modes
//===----------------------------------------------------------------------===//

static double getMedian(SmallVector<double> values) {
  llvm::sort(values);
  size_t half = values.size() / 2;
  return values.size() % 2 ? values[half]
                           : (values[half - 1] + values[half]) / 2;
}

static Timing summarize(ArrayRef<double> times) {
  return {getMedian(SmallVector<double>(times)),
          *std::min_element(times.begin(), times.end()),
          *std::max_element(times.begin(), times.end())};
}

static FailureOr<Timing> measureSingle(DeviceExecutor &executor,
                                       int64_t iterations) {
  constexpr int64_t kWarmUp = 2;
  Spin spin;
  Event begin, start, end;
  DeviceBuffer cache;
  if (failed(spin.load()) || failed(begin.create()) || failed(start.create()) ||
      failed(end.create()) || failed(cache.allocate(kFlushBytes)))
    return failure();
  SmallVector<double> times, clocks;
  for (int64_t i = 0; i < iterations + kWarmUp; ++i) {
    std::this_thread::sleep_for(kGap);
    // The first spin hides the launch of the second, which tells the clock.
    if (failed(cache.poison()) || failed(spin.launch()) ||
        failed(begin.record()) || failed(spin.launch()) ||
        failed(start.record()) || failed(executor.launch()) ||
        failed(end.record()) || failed(synchronize()))
      return failure();
    FailureOr<double> spinning = begin.getMillisecondsTo(start);
    FailureOr<double> time = start.getMillisecondsTo(end);
    if (failed(spinning) || failed(time))
      return failure();
    if (i < kWarmUp)
      continue;
    times.push_back(*time);
    clocks.push_back(kSpinCycles / *spinning / 1e3);
  }
  Timing timing = summarize(times);
  timing.megahertz = getMedian(clocks);
  return timing;
}

static FailureOr<Timing> measureBurst(DeviceExecutor &executor,
                                      int64_t iterations) {
  constexpr int64_t kWarmUp = 3;
  for (int64_t i = 0; i < kWarmUp; ++i)
    if (failed(executor.launch()))
      return failure();
  // An event between any two launches.
  std::vector<Event> events(iterations + 1);
  for (Event &event : events)
    if (failed(event.create()))
      return failure();
  if (failed(events.front().record()))
    return failure();
  for (Event &event : llvm::drop_begin(events))
    if (failed(executor.launch()) || failed(event.record()))
      return failure();
  if (failed(synchronize()))
    return failure();
  SmallVector<double> times;
  for (int64_t i = 0; i < iterations; ++i) {
    FailureOr<double> time = events[i].getMillisecondsTo(events[i + 1]);
    if (failed(time))
      return failure();
    times.push_back(*time);
  }
  return summarize(times);
}

FailureOr<Timing> fa3::run::measure(DeviceExecutor &executor, TimingMode mode,
                                    int64_t iterations) {
  if (iterations < 1)
    return fail("--iterations expects at least 1, got " + Twine(iterations));
  return mode == TimingMode::Single ? measureSingle(executor, iterations)
                                    : measureBurst(executor, iterations);
}
