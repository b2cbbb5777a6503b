//===- LaunchAgainTest.cpp - launches whose arguments were seen before ----===//
// SPDX-License-Identifier: Apache-2.0
#include "FakeCudaTest.h"

#include <cstring>

using namespace fa3test;

namespace {

class LaunchAgainTest : public FakeCudaTest {
protected:
  fa3_code again(const std::vector<fa3_arg> &args, void *stream = nullptr,
                 uintptr_t workspace = 0, int64_t size = 0) {
    if (memo.empty())
      memo.resize(fa3_memo_size(program.get()));
    return fa3_launch_again(program.get(), args.data(), args.size(),
                            reinterpret_cast<void *>(workspace), size, stream,
                            memo.data(), &program.status);
  }

  /// What the last launch was given is what fa3_launch gives it.
  void expectAsWithout(const std::vector<fa3_arg> &args) {
    const FakeLaunch made = *fakeCudaLaunch(fakeCudaNumLaunches() - 1);
    ASSERT_EQ(program.launch(args), FA3_OK) << program.message();
    const FakeLaunch wanted = *fakeCudaLaunch(fakeCudaNumLaunches() - 1);
    EXPECT_EQ(made.grid[0], wanted.grid[0]);
    ASSERT_EQ(made.numParams, wanted.numParams);
    for (uint32_t i = 0; i < 4; ++i) {
      FakeTensorMap a = *fakeCudaTensorMap(made.params[i]);
      FakeTensorMap b = *fakeCudaTensorMap(wanted.params[i]);
      EXPECT_EQ(std::memcmp(&a, &b, sizeof(a)), 0) << "map " << i;
    }
    for (uint32_t i = 4; i < made.numParams; ++i)
      EXPECT_EQ(made.params[i], wanted.params[i]) << i;
  }

  std::vector<fa3_arg> moved(std::vector<fa3_arg> args, uintptr_t by) {
    for (int i : {Q, K, V, O, Lse})
      args[i].value.data = static_cast<char *>(args[i].value.data) + by;
    return args;
  }

  std::vector<char> memo;
};

TEST_F(LaunchAgainTest, MovesMaps) {
  load();
  std::vector<fa3_arg> args = arguments();
  for (uintptr_t by : {0, 0, 4096, 64}) {
    ASSERT_EQ(again(moved(args, by)), FA3_OK) << program.message();
    expectAsWithout(moved(args, by));
  }
  // The first call, and those of fa3_launch.
  EXPECT_EQ(fakeCudaCalls("cuTensorMapEncodeTiled"), 4 * 5);
  EXPECT_EQ(fakeCudaCalls("cuTensorMapReplaceAddress"), 4 * 2);
}

TEST_F(LaunchAgainTest, OneMapAlone) {
  load();
  std::vector<fa3_arg> args = arguments();
  ASSERT_EQ(again(args), FA3_OK);
  args[V].value.data = reinterpret_cast<void *>(0x70000000);
  ASSERT_EQ(again(args), FA3_OK) << program.message();
  EXPECT_EQ(fakeCudaCalls("cuTensorMapReplaceAddress"), 1);
  expectAsWithout(args);
}

TEST_F(LaunchAgainTest, WhatElseDiffersIsAFirstCall) {
  load();
  std::vector<fa3_arg> args = arguments();
  ASSERT_EQ(again(args), FA3_OK);
  std::vector<std::vector<fa3_arg>> others;
  others.push_back(arguments(Shape{2, 3, 300, 171}));
  others.push_back(args);
  others.back()[Q].stride[0] += 128;
  others.push_back(args);
  others.back()[Scale].value.real = 0.5;
  others.push_back(args);
  others.back()[Window].value.integer = 9;
  others.push_back(args);
  for (const std::vector<fa3_arg> &other : others) {
    int before = fakeCudaCalls("cuTensorMapEncodeTiled");
    ASSERT_EQ(again(other), FA3_OK) << program.message();
    EXPECT_EQ(fakeCudaCalls("cuTensorMapEncodeTiled"), before + 4);
    expectAsWithout(other);
  }
}

TEST_F(LaunchAgainTest, EmptyTensors) {
  load();
  std::vector<fa3_arg> args = arguments(Shape{2, 3, 300, 0});
  for (int i : {K, V})
    args[i].value.data = nullptr;
  for (uintptr_t by : {0, 256}) {
    std::vector<fa3_arg> given = args;
    for (int i : {Q, O, Lse})
      given[i].value.data = static_cast<char *>(args[i].value.data) + by;
    ASSERT_EQ(again(given), FA3_OK) << program.message();
    expectAsWithout(given);
  }
  // Nothing to launch.
  args = arguments(Shape{2, 3, 0, 170});
  size_t before = fakeCudaNumLaunches();
  ASSERT_EQ(again(args), FA3_OK) << program.message();
  ASSERT_EQ(again(args), FA3_OK) << program.message();
  EXPECT_EQ(fakeCudaNumLaunches(), before);
}

TEST_F(LaunchAgainTest, AddressesAreCheckedInEveryCall) {
  load();
  std::vector<fa3_arg> args = arguments();
  ASSERT_EQ(again(args), FA3_OK);
  auto message = [&](int index, uintptr_t address) {
    std::vector<fa3_arg> bad = args;
    bad[index].value.data = reinterpret_cast<void *>(address);
    EXPECT_EQ(again(bad), FA3_ERROR_ARGUMENT);
    std::string known = program.message();
    EXPECT_EQ(program.launch(bad), FA3_ERROR_ARGUMENT);
    EXPECT_EQ(program.message(), known);
    return known;
  };
  EXPECT_EQ(message(Q, 0),
            "argument 'q': null address of a tensor that is not empty");
  EXPECT_EQ(message(K, 0x20000008),
            "argument 'k': address 0x20000008 is not a multiple of 16");
  EXPECT_NE(message(O, 0x10000000).find("shares memory with 'q'"),
            std::string::npos);
  EXPECT_NE(message(Lse, UINTPTR_MAX - 3).find("leave the address space"),
            std::string::npos);
  size_t before = fakeCudaNumLaunches();
  ASSERT_EQ(again(args), FA3_OK);
  EXPECT_EQ(fakeCudaNumLaunches(), before + 1);
}

TEST_F(LaunchAgainTest, FailuresForget) {
  load();
  std::vector<fa3_arg> args = arguments();
  for (const char *symbol :
       {"cuTensorMapReplaceAddress", "cuLaunchKernel", "cuCtxPushCurrent_v2"}) {
    ASSERT_EQ(again(args), FA3_OK) << program.message();
    fakeCudaFail(symbol, 1, 1);
    EXPECT_EQ(again(moved(args, 512)), FA3_ERROR_DRIVER) << symbol;
    EXPECT_EQ(fakeCudaCurrent(), 0);
    ASSERT_EQ(again(moved(args, 1024)), FA3_OK) << program.message();
    expectAsWithout(moved(args, 1024));
  }
}

TEST_F(LaunchAgainTest, AnotherProgramOrPlaceKnowsNothing) {
  load();
  std::vector<fa3_arg> args = arguments();
  ASSERT_EQ(again(args), FA3_OK);
  std::vector<char> copy = memo;
  memo.swap(copy);
  ASSERT_EQ(again(args), FA3_OK);
  EXPECT_EQ(fakeCudaCalls("cuTensorMapReplaceAddress"), 0);
  EXPECT_EQ(fakeCudaCalls("cuTensorMapEncodeTiled"), 8);
  // One that may have the address of the first.
  ASSERT_EQ(program.reset(), FA3_OK);
  load();
  ASSERT_EQ(again(args), FA3_OK);
  EXPECT_EQ(fakeCudaCalls("cuTensorMapEncodeTiled"), 12);
}

TEST_F(LaunchAgainTest, Workspaces) {
  load(withWorkspaces());
  std::vector<fa3_arg> args = arguments();
  int64_t size;
  ASSERT_EQ(fa3_workspace_size(program.get(), args.data(), args.size(), &size,
                               &program.status),
            FA3_OK);
  for (uintptr_t workspace : {0x90000000, 0x90000000, 0xa0000000}) {
    ASSERT_EQ(again(args, nullptr, workspace, size), FA3_OK)
        << program.message();
    // The second workspace, behind the first, which is rounded up.
    EXPECT_EQ(fakeCudaLaunch(fakeCudaNumLaunches() - 1)->params[4],
              workspace + 256);
  }
  EXPECT_EQ(again(args, nullptr, 0xa0000010, size), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(program.message(), "address 0xa0000010 of the workspace is not a "
                               "multiple of 256");
  EXPECT_EQ(again(args, nullptr, 0xa0000000, size - 1), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(again(args), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(again(args, nullptr, 0x10000000, size), FA3_ERROR_ARGUMENT);
  EXPECT_NE(program.message().find("shares memory with argument 'q'"),
            std::string::npos);
}

TEST_F(LaunchAgainTest, CountersAreThoseOfTheLaunch) {
  load(replaced(manifest(), R"({"kind": "pointer", "source": "lse"})",
                R"({"kind": "counter"})"));
  std::vector<fa3_arg> args = arguments();
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(again(args), FA3_OK) << program.message();
  uint64_t first = fakeCudaLaunch(0)->params[4];
  EXPECT_EQ(fakeCudaLaunch(1)->params[4], first + 4);
  EXPECT_EQ(fakeCudaLaunch(2)->params[4], first + 8);
}

TEST_F(LaunchAgainTest, WithoutMemo) {
  load();
  std::vector<fa3_arg> args = arguments();
  EXPECT_EQ(fa3_launch_again(program.get(), args.data(), args.size(), nullptr,
                             0, nullptr, nullptr, &program.status),
            FA3_OK);
  EXPECT_EQ(fa3_memo_size(nullptr), 0u);
  EXPECT_EQ(fa3_launch_again(nullptr, args.data(), args.size(), nullptr, 0,
                             nullptr, memo.data(), &program.status),
            FA3_ERROR_ARGUMENT);
  args.pop_back();
  EXPECT_EQ(again(args), FA3_ERROR_ARGUMENT);
}

} // namespace
