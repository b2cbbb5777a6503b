//===- PTXDriver.h - a CUDA driver that runs PTX on the CPU -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Entry points of libcuda over the executor of PTX, for the runtime: manifests,
// tensor maps, workspaces and launches are then what they are on a GPU. "Device
// memory" is memory of the host.
//===----------------------------------------------------------------------===//

#ifndef FA3_INTERP_PTXDRIVER_H
#define FA3_INTERP_PTXDRIVER_H

#include "fa3/Interp/PTXInterpreter.h"

namespace fa3::interp::ptx {

/// Makes the executor the driver of this process. Later calls only change the
/// options. False, with the reason, if there is another driver.
bool installDriver(const RunOptions &options, std::string &error);

/// Blocks of later launches that are not run.
void setFirstBlock(uint32_t number);

/// What the last launch or load reported; the runtime knows a code only.
std::string takeDriverError();

/// What all launches so far executed.
RunCounts getDriverCounts();

/// The manifest with the hash of a PTX that was edited since it was written.
std::string acceptText(llvm::StringRef manifest, llvm::StringRef ptx);

} // namespace fa3::interp::ptx

#endif // FA3_INTERP_PTXDRIVER_H
