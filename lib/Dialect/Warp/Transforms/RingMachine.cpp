//===- RingMachine.cpp - what accesses to rings do ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "RingMachine.h"

using namespace mlir;
using namespace fa3::warp;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Cursors and slots are the number of an end and that of an entry; tokens and
/// pending results are the number of an access of their process and its queue.
static constexpr int64_t kNumbers = int64_t(1) << 40;
enum Queue : unsigned { kMatrix, kBulk, kNumQueues };

static int64_t makeToken(int64_t serial, unsigned queue) {
  return serial * kNumQueues + queue;
}

/// A value that an asynchronous operation will complete: linear, and neither a
/// cursor nor a slot nor a turn.
static bool isPending(Type type) {
  return isa<LinearTypeInterface>(type) &&
         !isa<CursorType, SlotType, TurnType>(type);
}

bool fa3::warp::isRingValue(Type type) {
  return isa<LinearTypeInterface, DoneType>(type) && !isa<TurnType>(type);
}

bool fa3::warp::isRingInstruction(Operation *op) {
  if (isa<CursorOp, AcquireOp, PublishOp, ReleaseOp, ReadyOp, WaitOp,
          TakeTurnOp, PassTurnOp>(op) ||
      isa<AccessOpInterface>(op))
    return true;
  // What waits for, or makes, pending results; control passes them on.
  return op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
         (llvm::any_of(op->getOperandTypes(), isPending) ||
          llvm::any_of(op->getResultTypes(), isPending));
}

/// The slot that a view borrows, null if it cannot be followed.
static Value getBorrowedSlot(Value view) {
  Operation *op = view.getDefiningOp();
  if (!op || !op->hasTrait<BorrowsLinear>())
    return {};
  for (Value operand : op->getOperands())
    if (isa<SlotType>(operand.getType()))
      return operand;
  return {};
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

/// An acquired entry that was not handed over yet.
struct RingMachine::Entry {
  int64_t number;
  /// Latest access in either queue, 0 if none, and the operation.
  int64_t last[kNumQueues] = {0, 0};
  Operation *accesses[kNumQueues] = {nullptr, nullptr};
  Operation *acquire = nullptr;
};

struct RingMachine::State : MachineState {
  struct End {
    int64_t acquired = 0;
    SmallVector<Entry, 2> held;
    Operation *lastHanded = nullptr;
  };
  struct Process {
    int64_t serial = 0;
    int64_t retired[kNumQueues] = {0, 0};
  };
  /// Of one replica in one order.
  struct Turns {
    int64_t taken = 0, passed = 0;
  };
  std::vector<End> ends;
  std::vector<Turns> turns;
  std::vector<Process> processes;

  std::unique_ptr<MachineState> clone() const override {
    return std::make_unique<State>(*this);
  }
};

void RingMachine::addProcess(GroupOp group, int64_t replica, unsigned p) {
  group.walk([&](CursorOp cursor) {
    auto ring = cursor.getRing().getDefiningOp<RingOp>();
    if (!ring)
      return;
    bool isPrivate = ring->getParentOfType<GroupOp>();
    auto [entry, isNew] =
        ringOf.try_emplace({ring, isPrivate ? p : ~0u}, rings.size());
    if (isNew)
      rings.push_back({ring, {}});
    endOf[{cursor, p}] = ends.size();
    bool isIdle = !cursor.isActive(replica);
    if (!isIdle)
      rings[entry->second].ends.push_back(ends.size());
    ends.push_back({entry->second, p, cursor, cursor.getSide(),
                    cursor.getPartOf(replica), isIdle});
  });
  llvm::SmallPtrSet<Operation *, 2> orders;
  group.walk([&](TakeTurnOp take) {
    OrderedBarrierOp order = take.getOrderedBarrier();
    if (order && orders.insert(order).second)
      membersOf[order].push_back({p, numTurns++});
  });
}

std::unique_ptr<MachineState> RingMachine::start() {
  auto state = std::make_unique<State>();
  state->ends.resize(ends.size());
  unsigned numProcesses = 0;
  for (auto [i, end] : llvm::enumerate(ends)) {
    numProcesses = std::max(numProcesses, end.process + 1);
    if (end.writes())
      state->ends[i].acquired =
          rings[end.ring].op.getRing().getType().getInitial();
  }
  for (auto &[order, members] : membersOf)
    for (const Member &member : members)
      numProcesses = std::max(numProcesses, member.process + 1);
  state->processes.resize(numProcesses);
  state->turns.resize(numTurns);
  return state;
}

std::optional<unsigned> RingMachine::getEnd(int64_t value) const {
  if (value == kUnknown)
    return std::nullopt;
  return value / kNumbers;
}

int64_t RingMachine::evaluate(const JointState &, unsigned, Value) {
  return kUnknown;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

std::optional<unsigned> RingMachine::findBlocker(const State &state,
                                                 unsigned end,
                                                 int64_t number) const {
  if (ends[end].isIdle)
    return std::nullopt;
  const RingInfo &ring = rings[ends[end].ring];
  RingType type = ring.op.getRing().getType();
  bool writes = ends[end].writes();
  // A writer needs what the entry held `depth` entries ago to be released.
  if (writes)
    number -= type.getDepth();
  for (unsigned other : ring.ends) {
    if (ends[other].writes() == writes)
      continue;
    const State::End &there = state.ends[other];
    bool holds = llvm::any_of(
        there.held, [&](const Entry &entry) { return entry.number == number; });
    if (number >= there.acquired || holds)
      return other;
  }
  return std::nullopt;
}

Machine::Step RingMachine::acquire(JointState &state, unsigned p,
                                   AcquireOp op) {
  auto &machine = static_cast<State &>(*state.machine);
  int64_t cursor = Explorer::get(state, p, op.getCursor(), *this);
  std::optional<unsigned> end = getEnd(cursor);
  if (!end || rings[ends[*end].ring].op.getRing() != op.getRing()) {
    InFlightDiagnostic diagnostic = op.emitOpError(
        "expects a cursor of the ring it acquires from on every path");
    if (end)
      diagnostic.attachNote(ends[*end].cursor.getLoc())
          << "this cursor of another ring may get here";
    Explorer::explainPath(state, p, diagnostic);
    return Step::Failed;
  }
  State::End &here = machine.ends[*end];
  int64_t number = cursor % kNumbers;
  if (number != here.acquired) {
    InFlightDiagnostic diagnostic =
        op.emitOpError("acquires entry ")
        << number << " of the ring, but the group has acquired "
        << here.acquired << " already";
    Explorer::explainPath(state, p, diagnostic);
    return Step::Failed;
  }
  if (findBlocker(machine, *end, number))
    return Step::Blocked;
  ++here.acquired;
  Entry entry;
  entry.number = number;
  entry.acquire = op;
  here.held.push_back(entry);
  Explorer::set(state, p, op.getSlot(), cursor);
  Explorer::set(state, p, op.getNext(), cursor + 1);
  return Step::Done;
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

const RingMachine::Member &RingMachine::getMember(OrderedBarrierOp order,
                                                  unsigned p,
                                                  int64_t distance) const {
  const auto &members = membersOf.find(order)->second;
  const auto *self = llvm::find_if(
      members, [&](const Member &member) { return member.process == p; });
  int64_t number = members.size();
  return members[(self - members.begin() + distance + number) % number];
}

bool RingMachine::hasTurn(const State &state, OrderedBarrierOp order,
                          unsigned p) const {
  const Member &self = getMember(order, p, 0);
  // The first turn of all is passed by nobody.
  int64_t first = &self == &membersOf.find(order)->second.front() ? 1 : 0;
  return state.turns[getMember(order, p, -1).turns].passed + first >
         state.turns[self.turns].taken;
}

Machine::Step RingMachine::take(JointState &state, unsigned p, TakeTurnOp op) {
  auto &machine = static_cast<State &>(*state.machine);
  OrderedBarrierOp order = op.getOrderedBarrier();
  if (!order) {
    op.emitOpError(
        "expects an order that is the result of a 'warp.ordered_barrier'");
    return Step::Failed;
  }
  if (!hasTurn(machine, order, p))
    return Step::Blocked;
  ++machine.turns[getMember(order, p, 0).turns].taken;
  return Step::Done;
}

Machine::Step RingMachine::pass(JointState &state, unsigned p, PassTurnOp op) {
  auto &machine = static_cast<State &>(*state.machine);
  auto take = op.getTurn().getDefiningOp<TakeTurnOp>();
  ++machine.turns[getMember(take.getOrderedBarrier(), p, 0).turns].passed;
  return Step::Done;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// To wait for a value is to wait for all that is older in its queue.
void RingMachine::retire(JointState &state, unsigned p, ValueRange values) {
  auto &machine = static_cast<State &>(*state.machine);
  for (Value value : values) {
    int64_t serial = Explorer::get(state, p, value, *this);
    if (serial == kUnknown)
      continue;
    int64_t &retired = machine.processes[p].retired[serial % kNumQueues];
    retired = std::max(retired, serial / kNumQueues);
  }
}

Machine::Step RingMachine::hand(JointState &state, unsigned p, Operation *op,
                                Value slot, ValueRange after) {
  auto &machine = static_cast<State &>(*state.machine);
  State::Process &process = machine.processes[p];
  int64_t value = Explorer::get(state, p, slot, *this);
  std::optional<unsigned> end = getEnd(value);
  auto *entry = end ? llvm::find_if(machine.ends[*end].held,
                                    [&](const Entry &entry) {
                                      return entry.number == value % kNumbers;
                                    })
                    : nullptr;
  if (!end || entry == machine.ends[*end].held.end()) {
    InFlightDiagnostic diagnostic =
        op->emitOpError("hands over an entry that the group does not hold");
    if (end && machine.ends[*end].lastHanded)
      diagnostic.attachNote(machine.ends[*end].lastHanded->getLoc())
          << "an entry was handed over here";
    Explorer::explainPath(state, p, diagnostic);
    return Step::Failed;
  }
  retire(state, p, after);
  for (unsigned queue = 0; queue < kNumQueues; ++queue) {
    if (entry->last[queue] <= process.retired[queue])
      continue;
    InFlightDiagnostic diagnostic = op->emitOpError(
        "hands over an entry that an asynchronous operation may still access");
    diagnostic.attachNote(entry->accesses[queue]->getLoc())
        << "this access was neither awaited nor is it covered by 'after'";
    diagnostic.attachNote(entry->acquire->getLoc())
        << "the entry was acquired here";
    Explorer::explainPath(state, p, diagnostic);
    return Step::Failed;
  }
  machine.ends[*end].held.erase(entry);
  machine.ends[*end].lastHanded = op;
  return Step::Done;
}

Machine::Step RingMachine::access(JointState &state, unsigned p,
                                  AccessOpInterface op) {
  auto &machine = static_cast<State &>(*state.machine);
  State::Process &process = machine.processes[p];
  Completion completion = op.getCompletion();
  bool inFlight = completion == Completion::MatrixGroup ||
                  completion == Completion::BulkGroup;
  unsigned queue = completion == Completion::BulkGroup ? kBulk : kMatrix;
  int64_t serial = inFlight ? ++process.serial : 0;

  auto visit = [&](Value view, bool writes) -> LogicalResult {
    Value slot = getBorrowedSlot(view);
    if (!slot)
      return op->emitOpError("accesses a view whose slot cannot be followed");
    int64_t value = Explorer::get(state, p, slot, *this);
    std::optional<unsigned> end = getEnd(value);
    auto fail = [&](StringRef what) -> LogicalResult {
      InFlightDiagnostic diagnostic = op->emitOpError(what);
      if (end && machine.ends[*end].lastHanded)
        diagnostic.attachNote(machine.ends[*end].lastHanded->getLoc())
            << "an entry of the ring was handed over here";
      Explorer::explainPath(state, p, diagnostic);
      return failure();
    };
    if (!end)
      return fail("accesses an entry that the group does not hold");
    for (Entry &entry : machine.ends[*end].held)
      if (entry.number == value % kNumbers) {
        for (unsigned other = 0; writes && other < kNumQueues; ++other)
          if (entry.last[other] > process.retired[other] &&
              !ends[*end].writes()) {
            InFlightDiagnostic diagnostic = op->emitOpError(
                "overwrites an entry that an asynchronous operation may still "
                "read");
            diagnostic.attachNote(entry.accesses[other]->getLoc())
                << "nothing has waited for this access";
            Explorer::explainPath(state, p, diagnostic);
            return failure();
          }
        if (inFlight) {
          entry.last[queue] = serial;
          entry.accesses[queue] = op;
        }
        return success();
      }
    return fail("accesses an entry that was handed over");
  };
  for (Value view : op.getReadViews())
    if (failed(visit(view, /*writes=*/false)))
      return Step::Failed;
  for (Value view : op.getWrittenViews())
    if (failed(visit(view, /*writes=*/true)))
      return Step::Failed;
  for (Value result : op->getResults())
    if (isRingValue(result.getType()))
      Explorer::set(state, p, result, makeToken(serial, queue));
  return Step::Done;
}

Machine::Step RingMachine::execute(JointState &state, unsigned p,
                                   Operation *op) {
  auto &machine = static_cast<State &>(*state.machine);
  if (auto cursor = dyn_cast<CursorOp>(op)) {
    auto it = endOf.find({op, p});
    if (it == endOf.end()) {
      op->emitOpError("expects a ring that is the result of a 'warp.ring'");
      return Step::Failed;
    }
    Explorer::set(state, p, cursor.getCursor(),
                  it->second * kNumbers + machine.ends[it->second].acquired);
    return Step::Done;
  }
  if (auto acquireOp = dyn_cast<AcquireOp>(op))
    return acquire(state, p, acquireOp);
  if (auto publish = dyn_cast<PublishOp>(op))
    return hand(state, p, op, publish.getSlot(), {});
  if (auto release = dyn_cast<ReleaseOp>(op))
    return hand(state, p, op, release.getSlot(), release.getAfter());
  if (auto takeOp = dyn_cast<TakeTurnOp>(op))
    return take(state, p, takeOp);
  if (auto passOp = dyn_cast<PassTurnOp>(op))
    return pass(state, p, passOp);
  if (auto accessOp = dyn_cast<AccessOpInterface>(op))
    return access(state, p, accessOp);
  if (auto wait = dyn_cast<WaitOp>(op)) {
    retire(state, p, wait.getTokens());
    return Step::Done;
  }
  // Something else that uses pending values up has waited for them; what it
  // makes itself is complete.
  for (Value operand : op->getOperands())
    if (isPending(operand.getType()))
      retire(state, p, operand);
  for (Value result : op->getResults())
    if (isRingValue(result.getType()))
      Explorer::set(state, p, result, makeToken(0, kMatrix));
  return Step::Done;
}

LogicalResult RingMachine::end(JointState &state, unsigned p) {
  const auto &machine = static_cast<const State &>(*state.machine);
  for (auto [i, end] : llvm::enumerate(ends)) {
    if (end.process != p || machine.ends[i].held.empty())
      continue;
    InFlightDiagnostic diagnostic =
        machine.ends[i].held.front().acquire->emitOpError(
            "acquires an entry that is never ")
        << (end.writes() ? "published" : "released");
    Explorer::explainPath(state, p, diagnostic);
    return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// States relative to each other
//===----------------------------------------------------------------------===//

void RingMachine::serialize(const JointState &state,
                            std::vector<int64_t> &key) const {
  const auto &machine = static_cast<const State &>(*state.machine);
  std::vector<int64_t> base(rings.size(), std::numeric_limits<int64_t>::max());
  for (auto [i, end] : llvm::enumerate(ends)) {
    int64_t &least = base[end.ring];
    least = std::min(least, machine.ends[i].acquired);
    for (const Entry &entry : machine.ends[i].held)
      least = std::min(least, entry.number);
  }

  // Accesses count by their order, those that have retired not at all.
  std::vector<SmallVector<int64_t>> live(state.processes.size());
  auto isLive = [&](unsigned p, int64_t token) {
    return token != kUnknown && p < machine.processes.size() &&
           token / kNumQueues >
               machine.processes[p].retired[token % kNumQueues];
  };
  auto forEachToken = [&](unsigned p, auto callback) {
    const Process &process = state.processes[p];
    for (auto [value, number] : process.program->getRegisters())
      if (!isa<CursorType, SlotType>(value.getType()))
        callback(number, process.registers[number]);
  };
  for (auto [i, end] : llvm::enumerate(ends))
    for (const Entry &entry : machine.ends[i].held)
      for (unsigned queue = 0; queue < kNumQueues; ++queue)
        if (int64_t token = makeToken(entry.last[queue], queue);
            isLive(end.process, token))
          live[end.process].push_back(token);
  for (unsigned p = 0; p < state.processes.size(); ++p) {
    forEachToken(p, [&](unsigned, int64_t token) {
      if (isLive(p, token))
        live[p].push_back(token);
    });
    llvm::sort(live[p]);
    live[p].erase(llvm::unique(live[p]), live[p].end());
  }
  auto getRank = [&](unsigned p, int64_t token) -> int64_t {
    return isLive(p, token)
               ? llvm::lower_bound(live[p], token) - live[p].begin() + 1
               : 0;
  };

  for (auto [i, end] : llvm::enumerate(ends)) {
    key.push_back(machine.ends[i].acquired - base[end.ring]);
    key.push_back(machine.ends[i].held.size());
    for (const Entry &entry : machine.ends[i].held) {
      key.push_back(entry.number - base[end.ring]);
      for (unsigned queue = 0; queue < kNumQueues; ++queue)
        key.push_back(
            getRank(end.process, makeToken(entry.last[queue], queue)));
    }
  }
  for (const auto &[order, members] : membersOf) {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const Member &member : members)
      least = std::min(least, machine.turns[member.turns].passed);
    for (const Member &member : members) {
      key.push_back(machine.turns[member.turns].taken - least);
      key.push_back(machine.turns[member.turns].passed - least);
    }
  }
  for (unsigned p = 0; p < state.processes.size(); ++p) {
    const Process &process = state.processes[p];
    size_t first = key.size();
    key.resize(first + process.registers.size());
    for (auto [value, number] : process.program->getRegisters()) {
      int64_t content = process.registers[number];
      bool isCursor = isa<CursorType>(value.getType());
      if (content != kUnknown && (isCursor || isa<SlotType>(value.getType()))) {
        // Cursors and slots that were used up stay in registers, but nothing
        // uses them again.
        const State::End &end = machine.ends[content / kNumbers];
        int64_t entry = content % kNumbers;
        bool isLive = isCursor ? entry == end.acquired
                               : llvm::any_of(end.held, [&](const Entry &held) {
                                   return held.number == entry;
                                 });
        content =
            isLive ? content - base[ends[content / kNumbers].ring] : kUnknown;
      } else if (content != kUnknown)
        content = getRank(p, content) * kNumQueues + content % kNumQueues;
      key[first + number] = content;
    }
  }
}

void RingMachine::explain(const JointState &state, unsigned p,
                          InFlightDiagnostic &diagnostic) {
  const auto &machine = static_cast<const State &>(*state.machine);
  Operation *op = state.processes[p].getInstruction().op;
  std::string name = Explorer::getName(state.processes[p]);
  if (auto take = dyn_cast<TakeTurnOp>(op)) {
    const Member &before = getMember(take.getOrderedBarrier(), p, -1);
    const State::Turns &there = machine.turns[before.turns];
    std::string other = Explorer::getName(state.processes[before.process]);
    diagnostic.attachNote(op->getLoc())
        << name << " waits here for its turn, which " << other
        << (there.taken > there.passed ? " has taken and not passed"
                                       : " has not taken yet");
    return;
  }
  auto acquire = dyn_cast<AcquireOp>(op);
  std::optional<unsigned> end =
      acquire ? getEnd(Explorer::get(state, p, acquire.getCursor(), *this))
              : std::nullopt;
  if (!end) {
    diagnostic.attachNote(op->getLoc()) << name << " waits here";
    return;
  }
  int64_t number = machine.ends[*end].acquired;
  std::optional<unsigned> blocker = findBlocker(machine, *end, number);
  if (!blocker)
    return;
  std::string other =
      Explorer::getName(state.processes[ends[*blocker].process]);
  bool writes = ends[*end].writes();
  if (writes)
    number -= rings[ends[*end].ring].op.getRing().getType().getDepth();
  diagnostic.attachNote(op->getLoc())
      << name << " waits here for " << other << " to "
      << (writes ? "release" : "publish") << " entry " << number
      << " of the ring";
  for (const Entry &entry : machine.ends[*blocker].held)
    if (entry.number == number) {
      diagnostic.attachNote(entry.acquire->getLoc())
          << other << " holds it since here";
      return;
    }
  diagnostic.attachNote(ends[*blocker].cursor.getLoc())
      << other << " has acquired " << machine.ends[*blocker].acquired
      << (machine.ends[*blocker].acquired == 1 ? " entry" : " entries")
      << " through this cursor";
}
