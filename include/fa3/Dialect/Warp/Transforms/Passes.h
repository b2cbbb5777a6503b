//===- Passes.h - passes on the warp dialect --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_DIALECT_WARP_TRANSFORMS_PASSES_H
#define FA3_DIALECT_WARP_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace fa3::warp {

#define GEN_PASS_DECL
#include "fa3/Dialect/Warp/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa3/Dialect/Warp/Transforms/Passes.h.inc"

} // namespace fa3::warp

#endif // FA3_DIALECT_WARP_TRANSFORMS_PASSES_H
