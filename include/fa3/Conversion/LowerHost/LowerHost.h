//===- LowerHost.h - fa3-lower-host -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_CONVERSION_LOWERHOST_LOWERHOST_H
#define FA3_CONVERSION_LOWERHOST_LOWERHOST_H

#include "mlir/Pass/Pass.h"

namespace fa3 {

/// What a program carries of its kernels.
enum class HostImage {
  PTX, ///< text that the driver compiles
  IR,  ///< text that the interpreter runs on the CPU
};

/// Where the arrays of a program are.
enum class HostMemory {
  Device, ///< as kernels take them
  Host,   ///< copied to the device and back around every call
};

/// What launches kernels.
enum class HostLaunch {
  Runtime, ///< fa3's, by the manifest
  GPU,     ///< gpu.launch_func, whose wrappers are upstream's
};

/// Whose memory is between the kernels of a call.
enum class HostWorkspace {
  Runtime, ///< of the runtime, kept from call to call
  Program, ///< allocated by the program in front of every call
};

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "fa3/Conversion/LowerHost/Passes.h.inc"

} // namespace fa3

#endif // FA3_CONVERSION_LOWERHOST_LOWERHOST_H
