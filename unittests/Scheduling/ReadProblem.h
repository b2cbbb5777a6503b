//===- ReadProblem.h - instances as text ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the lines that PipelineProblem::print writes, names first come first
// numbered:
//   compute a
//   issue b stage 0 position 1
//   a -> b
//   b -> a distance 1
//===----------------------------------------------------------------------===//

#ifndef FA3_UNITTESTS_SCHEDULING_READPROBLEM_H
#define FA3_UNITTESTS_SCHEDULING_READPROBLEM_H

#include "fa3/Scheduling/Solvers.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "gtest/gtest.h"

namespace fa3::test {

struct ProblemText {
  PipelineProblem problem;
  llvm::StringMap<unsigned> numbers;

  explicit ProblemText(llvm::StringRef text) {
    llvm::SmallVector<llvm::StringRef> lines, words;
    text.split(lines, '\n', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef line : lines) {
      words.clear();
      line.trim().split(words, ' ', -1, /*KeepEmpty=*/false);
      if (words.empty())
        continue;
      if (words.size() > 1 && words[1] == "->")
        readDependence(words);
      else
        readOperation(words);
    }
  }

  int64_t stage(llvm::StringRef name) const {
    return problem.getOperations()[numbers.lookup(name)].stage.value_or(-1);
  }
  int64_t position(llvm::StringRef name) const {
    return problem.getOperations()[numbers.lookup(name)].position.value_or(-1);
  }

private:
  static unsigned number(llvm::StringRef word) {
    unsigned value = 0;
    EXPECT_FALSE(word.getAsInteger(10, value)) << word.str();
    return value;
  }

  void readOperation(llvm::ArrayRef<llvm::StringRef> words) {
    using Kind = PipelineProblem::Kind;
    auto kind = llvm::StringSwitch<std::optional<Kind>>(words[0])
                    .Case("compute", Kind::Compute)
                    .Case("issue", Kind::Issue)
                    .Case("wait", Kind::Wait)
                    .Case("deferred-wait", Kind::DeferredWait)
                    .Case("free", Kind::Free)
                    .Case("spread", Kind::Spread)
                    .Case("copy", Kind::Copy)
                    .Case("arrival", Kind::Arrival)
                    .Case("meeting", Kind::Meeting)
                    .Default(std::nullopt);
    ASSERT_TRUE(kind && words.size() > 1) << words[0].str();
    unsigned op = problem.addOperation(words[1].str(), *kind);
    numbers[words[1]] = op;
    if (words.size() == 6) {
      problem.setStage(op, number(words[3]));
      problem.setPosition(op, number(words[5]));
    }
  }

  void readDependence(llvm::ArrayRef<llvm::StringRef> words) {
    ASSERT_TRUE(numbers.count(words[0]) && numbers.count(words[2]));
    problem.addDependence(numbers[words[0]], numbers[words[2]],
                          words.size() == 5 ? number(words[4]) : 0);
  }
};

} // namespace fa3::test

#endif // FA3_UNITTESTS_SCHEDULING_READPROBLEM_H
