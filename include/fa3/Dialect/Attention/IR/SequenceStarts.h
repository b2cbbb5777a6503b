//===- SequenceStarts.h - sequences one behind the other --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What regions of lengths and places say of the rows of different sequences.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_ATTENTION_IR_SEQUENCESTARTS_H
#define FA3_DIALECT_ATTENTION_IR_SEQUENCESTARTS_H

#include "fa3/Dialect/Attention/IR/Attention.h"

namespace fa3::attention {

/// The auxiliary operand that says where sequences of queries (of keys) start,
/// one behind the other: row i of sequence b is row starts[b] + i of q (of k),
/// and b has at most starts[b + 1] - starts[b] of them. Nothing if the regions
/// do not say so. Mods are to be expanded.
std::optional<unsigned> getSequenceStarts(ScoredOpInterface op,
                                          Sequence sequence);

/// Whether `place_k` may give two keys the same place, for all that its code
/// says: not if one of its indices is the sequence, or sequences lie one behind
/// the other, and the row is the key plus what is the same for all keys of the
/// sequence. Mods are to be expanded.
bool mayShareKeys(ScoredOpInterface op);

} // namespace fa3::attention

#endif // FA3_DIALECT_ATTENTION_IR_SEQUENCESTARTS_H
