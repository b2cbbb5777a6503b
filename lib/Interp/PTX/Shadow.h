//===- Shadow.h - who accessed shared memory last ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Shared memory of a block, and for every four bytes which agent wrote them and
// which have read them since. Agents are the warps, their products, their bulk
// stores, and the copies that signal an mbarrier. Two accesses that nothing
// orders are an error, whatever the schedule made of them: an order is what
// barriers and waits hand on as vector clocks.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_INTERP_PTX_SHADOW_H
#define FA3_LIB_INTERP_PTX_SHADOW_H

#include "../Hopper/SharedMemory.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace fa3::interp::ptx {

/// How far each agent is known to have come.
class VectorClock {
public:
  uint32_t get(unsigned agent) const {
    return agent < at.size() ? at[agent] : 0;
  }
  void raise(unsigned agent, uint32_t epoch) {
    if (at.size() <= agent)
      at.resize(agent + 1, 0);
    at[agent] = std::max(at[agent], epoch);
  }
  void join(const VectorClock &other) {
    if (at.size() < other.at.size())
      at.resize(other.at.size(), 0);
    for (size_t i = 0; i < other.at.size(); ++i)
      at[i] = std::max(at[i], other.at[i]);
  }

private:
  llvm::SmallVector<uint32_t, 0> at;
};

/// Agents of a block with `warps` warps.
struct Agents {
  enum Kind : uint8_t { Threads, Product, Store, Load };
  unsigned warps;
  unsigned ofThreads(unsigned warp) const { return warp; }
  unsigned ofProducts(unsigned warp) const { return warps + warp; }
  unsigned ofStores(unsigned warp) const { return 2 * warps + warp; }
  unsigned ofLoads(unsigned barrier) const { return 3 * warps + barrier; }
  bool isLoad(unsigned agent) const { return agent >= 3 * warps; }
  unsigned numReaders() const { return 3 * warps; }
  std::string describe(unsigned agent) const;
};

/// An access that is about to happen.
struct Access {
  unsigned agent;
  uint32_t epoch;
  const VectorClock &clock; ///< what is known where it starts
  uint32_t line;
};

class Shadow {
public:
  Shadow(unsigned warps, int64_t bytes);

  SharedMemory memory;

  /// Note an access; false, with `error` set, if it is out of bounds, races
  /// with another one, reads what nobody wrote, or goes past a fence. Addresses
  /// count from the start of the block's memory. `async`: by the asynchronous
  /// proxy (section 8.3, "Proxies").
  bool read(int64_t address, int64_t bytes, const Access &access, bool async,
            std::string &error);
  bool write(int64_t address, int64_t bytes, const Access &access, bool async,
             std::string &error);
  /// An operation on an mbarrier that changes nothing which races.
  void reserve(ByteRange barrier) { barriers.push_back(barrier); }
  void release(int64_t address);

  /// Threads of a warp fence what they wrote (fence.proxy.async), or what they
  /// read (that one and fence.acq_rel).
  void fenceWrites(unsigned warp);
  void fenceReads(unsigned warp);

  int64_t size() const { return memory.size(); }
  const Agents agents;

private:
  static constexpr int64_t kGranule = 4;
  bool checkBounds(int64_t address, int64_t bytes, const char *verb,
                   std::string &error) const;
  std::string race(const char *verb, int64_t address, int64_t bytes,
                   const char *other, unsigned agent, uint32_t line) const;

  struct Granule {
    uint32_t writeEpoch = 0, writeLine = 0, readLine = 0;
    uint16_t writer = 0;
    bool written = false;
    /// Agents that have read since; `readEpochs` is valid for them.
    uint64_t readers[2] = {0, 0};
  };
  llvm::SmallVector<Granule, 0> granules;
  std::vector<uint32_t> readEpochs;
  llvm::SmallVector<ByteRange> barriers;
  /// What threads of a warp have written or read since their last fence.
  std::vector<llvm::SmallVector<ByteRange, 0>> unfencedWrites, unfencedReads;
};

} // namespace fa3::interp::ptx

#endif // FA3_LIB_INTERP_PTX_SHADOW_H
