//===- LaunchMemoryTest.cpp - counters and workspaces of launches ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "FakeCudaTest.h"

#include <set>
#include <thread>

using namespace fa3test;

namespace {

class LaunchMemoryTest : public FakeCudaTest {};

/// A kernel gives its counter back as it found it: launches go round through
/// zeroed numbers of memory that the program owns.
TEST_F(LaunchMemoryTest, CountersAreZeroAndGoRound) {
  std::string text =
      replaced(manifest(), R"({"kind": "pointer", "source": "lse"})",
               R"({"kind": "counter"})");
  load(text);
  EXPECT_EQ(fakeCudaCalls("cuMemAlloc_v2"), 2); // padding of tensors, counters
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(program.launch(arguments()), FA3_OK) << program.message();
  ASSERT_EQ(fakeCudaNumLaunches(), 3u);
  uint64_t first = fakeCudaLaunch(0)->params[4];
  ASSERT_NE(first, 0u);
  for (uint64_t i = 0; i < 3; ++i) {
    uint64_t address = fakeCudaLaunch(i)->params[4];
    EXPECT_EQ(address, first + 4 * i);
    EXPECT_EQ(*reinterpret_cast<const uint32_t *>(address), 0u);
  }
}

TEST_F(LaunchMemoryTest, CountersAreFreedWhereLoadingFails) {
  std::string text =
      replaced(manifest(), R"({"kind": "pointer", "source": "lse"})",
               R"({"kind": "counter"})");
  fakeCudaFail("cuMemAlloc_v2", 2, 2);
  EXPECT_NE(program.load(text, ptx()), FA3_OK);
  EXPECT_NE(program.message().find("allocating memory for counters"),
            std::string::npos)
      << program.message();
  EXPECT_EQ(fakeCudaLiveAllocations(), 0);
}

std::string withCounter() {
  return replaced(manifest(), R"({"kind": "pointer", "source": "lse"})",
                  R"({"kind": "counter"})");
}

/// A graph keeps its counters: none is lent twice, however many are captured.
/// The driver allows no allocation meanwhile but to a thread that says that it
/// takes care.
TEST_F(LaunchMemoryTest, EveryCapturedLaunchHasItsCounter) {
  load(withCounter());
  void *stream = reinterpret_cast<void *>(0x99);
  std::vector<fa3_arg> args = arguments(Shape{1, 1, 1, 1});
  ASSERT_EQ(program.launch(args, stream), FA3_OK) << program.message();
  std::set<uint64_t> seen = {fakeCudaLaunch(0)->params[4]};
  fakeCudaCapture(stream);
  constexpr size_t count = 40000;
  for (size_t i = 1; i <= count; ++i) {
    ASSERT_EQ(program.launch(args, stream), FA3_OK) << program.message();
    uint64_t address = fakeCudaLaunch(i)->params[4];
    ASSERT_TRUE(seen.insert(address).second) << i;
    ASSERT_EQ(*reinterpret_cast<const uint32_t *>(address), 0u) << i;
  }
  // 2^14 were there, and come in turn.
  EXPECT_EQ(fakeCudaCalls("cuMemAlloc_v2"), 2 + 2);
  EXPECT_EQ(fakeCudaCaptureMode(), 0);
  // The other streams go on as before.
  fakeCudaCapture(nullptr);
  ASSERT_EQ(program.launch(args), FA3_OK) << program.message();
  EXPECT_EQ(fakeCudaLaunch(count + 1)->params[4],
            fakeCudaLaunch(0)->params[4] + 4);
}

TEST_F(LaunchMemoryTest, FailuresOfMoreCountersAreErrors) {
  void *stream = reinterpret_cast<void *>(0x99);
  std::vector<fa3_arg> args = arguments(Shape{1, 1, 1, 1});
  for (const char *symbol :
       {"cuThreadExchangeStreamCaptureMode", "cuMemAlloc_v2", "cuStreamCreate",
        "cuMemsetD8Async", "cuStreamSynchronize", "cuStreamDestroy_v2"}) {
    fakeCudaReset();
    load(withCounter());
    int before = fakeCudaLiveAllocations();
    fakeCudaCapture(stream);
    for (size_t i = 0; i < 1 << 14; ++i)
      ASSERT_EQ(program.launch(args, stream), FA3_OK) << program.message();
    fakeCudaFail(symbol, 1, 2);
    EXPECT_EQ(program.launch(args, stream), FA3_ERROR_DRIVER) << symbol;
    EXPECT_NE(program.message().find("counters for captured launches"),
              std::string::npos)
        << program.message();
    EXPECT_EQ(fakeCudaLiveAllocations(), before) << symbol;
    EXPECT_EQ(fakeCudaLiveStreams(), 0) << symbol;
    EXPECT_EQ(fakeCudaCaptureMode(), 0) << symbol;
    // The next one tries again.
    EXPECT_EQ(program.launch(args, stream), FA3_OK) << program.message();
    fakeCudaCapture(nullptr);
    EXPECT_EQ(program.reset(), FA3_OK) << program.message();
  }
}

TEST_F(LaunchMemoryTest, ThreadsCaptureOneProgram) {
  load(withCounter());
  constexpr int numThreads = 4, rounds = 6000;
  fakeCudaCapture(reinterpret_cast<void *>(0x99));
  std::vector<int> failures(numThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < numThreads; ++t)
    threads.emplace_back([&, t] {
      std::vector<fa3_arg> args = arguments(Shape{1, 1, 1, 1});
      fa3_status status;
      for (int i = 0; i < rounds; ++i)
        failures[t] +=
            fa3_launch(program.get(), args.data(), args.size(),
                       reinterpret_cast<void *>(0x99), &status) != FA3_OK;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures, std::vector<int>(numThreads));
  std::set<uint64_t> seen;
  for (size_t i = 0; i < fakeCudaNumLaunches(); ++i)
    EXPECT_TRUE(seen.insert(fakeCudaLaunch(i)->params[4]).second) << i;
  EXPECT_EQ(seen.size(), size_t(numThreads * rounds));
}

TEST_F(LaunchMemoryTest, LendsWorkspaces) {
  load(withWorkspaces());
  std::vector<fa3_arg> args = arguments();
  int64_t size = 0;
  ASSERT_EQ(fa3_workspace_size(program.get(), args.data(), args.size(), &size,
                               &program.status),
            FA3_OK);
  // Each starts at a multiple of 256.
  EXPECT_EQ(size, 256 + (3 * 300 * 4 + 255) / 256 * 256);
  EXPECT_EQ(fa3_program_num_args(program.get()), args.size());
  EXPECT_EQ(program.validate(args), FA3_OK) << program.message();

  auto launch = [&](uintptr_t memory, int64_t bytes) {
    return fa3_launch_with_workspace(program.get(), args.data(), args.size(),
                                     reinterpret_cast<void *>(memory), bytes,
                                     nullptr, &program.status);
  };
  ASSERT_EQ(launch(0x90000000, size), FA3_OK) << program.message();
  ASSERT_EQ(fakeCudaNumLaunches(), 1u);
  EXPECT_EQ(fakeCudaLaunch(0)->params[4], 0x90000100u);
  EXPECT_EQ(fakeCudaLaunch(0)->params[6], 303u);

  EXPECT_EQ(launch(0x90000000, size - 1), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(program.message(),
            "'attention' needs 4096 bytes of workspace, got 4095 "
            "(fa3_launch_with_workspace)");
  EXPECT_EQ(launch(0x90000010, size), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(program.message(), "address 0x90000010 of the workspace is not a "
                               "multiple of 256");
  EXPECT_EQ(program.launch(args), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(program.message(), "'attention' needs 4096 bytes of workspace, got "
                               "0 (fa3_launch_with_workspace)");
  EXPECT_EQ(fakeCudaNumLaunches(), 1u);
  // Memory of arguments, and beyond the end.
  EXPECT_EQ(launch(0x10000000 - 256, size), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(program.message(), "the workspace shares memory with argument 'q' "
                               "(0xfffff00 and 0x10000000)");
  EXPECT_EQ(launch(0x50000000, size), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(launch(UINTPTR_MAX - 255, size), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(program.message(), "4096 bytes of workspace from address "
                               "0xffffffffffffff00 leave the address space");
  EXPECT_EQ(fakeCudaNumLaunches(), 1u);
}

TEST_F(LaunchMemoryTest, RefusesShapesOfWorkspaces) {
  std::vector<fa3_arg> args = arguments();
  int64_t size;
  auto message = [&](const std::string &extent) {
    load(replaced(withWorkspaces(), "\"100\"", "\"" + extent + "\""));
    EXPECT_EQ(fa3_workspace_size(program.get(), args.data(), args.size(), &size,
                                 &program.status),
              FA3_ERROR_ARGUMENT);
    std::string text = program.message();
    EXPECT_EQ(program.reset(), FA3_OK);
    return text;
  };
  EXPECT_EQ(message("q.shape[2] - 301"),
            "workspace 'a': extent -1 of dimension 0 is negative");
  EXPECT_EQ(message("9223372036854775807"),
            "workspaces of 'attention': more than 2^63 bytes");
}

TEST_F(LaunchMemoryTest, NeedsNoWorkspaceForOthers) {
  load();
  std::vector<fa3_arg> args = arguments();
  int64_t size = 1;
  ASSERT_EQ(fa3_workspace_size(program.get(), args.data(), args.size(), &size,
                               &program.status),
            FA3_OK);
  EXPECT_EQ(size, 0);
  EXPECT_EQ(fa3_launch_with_workspace(program.get(), args.data(), args.size(),
                                      nullptr, 0, nullptr, &program.status),
            FA3_OK);
}

} // namespace
