//===- TuneMain.cpp - the tool fa3-tune -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tools/Tune/TuneMain.h"
#include "Explain.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Pipelines/TunedPipeline.h"
#include "fa3/Support/ModuleText.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tune;
using namespace fa3::tuning;
namespace cl = llvm::cl;

namespace {
enum class Action { Predict, Points, Explain, Check, Measure };

struct CommandLine {
  cl::opt<Action> action{
      cl::desc("What to do:"),
      cl::values(
          clEnumValN(Action::Predict, "predict",
                     "print points with the cost model's cycles, best first"),
          clEnumValN(Action::Points, "points",
                     "print the points to measure, as JSON"),
          clEnumValN(Action::Explain, "explain",
                     "say in words what is chosen for a module, and why"),
          clEnumValN(Action::Check, "check", "check a tuning table"),
          clEnumValN(Action::Measure, "measure",
                     "measure on the GPU and write a table (by "
                     "benchmarks/tune.py, which takes the other arguments)")),
      cl::init(Action::Predict)};
  cl::opt<std::string> file{cl::Positional,
                            cl::desc("<module, or table to check>")};
  cl::opt<std::string> table{
      "tuning-table",
      cl::desc("Table to look into (default: the shipped one; none)"),
      cl::value_desc("file")};
  cl::list<std::string> dims{
      "d", cl::CommaSeparated,
      cl::desc(
          "Head dims, such as 64 or, with another one of values, 192x128")};
  cl::list<std::string> masks{"masks", cl::CommaSeparated,
                              cl::desc(kMaskNames)};
  cl::list<int64_t> lengths{"lengths", cl::CommaSeparated,
                            cl::desc("Queries, and as many keys")};
  cl::opt<int64_t> bits{"bits", cl::desc("Of the operands: 16 or 8"),
                        cl::init(16)};
  cl::opt<bool> transposedV{"transposed-v",
                            cl::desc("8-bit values are given with keys last")};
  cl::opt<int64_t> hidden{"hidden", cl::desc("Heads times head dim"),
                          cl::init(2048)};
  cl::opt<int64_t> tokens{"tokens", cl::desc("Batch times length"),
                          cl::init(16384)};
  cl::opt<int64_t> heads{
      "heads",
      cl::desc("Heads of all batches (default: by --hidden, --tokens "
               "or the module)"),
      cl::init(0)};
  cl::opt<int64_t> window{
      "window", cl::desc("Keys that a window shows that does not say it"),
      cl::init(1024)};
  cl::opt<int64_t> sms{"sms", cl::desc("Multiprocessors of the device"),
                       cl::init(132)};
  cl::opt<int64_t> count{"count", cl::desc("Points per problem"), cl::init(10)};
};

LogicalResult fail(const Twine &message) {
  llvm::WithColor::error(llvm::errs(), "fa3-tune") << message << '\n';
  return failure();
}

/// Head dims of queries and values: "64" or "192x128".
std::optional<std::pair<int64_t, int64_t>> parseDims(StringRef text) {
  auto [first, second] = text.split('x');
  int64_t d, dv;
  auto isDim = [](StringRef word, int64_t &dim) {
    return !word.getAsInteger(10, dim) && dim >= 8 && dim <= 256 &&
           dim % 8 == 0;
  };
  if (!isDim(first, d) || !isDim(text.contains('x') ? second : first, dv))
    return std::nullopt;
  return std::pair(d, dv);
}

std::string getDims(const Problem &problem) {
  std::string text = std::to_string(problem.d);
  return problem.d == problem.dv ? text
                                 : text + "x" + std::to_string(problem.dv);
}

class Session {
public:
  Session(const CommandLine &line, MLIRContext &context)
      : line(line), context(context) {}

  LogicalResult run() {
    if (failed(verify()))
      return failure();
    switch (line.action) {
    case Action::Predict:
      return printPredictions();
    case Action::Points:
      return printPoints();
    case Action::Explain:
      return explainModule();
    case Action::Check:
      return checkTable();
    case Action::Measure:
      break;
    }
    return success();
  }

private:
  LogicalResult verify();
  /// The grid of problems of the command line.
  FailureOr<std::vector<Problem>> getProblems() const;
  LogicalResult printPredictions();
  LogicalResult printPoints();
  LogicalResult explainModule();
  LogicalResult explainPlans(ModuleOp module);
  LogicalResult checkTable();
  bool needsFile() const {
    return line.action == Action::Explain || line.action == Action::Check;
  }

  const CommandLine &line;
  MLIRContext &context;
};
} // namespace

LogicalResult Session::verify() {
  for (auto [name, value] : {std::pair("hidden", int64_t(line.hidden)),
                             std::pair("tokens", int64_t(line.tokens)),
                             std::pair("window", int64_t(line.window)),
                             std::pair("sms", int64_t(line.sms)),
                             std::pair("count", int64_t(line.count))})
    if (value < 1)
      return fail("--" + Twine(name) + " expects at least 1, got " +
                  Twine(value));
  for (const std::string &dims : line.dims)
    if (!parseDims(dims))
      return fail("--d expects multiples of 8 up to 256, or two with x between "
                  "them, got '" +
                  dims + "'");
  // The model counts tiles one by one.
  constexpr int64_t kMostLength = int64_t(1) << 24;
  for (int64_t length : line.lengths)
    if (length < 1 || length > kMostLength)
      return fail("--lengths expects 1 to " + Twine(kMostLength) + ", got " +
                  Twine(length));
  if (line.heads < 0)
    return fail("--heads expects at least 0, got " + Twine(line.heads));
  if (line.action.getNumOccurrences() > 1)
    return fail("expects one of --predict, --points, --explain, --check and "
                "--measure");
  if (line.action == Action::Explain && line.lengths.size() > 1)
    return fail("--explain expects one of --lengths, got " +
                Twine(line.lengths.size()));
  if (needsFile() != !line.file.empty())
    return fail(needsFile() ? "--explain and --check expect a file"
                            : "expects no file");
  return success();
}

FailureOr<std::vector<Problem>> Session::getProblems() const {
  std::vector<Problem> problems;
  std::vector<std::string> masks(line.masks.begin(), line.masks.end());
  std::vector<std::string> dims(line.dims.begin(), line.dims.end());
  std::vector<int64_t> lengths(line.lengths.begin(), line.lengths.end());
  if (masks.empty())
    masks = {"full", "causal"};
  if (dims.empty())
    dims = {"64", "128", "256"};
  if (lengths.empty())
    lengths = {512, 1024, 2048, 4096, 8192, 16384};
  if (line.bits != 16 && line.bits != 8)
    return fail("--bits expects 16 or 8, got " + Twine(line.bits));
  if (line.transposedV && line.bits != 8)
    return fail("--transposed-v expects --bits 8, got " + Twine(line.bits));
  for (const std::string &head : dims)
    for (const std::string &name : masks)
      for (int64_t length : lengths) {
        Problem problem;
        auto mask = parseMask(name);
        if (!mask)
          return fail("--masks expects " + kMaskNames + ", got '" + name + "'");
        problem.bits = line.bits;
        problem.transposedV = line.transposedV;
        std::tie(problem.d, problem.dv) = *parseDims(head);
        std::tie(problem.mask, problem.score) = *mask;
        problem.queries = problem.keys = length;
        int64_t batch = std::max<int64_t>(line.tokens / length, 1);
        problem.heads =
            line.heads ? int64_t(line.heads)
                       : batch * std::max<int64_t>(line.hidden / problem.d, 1);
        problem.window = line.window;
        problem.sms = line.sms;
        problems.push_back(problem);
      }
  return problems;
}

LogicalResult Session::printPredictions() {
  FailureOr<std::vector<Problem>> problems = getProblems();
  if (failed(problems))
    return failure();
  for (const Problem &problem : *problems) {
    llvm::outs() << llvm::formatv(
        "d {0} {1} {2}, {3} heads\n", getDims(problem),
        getName(problem.mask, problem.score), problem.queries, problem.heads);
    std::string byDefault = getDefaultTile(problem).getOptions();
    std::vector<Candidate> tiles = rankTiles(problem);
    for (auto [rank, tile] : llvm::enumerate(tiles)) {
      std::string options = tile.point.getOptions();
      bool isDefault = options == byDefault;
      if (rank >= static_cast<size_t>(line.count) && !isDefault)
        continue;
      const Prediction &p = tile.prediction;
      llvm::outs() << llvm::formatv(
          "  {0,3} {1,-26} {2,8:F0} kcycles {3,4:F0} % of the tensor core; "
          "step {4:F0} = {5:F0} | {6:F0} | {7:F0}{8} + {9:F0}, start "
          "{10:F0}{11}\n",
          rank + 1, options, p.cycles / 1000, p.efficiency * 100, p.step,
          p.tensor, p.exponentials, p.issue,
          p.shared ? llvm::formatv(" | {0:F0}", p.shared).str() : "", p.exposed,
          p.start, isDefault ? " (default)" : "");
    }
  }
  return success();
}

LogicalResult Session::printPoints() {
  FailureOr<std::vector<Problem>> problems = getProblems();
  if (failed(problems))
    return failure();
  llvm::json::OStream json(llvm::outs());
  json.array([&] {
    for (const Problem &problem : *problems)
      json.object([&] {
        json.attribute("d", problem.d);
        json.attribute("dv", problem.dv);
        json.attribute("mask", getName(problem.mask, problem.score));
        json.attribute("length", problem.keys);
        json.attribute("heads", problem.heads);
        json.attributeArray("points", [&] {
          for (const Candidate &candidate :
               getPointsToMeasure(problem, line.count))
            json.object([&] {
              json.attribute("options", candidate.point.getOptions());
              json.attribute("kcycles",
                             std::round(candidate.prediction.cycles / 1000));
            });
        });
      });
  });
  llvm::outs() << '\n';
  return success();
}

/// Sizes of a module's attention; what only the host knows is taken to be like
/// a default of the command line.
static Problem getProblem(ModuleOp module, const ProblemClass &found,
                          const CommandLine &line) {
  Problem problem;
  problem.bits = found.bits;
  problem.d = found.d;
  problem.dv = found.dv;
  problem.mask = found.mask;
  problem.score = found.score;
  problem.sms = line.sms;
  int64_t heads = 1;
  module.walk([&](attention::ForwardOp op) {
    KnownExtents known = getKnownExtents(op);
    problem.transposedV = op.getTransposedV();
    int64_t length = line.lengths.empty() ? 4096 : line.lengths.front();
    problem.queries = known.queries.value_or(length);
    problem.knowsQueries = known.queries.has_value();
    problem.keys = known.keys.value_or(problem.queries);
    problem.window = known.window.value_or(line.window);
    int64_t batch = std::max<int64_t>(line.tokens / problem.queries, 1);
    heads =
        known.heads.value_or(std::max<int64_t>(line.hidden / problem.d, 1)) *
        known.batch.value_or(batch);
  });
  problem.heads = line.heads ? int64_t(line.heads) : heads;
  return problem;
}

LogicalResult Session::explainModule() {
  auto module = parseModuleFile(line.file, &context);
  if (!module)
    return failure();
  bool hasAttention = false;
  module->walk([&](Operation *op) {
    hasAttention |= isa<attention::ForwardOp, attention::BackwardOp>(op);
  });
  if (!hasAttention)
    return explainKernels(llvm::outs(), *module);
  FailureOr<Table> table = readTuningTable(&context, line.table);
  if (failed(table))
    return failure();
  if (std::optional<ProblemClass> found = classify(*module))
    explain(llvm::outs(), getProblem(*module, *found, line), *found, *table);
  else
    llvm::outs()
        << "no class of the table, which has one kind of forward: full, "
           "causal or with a window, with one softcap, ALiBi or bias "
           "of 16 bits or nothing else\n";
  return explainPlans(*module);
}

static void print(const PlannedFunction &function, int64_t below) {
  auto start = [&](const char *what) {
    llvm::outs() << "plan of '" << function.name << "'" << what;
    if (below)
      llvm::outs() << " for fewer than " << below << " keys";
    llvm::outs() << '\n';
  };
  if (function.forward) {
    start("");
    function.forward->print(llvm::outs());
  }
  if (function.backward) {
    start(function.forward ? ", gradients" : "");
    function.backward->print(llvm::outs());
  }
}

/// Prints the plans of every function, of each variant that the table asks for.
LogicalResult Session::explainPlans(ModuleOp module) {
  PipelineOptions options;
  options.tuningTable = line.table.getValue();
  FailureOr<SmallVector<Variant>> variants = planVariants(module, options);
  if (failed(variants))
    return failure();
  for (const Variant &variant : *variants) {
    FailureOr<SmallVector<PlannedFunction, 1>> functions =
        planFunctions(module, *variant.options);
    if (failed(functions))
      return failure();
    if (functions->empty())
      return fail("the module has no 'attention.forward' or "
                  "'attention.backward'");
    for (const PlannedFunction &function : *functions)
      print(function, variant.below);
  }
  return success();
}

LogicalResult Session::checkTable() {
  FailureOr<Table> table = readTuningTable(&context, line.file);
  if (failed(table))
    return failure();
  llvm::outs() << line.file << ": " << table->getEntries().size() << " entries";
  if (!table->getDevice().empty())
    llvm::outs() << " for " << table->getDevice();
  llvm::outs() << '\n';
  return success();
}

/// Starts benchmarks/tune.py of the archive or the checkout that the tool is
/// in, with all other arguments.
static int measure(int argc, char **argv) {
  std::string self = llvm::sys::fs::getMainExecutable(
      argv[0], reinterpret_cast<void *>(&measure));
  SmallString<128> script;
  // A module among the arguments is what is measured, else the table.
  bool isModule =
      llvm::any_of(ArrayRef(argv + 1, argc - 1), [](StringRef word) {
        return !word.starts_with("-") && word.ends_with(".mlir");
      });
  for (StringRef up : {"..", "../.."}) {
    script = llvm::sys::path::parent_path(self);
    llvm::sys::path::append(script, up, "benchmarks",
                            isModule ? "tune_module.py" : "tune.py");
    if (llvm::sys::fs::exists(script))
      break;
  }
  auto python = llvm::sys::findProgramByName("python3");
  if (!python || !llvm::sys::fs::exists(script)) {
    (void)fail(!python ? Twine("found no python3")
                       : "found no " + Twine(script));
    return 1;
  }
  SmallVector<StringRef> arguments = {*python, script};
  for (StringRef argument : ArrayRef(argv + 1, argc - 1))
    if (argument != "--measure" && argument != "-measure")
      arguments.push_back(argument);
  std::string message;
  int result = llvm::sys::ExecuteAndWait(*python, arguments, std::nullopt, {},
                                         0, 0, &message);
  if (!message.empty())
    (void)fail(message);
  return result;
}

int fa3::tune::tuneMain(int argc, char **argv, DialectRegistry &registry) {
  llvm::InitLLVM init(argc, argv);
  for (StringRef argument : ArrayRef(argv + 1, argc - 1))
    if (argument == "--measure" || argument == "-measure")
      return measure(argc, argv);
  CommandLine line;
  cl::ParseCommandLineOptions(argc, argv, "fa3 tuner\n");
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  return failed(Session(line, context).run());
}
