//===- Shadow.cpp - who accessed shared memory last -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Shadow.h"
#include "Instr.h"
#include "llvm/ADT/Twine.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;
using llvm::Twine;

std::string Agents::describe(unsigned agent) const {
  static constexpr const char *names[] = {"warp ", "a product of warp ",
                                          "a bulk store of warp "};
  if (agent >= 3 * warps)
    return "a copy in flight";
  return names[agent / warps] + std::to_string(agent % warps);
}

Shadow::Shadow(unsigned warps, int64_t bytes)
    : memory(bytes), agents{warps}, granules((bytes + kGranule - 1) / kGranule),
      readEpochs(granules.size() * agents.numReaders()), unfencedWrites(warps),
      unfencedReads(warps) {}

bool Shadow::checkBounds(int64_t address, int64_t bytes, const char *verb,
                         std::string &error) const {
  if (address < 0 || address + bytes > memory.size()) {
    error = (Twine(verb) + " " + Twine(bytes) + " bytes of shared memory at " +
             Twine(address + kSharedStart) + ", which has bytes " +
             Twine(kSharedStart) + " to " + Twine(memory.size() + kSharedStart))
                .str();
    return false;
  }
  ByteRange range{address, address + bytes};
  for (const ByteRange &barrier : barriers)
    if (range.overlaps(barrier)) {
      error = (Twine(verb) + " bytes " + Twine(address + kSharedStart) +
               " to " + Twine(address + bytes + kSharedStart) +
               " of shared memory, where an mbarrier is")
                  .str();
      return false;
    }
  return true;
}

std::string Shadow::race(const char *verb, int64_t address, int64_t bytes,
                         const char *other, unsigned agent,
                         uint32_t line) const {
  return (Twine(verb) + " bytes " + Twine(address + kSharedStart) + " to " +
          Twine(address + bytes + kSharedStart) + " of shared memory, which " +
          agents.describe(agent) + " " + other + " (line " + Twine(line) +
          ") with nothing that orders the two")
      .str();
}

bool Shadow::read(int64_t address, int64_t bytes, const Access &access,
                  bool async, std::string &error) {
  if (!checkBounds(address, bytes, "reads", error))
    return false;
  for (int64_t i = address; i < address + bytes; ++i) {
    SharedMemory::State state = memory.stateOf(i);
    if (state == SharedMemory::Ready ||
        (state == SharedMemory::Unfenced && !async))
      continue;
    bool isEmpty = state == SharedMemory::Empty;
    error = ("reads byte " + Twine(i + kSharedStart) + " of shared memory, " +
             (isEmpty ? Twine("which was never written")
                      : "which threads have written (line " +
                            Twine(granules[i / kGranule].writeLine) +
                            ") without 'fence.proxy.async' since"))
                .str();
    return false;
  }
  unsigned readers = agents.numReaders();
  for (int64_t g = address / kGranule; g * kGranule < address + bytes; ++g) {
    Granule &granule = granules[g];
    if (granule.written && granule.writer != access.agent &&
        access.clock.get(granule.writer) < granule.writeEpoch) {
      error = race("reads", g * kGranule, kGranule, "writes", granule.writer,
                   granule.writeLine);
      return false;
    }
    granule.readers[access.agent / 64] |= uint64_t(1) << access.agent % 64;
    granule.readLine = access.line;
    readEpochs[g * readers + access.agent] = access.epoch;
  }
  if (!async) {
    ByteRange range{address, address + bytes};
    if (memory.addReader(range, access.agent))
      unfencedReads[access.agent].push_back(range);
  }
  return true;
}

bool Shadow::write(int64_t address, int64_t bytes, const Access &access,
                   bool async, std::string &error) {
  if (!checkBounds(address, bytes, "writes", error))
    return false;
  ByteRange range{address, address + bytes};
  unsigned readers = agents.numReaders();
  for (int64_t g = address / kGranule; g * kGranule < address + bytes; ++g) {
    Granule &granule = granules[g];
    // Threads and products of a warp know what they have done; a copy does not
    // know of another one, of the same mbarrier either.
    if (granule.written &&
        (granule.writer != access.agent || agents.isLoad(access.agent)) &&
        access.clock.get(granule.writer) < granule.writeEpoch) {
      error = race("writes", g * kGranule, kGranule, "writes", granule.writer,
                   granule.writeLine);
      return false;
    }
    for (unsigned half = 0; half < 2; ++half)
      for (uint64_t left = granule.readers[half]; left; left &= left - 1) {
        unsigned reader = half * 64 + llvm::countr_zero(left);
        if (reader != access.agent &&
            access.clock.get(reader) < readEpochs[g * readers + reader]) {
          error = race("writes", g * kGranule, kGranule, "reads", reader,
                       granule.readLine);
          return false;
        }
      }
    granule.readers[0] = granule.readers[1] = 0;
    granule.written = true;
    granule.writer = access.agent;
    granule.writeEpoch = access.epoch;
    granule.writeLine = access.line;
  }
  bool isUnfenced = memory.contains(range, SharedMemory::Unfenced);
  if (async && (isUnfenced || memory.hasReaders(range))) {
    error = ("writes bytes " + Twine(address + kSharedStart) + " to " +
             Twine(address + bytes + kSharedStart) +
             " of shared memory, which threads have " +
             (isUnfenced ? "written without 'fence.proxy.async' since"
                         : "read without a fence since"))
                .str();
    return false;
  }
  memory.mark(range, async ? SharedMemory::Ready : SharedMemory::Unfenced);
  if (!async)
    unfencedWrites[access.agent].push_back(range);
  return true;
}

void Shadow::release(int64_t address) {
  llvm::erase_if(barriers, [&](const ByteRange &barrier) {
    return barrier.begin == address;
  });
}

void Shadow::fenceWrites(unsigned warp) {
  for (const ByteRange &range : unfencedWrites[warp])
    memory.change(range, SharedMemory::Unfenced, SharedMemory::Ready);
  unfencedWrites[warp].clear();
}

void Shadow::fenceReads(unsigned warp) {
  for (const ByteRange &range : unfencedReads[warp])
    memory.removeReader(range, warp);
  unfencedReads[warp].clear();
}
