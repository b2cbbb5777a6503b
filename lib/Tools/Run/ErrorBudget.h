//===- ErrorBudget.h - where the error of 8-bit attention is made -*- C++ -*-=//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_TOOLS_RUN_ERRORBUDGET_H
#define FA3_LIB_TOOLS_RUN_ERRORBUDGET_H

#include "CheckEachPass.h"

namespace fa3::run {

/// Runs attention on the CPU by definition in f64, with the given inputs and
/// with those that `attention.quantize` makes of them, then its kernel as tiles
/// and as instructions, and prints the root mean square of what lies between
/// them: rounding of the inputs, of the weights, and of the sums of products.
/// `module` has one function with attention, whose inputs may be 8-bit already.
mlir::LogicalResult printErrorBudget(mlir::ModuleOp module,
                                     const PipelineOptions &pipeline,
                                     const CheckedProblem &problem);

} // namespace fa3::run

#endif // FA3_LIB_TOOLS_RUN_ERRORBUDGET_H
