//===- Solvers.cpp - solvers by name --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Scheduling/Solvers.h"
#include "llvm/ADT/StringSwitch.h"

using namespace fa3;

PipelineSolver fa3::getPipelineSolver(llvm::StringRef name) {
  return llvm::StringSwitch<PipelineSolver>(name)
      .Case("list", scheduleByList)
      .Case("modulo", scheduleByTimes)
      .Default(nullptr);
}
