//===- FakeDriver.cpp - the driver of fuzz targets ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Lets the runtime open the fake driver of the unit tests. FA3_FAKE_CUDA is its
// path.
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include <dlfcn.h>

void *fuzz::findInDriver(const char *name) {
  static void *library = dlopen(FA3_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  FA3_FUZZ_CHECK(library);
  void *function = dlsym(library, name);
  FA3_FUZZ_CHECK(function);
  return function;
}

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  return setenv("FA3_LIBCUDA", FA3_FAKE_CUDA, /*overwrite=*/1);
}
