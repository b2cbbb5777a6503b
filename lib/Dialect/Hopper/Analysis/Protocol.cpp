//===- Protocol.cpp - proves the protocol of a kernel ---------------------===//

#include "fa3/Dialect/Hopper/Analysis/Protocol.h"
#include "HappensBefore.h"
#include "ProtocolMachine.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

namespace {

/// A kernel ready to be explored.
struct Session {
  explicit Session(ProtocolModel &&model)
      : model(std::move(model)), machine(this->model),
        skeleton(this->model.specialize, this->model.channels,
                 this->model.objects),
        explorer(skeleton, machine,
                 [this](Operation *op) { return this->model.getChannel(op); }) {
  }

  LogicalResult prepare();

  ProtocolModel model;
  ProtocolMachine machine;
  flow::ControlSkeleton skeleton;
  std::vector<flow::Program> programs;
  flow::Explorer explorer;
};

} // namespace

LogicalResult Session::prepare() {
  if (failed(skeleton.build(
          [&](Operation *op) { return model.getChannel(op); })) ||
      failed(skeleton.checkBalance()))
    return failure();
  machine.prepare();
  int64_t others = skeleton.getGroups().size() - 1;
  programs.reserve(skeleton.getGroups().size());
  for (const flow::GroupControl &control : skeleton.getGroups()) {
    FailureOr<flow::Program> program = flow::Program::compile(
        control.group, skeleton,
        [&](Operation *op) { return machine.isInstruction(op); },
        [&](Value value) { return machine.isTracked(value); });
    if (failed(program))
      return failure();
    programs.push_back(std::move(*program));
    // Replicas that meet only through other groups: one for every group that a
    // circle of waits may pass through.
    int64_t replicas = control.group.getReplicas();
    if (!model.joinsReplicas)
      replicas = std::min(replicas, std::max<int64_t>(others, 1));
    for (int64_t replica = 0; replica < replicas; ++replica) {
      explorer.addProcess(control.group, replica, programs.back());
      if (failed(machine.addProcess(control.group, replica)))
        return failure();
    }
  }
  return success();
}

/// The groups of a kernel; null if there are none.
static FailureOr<flow::SpecializeOp> findGroups(gpu::GPUFuncOp function) {
  flow::SpecializeOp found;
  WalkResult result = function.walk([&](flow::SpecializeOp op) {
    if (found) {
      op.emitOpError("expects to be the only 'flow.specialize' of its kernel");
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
                                         int64_t &numStates) {
  FailureOr<flow::SpecializeOp> specialize = findGroups(function);
  if (failed(specialize))
    return failure();
  if (!*specialize)
    return success();
  FailureOr<ProtocolModel> model = ProtocolModel::build(function, *specialize);
  if (failed(model))
    return failure();
  Session session(std::move(*model));
  if (failed(session.prepare()))
    return failure();
  LogicalResult result = session.explorer.run();
  numStates += session.explorer.getNumStates();
  return result;
}

LogicalResult fa3::hopper::drawHappensBefore(gpu::GPUFuncOp function,
                                             raw_ostream &out) {
  FailureOr<flow::SpecializeOp> specialize = findGroups(function);
  if (failed(specialize))
    return failure();
  if (!*specialize)
    return function.emitOpError("has no groups to draw");
  FailureOr<ProtocolModel> model = ProtocolModel::build(function, *specialize);
  if (failed(model))
    return failure();
  Session session(std::move(*model));
  session.machine.enableTraces();
  if (failed(session.prepare()))
    return failure();

  // The longest loop with products, three iterations of it: the second is
  // drawn.
  constexpr unsigned kIterations = 3;
  unsigned choice = 0;
  const flow::Program *program = nullptr;
  unsigned longest = 0;
  for (const flow::Program &candidate : session.programs) {
    auto instructions = candidate.getInstructions();
    for (auto [i, instruction] : llvm::enumerate(instructions)) {
      if (instruction.kind != flow::Instruction::Kind::Choose ||
          instruction.op->getNumRegions() != 1)
        continue;
      auto body = instructions.slice(i + 1, instruction.target - i - 1);
      bool isInnermost = llvm::none_of(body, [](const auto &inner) {
        return inner.kind == flow::Instruction::Kind::Choose;
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
  LogicalResult found = session.explorer.search(
      kIterations + 1, [&](const flow::JointState &state) {
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
