//===- SharedMemory.h - bytes of shared memory and what is in them -*- C++ -*-//
// SPDX-License-Identifier: Apache-2.0
//
// Dynamic shared memory of a CTA as bytes, with a state per byte that tells
// whether what is read there has been written, has landed and is visible.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_INTERP_HOPPER_SHAREDMEMORY_H
#define FA3_LIB_INTERP_HOPPER_SHAREDMEMORY_H

#include "fa3/Interp/ProtocolSearch.h"
#include <algorithm>

namespace fa3::interp {

class SharedMemory {
public:
  enum State : uint8_t {
    Empty,    ///< never written, or not since it was reserved
    Ready,    ///< written and visible to everybody
    Landing,  ///< an asynchronous copy is writing it
    Unfenced, ///< written by threads, not yet fenced for asynchronous readers
  };

  explicit SharedMemory(int64_t size) { resize(size); }

  int64_t size() const { return bytes.size(); }
  /// Grows; new bytes are 0xff, which is a NaN of every float format.
  void resize(int64_t size) {
    bytes.resize(size, 0xff);
    states.resize(size, Empty);
    readers.resize(size, 0);
  }

  uint8_t *at(int64_t address) { return bytes.data() + address; }
  State stateOf(int64_t address) const {
    return static_cast<State>(states[address]);
  }
  void mark(ByteRange range, State state) {
    std::fill(states.begin() + range.begin, states.begin() + range.end, state);
  }
  /// Turns bytes of one state into another.
  void change(ByteRange range, State from, State to) {
    for (int64_t i = range.begin; i < range.end; ++i)
      if (states[i] == from)
        states[i] = to;
  }
  bool contains(ByteRange range, State state) const {
    for (int64_t i = range.begin; i < range.end; ++i)
      if (states[i] == state)
        return true;
    return false;
  }

  /// Threads of a group have read. A block has at most 32 groups, as it has
  /// warps, so each has a bit.
  /// Returns whether that is new for some of the bytes.
  bool addReader(ByteRange range, unsigned group) {
    bool isNew = false;
    for (int64_t i = range.begin; i < range.end; ++i) {
      isNew |= !(readers[i] >> (group % 32) & 1);
      readers[i] |= 1u << (group % 32);
    }
    return isNew;
  }
  void removeReader(ByteRange range, unsigned group) {
    for (int64_t i = range.begin; i < range.end; ++i)
      readers[i] &= ~(1u << (group % 32));
  }
  bool hasReaders(ByteRange range) const {
    return std::any_of(readers.begin() + range.begin,
                       readers.begin() + range.end,
                       [](uint32_t groups) { return groups != 0; });
  }

  /// Where the swizzle mode of `width` bytes puts the byte of a linear address:
  /// bits of the 16-byte chunk number are XORed with address bits 7 and up.
  static int64_t swizzle(int64_t address, int64_t width) {
    int64_t mask = width / 16 - 1;
    return address ^ (((address >> 7) & mask) << 4);
  }

private:
  llvm::SmallVector<uint8_t, 0> bytes, states;
  /// Groups whose threads have read a byte without a fence since.
  llvm::SmallVector<uint32_t, 0> readers;
};

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_HOPPER_SHAREDMEMORY_H
