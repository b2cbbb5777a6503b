//===- Run.cpp - modules and launches -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Decode.h"
#include <cstdlib>

using namespace fa3::interp;
using namespace fa3::interp::ptx;

std::shared_ptr<Module> fa3::interp::ptx::load(llvm::StringRef text,
                                               std::string &error) {
  auto module = std::make_shared<Module>();
  module->source = text.str();
  std::optional<ModuleText> parsed = parseText(module->source, error);
  if (!parsed)
    return nullptr;
  module->text = std::move(*parsed);
  for (const Variable &variable : module->text.global) {
    std::vector<uint8_t> bytes = variable.contents;
    bytes.resize(std::max<int64_t>(variable.size, 1));
    module->globals.push_back(std::move(bytes));
  }
  for (const KernelText &kernel : module->text.kernels) {
    auto decoded = std::make_unique<Kernel>();
    if (!Decoder(*module, *decoded, kernel).run(error))
      return nullptr;
    module->kernels.push_back(std::move(decoded));
  }
  return module;
}

static const Kernel *findKernel(const Module &module, llvm::StringRef name) {
  for (const auto &kernel : module.kernels)
    if (kernel->name == name)
      return kernel.get();
  return nullptr;
}

std::optional<llvm::SmallVector<ParamPlace>>
fa3::interp::ptx::getParams(const Module &module, llvm::StringRef name) {
  const Kernel *kernel = findKernel(module, name);
  if (!kernel)
    return std::nullopt;
  llvm::SmallVector<ParamPlace> places;
  for (const Variable &param : kernel->params)
    places.push_back({param.offset, param.size});
  return places;
}

uint64_t GlobalMemory::allocate(uint64_t size) {
  constexpr uint64_t kAlignment = 256;
  void *memory = std::aligned_alloc(kAlignment, (size + kAlignment) /
                                                    kAlignment * kAlignment);
  if (!memory)
    return 0;
  auto address = reinterpret_cast<uint64_t>(memory);
  allocations[address] = size;
  return address;
}

bool GlobalMemory::release(uint64_t address) {
  if (!allocations.erase(address))
    return false;
  std::free(reinterpret_cast<void *>(address));
  return true;
}

bool GlobalMemory::contains(uint64_t address, uint64_t size) const {
  auto it = allocations.upper_bound(address);
  if (it == allocations.begin())
    return false;
  --it;
  return address - it->first <= it->second &&
         size <= it->second - (address - it->first);
}

GlobalMemory::~GlobalMemory() {
  for (auto &[address, size] : allocations)
    std::free(reinterpret_cast<void *>(address));
}

bool fa3::interp::ptx::run(const Module &module, llvm::StringRef name,
                           const Launch &launch, const GlobalMemory &memory,
                           const RunOptions &options, RunCounts &counts,
                           std::string &error) {
  const Kernel *kernel = findKernel(module, name);
  if (!kernel) {
    error = "no kernel '" + name.str() + "'";
    return false;
  }
  if (launch.threads == 0 || launch.threads > 1024 || launch.threads % kLanes ||
      (kernel->threads && launch.threads > kernel->threads)) {
    error = "kernel '" + name.str() + "' is launched with " +
            std::to_string(launch.threads) + " threads";
    return false;
  }
  // As many blocks as the device holds are there at once, and take turns: some
  // wait for others.
  constexpr uint64_t kTurn = uint64_t(1) << 18;
  std::deque<std::unique_ptr<Block>> resident;
  uint32_t next = options.firstBlock;
  while (next < launch.blocks || !resident.empty()) {
    while (next < launch.blocks && int64_t(resident.size()) < options.sms)
      resident.push_back(std::make_unique<Block>(
          module, *kernel, launch, memory, options, counts, next++));
    std::unique_ptr<Block> block = std::move(resident.front());
    resident.pop_front();
    switch (block->run(kTurn)) {
    case Block::Status::Failed:
      error = std::move(block->error);
      return false;
    case Block::Status::Done:
      ++counts.blocks;
      counts.instructions += block->executed;
      break;
    case Block::Status::Running:
      resident.push_back(std::move(block));
      break;
    }
  }
  return true;
}
