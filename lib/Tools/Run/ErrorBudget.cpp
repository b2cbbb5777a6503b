//===- ErrorBudget.cpp - where the error of 8-bit attention is made -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Four runs with the same inputs, each with one source of error more than the
// run before. What two runs differ by is what the source between them adds.
//===----------------------------------------------------------------------===//

#include "ErrorBudget.h"
#include "Fail.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace mlir;
using namespace fa3;
using namespace fa3::run;

namespace {
class Budget {
public:
  Budget(ModuleOp module, const PipelineOptions &pipeline,
         const CheckedProblem &problem)
      : module(module), pipeline(pipeline), problem(problem) {}

  LogicalResult print();

private:
  using Prepare = llvm::function_ref<LogicalResult(ModuleOp, OpPassManager &)>;
  /// The answer of a copy of the module after passes.
  FailureOr<Problem> run(Prepare prepare);
  FailureOr<Problem> define(bool withGivenInputs);

  ModuleOp module;
  const PipelineOptions &pipeline;
  const CheckedProblem &problem;
  std::optional<Problem> inputs;
};
} // namespace

/// Lets attention read what is quantized instead of the result. Rotations of q
/// and k by the same orthogonal matrix do not change scores.
static LogicalResult dropQuantization(ModuleOp module) {
  WalkResult result = module.walk([](attention::ForwardOp forward) {
    auto isQuantized = [](Value value) {
      return value.getDefiningOp<attention::QuantizeOp>() != nullptr;
    };
    Value operands[] = {forward.getQ(), forward.getK(), forward.getV()};
    if (!llvm::all_of(operands, isQuantized))
      return WalkResult::advance();
    Type given = getElementTypeOrSelf(
        operands[0].getDefiningOp<attention::QuantizeOp>().getSource());
    Type output = getElementTypeOrSelf(forward.getO());
    if (given != output) {
      forward.emitOpError("has no error budget: expects o to have the element "
                          "type of q before quantization (")
          << given << "), got " << output;
      return WalkResult::interrupt();
    }
    for (auto [i, value] : llvm::enumerate(operands))
      forward->setOperand(
          i, value.getDefiningOp<attention::QuantizeOp>().getSource());
    forward.getScalesMutable().clear();
    forward.removeRowsAttr();
    forward.setQTerms(1);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  module.walk([](attention::QuantizeOp op) {
    if (op->use_empty())
      op.erase();
  });
  return success();
}

FailureOr<Problem> Budget::run(Prepare prepare) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager manager(module.getContext());
  if (failed(prepare(*copy, manager)) || failed(manager.run(*copy)))
    return failure();
  FunctionOpInterface function = findHostFunction(*copy, problem.function);
  if (!function)
    return failure();
  if (!inputs) {
    FailureOr<Problem> created = Problem::create(function, problem.options);
    if (failed(created))
      return failure();
    inputs = std::move(*created);
  }
  FailureOr<Problem> answer = inputs->cloneFor(function);
  if (failed(answer) || failed(interp::interpret(function, answer->getValues(),
                                                 problem.execution)))
    return failure();
  return answer;
}

FailureOr<Problem> Budget::define(bool withGivenInputs) {
  return run([&](ModuleOp copy, OpPassManager &manager) {
    manager.addPass(attention::createExpandMods());
    manager.addPass(attention::createToReference());
    if (!withGivenInputs)
      return success();
    // Signs get their name from the operation that is dropped.
    for (auto function : copy.getOps<func::FuncOp>()) {
      Builder builder(function.getContext());
      if (problem.function.empty() || function.getName() == problem.function)
        for (unsigned i = 0; i < function.getNumArguments(); ++i)
          function.setArgAttr(
              i, kArgumentNameAttr,
              builder.getStringAttr(inputs->getArguments()[i].name));
    }
    return dropQuantization(copy);
  });
}

/// Root mean square of an array, or of its difference from another one.
static double getRms(const interp::Array &array, const interp::Array *other) {
  double sum = 0, count = 0;
  array.forEach([&](ArrayRef<int64_t> index, uint8_t *element) {
    double value = interp::loadAsDouble(array.getFormat(), element);
    double reference =
        other ? interp::loadAsDouble(other->getFormat(), other->at(index)) : 0;
    // Queries without visible keys have -inf, which are no numbers to compare.
    if (std::isinf(value) && (!other || value == reference))
      return;
    sum += (value - reference) * (value - reference);
    ++count;
  });
  return count ? std::sqrt(sum / count) : 0;
}

LogicalResult Budget::print() {
  // The first run names the arguments.
  FailureOr<Problem> rounded = define(/*withGivenInputs=*/false);
  if (failed(rounded))
    return failure();
  FailureOr<Problem> given = define(/*withGivenInputs=*/true);
  if (failed(given))
    return failure();
  FailureOr<Problem> tiles = run([&](ModuleOp, OpPassManager &manager) {
    buildTilePipeline(manager, pipeline);
    return success();
  });
  if (failed(tiles))
    return failure();
  FailureOr<Problem> instructions = run([&](ModuleOp, OpPassManager &manager) {
    buildPipelineTo(Stage::Hopper, manager, pipeline);
    return success();
  });
  if (failed(instructions))
    return failure();
  llvm::outs() << "root mean square of errors    inputs    weights   sums      "
                  "all       values\n";
  for (auto [i, argument] : llvm::enumerate(given->getArguments())) {
    const interp::Array *exact = argument.getArray();
    if (!exact || !argument.access.written)
      continue;
    auto get = [i = i](const Problem &p) {
      return p.getArguments()[i].getArray();
    };
    llvm::outs() << llvm::left_justify(argument.name, 28)
                 << llvm::format("  %.2e  %.2e  %.2e  %.2e  %.2e\n",
                                 getRms(*get(*rounded), exact),
                                 getRms(*get(*tiles), get(*rounded)),
                                 getRms(*get(*instructions), get(*tiles)),
                                 getRms(*get(*instructions), exact),
                                 getRms(*exact, nullptr));
  }
  return success();
}

LogicalResult fa3::run::printErrorBudget(ModuleOp module,
                                         const PipelineOptions &pipeline,
                                         const CheckedProblem &problem) {
  WalkResult found =
      module.walk([](attention::ForwardOp) { return WalkResult::interrupt(); });
  if (!found.wasInterrupted())
    return fail("--error-budget expects a module with attention");
  return Budget(module, pipeline, problem).print();
}
