//===- Records.h - names of what instrumented kernels write -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_DIALECT_HOPPER_IR_RECORDS_H
#define FA3_DIALECT_HOPPER_IR_RECORDS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace mlir {
class FunctionOpInterface;
} // namespace mlir

namespace fa3::hopper {

/// On the argument of a host function that holds records, for tools: a
/// dictionary of `groups` (a name per row of a CTA) and `events` (a dictionary
/// per event: kind, phase, name and more).
inline constexpr llvm::StringLiteral kRecordsAttrName = "hopper.records";

/// The first array of records of a host function, as the `info` of a manifest
/// describes it: that dictionary and `argument`, the name of the array. Nothing
/// if there is none.
std::optional<llvm::json::Object>
describeRecords(mlir::FunctionOpInterface host);

} // namespace fa3::hopper

#endif // FA3_DIALECT_HOPPER_IR_RECORDS_H
