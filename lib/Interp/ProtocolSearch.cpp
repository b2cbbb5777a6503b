//===- ProtocolSearch.cpp - all schedules of a block's synchronization ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Depth-first search over the states of the protocol. An agent goes on by a
// *turn*: it passes what blocks it, then accesses memory, then arrives, and
// stops before it blocks or accesses memory again. Turns as units reach every
// outcome that single events reach (R. J. Lipton, "Reduction", CACM 1975):
// waiting can be moved later and arriving earlier past events of others, and an
// access that does not commute with one of another agent is an error that one
// of the two orders of the turns shows.
//===----------------------------------------------------------------------===//

#include "fa3/Interp/ProtocolSearch.h"
#include "fa3/Interp/Mbarrier.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/xxhash.h"

using namespace fa3::interp;

uint64_t Protocol::getHash() const {
  std::vector<uint64_t> words;
  for (const Agent &agent : agents) {
    words.push_back(agent.events.size());
    for (const Event &e : agent.events) {
      words.insert(words.end(),
                   {uint64_t(e.kind), reinterpret_cast<uintptr_t>(e.op),
                    uint64_t(e.barrier), uint64_t(e.amount), uint64_t(e.queue),
                    uint64_t(e.threads), e.ranges.size()});
      for (const ByteRange &range : e.ranges)
        words.insert(words.end(), {uint64_t(range.begin), uint64_t(range.end)});
    }
  }
  return llvm::xxh3_64bits(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(words.data()),
                     words.size() * sizeof(uint64_t)));
}

namespace {

/// Shared memory between two neighboring bounds of any access.
using CellRange = std::pair<unsigned, unsigned>;

/// An event with what it refers to numbered.
struct Step {
  const Event *event;
  unsigned barrier = 0;
  llvm::SmallVector<CellRange, 2> cells;
  /// Of an asynchronous read: the event of its agent that has waited for it. Of
  /// a wait: the one after which all warps of the group have passed it.
  unsigned retired = 0;
  /// Identity of what a write leaves behind; not 0.
  uint32_t version = 0;
  int64_t bytes = 0;
};

struct Named {
  int64_t arrived = 0, threads = 0, generation = 0;
};

struct State {
  llvm::SmallVector<uint32_t, 6> positions;
  /// Generation + 1 of the barrier of threads that an agent waits for; 0 if
  /// none. Its number is that of the agent's last event.
  llvm::SmallVector<int64_t, 6> syncing;
  std::vector<Mbarrier> barriers;
  llvm::SmallVector<Named, 4> named;
  int64_t freeRegisters = 0;
  /// Loads in flight as (agent, event).
  llvm::SmallVector<std::pair<uint32_t, uint32_t>, 8> loads;
  /// Per cell the version, doubled, plus 1 while a load writes it.
  std::vector<uint32_t> cells;
};

class StateSearch {
public:
  StateSearch(const Protocol &protocol, int64_t limit)
      : protocol(protocol), limit(limit) {}

  Exploration run();

private:
  void prepare();
  void number(Step &step);
  State start() const;

  bool isDone(const State &s, unsigned agent) const {
    return s.positions[agent] == steps[agent].size();
  }
  bool hasStarted(const State &s, unsigned agent) const {
    return agent == 0 || s.positions[0] > forkOf[agent];
  }
  bool canGoOn(const State &s, unsigned agent) const;
  bool takeTurn(State &s, unsigned agent);
  bool execute(State &s, unsigned agent, const Step &step);
  bool land(State &s, unsigned place);

  static unsigned findJoin(llvm::ArrayRef<Step> list, unsigned wait);
  bool advance(State &s, const Step &step, bool legal, const char *message,
               int64_t phase);
  bool read(State &s, const Step &step);
  bool checkWrite(const State &s, const Step &step);
  bool sync(State &s, unsigned agent, const Step &step);

  bool isNew(const State &s);
  bool fail(const State &s, std::string message, mlir::Operation *op);

  const Protocol &protocol;
  int64_t limit;
  Exploration result;
  std::vector<std::vector<Step>> steps;
  /// The body's event that starts an agent.
  std::vector<unsigned> forkOf;
  llvm::DenseMap<int64_t, unsigned> barrierNumber;
  std::vector<int64_t> bounds;
  unsigned numNamed = 0;
  /// What a read saw the first time it was executed, per cell.
  llvm::DenseMap<std::pair<const Step *, unsigned>, uint32_t> seen;
  llvm::DenseSet<std::pair<uint64_t, uint64_t>> visited;
};

} // namespace

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

void StateSearch::prepare() {
  for (const Agent &agent : protocol.agents)
    for (const Event &event : agent.events) {
      for (const ByteRange &range : event.ranges)
        bounds.insert(bounds.end(), {range.begin, range.end});
      if (event.kind == Event::Sync || event.kind == Event::Reach)
        numNamed = std::max<unsigned>(numNamed, event.barrier + 1);
      else if (event.kind <= Event::Load)
        barrierNumber.try_emplace(event.barrier, barrierNumber.size());
    }
  llvm::sort(bounds);
  bounds.erase(llvm::unique(bounds), bounds.end());
  uint32_t version = 0;
  for (const Agent &agent : protocol.agents) {
    std::vector<Step> &list = steps.emplace_back();
    for (const Event &event : agent.events) {
      // Boxes of one transfer land together: their barrier cannot tell.
      if (!list.empty() && event.kind == Event::Load &&
          list.back().event->kind == Event::Load &&
          list.back().event->barrier == event.barrier) {
        Step &last = list.back();
        Step more{&event};
        number(more);
        llvm::append_range(last.cells, more.cells);
        last.bytes += more.bytes;
        continue;
      }
      Step &step = list.emplace_back(Step{&event});
      step.version = ++version;
      number(step);
      ++result.events;
    }
    for (auto it = list.begin(); it != list.end(); ++it)
      if (it->event->kind == Event::Wait)
        it->retired = findJoin(list, it - list.begin());
      else if (it->event->kind == Event::AsyncRead)
        it->retired =
            std::find_if(it, list.end(),
                         [&](const Step &s) {
                           return s.event->kind == Event::Retire &&
                                  s.event->queue == it->event->queue &&
                                  s.event->amount >= it->event->amount;
                         }) -
            list.begin();
  }
  forkOf.assign(steps.size(), 0);
  unsigned first = 1;
  for (auto [i, step] : llvm::enumerate(steps.front()))
    if (step.event->kind == Event::Fork)
      for (; first < steps.size() && first < step.event->amount; ++first)
        forkOf[first] = i;
}

/// The warps of a group pass a wait one by one. They are known to have passed
/// it after a barrier of the group, or after waiting for a product that was
/// issued since: all warps take part in it. A single warp moves in step.
unsigned StateSearch::findJoin(llvm::ArrayRef<Step> list, unsigned wait) {
  if (list[wait].event->threads <= 32)
    return wait;
  int64_t batch = -1;
  for (unsigned i = wait + 1; i < list.size(); ++i) {
    const Event &event = *list[i].event;
    if (event.kind == Event::Sync)
      return i;
    if (event.queue != 0)
      continue;
    if (event.kind == Event::AsyncRead && batch < 0)
      batch = event.amount;
    if (event.kind == Event::Retire && batch >= 0 && event.amount >= batch)
      return i;
  }
  return list.size();
}

void StateSearch::number(Step &step) {
  if (step.event->kind == Event::Sync || step.event->kind == Event::Reach)
    step.barrier = step.event->barrier;
  else if (step.event->kind <= Event::Load)
    step.barrier = barrierNumber.lookup(step.event->barrier);
  for (const ByteRange &range : step.event->ranges) {
    unsigned begin = llvm::lower_bound(bounds, range.begin) - bounds.begin();
    unsigned end = llvm::lower_bound(bounds, range.end) - bounds.begin();
    step.cells.push_back({begin, end});
    step.bytes += range.end - range.begin;
  }
}

State StateSearch::start() const {
  State state;
  state.positions.assign(steps.size(), 0);
  state.syncing.assign(steps.size(), 0);
  state.barriers.assign(barrierNumber.size(), Mbarrier(1));
  state.named.resize(numNamed);
  state.cells.assign(bounds.size(), 0);
  return state;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

bool StateSearch::fail(const State &s, std::string message,
                       mlir::Operation *op) {
  result.error = std::move(message);
  result.op = op;
  for (auto [i, agent] : llvm::enumerate(protocol.agents)) {
    if (!hasStarted(s, i) || isDone(s, i))
      continue;
    result.places.push_back(
        {agent.name, steps[i][s.positions[i]].event->op, !canGoOn(s, i)});
  }
  return false;
}

bool StateSearch::canGoOn(const State &s, unsigned agent) const {
  if (!hasStarted(s, agent) || isDone(s, agent))
    return false;
  unsigned position = s.positions[agent];
  if (s.syncing[agent]) {
    const Step &last = steps[agent][position - 1];
    if (s.named[last.barrier].generation < s.syncing[agent])
      return false;
  }
  const Step &next = steps[agent][position];
  switch (next.event->kind) {
  case Event::Wait:
    return s.barriers[next.barrier].hasCompleted(next.event->amount);
  case Event::Registers:
    return next.event->amount <= s.freeRegisters;
  case Event::Join:
    for (int64_t other = 1; other < next.event->amount; ++other) {
      if (!isDone(s, other))
        return false;
      // The last event may be a barrier of threads.
      if (int64_t generation = s.syncing[other])
        if (s.named[steps[other].back().barrier].generation < generation)
          return false;
    }
    return true;
  default:
    return true;
  }
}

static bool blocks(Event::Kind kind, int64_t amount) {
  return kind == Event::Wait || kind == Event::Sync || kind == Event::Join ||
         kind == Event::Fork || (kind == Event::Registers && amount > 0);
}

bool StateSearch::takeTurn(State &s, unsigned agent) {
  const std::vector<Step> &list = steps[agent];
  s.syncing[agent] = 0;
  bool first = true, hasArrived = false;
  for (uint32_t &position = s.positions[agent]; position < list.size();
       first = false) {
    const Step &step = list[position];
    Event::Kind kind = step.event->kind;
    bool arrives = kind == Event::Arrive || kind == Event::Expect ||
                   kind == Event::Reach ||
                   (kind == Event::Registers && step.event->amount <= 0);
    if (!first && blocks(kind, step.event->amount))
      break;
    if (hasArrived && !arrives)
      break;
    hasArrived |= arrives;
    ++position;
    if (!execute(s, agent, step))
      return false;
    if (kind == Event::Sync || kind == Event::Fork)
      break;
  }
  return true;
}

bool StateSearch::execute(State &s, unsigned agent, const Step &step) {
  const Event &event = *step.event;
  switch (event.kind) {
  case Event::Init:
    s.barriers[step.barrier] = Mbarrier(event.amount);
    return true;
  case Event::Expect:
    if (!s.barriers[step.barrier].expect(event.amount))
      return fail(s, "expects more bytes than an mbarrier counts", event.op);
    [[fallthrough]];
  case Event::Arrive: {
    int64_t phase = s.barriers[step.barrier].getPhase();
    return advance(s, step, s.barriers[step.barrier].arrive(),
                   "is one arrival too many", phase);
  }
  case Event::Load: {
    if (!checkWrite(s, step))
      return false;
    for (auto [begin, end] : step.cells)
      std::fill(s.cells.begin() + begin, s.cells.begin() + end,
                2 * step.version + 1);
    std::pair<uint32_t, uint32_t> load(agent, s.positions[agent] - 1);
    s.loads.insert(llvm::lower_bound(s.loads, load), load);
    return true;
  }
  case Event::AsyncRead:
  case Event::Read:
    return read(s, step);
  case Event::Write:
    if (!checkWrite(s, step))
      return false;
    for (auto [begin, end] : step.cells)
      std::fill(s.cells.begin() + begin, s.cells.begin() + end,
                2 * step.version);
    return true;
  case Event::Sync:
  case Event::Reach:
    return sync(s, agent, step);
  case Event::Registers:
    s.freeRegisters -= event.amount;
    return true;
  case Event::Wait:
  case Event::Retire:
  case Event::Fork:
  case Event::Join:
    return true;
  }
  return true;
}

/// After an arrival or a copy: if that has completed a phase, all warps have to
/// have seen the phase before, which they wait for by parity.
bool StateSearch::advance(State &s, const Step &step, bool legal,
                          const char *message, int64_t phase) {
  if (!legal)
    return fail(s, message, step.event->op);
  if (s.barriers[step.barrier].getPhase() == phase)
    return true;
  for (auto [agent, list] : llvm::enumerate(steps))
    for (unsigned i = 0, end = s.positions[agent]; i < end; ++i)
      if (list[i].event->kind == Event::Wait && list[i].retired >= end &&
          list[i].barrier == step.barrier)
        return fail(s,
                    "may complete another phase of an mbarrier before all "
                    "warps of " +
                        protocol.agents[agent].name +
                        " have passed their wait for the one before",
                    step.event->op);
  return true;
}

bool StateSearch::read(State &s, const Step &step) {
  for (auto [begin, end] : step.cells)
    for (unsigned cell = begin; cell < end; ++cell) {
      uint32_t value = s.cells[cell];
      std::string at =
          " byte " + std::to_string(bounds[cell]) + " of shared memory";
      if (value & 1)
        return fail(s, "may read" + at + " while a TMA load writes it",
                    step.event->op);
      auto [it, isFirst] = seen.try_emplace({&step, cell}, value);
      if (it->second != value)
        return fail(s,
                    "reads" + at +
                        ", where another order of events leaves other data",
                    step.event->op);
    }
  return true;
}

bool StateSearch::checkWrite(const State &s, const Step &step) {
  for (auto [begin, end] : step.cells)
    for (unsigned cell = begin; cell < end; ++cell)
      if (s.cells[cell] & 1)
        return fail(s, "may write bytes that a TMA load in flight writes",
                    step.event->op);
  for (auto [agent, list] : llvm::enumerate(steps)) {
    for (unsigned i = 0, end = s.positions[agent]; i < end; ++i) {
      const Step &reader = list[i];
      if (reader.event->kind != Event::AsyncRead || reader.retired < end)
        continue;
      for (auto [begin, last] : reader.cells)
        for (auto [from, to] : step.cells)
          if (begin < to && from < last)
            return fail(s, "may write bytes that an operation in flight reads",
                        step.event->op);
    }
  }
  return true;
}

bool StateSearch::sync(State &s, unsigned agent, const Step &step) {
  Named &barrier = s.named[step.barrier];
  const Event &event = *step.event;
  if (barrier.arrived == 0)
    barrier.threads = event.amount;
  barrier.arrived += event.threads;
  if (barrier.threads != event.amount || barrier.arrived > barrier.threads)
    return fail(s, "meets others at a barrier for another number of threads",
                event.op);
  if (event.kind == Event::Sync)
    s.syncing[agent] = barrier.generation + 1;
  if (barrier.arrived == barrier.threads) {
    barrier.arrived = 0;
    ++barrier.generation;
  }
  return true;
}

bool StateSearch::land(State &s, unsigned place) {
  auto [agent, position] = s.loads[place];
  const Step &step = steps[agent][position];
  s.loads.erase(s.loads.begin() + place);
  for (auto [begin, end] : step.cells)
    for (unsigned cell = begin; cell < end; ++cell)
      s.cells[cell] = 2 * step.version;
  int64_t phase = s.barriers[step.barrier].getPhase();
  return advance(s, step, s.barriers[step.barrier].complete(step.bytes),
                 "copies bytes that its mbarrier does not expect", phase);
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

bool StateSearch::isNew(const State &s) {
  llvm::SmallVector<uint64_t, 256> words;
  for (auto [position, syncing] : llvm::zip_equal(s.positions, s.syncing))
    words.append({position, uint64_t(syncing)});
  for (const Mbarrier &barrier : s.barriers)
    words.append({uint64_t(barrier.getPhase()),
                  uint64_t(barrier.getPendingArrivals()),
                  uint64_t(barrier.getPendingBytes())});
  for (const Named &named : s.named)
    words.append({uint64_t(named.arrived), uint64_t(named.threads),
                  uint64_t(named.generation)});
  words.push_back(s.freeRegisters);
  for (auto [agent, position] : s.loads)
    words.push_back(uint64_t(agent) << 32 | position);
  words.append(s.cells.begin(), s.cells.end());
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(words.data()),
                     words.size() * sizeof(uint64_t)));
  // The set reserves two keys; no hash may be one of them.
  return visited.insert({hash.low64 >> 1, hash.high64 >> 1}).second;
}

Exploration StateSearch::run() {
  prepare();
  struct Node {
    State state;
    /// The next choice: agents, then loads in flight.
    unsigned choice = 0;
    bool moved = false;
  };
  std::vector<Node> stack;
  stack.push_back({start()});
  result.states = 1;
  isNew(stack.back().state);
  while (!stack.empty()) {
    Node &node = stack.back();
    unsigned numAgents = steps.size();
    if (node.choice == numAgents + node.state.loads.size()) {
      bool ended = llvm::all_of(llvm::seq(numAgents), [&](unsigned agent) {
        return isDone(node.state, agent);
      });
      if (!node.moved && !ended) {
        fail(node.state, "all groups wait for each other", nullptr);
        return result;
      }
      stack.pop_back();
      continue;
    }
    unsigned choice = node.choice++;
    if (choice < numAgents && !canGoOn(node.state, choice))
      continue;
    node.moved = true;
    State next = node.state;
    bool legal = choice < numAgents ? takeTurn(next, choice)
                                    : land(next, choice - numAgents);
    if (!legal)
      return result;
    if (!isNew(next))
      continue;
    if (result.states == limit)
      return result;
    ++result.states;
    stack.push_back({std::move(next)});
  }
  result.complete = true;
  return result;
}

Exploration fa3::interp::explore(const Protocol &protocol, int64_t limit) {
  return StateSearch(protocol, limit).run();
}
