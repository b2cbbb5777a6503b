//===- FakeCudaModules.cpp - modules, launches, tensor maps ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A PTX image is scanned for its entries and the sizes of their parameters; an
// image that holds the word `broken` is refused with a log, as by the driver's
// compiler.
//===----------------------------------------------------------------------===//

#include "FakeCudaState.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <regex>

using namespace fakecuda;

namespace {

size_t paramSize(const std::string &declaration) {
  static const std::regex array("\\.b8\\s+\\w+\\[(\\d+)\\]");
  std::smatch match;
  if (std::regex_search(declaration, match, array))
    return std::stoul(match[1]);
  static const std::regex scalar("\\.[busf](8|16|32|64)\\b");
  if (std::regex_search(declaration, match, scalar))
    return std::stoul(match[1]) / 8;
  return 0;
}

std::unique_ptr<Module> scanPtx(const std::string &text) {
  auto module = std::make_unique<Module>();
  static const std::regex entry("\\.entry\\s+(\\w+)\\s*\\(([^)]*)\\)");
  for (std::sregex_iterator it(text.begin(), text.end(), entry), end; it != end;
       ++it) {
    Function function;
    function.name = (*it)[1];
    static const std::regex param("\\.param[^,]*");
    std::string params = (*it)[2];
    for (std::sregex_iterator p(params.begin(), params.end(), param); p != end;
         ++p)
      function.paramSizes.push_back(paramSize(p->str()));
    module->functions[function.name] = function;
  }
  return module;
}

int recordLaunch(Function *function, const uint32_t *grid,
                 const uint32_t *block, uint32_t smem, uint32_t cluster,
                 uint32_t early, void *stream, void **params) {
  if (!function || !grid[0] || !block[0] || block[0] > 1024 ||
      (cluster && grid[0] % cluster) || smem > function->maxSmem)
    return InvalidValue;
  FakeLaunch launch = {};
  std::snprintf(launch.kernel, sizeof(launch.kernel), "%s",
                function->name.c_str());
  std::copy(grid, grid + 3, launch.grid);
  std::copy(block, block + 3, launch.block);
  launch.smem = smem;
  launch.maxSmem = function->maxSmem;
  launch.cluster = cluster;
  launch.early = early;
  launch.stream = reinterpret_cast<uint64_t>(stream);
  launch.context = static_cast<uint64_t>(currentContext());
  launch.numParams = static_cast<uint32_t>(function->paramSizes.size());
  for (size_t i = 0; i < function->paramSizes.size() && i < 64; ++i)
    std::memcpy(&launch.params[i], params[i],
                std::min<size_t>(function->paramSizes[i], 8));
  state().launches.push_back(launch);
  return state().kernel ? state().kernel(&launch) : Success;
}

} // namespace

extern "C" {

int cuModuleLoadDataEx(Module **module, const void *image, unsigned numOptions,
                       int *options, void **values) {
  FAKE_ENTER_WITH_CONTEXT("cuModuleLoadDataEx");
  const char *text = static_cast<const char *>(image);
  std::unique_ptr<Module> loaded;
  if (std::memcmp(text,
                  "\x7f"
                  "ELF",
                  4) == 0) {
    // A test's image: after the header of 64 bytes the PTX of the kernels.
    loaded = scanPtx(text + 64);
  } else {
    if (std::strstr(text, "broken")) {
      char *log = nullptr;
      size_t size = 0;
      for (unsigned i = 0; i < numOptions; ++i) {
        if (options[i] == 5)
          log = static_cast<char *>(values[i]);
        if (options[i] == 6)
          size = reinterpret_cast<size_t>(values[i]);
      }
      if (log)
        std::snprintf(log, size, "ptxas application ptx input, line 7; error");
      return InvalidPtx;
    }
    loaded = scanPtx(text);
  }
  *module = loaded.get();
  state().modules.insert(loaded.release());
  return Success;
}

int cuModuleUnload(Module *module) {
  FAKE_ENTER_WITH_CONTEXT("cuModuleUnload");
  if (state().capturedStream && captureMode != 2)
    return CaptureUnsupported;
  if (!state().modules.erase(module))
    return InvalidHandle;
  delete module;
  return Success;
}

int cuModuleGetFunction(Function **function, Module *module, const char *name) {
  FAKE_ENTER_WITH_CONTEXT("cuModuleGetFunction");
  auto found = module->functions.find(name);
  if (found == module->functions.end())
    return NotFound;
  *function = &found->second;
  return Success;
}

int cuFuncLoad(Function *) {
  FAKE_ENTER_WITH_CONTEXT("cuFuncLoad");
  return Success;
}

int cuFuncGetParamInfo(Function *function, size_t index, size_t *offset,
                       size_t *size) {
  FAKE_ENTER_WITH_CONTEXT("cuFuncGetParamInfo");
  if (index >= function->paramSizes.size())
    return InvalidValue;
  *offset = 0;
  *size = function->paramSizes[index];
  return Success;
}

int cuFuncSetAttribute(Function *function, int attribute, int value) {
  FAKE_ENTER_WITH_CONTEXT("cuFuncSetAttribute");
  if (attribute != 8 || value > state().maxSmem)
    return InvalidValue;
  function->maxSmem = static_cast<uint32_t>(value);
  return Success;
}

int cuLaunchKernel(Function *function, unsigned gridX, unsigned gridY,
                   unsigned gridZ, unsigned blockX, unsigned blockY,
                   unsigned blockZ, unsigned smem, void *stream, void **params,
                   void **extra) {
  FAKE_ENTER_WITH_CONTEXT("cuLaunchKernel");
  if (extra)
    return InvalidValue;
  uint32_t grid[] = {gridX, gridY, gridZ}, block[] = {blockX, blockY, blockZ};
  return recordLaunch(function, grid, block, smem, 0, 0, stream, params);
}

struct LaunchAttribute {
  int id;
  char padding[4];
  unsigned value[16];
};

struct LaunchConfig {
  unsigned grid[3], block[3], smem;
  void *stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};

int cuLaunchKernelEx(const LaunchConfig *config, Function *function,
                     void **params, void **extra) {
  FAKE_ENTER_WITH_CONTEXT("cuLaunchKernelEx");
  if (extra)
    return InvalidValue;
  uint32_t cluster = 0, early = 0;
  for (unsigned i = 0; i < config->numAttributes; ++i) {
    const LaunchAttribute &attribute = config->attributes[i];
    if (attribute.id == 4 && !cluster && attribute.value[0] &&
        attribute.value[1] == 1 && attribute.value[2] == 1)
      cluster = attribute.value[0];
    else if (attribute.id == 6 && !early && attribute.value[0] == 1)
      early = 1;
    else
      return InvalidValue;
  }
  return recordLaunch(function, config->grid, config->block, config->smem,
                      cluster, early, config->stream, params);
}

int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address,
                           const uint64_t *dims, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *elementStrides,
                           int interleave, int swizzle, int l2Promotion,
                           int fill) {
  FAKE_ENTER("cuTensorMapEncodeTiled");
  auto misaligned = [](const void *p, size_t to) {
    return reinterpret_cast<uintptr_t>(p) % to != 0;
  };
  if (misaligned(map, 64) || rank < 1 || rank > 5 || !address ||
      misaligned(address, 16))
    return InvalidValue;
  FakeTensorMap record = {};
  record.type = type;
  record.rank = rank;
  record.address = reinterpret_cast<uint64_t>(address);
  for (uint32_t i = 0; i < rank; ++i) {
    record.dims[i] = dims[i];
    record.box[i] = box[i];
    record.elementStrides[i] = elementStrides[i];
    if (dims[i] == 0 || dims[i] > uint64_t(1) << 32 || box[i] == 0 ||
        box[i] > 256 || elementStrides[i] == 0 || elementStrides[i] > 8)
      return InvalidValue;
  }
  for (uint32_t i = 0; i + 1 < rank; ++i) {
    record.strides[i] = strides[i];
    if (strides[i] % 16 || strides[i] >= uint64_t(1) << 40)
      return InvalidValue;
  }
  record.interleave = interleave;
  record.swizzle = swizzle;
  record.l2Promotion = l2Promotion;
  record.fill = fill;
  std::memset(map, 0xA5, 128);
  state().record(map, record);
  return Success;
}

int cuTensorMapReplaceAddress(void *map, void *address) {
  FAKE_ENTER("cuTensorMapReplaceAddress");
  uint64_t number;
  std::memcpy(&number, static_cast<char *>(map) + 8, sizeof(number));
  if (number >= state().encoded.size() || !address ||
      reinterpret_cast<uintptr_t>(address) % 16 != 0)
    return InvalidValue;
  FakeTensorMap record = state().encoded[number];
  record.address = reinterpret_cast<uint64_t>(address);
  state().record(map, record);
  return Success;
}

} // extern "C"
