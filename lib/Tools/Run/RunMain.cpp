//===- RunMain.cpp - the tool fa3-run -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tools/Run/RunMain.h"
#include "CheckEachPass.h"
#include "CommandLine.h"
#include "ErrorBudget.h"
#include "Fail.h"
#include "Output.h"
#include "Report.h"
#include "Source.h"
#include "TraceKernel.h"
#include "fa3/InitAllPasses.h"
#include "fa3/Interp/PTXDriver.h"
#include "fa3/Support/ModuleText.h"
#include "fa3/Target/PTX/PTX.h"
#include "fa3/Tools/Run/CheckResult.h"
#include "fa3/Tools/Run/Npy.h"
#include "fa3/Tools/Run/TextExecutor.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::run;
namespace cl = llvm::cl;

namespace {
/// One run of the tool.
class Session {
public:
  Session(const CommandLine &line, const CheckOptions &checks,
          MLIRContext &context)
      : line(line), checks(checks), context(context), report(line.json) {}

  LogicalResult run() {
    LogicalResult result = runAll();
    if (problem)
      report.finish(line.file, succeeded(result));
    return result;
  }

private:
  LogicalResult runAll();
  LogicalResult chooseExecutor();
  LogicalResult choosePTX();
  LogicalResult runOnDevice();
  LogicalResult runOnCpu();
  LogicalResult writeOutputs();
  LogicalResult checkResults();
  void sayUnchecked();
  LogicalResult checkAgainstModule();
  LogicalResult measureDevice();

  const CommandLine &line;
  const CheckOptions &checks;
  MLIRContext &context;
  Report report;
  ParsedOptions options;
  std::optional<Source> source;
  std::optional<Problem> problem;
  /// The inputs, if a second run needs them.
  std::optional<Problem> second;
  OwningOpRef<ModuleOp> secondModule;
  FunctionOpInterface secondFunction;
  ExecutorKind executor = ExecutorKind::Auto;
  // The device outlives what was allocated on it.
  std::unique_ptr<Device> device;
  std::unique_ptr<DeviceExecutor> deviceExecutor;
};
} // namespace

using OptionRef = std::reference_wrapper<const cl::Option>;

/// Fails if an option is given that means nothing with others.
static LogicalResult refuse(ArrayRef<OptionRef> options, const Twine &with) {
  for (const cl::Option &option : options)
    if (option.getNumOccurrences())
      return fail("--" + option.ArgStr + " does not go with " + with);
  return success();
}

//===----------------------------------------------------------------------===//
// Where to run
//===----------------------------------------------------------------------===//

LogicalResult Session::chooseExecutor() {
  executor = options.executor;
  bool isText = source->getCode() && !source->getCode()->isCubin;
  if (executor == ExecutorKind::Interpreter && isText)
    executor = ExecutorKind::PTX;
  if (executor == ExecutorKind::PTX)
    return choosePTX();
  if (failed(refuse({line.firstBlock}, "an executor other than that of PTX")))
    return failure();
  ExecutorKind onCpu = source->isAttention() ? ExecutorKind::Reference
                                             : ExecutorKind::Interpreter;
  if (executor == ExecutorKind::Auto || executor == ExecutorKind::Device) {
    std::string reason;
    device = Device::open(line.device, reason);
    if (device) {
      executor = ExecutorKind::Device;
      report.setExecutor("device", device->getInfo().name,
                         /*isExpected=*/false);
      return success();
    }
    if (executor == ExecutorKind::Device)
      return fail("no GPU: " + reason);
    if (!source->getModule())
      return fail("no GPU: " + reason +
                  "; give the module by --reference to run it on the CPU");
    llvm::WithColor::warning(llvm::errs(), "fa3-run")
        << "no GPU: " << reason << "; running on the CPU\n";
    executor = onCpu;
  }
  if (options.executor == executor &&
      failed(
          refuse({line.pipelineOptions, line.ptxas, line.jit, line.iterations},
                 "a run on the CPU")))
    return failure();
  if (!source->getModule())
    return fail("code for a GPU cannot be run on the CPU, give its module by "
                "--reference");
  if (executor == ExecutorKind::Reference && !source->isAttention())
    return fail("--executor=reference runs attention on tensors, the module "
                "has none");
  bool isReference = executor == ExecutorKind::Reference;
  report.setExecutor(isReference ? "reference" : "interpreter", "CPU",
                     executor == options.executor);
  return success();
}

/// The executor of PTX is a driver with a device of its own.
LogicalResult Session::choosePTX() {
  if (failed(
          refuse({line.ptxas, line.jit, line.iterations}, "a run on the CPU")))
    return failure();
  if (source->getCode() && source->getCode()->isCubin)
    return fail("code for a GPU cannot be run on the CPU, give its module by "
                "--reference");
  interp::ptx::setFirstBlock(line.firstBlock);
  device = openTextDevice(options.interpreter);
  if (!device)
    return failure();
  report.setExecutor("ptx", "CPU", /*isExpected=*/true);
  return success();
}

LogicalResult Session::runOnDevice() {
  std::optional<DeviceCode> code = source->getCode();
  bool onCpu = executor == ExecutorKind::PTX;
  if (!code) {
    OwningOpRef<ModuleOp> copy(cast<ModuleOp>(source->getModule()->clone()));
    CompileOptions compile = options.compile;
    compile.jit |= onCpu;
    FailureOr<DeviceCode> compiled = compileForDevice(*copy, compile);
    if (failed(compiled))
      return failure();
    code = std::move(*compiled);
  }
  if (onCpu)
    return runText(std::move(*code), *problem, options.interpreter);
  auto created = DeviceExecutor::create(*code, *problem);
  if (failed(created))
    return failure();
  deviceExecutor = std::move(*created);
  return deviceExecutor->run();
}

LogicalResult Session::runOnCpu() {
  if (executor == ExecutorKind::Reference)
    return runAttention(source->getModule(), source->getFunction().getName(),
                        *problem);
  FunctionOpInterface function = source->getFunction();
  FailureOr<Problem> inputs = problem->cloneFor(function);
  if (failed(inputs) || failed(interp::interpret(function, problem->getValues(),
                                                 options.interpreter)))
    return failure();
  if (!checks.explore)
    return success();
  return exploreSchedules(function, *inputs, *problem, options.interpreter,
                          checks.explore, checks.verbose);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult Session::writeOutputs() {
  for (auto &entry : options.outputs) {
    const ProblemArgument *argument = problem->find(entry.first());
    if (!argument || !argument->getArray())
      return fail("--output of '" + entry.first() +
                  "', which is no array argument");
    if (failed(writeOutput(entry.second, [&](raw_ostream &os) {
          os << writeNpy(*argument->getArray());
        })))
      return failure();
  }
  for (const std::string &name : line.prints) {
    const ProblemArgument *argument = problem->find(name);
    if (!argument || !argument->getArray())
      return fail("--print of '" + name + "', which is no array argument");
    printElements(llvm::outs(), name, *argument->getArray());
  }
  if (line.checksum)
    for (const ProblemArgument &argument : problem->getArguments())
      if (argument.getArray() && argument.access.written)
        printSummary(llvm::outs(), argument.name, *argument.getArray());
  return success();
}

LogicalResult Session::checkAgainstModule() {
  interp::Options plain;
  plain.sms = options.interpreter.sms;
  if (failed(interp::interpret(secondFunction, second->getValues(),
                               line.against.empty() ? plain
                                                    : options.interpreter)))
    return failure();
  std::optional<Tolerance> tolerance;
  if (!line.against.empty() || line.atol > 0 || line.rtol > 0)
    tolerance = {line.atol, line.rtol};
  return report.addChecks(checkAgainst(*problem, *second, tolerance));
}

/// A run without a word would look like a check, unless results are shown.
void Session::sayUnchecked() {
  if (!options.outputs.empty() || !line.prints.empty() || line.checksum ||
      line.json || checks.explore)
    return;
  bool isReference = executor == ExecutorKind::Reference;
  llvm::WithColor::note(llvm::errs(), "fa3-run")
      << "'" << source->getFunction().getName()
      << (isReference ? "' was computed by its definition"
                      : "' ran without a fault")
      << "; nothing was compared: "
      << (source->getModule() ? "--check-each-pass or --against=MODULE do, "
                              : "--reference=MODULE does, ")
      << "--print=NAME shows results\n";
}

LogicalResult Session::checkResults() {
  if (second)
    return checkAgainstModule();
  if (line.noCheck)
    return success();
  if (!source->isAttention() || executor == ExecutorKind::Reference) {
    sayUnchecked();
    return success();
  }
  FailureOr<SmallVector<CheckResult>> checks =
      checkAttention(source->getModule(), source->getFunction().getName(),
                     *problem, {line.checkHeads, line.seed});
  if (failed(checks))
    return failure();
  return report.addChecks(*checks);
}

LogicalResult Session::measureDevice() {
  if (line.repeat > 1) {
    FailureOr<int64_t> differing =
        deviceExecutor->countDifferences(line.repeat - 1);
    if (failed(differing) || failed(report.addRepeats(line.repeat, *differing)))
      return failure();
  }
  std::optional<int64_t> flops = deviceExecutor->getFlops();
  for (TimingMode mode : line.time) {
    FailureOr<Timing> timing = measure(*deviceExecutor, mode, line.iterations);
    if (failed(timing))
      return failure();
    report.addTiming(mode, *timing, flops);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

LogicalResult Session::runAll() {
  FailureOr<ParsedOptions> parsed = parseOptions(line);
  if (failed(parsed))
    return failure();
  options = std::move(*parsed);
  FailureOr<Source> loaded = Source::load(line, context);
  if (failed(loaded))
    return failure();
  source = std::move(*loaded);
  FailureOr<Problem> created = Problem::create(
      source->getFunction(), options.problem, source->getAccesses());
  if (failed(created))
    return failure();
  problem = std::move(*created);
  if (failed(chooseExecutor()))
    return failure();
  bool isChecked = source->isAttention() && !line.noCheck;
  if (isChecked && failed(fillForwardResults(source->getModule(),
                                             source->getFunction().getName(),
                                             options.problem, *problem)))
    return failure();

  bool onDevice =
      executor == ExecutorKind::Device || executor == ExecutorKind::PTX;
  // Tile kernels that ran on a device are compared with the module itself.
  if (!line.against.empty()) {
    secondModule = parseModuleFile(line.against, &context);
    if (!secondModule)
      return failure();
    secondFunction =
        findHostFunction(*secondModule, source->getFunction().getName());
    if (!secondFunction)
      return failure();
  } else if (onDevice && source->getModule() && !source->isAttention() &&
             !line.noCheck) {
    secondFunction = source->getFunction();
  }
  if (secondFunction) {
    FailureOr<Problem> clone = problem->cloneFor(secondFunction);
    if (failed(clone))
      return failure();
    second = std::move(*clone);
  }

  if (isChecked)
    problem->keepInitial();
  if (failed(onDevice ? runOnDevice() : runOnCpu()) || failed(writeOutputs()))
    return failure();
  LogicalResult checked = checkResults();
  if (executor != ExecutorKind::Device)
    return checked;
  // Times of a wrong kernel are still of interest.
  return success(succeeded(measureDevice()) && succeeded(checked));
}

/// Options that ask for results of one run.
static SmallVector<OptionRef> getRunOptions(const CommandLine &line,
                                            const CheckOptions &checks) {
  return {line.reference, line.outputs,    line.prints,  line.checksum,
          line.json,      line.against,    line.noCheck, line.checkHeads,
          line.repeat,    line.iterations, line.time,    checks.explore};
}

/// Lowers a module that may hold attention: runs it after every pass, or shows
/// what each kind of rounding adds to its error.
static LogicalResult runStages(const CommandLine &line,
                               const CheckOptions &checks,
                               MLIRContext &context) {
  FailureOr<ParsedOptions> options = parseOptions(line);
  if (failed(options))
    return failure();
  auto module = parseModuleFile(line.file, &context);
  PipelineOptions pipeline;
  bool showsErrors = checks.errorBudget.getNumOccurrences();
  if (showsErrors && checks.eachPass.getNumOccurrences())
    return fail("--check-each-pass and --error-budget exclude each other");
  std::string text = (showsErrors ? checks.errorBudget : checks.eachPass) +
                     " " + line.pipelineOptions;
  if (std::optional<std::string> wrong = explainWrongOption(text))
    return fail(*wrong);
  if (!module ||
      failed(pipeline.parseFromString(StringRef(text).trim(), llvm::errs())))
    return failure();
  CheckedProblem problem{
      line.function, options->problem, options->interpreter, {}, checks.text};
  if (line.atol.getNumOccurrences() || line.rtol.getNumOccurrences())
    problem.tolerance = {line.atol, line.rtol};
  if (showsErrors)
    return printErrorBudget(*module, pipeline, problem);
  return checkEachPass(*module, pipeline, problem, checks.verbose);
}

int fa3::run::runMain(int argc, char **argv, DialectRegistry &registry) {
  llvm::InitLLVM init(argc, argv);
  registerTransformsPasses();
  registerAllPasses();
  registerPassManagerCLOptions();
  CommandLine line;
  CheckOptions checks;
  TraceOptions trace;
  cl::ParseCommandLineOptions(argc, argv, "fa3 runner\n");
  registerPTXTranslation(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  SmallVector<OptionRef> ofRuns = getRunOptions(line, checks);
  SmallVector<OptionRef> ofStages = {checks.eachPass, checks.errorBudget};
  SmallVector<OptionRef> ofTraces = {trace.events, trace.drawing, trace.ctas};
  for (const cl::Option &stages : ofStages) {
    if (!stages.getNumOccurrences())
      continue;
    ofRuns.append(ofTraces);
    ofRuns.append({line.passPipeline, line.manifest, line.ptxas, line.jit,
                   line.firstBlock});
    return failed(refuse(ofRuns, "--" + stages.ArgStr)) ||
           failed(runStages(line, checks, context));
  }
  if (trace.isAsked())
    return failed(refuse(ofRuns, "--trace and --trace-svg")) ||
           failed(traceKernel(line, trace, context));
  if (failed(refuse({trace.ctas}, "a run without --trace and --trace-svg")) ||
      failed(refuse({checks.text}, "a run without --check-each-pass")))
    return 1;
  return failed(Session(line, checks, context).run());
}
