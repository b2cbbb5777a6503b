//===- ProtocolSearch.h - what the groups of a block agree on ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The synchronization of one thread block as plain data: per group the events
// that others can notice, in program order. The control flow of a group depends
// on scalars only, so the events are the same in every schedule; explore() goes
// through all schedules of them without computing any tile.
//===----------------------------------------------------------------------===//

#ifndef FA3_INTERP_PROTOCOLSEARCH_H
#define FA3_INTERP_PROTOCOLSEARCH_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mlir {
class Operation;
} // namespace mlir

namespace fa3::interp {

/// Bytes [begin, end) of shared memory.
struct ByteRange {
  int64_t begin, end;
  bool overlaps(const ByteRange &o) const {
    return begin < o.end && o.begin < end;
  }
};

struct Event {
  enum Kind : uint8_t {
    Init,      ///< an mbarrier for `amount` arrivals
    Wait,      ///< blocks until the phase of parity `amount` has completed
    Arrive,    ///< one arrival
    Expect,    ///< one arrival that announces `amount` bytes
    Load,      ///< starts a copy into `ranges` that completes on the mbarrier
    AsyncRead, ///< starts a read of `ranges`, in batch `amount` of `queue`
    Retire,    ///< waited for the batches of `queue` up to `amount`
    Read,      ///< threads read `ranges`
    Write,     ///< threads write `ranges`
    Sync,      ///< arrives with `threads` at a barrier for `amount`, and waits
    Reach,     ///< arrives with `threads` at such a barrier, and goes on
    Registers, ///< takes `amount` registers, or gives them back if negative
    Fork,      ///< the agents up to number `amount` start
    Join,      ///< blocks until the agents up to number `amount` have ended
  };
  Kind kind;
  mlir::Operation *op = nullptr;
  /// Address of an mbarrier, or number of a barrier of threads.
  int64_t barrier = 0;
  int64_t amount = 0;
  int64_t queue = 0;
  int64_t threads = 0;
  llvm::SmallVector<ByteRange, 2> ranges;
};

/// A copy of a group, or the kernel body around the groups.
struct Agent {
  std::string name;
  std::vector<Event> events;
};

/// Agent 0 is the kernel body; the others start at one of its forks.
struct Protocol {
  std::vector<Agent> agents;
  /// Equal for blocks that do the same.
  uint64_t getHash() const;
};

struct Exploration {
  int64_t states = 0, events = 0;
  /// Whether every reachable state was visited.
  bool complete = false;
  /// What went wrong in the first bad schedule found, and where; empty if
  /// nothing did.
  std::string error;
  mlir::Operation *op = nullptr;
  /// Where every agent is then, and what it waits for.
  struct Place {
    std::string agent;
    mlir::Operation *op = nullptr;
    bool blocked = false;
  };
  llvm::SmallVector<Place> places;
};

/// Visits the states that some schedule reaches, at most `limit`. A schedule
/// decides which agent goes on and when copies land. Bad are: a deadlock, an
/// mbarrier with too many arrivals or bytes, a barrier of threads with
/// different counts, a write to bytes that an operation in flight reads or
/// writes, a read of bytes that have not landed, and a read that sees another
/// write than in another schedule. If there is no bad one, all schedules
/// compute the same.
Exploration explore(const Protocol &protocol, int64_t limit);

} // namespace fa3::interp

#endif // FA3_INTERP_PROTOCOLSEARCH_H
