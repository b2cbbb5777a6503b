//===- Report.h - what fa3-run says about a run -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_TOOLS_RUN_REPORT_H
#define FA3_LIB_TOOLS_RUN_REPORT_H

#include "fa3/Tools/Run/CheckResult.h"
#include "fa3/Tools/Run/Timing.h"

namespace fa3::run {

/// Collects what is known of a run; prints text as it comes, and JSON at the
/// end.
class Report {
public:
  Report(bool isJson) : isJson(isJson) {}

  /// Who asked for an executor (`isExpected`) is not told in words.
  void setExecutor(llvm::StringRef name, llvm::StringRef device,
                   bool isExpected);
  /// Fails if a result is wrong.
  mlir::LogicalResult addChecks(llvm::ArrayRef<CheckResult> results);
  /// Fails if a run differs.
  mlir::LogicalResult addRepeats(int64_t runs, int64_t differing);
  void addTiming(TimingMode mode, const Timing &timing,
                 std::optional<int64_t> flops);
  /// Prints the line of JSON, if it is wanted.
  void finish(llvm::StringRef file, bool isPassed) const;

private:
  struct TimingRecord {
    TimingMode mode;
    Timing timing;
    std::optional<int64_t> flops;
  };
  bool isJson;
  std::string executor, device;
  llvm::SmallVector<CheckResult> checks;
  std::optional<std::pair<int64_t, int64_t>> repeats;
  llvm::SmallVector<TimingRecord> timings;
};

} // namespace fa3::run

#endif // FA3_LIB_TOOLS_RUN_REPORT_H
