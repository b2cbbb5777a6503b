//===- LoadTest.cpp - loading through a fake driver -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "FakeCudaTest.h"

using namespace fa3test;

namespace {

class LoadTest : public FakeCudaTest {};

TEST_F(LoadTest, LoadsIntoThePrimaryContext) {
  load();
  EXPECT_EQ(fakeCudaLiveModules(), 1);
  EXPECT_EQ(fakeCudaRetainedContexts(), 1);
  EXPECT_EQ(fakeCudaCurrent(), 0); // the thread is as before
  EXPECT_EQ(fakeCudaCalls("cuFuncSetAttribute"), 1);
  EXPECT_EQ(fakeCudaCalls("cuFuncLoad"), 1);
}

TEST_F(LoadTest, LoadsIntoTheCurrentContext) {
  fakeCudaSetCurrent(2);
  load();
  EXPECT_EQ(fakeCudaRetainedContexts(), 0);
  EXPECT_EQ(fakeCudaCurrent(), 2);
  EXPECT_EQ(program.launch(arguments()), FA3_OK) << program.message();
  EXPECT_EQ(fakeCudaLaunch(0)->context, 2u);
  fakeCudaSetCurrent(0);
}

TEST_F(LoadTest, SmallSharedMemoryNeedsNoAttribute) {
  load(replaced(manifest(), "\"smem\": 181248", "\"smem\": 49152"));
  EXPECT_EQ(fakeCudaCalls("cuFuncSetAttribute"), 0);
  EXPECT_EQ(program.launch(arguments()), FA3_OK) << program.message();
  EXPECT_EQ(fakeCudaLaunch(0)->smem, 49152u);
}

TEST_F(LoadTest, RefusesOtherPtx) {
  EXPECT_EQ(program.load(manifest(), ptx() + " "), FA3_ERROR_MISMATCH);
  EXPECT_EQ(fakeCudaCalls("cuModuleLoadDataEx"), 0);
}

TEST_F(LoadTest, ReportsTheLogOfTheCompiler) {
  std::string broken = ptx() + "// broken\n";
  EXPECT_EQ(program.load(withHashOf(broken), broken), FA3_ERROR_IMAGE);
  EXPECT_EQ(program.status.code, FA3_ERROR_IMAGE);
  EXPECT_EQ(program.status.driver_code, 218);
  EXPECT_NE(program.message().find("ptx input, line 7; error"),
            std::string::npos);
  EXPECT_NE(program.message().find("CUDA_ERROR_INVALID_PTX (218)"),
            std::string::npos);
}

TEST_F(LoadTest, RefusesAMissingKernel) {
  EXPECT_EQ(program.load(replaced(manifest(), "\"kernel\": \"fwd\"",
                                  "\"kernel\": \"bwd\""),
                         ptx()),
            FA3_ERROR_MISMATCH);
  EXPECT_EQ(program.message(),
            "the code has no kernel 'bwd', which the manifest launches");
}

TEST_F(LoadTest, RefusesOtherParameters) {
  EXPECT_EQ(program.load(replaced(manifest(), "{\"kind\": \"i64\", \"value\"",
                                  "{\"kind\": \"i32\", \"value\""),
                         ptx()),
            FA3_ERROR_MISMATCH);
  EXPECT_EQ(program.message(), "kernel 'fwd': parameter 6 has 8 bytes, "
                               "launches[0].args[6] has 4");
  const std::string last =
      ",\n      {\"kind\": \"i32\", \"value\": \"window - 1\"}";
  EXPECT_EQ(program.load(replaced(manifest(), last, ""), ptx()),
            FA3_ERROR_MISMATCH);
  EXPECT_EQ(program.message(),
            "kernel 'fwd' has more than the 8 parameters of the manifest");
  EXPECT_EQ(program.load(replaced(manifest(), last, last + last), ptx()),
            FA3_ERROR_MISMATCH);
  EXPECT_EQ(program.message(),
            "kernel 'fwd' has 9 parameters, the manifest 10");
}

TEST_F(LoadTest, RefusesOtherDevices) {
  fakeCudaSetDevice(8, 0, 108, 166912);
  EXPECT_EQ(program.load(manifest(), ptx()), FA3_ERROR_DEVICE);
  EXPECT_EQ(program.message(), "code for 'sm_90a' does not run on device 0 of "
                               "compute capability 8.0");
  fakeCudaSetDevice(10, 0, 148, 232448);
  EXPECT_EQ(program.load(manifest(), ptx()), FA3_ERROR_DEVICE);
  // Portable PTX runs on later devices.
  std::string portable = replaced(manifest(), "sm_90a", "sm_90");
  EXPECT_EQ(program.load(portable, ptx()), FA3_OK) << program.message();
  fakeCudaSetDevice(9, 0, 132, 101376);
  EXPECT_EQ(program.load(manifest(), ptx()), FA3_ERROR_DEVICE);
  EXPECT_EQ(program.message(), "kernel 'fwd' needs 181248 bytes of shared "
                               "memory, the device has 101376");
}

/// A complete ELF file without sections, which the fake driver knows to hold
/// PTX after its header.
std::string cubin(const std::string &code) {
  std::string image(64, '\0');
  image.replace(0, 6,
                "\x7f"
                "ELF\x02\x01");
  image[40] = 64; // section table
  image[58] = 64; // size of an entry
  return image + code;
}

TEST_F(LoadTest, LoadsCubins) {
  ASSERT_EQ(program.load(manifest(), cubin(ptx()) + '\0', FA3_IMAGE_CUBIN),
            FA3_OK)
      << program.message();
  EXPECT_EQ(program.launch(arguments()), FA3_OK) << program.message();
}

TEST_F(LoadTest, RefusesIncompleteCubins) {
  std::string image = cubin(ptx());
  for (size_t size : {size_t(0), size_t(5), size_t(63)})
    EXPECT_EQ(program.load(manifest(), image.substr(0, size), FA3_IMAGE_CUBIN),
              FA3_ERROR_IMAGE);
  EXPECT_EQ(program.load(manifest(), ptx(), FA3_IMAGE_CUBIN), FA3_ERROR_IMAGE);
  std::string table = image;
  table[60] = 100; // sections beyond the end
  EXPECT_EQ(program.load(manifest(), table, FA3_IMAGE_CUBIN), FA3_ERROR_IMAGE);
  std::string section = cubin(std::string(64, '\0'));
  section[60] = 1;
  section[64 + 4] = 1;     // a section with contents
  section[64 + 33] = 0x10; // of 4096 bytes
  EXPECT_EQ(program.load(manifest(), section, FA3_IMAGE_CUBIN),
            FA3_ERROR_IMAGE);
  EXPECT_EQ(fakeCudaCalls("cuModuleLoadDataEx"), 0);
  EXPECT_EQ(program.load(manifest(), ptx(), fa3_image_kind(5)),
            FA3_ERROR_ARGUMENT);
}

TEST_F(LoadTest, EveryFailureOfLoadingIsAnErrorAndFreesAll) {
  const char *const symbols[] = {"cuCtxGetCurrent",
                                 "cuDeviceGet",
                                 "cuDevicePrimaryCtxRetain",
                                 "cuCtxPushCurrent_v2",
                                 "cuThreadExchangeStreamCaptureMode",
                                 "cuCtxGetDevice",
                                 "cuDeviceGetAttribute",
                                 "cuModuleLoadDataEx",
                                 "cuModuleGetFunction",
                                 "cuFuncLoad",
                                 "cuFuncSetAttribute",
                                 "cuMemAlloc_v2",
                                 "cuStreamCreate",
                                 "cuMemsetD8Async",
                                 "cuStreamSynchronize",
                                 "cuStreamDestroy_v2"};
  for (const char *symbol : symbols) {
    fakeCudaReset();
    fakeCudaFail(symbol, 1, 999);
    EXPECT_NE(program.load(manifest(), ptx()), FA3_OK) << symbol;
    EXPECT_EQ(program.status.driver_code, 999) << symbol;
    EXPECT_NE(program.message().find("(999)"), std::string::npos) << symbol;
    EXPECT_EQ(program.get(), nullptr);
    EXPECT_EQ(fakeCudaLiveModules(), 0) << symbol;
    EXPECT_EQ(fakeCudaLiveAllocations(), 0) << symbol;
    EXPECT_EQ(fakeCudaRetainedContexts(), 0) << symbol;
    EXPECT_EQ(fakeCudaCurrent(), 0) << symbol;
    EXPECT_EQ(fakeCudaLiveStreams(), 0) << symbol;
    EXPECT_EQ(fakeCudaCaptureMode(), 0) << symbol;
  }
}

/// Where a CUDA graph is captured the first call may be one of the captured:
/// neither loading nor unloading is part of the graph, or ends the capture.
TEST_F(LoadTest, LoadsAndUnloadsWhileAStreamIsCaptured) {
  std::string text =
      replaced(manifest(), R"({"kind": "pointer", "source": "lse"})",
               R"({"kind": "counter"})");
  void *stream = reinterpret_cast<void *>(0x99);
  fakeCudaCapture(stream);
  ASSERT_EQ(program.load(text, ptx()), FA3_OK) << program.message();
  EXPECT_EQ(fakeCudaCaptureMode(), 0);
  EXPECT_EQ(program.launch(arguments(), stream), FA3_OK) << program.message();
  EXPECT_EQ(program.reset(), FA3_OK) << program.message();
  EXPECT_EQ(fakeCudaCaptureMode(), 0);
  EXPECT_EQ(fakeCudaLiveModules(), 0);
  EXPECT_EQ(fakeCudaLiveAllocations(), 0);
  fakeCudaCapture(nullptr);
}

} // namespace
