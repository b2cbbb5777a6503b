//===- CheckEachPass.cpp - the answer of a module after every pass --------===//
// SPDX-License-Identifier: Apache-2.0
#include "CheckEachPass.h"
#include "Fail.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Pipelines/TunedPipeline.h"
#include "fa3/Tools/Run/CheckResult.h"
#include "fa3/Tools/Run/TextExecutor.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include <chrono>

using namespace mlir;
using namespace fa3;
using namespace fa3::run;

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

/// Half a unit in the last place of 1.
static double getRounding(interp::Format format) {
  switch (format) {
  case interp::Format::F16:
    return 0x1p-11;
  case interp::Format::BF16:
    return 0x1p-8;
  case interp::Format::F8E4M3FN:
    return 0x1p-4;
  case interp::Format::F8E5M2:
    return 0x1p-3;
  default:
    return 0x1p-24;
  }
}

Tolerance fa3::run::getRoundingTolerance(const interp::Array &array,
                                         const Problem &problem,
                                         const NumericChanges &changes) {
  double rounding = getRounding(array.getFormat());
  bool isFloat8 = changes.quantized.has_value();
  if (changes.quantized)
    rounding = std::max(rounding, getRounding(*changes.quantized));
  for (const ProblemArgument &argument : problem.getArguments())
    if (argument.getArray() && argument.access.read) {
      interp::Format format = argument.getArray()->getFormat();
      rounding = std::max(rounding, getRounding(format));
      isFloat8 |= interp::isFloat(format) && interp::getByteWidth(format) == 1;
    }
  // Statistics of rows are f32 sums of exact products, which have 14 bits with
  // 8-bit operands, at every 32 elements of a row; scores may be approximated.
  // Other results also carry the
  // rounding of weights to the element type of the operands.
  constexpr size_t kRankOfOutput = 4;
  if (array.getFormat() == interp::Format::F32 &&
      array.getShape().size() < kRankOfOutput)
    return isFloat8               ? kFloat8LseTolerance
           : changes.rounds       ? Tolerance{2 * rounding, 1e-4}
           : changes.approximates ? Tolerance{5e-4, 1e-4}
                                  : Tolerance{1e-4, 1e-4};
  return {4 * rounding, 4 * rounding};
}

static void describe(raw_ostream &os, const Comparison &c, StringRef name) {
  os << "'" << name << "' differs in " << c.mismatches << " of " << c.elements
     << " elements, first at [";
  llvm::interleaveComma(c.index, os);
  os << "]: ";
  c.isWritten ? os << llvm::format("%.9g", c.value) : os << "not written";
  os << " against ";
  c.isReferenceWritten ? os << llvm::format("%.9g", c.reference)
                       : os << "not written";
}

/// Describes the first written array that differs; empty if none does. Without
/// a tolerance, bits are compared.
static std::string findDifference(const Problem &mine, const Problem &theirs,
                                  bool exact,
                                  std::optional<Tolerance> tolerance,
                                  const NumericChanges &changes = {},
                                  double *distance = nullptr) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const ProblemArgument &other : theirs.getArguments()) {
    if (!other.getArray() || !other.access.written)
      continue;
    const auto *own =
        llvm::find_if(mine.getArguments(), [&](const ProblemArgument &a) {
          return a.name == other.name;
        });
    Tolerance allowed;
    if (!exact)
      allowed = tolerance
                    ? *tolerance
                    : getRoundingTolerance(*other.getArray(), theirs, changes);
    Comparison c = compare(*own->getArray(), *other.getArray(), allowed);
    if (distance)
      *distance = std::max(*distance, c.maxAbsolute);
    if (c.mismatches) {
      describe(os, c, other.name);
      return text;
    }
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

LogicalResult fa3::run::exploreSchedules(FunctionOpInterface function,
                                         const Problem &inputs,
                                         const Problem &answer,
                                         interp::Options execution,
                                         int64_t numStates, bool verbose) {
  constexpr unsigned kRandomRuns = 4;
  interp::ExplorationSummary summary;
  for (unsigned run = 0; run < kRandomRuns + 2; ++run) {
    interp::Options options = execution;
    std::string name;
    if (run == 0) {
      options.completion = interp::Completion::Eager;
      options.exploreStates = numStates;
      options.summary = &summary;
      name = "earliest completion";
    } else if (run == 1) {
      options.completion = interp::Completion::Latest;
      name = "latest completion";
    } else {
      options.completion = interp::Completion::Random;
      options.scheduleSeed = options.choiceSeed = execution.choiceSeed + run;
      name = "seed " + std::to_string(*options.scheduleSeed);
    }
    FailureOr<Problem> problem = inputs.cloneFor(function);
    if (failed(problem) ||
        failed(interp::interpret(function, problem->getValues(), options)))
      return fail("does not run with " + name);
    std::string difference = findDifference(*problem, answer, true, {});
    if (!difference.empty())
      return fail("the answer depends on the schedule, with " + name + " " +
                  difference);
  }
  if (verbose)
    llvm::outs() << "explored " << summary.blocks << " blocks, "
                 << summary.protocols << " different, " << summary.states
                 << " states, at most " << summary.mostStates << " of "
                 << summary.mostEvents << " events"
                 << (summary.incomplete ? ", not all\n" : "\n");
  if (summary.incomplete)
    return fail(Twine(summary.incomplete) + " of " + Twine(summary.protocols) +
                " blocks have more than " + Twine(numStates) + " states");
  return success();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

namespace {

/// What a pass does to the answer, as its record says.
enum class PassEffect { Exact, Reorders, RoundsOperands, Approximates };

/// Whether two answers have to be the same.
enum class Effect { Exact, Rounds };

/// Interprets the module after every pass.
class Checker final : public PassInstrumentation {
public:
  Checker(const CheckedProblem &problem, ModuleOp module, Problem inputs,
          Problem reference)
      : problem(problem), module(module), inputs(std::move(inputs)),
        reference(std::move(reference)) {
    module.walk([&](attention::QuantizeOp op) {
      changes.quantized = interp::getFormat(op.getFormat());
    });
  }

  void runBeforePass(Pass *, Operation *) override { begin = Clock::now(); }
  void runAfterPass(Pass *pass, Operation *op) override {
    // The passes that run nested ones have no argument.
    if (pass->getArgument().empty() || broken)
      return;
    Row row{pass->getArgument().str(), since(begin)};
    begin = Clock::now();
    check(row, isa<ModuleOp>(op));
    row.runTime = since(begin);
    rows.push_back(std::move(row));
  }

  /// Runs the PTX of the module, which all passes have lowered.
  void checkText();

  bool isBroken() const { return broken; }
  unsigned getNumChecked() const { return numChecked; }
  void printTable(raw_ostream &os) const;

private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin)
        .count();
  }
  struct Row {
    std::string pass;
    double passTime = 0, runTime = 0;
    std::string verdict;
    double distance = 0;
  };

  bool canRun();
  void check(Row &row, bool onModule);
  void compareWith(Row &row, Effect effect, Problem answer);

  const CheckedProblem &problem;
  ModuleOp module;
  Problem inputs, reference;
  std::optional<Problem> previous;
  std::vector<Row> rows;
  Clock::time_point begin;
  std::optional<OperationFingerPrint> fingerPrint;
  NumericChanges changes;
  bool broken = false, hasFences = false, ranWithFences = false;
  unsigned numChecked = 0;
};

} // namespace

/// Whether every launch names a kernel that the interpreter knows. Sets of
/// passes start above that and end below it.
bool Checker::canRun() {
  bool launches = false;
  WalkResult result = module.walk([&](Operation *op) {
    if (op->getName().getDialectNamespace() == "attention")
      return WalkResult::interrupt();
    SymbolRefAttr kernel;
    if (auto launch = dyn_cast<tile::LaunchOp>(op))
      kernel = launch.getKernelAttr();
    else if (auto launch = dyn_cast<hopper::LaunchOp>(op))
      kernel = launch.getKernelAttr();
    else
      return WalkResult::advance();
    launches = true;
    auto function =
        SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(op, kernel);
    if (!function)
      return WalkResult::interrupt();
    return function.walk([](Operation *inner) {
      if (isa<NVVM::GriddepcontrolOp>(inner))
        return WalkResult::advance();
      StringRef dialect = inner->getName().getDialectNamespace();
      return WalkResult(success(dialect != "llvm" && dialect != "nvvm"));
    });
  });
  return launches && !result.wasInterrupted();
}

static PassEffect getEffect(StringRef pass) {
  return llvm::StringSwitch<PassEffect>(pass)
#define FA3_PASS_EFFECT(name, effect) .Case(name, PassEffect::effect)
#include "fa3/Options/PassEffects.h.inc"
      .Default(PassEffect::Exact);
}

void Checker::check(Row &row, bool onModule) {
  PassEffect ofPass = getEffect(row.pass);
  Effect effect =
      previous && ofPass == PassEffect::Exact ? Effect::Exact : Effect::Rounds;
  // Nested passes reach the kernels one after another, so that all have their
  // fences when the next pass on the module has run.
  bool needsFences = hasFences && onModule;
  hasFences |= row.pass == "hopper-insert-fences";
  if (!canRun()) {
    row.verdict = "not run";
    return;
  }
  OperationFingerPrint state(module);
  if (previous && fingerPrint == state && needsFences == ranWithFences) {
    row.verdict = "same code";
    return;
  }
  fingerPrint = state;
  ranWithFences = needsFences;
  changes.approximates |= ofPass == PassEffect::Approximates;
  changes.rounds |= ofPass == PassEffect::RoundsOperands;
  broken = true;
  FunctionOpInterface function = findHostFunction(module, problem.function);
  if (!function)
    return;
  FailureOr<Problem> answer = inputs.cloneFor(function);
  interp::Options execution = problem.execution;
  execution.requireFences |= needsFences;
  row.verdict = "does not run";
  if (failed(answer) ||
      failed(interp::interpret(function, answer->getValues(), execution))) {
    (void)fail("the module does not run after " + row.pass);
    return;
  }
  compareWith(row, effect, std::move(*answer));
  numChecked += !broken;
}

/// Compares an answer with the one before and with the reference.
void Checker::compareWith(Row &row, Effect effect, Problem answer) {
  std::string fromReference = findDifference(
      answer, reference, false, problem.tolerance, changes, &row.distance);
  std::string fromPrevious =
      previous ? findDifference(answer, *previous, effect == Effect::Exact,
                                problem.tolerance, changes)
               : "";
  if (!fromPrevious.empty() || !fromReference.empty()) {
    bool isReference = fromPrevious.empty();
    row.verdict = "DIFFERS";
    (void)fail(row.pass + " changed the answer: " +
               (isReference ? fromReference : fromPrevious) +
               (isReference ? " of the reference" : " before it"));
    return;
  }
  row.verdict = effect == Effect::Exact ? "same" : "rounds";
  previous = std::move(answer);
  broken = false;
}

/// Instructions approximate what the dialects compute: logarithms, divisions,
/// exponentials.
void Checker::checkText() {
  Row row{"(ptx)"};
  begin = Clock::now();
  broken = true;
  FunctionOpInterface function = findHostFunction(module, problem.function);
  FailureOr<Problem> answer = failure();
  if (function)
    answer = inputs.cloneFor(function);
  CompileOptions compile;
  compile.jit = true;
  compile.function = problem.function;
  FailureOr<DeviceCode> code = translateForDevice(module, compile);
  row.passTime = since(begin);
  begin = Clock::now();
  if (failed(answer) || failed(code) ||
      failed(runText(*code, *answer, problem.execution))) {
    (void)fail("the PTX does not run");
    return;
  }
  row.runTime = since(begin);
  compareWith(row, Effect::Rounds, std::move(*answer));
  rows.push_back(std::move(row));
}

void Checker::printTable(raw_ostream &os) const {
  os << "pass                          pass ms   run ms  answer   "
        "from reference\n";
  for (const Row &row : rows) {
    os << llvm::left_justify(row.pass, 28)
       << llvm::format(" %8.2f %8.1f  ", row.passTime, row.runTime)
       << llvm::left_justify(row.verdict, 9);
    if (row.distance)
      os << llvm::format("%.3g", row.distance);
    os << '\n';
  }
}

/// Whether to compile the definition of attention, which takes a fifth of a
/// second: about as long as to interpret so many products of an element and a
/// key. The largest array times the longest extent is at least their number.
static bool isWorthCompiling(const Problem &problem) {
  constexpr int64_t kProducts = 2000000;
  int64_t elements = 0, extent = 0;
  for (const ProblemArgument &argument : problem.getArguments())
    if (const interp::Array *array = argument.getArray()) {
      elements = std::max(elements, array->getNumElements());
      for (int64_t one : array->getShape())
        extent = std::max(extent, one);
    }
  return elements * extent > kProducts;
}

/// The problem for `module`, and the answer by definition: of attention in f64,
/// of kernels as they are.
static LogicalResult makeReference(ModuleOp module,
                                   const CheckedProblem &checked,
                                   std::optional<Problem> &inputs,
                                   std::optional<Problem> &reference) {
  OwningOpRef<ModuleOp> copy = module.clone();
  WalkResult attention = copy->walk([](Operation *op) {
    return WalkResult(failure(isa<attention::ScoredOpInterface>(op) ||
                              attention::isPreparation(op)));
  });
  if (attention.wasInterrupted()) {
    PassManager manager(module.getContext());
    manager.addPass(attention::createExpandMods());
    manager.addPass(attention::createToReference());
    if (failed(manager.run(*copy)))
      return failure();
  }
  FunctionOpInterface function = findHostFunction(*copy, checked.function);
  if (!function)
    return failure();
  FailureOr<Problem> problem = Problem::create(function, checked.options);
  if (failed(problem) || failed(fillForwardResults(module, function.getName(),
                                                   checked.options, *problem)))
    return failure();
  FailureOr<Problem> answer = problem->cloneFor(function);
  if (failed(answer))
    return failure();
  LogicalResult made =
      attention.wasInterrupted() && isWorthCompiling(*answer)
          ? runAttention(*copy, function.getName(), *answer)
          : interp::interpret(function, answer->getValues(), checked.execution);
  if (failed(made))
    return failure();
  inputs = std::move(*problem);
  reference = std::move(*answer);
  return success();
}

/// Checks one run of the whole pipeline; gives the number of checked passes.
static FailureOr<unsigned> checkPipeline(ModuleOp module,
                                         const PipelineOptions &pipeline,
                                         const CheckedProblem &problem,
                                         bool verbose) {
  std::optional<Problem> inputs, reference;
  if (failed(makeReference(module, problem, inputs, reference)))
    return failure();
  PassManager manager(module.getContext());
  buildLowerToNVVMPipeline(manager, pipeline);
  auto owned = std::make_unique<Checker>(problem, module, std::move(*inputs),
                                         std::move(*reference));
  Checker &checker = *owned;
  manager.addInstrumentation(std::move(owned));
  LogicalResult result = manager.run(module);
  if (problem.withText && succeeded(result) && !checker.isBroken())
    checker.checkText();
  if (verbose)
    checker.printTable(llvm::outs());
  if (checker.isBroken())
    return failure();
  if (failed(result))
    return fail("the pipeline fails");
  return checker.getNumChecked();
}

LogicalResult fa3::run::checkEachPass(ModuleOp module,
                                      const PipelineOptions &pipeline,
                                      const CheckedProblem &problem,
                                      bool verbose) {
  FailureOr<SmallVector<Variant>> variants = planVariants(module, pipeline);
  if (failed(variants))
    return failure();
  // A module cannot run while variants of it are at different levels, so each
  // of them is checked by itself before all are merged.
  unsigned numChecked = 0;
  if (variants->size() > 1)
    for (const Variant &variant : *variants) {
      OwningOpRef<ModuleOp> copy = module.clone();
      FailureOr<unsigned> checked =
          checkPipeline(*copy, *variant.options, problem, verbose);
      if (failed(checked))
        return failure();
      numChecked += *checked;
    }
  FailureOr<unsigned> checked =
      checkPipeline(module, pipeline, problem, verbose);
  if (failed(checked))
    return failure();
  llvm::outs() << "same answer after " << numChecked + *checked << " passes\n";
  return success();
}
