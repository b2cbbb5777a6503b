//===- InitAllPasses.h - registers fa3's passes and pipelines ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_INITALLPASSES_H
#define FA3_INITALLPASSES_H

namespace fa3 {

/// Registers fa3's passes and named pipelines with the global pass registry.
void registerAllPasses();

} // namespace fa3

#endif // FA3_INITALLPASSES_H
