//===- Npy.h - reading and writing .npy files -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The array format of NumPy (NEP 1), versions 1 to 3, little-endian.
//===----------------------------------------------------------------------===//

#ifndef FA3_TOOLS_RUN_NPY_H
#define FA3_TOOLS_RUN_NPY_H

#include "fa3/Interp/Array.h"
#include "llvm/Support/Error.h"

namespace fa3::run {

/// Parses a file's contents and copies the elements into `array`, which has to
/// have the file's shape. Numbers are rounded to the array's format; raw data
/// ("V2", "V1", as written for bfloat16 and 8-bit floats) is taken bit for bit.
llvm::Error readNpy(llvm::StringRef contents, const interp::Array &array);

/// The shape in a file's header.
llvm::Expected<llvm::SmallVector<int64_t>>
readNpyShape(llvm::StringRef contents);

/// The file's contents for an array, in row-major order. Formats NumPy does not
/// have are written as f32, which holds them exactly.
std::string writeNpy(const interp::Array &array);

} // namespace fa3::run

#endif // FA3_TOOLS_RUN_NPY_H
