//===- OrderRows.h - one row of a fragment after the other ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_TARGET_PTX_ORDERROWS_H
#define FA3_LIB_TARGET_PTX_ORDERROWS_H

#include "llvm/IR/PassManager.h"

namespace fa3 {

/// A thread holds two rows of a fragment. Code on whole fragments does one step
/// for both rows, then the next; ptxas keeps to that order by and large. This
/// pass orders what one basic block computes by the exchanges between lanes
/// (the maximum of a row) that lead to it, so that the second row's maximum is
/// taken while the first row's exponentials run. Makes scalars of vectors,
/// those of coordinates that are divided without a relation to each other;
/// functions that turn vectors of coordinates into numbers are left as they
/// are.
struct OrderRowsPass : llvm::PassInfoMixin<OrderRowsPass> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
};

} // namespace fa3

#endif // FA3_LIB_TARGET_PTX_ORDERROWS_H
