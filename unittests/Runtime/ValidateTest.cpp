//===- ValidateTest.cpp - checks of arguments -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "TestSupport.h"
#include "gtest/gtest.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace fa3test;

namespace {

class ValidateTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(program.parse(manifest()), FA3_OK) << program.message();
  }

  /// The error after a change of the default arguments.
  std::string error(const std::function<void(std::vector<fa3_arg> &)> &change,
                    fa3_code code = FA3_ERROR_ARGUMENT) {
    std::vector<fa3_arg> args = arguments();
    change(args);
    EXPECT_EQ(program.validate(args), code);
    EXPECT_EQ(program.status.code, code);
    return program.message();
  }

  Program program;
};

TEST_F(ValidateTest, AcceptsAndClearsTheStatus) {
  program.status.code = FA3_ERROR_DRIVER;
  EXPECT_EQ(program.validate(arguments()), FA3_OK) << program.message();
  EXPECT_EQ(program.status.code, FA3_OK);
  EXPECT_EQ(program.message(), "");
}

TEST_F(ValidateTest, Signature) {
  EXPECT_EQ(error([](auto &args) { args.pop_back(); }),
            "6 arguments, 'attention' takes 7");
  EXPECT_EQ(fa3_validate(program.get(), nullptr, 7, nullptr),
            FA3_ERROR_ARGUMENT);
  EXPECT_EQ(error([](auto &args) { args[Q] = args[Scale]; }),
            "argument 'q': a scalar, expected a tensor");
  EXPECT_EQ(error([](auto &args) { args[Scale] = args[Q]; }),
            "argument 'scale': a tensor, expected a scalar");
  EXPECT_EQ(error([](auto &args) { args[K].type = FA3_F16; }),
            "argument 'k': element type f16, expected bf16");
  EXPECT_EQ(error([](auto &args) { args[K].type = fa3_type(99); }),
            "argument 'k': element type an unknown type, expected bf16");
  EXPECT_EQ(error([](auto &args) { args[Q].rank = 3; }),
            "argument 'q': rank 3, expected 4");
  EXPECT_EQ(error([](auto &args) { args[Q].rank = 1000; }),
            "argument 'q': rank 1000, expected 4");
  EXPECT_EQ(error([](auto &args) { args[Q].shape[2] = -5; }),
            "argument 'q': extent -5 of dimension 2 is negative");
}

TEST_F(ValidateTest, Scalars) {
  EXPECT_EQ(error([](auto &args) {
              args[Window] = fa3_scalar_integer(FA3_I32, int64_t(1) << 31);
            }),
            "argument 'window': 2147483648 is beyond the range of i32");
  EXPECT_EQ(
      error([](auto &args) { args[Window] = fa3_scalar_integer(FA3_I64, 3); }),
      "argument 'window': element type i64, expected i32");
  EXPECT_EQ(
      error([](auto &args) { args[Scale] = fa3_scalar_real(FA3_F32, 1e300); }),
      "argument 'scale': 1e+300 is beyond the range of f32");
  for (double value : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    std::vector<fa3_arg> args = arguments();
    args[Scale].value.real = value;
    EXPECT_EQ(program.validate(args), FA3_OK) << program.message();
  }
}

TEST_F(ValidateTest, Extents) {
  EXPECT_EQ(error([](auto &args) { args[Q].shape[3] = 64; }),
            "argument 'q': extent 64 of dimension 3, expected 128");
  EXPECT_EQ(error([](auto &args) { args[K].shape[1] = 7; }),
            "argument 'k': extent 7 of dimension 1 ('h'), but 'q' has 3 in "
            "dimension 1");
  EXPECT_EQ(error([](auto &args) { args[V].shape[2] = 171; }),
            "argument 'v': extent 171 of dimension 2 ('sk'), but 'k' has 170 "
            "in dimension 2");
}

TEST_F(ValidateTest, Strides) {
  EXPECT_EQ(error([](auto &args) { args[Q].stride[3] = 2; }),
            "argument 'q': stride 2 of dimension 3, expected 1 in the "
            "innermost dimension");
  EXPECT_EQ(error([](auto &args) { args[Q].stride[1] = -128; }),
            "argument 'q': stride -128 of dimension 1 is negative");
  EXPECT_EQ(error([](auto &args) { args[Q].stride[0] = INT64_MAX; }),
            "argument 'q': spans more than 2^63 elements");
  EXPECT_EQ(error([](auto &args) { args[Q].stride[0] = INT64_MAX / 2; }),
            "argument 'q': spans more than 2^63 bytes");
  EXPECT_EQ(error([](auto &args) { args[Q].stride[2] = 129; }),
            "argument 'q': stride of 258 bytes of tensor map dimension 1 is "
            "not a multiple of 16 between 0 and 2^40");
  EXPECT_EQ(error([](auto &args) { args[Q].stride[0] = int64_t(1) << 39; }),
            "argument 'q': stride of 1099511627776 bytes of tensor map "
            "dimension 3 is not a multiple of 16 between 0 and 2^40");
  // The strides of a tensor without tensor map are free but for the innermost.
  std::vector<fa3_arg> args = arguments();
  args[Lse].stride[0] = 1000;
  args[Lse].stride[1] = 333;
  EXPECT_EQ(program.validate(args), FA3_OK) << program.message();
  args[Lse].stride[2] = 2;
  EXPECT_EQ(program.validate(args), FA3_ERROR_ARGUMENT);
}

TEST_F(ValidateTest, StridesOfExtentOneAreFree) {
  std::vector<fa3_arg> args = arguments(Shape{1, 1, 1, 1});
  for (int i : {Q, K, V, O, Lse})
    for (int d = 0; d < 3; ++d)
      args[i].stride[d] = d == 0 ? -7 : 12345;
  EXPECT_EQ(program.validate(args), FA3_OK) << program.message();
}

TEST_F(ValidateTest, InnermostStrideThatAKernelReads) {
  // A kernel that is given the stride need not have it 1.
  Program strided;
  ASSERT_EQ(strided.parse(
                replaced(manifest(), "\"lse.stride[1]\"", "\"lse.stride[2]\"")),
            FA3_OK);
  std::vector<fa3_arg> args = arguments();
  for (int64_t &stride : args[Lse].stride)
    stride *= 2;
  EXPECT_EQ(strided.validate(args), FA3_OK) << strided.message();
}

TEST_F(ValidateTest, TransposedTensorMap) {
  // The map says which dimension is innermost.
  std::string text = manifest();
  text = replaced(text, "[\"v.shape[3]\", \"v.shape[2]\"",
                  "[\"v.shape[2]\", \"v.shape[3]\"");
  text = replaced(text, "\"2 * v.stride[2]\"", "\"2 * v.stride[3]\"");
  Program transposed;
  ASSERT_EQ(transposed.parse(text), FA3_OK) << transposed.message();
  std::vector<fa3_arg> args = arguments(Shape{2, 3, 300, 160});
  EXPECT_EQ(transposed.validate(args), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(transposed.message(), "argument 'v': stride 128 of dimension 2, "
                                  "expected 1 for a tensor map");
  args[V].stride[2] = 1;
  args[V].stride[3] = 160;
  EXPECT_EQ(transposed.validate(args), FA3_OK) << transposed.message();
}

TEST_F(ValidateTest, Addresses) {
  EXPECT_EQ(error([](auto &args) { args[Q].value.data = nullptr; }),
            "argument 'q': null address of a tensor that is not empty");
  EXPECT_EQ(error([](auto &args) { args[Q].value.data = (void *)0x1008; }),
            "argument 'q': address 0x1008 is not a multiple of 16");
  EXPECT_EQ(error([](auto &args) { args[Lse].value.data = (void *)0x1002; }),
            "argument 'lse': address 0x1002 is not a multiple of 4");
  std::vector<fa3_arg> args = arguments();
  args[Lse].value.data = (void *)0x1004;
  EXPECT_EQ(program.validate(args), FA3_OK) << program.message();
}

TEST_F(ValidateTest, EmptyTensors) {
  std::vector<fa3_arg> args = arguments(Shape{2, 3, 300, 0});
  args[K].value.data = args[V].value.data = nullptr;
  EXPECT_EQ(program.validate(args), FA3_OK) << program.message();
  args = arguments(Shape{0, 3, 300, 100});
  for (int i : {Q, K, V, O, Lse})
    args[i].value.data = nullptr;
  EXPECT_EQ(program.validate(args), FA3_OK) << program.message();
}

TEST_F(ValidateTest, Requirements) {
  EXPECT_EQ(error([](auto &args) { args[Window].value.integer = -1; },
                  FA3_ERROR_REQUIREMENT),
            "window out of range: 'window >= 0 && window <= 1000' does not "
            "hold (window = -1)");
}

TEST_F(ValidateTest, RequirementsPrintWhatTheyRead) {
  Program other;
  ASSERT_EQ(other.parse(replaced(manifest(), "window >= 0 && window <= 1000",
                                 "q.shape[2] * 2 < k.stride[1] % device.sms")),
            FA3_OK);
  EXPECT_EQ(other.validate(arguments()), FA3_ERROR_REQUIREMENT);
  EXPECT_NE(other.message().find("(q.shape[2] = 300, k.stride[1] = 21760, "
                                 "device.sms = 132)"),
            std::string::npos)
      << other.message();
}

TEST_F(ValidateTest, RequirementsOnReals) {
  Program other;
  ASSERT_EQ(other.parse(replaced(manifest(), "window >= 0 && window <= 1000",
                                 "scale > 0 && 1.5 > scale")),
            FA3_OK);
  EXPECT_EQ(other.validate(arguments()), FA3_OK) << other.message();
  std::vector<fa3_arg> args = arguments();
  args[Scale].value.real = -0.5;
  EXPECT_EQ(other.validate(args), FA3_ERROR_REQUIREMENT);
  EXPECT_NE(other.message().find("(scale = -0.5, scale = -0.5)"),
            std::string::npos)
      << other.message();
}

TEST_F(ValidateTest, Grid) {
  std::vector<fa3_arg> args = arguments();
  int64_t blocks = 0;
  ASSERT_EQ(fa3_evaluate_grid(program.get(), 0, args.data(), args.size(),
                              &blocks, nullptr),
            FA3_OK);
  EXPECT_EQ(blocks, 12);
  EXPECT_EQ(fa3_evaluate_grid(program.get(), 1, args.data(), args.size(),
                              &blocks, nullptr),
            FA3_ERROR_ARGUMENT);
  const std::string formula =
      "ceildiv(q.shape[2], 192) * q.shape[1] * q.shape[0]";
  auto gridError = [&](const std::string &grid, const std::string &cluster) {
    Program other;
    EXPECT_EQ(
        other.parse(replaced(replaced(manifest(), formula, grid),
                             "\"cluster\": 1", "\"cluster\": " + cluster)),
        FA3_OK);
    EXPECT_EQ(other.validate(arguments()), FA3_ERROR_ARGUMENT);
    return other.message();
  };
  EXPECT_EQ(gridError("2147483648", "1"),
            "kernel 'fwd': grid of 2147483648 blocks is not between 0 and "
            "2147483647");
  EXPECT_EQ(gridError("window - 9", "1"),
            "kernel 'fwd': grid of -1 blocks is not between 0 and 2147483647");
  EXPECT_EQ(gridError("15", "2"), "kernel 'fwd': grid of 15 blocks is not a "
                                  "multiple of the cluster of 2");
}

TEST_F(ValidateTest, ValuesOfKernelArguments) {
  Program other;
  ASSERT_EQ(other.parse(replaced(manifest(), "\"window - 1\"",
                                 "\"window * 1000000000\"")),
            FA3_OK);
  EXPECT_EQ(other.validate(arguments()), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(other.message(),
            "launches[0].args[8]: 'window * 1000000000' is 8000000000, beyond "
            "the range of i32");
  EXPECT_EQ(error([](auto &args) {
              for (int i : {K, V}) {
                args[i].shape[2] = int64_t(1) << 32;
                args[i].stride[1] = args[i].stride[0] = 0;
                args[i].value.data = (void *)(uintptr_t(i) << 48);
              }
            }),
            "argument 'k': extent 4294967296 of tensor map dimension 1 is not "
            "between 0 and 4294967295");
}

TEST_F(ValidateTest, Costs) {
  int64_t value = 0;
  std::vector<fa3_arg> args = arguments();
  for (fa3_arg &arg : args)
    if (arg.kind == FA3_TENSOR)
      arg.value.data = nullptr; // costs do not depend on addresses
  ASSERT_EQ(program.flops(args, value), FA3_OK) << program.message();
  EXPECT_EQ(value, int64_t(4) * 2 * 3 * 300 * 170 * 128);
  ASSERT_EQ(fa3_evaluate(program.get(), FA3_BYTES, args.data(), args.size(),
                         &value, nullptr),
            FA3_OK);
  EXPECT_EQ(value, 4);
  EXPECT_EQ(fa3_evaluate(program.get(), fa3_quantity(7), args.data(),
                         args.size(), &value, nullptr),
            FA3_ERROR_ARGUMENT);
}

TEST_F(ValidateTest, AbsurdShapesAreRefused) {
  // Contiguous strides that would wrap around.
  int64_t shape[] = {int64_t(1) << 40, int64_t(1) << 40, 300, 128};
  EXPECT_EQ(error([&](auto &args) {
              args[Q] = fa3_tensor(FA3_BF16, (void *)0x1000, 4, shape, nullptr);
            }),
            "argument 'q': spans more than 2^63 elements");
  // More dimensions than an argument holds: the rank remains for the check.
  std::vector<int64_t> many(100, 1);
  EXPECT_EQ(error([&](auto &args) {
              args[Q] = fa3_tensor(FA3_BF16, (void *)0x1000, 100, many.data(),
                                   many.data());
            }),
            "argument 'q': rank 100, expected 4");
}

TEST_F(ValidateTest, LaunchNeedsCode) {
  EXPECT_EQ(program.launch(arguments()), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(program.message(), "program 'attention' was loaded without code");
}

TEST(TypeTest, Names) {
  for (int i = FA3_F16; i <= FA3_I64; ++i) {
    fa3_type type;
    ASSERT_TRUE(fa3_type_from_name(fa3_type_name(fa3_type(i)), &type));
    EXPECT_EQ(type, i);
    EXPECT_GT(fa3_type_size(type), 0u);
  }
  fa3_type type;
  EXPECT_FALSE(fa3_type_from_name("f33", &type));
  EXPECT_FALSE(fa3_type_from_name(nullptr, &type));
  EXPECT_EQ(fa3_type_name(fa3_type(99)), nullptr);
  EXPECT_EQ(fa3_type_size(fa3_type(-1)), 0u);
}

} // namespace
