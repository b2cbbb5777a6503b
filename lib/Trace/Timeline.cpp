//===- Timeline.cpp - from records to spans -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Trace/Trace.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <deque>
#include <map>

using namespace fa3::trace;
using llvm::StringRef;

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

llvm::Expected<Table> Table::fromJSON(const llvm::json::Object &object) {
  Table table;
  const llvm::json::Array *groups = object.getArray("groups");
  const llvm::json::Array *events = object.getArray("events");
  if (!groups || !events)
    return makeError("records expect 'groups' and 'events'");
  for (const llvm::json::Value &group : *groups)
    table.groups.push_back(group.getAsString().value_or("").str());
  for (auto [i, value] : llvm::enumerate(*events)) {
    const llvm::json::Object *entry = value.getAsObject();
    std::optional<StringRef> kind, phase, name;
    if (entry) {
      kind = entry->getString("kind");
      phase = entry->getString("phase");
      name = entry->getString("name");
    }
    if (!kind || !phase || !name)
      return makeError("event " + llvm::Twine(i) +
                       " expects 'kind', 'phase' and 'name'");
    Event event;
    event.kind = kind->str();
    event.name = name->str();
    event.phase = *phase == "begin" ? Event::Phase::Begin
                  : *phase == "end" ? Event::Phase::End
                                    : Event::Phase::Instant;
    event.barrier = entry->getInteger("barrier").value_or(-1);
    event.pending = entry->getInteger("pending").value_or(0);
    table.events.push_back(std::move(event));
  }
  return table;
}

//===----------------------------------------------------------------------===//
// Builder
//===----------------------------------------------------------------------===//

namespace {
struct Record {
  const Event *event;
  int64_t time;
};

class Builder {
public:
  Builder(StringRef name, const Table &table) : table(table) {
    timeline.name = name.str();
  }

  llvm::Error read(llvm::ArrayRef<uint64_t> words);
  Timeline build();

private:
  void addGroup(unsigned group);
  void addProducts(unsigned group);
  void addCopies();
  /// Puts spans that may overlap on as many lanes as they need.
  void addOverlapping(StringRef lane, std::vector<Span> spans);

  const Table &table;
  std::vector<std::vector<Record>> records; ///< by group
  Timeline timeline;
};
} // namespace

unsigned Timeline::addLane(StringRef laneName) {
  lanes.push_back(laneName.str());
  return lanes.size() - 1;
}

llvm::Error Builder::read(llvm::ArrayRef<uint64_t> words) {
  size_t groups = table.groups.size();
  if (!groups || words.size() % groups)
    return makeError("expects a row of records per group, got " +
                     llvm::Twine(words.size()) + " entries for " +
                     llvm::Twine(groups) + " groups");
  size_t capacity = words.size() / groups;
  // The clock has 32 bits; a block lasts less than half its period.
  std::optional<uint32_t> origin;
  int64_t earliest = 0;
  records.resize(groups);
  for (size_t group = 0; group < groups; ++group)
    for (uint64_t word : words.slice(group * capacity, capacity)) {
      if (word == ~uint64_t(0))
        break;
      uint64_t event = word >> 32;
      if (event >= table.events.size())
        return makeError("record of event " + llvm::Twine(event) +
                         ", the table has " + llvm::Twine(table.events.size()));
      auto clock = static_cast<uint32_t>(word);
      if (!origin)
        origin = clock;
      int64_t time = static_cast<int32_t>(clock - *origin);
      earliest = std::min(earliest, time);
      records[group].push_back({&table.events[event], time});
    }
  for (std::vector<Record> &row : records)
    for (Record &record : row)
      record.time -= earliest;
  return llvm::Error::success();
}

static std::string getSpanName(const Event &event) {
  if (event.kind == "wait")
    return "wait for " + event.name;
  if (event.kind == "await")
    return "wait for products";
  if (event.kind == "issue")
    return "issue " + event.name;
  if (event.kind == "sync")
    return "meet";
  if (event.kind == "drain")
    return "wait for stores";
  return event.name;
}

/// What a group waits for and issues; between that it works.
void Builder::addGroup(unsigned group) {
  unsigned lane = timeline.addLane(table.groups[group]);
  std::optional<int64_t> idleSince;
  const Record *open = nullptr;
  for (const Record &record : records[group]) {
    const Event &event = *record.event;
    if (event.phase == Event::Phase::Instant) {
      timeline.marks.push_back({lane,
                                event.kind,
                                event.kind + " " + event.name,
                                {record.time, record.time}});
      continue;
    }
    bool begins = event.phase == Event::Phase::Begin;
    if (event.kind == "role" ? !begins : begins) {
      if (idleSince && record.time > *idleSince)
        timeline.spans.push_back(
            {lane, "work", "work", {*idleSince, record.time}});
      idleSince.reset();
      open = &record;
      continue;
    }
    if (open && event.kind != "role")
      timeline.spans.push_back(
          {lane, event.kind, getSpanName(event), {open->time, record.time}});
    idleSince = record.time;
    open = nullptr;
  }
}

void Builder::addOverlapping(StringRef lane, std::vector<Span> spans) {
  llvm::stable_sort(spans, [](const Span &a, const Span &b) {
    return a.when.begin < b.when.begin;
  });
  std::vector<std::pair<unsigned, int64_t>> lanes; // and when they are free
  for (Span &span : spans) {
    auto free = llvm::find_if(lanes, [&](const auto &candidate) {
      return candidate.second <= span.when.begin;
    });
    if (free == lanes.end()) {
      std::string name = lane.str();
      if (!lanes.empty())
        name += " (" + std::to_string(lanes.size() + 1) + ")";
      lanes.push_back({timeline.addLane(name), 0});
      free = std::prev(lanes.end());
    }
    free->second = span.when.end;
    span.lane = free->first;
    timeline.spans.push_back(std::move(span));
  }
}

/// Products in flight: from their issue to the end of the wait that retires
/// them, which leaves the `pending` youngest groups in flight.
void Builder::addProducts(unsigned group) {
  std::deque<Span> inFlight;
  std::vector<Span> spans;
  for (const Record &record : records[group]) {
    const Event &event = *record.event;
    if (event.kind == "issue" && event.phase == Event::Phase::Begin) {
      inFlight.push_back({0, "product", event.name, {record.time, 0}});
    } else if (event.kind == "await" && event.phase == Event::Phase::End) {
      while (inFlight.size() > static_cast<size_t>(event.pending)) {
        inFlight.front().when.end = record.time;
        spans.push_back(std::move(inFlight.front()));
        inFlight.pop_front();
      }
    }
  }
  if (!spans.empty())
    addOverlapping("products of " + table.groups[group], std::move(spans));
}

/// Copies in flight: from their issue to the first end of a wait for their
/// bytes. Every reader waits for every phase of the barrier, in order.
void Builder::addCopies() {
  struct Queue {
    std::string name;
    std::vector<int64_t> issued;
    std::vector<int64_t> seen;
  };
  std::map<int64_t, Queue> queues; // by barrier
  for (const std::vector<Record> &row : records) {
    std::map<int64_t, size_t> waits;
    for (const Record &record : row) {
      const Event &event = *record.event;
      Queue &queue = queues[event.barrier];
      if (event.kind == "copy") {
        queue.name = event.name;
        queue.issued.push_back(record.time);
      } else if (event.kind == "wait" && event.phase == Event::Phase::End) {
        size_t number = waits[event.barrier]++;
        if (number == queue.seen.size())
          queue.seen.push_back(record.time);
        else
          queue.seen[number] = std::min(queue.seen[number], record.time);
      }
    }
  }
  for (auto &[barrier, queue] : queues) {
    std::vector<Span> spans;
    for (auto [issued, seen] : llvm::zip(queue.issued, queue.seen))
      spans.push_back({0, "copy", queue.name, {issued, seen}});
    if (!spans.empty())
      addOverlapping("copies of " + queue.name, std::move(spans));
  }
}

Timeline Builder::build() {
  for (unsigned group = 0; group < records.size(); ++group)
    addGroup(group);
  for (unsigned group = 0; group < records.size(); ++group)
    addProducts(group);
  addCopies();
  findSteadyState(timeline);
  return std::move(timeline);
}

llvm::Expected<Timeline>
fa3::trace::buildTimeline(StringRef name, const Table &table,
                          llvm::ArrayRef<uint64_t> words) {
  Builder builder(name, table);
  if (llvm::Error error = builder.read(words))
    return std::move(error);
  return builder.build();
}

//===----------------------------------------------------------------------===//
// Steady state
//===----------------------------------------------------------------------===//

void fa3::trace::findSteadyState(Timeline &timeline) {
  // The issue that is repeated most often, in the first lane that has it.
  std::map<std::pair<unsigned, std::string>, std::vector<int64_t>> issues;
  for (const Span &span : timeline.spans)
    if (span.kind == "issue")
      issues[{span.lane, span.name}].push_back(span.when.begin);
  const std::vector<int64_t> *most = nullptr;
  for (auto &[key, times] : issues)
    if (!most || times.size() > most->size())
      most = &times;
  if (!most || most->size() < 3)
    return;
  std::vector<int64_t> lengths;
  for (size_t i = 0; i + 1 < most->size(); ++i)
    lengths.push_back((*most)[i + 1] - (*most)[i]);
  std::vector<int64_t> sorted = lengths;
  std::sort(sorted.begin(), sorted.end());
  int64_t median = sorted[sorted.size() / 2];
  timeline.iteration = median;
  // Two iterations in a row that differ least from the median; of equal ones
  // the middle one.
  size_t best = 0;
  auto getDistance = [&](size_t i) {
    return std::abs(lengths[i] - median) + std::abs(lengths[i + 1] - median);
  };
  size_t last = lengths.size() - 1, middle = last / 2;
  for (size_t i = 0; i < last; ++i) {
    auto rank = [&](size_t k) {
      return std::pair(getDistance(k),
                       std::max(k, middle) - std::min(k, middle));
    };
    if (rank(i) < rank(best))
      best = i;
  }
  timeline.steady = {(*most)[best], (*most)[best + 2]};
}
