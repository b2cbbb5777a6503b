//===- Predict.cpp - libfa3: time by the cost model -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// fa3_predict. What attention-to-tile plans for the options of the table, and
// what the cost model says of that tile.
//===----------------------------------------------------------------------===//

#include "Result.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Pipelines/PassText.h"
#include "fa3/Pipelines/TunedPipeline.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace mlir;
using namespace fa3;
using namespace fa3::compiler;

static fa3_outcome readSizes(Call &call, const fa3_sizes *given,
                             fa3_sizes &sizes) {
  sizes = {};
  if (given) {
    if (given->size < sizeof given->size || given->size > sizeof sizes)
      return call.refuse("expects a size of fa3_sizes between " +
                         Twine(sizeof given->size) + " and " +
                         Twine(sizeof sizes) + ", got " + Twine(given->size));
    std::memcpy(&sizes, given, given->size);
  }
  constexpr int64_t kMost = attention::kGreatestExtent;
  for (auto [name, number] : {std::pair("batch", &sizes.batch),
                              {"heads", &sizes.heads},
                              {"queries", &sizes.queries},
                              {"keys", &sizes.keys},
                              {"multiprocessors", &sizes.multiprocessors}})
    if (*number < 0 || *number > kMost)
      return call.refuse("expects " + Twine(name) + " between 0 and " +
                         Twine(kMost) + ", got " + Twine(*number));
  auto setDefault = [](int64_t &number, int64_t value) {
    number = number ? number : value;
  };
  setDefault(sizes.batch, 1);
  setDefault(sizes.heads, 1);
  setDefault(sizes.queries, 4096);
  setDefault(sizes.multiprocessors, 132);
  return FA3_DONE;
}

/// The only forward of a function; null if there is none, or something else.
static attention::ForwardOp findForward(ModuleOp part) {
  attention::ForwardOp forward;
  unsigned count = 0;
  part.walk([&](attention::ScoredOpInterface op) {
    forward = dyn_cast<attention::ForwardOp>(op.getOperation());
    ++count;
  });
  return count == 1 ? forward : attention::ForwardOp();
}

static tuning::Problem getProblem(attention::ForwardOp op,
                                  const tuning::ProblemClass &found,
                                  const fa3_sizes &sizes) {
  tuning::KnownExtents known = tuning::getKnownExtents(op);
  tuning::Problem problem;
  problem.bits = found.bits;
  problem.d = found.d;
  problem.dv = found.dv;
  problem.mask = found.mask;
  problem.score = found.score;
  problem.transposedV = op.getTransposedV();
  problem.queries = known.queries.value_or(sizes.queries);
  problem.knowsQueries = known.queries.has_value();
  problem.keys = known.keys.value_or(sizes.keys ? sizes.keys : problem.queries);
  problem.heads =
      known.batch.value_or(sizes.batch) * known.heads.value_or(sizes.heads);
  // Without one of its ends a window shows up to all keys.
  problem.window = known.window.value_or(problem.keys);
  problem.sms = sizes.multiprocessors;
  return problem;
}

/// The kernel that a launch with `keys` keys takes.
static const Variant &choose(ArrayRef<Variant> variants, int64_t keys) {
  for (const Variant &variant : variants)
    if (keys < variant.below)
      return variant;
  return variants.back();
}

/// What the model asks of a point beside its tile.
static tuning::Point getPoint(const PipelineOptions &options,
                              const TileChoice &tile) {
  tuning::Point point;
  point.blockM = tile.blockM;
  point.blockN = tile.blockN;
  std::string text;
  llvm::raw_string_ostream os(text);
  const_cast<PipelineOptions &>(options).print(os);
  for (StringRef word : llvm::split(StringRef(text).trim("{} "), ' ')) {
    auto [name, value] = word.split('=');
    if (name == "mode")
      point.mode = value.str();
    else if (name == "order")
      point.order = value.str();
  }
  return point;
}

static void setNumbers(fa3_prediction &numbers,
                       const tuning::Prediction &prediction) {
  numbers.is_known = 1;
  numbers.cycles = prediction.cycles;
  numbers.efficiency = prediction.efficiency;
  numbers.tiles = prediction.tiles;
  numbers.steps = prediction.steps;
  numbers.step = prediction.step;
  numbers.tensor = prediction.tensor;
  numbers.exponentials = prediction.exponentials;
  numbers.issue = prediction.issue;
  numbers.shared = prediction.shared;
  numbers.exposed = prediction.exposed;
  numbers.start = prediction.start;
}

static fa3_outcome predictFunction(Call &call, ModuleOp apart, std::string name,
                                   const fa3_sizes &sizes,
                                   const PipelineOptions &options) {
  attention::ForwardOp forward = findForward(apart);
  std::optional<tuning::ProblemClass> found =
      forward ? tuning::classify(apart) : std::nullopt;
  FailureOr<SmallVector<Variant>> variants = planVariants(apart, options);
  if (failed(variants))
    return FA3_FAILED;
  std::optional<tuning::Problem> problem;
  if (found)
    problem = getProblem(forward, *found, sizes);
  const PipelineOptions &chosen =
      *choose(*variants, problem ? problem->keys : sizes.queries).options;
  FailureOr<SmallVector<PlannedFunction, 1>> planned =
      planFunctions(apart, chosen);
  if (failed(planned))
    return FA3_FAILED;
  fa3_result::Prediction made = {std::move(name), "", {}};
  llvm::raw_string_ostream plan(made.plan);
  for (const PlannedFunction &function : *planned) {
    if (function.forward) {
      function.forward->print(plan);
      made.numbers.rows = function.forward->tile.blockM;
      made.numbers.keys = function.forward->tile.blockN;
      if (problem)
        setNumbers(made.numbers,
                   tuning::predict(*problem,
                                   getPoint(chosen, function.forward->tile)));
    }
    if (function.backward)
      function.backward->print(plan);
  }
  call.getResult().predictions.push_back(std::move(made));
  return FA3_DONE;
}

static fa3_outcome predict(Call &call, const fa3_sizes *given) {
  fa3_sizes sizes;
  if (fa3_outcome outcome = readSizes(call, given, sizes))
    return outcome;
  PipelineOptions options;
  std::string error;
  llvm::raw_string_ostream os(error);
  const std::string &text = call.getOptions().pipelineOptions;
  std::optional<std::string> wrong = explainWrongOption(text);
  if (wrong || failed(options.parseFromString(text, os)))
    return call.refuse("cannot read pipeline_options '" + text +
                       "': " + (wrong ? *wrong : StringRef(error).trim()));
  return forEachFunction(call, [&](ModuleOp apart, std::string name) {
    return predictFunction(call, apart, std::move(name), sizes, options);
  });
}

fa3_outcome fa3_predict(const char *text, size_t length,
                        const fa3_options *options, const fa3_sizes *sizes,
                        fa3_result **result) {
  Call call;
  fa3_outcome outcome = call.begin(text, length, options);
  if (!outcome)
    outcome = predict(call, sizes);
  return call.end(outcome, result);
}
