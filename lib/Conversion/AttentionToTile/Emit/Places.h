//===- Places.h - rows that lie one behind the other ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What a tile needs of the place of a sequence: that its rows are consecutive
// rows of the array.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_PLACES_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_PLACES_H

#include "fa3/Dialect/Attention/IR/Attention.h"

namespace fa3 {

/// How many rows of a sequence, from a multiple of that number on, lie one
/// behind the other in the array: 0 for all of them. Keys of which no two do
/// give 1, queries an error at the operation that says so.
mlir::FailureOr<int64_t> getConsecutiveRows(attention::ScoredOpInterface op,
                                            attention::Sequence sequence);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_PLACES_H
