//===- Fifo.h - state of a ring ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Which entries of a bounded FIFO are published and released. Entries are
// addressed by position: how many entries came before. Plain data.
//===----------------------------------------------------------------------===//

#ifndef FA3_INTERP_FIFO_H
#define FA3_INTERP_FIFO_H

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace fa3::interp {

/// `depth` entries, each written in `parts` by one writer per part and read by
/// every one of `readers`. Entry p is readable when all parts are published and
/// its place is free for entry p + depth when all readers have released it.
class Fifo {
public:
  Fifo(int64_t depth, unsigned parts, unsigned readers, int64_t initial);

  /// First position of a writer or reader: `initial` entries are published
  /// from the start.
  int64_t getFirstWritten() const { return initial; }
  int64_t getFirstRead() const { return 0; }
  int64_t getDepth() const { return depth; }
  /// The place in memory of a position.
  int64_t getPlace(int64_t position) const { return position % depth; }

  bool canWrite(int64_t position) const;
  /// Takes the place for a position that canWrite. True for the first part
  /// that does: the contents of the place are stale from now on.
  bool open(int64_t position);
  /// Hands a part to the readers. False if it was already published.
  bool publish(int64_t position, unsigned part);

  bool canRead(int64_t position) const;
  /// Ends a reader's use. False if it had released the position before.
  bool release(int64_t position, unsigned reader);

  /// Who keeps `position` from being written or read, for diagnostics.
  llvm::SmallVector<unsigned> getReadersHolding(int64_t position) const;
  llvm::SmallVector<unsigned> getPartsMissing(int64_t position) const;

  /// Published entries that some reader has not released.
  int64_t getNumUnread() const;

private:
  struct Entry {
    int64_t position;
    llvm::BitVector published, released;
  };
  const Entry &entry(int64_t position) const {
    return entries[position % depth];
  }

  int64_t depth, initial;
  llvm::SmallVector<Entry, 2> entries;
};

} // namespace fa3::interp

#endif // FA3_INTERP_FIFO_H
