//===- Driver.cpp - a CUDA driver that runs PTX on the CPU ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../../Runtime/Driver.h"
#include "fa3/Interp/PTXDriver.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>
#include <mutex>
#include <vector>

extern "C" uint64_t fa3_hash(const void *data, size_t size);

using namespace fa3::interp::ptx;

namespace {

/// Codes of CUresult.
constexpr fa3_cu_result OutOfMemory = 2, InvalidImage = 200, LaunchFailed = 719,
                        NotSupported = 801;

/// Shared memory that a block may have.
constexpr int kMaxSmem = 227 * 1024;

struct LoadedModule;

struct LoadedFunction {
  LoadedModule *module;
  std::string name;
};

struct LoadedModule {
  std::shared_ptr<Module> module;
  std::vector<std::unique_ptr<LoadedFunction>> functions; ///< handed out
};

struct State {
  std::mutex lock;
  RunOptions options;
  uint32_t firstBlock = 0;
  RunCounts counts;
  GlobalMemory memory;
  std::string error;
};

State &state() {
  static State theState;
  return theState;
}

thread_local fa3_cu_context current = nullptr;
char theContext;

fa3_cu_context getContext() {
  return reinterpret_cast<fa3_cu_context>(&theContext);
}

fa3_cu_result report(fa3_cu_result code, std::string text) {
  state().error = std::move(text);
  return code;
}

/// Entry points with nothing to do, and those for what there is not.
template <typename... Args>
fa3_cu_result succeed(Args...) {
  return FA3_CU_SUCCESS;
}
template <typename... Args>
fa3_cu_result refuse(Args...) {
  return report(NotSupported, "the CPU has no times of a GPU");
}

fa3_cu_result getVersion(int *version) {
  *version = 13000;
  return FA3_CU_SUCCESS;
}
fa3_cu_result getErrorName(fa3_cu_result code, const char **name) {
  *name = code == LaunchFailed   ? "LAUNCH_FAILED"
          : code == InvalidImage ? "INVALID_IMAGE"
                                 : "ERROR";
  return FA3_CU_SUCCESS;
}
/// Errors of the executor are long: see takeDriverError.
fa3_cu_result getErrorText(fa3_cu_result, const char **text) {
  *text = "stopped by the executor of PTX";
  return FA3_CU_SUCCESS;
}
fa3_cu_result getDeviceCount(int *count) {
  *count = 1;
  return FA3_CU_SUCCESS;
}
fa3_cu_result getDevice(fa3_cu_device *device, int ordinal) {
  *device = 0;
  return ordinal == 0 ? FA3_CU_SUCCESS : FA3_CU_INVALID_VALUE;
}
fa3_cu_result getDeviceName(char *name, int size, fa3_cu_device) {
  std::strncpy(name, "PTX on the CPU", size);
  return FA3_CU_SUCCESS;
}
fa3_cu_result getAttribute(int *value, int attribute, fa3_cu_device) {
  switch (attribute) {
  case FA3_CU_DEVICE_SMS:
    *value = state().options.sms;
    break;
  case FA3_CU_DEVICE_COMPUTE_MAJOR:
    *value = 9;
    break;
  case FA3_CU_DEVICE_COMPUTE_MINOR:
    *value = 0;
    break;
  case FA3_CU_DEVICE_MAX_SMEM:
    *value = kMaxSmem;
    break;
  default:
    return FA3_CU_INVALID_VALUE;
  }
  return FA3_CU_SUCCESS;
}
fa3_cu_result retainPrimary(fa3_cu_context *context, fa3_cu_device) {
  *context = getContext();
  return FA3_CU_SUCCESS;
}
fa3_cu_result getCurrent(fa3_cu_context *context) {
  *context = current;
  return FA3_CU_SUCCESS;
}
fa3_cu_result setCurrent(fa3_cu_context context) {
  current = context;
  return FA3_CU_SUCCESS;
}
fa3_cu_result popContext(fa3_cu_context *context) {
  *context = current;
  current = nullptr;
  return FA3_CU_SUCCESS;
}
fa3_cu_result getContextDevice(fa3_cu_device *device) {
  *device = 0;
  return FA3_CU_SUCCESS;
}

fa3_cu_result loadModule(fa3_cu_module *result, const void *image, unsigned,
                         int *, void **) {
  std::lock_guard<std::mutex> guard(state().lock);
  auto *text = static_cast<const char *>(image);
  if (std::memcmp(text, "\177ELF", 4) == 0)
    return report(InvalidImage, "a cubin cannot be run on the CPU");
  std::string error;
  auto loaded = std::make_unique<LoadedModule>();
  loaded->module = load(text, error);
  if (!loaded->module)
    return report(InvalidImage, std::move(error));
  *result = reinterpret_cast<fa3_cu_module>(loaded.release());
  return FA3_CU_SUCCESS;
}
fa3_cu_result unloadModule(fa3_cu_module module) {
  delete reinterpret_cast<LoadedModule *>(module);
  return FA3_CU_SUCCESS;
}
/// Functions live as long as their module.
fa3_cu_result getFunction(fa3_cu_function *function, fa3_cu_module module,
                          const char *name) {
  auto *loaded = reinterpret_cast<LoadedModule *>(module);
  if (!getParams(*loaded->module, name))
    return FA3_CU_NOT_FOUND;
  loaded->functions.push_back(
      std::make_unique<LoadedFunction>(LoadedFunction{loaded, name}));
  *function = reinterpret_cast<fa3_cu_function>(loaded->functions.back().get());
  return FA3_CU_SUCCESS;
}
fa3_cu_result getFunctionParam(fa3_cu_function handle, size_t index,
                               size_t *offset, size_t *size) {
  auto *function = reinterpret_cast<LoadedFunction *>(handle);
  auto params = getParams(*function->module->module, function->name);
  if (index >= params->size())
    return FA3_CU_INVALID_VALUE;
  *offset = (*params)[index].offset;
  *size = (*params)[index].size;
  return FA3_CU_SUCCESS;
}

fa3_cu_result launchKernel(fa3_cu_function handle, unsigned gridX,
                           unsigned gridY, unsigned gridZ, unsigned blockX,
                           unsigned blockY, unsigned blockZ, unsigned smem,
                           void *, void **params, void **) {
  std::lock_guard<std::mutex> guard(state().lock);
  auto *function = reinterpret_cast<LoadedFunction *>(handle);
  if (gridY != 1 || gridZ != 1 || blockY != 1 || blockZ != 1)
    return report(NotSupported, "grids and blocks have one dimension");
  auto places = getParams(*function->module->module, function->name);
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < places->size(); ++i) {
    const ParamPlace &place = (*places)[i];
    bytes.resize(std::max<size_t>(bytes.size(), place.offset + place.size));
    std::memcpy(bytes.data() + place.offset, params[i], place.size);
  }
  State &s = state();
  std::string error;
  Launch launch{gridX, blockX, smem, bytes};
  s.options.firstBlock = s.firstBlock;
  if (!run(*function->module->module, function->name, launch, s.memory,
           s.options, s.counts, error))
    return report(LaunchFailed, std::move(error));
  return FA3_CU_SUCCESS;
}
fa3_cu_result launchKernelEx(const fa3_cu_launch_config *config,
                             fa3_cu_function function, void **params,
                             void **extra) {
  for (unsigned i = 0; i < config->num_attributes; ++i)
    if (config->attributes[i].id == FA3_CU_LAUNCH_CLUSTER &&
        config->attributes[i].value.cluster.x > 1)
      return report(NotSupported, "clusters are not modeled on the CPU");
  return launchKernel(function, config->grid[0], config->grid[1],
                      config->grid[2], config->block[0], config->block[1],
                      config->block[2], config->smem, config->stream, params,
                      extra);
}
fa3_cu_result encodeTiled(fa3_cu_tensor_map *result, int type, uint32_t rank,
                          void *address, const uint64_t *dims,
                          const uint64_t *strides, const uint32_t *box,
                          const uint32_t *elementStrides, int interleave,
                          int swizzle, int, int) {
  // By CUtensorMapDataType: bytes, and whether f16 and f32 (1) or bf16 (2).
  static constexpr struct {
    uint8_t bytes, isFloat;
  } types[] = {{1, 0}, {2, 0}, {4, 0}, {4, 0}, {8, 0},
               {8, 0}, {2, 1}, {4, 1}, {8, 1}, {2, 2}};
  static_assert(sizeof(TensorMap) <= sizeof(*result));
  if (type < 0 || type > 9 || rank < 1 || rank > 5 || interleave ||
      reinterpret_cast<uint64_t>(address) % 16)
    return report(FA3_CU_INVALID_VALUE, "a tensor map that is not possible");
  TensorMap map{};
  map.magic = TensorMap::kMagic;
  map.elementBytes = types[type].bytes;
  map.isFloat = types[type].isFloat;
  map.rank = rank;
  map.swizzle = swizzle ? 16 << swizzle : 0;
  map.address = reinterpret_cast<uint64_t>(address);
  for (uint32_t i = 0; i < rank; ++i) {
    map.dims[i] = dims[i];
    map.box[i] = box[i];
    if (elementStrides[i] != 1 || box[i] < 1 || box[i] > 256 || dims[i] == 0 ||
        dims[i] > uint64_t(1) << 32)
      return report(FA3_CU_INVALID_VALUE, "a tensor map that is not possible");
  }
  for (uint32_t i = 0; i + 1 < rank; ++i) {
    map.strides[i] = strides[i];
    if (strides[i] % 16 || strides[i] >= uint64_t(1) << 40)
      return report(FA3_CU_INVALID_VALUE,
                    "a tensor map with a stride that is not possible");
  }
  std::memset(result->bytes, 0, sizeof(result->bytes));
  std::memcpy(result->bytes, &map, sizeof(map));
  return FA3_CU_SUCCESS;
}

fa3_cu_result allocate(fa3_device_address *address, size_t size) {
  std::lock_guard<std::mutex> guard(state().lock);
  *address = state().memory.allocate(size);
  if (!*address)
    return OutOfMemory;
  return FA3_CU_SUCCESS;
}
fa3_cu_result release(fa3_device_address address) {
  std::lock_guard<std::mutex> guard(state().lock);
  return state().memory.release(address) ? FA3_CU_SUCCESS
                                         : FA3_CU_INVALID_VALUE;
}
template <typename T>
T *toPointer(fa3_device_address address) {
  return reinterpret_cast<T *>(static_cast<uintptr_t>(address));
}
fa3_cu_result upload(fa3_device_address target, const void *source,
                     size_t size) {
  std::memcpy(toPointer<void>(target), source, size);
  return FA3_CU_SUCCESS;
}
fa3_cu_result download(void *target, fa3_device_address source, size_t size) {
  std::memcpy(target, toPointer<const void>(source), size);
  return FA3_CU_SUCCESS;
}
template <typename... Stream>
fa3_cu_result fill(fa3_device_address target, unsigned char byte, size_t size,
                   Stream...) {
  std::memset(toPointer<void>(target), byte, size);
  return FA3_CU_SUCCESS;
}
fa3_cu_result createStream(void **stream, unsigned) {
  *stream = &theContext;
  return FA3_CU_SUCCESS;
}
fa3_cu_result isCapturing(void *, int *capturing) {
  *capturing = 0;
  return FA3_CU_SUCCESS;
}

fa3_driver makeDriver() {
  fa3_driver d{};
  d.init = succeed;
  d.driver_version = getVersion;
  d.error_name = getErrorName;
  d.error_text = getErrorText;
  d.device_count = getDeviceCount;
  d.device_get = getDevice;
  d.device_name = getDeviceName;
  d.device_attribute = getAttribute;
  d.primary_retain = retainPrimary;
  d.primary_release = succeed;
  d.context_current = getCurrent;
  d.context_set = setCurrent;
  d.context_push = setCurrent;
  d.context_pop = popContext;
  d.context_device = getContextDevice;
  d.context_synchronize = succeed;
  d.module_load = loadModule;
  d.module_unload = unloadModule;
  d.module_function = getFunction;
  d.function_set_attribute = succeed;
  d.launch = launchKernel;
  d.launch_ex = launchKernelEx;
  d.encode_tiled = encodeTiled;
  d.memory_alloc = allocate;
  d.memory_free = release;
  d.memory_upload = upload;
  d.memory_download = download;
  d.memory_fill = fill;
  d.memory_fill_async = fill;
  d.capture_mode_exchange = succeed;
  d.stream_create = createStream;
  d.stream_destroy = succeed;
  d.stream_synchronize = succeed;
  d.stream_is_capturing = isCapturing;
  d.event_create = refuse;
  d.event_destroy = refuse;
  d.event_record = refuse;
  d.event_synchronize = refuse;
  d.event_elapsed = refuse;
  d.function_param = getFunctionParam;
  return d;
}

} // namespace

bool fa3::interp::ptx::installDriver(const RunOptions &options,
                                     std::string &error) {
  static bool installed = false;
  std::lock_guard<std::mutex> guard(state().lock);
  state().options = options;
  if (installed)
    return true;
  fa3_driver driver = makeDriver();
  fa3_status status;
  installed = fa3_driver_replace(&driver, &status) == FA3_OK;
  if (!installed)
    error = status.message;
  return installed;
}

void fa3::interp::ptx::setFirstBlock(uint32_t number) {
  std::lock_guard<std::mutex> guard(state().lock);
  state().firstBlock = number;
}

std::string fa3::interp::ptx::takeDriverError() {
  std::lock_guard<std::mutex> guard(state().lock);
  return std::exchange(state().error, "");
}

RunCounts fa3::interp::ptx::getDriverCounts() {
  std::lock_guard<std::mutex> guard(state().lock);
  return state().counts;
}

std::string fa3::interp::ptx::acceptText(llvm::StringRef manifest,
                                         llvm::StringRef ptx) {
  constexpr llvm::StringLiteral kMember = "\"ptx_hash\": \"";
  size_t at = manifest.find(kMember);
  if (at == llvm::StringRef::npos)
    return manifest.str();
  at += kMember.size();
  std::string hash =
      llvm::utohexstr(fa3_hash(ptx.data(), ptx.size()), /*LowerCase=*/true, 16);
  return manifest.take_front(at).str() + hash +
         manifest.substr(manifest.find('"', at)).str();
}
