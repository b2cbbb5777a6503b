//===- TimelineTest.cpp - records become timelines ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Trace/Trace.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace fa3::trace;

namespace {
constexpr uint64_t kUnwritten = ~uint64_t(0);

/// A load group that copies to barrier 0, and a math group that waits for the
/// bytes, issues a product and waits for it.
Table makeTable() {
  using Phase = Event::Phase;
  Table table;
  table.groups = {"load", "math"};
  table.events = {
      {"role", "load", Phase::Begin, -1, 0},
      {"copy", "k", Phase::Instant, 0, 0},
      {"role", "load", Phase::End, -1, 0},
      {"role", "math", Phase::Begin, -1, 0},
      {"wait", "k", Phase::Begin, 0, 0},
      {"wait", "k", Phase::End, 0, 0},
      {"issue", "q x k", Phase::Begin, -1, 0},
      {"issue", "q x k", Phase::End, -1, 0},
      {"await", "products", Phase::Begin, -1, 1},
      {"await", "products", Phase::End, -1, 1},
      {"await", "products", Phase::Begin, -1, 0},
      {"await", "products", Phase::End, -1, 0},
      {"role", "math", Phase::End, -1, 0},
  };
  return table;
}

uint64_t makeWord(uint64_t event, uint32_t clock) {
  return event << 32 | clock;
}

/// Rows of `capacity` words.
std::vector<uint64_t>
makeRows(std::initializer_list<std::vector<uint64_t>> rows, size_t capacity) {
  std::vector<uint64_t> words;
  for (std::vector<uint64_t> row : rows) {
    row.resize(capacity, kUnwritten);
    words.insert(words.end(), row.begin(), row.end());
  }
  return words;
}

std::string getSpans(const Timeline &timeline) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Span &span : timeline.spans)
    os << timeline.lanes[span.lane] << ": " << span.name << ' '
       << span.when.begin << '-' << span.when.end << '\n';
  return text;
}
} // namespace

TEST(TimelineTest, spans) {
  // The clock wraps between the groups.
  auto words =
      makeRows({{makeWord(0, 0xfffffff0), makeWord(1, 0xfffffff8),
                 makeWord(2, 0xfffffffc)},
                {makeWord(3, 0xfffffff4), makeWord(4, 0xfffffff6),
                 makeWord(5, 30), makeWord(6, 34), makeWord(7, 40),
                 makeWord(10, 50), makeWord(11, 100), makeWord(12, 104)}},
               16);
  llvm::Expected<Timeline> timeline =
      buildTimeline("block", makeTable(), words);
  ASSERT_TRUE(bool(timeline));
  EXPECT_EQ(getSpans(*timeline), "load: work 0-12\n"
                                 "math: work 4-6\n"
                                 "math: wait for k 6-46\n"
                                 "math: work 46-50\n"
                                 "math: issue q x k 50-56\n"
                                 "math: work 56-66\n"
                                 "math: wait for products 66-116\n"
                                 "math: work 116-120\n"
                                 "products of math: q x k 50-116\n"
                                 "copies of k: k 8-46\n");
  ASSERT_EQ(timeline->marks.size(), 1u);
  EXPECT_EQ(timeline->marks[0].name, "copy k");
  EXPECT_FALSE(timeline->iteration);
}

TEST(TimelineTest, productsInFlight) {
  // The wait with one pending product retires the older of two.
  auto words = makeRows({{},
                         {makeWord(3, 0), makeWord(6, 10), makeWord(7, 12),
                          makeWord(6, 20), makeWord(7, 22), makeWord(8, 30),
                          makeWord(9, 40), makeWord(10, 50), makeWord(11, 60)}},
                        16);
  llvm::Expected<Timeline> timeline =
      buildTimeline("block", makeTable(), words);
  ASSERT_TRUE(bool(timeline));
  EXPECT_NE(getSpans(*timeline).find("products of math: q x k 10-40\n"
                                     "products of math (2): q x k 20-60\n"),
            std::string::npos);
}

TEST(TimelineTest, steadyState) {
  std::vector<uint64_t> row = {makeWord(3, 0)};
  // Of two typical pairs the one nearer to the middle. Iterations of 150, 100,
  // 100, 100 and 90 cycles.
  for (uint32_t begin : {10, 160, 260, 360, 460, 550}) {
    row.push_back(makeWord(6, begin));
    row.push_back(makeWord(7, begin + 5));
  }
  llvm::Expected<Timeline> timeline =
      buildTimeline("block", makeTable(), makeRows({{}, row}, 16));
  ASSERT_TRUE(bool(timeline));
  ASSERT_TRUE(timeline->iteration.has_value());
  EXPECT_EQ(*timeline->iteration, 100);
  EXPECT_EQ(timeline->steady.begin, 260);
  EXPECT_EQ(timeline->steady.end, 460);
}

TEST(TimelineTest, errors) {
  Table table = makeTable();
  uint64_t word = makeWord(13, 0);
  llvm::Expected<Timeline> unknown =
      buildTimeline("block", table, {word, kUnwritten});
  ASSERT_FALSE(bool(unknown));
  EXPECT_EQ(llvm::toString(unknown.takeError()),
            "record of event 13, the table has 13");
  llvm::Expected<Timeline> uneven = buildTimeline("block", table, {word});
  ASSERT_FALSE(bool(uneven));
  EXPECT_EQ(llvm::toString(uneven.takeError()),
            "expects a row of records per group, got 1 entries for 2 groups");
}

TEST(TimelineTest, table) {
  auto parse = [](llvm::StringRef text) {
    return Table::fromJSON(
        *llvm::cantFail(llvm::json::parse(text)).getAsObject());
  };
  llvm::Expected<Table> table = parse(R"({"groups": ["load"], "events": [
      {"kind": "await", "phase": "end", "name": "products", "pending": 2}]})");
  ASSERT_TRUE(bool(table));
  EXPECT_EQ(table->events[0].pending, 2);
  EXPECT_EQ(table->events[0].barrier, -1);
  EXPECT_EQ(table->events[0].phase, Event::Phase::End);
  llvm::Expected<Table> none = parse("{}");
  ASSERT_FALSE(bool(none));
  EXPECT_EQ(llvm::toString(none.takeError()),
            "records expect 'groups' and 'events'");
  llvm::Expected<Table> bad = parse(R"({"groups": [], "events": [3]})");
  ASSERT_FALSE(bool(bad));
  EXPECT_EQ(llvm::toString(bad.takeError()),
            "event 0 expects 'kind', 'phase' and 'name'");
}

TEST(TimelineTest, texts) {
  Timeline timeline;
  timeline.name = "a < b";
  unsigned lane = timeline.addLane("math");
  timeline.spans.push_back({lane, "work", "work", {0, 1500}});
  timeline.marks.push_back({lane, "copy", "copy k", {700, 700}});
  timeline.steady = {0, 1500};
  timeline.iteration = 750;
  std::string events, drawing;
  llvm::raw_string_ostream eventStream(events), drawingStream(drawing);
  writeTraceEvents(eventStream, timeline);
  writeDrawing(drawingStream, timeline);
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(events);
  ASSERT_TRUE(bool(json));
  EXPECT_EQ(json->getAsObject()->getArray("traceEvents")->size(), 4u);
  EXPECT_NE(events.find(R"("ts":0,"dur":1.5)"), std::string::npos);
  EXPECT_NE(drawing.find("a &lt; b: 750 cycles"), std::string::npos);
}
