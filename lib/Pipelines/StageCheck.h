//===- StageCheck.h - stages that come too early ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_PIPELINES_STAGECHECK_H
#define FA3_LIB_PIPELINES_STAGECHECK_H

#include "fa3/Pipelines/Pipelines.h"

namespace fa3 {

/// A pass in front of a part of the pipeline that is run by its own name. A
/// module that stages before have to lower is an error, which names them; one
/// without kernels a warning.
std::unique_ptr<mlir::Pass> createStageCheck(Stage stage);

} // namespace fa3

#endif // FA3_LIB_PIPELINES_STAGECHECK_H
