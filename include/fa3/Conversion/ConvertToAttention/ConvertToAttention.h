//===- ConvertToAttention.h - convert-to-attention --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef FA3_CONVERSION_CONVERTTOATTENTION_CONVERTTOATTENTION_H
#define FA3_CONVERSION_CONVERTTOATTENTION_CONVERTTOATTENTION_H

#include "mlir/Pass/Pass.h"

namespace fa3 {

/// What attention of f32 is computed in; none: it stays as it is.
enum class ImportCast { None, F16, BF16 };

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "fa3/Conversion/ConvertToAttention/Passes.h.inc"

} // namespace fa3

#endif // FA3_CONVERSION_CONVERTTOATTENTION_CONVERTTOATTENTION_H
