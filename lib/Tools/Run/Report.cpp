//===- Report.cpp - what fa3-run says about a run -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Report.h"
#include "Fail.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace fa3;
using namespace fa3::run;

static StringRef getName(TimingMode mode) {
  return mode == TimingMode::Single ? "single" : "burst";
}

void Report::setExecutor(StringRef name, StringRef where, bool isExpected) {
  executor = name.str();
  device = where.str();
  if (!isJson && !isExpected)
    llvm::outs() << "executor: " << executor << " (" << device << ")\n";
}

static void printCheck(llvm::raw_ostream &os, const CheckResult &check) {
  os << check.name;
  if (const auto &comparison = check.comparison) {
    os << llvm::format(": max abs %.4g, max rel %.4g, rms %.4g",
                       comparison->maxAbsolute, comparison->maxRelative,
                       comparison->rootMeanSquare);
    if (comparison->unwritten)
      os << ", " << comparison->unwritten << " not written";
  } else {
    os << llvm::format(": max error %.4g, bound %.4g", check.error, check.bound)
       << ", " << check.elements << " elements";
  }
  os << '\n';
}

LogicalResult Report::addChecks(ArrayRef<CheckResult> results) {
  LogicalResult result = success();
  for (const CheckResult &check : results) {
    if (!isJson)
      printCheck(llvm::outs(), check);
    if (check.wrong) {
      llvm::outs().flush();
      result = fail("'" + Twine(check.name) + "' differs in " +
                    Twine(check.wrong) + " of " + Twine(check.elements) +
                    " elements, " + check.complaint);
    }
  }
  checks.append(results.begin(), results.end());
  return result;
}

LogicalResult Report::addRepeats(int64_t runs, int64_t differing) {
  repeats = {runs, differing};
  if (!isJson)
    llvm::outs() << "repeat: " << runs << " runs, " << differing
                 << " differ from the first\n";
  if (differing)
    return fail(Twine(differing) + " of " + Twine(runs) +
                " runs differ from the first");
  return success();
}

void Report::addTiming(TimingMode mode, const Timing &timing,
                       std::optional<int64_t> flops) {
  timings.push_back({mode, timing, flops});
  if (isJson)
    return;
  llvm::outs() << getName(mode)
               << llvm::format(": %.4f ms (%.4f to %.4f)", timing.median,
                               timing.least, timing.greatest);
  if (flops)
    llvm::outs() << llvm::format(", %.1f TFLOP/s",
                                 *flops / timing.median / 1e9);
  if (timing.megahertz > 0)
    llvm::outs() << llvm::format(", %.0f cycles at %.0f MHz",
                                 timing.median * timing.megahertz * 1e3,
                                 timing.megahertz);
  llvm::outs() << '\n';
}

/// JSON has no infinities and NaNs.
static llvm::json::Value getNumber(double value) {
  if (std::isfinite(value))
    return value;
  return nullptr;
}

void Report::finish(StringRef file, bool isPassed) const {
  if (!isJson)
    return;
  llvm::json::OStream json(llvm::outs());
  json.object([&] {
    json.attribute("file", file);
    json.attribute("executor", executor);
    json.attribute("device", device);
    json.attributeArray("checks", [&] {
      for (const CheckResult &check : checks)
        json.object([&] {
          json.attribute("name", check.name);
          json.attribute("error", getNumber(check.error));
          json.attribute("bound", getNumber(check.bound));
          json.attribute("elements", check.elements);
          json.attribute("wrong", check.wrong);
        });
    });
    if (repeats)
      json.attributeObject("repeat", [&] {
        json.attribute("runs", repeats->first);
        json.attribute("differing", repeats->second);
      });
    json.attributeArray("times", [&] {
      for (const TimingRecord &record : timings)
        json.object([&] {
          json.attribute("mode", getName(record.mode));
          json.attribute("ms", record.timing.median);
          json.attribute("least", record.timing.least);
          json.attribute("greatest", record.timing.greatest);
          if (record.timing.megahertz > 0)
            json.attribute("mhz", record.timing.megahertz);
          if (record.flops)
            json.attribute("tflops", getNumber(*record.flops /
                                               record.timing.median / 1e9));
        });
    });
    json.attribute("passed", isPassed);
  });
  llvm::outs() << '\n';
}
