//===- Array.cpp - strided arrays in memory -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Interp/Array.h"

using namespace fa3::interp;
using llvm::ArrayRef;
using llvm::SmallVector;

Array Array::allocate(Format format, ArrayRef<int64_t> shape,
                      ArrayRef<unsigned> order, int64_t padding) {
  Array array;
  array.format = format;
  array.shape.assign(shape.begin(), shape.end());
  array.strides.resize(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    size_t dim = order.empty() ? i : order[i];
    array.strides[dim] = stride;
    stride *= shape[dim] + (i + 1 == shape.size() ? padding : 0);
  }
  array.bytes = std::make_shared<SmallVector<uint8_t, 0>>(
      stride * getByteWidth(format), 0xff);
  return array;
}

Array Array::view(int64_t newOffset, ArrayRef<int64_t> newShape,
                  ArrayRef<int64_t> newStrides) const {
  Array array;
  array.bytes = bytes;
  array.format = format;
  array.offset = newOffset;
  array.shape.assign(newShape.begin(), newShape.end());
  array.strides.assign(newStrides.begin(), newStrides.end());
  return array;
}

Array Array::clone() const {
  Array array = *this;
  array.bytes = std::make_shared<SmallVector<uint8_t, 0>>(*bytes);
  return array;
}

int64_t Array::getNumElements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

void Array::forEach(
    llvm::function_ref<void(ArrayRef<int64_t>, uint8_t *)> function) const {
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t count = getNumElements(); count > 0; --count) {
    function(index, at(index));
    for (size_t dim = shape.size(); dim-- > 0;) {
      if (++index[dim] < shape[dim])
        break;
      index[dim] = 0;
    }
  }
}

void Array::poison() { std::fill(bytes->begin(), bytes->end(), 0xff); }

bool Array::isPoison(Format format, const uint8_t *element) {
  for (int64_t i = 0; i < getByteWidth(format); ++i)
    if (element[i] != 0xff)
      return false;
  return true;
}
