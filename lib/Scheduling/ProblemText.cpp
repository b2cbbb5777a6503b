//===- ProblemText.cpp - pipeline problems as text ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Scheduling/ProblemText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <limits>

using namespace fa3;
using Kind = PipelineProblem::Kind;

/// Sums of as many times as a problem has fit 64 bits.
static constexpr int64_t kMostCycles = std::numeric_limits<int32_t>::max();
static constexpr unsigned kMostOperations = 1024, kMostUnits = 64,
                          kMostUses = 16, kMostDependences = 16384;

namespace {
class Reader {
public:
  llvm::Expected<PipelineProblem> read(llvm::StringRef text);

private:
  /// What is wrong with a line.
  std::optional<std::string> readLine();
  std::optional<std::string> readOperation();
  std::optional<std::string> readField(unsigned op, llvm::StringRef field);
  std::optional<std::string> readDependence();

  llvm::StringRef take() {
    return next < words.size() ? words[next++] : llvm::StringRef();
  }
  std::optional<int64_t> takeNumber() {
    int64_t value;
    if (take().getAsInteger(10, value))
      return std::nullopt;
    return value;
  }

  PipelineProblem problem;
  llvm::SmallVector<llvm::StringRef> words;
  size_t next = 0;
};
} // namespace

static std::string quote(llvm::StringRef word) {
  return "'" + word.str() + "'";
}

static std::string tooMany(const char *what, unsigned most) {
  return std::string("more ") + what + " than " + std::to_string(most);
}

std::optional<std::string> Reader::readField(unsigned op,
                                             llvm::StringRef field) {
  unsigned unit = 0;
  if (field == "uses") {
    llvm::StringRef name = take();
    unit = llvm::find(problem.getUnits(), name) - problem.getUnits().begin();
    if (unit == problem.getUnits().size())
      return "expected a unit, got " + quote(name);
  } else if (!llvm::is_contained({"latency", "start", "stage", "position"},
                                 field)) {
    return "unexpected " + quote(field);
  }
  std::optional<int64_t> value = takeNumber();
  if (!value || *value < 0 || *value > kMostCycles)
    return "expected a number between 0 and " + std::to_string(kMostCycles) +
           " after " + quote(field);
  if (field == "uses" && problem.getOperations()[op].uses.size() == kMostUses)
    return tooMany("uses of an operation", kMostUses);
  if (field == "uses")
    problem.addUse(op, unit, *value);
  else if (field == "latency")
    problem.setLatency(op, *value);
  else if (field == "start")
    problem.setStart(op, *value);
  else if (field == "stage")
    problem.setStage(op, *value);
  else
    problem.setPosition(op, *value);
  return std::nullopt;
}

std::optional<std::string> Reader::readOperation() {
  unsigned number;
  size_t count = problem.getOperations().size();
  if (take().drop_back().getAsInteger(10, number) || number != count)
    return "expected operation " + std::to_string(count);
  if (count == kMostOperations)
    return tooMany("operations", kMostOperations);
  llvm::StringRef kindName = take(), name = take();
  for (unsigned i = 0; i < PipelineProblem::kNumKinds; ++i) {
    if (getName(static_cast<Kind>(i)) != kindName)
      continue;
    if (name.empty())
      return "expected the name of an operation";
    unsigned op = problem.addOperation(name.str(), static_cast<Kind>(i));
    while (next < words.size())
      if (std::optional<std::string> error = readField(op, take()))
        return error;
    return std::nullopt;
  }
  return "unknown kind " + quote(kindName);
}

std::optional<std::string> Reader::readDependence() {
  std::optional<int64_t> from = takeNumber();
  take();
  std::optional<int64_t> to = takeNumber();
  auto isWrong = [](std::optional<int64_t> number) {
    return !number || *number < 0 || *number > kMostCycles;
  };
  llvm::StringRef what = take();
  if (what == "in") {
    if (isWrong(from) || isWrong(to) || take() != "step")
      return "expected 'FROM -> TO in step' with numbers between 0 and " +
             std::to_string(kMostCycles);
    if (problem.getOrders().size() == kMostDependences)
      return tooMany("orders", kMostDependences);
    problem.addOrder(*from, *to);
    return std::nullopt;
  }
  if (what != "distance")
    return std::string("expected 'distance' or 'in step'");
  std::optional<int64_t> distance = takeNumber();
  if (isWrong(from) || isWrong(to) || isWrong(distance))
    return "expected 'FROM -> TO distance NUMBER' with numbers between 0 and " +
           std::to_string(kMostCycles);
  if (problem.getDependences().size() == kMostDependences)
    return tooMany("dependences", kMostDependences);
  problem.addDependence(*from, *to, *distance);
  return std::nullopt;
}

std::optional<std::string> Reader::readLine() {
  next = 0;
  if (words.front().ends_with(":"))
    return readOperation();
  if (words.size() > 1 && words[1] == "->")
    return readDependence();
  llvm::StringRef what = take();
  if (what == "unit" && words.size() == 2) {
    if (problem.getUnits().size() == kMostUnits)
      return tooMany("units", kMostUnits);
    problem.addUnit(take().str());
    return std::nullopt;
  }
  if (what != "interval")
    return "unexpected " + quote(what);
  std::optional<int64_t> cycles = takeNumber();
  if (!cycles || *cycles < 1 || *cycles > kMostCycles)
    return "expected an interval between 1 and " + std::to_string(kMostCycles) +
           " cycles";
  problem.setInterval(*cycles);
  return std::nullopt;
}

llvm::Expected<PipelineProblem> Reader::read(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (auto [number, line] : llvm::enumerate(lines)) {
    words.clear();
    llvm::SplitString(line.split("//").first, words);
    if (words.empty())
      continue;
    std::optional<std::string> error = readLine();
    if (!error && next < words.size())
      error = "unexpected " + quote(words[next]);
    if (error)
      return llvm::createStringError("line " + std::to_string(number + 1) +
                                     ": " + *error);
  }
  return std::move(problem);
}

llvm::Expected<PipelineProblem>
fa3::parsePipelineProblem(llvm::StringRef text) {
  return Reader().read(text);
}
