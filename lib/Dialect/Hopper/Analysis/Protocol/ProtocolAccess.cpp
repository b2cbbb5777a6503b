//===- ProtocolAccess.cpp - shared memory, copies and products ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ProtocolMachine.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;
using warp::Explorer;
using warp::JointState;
using warp::kUnknown;

//===----------------------------------------------------------------------===//
// Order of accesses
//===----------------------------------------------------------------------===//

std::optional<SmemRegion>
ProtocolMachine::getRegion(JointState &state, unsigned p, Operation *op,
                           AllocOp alloc, Value slot, Value row, Value column,
                           int64_t rows, int64_t columns, BufferType window) {
  // Elements of the access may be others than those of the buffer, in which
  // regions are counted.
  BufferType type = alloc.getBuffer().getType();
  int64_t wide = window.getElementBytes(), narrow = type.getElementBytes();
  auto it = bufferOf.find({alloc, ~0u});
  if (it == bufferOf.end())
    it = bufferOf.find({alloc, p});
  int64_t number = read(state, p, slot);
  if (it == bufferOf.end() || number == kUnknown) {
    op->emitOpError("accesses a slot whose number is not computed from "
                    "constants, the replica and loop-carried positions");
    return std::nullopt;
  }
  if (number < 0 || number >= type.getSlots()) {
    InFlightDiagnostic diagnostic = op->emitOpError("accesses slot ")
                                    << number << " of " << type.getSlots();
    Explorer::explainPath(state, p, diagnostic);
    return std::nullopt;
  }
  // An unknown window is all of the slot.
  SmemRegion region;
  region.buffer = it->second;
  region.slot = number;
  int64_t firstRow = read(state, p, row), firstColumn = read(state, p, column);
  bool known = firstRow != kUnknown;
  region.row = known ? firstRow : 0;
  region.rowEnd = known ? firstRow + rows : type.getRows();
  known = firstColumn != kUnknown;
  region.column = known ? firstColumn * wide / narrow : 0;
  region.columnEnd =
      known ? llvm::divideCeil((firstColumn + columns) * wide, narrow)
            : type.getColumns();
  return region;
}

std::optional<SmemRegion>
ProtocolMachine::getMailSlot(JointState &state, unsigned p, Operation *op,
                             Value mailbox, Value slot) {
  auto alloc = mailbox.getDefiningOp<MailboxAllocOp>();
  int64_t number = read(state, p, slot);
  if (!alloc || number == kUnknown) {
    op->emitOpError("accesses a slot whose number is not computed from "
                    "constants, the replica and loop-carried positions");
    return std::nullopt;
  }
  if (int64_t slots = alloc.getMailbox().getType().getSlots();
      number < 0 || number >= slots) {
    InFlightDiagnostic diagnostic = op->emitOpError("accesses slot ")
                                    << number << " of " << slots;
    Explorer::explainPath(state, p, diagnostic);
    return std::nullopt;
  }
  SmemRegion region;
  region.buffer = bufferOf.at({alloc, ~0u});
  region.slot = number;
  region.rowEnd = region.columnEnd = 1;
  return region;
}

bool ProtocolMachine::overlap(const SmemRegion &a, const SmemRegion &b) const {
  if (a.buffer == b.buffer)
    return a.slot == b.slot && a.row < b.rowEnd && b.row < a.rowEnd &&
           a.column < b.columnEnd && b.column < a.columnEnd;
  if (!buffersOverlap)
    return false;
  auto getBytes = [&](const SmemRegion &region) {
    const BufferInfo &info = buffers[region.buffer];
    int64_t begin = info.begin + region.slot * info.slotBytes;
    return std::pair(begin, begin + info.slotBytes);
  };
  if (buffers[a.buffer].begin < 0 || buffers[b.buffer].begin < 0)
    return false;
  auto bytesA = getBytes(a), bytesB = getBytes(b);
  return bytesA.first < bytesB.second && bytesB.first < bytesA.second;
}

static StringRef getVerb(FactKind kind) {
  return isWrite(kind) ? "writes to" : "reads";
}

LogicalResult ProtocolMachine::checkOrdered(JointState &joint, unsigned p,
                                            Operation *op, FactKind kind,
                                            const SmemRegion &region,
                                            unsigned member) {
  State &state = get(joint);
  for (const Fact &fact : state.facts) {
    if (!isAccess(fact.key.kind) ||
        (!isWrite(kind) && !isWrite(fact.key.kind)) ||
        !overlap(fact.key.region, region))
      continue;
    bool crosses = needsFence(fact.key.kind) && !isGeneric(kind);
    if (crosses ? fact.fenced.test(member) : fact.known.test(member))
      continue;
    // Each thread touches its own elements again.
    auto getFragment = [](Operation *access) -> Attribute {
      if (auto store = dyn_cast<SmemStoreOp>(access))
        return store.getFragment();
      if (auto load = dyn_cast<SmemLoadOp>(access))
        return load.getFragment();
      return {};
    };
    Attribute fragment = getFragment(op);
    if (fragment && fact.key.process == static_cast<int32_t>(p) &&
        fact.key.region == region && getFragment(fact.op) == fragment)
      continue;

    InFlightDiagnostic diagnostic = op->emitOpError(getVerb(kind))
                                    << " slot " << region.slot
                                    << " of a buffer that ";
    std::string other = Explorer::getName(joint.processes[fact.key.process]);
    if (fact.known.test(member))
      diagnostic << other
                 << (isWrite(fact.key.kind)
                         ? " wrote as threads do, without "
                           "'hopper.fence.proxy_async' on the way"
                         : " read as threads do, without "
                           "'hopper.fence.acq_rel' on the way");
    else
      diagnostic << other << " may still "
                 << (isWrite(fact.key.kind) ? "write to" : "read");
    diagnostic.attachNote(fact.op->getLoc())
        << "nothing orders this access before it";
    diagnostic.attachNote(buffers[region.buffer].op->getLoc())
        << "the buffer is reserved here";
    for (unsigned q : {p, static_cast<unsigned>(fact.key.process)}) {
      Explorer::explainPath(joint, q, diagnostic);
      if (q == static_cast<unsigned>(fact.key.process))
        break;
    }
    return failure();
  }
  return success();
}

ProtocolMachine::Machine::Step
ProtocolMachine::touch(JointState &joint, unsigned p, Operation *op) {
  State &state = get(joint);
  std::optional<SmemRegion> region;
  FactKind kind = FactKind::GenericRead;
  auto getExtent = [](FragmentAttr fragment, unsigned dim) {
    ArrayRef<int64_t> shape = fragment.getLayout().getShape();
    return dim < shape.size() ? shape[dim] : 1;
  };
  auto visit = [&](auto access) {
    region = getRegion(
        joint, p, op, access.getBuffer().template getDefiningOp<AllocOp>(),
        access.getIndex(), access.getRow(), access.getColumn(),
        getExtent(access.getFragment(), 0), getExtent(access.getFragment(), 1),
        access.getWindowType());
  };
  if (auto store = dyn_cast<SmemStoreOp>(op)) {
    kind = FactKind::GenericWrite;
    visit(store);
  } else if (auto post = dyn_cast<MailboxPostOp>(op)) {
    kind = FactKind::GenericWrite;
    region = getMailSlot(joint, p, op, post.getMailbox(), post.getIndex());
  } else if (auto read = dyn_cast<MailboxReadOp>(op)) {
    region = getMailSlot(joint, p, op, read.getMailbox(), read.getIndex());
  } else {
    visit(cast<SmemLoadOp>(op));
  }
  if (!region || failed(checkOrdered(joint, p, op, kind, *region, all(p))))
    return Step::Failed;
  Fact &fact = getFact(state, kind, p, 0, *region);
  fact.known.clear();
  fact.fenced.clear();
  fact.own = true;
  fact.ownFenced = false;
  fact.op = op;
  if (processes[p].isOneWarp) {
    fact.inform(all(p), false);
    fact.inform(elected(p), false);
  }
  return Step::Done;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

int64_t fa3::hopper::getCopiedBytes(TmaLoadOp load) {
  int64_t bytes = load.getBuffer().getType().getElementBytes() *
                  load.getNumPieces() * load.getNumBlocks();
  for (int64_t extent : load.getMap().getType().getBox())
    bytes *= extent;
  return bytes;
}

ProtocolMachine::Machine::Step ProtocolMachine::load(JointState &joint,
                                                     unsigned p, TmaLoadOp op) {
  State &state = get(joint);
  int64_t bytes = getCopiedBytes(op);
  // Every thread may start copies of pieces.
  unsigned member = op.getPieces() ? all(p) : elected(p);
  std::optional<SmemRegion> region =
      getRegion(joint, p, op, op.getBuffer().getDefiningOp<AllocOp>(),
                op.getIndex(), op.getRow(), op.getColumn(), op.getRows(),
                op.getColumns(), op.getWindowType());
  std::optional<unsigned> element =
      getElement(joint, p, op, op.getBarrier().getDefiningOp<BarrierAllocOp>(),
                 op.getBarrierIndex());
  if (!region || !element ||
      failed(
          checkOrdered(joint, p, op, FactKind::CopyWrite, *region, member)) ||
      failed(checkPhaseKnown(joint, p, op, *element, member)))
    return Step::Failed;
  if (scope.kind == ProtocolScope::Kind::Part) {
    // Copies belong to the phase that the process arrived at last.
    Turn &turn = getTurn(state, p, *element);
    const BarrierArray &array = getArray(*element);
    if ((*element - array.firstElement + 1) % array.getCount() !=
            turn.arrivals ||
        turn.bytes < bytes) {
      InFlightDiagnostic diagnostic =
          op.emitOpError("copies ")
          << bytes << " bytes, but " << turn.bytes << " of "
          << describe(*element) << " are expected where the group arrived last";
      Explorer::explainPath(joint, p, diagnostic);
      return Step::Failed;
    }
    turn.bytes -= bytes;
  }
  Fact &fact = getFact(state, FactKind::CopyWrite, p, 0, *region);
  fact.known.clear();
  fact.fenced.clear();
  // The phase does not complete before the bytes have landed.
  fact.inform(open(*element), true);
  fact.op = op;
  if (state.trace) {
    state.trace->open[*element].push_back(state.trace->events.size());
    state.trace->number = region->slot;
  }
  state.elements[*element].bytes -= bytes;
  return failed(completeIfDone(joint, p, op, *element)) ? Step::Failed
                                                        : Step::Done;
}

ProtocolMachine::Machine::Step
ProtocolMachine::store(JointState &joint, unsigned p, TmaStoreOp op) {
  State &state = get(joint);
  TensorMapType map = op.getMap().getType();
  std::optional<SmemRegion> region =
      getRegion(joint, p, op, op.getBuffer().getDefiningOp<AllocOp>(),
                op.getIndex(), op.getRow(), op.getColumn(), map.getBoxRows(),
                map.getBox().back(), op.getWindowType());
  if (!region || failed(checkOrdered(joint, p, op, FactKind::CopyRead, *region,
                                     elected(p))))
    return Step::Failed;
  ProcessState &process = state.processes[p];
  Fact &fact = getFact(state, FactKind::CopyRead, p, 0, *region);
  fact.known.clear();
  fact.fenced.clear();
  fact.copyGroup = process.openCopy;
  fact.op = op;
  process.hasCopies = true;
  return Step::Done;
}

ProtocolMachine::Machine::Step
ProtocolMachine::waitForCopies(State &state, unsigned p, int64_t pending) {
  ProcessState &process = state.processes[p];
  process.retiredCopy =
      std::max(process.retiredCopy, process.openCopy - 1 - pending);
  for (Fact &fact : state.facts)
    if (fact.key.kind == FactKind::CopyRead &&
        fact.key.process == static_cast<int32_t>(p) &&
        fact.copyGroup <= process.retiredCopy) {
      fact.inform(elected(p), true);
      if (processes[p].isOneWarp)
        fact.inform(all(p), true);
    }
  return Step::Done;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// No operation but fences and waits may use registers that a product reads.
LogicalResult ProtocolMachine::checkRegisters(JointState &joint, unsigned p,
                                              Operation *op) {
  if (fragmentOf.empty() || isa<WgmmaOp>(op))
    return success();
  State &state = get(joint);
  auto check = [&](Value value, StringRef what) -> LogicalResult {
    auto it = fragmentOf.find(value);
    if (it == fragmentOf.end())
      return success();
    auto [group, mma] = state.fragments[p * numFragments + it->second];
    if (group <= state.processes[p].retiredMatrix)
      return success();
    InFlightDiagnostic diagnostic = op->emitOpError(what)
                                    << " registers that a product may still "
                                       "read";
    diagnostic.attachNote(mma->getLoc()) << "the product is issued here";
    Explorer::explainPath(joint, p, diagnostic);
    return failure();
  };
  // Values that a wait keeps are those it returns after it has waited.
  if (!isa<WgmmaWaitOp>(op))
    for (Value operand : op->getOperands())
      if (failed(check(operand, "uses")))
        return failure();
  auto loop = isa<scf::YieldOp>(op) ? dyn_cast<scf::ForOp>(op->getParentOp())
                                    : scf::ForOp();
  if (loop)
    for (auto [argument, value] :
         llvm::zip(loop.getRegionIterArgs(), op->getOperands()))
      if (argument != value && failed(check(argument, "overwrites")))
        return failure();
  return success();
}

void ProtocolMachine::holdFragment(State &state, unsigned p, Value fragment,
                                   WgmmaOp op) {
  if (auto it = fragmentOf.find(fragment); it != fragmentOf.end())
    state.fragments[p * numFragments + it->second] = {
        state.processes[p].openMatrix, op};
}

LogicalResult ProtocolMachine::readMatrix(JointState &joint, unsigned p,
                                          WgmmaOp op, Value operand,
                                          int64_t extent) {
  State &state = get(joint);
  auto type = dyn_cast<DescType>(operand.getType());
  if (!type) {
    holdFragment(state, p, operand, op);
    return success();
  }
  auto desc = operand.getDefiningOp<DescOp>();
  if (!desc)
    return op.emitOpError("reads through a descriptor that is not the result "
                          "of a 'hopper.desc'");
  if (!scope.hasBuffer(desc.getBuffer()))
    return success();
  // Contiguous along k: k runs along the columns, else along the rows.
  bool alongColumns = type.getMajor() == Major::k;
  int64_t k = op.getK();
  std::optional<SmemRegion> region = getRegion(
      joint, p, op, desc.getBuffer().getDefiningOp<AllocOp>(), desc.getIndex(),
      desc.getRow(), desc.getColumn(), alongColumns ? extent : k,
      alongColumns ? k : extent, desc.getBuffer().getType());
  if (!region ||
      failed(checkOrdered(joint, p, op, FactKind::MatrixRead, *region, all(p))))
    return failure();
  Fact &fact = getFact(state, FactKind::MatrixRead, p, 0, *region);
  fact.known.clear();
  fact.fenced.clear();
  fact.matrixGroup = state.processes[p].openMatrix;
  fact.op = op;
  return success();
}

ProtocolMachine::Machine::Step
ProtocolMachine::multiply(JointState &joint, unsigned p, WgmmaOp op) {
  State &state = get(joint);
  ProcessState &process = state.processes[p];
  if (!process.fenced) {
    InFlightDiagnostic diagnostic = op.emitOpError(
        "is issued without a 'hopper.wgmma.fence' since the last commit");
    Explorer::explainPath(joint, p, diagnostic);
    return Step::Failed;
  }
  if (failed(readMatrix(joint, p, op, op.getLhs(), op.getM())) ||
      failed(readMatrix(joint, p, op, op.getRhs(), op.getN())))
    return Step::Failed;
  if (op.getAcc())
    holdFragment(state, p, op.getAcc(), op);
  // A product is one act of all warps: when it has retired, all of them have
  // come this far.
  for (Fact &fact : state.facts)
    if (fact.key.kind == FactKind::Wait &&
        fact.key.process == static_cast<int32_t>(p) &&
        !fact.known.test(elected(p)) && fact.matrixGroup == Fact::kNever)
      fact.matrixGroup = process.openMatrix;
  process.hasProducts = true;
  if (state.trace)
    state.trace->products[{p, process.openMatrix}].push_back(
        state.trace->events.size());
  Explorer::set(joint, p, op.getResult(), process.openMatrix);
  return Step::Done;
}

ProtocolMachine::Machine::Step
ProtocolMachine::commit(JointState &joint, unsigned p, WgmmaCommitOp op) {
  ProcessState &process = get(joint).processes[p];
  Explorer::set(joint, p, op.getGroup(), process.openMatrix);
  ++process.openMatrix;
  process.fenced = false;
  process.hasProducts = false;
  return Step::Done;
}

ProtocolMachine::Machine::Step
ProtocolMachine::waitForProducts(JointState &joint, unsigned p,
                                 WgmmaWaitOp op) {
  State &state = get(joint);
  ProcessState &process = state.processes[p];
  std::optional<int64_t> pending = op.getPending();
  if (!pending) {
    op.emitOpError("has no 'pending' (see hopper-insert-waits)");
    return Step::Failed;
  }
  // -1 stands for no instruction.
  if (*pending >= 0) {
    int64_t retired =
        std::max(process.retiredMatrix, process.openMatrix - 1 - *pending);
    if (state.trace)
      for (int64_t group = process.retiredMatrix + 1; group <= retired; ++group)
        llvm::append_range(state.trace->sources,
                           state.trace->products[{p, group}]);
    process.retiredMatrix = retired;
    for (Fact &fact : state.facts) {
      if (fact.key.kind == FactKind::Phase || isGeneric(fact.key.kind) ||
          fact.key.process != static_cast<int32_t>(p) ||
          fact.matrixGroup > retired)
        continue;
      fact.inform(all(p), true);
      fact.inform(elected(p), true);
      fact.matrixGroup = Fact::kNever;
    }
  }
  auto check = [&](Value value, StringRef what) -> LogicalResult {
    int64_t group = read(joint, p, value);
    if (group != kUnknown && group <= process.retiredMatrix)
      return success();
    InFlightDiagnostic diagnostic = op.emitOpError("with 'pending' ")
                                    << *pending << " does not wait for " << what
                                    << " that it names";
    if (group != kUnknown)
      diagnostic << ": " << process.openMatrix - 1 - group
                 << " younger groups are committed";
    if (Operation *producer = value.getDefiningOp())
      diagnostic.attachNote(producer->getLoc()) << "it stems from here";
    Explorer::explainPath(joint, p, diagnostic);
    return failure();
  };
  if (!scope.hasRegisters())
    return Step::Done;
  for (Value group : op.getGroups())
    if (failed(check(group, "a group")))
      return Step::Failed;
  for (Value fragment : op.getInflight())
    if (failed(check(fragment, "a fragment")))
      return Step::Failed;
  return Step::Done;
}
