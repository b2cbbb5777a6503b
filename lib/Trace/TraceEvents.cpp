//===- TraceEvents.cpp - timelines for Perfetto ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The JSON that chrome://tracing introduced ("Trace Event Format"): a process
// per block, a thread per lane, complete events ("X") and instants ("i").
//===----------------------------------------------------------------------===//

#include "fa3/Trace/Trace.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace fa3::trace;

/// Microseconds, one cycle being a nanosecond.
static double toTime(int64_t cycles) { return cycles / 1000.0; }

static void writeName(llvm::json::OStream &json, llvm::StringRef what, size_t p,
                      std::optional<size_t> lane, llvm::StringRef name) {
  json.object([&] {
    json.attribute("ph", "M");
    json.attribute("name", what);
    json.attribute("pid", int64_t(p));
    if (lane)
      json.attribute("tid", int64_t(*lane));
    json.attributeObject("args", [&] { json.attribute("name", name); });
  });
}

static void writeSpan(llvm::json::OStream &json, size_t p, const Span &span,
                      bool isMark) {
  json.object([&] {
    json.attribute("ph", isMark ? "i" : "X");
    json.attribute("name", span.name);
    json.attribute("cat", span.kind);
    json.attribute("pid", int64_t(p));
    json.attribute("tid", int64_t(span.lane));
    json.attribute("ts", toTime(span.when.begin));
    if (isMark)
      json.attribute("s", "t");
    else
      json.attribute("dur", toTime(span.when.end - span.when.begin));
  });
}

void fa3::trace::writeTraceEvents(llvm::raw_ostream &os,
                                  llvm::ArrayRef<Timeline> blocks) {
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("displayTimeUnit", "ns");
    json.attributeObject("otherData", [&] {
      json.attribute("unit", "1 ns is 1 cycle of the multiprocessor");
      for (const Timeline &block : blocks)
        if (block.iteration)
          json.attribute("cycles per iteration, " + block.name,
                         *block.iteration);
    });
    json.attributeArray("traceEvents", [&] {
      for (auto [p, block] : llvm::enumerate(blocks)) {
        writeName(json, "process_name", p, std::nullopt, block.name);
        for (auto [lane, name] : llvm::enumerate(block.lanes))
          writeName(json, "thread_name", p, lane, name);
        for (const Span &span : block.spans)
          writeSpan(json, p, span, /*isMark=*/false);
        for (const Span &mark : block.marks)
          writeSpan(json, p, mark, /*isMark=*/true);
      }
    });
  });
  os << '\n';
}
