//===- Explain.h - choices in words -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_TOOLS_TUNE_EXPLAIN_H
#define FA3_LIB_TOOLS_TUNE_EXPLAIN_H

#include "fa3/Tuning/Table.h"
#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace fa3::tune {

/// Says what the pipeline takes for a problem and why: the entry of a table, if
/// there is one, and what the cost model says of it and of other tiles.
void explain(llvm::raw_ostream &os, const tuning::Problem &problem,
             const tuning::ProblemClass &problemClass,
             const tuning::Table &table);

/// Says what the pipeline makes of kernels of tiles: groups, rings, products,
/// threads, registers and shared memory.
mlir::LogicalResult explainKernels(llvm::raw_ostream &os,
                                   mlir::ModuleOp module);

/// The main reason why a point is predicted to take longer than another one.
std::string compare(const tuning::Problem &problem,
                    const tuning::Candidate &slower,
                    const tuning::Candidate &faster);

} // namespace fa3::tune

#endif // FA3_LIB_TOOLS_TUNE_EXPLAIN_H
