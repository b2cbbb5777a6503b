//===- LaunchTest.cpp - launching through a fake driver -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "FakeCudaTest.h"

#include <cstring>
#include <thread>

using namespace fa3test;

namespace {

class LaunchTest : public FakeCudaTest {};

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

TEST_F(LaunchTest, PassesGridAndArguments) {
  load();
  int stream;
  ASSERT_EQ(program.launch(arguments(), &stream), FA3_OK) << program.message();
  ASSERT_EQ(fakeCudaNumLaunches(), 1u);
  const FakeLaunch &launch = *fakeCudaLaunch(0);
  EXPECT_STREQ(launch.kernel, "fwd");
  EXPECT_EQ(launch.grid[0], 12u); // ceildiv(300, 192) * 3 * 2
  EXPECT_EQ(launch.grid[1], 1u);
  EXPECT_EQ(launch.grid[2], 1u);
  EXPECT_EQ(launch.block[0], 512u);
  EXPECT_EQ(launch.block[1], 1u);
  EXPECT_EQ(launch.smem, 181248u);
  EXPECT_EQ(launch.maxSmem, 181248u);
  EXPECT_EQ(launch.cluster, 0u);
  EXPECT_EQ(launch.stream, reinterpret_cast<uint64_t>(&stream));
  EXPECT_EQ(launch.context, 1u);
  ASSERT_EQ(launch.numParams, 9u);
  for (uint64_t i = 0; i < 4; ++i)
    EXPECT_EQ(launch.params[i], i); // the tensor maps in order
  EXPECT_EQ(launch.params[4], 0x50000000u);
  EXPECT_EQ(launch.params[5], 300u);
  EXPECT_EQ(launch.params[6], 300u);
  float scale;
  std::memcpy(&scale, &launch.params[7], sizeof(scale));
  EXPECT_EQ(scale, 0.125f);
  EXPECT_EQ(launch.params[8], 7u);
  EXPECT_EQ(fakeCudaCurrent(), 0);
}

TEST_F(LaunchTest, EncodesTensorMaps) {
  load();
  std::vector<fa3_arg> args = arguments();
  // Queries with the heads inside: (b, s, h, d) seen as (b, h, s, d).
  args[Q].stride[0] = 300 * 3 * 128;
  args[Q].stride[1] = 128;
  args[Q].stride[2] = 3 * 128;
  ASSERT_EQ(program.launch(args), FA3_OK) << program.message();
  ASSERT_EQ(fakeCudaNumTensorMaps(), 4u);
  const FakeTensorMap &q = *fakeCudaTensorMap(0);
  EXPECT_EQ(q.type, 9); // BFLOAT16
  EXPECT_EQ(q.rank, 4u);
  EXPECT_EQ(q.address, 0x10000000u);
  const uint64_t dims[] = {128, 300, 3, 2};
  const uint64_t strides[] = {3 * 128 * 2, 128 * 2, 300 * 3 * 128 * 2};
  const uint32_t box[] = {64, 192, 1, 1};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(q.dims[i], dims[i]);
    EXPECT_EQ(q.box[i], box[i]);
    EXPECT_EQ(q.elementStrides[i], 1u);
  }
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(q.strides[i], strides[i]);
  EXPECT_EQ(q.interleave, 0);
  EXPECT_EQ(q.swizzle, 3);
  EXPECT_EQ(q.l2Promotion, 3);
  EXPECT_EQ(q.fill, 0);
  EXPECT_EQ(fakeCudaTensorMap(1)->dims[1], 170u);
  EXPECT_EQ(fakeCudaTensorMap(1)->address, 0x20000000u);
  EXPECT_EQ(fakeCudaTensorMap(3)->box[1], 64u);
}

TEST_F(LaunchTest, TensorMapTypesAndSwizzles) {
  struct Case {
    const char *name;
    int size, code, swizzle, swizzleCode, box;
  };
  const Case cases[] = {
      {"f16", 2, 6, 64, 2, 32},       {"f32", 4, 7, 32, 1, 8},
      {"f8E4M3FN", 1, 0, 128, 3, 64}, {"f8E5M2", 1, 0, 0, 0, 64},
      {"i8", 1, 0, 0, 0, 64},         {"i32", 4, 3, 0, 0, 64}};
  for (const Case &c : cases) {
    std::string text = manifest();
    text = replaced(text, "\"type\": \"bf16\"",
                    std::string("\"type\": \"") + c.name + "\"");
    text = replaced(text,
                    "\"source\": \"q\", \"type\": \"bf16\", \"swizzle\": 128",
                    std::string("\"source\": \"q\", \"type\": \"") + c.name +
                        "\", \"swizzle\": " + std::to_string(c.swizzle));
    text = replaced(text, "\"box\": [64, 192",
                    "\"box\": [" + std::to_string(c.box) + ", 192");
    fakeCudaReset();
    load(text);
    std::vector<fa3_arg> args = arguments();
    ASSERT_TRUE(fa3_type_from_name(c.name, &args[Q].type));
    ASSERT_EQ(program.launch(args), FA3_OK) << program.message();
    EXPECT_EQ(fakeCudaTensorMap(0)->type, c.code) << c.name;
    EXPECT_EQ(fakeCudaTensorMap(0)->swizzle, c.swizzleCode) << c.name;
  }
}

TEST_F(LaunchTest, StridesOfExtentOneAreReplaced) {
  load();
  std::vector<fa3_arg> args = arguments(Shape{1, 1, 300, 1});
  for (int i : {Q, K, V, O})
    args[i].stride[0] = args[i].stride[1] = 7;
  for (int i : {K, V})
    args[i].stride[2] = 3;
  ASSERT_EQ(program.launch(args), FA3_OK) << program.message();
  EXPECT_EQ(fakeCudaTensorMap(0)->strides[0], 256u);
  EXPECT_EQ(fakeCudaTensorMap(0)->strides[1], 256u);
  EXPECT_EQ(fakeCudaTensorMap(1)->strides[0], 256u);
}

TEST_F(LaunchTest, EmptyTensorsGetAMapOfOneZero) {
  load();
  std::vector<fa3_arg> args = arguments(Shape{2, 3, 300, 0});
  args[K].value.data = args[V].value.data = nullptr;
  ASSERT_EQ(program.launch(args), FA3_OK) << program.message();
  ASSERT_EQ(fakeCudaNumLaunches(), 1u); // the kernel still writes its results
  ASSERT_EQ(fakeCudaNumTensorMaps(), 4u);
  const FakeTensorMap &k = *fakeCudaTensorMap(1);
  ASSERT_NE(k.address, 0u);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(k.dims[i], 1u);
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(reinterpret_cast<const char *>(k.address)[i], 0);
  EXPECT_EQ(k.box[1], 80u);
  EXPECT_EQ(fakeCudaTensorMap(0)->dims[1], 300u);
}

TEST_F(LaunchTest, NoBlocksIsNoLaunch) {
  load();
  EXPECT_EQ(program.launch(arguments(Shape{2, 3, 0, 170})), FA3_OK)
      << program.message();
  EXPECT_EQ(program.launch(arguments(Shape{0, 3, 300, 170})), FA3_OK);
  EXPECT_EQ(fakeCudaNumLaunches(), 0u);
  EXPECT_EQ(fakeCudaNumTensorMaps(), 0u);
}

TEST_F(LaunchTest, Clusters) {
  load(replaced(manifest(), "\"cluster\": 1", "\"cluster\": 2"));
  ASSERT_EQ(program.launch(arguments()), FA3_OK) << program.message();
  EXPECT_EQ(fakeCudaCalls("cuLaunchKernelEx"), 1);
  EXPECT_EQ(fakeCudaCalls("cuLaunchKernel"), 0);
  EXPECT_EQ(fakeCudaLaunch(0)->cluster, 2u);
  EXPECT_EQ(fakeCudaLaunch(0)->grid[0], 12u);
  EXPECT_EQ(fakeCudaLaunch(0)->smem, 181248u);
  EXPECT_EQ(fakeCudaLaunch(0)->params[8], 7u);
}

TEST_F(LaunchTest, LaunchesRunInOrder) {
  std::string code =
      ptx() + ".visible .entry post(.param .u32 post_param_0) { ret; }\n";
  std::string text = replaced(
      withHashOf(code), "]} ],\n  \"workspaces\"",
      "]}, {\"kernel\": \"post\", \"grid\": \"device.sms\", \"block\": 32, "
      "\"smem\": 0, \"args\": [{\"kind\": \"i32\", \"value\": \"k.shape[2]\"}]"
      "} ],\n  \"workspaces\"");
  fakeCudaSetDevice(9, 0, 78, 232448);
  ASSERT_EQ(program.load(text, code), FA3_OK) << program.message();
  ASSERT_EQ(program.launch(arguments()), FA3_OK) << program.message();
  ASSERT_EQ(fakeCudaNumLaunches(), 2u);
  EXPECT_STREQ(fakeCudaLaunch(0)->kernel, "fwd");
  EXPECT_STREQ(fakeCudaLaunch(1)->kernel, "post");
  EXPECT_EQ(fakeCudaLaunch(1)->grid[0], 78u);
  EXPECT_EQ(fakeCudaLaunch(1)->params[0], 170u);
  // An error in the arguments of the second launch prevents the first.
  std::string bad =
      replaced(text, "\"k.shape[2]\"}", "\"k.stride[0] * 65536\"}");
  ASSERT_EQ(program.load(bad, code), FA3_OK) << program.message();
  EXPECT_EQ(program.launch(arguments()), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(fakeCudaNumLaunches(), 2u);
}

/// A kernel that waits for those in front of it starts early behind one of the
/// same call, and only there: what is in front of a call may be anything.
TEST_F(LaunchTest, KernelsThatWaitStartEarly) {
  std::string code =
      ptx() + ".visible .entry post(.param .u32 post_param_0) { ret; }\n";
  std::string text = replaced(
      withHashOf(code), "]} ],\n  \"workspaces\"",
      "]}, {\"kernel\": \"post\", \"grid\": \"q.shape[0]\", \"block\": 32, "
      "\"cluster\": 2, \"smem\": 0, \"waits\": true, \"args\": "
      "[{\"kind\": \"i32\", \"value\": \"k.shape[2]\"}]} ],\n"
      "  \"workspaces\"");
  int stream;
  auto expect = [&](uint32_t first, uint32_t second) {
    fakeCudaReset();
    EXPECT_EQ(program.launch(arguments(), &stream), FA3_OK)
        << program.message();
    ASSERT_EQ(fakeCudaNumLaunches(), 2u);
    EXPECT_EQ(fakeCudaLaunch(0)->early, first);
    EXPECT_EQ(fakeCudaLaunch(0)->cluster, 0u);
    EXPECT_EQ(fakeCudaLaunch(1)->early, second);
    EXPECT_EQ(fakeCudaLaunch(1)->cluster, 2u);
  };
  ASSERT_EQ(program.load(text, code), FA3_OK) << program.message();
  expect(0, 1);
  // The same for what is captured.
  fakeCudaCapture(&stream);
  expect(0, 1);
  fakeCudaCapture(nullptr);
  // Nothing is in front of it where the first kernel has no blocks.
  fakeCudaReset();
  ASSERT_EQ(program.launch(arguments(Shape{2, 3, 0, 170})), FA3_OK);
  ASSERT_EQ(fakeCudaNumLaunches(), 1u);
  EXPECT_STREQ(fakeCudaLaunch(0)->kernel, "post");
  EXPECT_EQ(fakeCudaLaunch(0)->early, 0u);
  // Those that do not say so wait for nobody, and start when all have ended.
  std::string silent = replaced(text, "\"waits\": true", "\"waits\": false");
  ASSERT_EQ(program.load(silent, code), FA3_OK) << program.message();
  expect(0, 0);
  std::string both = replaced(text, "\"cluster\": 1,", "\"waits\": true,");
  ASSERT_EQ(program.load(both, code), FA3_OK) << program.message();
  expect(0, 1);
  // Drivers whose graphs do not know it.
  fakeCudaSetVersion(12020);
  ASSERT_EQ(program.load(text, code), FA3_OK) << program.message();
  fakeCudaSetVersion(13000);
  expect(0, 0);
}

TEST_F(LaunchTest, ConditionsChoose) {
  // The second kernel is for long sequences; what its launch takes does not
  // count for short ones.
  std::string code =
      ptx() + ".visible .entry far(.param .u32 far_param_0) { ret; }\n";
  std::string text = replaced(
      withHashOf(code), "]} ],\n  \"workspaces\"",
      "]}, {\"kernel\": \"far\", \"condition\": \"(q.shape[2] < 512) == 0\", "
      "\"grid\": \"q.shape[2] / 512 - 1\", \"block\": 32, \"smem\": 0, "
      "\"args\": [{\"kind\": \"i32\", \"value\": \"1 / (q.shape[2] / 512)\"}]"
      "} ],\n  \"workspaces\"");
  text = replaced(text, "\"kernel\": \"fwd\"",
                  "\"kernel\": \"fwd\", \"condition\": \"q.shape[2] < 512\"");
  ASSERT_EQ(program.load(text, code), FA3_OK) << program.message();
  std::vector<fa3_arg> few = arguments(Shape{2, 3, 511, 170});
  std::vector<fa3_arg> many = arguments(Shape{2, 3, 1024, 170});
  ASSERT_EQ(program.launch(few), FA3_OK) << program.message();
  ASSERT_EQ(fakeCudaNumLaunches(), 1u);
  EXPECT_STREQ(fakeCudaLaunch(0)->kernel, "fwd");
  ASSERT_EQ(program.launch(many), FA3_OK) << program.message();
  ASSERT_EQ(fakeCudaNumLaunches(), 2u);
  EXPECT_STREQ(fakeCudaLaunch(1)->kernel, "far");
  // One that is not launched has no blocks.
  int64_t blocks = -1;
  for (auto [args, launch, expected] :
       {std::tuple(&few, 0, 18), std::tuple(&few, 1, 0),
        std::tuple(&many, 0, 0), std::tuple(&many, 1, 1)}) {
    ASSERT_EQ(fa3_evaluate_grid(program.get(), launch, args->data(),
                                args->size(), &blocks, nullptr),
              FA3_OK);
    EXPECT_EQ(blocks, expected);
  }
  // A condition without a value is an error, and nothing is launched.
  std::string wrong = replaced(text, "(q.shape[2] < 512) == 0",
                               "1 / (q.shape[2] - q.shape[2])");
  ASSERT_EQ(program.load(wrong, code), FA3_OK) << program.message();
  EXPECT_EQ(program.launch(few), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(fakeCudaNumLaunches(), 2u);
}

TEST_F(LaunchTest, ErrorsOfArgumentsReachNoDriver) {
  load();
  int before = fakeCudaCalls("cuCtxGetCurrent");
  std::vector<fa3_arg> args = arguments();
  args[Q].value.data = nullptr;
  EXPECT_EQ(program.launch(args), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(fakeCudaCalls("cuCtxGetCurrent"), before);
  EXPECT_EQ(fakeCudaNumTensorMaps(), 0u);
}

TEST_F(LaunchTest, RefusesAnotherContext) {
  load();
  fakeCudaSetCurrent(2);
  EXPECT_EQ(program.launch(arguments()), FA3_ERROR_CONTEXT);
  EXPECT_EQ(fakeCudaCurrent(), 2);
  EXPECT_EQ(fakeCudaNumLaunches(), 0u);
  fakeCudaSetCurrent(0);
}

TEST_F(LaunchTest, FailuresOfLaunchingAreErrors) {
  load();
  for (const char *symbol : {"cuCtxGetCurrent", "cuCtxPushCurrent_v2",
                             "cuTensorMapEncodeTiled", "cuLaunchKernel"}) {
    fakeCudaFail(symbol, 1, 1);
    EXPECT_EQ(program.launch(arguments()), FA3_ERROR_DRIVER) << symbol;
    EXPECT_EQ(program.status.driver_code, 1) << symbol;
    EXPECT_EQ(fakeCudaCurrent(), 0) << symbol;
    EXPECT_EQ(program.launch(arguments()), FA3_OK) << program.message();
  }
  fakeCudaFail("cuTensorMapEncodeTiled", 3, 1);
  EXPECT_EQ(program.launch(arguments()), FA3_ERROR_DRIVER);
  EXPECT_EQ(program.message(), "encoding the tensor map of argument 'v': "
                               "CUDA_ERROR_INVALID_VALUE (1): no description");
}

TEST_F(LaunchTest, AKernelThatTrapsIsReported) {
  load();
  ASSERT_EQ(program.launch(arguments()), FA3_OK);
  fakeCudaPoison(719);
  EXPECT_EQ(program.launch(arguments()), FA3_ERROR_KERNEL);
  EXPECT_EQ(program.status.driver_code, 719);
  EXPECT_NE(
      program.message().find("CUDA_ERROR_LAUNCH_FAILED (719): "
                             "unspecified launch failure; a kernel failed"),
      std::string::npos)
      << program.message();
  EXPECT_EQ(fa3_device_synchronize(&program.status), FA3_ERROR_KERNEL);
  // Destroying frees the host side and reports.
  EXPECT_EQ(program.reset(), FA3_ERROR_KERNEL);
  // What the driver refused to free goes with the context.
  fakeCudaPoison(0);
  fakeCudaDiscard();
}

TEST_F(LaunchTest, ThreadsLaunchOneProgram) {
  load();
  constexpr int numThreads = 4, rounds = 200;
  int failures[numThreads] = {};
  std::vector<std::thread> threads;
  for (int t = 0; t < numThreads; ++t)
    threads.emplace_back([&, t] {
      std::vector<fa3_arg> args = arguments(Shape{1, 1, 192 * (t + 1), 64});
      fa3_status status;
      for (int i = 0; i < rounds; ++i)
        failures[t] += fa3_launch(program.get(), args.data(), args.size(),
                                  nullptr, &status) != FA3_OK;
    });
  for (std::thread &thread : threads)
    thread.join();
  int perGrid[numThreads + 1] = {};
  ASSERT_EQ(fakeCudaNumLaunches(), size_t(numThreads * rounds));
  for (size_t i = 0; i < fakeCudaNumLaunches(); ++i) {
    const FakeLaunch &launch = *fakeCudaLaunch(i);
    ASSERT_LE(launch.grid[0], uint32_t(numThreads));
    ++perGrid[launch.grid[0]];
    // The arguments of one call stay together.
    EXPECT_EQ(launch.params[5], 192 * launch.grid[0]);
    EXPECT_EQ(fakeCudaTensorMap(launch.params[0])->dims[1],
              192 * launch.grid[0]);
  }
  for (int t = 0; t < numThreads; ++t) {
    EXPECT_EQ(failures[t], 0);
    EXPECT_EQ(perGrid[t + 1], rounds);
  }
}

} // namespace
