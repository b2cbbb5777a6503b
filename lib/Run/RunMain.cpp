//===- RunMain.cpp - the tool fa3-run -------------------------------------===//

#include "fa3/Run/RunMain.h"
#include "fa3/Run/Compare.h"
#include "fa3/Run/Npy.h"
#include "fa3/Run/Problem.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::run;
namespace cl = llvm::cl;

namespace {

struct CommandLine {
  cl::opt<std::string> file{cl::Positional, cl::desc("<module>"), cl::Required};
  cl::opt<bool> cpu{"cpu", cl::desc("Run in the interpreter")};
  cl::opt<std::string> function{
      "function", cl::desc("Host function to run (default: the only one that "
                           "launches a kernel)")};
  cl::list<std::string> dims{"dims", cl::CommaSeparated,
                             cl::desc("Extents of named dimensions"),
                             cl::value_desc("b=1,sq=64")};
  cl::list<std::string> scalars{"scalar", cl::CommaSeparated,
                                cl::desc("Values of scalar arguments"),
                                cl::value_desc("name=value")};
  cl::opt<uint64_t> seed{"seed", cl::desc("Seed of random inputs")};
  cl::opt<Distribution> distribution{
      "distribution", cl::desc("Random numbers of inputs"),
      cl::values(
          clEnumValN(Distribution::Normal, "normal", "N(0, 1)"),
          clEnumValN(Distribution::Uniform, "uniform", "uniform in [-1, 1)"),
          clEnumValN(Distribution::Outlier, "outlier",
                     "N(0, 1) + N(0, 100) * Bernoulli(0.001)")),
      cl::init(Distribution::Normal)};
  cl::list<std::string> inputs{"input",
                               cl::desc("Reads an argument from a .npy file"),
                               cl::value_desc("name=file.npy")};
  cl::list<std::string> fills{"fill", cl::desc("Fills an argument"),
                              cl::value_desc("name=value")};
  cl::list<std::string> outputs{
      "output", cl::desc("Writes an argument to a .npy file after the run"),
      cl::value_desc("name=file.npy")};
  cl::list<std::string> orders{
      "order",
      cl::desc("Order of an argument's dimensions in memory, outermost first"),
      cl::value_desc("name=0,2,1,3")};
  cl::opt<std::string> against{
      "against",
      cl::desc("Runs a second module on the same inputs and compares what is "
               "written"),
      cl::value_desc("module")};
  cl::opt<double> atol{"atol", cl::desc("Absolute tolerance of --against")};
  cl::opt<double> rtol{"rtol", cl::desc("Relative tolerance of --against")};
  cl::opt<bool> checksum{"print-checksum",
                         cl::desc("Prints a line about what was written")};
  cl::list<std::string> prints{"print", cl::desc("Prints an argument"),
                               cl::value_desc("name")};
  cl::opt<int64_t> processors{"processors", cl::init(3),
                              cl::desc("Processors of the modelled device")};
  cl::opt<std::string> scheduleSeed{
      "schedule-seed", cl::desc("Picks the next group to run at random"),
      cl::value_desc("number")};
  cl::opt<interp::Completion> completion{
      "completion", cl::desc("When asynchronous operations complete"),
      cl::values(clEnumValN(interp::Completion::Eager, "eager", "when issued"),
                 clEnumValN(interp::Completion::Latest, "latest",
                            "when nothing can go on without (default)"),
                 clEnumValN(interp::Completion::Random, "random",
                            "at random, by --schedule-seed")),
      cl::init(interp::Completion::Latest)};
  cl::opt<interp::Guards> guards{
      "guards", cl::desc("What tile.any_possible answers"),
      cl::values(clEnumValN(interp::Guards::Exact, "exact",
                            "true if an element is true"),
                 clEnumValN(interp::Guards::Random, "random",
                            "also true at random, by --schedule-seed"),
                 clEnumValN(interp::Guards::Taken, "taken", "always true")),
      cl::init(interp::Guards::Exact)};
  cl::opt<bool> requireFences{
      "require-fences", cl::desc("Missing proxy and wgmma fences are errors")};
};

LogicalResult fail(const Twine &message) {
  llvm::WithColor::error(llvm::errs(), "fa3-run") << message << '\n';
  return failure();
}

/// Splits name=value.
LogicalResult split(StringRef option, StringRef text, StringRef &name,
                    StringRef &value) {
  std::tie(name, value) = text.split('=');
  if (name.empty() || value.empty())
    return fail("--" + option + " expects name=value, got '" + text + "'");
  return success();
}

template <typename Map, typename Parse>
LogicalResult parseAll(StringRef option, ArrayRef<std::string> texts, Map &map,
                       Parse &&parse) {
  for (StringRef text : texts) {
    StringRef name, value;
    if (failed(split(option, text, name, value)))
      return failure();
    if (!parse(value, map[name]))
      return fail("--" + option + " of '" + name + "' has a malformed value '" +
                  value + "'");
  }
  return success();
}

LogicalResult parseProblem(const CommandLine &line, ProblemOptions &options) {
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
  options.seed = line.seed;
  options.distribution = line.distribution;
  return success(
      succeeded(parseAll("dims", line.dims, options.dims, integer)) &&
      succeeded(parseAll("scalar", line.scalars, options.scalars, number)) &&
      succeeded(parseAll("input", line.inputs, options.inputs, string)) &&
      succeeded(parseAll("fill", line.fills, options.fills, number)) &&
      succeeded(parseAll("order", line.orders, options.orders, order)));
}

LogicalResult parseExecution(const CommandLine &line,
                             interp::Options &options) {
  options.processors = line.processors;
  options.completion = line.completion;
  options.guards = line.guards;
  options.requireFences = line.requireFences;
  if (line.processors < 1)
    return fail("--processors expects at least 1, got " +
                Twine(line.processors));
  if (line.scheduleSeed.empty())
    return success();
  uint64_t seed;
  if (StringRef(line.scheduleSeed).getAsInteger(10, seed))
    return fail("--schedule-seed expects a number, got '" +
                StringRef(line.scheduleSeed) + "'");
  options.scheduleSeed = options.choiceSeed = seed;
  return success();
}

/// A module and the function of it that is run.
struct Program {
  OwningOpRef<ModuleOp> module;
  FunctionOpInterface function;
};

FailureOr<Program> load(StringRef path, StringRef function,
                        MLIRContext &context) {
  Program program;
  program.module = parseSourceFile<ModuleOp>(path, ParserConfig(&context));
  if (!program.module)
    return failure();
  WalkResult attention = program.module->walk([](Operation *op) {
    if (op->getName().getDialectNamespace() != "attention")
      return WalkResult::advance();
    op->emitError("'") << op->getName()
                       << "' has to be lowered before the module can be run "
                          "(by attention-to-tile or attention-to-reference)";
    return WalkResult::interrupt();
  });
  if (attention.wasInterrupted())
    return failure();
  program.function = findHostFunction(*program.module, function);
  if (!program.function)
    return failure();
  return program;
}

/// Compares what was written; prints a line per argument.
LogicalResult report(const Problem &problem, const Problem &reference,
                     Tolerance tolerance) {
  LogicalResult result = success();
  for (const ProblemArgument &theirs : reference.getArguments()) {
    if (!theirs.getArray() || !theirs.access.written)
      continue;
    const ProblemArgument *mine =
        llvm::find_if(problem.getArguments(), [&](const ProblemArgument &a) {
          return a.name == theirs.name;
        });
    Comparison c = compare(*mine->getArray(), *theirs.getArray(), tolerance);
    llvm::outs() << theirs.name
                 << llvm::format(": max abs %.4g, max rel %.4g, rms %.4g",
                                 c.maxAbsolute, c.maxRelative,
                                 c.rootMeanSquare);
    if (c.unwritten)
      llvm::outs() << ", " << c.unwritten << " not written";
    llvm::outs() << '\n';
    if (!c.mismatches)
      continue;
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "'" << theirs.name << "' differs in " << c.mismatches << " of "
       << c.elements << " elements, first at [";
    llvm::interleaveComma(c.index, os);
    os << "]: ";
    c.isWritten ? os << llvm::format("%.9g", c.value) : os << "not written";
    os << " against ";
    c.isReferenceWritten ? os << llvm::format("%.9g", c.reference)
                         : os << "not written";
    result = fail(text);
  }
  return result;
}

LogicalResult writeOutputs(const CommandLine &line, Problem &problem) {
  llvm::StringMap<std::string> outputs;
  if (failed(parseAll("output", line.outputs, outputs,
                      [](StringRef text, std::string &value) {
                        value = text.str();
                        return true;
                      })))
    return failure();
  for (auto &entry : outputs) {
    const ProblemArgument *argument = problem.find(entry.first());
    std::string message;
    auto file = argument && argument->getArray()
                    ? openOutputFile(entry.second, &message)
                    : nullptr;
    if (!argument || !argument->getArray())
      return fail("--output of '" + entry.first() +
                  "', which is no array argument");
    if (!file)
      return fail(message);
    file->os() << writeNpy(*argument->getArray());
    file->keep();
  }
  for (const std::string &name : line.prints) {
    const ProblemArgument *argument = problem.find(name);
    if (!argument || !argument->getArray())
      return fail("--print of '" + name + "', which is no array argument");
    printElements(llvm::outs(), name, *argument->getArray());
  }
  if (line.checksum)
    for (const ProblemArgument &argument : problem.getArguments())
      if (argument.getArray() && argument.access.written)
        printSummary(llvm::outs(), argument.name, *argument.getArray());
  return success();
}

LogicalResult runAll(const CommandLine &line, DialectRegistry &registry) {
  if (!line.cpu)
    return fail("only the interpreter is available, pass --cpu");
  ProblemOptions problemOptions;
  interp::Options options;
  if (failed(parseProblem(line, problemOptions)) ||
      failed(parseExecution(line, options)))
    return failure();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  context.printOpOnDiagnostic(false);
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  FailureOr<Program> program = load(line.file, line.function, context);
  if (failed(program))
    return failure();
  FailureOr<Problem> problem =
      Problem::create(program->function, problemOptions);
  if (failed(problem))
    return failure();
  if (line.against.empty())
    return success(succeeded(interp::interpret(
                       program->function, problem->getValues(), options)) &&
                   succeeded(writeOutputs(line, *problem)));

  FailureOr<Program> other =
      load(line.against, program->function.getName(), context);
  if (failed(other))
    return failure();
  FailureOr<Problem> reference = problem->cloneFor(other->function);
  if (failed(reference) ||
      failed(interp::interpret(program->function, problem->getValues(),
                               options)) ||
      failed(writeOutputs(line, *problem)) ||
      failed(
          interp::interpret(other->function, reference->getValues(), options)))
    return failure();
  return report(*problem, *reference, {line.atol, line.rtol});
}

} // namespace

int fa3::run::runMain(int argc, char **argv, DialectRegistry &registry) {
  llvm::InitLLVM init(argc, argv);
  CommandLine line;
  cl::ParseCommandLineOptions(argc, argv, "fa3 runner\n");
  return failed(runAll(line, registry));
}
