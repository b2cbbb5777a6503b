//===- BlockLists.h - limits and names of lists of blocks -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What attention.list_blocks, #attention.blocks, attention-derive-blocks and
// host functions have in common.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_ATTENTION_IR_BLOCKLISTS_H
#define FA3_DIALECT_ATTENTION_IR_BLOCKLISTS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace fa3::attention {

/// A block has a positive multiple of so many queries and keys.
inline constexpr int64_t kQueryStepOfBlock = 64, kKeyStepOfBlock = 16;
/// Most queries, or keys, of a block that lists are made of: their pairs are
/// counted in f32, exactly up to 2^24.
inline constexpr int64_t kMostRowsOfBlock = 4096;

/// The lists in the order of the results of list_blocks, as arguments are
/// named.
inline constexpr llvm::StringLiteral kListNames[] = {
    "count", "index", "full_count", "full_index"};

/// Whether `size` is a positive multiple of `step` up to `most`.
inline constexpr bool isSizeOfBlock(int64_t size, int64_t step,
                                    int64_t most = kMostRowsOfBlock) {
  return size >= step && size % step == 0 && size <= most;
}

} // namespace fa3::attention

#endif // FA3_DIALECT_ATTENTION_IR_BLOCKLISTS_H
