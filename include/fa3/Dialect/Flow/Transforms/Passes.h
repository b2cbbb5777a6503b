//===- Passes.h - passes on the flow dialect --------------------*- C++ -*-===//

#ifndef FA3_DIALECT_FLOW_TRANSFORMS_PASSES_H
#define FA3_DIALECT_FLOW_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace fa3::flow {

#define GEN_PASS_DECL
#include "fa3/Dialect/Flow/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa3/Dialect/Flow/Transforms/Passes.h.inc"

} // namespace fa3::flow

#endif // FA3_DIALECT_FLOW_TRANSFORMS_PASSES_H
