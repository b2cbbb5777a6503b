//===- TraceKernel.cpp - what a kernel does when --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One instrumented kernel, run in the interpreter with a clock and, if there is
// one, on a GPU. Both fill the same array of records.
//===----------------------------------------------------------------------===//

#include "TraceKernel.h"
#include "Fail.h"
#include "Output.h"
#include "fa3/Dialect/Hopper/IR/Records.h"
#include "fa3/Pipelines/TunedPipeline.h"
#include "fa3/Support/ModuleText.h"
#include "fa3/Tools/Run/DeviceExecutor.h"
#include "fa3/Trace/Trace.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::run;

namespace {
class Tracer {
public:
  Tracer(const CommandLine &line, const TraceOptions &trace,
         MLIRContext &context)
      : line(line), trace(trace), context(context) {}

  LogicalResult run();

private:
  LogicalResult openDevice();
  LogicalResult lower();
  LogicalResult predict();
  LogicalResult measure();
  LogicalResult readRecords(Problem &problem, StringRef title,
                            ArrayRef<interp::BlockTimeline> units);
  LogicalResult write(StringRef path,
                      llvm::function_ref<void(raw_ostream &)> print);
  std::string getPipelineOptions() const {
    return line.pipelineOptions + " record=" + std::to_string(trace.ctas);
  }

  const CommandLine &line;
  const TraceOptions &trace;
  MLIRContext &context;
  ParsedOptions options;
  OwningOpRef<ModuleOp> module, kernels;
  FunctionOpInterface function; ///< host function of `kernels`
  trace::Table table;
  std::string argument; ///< name of the array of records
  std::unique_ptr<Device> device;
  std::vector<trace::Timeline> timelines;
};
} // namespace

LogicalResult Tracer::openDevice() {
  if (options.executor != ExecutorKind::Auto &&
      options.executor != ExecutorKind::Device)
    return success();
  std::string reason;
  device = Device::open(line.device, reason);
  if (device)
    return success();
  if (options.executor == ExecutorKind::Device)
    return fail("no GPU: " + reason);
  llvm::WithColor::warning(llvm::errs(), "fa3-run")
      << "no GPU: " << reason << "; the trace is predicted only\n";
  return success();
}

/// Makes the kernels with records, at the end of the hopper stage.
LogicalResult Tracer::lower() {
  module = parseModuleFile(line.file, &context);
  if (!module)
    return failure();
  kernels = module->clone();
  PipelineOptions pipeline;
  if (auto wrong = explainWrongOption(getPipelineOptions()))
    return fail(*wrong);
  if (failed(pipeline.parseFromString(StringRef(getPipelineOptions()).trim(),
                                      llvm::errs())))
    return failure();
  if (failed(applyTuning(*kernels, pipeline)))
    return failure();
  PassManager manager(&context);
  buildPipelineTo(Stage::Hopper, manager, pipeline);
  if (failed(manager.run(*kernels)))
    return failure();
  function = findHostFunction(*kernels, line.function);
  if (!function)
    return failure();
  std::optional<llvm::json::Object> records = hopper::describeRecords(function);
  if (!records)
    return fail("the kernel has no groups, there is nothing to trace");
  argument = records->getString("argument")->str();
  llvm::Expected<trace::Table> parsed = trace::Table::fromJSON(*records);
  if (!parsed)
    return fail(llvm::toString(parsed.takeError()));
  table = std::move(*parsed);
  return success();
}

/// Turns the records that a run left in the problem into timelines.
LogicalResult Tracer::readRecords(Problem &problem, StringRef title,
                                  ArrayRef<interp::BlockTimeline> units) {
  const interp::Array *array = problem.find(argument)->getArray();
  ArrayRef<int64_t> shape = array->getShape();
  int64_t perBlock = shape[1] * shape[2];
  ArrayRef<uint64_t> words(
      reinterpret_cast<const uint64_t *>(array->getFirst()),
      array->getNumElements());
  for (int64_t block = 0; block < shape[0]; ++block) {
    llvm::Expected<trace::Timeline> timeline =
        trace::buildTimeline((title + ", CTA " + Twine(block)).str(), table,
                             words.slice(block * perBlock, perBlock));
    if (!timeline)
      return fail(llvm::toString(timeline.takeError()));
    if (timeline->spans.empty())
      continue; // fewer CTAs were launched
    if (block < static_cast<int64_t>(units.size()))
      trace::addUnits(*timeline, units[block].uses);
    llvm::outs() << timeline->name << ": ";
    if (timeline->iteration)
      llvm::outs() << *timeline->iteration << " cycles per iteration\n";
    else
      llvm::outs() << "no steady state\n";
    timelines.push_back(std::move(*timeline));
  }
  return success();
}

LogicalResult Tracer::predict() {
  FailureOr<Problem> problem = Problem::create(function, options.problem);
  if (failed(problem))
    return failure();
  std::vector<interp::BlockTimeline> units;
  interp::Options timed;
  timed.sms = device ? int64_t(device->getInfo().sms) : int64_t(line.sms);
  timed.completion = interp::Completion::Eager;
  timed.timed = true;
  timed.timedBlocks = trace.ctas;
  timed.timelines = &units;
  if (failed(interp::interpret(function, problem->getValues(), timed)))
    return failure();
  return readRecords(*problem, "predicted", units);
}

LogicalResult Tracer::measure() {
  OwningOpRef<ModuleOp> copy = module->clone();
  CompileOptions compile = options.compile;
  compile.pipelineOptions = getPipelineOptions();
  FailureOr<DeviceCode> code = compileForDevice(*copy, compile);
  FailureOr<Problem> problem = Problem::create(function, options.problem);
  if (failed(code) || failed(problem))
    return failure();
  auto executor = DeviceExecutor::create(*code, *problem);
  // The first run finds cold caches.
  if (failed(executor) || failed((*executor)->run()) ||
      failed((*executor)->run()))
    return failure();
  size_t count = timelines.size();
  if (failed(readRecords(*problem, "measured", {})))
    return failure();
  return timelines.size() > count ? success()
                                  : fail("the kernel ran and wrote no record");
}

LogicalResult Tracer::write(StringRef path,
                            llvm::function_ref<void(raw_ostream &)> print) {
  return path.empty() ? success() : writeOutput(path, print);
}

LogicalResult Tracer::run() {
  FailureOr<ParsedOptions> parsed = parseOptions(line);
  if (failed(parsed))
    return failure();
  options = std::move(*parsed);
  StringRef path = line.file;
  if (path.ends_with(".ptx") || path.ends_with(".cubin"))
    return fail("--trace needs a module, which it compiles with records");
  if (!line.passPipeline.empty())
    return fail("--trace and --pass-pipeline exclude each other");
  if (trace.ctas < 1)
    return fail("--trace-ctas expects at least 1, got " + Twine(trace.ctas));
  if (failed(openDevice()) || failed(lower()) || failed(predict()) ||
      (device && failed(measure())))
    return failure();
  return success(succeeded(write(trace.events,
                                 [&](raw_ostream &os) {
                                   trace::writeTraceEvents(os, timelines);
                                 })) &&
                 succeeded(write(trace.drawing, [&](raw_ostream &os) {
                   trace::writeDrawing(os, timelines);
                 })));
}

LogicalResult fa3::run::traceKernel(const CommandLine &line,
                                    const TraceOptions &options,
                                    MLIRContext &context) {
  return Tracer(line, options, context).run();
}
