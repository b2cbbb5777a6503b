//===- ProtocolModel.cpp - barriers and memory of a kernel ----------------===//

#include "ProtocolModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

constexpr int64_t kWarpSize = 32;
/// Barrier 0 is that of gpu.barrier (PTX ISA, "bar": 16 barriers per CTA).
constexpr int64_t kNamedBarriers = 16;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

static int64_t compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  using Predicate = arith::CmpIPredicate;
  uint64_t ua = a, ub = b;
  switch (predicate) {
  case Predicate::eq:
    return a == b;
  case Predicate::ne:
    return a != b;
  case Predicate::slt:
    return a < b;
  case Predicate::sle:
    return a <= b;
  case Predicate::sgt:
    return a > b;
  case Predicate::sge:
    return a >= b;
  case Predicate::ult:
    return ua < ub;
  case Predicate::ule:
    return ua <= ub;
  case Predicate::ugt:
    return ua > ub;
  case Predicate::uge:
    return ua >= ub;
  }
  return flow::kUnknown;
}

int64_t fa3::hopper::evaluateScalar(Value value,
                                    llvm::function_ref<int64_t(Value)> leaf) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    if (constant.getBitWidth() == 1)
      return constant.getZExtValue();
    return constant.getSignificantBits() <= 62 ? constant.getSExtValue()
                                               : flow::kUnknown;
  }
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions())
    return leaf(value);
  SmallVector<int64_t, 3> in;
  auto evaluate = [&](Value operand) { return evaluateScalar(operand, leaf); };
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    int64_t condition = evaluate(select.getCondition());
    if (condition == flow::kUnknown)
      return flow::kUnknown;
    return evaluate(condition ? select.getTrueValue() : select.getFalseValue());
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::XOrIOp,
           arith::AndIOp, arith::OrIOp, arith::RemUIOp, arith::RemSIOp,
           arith::DivUIOp, arith::DivSIOp, arith::MinSIOp, arith::MaxSIOp,
           arith::CmpIOp, arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp,
           arith::IndexCastOp, arith::IndexCastUIOp, arith::ShRUIOp,
           arith::ShLIOp>(op))
    return leaf(value);
  for (Value operand : op->getOperands()) {
    in.push_back(evaluate(operand));
    if (in.back() == flow::kUnknown)
      return flow::kUnknown;
  }
  bool divides = in.size() == 2 && in[1] > 0 && in[0] >= 0;
  bool shifts = in.size() == 2 && in[1] >= 0 && in[1] < 32 && in[0] >= 0;
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case<arith::AddIOp>([&](auto) { return in[0] + in[1]; })
      .Case<arith::SubIOp>([&](auto) { return in[0] - in[1]; })
      .Case<arith::MulIOp>([&](auto) { return in[0] * in[1]; })
      .Case<arith::XOrIOp>([&](auto) { return in[0] ^ in[1]; })
      .Case<arith::AndIOp>([&](auto) { return in[0] & in[1]; })
      .Case<arith::OrIOp>([&](auto) { return in[0] | in[1]; })
      .Case<arith::RemUIOp, arith::RemSIOp>(
          [&](auto) { return divides ? in[0] % in[1] : flow::kUnknown; })
      .Case<arith::DivUIOp, arith::DivSIOp>(
          [&](auto) { return divides ? in[0] / in[1] : flow::kUnknown; })
      .Case<arith::ShRUIOp>(
          [&](auto) { return shifts ? in[0] >> in[1] : flow::kUnknown; })
      .Case<arith::ShLIOp>(
          [&](auto) { return shifts ? in[0] << in[1] : flow::kUnknown; })
      .Case<arith::MinSIOp>([&](auto) { return std::min(in[0], in[1]); })
      .Case<arith::MaxSIOp>([&](auto) { return std::max(in[0], in[1]); })
      .Case<arith::CmpIOp>([&](arith::CmpIOp cmp) {
        return compare(cmp.getPredicate(), in[0], in[1]);
      })
      .Case<arith::ExtUIOp>([&](auto) { return in[0]; })
      // A true i1 counts as 1 here; as a signed number it is -1.
      .Case<arith::ExtSIOp>([&](arith::ExtSIOp op) {
        return op.getIn().getType().isInteger(1) ? -in[0] : in[0];
      })
      .Case<arith::TruncIOp>([&](arith::TruncIOp op) {
        return op.getType().isInteger(1) ? in[0] & 1 : in[0];
      })
      .Default([&](Operation *) { return in[0]; });
}

std::optional<NamedBarrierUse> fa3::hopper::getNamedBarrierUse(Operation *op) {
  if (auto sync = dyn_cast<NamedBarrierSyncOp>(op))
    return NamedBarrierUse{sync.getId(),
                           static_cast<int64_t>(sync.getThreads()), true};
  if (auto arrive = dyn_cast<NamedBarrierArriveOp>(op))
    return NamedBarrierUse{arrive.getId(),
                           static_cast<int64_t>(arrive.getThreads()), false};
  return std::nullopt;
}

std::optional<bool> fa3::hopper::decideByReplica(Operation *op,
                                                 flow::GroupOp group,
                                                 int64_t replica) {
  auto branch = dyn_cast<scf::IfOp>(op);
  if (!branch)
    return std::nullopt;
  int64_t condition = evaluateScalar(branch.getCondition(), [&](Value leaf) {
    return leaf == group.getReplica() ? replica : flow::kUnknown;
  });
  if (condition == flow::kUnknown)
    return std::nullopt;
  return condition != 0;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

static Value getMbarrier(Operation *op, bool &arrives) {
  arrives = true;
  if (auto arrive = dyn_cast<BarrierArriveOp>(op))
    return arrive.getBarrier();
  if (auto expect = dyn_cast<BarrierExpectTxOp>(op))
    return expect.getBarrier();
  arrives = false;
  if (auto wait = dyn_cast<BarrierWaitOp>(op))
    return wait.getBarrier();
  return {};
}

std::optional<unsigned> ProtocolModel::getChannel(Operation *op) const {
  if (auto turn = turnOf.find(op);
      turn != turnOf.end() && isa<NamedBarrierSyncOp>(op))
    return 2 * barriers.size() + turn->second;
  bool arrives;
  Value barrier = getMbarrier(op, arrives);
  if (!barrier)
    return std::nullopt;
  auto it = barrierOf.find(barrier);
  if (it == barrierOf.end())
    return std::nullopt;
  return 2 * it->second + (arrives ? 0 : 1);
}

/// Whether `leaf` takes part in computing one of `values`, through loops and
/// branches.
static bool dependsOn(ValueRange values, Value leaf) {
  SmallVector<Value> work(values);
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (value == leaf)
      return true;
    if (!seen.insert(value).second || !value.getType().isIntOrIndex())
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (loop && argument != loop.getInductionVar()) {
        unsigned i = argument.getArgNumber() - 1;
        llvm::append_values(work, loop.getInitArgs()[i],
                            loop.getYieldedValues()[i]);
      }
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      unsigned i = cast<OpResult>(value).getResultNumber();
      llvm::append_values(work, branch.thenYield().getOperand(i),
                          branch.elseYield().getOperand(i));
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      work.push_back(
          loop.getRegionIterArg(cast<OpResult>(value).getResultNumber()));
    } else {
      llvm::append_range(work, op->getOperands());
    }
  }
  return false;
}

LogicalResult ProtocolModel::readBarriers() {
  WalkResult result = function.walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      if (isa<BarrierType>(operand.getType()) &&
          !operand.getDefiningOp<BarrierAllocOp>()) {
        op->emitOpError("expects mbarriers that are the result of a "
                        "'hopper.barrier.alloc'");
        return WalkResult::interrupt();
      }
      if (isa<BufferType>(operand.getType()) &&
          !operand.getDefiningOp<AllocOp>()) {
        op->emitOpError("expects a buffer that is the result of a "
                        "'hopper.smem.alloc'");
        return WalkResult::interrupt();
      }
    }
    if (isa<gpu::BarrierOp>(op) && op->getParentOfType<flow::GroupOp>()) {
      op->emitOpError("inside a group waits for all threads of the block, "
                      "which other groups do not send");
      return WalkResult::interrupt();
    }
    if (isa<SmemFillOp>(op) && (op->getBlock() != specialize->getBlock() ||
                                specialize->isBeforeInBlock(op))) {
      op->emitOpError("expects to stand in front of 'flow.specialize', all "
                      "threads of the block perform it");
      return WalkResult::interrupt();
    }
    if (auto alloc = dyn_cast<BarrierAllocOp>(op)) {
      if (alloc->getParentOfType<flow::GroupOp>()) {
        alloc.emitOpError("inside a group is not initialised by anyone");
        return WalkResult::interrupt();
      }
      barrierOf[alloc.getBarrier()] = barriers.size();
      barriers.push_back({alloc, numMbarriers, {}, {}});
      numMbarriers += alloc.getBarrier().getType().getCount();
      channels.push_back({static_cast<unsigned>(objects.size()), "arrives"});
      channels.push_back({static_cast<unsigned>(objects.size()), "waits"});
      objects.push_back(alloc.getLoc());
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (auto group : specialize.getBody().getOps<flow::GroupOp>())
    group.walk([&](Operation *op) {
      bool arrives;
      if (Value barrier = getMbarrier(op, arrives)) {
        BarrierArray &array = barriers[barrierOf[barrier]];
        auto &groups = arrives ? array.arriving : array.waiting;
        if (!llvm::is_contained(groups, group))
          groups.push_back(group);
        joinsReplicas |= group.getReplicas() > 1 &&
                         ((llvm::is_contained(array.arriving, group) &&
                           llvm::is_contained(array.waiting, group)) ||
                          dependsOn(op->getOperands(), group.getReplica()));
      }
    });
  return success();
}

LogicalResult ProtocolModel::checkArrivals() {
  for (const BarrierArray &array : barriers) {
    if (array.arriving.empty() && array.waiting.empty())
      continue;
    int64_t parties = 0;
    for (flow::GroupOp group : array.arriving)
      parties += group.getReplicas();
    int64_t arrivals = array.op.getBarrier().getType().getArrivals();
    if (arrivals == parties)
      continue;
    InFlightDiagnostic diagnostic =
        array.op.emitOpError("completes a phase after ")
        << arrivals << " arrivals, but " << parties
        << (parties == 1 ? " party arrives" : " parties arrive");
    for (flow::GroupOp group : array.arriving)
      diagnostic.attachNote(group.getLoc())
          << "@" << group.getSymName() << ", " << group.getReplicas()
          << (group.getReplicas() == 1 ? " replica, arrives"
                                       : " replicas, arrive");
    return failure();
  }
  return success();
}

/// Whether a replica may get to `op`: no branch that it decides keeps it away.
static bool mayReach(Operation *op, flow::GroupOp group, int64_t replica) {
  for (Operation *parent = op->getParentOp(); parent != group;
       op = parent, parent = parent->getParentOp()) {
    std::optional<bool> holds = decideByReplica(parent, group, replica);
    if (holds &&
        *holds != (op->getBlock() == cast<scf::IfOp>(parent).thenBlock()))
      return false;
  }
  return true;
}

/// Whether a named barrier carries turns: one replica of a group waits at it,
/// another one of the same group arrives.
static bool carriesTurns(ArrayRef<NamedUse> uses) {
  std::optional<int64_t> replicas[2];
  for (const NamedUse &use : uses) {
    std::optional<int64_t> &replica =
        replicas[isa<NamedBarrierSyncOp>(use.op) ? 1 : 0];
    if (use.group != uses.front().group || (replica && *replica != use.replica))
      return false;
    replica = use.replica;
  }
  return replicas[0] && replicas[1] && *replicas[0] != *replicas[1];
}

/// Turns of a group are one object: whoever waits at one of its barriers takes
/// a turn. `uses` are those of all named barriers, by id.
void ProtocolModel::readTurns(
    const std::map<int64_t, SmallVector<NamedUse>> &uses) {
  llvm::MapVector<Operation *, unsigned> objectOf;
  for (auto &[id, ofId] : uses) {
    std::set<std::pair<Operation *, int64_t>> parties;
    for (const NamedUse &use : ofId)
      parties.insert({use.group, use.replica});
    if (parties.size() < 2)
      continue;
    if (!carriesTurns(ofId)) {
      hasMeetings = true;
      continue;
    }
    for (const NamedUse &use : ofId) {
      auto [entry, isNew] = objectOf.try_emplace(use.group, objectOf.size());
      turnOf[use.op] = entry->second;
      if (isNew) {
        channels.push_back({static_cast<unsigned>(objects.size()),
                            "takes turns", /*joinsReplicas=*/true});
        objects.push_back(use.op->getLoc());
      }
    }
  }
  // What sometimes carries turns and sometimes does not is looked at as a
  // whole.
  for (auto &[id, ofId] : uses)
    for (const NamedUse &use : ofId)
      hasMeetings |= turnOf.contains(use.op) && !carriesTurns(ofId);
}

LogicalResult ProtocolModel::readNamedBarriers() {
  std::map<int64_t, SmallVector<NamedUse>> uses;
  for (auto group : specialize.getBody().getOps<flow::GroupOp>()) {
    WalkResult result = group.walk([&](Operation *op) {
      std::optional<NamedBarrierUse> use = getNamedBarrierUse(op);
      if (!use)
        return WalkResult::advance();
      int64_t replicas = group.getReplicas();
      for (int64_t replica = 0; replica < replicas; ++replica) {
        if (!mayReach(op, group, replica))
          continue;
        int64_t id = evaluateScalar(use->id, [&](Value leaf) {
          return leaf == group.getReplica() ? replica : flow::kUnknown;
        });
        if (id == flow::kUnknown) {
          op->emitOpError("expects an id computed from constants and the "
                          "replica");
          return WalkResult::interrupt();
        }
        if (id < 1 || id >= kNamedBarriers) {
          op->emitOpError("has id ")
              << id << " in replica " << replica << ", expected 1 to "
              << kNamedBarriers - 1 << " (0 is the barrier of the block)";
          return WalkResult::interrupt();
        }
        uses[id].push_back({op, group, replica});
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  for (auto &[id, ofId] : uses) {
    int64_t threads = getNamedBarrierUse(ofId.front().op)->threads;
    std::set<std::pair<Operation *, int64_t>> parties;
    int64_t present = 0;
    for (NamedUse &use : ofId) {
      if (int64_t other = getNamedBarrierUse(use.op)->threads;
          other != threads) {
        InFlightDiagnostic diagnostic = use.op->emitOpError("expects ")
                                        << other << " threads at named barrier "
                                        << id;
        diagnostic.attachNote(ofId.front().op->getLoc())
            << "others expect " << threads;
        return failure();
      }
      if (parties.insert({use.group, use.replica}).second)
        present += use.group.getWarps() * kWarpSize;
    }
    if (present != threads) {
      InFlightDiagnostic diagnostic = ofId.front().op->emitOpError("expects ")
                                      << threads << " threads at named barrier "
                                      << id << ", " << present << " use it";
      for (auto &[group, replica] : parties)
        diagnostic.attachNote(group->getLoc())
            << "@" << cast<flow::GroupOp>(group).getSymName() << " replica "
            << replica << " uses it";
      return failure();
    }
    namedBarriers[id] = threads;
  }
  readTurns(uses);
  return success();
}

//===----------------------------------------------------------------------===//
// Registers and memory
//===----------------------------------------------------------------------===//

/// Fragments that products read come out of a fence.
LogicalResult ProtocolModel::checkFragments() {
  WalkResult result = specialize.walk([&](WgmmaOp mma) {
    for (Value operand : {mma.getLhs(), mma.getAcc()})
      if (operand && isa<VectorType>(operand.getType()) &&
          !operand.getDefiningOp<WgmmaFenceOp>()) {
        InFlightDiagnostic diagnostic = mma.emitOpError(
            "reads registers that have not passed a 'hopper.wgmma.fence'");
        if (Operation *producer = operand.getDefiningOp())
          diagnostic.attachNote(producer->getLoc()) << "they stem from here";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult ProtocolModel::checkRegisters() {
  constexpr int64_t kWarps = 4;
  std::optional<ArrayRef<int32_t>> size = function.getKnownBlockSize();
  SmallVector<std::pair<flow::GroupOp, SetMaxRegistersOp>> set;
  for (auto group : specialize.getBody().getOps<flow::GroupOp>())
    for (auto op : group.getBodyBlock()->getOps<SetMaxRegistersOp>())
      set.push_back({group, op});
  int64_t threads = size ? 1 : 0;
  if (size)
    for (int32_t extent : *size)
      threads *= extent;
  for (auto group : specialize.getBody().getOps<flow::GroupOp>())
    if (group.getFirstWarp() && threads &&
        (int64_t(*group.getFirstWarp()) +
         int64_t(group.getWarps()) * int64_t(group.getReplicas())) *
                int64_t(kWarpSize) >
            threads)
      return group.emitOpError("ends beyond the ")
             << threads << " threads of the block";
  if (set.empty())
    return success();
  if (!threads)
    return function.emitOpError("changes registers of groups, but has no "
                                "'known_block_size'");

  int64_t warpgroups = llvm::divideCeil(threads, kWarps * kWarpSize);
  int64_t entry = llvm::alignDown(
      kRegistersPerMultiprocessor / (warpgroups * kWarps * kWarpSize), 8);
  std::vector<SetMaxRegistersOp> ofWarpgroup(warpgroups);
  for (auto [group, op] : set) {
    if (!group.getFirstWarp())
      return group.emitOpError("changes its registers, but has no place (see "
                               "hopper-pack-warpgroups)");
    int64_t count = op.getRegisters();
    if (op.getIncrease() ? count < entry : count > entry)
      return op.emitOpError(op.getIncrease() ? "increases" : "decreases")
             << " registers to " << count << ", but a block of " << threads
             << " threads starts with " << entry;
    int64_t first = *group.getFirstWarp();
    int64_t last =
        first + int64_t(group.getWarps()) * int64_t(group.getReplicas()) - 1;
    for (int64_t i = first / kWarps; i <= last / kWarps; ++i) {
      SetMaxRegistersOp &other = ofWarpgroup[i];
      if (other && other.getRegisters() != op.getRegisters()) {
        InFlightDiagnostic diagnostic = op.emitOpError("asks for ")
                                        << count << " registers in warp group "
                                        << i;
        diagnostic.attachNote(other.getLoc())
            << "another group of it asks for " << other.getRegisters();
        return failure();
      }
      other = op;
    }
  }
  int64_t total = 0;
  for (SetMaxRegistersOp op : ofWarpgroup)
    total += (op ? int64_t(op.getRegisters()) : entry) * kWarps * kWarpSize;
  int64_t pool = entry * warpgroups * kWarps * kWarpSize;
  if (total <= pool)
    return success();
  InFlightDiagnostic diagnostic = specialize.emitOpError("needs ")
                                  << total << " registers, the block has "
                                  << pool;
  for (auto [i, op] : llvm::enumerate(ofWarpgroup))
    if (op)
      diagnostic.attachNote(op.getLoc()) << "warp group " << i << " asks for "
                                         << op.getRegisters() << " per thread";
  return failure();
}

namespace {
/// A window of a slot, whichever slot it is.
struct Window {
  Value buffer;
  bool writes;
  int64_t row, rowEnd, column, columnEnd;
};
} // namespace

/// Windows of shared memory that an operation accesses.
static SmallVector<Window> getWindows(Operation *op,
                                      llvm::function_ref<int64_t(Value)> get) {
  SmallVector<Window> windows;
  auto add = [&](bool writes, TypedValue<BufferType> buffer, Value row,
                 Value column, int64_t rows, int64_t columns,
                 int64_t elementBytes) {
    // Columns of the access count its own elements.
    int64_t bytes = buffer.getType().getElementBytes();
    Window window{buffer, writes, get(row), 0, get(column), 0};
    bool known = window.row != flow::kUnknown;
    window.rowEnd = known ? window.row + rows : buffer.getType().getRows();
    window.row = known ? window.row : 0;
    known = window.column != flow::kUnknown;
    window.columnEnd =
        known
            ? llvm::divideCeil((window.column + columns) * elementBytes, bytes)
            : buffer.getType().getColumns();
    window.column = known ? window.column * elementBytes / bytes : 0;
    windows.push_back(window);
  };
  auto addFragment = [&](auto access, bool writes) {
    ArrayRef<int64_t> shape = access.getFragment().getLayout().getShape();
    add(writes, access.getBuffer(), access.getRow(), access.getColumn(),
        shape[0], shape.size() > 1 ? shape[1] : 1,
        access.getWindowType().getElementBytes());
  };
  auto addBox = [&](auto copy, bool writes) {
    TensorMapType map = copy.getMap().getType();
    add(writes, copy.getBuffer(), copy.getRow(), copy.getColumn(),
        map.getBoxRows(), map.getBox().back(),
        copy.getWindowType().getElementBytes());
  };
  auto addOperand = [&](Value operand, int64_t extent, int64_t k) {
    auto desc = operand.getDefiningOp<DescOp>();
    if (!desc)
      return;
    bool alongColumns = desc.getDesc().getType().getMajor() == Major::k;
    add(false, desc.getBuffer(), desc.getRow(), desc.getColumn(),
        alongColumns ? extent : k, alongColumns ? k : extent,
        desc.getBuffer().getType().getElementBytes());
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](SmemStoreOp store) { addFragment(store, true); })
      .Case([&](SmemLoadOp load) { addFragment(load, false); })
      .Case([&](TmaLoadOp load) { addBox(load, true); })
      .Case([&](TmaStoreOp store) { addBox(store, false); })
      .Case([&](WgmmaOp mma) {
        addOperand(mma.getLhs(), mma.getM(), mma.getK());
        addOperand(mma.getRhs(), mma.getN(), mma.getK());
      });
  return windows;
}

/// Whether two replicas of a group may access the same part of a buffer that
/// they share, one of them to write it.
static bool meetsInMemory(flow::GroupOp group) {
  std::vector<std::vector<Window>> ofReplica(group.getReplicas());
  for (size_t replica = 0; replica < ofReplica.size(); ++replica) {
    auto get = [&](Value value) {
      return evaluateScalar(value, [&](Value leaf) {
        return leaf == group.getReplica() ? static_cast<int64_t>(replica)
                                          : flow::kUnknown;
      });
    };
    group.walk([&](Operation *op) {
      for (const Window &window : getWindows(op, get))
        if (!group->isAncestor(window.buffer.getDefiningOp()))
          ofReplica[replica].push_back(window);
    });
  }
  for (size_t i = 0; i < ofReplica.size(); ++i)
    for (size_t j = i + 1; j < ofReplica.size(); ++j)
      for (const Window &a : ofReplica[i])
        for (const Window &b : ofReplica[j])
          if (a.buffer == b.buffer && (a.writes || b.writes) &&
              a.row < b.rowEnd && b.row < a.rowEnd && a.column < b.columnEnd &&
              b.column < a.columnEnd)
            return true;
  return false;
}

LogicalResult ProtocolModel::checkSharedMemory() {
  struct Range {
    Operation *op;
    int64_t begin, end;
    bool isBarrier;
  };
  SmallVector<Range> ranges;
  function.walk([&](Operation *op) {
    auto group = op->getParentOfType<flow::GroupOp>();
    int64_t replicas = group ? int64_t(group.getReplicas()) : 1;
    auto add = [&](auto alloc, bool isBarrier) {
      if (std::optional<int64_t> offset = alloc.getOffset())
        ranges.push_back({op, *offset,
                          *offset + alloc.getReplicaBytes() * replicas,
                          isBarrier});
    };
    if (auto alloc = dyn_cast<AllocOp>(op))
      add(alloc, false);
    else if (auto alloc = dyn_cast<BarrierAllocOp>(op))
      add(alloc, true);
    else if (auto alloc = dyn_cast<MailboxAllocOp>(op))
      add(alloc, true);
  });
  int64_t end = 0;
  llvm::stable_sort(
      ranges, [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (auto [i, range] : llvm::enumerate(ranges)) {
    end = std::max(end, range.end);
    for (const Range &other : ArrayRef(ranges).drop_front(i + 1)) {
      if (other.begin >= range.end)
        break;
      // Buffers may share memory if their accesses are ordered.
      joinsReplicas = true;
      if (!range.isBarrier && !other.isBarrier)
        continue;
      InFlightDiagnostic diagnostic =
          (range.isBarrier ? range : other).op->emitOpError("overlaps bytes ")
          << other.begin << " to " << std::min(range.end, other.end)
          << " of shared memory that are in use";
      diagnostic.attachNote((range.isBarrier ? other : range).op->getLoc())
          << "by this allocation";
      return failure();
    }
  }
  if (end > kMaxSharedMemoryBytes)
    return function.emitOpError("needs ")
           << end << " bytes of shared memory, the limit is "
           << kMaxSharedMemoryBytes;

  for (auto group : specialize.getBody().getOps<flow::GroupOp>())
    joinsReplicas |= meetsInMemory(group);
  joinsReplicas |= hasMeetings;
  return success();
}

FailureOr<ProtocolModel> ProtocolModel::build(gpu::GPUFuncOp function,
                                              flow::SpecializeOp specialize) {
  ProtocolModel model;
  model.function = function;
  model.specialize = specialize;
  if (failed(model.readBarriers()) || failed(model.checkInitialisation()) ||
      failed(model.checkContents()) || failed(model.checkArrivals()) ||
      failed(model.readNamedBarriers()) || failed(model.checkFragments()) ||
      failed(model.checkRegisters()) || failed(model.checkSharedMemory()))
    return failure();
  model.readShares();
  return model;
}
