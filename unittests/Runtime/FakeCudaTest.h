//===- FakeCudaTest.h - tests against the fake driver -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_UNITTESTS_RUNTIME_FAKECUDATEST_H
#define FA3_UNITTESTS_RUNTIME_FAKECUDATEST_H

#include "FakeCuda.h"
#include "TestSupport.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <dlfcn.h>

namespace fa3test {

/// The control functions of the fake driver, which the runtime opens by its
/// path.
struct Fake {
  Fake() {
    setenv("FA3_LIBCUDA", FA3_FAKE_CUDA, 1);
    library = dlopen(FA3_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  }
  template <typename T>
  void find(T &function, const char *name) {
    function = reinterpret_cast<T>(dlsym(library, name));
    ASSERT_NE(function, nullptr) << name;
  }
  void *library;
};

/// Every test begins with a fresh driver and leaves nothing behind in it.
class FakeCudaTest : public ::testing::Test {
protected:
  void SetUp() override {
    static Fake fake;
    ASSERT_NE(fake.library, nullptr) << dlerror();
#define FIND(name) fake.find(name, #name)
    FIND(fakeCudaReset);
    FIND(fakeCudaFail);
    FIND(fakeCudaPoison);
    FIND(fakeCudaSetDevice);
    FIND(fakeCudaCapture);
    FIND(fakeCudaSetVersion);
    FIND(fakeCudaCaptureMode);
    FIND(fakeCudaCalls);
    FIND(fakeCudaNumTensorMaps);
    FIND(fakeCudaNumLaunches);
    FIND(fakeCudaTensorMap);
    FIND(fakeCudaLaunch);
    FIND(fakeCudaLiveModules);
    FIND(fakeCudaLiveAllocations);
    FIND(fakeCudaLiveStreams);
    FIND(fakeCudaLiveEvents);
    FIND(fakeCudaRetainedContexts);
    FIND(fakeCudaDiscard);
    FIND(fakeCudaSetCurrent);
    FIND(fakeCudaCurrent);
#undef FIND
    fakeCudaReset();
    fakeCudaSetCurrent(0);
  }

  void TearDown() override {
    fakeCudaPoison(0);
    fakeCudaCapture(nullptr);
    EXPECT_EQ(program.reset(), FA3_OK) << program.message();
    EXPECT_EQ(fakeCudaLiveModules(), 0);
    EXPECT_EQ(fakeCudaLiveAllocations(), 0);
    EXPECT_EQ(fakeCudaLiveStreams(), 0);
    EXPECT_EQ(fakeCudaLiveEvents(), 0);
    EXPECT_EQ(fakeCudaRetainedContexts(), 0);
    EXPECT_EQ(fakeCudaCurrent(), 0);
  }

  void load(const std::string &text = manifest()) {
    ASSERT_EQ(program.load(text, ptx()), FA3_OK) << program.message();
  }

  decltype(&::fakeCudaReset) fakeCudaReset;
  decltype(&::fakeCudaFail) fakeCudaFail;
  decltype(&::fakeCudaPoison) fakeCudaPoison;
  decltype(&::fakeCudaSetDevice) fakeCudaSetDevice;
  decltype(&::fakeCudaCapture) fakeCudaCapture;
  decltype(&::fakeCudaSetVersion) fakeCudaSetVersion;
  decltype(&::fakeCudaCaptureMode) fakeCudaCaptureMode;
  decltype(&::fakeCudaCalls) fakeCudaCalls;
  decltype(&::fakeCudaNumTensorMaps) fakeCudaNumTensorMaps;
  decltype(&::fakeCudaNumLaunches) fakeCudaNumLaunches;
  decltype(&::fakeCudaTensorMap) fakeCudaTensorMap;
  decltype(&::fakeCudaLaunch) fakeCudaLaunch;
  decltype(&::fakeCudaLiveModules) fakeCudaLiveModules;
  decltype(&::fakeCudaLiveAllocations) fakeCudaLiveAllocations;
  decltype(&::fakeCudaLiveStreams) fakeCudaLiveStreams;
  decltype(&::fakeCudaLiveEvents) fakeCudaLiveEvents;
  decltype(&::fakeCudaRetainedContexts) fakeCudaRetainedContexts;
  decltype(&::fakeCudaDiscard) fakeCudaDiscard;
  decltype(&::fakeCudaSetCurrent) fakeCudaSetCurrent;
  decltype(&::fakeCudaCurrent) fakeCudaCurrent;
  Program program;
};

} // namespace fa3test

#endif // FA3_UNITTESTS_RUNTIME_FAKECUDATEST_H
