//===- Array.h - strided arrays in memory -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What a memref value is at run time: shared bytes, a format, and where its
// elements are. Also the arguments that tools hand to a function.
//===----------------------------------------------------------------------===//

#ifndef FA3_INTERP_ARRAY_H
#define FA3_INTERP_ARRAY_H

#include "fa3/Interp/Numerics.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>

namespace fa3::interp {

class Array {
public:
  Array() = default;

  /// A new array. `order` lists the dimensions from the outermost to the
  /// innermost in memory; empty means as they are numbered. Behind the elements
  /// of the innermost one there are `padding` more, and no other gaps. The
  /// contents are poison (see poison()).
  static Array allocate(Format format, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<unsigned> order = {},
                        int64_t padding = 0);

  /// Another view of the same bytes; offset and strides count elements.
  Array view(int64_t offset, llvm::ArrayRef<int64_t> shape,
             llvm::ArrayRef<int64_t> strides) const;

  /// A copy with bytes of its own and the same strides.
  Array clone() const;

  Format getFormat() const { return format; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  llvm::ArrayRef<int64_t> getStrides() const { return strides; }
  int64_t getOffset() const { return offset; }
  int64_t getNumElements() const;

  /// Bytes of the whole allocation and of this array's first element.
  uint8_t *getBase() const { return bytes ? bytes->data() : nullptr; }
  int64_t getAllocatedBytes() const { return bytes ? bytes->size() : 0; }
  uint8_t *getFirst() const {
    return getBase() + offset * getByteWidth(format);
  }
  /// The element at an index, which the caller has checked.
  uint8_t *at(llvm::ArrayRef<int64_t> index) const {
    int64_t position = offset;
    for (size_t i = 0; i < index.size(); ++i)
      position += index[i] * strides[i];
    return getBase() + position * getByteWidth(format);
  }

  /// Calls `function` for every element in row-major order of the indices.
  void forEach(llvm::function_ref<void(llvm::ArrayRef<int64_t>, uint8_t *)>
                   function) const;

  /// Sets all bytes to 0xff: a NaN of every float format that no operation
  /// produces, and -1 of integers.
  void poison();
  /// Whether an element still has the bits that poison() gave it.
  static bool isPoison(Format format, const uint8_t *element);

  explicit operator bool() const { return bytes != nullptr; }

private:
  std::shared_ptr<llvm::SmallVector<uint8_t, 0>> bytes;
  Format format = Format::F32;
  int64_t offset = 0;
  llvm::SmallVector<int64_t, 4> shape, strides;
};

} // namespace fa3::interp

#endif // FA3_INTERP_ARRAY_H
