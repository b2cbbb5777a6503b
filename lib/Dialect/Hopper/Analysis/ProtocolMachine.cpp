//===- ProtocolMachine.cpp - barriers without data ------------------------===//

#include "ProtocolMachine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;
using flow::Explorer;
using flow::JointState;
using flow::kUnknown;

//===----------------------------------------------------------------------===//
// What matters
//===----------------------------------------------------------------------===//

/// Integers that decide which barrier, phase or part of memory is meant.
static SmallVector<Value> getDecidingOperands(Operation *op) {
  SmallVector<Value> values;
  auto add = [&](auto... operands) { (values.push_back(operands), ...); };
  if (auto wait = dyn_cast<BarrierWaitOp>(op))
    add(wait.getIndex(), wait.getParity());
  else if (auto arrive = dyn_cast<BarrierArriveOp>(op))
    add(arrive.getIndex());
  else if (auto expect = dyn_cast<BarrierExpectTxOp>(op))
    add(expect.getIndex());
  else if (auto load = dyn_cast<TmaLoadOp>(op))
    add(load.getIndex(), load.getRow(), load.getColumn(),
        load.getBarrierIndex());
  else if (auto store = dyn_cast<TmaStoreOp>(op))
    add(store.getIndex(), store.getRow(), store.getColumn());
  else if (auto desc = dyn_cast<DescOp>(op))
    add(desc.getIndex(), desc.getRow(), desc.getColumn());
  else if (auto store = dyn_cast<SmemStoreOp>(op))
    add(store.getIndex(), store.getRow(), store.getColumn());
  else if (auto load = dyn_cast<SmemLoadOp>(op))
    add(load.getIndex(), load.getRow(), load.getColumn());
  else if (auto post = dyn_cast<MailboxPostOp>(op))
    add(post.getIndex());
  else if (auto read = dyn_cast<MailboxReadOp>(op))
    add(read.getIndex());
  else if (auto use = getNamedBarrierUse(op))
    add(use->id);
  return values;
}

void ProtocolMachine::prepare() {
  for (auto [i, array] : llvm::enumerate(model.barriers))
    arrayOf.append(array.getCount(), i);
  // Backwards from what decides, through arithmetic and control.
  SmallVector<Value> work;
  flow::SpecializeOp specialize = model.specialize;
  specialize.walk([&](Operation *op) {
    auto desc = dyn_cast<DescOp>(op);
    if (desc ? scope.hasBuffer(desc.getBuffer()) : isInstruction(op))
      llvm::append_range(work, getDecidingOperands(op));
    if (!scope.hasRegisters())
      return;
    for (Value result : op->getResults())
      if (isa<InflightType, GroupType>(result.getType()))
        tracked.insert(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          if (isa<InflightType, GroupType>(argument.getType()))
            tracked.insert(argument);
  });
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second || !value.getType().isIntOrIndex())
      continue;
    auto follow = [&](Value phi, ValueRange sources) {
      tracked.insert(phi);
      llvm::append_range(work, sources);
    };
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || argument == loop.getInductionVar())
        continue;
      unsigned i = argument.getArgNumber() - 1;
      follow(value, {loop.getInitArgs()[i], loop.getYieldedValues()[i]});
      continue;
    }
    unsigned i = cast<OpResult>(value).getResultNumber();
    Operation *op = value.getDefiningOp();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      follow(value, {loop.getRegionIterArg(i)});
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      follow(value, {branch.thenYield().getOperand(i),
                     branch.elseYield().getOperand(i)});
    else if (op->getNumRegions() == 0)
      llvm::append_range(work, op->getOperands());
  }

  if (!scope.hasRegisters())
    return;
  // A fence gives registers back, so its results are the registers it took.
  specialize.walk([&](WgmmaOp mma) {
    for (Value operand : {mma.getLhs(), mma.getAcc()}) {
      if (!operand || !isa<VectorType>(operand.getType()))
        continue;
      auto [entry, isNew] = fragmentOf.try_emplace(operand, numFragments);
      if (isNew)
        ++numFragments;
      unsigned fragment = entry->second;
      while (auto fence = operand.getDefiningOp<WgmmaFenceOp>()) {
        operand = fence.getValues()[cast<OpResult>(operand).getResultNumber()];
        // Constants are made anew wherever they are used.
        if (operand.getDefiningOp<arith::ConstantOp>())
          break;
        fragmentOf.try_emplace(operand, fragment);
      }
    }
  });
}

bool ProtocolMachine::isTracked(Value value) const {
  return tracked.contains(value);
}

bool ProtocolMachine::isInstruction(Operation *op) const {
  bool isPart = scope.kind == ProtocolScope::Kind::Part;
  bool hasMemory = scope.kind != ProtocolScope::Kind::Registers;
  if (auto wait = dyn_cast<BarrierWaitOp>(op))
    return scope.hasArray(model, wait.getBarrier());
  if (auto arrive = dyn_cast<BarrierArriveOp>(op))
    return scope.hasArray(model, arrive.getBarrier());
  if (auto expect = dyn_cast<BarrierExpectTxOp>(op))
    return scope.hasArray(model, expect.getBarrier());
  if (auto load = dyn_cast<TmaLoadOp>(op))
    return scope.hasArray(model, load.getBarrier());
  if (auto store = dyn_cast<TmaStoreOp>(op))
    return scope.hasBuffer(store.getBuffer());
  if (auto store = dyn_cast<SmemStoreOp>(op))
    return scope.hasBuffer(store.getBuffer());
  if (auto load = dyn_cast<SmemLoadOp>(op))
    return scope.hasBuffer(load.getBuffer());
  if (auto post = dyn_cast<MailboxPostOp>(op))
    return scope.hasBuffer(post.getMailbox());
  if (auto read = dyn_cast<MailboxReadOp>(op))
    return scope.hasBuffer(read.getMailbox());
  if (isa<TmaCommitOp, TmaWaitReadOp>(op))
    return isPart ? scope.hasCopies : hasMemory;
  if (isa<FenceProxyAsyncOp>(op) || getNamedBarrierUse(op))
    return hasMemory;
  if (isa<WgmmaFenceOp, WgmmaOp, WgmmaCommitOp, WgmmaWaitOp>(op))
    return !isPart || scope.hasProducts;
  if (isa<GroupReadyOp, InflightReadyOp>(op))
    return scope.hasRegisters();
  if (op->getNumRegions())
    return false;
  // Uses of registers that a product may be reading. Yielding a value into a
  // loop-carried fragment writes to it.
  if (fragmentOf.empty())
    return false;
  if (llvm::any_of(op->getOperands(),
                   [&](Value v) { return fragmentOf.contains(v); }))
    return true;
  auto loop = isa<scf::YieldOp>(op) ? dyn_cast<scf::ForOp>(op->getParentOp())
                                    : scf::ForOp();
  return loop && llvm::any_of(loop.getRegionIterArgs(),
                              [&](Value v) { return fragmentOf.contains(v); });
}

LogicalResult ProtocolMachine::addProcess(flow::GroupOp group,
                                          unsigned replica) {
  unsigned p = processes.size();
  processes.push_back({group, replica, group.getWarps() == 1});
  // The kernel's buffers are shared, those of groups belong to the replica.
  auto add = [&](auto alloc, int64_t slotBytes, unsigned owner) {
    if (!bufferOf.try_emplace({alloc, owner}, buffers.size()).second)
      return;
    BufferInfo info{alloc, slotBytes, -1, -1};
    if (std::optional<int64_t> offset = alloc.getOffset()) {
      info.begin =
          *offset + (owner == ~0u ? 0 : replica) * alloc.getReplicaBytes();
      info.end = info.begin + alloc.getReplicaBytes();
    }
    buffersOverlap |=
        info.begin >= 0 && llvm::any_of(buffers, [&](const BufferInfo &other) {
          return info.begin < other.end && other.begin < info.end;
        });
    buffers.push_back(info);
  };
  gpu::GPUFuncOp function = model.function;
  function.walk([&](AllocOp alloc) {
    auto owner = alloc->getParentOfType<flow::GroupOp>();
    int64_t slotBytes = alloc.getBuffer().getType().getSlotBytes();
    if (!owner)
      add(alloc, slotBytes, ~0u);
    else if (owner == group)
      add(alloc, slotBytes, p);
  });
  function.walk([&](MailboxAllocOp alloc) {
    add(alloc, MailboxAllocOp::kSlotBytes, ~0u);
  });
  if (2 * (processes.size() + getNumElements()) > Members::kMost)
    return function.emitOpError("has too many barriers to check: ")
           << getNumElements() << " beside " << processes.size()
           << " replicas of groups";
  return success();
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

/// Who accesses which buffer, and how.
void ProtocolMachine::findUsers() {
  usersOf.assign(buffers.size(), {});
  for (unsigned p = 0; p < processes.size(); ++p) {
    uint64_t self = uint64_t(1) << p;
    processes[p].group.walk([&](Operation *op) {
      auto add = [&](Value buffer, bool writes, bool isAsync) {
        auto it = bufferOf.find({buffer.getDefiningOp(), ~0u});
        if (it == bufferOf.end())
          it = bufferOf.find({buffer.getDefiningOp(), p});
        if (it == bufferOf.end())
          return;
        Users &users = usersOf[it->second];
        users.all |= self;
        users.writers |= writes ? self : 0;
        users.async |= isAsync ? self : 0;
      };
      if (auto load = dyn_cast<TmaLoadOp>(op))
        add(load.getBuffer(), /*writes=*/true, /*isAsync=*/true);
      else if (auto store = dyn_cast<TmaStoreOp>(op))
        add(store.getBuffer(), /*writes=*/false, /*isAsync=*/true);
      else if (auto desc = dyn_cast<DescOp>(op))
        add(desc.getBuffer(), /*writes=*/false, /*isAsync=*/true);
      else if (auto store = dyn_cast<SmemStoreOp>(op))
        add(store.getBuffer(), /*writes=*/true, /*isAsync=*/false);
      else if (auto load = dyn_cast<SmemLoadOp>(op))
        add(load.getBuffer(), /*writes=*/false, /*isAsync=*/false);
      else if (auto post = dyn_cast<MailboxPostOp>(op))
        add(post.getMailbox(), /*writes=*/true, /*isAsync=*/false);
      else if (auto read = dyn_cast<MailboxReadOp>(op))
        add(read.getMailbox(), /*writes=*/false, /*isAsync=*/false);
    });
  }
  if (!buffersOverlap)
    return;
  Users everybody;
  for (const Users &users : usersOf) {
    everybody.all |= users.all;
    everybody.writers |= users.writers;
    everybody.async |= users.async;
  }
  usersOf.assign(buffers.size(), everybody);
}

std::unique_ptr<flow::MachineState> ProtocolMachine::start() {
  findUsers();
  auto state = std::make_unique<State>();
  if (traces)
    state->trace = ProtocolTrace();
  state->elements.resize(getNumElements());
  state->processes.resize(processes.size());
  state->next.assign(getNumElements() * processes.size(), kUndecided);
  state->fragments.assign(processes.size() * numFragments, {0, nullptr});
  if (scope.kind == ProtocolScope::Kind::Part)
    state->turns.resize(model.barriers.size() * processes.size());
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
    const flow::Process &process = state.processes[p];
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
  return llvm::is_contained(getArray(element).arriving, processes[p].group);
}
bool ProtocolMachine::waits(unsigned p, unsigned element) const {
  return llvm::is_contained(getArray(element).waiting, processes[p].group);
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

ProtocolMachine::Machine::Step
ProtocolMachine::wait(JointState &joint, unsigned p, BarrierWaitOp op) {
  State &state = get(joint);
  std::optional<unsigned> element =
      getElement(joint, p, op, op.getBarrier().getDefiningOp<BarrierAllocOp>(),
                 op.getIndex());
  if (!element)
    return Step::Failed;
  Element &barrier = state.elements[*element];
  Next &next = state.next[*element * processes.size() + p];
  int64_t parity = read(joint, p, op.getParity());
  auto fail = [&](const Twine &what) {
    InFlightDiagnostic diagnostic = op.emitOpError(what);
    diagnostic.attachNote(getArray(*element).op.getLoc())
        << "the mbarrier is one of these";
    Explorer::explainPath(joint, p, diagnostic);
    return Step::Failed;
  };
  if (parity != 0 && parity != 1)
    return fail("waits for a parity that is not computed from constants and "
                "loop-carried positions, or is neither 0 nor 1");

  // A first wait for parity 1 is for the phase before the first, which always
  // has completed.
  Next wanted = next;
  if (next == kUndecided) {
    int64_t ahead = static_cast<int64_t>(barrier.phases) + parity;
    if (ahead > 1)
      return fail("waits for " + describe(*element) + " for the first time " +
                  "when it may have completed " + Twine(barrier.phases) +
                  (barrier.phases == 1 ? " phase" : " phases") +
                  ": the phase it waits for cannot be told from a later one");
    wanted = ahead == 0 ? kOpen : kLast;
  } else {
    unsigned expected = (barrier.parity + (next == kLast ? 1 : 0)) & 1;
    if (parity != expected)
      return fail("waits for parity " + Twine(parity) + " of " +
                  describe(*element) + ", but the next phase it has to wait " +
                  "for has parity " + Twine(expected));
  }
  if (next == kUndecided &&
      failed(takeLag(joint, p, op, *element,
                     parity ? getArray(*element).getCount() : 0)))
    return Step::Failed;
  if (wanted == kOpen)
    return Step::Blocked;
  next = kOpen;
  if (failed(takeTurn(joint, p, op, *element, /*arrives=*/false, 0)))
    return Step::Failed;
  if (state.trace) {
    state.trace->sources = state.trace->completed[*element];
    state.trace->number = *element - getArray(*element).firstElement;
  }
  for (Fact &fact : state.facts)
    if (fact.known.test(completed(*element))) {
      bool isFenced = fact.fenced.test(completed(*element));
      fact.inform(all(p), isFenced);
      fact.inform(leader(p), isFenced);
    }
  Fact &fact = getFact(state, FactKind::Wait, p, *element);
  fact.known.clear();
  fact.fenced.clear();
  fact.own = true;
  fact.matrixGroup = Fact::kNever;
  fact.op = op;
  if (processes[p].isOneWarp) {
    fact.inform(all(p), true);
    fact.inform(leader(p), true);
  }
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
  if (!element || failed(checkPhaseKnown(joint, p, op, *element, leader(p))) ||
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
    if (fact.known.test(leader(p)))
      fact.inform(open(*element), fact.fenced.test(leader(p)));
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
        fact.inform(leader(q), isFenced);
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
    if (!own && !fact.known.test(all(p)) && !fact.known.test(leader(p)))
      continue;
    fact.inform(open(element), fact.fenced.test(all(p)) ||
                                   fact.fenced.test(leader(p)) ||
                                   (own && fact.ownFenced));
  }
  barrier.arrivals += processes[p].group.getWarps() * 32;
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

/// Orders what a thread did, or knows of, through the generic proxy before what
/// follows through the async proxy.
void ProtocolMachine::fenceProxies(State &state, unsigned p) {
  for (Fact &fact : state.facts) {
    if (fact.own && fact.key.process == static_cast<int32_t>(p))
      fact.ownFenced = true;
    for (unsigned member : {all(p), leader(p)})
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

void ProtocolMachine::forget(JointState &joint) {
  llvm::erase_if(get(joint).facts, [&](const Fact &fact) {
    return isAccess(fact.key.kind) && isSettled(fact);
  });
}

void ProtocolMachine::serialize(const JointState &joint,
                                std::vector<int64_t> &key) const {
  const auto &state = static_cast<const State &>(*joint.machine);
  for (auto [i, turn] : llvm::enumerate(state.turns)) {
    if (!scope.arrays.test(i / processes.size()))
      continue;
    key.push_back(turn.waits);
    key.push_back(turn.arrivals);
    key.push_back(turn.bytes);
  }
  for (auto [i, element] : llvm::enumerate(state.elements)) {
    if (!isInScope(i))
      continue;
    key.push_back(element.arrivals);
    key.push_back(element.bytes);
    // How many phases there were matters for first waits only.
    bool isDecided =
        i < model.numMbarriers &&
        llvm::none_of(
            llvm::seq<unsigned>(0, processes.size()),
            [&](unsigned q) {
              return waits(q, i) &&
                     state.next[i * processes.size() + q] == kUndecided;
            });
    key.push_back(element.parity | std::min(element.phases, isDecided ? 1u : 2u)
                                       << 1);
    key.push_back(element.waiting);
    key.push_back(element.released);
  }
  for (auto [i, next] : llvm::enumerate(state.next))
    if (isInScope(i / processes.size()))
      key.push_back(next);
  // Groups of products and copies count by their distance to the open one.
  auto getAge = [](int64_t open, int64_t retired, int64_t group) -> int64_t {
    return group == Fact::kNever ? -2 : group <= retired ? -1 : open - group;
  };
  for (unsigned p = 0; p < processes.size(); ++p) {
    const ProcessState &process = state.processes[p];
    key.push_back(process.openMatrix - process.retiredMatrix);
    key.push_back(process.openCopy - process.retiredCopy);
    key.push_back(process.fenced | process.hasProducts << 1 |
                  process.hasCopies << 2);
    for (unsigned i = 0; i < numFragments; ++i)
      key.push_back(getAge(process.openMatrix, process.retiredMatrix,
                           state.fragments[p * numFragments + i].first));
    const flow::Process &control = joint.processes[p];
    size_t first = key.size();
    key.resize(first + control.registers.size());
    for (auto [value, number] : control.program->getRegisters()) {
      int64_t content = control.registers[number];
      if (content != kUnknown && isa<InflightType, GroupType>(value.getType()))
        content = getAge(process.openMatrix, process.retiredMatrix, content);
      key[first + number] = content;
    }
  }
  // Parts merge states that differ in what is known.
  if (scope.kind == ProtocolScope::Kind::Part)
    return;
  size_t words = llvm::divideCeil(open(getNumElements()), 64);
  for (const Fact &fact : state.facts) {
    FactKind kind = fact.key.kind;
    bool settled = isSettled(fact);
    if (settled && kind != FactKind::Wait)
      continue;
    const SmemRegion &region = fact.key.region;
    for (int32_t number :
         {static_cast<int32_t>(kind), fact.key.process, fact.key.element,
          region.buffer, region.slot, region.row, region.rowEnd, region.column,
          region.columnEnd})
      key.push_back(number);
    // That every process knows of a wait is not enough: the next phase has to.
    if (settled) {
      key.push_back(-1);
      key.push_back(fact.known.test(open(fact.key.element)));
      continue;
    }
    for (size_t i = 0; i < words; ++i) {
      key.push_back(fact.known.getWords()[i]);
      if (isGeneric(kind))
        key.push_back(fact.fenced.getWords()[i]);
    }
    const ProcessState &process =
        state.processes[kind == FactKind::Phase ? 0 : fact.key.process];
    key.push_back(fact.own | fact.ownFenced << 1);
    key.push_back(
        getAge(process.openMatrix, process.retiredMatrix, fact.matrixGroup));
    key.push_back(
        getAge(process.openCopy, process.retiredCopy, fact.copyGroup));
  }
}

std::unique_ptr<flow::MachineState>
ProtocolMachine::remember(const JointState &state) {
  return scope.kind == ProtocolScope::Kind::Part ? state.machine->clone()
                                                 : nullptr;
}

Fact ProtocolMachine::getLesser(const Fact &a, const Fact &b) const {
  Fact fact = a;
  fact.known &= b.known;
  fact.fenced &= b.fenced;
  fact.own &= b.own;
  fact.ownFenced &= b.ownFenced;
  fact.copyGroup = std::max(a.copyGroup, b.copyGroup);
  // What has retired already needs to wait for the other.
  unsigned p = fact.key.process;
  auto hasRetired = [&](const Fact &other) {
    return other.matrixGroup == Fact::kNever && other.known.test(all(p)) &&
           other.known.test(leader(p));
  };
  if (hasRetired(a) || hasRetired(b))
    fact.matrixGroup = std::min(a.matrixGroup, b.matrixGroup);
  else
    fact.matrixGroup = std::max(a.matrixGroup, b.matrixGroup);
  return fact;
}

bool ProtocolMachine::merge(flow::MachineState &remembered, JointState &joint) {
  auto &old = static_cast<State &>(remembered);
  State &state = get(joint);
  bool changed = false;
  std::vector<Fact> merged;
  merged.reserve(old.facts.size() + state.facts.size());
  auto before = old.facts.begin();
  auto now = state.facts.begin();
  while (before != old.facts.end() || now != state.facts.end()) {
    // Numbers of groups go on; their distance to the open one is what counts.
    Fact shifted;
    if (before != old.facts.end()) {
      shifted = *before;
      if (shifted.key.kind != FactKind::Phase) {
        const ProcessState &there = old.processes[shifted.key.process];
        const ProcessState &here = state.processes[shifted.key.process];
        if (shifted.matrixGroup != Fact::kNever)
          shifted.matrixGroup += here.openMatrix - there.openMatrix;
        if (shifted.copyGroup != Fact::kNever)
          shifted.copyGroup += here.openCopy - there.openCopy;
      }
    }
    // What is settled is not there any more, and what never was is as good.
    if (now == state.facts.end() ||
        (before != old.facts.end() && shifted.key < now->key)) {
      merged.push_back(shifted);
      ++before;
      continue;
    }
    if (before == old.facts.end() || now->key < shifted.key) {
      merged.push_back(*now++);
      changed = true;
      continue;
    }
    Fact lesser = getLesser(shifted, *now);
    changed |= !(lesser == shifted);
    merged.push_back(lesser);
    ++before;
    ++now;
  }
  if (!changed)
    return false;
  state.facts = merged;
  old = state;
  return true;
}

bool ProtocolMachine::isSettled(const Fact &fact) const {
  FactKind kind = fact.key.kind;
  for (unsigned q = 0; q < processes.size(); ++q) {
    bool isConcerned = true, isAsync = false;
    if (isAccess(kind)) {
      const Users &users = usersOf[fact.key.region.buffer];
      isConcerned = (isWrite(kind) ? users.all : users.writers) >> q & 1;
      isAsync = isGeneric(kind) && (users.async >> q & 1);
    }
    for (unsigned member : {all(q), leader(q)})
      if (isConcerned &&
          (!fact.known.test(member) || (isAsync && !fact.fenced.test(member))))
        return false;
  }
  return true;
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
