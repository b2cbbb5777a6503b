//===- Manifest.h - the launch contract as JSON -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TARGET_MANIFEST_MANIFEST_H
#define FA3_TARGET_MANIFEST_MANIFEST_H

#include "mlir/Support/LLVM.h"
#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace fa3 {

struct ManifestOptions {
  std::string chip = "sm_90a";
  /// PTX ISA version times ten.
  unsigned ptxVersion = 90;
  /// The host function; empty: the only one that launches kernels.
  std::string function;
};

/// Writes the host function of a module as a manifest (see docs/Design.md) for
/// the given PTX. Nothing is evaluated: index arithmetic becomes formulas,
/// cf.assert becomes a requirement. What has no formula is an error.
mlir::FailureOr<std::string> writeManifest(mlir::ModuleOp module,
                                           llvm::StringRef ptx,
                                           const ManifestOptions &options);

} // namespace fa3

#endif // FA3_TARGET_MANIFEST_MANIFEST_H
