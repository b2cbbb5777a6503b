//===- HostTensor.cpp - arrays in host memory -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Reference/HostTensor.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace fa3;
using llvm::APFloat;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The bits of `value` in a 16-bit format.
static uint16_t encode(FloatType type, float value) {
  if (type.isBF16() && !std::isnan(value)) {
    // The upper half of an f32; adding half a unit carries into the exponent
    // where it should, up to infinity.
    uint32_t bits = llvm::bit_cast<uint32_t>(value);
    bits += 0x7fff + ((bits >> 16) & 1);
    return bits >> 16;
  }
  APFloat number(value);
  bool losesInfo;
  number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.bitcastToAPInt().getZExtValue();
}

static float decode(FloatType type, uint16_t bits) {
  if (type.isBF16())
    return llvm::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  // One conversion per bit pattern: arrays have millions of elements.
  static const std::vector<float> table = [] {
    std::vector<float> values(1 << 16);
    for (unsigned i = 0; i < values.size(); ++i) {
      APFloat number(APFloat::IEEEhalf(), llvm::APInt(16, i));
      bool losesInfo;
      number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
      values[i] = number.convertToFloat();
    }
    return values;
  }();
  return table[bits];
}

float fa3::roundTo(FloatType elementType, float value) {
  if (elementType.isF32())
    return value;
  return decode(elementType, encode(elementType, value));
}

//===----------------------------------------------------------------------===//
// HostTensor
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> getRowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

HostTensor::HostTensor(FloatType elementType, ArrayRef<int64_t> shape)
    : HostTensor(elementType, shape, getRowMajorStrides(shape)) {}

HostTensor::HostTensor(FloatType elementType, ArrayRef<int64_t> shape,
                       ArrayRef<int64_t> strides)
    : elementType(elementType), shape(shape), strides(strides) {
  assert(supports(elementType) && shape.size() == strides.size());
  int64_t last = 0;
  for (auto [extent, stride] : llvm::zip(shape, strides)) {
    assert(extent >= 0 && stride >= 0);
    last += (extent - 1) * stride;
  }
  bool isEmpty = llvm::is_contained(shape, 0);
  size_t elements = isEmpty ? 0 : last + 1;
  storage.resize(elements * (elementType.getWidth() / 8));
}

bool HostTensor::supports(Type elementType) {
  return elementType.isF16() || elementType.isBF16() || elementType.isF32();
}

int64_t HostTensor::getNumElements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

int64_t HostTensor::getOffset(ArrayRef<int64_t> indices) const {
  assert(indices.size() == shape.size());
  int64_t offset = 0;
  for (auto [index, extent, stride] : llvm::zip(indices, shape, strides)) {
    assert(index >= 0 && index < extent);
    (void)extent;
    offset += index * stride;
  }
  return offset;
}

float HostTensor::load(int64_t offset) const {
  if (elementType.isF32()) {
    float value;
    std::memcpy(&value, storage.data() + offset * sizeof(float), sizeof(float));
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, storage.data() + offset * sizeof(bits), sizeof(bits));
  return decode(elementType, bits);
}

void HostTensor::store(int64_t offset, float value) {
  if (elementType.isF32()) {
    std::memcpy(storage.data() + offset * sizeof(float), &value, sizeof(float));
    return;
  }
  uint16_t bits = encode(elementType, value);
  std::memcpy(storage.data() + offset * sizeof(bits), &bits, sizeof(bits));
}

float HostTensor::get(ArrayRef<int64_t> indices) const {
  return load(getOffset(indices));
}

void HostTensor::set(ArrayRef<int64_t> indices, float value) {
  store(getOffset(indices), value);
}

/// Calls `visit` with the offset of every element in row-major order.
static void forEachOffset(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
                          function_ref<void(int64_t)> visit,
                          int64_t offset = 0) {
  if (shape.empty())
    return visit(offset);
  for (int64_t i = 0; i < shape[0]; ++i)
    forEachOffset(shape.drop_front(), strides.drop_front(), visit,
                  offset + i * strides[0]);
}

std::vector<float> HostTensor::getValues() const {
  std::vector<float> values;
  values.reserve(getNumElements());
  forEachOffset(shape, strides,
                [&](int64_t offset) { values.push_back(load(offset)); });
  return values;
}

void HostTensor::setValues(ArrayRef<float> values) {
  assert(static_cast<int64_t>(values.size()) == getNumElements());
  const float *next = values.begin();
  forEachOffset(shape, strides,
                [&](int64_t offset) { store(offset, *next++); });
}

void HostTensor::fillNormal(uint64_t seed, float deviation) {
  // The distributions of <random> differ between libraries. SplitMix64 (Steele,
  // Lea, Flood, "Fast splittable pseudorandom number generators", 2014) and the
  // Box-Muller transform do not.
  auto uniform = [state = seed]() mutable {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    return (static_cast<double>(z >> 11) + 0.5) * 0x1p-53;
  };
  forEachOffset(shape, strides, [&](int64_t offset) {
    double radius = std::sqrt(-2 * std::log(uniform()));
    double angle = 2 * llvm::numbers::pi * uniform();
    store(offset, static_cast<float>(radius * std::cos(angle) * deviation));
  });
}
