//===- RingProtocol.h - who fills and who drains a ring ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What decides how the slots of a ring change hands: the table of rings in
// docs/Design.md. It is computed once for a kernel; a lowering asks views for
// sizes and order only.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_TILE_ANALYSIS_RINGPROTOCOL_H
#define FA3_DIALECT_TILE_ANALYSIS_RINGPROTOCOL_H

#include "fa3/Dialect/Warp/IR/Warp.h"
#include "llvm/ADT/DenseMap.h"

namespace llvm {
class raw_ostream;
}

namespace fa3::tile {

struct RingProtocol {
  /// What fills a slot that is held for writing.
  enum class Fill {
    tokens, ///< nothing: the entries are tokens
    copies, ///< 'tile.load.async' only, or nothing
    writes, ///< 'tile.write' only, by the threads of the holder
    mixed   ///< something else, or both
  };

  Fill fill = Fill::copies;
  bool isPrivate = false;  ///< declared in a group: every replica has its own
  bool startsFull = false; ///< all entries can be read from the start
  bool hasLeader = false;  ///< one replica fills it for all of its group
  int64_t writers = 0;     ///< replicas with a cursor that writes
  int64_t readers = 0;     ///< replicas with a cursor that reads

  // What is done through slots that are held for reading.
  bool hasProducts = false; ///< products read them
  bool hasReads = false;    ///< 'tile.read': threads read elements
  bool hasStores = false;   ///< 'tile.store.async' copies out of them
  bool hasRewrites = false; ///< 'tile.write' over what has been read

  /// Whether the writers tell that a slot is full; otherwise the last byte of
  /// the copies does.
  bool isFilledByThreads() const {
    return fill == Fill::writes || fill == Fill::tokens;
  }
  /// Arrivals that fill a slot: every writing replica, or the one that expects
  /// the bytes of the copies. Of a ring that is not private.
  int64_t getFullArrivals() const { return isFilledByThreads() ? writers : 1; }
  /// Arrivals that empty a slot. Of a ring that is not private.
  int64_t getEmptyArrivals() const { return readers; }
};

/// The row of the table, in words.
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const RingProtocol &ring);

/// The protocols of all rings below an operation, from one walk. Slots that are
/// carried by loops or chosen by branches are not followed: no view is taken of
/// them.
class RingProtocols {
public:
  explicit RingProtocols(mlir::Operation *root);

  const RingProtocol &get(warp::RingOp ring) const {
    return protocols.find(ring.getRing())->second;
  }

private:
  llvm::DenseMap<mlir::Value, RingProtocol> protocols;
};

/// Whether threads have read the released slot ('tile.read'), and nothing else
/// has: they meet before one of them gives it back.
bool isReadByThreads(warp::ReleaseOp release);

} // namespace fa3::tile

#endif // FA3_DIALECT_TILE_ANALYSIS_RINGPROTOCOL_H
