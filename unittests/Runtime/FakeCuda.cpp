//===- FakeCuda.cpp - a libcuda for tests ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See FakeCuda.h. "Device memory" is host memory.
//===----------------------------------------------------------------------===//

#include "FakeCudaState.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace fakecuda;

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

void fakeCudaSetVersion(int version) { state().version = version; }

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

int fakeCudaLiveStreams() { return state().streams.count(); }
int fakeCudaLiveEvents() { return state().events.count(); }

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
  state().streams.clear();
  state().events.clear();
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
  *version = state().version;
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
  if (state().capturedStream && captureMode != 2)
    return CaptureUnsupported;
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
  *stream = state().streams.create();
  return Success;
}

int cuStreamDestroy_v2(void *stream) {
  bool isKnown = currentContext() && state().streams.giveBack(stream);
  FAKE_ENTER_WITH_CONTEXT("cuStreamDestroy_v2");
  return isKnown ? Success : InvalidHandle;
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
  *event = state().events.create();
  return Success;
}

int cuEventDestroy_v2(void *event) {
  bool isKnown = currentContext() && state().events.giveBack(event);
  FAKE_ENTER_WITH_CONTEXT("cuEventDestroy_v2");
  return isKnown ? Success : InvalidHandle;
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
