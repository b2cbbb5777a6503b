//===- Trial.cpp - what happens to a mutated kernel -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Trial.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "fa3/Dialect/Warp/Transforms/Passes.h"
#include "fa3/Support/ModuleText.h"
#include "fa3/Tools/Run/CompareArrays.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::mutate;
using namespace fa3::run;

namespace {
/// Keeps the first error instead of printing it.
class Quiet {
public:
  Quiet(MLIRContext *context, std::string &message)
      : handler(context, [&](Diagnostic &diagnostic) {
          if (message.empty() &&
              diagnostic.getSeverity() == DiagnosticSeverity::Error)
            message = diagnostic.str();
          return success();
        }) {}

private:
  ScopedDiagnosticHandler handler;
};
} // namespace

/// Asks the static checker of a stage.
static LogicalResult check(ModuleOp module, bool isHopper) {
  PassManager manager(module.getContext());
  if (isHopper)
    manager.addPass(hopper::createCheckProtocol());
  else
    manager.nest<gpu::GPUModuleOp>().addPass(warp::createCheck());
  return manager.run(module);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

FailureOr<std::unique_ptr<Trial>> Trial::create(MLIRContext &context,
                                                const Case &testCase,
                                                int64_t numStates,
                                                bool useCheckers) {
  std::unique_ptr<Trial> trial(new Trial(testCase, numStates));
  trial->tile = parseModuleFile(testCase.file, &context);
  if (!trial->tile ||
      failed(trial->pipeline.parseFromString(testCase.pipeline, llvm::errs())))
    return failure();
  // The checkers are asked one by one, with and without mutation.
  trial->pipeline.check = false;
  PassManager toTile(&context);
  if (!testCase.isSpecialized) {
    buildTilePipeline(toTile, trial->pipeline);
    buildSpecializePipeline(toTile, trial->pipeline);
    buildPipelinePipeline(toTile, trial->pipeline);
  }
  buildLayoutPipeline(toTile, trial->pipeline);
  if (failed(toTile.run(*trial->tile)))
    return failure();
  trial->hopper = trial->tile->clone();
  if (failed(trial->lower(*trial->hopper)))
    return failure();
  FunctionOpInterface function = findHostFunction(*trial->hopper, "");
  if (!function)
    return failure();
  for (auto [index, options] : llvm::enumerate(testCase.problems)) {
    FailureOr<run::Problem> inputs = run::Problem::create(function, options);
    if (failed(inputs))
      return failure();
    bool isExplored =
        !llvm::is_contained(testCase.unexplored, static_cast<int64_t>(index));
    trial->problems.push_back({std::move(*inputs), isExplored, {}, {}});
  }
  for (bool isHopper : {false, true}) {
    ModuleOp module = isHopper ? *trial->hopper : *trial->tile;
    std::string alarm;
    bool &checks = isHopper ? trial->checksHopper : trial->checksTile;
    checks = useCheckers;
    if (useCheckers) {
      Quiet quiet(&context, alarm);
      checks = succeeded(check(module, isHopper));
      if (!checks)
        trial->falseAlarms.push_back(std::move(alarm));
    }
    function = findHostFunction(module, "");
    interp::Options options;
    options.sms = testCase.sms;
    for (Problem &problem : trial->problems) {
      FailureOr<run::Problem> answer = problem.inputs.cloneFor(function);
      if (failed(answer) ||
          failed(interp::interpret(function, answer->getValues(), options)))
        return failure();
      (isHopper ? problem.hopperAnswer : problem.tileAnswer) =
          std::move(*answer);
    }
    Outcome outcome = trial->judge(module, isHopper);
    if (outcome != Outcome::Harmless)
      return module.emitError("is not accepted without a mutation"), failure();
  }
  return trial;
}

LogicalResult Trial::lower(ModuleOp module) const {
  PassManager manager(module.getContext());
  buildHopperPipeline(manager, pipeline);
  return manager.run(module);
}

static int64_t count(const MutantKind &kind, ModuleOp module) {
  Places places;
  kind.collect(module, places);
  return places.size();
}

int64_t Trial::countTilePlaces(const MutantKind &kind) const {
  return count(kind, *tile);
}
int64_t Trial::countHopperPlaces(const MutantKind &kind) const {
  return count(kind, *hopper);
}

//===----------------------------------------------------------------------===//
// Judgment
//===----------------------------------------------------------------------===//

static bool isSame(const run::Problem &mine, const run::Problem &theirs) {
  for (auto [a, b] :
       llvm::zip_equal(mine.getArguments(), theirs.getArguments()))
    if (b.getArray() && b.access.written &&
        compare(*a.getArray(), *b.getArray(), {}).mismatches)
      return false;
  return true;
}

Outcome Trial::judge(ModuleOp module, bool isHopper) const {
  if ((isHopper ? checksHopper : checksTile) && failed(check(module, isHopper)))
    return Outcome::Checker;
  for (const Problem &problem : problems) {
    Outcome outcome = judgeRuns(module, isHopper, problem);
    if (outcome != Outcome::Harmless)
      return outcome;
  }
  return Outcome::Harmless;
}

Outcome Trial::judgeRuns(ModuleOp module, bool isHopper,
                         const Problem &problem) const {
  FunctionOpInterface function = findHostFunction(module, "");
  const run::Problem &expected =
      isHopper ? *problem.hopperAnswer : *problem.tileAnswer;
  constexpr unsigned kRandomRuns = 2;
  for (unsigned run = 0; run < kRandomRuns + 2; ++run) {
    interp::ExplorationSummary summary;
    interp::Options options;
    options.sms = testCase.sms;
    options.requireFences = isHopper;
    options.summary = &summary;
    if (run == 0 && isHopper && problem.isExplored)
      options.exploreStates = numStates;
    if (run == 1)
      options.completion = interp::Completion::Eager;
    if (run > 1) {
      options.completion = interp::Completion::Random;
      options.scheduleSeed = options.choiceSeed = run;
    }
    FailureOr<run::Problem> answer = problem.inputs.cloneFor(function);
    if (failed(answer))
      return Outcome::Verifier;
    if (failed(interp::interpret(function, answer->getValues(), options)))
      return summary.failed ? Outcome::Explored : Outcome::Run;
    if (!isSame(*answer, expected))
      return Outcome::Answer;
    if (summary.incomplete)
      return Outcome::Missed;
  }
  return Outcome::Harmless;
}

static OwningOpRef<ModuleOp> makeMutant(ModuleOp module, const MutantKind &kind,
                                        int64_t index) {
  OwningOpRef<ModuleOp> copy = module.clone();
  Places places;
  kind.collect(*copy, places);
  places[index].apply();
  return copy;
}

bool Trial::isReached(bool isHopper, const MutantKind &kind,
                      int64_t index) const {
  OwningOpRef<ModuleOp> copy = (isHopper ? *hopper : *tile).clone();
  Places places;
  kind.collect(*copy, places);
  // The interpreter refuses to execute poison.
  OpBuilder builder(places[index].op);
  ub::PoisonOp::create(builder, places[index].op->getLoc(),
                       builder.getI32Type());
  FunctionOpInterface function = findHostFunction(*copy, "");
  interp::Options options;
  options.sms = testCase.sms;
  std::string unused;
  Quiet quiet(copy.get().getContext(), unused);
  return llvm::any_of(problems, [&](const Problem &problem) {
    FailureOr<run::Problem> answer = problem.inputs.cloneFor(function);
    return failed(answer) ||
           failed(interp::interpret(function, answer->getValues(), options));
  });
}

Outcome Trial::tryHopperMutant(const MutantKind &kind, int64_t index,
                               std::string &message) const {
  Quiet quiet(hopper.get().getContext(), message);
  OwningOpRef<ModuleOp> mutated = makeMutant(*hopper, kind, index);
  if (failed(verify(*mutated)))
    return Outcome::Verifier;
  Outcome outcome = judge(*mutated, /*isHopper=*/true);
  return outcome == Outcome::Harmless && !isReached(true, kind, index)
             ? Outcome::Missed
             : outcome;
}

Outcome Trial::tryTileMutant(const MutantKind &kind, int64_t index,
                             std::string &message) const {
  Quiet quiet(tile.get().getContext(), message);
  OwningOpRef<ModuleOp> mutated = makeMutant(*tile, kind, index);
  if (failed(verify(*mutated)))
    return Outcome::Verifier;
  Outcome outcome = judge(*mutated, /*isHopper=*/false);
  if (outcome != Outcome::Harmless)
    return outcome;
  // Schedules are explored where barriers are explicit.
  if (failed(lower(*mutated)))
    return Outcome::Checker;
  outcome = judge(*mutated, /*isHopper=*/true);
  return outcome == Outcome::Harmless && !isReached(false, kind, index)
             ? Outcome::Missed
             : outcome;
}
