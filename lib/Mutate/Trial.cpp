//===- Trial.cpp - what happens to a faulty kernel ------------------------===//

#include "Trial.h"
#include "fa3/Run/Compare.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::mutate;
using namespace fa3::run;

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

FailureOr<std::unique_ptr<Trial>>
Trial::create(MLIRContext &context, const Case &testCase, int64_t numStates) {
  std::unique_ptr<Trial> trial(new Trial(testCase, numStates));
  trial->tile =
      parseSourceFile<ModuleOp>(testCase.file, ParserConfig(&context));
  if (!trial->tile ||
      failed(trial->pipeline.parseFromString(testCase.pipeline, llvm::errs())))
    return failure();
  PassManager toTile(&context);
  buildTilePipeline(toTile, trial->pipeline);
  buildSpecializePipeline(toTile, trial->pipeline);
  buildPipelinePipeline(toTile, trial->pipeline);
  buildLayoutPipeline(toTile, trial->pipeline);
  if (failed(toTile.run(*trial->tile)))
    return failure();
  trial->hopper = trial->tile->clone();
  if (failed(trial->lower(*trial->hopper)))
    return failure();
  FunctionOpInterface function = findHostFunction(*trial->hopper, "");
  if (!function)
    return failure();
  FailureOr<Problem> inputs = Problem::create(function, testCase.problem);
  if (failed(inputs))
    return failure();
  trial->inputs = std::move(*inputs);

  for (bool isHopper : {false, true}) {
    ModuleOp module = isHopper ? *trial->hopper : *trial->tile;
    function = findHostFunction(module, "");
    FailureOr<Problem> answer = trial->inputs->cloneFor(function);
    interp::Options options;
    options.processors = testCase.processors;
    if (failed(answer) ||
        failed(interp::interpret(function, answer->getValues(), options)))
      return failure();
    (isHopper ? trial->hopperAnswer : trial->tileAnswer) = std::move(*answer);
    Outcome outcome = trial->judge(module, isHopper);
    if (outcome != Outcome::Harmless)
      return module.emitError("is not accepted without a fault"), failure();
  }
  return trial;
}

LogicalResult Trial::lower(ModuleOp module) const {
  PassManager manager(module.getContext());
  buildHopperPipeline(manager, pipeline);
  return manager.run(module);
}

static int64_t count(const FaultKind &kind, ModuleOp module) {
  Places places;
  kind.collect(module, places);
  return places.size();
}

int64_t Trial::countTilePlaces(const FaultKind &kind) const {
  return count(kind, *tile);
}
int64_t Trial::countHopperPlaces(const FaultKind &kind) const {
  return count(kind, *hopper);
}

//===----------------------------------------------------------------------===//
// Judgement
//===----------------------------------------------------------------------===//

/// Runs the static checkers that exist.
static LogicalResult check(ModuleOp module, bool isHopper) {
  const PassInfo *pass =
      PassInfo::lookup(isHopper ? "hopper-check-protocol" : "flow-check");
  if (!pass)
    return success();
  PassManager manager(module.getContext());
  auto ignore = [](const Twine &) { return failure(); };
  if (failed(pass->addToPipeline(manager, "", ignore)))
    return module.emitError("cannot run the checker");
  return manager.run(module);
}

static bool isSame(const Problem &mine, const Problem &theirs) {
  for (auto [a, b] :
       llvm::zip_equal(mine.getArguments(), theirs.getArguments()))
    if (b.getArray() && b.access.written &&
        compare(*a.getArray(), *b.getArray(), {}).mismatches)
      return false;
  return true;
}

Outcome Trial::judge(ModuleOp module, bool isHopper) const {
  if (failed(check(module, isHopper)))
    return Outcome::Checker;
  return judgeRuns(module, isHopper);
}

Outcome Trial::judgeRuns(ModuleOp module, bool isHopper) const {
  FunctionOpInterface function = findHostFunction(module, "");
  const Problem &expected = isHopper ? *hopperAnswer : *tileAnswer;
  constexpr unsigned kRandomRuns = 2;
  for (unsigned run = 0; run < kRandomRuns + 2; ++run) {
    interp::ExplorationSummary summary;
    interp::Options options;
    options.processors = testCase.processors;
    options.requireFences = isHopper;
    options.summary = &summary;
    if (run == 0 && isHopper)
      options.exploreStates = numStates;
    if (run == 1)
      options.completion = interp::Completion::Eager;
    if (run > 1) {
      options.completion = interp::Completion::Random;
      options.scheduleSeed = options.choiceSeed = run;
    }
    FailureOr<Problem> answer = inputs->cloneFor(function);
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

static OwningOpRef<ModuleOp> makeFaulty(ModuleOp module, const FaultKind &kind,
                                        int64_t index) {
  OwningOpRef<ModuleOp> copy = module.clone();
  Places places;
  kind.collect(*copy, places);
  places[index].apply();
  return copy;
}

Outcome Trial::tryHopperFault(const FaultKind &kind, int64_t index,
                              std::string &message) const {
  Quiet quiet(hopper.get().getContext(), message);
  OwningOpRef<ModuleOp> faulty = makeFaulty(*hopper, kind, index);
  if (failed(verify(*faulty)))
    return Outcome::Verifier;
  return judge(*faulty, /*isHopper=*/true);
}

Outcome Trial::tryTileFault(const FaultKind &kind, int64_t index,
                            std::string &message) const {
  Quiet quiet(tile.get().getContext(), message);
  OwningOpRef<ModuleOp> faulty = makeFaulty(*tile, kind, index);
  if (failed(verify(*faulty)))
    return Outcome::Verifier;
  Outcome outcome = judge(*faulty, /*isHopper=*/false);
  if (outcome != Outcome::Harmless)
    return outcome;
  // Schedules are explored where barriers are explicit.
  if (failed(lower(*faulty)))
    return Outcome::Checker;
  return judge(*faulty, /*isHopper=*/true);
}
