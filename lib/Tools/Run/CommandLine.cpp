//===- CommandLine.cpp - options of fa3-run -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "CommandLine.h"
#include "Fail.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::run;
namespace cl = llvm::cl;

static auto getDistributions() {
  return cl::values(
      clEnumValN(Distribution::Normal, "normal", "N(0, 1)"),
      clEnumValN(Distribution::Uniform, "uniform", "uniform in [-1, 1)"),
      clEnumValN(Distribution::Outlier, "outlier",
                 "N(0, 1) + N(0, 100) * Bernoulli(0.001)"),
      clEnumValN(Distribution::Growing, "growing",
                 "N(0, 1), and scores that fall from the first key to the "
                 "last, so that running maxima grow in every block"),
      clEnumValN(Distribution::Negative, "negative",
                 "N(0, 1), and scores far below zero that fall likewise"));
}

static auto getExecutors() {
  return cl::values(clEnumValN(ExecutorKind::Auto, "auto",
                               "a GPU, or the CPU if there is none (default)"),
                    clEnumValN(ExecutorKind::Device, "device", "a GPU"),
                    clEnumValN(ExecutorKind::PTX, "ptx",
                               "the CPU: PTX as it is, or of a module"),
                    clEnumValN(ExecutorKind::Interpreter, "interpreter",
                               "the CPU: kernels of any stage, interpreted"),
                    clEnumValN(ExecutorKind::Reference, "reference",
                               "the CPU: attention by definition, in f64"));
}

static auto getCompletions() {
  return cl::values(
      clEnumValN(interp::Completion::Eager, "eager", "when issued"),
      clEnumValN(interp::Completion::Latest, "latest",
                 "when nothing can go on without (default)"),
      clEnumValN(interp::Completion::Random, "random",
                 "at random, by --schedule-seed"));
}

static auto getGuards() {
  return cl::values(
      clEnumValN(interp::Guards::Exact, "exact", "true if an element is true"),
      clEnumValN(interp::Guards::Random, "random",
                 "also true at random, by --schedule-seed"),
      clEnumValN(interp::Guards::Taken, "taken", "always true"));
}

static auto getTimingModes() {
  return cl::values(
      clEnumValN(TimingMode::Single, "single",
                 "one launch at a time, at full clock and with a cold cache"),
      clEnumValN(TimingMode::Burst, "burst", "launches back to back"));
}

CommandLine::CommandLine()
    : file(cl::Positional, cl::desc("<module, .ptx or .cubin>"), cl::Required),
      function("function",
               cl::desc("Host function to run (default: the only one that "
                        "launches a kernel)")),

      manifest("manifest",
               cl::desc("Manifest of a .ptx or .cubin (default: the same name "
                        "with .json)"),
               cl::value_desc("file")),
      reference("reference",
                cl::desc("Module that a .ptx or .cubin was compiled from, to "
                         "check results"),
                cl::value_desc("module")),
      passPipeline("pass-pipeline",
                   cl::desc("Passes to run first, as fa3-opt takes them "
                            "(default for a GPU: fa3-lower-to-nvvm-pipeline)")),
      pipelineOptions("pipeline-options",
                      cl::desc("Options of fa3-lower-to-nvvm-pipeline"),
                      cl::value_desc("block-m=128 ...")),
      ptxas("ptxas",
            cl::desc("Path of ptxas (default: PATH, /usr/local/cuda/bin)"),
            cl::value_desc("path")),
      jit("jit", cl::desc("Let the driver compile the PTX")),

      dims("dims", cl::CommaSeparated, cl::desc("Extents of named dimensions"),
           cl::value_desc("b=1,sq=64")),
      scalars("scalar", cl::CommaSeparated,
              cl::desc("Values of scalar arguments"),
              cl::value_desc("name=value")),
      inputs("input", cl::desc("Reads an argument from a .npy file"),
             cl::value_desc("name=file.npy")),
      fills("fill", cl::desc("Fills an argument"),
            cl::value_desc("name=value")),
      lengths("lengths",
              cl::desc("Lengths of sequences, or with one element more where "
                       "they start"),
              cl::value_desc("name=3,0,65")),
      pages("pages",
            cl::desc("Fills a page table: identity, reversed, random, shared "
                     "or wild, with numbers that are no page's"),
            cl::value_desc("name=random")),
      orders("order",
             cl::desc("Order of an argument's dimensions in memory, outermost "
                      "first"),
             cl::value_desc("name=0,2,1,3")),
      paddings("pad", cl::CommaSeparated,
               cl::desc("Elements behind each row of an argument in memory"),
               cl::value_desc("name=N")),
      seed("seed", cl::desc("Seed of random inputs")),
      distribution("distribution", cl::desc("Random numbers of inputs"),
                   getDistributions(), cl::init(Distribution::Normal)),

      executor("executor", cl::desc("Where to run"), getExecutors(),
               cl::init(ExecutorKind::Auto)),
      cpu("cpu", cl::desc("Run on the CPU: a module in the interpreter, or "
                          "what a .ptx file says")),
      device("device", cl::desc("Number of the GPU"), cl::init(0)),
      sms("sms", cl::init(3), cl::desc("SMs of the modeled device")),
      firstBlock("first-block",
                 cl::desc("Blocks of PTX on the CPU before it are not run")),
      scheduleSeed("schedule-seed",
                   cl::desc("Picks the next group to run at random"),
                   cl::value_desc("number")),
      completion("completion",
                 cl::desc("When asynchronous operations complete"),
                 getCompletions(), cl::init(interp::Completion::Latest)),
      guards("guards", cl::desc("What tile.any_possible answers"), getGuards(),
             cl::init(interp::Guards::Exact)),
      requireFences("require-fences",
                    cl::desc("Missing proxy and wgmma fences are errors")),

      outputs("output",
              cl::desc("Writes an argument to a .npy file after the run"),
              cl::value_desc("name=file.npy")),
      prints("print", cl::desc("Prints an argument"), cl::value_desc("name")),
      checksum("print-checksum",
               cl::desc("Prints a line about what was written")),
      json("json", cl::desc("Prints one line of JSON about the run")),
      against("against",
              cl::desc("Runs a second module in the interpreter on the same "
                       "inputs and compares what is written"),
              cl::value_desc("module")),
      atol("atol", cl::desc("Absolute tolerance of comparisons of modules")),
      rtol("rtol", cl::desc("Relative tolerance of comparisons of modules")),
      noCheck("no-check", cl::desc("Do not compare with a reference")),
      checkHeads("check-heads",
                 cl::desc("Compare this many heads, picked by --seed (0: all)"),
                 cl::init(0)),
      repeat("repeat",
             cl::desc("Runs in all; the results have to be bitwise equal"),
             cl::init(1)),
      iterations("iterations", cl::desc("Launches that --time measures"),
                 cl::init(20)),
      time("time", cl::desc("Measures the time of a launch"), getTimingModes(),
           cl::CommaSeparated) {}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

template <typename Map, typename Parse>
static LogicalResult parseAll(StringRef option, ArrayRef<std::string> texts,
                              Map &map, Parse &&parse) {
  for (StringRef text : texts) {
    auto [name, value] = text.split('=');
    if (name.empty() || value.empty())
      return fail("--" + option + " expects name=value, got '" + text + "'");
    if (map.count(name))
      return fail("--" + option + " gives '" + name + "' twice");
    if (!parse(value, map[name]))
      return fail("--" + option + " of '" + name + "' has a malformed value '" +
                  value + "'");
  }
  return success();
}

static LogicalResult parseProblem(const CommandLine &line,
                                  ParsedOptions &parsed) {
  auto integer = [](StringRef text, int64_t &value) {
    return !text.getAsInteger(10, value);
  };
  auto number = [](StringRef text, double &value) {
    return !text.getAsDouble(value);
  };
  auto string = [](StringRef text, std::string &value) {
    value = text.str();
    return true;
  };
  auto order = [](StringRef text, SmallVector<unsigned> &value) {
    SmallVector<StringRef> parts;
    text.split(parts, ',');
    return llvm::all_of(parts, [&](StringRef part) {
      return !part.getAsInteger(10, value.emplace_back());
    });
  };
  auto integers = [](StringRef text, SmallVector<int64_t> &value) {
    SmallVector<StringRef> parts;
    text.split(parts, ',');
    return llvm::all_of(parts, [&](StringRef part) {
      return !part.getAsInteger(10, value.emplace_back());
    });
  };
  auto pageOrder = [](StringRef text, PageOrder &value) {
    auto known = llvm::StringSwitch<std::optional<PageOrder>>(text)
                     .Case("identity", PageOrder::Identity)
                     .Case("reversed", PageOrder::Reversed)
                     .Case("random", PageOrder::Random)
                     .Case("shared", PageOrder::Shared)
                     .Case("wild", PageOrder::Wild)
                     .Default(std::nullopt);
    value = known.value_or(PageOrder::Identity);
    return known.has_value();
  };
  ProblemOptions &options = parsed.problem;
  options.seed = line.seed;
  options.distribution = line.distribution;
  return success(
      succeeded(parseAll("dims", line.dims, options.dims, integer)) &&
      succeeded(parseAll("scalar", line.scalars, options.scalars, number)) &&
      succeeded(parseAll("input", line.inputs, options.inputs, string)) &&
      succeeded(parseAll("fill", line.fills, options.fills, number)) &&
      succeeded(parseAll("lengths", line.lengths, options.lengths, integers)) &&
      succeeded(parseAll("pages", line.pages, options.pages, pageOrder)) &&
      succeeded(parseAll("order", line.orders, options.orders, order)) &&
      succeeded(parseAll("pad", line.paddings, options.paddings, integer)) &&
      succeeded(parseAll("output", line.outputs, parsed.outputs, string)));
}

static LogicalResult parseExecution(const CommandLine &line,
                                    interp::Options &options) {
  options.sms = line.sms;
  options.completion = line.completion;
  options.guards = line.guards;
  options.requireFences = line.requireFences;
  if (line.sms < 1)
    return fail("--sms expects at least 1, got " + Twine(line.sms));
  if (line.scheduleSeed.empty())
    return success();
  uint64_t seed;
  if (StringRef(line.scheduleSeed).getAsInteger(10, seed))
    return fail("--schedule-seed expects a number, got '" +
                StringRef(line.scheduleSeed) + "'");
  options.scheduleSeed = options.choiceSeed = seed;
  return success();
}

/// Options that ask for a GPU make no sense with another executor.
static LogicalResult parseExecutor(const CommandLine &line,
                                   ExecutorKind &kind) {
  kind = line.executor;
  if (line.cpu) {
    if (kind != ExecutorKind::Auto && kind != ExecutorKind::Interpreter)
      return fail("--cpu and --executor name different executors");
    kind = ExecutorKind::Interpreter;
  }
  if (line.repeat < 1)
    return fail("--repeat expects at least 1, got " + Twine(line.repeat));
  if (line.iterations < 1)
    return fail("--iterations expects at least 1, got " +
                Twine(line.iterations));
  if (line.checkHeads < 0)
    return fail("--check-heads expects at least 0, got " +
                Twine(line.checkHeads));
  for (auto [name, value] : {std::pair("atol", double(line.atol)),
                             std::pair("rtol", double(line.rtol))})
    if (!(value >= 0))
      return fail("--" + Twine(name) + " expects at least 0, got " +
                  llvm::formatv("{0}", value).str());
  bool isCpu = kind == ExecutorKind::Interpreter ||
               kind == ExecutorKind::Reference || kind == ExecutorKind::PTX;
  if (isCpu && (line.repeat > 1 || !line.time.empty()))
    return fail("--repeat and --time need a GPU");
  if (!line.passPipeline.empty() && !line.pipelineOptions.empty())
    return fail("--pass-pipeline and --pipeline-options exclude each other");
  return success();
}

FailureOr<ParsedOptions> fa3::run::parseOptions(const CommandLine &line) {
  ParsedOptions parsed;
  parsed.compile = {line.passPipeline, line.pipelineOptions, line.ptxas,
                    line.jit, line.function};
  if (failed(parseProblem(line, parsed)) ||
      failed(parseExecution(line, parsed.interpreter)) ||
      failed(parseExecutor(line, parsed.executor)))
    return failure();
  return parsed;
}
