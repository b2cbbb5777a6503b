//===- TextExecutor.h - a problem through PTX on the CPU --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TOOLS_RUN_TEXTEXECUTOR_H
#define FA3_TOOLS_RUN_TEXTEXECUTOR_H

#include "fa3/Interp/Interpreter.h"
#include "fa3/Tools/Run/DeviceExecutor.h"

namespace fa3::run {

/// Makes the executor of PTX the device of this process; null after a message.
std::unique_ptr<Device> openTextDevice(const interp::Options &options);

/// Runs PTX and its manifest on the arrays of a problem. The hash that ties the
/// two together is not looked at: people edit PTX. What the executor finds is
/// printed.
mlir::LogicalResult runText(DeviceCode code, Problem &problem,
                            const interp::Options &options);

} // namespace fa3::run

#endif // FA3_TOOLS_RUN_TEXTEXECUTOR_H
