//===- InitAllDialects.h - registers what the pipeline uses -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// All dialects of fa3, the upstream dialects that its passes read or produce,
// and the external interface models between them.
//===----------------------------------------------------------------------===//

#ifndef FA3_INITALLDIALECTS_H
#define FA3_INITALLDIALECTS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fa3 {

/// Adds fa3's dialects and everything their passes need to the registry.
void registerAllDialects(mlir::DialectRegistry &registry);

} // namespace fa3

#endif // FA3_INITALLDIALECTS_H
