//===- AttentionToTile.h - attention-to-tile --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_CONVERSION_ATTENTIONTOTILE_ATTENTIONTOTILE_H
#define FA3_CONVERSION_ATTENTIONTOTILE_ATTENTIONTOTILE_H

#include "fa3/Options/Options.h"
#include "mlir/Pass/Pass.h"

namespace fa3 {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "fa3/Conversion/AttentionToTile/Passes.h.inc"

} // namespace fa3

#endif // FA3_CONVERSION_ATTENTIONTOTILE_ATTENTIONTOTILE_H
