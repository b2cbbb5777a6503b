//===- Trace.h - what a thread block did, and when --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Turns the records of an instrumented kernel (hopper-insert-records) into a
// timeline, whoever made them: a GPU, or the interpreter with a clock. Times
// are cycles of the multiprocessor from the first record of the block.
//===----------------------------------------------------------------------===//

#ifndef FA3_TRACE_TRACE_H
#define FA3_TRACE_TRACE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace fa3::trace {

/// What an event means.
struct Event {
  enum class Phase { Begin, End, Instant };
  std::string kind, name;
  Phase phase = Phase::Instant;
  int64_t barrier = -1, pending = 0;
};

/// What a host function says of its array of records.
struct Table {
  std::vector<std::string> groups;
  std::vector<Event> events;

  /// Reads the `records` in the `info` of a manifest.
  static llvm::Expected<Table> fromJSON(const llvm::json::Object &object);
};

/// Cycles from begin to end.
struct Window {
  int64_t begin = 0, end = 0;
};

struct Span {
  unsigned lane;
  std::string kind, name;
  Window when;
};

/// One thread block.
struct Timeline {
  std::string name;
  std::vector<std::string> lanes;
  /// Of one lane, in order and without overlap.
  std::vector<Span> spans;
  /// Moments: spans without length.
  std::vector<Span> marks;
  /// Cycles from one issue of products to the same one of the next iteration,
  /// the median, and two iterations that are typical; none if no product was
  /// issued three times.
  std::optional<int64_t> iteration;
  Window steady;

  unsigned addLane(llvm::StringRef name);
};

/// Builds a timeline from the rows of a block, one per group, of `words` (see
/// hopper.record). Entries of all ones were not written. Fails on words that
/// the table does not explain.
llvm::Expected<Timeline> buildTimeline(llvm::StringRef name, const Table &table,
                                       llvm::ArrayRef<uint64_t> words);

/// Adds lanes for the units of a multiprocessor and what they do: `uses` have a
/// unit, a name, begin and end. Uses of one name without a gap are one span.
template <typename Uses>
void addUnits(Timeline &timeline, const Uses &uses) {
  struct Lane {
    unsigned number;
    std::optional<size_t> last; ///< span
  };
  llvm::StringMap<Lane> lanes;
  for (const auto &use : uses) {
    auto [it, isNew] = lanes.try_emplace(use.unit, Lane{0, std::nullopt});
    Lane &lane = it->second;
    if (isNew)
      lane.number = timeline.addLane(use.unit);
    if (lane.last) {
      Span &last = timeline.spans[*lane.last];
      if (last.name == use.name && last.when.end == use.begin) {
        last.when.end = use.end;
        continue;
      }
    }
    lane.last = timeline.spans.size();
    timeline.spans.push_back(
        {lane.number, "unit", use.name, {use.begin, use.end}});
  }
}

/// Finds typical iterations (see Timeline::iteration).
void findSteadyState(Timeline &timeline);

/// Trace events as Perfetto and chrome://tracing read them; one cycle is shown
/// as a nanosecond.
void writeTraceEvents(llvm::raw_ostream &os, llvm::ArrayRef<Timeline> blocks);

/// A drawing (SVG) of the steady state of blocks, on one scale.
void writeDrawing(llvm::raw_ostream &os, llvm::ArrayRef<Timeline> blocks);

} // namespace fa3::trace

#endif // FA3_TRACE_TRACE_H
