//===- ProtocolMachine.cpp - barriers without data ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ProtocolMachine.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;
using warp::Explorer;
using warp::JointState;
using warp::kUnknown;

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

std::unique_ptr<warp::MachineState> ProtocolMachine::start() {
  findUsers();
  auto state = std::make_unique<State>();
  if (traces)
    state->trace = ProtocolTrace();
  state->elements.resize(getNumElements());
  state->processes.resize(processes.size());
  state->next.assign(getNumElements() * processes.size(), kUndecided);
  state->fragments.assign(processes.size() * numFragments, {0, nullptr});
  if (scope.kind == ProtocolScope::Kind::Part) {
    state->turns.resize(model.barriers.size() * processes.size());
    beginInPhases(*state);
  }
  return state;
}

int64_t ProtocolMachine::read(const JointState &state, unsigned p,
                              Value value) {
  return Explorer::get(state, p, value, *this);
}

int64_t ProtocolMachine::evaluate(const JointState &state, unsigned p,
                                  Value value) {
  const ProcessInfo &info = processes[p];
  return evaluateScalar(value, [&](Value leaf) -> int64_t {
    if (leaf == info.group.getReplica())
      return info.replica;
    const warp::Process &process = state.processes[p];
    if (auto number = process.program->getRegister(leaf))
      return process.registers[*number];
    return kUnknown;
  });
}

Fact &ProtocolMachine::getFact(State &state, FactKind kind, unsigned p,
                               unsigned element, const SmemRegion &region) {
  FactKey key{kind, static_cast<int32_t>(p), static_cast<int32_t>(element),
              region};
  auto it = llvm::lower_bound(
      state.facts, key,
      [](const Fact &fact, const FactKey &key) { return fact.key < key; });
  if (it == state.facts.end() || key < it->key) {
    it = state.facts.insert(it, Fact());
    it->key = key;
  }
  return *it;
}

const BarrierArray &ProtocolMachine::getArray(unsigned element) const {
  return model.barriers[arrayOf[element]];
}

bool ProtocolMachine::isInScope(unsigned element) const {
  return scope.kind == ProtocolScope::Kind::All ||
         element >= model.numMbarriers ||
         (scope.kind == ProtocolScope::Kind::Part &&
          scope.arrays.test(arrayOf[element]));
}

ProtocolMachine::Turn &ProtocolMachine::getTurn(State &state, unsigned p,
                                                unsigned element) {
  return state.turns[arrayOf[element] * processes.size() + p];
}

std::string ProtocolMachine::describe(unsigned element) const {
  if (element >= model.numMbarriers) {
    auto it = model.namedBarriers.begin();
    std::advance(it, element - model.numMbarriers);
    return "named barrier " + std::to_string(it->first);
  }
  return "mbarrier " + std::to_string(element - getArray(element).firstElement);
}

bool ProtocolMachine::arrives(unsigned p, unsigned element) const {
  return getArray(element).arriving.contains(processes[p].group,
                                             processes[p].replica);
}
bool ProtocolMachine::waits(unsigned p, unsigned element) const {
  return getArray(element).waiting.contains(processes[p].group,
                                            processes[p].replica);
}

int64_t ProtocolMachine::getRequired(unsigned element) const {
  if (element >= model.numMbarriers) {
    auto it = model.namedBarriers.begin();
    std::advance(it, element - model.numMbarriers);
    return it->second;
  }
  int64_t required = 0;
  for (unsigned p = 0; p < processes.size(); ++p)
    required += arrives(p, element);
  return required;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

std::optional<unsigned> ProtocolMachine::getElement(JointState &state,
                                                    unsigned p, Operation *op,
                                                    BarrierAllocOp barrier,
                                                    Value index) {
  const BarrierArray &array =
      model.barriers[model.barrierOf.lookup(barrier.getBarrier())];
  int64_t i = read(state, p, index);
  if (i == kUnknown) {
    op->emitOpError("uses an mbarrier whose number is not computed from "
                    "constants, the replica and loop-carried positions");
    return std::nullopt;
  }
  if (i < 0 || i >= array.getCount()) {
    InFlightDiagnostic diagnostic = op->emitOpError("uses mbarrier ")
                                    << i << " of " << array.getCount();
    Explorer::explainPath(state, p, diagnostic);
    return std::nullopt;
  }
  return array.firstElement + i;
}

FailureOr<ProtocolMachine::Next>
ProtocolMachine::findPhase(JointState &joint, unsigned p, BarrierWaitOp op,
                           unsigned element, int64_t parity) {
  State &state = get(joint);
  const Element &barrier = state.elements[element];
  Next next = state.next[element * processes.size() + p];
  auto fail = [&](const Twine &what) {
    InFlightDiagnostic diagnostic = op.emitOpError(what);
    diagnostic.attachNote(getArray(element).op.getLoc())
        << "the mbarrier is one of these";
    Explorer::explainPath(joint, p, diagnostic);
    return failure();
  };
  if (parity != 0 && parity != 1)
    return fail("waits for a parity that is not computed from constants and "
                "loop-carried positions, or is neither 0 nor 1");
  if (next != kUndecided) {
    unsigned expected = (barrier.parity + (next == kLast ? 1 : 0)) & 1;
    if (parity == expected)
      return next;
    return fail("waits for parity " + Twine(parity) + " of " +
                describe(element) + ", but the next phase it has to wait " +
                "for has parity " + Twine(expected));
  }
  // A first wait for parity 1 is for the phase before the first, which always
  // has completed.
  int64_t ahead = static_cast<int64_t>(barrier.phases) + parity;
  if (ahead > 1)
    return fail("waits for " + describe(element) + " for the first time " +
                "when it may have completed " + Twine(barrier.phases) +
                (barrier.phases == 1 ? " phase" : " phases") +
                ": the phase it waits for cannot be told from a later one");
  return ahead == 0 ? kOpen : kLast;
}

void ProtocolMachine::learnPhase(State &state, unsigned p, BarrierWaitOp op,
                                 unsigned element) {
  for (Fact &fact : state.facts)
    if (fact.known.test(completed(element))) {
      bool isFenced = fact.fenced.test(completed(element));
      fact.inform(all(p), isFenced);
      fact.inform(elected(p), isFenced);
    }
  Fact &fact = getFact(state, FactKind::Wait, p, element);
  fact.known.clear();
  fact.fenced.clear();
  fact.own = true;
  fact.matrixGroup = Fact::kNever;
  fact.op = op;
  if (processes[p].isOneWarp) {
    fact.inform(all(p), true);
    fact.inform(elected(p), true);
  }
}

ProtocolMachine::Machine::Step
ProtocolMachine::wait(JointState &joint, unsigned p, BarrierWaitOp op) {
  State &state = get(joint);
  std::optional<unsigned> element =
      getElement(joint, p, op, op.getBarrier().getDefiningOp<BarrierAllocOp>(),
                 op.getIndex());
  if (!element)
    return Step::Failed;
  int64_t parity = read(joint, p, op.getParity());
  FailureOr<Next> wanted = findPhase(joint, p, op, *element, parity);
  if (failed(wanted))
    return Step::Failed;
  Next &next = state.next[*element * processes.size() + p];
  if (next == kUndecided &&
      failed(takeLag(joint, p, op, *element,
                     parity ? getArray(*element).getCount() : 0)))
    return Step::Failed;
  if (*wanted == kOpen)
    return Step::Blocked;
  next = kOpen;
  if (failed(takeTurn(joint, p, op, *element, /*arrives=*/false, 0)))
    return Step::Failed;
  if (state.trace) {
    state.trace->sources = state.trace->completed[*element];
    state.trace->number = *element - getArray(*element).firstElement;
  }
  learnPhase(state, p, op, *element);
  return Step::Done;
}

LogicalResult ProtocolMachine::takeTurn(JointState &joint, unsigned p,
                                        Operation *op, unsigned element,
                                        bool arrives, int64_t bytes) {
  if (scope.kind != ProtocolScope::Kind::Part)
    return success();
  Turn &turn = getTurn(get(joint), p, element);
  const BarrierArray &array = getArray(element);
  unsigned &next = arrives ? turn.arrivals : turn.waits;
  auto fail = [&](const Twine &what) -> LogicalResult {
    InFlightDiagnostic diagnostic = op->emitOpError(what);
    Explorer::explainPath(joint, p, diagnostic);
    return failure();
  };
  if (element - array.firstElement != next)
    return fail("uses " + describe(element) + " when mbarrier " + Twine(next) +
                " is next, so that the ring cannot be looked at by itself");
  if (arrives && turn.bytes != 0)
    return fail("opens the next phase of " + describe(element) + " with " +
                Twine(turn.bytes) +
                " bytes of the one before still to be copied");
  next = (next + 1) % array.getCount();
  if (arrives)
    turn.bytes = bytes;
  return success();
}

LogicalResult ProtocolMachine::takeLag(JointState &joint, unsigned p,
                                       BarrierWaitOp op, unsigned element,
                                       int64_t lag) {
  if (scope.kind != ProtocolScope::Kind::Part)
    return success();
  auto [entry, isNew] = lags.try_emplace(
      {arrayOf[element], processes[p].group.getOperation()}, lag);
  if (isNew || entry->second == lag)
    return success();
  InFlightDiagnostic diagnostic =
      op.emitOpError("waits for ")
      << describe(element)
      << " for the first time with another parity than for others of its array";
  Explorer::explainPath(joint, p, diagnostic);
  return failure();
}

LogicalResult ProtocolMachine::checkPhaseKnown(JointState &joint, unsigned p,
                                               Operation *op, unsigned element,
                                               unsigned member) {
  State &state = get(joint);
  if (state.elements[element].phases == 0 ||
      getFact(state, FactKind::Phase, 0, element).known.test(member))
    return success();
  InFlightDiagnostic diagnostic =
      op->emitOpError("acts on ")
      << describe(element)
      << " again although nothing tells it that the phase before has "
         "completed; two phases may get mixed up";
  if (element < model.numMbarriers)
    diagnostic.attachNote(getArray(element).op.getLoc())
        << "the mbarrier is one of these";
  if (Operation *last = getFact(state, FactKind::Phase, 0, element).op)
    diagnostic.attachNote(last->getLoc()) << "the phase was completed here";
  Explorer::explainPath(joint, p, diagnostic);
  return failure();
}

/// Completes the open phase once all have arrived and all bytes have landed.
LogicalResult ProtocolMachine::completeIfDone(JointState &joint, unsigned p,
                                              Operation *op, unsigned element) {
  State &state = get(joint);
  Element &barrier = state.elements[element];
  int64_t required = getRequired(element);
  if (barrier.arrivals < required)
    return success();
  if (barrier.bytes < 0) {
    InFlightDiagnostic diagnostic = op->emitOpError("copies ")
                                    << -barrier.bytes << " bytes more than "
                                    << describe(element)
                                    << " expects in this phase";
    diagnostic.attachNote(getArray(element).op.getLoc())
        << "the mbarrier is one of these";
    Explorer::explainPath(joint, p, diagnostic);
    return failure();
  }
  if (barrier.bytes > 0)
    return success();

  // Whoever waits for this barrier must have seen the phase before this one,
  // in every order of events: parity tells only two phases apart.
  if (element < model.numMbarriers)
    for (unsigned q = 0; q < processes.size(); ++q) {
      Next &next = state.next[element * processes.size() + q];
      if (!waits(q, element) || next == kUndecided)
        continue;
      Fact &waited = getFact(state, FactKind::Wait, q, element);
      if (next == kLast || !waited.known.test(open(element))) {
        InFlightDiagnostic diagnostic =
            op->emitOpError("may complete another phase of ")
            << describe(element) << " before "
            << (next == kLast ? "" : "every thread of ")
            << Explorer::getName(joint.processes[q])
            << " has seen the one before, and leave it waiting";
        if (waited.op)
          diagnostic.attachNote(waited.op->getLoc())
              << "nothing orders this wait before it";
        Explorer::explainPath(joint, q, diagnostic);
        return failure();
      }
      next = kLast;
    }
  if (state.trace) {
    state.trace->completed[element] = std::move(state.trace->open[element]);
    state.trace->open[element].clear();
  }
  barrier.arrivals = 0;
  barrier.parity ^= 1;
  barrier.phases = std::min(barrier.phases + 1, 2u);
  for (Fact &fact : state.facts) {
    bool known = fact.known.test(open(element));
    bool isFenced = fact.fenced.test(open(element));
    for (unsigned member : {open(element), completed(element)}) {
      fact.known.reset(member);
      fact.fenced.reset(member);
    }
    if (known)
      fact.inform(completed(element), isFenced);
  }
  Fact &phase = getFact(state, FactKind::Phase, 0, element);
  phase.known.clear();
  phase.fenced.clear();
  phase.inform(completed(element), true);
  phase.op = op;
  return success();
}

ProtocolMachine::Machine::Step
ProtocolMachine::arrive(JointState &joint, unsigned p, Operation *op,
                        BarrierAllocOp alloc, Value index, int64_t bytes) {
  State &state = get(joint);
  std::optional<unsigned> element = getElement(joint, p, op, alloc, index);
  if (!element || failed(checkPhaseKnown(joint, p, op, *element, elected(p))) ||
      failed(takeTurn(joint, p, op, *element, /*arrives=*/true, bytes)))
    return Step::Failed;
  if (state.trace) {
    state.trace->open[*element].push_back(state.trace->events.size());
    state.trace->number = *element - getArray(*element).firstElement;
  }
  Element &barrier = state.elements[*element];
  barrier.bytes += bytes;
  ++barrier.arrivals;
  for (Fact &fact : state.facts)
    if (fact.known.test(elected(p)))
      fact.inform(open(*element), fact.fenced.test(elected(p)));
  return failed(completeIfDone(joint, p, op, *element)) ? Step::Failed
                                                        : Step::Done;
}

/// All threads of a process at a named barrier: what any of them knows, all
/// that leave it know.
ProtocolMachine::Machine::Step
ProtocolMachine::meet(JointState &joint, unsigned p, Operation *op,
                      const NamedBarrierUse &use) {
  State &state = get(joint);
  int64_t id = read(joint, p, use.id);
  auto it = model.namedBarriers.find(id);
  if (it == model.namedBarriers.end()) {
    op->emitOpError("uses a named barrier whose number cannot be followed");
    return Step::Failed;
  }
  unsigned element =
      model.numMbarriers + std::distance(model.namedBarriers.begin(), it);
  Element &barrier = state.elements[element];
  uint64_t self = uint64_t(1) << p;
  auto leave = [&](unsigned q) {
    for (Fact &fact : state.facts)
      if (fact.known.test(completed(element))) {
        bool isFenced = fact.fenced.test(completed(element));
        fact.inform(all(q), isFenced);
        fact.inform(elected(q), isFenced);
      }
  };
  if (barrier.released & self) {
    if (state.trace)
      state.trace->sources = state.trace->completed[element];
    barrier.released &= ~self;
    return Step::Done;
  }
  if (barrier.waiting & self)
    return Step::Blocked;
  // Arriving without waiting says nothing about the phase before.
  if (failed(checkPhaseKnown(joint, p, op, element, all(p))))
    return Step::Failed;
  for (Fact &fact : state.facts) {
    bool own = fact.own && fact.key.process == static_cast<int32_t>(p);
    if (!own && !fact.known.test(all(p)) && !fact.known.test(elected(p)))
      continue;
    fact.inform(open(element), fact.fenced.test(all(p)) ||
                                   fact.fenced.test(elected(p)) ||
                                   (own && fact.ownFenced));
  }
  barrier.arrivals += processes[p].group.getWarps() * kSm90a.threadsPerWarp;
  uint64_t leaving = barrier.waiting | (use.waits ? self : 0);
  bool completes = barrier.arrivals >= getRequired(element);
  if (failed(completeIfDone(joint, p, op, element)))
    return Step::Failed;
  if (!completes) {
    barrier.waiting = leaving;
    return use.waits ? Step::Blocked : Step::Done;
  }
  for (unsigned q = 0; q < processes.size(); ++q)
    if (leaving >> q & 1)
      leave(q);
  barrier.waiting = 0;
  barrier.released |= leaving & ~self;
  return Step::Done;
}

/// A fence of one's own reads, which barriers then hand on.
void ProtocolMachine::fenceReads(State &state, unsigned p) {
  for (Fact &fact : state.facts)
    if (fact.own && fact.key.process == static_cast<int32_t>(p) &&
        fact.key.kind == FactKind::GenericRead)
      fact.ownFenced = true;
}

/// Orders what a thread did, or knows of, through the generic proxy before what
/// follows through the async proxy.
void ProtocolMachine::fenceProxies(State &state, unsigned p) {
  for (Fact &fact : state.facts) {
    if (fact.own && fact.key.process == static_cast<int32_t>(p))
      fact.ownFenced = true;
    for (unsigned member : {all(p), elected(p)})
      if (fact.known.test(member))
        fact.fenced.set(member);
  }
}

//===----------------------------------------------------------------------===//
// Machine
//===----------------------------------------------------------------------===//

ProtocolMachine::Machine::Step
ProtocolMachine::perform(JointState &joint, unsigned p, Operation *op) {
  State &state = get(joint);
  if (failed(checkRegisters(joint, p, op)))
    return Step::Failed;
  if (auto waitOp = dyn_cast<BarrierWaitOp>(op))
    return wait(joint, p, waitOp);
  if (auto arriveOp = dyn_cast<BarrierArriveOp>(op))
    return arrive(joint, p, op,
                  arriveOp.getBarrier().getDefiningOp<BarrierAllocOp>(),
                  arriveOp.getIndex(), 0);
  if (auto expect = dyn_cast<BarrierExpectTxOp>(op))
    return arrive(joint, p, op,
                  expect.getBarrier().getDefiningOp<BarrierAllocOp>(),
                  expect.getIndex(), expect.getBytes());
  if (std::optional<NamedBarrierUse> use = getNamedBarrierUse(op))
    return meet(joint, p, op, *use);
  if (auto loadOp = dyn_cast<TmaLoadOp>(op))
    return load(joint, p, loadOp);
  if (auto storeOp = dyn_cast<TmaStoreOp>(op))
    return store(joint, p, storeOp);
  if (isa<TmaCommitOp>(op)) {
    ++state.processes[p].openCopy;
    state.processes[p].hasCopies = false;
    return Step::Done;
  }
  if (auto waitRead = dyn_cast<TmaWaitReadOp>(op))
    return waitForCopies(state, p, waitRead.getPending());
  if (isa<FenceProxyAsyncOp>(op)) {
    fenceProxies(state, p);
    return Step::Done;
  }
  if (isa<FenceAcqRelOp>(op)) {
    fenceReads(state, p);
    return Step::Done;
  }
  if (isa<WgmmaFenceOp>(op)) {
    state.processes[p].fenced = true;
    return Step::Done;
  }
  if (auto mma = dyn_cast<WgmmaOp>(op))
    return multiply(joint, p, mma);
  if (auto commitOp = dyn_cast<WgmmaCommitOp>(op))
    return commit(joint, p, commitOp);
  if (auto waitOp = dyn_cast<WgmmaWaitOp>(op))
    return waitForProducts(joint, p, waitOp);
  if (isa<SmemStoreOp, SmemLoadOp, MailboxPostOp, MailboxReadOp>(op))
    return touch(joint, p, op);
  if (isa<GroupReadyOp, InflightReadyOp>(op))
    Explorer::set(joint, p, op->getResult(0), 0);
  return Step::Done;
}

ProtocolMachine::Machine::Step
ProtocolMachine::execute(JointState &joint, unsigned p, Operation *op) {
  Step step = perform(joint, p, op);
  if (step == Step::Done && get(joint).trace)
    get(joint).trace->add(p, op, joint.processes[p].taken);
  return step;
}

std::optional<bool> ProtocolMachine::decide(const JointState &, unsigned p,
                                            Operation *op) {
  return decideByReplica(op, processes[p].group, processes[p].replica);
}

LogicalResult ProtocolMachine::end(JointState &joint, unsigned p) {
  State &state = get(joint);
  const ProcessState &process = state.processes[p];
  auto fail = [&](StringRef what, FactKind kind) -> LogicalResult {
    InFlightDiagnostic diagnostic = processes[p].group.emitOpError(what);
    for (const Fact &fact : state.facts)
      if (fact.key.kind == kind && fact.key.process == static_cast<int32_t>(p))
        diagnostic.attachNote(fact.op->getLoc()) << "last issued here";
    Explorer::explainPath(joint, p, diagnostic);
    return failure();
  };
  if (process.hasProducts || process.openMatrix - 1 > process.retiredMatrix)
    return fail("ends while products may be in flight", FactKind::MatrixRead);
  if (process.hasCopies || process.openCopy - 1 > process.retiredCopy)
    return fail("ends while stores may still read shared memory",
                FactKind::CopyRead);
  if (scope.kind == ProtocolScope::Kind::Part)
    for (unsigned array : scope.arrays.set_bits())
      if (int64_t bytes =
              getTurn(state, p, model.barriers[array].firstElement).bytes)
        return fail("ends before it has copied " + std::to_string(bytes) +
                        " bytes that an mbarrier expects",
                    FactKind::CopyWrite);
  return success();
}

void ProtocolMachine::explain(const JointState &joint, unsigned p,
                              InFlightDiagnostic &diagnostic) {
  const auto &state = static_cast<const State &>(*joint.machine);
  Operation *op = joint.processes[p].getInstruction().op;
  std::string name = Explorer::getName(joint.processes[p]);
  auto wait = dyn_cast<BarrierWaitOp>(op);
  if (!wait) {
    diagnostic.attachNote(op->getLoc())
        << name << " waits here for the other threads of the barrier";
    return;
  }
  unsigned array = model.barrierOf.lookup(wait.getBarrier());
  int64_t index = read(joint, p, wait.getIndex());
  unsigned element = model.barriers[array].firstElement + index;
  const Element &barrier = state.elements[element];
  int64_t missing = getRequired(element) - barrier.arrivals;
  diagnostic.attachNote(op->getLoc())
      << name << " waits here for " << describe(element) << ": " << missing
      << (missing == 1 ? " arrival and " : " arrivals and ") << barrier.bytes
      << " bytes are missing";
  if (missing == 0)
    return;
  for (unsigned q = 0; q < processes.size(); ++q) {
    if (!arrives(q, element))
      continue;
    Operation *arrival = nullptr;
    processes[q].group.walk([&](Operation *inner) {
      std::optional<unsigned> channel = model.getChannel(inner);
      if (channel == 2 * array && !arrival)
        arrival = inner;
    });
    if (arrival)
      diagnostic.attachNote(arrival->getLoc())
          << Explorer::getName(joint.processes[q]) << " would arrive here";
  }
}
