//===- Knowledge.h - who knows that something has happened ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Vector clocks without numbers. For the latest access of each kind to each
// region, and for the latest phase and wait of each barrier, a set says who has
// it in their past. Barriers are members of these sets like processes are: what
// arrives at a barrier joins its open phase, and moves on to whoever waits for
// the phase. Sets are finite, so states of a loop repeat.
//
// A process is two members: *all*, where every thread, at its own place in the
// program, has the event in its past, and the *elected thread*, which acts on
// barriers and TMA for the others. An event that all threads of a process take
// part in is in the elected thread's past only after something has synchronized
// them.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_KNOWLEDGE_H
#define FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_KNOWLEDGE_H

#include "mlir/IR/Operation.h"
#include <array>

namespace fa3::hopper {

class Members {
public:
  static constexpr unsigned kMost = 256;

  bool test(unsigned i) const { return words[i / 64] >> (i % 64) & 1; }
  void set(unsigned i) { words[i / 64] |= uint64_t(1) << (i % 64); }
  void reset(unsigned i) { words[i / 64] &= ~(uint64_t(1) << (i % 64)); }
  void clear() { words = {}; }
  Members &operator&=(const Members &other) {
    for (size_t i = 0; i < words.size(); ++i)
      words[i] &= other.words[i];
    return *this;
  }
  bool operator==(const Members &other) const { return words == other.words; }
  const std::array<uint64_t, kMost / 64> &getWords() const { return words; }

private:
  std::array<uint64_t, kMost / 64> words = {};
};

/// What a fact is about.
enum class FactKind : int32_t {
  GenericRead,  ///< smem.load
  GenericWrite, ///< smem.store
  MatrixRead,   ///< wgmma.mma through a descriptor
  CopyWrite,    ///< tma.load
  CopyRead,     ///< tma.store
  Phase,        ///< a phase of a barrier completed
  Wait,         ///< all threads of a process returned from a wait
};

inline bool isWrite(FactKind kind) {
  return kind == FactKind::GenericWrite || kind == FactKind::CopyWrite;
}
inline bool isGeneric(FactKind kind) {
  return kind == FactKind::GenericWrite || kind == FactKind::GenericRead;
}
/// Whether an access by the async proxy needs a fence behind this one, and not
/// only an order: a write hopper.fence.proxy_async, a read that or
/// hopper.fence.acq_rel.
inline bool needsFence(FactKind kind) { return isGeneric(kind); }
inline bool isAccess(FactKind kind) { return kind <= FactKind::CopyRead; }

/// A rectangle of a slot of a buffer.
struct SmemRegion {
  int32_t buffer = 0, slot = 0, row = 0, rowEnd = 0, column = 0, columnEnd = 0;

  auto asTuple() const {
    return std::tie(buffer, slot, row, rowEnd, column, columnEnd);
  }
  bool operator<(const SmemRegion &other) const {
    return asTuple() < other.asTuple();
  }
  bool operator==(const SmemRegion &other) const {
    return asTuple() == other.asTuple();
  }
};

struct FactKey {
  FactKind kind;
  int32_t process; ///< of an access or wait
  int32_t element; ///< barrier of a phase or wait
  SmemRegion region;

  bool operator<(const FactKey &other) const {
    return std::tie(kind, process, element, region) <
           std::tie(other.kind, other.process, other.element, other.region);
  }
};

struct Fact {
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  FactKey key;
  /// Who has the event in their past, and who has it with a proxy fence on the
  /// way.
  Members known, fenced;
  /// Every thread of the process knows its own part, and has fenced it.
  bool own = false, ownFenced = false;
  /// Group of products, or of copies, whose end completes the event.
  int64_t matrixGroup = kNever, copyGroup = kNever;
  mlir::Operation *op = nullptr;

  bool operator==(const Fact &other) const {
    return known == other.known && fenced == other.fenced && own == other.own &&
           ownFenced == other.ownFenced && matrixGroup == other.matrixGroup &&
           copyGroup == other.copyGroup;
  }
  void inform(unsigned member, bool isFenced) {
    known.set(member);
    if (isFenced)
      fenced.set(member);
  }
};

} // namespace fa3::hopper

#endif // FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_KNOWLEDGE_H
