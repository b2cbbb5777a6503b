//===- DeviceExecutorTest.cpp - a problem on a GPU ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Against a driver that executes nothing but a function of the test.
//===----------------------------------------------------------------------===//

#include "fa3/Tools/Run/DeviceExecutor.h"
#include "../Runtime/FakeCuda.h"
#include "fa3/InitAllDialects.h"
#include "fa3/Tools/Run/Signature.h"
#include "fa3/Tools/Run/Timing.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace mlir;
using namespace fa3;
using namespace fa3::run;

namespace {

/// Index of the parameters of `step`.
enum Parameter { X, Y, Z, Count };

constexpr int kIllegalAddress = 700;

const std::string kPTX = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry step(.param .u64 x, .param .u64 y, .param .u64 z,
                     .param .u32 count) { ret; }
)";

/// y = x + 1, z += x for the first `count` elements.
std::string getManifest() {
  std::string hash = llvm::formatv("{0:x-16}", fa3_hash(kPTX.data(), //
                                                        kPTX.size()));
  return R"({"schema": 1, "producer": "test", "function": "step",
    "chip": "sm_90a", "ptx_isa": "8.0", "requires": [], "workspaces": [],
    "args": [
      {"name": "x", "kind": "tensor", "type": "f32", "dims": ["n"],
       "access": "read"},
      {"name": "y", "kind": "tensor", "type": "f32", "dims": ["n"],
       "access": "write"},
      {"name": "z", "kind": "tensor", "type": "f32", "dims": ["n"],
       "access": "readwrite"},
      {"name": "count", "kind": "scalar", "type": "i32"}],
    "launches": [{"kernel": "step", "grid": "1", "block": 1, "smem": 0,
      "args": [{"kind": "pointer", "source": "x"},
               {"kind": "pointer", "source": "y"},
               {"kind": "pointer", "source": "z"},
               {"kind": "i32", "value": "count"}]}],
    "flops": "2 * x.shape[0]", "ptx_hash": ")" +
         hash + "\"}";
}

/// The correct kernel, in host memory.
int step(const FakeLaunch *launch) {
  auto *x = reinterpret_cast<float *>(launch->params[X]);
  auto *y = reinterpret_cast<float *>(launch->params[Y]);
  auto *z = reinterpret_cast<float *>(launch->params[Z]);
  for (uint32_t i = 0; i < static_cast<uint32_t>(launch->params[Count]); ++i) {
    y[i] = x[i] + 1;
    z[i] += x[i];
  }
  return 0;
}

class DeviceExecutorTest : public testing::Test {
protected:
  DeviceExecutorTest() {
    setenv("FA3_LIBCUDA", FA3_FAKE_CUDA, /*overwrite=*/1);
    fakeCudaReset();
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    code.manifest = getManifest();
    code.image = kPTX;
    std::string reason;
    device = Device::open(0, reason);
    EXPECT_TRUE(device) << reason;
  }

  /// A problem of 5 elements with x = 3 and z = 10.
  void makeProblem(double count = 5) {
    auto read = readSignature(code.manifest, "step.json", context);
    ASSERT_TRUE(succeeded(read));
    signature = std::move(*read);
    ProblemOptions options;
    options.dims["n"] = 5;
    options.scalars["count"] = count;
    options.fills["x"] = 3;
    options.fills["z"] = 10;
    auto created =
        Problem::create(signature.function, options, signature.accesses);
    ASSERT_TRUE(succeeded(created));
    problem = std::move(*created);
  }
  void makeExecutor() {
    auto created = DeviceExecutor::create(code, *problem);
    ASSERT_TRUE(succeeded(created));
    executor = std::move(*created);
  }

  std::vector<float> get(StringRef name) {
    std::vector<float> values;
    problem->find(name)->getArray()->forEach(
        [&](ArrayRef<int64_t>, uint8_t *element) {
          values.push_back(interp::loadAsDouble(interp::Format::F32, element));
        });
    return values;
  }
  bool isWritten(StringRef name, int64_t index) {
    return !interp::Array::isPoison(interp::Format::F32,
                                    problem->find(name)->getArray()->at(index));
  }

  MLIRContext context;
  DeviceCode code;
  Signature signature;
  std::optional<Problem> problem;
  std::unique_ptr<Device> device;
  std::unique_ptr<DeviceExecutor> executor;
};

TEST_F(DeviceExecutorTest, SignatureHasNamesTypesAndAccess) {
  makeProblem();
  ASSERT_EQ(problem->getArguments().size(), 4u);
  EXPECT_TRUE(problem->find("x")->access.read);
  EXPECT_FALSE(problem->find("x")->access.written);
  EXPECT_FALSE(problem->find("y")->access.read);
  EXPECT_TRUE(problem->find("z")->access.read);
  EXPECT_TRUE(problem->find("z")->access.written);
  EXPECT_EQ(std::get<int64_t>(problem->find("count")->value), 5);
}

TEST_F(DeviceExecutorTest, RunsOnCopiesOfTheArrays) {
  makeProblem();
  makeExecutor();
  fakeCudaSetKernel(step);
  ASSERT_TRUE(succeeded(executor->run()));
  EXPECT_EQ(get("y"), std::vector<float>(5, 4));
  EXPECT_EQ(get("z"), std::vector<float>(5, 13));
  EXPECT_EQ(get("x"), std::vector<float>(5, 3));
  EXPECT_EQ(executor->getFlops(), 10);
}

TEST_F(DeviceExecutorTest, OutputsStartAsPoison) {
  makeProblem(/*count=*/3);
  makeExecutor();
  fakeCudaSetKernel(step);
  ASSERT_TRUE(succeeded(executor->run()));
  EXPECT_TRUE(isWritten("y", 2));
  EXPECT_FALSE(isWritten("y", 3));
  EXPECT_EQ(get("z"), (std::vector<float>{13, 13, 13, 10, 10}));
}

TEST_F(DeviceExecutorTest, WritesBesideAnArrayAreErrors) {
  for (int64_t position : {-1, 5}) {
    makeProblem();
    makeExecutor();
    static int64_t offset;
    offset = position;
    fakeCudaSetKernel([](const FakeLaunch *launch) {
      step(launch);
      reinterpret_cast<float *>(launch->params[Y])[offset] = 1;
      return 0;
    });
    testing::internal::CaptureStderr();
    EXPECT_TRUE(failed(executor->run()));
    EXPECT_NE(testing::internal::GetCapturedStderr().find(
                  "memory beside argument 'y' was written"),
              std::string::npos);
  }
}

TEST_F(DeviceExecutorTest, KernelThatFailsIsAnError) {
  makeProblem();
  makeExecutor();
  fakeCudaSetKernel([](const FakeLaunch *) {
    fakeCudaPoison(kIllegalAddress);
    return 0;
  });
  testing::internal::CaptureStderr();
  EXPECT_TRUE(failed(executor->run()));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("kernel"),
            std::string::npos);
  executor.reset();
  fakeCudaPoison(0);
  fakeCudaDiscard();
}

TEST_F(DeviceExecutorTest, RepeatedRunsAreCompared) {
  // z is read and written: no two runs could be equal.
  makeProblem();
  makeExecutor();
  testing::internal::CaptureStderr();
  EXPECT_TRUE(failed(executor->countDifferences(3)));
  testing::internal::GetCapturedStderr();
  executor.reset();

  size_t at = code.manifest.find("readwrite");
  code.manifest.replace(at, 9, "read");
  makeProblem();
  makeExecutor();
  fakeCudaSetKernel([](const FakeLaunch *launch) {
    float value = fakeCudaNumLaunches() == 3 ? 2 : 1;
    for (int i = 0; i < 5; ++i)
      reinterpret_cast<float *>(launch->params[Y])[i] = value;
    return 0;
  });
  ASSERT_TRUE(succeeded(executor->run()));
  auto differing = executor->countDifferences(4);
  ASSERT_TRUE(succeeded(differing));
  EXPECT_EQ(*differing, 1);
}

TEST_F(DeviceExecutorTest, TimesByEvents) {
  makeProblem();
  makeExecutor();
  auto single = measure(*executor, TimingMode::Single, 3);
  ASSERT_TRUE(succeeded(single));
  // Every interval of the fake driver takes 1.5 ms.
  EXPECT_EQ(single->median, 1.5);
  EXPECT_EQ(single->megahertz, 2000);
  size_t before = fakeCudaNumLaunches();
  auto burst = measure(*executor, TimingMode::Burst, 4);
  ASSERT_TRUE(succeeded(burst));
  EXPECT_EQ(burst->median, 1.5);
  EXPECT_EQ(burst->megahertz, 0);
  EXPECT_EQ(fakeCudaNumLaunches() - before, 7u);
}

TEST_F(DeviceExecutorTest, MistakesAreMessages) {
  makeProblem();
  code.image += "// changed";
  testing::internal::CaptureStderr();
  EXPECT_TRUE(failed(DeviceExecutor::create(code, *problem)));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("fa3-run: error: "),
            std::string::npos);
  executor.reset();
  EXPECT_EQ(fakeCudaLiveAllocations(), 0);
}

TEST_F(DeviceExecutorTest, NoDeviceThatCanRunKernels) {
  std::string reason;
  EXPECT_FALSE(Device::open(7, reason));
  EXPECT_FALSE(reason.empty());
  fakeCudaSetDevice(10, 0, 148, 232448);
  EXPECT_FALSE(Device::open(0, reason));
  EXPECT_NE(reason.find("compute capability 10.0"), std::string::npos);
}

} // namespace
