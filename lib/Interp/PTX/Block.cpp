//===- Block.cpp - warps take turns ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Block.h"
#include "llvm/ADT/StringExtras.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;
using llvm::Twine;

/// Registers of a multiprocessor, and what a thread gets of them at a launch.
static constexpr int64_t kRegisterFile = 64 * 1024;

Block::Block(const Module &module, const Kernel &kernel, const Launch &launch,
             const GlobalMemory &memory, const RunOptions &options,
             RunCounts &counts, uint32_t number)
    : kernel(kernel), module(module), memory(memory), launch(launch),
      options(options), counts(counts), number(number),
      shared((launch.threads + kLanes - 1) / kLanes,
             kernel.staticSmem + launch.smem),
      params(launch.params.begin(), launch.params.end()),
      groups((launch.threads + 127) / 128),
      random(options.scheduleSeed.value_or(0) * 1000003 + number) {
  for (unsigned i = 0; i * kLanes < launch.threads; ++i)
    warps.push_back(std::make_unique<Warp>(*this, i, kernel));
  int64_t ofThread =
      std::min<int64_t>(255, kRegisterFile / launch.threads) / 8 * 8;
  for (WarpGroupState &group : groups)
    group.registers = ofThread;
}

std::string Block::describePlace(const Instr &in, const Warp &warp,
                                 uint32_t mask) const {
  std::string text = (Twine("; block ") + Twine(number) + ", warp " +
                      Twine(warp.index) + " of kernel '" + kernel.name + "'")
                         .str();
  if (mask && mask != kAllLanes)
    text += ", lanes 0x" + llvm::utohexstr(mask);
  if (in.location.line) {
    llvm::StringRef file = in.location.file < module.text.files.size()
                               ? module.text.files[in.location.file]
                               : "";
    text += (Twine(", from ") + file + ":" + Twine(in.location.line) + ":" +
             Twine(in.location.column))
                .str();
  }
  return text;
}

void Block::reportDeadlock() {
  error = "deadlock in block " + std::to_string(number) + " of kernel '" +
          kernel.name + "'";
  for (const auto &warp : warps)
    for (const Strand &strand : warp->strands) {
      const Instr &in = kernel.code[strand.pc];
      error += (Twine("\n  warp ") + Twine(warp->index) +
                (strand.mask == kAllLanes
                     ? Twine("")
                     : Twine(", lanes 0x") + llvm::utohexstr(strand.mask)) +
                " waits at line " + Twine(in.line) + " ('" + in.opcode + "') " +
                warp->waitsFor)
                   .str();
      if (in.location.line)
        error += ", from line " + std::to_string(in.location.line);
    }
}

/// Nothing may be in flight when a block ends. Arrivals at a named barrier may
/// be left: warp groups that take turns hand a turn on that nobody takes.
bool Block::finish() {
  for (const auto &warp : warps) {
    if (!warp->inFlight.empty()) {
      error = "warp " + std::to_string(warp->index) + " of kernel '" +
              kernel.name + "' ends with products that it has not waited for";
      return false;
    }
    if (warp->storesIssued || warp->openStores - 1 > warp->storesDone) {
      error = "warp " + std::to_string(warp->index) + " of kernel '" +
              kernel.name +
              "' ends with bulk stores that it has not waited for";
      return false;
    }
  }
  for (size_t i = 0; i < groups.size(); ++i)
    if (!groups[i].issues.empty()) {
      error = "line " + std::to_string(groups[i].issues.front().line) +
              ": not all warps of warp group " + std::to_string(i) +
              " execute the product";
      return false;
    }
  for (auto &[address, state] : mbarriers)
    if (state.barrier.getPendingBytes() != 0) {
      error = "the mbarrier of line " + std::to_string(state.line) +
              " ends with " + std::to_string(state.barrier.getPendingBytes()) +
              " bytes that it still expects";
      return false;
    } else if (state.copied > state.seen) {
      error = "the mbarrier of line " + std::to_string(state.line) +
              " ends with a copy that nobody has waited for";
      return false;
    }
  return true;
}

Block::Status Block::run(uint64_t limit) {
  uint64_t last = executed + limit;
  bool isBiased = options.scheduleSeed.value_or(1) % 2 == 0;
  while (true) {
    uint64_t before = executed;
    bool done = true;
    for (size_t i = 0; i < warps.size(); ++i) {
      size_t turn = i;
      uint64_t atMost = uint64_t(1) << 16;
      if (isBiased) {
        // One warp stays behind as long as any other goes on.
        turn = (*options.scheduleSeed / 2 + 1 + i) % warps.size();
        if (i + 1 == warps.size() && executed != before)
          break;
        atMost = i + 1 == warps.size() ? 1 : atMost;
      } else if (options.scheduleSeed) {
        turn = random() % warps.size();
        atMost = 1 + random() % 64;
      }
      if (!warps[turn]->isDone() && !warps[turn]->run(atMost, executed))
        return Status::Failed;
    }
    for (const auto &warp : warps)
      done &= warp->isDone();
    if (done)
      return finish() ? Status::Done : Status::Failed;
    if (executed == before) {
      // A random choice may have missed who can go on.
      for (const auto &warp : warps)
        if (!warp->isDone() && !warp->run(1, executed))
          return Status::Failed;
      if (executed == before) {
        reportDeadlock();
        return Status::Failed;
      }
    }
    if (executed > options.maxInstructions) {
      error = "kernel '" + kernel.name + "' executes more than " +
              std::to_string(options.maxInstructions) +
              " instructions in block " + std::to_string(number);
      return Status::Failed;
    }
    if (executed > last)
      return Status::Running;
  }
}
