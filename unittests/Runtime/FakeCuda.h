//===- FakeCuda.h - a libcuda for tests -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A shared library with the entry points of the CUDA driver that the runtime
// uses. It executes nothing: it checks what a real driver checks, records calls
// and can be told to fail. Loaded through FA3_LIBCUDA; tests reach the record
// through the functions below, by dlsym.
//===----------------------------------------------------------------------===//

#ifndef FA3_UNITTESTS_RUNTIME_FAKECUDA_H
#define FA3_UNITTESTS_RUNTIME_FAKECUDA_H

#include <cstddef>
#include <cstdint>

/// Arguments of one cuTensorMapEncodeTiled. The 128 bytes that the call wrote
/// start with the number of the record.
struct FakeTensorMap {
  int32_t type;
  uint32_t rank;
  uint64_t address;
  uint64_t dims[5];
  uint64_t strides[4];
  uint32_t box[5];
  uint32_t elementStrides[5];
  int32_t interleave, swizzle, l2Promotion, fill;
};

/// One kernel launch. Parameters are stored one after the other, 8 bytes each;
/// of a tensor map the number of its record.
struct FakeLaunch {
  char kernel[64];
  uint32_t grid[3], block[3];
  uint32_t smem;
  uint32_t maxSmem; // attribute of the function at the time of the launch
  uint32_t cluster; // 0: launched without this attribute
  uint32_t early;   // may start before the launch in front of it has ended
  uint32_t numParams;
  uint64_t stream;
  uint64_t context;
  uint64_t params[64];
};

extern "C" {
/// Forgets records and injected failures; contexts and modules stay.
void fakeCudaReset();
/// Makes the `nth` (from 1) following call of `symbol` return `code`.
void fakeCudaFail(const char *symbol, int nth, int code);
/// Every later call returns `code`, as after a kernel that trapped; 0 ends it.
void fakeCudaPoison(int code);
/// Called for every launch after it is recorded, as if it were the kernel; its
/// result is that of the launch. Null: nothing happens.
void fakeCudaSetKernel(int (*kernel)(const FakeLaunch *launch));
/// Attributes of all devices.
void fakeCudaSetDevice(int major, int minor, int sms, int maxSmem);
/// What cuDriverGetVersion says.
void fakeCudaSetVersion(int version);
/// Lets a stream be captured into a graph; null: no stream.
void fakeCudaCapture(void *stream);
/// How the calling thread's calls are watched meanwhile.
int fakeCudaCaptureMode();
/// How often `symbol` was called since the reset.
int fakeCudaCalls(const char *symbol);
size_t fakeCudaNumTensorMaps();
size_t fakeCudaNumLaunches();
const FakeTensorMap *fakeCudaTensorMap(size_t index);
const FakeLaunch *fakeCudaLaunch(size_t index);
/// Resources that are still held.
int fakeCudaLiveModules();
int fakeCudaLiveAllocations();
int fakeCudaLiveStreams();
int fakeCudaLiveEvents();
int fakeCudaRetainedContexts();
/// Frees all of them, as the end of a context does.
void fakeCudaDiscard();
/// Makes context number `index` (0: none) current on the calling thread.
void fakeCudaSetCurrent(int index);
int fakeCudaCurrent();
}

#endif // FA3_UNITTESTS_RUNTIME_FAKECUDA_H
