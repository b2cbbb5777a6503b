//===- Fuzz.h - what fuzz targets share -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A target is one function, LLVMFuzzerTestOneInput, linked with libFuzzer by
// Clang and with Standalone.cpp by other compilers.
//===----------------------------------------------------------------------===//

#ifndef FA3_TEST_FUZZ_TARGETS_FUZZ_H
#define FA3_TEST_FUZZ_TARGETS_FUZZ_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/// A property that holds for every input.
#define FA3_FUZZ_CHECK(condition)                                              \
  do {                                                                         \
    if (!(condition)) {                                                        \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__,   \
                   #condition);                                                \
      std::abort();                                                            \
    }                                                                          \
  } while (false)

namespace fuzz {

/// A function of the fake driver, which the runtime opens (FakeDriver.cpp).
void *findInDriver(const char *name);

} // namespace fuzz

#endif // FA3_TEST_FUZZ_TARGETS_FUZZ_H
