//===- NpyFuzz.cpp - .npy files -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The first bytes of the input choose an array, the rest is read into it as a
// file. What was read, written and read again is the same.
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "fa3/Tools/Run/Npy.h"

#include <cstring>
#include <vector>

using namespace fa3;
using namespace fa3::interp;

static bool isSame(const Array &a, const Array &b) {
  return std::memcmp(a.getBase(), b.getBase(), a.getAllocatedBytes()) == 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Format, rank, extents of up to 15.
  constexpr size_t kRank = 3, kHeader = 2 + kRank;
  if (size < kHeader)
    return 0;
  auto format = static_cast<Format>(data[0] % 11);
  llvm::SmallVector<int64_t> shape;
  for (size_t i = 0; i < data[1] % (kRank + 1); ++i)
    shape.push_back(data[2 + i] % 16);
  Array array = Array::allocate(format, shape);
  // Memory of exactly the size.
  std::vector<char> file(data + kHeader, data + size);
  if (llvm::Error error =
          run::readNpy(llvm::StringRef(file.data(), file.size()), array)) {
    FA3_FUZZ_CHECK(!llvm::toString(std::move(error)).empty());
    return 0;
  }
  // Once more, since a NaN may lose bits that a format of files has not.
  Array second = Array::allocate(format, shape);
  FA3_FUZZ_CHECK(!run::readNpy(run::writeNpy(array), second));
  Array third = Array::allocate(format, shape);
  FA3_FUZZ_CHECK(!run::readNpy(run::writeNpy(second), third));
  FA3_FUZZ_CHECK(isSame(second, third));
  return 0;
}
