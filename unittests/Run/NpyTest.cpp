//===- NpyTest.cpp - .npy files, good and bad -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tools/Run/Npy.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace fa3;
using namespace fa3::interp;
using llvm::StringRef;

namespace {

/// A file with this dictionary and data.
std::string file(StringRef dictionary, StringRef data) {
  std::string contents("\x93NUMPY\x01\x00", 8);
  contents += static_cast<char>(dictionary.size() & 0xff);
  contents += static_cast<char>(dictionary.size() >> 8);
  return contents + dictionary.str() + data.str();
}

template <typename T>
std::string bytesOf(std::initializer_list<T> values) {
  std::string data;
  for (T value : values)
    data.append(reinterpret_cast<const char *>(&value), sizeof(T));
  return data;
}

std::string read(StringRef contents, const Array &array) {
  return llvm::toString(run::readNpy(contents, array));
}

double at(const Array &array, llvm::ArrayRef<int64_t> index) {
  return loadAsDouble(array.getFormat(), array.at(index));
}

} // namespace

TEST(Npy, RoundTrips) {
  for (Format format :
       {Format::F64, Format::F32, Format::F16, Format::BF16, Format::F8E4M3FN,
        Format::F8E5M2, Format::I8, Format::I32, Format::I64, Format::I1}) {
    Array array = Array::allocate(format, {3, 4}, {1, 0});
    int i = 0;
    array.forEach([&](llvm::ArrayRef<int64_t>, uint8_t *element) {
      storeAsDouble(format, i++ % 2 ? i * 0.5 : 1, element);
    });
    std::string contents = run::writeNpy(array);
    EXPECT_EQ((contents.size() - 12 * (format == Format::BF16 ||
                                               format == Format::F8E4M3FN ||
                                               format == Format::F8E5M2
                                           ? 4
                                           : getByteWidth(format))) %
                  64,
              0u);
    Array copy = Array::allocate(format, {3, 4});
    EXPECT_EQ(read(contents, copy), "");
    copy.forEach([&](llvm::ArrayRef<int64_t> index, uint8_t *element) {
      EXPECT_EQ(loadAsDouble(format, element), at(array, index));
    });
  }
}

TEST(Npy, ConvertsAndTransposes) {
  Array array = Array::allocate(Format::F16, {2, 2});
  std::string data = bytesOf<double>({1, 2, 3, 4});
  EXPECT_EQ(read(file("{'descr': '<f8', 'fortran_order': True, "
                      "'shape': (2, 2), }\n",
                      data),
                 array),
            "");
  EXPECT_EQ(at(array, {0, 1}), 3);
  EXPECT_EQ(at(array, {1, 0}), 2);
}

TEST(Npy, TakesRawBits) {
  Array array = Array::allocate(Format::BF16, {2});
  EXPECT_EQ(read(file("{'descr': '|V2', 'fortran_order': False, "
                      "'shape': (2,)}",
                      bytesOf<uint16_t>({0x3f80, 0xc000})),
                 array),
            "");
  EXPECT_EQ(at(array, {0}), 1);
  EXPECT_EQ(at(array, {1}), -2);
}

TEST(Npy, IntegersKeepTheirValueOrAreRefused) {
  Array array = Array::allocate(Format::I8, {2});
  auto wide = [](std::initializer_list<int64_t> values) {
    return file("{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}",
                bytesOf<int64_t>(values));
  };
  EXPECT_EQ(read(wide({-128, 127}), array), "");
  EXPECT_EQ(at(array, {0}), -128);
  EXPECT_EQ(at(array, {1}), 127);
  for (int64_t value : {int64_t(128), int64_t(-129), INT64_MAX, INT64_MIN})
    EXPECT_EQ(read(wide({0, value}), array),
              "the file has numbers that the argument, i8, cannot hold")
        << value;
  // More than a double holds.
  Array large = Array::allocate(Format::I64, {1});
  EXPECT_EQ(read(file("{'descr': '<u8', 'fortran_order': False, 'shape': "
                      "(1,)}",
                      bytesOf<uint64_t>({(uint64_t(1) << 53) + 1})),
                 large),
            "");
  EXPECT_EQ(*reinterpret_cast<int64_t *>(large.getFirst()),
            (int64_t(1) << 53) + 1);
}

TEST(Npy, OutOfRangeDoublesAreTheNearestInteger) {
  EXPECT_EQ(toInteger(0x1p63), INT64_MAX);
  EXPECT_EQ(toInteger(-0x1p63), INT64_MIN);
  EXPECT_EQ(toInteger(-1e300), INT64_MIN);
  EXPECT_EQ(toInteger(std::nan("")), 0);
  EXPECT_EQ(toInteger(-2.5), -2);
}

TEST(Npy, ScalarsHaveAnEmptyShape) {
  Array array = Array::allocate(Format::F32, {});
  EXPECT_EQ(read(file("{'shape': (), 'fortran_order': False, 'descr': '<f4'}",
                      bytesOf<float>({7})),
                 array),
            "");
  EXPECT_EQ(at(array, {}), 7);
}

TEST(Npy, MalformedFilesAreDiagnosed) {
  Array array = Array::allocate(Format::F32, {2});
  std::string good = file("{'descr': '<f4', 'fortran_order': False, "
                          "'shape': (2,), }",
                          bytesOf<float>({1, 2}));
  EXPECT_EQ(read(good, array), "");
  // Every prefix is an error, never a crash.
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(read(StringRef(good).take_front(size), array), "") << size;
  EXPECT_EQ(read(StringRef(good).drop_back(), array),
            "truncated: 8 bytes of data are announced, 7 are there");
  EXPECT_EQ(read("PK\x03\x04", array),
            "not an .npy file: the magic number is missing");

  auto header = [&](StringRef dictionary) {
    return read(file(dictionary, bytesOf<float>({1, 2})), array);
  };
  EXPECT_EQ(header("[]"), "malformed header: expected a dictionary");
  EXPECT_EQ(header("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}"),
            "big-endian data ('>f4') is not supported");
  EXPECT_EQ(header("{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}"),
            "element type '<c8' is not supported");
  EXPECT_EQ(header("{'descr': '<f3', 'fortran_order': False, 'shape': (2,)}"),
            "element type '<f3' is not supported");
  EXPECT_EQ(header("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}"),
            "truncated: 12 bytes of data are announced, 8 are there");
  EXPECT_EQ(header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}"),
            "the file has shape (1), the argument (2)");
  EXPECT_EQ(header("{'descr': '<f4', 'fortran_order': False, "
                   "'shape': (-1,)}"),
            "malformed header: 'shape' is no tuple of extents");
  EXPECT_EQ(header("{'descr': '<f4', 'fortran_order': False, 'shape': "
                   "(4294967296, 4294967296, 4294967296)}"),
            "malformed header: 'shape' is no tuple of extents");
  EXPECT_EQ(header("{'descr': '<f4', 'shape': (2,)}"),
            "malformed header: expected the keys 'descr', 'fortran_order' and "
            "'shape'");
  EXPECT_EQ(header("{'descr': '<f4', 'color': 'red'}"),
            "malformed header: unknown key 'color'");
  EXPECT_EQ(header("{'descr': [('x', '<f4')], 'fortran_order': False}"),
            "malformed header: 'descr' is no string (structured types are not "
            "supported)");

  Array integers = Array::allocate(Format::I32, {2});
  EXPECT_EQ(read(good, integers), "the file has floats, the argument is i32");
}
