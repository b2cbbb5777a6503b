//===- OverlapTest.cpp - memory that two arguments share ------------------===//
// SPDX-License-Identifier: Apache-2.0
extern "C" {
#include "Overlap.h"
}
#include "TestSupport.h"
#include "gtest/gtest.h"

#include <functional>
#include <map>
#include <random>

using namespace fa3test;

namespace {

fa3_arg tensor(fa3_type type, uintptr_t address, std::vector<int64_t> shape,
               std::vector<int64_t> stride) {
  return fa3_tensor(type, reinterpret_cast<void *>(address),
                    static_cast<int32_t>(shape.size()), shape.data(),
                    stride.data());
}

/// How many elements every byte belongs to.
std::map<uint64_t, int> bytesOf(const fa3_arg &arg) {
  std::map<uint64_t, int> bytes;
  int64_t index[FA3_MAX_RANK] = {};
  for (;;) {
    uint64_t at = 0;
    for (int d = 0; d < arg.rank; ++d)
      at += index[d] * arg.stride[d];
    size_t size = fa3_type_size(arg.type);
    for (size_t b = 0; b < size; ++b)
      ++bytes[reinterpret_cast<uintptr_t>(arg.value.data) + at * size + b];
    int d = arg.rank - 1;
    while (d >= 0 && ++index[d] == arg.shape[d])
      index[d--] = 0;
    if (d < 0)
      return bytes;
  }
}

/// Every answer is that of writing all addresses down.
TEST(OverlapTest, AgreesWithEnumeration) {
  std::mt19937 random(7);
  auto draw = [&](fa3_type type) {
    std::vector<int64_t> shape, stride;
    for (int d = random() % 4; d >= 0; --d) {
      shape.push_back(1 + random() % 5);
      stride.push_back(random() % 24);
    }
    return tensor(type, 0x1000 + random() % 64 * fa3_type_size(type), shape,
                  stride);
  };
  int themselves = 0, pairs = 0, spans = 0;
  constexpr int rounds = 4000;
  for (int round = 0; round < rounds; ++round) {
    fa3_arg a = draw(round % 2 ? FA3_BF16 : FA3_F32);
    fa3_arg b = draw(round % 3 ? FA3_F8E5M2 : FA3_BF16);
    std::map<uint64_t, int> left = bytesOf(a), right = bytesOf(b);
    uint64_t span = std::prev(left.end())->first - left.begin()->first + 1;
    ASSERT_EQ(fa3_span(&a), span) << round;
    bool twice = false, shared = false;
    for (auto [at, count] : left) {
      twice |= count > 1;
      shared |= right.count(at) != 0;
    }
    ASSERT_EQ(fa3_overlaps_itself(&a), twice) << round;
    ASSERT_EQ(fa3_overlap(&a, &b), shared) << round;
    ASSERT_EQ(fa3_overlap(&b, &a), shared) << round;
    themselves += twice;
    pairs += shared;
    spans += !shared && left.begin()->first <= std::prev(right.end())->first &&
             right.begin()->first <= std::prev(left.end())->first;
  }
  // The sample has every kind.
  EXPECT_GT(themselves, rounds / 10);
  EXPECT_LT(themselves, rounds * 9 / 10);
  EXPECT_GT(pairs, rounds / 10);
  EXPECT_GT(spans, 50);
}

TEST(OverlapTest, LargeNumbers) {
  const int64_t far = int64_t(1) << 60;
  fa3_arg a = tensor(FA3_I8, 16, {2, 7}, {far * 7, 1});
  EXPECT_EQ(fa3_span(&a), uint64_t(far) * 7 + 7);
  EXPECT_FALSE(fa3_overlaps_itself(&a));
  fa3_arg b = tensor(FA3_I8, 16 + 7, {2, 7}, {far * 7, 1});
  EXPECT_FALSE(fa3_overlap(&a, &b));
  b.value.data = reinterpret_cast<void *>(16 + uint64_t(far) * 7 + 6);
  EXPECT_TRUE(fa3_overlap(&a, &b));
  EXPECT_TRUE(fa3_overlap(&b, &a));
  a = tensor(FA3_I8, 16, {far, 3}, {3, 2});
  EXPECT_TRUE(fa3_overlaps_itself(&a) == 0);
  a = tensor(FA3_I8, 16, {far, 3}, {4, 2});
  EXPECT_TRUE(fa3_overlaps_itself(&a));
}

class OverlapOfArgumentsTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(program.parse(manifest()), FA3_OK) << program.message();
  }

  std::string error(const std::function<void(std::vector<fa3_arg> &)> &change) {
    std::vector<fa3_arg> args = arguments();
    change(args);
    EXPECT_EQ(program.validate(args), FA3_ERROR_ARGUMENT);
    return program.message();
  }

  Program program;
};

TEST_F(OverlapOfArgumentsTest, RefusesWhatCannotBeMeant) {
  EXPECT_EQ(error([](auto &args) { args[O].value = args[Q].value; }),
            "argument 'o': is written, and shares memory with 'q' (0x10000000 "
            "and 0x10000000)");
  // The last byte of v, the first of o.
  EXPECT_EQ(error([](auto &args) {
              args[O].value.data =
                  (void *)(0x30000000 + 2 * 3 * 170 * 128 * 2 - 16);
            }),
            "argument 'o': is written, and shares memory with 'v' (0x3003fbf0 "
            "and 0x30000000)");
  EXPECT_EQ(
      error([](auto &args) { args[Lse].value.data = (void *)0x40000400; }),
      "argument 'o': is written, and shares memory with 'lse' "
      "(0x40000000 and 0x40000400)");
}

TEST_F(OverlapOfArgumentsTest, RefusesResultsThatOverlapThemselves) {
  const std::string text = "argument 'o': is written, and its strides put "
                           "several elements at one address";
  EXPECT_EQ(error([](auto &args) { args[O].stride[1] = 0; }), text);
  EXPECT_EQ(error([](auto &args) { args[O].stride[2] = 64; }), text);
  EXPECT_EQ(error([](auto &args) { args[O].stride[0] = args[O].stride[1]; }),
            text);
}

TEST_F(OverlapOfArgumentsTest, RefusesTheEndOfTheAddressSpace) {
  EXPECT_EQ(error([](auto &args) {
              args[Q].value.data = (void *)(UINTPTR_MAX - 15);
            }),
            "argument 'q': 460800 bytes from address 0xfffffffffffffff0 leave "
            "the address space");
}

TEST_F(OverlapOfArgumentsTest, AcceptsWhatCanBeMeant) {
  // What is read may be read twice; heads may be broadcast.
  std::vector<fa3_arg> args = arguments();
  args[V].value = args[K].value;
  args[K].stride[1] = 0;
  EXPECT_EQ(program.validate(args), FA3_OK) << program.message();
  // q and o packed: rows of one lie between rows of the other.
  args = arguments();
  for (int i : {Q, O}) {
    args[i].stride[2] = 2 * 128;
    args[i].stride[1] = 300 * 2 * 128;
    args[i].stride[0] = 3 * 300 * 2 * 128;
  }
  args[O].value.data = (void *)(0x10000000 + 128 * 2);
  EXPECT_EQ(program.validate(args), FA3_OK) << program.message();
  // One byte further they do not fit.
  args[O].value.data = (void *)(0x10000000 + 128 * 2 + 16);
  EXPECT_EQ(program.validate(args), FA3_ERROR_ARGUMENT);
  // Neighbors.
  args = arguments();
  args[O].value.data = (void *)(0x10000000 + 2 * 3 * 300 * 128 * 2);
  EXPECT_EQ(program.validate(args), FA3_OK) << program.message();
  // Empty results have no memory.
  args = arguments(Shape{2, 3, 0, 170});
  args[O].value = args[K].value;
  EXPECT_EQ(program.validate(args), FA3_OK) << program.message();
}

} // namespace
