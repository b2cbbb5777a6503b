//===- FakeCuda.cpp - a libcuda for tests ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See FakeCuda.h. "Device memory" is host memory. A PTX image is scanned for
// its entries and the sizes of their parameters; an image that holds the word
// `broken` is refused with a log, as by the driver's compiler.
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

enum Result {
  Success = 0,
  InvalidValue = 1,
  InvalidContext = 201,
  InvalidDevice = 101,
  InvalidPtx = 218,
  InvalidHandle = 400,
  NotFound = 500,
  CaptureUnsupported = 900,
  CaptureImplicit = 906
};

struct Function {
  std::string name;
  std::vector<size_t> paramSizes;
  uint32_t maxSmem = 48 * 1024;
};

struct Module {
  std::map<std::string, Function> functions;
};

struct Failure {
  int countdown, code;
};

constexpr int numDevices = 2;

struct State {
  std::recursive_mutex lock;
  std::map<std::string, int> calls;
  std::map<std::string, Failure> failures;
  int poison = 0;
  int major = 9, minor = 0, sms = 132, maxSmem = 232448;
  std::deque<FakeTensorMap> maps;
  std::deque<FakeLaunch> launches;
  int (*kernel)(const FakeLaunch *) = nullptr;
  void *capturedStream = nullptr;
  std::set<Module *> modules;
  std::set<void *> allocations;
  int retained[numDevices] = {0, 0};
};

State &state() {
  static State instance;
  return instance;
}

/// Contexts are small numbers: 1 + device for the primary ones.
thread_local std::vector<intptr_t> contextStack;

/// Which calls this thread may make while a stream is captured: 0, all threads
/// are watched; 2, it takes care itself.
thread_local int captureMode = 0;

intptr_t currentContext() {
  return contextStack.empty() ? 0 : contextStack.back();
}

void setCurrent(intptr_t context) {
  if (!contextStack.empty())
    contextStack.pop_back();
  if (context)
    contextStack.push_back(context);
}

/// Counts a call; returns what it must fail with, or Success.
int enter(const char *symbol) {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  ++state().calls[symbol];
  auto failure = state().failures.find(symbol);
  if (failure != state().failures.end() && --failure->second.countdown == 0) {
    int code = failure->second.code;
    state().failures.erase(failure);
    return code;
  }
  return state().poison;
}

#define FAKE_ENTER(symbol)                                                     \
  if (int code = enter(symbol))                                                \
    return code;                                                               \
  std::lock_guard<std::recursive_mutex> guard(state().lock)

#define FAKE_ENTER_WITH_CONTEXT(symbol)                                        \
  FAKE_ENTER(symbol);                                                          \
  if (!currentContext())                                                       \
  return InvalidContext

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
                 void *stream, void **params) {
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

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void fakeCudaReset() {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  state().calls.clear();
  state().failures.clear();
  state().maps.clear();
  state().launches.clear();
  state().poison = 0;
  state().kernel = nullptr;
  fakeCudaSetDevice(9, 0, 132, 232448);
}

void fakeCudaSetKernel(int (*kernel)(const FakeLaunch *launch)) {
  state().kernel = kernel;
}

void fakeCudaFail(const char *symbol, int nth, int code) {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  state().failures[symbol] = {nth, code};
}

void fakeCudaPoison(int code) { state().poison = code; }

void fakeCudaSetDevice(int major, int minor, int sms, int maxSmem) {
  state().major = major;
  state().minor = minor;
  state().sms = sms;
  state().maxSmem = maxSmem;
}

void fakeCudaCapture(void *stream) {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  state().capturedStream = stream;
}

int fakeCudaCaptureMode() { return captureMode; }

int fakeCudaCalls(const char *symbol) { return state().calls[symbol]; }
size_t fakeCudaNumTensorMaps() { return state().maps.size(); }
size_t fakeCudaNumLaunches() { return state().launches.size(); }

const FakeTensorMap *fakeCudaTensorMap(size_t index) {
  return index < state().maps.size() ? &state().maps[index] : nullptr;
}

const FakeLaunch *fakeCudaLaunch(size_t index) {
  return index < state().launches.size() ? &state().launches[index] : nullptr;
}

int fakeCudaLiveModules() { return static_cast<int>(state().modules.size()); }

int fakeCudaLiveAllocations() {
  return static_cast<int>(state().allocations.size());
}

int fakeCudaRetainedContexts() {
  return state().retained[0] + state().retained[1];
}

void fakeCudaDiscard() {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  for (Module *module : state().modules)
    delete module;
  for (void *memory : state().allocations)
    std::free(memory);
  state().modules.clear();
  state().allocations.clear();
  state().retained[0] = state().retained[1] = 0;
}

void fakeCudaSetCurrent(int index) { setCurrent(index); }
int fakeCudaCurrent() { return static_cast<int>(currentContext()); }

//===----------------------------------------------------------------------===//
// Driver: process, devices, contexts
//===----------------------------------------------------------------------===//

extern "C" {

int cuInit(unsigned) { return enter("cuInit"); }

int cuDriverGetVersion(int *version) {
  FAKE_ENTER("cuDriverGetVersion");
  *version = 13000;
  return Success;
}

int cuGetErrorName(int code, const char **name) {
  *name = code == 719            ? "CUDA_ERROR_LAUNCH_FAILED"
          : code == InvalidPtx   ? "CUDA_ERROR_INVALID_PTX"
          : code == InvalidValue ? "CUDA_ERROR_INVALID_VALUE"
                                 : nullptr;
  return *name ? Success : InvalidValue;
}

int cuGetErrorString(int code, const char **text) {
  *text = code == 719 ? "unspecified launch failure" : nullptr;
  return *text ? Success : InvalidValue;
}

int cuDeviceGetCount(int *count) {
  FAKE_ENTER("cuDeviceGetCount");
  *count = numDevices;
  return Success;
}

int cuDeviceGet(int *device, int ordinal) {
  FAKE_ENTER("cuDeviceGet");
  if (ordinal < 0 || ordinal >= numDevices)
    return InvalidDevice;
  *device = ordinal;
  return Success;
}

int cuDeviceGetName(char *name, int size, int device) {
  FAKE_ENTER("cuDeviceGetName");
  std::snprintf(name, static_cast<size_t>(size), "fake device %d", device);
  return Success;
}

int cuDeviceGetAttribute(int *value, int attribute, int) {
  FAKE_ENTER("cuDeviceGetAttribute");
  switch (attribute) {
  case 16:
    *value = state().sms;
    return Success;
  case 75:
    *value = state().major;
    return Success;
  case 76:
    *value = state().minor;
    return Success;
  case 97:
    *value = state().maxSmem;
    return Success;
  }
  return InvalidValue;
}

int cuDevicePrimaryCtxRetain(intptr_t *context, int device) {
  FAKE_ENTER("cuDevicePrimaryCtxRetain");
  ++state().retained[device];
  *context = device + 1;
  return Success;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  FAKE_ENTER("cuDevicePrimaryCtxRelease_v2");
  if (state().retained[device] == 0)
    return InvalidContext;
  --state().retained[device];
  return Success;
}

int cuCtxGetCurrent(intptr_t *context) {
  FAKE_ENTER("cuCtxGetCurrent");
  *context = currentContext();
  return Success;
}

int cuCtxSetCurrent(intptr_t context) {
  FAKE_ENTER("cuCtxSetCurrent");
  setCurrent(context);
  return Success;
}

int cuCtxPushCurrent_v2(intptr_t context) {
  FAKE_ENTER("cuCtxPushCurrent_v2");
  contextStack.push_back(context);
  return Success;
}

int cuCtxPopCurrent_v2(intptr_t *context) {
  FAKE_ENTER_WITH_CONTEXT("cuCtxPopCurrent_v2");
  *context = currentContext();
  contextStack.pop_back();
  return Success;
}

int cuCtxGetDevice(int *device) {
  FAKE_ENTER_WITH_CONTEXT("cuCtxGetDevice");
  *device = static_cast<int>(currentContext()) - 1;
  return Success;
}

int cuCtxSynchronize() {
  FAKE_ENTER_WITH_CONTEXT("cuCtxSynchronize");
  return Success;
}

//===----------------------------------------------------------------------===//
// Driver: modules and launches
//===----------------------------------------------------------------------===//

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
  return recordLaunch(function, grid, block, smem, 0, stream, params);
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
  if (extra || config->numAttributes != 1 || config->attributes->id != 4 ||
      config->attributes->value[1] != 1 || config->attributes->value[2] != 1)
    return InvalidValue;
  return recordLaunch(function, config->grid, config->block, config->smem,
                      config->attributes->value[0], config->stream, params);
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
  uint64_t number = state().maps.size();
  std::memset(map, 0xA5, 128);
  std::memcpy(map, &number, sizeof(number));
  state().maps.push_back(record);
  return Success;
}

//===----------------------------------------------------------------------===//
// Driver: memory, streams, events
//===----------------------------------------------------------------------===//

int cuMemAlloc_v2(uint64_t *address, size_t size) {
  FAKE_ENTER_WITH_CONTEXT("cuMemAlloc_v2");
  if (size == 0)
    return InvalidValue;
  if (state().capturedStream && captureMode != 2)
    return CaptureUnsupported;
  void *memory = std::aligned_alloc(512, (size + 511) / 512 * 512);
  state().allocations.insert(memory);
  *address = reinterpret_cast<uint64_t>(memory);
  return Success;
}

int cuMemFree_v2(uint64_t address) {
  FAKE_ENTER_WITH_CONTEXT("cuMemFree_v2");
  void *memory = reinterpret_cast<void *>(address);
  if (!state().allocations.erase(memory))
    return InvalidValue;
  std::free(memory);
  return Success;
}

int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t size) {
  FAKE_ENTER_WITH_CONTEXT("cuMemcpyHtoD_v2");
  std::memcpy(reinterpret_cast<void *>(target), source, size);
  return Success;
}

int cuMemcpyDtoH_v2(void *target, uint64_t source, size_t size) {
  FAKE_ENTER_WITH_CONTEXT("cuMemcpyDtoH_v2");
  std::memcpy(target, reinterpret_cast<void *>(source), size);
  return Success;
}

int cuMemsetD8_v2(uint64_t target, unsigned char byte, size_t size) {
  FAKE_ENTER_WITH_CONTEXT("cuMemsetD8_v2");
  // The default stream waits for the captured one.
  if (state().capturedStream)
    return CaptureImplicit;
  std::memset(reinterpret_cast<void *>(target), byte, size);
  return Success;
}

int cuMemsetD8Async(uint64_t target, unsigned char byte, size_t size,
                    void *stream) {
  FAKE_ENTER_WITH_CONTEXT("cuMemsetD8Async");
  if (state().capturedStream && (!stream || stream == state().capturedStream))
    return CaptureImplicit;
  std::memset(reinterpret_cast<void *>(target), byte, size);
  return Success;
}

int cuThreadExchangeStreamCaptureMode(int *mode) {
  FAKE_ENTER("cuThreadExchangeStreamCaptureMode");
  if (*mode < 0 || *mode > 2)
    return InvalidValue;
  std::swap(*mode, captureMode);
  return Success;
}

int cuStreamCreate(void **stream, unsigned flags) {
  FAKE_ENTER_WITH_CONTEXT("cuStreamCreate");
  if (state().capturedStream && flags != 1)
    return CaptureImplicit;
  *stream = std::malloc(1);
  return Success;
}

int cuStreamDestroy_v2(void *stream) {
  FAKE_ENTER_WITH_CONTEXT("cuStreamDestroy_v2");
  std::free(stream);
  return Success;
}

int cuStreamSynchronize(void *stream) {
  FAKE_ENTER_WITH_CONTEXT("cuStreamSynchronize");
  if (state().capturedStream &&
      (captureMode != 2 || !stream || stream == state().capturedStream))
    return CaptureImplicit;
  return Success;
}

int cuStreamIsCapturing(void *stream, int *capturing) {
  FAKE_ENTER_WITH_CONTEXT("cuStreamIsCapturing");
  *capturing = stream && stream == state().capturedStream;
  return Success;
}

int cuEventCreate(void **event, unsigned) {
  FAKE_ENTER_WITH_CONTEXT("cuEventCreate");
  *event = std::malloc(1);
  return Success;
}

int cuEventDestroy_v2(void *event) {
  FAKE_ENTER_WITH_CONTEXT("cuEventDestroy_v2");
  std::free(event);
  return Success;
}

int cuEventRecord(void *, void *) {
  FAKE_ENTER_WITH_CONTEXT("cuEventRecord");
  return Success;
}

int cuEventSynchronize(void *) {
  FAKE_ENTER_WITH_CONTEXT("cuEventSynchronize");
  return Success;
}

int cuEventElapsedTime(float *milliseconds, void *, void *) {
  FAKE_ENTER_WITH_CONTEXT("cuEventElapsedTime");
  *milliseconds = 1.5f;
  return Success;
}

} // extern "C"
