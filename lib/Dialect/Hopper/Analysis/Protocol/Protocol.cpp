//===- Protocol.cpp - proves the protocol of a kernel ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Hopper/Analysis/Protocol.h"
#include "HappensBefore.h"
#include "PeelFirst.h"
#include "ProtocolCounts.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

namespace {

/// Collects what a proof attempt says, so that it can be dropped.
class HeldDiagnostics {
public:
  explicit HeldDiagnostics(MLIRContext *context)
      : thread(llvm::get_threadid()),
        handler(context, [this](Diagnostic &diagnostic) {
          if (llvm::get_threadid() != thread)
            return failure();
          held.push_back(std::move(diagnostic));
          return success();
        }) {}
  std::vector<Diagnostic> take() { return std::move(held); }

private:
  uint64_t thread;
  std::vector<Diagnostic> held;
  ScopedDiagnosticHandler handler;
};

/// A kernel whose groups are balanced.
struct Session {
  explicit Session(ProtocolModel &&model,
                   int64_t mostStates = warp::Explorer::kMostStates)
      : mostStates(mostStates), model(std::move(model)),
        skeleton(this->model.specialize, this->model.channels,
                 this->model.objects) {
    for (Value tile : this->model.agreedTiles)
      skeleton.agree(tile);
  }

  LogicalResult prepare() {
    return failure(failed(skeleton.build(
                       [&](Operation *op) { return model.getChannel(op); })) ||
                   failed(skeleton.checkBalance()));
  }
  /// Replicas that meet only through other groups: one for every process of
  /// these that a circle of waits may pass through. Where turns are looked at,
  /// all that take them.
  int64_t getExploredReplicas(warp::GroupOp group,
                              ArrayRef<warp::GroupOp> present,
                              bool hasTurns) const {
    int64_t replicas = group.getReplicas();
    if (model.joinsReplicas || (hasTurns && model.takesTurns(group)))
      return replicas;
    int64_t others = 0;
    for (warp::GroupOp other : present)
      if (other != group)
        others += hasTurns && model.takesTurns(other)
                      ? int64_t(other.getReplicas())
                      : 1;
    return std::min(replicas, std::max<int64_t>(others, 1));
  }

  LogicalResult explorePart(const ProtocolScope &scope);
  LogicalResult exploreRegisters(const warp::GroupControl &control);
  LogicalResult exploreTurns();
  LogicalResult exploreWaits();
  /// Everything, part by part; fails without that being an error.
  LogicalResult proveByParts();

  int64_t mostStates; ///< of one exploration
  ProtocolModel model;
  warp::ControlSkeleton skeleton;
  ArrayLags lags;
  int64_t numStates = 0;
};

/// One exploration of some groups.
struct Exploration {
  Exploration(const Session &session, ProtocolScope scope)
      : session(session), machine(session.model, scope),
        explorer(session.skeleton, machine,
                 [this, scope](Operation *op) -> std::optional<unsigned> {
                   using Kind = ProtocolScope::Kind;
                   const ProtocolModel &model = this->session.model;
                   auto channel = model.getChannel(op);
                   bool isIn =
                       channel &&
                       (scope.kind == Kind::All ||
                        (scope.kind == Kind::Turns && model.isTurn(op)) ||
                        (scope.kind == Kind::Part && !model.isTurn(op) &&
                         scope.arrays.test(*channel / 2)));
                   return isIn ? channel : std::nullopt;
                 }),
        hasTurns(scope.kind == ProtocolScope::Kind::All ||
                 scope.kind == ProtocolScope::Kind::Turns) {
    machine.prepare();
    explorer.limitStates(session.mostStates);
  }

  /// Adds the replicas of `groups` that have to be looked at; groups that do
  /// nothing in this scope are left out.
  LogicalResult addGroups(ArrayRef<warp::GroupControl> groups, bool isAlone);

  const Session &session;
  ProtocolMachine machine;
  std::vector<warp::Program> programs;
  warp::Explorer explorer;
  bool hasTurns;
};

} // namespace

LogicalResult Exploration::addGroups(ArrayRef<warp::GroupControl> groups,
                                     bool isAlone) {
  SmallVector<warp::GroupOp> present;
  programs.reserve(groups.size());
  for (const warp::GroupControl &control : groups) {
    FailureOr<warp::Program> program = warp::Program::compile(
        control.group, session.skeleton,
        [&](Operation *op) { return machine.isInstruction(op); },
        [&](Value value) { return machine.isTracked(value); });
    if (failed(program))
      return failure();
    if (llvm::none_of(program->getInstructions(), [](const auto &instruction) {
          return instruction.kind == warp::Instruction::Kind::Execute;
        }))
      continue;
    present.push_back(control.group);
    programs.push_back(std::move(*program));
  }
  for (auto [group, program] : llvm::zip(present, programs)) {
    int64_t replicas =
        isAlone ? 1 : session.getExploredReplicas(group, present, hasTurns);
    for (int64_t replica = 0; replica < replicas; ++replica) {
      explorer.addProcess(group, replica, program);
      if (failed(machine.addProcess(group, replica)))
        return failure();
    }
  }
  return success();
}

/// Whether a group does something to the barriers or the memory of a part.
/// What others do there is erased: products, fences and named barriers of a
/// group tell nobody else anything.
static bool takesPart(warp::GroupOp group, const ProtocolScope &scope,
                      const ProtocolModel &model) {
  WalkResult result = group.walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      Type type = operand.getType();
      if ((isa<BarrierType>(type) && scope.hasArray(model, operand)) ||
          (isa<BufferType, MailboxType>(type) && scope.hasBuffer(operand)))
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

LogicalResult Session::explorePart(const ProtocolScope &scope) {
  Exploration part(*this, scope);
  SmallVector<warp::GroupControl> groups;
  for (const warp::GroupControl &control : skeleton.getGroups())
    if (takesPart(control.group, scope, model))
      groups.push_back(control);
  if (failed(part.addGroups(groups, /*isAlone=*/false)))
    return failure();
  part.machine.findRotations(part.programs);
  LogicalResult result = part.explorer.run();
  numStates += part.explorer.getNumStates();
  for (const auto &entry : part.machine.getLags())
    lags.insert(entry);
  return result;
}

LogicalResult Session::exploreRegisters(const warp::GroupControl &control) {
  ProtocolScope scope;
  scope.kind = ProtocolScope::Kind::Registers;
  Exploration registers(*this, scope);
  if (failed(registers.addGroups(control, /*isAlone=*/true)))
    return failure();
  LogicalResult result = registers.explorer.run();
  numStates += registers.explorer.getNumStates();
  return result;
}

LogicalResult Session::exploreTurns() {
  if (model.turnOf.empty())
    return success();
  ProtocolScope scope;
  scope.kind = ProtocolScope::Kind::Turns;
  Exploration turns(*this, scope);
  if (failed(turns.addGroups(skeleton.getGroups(), /*isAlone=*/false)))
    return failure();
  LogicalResult result = turns.explorer.run();
  numStates += turns.explorer.getNumStates();
  return result;
}

LogicalResult Session::exploreWaits() {
  ProtocolCounts counts(model, lags);
  warp::Explorer explorer(
      skeleton, counts, [this](Operation *op) { return model.getChannel(op); });
  explorer.limitStates(mostStates);
  ArrayRef<warp::GroupControl> groups = skeleton.getGroups();
  SmallVector<warp::GroupOp> present;
  for (const warp::GroupControl &control : groups)
    present.push_back(control.group);
  std::vector<warp::Program> programs;
  programs.reserve(groups.size());
  for (const warp::GroupControl &control : groups) {
    FailureOr<warp::Program> program = warp::Program::compile(
        control.group, skeleton,
        [&](Operation *op) { return counts.isInstruction(op); },
        [](Value) { return false; });
    if (failed(program))
      return failure();
    programs.push_back(std::move(*program));
    int64_t replicas =
        getExploredReplicas(control.group, present, /*hasTurns=*/true);
    for (int64_t replica = 0; replica < replicas; ++replica) {
      explorer.addProcess(control.group, replica, programs.back());
      counts.addProcess(control.group, replica);
    }
  }
  LogicalResult result = explorer.run();
  numStates += explorer.getNumStates();
  return result;
}

LogicalResult Session::proveByParts() {
  // Waits at a named barrier that several processes meet at are not counted.
  if (model.hasMeetings)
    return failure();
  for (const warp::GroupControl &control : skeleton.getGroups())
    if (failed(exploreRegisters(control)))
      return failure();
  for (const ProtocolScope &scope : partition(model))
    if (failed(explorePart(scope)))
      return failure();
  if (failed(exploreTurns()))
    return failure();
  return exploreWaits();
}

/// The groups of a kernel; null if there are none.
static FailureOr<warp::SpecializeOp> findGroups(gpu::GPUFuncOp function) {
  warp::SpecializeOp found;
  WalkResult result = function.walk([&](warp::SpecializeOp op) {
    if (found) {
      op.emitOpError("expects to be the only 'warp.specialize' of its kernel");
      return WalkResult::interrupt();
    }
    found = op;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (found && found->getParentOp() != function)
    return found.emitOpError("expects to be directly in its kernel");
  return found;
}

LogicalResult fa3::hopper::checkProtocol(gpu::GPUFuncOp function,
                                         int64_t mostStates,
                                         int64_t &numStates) {
  OwningOpRef<gpu::GPUFuncOp> peeled = peelFirstIterations(function);
  if (peeled)
    function = *peeled;
  FailureOr<warp::SpecializeOp> specialize = findGroups(function);
  if (failed(specialize))
    return failure();
  if (!*specialize)
    return success();
  FailureOr<ProtocolModel> model = ProtocolModel::build(function, *specialize);
  if (failed(model))
    return failure();
  Session session(std::move(*model), mostStates);
  if (failed(session.prepare()))
    return failure();
  MLIRContext *context = function.getContext();
  std::vector<Diagnostic> ofParts;
  {
    HeldDiagnostics held(context);
    LogicalResult result = session.proveByParts();
    numStates += session.numStates;
    if (succeeded(result))
      return success();
    ofParts = held.take();
  }
  // Parts know less than the whole, which decides unless it is too large.
  std::vector<Diagnostic> ofWhole;
  LogicalResult result = success();
  {
    HeldDiagnostics held(context);
    Exploration whole(session, ProtocolScope());
    result = whole.addGroups(session.skeleton.getGroups(), /*isAlone=*/false);
    if (succeeded(result))
      result = whole.explorer.run();
    numStates += whole.explorer.getNumStates();
    ofWhole = held.take();
    if (whole.explorer.hasGivenUp() && !ofParts.empty())
      ofWhole = std::move(ofParts);
  }
  for (Diagnostic &diagnostic : ofWhole)
    context->getDiagEngine().emit(std::move(diagnostic));
  return result;
}

LogicalResult fa3::hopper::drawHappensBefore(gpu::GPUFuncOp function,
                                             raw_ostream &out) {
  FailureOr<warp::SpecializeOp> specialize = findGroups(function);
  if (failed(specialize))
    return failure();
  if (!*specialize)
    return function.emitOpError("has no groups to draw");
  FailureOr<ProtocolModel> model = ProtocolModel::build(function, *specialize);
  if (failed(model))
    return failure();
  Session session(std::move(*model));
  if (failed(session.prepare()))
    return failure();
  Exploration whole(session, ProtocolScope());
  whole.machine.enableTraces();
  if (failed(whole.addGroups(session.skeleton.getGroups(), /*isAlone=*/false)))
    return failure();

  // The longest loop with products, three iterations of it: the second is
  // drawn.
  constexpr unsigned kIterations = 3;
  unsigned choice = 0;
  const warp::Program *program = nullptr;
  unsigned longest = 0;
  for (const warp::Program &candidate : whole.programs) {
    auto instructions = candidate.getInstructions();
    for (auto [i, instruction] : llvm::enumerate(instructions)) {
      if (instruction.kind != warp::Instruction::Kind::Choose ||
          instruction.op->getNumRegions() != 1)
        continue;
      auto body = instructions.slice(i + 1, instruction.target - i - 1);
      bool isInnermost = llvm::none_of(body, [](const auto &inner) {
        return inner.kind == warp::Instruction::Kind::Choose;
      });
      bool multiplies = llvm::any_of(body, [](const auto &inner) {
        return isa_and_nonnull<WgmmaOp>(inner.op);
      });
      // Of equal loops the last: it is the one without masks.
      if (isInnermost && multiplies && body.size() >= longest) {
        longest = body.size();
        program = &candidate;
        choice = i;
      }
    }
  }
  if (!program)
    return function.emitOpError("has no loop of products to draw");
  // Loops of other groups may run once more: for what others do before a loop.
  LogicalResult found = whole.explorer.search(
      kIterations + 1, [&](const warp::JointState &state) {
        for (auto [p, process] : llvm::enumerate(state.processes))
          if (process.program == program &&
              process.taken[choice] == kIterations) {
            drawTrace(ProtocolMachine::getTrace(state), state, p, choice, 2,
                      out);
            return true;
          }
        return false;
      });
  if (failed(found))
    return function.emitOpError("has no way through its loops that is short "
                                "enough to draw");
  return success();
}
