//===- Passes.h - passes on the hopper dialect ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// From instructions whose order is right to instructions that are complete:
// waits, fences, places of groups, registers, shared memory.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_HOPPER_TRANSFORMS_PASSES_H
#define FA3_DIALECT_HOPPER_TRANSFORMS_PASSES_H

#include "fa3/Options/Options.h"
#include "mlir/Pass/Pass.h"

namespace fa3::hopper {

#define GEN_PASS_DECL
#include "fa3/Dialect/Hopper/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa3/Dialect/Hopper/Transforms/Passes.h.inc"

} // namespace fa3::hopper

#endif // FA3_DIALECT_HOPPER_TRANSFORMS_PASSES_H
