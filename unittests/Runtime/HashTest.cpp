//===- HashTest.cpp - the hash of the runtime is LLVM's -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Runtime/fa3_runtime.h"
#include "llvm/Support/xxhash.h"
#include "gtest/gtest.h"

#include <random>

namespace {

TEST(HashTest, AgreesWithLLVMForAllLengths) {
  // All paths of the algorithm: up to 240 bytes case by case, then stripes and
  // blocks of 1024 bytes with every kind of rest.
  std::mt19937 random(1);
  std::vector<uint8_t> data(5000);
  for (uint8_t &byte : data)
    byte = static_cast<uint8_t>(random());
  for (size_t size = 0; size <= data.size(); ++size)
    ASSERT_EQ(fa3_hash(data.data(), size),
              llvm::xxh3_64bits(llvm::ArrayRef(data.data(), size)))
        << size;
}

TEST(HashTest, AgreesWithLLVMOnLargeInput) {
  std::vector<uint8_t> data(1 << 20, 0xAB);
  for (size_t size : {size_t(1) << 20, (size_t(1) << 20) - 1, size_t(65536)})
    EXPECT_EQ(fa3_hash(data.data(), size),
              llvm::xxh3_64bits(llvm::ArrayRef(data.data(), size)));
}

TEST(HashTest, DependsOnEveryByte) {
  std::vector<uint8_t> data(300, 0);
  uint64_t plain = fa3_hash(data.data(), data.size());
  for (uint8_t &byte : data) {
    byte = 1;
    EXPECT_NE(fa3_hash(data.data(), data.size()), plain);
    byte = 0;
  }
}

} // namespace
