//===- Progress.h - additions in one order ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_INTERP_HOPPER_PROGRESS_H
#define FA3_LIB_INTERP_HOPPER_PROGRESS_H

#include "../Core/Decoder.h"

namespace fa3::interp {

void populateProgress(Registry &registry);

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_HOPPER_PROGRESS_H
