//===- MutateMain.cpp - the tool fa3-mutate -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The sample is a JSON file: a list of cases, each with the file of a kernel
// (relative to the list), options of the pipeline, and problems to run: extents
// of each, and for all of them scalars and what arrays are filled with.
// Problems whose numbers `unexplored` lists have too many schedules to see all:
// they are run in a few.
//===----------------------------------------------------------------------===//

#include "fa3/Tools/Mutate/MutateMain.h"
#include "Trial.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"
#include <atomic>
#include <mutex>
#include <thread>

using namespace mlir;
using namespace fa3;
using namespace fa3::mutate;
namespace cl = llvm::cl;

namespace fa3::mutate {
// Found by the overloads for lists, in the namespace of its result.
static bool fromJSON(const llvm::json::Value &value, Case &result,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper map(value, path);
  std::vector<std::map<std::string, int64_t>> problems;
  std::map<std::string, double> scalars, fills;
  // Lengths for every problem; tables of pages in random order.
  std::map<std::string, std::vector<std::vector<int64_t>>> lengths;
  std::vector<std::string> pages;
  if (!map || !map.map("name", result.name) || !map.map("file", result.file) ||
      !map.map("pipeline", result.pipeline) || !map.map("problems", problems) ||
      !map.mapOptional("scalars", scalars) ||
      !map.mapOptional("fills", fills) ||
      !map.mapOptional("lengths", lengths) ||
      !map.mapOptional("unexplored", result.unexplored) ||
      !map.mapOptional("pages", pages) || !map.mapOptional("sms", result.sms) ||
      !map.mapOptional("specialized", result.isSpecialized))
    return false;
  for (int64_t problem : result.unexplored)
    if (problem < 0 || problem >= static_cast<int64_t>(problems.size())) {
      path.field("unexplored").report("expects numbers of problems, from 0");
      return false;
    }
  for (const std::map<std::string, int64_t> &dims : problems) {
    run::ProblemOptions &problem = result.problems.emplace_back();
    for (auto &[name, extent] : dims)
      problem.dims[name] = extent;
    for (auto &[name, number] : scalars)
      problem.scalars[name] = number;
    for (auto &[name, number] : fills)
      problem.fills[name] = number;
    for (const std::string &name : pages)
      problem.pages[name] = run::PageOrder::Random;
    for (auto &[name, list] : lengths) {
      if (list.size() != problems.size()) {
        path.field("lengths").report("expects lengths for every problem");
        return false;
      }
      problem.lengths[name].assign(list[result.problems.size() - 1].begin(),
                                   list[result.problems.size() - 1].end());
    }
  }
  return true;
}
} // namespace fa3::mutate

namespace {

struct CommandLine {
  cl::opt<std::string> file{cl::Positional, cl::desc("<cases.json>"),
                            cl::Required};
  cl::opt<unsigned> jobs{"j", cl::desc("Threads"), cl::init(1)};
  cl::opt<int64_t> states{
      "states", cl::desc("States of a block that are explored at most"),
      cl::init(2000000)};
  cl::opt<std::string> only{"case", cl::desc("The only case to try")};
  cl::opt<std::string> kind{"kind", cl::desc("The only kind of mutant to try")};
  cl::opt<bool> checkers{
      "checkers",
      cl::desc("Ask the static checkers, too; a false alarm is an error")};
  cl::opt<bool> list{"list", cl::desc("Prints a line per mutant")};
  cl::opt<unsigned> parts{
      "parts",
      cl::desc("Parts that mutants are divided into, of which one is "
               "tried"),
      cl::init(1)};
  cl::opt<unsigned> part{
      "part",
      cl::desc("Its number, modulo the parts: a count of commits may "
               "be given"),
      cl::init(0)};
};

using Counts = std::array<int64_t, kNumOutcomes>;

/// Results by kind, from all threads.
struct Results {
  std::mutex mutex;
  llvm::MapVector<StringRef, Counts> byKind;
  int64_t falseAlarms = 0;
  bool failed = false;
  /// Cases that some thread has begun, where threads share out cases.
  std::atomic<size_t> begun{0};
};

LogicalResult fail(const Twine &message) {
  llvm::WithColor::error(llvm::errs(), "fa3-mutate") << message << '\n';
  return failure();
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

/// All cases, or that of a name.
FailureOr<std::vector<Case>> readCases(StringRef path, StringRef only) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return fail("cannot read " + path + ": " + buffer.getError().message());
  auto cases = llvm::json::parse<std::vector<Case>>((*buffer)->getBuffer());
  if (!cases)
    return fail(path + ": " + llvm::toString(cases.takeError()));
  if (!only.empty())
    llvm::erase_if(*cases,
                   [&](const Case &testCase) { return testCase.name != only; });
  for (Case &testCase : *cases) {
    SmallString<128> file = llvm::sys::path::parent_path(path);
    llvm::sys::path::append(file, testCase.file);
    testCase.file = std::string(file);
  }
  return std::move(*cases);
}

//===----------------------------------------------------------------------===//
// Trials
//===----------------------------------------------------------------------===//

constexpr StringRef kOutcomeNames[kNumOutcomes] = {
    "verifier", "checker", "run", "answer", "explored", "harmless", "MISSED"};

/// Whether a thread takes whole cases, which are prepared once then. Else all
/// prepare all of them, and share out the mutants of each.
bool sharesCases(const CommandLine &line, ArrayRef<Case> cases) {
  return cases.size() >= 2 * static_cast<size_t>(line.jobs);
}

/// Tries a thread's mutants of a case. `number` is that of the first one.
void tryMutants(const CommandLine &line, Trial &trial, const Case &testCase,
                int64_t number, function_ref<bool(int64_t)> isMine,
                Results &results) {
  for (bool isHopper : {false, true})
    for (const MutantKind &kind :
         isHopper ? getHopperMutants() : getTileMutants()) {
      if (!line.kind.empty() && kind.name != line.kind)
        continue;
      int64_t count = isHopper ? trial.countHopperPlaces(kind)
                               : trial.countTilePlaces(kind);
      Counts counts = {};
      std::string lines;
      llvm::raw_string_ostream os(lines);
      for (int64_t i = 0; i < count; ++i) {
        if (!isMine(number++))
          continue;
        std::string message;
        Outcome outcome = isHopper ? trial.tryHopperMutant(kind, i, message)
                                   : trial.tryTileMutant(kind, i, message);
        ++counts[static_cast<unsigned>(outcome)];
        if (line.list || outcome == Outcome::Missed)
          os << testCase.name << ", " << (isHopper ? "hopper " : "tile ")
             << kind.name << ' ' << i << ": "
             << kOutcomeNames[static_cast<unsigned>(outcome)]
             << (message.empty() ? "" : ": ") << message << '\n';
      }
      std::lock_guard<std::mutex> lock(results.mutex);
      llvm::outs() << lines;
      Counts &sums = results.byKind[kind.name];
      for (unsigned i = 0; i < kNumOutcomes; ++i)
        sums[i] += counts[i];
    }
}

/// Tries the mutants of the cases that the thread `worker` has begun, or its
/// mutants of all cases.
void work(const CommandLine &line, ArrayRef<Case> cases, unsigned worker,
          const DialectRegistry &registry, Results &results) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  bool byCase = sharesCases(line, cases);
  auto isMine = [&](int64_t number) {
    return number % line.parts == line.part % line.parts &&
           (byCase || number / line.parts % line.jobs == worker);
  };
  for (size_t i = byCase ? results.begun++ : 0; i < cases.size();
       i = byCase ? results.begun++ : i + 1) {
    const Case &testCase = cases[i];
    auto trial = Trial::create(context, testCase, line.states, line.checkers);
    if (failed(trial)) {
      std::lock_guard<std::mutex> lock(results.mutex);
      (void)fail("the case '" + testCase.name + "' fails without a mutation");
      results.failed = true;
      continue;
    }
    if (byCase || worker == 0) {
      std::lock_guard<std::mutex> lock(results.mutex);
      results.falseAlarms += (*trial)->getFalseAlarms().size();
      for (const std::string &alarm : (*trial)->getFalseAlarms())
        (void)fail("false alarm in the case '" + testCase.name + "': " + alarm);
    }
    // Of kinds with one place in a case other cases have it in the part.
    tryMutants(line, **trial, testCase, i, isMine, results);
  }
}

bool print(const Results &results) {
  auto &os = llvm::outs();
  os << llvm::left_justify("kind", 22) << "  places";
  for (StringRef name : kOutcomeNames)
    os << llvm::right_justify(name, 10);
  os << '\n';
  Counts sums = {};
  auto printRow = [&](StringRef name, const Counts &counts) {
    int64_t places = 0;
    for (int64_t count : counts)
      places += count;
    os << llvm::left_justify(name, 22) << llvm::format("%8ld", long(places));
    for (int64_t count : counts)
      os << llvm::format("%10ld", long(count));
    os << '\n';
    return places;
  };
  for (const MutantKind &kind :
       llvm::concat<const MutantKind>(getTileMutants(), getHopperMutants())) {
    auto it = results.byKind.find(kind.name);
    if (it == results.byKind.end())
      continue;
    for (unsigned i = 0; i < kNumOutcomes; ++i)
      sums[i] += it->second[i];
  }
  for (auto &[name, counts] : results.byKind)
    printRow(name, counts);
  int64_t tried = printRow("all", sums);
  int64_t harmless = sums[static_cast<unsigned>(Outcome::Harmless)];
  int64_t missed = sums[static_cast<unsigned>(Outcome::Missed)];
  os << "false alarms: " << results.falseAlarms << '\n';
  os << "mutants: tried " << tried << ", caught " << tried - harmless - missed
     << ", harmless " << harmless << ", missed " << missed << '\n';
  return missed == 0 && results.falseAlarms == 0;
}

} // namespace

int fa3::mutate::mutateMain(int argc, char **argv, DialectRegistry &registry) {
  llvm::InitLLVM init(argc, argv);
  CommandLine line;
  cl::ParseCommandLineOptions(argc, argv, "fa3 mutant injection\n");
  FailureOr<std::vector<Case>> cases = readCases(line.file, line.only);
  if (failed(cases))
    return 1;
  if (line.jobs < 1)
    return failed(fail("-j expects at least 1"));
  if (line.parts < 1)
    return failed(fail("--parts expects at least 1"));
  Results results;
  std::vector<std::thread> threads;
  for (unsigned worker = 0; worker < line.jobs; ++worker)
    threads.emplace_back(
        [&, worker] { work(line, *cases, worker, registry, results); });
  for (std::thread &thread : threads)
    thread.join();
  bool fine = print(results);
  if (line.parts > 1)
    llvm::outs() << "that was part " << line.part % line.parts << " of "
                 << line.parts << "; --parts=1 tries all\n";
  return results.failed || !fine;
}
