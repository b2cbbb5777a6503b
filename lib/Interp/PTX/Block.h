//===- Block.h - the state of a thread block --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Warps with their registers and strands (lanes that are at one place),
// barriers, warp groups. A block runs on one thread of the host; its warps take
// turns.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_INTERP_PTX_BLOCK_H
#define FA3_LIB_INTERP_PTX_BLOCK_H

#include "Instr.h"
#include "Shadow.h"
#include "fa3/Interp/Mbarrier.h"
#include "fa3/Machine/Chip.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <array>
#include <deque>
#include <random>

namespace fa3::interp::ptx {

constexpr unsigned kLanes = kSm90a.threadsPerWarp;
constexpr uint32_t kAllLanes = 0xffffffff;

struct Block;

/// Lanes of a warp that are at one place.
struct Strand {
  uint32_t mask = 0, pc = 0;
  bool waiting = false;
  /// Of the barrier where it waits, once it has been counted there.
  int64_t ticket = -1;
  /// Place of a blocking wait that has failed once.
  int64_t tried = -1;
};

/// Whether products may use a register that others use, too.
struct RegisterState {
  enum : uint8_t { Free = 0, Accumulator = 1, Operand = 2 };
  uint8_t inFlight = Free;
  /// Batch of the last product that uses it.
  uint32_t batch = 0;
  /// Number of wgmma.fence that the warp had executed when anything but a
  /// product last accessed it.
  uint32_t fence = 0;
};

struct Warp {
  Block &block;
  unsigned index;
  std::vector<std::array<uint32_t, kLanes>> b32;
  std::vector<std::array<uint64_t, kLanes>> b64;
  std::vector<uint32_t> preds;
  llvm::SmallVector<Strand, 2> strands;
  /// The strand that is executing.
  Strand *strand = nullptr;
  /// Lanes that have not exited.
  uint32_t alive = kAllLanes;
  VectorClock clock;
  /// What it waits for, if it does.
  std::string waitsFor;

  // Products (wgmma), by batch; batches are numbered from 1.
  std::vector<RegisterState> states;
  std::vector<uint32_t> inFlight; ///< registers
  uint32_t openBatch = 1, fences = 0, productCount = 0;
  bool productsOpen = false;

  // Bulk stores, by group.
  uint32_t openStores = 1, storesDone = 0;
  bool storesIssued = false;
  uint32_t storeLanes = 0; ///< that have issued some, and not waited for all

  Warp(Block &block, unsigned index, const Kernel &kernel);
  uint32_t now() const { return clock.get(index); }
  /// Others may come to know what was done so far.
  void advance() { clock.raise(index, now() + 1); }
  Access access(uint32_t line) const { return {index, now(), clock, line}; }

  Step fail(const Instr &in, const llvm::Twine &what);
  Step wait(const llvm::Twine &what) {
    waitsFor = what.str();
    return Step::Wait;
  }
  /// Executes until nothing can go on, or for a number of instructions; false
  /// after an error. Adds what was executed to `executed`.
  bool run(uint64_t limit, uint64_t &executed);
  bool isDone() const { return strands.empty(); }

private:
  Strand *choose();
  bool step(Strand &strand, const Instr &in, uint64_t &executed);
  bool checkRegisters(const Instr &in);
  Step requireConverged(const Instr &in, uint32_t mask);
};

struct MbarrierState {
  Mbarrier barrier{1};
  unsigned number = 0; ///< as an agent, see Agents::ofLoads
  /// What those know who have arrived, and those who have seen the last phase
  /// complete.
  VectorClock arriving, completed;
  uint32_t line = 0; ///< of its initialization
  /// Phases that a wait has seen complete, and up to the last with a copy.
  int64_t seen = 0, copied = 0;
  /// By thread: one more than the phase of its last arrival. By warp: how many
  /// phases were complete when it last waited, and its epoch then.
  std::map<unsigned, int64_t> arrived;
  std::map<unsigned, std::pair<int64_t, uint32_t>> waited;
  /// Who initialized it, and when; whether a fence followed.
  unsigned initWarp = 0;
  uint32_t initEpoch = 0;
  bool fenced = false;
};

struct NamedBarrier {
  int64_t threads = 0, arrived = 0, generation = 0;
  uint64_t present = 0; ///< warps that have arrived
  VectorClock arriving, completed;
  uint32_t line = 0; ///< of the last arrival
};

/// What the warps of a warp group have to agree on.
struct WarpGroupState {
  struct Issue {
    uint32_t line;
    uint64_t a, b;
    bool accumulate;
    unsigned seen;
  };
  std::deque<Issue> issues;
  /// What those know who have issued a batch, by its number.
  std::map<uint32_t, VectorClock> issuing;
  uint32_t first = 0; ///< number of issues.front()
  int64_t registers = 0;
  unsigned registerCalls = 0;
};

struct Block {
  const Kernel &kernel;
  const Module &module;
  const GlobalMemory &memory;
  const Launch &launch;
  const RunOptions &options;
  RunCounts &counts;
  uint32_t number;
  Shadow shared;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<uint8_t> params;
  std::map<int64_t, MbarrierState> mbarriers;
  unsigned numMbarriers = 0;
  NamedBarrier named[16];
  std::vector<WarpGroupState> groups;
  int64_t freeRegisters = 0;
  uint64_t executed = 0;
  std::mt19937_64 random;
  std::string error;

  Block(const Module &module, const Kernel &kernel, const Launch &launch,
        const GlobalMemory &memory, const RunOptions &options,
        RunCounts &counts, uint32_t number);

  enum class Status : uint8_t { Running, Done, Failed };
  /// Lets every warp have turns until so many instructions were executed.
  Status run(uint64_t limit);

  /// Where generic or shared addresses are in `shared`.
  static int64_t toShared(uint64_t address) {
    return static_cast<int64_t>(address & ~kSharedWindow) - kSharedStart;
  }
  /// ": line 7, in block 0, .." of an error.
  std::string describePlace(const Instr &in, const Warp &warp,
                            uint32_t mask) const;

private:
  void reportDeadlock();
  bool finish();
};

// Registers.
/// Calls `function` for every lane of a mask.
template <typename Function>
inline void forLanes(uint32_t mask, Function &&function) {
  if (mask == kAllLanes) {
    for (unsigned lane = 0; lane < kLanes; ++lane)
      function(lane);
    return;
  }
  for (; mask; mask &= mask - 1)
    function(static_cast<unsigned>(llvm::countr_zero(mask)));
}

/// The same, until one does not go on.
template <typename Function>
inline Step tryLanes(uint32_t mask, Function &&function) {
  Step result = Step::Next;
  forLanes(mask, [&](unsigned lane) {
    if (result == Step::Next)
      result = function(lane);
  });
  return result;
}

/// A lane's register as a type of up to 64 bits.
template <typename T>
inline T get(const Warp &warp, const Operand &operand, unsigned lane) {
  T value;
  if constexpr (sizeof(T) == 8)
    std::memcpy(&value, &warp.b64[operand.slot][lane], sizeof(T));
  else
    std::memcpy(&value, &warp.b32[operand.slot][lane], sizeof(T));
  return value;
}
template <typename T>
inline void set(Warp &warp, const Operand &operand, unsigned lane, T value) {
  if constexpr (sizeof(T) == 8) {
    std::memcpy(&warp.b64[operand.slot][lane], &value, sizeof(T));
  } else {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    warp.b32[operand.slot][lane] = bits;
  }
}
/// The bits of a register, whatever its bank.
inline uint64_t getBits(const Warp &warp, const Operand &operand,
                        unsigned lane) {
  return operand.bank == Bank::B64 ? warp.b64[operand.slot][lane]
                                   : warp.b32[operand.slot][lane];
}
inline void setBits(Warp &warp, const Operand &operand, unsigned lane,
                    uint64_t bits) {
  if (operand.bank == Bank::B64)
    warp.b64[operand.slot][lane] = bits;
  else
    warp.b32[operand.slot][lane] =
        operand.bits == 16 ? bits & 0xffff : static_cast<uint32_t>(bits);
}
inline uint32_t getPred(const Warp &warp, const Operand &operand) {
  return operand.negated ? ~warp.preds[operand.slot] : warp.preds[operand.slot];
}
inline void setPred(Warp &warp, const Operand &operand, uint32_t mask,
                    uint32_t value) {
  uint32_t &pred = warp.preds[operand.slot];
  pred = (pred & ~mask) | (value & mask);
}
/// The value that all lanes of a mask agree on, if they do.
inline std::optional<uint64_t>
getUniform(const Warp &warp, const Operand &operand, uint32_t mask) {
  uint64_t value = getBits(warp, operand, llvm::countr_zero(mask));
  bool same = true;
  forLanes(mask, [&](unsigned lane) {
    same &= getBits(warp, operand, lane) == value;
  });
  return same ? std::optional(value) : std::nullopt;
}

/// Notes an access to shared memory (Shadow.h); false after an error.
bool touch(Warp &warp, const Instr &in, int64_t place, int64_t bytes,
           const Access &access, bool writes, bool async);

/// The mbarrier at an address; null after an error.
MbarrierState *findMbarrier(Warp &warp, const Instr &in, uint64_t address,
                            bool async = false);
/// `bytes` of a copy have landed.
Step completeBytes(Warp &warp, const Instr &in, MbarrierState &barrier,
                   int64_t bytes);

} // namespace fa3::interp::ptx

#endif // FA3_LIB_INTERP_PTX_BLOCK_H
