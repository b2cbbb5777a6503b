//===- GradientCode.h - registers of code in gradients ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_TUNING_GRADIENTCODE_H
#define FA3_LIB_TUNING_GRADIENTCODE_H

#include "fa3/Tuning/BackwardPlan.h"

namespace fa3 {

/// What mask and score code takes beside the tiles of a kernel.
struct CodeNeeds {
  int64_t quarters = 0;  ///< of a tile of scores
  int64_t registers = 0; ///< of a thread
};

CodeNeeds countCode(const BackwardFacts &facts,
                    const BackwardProducts &products);
/// The same of the kernel of all gradients.
int64_t countQuartersOfFused(const BackwardDemand &demand);

} // namespace fa3

#endif // FA3_LIB_TUNING_GRADIENTCODE_H
