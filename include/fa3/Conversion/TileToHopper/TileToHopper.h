//===- TileToHopper.h - tile-to-hopper --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_CONVERSION_TILETOHOPPER_TILETOHOPPER_H
#define FA3_CONVERSION_TILETOHOPPER_TILETOHOPPER_H

#include "mlir/Pass/Pass.h"

namespace fa3 {

#define GEN_PASS_DECL_TILETOHOPPER
#define GEN_PASS_REGISTRATION
#include "fa3/Conversion/TileToHopper/Passes.h.inc"

} // namespace fa3

#endif // FA3_CONVERSION_TILETOHOPPER_TILETOHOPPER_H
