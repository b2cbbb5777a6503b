//===- HostTest.cpp - programs that carry kernels, on a fake driver -------===//
// SPDX-License-Identifier: Apache-2.0
#include "FakeCudaTest.h"
#include "fa3/Runtime/fa3_host.h"

#include <cstring>
#include <deque>
#include <thread>

using namespace fa3test;

namespace {

class HostTest : public FakeCudaTest {
protected:
  void SetUp() override {
    FakeCudaTest::SetUp();
    errors.clear();
    fa3_host_set_handler(
        [](void *user, const char *function, const fa3_status *status) {
          static_cast<HostTest *>(user)->errors.push_back(
              std::string(function) + ": " + status->message);
        },
        this);
  }
  void TearDown() override {
    fa3_status status;
    EXPECT_EQ(fa3_host_release(&status), FA3_OK) << status.message;
    fa3_host_set_handler(nullptr, nullptr);
    fa3_host_set_stream(nullptr);
    FakeCudaTest::TearDown();
  }

  /// A program of `text` and the PTX of the tests.
  fa3_host_program &make(const std::string &text,
                         fa3_host_memory memory = FA3_HOST_ON_DEVICE) {
    manifestText = text;
    image = ptx();
    programs.push_back({"fwd", manifestText.c_str(),
                        static_cast<int64_t>(manifestText.size()),
                        image.c_str(), static_cast<int64_t>(image.size()),
                        FA3_HOST_PTX, memory, nullptr});
    return programs.back();
  }
  void launch(fa3_host_program &host, const std::vector<fa3_arg> &args) {
    fa3_host_launch(&host, args.data(), static_cast<int64_t>(args.size()));
  }

  std::string manifestText, image;
  std::deque<fa3_host_program> programs; ///< until they are released
  std::vector<std::string> errors;
};

TEST_F(HostTest, LoadsOnceAndLaunchesOnTheStreamOfTheThread) {
  fa3_host_program &host = make(manifest());
  int stream;
  launch(host, arguments());
  fa3_host_set_stream(&stream);
  launch(host, arguments());
  std::thread([&] { launch(host, arguments()); }).join();
  ASSERT_EQ(errors.size(), 0u) << errors.front();
  EXPECT_EQ(fakeCudaLiveModules(), 1);
  ASSERT_EQ(fakeCudaNumLaunches(), 3u);
  EXPECT_EQ(fakeCudaLaunch(0)->stream, 0u);
  EXPECT_EQ(fakeCudaLaunch(1)->stream, reinterpret_cast<uint64_t>(&stream));
  EXPECT_EQ(fakeCudaLaunch(2)->stream, 0u);
  // What is released is loaded again.
  ASSERT_EQ(fa3_host_release(nullptr), FA3_OK);
  EXPECT_EQ(fakeCudaLiveModules(), 0);
  EXPECT_EQ(host.state, nullptr);
  launch(host, arguments());
  EXPECT_EQ(fakeCudaLiveModules(), 1);
}

TEST_F(HostTest, TellsTheHandler) {
  fa3_host_program &host = make(manifest());
  std::vector<fa3_arg> args = arguments();
  args[K].shape[0] = 7;
  launch(host, args);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].rfind("fwd: ", 0), 0u) << errors[0];
  EXPECT_EQ(fakeCudaNumLaunches(), 0u);
  fa3_host_program &broken = make("{");
  launch(broken, arguments());
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(broken.state, nullptr);
}

TEST_F(HostTest, KeepsWorkspacesOfAStream) {
  fa3_host_program &host = make(withWorkspaces());
  std::vector<fa3_arg> args = arguments();
  launch(host, args);
  ASSERT_EQ(errors.size(), 0u) << errors.front();
  int64_t live = fakeCudaLiveAllocations();
  EXPECT_GT(live, 0);
  launch(host, args);
  EXPECT_EQ(fakeCudaLiveAllocations(), live);
  ASSERT_EQ(fakeCudaNumLaunches(), 2u);
  EXPECT_EQ(fakeCudaLaunch(0)->params[4], fakeCudaLaunch(1)->params[4]);
  // Another stream has memory of its own; more is another piece.
  int stream;
  fa3_host_set_stream(&stream);
  launch(host, args);
  EXPECT_GT(fakeCudaLiveAllocations(), live);
  launch(host, arguments({4, 3, 900, 170}));
  ASSERT_EQ(errors.size(), 0u) << errors.front();
}

TEST_F(HostTest, LaunchesOnTheStreamAndInTheMemoryOfTheProgram) {
  fa3_host_program &host = make(withWorkspaces());
  std::vector<fa3_arg> args = arguments();
  int ofThread, ofProgram;
  EXPECT_EQ(fa3_host_stream(), nullptr);
  fa3_host_set_stream(&ofThread);
  EXPECT_EQ(fa3_host_stream(), &ofThread);
  auto count = static_cast<int64_t>(args.size());
  fa3_host_launch_on(&host, args.data(), count, &ofProgram, nullptr, 0);
  ASSERT_EQ(errors.size(), 0u) << errors.front();
  int64_t kept = fakeCudaLiveAllocations();
  // Nobody looks at it here.
  constexpr int64_t kSize = 1 << 24;
  auto *workspace = reinterpret_cast<void *>(uintptr_t(1) << 40);
  fa3_host_launch_on(&host, args.data(), count, &ofProgram, workspace, kSize);
  ASSERT_EQ(errors.size(), 0u) << errors.front();
  EXPECT_EQ(fakeCudaLiveAllocations(), kept);
  ASSERT_EQ(fakeCudaNumLaunches(), 2u);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(fakeCudaLaunch(i)->stream,
              reinterpret_cast<uint64_t>(&ofProgram));
  EXPECT_NE(fakeCudaLaunch(0)->params[4], fakeCudaLaunch(1)->params[4]);
  // Too little is an error, and not replaced.
  fa3_host_launch_on(&host, args.data(), count, &ofProgram, workspace, 256);
  EXPECT_EQ(errors.size(), 1u);
  EXPECT_EQ(fakeCudaNumLaunches(), 2u);
}

TEST_F(HostTest, CopiesPiecesOfHostMemory) {
  fa3_host_program &host = make(manifest(), FA3_HOST_COPIED);
  // q, k and v are slices of one array, o is one of another.
  Shape shape = {1, 1, 8, 8};
  constexpr int64_t kDim = 128;
  std::vector<uint16_t> packed(8 * 3 * kDim, 3), out(8 * 2 * kDim, 5);
  std::vector<float> lse(8, 7);
  std::vector<fa3_arg> args = arguments(shape);
  for (int i : {Q, K, V}) {
    args[i].value.data = packed.data() + i * kDim;
    args[i].stride[2] = 3 * kDim;
    args[i].stride[0] = args[i].stride[1] = 8 * 3 * kDim;
  }
  args[O].value.data = out.data();
  args[O].stride[2] = 2 * kDim;
  args[O].stride[0] = args[O].stride[1] = 8 * 2 * kDim;
  args[Lse].value.data = lse.data();
  launch(host, args);
  ASSERT_EQ(errors.size(), 0u) << errors.front();
  ASSERT_EQ(fakeCudaNumTensorMaps(), 4u);
  uint64_t q = fakeCudaTensorMap(0)->address, k = fakeCudaTensorMap(1)->address;
  EXPECT_NE(q, reinterpret_cast<uint64_t>(packed.data()));
  EXPECT_EQ(k - q, 2 * kDim);
  EXPECT_EQ(fakeCudaTensorMap(2)->address - k, 2u * kDim);
  // The driver computes nothing: all is as it was. Nothing but what a program
  // keeps for itself (counters) is left.
  EXPECT_EQ(out, std::vector<uint16_t>(out.size(), 5));
  EXPECT_EQ(lse, std::vector<float>(8, 7));
  int64_t live = fakeCudaLiveAllocations();
  launch(host, args);
  EXPECT_EQ(fakeCudaNumLaunches(), 2u);
  EXPECT_EQ(fakeCudaLiveAllocations(), live);
  EXPECT_LE(live, 1);

  args[Q].stride[2] = -1;
  launch(host, args);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("stride -1 of dimension 2"), std::string::npos)
      << errors[0];
}

TEST_F(HostTest, SaysThatThereIsNoInterpreter) {
  setenv("FA3_COMPILER_LIBRARY", "/nowhere/libfa3.so", 1);
  fa3_host_program &host = make(manifest());
  host.image_kind = FA3_HOST_IR;
  launch(host, arguments());
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("FA3_COMPILER_LIBRARY"), std::string::npos);
}

} // namespace
